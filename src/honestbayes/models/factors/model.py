"""The factor model: from a table and its classes, or a response, to draws and predictions.

The kernels are compiled, so they are imported where they run and not with the package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from scipy.special import log_softmax, logsumexp, ndtr
from sklearn.model_selection import KFold
from sklearn.utils.parallel import Parallel, delayed

from honestbayes.base.explanation import by_design
from honestbayes.base.parameters import (
    Correction,
    SelectionSettings,
    criterion_of,
    prior_and_correction,
    selection_rule,
    true_or_false,
    whole_number,
)
from honestbayes.base.part import (
    Describe,
    FittedPart,
    FittedToAll,
    FoldMemo,
    TrainingLabels,
    TrainingPart,
)
from honestbayes.base.recalibration import EFFECTIVE_SHARE, Recalibration, learn_recalibration
from honestbayes.base.sampled import check_chain_parameters
from honestbayes.data import Source
from honestbayes.data.binarization import check_spread
from honestbayes.data.normal_scores import NormalScores, NormalScoresSource
from honestbayes.data.source import DescribeColumns, RowsOf
from honestbayes.files.fields import (
    INLINE,
    Check,
    Choice,
    Counts,
    Entries,
    Field,
    Floats,
    Known,
    Plain,
    Section,
    Whole,
    joined,
    record_from_plain,
    record_to_plain,
)
from honestbayes.likelihood.normal import VariancePrior
from honestbayes.models.gaussian.estimator import (
    SCORES,
    GaussianFit,
    GaussianSettings,
    MeasurementTable,
    RatioPriorName,
    Standard,
    correlation_with,
    fit_moments,
    in_users_units,
    real_values,
)
from honestbayes.sampling.chains import Schedule
from honestbayes.sampling.draws import Diagnostics, Draws, draws_from_plain
from honestbayes.sampling.runs import Sampling, sample
from honestbayes.selection import Selection
from honestbayes.selection.correlation import ResponseSelection, select_by_response
from honestbayes.selection.moments import screen_moments, screen_response
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from honestbayes.models.factors.sampler import FactorKernel


KEPT_SHARE = (0.0, 0.7, 0.95)
"""How much of their deviation proposals of scores keep, where P(S) decides on them."""

MOST_GROUPS = 4
"""Discarded features with missing cells are put into so many groups by their observed cases."""

FACTOR_VARIANCE = VariancePrior(2.0, 2.0)
"""The prior of a column's own variance beside factors, times the share of noise, in units of the
column's whole variance: worth four cases. Less would let a factor be a single column, whose own
variance is then next to nothing (docs/factors.rst, "Units")."""

_NEGLIGIBLE = 1e-3
"""Ratios are left out of P(S) where all of them together change its logarithm by less."""


DRAWN_NUMBERS = (
    "log_noise",
    "log_shift_ratio",
    "log_loading_ratio",
    "log_scale",
    "alignment",
    "log_density",
    "accepted",
)
"""What is a single number in each draw."""

_LARGEST = 1e30
_VARIANCES = (1e-300, 1e60)
_MOST_SHARED = 1e14
"""Bounds of draws in files, in standard deviations of their columns, beyond which predictions could
overflow; the last is of variance by factors in units of noise, over all columns, beyond which
numbers have too few digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorSettings(SelectionSettings):
    """Validated choices of the user."""

    feature_prior: RatioPriorName
    correction: Correction
    has_shifts: bool = True
    normal_scores: bool = False

    def gaussian(self) -> GaussianSettings:
        """Return Gaussian settings, which learn ratios without factors and select features.

        The heavy-tailed prior keeps all nodes of its scale, unless every feature is to weigh
        them.
        """
        learnt_from_all = self.correction == "counts" or (
            self.correction == "selection" and self.feature_prior == "learned"
        )
        return GaussianSettings(
            n_features=self.n_features,
            threshold=self.threshold,
            always_keep=self.always_keep,
            feature_prior=self.feature_prior,
            correction="counts" if learnt_from_all else None,
        )


def draw_fields(known: Known) -> dict[str, Field]:
    """Return how draws stand in files; a response, the first column, has a ratio of its own."""
    shape = ("n_chains", "n_draws")
    each = (*shape, "n_classes", "n_columns")
    of_response = ("log_response_ratio",) if known.get("of_response") else ()
    return {
        "location": Floats(*each, low=-_LARGEST, high=_LARGEST),
        "spread": Floats(*each, low=_VARIANCES[0], high=_VARIANCES[1]),
        "loadings": Floats(*shape, "n_columns", "n_factors", low=-_LARGEST, high=_LARGEST),
        "variance": Floats(*shape, "n_columns", low=_VARIANCES[0], high=_VARIANCES[1]),
        "signal_ratio": Floats(*shape, "n_columns", low=0.0, high=1e6),
        **{
            name: Floats(*shape, low=-_LARGEST, high=_LARGEST)
            for name in (*DRAWN_NUMBERS, *of_response)
        },
    }


