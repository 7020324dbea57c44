"""Naive Bayes for binary features whose probabilities stay honest after selection."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.models import explain, intervals
from honestbayes.models.bernoulli_core import BernoulliFit, fit_screening, fit_selection
from honestbayes.models.bernoulli_file import (
    BernoulliModel,
    model_from_plain,
    model_to_plain,
    save_model,
)
from honestbayes.models.bernoulli_part import BernoulliPart, BernoulliTraining
from honestbayes.models.explain import FeaturePath, FeatureTable
from honestbayes.models.learned import LearnedFit
from honestbayes.models.leave_one_out import TrainingRows, leave_out_fits
from honestbayes.models.number import NumberChoice
from honestbayes.models.parameters import (
    check_class_prior,
    check_level_and_draws,
    check_settings,
    group_codes,
    refuse_arguments,
)
from honestbayes.models.parts import TrainingLabels, choose_number, learn_slope
from honestbayes.models.selected import check_fits, check_is_selection, check_names, renumbered
from honestbayes.screening import Screening, Source, as_source, encode_classes, screen
from honestbayes.screening.binarization import Binarization, BinarizeOption
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.storage.entries import Plain
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray


class SelectiveBernoulliNB(ClassifierMixin, BaseEstimator):
    """Naive Bayes for binary features, selected by correlation and corrected for it.

    Selects the features that correlate best with the class, models features and class jointly,
    and conditions on what selection threw away, so that the luck of the winners is not mistaken
    for signal. One factor on the evidence, learnt from held-out cases, repairs what the correction
    cannot: features that depend on each other.

    Parameters
    ----------
    n_features_to_select : int, "all", "cv" or None, default=None
        How many features to keep. None: 10, or all when there are fewer. "cv": the smallest
        number with nearly the best log score on held-out cases, found inside `fit`.
    threshold : float, optional
        Instead, keep all features whose absolute correlation is above this bound.
    feature_prior : {"auto", "learned", "uniform"}, default="auto"
        "learned": the distribution of features is estimated from all that were screened.
        "uniform": the papers' model, one alpha for all features and theta uniform. "auto":
        learned, except where only the selection event is conditioned on.
    correction : {"auto", "counts", "selection"} or None, default="auto"
        What is known of the discarded features. "counts": the counts of every screened feature.
        "selection": the event that they were discarded, as in the papers. None: nothing, the
        uncorrected model. "auto": counts in `fit`, selection in `fit_selected`.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, outside the race, with an alpha of their own.
    class_pseudocounts : tuple of float, default=(1.0, 1.0)
        Beta prior of the class frequencies.
    class_prior : array-like of shape (2,), optional
        Prevalences of the two classes where the model is used, in the order of ``classes_``.
    recalibrate : {"slope"} or None, default="slope"
        "slope": one factor on the evidence, learnt from held-out predictions inside `fit`.
    alpha_prior : tuple of float, default=(0.5, 5.0)
        Shape and rate of the inverse gamma prior of alpha.
    theta_prior : tuple of float, default=(0.0, 1.0)
        Bounds of theta.
    binarize : {"auto", "median"}, float or None, default="auto"
        How values become 0/1. "auto": two-valued columns as they are, others at the median of
        the training rows; "median": all there; a number: all there; None: the data must be 0/1.
    quadrature : {"adaptive", "paper"}, default="adaptive"
        "paper": the published computation (30 prior quantiles of alpha, 21 Simpson points of
        theta, ties ignored), with the uniform prior.
    tol : float, default=1e-9
        Bound on the estimated error of the log-odds from quadrature over alpha.
    random_state : int, RandomState or None, default=None
        Breaks ties between features whose correlations are equal.

    Attributes
    ----------
    selection_ : Selection
        What was kept and what was thrown away.
    posterior_ : AlphaPosterior
        The posterior of alpha (or, with the learned prior, its distribution over features).
    always_posterior_ : AlphaPosterior or None
        The same for the features kept by design.
    learned_prior_ : LearnedPrior or None
        The learned distribution of features.
    number_choice_ : NumberChoice or None
        The numbers of features that were tried, where the number was to be chosen.
    slope_ : float
        The factor on the evidence; 1 without recalibration.
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

    def __init__(
        self,
        *,
        n_features_to_select: int | Literal["all", "cv"] | None = None,
        threshold: float | None = None,
        feature_prior: Literal["auto", "learned", "uniform"] = "auto",
        correction: Literal["auto", "counts", "selection"] | None = "auto",
        always_keep: Any = None,
        class_pseudocounts: tuple[float, float] = (1.0, 1.0),
        class_prior: Any = None,
        recalibrate: Literal["slope"] | None = "slope",
        alpha_prior: tuple[float, float] = (0.5, 5.0),
        theta_prior: tuple[float, float] = (0.0, 1.0),
        binarize: BinarizeOption = "auto",
        quadrature: Literal["adaptive", "paper"] = "adaptive",
        tol: float = 1e-9,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.feature_prior = feature_prior
        self.correction = correction
        self.always_keep = always_keep
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.alpha_prior = alpha_prior
        self.theta_prior = theta_prior
        self.binarize = binarize
        self.quadrature = quadrature
        self.tol = tol
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        return tags

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, *, groups: Any = None, **refused: Any) -> Self:
        """Select features and fit.

        Parameters
        ----------
        X : array, SciPy sparse, pandas or polars frame, of shape (n, p)
            Training rows; NaN is missing.
        y : array-like of shape (n,)
            Class labels of two kinds.
        groups : array-like of shape (n,), optional
            Cases of one group (one patient, say) are held out together where the slope is learnt.
            Nothing else looks at them.
        **refused
            ``sample_weight`` is refused: the probability that a feature is discarded needs whole
            counts of cases. For a different prevalence use ``class_prior``.
        """
        refuse_arguments(refused)
        source = as_source(X)
        validate_data(self, X, skip_check_array=True)
        classes, is_class_1 = encode_classes(y)
        settings = self._settings(source.feature_names, source.shape[1])
        codes = group_codes(groups, is_class_1.size)
        screening = screen(source, y, binarize=self.binarize)
        rows = TrainingRows(source, is_class_1, screening, self.binarize, self.random_state, codes)
        labels = TrainingLabels(
            classes, is_class_1.astype(np.int64), codes, np.array(settings.class_pseudocounts)
        )
        choice: NumberChoice | None = None
        if self._number_is_to_be_chosen:
            training = [BernoulliTraining(rows, settings)]
            choice = choose_number(training, labels, recalibrate=self.recalibrate == "slope")
            settings = replace(settings, n_features=choice.chosen)
        fit = fit_screening(screening, settings, check_random_state(self.random_state))
        self._store(fit, classes, settings.feature_prior, settings.correction)
        self.number_choice_ = choice
        if self.recalibrate == "slope":
            part = BernoulliTraining(rows, settings)
            self.slope_ = learn_slope([part], [BernoulliPart(fit)], labels)
        return self

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
        Only the event is known, so ``correction`` is "selection" and the prior uniform. A slope
        cannot be learnt, because selection cannot be repeated without held-out cases. Prediction
        takes the kept columns, in the same order, or the whole table that was screened where
        that has more columns.
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
        settings = self._settings(None, selection.n_features_in, only_event=True)
        screening = screen(source, y, binarize=self.binarize)
        check_fits(selection, screening.class_counts, screening.ones, screening.observed_full())
        fit = fit_selection(screening, renumbered(selection), settings)
        fit = explain.with_selection(fit, selection)
        validate_data(self, X, skip_check_array=True)
        self._store(fit, classes, settings.feature_prior, settings.correction)
        self._kept_columns_only = True
        self._warn_about_slope()
        return self

    def fit_screening(self, screening: Screening) -> Self:
        """Fit from counts alone: of a table that came in parts, merged.

        Parameters
        ----------
        screening : Screening
            Counts of every feature, from `screen` and its merges.

        Notes
        -----
        The same as `fit` without a slope, which needs the rows.
        """
        self._refuse_to_choose("fit_screening")
        settings = self._settings(screening.feature_names, screening.n_features)
        fit = fit_screening(screening, settings, check_random_state(self.random_state))
        self.n_features_in_ = screening.n_features
        if screening.feature_names is not None:
            self.feature_names_in_ = np.array(screening.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_
        self._store(fit, screening.classes, settings.feature_prior, settings.correction)
        self._warn_about_slope()
        return self

    @property
    def _number_is_to_be_chosen(self) -> bool:
        return isinstance(self.n_features_to_select, str) and self.n_features_to_select == "cv"

    def _refuse_to_choose(self, method: str) -> None:
        if self._number_is_to_be_chosen:
            msg = f"{method} cannot choose the number of features; give n_features_to_select."
            raise ValueError(msg)

    def _warn_about_slope(self) -> None:
        if self.recalibrate == "slope":
            warnings.warn(
                "a slope cannot be learnt here, because selection cannot be repeated without "
                "held-out cases: probabilities are not recalibrated. Set recalibrate=None to "
                "say so.",
                UserWarning,
                stacklevel=3,
            )

    def _settings(self, names: tuple[str, ...] | None, p: int, *, only_event: bool = False) -> Any:
        mask = parse_always_keep(None if only_event else self.always_keep, names, p)
        return check_settings(self.get_params(deep=False), mask, only_event=only_event)

    def _store(
        self,
        fit: BernoulliFit,
        classes: AnyArray,
        feature_prior: str,
        correction: str | None,
    ) -> None:
        self._fit = fit
        self._kept_columns_only = False
        self.classes_ = classes
        self.class_count_ = np.array(fit.selection.class_counts)
        self.selection_ = fit.selection
        self.posterior_ = fit.race.posterior
        self.always_posterior_ = None if fit.by_design is None else fit.by_design.posterior
        self.learned_prior_ = fit.race.prior if isinstance(fit.race, LearnedFit) else None
        self.feature_prior_ = feature_prior
        self.correction_ = correction
        self.number_choice_ = None
        self.slope_ = 1.0

    # --------------------------------------------------------------- prediction

    def predict_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return P(class | x), shape (n, 2).

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict; NaN is missing and integrated out.
        class_prior : array-like of shape (2,), optional
            Prevalences where the model is used: an exact offset of the log-odds.
        """
        log_odds = self._log_odds(X, class_prior)
        return np.stack([expit(-log_odds), expit(log_odds)], axis=1)

    def predict_log_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return log P(class | x), shape (n, 2), without underflow."""
        log_odds = self._log_odds(X, class_prior)
        return np.stack([log_expit(-log_odds), log_expit(log_odds)], axis=1)

    def predict(self, X: Any) -> AnyArray:
        """Return the more probable class of each row."""
        log_odds = self._log_odds(X, None)
        result: AnyArray = self.classes_[(log_odds >= 0).astype(int)]
        return result

    def predict_proba_interval(
        self, X: Any, level: float = 0.9, *, class_prior: Any = None, n_draws: int = 2000
    ) -> FloatArray:
        """Return an interval for P(class 1 | x), shape (n, 2).

        The interval holds ``level`` of the distribution of P(class 1 | x, parameters) given the
        training data and x itself; the mean of that distribution is `predict_proba`. With a slope
        each draw's evidence is multiplied by it, and the mean is `predict_proba` only roughly.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        level : float, default=0.9
            Probability that the interval holds.
        class_prior : array-like of shape (2,), optional
            Prevalences where the model is used.
        n_draws : int, default=2000
            Draws of the parameters; from a fixed seed, so that the same rows give the same
            intervals.
        """
        check_level_and_draws(level, n_draws)
        ones, missing = self._zero_one(X)
        prior = self._prior_log_odds(class_prior)
        return intervals.probability_interval(
            self._fit, ones, missing, level, n_draws, self._pseudocounts(), prior, self.slope_
        )

    def _pseudocounts(self) -> tuple[float, float]:
        first, second = self.class_pseudocounts
        return float(first), float(second)

    def _log_odds(self, X: Any, class_prior: Any) -> FloatArray:
        ones, missing = self._zero_one(X)
        prior = self._prior_log_odds(class_prior)
        if prior is None:
            prior = self._fit.log_prior_odds
        result: FloatArray = prior + self.slope_ * self._fit.evidence(ones, missing)
        return result

    def _prior_log_odds(self, class_prior: Any) -> float | None:
        """Log-odds of a given prevalence, or None where the training data's holds."""
        check_is_fitted(self)
        given = self.class_prior if class_prior is None else class_prior
        return check_class_prior(given)

    def _zero_one(self, X: Any) -> tuple[AnyArray, BoolArray | None]:
        """Return the kept columns as 0/1, and where they are missing."""
        check_is_fitted(self)
        source = as_source(X)
        columns = np.array(self.selection_.columns, dtype=np.int64)
        width = source.shape[1]
        if self._kept_columns_only and width == columns.size:
            columns = np.arange(width)
        elif self._kept_columns_only and width == self.selection_.n_features_in:
            names = source.feature_names
            if names is not None:
                check_names(self.selection_, tuple(names[column] for column in columns))
            return self._binarized(source, columns)
        validate_data(self, X, reset=False, skip_check_array=True)
        if width != self.n_features_in_:
            msg = (
                f"X has {width} features, but SelectiveBernoulliNB is expecting "
                f"{self.n_features_in_} features as input."
            )
            raise ValueError(msg)
        return self._binarized(source, columns)

    def _binarized(self, source: Source, columns: IntArray) -> tuple[AnyArray, BoolArray | None]:
        names = self.get_feature_names_out()
        return self._fit.binarization.apply(
            source.take(columns), lambda position: f"column {names[position]!r}"
        )

    # ------------------------------------------------------------- copies and files

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file of plain data, whole or not at all.

        Parameters
        ----------
        path : path-like
            Any name; ``.honestbayes`` is the usual suffix. `honestbayes.load` reads it.

        Notes
        -----
        A ``RandomState`` in ``random_state`` is stored as None; it is not needed to predict.
        """
        save_model(self._model(), path)

    def on_kept_columns(self) -> Self:
        """Return a fitted copy that takes the kept columns only.

        Returns
        -------
        SelectiveBernoulliNB
            As after `fit_selected`: it takes the columns ``selection_.columns``, in this order,
            and still a whole table where that has more columns. Its probabilities are the same.
            It holds nothing of the size of the whole table: an ``always_keep`` by numbers or
            mask becomes the numbers among the kept columns.
        """
        check_is_fitted(self)
        copy: Self = clone(self)
        model = self._model()
        if not model.kept_columns_only:
            names = None
            if model.feature_names is not None:
                names = tuple(str(name) for name in self.get_feature_names_out())
            model = replace(model, kept_columns_only=True, feature_names=names)
            k, width = len(self.selection_.kept), len(self.selection_.columns)
            if self.always_keep is not None and not _are_names(self.always_keep):
                copy.set_params(always_keep=list(range(k, width)))
        return copy._restore(model)

    def _model(self) -> BernoulliModel:
        """Return all that the fitted model is, in one record."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return BernoulliModel(
            self.get_params(deep=False),
            self._fit,
            self.classes_,
            self.feature_prior_,
            self.correction_,
            self.slope_,
            self.number_choice_,
            self._kept_columns_only,
            None if names is None else tuple(names.tolist()),
        )

    def _restore(self, model: BernoulliModel) -> Self:
        """Become the fitted model of a record."""
        self._store(model.fit, model.classes, model.feature_prior, model.correction)
        self.slope_ = model.slope
        self.number_choice_ = model.number_choice
        self._kept_columns_only = model.kept_columns_only
        self.n_features_in_ = model.n_features_in
        if model.feature_names is not None:
            self.feature_names_in_ = np.array(model.feature_names, dtype=object)
        return self

    def _to_plain(self) -> Plain:
        """Return the model as plain data, for a file that holds more than the model."""
        return model_to_plain(self._model())

    @classmethod
    def _from_plain(cls, content: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """Return the model that a file describes."""
        model = model_from_plain(content, arrays)
        return cls(**model.parameters)._restore(model)

    # --------------------------------------------------------------- explanation

    def get_support(self, indices: bool = False) -> BoolArray | IntArray:
        """Return the mask of the kept features, or their indices."""
        check_is_fitted(self)
        mask = self.selection_.support()
        return np.flatnonzero(mask) if indices else mask

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the kept features, strongest first, then those kept by design."""
        check_is_fitted(self)
        columns = np.array(self.selection_.columns, dtype=np.int64)
        if self.selection_.kept_names is not None:
            known = self.selection_.kept_names + (self.selection_.always_kept_names or ())
            return np.array(known, dtype=object)
        names = getattr(self, "feature_names_in_", input_features)
        if names is None:
            return np.array([f"x{column}" for column in columns], dtype=object)
        names = np.asarray(names, dtype=object)
        return names if self._kept_columns_only else names[columns]

    def kept_binarization(self) -> Binarization:
        """Return the cuts of the kept features, in the order of ``selection_.columns``."""
        check_is_fitted(self)
        return self._fit.binarization

    def feature_table(self) -> FeatureTable:
        """Return what each kept feature says: P(x=1) in each class, and the weight of evidence."""
        names = tuple(str(name) for name in self.get_feature_names_out())
        classes = (str(self.classes_[0]), str(self.classes_[1]))
        return explain.feature_table(self._fit, names, classes, self.slope_)

    def contributions(self, X: Any) -> FloatArray:
        """Return what each kept feature adds to the log-odds of each row, shape (n, k).

        Each row adds up to the log-odds less the prior log-odds. With a common alpha features
        inform each other about alpha, so the contribution is that of each feature after the
        stronger ones.
        """
        ones, missing = self._zero_one(X)
        result: FloatArray = self.slope_ * explain.contributions(self._fit, ones, missing)
        return result

    def feature_path(self, X: Any, y: Any) -> FeaturePath:
        """Return error and log score on (X, y) for the first 1, 2, ... of the kept features.

        With the learned prior, or with all counts conditioned on, the posterior is the same for
        every number of features, so one pass serves all. Otherwise the path is that of the
        model fitted to all kept features. Without recalibration.
        """
        ones, missing = self._zero_one(X)
        _, is_class_1 = encode_classes(y, self.classes_)
        prior = self._prior_log_odds(None)
        return explain.feature_path(self._fit, ones, missing, is_class_1, prior)

    def leave_one_out(self, X: Any, y: Any, *, groups: Any = None) -> FloatArray:
        """Return P(class 1) of each row from the model fitted without it, shape (n,).

        Equal to `cross_val_predict` with `LeaveOneOut` (or `LeaveOneGroupOut`) of the model with
        ``recalibrate=None``: selection, cuts and prior learnt again each time, but from counts. A
        slope would have to be learnt inside each fold.

        Parameters
        ----------
        X, y : training data
            Not the fitted model's: nothing is taken from an earlier `fit`.
        groups : array-like of shape (n,), optional
            Rows with the same label are left out together.
        """
        self._refuse_to_choose("leave_one_out")
        source = as_source(X)
        _, is_class_1 = encode_classes(y)
        settings = self._settings(source.feature_names, source.shape[1])
        whole = screen(source, y, binarize=self.binarize)
        n = is_class_1.size
        codes = group_codes(groups, n)
        inverse = np.arange(n) if codes is None else codes
        folds = [np.flatnonzero(inverse == group) for group in range(inverse.max() + 1)]
        log_odds = np.empty(n)
        given = check_class_prior(self.class_prior)
        training = TrainingRows(source, is_class_1, whole, self.binarize, self.random_state)
        for rows, fit, evidence in leave_out_fits(training, folds, settings):
            log_odds[rows] = evidence + (fit.log_prior_odds if given is None else given)
        result: FloatArray = expit(log_odds)
        return result


def _are_names(always_keep: Any) -> bool:
    return np.asarray(always_keep).dtype.kind not in "biuf"
