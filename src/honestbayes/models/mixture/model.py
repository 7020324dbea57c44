"""A two-component mixture of binary features after selection: chains and predictions.

Equations 2.56 to 2.76 of the thesis: the response is one more binary column, each component has its
own probabilities of a one, and the event that other features were discarded multiplies the
conditionals of the labels and of alpha.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.special import logsumexp

from honestbayes.base.explanation import by_design
from honestbayes.base.parameters import (
    SelectionSettings,
    criterion_of,
    positive_pair,
    selection_rule,
    theta_interval,
    whole_number,
)
from honestbayes.base.part import Describe, FoldMemo, tie_breaker
from honestbayes.base.sampled import SampledTraining, check_chain_parameters
from honestbayes.correction.discard import region_by_criterion
from honestbayes.correction.exact_selection import attained
from honestbayes.correction.mixture_table import MixtureRegion, MixtureTable, mixture_table
from honestbayes.data import Binarization, as_source
from honestbayes.data.source import dense_values
from honestbayes.files.fields import (
    CLOSE,
    Bits,
    Check,
    Counts,
    Entries,
    Field,
    Floats,
    Known,
    Plain,
    Weights,
    joined,
    record_from_plain,
    record_to_plain,
)
from honestbayes.likelihood.quadrature import AlphaPrior, paper_alpha_nodes
from honestbayes.models.binary.estimator import renumbered
from honestbayes.models.binary.model import (
    FeatureTable,
    TrainingRows,
    ZeroOne,
    check_all_counts,
    select_columns,
)
from honestbayes.sampling.chains import Form, Info, State
from honestbayes.sampling.draws import Draws, draws_from_plain
from honestbayes.sampling.runs import Sampling, sample
from honestbayes.selection import DiscardedGroup, Selection
from honestbayes.selection.counts import Screening
from honestbayes.selection.criteria import Criterion
from honestbayes.tabular import Tabular
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from honestbayes.models.mixture.kernels import MixtureProblem


# --------------------------------------------------------------------------------------------------
# Settings
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureSettings:
    """Priors, and what is conditioned on.

    Attributes
    ----------
    correct : bool
        Whether the event that features were discarded is conditioned on.
    pseudocounts : tuple of float
        Beta prior of the components' frequencies.
    alpha_prior, response_prior : AlphaPrior
        Of the features' alpha, and of the response's.
    theta_range : tuple of float
        Bounds of theta.
    n_alpha : int or None
        How many prior quantiles alphas may take; None: any value.
    criterion : Criterion or None
        What features are ranked by, where it is not the correlation.
    """

    correct: bool
    pseudocounts: tuple[float, float]
    alpha_prior: AlphaPrior
    response_prior: AlphaPrior
    theta_range: tuple[float, float]
    n_alpha: int | None
    # A checkpoint is recognised by the text of settings, and a function has another one in each
    # process. The record of the selection names the criterion there.
    criterion: Criterion | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureChoices(SelectionSettings):
    """Validated choices of the user: selection, priors, sweeps of each draw."""

    model: MixtureSettings
    thin: int


def mixture_settings(
    params: Mapping[str, Any], always_keep: BoolArray, classes: AnyArray | None = None
) -> MixtureChoices:
    """Validate the constructor's parameters, and return them as settings.

    ``classes`` are the labels that a user's criterion gets.
    """
    n_features, threshold = selection_rule(params, int(np.sum(~always_keep)))
    if params["correction"] not in ("auto", "selection", None):
        msg = f"correction={params['correction']!r} is not one of 'auto', 'selection', None."
        raise ValueError(msg)
    check_chain_parameters(params)
    model = MixtureSettings(
        correct=params["correction"] is not None,
        pseudocounts=positive_pair(params, "class_pseudocounts"),
        alpha_prior=AlphaPrior(*positive_pair(params, "alpha_prior")),
        response_prior=AlphaPrior(*positive_pair(params, "response_prior")),
        theta_range=theta_interval(params),
        n_alpha=None if params["n_alpha"] is None else whole_number(params, "n_alpha", 1),
        criterion=criterion_of(params, "categorical", ("correlation",), classes),
    )
    return MixtureChoices(
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        model=model,
        thin=whole_number(params, "thin", 1),
    )


NUMBERS = ("log_alpha", "log_alpha_0", "log_posterior")
"""Numbers that tell whether chains agree; swapping the components' names leaves them alone."""

