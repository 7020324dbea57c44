"""P(S) by simulation: how many columns are drawn where, and the error that is left."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from honestbayes.correction.discard import Ties
from honestbayes.correction.event import Event, HyperNodes, LogProbSelection
from honestbayes.correction.feature_models import FeatureModel
from honestbayes.correction.judged_columns import JudgedColumns
from honestbayes.correction.simulation import (
    GroupSimulation,
    Plan,
    Weighed,
    plan_draws,
    proposal_atoms,
)
from honestbayes.selection.criteria import Criterion
from honestbayes.types import BoolArray, FloatArray

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
        found = assess(self.groups, self.event, nodes)
        return LogProbSelection(
            log_prob=found.log_prob,
            error=found.error,
            reference=found.reference,
            max_error=found.max_error,
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
        found = assess(groups, event, nodes)
        if found.max_error <= tolerance:
            break
        if wanted >= limit:
            warnings.warn(
                f"the probability of the selection by {criterion.name!r} has a standard error of "
                f"{found.max_error:.2g} in its logarithm after {n_draws + n_pilot} draws, not "
                f"{tolerance}: allow more draws, or a larger error.",
                ConvergenceWarning,
                stacklevel=3,
            )
            break
        wanted *= min(_MARGIN * (found.max_error / tolerance) ** 2, _MOST_GROWTH)
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
    found = assess(pilot, event, nodes)
    for g in np.flatnonzero(found.beyond[found.reference] > 0.5).tolist():
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


def _plans(pilot: Sequence[GroupSimulation], found: Assessment) -> list[Plan]:
    """Share out the draws of each group by what the pilot says of nodes that matter."""
    plans = []
    for g, first in enumerate(pilot):
        slopes = found.by_beyond[:, g], found.by_tied[:, g]
        apart = list(found.weighed[g].contributions(*slopes, found.reference))
        ratio = first.weigh(HyperNodes(first.proposals)).weights
        # Empty arrays in front, for a pilot in which nothing was beyond the bound.
        none = np.zeros((found.matters.size, 0)), np.zeros((first.proposals.size, 0))
        plans.append(
            plan_draws(
                np.concatenate([none[1], *ratio], axis=1),
                np.concatenate([none[0], *apart], axis=1)[found.matters],
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
