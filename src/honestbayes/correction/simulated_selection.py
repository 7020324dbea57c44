"""P(a feature is kept | atom) by multiple importance sampling, for any criterion.

Columns are drawn at several atoms, the proposals, and reweighted by the balance heuristic: a column
drawn anywhere has the weight P(column | atom) / sum over proposals of share * P(column | proposal)
(Veach and Guibas 1995, section 3). Only columns on one side of the bound, or at it, need weights.
The estimate is smooth in the atom, unbiased at each, and its weights are bounded at the proposals.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from honestbayes.correction.discard import Ties
from honestbayes.correction.event import Event, HyperNodes, LogProbSelection
from honestbayes.correction.feature_models import FeatureModel, Likelihood, RealFeatures
from honestbayes.selection import DiscardedGroup
from honestbayes.selection.criteria import Criterion, class_moments, compare, table_strengths
from honestbayes.types import BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Columns drawn from a feature model, and where their strength lies relative to a bound
# --------------------------------------------------------------------------------------------------


_BLOCK_CELLS = 1 << 22


@dataclass(frozen=True, slots=True)
class JudgedColumns:
    """Features of one group as a source of columns.

    Attributes
    ----------
    model : FeatureModel
        How columns arise.
    criterion : Criterion
        How they are judged.
    bound : float
        Strength of the weakest kept feature.
    group : DiscardedGroup
        Numbers of observed cases and of levels.
    """

    model: FeatureModel
    criterion: Criterion
    bound: float
    group: DiscardedGroup

    def _sizes(self) -> IntArray:
        """Class sizes; classes without cases do not exist for a real-valued column."""
        sizes = np.array(self.group.observed, dtype=np.int64)
        return sizes[sizes > 0] if self.model.kind == "real" else sizes

    def draw(
        self, atom: float, number: int, generator: np.random.Generator
    ) -> Iterator[tuple[FloatArray, IntArray]]:
        """Draw columns block by block; beside them the sign of strength - bound."""
        sizes = self._sizes()
        step = max(1, _BLOCK_CELLS // int(sizes.sum()))
        for begin in range(0, number, step):
            drawn, strength = self._judged(atom, sizes, min(step, number - begin), generator)
            yield drawn, compare(strength, self.bound)

    def likelihood(self, drawn: FloatArray) -> Likelihood:
        """Return the log likelihood of atoms for columns that were drawn."""
        return self.model.likelihood(drawn, self._sizes())

    def _judged(
        self, atom: float, sizes: IntArray, number: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        criterion, model = self.criterion, self.model
        if isinstance(model, RealFeatures) and criterion.from_moments is None:
            whole = model.draw_columns(atom, sizes, number, generator)
            present = np.flatnonzero(self.group.observed)
            strength = criterion.strengths(whole, np.repeat(present, sizes))
            codes = np.repeat(np.arange(sizes.size), sizes)
            _, mean, within = class_moments(whole, codes, sizes.size)
            return np.concatenate([mean.T, within[:, None]], axis=1), strength
        drawn = model.draw(atom, sizes, self.group.n_levels, number, generator)
        if model.kind == "real":
            assert criterion.from_moments is not None
            return drawn, criterion.from_moments(sizes[:, None], drawn[:, :-1].T, drawn[:, -1])
        tables = drawn[:, 1:].astype(np.int64)
        if criterion.from_tables is not None:
            return drawn, criterion.from_tables(tables)
        # A user's function is slow: once for columns that are alike.
        distinct, inverse = np.unique(tables, axis=0, return_inverse=True)
        return drawn, table_strengths(criterion, distinct)[inverse.ravel()]


PROPOSAL_STEP = 1.2
"""Distance between proposals in log(1 + n signal), n the cases of an average class. A column tells
the logarithm of its variance between classes to about sqrt(2 / degrees of freedom)."""

WEAKEST, STRONGEST = 0.02, 3.0
"""Proposals reach from n signal = WEAKEST to signal = STRONGEST, and to any atom with more."""

UNIT = 256
"""Draws are made in multiples of so many, each with the same number from each proposal."""

_AT_LEAST = 4
"""Draws of each proposal in a unit, so that no weight is far above 1 / share."""

_SHARE_STEPS = 50
_BATCH_DRAWS = 1 << 16


def proposal_atoms(model: FeatureModel, atoms: FloatArray, group: DiscardedGroup) -> FloatArray:
    """Return atoms to draw at, shape (B,), from features that tell nothing to the strongest."""
    n = float(np.mean([size for size in group.observed if size > 0]))
    top = np.log1p(n * max(STRONGEST, float(model.signal(atoms).max(initial=0.0))))
    low = np.log1p(WEAKEST)
    steps = int(np.ceil((top - low) / PROPOSAL_STEP))
    return model.atoms(np.expm1(np.linspace(low, top, steps + 1)) / n)


@dataclass(frozen=True, slots=True)
class DrawnColumns:
    """Columns of one batch, on the side of the bound that is looked at.

    Attributes
    ----------
    likelihood : callable
        Log likelihood of atoms for these columns.
    log_mixture : ndarray of shape (D,)
        Log of their average likelihood over proposals, by the proposals' shares.
    stratum : ndarray of int of shape (D,)
        Position of the proposal that each was drawn at.
    tied : ndarray of bool of shape (D,)
        Whether its strength is the bound.
    """

    likelihood: Likelihood
    log_mixture: FloatArray
    stratum: IntArray
    tied: BoolArray


class GroupSimulation:
    """Draws for the features of one group.

    Parameters
    ----------
    source : JudgedColumns
        Where columns come from.
    proposals : ndarray of shape (B,)
        Atoms to draw at.
    per_unit : ndarray of int of shape (B,)
        Draws at each proposal in a unit of draws.
    side : {1, -1}
        Whether columns beyond the bound are looked at, or those below it.
    generator : Generator
        Of random numbers.
    """

    def __init__(
        self,
        source: JudgedColumns,
        proposals: FloatArray,
        per_unit: IntArray,
        side: int,
        generator: np.random.Generator,
    ) -> None:
        self.source = source
        self.proposals = proposals
        self.per_unit = per_unit
        self.side = side
        self.n_units = 0
        self._generator = generator
        self._batches: list[DrawnColumns] = []
        self._nodes: HyperNodes | None = None
        self._weights: list[FloatArray] = []

    @property
    def n_drawn(self) -> IntArray:
        """Columns drawn at each proposal, shape (B,)."""
        return self.per_unit * self.n_units

    @property
    def n_tied(self) -> int:
        """Columns drawn whose strength is the bound."""
        return sum(int(batch.tied.sum()) for batch in self._batches)

    def extend(self, n_units: int) -> None:
        """Draw more columns, in batches that fit into memory."""
        per_batch = max(1, _BATCH_DRAWS // int(self.per_unit.sum()))
        for begin in range(0, n_units, per_batch):
            self._extend(min(per_batch, n_units - begin))

    def _extend(self, n_units: int) -> None:
        seen, stratum, tied = [], [], []
        for b, (atom, times) in enumerate(zip(self.proposals, self.per_unit, strict=True)):
            for columns, sign in self.source.draw(float(atom), times * n_units, self._generator):
                wanted = (sign == self.side) | (sign == 0)
                seen.append(columns[wanted])
                tied.append(sign[wanted] == 0)
                stratum.append(np.full(np.count_nonzero(wanted), b))
        self.n_units += n_units
        columns = np.concatenate(seen)
        if len(columns):
            likelihood = self.source.likelihood(columns)
            share = self.per_unit / self.per_unit.sum()
            log_mixture = logsumexp(likelihood(self.proposals), axis=0, b=share[:, None])
            batch = DrawnColumns(
                likelihood, log_mixture, np.concatenate(stratum), np.concatenate(tied)
            )
            self._batches.append(batch)

    def weigh(self, nodes: HyperNodes) -> Weighed:
        """Weigh the draws at nodes; weights at the nodes of the last call are remembered."""
        if nodes is not self._nodes:
            self._nodes, self._weights = nodes, []
        for batch in self._batches[len(self._weights) :]:
            weight = np.exp(batch.likelihood(nodes.atoms) - batch.log_mixture)
            self._weights.append(nodes.mix(weight))
        return Weighed(
            n_nodes=nodes.size,
            weights=self._weights.copy(),
            batches=self._batches,
            n_drawn=self.n_drawn,
            side=self.side,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """Draws of one group with their weights at nodes.

    Attributes
    ----------
    n_nodes : int
        T, the number of nodes.
    weights : list of ndarray of shape (T, D)
        Weight of each column of each batch at each node.
    batches : list of DrawnColumns
        The columns.
    n_drawn : ndarray of shape (B,)
        All columns drawn at each proposal, looked at or not.
    side : {1, -1}
        Which columns are looked at.
    """

    n_nodes: int
    weights: list[FloatArray]
    batches: list[DrawnColumns]
    n_drawn: IntArray
    side: int

    def probabilities(self) -> tuple[FloatArray, FloatArray]:
        """Return P(strength > bound) and P(strength = bound) at each node, shape (T,)."""
        off, at = np.zeros(self.n_nodes), np.zeros(self.n_nodes)
        for weight, batch in zip(self.weights, self.batches, strict=True):
            off += weight @ ~batch.tied
            at += weight @ batch.tied
        off, at = off / self.n_drawn.sum(), at / self.n_drawn.sum()
        return (off if self.side > 0 else 1.0 - off - at), at

    def contributions(
        self, by_beyond: FloatArray, by_tied: FloatArray, reference: int
    ) -> Iterator[FloatArray]:
        """Return what draws add to the difference of log P(S) from that at a reference.

        Parameters
        ----------
        by_beyond, by_tied : ndarray of shape (T,)
            Derivatives of log P(S) by the two probabilities.
        reference : int
            A node.

        Yields
        ------
        ndarray of shape (T, D)
            Of the columns of a batch.
        """
        if self.side < 0:  # the other probability is the complement of both
            by_beyond, by_tied = -by_beyond, by_tied - by_beyond
        for weight, batch in zip(self.weights, self.batches, strict=True):
            own = weight * np.where(batch.tied, by_tied[:, None], by_beyond[:, None])
            yield own - own[reference]

    def variance(self, by_beyond: FloatArray, by_tied: FloatArray, reference: int) -> FloatArray:
        """Return the variance of the difference of log P(S) from that at the reference, (T,).

        Draws are stratified by proposal, and what differs between proposals is no error.
        """
        n = self.n_drawn.astype(float)
        total, square = np.zeros((2, self.n_nodes, n.size))
        apart = self.contributions(by_beyond, by_tied, reference)
        for own, batch in zip(apart, self.batches, strict=True):
            at_proposal = (batch.stratum[:, None] == np.arange(n.size)).astype(float)
            total += own @ at_proposal
            square += own**2 @ at_proposal
        spread = np.maximum(square - total**2 / n, 0.0) / np.maximum(n - 1.0, 1.0)
        return np.asarray(spread @ n / n.sum() ** 2)


@dataclass(frozen=True, slots=True)
class Plan:
    """How the draws of a group are shared out, and what to expect of them.

    Attributes
    ----------
    per_unit : ndarray of int of shape (B,)
        Draws at each proposal in a unit of draws.
    spread : ndarray of shape (T,)
        Variance at each node that matters, times the number of draws.
    """

    per_unit: IntArray
    spread: FloatArray


def plan_draws(ratio: FloatArray, contributions: FloatArray, n_drawn: int) -> Plan:
    """Share draws out so that the variance is small, by what a pilot has shown.

    The average over draws of contribution^2 / mixture is convex in the shares (He and Owen 2014,
    "Optimal mixture weights in multiple importance sampling"). Where it is smallest, its
    derivatives by all shares in use are equal; multiplying shares by their square roots leads
    there.

    Parameters
    ----------
    ratio : ndarray of shape (B, D)
        Likelihood of the proposals for each column, over that of the pilot's mixture.
    contributions : ndarray of shape (T, D)
        What it adds at each node that matters, with its weight in the pilot.
    n_drawn : int
        All columns that were drawn, looked at or not.
    """
    square = (contributions**2).sum(axis=0)
    share = np.full(ratio.shape[0], 1.0 / ratio.shape[0])
    if np.any(square > 0):
        for _ in range(_SHARE_STEPS):
            share = share * np.sqrt(ratio @ (square / (share @ ratio) ** 2))
            share /= share.sum()
    free = max(UNIT - _AT_LEAST * share.size, 0)
    per_unit = _AT_LEAST + np.floor(share * free + 0.5).astype(np.int64)
    mixture = (per_unit / per_unit.sum()) @ ratio
    return Plan(per_unit, (contributions**2 / mixture).sum(axis=1) / n_drawn)


# --------------------------------------------------------------------------------------------------
# P(S) by simulation: how many columns are drawn where, and the error that is left
# --------------------------------------------------------------------------------------------------


TOLERANCE = 0.05
"""Standard error of differences of log P(S) across the posterior that is asked for."""

MAX_DRAWS = 1 << 21

NEGLIGIBLE = 7.0
"""Nodes whose log posterior weight is below the largest by more than this need no accuracy."""

PILOT_DRAWS, FEWEST_PILOT_DRAWS = 1024, 32
"""Draws at each proposal before it is known where draws are worth most; fewer in many groups."""

FEWEST_DRAWS = 8192
"""Draws after the pilot, however good its news."""

FEWEST_TIED = 16
"""With fewer tied draws in the pilot the probability of a tie is not found by simulation."""

_SLACK = 5.0
"""How much of its own error may be added to a node's log weight when it is judged."""