BY_DESIGN = "log_alpha_by_design"
"""One more, where features are kept by design."""

_CHUNK_CELLS = 1 << 22

_THETAS = (1e-30, 1 - 1e-16)
"""Thetas in checkpoints: products of several times alpha must not vanish, and no chain is nearer to
0 or 1."""

_LARGEST = 1e12
"""Of logarithms in files: far beyond any that chains draw."""


def make_problem(
    cells: AnyArray,
    selection: Selection,
    settings: MixtureSettings,
    table: MixtureTable | None = None,
    *,
    labels_are_fixed: bool = False,
) -> MixtureProblem:
    """Put data and priors into the form that kernels take.

    Parameters
    ----------
    cells : ndarray of int8 of shape (n, 1 + k)
        Response and kept features, in the order of ``selection.columns``; 2 is missing.
    selection : Selection
        What was kept and discarded.
    settings : MixtureSettings
        Choices of the user.
    table : MixtureTable, optional
        From `event_table`, where it is there already.
    labels_are_fixed : bool, default=False
        Whether labels stay what they are at the start.
    """
    from honestbayes.models.mixture import kernels

    table = event_table(selection, settings) if table is None else table
    n_ranked = len(selection.kept)
    blocks = np.full(cells.shape[1], kernels.BY_DESIGN, dtype=np.int64)
    blocks[0], blocks[1 : 1 + n_ranked] = kernels.RESPONSE, kernels.RANKED
    priors = [settings.response_prior, settings.alpha_prior]
    if selection.always_kept:
        priors.append(settings.alpha_prior)
    quantiles = [paper_alpha_nodes(prior, settings.n_alpha or 0) for prior in priors]
    return kernels.MixtureProblem(
        np.ascontiguousarray(cells, dtype=np.int8),
        blocks,
        np.array(settings.pseudocounts),
        np.array([(prior.shape, prior.rate) for prior in priors]),
        np.log(np.stack(quantiles)),
        np.array(settings.theta_range),
        labels_are_fixed,
        table.arrays,
    )


def event_table(selection: Selection, settings: MixtureSettings) -> MixtureTable:
    """Return the table of log P(S); of nothing, where nothing is conditioned on.

    A discarded feature with missing cells is taken for a complete one: which of its cells are
    missing, and so the labels behind the others, would matter. One without any cell of a class
    says nothing, and does not count.
    """
    selection = renumbered(selection)
    where = None
    if settings.correct and settings.criterion is not None and selection.n_discarded:
        selection, where = _bound_by_criterion(selection, settings.criterion)
    groups = [group for group in selection.groups if min(group.observed) > 0]
    n_discarded = sum(group.n_discarded for group in groups)
    merged: tuple[DiscardedGroup, ...] = ()
    if settings.correct and n_discarded:
        # A complete feature cannot be tied where those with missing cells are; at 0 all are tied.
        complete = [group for group in groups if group.observed == selection.class_counts]
        n_tied = sum(group.n_tied for group in complete)
        if selection.gamma_squared == 0 if where is None else where.never_below:
            n_tied = n_discarded
        merged = (DiscardedGroup(selection.class_counts, n_discarded, n_tied),)
    width = len(selection.columns) + sum(group.n_discarded for group in merged)
    return mixture_table(
        replace(selection, groups=merged, n_features_in=width), settings.theta_range, where
    )


def _bound_by_criterion(
    selection: Selection, criterion: Criterion
) -> tuple[Selection, MixtureRegion | None]:
    """Return the selection and the region of counts that its bound stands for.

    A criterion that ranks complete columns as r squared does has the event of the correlation.
    Then there is no region, and the selection has the bound on the correlation.
    """
    bound, (n0, n1) = selection.strength_bound, selection.class_counts
    assert bound is not None
    if criterion.r_squared is None:
        check_all_counts((n0, n1), criterion, "criterion='chi2'")
        return selection, MixtureRegion.of_counts(region_by_criterion(n0, n1, criterion, bound))
    gamma_squared = attained(criterion.r_squared(bound, n0 + n1, 2), n0, n1)
    same = replace(
        selection, criterion="correlation", strength_bound=None, gamma_squared=gamma_squared
    )
    return same, None


