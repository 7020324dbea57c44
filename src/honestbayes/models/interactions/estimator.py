"""Models with interactions of any order: a classifier, a sequence classifier and a regressor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import ndtri
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.base.explanation import Described, ReportSection, TableNames
from honestbayes.base.parameters import (
    check_level_and_draws,
    check_quantiles,
    check_response,
    refuse_arguments,
    whole_number,
)
from honestbayes.base.part import FittedPart, TrainingLabels, TrainingPart
from honestbayes.base.persistence import Kinds, Parameter, SavedEstimator
from honestbayes.base.recalibration import NumberChoice, Recalibration, held_out_folds
from honestbayes.base.sampled import SampledClassifier, SampledEstimator, sampling_of
from honestbayes.data import check_as_many
from honestbayes.data.categories import (
    TAKEN_FOR_MISSING,
    Codes,
    CutTable,
    category_table,
    check_missing,
)
from honestbayes.data.kinds import Kind, as_table
from honestbayes.files.fields import (
    MOST_FEATURES,
    Entries,
    Field,
    Known,
    Number,
    Plain,
    Section,
    Texts,
    Whole,
    check_column_names,
    joined,
)
from honestbayes.models.interactions.model import (
    MOST_ORDER,
    ORDERS,
    WHY_COMPLETE,
    InteractionFit,
    InteractionPart,
    Interactions,
    InteractionSettings,
    InteractionTraining,
    SplitInteraction,
    WidthPriorField,
    coefficients,
    described,
    feature_table,
    interaction_settings,
    level_names,
    run_chains,
    split_coefficients,
)
from honestbayes.sampling.draws import Diagnostics
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

WidthPrior = tuple[float, float] | Mapping[int, float | tuple[float, float]]
"""Shape and mode for all orders, or a prior or a fixed width for some of them."""


class InteractionClassifier(SampledClassifier):
    """Bayesian logistic model of categorical features with their interactions.

    Every pattern of up to ``order`` cells that a case can have ("outlook=sunny & humidity=high")
    has a coefficient. Patterns that occur in the same training cases cannot be distinguished, so
    the sum of their coefficients is sampled as one parameter, without any approximation; for a case
    with only some of these patterns the sum is split again.

    Parameters
    ----------
    order : int or "cv", default=2
        Largest number of cells that a pattern fixes: 1 is a model without interactions. "cv": 1, 2
        or 3, by the log score of held-out cases inside `fit`.
    coefficient_prior : {"cauchy", "gaussian"}, default="cauchy"
        Distribution of the coefficients before the data are seen. Cauchy priors let a few of them
        be large among many that are nearly 0.
    width_prior : tuple of float, or mapping, default=(0.25, 0.1)
        Inverse gamma prior of the width of order o: its shape, and its mode times o. A mapping
        names orders: (shape, mode) of that order, or a number, which fixes its width; other
        orders keep the default. Order 0 is the intercept, whose width is otherwise fixed at 5
        (Cauchy) or 10 (normal).
    compress : bool, default=True
        Whether patterns that the same cases have share a parameter. False is slower and gives the
        same probabilities.
    missing : {"refuse", "level"}, default="refuse"
        Whether a missing training cell is an error, or a level of its own. At prediction a missing
        cell that is no level of its column is integrated out.
    kinds : mapping or sequence, optional
        The kind of columns, "categorical" or "real": for some by name or index, or for all in
        order. By default numbers that are negative or not whole are measurements.
    n_bins : int, default=4
        The most bins that a measurement is cut into, with about as many training cases each; few,
        because patterns of several columns have many cells. In folds bins are learned again.
    n_features_to_select : int or "all", default="all"
        How many columns to keep. This model does not condition on a selection: with fewer than all
        use ``recalibrate="bayes"``, which repeats the selection on held-out cases.
    threshold : float, optional
        Instead, keep all columns whose absolute correlation is above this bound.
    always_keep : list of names or indices, or mask, optional
        Columns kept by design, without ranking.
    class_pseudocounts : float or array-like, default=1.0
        Dirichlet prior of the class frequencies, for another prevalence at prediction.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    recalibrate : {"bayes", "slope"} or None, default=None
        How probabilities are recalibrated on held-out cases. "bayes": slope and outlier rate,
        averaged over; "slope": one factor on the evidence. Both are learned from held-out
        predictions inside `fit`, for which chains run again many times.
    {chain_parameters}
    thin : int, default=2
        Number of sweeps for each draw.
    random_state : int, RandomState or None, default=None
        Seeds the chains, and what prediction draws.

    Attributes
    ----------
    order_ : int
        The order in use.
    n_groups_ : int
        Parameters of each class after compression.
    n_patterns_ : float
        Patterns of the training cases: parameters of each class without compression.
    diagnostics_ : Diagnostics
        R-hat, effective sample sizes and Monte Carlo errors of what the chains can be compared by.
    draws_ : Draws
        All draws.
    order_losses_ : dict or None
        Log score of held-out cases for each order, where it was chosen.
    selection_ : Selection
        What was kept.
    number_choice_ : None
        The number of features is not chosen by held-out cases here.
    slope_, outlier_rate_ : float
        Posterior means of the factor on the evidence and of the outlier rate; 1 and 0 without
        recalibration.
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
    A cell is a text or a whole number from 0 on, any number in a column that a frame calls a
    category, or a measurement, which is cut into bins.

    The model has no distribution of features, so it cannot condition on columns that were
    discarded: with ``n_features_to_select`` recalibration takes the place of the correction.

    The model has no distribution of the features. So the
    values of missing cells at prediction come from training rows: P(class | x) is averaged over
    them, weighted by how well they agree with the observed cells. A row without any cell gets the
    class frequencies. Categories that `fit` has not seen are treated as missing, with a warning.

    References
    ----------
    Li, L. (2007), Bayesian classification and regression with high dimensional features, PhD
    thesis, University of Toronto; chapter 3.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import InteractionClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice(["a", "b"], size=(100, 3))
    >>> y = np.where(X[:, 0] == X[:, 1], "same", "other")
    >>> model = InteractionClassifier(order=2, random_state=0).fit(X, y)
    >>> model.n_groups_, model.predict(X[:3]).tolist() == y[:3].tolist()
    (19, True)
    """

    _kind: ClassVar[str] = "InteractionClassifier"
    _kind_of_features: ClassVar[Kind] = "categorical"
    _explain_part = staticmethod(feature_table)
    _part_classes: ClassVar[Mapping[str, type]] = {"interactions": InteractionPart}
    _fitted_choices: ClassVar[Mapping[str, Field]] = {"order_": Whole(0, MOST_ORDER)}
    _parameter_fields: ClassVar[Mapping[str, Field]] = {
        "kinds": Kinds(absent=None),
        "n_bins": Parameter(absent=4),
        "width_prior": WidthPriorField(),
    }
    _suffixes: ClassVar[bool] = False

    def __init__(
        self,
        *,
        order: int | Literal["cv"] = 2,
        coefficient_prior: Literal["cauchy", "gaussian"] = "cauchy",
        width_prior: WidthPrior = (0.25, 0.1),
        compress: bool = True,
        missing: Literal["refuse", "level"] = "refuse",
        kinds: Any = None,
        n_bins: int = 4,
        n_features_to_select: int | Literal["all"] | None = "all",
        threshold: float | None = None,
        always_keep: Any = None,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["bayes", "slope"] | None = None,
        n_chains: int = 4,
        n_draws: int = 500,
        n_warmup: int = 200,
        n_doublings: int = 4,
        thin: int = 2,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.order = order
        self.coefficient_prior = coefficient_prior
        self.width_prior = width_prior
        self.compress = compress
        self.missing = missing
        self.kinds = kinds
        self.n_bins = n_bins
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.always_keep = always_keep
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.n_doublings = n_doublings
        self.thin = thin
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = self.missing == "level"
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------------ fitting

    def _training_parts(self, X: Any, labels: TrainingLabels) -> list[InteractionTraining]:
        settings = self._settings(np.zeros(X.shape[1], dtype=bool))
        cut = self._cut(X)
        table = cut.table
        always = parse_always_keep(self.always_keep, table.feature_names, table.codes.shape[1])
        settings = self._settings(always)
        check_missing(table, WHY_COMPLETE, missing_is_level=settings.missing == "level")
        sampling = sampling_of(self.get_params(deep=False))
        return [
            InteractionTraining(
                settings, cut, labels, self.random_state, self._suffixes, sampling=sampling
            )
        ]

    def _cut(self, X: Any) -> CutTable:
        """Return the codes of a training table, its measurements in bins."""
        return CutTable.of(X, self.kinds, whole_number({"n_bins": self.n_bins}, "n_bins", 2))

    def _settings(self, always_keep: BoolArray) -> InteractionSettings:
        return interaction_settings(self.get_params(deep=False), always_keep)

    def _choose(
        self, training: Sequence[TrainingPart], labels: TrainingLabels
    ) -> tuple[Sequence[TrainingPart], NumberChoice | None, Recalibration | None]:
        """Choose the order on held-out cases, where it is to be chosen."""
        self.order_losses_: dict[int, float] | None = None
        (part,) = training
        assert isinstance(part, InteractionTraining)
        width = part.cut.table.codes.shape[1]
        if not isinstance(self.order, str):
            self.order_ = min(part.settings.model.order, width)
            return [_of_order(part, self.order_)], None, None
        folds = held_out_folds(labels.codes, labels.groups, repeats=1, seed=labels.seed)
        losses = {}
        for order in [order for order in ORDERS if order <= width] if folds else []:
            by_fold = [values[0] for _, values in _of_order(part, order).held_out(folds)]
            loss = 0.0
            for rows, evidence in zip(folds, by_fold, strict=True):
                log_proba = Recalibration.plugged_in(1.0).log_proba(evidence, labels.log_prior())
                loss -= float(log_proba[np.arange(rows.size), labels.codes[rows]].sum())
            losses[order] = loss / sum(rows.size for rows in folds)
        self.order_losses_ = losses or None
        self.order_ = min(losses, key=losses.__getitem__) if losses else min(1, width)
        return [_of_order(part, self.order_)], None, None

    @classmethod
    def _settings_of(cls, parameters: Mapping[str, Any], always_keep: BoolArray) -> Any:
        return interaction_settings(parameters, always_keep)

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        given = {"n_features_to_select": "all", "threshold": None, **parameters}
        super()._check_parameters(given, fitted)

    def _parameters_on_kept_columns(self) -> dict[str, Any]:
        if self._suffixes:
            return {}
        kinds = None
        if self.kinds is not None:
            (part,) = self._parts
            assert isinstance(part, InteractionPart)
            kinds = ["categorical" if cut is None else "real" for cut in part.cuts.bounds]
        return {**super()._parameters_on_kept_columns(), "kinds": kinds}

    @property
    def _log_prior(self) -> FloatArray:
        (part,) = self._parts
        assert isinstance(part, InteractionPart)
        return part.log_prior

    def _store(self, parts: Sequence[FittedPart]) -> None:
        (part,) = parts
        assert isinstance(part, InteractionPart)
        self.selection_: Selection = part.selection
        self.draws_ = part.fit.draws
        self.diagnostics_: Diagnostics = part.fit.draws.diagnostics()
        self.n_groups_ = part.fit.n_groups
        self.n_patterns_ = part.fit.n_patterns
        if not hasattr(self, "order_losses_"):
            self.order_losses_ = None

    # --------------------------------------------------------------- prediction

    def predict_proba_interval(
        self, X: Any, level: float = 0.9, *, class_prior: Any = None, n_draws: int = 2000
    ) -> FloatArray:
        """Return intervals for P(class | x).

        An interval holds ``level`` of the distribution of P(class | x, coefficients) over the draws
        of the chains; the mean of that distribution is `predict_proba`, but for the one draw that
        is counted there in addition. With recalibration the evidence of each draw is
        multiplied by ``slope_``, and the mean is `predict_proba` only roughly.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        level : float, default=0.9
            Probability that the interval holds.
        class_prior : array-like of shape (n_classes,), optional
            Prevalences where the model is used.
        n_draws : int, default=2000
            Draws that are used, at most.

        Returns
        -------
        ndarray of shape (n, 2), or (n, n_classes, 2) for more than two classes
            Lower and upper bounds, for two classes those of ``classes_[1]``.
        """
        check_level_and_draws(level, n_draws)
        n_rows, values = self._read(X)
        (part,) = self._parts
        assert isinstance(part, InteractionPart)
        read = values[0][1] if values else np.zeros((n_rows, 0), dtype=np.int64)
        cells = part.cells(read)
        baseline = part.baseline(cells)[:, None]
        some = part.fit.draws.spread(n_draws)
        drawn = part.fit.probabilities(cells, some)
        return self._interval_of_draws(drawn, baseline, class_prior, level)

    # --------------------------------------------------------------- explanation

    def interactions(self, most: int = 20) -> Interactions:
        """Return the patterns with the largest coefficients, by posterior median.

        Parameters
        ----------
        most : int, default=20
            How many.
        """
        check_is_fitted(self)
        (part,) = self._parts
        assert isinstance(part, InteractionPart)
        return coefficients(part.fit, *described(part, *self._names_and_classes()), most)

    def split_interaction(self, rank: int = 0) -> SplitInteraction:
        """Return the coefficients of all patterns that occur in the same training cases.

        Training cases determine only their sum, which `interactions` shows. The prior divides it.

        Parameters
        ----------
        rank : int, default=0
            A row of `interactions`, counted from 0 on.
        """
        check_is_fitted(self)
        (part,) = self._parts
        assert isinstance(part, InteractionPart)
        return split_coefficients(part.fit, *described(part, *self._names_and_classes()), rank)

    def _sections(self, names: TableNames) -> tuple[ReportSection, ...]:
        """Return the largest interactions, by the columns, levels and classes of the table."""
        labels = {str(code): label for code, label in enumerate(names.classes)}
        record = self.interactions().with_cells(
            lambda name, level: (names.column(name), names.level_texts(name, (level,))[0])
        )
        record = record.renamed(str, labels)
        most = "one column" if record.order == 1 else f"up to {record.order} columns"
        chosen = ", chosen on held-out training cases" if self.order == "cv" else ""
        missing = "a separate category" if self.missing == "level" else "refused"
        return (
            ReportSection(
                name="interactions",
                title="The largest interactions",
                record=record,
                template="honestbayes.models.interactions/section.jinja",
                summary=record.in_words(),
                facts=(("order", f"{record.order}"), ("patterns", f"{record.n_patterns:,.0f}")),
                settings=(("order", f"{record.order}{chosen}"), ("missing cells", missing)),
                limits=(
                    (
                        f"The model uses patterns of {most}, so it misses signal in "
                        "combinations of more columns."
                    ),
                ),
            ),
        )

    def _arviz_groups(self) -> tuple[Sequence[str], Sequence[str]]:
        return ["log_sigma", "s"], ["log_likelihood"]


def _of_order(part: InteractionTraining, order: int) -> InteractionTraining:
    """Return the same part with patterns up to an order."""
    model = replace(part.settings.model, order=order)
    return replace(part, settings=replace(part.settings, model=model))


# --------------------------------------------------------------------------------------------------
# The next state of a discrete sequence
# --------------------------------------------------------------------------------------------------


def windows(sequence: Any, order: int) -> tuple[AnyArray, AnyArray]:
    """Cut a sequence into windows of states and the state that follows each.

    Parameters
    ----------
    sequence : str or sequence
        A text, whose characters are the states, or states of any kind: texts or whole numbers.
    order : int
        States of each window.

    Returns
    -------
    X : ndarray of shape (n - order, order)
        Windows, that of the earliest states first.
    y : ndarray of shape (n - order,)
        The state after each.

    Examples
    --------
    >>> from honestbayes.models.interactions.estimator import windows
    >>> X, y = windows("banana", order=2)
    >>> ["".join(row) for row in X], "".join(y)
    (['ba', 'an', 'na', 'an'], 'nana')
    """
    states = _states(list(sequence) if isinstance(sequence, str) else sequence)
    order = whole_number({"order": order}, "order", 0)
    if states.size <= order:
        msg = (
            f"a sequence of {states.size} states is too short for windows of {order} and the state "
            "that follows."
        )
        raise ValueError(msg)
    view = np.lib.stride_tricks.sliding_window_view(states, order + 1)
    return np.array(view[:, :order]), np.array(view[:, order])


def _states(sequence: Any) -> AnyArray:
    """Return states as an array of one dimension."""
    states = np.asarray(sequence)
    if states.ndim != 1:
        msg = f"sequence must have one dimension, not {states.ndim}."
        raise ValueError(msg)
    return states


class SequenceClassifier(InteractionClassifier):
    """Bayesian logistic model of the next state of a discrete sequence, given the states before.

    Every suffix of up to ``order`` states has a coefficient for each next state: the last state,
    the last two, and so on. Suffixes that the same training windows have share a parameter, so that
    long windows cost hardly more than short ones (thesis, section 3.4).

    Parameters
    ----------
    order : int, default=10
        How many states back the model looks, at most. Windows may be longer: their last states
        count.
    coefficient_prior : {"cauchy", "gaussian"}, default="cauchy"
        Distribution of the coefficients before the data are seen.
    width_prior : tuple of float, or mapping, default=(0.25, 0.1)
        Inverse gamma prior of the width of order o: its shape, and its mode times o. A mapping
        names orders: (shape, mode) of that order, or a number, which fixes its width; other
        orders keep the default. Order 0 is the intercept, whose width is otherwise fixed at 5
        (Cauchy) or 10 (normal).
    compress : bool, default=True
        Whether suffixes that the same windows have share a parameter.
    class_pseudocounts : float or array-like, default=1.0
        Dirichlet prior of the frequencies of next states, for another prevalence at prediction.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    recalibrate : {"bayes", "slope"} or None, default=None
        Whether a slope and an outlier rate are learned from held-out windows.
    {chain_parameters}
    thin : int, default=2
        Number of sweeps for each draw.
    random_state : int, RandomState or None, default=None
        Seeds the chains, and what prediction draws.

    Attributes
    ----------
    order_ : int
        The order in use.
    order_losses_ : None
        The order is not chosen by held-out windows here.
    n_groups_ : int
        Parameters of each next state after compression.
    n_patterns_ : float
        Suffixes of the training windows: parameters of each next state without compression.
    diagnostics_ : Diagnostics
        R-hat, effective sample sizes and Monte Carlo errors of what the chains can be compared by.
    draws_ : Draws
        All draws.
    selection_ : Selection
        The states of a window, all of which are kept.
    number_choice_ : None
        The number of states is not chosen by held-out cases here.
    slope_, outlier_rate_ : float
        Posterior means of the factor on the evidence and of the outlier rate; 1 and 0 without
        recalibration.
    classes_ : ndarray of shape (n_classes,)
        States that follow.
    class_count_ : ndarray of shape (n_classes,)
        Training windows with each.
    n_features_in_ : int
        Length of the windows seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of their places, where X has them.

    References
    ----------
    Li, L. (2007), Bayesian classification and regression with high dimensional features, PhD
    thesis, University of Toronto; section 3.4.

    Examples
    --------
    >>> from honestbayes import SequenceClassifier
    >>> from honestbayes.models.interactions.estimator import windows
    >>> X, y = windows("abcabd" * 10, order=3)
    >>> model = SequenceClassifier(order=3, random_state=0).fit(X, y)
    >>> model.predict([list("cab"), list("dab")]).tolist()
    ['d', 'c']
    """

    _kind: ClassVar[str] = "SequenceClassifier"
    _suffixes: ClassVar[bool] = True

    # Parameters of `InteractionClassifier` that sequences do without.
    missing = "refuse"
    n_features_to_select = "all"
    threshold = None
    always_keep = None

    def __init__(
        self,
        *,
        order: int = 10,
        coefficient_prior: Literal["cauchy", "gaussian"] = "cauchy",
        width_prior: WidthPrior = (0.25, 0.1),
        compress: bool = True,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["bayes", "slope"] | None = None,
        n_chains: int = 4,
        n_draws: int = 500,
        n_warmup: int = 200,
        n_doublings: int = 4,
        thin: int = 2,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.order = order
        self.coefficient_prior = coefficient_prior
        self.width_prior = width_prior
        self.compress = compress
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.n_doublings = n_doublings
        self.thin = thin
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    def _cut(self, X: Any) -> CutTable:
        return CutTable.uncut(X)

    def _settings(self, always_keep: BoolArray) -> InteractionSettings:
        """Keep every state, in its place."""
        settings = super()._settings(np.ones(always_keep.size, dtype=bool))
        if settings.model.order > always_keep.size:
            msg = (
                f"order={settings.model.order} is longer than the sequences, which have "
                f"{always_keep.size} states; lower it, or give longer ones."
            )
            raise ValueError(msg)
        return settings


# --------------------------------------------------------------------------------------------------
# A real-valued response
# --------------------------------------------------------------------------------------------------


_NOISE_NODES = ndtri((np.arange(15) + 0.5) / 15)
"""Quantiles of a standard normal, by which each draw's noise is spread."""


