"""Naive Bayes for binary features with calibrated probabilities after selection."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import expit, log_softmax
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.base.estimator import TwoClassNaiveBayes
from honestbayes.base.explanation import Contributions
from honestbayes.base.parameters import check_prevalences, check_recalibrate, group_codes
from honestbayes.base.part import FittedPart, TrainingLabels, tie_breaker
from honestbayes.data import as_source, encode_classes
from honestbayes.data.binarization import Binarization, BinarizeOption
from honestbayes.data.kinds import Kind
from honestbayes.files.fields import Choice, Entries, Field, Known
from honestbayes.models.binary import model
from honestbayes.models.binary.model import (
    BernoulliFit,
    BernoulliPart,
    BernoulliSettings,
    BernoulliTraining,
    FeaturePath,
    FeatureTable,
    LearnedFit,
    TrainingRows,
    ZeroOne,
    bernoulli_settings,
    column_strengths,
    fit_screening,
    fit_selection,
    leave_out_fits,
)
from honestbayes.selection import Selection, squared_correlation
from honestbayes.selection.counts import Screening, screen
from honestbayes.selection.criteria import Criterion, compare
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray


class SelectiveBernoulliNB(TwoClassNaiveBayes):
    """Naive Bayes for binary features, selected by correlation and corrected for it.

    For two classes. Selects the features that correlate best with the class, models features and
    class jointly, and conditions on the discarded features, so that the chance correlations of the
    selected ones are not mistaken for signal. A slope on the evidence, learned from held-out cases,
    corrects for features that depend on each other, which naive Bayes ignores.

    Parameters
    ----------
    n_features_to_select : int, "all", "cv" or None, default=None
        How many features to keep. None: 10, or all when there are fewer. "cv": the smallest
        number with nearly the best log score on held-out cases, found inside `fit`.
    threshold : float, optional
        Instead, keep all features whose absolute correlation is above this bound.
    feature_prior : {"auto", "learned", "uniform"}, default="auto"
        How signal is distributed over features. "learned": the distribution of features is
        estimated from all that were screened. "uniform": the papers' model, one alpha for all
        features and theta uniform. "auto": learned, except where only the selection event is
        conditioned on.
    correction : {"auto", "counts", "selection"} or None, default="auto"
        What the model is conditioned on. "counts": the counts of every screened feature.
        "selection": the event that the others were discarded, as in the papers. None: neither, the
        uncorrected model. "auto": counts in `fit`, selection in `fit_selected`.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, which are not ranked and have an alpha of their own.
    covariates : list of names or indices, or mask, optional
        Columns such as age, sex or batch that are conditioned on and not modelled: they set the
        prior log-odds of each case. Features must not depend on them within the classes; `fit`
        warns where kept ones do. Numbers or categories.
    class_pseudocounts : tuple of float, default=(1.0, 1.0)
        Beta prior of the class frequencies.
    class_prior : array-like of shape (2,), optional
        Prevalences of the two classes where the model is used, in the order of ``classes_``.
    recalibrate : {"bayes", "slope"} or None, default="bayes"
        How probabilities are recalibrated on held-out cases. "bayes": they are averaged over a
        slope on the evidence and an outlier rate (of cases for which the features are
        uninformative), both learned from held-out predictions in `fit`. "slope": one factor on the
        evidence, plugged in.
    alpha_prior : tuple of float, default=(0.5, 5.0)
        Shape and rate of the inverse gamma prior of alpha.
    theta_prior : tuple of float, default=(0.0, 1.0)
        Bounds of theta.
    binarize : {"auto", "median"}, float or None, default="auto"
        How values become 0/1. "auto": two-valued columns as they are, others at the median of
        the training rows; "median": all there; a number: all there; None: the data must be 0/1.
    quadrature : {"adaptive", "paper"}, default="adaptive"
        How alpha and theta are integrated out. "paper": the published computation (30 prior
        quantiles of alpha, 21 Simpson points of theta, ties ignored), with the uniform prior.
    tol : float, default=1e-9
        Bound on the estimated error of the log-odds from quadrature over alpha.
    criterion : {"correlation", "f", "t", "chi2", "mutual_information"} or callable, \