_MARGIN = 1.2
_MOST_GROWTH = 4.0
"""The number of draws is set a little above what the error asks for, and at most grows so much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What draws say at some nodes.

    Attributes
    ----------
    weighed : list of Weighed
        Draws and weights of each group.
    beyond, by_beyond, by_tied : ndarray of shape (T, G)
        P(strength > bound) of one feature, and the derivatives of log P(S) by it and by
        P(strength = bound).
    log_prob, error : ndarray of shape (T,)
        log P(S), and the standard error of its difference from that at the reference.
    reference : int
        The node of largest posterior weight.
    matters : ndarray of bool of shape (T,)
        Nodes whose posterior weight may not be negligible.
    """

    weighed: list[Weighed]
    beyond: FloatArray
    by_beyond: FloatArray
    by_tied: FloatArray
    log_prob: FloatArray
    error: FloatArray
    reference: int
    matters: BoolArray

    @property
    def max_error(self) -> float:
        """The largest error where it matters."""
        return float(self.error[self.matters].max(initial=0.0))


def assess(groups: Sequence[GroupSimulation], event: Event, nodes: HyperNodes) -> Assessment:
    """Estimate log P(S) at nodes, and its error by the delta method."""
    weighed = [group.weigh(nodes) for group in groups]
    beyond, tied = np.moveaxis(np.array([one.probabilities() for one in weighed]), 1, 0)
    log_prob = event.log_prob(beyond.T, tied.T)
    by_beyond, by_tied = event.slopes(beyond.T, tied.T)
    log_posterior = nodes.log_posterior(log_prob)
    reference = int(np.argmax(log_posterior))
    variance = np.zeros(log_prob.size)
    for g, one in enumerate(weighed):
        variance += one.variance(by_beyond[:, g], by_tied[:, g], reference)
    error = np.sqrt(variance)
    # A node that two standard errors could lift out of negligence matters too. Where nearly all
    # features would be kept, the error is large but the node is hopeless.
    matters = log_posterior + np.minimum(2.0 * error, _SLACK) >= (
        log_posterior[reference] - NEGLIGIBLE
    )
    return Assessment(
        weighed=weighed,
        beyond=beyond.T,
        by_beyond=by_beyond,
        by_tied=by_tied,
        log_prob=log_prob,
        error=error,
        reference=reference,
        matters=matters & np.isfinite(log_posterior),
    )