def missing_share(selection: Selection) -> float:
    """Return the share of missing cells among the discarded features that say something."""
    groups = [group for group in selection.groups if min(group.observed) > 0]
    cells = sum(group.n_discarded for group in groups) * sum(selection.class_counts)
    there = sum(group.n_discarded * sum(group.observed) for group in groups)
    return 1 - there / cells if cells else 0.0


class MixtureKernel:
    """Some sweeps over labels, thetas and alphas.

    Parameters
    ----------
    problem : MixtureProblem
        From `make_problem`.
    n_sweeps : int, default=1
        Sweeps of each step.
    """

    def __init__(self, problem: MixtureProblem, n_sweeps: int = 1) -> None:
        self.problem = problem
        self.n_sweeps = n_sweeps

    def step(self, rng: np.random.Generator, state: State) -> tuple[State, Info]:
        """Return the state after a step, and all that predictions and summaries need of it."""
        from honestbayes.correction.mixture_kernels import chain_work
        from honestbayes.models.mixture import kernels

        labels, log_alpha, theta = (state[name].copy() for name in ("z", "log_alpha", "theta"))
        work = chain_work(self.problem.table)
        for _ in range(self.n_sweeps):
            log_posterior = kernels.sweep(rng, labels, log_alpha, theta, self.problem, work)
        psi, phi = np.empty(2), np.empty((2, theta.size))
        kernels.predictive(labels, log_alpha, theta, self.problem, psi, phi)
        info = {
            "log_alpha": log_alpha[kernels.RANKED],
            "log_alpha_0": log_alpha[kernels.RESPONSE],
            "log_posterior": log_posterior,
            "psi": psi,
            "phi": phi,
            "z": labels.astype(np.uint8),
        }
        if log_alpha.size > kernels.BY_DESIGN:
            info[BY_DESIGN] = log_alpha[kernels.BY_DESIGN]
        return {"z": labels, "log_alpha": log_alpha, "theta": theta}, info

    def form(self) -> Form:
        """Return what states and draws can be."""
        from honestbayes.models.mixture import kernels

        problem = self.problem
        n_cases, width = problem.cells.shape
        n_blocks = problem.priors.shape[0]
        low, high = kernels.LOG_ALPHAS
        if problem.grid.size:
            low, high = float(problem.grid.min()), float(problem.grid.max())
        lowest, highest = np.clip(problem.theta_range, *_THETAS).tolist()
        return Form(
            state={
                "z": Counts("n_chains", n_cases, high=1),
                "log_alpha": Floats("n_chains", n_blocks, low=low, high=high),
                "theta": Floats("n_chains", width, low=lowest, high=highest),
            },
            drawn=draw_fields(by_design=n_blocks > kernels.BY_DESIGN),
            sizes={"n_cases": n_cases, "n_columns": width - 1},
            check=self._check,
        )

    def _check(self, state: Known, drawn: Known, check: Check) -> None:
        """Refuse labels that are not the classes where they have to be, and draws of a file."""
        if self.problem.labels_are_fixed:
            check(np.all(state["z"] == self.problem.cells[:, 0]), "z", "is not the classes")
        if drawn:
            check_draws(drawn, check)


def draw_fields(*, by_design: bool) -> dict[str, Field]:
    """Return how draws stand in files; what features kept by design add is there with them."""
    numbers = (*NUMBERS, BY_DESIGN) if by_design else NUMBERS
    shape = ("n_chains", "n_draws")
    return {
        "psi": Weights(*shape, 2),
        "phi": Floats(*shape, 2, "n_columns+1", low=0.0, high=1.0),
        "z": Bits(*shape, "n_cases"),
        **{name: Floats(*shape, low=-_LARGEST, high=_LARGEST) for name in numbers},
    }