default="correlation"
        What features are ranked by. A function gets a column without its missing cells and the
        classes of its cases, and returns a number, larger for features to keep; it must not depend
        on the order of the cases. With ``correction="selection"`` the probability that features
        were discarded is then a sum over all counts of both classes.
    random_state : int, RandomState or None, default=None
        Breaks ties between features whose correlations are equal.

    Attributes
    ----------
    selection_ : Selection
        What was kept and discarded.
    posterior_ : AlphaPosterior
        The posterior of alpha (or, with the learned prior, its distribution over features).
    always_posterior_ : AlphaPosterior or None
        The same for the features kept by design.
    learned_prior_ : LearnedPrior or None
        The learned distribution of features.
    number_choice_ : NumberChoice or None
        The numbers of features that were tried, with n_features_to_select="cv".
    slope_ : float
        Posterior mean of the slope on the evidence; 1 without recalibration.
    outlier_rate_ : float
        Posterior mean of the outlier rate; 0 without recalibration.
    feature_prior_, correction_ : str or None
        What "auto" became.
    classes_ : ndarray of shape (2,)
        Class labels.
    class_count_ : ndarray of shape (2,)
        Training cases in each class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    Notes
    -----
    A model of the kept columns alone (`fit_selected`, `on_kept_columns`) also takes the whole table
    where that has more columns.

    References
    ----------
    Li, Zhang and Neal (2008), A method for avoiding bias from feature selection with application
    to naive Bayes classification models, Bayesian Analysis 3(1), 171-196.

    Examples
    --------
    >>> from honestbayes import SelectiveBernoulliNB
    >>> from honestbayes.datasets import simulate_naive_bayes
    >>> data = simulate_naive_bayes(n_train=60, n_test=4, n_features=500, random_state=0)
    >>> model = SelectiveBernoulliNB(n_features_to_select=5, random_state=0)
    >>> model.fit(data.X_train, data.y_train).predict_proba(data.X_test).shape
    (4, 2)
    """

    _kind: ClassVar[str] = "SelectiveBernoulliNB"
    _kind_of_features: ClassVar[Kind] = "binary"
    _explain_part = staticmethod(model.feature_table)
    _part_classes: ClassVar[Mapping[str, type]] = {"binary": BernoulliPart}
    _fitted_choices: ClassVar[Mapping[str, Field]] = {
        "feature_prior_": Choice("learned", "uniform"),
        "correction_": Choice("counts", "selection", None),
    }

    _fit: BernoulliFit

    def __init__(
        self,
        *,
        n_features_to_select: int | Literal["all", "cv"] | None = None,
        threshold: float | None = None,
        feature_prior: Literal["auto", "learned", "uniform"] = "auto",
        correction: Literal["auto", "counts", "selection"] | None = "auto",
        always_keep: Any = None,
        covariates: Any = None,
        class_pseudocounts: tuple[float, float] = (1.0, 1.0),
        class_prior: Any = None,
        recalibrate: Literal["bayes", "slope"] | None = "bayes",
        alpha_prior: tuple[float, float] = (0.5, 5.0),
        theta_prior: tuple[float, float] = (0.0, 1.0),
        binarize: BinarizeOption = "auto",
        quadrature: Literal["adaptive", "paper"] = "adaptive",
        tol: float = 1e-9,
        criterion: Any = "correlation",
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.feature_prior = feature_prior
        self.correction = correction
        self.always_keep = always_keep
        self.covariates = covariates
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.alpha_prior = alpha_prior
        self.theta_prior = theta_prior
        self.binarize = binarize
        self.quadrature = quadrature
        self.tol = tol
        self.criterion = criterion
        self.random_state = random_state

    # ------------------------------------------------------------------ fitting

    def _training_parts(self, X: Any, labels: TrainingLabels) -> list[BernoulliTraining]:
        source = as_source(X)
        settings = self._settings(source.feature_names, source.shape[1], labels.classes)
        self.feature_prior_, self.correction_ = settings.feature_prior, settings.correction
        both = (labels.classes, labels.codes == 1)
        rows = TrainingRows.screened(source, both, self.binarize, self.random_state)
        return [BernoulliTraining(settings, rows)]

    def _store(self, parts: Sequence[FittedPart]) -> None:
        (part,) = parts
        assert isinstance(part, BernoulliPart)
        fit = part.fit
        self._fit = fit
        self.selection_: Selection = fit.selection
        self.posterior_ = fit.ranked.posterior
        self.always_posterior_ = None if fit.by_design is None else fit.by_design.posterior
        self.learned_prior_ = fit.ranked.prior if isinstance(fit.ranked, LearnedFit) else None

    @property
    def _log_prior(self) -> FloatArray:
        # As log-odds: log probabilities would round differently.
        return self._fit.log_prior

    def fit_selected(self, X: Any, y: Any, selection: Selection) -> Self:
        """Fit features that were screened and selected elsewhere.

        Parameters
        ----------
        X : table of shape (n, k)
            The kept columns only, in the order of ``selection.columns``.
        y : array-like of shape (n,)
            Class labels.
        selection : Selection
            What was kept and discarded. Refused where it does not fit the data: other class
            counts, or a kept column whose correlation is below the bound.

        Notes
        -----
        Only the event is known, so ``correction`` is "selection" and the prior uniform.
        Probabilities are not recalibrated, because selection cannot be repeated without held-out
        cases. Prediction takes the kept columns, in the same order, or the whole table that was
        screened where that has more columns.
        """
        check_is_selection(selection)
        source = as_source(X)
        classes, _ = encode_classes(y)
        if source.shape[1] != len(selection.columns):
            msg = (
                f"X has {source.shape[1]} columns, but the selection kept {len(selection.columns)}."
            )
            raise ValueError(msg)
        check_names(selection, source.feature_names)
        settings = self._settings(None, selection.n_features_in, classes, only_event=True)
        screening = screen(source, y, binarize=self.binarize)
        check_fits(selection, screening, settings.model.criterion)
        fit = fit_selection(screening, renumbered(selection), settings)
        validate_data(self, X, skip_check_array=True)
        fit = replace(fit, selection=selection)
        return self._without_rows(fit, classes, settings, kept_columns_only=True)

    def fit_screening(self, screening: Screening) -> Self:
        """Fit from counts alone, such as those of a table that was counted in parts.

        Parameters
        ----------
        screening : Screening
            Counts of every feature, from `screen` and its merges.

        Notes
        -----
        The same as `fit` without recalibration, which needs the rows.
        """
        self._refuse_to_choose("fit_screening")
        settings = self._settings(screening.feature_names, screening.n_features, screening.classes)
        fit = fit_screening(screening, settings, tie_breaker(self.random_state))
        self.n_features_in_ = screening.n_features
        self._name_columns(screening.feature_names)
        return self._without_rows(fit, screening.classes, settings)

    def _without_rows(
        self,
        fit: BernoulliFit,
        classes: AnyArray,
        settings: BernoulliSettings,
        *,
        kept_columns_only: bool = False,
    ) -> Self:
        """Set a fit that cannot be recalibrated, and warn."""
        self.feature_prior_, self.correction_ = settings.feature_prior, settings.correction
        if self.recalibrate is not None:
            warnings.warn(
                "probabilities are not recalibrated, because selection cannot be repeated without "
                "held-out cases. Set recalibrate=None to avoid this warning.",
                UserWarning,
                stacklevel=3,
            )
        part, log_prior = BernoulliPart(fit), log_softmax(fit.log_prior)
        return self._hold([part], classes, log_prior, kept_columns_only=kept_columns_only)

    def _refuse_to_choose(self, method: str) -> None:
        if self._number_is_to_be_chosen:
            msg = f"{method} cannot choose the number of features; give n_features_to_select."
            raise ValueError(msg)
        self._refuse_covariates(method)

    def _refuse_covariates(self, method: str) -> None:
        if self.covariates is not None:
            msg = f"{method} does not take covariates; set covariates=None, or use fit."
            raise ValueError(msg)

    def _settings(
        self,
        names: tuple[str, ...] | None,
        p: int,
        classes: AnyArray,
        *,
        only_event: bool = False,
    ) -> BernoulliSettings:
        check_prevalences(self.class_prior, 2)
        check_recalibrate(self.recalibrate)
        mask = np.zeros(p, dtype=bool) if only_event else self._always_kept(names, p)
        params = self.get_params(deep=False)
        return bernoulli_settings(params, mask, classes, only_event=only_event)

    @classmethod
    def _settings_of(
        cls, parameters: Mapping[str, Any], always_keep: BoolArray
    ) -> BernoulliSettings:
        return bernoulli_settings(parameters, always_keep)

    @classmethod
    def _check_fitted(cls, entries: Entries, known: Known) -> None:
        (part,) = known["parts"]
        learned = known["feature_prior_"] == "learned"
        same = learned == isinstance(part.fit.ranked, LearnedFit)
        entries.check(same, "feature_prior", "differs from that of the part")
        event = learned and known["correction_"] == "selection"
        entries.check(not event, "correction", "is 'selection', not one of ['counts', None]")

    # --------------------------------------------------------------- prediction

    def _columns_in(self, X: Any) -> list[IntArray]:
        """Return the kept columns, also those of a whole table where the model takes them alone."""
        selection = self.selection_
        if self._kept_columns_only and X.shape[1] == selection.n_features_in != self.n_features_in_:
            columns = np.array(selection.columns, dtype=np.int64)
            names = as_source(X).feature_names
            if names is not None:
                check_names(selection, tuple(names[column] for column in columns))
            return [columns]
        return super()._columns_in(X)

    def _zero_one(self, X: Any) -> ZeroOne:
        """Return the kept columns as 0/1, and where they are missing."""
        n_rows, values = self._read(X)
        if not values:
            return np.zeros((n_rows, 0), dtype=np.uint8), None
        ((_, zero_one),) = values
        result: ZeroOne = zero_one
        return result

    # --------------------------------------------------------------- explanation

    def get_support(self, indices: bool = False) -> BoolArray | IntArray:
        """Return the mask of the kept features in the table that was screened, or their indices."""
        check_is_fitted(self)
        mask = self.selection_.support()
        return np.flatnonzero(mask) if indices else mask

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the kept features: strongest first, those kept by design, covariates.

        Without names, the numbers of their columns in the table that was screened.
        """
        check_is_fitted(self)
        selection = self.selection_
        if selection.kept_names is not None:
            known = selection.kept_names + (selection.always_kept_names or ())
            covariates = super().get_feature_names_out(input_features)[len(known) :]
            return np.array([*known, *covariates], dtype=object)
        named = hasattr(self, "feature_names_in_") or input_features is not None
        if self._kept_columns_only and not named:
            return np.array([f"x{column}" for column in selection.columns], dtype=object)
        return super().get_feature_names_out(input_features)

    def kept_binarization(self) -> Binarization:
        """Return the cuts of the kept features, in the order of ``selection_.columns``."""
        check_is_fitted(self)
        return self._fit.binarization

    def feature_table(self) -> FeatureTable:
        """Return P(x=1) in each class and the weight of evidence for each kept feature."""
        table: FeatureTable = super().feature_table()
        return table

    def contributions(self, X: Any) -> Contributions:
        """Return the contribution of each kept feature to the log-odds of each row.

        Each row sums to the log-odds less the prior log-odds. Features inform each other about the
        common alpha, or about the shape of its learned distribution, so a contribution is that of
        the feature after the stronger ones. After recalibration, the log-odds of a row are shared
        out in proportion to the features' evidence.
        """
        if self._covariate_model is not None:
            return super().contributions(X)
        ones, missing = self._zero_one(X)
        evidence = model.contributions(self._fit, ones, missing)
        names, classes = self._names_and_classes()
        values = self._recalibration.share_out(evidence, self._log_prior)
        return Contributions(names, values, classes)

    def feature_path(self, X: Any, y: Any) -> FeaturePath:
        """Return the error and log score on (X, y) with the first 1, 2, ... kept features.

        With the learned prior, or with all counts conditioned on, the posterior is the same for
        every number of features, so one pass serves all. Otherwise the path is that of the model
        fitted to all kept features. Probabilities are not recalibrated.
        """
        self._refuse_covariates("feature_path")
        ones, missing = self._zero_one(X)
        _, is_class_1 = encode_classes(y, self.classes_)
        log_prior = self._given_log_prior(None)
        if log_prior is None:
            log_prior = self._log_prior
        prior = float(log_prior[1] - log_prior[0])
        return model.feature_path(self._fit, ones, missing, is_class_1, prior)

    def leave_one_out(self, X: Any, y: Any, *, groups: Any = None) -> FloatArray:
        """Return the leave-one-out P(class 1) of each row, shape (n,).

        Equal to `cross_val_predict` with `LeaveOneOut` (or `LeaveOneGroupOut`) of the model with
        ``recalibrate=None``: selection, cuts and prior are learned again each time, but from
        counts. A recalibration would have to be learned inside each fold.

        Parameters
        ----------
        X, y : training data
            Nothing is taken from an earlier `fit`.
        groups : array-like of shape (n,), optional
            Rows with the same label are left out together.
        """
        self._refuse_to_choose("leave_one_out")
        source = as_source(X)
        labels = encode_classes(y)
        settings = self._settings(source.feature_names, source.shape[1], labels[0])
        training = TrainingRows.screened(source, labels, self.binarize, self.random_state)
        n = source.shape[0]
        codes = group_codes(groups, n)
        inverse = np.arange(n) if codes is None else codes
        folds = [np.flatnonzero(inverse == group) for group in range(inverse.max() + 1)]
        given = check_prevalences(self.class_prior, 2)
        log_odds = np.empty(n)
        for rows, fit, evidence in leave_out_fits(training, folds, settings):
            before = fit.log_prior if given is None else given
            log_odds[rows] = evidence + before[1] - before[0]
        result: FloatArray = expit(log_odds)
        return result