def _shared(loadings: FloatArray, spread: FloatArray) -> float:
    """Return the largest sum over columns of squared loadings in units of the noise."""
    with np.errstate(over="ignore"):
        square = np.sum(loadings**2, axis=3)[:, :, None]
        return float(np.max(np.sum(square / spread, axis=3), initial=0.0))


def check_draws(drawn: Mapping[str, AnyArray], check: Check) -> None:
    """Refuse draws that would leave predictions without digits."""
    shared = _shared(drawn["loadings"], drawn["spread"])
    check(shared <= _MOST_SHARED, "loadings", "leave next to no noise in a column")


@dataclass(frozen=True, slots=True)
class DrawsOfColumns(Section):
    """Draws in a section of their own, which is there where there are columns."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the draws, or nothing."""
        return ({}, {}) if value is None else Section.write(self, name, value)

    def read(self, entries: Entries, name: str, known: Known) -> FactorDraws | None:
        """Return the draws, or None."""
        if not known["n_columns"]:
            return None
        drawn: FactorDraws = Section(kind=FactorDraws).read(entries, name, known)
        return drawn


DRAWS = DrawsOfColumns()
FACTORS = Whole(0, 10**6, "is not a number of factors")
"""How draws and the number of factors stand in files."""


def standardise(values: AnyArray) -> Standard:
    """Find centres and units of columns of shape (n, k); NaN is missing."""
    x = np.asarray(values, dtype=float)
    seen = ~np.isnan(x)
    number = np.maximum(seen.sum(axis=0), 1)
    largest = np.abs(np.where(seen, x, 0.0)).max(axis=0, initial=0.0)
    largest = np.where(largest > 0, largest, 1.0)
    small = np.where(seen, x / largest, 0.0)
    centre = small.sum(axis=0) / number
    spread = np.sqrt(np.where(seen, (small - centre) ** 2, 0.0).sum(axis=0) / number)
    unit = np.where(spread > 1e-12, spread, 1.0) * largest
    return Standard(centre * largest, unit)


@dataclass(frozen=True, slots=True, eq=False)
class FactorDraws:
    """Draws of a factor model, in standardised units.

    Attributes
    ----------
    standard : Standard
        Units of the columns.
    draws : Draws
        By name: ``location`` and ``spread`` of shape (C, k), ``loadings`` of shape (k, d),
        ``variance`` and ``signal_ratio`` of shape (k,), and single numbers.
    interrupted : bool
        Whether the user stopped the chains before their end.
    """

    standard: Standard
    draws: Draws
    interrupted: bool

    def to_plain(self) -> Plain:
        """Return units and draws as plain data."""
        return joined(record_to_plain(self.standard), ({}, dict(self.draws.values)))

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> FactorDraws:
        """Return the draws that `to_plain` described; refuse those that cannot be."""
        draws = draws_from_plain(draw_fields(known), entries, known)
        check_draws(draws.values, entries.check)
        standard = record_from_plain(Standard, entries, known)
        return cls(standard, draws, interrupted=False)

    def log_likelihood(self, values: AnyArray) -> FloatArray:
        """Return log P(x | class), shape (n, C), for kept columns of shape (n, k); NaN: missing."""
        from honestbayes.models.factors.prediction import log_density_of_classes

        location, spread, loadings = self.pooled("location", "spread", "loadings")
        x = self.standard.apply(values)
        return np.asarray(log_density_of_classes(x, location, spread, loadings))

    def log_density_of_draws(self, values: AnyArray, n_draws: int) -> tuple[FloatArray, FloatArray]:
        """Return log P(x | class, parameters) of draws that are evenly spread over the chains.

        Parameters
        ----------
        values : ndarray of shape (n, k)
            Kept columns; NaN is missing.
        n_draws : int
            How many; where the chains have drawn fewer, each is taken several times.

        Returns
        -------
        log_density : ndarray of shape (n, n_draws, C)
        weight : ndarray of shape (n_draws,)
            By which each of the chains' draws that are used weighs the same.
        """
        from honestbayes.models.factors.prediction import log_density_of_draws

        given = self.pooled("location", "spread", "loadings")
        chosen = np.linspace(0, len(given[0]) - 1, n_draws).astype(int)
        used, back, times = np.unique(chosen, return_inverse=True, return_counts=True)
        each = log_density_of_draws(self.standard.apply(values), *(x[used] for x in given))
        return np.asarray(each)[:, back], 1.0 / times[back]

    def pooled(self, *names: str) -> list[AnyArray]:
        """Return the draws of all chains after each other, also where they have no factors."""
        draws = [self.draws[name] for name in names]
        return [
            np.require(x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]), requirements=("C", "W"))
            for x in draws
        ]

    def diagnostics(self) -> Diagnostics:
        """Judge what was drawn, as far as there is anything to draw."""
        return _judged(self.draws)


