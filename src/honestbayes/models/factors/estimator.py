"""Factor models for correlated continuous features: a classifier and a regressor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.base.explanation import Described, KeptColumns, ReportSection, TableNames
from honestbayes.base.parameters import check_quantiles, check_response, refuse_arguments
from honestbayes.base.part import FittedPart, TrainingLabels, TrainingPart
from honestbayes.base.persistence import SavedEstimator, check_number
from honestbayes.base.recalibration import Recalibration, held_out_folds, warn_of_too_few_groups
from honestbayes.base.sampled import SampledClassifier, SampledEstimator, sampling_of
from honestbayes.data import check_as_many
from honestbayes.data.kinds import Kind, as_table, columns_of
from honestbayes.files.fields import (
    Choice,
    Entries,
    Field,
    Known,
    Plain,
    Texts,
    check_column_names,
    joined,
    record_from_plain,
    record_to_plain,
)
from honestbayes.likelihood.normal import VariancePrior
from honestbayes.models.factors.model import (
    MOST_FACTORS,
    N_FOLDS,
    FactorChoice,
    FactorDraws,
    FactorFeatureTable,
    FactorPart,
    FactorTraining,
    Predictive,
    ResponseFit,
    ResponseTraining,
    check_chains_and_factors,
    choose_factors,
    classifier_settings,
    factors,
    feature_table,
    regressor_settings,
)
from honestbayes.models.gaussian.estimator import RatioPosterior, real_source, real_values
from honestbayes.sampling.draws import Diagnostics, Draws
from honestbayes.sampling.runs import Sampling
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.selection.correlation import ResponseSelection
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

POSTERIOR = ("loadings", "location", "variance", "signal_ratio")
"""Arrays of each draw that ArviZ gets, beside the numbers that chains are judged by."""


class FactorEstimator(SampledEstimator):
    """Base of the factor models: chains and draws.

    In ``draws_`` features are in units of their own standard deviation, around their mean.
    """

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _sampling(self) -> Sampling:
        """Return how chains are run, after validating the chain parameters."""
        params = self.get_params(deep=False)
        check_chains_and_factors(params)
        entropy = check_random_state(self.random_state).randint(2**31 - 1, size=4)
        return sampling_of(params, np.random.SeedSequence([int(number) for number in entropy]))

    def _show(self, drawn: FactorDraws | None, n_factors: int, choice: FactorChoice | None) -> None:
        """Store the draws and their diagnostics."""
        self.n_factors_ = n_factors
        self.factor_choice_ = choice
        self.draws_: Draws | None = None if drawn is None else drawn.draws
        self.diagnostics_: Diagnostics | None = None if drawn is None else drawn.diagnostics()

    def _arviz_groups(self) -> tuple[Sequence[str], Sequence[str]]:
        assert self.diagnostics_ is not None
        numbers = [name for name in self.diagnostics_.name if name != "log_density"]
        return [*POSTERIOR, *numbers], ["log_density", "accepted"]


class SelectiveFactorClassifier(FactorEstimator, SampledClassifier):
    """Factor model for classification, on features selected by correlation.

    Naive Bayes counts what two features share twice. Here features load on a few latent factors
    that all cases have: feature j of case i in class c is

        nu_j + mu_cj + lambda_j' z_i + e_ij,

    with z_i ~ N(delta_c, I) and e_ij ~ N(0, s2_j). Class effects mu_cj have the variance w_j in
    units of the typical variance within classes, loadings the variance w_lambda s2_j, and the
    factors' own shifts delta_c a variance that all share: what moves many features within a class
    often also differs between classes. The square roots of w_lambda and of the shifts' variance
    are half Cauchy with scale 1. s2_j is inverse gamma with shape 2 and scale 2 in units of the
    column's own variance, times the share of noise, which all share and which is exponential with
    mean 1: units do not matter. Without factors this is `SelectiveGaussianNB`.

    The posterior is sampled by Markov chains, conditioned on the event that the other features
    were discarded: its probability given the factors' scores is one of a quadratic form.

    Parameters
    ----------
    n_features_to_select : int, "all" or None, default=None
        How many features to keep. None: 10, or all when there are fewer.
    threshold : float, optional
        Instead, keep all features whose r (root of the share of the sum of squares between
        classes; the absolute correlation for two classes) is above this bound.
    n_factors : int or "auto", default="auto"
        How many factors. "auto": of 0 to 3 the number with the best log score in five folds of
        the training cases, found inside `fit`.
    feature_prior : {"auto", "learned", "heavy-tailed"}, default="auto"
        How signal is distributed over features (the ratios w_j). "learned": as estimated from all
        screened features by the model without factors. "heavy-tailed": w is a scale times the
        square of a half Cauchy variable, and the scale is sampled. "auto": heavy-tailed where the
        selection event is conditioned on, else learned.
    factor_shifts : bool, default=True
        Whether classes may differ in the factors themselves. False: delta_c is 0.
    correction : {"auto", "counts", "selection"} or None, default="auto"
        Use of the discarded features. "counts": the distribution of ratios is learned from all
        features. "selection": the model conditions on their being discarded, given factors
        and ratios; a learned distribution of ratios uses all features here too (see Notes).
        None: nothing; ratios are learned from the kept features only. "auto": selection.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, without ranking.
    covariates : list of names or indices, or mask, optional
        Columns such as age, sex or batch that are conditioned on and not modelled: they set the
        prior log-odds of each case. Features must not depend on them within the classes; `fit`
        warns where kept ones do. Numbers or categories.
    class_pseudocounts : float or array-like of shape (n_classes,), default=1.0
        Cases of each class that the Dirichlet prior of the class frequencies is worth.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    recalibrate : {"bayes", "slope"} or None, default="bayes"
        How probabilities are recalibrated on held-out cases. "bayes": probabilities are averaged
        over a slope on the evidence and an outlier rate (the share of cases whose features are
        uninformative), both learned from held-out predictions inside `fit`. "slope": one factor on
        the evidence, plugged in. Five folds, the same as for the number of factors.
    normal_scores : bool, default=False
        Whether each column becomes the normal quantiles of its ranks among the training rows, so
        that neither its unit nor single outlying values matter.
    criterion : {"correlation", "f", "t"}, default="correlation"
        What features are ranked by. The three names give the same ranking.
    {chain_parameters}
    random_state : int, RandomState or None, default=None
        Seed of the chains.

    Attributes
    ----------
    selection_ : Selection
        Kept and discarded features.
    n_factors_ : int
        Number of factors.
    factor_choice_ : FactorChoice or None
        The numbers that were tried, where the number was to be chosen.
    number_choice_ : None
        The number of features is not chosen by held-out cases here.
    draws_ : Draws or None
        What the chains have drawn; None where no feature was kept.
    diagnostics_ : Diagnostics or None
        Whether to trust it.
    posterior_ : RatioPosterior
        The distribution of signal ratios that was learned without factors.
    variance_prior_ : VariancePrior
        The prior of the features' variances within classes.
    slope_ : float
        The factor on the evidence, its posterior mean; 1 without recalibration.
    outlier_rate_ : float
        The outlier rate, its posterior mean; 0 without recalibration.
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

    Notes
    -----
    A learned distribution of ratios uses the discarded features, and so does the event. They hold
    different information: the first on the strength of features, the second, given that, on the
    correlation of the factors' scores with the classes (more would have kept more features).
    Given the true distribution of ratios nothing is counted twice. But it is learned by a model
    without factors, which takes chance correlation of factors and classes for signal, and that
    evidence is then met again in the event. The heavy-tailed prior with the event has no such
    seam: its scale, the factors and the ratios are one posterior given the kept features and the
    event. Over tables drawn from the prior, and over tables with few strong features, it is the
    best calibrated of the three and has the best log score, so it is the default (see the docs).

    A discarded feature with missing cells is taken to have seen a fair sample of the cases.

    An interrupt (Ctrl-C) while chains run leaves a model of the draws so far, and is raised again.

    References
    ----------
    Li, Zhang and Neal (2008), A method for avoiding bias from feature selection with application
    to naive Bayes classification models, Bayesian Analysis 3(1), 171-196, section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes.models.factors.estimator import SelectiveFactorClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(40) % 2
    >>> X = rng.normal(size=(40, 100)) + rng.normal(size=(40, 1))
    >>> X[:, :3] += y[:, None]
    >>> model = SelectiveFactorClassifier(
    ...     n_features_to_select=3, n_factors=1, n_warmup=200, n_draws=200, random_state=0
    ... )
    >>> model.fit(X, y).predict_proba(X[:2]).shape
    (2, 2)
    """

    _kind: ClassVar[str] = "SelectiveFactorClassifier"
    _kind_of_features: ClassVar[Kind] = "real"
    _explain_part = staticmethod(feature_table)
    _part_classes: ClassVar[Mapping[str, type]] = {"factors": FactorPart}
    _fitted_choices: ClassVar[Mapping[str, Field]] = {
        "feature_prior_": Choice("learned", "heavy-tailed"),
        "correction_": Choice("counts", "selection", None),
    }

    def __init__(
        self,
        *,
        n_features_to_select: int | Literal["all"] | None = None,
        threshold: float | None = None,
        n_factors: int | Literal["auto"] = "auto",
        feature_prior: Literal["auto", "learned", "heavy-tailed"] = "auto",
        factor_shifts: bool = True,
        correction: Literal["auto", "counts", "selection"] | None = "auto",
        always_keep: Any = None,
        covariates: Any = None,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["bayes", "slope"] | None = "bayes",
        normal_scores: bool = False,
        criterion: Literal["correlation", "f", "t"] = "correlation",
        n_chains: int = 4,
        n_draws: int = 500,
        n_warmup: int = 200,
        n_doublings: int = 4,
        n_jobs: int | None = None,
        random_state: Any = None,
        checkpoint: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.n_factors = n_factors
        self.feature_prior = feature_prior
        self.factor_shifts = factor_shifts
        self.correction = correction
        self.always_keep = always_keep
        self.covariates = covariates
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.normal_scores = normal_scores
        self.criterion = criterion
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.n_doublings = n_doublings
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.verbose = verbose

    # ------------------------------------------------------------------ fitting

    def _training_parts(self, X: Any, labels: TrainingLabels) -> list[FactorTraining]:
        sampling = self._sampling()
        source = real_source(X, type(self).__name__)
        always = self._always_kept(source.feature_names, source.shape[1])
        settings = classifier_settings(self.get_params(deep=False), always, labels.classes)
        self.feature_prior_, self.correction_ = settings.feature_prior, settings.correction
        n_factors = 1 if self.n_factors == "auto" else int(self.n_factors)
        return [
            FactorTraining(
                settings=settings,
                source=source,
                labels=labels,
                sampling=sampling,
                n_factors=n_factors,
            )
        ]

    def _choose(
        self, training: Sequence[TrainingPart], labels: TrainingLabels
    ) -> tuple[Sequence[TrainingPart], None, Recalibration]:
        """Choose the number of factors and learn the layer from the same held-out cases."""
        (part,) = training
        assert isinstance(part, FactorTraining)
        auto = self.n_factors == "auto"
        if not auto and self.recalibrate is None:
            return training, None, Recalibration.plugged_in(1.0)
        folds = held_out_folds(labels.codes, labels.groups, repeats=1, seed=labels.seed)
        if not folds:
            warn_of_too_few_groups(labels.groups)
            return training, None, Recalibration.plugged_in(1.0)
        numbers = range(MOST_FACTORS + 1) if auto else [part.n_factors]
        choice, recalibration = choose_factors(self.recalibrate, part, folds, numbers)
        chosen = replace(part, n_factors=choice.chosen, choice=choice if auto else None)
        return [chosen], None, recalibration

    @classmethod
    def _settings_of(cls, parameters: Mapping[str, Any], always_keep: BoolArray) -> Any:
        return classifier_settings(parameters, always_keep)

    def _store(self, parts: Sequence[FittedPart]) -> None:
        (part,) = parts
        assert isinstance(part, FactorPart)
        self.selection_: Selection = part.selection
        self.posterior_: RatioPosterior = part.fit.posterior
        self.variance_prior_: VariancePrior = part.fit.variance_prior
        self._show(part.drawn, part.n_factors, part.choice)

    # --------------------------------------------------------------- explanation

    def feature_table(self) -> FactorFeatureTable:
        """Return the effect of each kept feature alone, and its variance shared with the others.

        The evidence of correlated features does not add up.
        """
        table: FactorFeatureTable = super().feature_table()
        return table

    def _sections(self, names: TableNames) -> tuple[ReportSection, ...]:
        """Return how many factors there are, and how that number was chosen."""
        del names
        record = factors(self.n_factors_, self.factor_choice_)
        chosen = ""
        if record.tried:
            first, *_, last = record.tried
            chosen = f", chosen from {first} to {last} on held-out training cases"
        return (
            ReportSection(
                name="factors",
                title="The factors",
                record=record,
                template="honestbayes.models.factors/section.jinja",
                summary=str(record),
                facts=(("factors", f"{record.n_factors}"),),
                settings=(("factors", f"{record.n_factors}{chosen}"),),
            ),
        )


class SelectiveFactorRegressor(RegressorMixin, FactorEstimator, KeptColumns, SavedEstimator):
    """Factor model for regression, on features selected by correlation.

    Features and the response y load on a few latent factors that all cases have:

        x_ij = nu_j + lambda_j' z_i + e_ij,    y_i = nu_0 + lambda_0' z_i + e_i0,

    with z_i standard normal, e_ij ~ N(0, s2_j) and loadings N(0, w_lambda s2_j). The response has a
    loading ratio of its own; square roots of both are half Cauchy with scale 1. s2_j is inverse
    gamma with shape 2 and scale 2 in units of the column's own variance, times the share of noise,
    which all share and which is exponential with mean 1: units do not matter.

    Features with the largest absolute correlation with y are kept. Among thousands some are
    correlated by chance, and a model of these alone mistakes chance for a factor. The posterior
    is sampled by Markov chains, conditioned on the event that the other features were discarded:
    its probability given the factors' scores and y is one of a quadratic form.

    Parameters
    ----------
    n_features_to_select : int, "all" or None, default=None
        How many features to keep. None: 10, or all when there are fewer.
    threshold : float, optional
        Instead, keep all features whose absolute correlation with y is above this bound.
    n_factors : int or "auto", default="auto"
        How many factors. "auto": of 0 to 3 the number with the best log score in five folds of
        the training cases, found inside `fit`.
    correction : {"auto", "selection"} or None, default="auto"
        What the model is conditioned on. "selection": condition on the event that the other
        features were discarded. None: do not. "auto": selection.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, without ranking.
    criterion : {"correlation", "f", "t"}, default="correlation"
        What features are ranked by. The three names give the same ranking.
    {chain_parameters}
    random_state : int, RandomState or None, default=None
        Seed of the chains.

    Attributes
    ----------
    selection_ : ResponseSelection
        Kept and discarded features.
    n_factors_ : int
        Number of factors.
    factor_choice_ : FactorChoice or None
        The numbers that were tried, where the number was to be chosen.
    draws_ : Draws
        What the chains have drawn; the response is the first column.
    diagnostics_ : Diagnostics
        Whether to trust it.
    variance_prior_ : VariancePrior
        The prior of the features' variances.
    correction_ : str or None
        What "auto" became.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    Notes
    -----
    A discarded feature with missing cells is taken to have seen a fair sample of the cases.

    An interrupt (Ctrl-C) while chains run leaves a model of the draws so far, and is raised again.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes.models.factors.estimator import SelectiveFactorRegressor
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(40, 1))
    >>> X = rng.normal(size=(40, 100))
    >>> X[:, :10] += z
    >>> y = z[:, 0] + 0.5 * rng.normal(size=40)
    >>> model = SelectiveFactorRegressor(
    ...     n_features_to_select=5, n_factors=1, n_warmup=100, n_draws=200, random_state=0
    ... )
    >>> mean, std = model.fit(X, y).predict(X[:2], return_std=True)
    >>> mean.shape, std.shape
    ((2,), (2,))
    """

    _kind: ClassVar[str] = "SelectiveFactorRegressor"

    def __init__(
        self,
        *,
        n_features_to_select: int | Literal["all"] | None = None,
        threshold: float | None = None,
        n_factors: int | Literal["auto"] = "auto",
        correction: Literal["auto", "selection"] | None = "auto",
        always_keep: Any = None,
        criterion: Literal["correlation", "f", "t"] = "correlation",
        n_chains: int = 4,
        n_draws: int = 500,
        n_warmup: int = 200,
        n_doublings: int = 4,
        n_jobs: int | None = None,
        random_state: Any = None,
        checkpoint: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.n_factors = n_factors
        self.correction = correction
        self.always_keep = always_keep
        self.criterion = criterion
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.n_doublings = n_doublings
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.verbose = verbose

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Select features and run the chains.

        Parameters
        ----------
        X : table of shape (n, p)
            Training rows; NaN and None are missing.
        y : array-like of shape (n,)
            The response.
        **refused
            ``sample_weight`` is refused: the correction needs whole cases.
        """
        refuse_arguments(refused)
        X = as_table(X)
        response = check_response(y)
        check_as_many(X.shape[0], response.size)
        sampling = self._sampling()
        validate_data(self, X, skip_check_array=True)
        source = real_source(X, type(self).__name__)
        always = parse_always_keep(self.always_keep, source.feature_names, source.shape[1])
        settings = regressor_settings(self.get_params(deep=False), always)
        fit = self._fit_response(ResponseTraining(source, response, settings, sampling))
        self._hold(fit)
        self._conclude(interrupted=fit.drawn.interrupted)
        return self

    def _fit_response(self, training: ResponseTraining) -> ResponseFit:
        """Fit, with a number of factors that held-out cases choose where asked."""
        if self.n_factors != "auto":
            return training.fit(int(self.n_factors))
        if training.y.size < 2 * N_FOLDS:
            return training.fit(1)
        choice = training.choose_factors(range(MOST_FACTORS + 1))
        return replace(training.fit(choice.chosen), choice=choice)

    def _hold(self, fit: ResponseFit) -> Self:
        """Hold what was fitted, and show it."""
        self._fit = fit
        self.selection_: ResponseSelection = fit.selection
        self.variance_prior_: VariancePrior = fit.variance_prior
        self.correction_ = fit.correction
        self._show(fit.drawn, fit.n_factors, fit.choice)
        return self

    # --------------------------------------------------------------- prediction

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> FloatArray: ...
    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[FloatArray, FloatArray]: ...
    def predict(
        self, X: Any, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return the mean of each row's response, and its standard deviation where asked.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict; missing cells are integrated out.
        return_std : bool, default=False
            Whether to return standard deviations too.
        """
        check_is_fitted(self)
        parts = [part.moments() for part in self._predictive(X)]
        mean = np.concatenate([part[0] for part in parts])
        return (mean, np.concatenate([part[1] for part in parts])) if return_std else mean

    def predict_quantiles(self, X: Any, q: Any) -> FloatArray:
        """Return quantiles of each row's response.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        q : float or array-like of shape (m,)
            Probabilities, between 0 and 1.

        Returns
        -------
        ndarray of shape (n,) or (n, m)
        """
        check_is_fitted(self)
        levels = check_quantiles(q)
        parts = [
            np.stack([part.quantile(float(level)) for level in levels], axis=1)
            for part in self._predictive(X)
        ]
        result = np.concatenate(parts)
        return np.asarray(result[:, 0] if np.ndim(q) == 0 else result)

    def _predictive(self, X: Any) -> Iterator[Predictive]:
        """Yield the distributions of some rows at a time."""
        return self._fit.predictive(self._read(X))

    def _read(self, X: Any) -> AnyArray:
        """Return the kept columns of a table, NaN missing; refuse another table."""
        check_is_fitted(self)
        X = as_table(X)
        (columns,) = self._columns_in(X)
        if columns.size == 0:
            return np.zeros((X.shape[0], 0))
        return real_values(columns_of(X, columns), Described(self.get_feature_names_out()))

    def _kept_columns(self) -> list[IntArray]:
        return [np.array(self.selection_.columns, dtype=np.int64)]

    # -------------------------------------------------------------------- files

    def _fitted_to_plain(self) -> Plain:
        names = Texts().write("feature_names", getattr(self, "feature_names_in_", None))
        return joined(names, record_to_plain(self._fit))

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        fit = record_from_plain(ResponseFit, entries, {})
        width = fit.selection.n_features_in
        names = Texts().read(entries, "feature_names", {})
        check_column_names(entries, names, width)
        return {"fit": fit, "feature_names": names, "width": width}

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        check_number(parameters, fitted["width"])
        plain = parameters["n_features_to_select"]
        plain = None if type(plain) in (int, float) else plain
        regressor_settings({**parameters, "n_features_to_select": plain}, np.zeros(0, dtype=bool))

    def _load_fitted(self, fitted: Known) -> Self:
        self.n_features_in_ = fitted["width"]
        self._name_columns(fitted["feature_names"])
        return self._hold(fitted["fit"])
