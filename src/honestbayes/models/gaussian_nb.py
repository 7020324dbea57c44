"""Naive Bayes for real-valued features whose probabilities stay honest after selection."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from honestbayes.correction.gaussian import VariancePrior
from honestbayes.models.gaussian_core import (
    GaussianFit,
    GaussianSettings,
    RatioPosterior,
    RealSelection,
    fit_moments,
)
from honestbayes.models.gaussian_explain import GaussianFeatureTable, feature_table
from honestbayes.models.leave_one_out import (
    EFFECTIVE_SHARE,
    fit_class_slope,
    held_out_folds,
    slope_repeats,
    warn_of_too_few_groups,
)
from honestbayes.models.parameters import (
    check_prevalences,
    group_codes,
    refuse_arguments,
    selection_rule,
)
from honestbayes.screening import Source, as_source
from honestbayes.screening.binarization import check_finite
from honestbayes.screening.moments import screen_moments
from honestbayes.screening.sources import RowsOf
from honestbayes.selection import parse_always_keep
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray


class SelectiveGaussianNB(ClassifierMixin, BaseEstimator):
    """Naive Bayes for real-valued features, selected by correlation and corrected for it.

    Selects the features whose class means differ most (by the F statistic; for two classes that is
    the absolute correlation), models features and classes jointly, and conditions on what selection
    threw away. A feature in class c is normal with mean mu_c and variance s2; mu_c is normal around
    a common mean with variance w s2. The signal ratio w is each feature's own, and its distribution
    over features is learnt from all that were screened.

    Parameters
    ----------
    n_features_to_select : int, "all" or None, default=None
        How many features to keep. None: 10, or all when there are fewer.
    threshold : float, optional
        Instead, keep all features whose r (root of the share of the sum of squares between
        classes; the absolute correlation for two classes) is above this bound.
    feature_prior : {"auto", "learned", "heavy-tailed"}, default="auto"
        "learned": the distribution of signal ratios is estimated from all screened features.
        "heavy-tailed": w is a scale times the square of a half Cauchy variable, and the scale is
        integrated out. "auto": learned, except where only the selection event is conditioned on.
    correction : {"auto", "counts", "selection"} or None, default="auto"
        What is known of the discarded features. "counts": the means and sums of squares of every
        screened feature. "selection": the event that they were discarded. None: nothing.
        "auto": counts.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, outside the race.
    class_pseudocounts : float, default=1.0
        Cases of each class that the Dirichlet prior of the class frequencies is worth.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    recalibrate : {"slope"} or None, default="slope"
        "slope": one factor on the evidence, learnt from held-out predictions inside `fit`.

    Attributes
    ----------
    selection_ : RealSelection
        What was kept and what was thrown away.
    posterior_ : RatioPosterior
        How signal ratios are distributed over features.
    variance_prior_ : VariancePrior
        The prior of the features' variances, estimated from all of them.
    slope_ : float
        The factor on the evidence; 1 without recalibration.
    feature_prior_, correction_ : str or None
        What "auto" became.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Training cases in each class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    References
    ----------
    Li, Zhang and Neal (2008), A method for avoiding bias from feature selection with application
    to naive Bayes classification models, Bayesian Analysis 3(1), 171-196, section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import SelectiveGaussianNB
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 3
    >>> X = rng.normal(size=(60, 500))
    >>> X[:, 0] += y
    >>> model = SelectiveGaussianNB(n_features_to_select=5).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    def __init__(
        self,
        *,
        n_features_to_select: int | Literal["all"] | None = None,
        threshold: float | None = None,
        feature_prior: Literal["auto", "learned", "heavy-tailed"] = "auto",
        correction: Literal["auto", "counts", "selection"] | None = "auto",
        always_keep: Any = None,
        class_pseudocounts: float = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["slope"] | None = "slope",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.feature_prior = feature_prior
        self.correction = correction
        self.always_keep = always_keep
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, *, groups: Any = None, **refused: Any) -> Self:
        """Select features and fit.

        Parameters
        ----------
        X : array, pandas or polars frame, of shape (n, p)
            Training rows; NaN is missing.
        y : array-like of shape (n,)
            Class labels of two or more kinds.
        groups : array-like of shape (n,), optional
            Cases of one group are held out together where the slope is learnt.
        **refused
            ``sample_weight`` is refused: the correction needs whole cases. For a different
            prevalence use ``class_prior``.
        """
        refuse_arguments(refused)
        source = self._source(X)
        validate_data(self, X, skip_check_array=True)
        classes, codes = _encode(y, source.shape[0])
        settings = self._settings(source)
        check_prevalences(self.class_prior, classes.size)
        labels = group_codes(groups, codes.size)
        self._fit = fit_moments(screen_moments(source, codes, classes), settings)
        self.classes_ = classes
        self.class_count_ = np.bincount(codes, minlength=classes.size)
        self.selection_: RealSelection = self._fit.selection
        self.posterior_: RatioPosterior = self._fit.posterior
        self.variance_prior_: VariancePrior = self._fit.variance_prior
        self.feature_prior_ = settings.feature_prior
        self.correction_ = settings.correction
        self.slope_ = 1.0
        if self.recalibrate == "slope":
            self.slope_ = _learn_slope(source, codes, classes, settings, labels)
        return self

    def _source(self, X: Any) -> Source:
        if hasattr(X, "indptr") or hasattr(X, "tocsr"):
            msg = (
                "Sparse input is not supported: SelectiveGaussianNB is for measurements. Pass a "
                "dense table, or use SelectiveBernoulliNB for words and flags."
            )
            raise TypeError(msg)
        return as_source(X)

    def _settings(self, source: Source) -> GaussianSettings:
        always = parse_always_keep(self.always_keep, source.feature_names, source.shape[1])
        params = self.get_params(deep=False)
        if params["n_features_to_select"] == "cv":
            msg = "n_features_to_select='cv' is not known to SelectiveGaussianNB; give a number."
            raise ValueError(msg)
        n_features, threshold = selection_rule(params, int(np.sum(~always)))
        if self.recalibrate not in (None, "slope"):
            msg = f"recalibrate={self.recalibrate!r} is not one of None, 'slope'."
            raise ValueError(msg)
        if self.correction not in ("auto", "counts", "selection", None):
            msg = (
                f"correction={self.correction!r} is not one of 'auto', 'counts', 'selection', None."
            )
            raise ValueError(msg)
        if self.feature_prior not in ("auto", "learned", "heavy-tailed"):
            msg = (
                f"feature_prior={self.feature_prior!r} is not one of 'auto', 'learned', "
                "'heavy-tailed'."
            )
            raise ValueError(msg)
        correction = "counts" if self.correction == "auto" else self.correction
        prior = self.feature_prior
        if prior == "auto":
            prior = "heavy-tailed" if correction == "selection" else "learned"
        if prior == "learned" and correction == "selection":
            msg = (
                "feature_prior='learned' learns from all screened features, so correction must be "
                "'counts' or None; for correction='selection' use feature_prior='heavy-tailed'."
            )
            raise ValueError(msg)
        pseudocounts = float(self.class_pseudocounts)
        if not 0 < pseudocounts < np.inf:
            msg = f"class_pseudocounts={self.class_pseudocounts} must be positive."
            raise ValueError(msg)
        return GaussianSettings(n_features, threshold, always, prior, correction, pseudocounts)

    # --------------------------------------------------------------- prediction

    def predict_log_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return log P(class | x), shape (n, n_classes), without underflow.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict; NaN is missing and integrated out.
        class_prior : array-like of shape (n_classes,), optional
            Prevalences where the model is used.
        """
        check_is_fitted(self)
        source = self._source(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        if source.shape[1] != self.n_features_in_:
            msg = (
                f"X has {source.shape[1]} features, but SelectiveGaussianNB is expecting "
                f"{self.n_features_in_} features as input."
            )
            raise ValueError(msg)
        given = self.class_prior if class_prior is None else class_prior
        log_prior = check_prevalences(given, self.classes_.size)
        if log_prior is None:
            log_prior = self._fit.log_prior
        values = source.take(np.array(self.selection_.columns, dtype=np.int64))
        if values.dtype.kind == "f":
            names = self.get_feature_names_out()
            check_finite(values, lambda position: f"column {names[position]!r}")
        log_joint = log_prior + self.slope_ * self._fit.log_likelihood(values)
        return np.asarray(log_softmax(log_joint, axis=1))

    def predict_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return P(class | x), shape (n, n_classes)."""
        return np.asarray(np.exp(self.predict_log_proba(X, class_prior=class_prior)))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each row."""
        log_proba = self.predict_log_proba(X)
        result: AnyArray = self.classes_[np.argmax(log_proba, axis=1)]
        return result

    # --------------------------------------------------------------- explanation

    def feature_table(self) -> GaussianFeatureTable:
        """Return what each kept feature says: its centre in each class, and whether it is idle."""
        names = tuple(str(name) for name in self.get_feature_names_out())
        return feature_table(self._fit, names, tuple(str(label) for label in self.classes_))

    def get_support(self, indices: bool = False) -> BoolArray | IntArray:
        """Return the mask of the kept features, or their indices."""
        check_is_fitted(self)
        mask = self.selection_.support()
        return np.flatnonzero(mask) if indices else mask

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the kept features, strongest first, then those kept by design."""
        check_is_fitted(self)
        if self.selection_.kept_names is not None:
            return np.array(self.selection_.kept_names, dtype=object)
        columns = np.array(self.selection_.columns, dtype=np.int64)
        if input_features is None:
            return np.array([f"x{column}" for column in columns], dtype=object)
        names: AnyArray = np.asarray(input_features, dtype=object)[columns]
        return names