def _judged(draws: Draws) -> Diagnostics:
    """Judge the numbers that are drawn; without factors there are few."""
    from honestbayes.models.factors.sampler import NUMBERS

    has_factors = draws["loadings"].shape[-1] > 0
    names = list(NUMBERS) if has_factors else ["log_density"]
    if np.ptp(draws["log_scale"]) > 0:
        names.append("log_scale")
    if "log_response_ratio" in draws.values and has_factors:
        names.append("log_response_ratio")
    return draws.diagnostics(names)


def class_kernel(
    values: AnyArray,
    codes: IntArray,
    fit: GaussianFit,
    settings: FactorSettings,
    prior_unit: FloatArray | float = 1.0,
) -> tuple[FactorKernel, Standard]:
    """Return the kernel of a model of classes.

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Kept columns; NaN is missing.
    codes : ndarray of int of shape (n,)
        Class of each row.
    fit : GaussianFit
        What a model without factors has learned, and the selection.
    settings : FactorSettings
        Choices of the user.
    prior_unit : ndarray of shape (k,) or float, default=1.0
        What the prior of the variances is in: what columns are measured in, or their own.
    """
    from honestbayes.correction.factor_event import class_contrasts
    from honestbayes.models.factors.sampler import FactorEvent, FactorKernel

    posterior, selection, own = fit.posterior, fit.selection, fit.by_design
    weights, log_scale = posterior.weights, np.zeros(1)
    if weights.shape[0] > 1 and settings.correction == "counts":
        weights = posterior.scale_weights[None] @ weights
    elif weights.shape[0] > 1:
        log_scale = np.arange(weights.shape[0], dtype=float)
    drawn_from = np.zeros(values.shape[1], dtype=np.int64)
    distributions = weights[:, None]
    if own is not None:
        drawn_from[len(selection.kept) :] = 1
        expected = own.posterior.scale_weights @ own.posterior.weights
        both = [weights, np.broadcast_to(expected, weights.shape)]
        distributions = np.stack(both, axis=1)
    standard = standardise(values)
    design = make_design(
        standard.apply(values),
        codes,
        posterior.ratio,
        distributions,
        drawn_from,
        fit.variance_prior,
        prior_unit / standard.unit,
    )
    contrasts = class_contrasts(codes)
    groups: dict[int, int] = {}
    if settings.correction == "selection":
        for group in selection.groups:
            present = [size for size in group.observed if size > 0]
            if len(present) >= 2 and sum(present) > len(group.observed):
                groups[sum(present)] = groups.get(sum(present), 0) + group.n_discarded
    n_cases, n_discarded = merge_groups(groups, float(selection.gamma_squared))
    event = FactorEvent(
        contrasts.basis,
        contrasts.signal,
        float(selection.gamma_squared),
        n_cases,
        n_discarded,
        used_ratios(weights, float(n_discarded.sum())),
        np.array(KEPT_SHARE),
        settings.has_shifts,
    )
    return FactorKernel(design, event, log_scale), standard


def make_design(
    x: FloatArray,
    codes: IntArray,
    ratio: FloatArray,
    weights: FloatArray,
    drawn_from: IntArray,
    prior: VariancePrior,
    unit: FloatArray | float = 1.0,
) -> Any:
    """Return the `Design` of standardised columns; their variances' prior is in another unit."""
    from honestbayes.models.factors.sampler import Design

    missing = np.isnan(x)
    k = x.shape[1]
    return Design(
        np.where(missing, 0.0, x),
        missing,
        np.ascontiguousarray(codes, dtype=np.int64),
        np.bincount(codes).astype(float),
        np.ascontiguousarray(ratio),
        np.ascontiguousarray(weights),
        drawn_from,
        np.zeros(k, dtype=np.int64),
        np.full(k, prior.shape),
        np.maximum(np.full(k, prior.scale) * unit**2, 1e-290),
    )


def merge_groups(groups: Mapping[int, int], gamma_squared: float) -> tuple[FloatArray, FloatArray]:
    """Return observed cases and numbers of discarded features, in a few groups.

    Features with about as many observed cases are put together, at their mean. Where the bound
    is 0 or 1 the event says nothing.
    """
    if not 0 < gamma_squared < 1 or sum(groups.values()) == 0:
        return np.zeros(0), np.zeros(0)
    sizes = np.array(sorted(groups))
    number = np.array([groups[size] for size in sizes], dtype=float)
    place = (np.cumsum(number) - number / 2) / number.sum()
    label = np.minimum((place * MOST_GROUPS).astype(int), MOST_GROUPS - 1)
    if sizes.size <= MOST_GROUPS:
        label = np.arange(sizes.size)
    used = np.unique(label)
    total = np.array([number[label == one].sum() for one in used])
    cases = np.array([(number * sizes)[label == one].sum() for one in used]) / total
    return np.round(cases), total


def used_ratios(weights: FloatArray, n_discarded: float) -> BoolArray:
    """Return which ratios matter to P(S) at each node, shape (T, A)."""
    used = np.ones(weights.shape, dtype=bool)
    for t, row in enumerate(weights):
        order = np.argsort(row)
        negligible = np.cumsum(row[order]) * max(n_discarded, 1.0) < _NEGLIGIBLE
        used[t, order[negligible]] = False
    return used


