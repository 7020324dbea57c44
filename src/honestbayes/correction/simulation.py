"""P(a feature is kept | atom) by multiple importance sampling, for any criterion.

Columns are drawn at several atoms, the proposals, and reweighted by the balance heuristic: a column
drawn anywhere has the weight P(column | atom) / sum over proposals of share * P(column | proposal)
(Veach and Guibas 1995, section 3). Only columns on one side of the bound, or at it, need weights.
The estimate is smooth in the atom, unbiased at each, and its weights are bounded at the proposals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from honestbayes.correction.event import HyperNodes
from honestbayes.correction.feature_models import FeatureModel, Likelihood
from honestbayes.correction.judged_columns import JudgedColumns
from honestbayes.selection import DiscardedGroup
from honestbayes.types import BoolArray, FloatArray, IntArray

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
