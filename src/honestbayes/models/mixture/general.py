"""A mixture of any number of components and classes after selection: chains and predictions.

Equation 2.54 of the thesis. Each case belongs to one of K components; given its component the class
and all features are independent, each component with probabilities of its own. Two components and
two classes have a sampler of their own (`models.mixture.model`), whose table of P(S) is exact
everywhere; here P(S) is approximated (`correction.components_table`), and the approximation is
checked where the chains went.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import log_softmax, logsumexp

from honestbayes.base.explanation import KeptTable, TableColumn, TableNames, by_design
from honestbayes.base.intervals import ProbabilityDraws
from honestbayes.base.parameters import (
    SelectionSettings,
    positive_pair,
    selection_rule,
    theta_interval,
    whole_number,
)
from honestbayes.base.part import FoldMemo, tie_breaker
from honestbayes.base.sampled import SampledTraining, check_chain_parameters
from honestbayes.correction.components_table import (
    ComponentsFactor,
    Surface,
    build_surface,
    can_be_built,
)
from honestbayes.correction.event import event_of
from honestbayes.data import Binarization
from honestbayes.data.binarization import BinarizeOption, learn_binarization
from honestbayes.data.source import DescribeColumns, RowsOf, Source
from honestbayes.files.fields import (
    Check,
    Counts,
    Field,
    Floats,
    Known,
    Weights,
)
from honestbayes.likelihood.quadrature import AlphaPrior
from honestbayes.models.binary.model import ZeroOne
from honestbayes.models.mixture.model import BY_DESIGN, NUMBERS, ComponentPart
from honestbayes.sampling.chains import Form, Info, State
from honestbayes.sampling.draws import Draws
from honestbayes.sampling.runs import Sampling, sample
from honestbayes.selection import DiscardedGroup, Selection, select
from honestbayes.selection.correlation import equivalent_r_squared, rank_features
from honestbayes.selection.counts import GroupCounts, count_source
from honestbayes.tabular import Tabular
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from honestbayes.correction.components_kernels import SurfaceArrays
    from honestbayes.models.mixture.general_kernels import GeneralProblem

_CHUNK_CELLS = 1 << 22
_LARGEST = 1e12
_THETAS = (1e-30, 1 - 1e-16)
_MISSING = 2

MOST_COMPONENTS = 64

_CHECKED = 60
"""Draws at which the approximation of P(S) is compared with exact values after a fit."""

_PILOT_SWEEPS, _PILOT_THIN = 60, 4
"""Sweeps between two improvements of the approximation, and every how many a state is looked at."""


# --------------------------------------------------------------------------------------------------
# Settings
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralSettings:
    """Priors, and what is conditioned on.

    Attributes
    ----------
    correct : bool
        Whether the event that features were discarded is conditioned on.
    pseudocounts : tuple of float
        Dirichlet prior of the components' frequencies; there are as many components.
    alpha_prior, response_prior : AlphaPrior
        Of the features' alpha, and of the response's.
    theta_range : tuple of float
        Bounds of the features' theta.
    """

    correct: bool
    pseudocounts: tuple[float, ...]
    alpha_prior: AlphaPrior
    response_prior: AlphaPrior
    theta_range: tuple[float, float]

    @property
    def n_components(self) -> int:
        """Number of components, K."""
        return len(self.pseudocounts)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralChoices(SelectionSettings):
    """Validated choices of the user: selection, priors, sweeps of each draw."""

    model: GeneralSettings
    thin: int


def general_settings(params: Mapping[str, Any], always_keep: BoolArray) -> GeneralChoices:
    """Validate the constructor's parameters, and return them as settings."""
    n_features, threshold = selection_rule(params, int(np.sum(~always_keep)))
    if params["correction"] not in ("auto", "selection", None):
        msg = f"correction={params['correction']!r} is not one of 'auto', 'selection', None."
        raise ValueError(msg)
    if params["n_alpha"] is not None:
        msg = "n_alpha is for two components and two classes; leave it None."
        raise ValueError(msg)
    check_chain_parameters(params)
    model = GeneralSettings(
        correct=params["correction"] is not None,
        pseudocounts=component_pseudocounts(params),
        alpha_prior=AlphaPrior(*positive_pair(params, "alpha_prior")),
        response_prior=AlphaPrior(*positive_pair(params, "response_prior")),
        theta_range=theta_interval(params),
    )
    return GeneralChoices(
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        model=model,
        thin=whole_number(params, "thin", 1),
    )