def run_chains(
    kernel: FactorKernel,
    standard: Standard,
    n_factors: int,
    n_groups: int,
    sampling: Sampling,
) -> FactorDraws:
    """Run chains from scattered starts; go on from a checkpoint where there is one."""
    from honestbayes.models.factors.sampler import first_state

    draws, interrupted = sample(
        kernel,
        lambda seed: [
            first_state(kernel.design, n_factors, n_groups, np.random.default_rng(child))
            for child in seed.spawn(sampling.n_chains)
        ],
        sampling,
        *kernel.design,
        *kernel.event,
        n_factors,
        agree=lambda draws: _judged(draws).agree(),
    )
    return FactorDraws(standard, draws, interrupted)


# --------------------------------------------------------------------------------------------------
# Settings, and the choice of the number of factors
# --------------------------------------------------------------------------------------------------


MOST_FACTORS = 3
"""Numbers of factors up to this one are tried where the number is to be chosen."""

FOLD_WARMUP, FOLD_SAMPLES = 50, 100
"""Sweeps of the single chain of each fold; a fold's own error is far larger than theirs."""


@dataclass(frozen=True, slots=True, eq=False)
class FactorChoice:
    """Numbers of factors that were tried, and how well each did.

    Attributes
    ----------
    n_factors : ndarray of shape (g,)
        Numbers tried.
    log_score : ndarray of shape (g,)
        Average minus log probability of the actual class of held-out cases, or minus log density
        of their response.
    chosen : int
        The number with the best log score.
    """

    n_factors: Annotated[IntArray, Counts("tried")]
    log_score: Annotated[FloatArray, Floats("tried")]
    chosen: Annotated[int, Whole()]

    def check_against(self, known: Known, check: Check) -> None:
        """Refuse a number that was not tried, or is not the model's."""
        tried = self.chosen == known["n_factors"] and self.chosen in self.n_factors.tolist()
        check(tried, "chosen", "is not the number of factors, or was not tried")


def fold_sampling(sampling: Sampling, fold: int, n_factors: int) -> Sampling:
    """Return how the single chain of a fold runs, with a seed of its own."""
    key = (*sampling.seed.spawn_key, 2, fold, n_factors)
    seed = np.random.SeedSequence(sampling.seed.entropy, spawn_key=key)
    return Sampling(Schedule(FOLD_WARMUP, FOLD_SAMPLES), 1, seed)


def check_chains_and_factors(params: Mapping[str, Any]) -> None:
    """Validate the number of factors and the chain parameters."""
    n_factors = params["n_factors"]
    if not isinstance(n_factors, str):
        whole_number(params, "n_factors", 0)
    elif n_factors != "auto":
        msg = f"n_factors={n_factors!r} is neither a number nor 'auto'."
        raise ValueError(msg)
    check_chain_parameters(params)


def classifier_settings(
    params: Mapping[str, Any], always_keep: BoolArray, classes: AnyArray | None = None
) -> FactorSettings:
    """Validate the classifier's parameters, and return them as settings."""
    check_chains_and_factors(params)
    _refuse_criterion(params, classes)
    if not isinstance(params["factor_shifts"], bool | np.bool_):
        msg = f"factor_shifts={params['factor_shifts']!r} is neither True nor False."
        raise ValueError(msg)
    prior, correction = prior_and_correction(
        params, "heavy-tailed", auto="selection", may_learn_with_event=True
    )
    return _settings(
        params,
        always_keep,
        prior,
        correction,
        has_shifts=bool(params["factor_shifts"]),
        normal_scores=true_or_false(params, "normal_scores"),
    )


def regressor_settings(params: Mapping[str, Any], always_keep: BoolArray) -> FactorSettings:
    """Validate the regressor's parameters, and return them as settings."""
    check_chains_and_factors(params)
    _refuse_criterion(params, None)
    if params["correction"] not in ("auto", "selection", None):
        msg = f"correction={params['correction']!r} is not one of 'auto', 'selection', None."
        raise ValueError(msg)
    correction: Correction = None if params["correction"] is None else "selection"
    return _settings(params, always_keep, "learned", correction)


def _refuse_criterion(params: Mapping[str, Any], classes: AnyArray | None) -> None:
    """Refuse criteria that do not rank as r squared does.

    The probability that features were discarded, given the scores, would have to be simulated in
    each state of a chain: docs/factors.rst has what that takes.
    """
    criterion = criterion_of(params, "real", ("correlation", "f", "t"), classes)
    if criterion is not None:
        msg = (
            f"criterion={criterion.name!r} is not available for factor models, which have a "
            "formula for 'correlation', 'f' and 't' only; use one of these, or "
            "SelectiveGaussianNB with this criterion."
        )
        raise ValueError(msg)


def _settings(
    params: Mapping[str, Any],
    always_keep: BoolArray,
    prior: RatioPriorName,
    correction: Correction,
    **more: bool,
) -> FactorSettings:
    """Add how many features to keep, or the bound; refuse what other estimators offer."""
    if params["n_features_to_select"] == "cv":
        msg = (
            "n_features_to_select='cv' is not available for this model; give a number, 'all' or "
            "None."
        )
        raise ValueError(msg)
    n_features, threshold = selection_rule(params, int(np.sum(~always_keep)))
    return FactorSettings(
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        feature_prior=prior,
        correction=correction,
        **more,
    )