@dataclass(frozen=True, slots=True)
class SimulatedSelection:
    """P(S) from draws that are the same at every call.

    Attributes
    ----------
    event : Event
        What is conditioned on.
    groups : tuple of GroupSimulation
        Draws for each group of discarded features.
    n_draws : int
        Columns drawn in all, those of the pilot included.
    """

    event: Event
    groups: tuple[GroupSimulation, ...]
    n_draws: int

    def at(self, nodes: HyperNodes) -> LogProbSelection:
        """Return log P(S) at nodes."""
        assessed = assess(self.groups, self.event, nodes)
        return LogProbSelection(
            log_prob=assessed.log_prob,
            error=assessed.error,
            reference=assessed.reference,
            max_error=assessed.max_error,
            method="simulation",
            n_draws=self.n_draws,
            ties=self.event.ties,
        )


def simulate(
    model: FeatureModel,
    criterion: Criterion,
    event: Event,
    nodes: HyperNodes,
    *,
    tolerance: float,
    max_draws: int,
    generator: np.random.Generator,
) -> SimulatedSelection:
    """Draw columns until the error is within the tolerance, or the limit of draws is reached.

    The parameters are those of `honestbayes.correction.engine.log_prob_selection`. The draws of
    the pilot decide where the others are made, and are then thrown away, so that no draw that
    counts has had a say in its own weight.
    """
    sources = [JudgedColumns(model, criterion, event.bound, group) for group in event.groups]
    proposals = [proposal_atoms(model, nodes.atoms, group) for group in event.groups]
    pilot, n_pilot = _pilot(sources, proposals, event, nodes, generator)
    event = replace(event, ties=_usable_ties(event, pilot))
    plans = _plans(pilot, assess(pilot, event, nodes))
    groups = tuple(
        GroupSimulation(
            first.source, first.proposals, plan.per_unit, first.side, generator.spawn(1)[0]
        )
        for first, plan in zip(pilot, plans, strict=True)
    )
    spread = np.array([plan.spread for plan in plans])
    part = _parts(spread)
    expected = float((spread / part[:, None]).sum(axis=0).max(initial=0.0))
    limit = max(max_draws - n_pilot, 1)
    # The pilot's own error makes nodes seem to matter that do not: trust it only so far.
    start = max(FEWEST_DRAWS, n_pilot)
    wanted = float(np.clip(_MARGIN * expected / tolerance**2, start, _MOST_GROWTH * start))
    while True:
        n_draws = _draw(groups, part * min(wanted, limit))
        assessed = assess(groups, event, nodes)
        if assessed.max_error <= tolerance:
            break
        if wanted >= limit:
            warnings.warn(
                f"the probability of the selection by {criterion.name!r} has a standard error of "
                f"{assessed.max_error:.2g} in its logarithm after {n_draws + n_pilot} draws, not "
                f"{tolerance}: allow more draws, or a larger error.",
                ConvergenceWarning,
                stacklevel=3,
            )
            break
        wanted *= min(_MARGIN * (assessed.max_error / tolerance) ** 2, _MOST_GROWTH)
    return SimulatedSelection(event, groups, n_draws + n_pilot)