def component_pseudocounts(params: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the pseudocount of each component; equal ones are for any number of components."""
    n_components = whole_number(params, "n_components", 1)
    if n_components > MOST_COMPONENTS:
        msg = f"n_components={n_components} is more than {MOST_COMPONENTS}."
        raise ValueError(msg)
    given = params["class_pseudocounts"]
    try:
        values = np.atleast_1d(np.asarray(given, dtype=float))
        good = (
            values.ndim == 1 and values.size > 0 and bool(np.all((values > 0) & (values < np.inf)))
        )
    except (TypeError, ValueError):
        good = False
    if good and np.all(values == values[0]):
        return (float(values[0]),) * n_components
    if not good or values.size != n_components:
        msg = f"class_pseudocounts={given} must be a positive number, or {n_components} of them."
        raise ValueError(msg)
    return tuple(values.tolist())


# --------------------------------------------------------------------------------------------------
# P(S), the problem and its kernel
# --------------------------------------------------------------------------------------------------


def factor_of(selection: Selection, settings: GeneralSettings) -> ComponentsFactor:
    """Return what the probability that one feature was discarded depends on."""
    return ComponentsFactor(selection.class_counts, selection.gamma_squared, settings.theta_range)


def is_affordable(class_counts: tuple[int, ...], n_components: int) -> bool:
    """Whether P(S) can be had in good time for so many cases, classes and components."""
    return can_be_built(ComponentsFactor(class_counts, Fraction(1, 4)), n_components)


def make_problem(
    classes: IntArray,
    cells: AnyArray,
    selection: Selection,
    settings: GeneralSettings,
    surface: SurfaceArrays,
) -> GeneralProblem:
    """Put data and priors into the form that kernels take.

    Parameters
    ----------
    classes : ndarray of int of shape (n,)
        Class of each case.
    cells : ndarray of int8 of shape (n, k)
        Kept features, in the order of ``selection.columns``; 2 is missing.
    selection : Selection
        What was kept and discarded.
    settings : GeneralSettings
        Choices of the user.
    surface : SurfaceArrays
        log P(S).
    """
    from honestbayes.models.mixture import general_kernels, kernels

    blocks = np.full(cells.shape[1], kernels.BY_DESIGN, dtype=np.int64)
    blocks[: len(selection.kept)] = kernels.RANKED
    priors = [settings.response_prior, settings.alpha_prior]
    if selection.always_kept:
        priors.append(settings.alpha_prior)
    return general_kernels.GeneralProblem(
        np.ascontiguousarray(classes, dtype=np.int64),
        np.ascontiguousarray(cells, dtype=np.int8),
        blocks,
        np.array(settings.pseudocounts),
        np.array([(prior.shape, prior.rate) for prior in priors]),
        np.array(settings.theta_range),
        surface,
    )


def make_surface(
    classes: IntArray, cells: AnyArray, selection: Selection, settings: GeneralSettings
) -> Surface:
    """Return log P(S), fitted where short chains go; of nothing, where nothing is conditioned on.

    As in `models.mixture.model.event_table`, discarded features with missing cells are taken for
    complete ones, and those without any cell of a class do not count.
    """
    groups = [group for group in selection.groups if min(group.observed) > 0]
    n_discarded = sum(group.n_discarded for group in groups)
    merged: tuple[DiscardedGroup, ...] = ()
    if settings.correct and n_discarded:
        complete = [group for group in groups if group.observed == selection.class_counts]
        n_tied = sum(group.n_tied for group in complete)
        if selection.gamma_squared == 0:
            n_tied = n_discarded
        merged = (DiscardedGroup(selection.class_counts, n_discarded, n_tied),)
    event = replace(event_of(selection, selection.gamma), groups=merged)
    rng = np.random.default_rng(0)
    n_components, n_classes = settings.n_components, len(selection.class_counts)
    states: list[dict[str, AnyArray]] = []

    def pilot(arrays: SurfaceArrays) -> tuple[IntArray, FloatArray]:
        problem = make_problem(classes, cells, selection, settings, arrays)
        if not states:
            states.extend(starting_states(problem, n_classes, 4, rng))
        kernel = GeneralKernel(problem, _PILOT_THIN)
        tables, alphas = [], []
        for c, state in enumerate(states):
            for _ in range(_PILOT_SWEEPS // _PILOT_THIN):
                state = dict(kernel.step(rng, state)[0])
                tables.append(table_of(state["z"], classes, n_components, n_classes))
                alphas.append(np.exp(state["log_alpha"][1]))
            states[c] = state
        return np.array(tables), np.array(alphas)

    pseudocounts = np.array(settings.pseudocounts)
    return build_surface(factor_of(selection, settings), event, n_components, pseudocounts, pilot)


def table_of(labels: AnyArray, classes: IntArray, n_components: int, n_classes: int) -> IntArray:
    """Return the number of cases of each component and class, shape (K, C)."""
    table = np.zeros((n_components, n_classes), dtype=np.int64)
    np.add.at(table, (labels.astype(np.int64), classes), 1)
    return table


class GeneralKernel:
    """Some sweeps over labels, thetas and alphas.

    Parameters
    ----------
    problem : GeneralProblem
        From `make_problem`.
    n_sweeps : int, default=1
        Sweeps of each step.
    """

    def __init__(self, problem: GeneralProblem, n_sweeps: int = 1) -> None:
        self.problem = problem
        self.n_sweeps = n_sweeps

    def step(self, rng: np.random.Generator, state: State) -> tuple[State, Info]:
        """Return the state after a step, and all that predictions and summaries need of it."""
        from honestbayes.models.mixture import general_kernels, kernels

        names = ("z", "log_alpha", "theta", "theta_class")
        labels, log_alpha, theta, theta_class = (state[name].copy() for name in names)
        log_posterior = general_kernels.sweeps(
            rng, labels, log_alpha, theta, theta_class, self.problem, self.n_sweeps
        )
        n_components = self.problem.pseudocounts.size
        psi, phi = np.empty(n_components), np.empty((n_components, theta.size))
        class_share = np.empty((n_components, theta_class.size))
        general_kernels.predictive(
            labels, log_alpha, theta, theta_class, self.problem, psi, class_share, phi
        )
        info = {
            "log_alpha": log_alpha[kernels.RANKED],
            "log_alpha_0": log_alpha[kernels.RESPONSE],
            "log_posterior": log_posterior,
            "psi": psi,
            "class_share": class_share,
            "phi": phi,
            "z": labels.copy(),
        }
        if log_alpha.size > kernels.BY_DESIGN:
            info[BY_DESIGN] = log_alpha[kernels.BY_DESIGN]
        values = (labels, log_alpha, theta, theta_class)
        return dict(zip(names, values, strict=True)), info

    def form(self) -> Form:
        """Return what states and draws can be."""
        from honestbayes.models.mixture import kernels

        problem = self.problem
        n_cases, width = problem.cells.shape
        n_blocks, n_components = problem.priors.shape[0], problem.pseudocounts.size
        low, high = kernels.LOG_ALPHAS
        lowest, highest = np.clip(problem.theta_range, *_THETAS).tolist()
        return Form(
            state={
                "z": Counts("n_chains", n_cases, high=n_components - 1),
                "log_alpha": Floats("n_chains", n_blocks, low=low, high=high),
                "theta": Floats("n_chains", width, low=lowest, high=highest),
                "theta_class": Weights("n_chains", "n_classes"),
            },
            drawn=draw_fields(by_design=n_blocks > kernels.BY_DESIGN),
            sizes={"n_cases": n_cases, "n_columns": width, "n_components": n_components},
            check=_check_drawn,
        )


def _check_drawn(state: Known, drawn: Known, check: Check) -> None:
    """Refuse thetas of 0, whose logarithms the kernels take, and draws that cannot be."""
    check(np.all(state["theta_class"] > 0), "theta_class", "is not positive")
    if drawn:
        check_draws(drawn, check)


def draw_fields(*, by_design: bool) -> dict[str, Field]:
    """Return how draws stand in files; what features kept by design add is there with them."""
    numbers = (*NUMBERS, BY_DESIGN) if by_design else NUMBERS
    shape = ("n_chains", "n_draws")
    return {
        "psi": Weights(*shape, "n_components"),
        "class_share": Weights(*shape, "n_components", "n_classes"),
        "phi": Floats(*shape, "n_components", "n_columns", low=0.0, high=1.0),
        "z": Counts(*shape, "n_cases", high=MOST_COMPONENTS - 1),
        **{name: Floats(*shape, low=-_LARGEST, high=_LARGEST) for name in numbers},
    }


def check_draws(drawn: Mapping[str, AnyArray], check: Check) -> None:
    """Refuse probabilities of 0 and 1, whose logarithms predictions take."""
    phi = drawn["phi"]
    check(np.all(drawn["psi"] > 0), "psi", "holds a component of probability 0")
    check(np.all(drawn["class_share"] > 0), "class_share", "holds a class of probability 0")
    check(np.all((phi > 0) & (phi < 1)), "phi", "is not strictly between 0 and 1")
    check(np.all(drawn["z"] < drawn["psi"].shape[-1]), "z", "is not of these components")


def starting_states(
    problem: GeneralProblem, n_classes: int, n_chains: int, rng: np.random.Generator
) -> list[dict[str, AnyArray]]:
    """Return states far from each other: labels by class, random, or all the same.

    Thetas start near the frequencies of ones in their columns, and alpha no smaller than the number
    of columns where labels are not the classes; see `models.mixture.model.starting_states`.
    """
    n, width = problem.cells.shape
    n_blocks, n_components = problem.priors.shape[0], problem.pseudocounts.size
    low, high = problem.theta_range.tolist()
    ones, zeros = ((problem.cells == x).sum(axis=0) for x in (1, 0))
    cases = np.bincount(problem.classes, minlength=n_classes)
    states = []
    for c in range(n_chains):
        kind = c % 3
        labels = (
            problem.classes % n_components,
            rng.integers(0, n_components, n),
            np.zeros(n, dtype=np.int64),
        )[kind]
        log_alpha = np.asarray(rng.uniform(1.0, 6.0, n_blocks))
        if kind > 0:
            log_alpha[1:] = np.maximum(log_alpha[1:], np.log(width + 1))
        theta = np.clip(rng.beta(ones + 1.0, zeros + 1.0), low, high)
        theta_class = np.maximum(rng.dirichlet(cases + 1.0), 1e-9)
        theta_class /= theta_class.sum()
        states.append(
            {"z": labels, "log_alpha": log_alpha, "theta": theta, "theta_class": theta_class}
        )
    return states


# --------------------------------------------------------------------------------------------------
# Predictions
# --------------------------------------------------------------------------------------------------


def log_joint(draws: Draws, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
    """Return log P(x, class | training data), shape (n, C): equation 2.68, averaged over draws."""
    share = draws.pooled("class_share")
    step = max(1, _CHUNK_CELLS // (share.shape[0] * (share.shape[1] + share.shape[2])))
    result = np.empty((ones.shape[0], share.shape[2]))
    for first in range(0, ones.shape[0], step):
        rows = slice(first, first + step)
        hidden = None if missing is None else missing[rows]
        result[rows] = logsumexp(log_joint_draws(draws, ones[rows], hidden), axis=0)
    return np.asarray(result - np.log(share.shape[0]))


def log_joint_draws(draws: Draws, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
    """Return log P(x, class | draw), shape (D, n, C); parameters as in `models.mixture.model`."""
    psi, share, phi = (draws.pooled(name) for name in ("psi", "class_share", "phi"))
    there = np.ones(ones.shape) if missing is None else (~missing).astype(float)
    x = ones * there
    log_one, log_zero = np.log(phi), np.log1p(-phi)
    given_z = log_one @ x.T + log_zero @ (there - x).T + np.log(psi)[:, :, None]  # draw, z, case
    highest = given_z.max(axis=1)
    relative = np.exp(given_z - highest[:, None])
    joint = np.log(np.einsum("dki,dkc->dic", relative, share))
    return np.asarray(joint + highest[:, :, None])


def log_class_prior(draws: Draws) -> FloatArray:
    """Return log P(class | training data) of a case of which nothing is known, shape (C,)."""
    psi, share = draws.pooled("psi"), draws.pooled("class_share")
    return np.asarray(np.log(np.einsum("dk,dkc->c", psi, share) / len(psi)))


def probability_intervals(
    part: GeneralPart,
    values: ZeroOne,
    level: float,
    n_draws: int,
    given: FloatArray | None,
    slope: float,
) -> FloatArray:
    """Return intervals for P(class | x), shape (n, C, 2).

    Each draw has the weight P(x | draw), so that the mean over draws is the prediction.
    """
    some = part.draws.spread(n_draws)
    own = log_class_prior(some)
    log_prior = own if given is None else given
    n = values[0].shape[0]
    result = np.empty((n, own.size, 2))
    step = max(1, _CHUNK_CELLS // (2 * some.n_pooled * own.size))
    for first in range(0, n, step):
        rows = slice(first, min(first + step, n))
        evidence = log_joint_draws(some, *part.rows(values, rows)) - own
        joint = evidence + log_prior
        weight = np.exp(joint - joint.max(axis=(0, 2), keepdims=True)).sum(axis=2)
        value = np.exp(log_softmax(log_prior + slope * evidence, axis=2))
        draws = ProbabilityDraws(np.moveaxis(value, 0, 2), (weight / weight.sum(axis=0)).T)
        result[rows] = draws.interval(level)
    return result


# --------------------------------------------------------------------------------------------------
# Training rows: counts by class, and the selection
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClassRows:
    """A training table of binary features in several classes.

    Attributes
    ----------
    source : Source of shape (n, p)
        The table.
    codes : ndarray of int of shape (n,)
        Class of each row.
    classes : ndarray of shape (C,)
        Labels.
    option : {"auto", "median"}, float or None
        How values become 0/1.
    random_state : int, RandomState or None
        Breaks ties.
    """

    source: Source
    codes: IntArray
    classes: AnyArray
    option: BinarizeOption
    random_state: Any

    def counted(self, rows: IntArray) -> tuple[GroupCounts, Binarization]:
        """Return the counts of ones by class in some rows, and the cuts learned from them."""
        some = RowsOf(self.source, rows)
        names = self.source.feature_names
        binarization = learn_binarization(some, self.option, DescribeColumns(names))
        codes = self.codes[rows]
        for label, number in zip(
            self.classes.tolist(), np.bincount(codes, minlength=self.classes.size), strict=True
        ):
            if number == 0:
                msg = f"no case of class {label!r} is left without the rows that are held out."
                raise ValueError(msg)
        small = codes.astype(np.uint8)
        return count_source(some, small, self.classes.size, binarization), binarization

    def select(
        self, counts: GroupCounts, binarization: Binarization, settings: GeneralChoices
    ) -> tuple[Selection, FloatArray]:
        """Return the selection, and the correlation of each kept column with the class.

        With two classes as everywhere for binary features. With more, by the squared correlation
        of two classes that would be as surprising, as `SelectiveCategoricalNB` ranks.
        """
        names = self.source.feature_names
        rule: dict[str, Any] = {
            "n_features": settings.n_features,
            "threshold": settings.threshold,
            "always_keep": settings.always_keep,
            "random_state": tie_breaker(self.random_state),
        }
        if self.classes.size == 2:
            screening = counts.screening(self.classes, binarization, names)
            selection = select(screening, **rule)
            return selection, screening.correlation()[list(selection.columns)]
        zeros = counts.observed - counts.ones
        strength = equivalent_r_squared(np.stack([zeros.T, counts.ones.T], axis=2))
        outcome = rank_features(
            strength, lambda column: Fraction(round(float(strength[column]), 12)), **rule
        )
        selection = outcome.selection(tuple(counts.cases.tolist()), counts.observed, names, 2)
        return selection, np.sqrt(strength[list(selection.columns)])

    def zero_one(self, selection: Selection, binarization: Binarization, rows: IntArray) -> ZeroOne:
        """Return the kept columns of some rows as 0/1, and which cells are missing."""
        columns = np.array(selection.columns, dtype=np.int64)
        return binarization.cut_values(RowsOf(self.source, rows).take(columns))


class GeneralPart(ComponentPart):
    """Fitted binary features of K components and C classes."""

    __slots__ = ()
    _fields = staticmethod(draw_fields)
    _check = staticmethod(check_draws)
    _log_joint = staticmethod(log_joint)
    _log_class_prior = staticmethod(log_class_prior)


@dataclass(frozen=True, slots=True)
class GeneralTraining(SampledTraining):
    """Binary features of a training table, for a mixture of K components and C classes.

    Attributes
    ----------
    settings : GeneralChoices
        Selection, priors, and sweeps of each step.
    rows : ClassRows
        The table.
    """

    settings: GeneralChoices
    rows: ClassRows

    def fit(self) -> GeneralPart:
        """Fit all rows, and warn if many cells of discarded features are missing."""
        part = self._run(self._whole(None), self.sampling)
        if self.settings.model.correct:
            part.warn_if_many_are_missing()
        return part

    def _whole(self, _memo: FoldMemo | None) -> IntArray:
        return np.arange(self.rows.codes.size)

    def _without(
        self, folds: Sequence[IntArray], _memo: FoldMemo | None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        everyone = np.arange(self.rows.codes.size)
        for rows in folds:
            yield rows, np.setdiff1d(everyone, rows)

    def _values(self, part: GeneralPart, rows: IntArray) -> ZeroOne:
        return self.rows.zero_one(part.selection, part.binarization, rows)

    def _run(self, statistic: IntArray, sampling: Sampling) -> GeneralPart:
        """Select, and run chains, on some rows."""
        counts, whole = self.rows.counted(statistic)
        selection, correlation = self.rows.select(counts, whole, self.settings)
        binarization = whole.take(np.array(selection.columns, dtype=np.int64))
        ones, missing = self.rows.zero_one(selection, binarization, statistic)
        cells = np.asarray(ones, dtype=np.int8)
        if missing is not None:
            cells = np.where(missing, np.int8(_MISSING), cells)
        draws, interrupted = run_mixture(
            self.rows.codes[statistic],
            cells,
            selection,
            self.settings.model,
            sampling,
            self.settings.thin,
        )
        return GeneralPart(
            selection=selection,
            binarization=binarization,
            correlation=correlation,
            draws=draws,
            interrupted=interrupted,
        )


def run_mixture(
    classes: IntArray,
    cells: AnyArray,
    selection: Selection,
    settings: GeneralSettings,
    sampling: Sampling,
    thin: int,
) -> tuple[Draws, bool]:
    """Run chains, each step of which is ``thin`` sweeps; return draws and whether interrupted."""
    surface = make_surface(classes, cells, selection, settings)
    problem = make_problem(classes, cells, selection, settings, surface.arrays)
    n_classes = len(selection.class_counts)
    draws, interrupted = sample(
        GeneralKernel(problem, thin),
        lambda seed: starting_states(
            problem, n_classes, sampling.n_chains, np.random.default_rng(seed)
        ),
        sampling,
        classes,
        cells,
        selection.to_dict(),
        settings,
        thin,
        agree=lambda draws: draws.diagnostics().agree(),
    )
    some = draws.spread(_CHECKED)
    visited = [
        table_of(labels, classes, settings.n_components, n_classes) for labels in some.pooled("z")
    ]
    surface.warn_if_wrong(np.array(visited), np.exp(some.pooled("log_alpha")))
    return draws, interrupted


# --------------------------------------------------------------------------------------------------
# Explanation
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralComponents(Tabular):
    """The components, named alike in all draws, the largest first.

    Attributes
    ----------
    name : tuple of str
        The kept features, strongest first.
    classes : tuple of str
        Class labels.
    share : ndarray of shape (K,)
        Share of cases in each component.
    class_share : ndarray of shape (K, C)
        P(class) in each component.
    probability, sd : ndarray of shape (K, k)
        P(feature = 1) in each component, and how much it differs between draws.
    separates : ndarray of shape (k,)
        Largest difference of the log-odds of the feature between two components, averaged over
        draws.
    membership : ndarray of shape (n, K)
        Posterior probability that a training case is of each component.
    occupied : ndarray of shape (K,)
        Posterior probability that 1, 2, ..., K components hold cases.
    """

    name: tuple[str, ...]
    classes: tuple[str, ...]
    share: FloatArray
    class_share: FloatArray
    probability: FloatArray
    sd: FloatArray
    separates: FloatArray
    membership: FloatArray
    occupied: FloatArray

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns of the features, for a frame or JSON."""
        columns: dict[str, list[Any]] = {"name": list(self.name)}
        for k in range(self.share.size):
            columns[f"p_{k + 1}"] = self.probability[k].tolist()
            columns[f"sd_{k + 1}"] = self.sd[k].tolist()
        return {**columns, "separates": self.separates.tolist()}

    def __str__(self) -> str:
        """Return an aligned table, a line for each feature."""
        lines = []
        for k, share in enumerate(self.share.tolist()):
            of_class = ", ".join(
                f"P({label}) {p:.2f}"
                for label, p in zip(self.classes, self.class_share[k].tolist(), strict=True)
            )
            lines.append(f"component {k + 1}: {share:.0%} of cases, {of_class}")
        width = max([len("feature"), *(len(name) for name in self.name)])
        head = "  ".join(f"{f'P(1) in {k + 1}':<13}" for k in range(self.share.size))
        lines.append(f"{'feature':<{width}}  {head}  separates")
        for j, name in enumerate(self.name):
            cells = "  ".join(
                f"{p:.3f} ± {sd:.3f}"
                for p, sd in zip(self.probability[:, j], self.sd[:, j], strict=True)
            )
            lines.append(f"{name:<{width}}  {cells}  {self.separates[j]:9.2f}")
        return "\n".join(lines)


def matching_order(draws: Draws) -> IntArray:
    """Return, for each draw, its components in the order of those of a reference, shape (D, K).

    The posterior does not change when components swap names, so that draws have to be matched: each
    to the labels of the draw with the highest posterior, then again to the memberships that result.
    """
    labels, n_components = draws.pooled("z").astype(np.int64), draws.pooled("psi").shape[1]
    one_hot = labels[:, :, None] == np.arange(n_components)
    reference = one_hot[int(np.argmax(draws.pooled("log_posterior")))].astype(float)
    for _ in range(2):
        same = np.einsum("dik,ir->drk", one_hot.astype(float), reference)
        order = np.stack([linear_sum_assignment(-each)[1] for each in same])
        matched = np.take_along_axis(one_hot, order[:, None, :], axis=2)
        reference = matched.mean(axis=0)
    largest = np.argsort(-reference.sum(axis=0), kind="stable")
    return np.asarray(order[:, largest])


def components(draws: Draws, names: tuple[str, ...], classes: tuple[str, ...]) -> GeneralComponents:
    """Summarise the components over all draws."""
    order = matching_order(draws)
    rows = np.arange(len(order))[:, None]
    psi, share, phi = (draws.pooled(name)[rows, order] for name in ("psi", "class_share", "phi"))
    labels, n_components = draws.pooled("z").astype(np.int64), order.shape[1]
    named = np.empty_like(order)
    np.put_along_axis(named, order, np.arange(n_components)[None], axis=1)
    matched = np.take_along_axis(named, labels, axis=1)
    membership = np.stack([(matched == k).mean(axis=0) for k in range(n_components)], axis=1)
    occupied = [np.unique(each).size for each in labels]
    log_odds = np.log(phi) - np.log1p(-phi)
    return GeneralComponents(
        name=names,
        classes=classes,
        share=psi.mean(axis=0),
        class_share=share.mean(axis=0),
        probability=phi.mean(axis=0),
        sd=phi.std(axis=0),
        separates=np.ptp(log_odds, axis=1).mean(axis=0),
        membership=membership,
        occupied=np.bincount(occupied, minlength=n_components + 1)[1:] / len(labels),
    )


def class_probabilities(part: GeneralPart) -> tuple[FloatArray, FloatArray]:
    """Return mean and spread of P(feature = 1 | class), each of shape (C, k)."""
    psi, share, phi = (part.draws.pooled(name) for name in ("psi", "class_share", "phi"))
    of_class = psi[:, :, None] * share  # draw, component, class
    of_class /= of_class.sum(axis=1, keepdims=True)
    probability = np.einsum("dzc,dzk->cdk", of_class, phi)
    return probability.mean(axis=1), probability.std(axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFeatureTable(KeptTable):
    """The kept features of several classes, strongest first, then those kept by design.

    Attributes
    ----------
    correlation : ndarray of shape (k,)
        The correlation of two classes that would be as surprising.
    probability, sd : ndarray of shape (C, k)
        P(x = 1) in each class, and its spread over draws.
    by_design : ndarray of bool of shape (k,)
        Whether the feature was kept by design.
    """

    correlation: FloatArray
    probability: FloatArray
    sd: FloatArray
    by_design: BoolArray
    _cuts: Binarization

    def _rows(self, names: TableNames) -> dict[str, Any]:
        cuts = zip(self.name, self._cuts.cut.tolist(), self._cuts.high.tolist(), strict=True)
        by_class = {f"p_{c}": row.tolist() for c, row in enumerate(self.probability)}
        spread = {f"sd_{c}": row.tolist() for c, row in enumerate(self.sd)}
        return {
            "means_one": [names.describe_one(*cut) for cut in cuts],
            "by_design": self.by_design.tolist(),
            "correlation": self.correlation.tolist(),
            **by_class,
            **spread,
        }

    def _page_columns(self) -> tuple[TableColumn, ...]:
        return (
            TableColumn(title="a one", key="means_one", style="text"),
            TableColumn(title="correlation", key="correlation"),
            *(
                TableColumn(title=f"P(one), {label}", key=f"p_{c}", error=f"sd_{c}")
                for c, label in enumerate(self.classes)
            ),
        )

    def _page_note(self) -> str:
        return (
            "The correlation is that of two classes which would be as surprising. “±” is the "
            "spread over draws."
        )

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        columns: dict[str, list[Any]] = {
            "name": list(self.name),
            "correlation": self.correlation.tolist(),
        }
        for c in range(len(self.classes)):
            columns[f"p_class_{c}"] = self.probability[c].tolist()
            columns[f"sd_class_{c}"] = self.sd[c].tolist()
        return {**columns, "by_design": self.by_design.tolist()}

    def __str__(self) -> str:
        """Return an aligned table."""
        width = max([len("feature"), *(len(name) for name in self.name)])
        head = "  ".join(f"{f'P(1|{label})':>14}" for label in self.classes)
        lines = [f"{'feature':<{width}}       r  {head}"]
        for j, name in enumerate(self.name):
            cells = "  ".join(
                f"{p:.3f} +- {sd:.3f}"
                for p, sd in zip(self.probability[:, j], self.sd[:, j], strict=True)
            )
            design = "  by design" if self.by_design[j] else ""
            lines.append(f"{name:<{width}}  {self.correlation[j]:6.3f}  {cells}{design}")
        return "\n".join(lines)


def class_feature_table(
    part: GeneralPart, names: tuple[str, ...], classes: tuple[str, ...]
) -> ClassFeatureTable:
    """Summarise each kept feature by class: over the components, as often as a class has them."""
    mean, sd = class_probabilities(part)
    return ClassFeatureTable(
        name=names,
        classes=classes,
        correlation=part.correlation,
        probability=mean,
        sd=sd,
        by_design=by_design(part.selection),
        _cuts=part.binarization,
    )