# --------------------------------------------------------------------------------------------------
# Real-valued features that move together as a part of an estimator
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FactorPart:
    """Fitted real-valued features that move together.

    Attributes
    ----------
    fit : GaussianFit
        The selection, and what a model without factors has learned.
    n_factors : int
        Factors.
    drawn : FactorDraws or None
        What the chains have drawn; None where no feature was kept.
    choice : FactorChoice or None
        The numbers of factors that were tried, where the number was to be chosen.
    scores : NormalScores or None
        What makes normal scores of the kept columns, if anything.
    """

    fit: Annotated[GaussianFit, INLINE]
    n_factors: Annotated[int, FACTORS]
    drawn: Annotated[FactorDraws | None, DRAWS]
    choice: FactorChoice | None = None
    scores: Annotated[NormalScores | None, SCORES] = None

    @property
    def selection(self) -> Selection:
        """What was kept and discarded."""
        return self.fit.selection

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the chains before their end."""
        return self.drawn is not None and self.drawn.interrupted

    def read(self, X: Any, describe: Describe) -> AnyArray:
        """Return the kept columns as numbers or scores; NaN is missing."""
        return self.scored(real_values(X, describe))

    def scored(self, values: AnyArray) -> AnyArray:
        """Return values of the kept columns as the model takes them."""
        return values if self.scores is None else self.scores.apply(values)

    def log_likelihood(self, values: AnyArray) -> FloatArray:
        """Return log P(x | class), shape (n, C)."""
        if self.drawn is None:
            return np.zeros((len(values), len(self.selection.class_counts)))
        return self.drawn.log_likelihood(values)

    def rows(self, values: AnyArray, rows: slice) -> AnyArray:
        """Return some rows of values that were read."""
        part: AnyArray = values[rows]
        return part

    def draw_evidence(
        self,
        values: AnyArray,
        n_draws: int,
        generator: np.random.Generator,  # noqa: ARG002 - the chains have drawn
    ) -> tuple[FloatArray, FloatArray]:
        """Return the evidence of each row under the chains' draws, for intervals.

        Draws given y* too are the same ones, weighted by the density of the row in that class.
        """
        assert self.drawn is not None  # else there are no values
        density, weight = self.drawn.log_density_of_draws(values, n_draws)
        evidence = density[..., 1:] - density[..., :1]
        n_classes = density.shape[2]
        return (
            np.broadcast_to(evidence, (n_classes, *evidence.shape)),
            np.moveaxis(density, 2, 0) + np.log(weight),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorTraining(TrainingPart):
    """Real-valued features of a training table, for a factor model.

    Attributes
    ----------
    source : Source
        The table.
    labels : TrainingLabels
        Classes of its rows.
    settings : FactorSettings
        Selection and priors.
    sampling : Sampling
        How chains are run.
    n_factors : int
        Factors.
    choice : FactorChoice or None
        The numbers of factors that were tried.
    """

    settings: FactorSettings
    source: Source
    labels: TrainingLabels
    sampling: Sampling
    n_factors: int
    choice: FactorChoice | None = None

    def held_out(
        self,
        folds: Sequence[IntArray],
        whole: FittedToAll = None,  # noqa: ARG002 - all is learned again
        numbers: Sequence[int] | None = None,
        shown: Sequence[IntArray] | None = None,
        memo: FoldMemo | None = None,  # noqa: ARG002 - chains share nothing
    ) -> Iterator[tuple[list[FittedPart], list[FloatArray]]]:
        """Yield for each fold models by short chains, and the log likelihoods of its rows."""
        parts = self._with_numbers(numbers)
        splits = zip(folds if shown is None else shown, self.labels.without(folds), strict=True)
        yield from Parallel(n_jobs=self.sampling.n_jobs, prefer="threads")(
            delayed(_fold)(parts, f, rows, others) for f, (rows, (_, others)) in enumerate(splits)
        )

    def fit(self) -> FactorPart:
        """Select, learn the distribution of ratios and variances, and run the chains."""
        source = NormalScoresSource(self.source) if self.settings.normal_scores else self.source
        moments = screen_moments(source, self.labels.codes, self.labels.classes)
        fit = fit_moments(moments, self.settings.gaussian())
        if self.n_factors:
            fit = replace(fit, variance_prior=FACTOR_VARIANCE)
        columns = np.array(fit.selection.columns, dtype=np.int64)
        drawn, scores = None, None
        if isinstance(source, NormalScoresSource):
            scores = source.learned(columns)[0]
        if columns.size:
            values = np.asarray(source.take(columns), dtype=float)
            kernel, standard = class_kernel(
                values, self.labels.codes, fit, self.settings, fit.standard.unit
            )
            drawn = run_chains(kernel, standard, self.n_factors, 1, self.sampling)
        return FactorPart(fit, self.n_factors, drawn, self.choice, scores)


def _fold(
    parts: Sequence[FactorTraining], f: int, rows: IntArray, others: IntArray
) -> tuple[list[FittedPart], list[FloatArray]]:
    """Return each part fitted without a fold, and the log likelihoods of the fold's rows."""
    models: list[FittedPart] = []
    log_likelihoods = []
    for part in parts:
        codes = part.labels.codes[others]
        fitted = replace(
            part,
            source=RowsOf(part.source, others),
            labels=replace(part.labels, codes=codes, groups=None),
            sampling=fold_sampling(part.sampling, f, part.n_factors),
        ).fit()
        if fitted.interrupted:
            raise KeyboardInterrupt
        columns = np.array(fitted.selection.columns, dtype=np.int64)
        values = fitted.scored(RowsOf(part.source, rows).take(columns))
        log_likelihoods.append(fitted.log_likelihood(values))
        models.append(fitted)
    return models, log_likelihoods