def check_draws(drawn: Mapping[str, AnyArray], check: Check) -> None:
    """Refuse probabilities of 0 and 1, whose logarithms predictions take."""
    phi = drawn["phi"]
    check(np.all(drawn["psi"] > 0), "psi", "holds a component without cases")
    check(np.all((phi > 0) & (phi < 1)), "phi", "is not strictly between 0 and 1")


def starting_states(
    problem: MixtureProblem, n_chains: int, rng: np.random.Generator
) -> list[dict[str, AnyArray]]:
    """Return states far from each other: labels that are the classes, random, or all the same.

    Thetas start near the frequencies of ones in their columns. Where they are far from these, and
    alpha is not small, a case fits best into the component that holds most cases: with thousands of
    columns the first sweep then moves all cases into one component, from any labels. Nor can cases
    leave it while alpha is much smaller than the number of columns, for each column of an empty
    component costs a case about 1 / (2 alpha) nats, and alpha itself moves slowly, as all thetas
    are tied to it. Labels other than the classes therefore start with an alpha that is no smaller
    than the number of columns, unless it is restricted to a few values. The kernels that follow
    leave the posterior invariant from any start, so starts do not change what chains converge to.
    """
    n, width = problem.cells.shape
    n_blocks = problem.priors.shape[0]
    low, high = problem.theta_range.tolist()
    ones, zeros = ((problem.cells == x).sum(axis=0) for x in (1, 0))
    states = []
    for c in range(n_chains):
        kind = 0 if problem.labels_are_fixed else c % 3
        labels = (
            problem.cells[:, 0].astype(np.int64),
            rng.integers(0, 2, n),
            np.zeros(n, dtype=np.int64),
        )[kind]
        log_alpha = np.asarray(rng.uniform(1.0, 6.0, n_blocks))
        if kind > 0:
            log_alpha[1:] = np.maximum(log_alpha[1:], np.log(width))  # not that of the class
        if problem.grid.size:
            log_alpha = problem.grid[
                np.arange(n_blocks), rng.integers(0, problem.grid.shape[1], n_blocks)
            ]
        theta = np.clip(rng.beta(ones + 1.0, zeros + 1.0), low, high)
        states.append({"z": labels, "log_alpha": log_alpha, "theta": theta})
    return states