def _encode(y: Any, n_rows: int) -> tuple[AnyArray, IntArray]:
    """Return the class labels and the class of each row."""
    if y is None:
        msg = "requires y to be passed, but the target y is None"
        raise ValueError(msg)
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        msg = "Input y contains NaN or infinity; give a class to each row."
        raise ValueError(msg)
    check_classification_targets(labels)
    if labels.size != n_rows:
        msg = f"X has {n_rows} rows, but y has {labels.size} entries: inconsistent numbers."
        raise ValueError(msg)
    classes, codes = np.unique(labels, return_inverse=True)
    if classes.size < 2:
        msg = f"y holds one class only, {classes[0]!r}; two or more classes are needed."
        raise ValueError(msg)
    return classes, codes


def _learn_slope(
    source: Source,
    codes: IntArray,
    classes: AnyArray,
    settings: GaussianSettings,
    groups: IntArray | None,
) -> float:
    """Learn one factor on the evidence from held-out cases, as the binary model does."""
    folds = held_out_folds(codes, groups, slope_repeats(codes.size))
    if not folds:
        warn_of_too_few_groups(groups)
        return 1.0
    evidence, labels = [], []
    for rows in folds:
        others = np.setdiff1d(np.arange(codes.size), rows)
        fit = _fit_rows(source, codes, classes, settings, others)
        columns = np.array(fit.selection.columns, dtype=np.int64)
        evidence.append(fit.log_likelihood(RowsOf(source, rows).take(columns)))
        labels.append(codes[rows])
    counts = np.bincount(codes, minlength=classes.size) + settings.class_pseudocounts
    return fit_class_slope(
        np.concatenate(evidence),
        np.concatenate(labels),
        np.log(counts / counts.sum()),
        share=EFFECTIVE_SHARE / slope_repeats(codes.size),
    )


def _fit_rows(
    source: Source,
    codes: IntArray,
    classes: AnyArray,
    settings: GaussianSettings,
    rows: IntArray,
) -> GaussianFit:
    moments = screen_moments(RowsOf(source, rows), codes[rows], classes)
    return fit_moments(moments, settings)