def choose_factors(
    recalibrate: Any,
    training: FactorTraining,
    folds: Sequence[IntArray],
    numbers: Sequence[int],
) -> tuple[FactorChoice, Recalibration]:
    """Try numbers of factors on held-out cases; return the choice, and the best one's layer.

    Numbers are judged without a slope: one would make a model that counts what features share many
    times over look as good as a model that knows that they move together.
    """
    rows = np.concatenate(folds)
    codes = training.labels.codes[rows]
    log_prior = training.labels.held_out_log_prior(folds)
    loss, held_out = [], []
    for number in numbers:
        by_fold = replace(training, n_factors=number).held_out(folds)
        evidence = np.concatenate([log_likelihoods[0] for _, log_likelihoods in by_fold])
        log_proba = log_softmax(log_prior + evidence, axis=1)
        loss.append(-float(log_proba[np.arange(rows.size), codes].mean()))
        held_out.append(evidence)
    best = int(np.argmin(loss))
    recalibration = learn_recalibration(
        recalibrate, held_out[best], codes, log_prior, share=EFFECTIVE_SHARE
    )
    return FactorChoice(np.array(numbers), np.array(loss), numbers[best]), recalibration


# --------------------------------------------------------------------------------------------------
# Explanation: each kept feature, and the number of factors
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorFeatureTable(MeasurementTable):
    """The kept features, strongest first, then those kept by design.

    What is said of each is said of it alone. The evidence of features that move together does not
    add up: what they share is counted once. Centres include the factors' shifts, and spreads what
    is due to factors.

    Attributes
    ----------
    shared : ndarray of shape (k,)
        Posterior mean of the share of the variance within a class that is due to factors: how far
        the feature moves together with the others.
    """

    shared: FloatArray
    _share: ClassVar[str] = "shared"
    _share_title: ClassVar[str] = "shared"

    def _page_note(self) -> str:
        others = "class" if len(self.classes) == 2 else "classes"
        return (
            f"Centre: where the values of a class lie, shrunk towards the other {others}. Spread: "
            "a typical deviation within a class. “Shared” is how much of the variance within a "
            "class the factors explain: how strongly the feature is correlated with the others. "
            "What "
            "features share is counted once, so the effects of single features do not add up."
        )


def feature_table(
    part: FactorPart, names: tuple[str, ...], classes: tuple[str, ...], _slope: float
) -> FactorFeatureTable:
    """Summarise each kept feature over all draws."""
    nothing = np.zeros(0)
    centre, spread, shared = np.zeros((len(classes), 0)), nothing, nothing
    if part.drawn is not None:
        unit = part.drawn.standard.unit
        location, loadings, noise = part.drawn.pooled("location", "loadings", "variance")
        by_factors = np.sum(loadings**2, axis=2)
        centre = part.drawn.standard.centre + unit * location.mean(axis=0)
        spread = unit * np.sqrt((by_factors + noise).mean(axis=0))
        centre, spread = in_users_units(centre, spread, part.scores)
        shared = (by_factors / (by_factors + noise)).mean(axis=0)
    moments = part.fit.moments
    return FactorFeatureTable(
        name=names,
        classes=classes,
        r=np.sqrt(moments.r_squared()),
        centre=centre,
        spread=spread,
        by_design=by_design(part.selection),
        _correlation=correlation_with(moments),
        shared=shared,
    )


@dataclass(frozen=True, slots=True)
class Factors:
    """How many factors a model has, and which numbers were tried.

    Attributes
    ----------
    n_factors : int
        Number of factors.
    tried : tuple of int
        Numbers that were tried on held-out cases; empty where the number was not chosen so.
    log_score : tuple of float
        Of each, without a slope: average minus log probability of the actual class.
    """

    n_factors: int
    tried: tuple[int, ...]
    log_score: tuple[float, ...]

    def __str__(self) -> str:
        """Return the number of factors as text.

        >>> str(Factors(1, (), ())), str(Factors(0, (), ()))
        ('1 factor', 'no factors')
        """
        if self.n_factors == 0:
            return "no factors"
        return f"{self.n_factors} factor{'' if self.n_factors == 1 else 's'}"