# --------------------------------------------------------------------------------------------------
# Selections that were made elsewhere
# --------------------------------------------------------------------------------------------------


def check_fits(selection: Selection, screening: Screening, criterion: Criterion | None) -> None:
    """Refuse a selection that was not made on these data, or by another criterion."""
    counts, ones, observed = screening.class_counts, screening.ones, screening.observed_full()
    if selection.class_counts != counts:
        msg = (
            f"the selection was made on {selection.class_counts} cases per class, but y has "
            f"{counts}."
        )
        raise ValueError(msg)
    name = "correlation" if criterion is None else criterion.name
    if selection.criterion != name:
        msg = (
            f"the selection was made by {selection.criterion!r}, and criterion={name!r}; give the "
            "same."
        )
        raise ValueError(msg)
    if criterion is not None:
        bound = selection.strength_bound
        assert bound is not None
        strength = column_strengths(screening, criterion)[: len(selection.kept)]
        weak = np.flatnonzero(compare(strength, bound) < 0)
        if weak.size:
            msg = (
                f"column {weak[0]} of X has a strength of {strength[weak[0]]:.4g} by {name!r}, "
                f"below the selection's bound {bound:.4g}; it cannot have been kept."
            )
            raise ValueError(msg)
        return
    for position in range(len(selection.kept)):
        i0, i1 = (int(count) for count in ones[:, position])
        n0, n1 = (int(count) for count in observed[:, position])
        value = squared_correlation(i0, i1, n0, n1)
        strict = selection.rule == "threshold"
        if value < selection.gamma_squared or (strict and value == selection.gamma_squared):
            msg = (
                f"column {position} of X has absolute correlation {float(value) ** 0.5:.4f} with "
                f"y, below the selection's bound {selection.gamma:.4f}; it cannot have been kept."
            )
            raise ValueError(msg)


def check_is_selection(selection: Any) -> None:
    """Refuse anything but a `Selection`."""
    if not isinstance(selection, Selection):
        msg = f"selection is a {type(selection).__name__}; give a Selection (see from_dict)."
        raise TypeError(msg)


def check_names(selection: Selection, names: tuple[str, ...] | None) -> None:
    """Refuse columns whose names are not those of the kept features, in their order."""
    if names is None or selection.kept_names is None:
        return
    expected = selection.kept_names + (selection.always_kept_names or ())
    for position, (name, wanted) in enumerate(zip(names, expected, strict=True)):
        if name != wanted:
            msg = (
                f"column {position} of X is {name!r}, but the selection has {wanted!r} there; give "
                "the kept columns in the order of the selection."
            )
            raise ValueError(msg)


def renumbered(selection: Selection) -> Selection:
    """Return the record with the kept columns at the front, where `fit_selected` has them."""
    k, a = len(selection.kept), len(selection.always_kept)
    return replace(selection, kept=tuple(range(k)), always_kept=tuple(range(k, k + a)))