@dataclass(frozen=True, slots=True, eq=False)
class ResponseModel:
    """A fitted response.

    Attributes
    ----------
    codes : Codes
        How columns become codes.
    fit : InteractionFit
        Of the response in standard units.
    centre, scale : float
        What the response's units are.
    """

    codes: Codes
    fit: InteractionFit
    centre: float
    scale: float


class InteractionRegressor(RegressorMixin, SampledEstimator, SavedEstimator):
    """Bayesian regression on categorical features with their interactions, with normal noise.

    The model of `InteractionClassifier` for a real-valued response (thesis, section 3.6): every
    pattern of up to ``order`` cells has a coefficient, and patterns that the same training cases
    have share a parameter.

    Parameters
    ----------
    order : int, default=2
        Largest number of cells that a pattern fixes.
    coefficient_prior : {"cauchy", "gaussian"}, default="cauchy"
        Distribution of the coefficients before the data are seen.
    width_prior : tuple of float, or mapping, default=(0.25, 0.1)
        As in `InteractionClassifier`, in units of the response's standard deviation.
    compress : bool, default=True
        Whether patterns that the same cases have share a parameter.
    missing : {"refuse", "level"}, default="refuse"
        Whether a missing training cell is an error, or a level of its own. At prediction a missing
        cell that is no level is averaged over training rows, as in `InteractionClassifier`.
    {chain_parameters}
    thin : int, default=2
        Number of sweeps for each draw.
    random_state : int, RandomState or None, default=None
        Seeds the chains, and what prediction draws.

    Attributes
    ----------
    n_groups_, n_patterns_ : int, float
        Parameters with and without compression.
    diagnostics_ : Diagnostics
        R-hat, effective sample sizes and Monte Carlo errors.
    draws_ : Draws
        All draws, in units of the response's standard deviation.
    n_features_in_, feature_names_in_ : int, ndarray
        Columns seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import InteractionRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice(["a", "b"], size=(40, 2))
    >>> y = 2.0 * (X[:, 0] == "a") + rng.normal(size=40) / 5
    >>> model = InteractionRegressor(order=1, thin=10, random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict([["a", "b"]])[0] - 2) < 0.2)
    True
    """

    _kind: ClassVar[str] = "InteractionRegressor"
    _parameter_fields: ClassVar[Mapping[str, Field]] = {"width_prior": WidthPriorField()}

    def __init__(
        self,
        *,
        order: int = 2,
        coefficient_prior: Literal["cauchy", "gaussian"] = "cauchy",
        width_prior: WidthPrior = (0.25, 0.1),
        compress: bool = True,
        missing: Literal["refuse", "level"] = "refuse",
        n_chains: int = 4,
        n_draws: int = 500,
        n_warmup: int = 200,
        n_doublings: int = 4,
        thin: int = 2,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.order = order
        self.coefficient_prior = coefficient_prior
        self.width_prior = width_prior
        self.compress = compress
        self.missing = missing
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.n_doublings = n_doublings
        self.thin = thin
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = self.missing == "level"
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Group patterns and run chains.

        Parameters
        ----------
        X : table of shape (n, p)
            Training rows of texts or whole numbers from 0 on.
        y : array-like of shape (n,)
            The response.
        **refused
            ``sample_weight`` is refused: cases are counted whole.
        """
        refuse_arguments(refused)
        X = as_table(X)
        response = check_response(y)
        check_as_many(X.shape[0], response.size)
        settings = interaction_settings(self.get_params(deep=False), np.zeros(0, dtype=bool))
        validate_data(self, X, skip_check_array=True)
        table = category_table(X)
        check_missing(table, WHY_COMPLETE, missing_is_level=settings.missing == "level")
        codes = Codes(table.levels, settings.missing == "level")
        centre, scale = float(response.mean()), float(response.std()) or 1.0
        sampling = sampling_of(self.get_params(deep=False))
        standard = (response - centre) / scale
        fit = run_chains(
            codes.of_training(table.codes), standard, 0, settings.model, sampling, suffixes=False
        )
        self._hold(ResponseModel(codes, fit, centre, scale))
        self._conclude(interrupted=fit.interrupted)
        return self

    def _hold(self, model: ResponseModel) -> Self:
        """Hold what was fitted, and show it."""
        self._model = model
        self.draws_ = model.fit.draws
        self.diagnostics_: Diagnostics = model.fit.draws.diagnostics()
        self.n_groups_, self.n_patterns_ = model.fit.n_groups, model.fit.n_patterns
        return self

    # --------------------------------------------------------------- prediction

    def predict(self, X: Any) -> FloatArray:
        """Return the median of each row's response.

        Not the mean: with Cauchy coefficients a pattern that no training case had has none.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        """
        cells = self._read(X)
        result = np.empty(cells.shape[0])
        for rows, f in self._model.fit.predictors(cells, self.draws_):
            result[rows] = np.median(f[..., 0], axis=1)
        return self._model.centre + self._model.scale * result

    def predict_quantiles(self, X: Any, q: Any) -> FloatArray:
        """Return quantiles of each row's response, its noise included.

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
        levels = check_quantiles(q)
        cells = self._read(X)
        some = self.draws_.spread(1000)
        noise = np.sqrt(some.pooled("noise"))[:, None] * _NOISE_NODES
        result = np.empty((cells.shape[0], levels.size))
        for rows, f in self._model.fit.predictors(cells, some):
            values = (f[..., 0][:, :, None] + noise).reshape(f.shape[0], -1)
            result[rows] = np.quantile(values, levels, axis=1).T
        result = self._model.centre + self._model.scale * result
        return np.asarray(result[:, 0] if np.ndim(q) == 0 else result)

    def _read(self, X: Any) -> IntArray:
        """Return the codes of a table; refuse another table."""
        check_is_fitted(self)
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        codes, rows = self._model.codes, self._model.fit.rows
        cells = codes.read(X, Described(self._names()), TAKEN_FOR_MISSING)
        seen = [np.isin(np.arange(size), rows[:, j]) for j, size in enumerate(codes.n_levels)]
        return codes.without_new_missing(cells, np.concatenate(seen))

    def _names(self) -> Any:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else names

    def interactions(self, most: int = 20) -> Interactions:
        """Return the patterns with the largest coefficients, by posterior median.

        Parameters
        ----------
        most : int, default=20
            How many.
        """
        check_is_fitted(self)
        return coefficients(self._model.fit, *self._described(), most, unit=self._model.scale)

    def split_interaction(self, rank: int = 0) -> SplitInteraction:
        """Return the coefficients of all patterns that occur in the same training cases.

        Parameters
        ----------
        rank : int, default=0
            A row of `interactions`, counted from 0 on.
        """
        check_is_fitted(self)
        return split_coefficients(self._model.fit, *self._described(), rank, unit=self._model.scale)

    def _described(
        self,
    ) -> tuple[list[list[str]], tuple[str, ...], tuple[int, ...], tuple[str, ...]]:
        """Return levels, names and indices of the columns, and what the predictor is of."""
        names = tuple(map(str, self._names()))
        columns = tuple(range(self.n_features_in_))
        return level_names(self._model.codes), names, columns, ("response",)

    def _arviz_groups(self) -> tuple[Sequence[str], Sequence[str]]:
        return ["log_sigma", "noise", "s"], ["log_likelihood"]

    # -------------------------------------------------------------------- files

    def _fitted_to_plain(self) -> Plain:
        model = self._model
        content = {
            "n_features_in": int(self.n_features_in_),
            "centre": model.centre,
            "scale": model.scale,
        }
        names = Texts().write("feature_names", getattr(self, "feature_names_in_", None))
        return joined((content, {}), names, codes=model.codes.to_plain(), fit=model.fit.to_plain())

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        width = Whole(1, MOST_FEATURES).read(entries, "n_features_in", {})
        names = Texts().read(entries, "feature_names", {})
        check_column_names(entries, names, width)
        codes = Section(kind=Codes).read(entries, "codes", {"n_columns": width})
        of_fit = {"n_levels": codes.n_levels, "n_predictors": 0}
        fit = Section(kind=InteractionFit).read(entries, "fit", of_fit)
        centre = Number(-1e300, 1e300).read(entries, "centre", {})
        scale = Number(1e-300, 1e300).read(entries, "scale", {})
        model = ResponseModel(codes, fit, centre, scale)
        return {"model": model, "feature_names": names, "n_features_in": width}

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        del fitted
        interaction_settings(parameters, np.zeros(0, dtype=bool))

    def _load_fitted(self, fitted: Known) -> Self:
        self.n_features_in_ = fitted["n_features_in"]
        if fitted["feature_names"] is not None:
            self.feature_names_in_ = np.array(fitted["feature_names"], dtype=object)
        return self._hold(fitted["model"])