def factors(n_factors: int, choice: FactorChoice | None) -> Factors:
    """Describe the number of factors and the numbers that were tried."""
    if choice is None:
        return Factors(n_factors, (), ())
    tried = tuple(choice.n_factors.tolist())
    return Factors(n_factors, tried, tuple(choice.log_score.tolist()))


# --------------------------------------------------------------------------------------------------
# A factor model of a real-valued response
# --------------------------------------------------------------------------------------------------


N_FOLDS = 5
"""Folds in which numbers of factors are tried."""

_CHUNK_CELLS = 1 << 20
_BISECTIONS = 60
_LARGEST_FLOAT = np.finfo(float).max


RESPONSE_PRIOR = 1e-3
"""Shape and scale of the prior of the response's variance, in its own units: next to nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Predictive:
    """Normal distributions of a response, one for each draw, and their weights.

    Attributes
    ----------
    mean, variance, weight : ndarray of shape (n, S)
        Of (response - centre) / unit. Weights of each case sum to 1.
    centre, unit : float
        What the response is measured from, and in.
    """

    mean: FloatArray
    variance: FloatArray
    weight: FloatArray
    centre: float = 0.0
    unit: float = 1.0

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the standard deviation of each case, shape (n,)."""
        mean = np.sum(self.weight * self.mean, axis=1)
        apart = self.variance + (self.mean - mean[:, None]) ** 2
        spread = np.sqrt(np.sum(self.weight * apart, axis=1))
        return self._in_units(self.centre, mean), self._in_units(0.0, spread)

    def quantile(self, probability: float) -> FloatArray:
        """Return the value below which a case's response is with this probability, shape (n,)."""
        spread = np.sqrt(self.variance)
        low = (self.mean - 40.0 * spread).min(axis=1)
        high = (self.mean + 40.0 * spread).max(axis=1)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            below = np.sum(self.weight * ndtr((middle[:, None] - self.mean) / spread), axis=1)
            low = np.where(below < probability, middle, low)
            high = np.where(below < probability, high, middle)
        return self._in_units(self.centre, 0.5 * (low + high))

    def _in_units(self, centre: float, values: FloatArray) -> FloatArray:
        """Return values as the response is measured; none is beyond the largest number."""
        with np.errstate(over="ignore"):
            return np.clip(centre + self.unit * values, -_LARGEST_FLOAT, _LARGEST_FLOAT)

    def log_density(self, y: FloatArray) -> FloatArray:
        """Return the log density of each case's response, shape (n,)."""
        z = ((y[:, None] - self.centre) / self.unit - self.mean) ** 2 / self.variance
        terms = -0.5 * (z + np.log(2 * np.pi * self.variance)) - np.log(self.unit)
        return np.asarray(logsumexp(terms, axis=1, b=self.weight))