def log_joint(draws: Draws, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
    """Return log P(x, class | training data), shape (n, 2): equation 2.68, averaged over draws.

    Parameters are those of `log_joint_draws`.
    """
    n_draws = draws.n_pooled
    step = max(1, _CHUNK_CELLS // (4 * n_draws))
    result = np.empty((ones.shape[0], 2))
    for first in range(0, ones.shape[0], step):
        rows = slice(first, first + step)
        hidden = None if missing is None else missing[rows]
        result[rows] = logsumexp(log_joint_draws(draws, ones[rows], hidden), axis=0)
    return np.asarray(result - np.log(n_draws))


def log_joint_draws(draws: Draws, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
    """Return log P(x, class | draw), shape (D, n, 2).

    Parameters
    ----------
    draws : Draws
        With psi, shape (chains, draws, 2), and phi, shape (chains, draws, 2, 1 + k).
    ones : ndarray of shape (n, k)
        Kept features as 0/1.
    missing : ndarray of bool of shape (n, k), or None
        Cells that are not there.
    """
    psi, phi = draws.pooled("psi"), draws.pooled("phi")
    there = np.ones(ones.shape) if missing is None else (~missing).astype(float)
    x = ones * there
    log_one, log_zero = np.log(phi[..., 1:]), np.log1p(-phi[..., 1:])
    given_z = np.stack([log_one[:, z] @ x.T + log_zero[:, z] @ (there - x).T for z in (0, 1)])
    given_z += np.log(psi).T[:, :, None]  # component, draw, case
    log_class = np.log([1 - phi[..., 0], phi[..., 0]])  # class, draw, component
    joint = [
        np.logaddexp(given_z[0] + log_class[c, :, :1], given_z[1] + log_class[c, :, 1:])
        for c in (0, 1)
    ]
    return np.stack(joint, axis=2)


def log_class_prior(draws: Draws) -> FloatArray:
    """Return log P(class | training data) of a case of which nothing is known, shape (2,)."""
    psi, phi = draws.pooled("psi"), draws.pooled("phi")
    positive = float((psi * phi[:, :, 0]).sum(axis=1).mean())
    return np.asarray(np.log([1.0 - positive, positive]))


def orientation(draws: Draws) -> IntArray:
    """Return, for each draw, the component in which class 1 is the more frequent."""
    of_class = draws.pooled("phi")[:, :, 0]
    return np.asarray((of_class[:, 1] >= of_class[:, 0]).astype(np.int64))


def component_draws(draws: Draws, names: Sequence[str] = ("psi", "phi")) -> dict[str, Any]:
    """Return draws with components named alike in all of them: the second has more of class 1."""
    second = orientation(draws)
    rows = np.arange(second.size)
    result: dict[str, Any] = {}
    for name in names:
        value = draws.pooled(name)
        result[name] = np.stack([value[rows, 1 - second], value[rows, second]], axis=1)
    labels = draws.pooled("z")
    result["z"] = np.where(second[:, None] == 1, labels, 1 - labels)
    return result


# --------------------------------------------------------------------------------------------------
# Binary features of a two-component mixture as a part of an estimator
# --------------------------------------------------------------------------------------------------


_Statistic = tuple[IntArray, Screening]
"""Rows, and their counts."""

MISSING = 2

MANY_MISSING = 0.05
"""Share of missing cells from which on the correction warns that it is too weak."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentPart:
    """Fitted binary features of a mixture.

    Subclasses name the functions of their draws: fields in files, what files are refused for, and
    log P(x, class) and log P(class).

    Attributes
    ----------
    selection : Selection
        What was kept and discarded.
    binarization : Binarization
        How values of the kept columns become 0/1.
    correlation : ndarray of shape (k,)
        Training correlation of each kept column with the class, or its equivalent.
    draws : Draws
        Of all chains.
    interrupted : bool
        Whether the user stopped the chains before their end.
    """

    selection: Selection
    binarization: Binarization
    correlation: FloatArray
    draws: Draws
    interrupted: bool = False

    _fields: ClassVar[Callable[..., Mapping[str, Field]]]
    _check: ClassVar[Callable[..., None]]
    _log_joint: ClassVar[Callable[..., FloatArray]]
    _log_class_prior: ClassVar[Callable[..., FloatArray]]

    def to_plain(self) -> Plain:
        """Return cuts, correlations and draws as plain data."""
        fields = self._fields(by_design=bool(self.selection.always_kept))
        draws = {name: self.draws[name] for name in fields}
        return joined(
            record_to_plain(self.binarization), ({}, {**draws, "correlation": self.correlation})
        )

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> Self:
        """Return the part that `to_plain` described; refuse draws that cannot be."""
        selection = known["selection"]
        known = {**known, "n_cases": sum(selection.class_counts)}
        binarization = record_from_plain(Binarization, entries, known)
        fields = cls._fields(by_design=bool(selection.always_kept))
        draws = draws_from_plain(fields, entries, known)
        cls._check(draws.values, entries.check)
        field = Floats("n_columns", low=-1 - CLOSE, high=1 + CLOSE)
        correlation = field.read(entries, "correlation", known)
        return cls(
            selection=selection, binarization=binarization, correlation=correlation, draws=draws
        )

    def read(self, X: Any, describe: Describe) -> ZeroOne:
        """Return the kept columns as 0/1."""
        return self.binarization.apply(dense_values(as_source(X)), describe)

    def log_likelihood(self, values: ZeroOne) -> FloatArray:
        """Return log P(x | class), shape (n, C)."""
        return self._log_joint(self.draws, *values) - self.log_prior

    def rows(self, values: ZeroOne, rows: slice) -> ZeroOne:
        """Return some rows of values that were read."""
        ones, missing = values
        return ones[rows], None if missing is None else missing[rows]

    @property
    def log_prior(self) -> FloatArray:
        """Log class probabilities before features are seen."""
        return self._log_class_prior(self.draws)

    def warn_if_many_are_missing(self) -> None:
        """Warn that P(S) is that of complete features, where many of their cells are missing."""
        missing = missing_share(self.selection)
        if missing > MANY_MISSING:
            warnings.warn(
                f"{missing:.0%} of the cells of discarded features are missing; the correction "
                "treats these features as complete, and is weaker than it should be.",
                UserWarning,
                stacklevel=5,
            )


class MixturePart(ComponentPart):
    """Fitted binary features of two components, of a problem with two classes."""

    __slots__ = ()
    _fields = staticmethod(draw_fields)
    _check = staticmethod(check_draws)
    _log_joint = staticmethod(log_joint)
    _log_class_prior = staticmethod(log_class_prior)

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> Self:
        """Return the part that `to_plain` described; refuse more classes."""
        entries.check(known["n_classes"] == 2, "selection", "is not one of two classes")
        return super().from_plain(entries, known)


@dataclass(frozen=True, slots=True)
class MixtureTraining(SampledTraining):
    """Binary features of a training table, for a mixture.

    Attributes
    ----------
    settings : MixtureChoices
        Selection, priors, and sweeps of each step.
    rows : TrainingRows
        The table.
    labels_are_fixed : bool, default=False
        Whether labels stay what the classes are: the naive Bayes model.
    """

    settings: MixtureChoices
    rows: TrainingRows
    labels_are_fixed: bool = False

    def fit(self) -> MixturePart:
        """Fit all rows, and warn if many cells of discarded features are missing."""
        part = self._run(self._whole(None), self.sampling)
        if self.settings.model.correct:
            part.warn_if_many_are_missing()
        return part

    def _whole(self, _memo: FoldMemo | None) -> _Statistic:
        return np.arange(self.rows.is_class_1.size), self.rows.whole

    def _without(
        self, folds: Sequence[IntArray], _memo: FoldMemo | None
    ) -> Iterator[tuple[IntArray, _Statistic]]:
        everyone = np.arange(self.rows.is_class_1.size)
        for rows, screening in self.rows.without(list(folds)):
            yield rows, (np.setdiff1d(everyone, rows), screening)

    def _values(self, part: MixturePart, rows: IntArray) -> ZeroOne:
        return self.rows.zero_one(part.selection, part.binarization, rows)

    def _run(self, statistic: _Statistic, sampling: Sampling) -> MixturePart:
        """Select, and run chains, given the counts of some rows."""
        settings, (rows, screening) = self.settings, statistic
        selection = select_columns(
            screening,
            settings,
            settings.model.criterion,
            tie_breaker(self.rows.random_state),
        )
        columns = np.array(selection.columns, dtype=np.int64)
        binarization = screening.binarization.take(columns)
        cells = as_cells(
            self.rows.is_class_1[rows], *self.rows.zero_one(selection, binarization, rows)
        )
        draws, interrupted = run_mixture(
            cells,
            selection,
            settings.model,
            sampling,
            settings.thin,
            labels_are_fixed=self.labels_are_fixed,
        )
        correlation = screening.correlation()[columns]
        return MixturePart(
            selection=selection,
            binarization=binarization,
            correlation=correlation,
            draws=draws,
            interrupted=interrupted,
        )


def as_cells(is_class_1: BoolArray, ones: AnyArray, missing: BoolArray | None) -> AnyArray:
    """Join the response and the kept features into one table of cells."""
    features = np.asarray(ones, dtype=np.int8)
    if missing is not None:
        features = np.where(missing, np.int8(MISSING), features)
    return np.column_stack([is_class_1.astype(np.int8), features])


def run_mixture(
    cells: AnyArray,
    selection: Selection,
    settings: MixtureSettings,
    sampling: Sampling,
    thin: int,
    *,
    labels_are_fixed: bool = False,
) -> tuple[Draws, bool]:
    """Run chains, each step of which is ``thin`` sweeps; return draws and whether interrupted."""
    table = event_table(selection, settings)
    problem = make_problem(cells, selection, settings, table, labels_are_fixed=labels_are_fixed)
    draws, interrupted = sample(
        MixtureKernel(problem, thin),
        lambda seed: starting_states(problem, sampling.n_chains, np.random.default_rng(seed)),
        sampling,
        cells,
        selection.to_dict(),
        settings,
        thin,
        labels_are_fixed,
        agree=lambda draws: draws.diagnostics().agree(),
    )
    table.warn_if_visited(np.exp(draws.pooled("log_alpha")))
    return draws, interrupted


# --------------------------------------------------------------------------------------------------
# Explanation: the two components
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Components(Tabular):
    """The components, named alike in all draws: class 1 is more frequent in the second.

    Attributes
    ----------
    name : tuple of str
        The kept features, strongest first.
    classes : tuple of str
        Class labels.
    share : ndarray of shape (2,)
        Share of cases in each component.
    class_1 : ndarray of shape (2,)
        P(class 1) in each component.
    probability, sd : ndarray of shape (2, k)
        P(feature = 1) in each component, and how much it differs between draws.
    separates : ndarray of shape (k,)
        Mean absolute difference of the log-odds of the feature between the components: how much
        one cell tells of the component.
    in_second : ndarray of shape (n,)
        Posterior probability that a training case is of the second component.
    """

    name: tuple[str, ...]
    classes: tuple[str, ...]
    share: FloatArray
    class_1: FloatArray
    probability: FloatArray
    sd: FloatArray
    separates: FloatArray
    in_second: FloatArray

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns of the features, for a frame or JSON."""
        return {
            "name": list(self.name),
            "p_first": self.probability[0].tolist(),
            "p_second": self.probability[1].tolist(),
            "sd_first": self.sd[0].tolist(),
            "sd_second": self.sd[1].tolist(),
            "separates": self.separates.tolist(),
        }

    def __str__(self) -> str:
        """Return an aligned table, a line for each feature."""
        width = max([len("feature"), *(len(name) for name in self.name)])
        label = self.classes[1]
        of_each = [
            f"{self.share[c]:.0%} of cases, P({label}) {self.class_1[c]:.2f}" for c in (0, 1)
        ]
        lines = [f"first component: {of_each[0]}", f"second component: {of_each[1]}"]
        lines.append(f"{'feature':<{width}}  P(1) first     P(1) second    separates")
        for j, name in enumerate(self.name):
            cells = (f"{self.probability[c, j]:.3f} ± {self.sd[c, j]:.3f}" for c in (0, 1))
            lines.append(f"{name:<{width}}  {'  '.join(cells)}  {self.separates[j]:9.2f}")
        return "\n".join(lines)


def components(draws: Draws, names: tuple[str, ...], classes: tuple[str, ...]) -> Components:
    """Summarise the components over all draws."""
    named = component_draws(draws)
    phi = named["phi"]
    log_odds = np.log(phi[:, :, 1:]) - np.log1p(-phi[:, :, 1:])
    return Components(
        name=names,
        classes=classes,
        share=named["psi"].mean(axis=0),
        class_1=phi[:, :, 0].mean(axis=0),
        probability=phi[:, :, 1:].mean(axis=0),
        sd=phi[:, :, 1:].std(axis=0),
        separates=np.abs(log_odds[:, 1] - log_odds[:, 0]).mean(axis=0),
        in_second=named["z"].mean(axis=0),
    )


def feature_table(
    part: MixturePart, names: tuple[str, ...], classes: tuple[str, ...], slope: float
) -> FeatureTable:
    """Summarise each kept feature by class: over the components, as often as a class has them."""
    psi, phi = part.draws.pooled("psi"), part.draws.pooled("phi")
    of_class = np.stack([psi * (1 - phi[..., 0]), psi * phi[..., 0]])  # class, draw, component
    of_class /= of_class.sum(axis=2, keepdims=True)
    share = np.einsum("cdz,dzk->cdk", of_class, phi[..., 1:])
    mean = share.mean(axis=1)
    return FeatureTable(
        name=names,
        classes=classes,
        correlation=part.correlation,
        probability=mean,
        sd=share.std(axis=1),
        evidence_if_one=slope * (np.log(mean[1]) - np.log(mean[0])),
        evidence_if_zero=slope * (np.log1p(-mean[1]) - np.log1p(-mean[0])),
        by_design=by_design(part.selection),
        _cuts=part.binarization,
        _additive=False,
    )