def _pilot(
    sources: Sequence[JudgedColumns],
    proposals: Sequence[FloatArray],
    event: Event,
    nodes: HyperNodes,
    generator: np.random.Generator,
) -> tuple[list[GroupSimulation], int]:
    """Draw evenly at all proposals, on the rarer side of the bound; how many draws it took."""
    number = max(FEWEST_PILOT_DRAWS, PILOT_DRAWS // len(sources))

    def first(g: int, side: int) -> GroupSimulation:
        even = np.ones(proposals[g].size, dtype=np.int64)
        group = GroupSimulation(sources[g], proposals[g], even, side, generator.spawn(1)[0])
        group.extend(number)
        return group

    pilot = [first(g, 1) for g in range(len(sources))]
    n_drawn = sum(int(group.n_drawn.sum()) for group in pilot)
    assessed = assess(pilot, event, nodes)
    for g in np.flatnonzero(assessed.beyond[assessed.reference] > 0.5).tolist():
        pilot[g] = first(g, -1)
        n_drawn += int(pilot[g].n_drawn.sum())
    return pilot, n_drawn


def _usable_ties(event: Event, pilot: Sequence[GroupSimulation]) -> Ties:
    """Forget the number of ties where they are too rare for simulation."""
    if event.ties == "known":
        for group, first in zip(event.groups, pilot, strict=True):
            if group.n_tied and first.n_tied < FEWEST_TIED:
                return "unknown"
    return event.ties


def _plans(pilot: Sequence[GroupSimulation], assessed: Assessment) -> list[Plan]:
    """Share out the draws of each group by what the pilot says of nodes that matter."""
    plans = []
    for g, first in enumerate(pilot):
        slopes = assessed.by_beyond[:, g], assessed.by_tied[:, g]
        apart = list(assessed.weighed[g].contributions(*slopes, assessed.reference))
        ratio = first.weigh(HyperNodes(first.proposals)).weights
        # Empty arrays in front, for a pilot in which nothing was beyond the bound.
        none = np.zeros((assessed.matters.size, 0)), np.zeros((first.proposals.size, 0))
        plans.append(
            plan_draws(
                np.concatenate([none[1], *ratio], axis=1),
                np.concatenate([none[0], *apart], axis=1)[assessed.matters],
                int(first.n_drawn.sum()),
            )
        )
    return plans


def _parts(spread: FloatArray) -> FloatArray:
    """Share out the draws among groups, shape (G,), by variances of shape (G, T).

    In proportion to the roots of the variances, which makes the error smallest, and a tenth evenly.
    """
    root = np.sqrt(spread.sum(axis=1))
    even = np.full(root.size, 1.0 / root.size)
    return 0.9 * root / root.sum() + 0.1 * even if root.any() else even


def _draw(groups: Sequence[GroupSimulation], wanted: FloatArray) -> int:
    """Bring each group to the number of draws that is wanted; return how many there are."""
    total = 0
    for group, number in zip(groups, wanted.tolist(), strict=True):
        unit = int(group.per_unit.sum())
        more = max(1, int(number / unit)) - group.n_units
        if more > 0:
            group.extend(more)
        total += unit * group.n_units
    return total