def _sizes(known: Known) -> Known:
    """Return the sizes of draws: the response is one more column."""
    n_columns = 1 + len(known["selection"].columns)
    return {"n_classes": 1, "n_columns": n_columns, "of_response": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseFit:
    """A fitted model of a response.

    Attributes
    ----------
    selection : ResponseSelection
        What was kept and discarded.
    variance_prior : VariancePrior
        Of the features' variances.
    correction : {"selection", None}
        What the model is conditioned on.
    n_factors : int
        Factors.
    drawn : FactorDraws
        What the chains have drawn; the response is the first column.
    choice : FactorChoice or None
        The numbers of factors that were tried, where the number was to be chosen.
    """

    selection: ResponseSelection
    variance_prior: VariancePrior
    correction: Annotated[Correction, Choice("selection", None)]
    n_factors: Annotated[int, FACTORS]
    drawn: Annotated[FactorDraws, Section(kind=FactorDraws, sizes=_sizes)]
    choice: FactorChoice | None = None

    def predictive(self, values: AnyArray) -> Iterator[Predictive]:
        """Yield the distributions of the response given kept columns, some rows at a time.

        Parameters
        ----------
        values : ndarray of shape (n, k)
            Kept columns; NaN is missing.
        """
        from honestbayes.models.factors.prediction import response_given_columns

        drawn = self.drawn
        location, spread, loadings = drawn.pooled("location", "spread", "loadings")
        location, spread = (np.ascontiguousarray(x[:, 0]) for x in (location, spread))
        columns = np.arange(1, location.shape[1])
        step = max(1, _CHUNK_CELLS // location.shape[0])
        centre, unit = drawn.standard.centre[0], drawn.standard.unit[0]
        for first in range(0, len(values), step):
            part = values[first : first + step]
            # The response comes first; what stands there does not matter.
            x = drawn.standard.apply(np.column_stack([np.full(len(part), centre), part]))[:, 1:]
            mean, variance, log_weight = response_given_columns(
                np.ascontiguousarray(x), location, spread, loadings, columns, 0
            )
            weight = np.exp(log_weight - logsumexp(log_weight, axis=1, keepdims=True))
            yield Predictive(mean, variance, weight, centre, unit)

    def log_density(self, values: AnyArray, y: FloatArray) -> FloatArray:
        """Return the log density of each case's response, shape (n,)."""
        parts = list(self.predictive(values))
        pieces = np.split(y, np.cumsum([len(part.mean) for part in parts])[:-1])
        return np.concatenate(
            [part.log_density(piece) for part, piece in zip(parts, pieces, strict=True)]
        )


@dataclass(frozen=True, slots=True)
class ResponseTraining:
    """A training table and its response: fitted as a whole, or without some rows."""

    source: Source
    y: FloatArray
    settings: FactorSettings
    sampling: Sampling

    def fit(self, n_factors: int) -> ResponseFit:
        """Select and run the chains."""
        centred = self.y / np.max(np.abs(self.y), initial=1e-300)
        centred = centred - centred.mean()
        centred = centred / max(float(np.sqrt(np.mean(centred**2))), 1e-300)
        screening = screen_response(self.source, centred)
        selection = select_by_response(
            screening,
            n_features=self.settings.n_features,
            threshold=self.settings.threshold,
            always_keep=self.settings.always_keep,
            n_cases=self.y.size,
        )
        prior = FACTOR_VARIANCE
        columns = np.array(selection.columns, dtype=np.int64)
        values = self.source.take(columns)
        describe = DescribeColumns(self.source.feature_names)
        check_spread(values, lambda place: describe(int(columns[place])))
        kernel, standard = response_kernel(
            np.asarray(values, dtype=float), self.y, selection, prior, self.settings
        )
        drawn = run_chains(kernel, standard, n_factors, 2, self.sampling)
        return ResponseFit(
            selection=selection,
            variance_prior=prior,
            correction=self.settings.correction,
            n_factors=n_factors,
            drawn=drawn,
        )

    def choose_factors(self, numbers: Sequence[int]) -> FactorChoice:
        """Try numbers of factors on held-out cases."""
        folds = [test for _, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(self.y)]
        found = Parallel(n_jobs=self.sampling.n_jobs, prefer="threads")(
            delayed(self._fold)(rows, f, numbers) for f, rows in enumerate(folds)
        )
        loss = -np.concatenate(found, axis=1).mean(axis=1)
        return FactorChoice(np.array(numbers), loss, numbers[int(np.argmin(loss))])

    def _fold(self, rows: IntArray, f: int, numbers: Sequence[int]) -> FloatArray:
        """Return log densities of held-out responses for each number of factors, shape (g, n)."""
        others = np.setdiff1d(np.arange(self.y.size), rows)
        training = replace(self, source=RowsOf(self.source, others), y=self.y[others])
        result = np.empty((len(numbers), rows.size))
        for position, number in enumerate(numbers):
            short = fold_sampling(self.sampling, f, number)
            fit = replace(training, sampling=short).fit(number)
            if fit.drawn.interrupted:
                raise KeyboardInterrupt
            columns = np.array(fit.selection.columns, dtype=np.int64)
            held_out = np.asarray(RowsOf(self.source, rows).take(columns), dtype=float)
            result[position] = fit.log_density(held_out, self.y[rows])
        return result


def response_kernel(
    values: FloatArray,
    y: FloatArray,
    selection: ResponseSelection,
    prior: VariancePrior,
    settings: FactorSettings,
) -> tuple[FactorKernel, Standard]:
    """Return the kernel of a model of a response: column 0, with a loading ratio of its own.

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Kept columns; NaN is missing.
    y : ndarray of shape (n,)
        The response.
    selection : ResponseSelection
        What was kept and discarded.
    prior : VariancePrior
        Of the features' variances.
    settings : FactorSettings
        Choices of the user.
    """
    from honestbayes.correction.factor_event import response_contrast
    from honestbayes.models.factors.sampler import FactorEvent, FactorKernel

    table = np.column_stack([y, values])
    standard = standardise(table)
    n = y.size
    design = make_design(
        standard.apply(table),
        np.zeros(n, dtype=np.int64),
        np.zeros(1),
        np.ones((1, 1, 1)),
        np.zeros(values.shape[1] + 1, dtype=np.int64),
        prior,
    )
    design.group[0] = 1
    design.shape[0] = design.scale[0] = RESPONSE_PRIOR
    basis, signal = np.zeros((n, 1)), np.zeros(1)
    groups: dict[int, int] = {}
    if np.ptp(y) > 0:
        contrast = response_contrast(design.values[:, 0])
        basis, signal = contrast.basis, contrast.signal
        if settings.correction == "selection":
            groups = {size: number for size, number in selection.groups if size > 2}
    bound = float(selection.gamma_squared)
    n_cases, n_discarded = merge_groups(groups, bound)
    event = FactorEvent(
        basis,
        signal,
        bound,
        n_cases,
        n_discarded,
        used_ratios(design.weights[:, 0], 0.0),
        np.array(KEPT_SHARE),
        False,
    )
    return FactorKernel(design, event, np.zeros(1)), standard
