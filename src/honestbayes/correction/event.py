"""The event that features were discarded, and its probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import logsumexp

from honestbayes.correction.discard import Ties, log_prob_selection
from honestbayes.selection import DiscardedGroup, Selection
from honestbayes.types import FloatArray


@dataclass(frozen=True, slots=True)
class Event:
    """The event that no discarded feature was stronger than the bound.

    Attributes
    ----------
    bound : float
        Strength of the weakest kept feature, or the threshold.
    groups : tuple of DiscardedGroup
        Discarded features by their numbers of observed cases and of levels.
    ties : {"known", "unknown", "at_most"}
        What is known of discarded features whose strength is the bound; see
        `honestbayes.correction.discard.log_prob_selection`.
    n_tied_kept : int
        Kept features whose strength is the bound; used where ties are unknown.
    """

    bound: float
    groups: tuple[DiscardedGroup, ...]
    ties: Ties = "known"
    n_tied_kept: int = 1

    def __post_init__(self) -> None:
        """Refuse a bound that nothing can be compared with."""
        if np.isnan(self.bound):
            msg = "the bound on the strength of discarded features is NaN."
            raise ValueError(msg)

    def log_prob(self, beyond: FloatArray, tied: FloatArray) -> FloatArray:
        """Return log P(S), shape (T,).

        Parameters
        ----------
        beyond, tied : ndarray of shape (T, G)
            Probability that the strength of one feature of the group is beyond the bound, and that
            it is the bound.
        """
        if not self.groups:
            return np.zeros(beyond.shape[0])
        return log_prob_selection(
            beyond, tied, self.groups, ties=self.ties, n_tied_kept=self.n_tied_kept
        )

    def slopes(self, beyond: FloatArray, tied: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of log P(S) by ``beyond`` and by ``tied``, each of shape (T, G).

        They are 0 where they do not exist, because P(S) is 0.
        """
        count = np.array([group.n_discarded for group in self.groups], dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.ties == "at_most":
                by_beyond = -count / (1.0 - beyond)
                by_tied = np.zeros_like(tied)
            elif self.ties == "known":
                n_tied = np.array([group.n_tied for group in self.groups], dtype=float)
                by_beyond = -(count - n_tied) / (1.0 - beyond - tied)
                by_tied = by_beyond + np.where(n_tied > 0, n_tied / tied, 0.0)
            else:
                by_beyond, by_tied = _slopes_unknown(beyond, tied, count, max(self.n_tied_kept, 1))
        possible = (beyond + tied < 1.0) & np.isfinite(by_beyond) & np.isfinite(by_tied)
        return np.where(possible, by_beyond, 0.0), np.where(possible, by_tied, 0.0)


def _slopes_unknown(
    beyond: FloatArray, tied: FloatArray, count: FloatArray, m: int
) -> tuple[FloatArray, FloatArray]:
    """Average -N / q and -u N / q, q = 1 - beyond - u tied, over u given the event.

    The rule over u is that of `honestbayes.correction.discard`.
    """
    step = min(0.1, 0.5 / np.sqrt(m))
    low = -40.0 / m - np.log1p(np.max(count * tied, initial=0.0)) - 5.0
    z = np.arange(low, 40.0, step)
    log_u, log_v = -np.logaddexp(0.0, -z), -np.logaddexp(0.0, z)
    u = np.exp(log_u)
    by_beyond, by_tied = np.empty_like(beyond), np.empty_like(tied)
    for t in range(beyond.shape[0]):
        q = np.maximum(1.0 - beyond[t] - u[:, None] * tied[t], 0.0)
        log_weight = m * log_u + log_v + np.log(q) @ count
        weight = np.exp(log_weight - logsumexp(log_weight))
        each = np.where(q > 0.0, -count / np.where(q > 0.0, q, 1.0), 0.0)
        by_beyond[t], by_tied[t] = weight @ each, (weight * u) @ each
    return by_beyond, by_tied


@dataclass(frozen=True, slots=True)
class HyperNodes:
    """Nodes of a hyperparameter, each a distribution of atoms over features.

    Attributes
    ----------
    atoms : ndarray of shape (A,)
        Values of the parameter that says how much a feature tells: alpha of discrete features, the
        signal ratio w of real-valued ones.
    mixing : ndarray of shape (T, A) or None
        Distribution of a feature's atom at each node; None: each atom is a node.
    log_weight : ndarray of shape (T,) or None
        Log posterior weight of each node without P(S), up to a constant. It says at which nodes an
        error matters; None: even weights.
    """

    atoms: FloatArray
    mixing: FloatArray | None = None
    log_weight: FloatArray | None = None

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together."""
        n_nodes = self.size
        if self.atoms.ndim != 1 or (
            self.mixing is not None and self.mixing.shape != (n_nodes, self.atoms.size)
        ):
            msg = "atoms must have the shape (A,), and mixing the shape (T, A)."
            raise ValueError(msg)
        if self.log_weight is not None and self.log_weight.shape != (n_nodes,):
            msg = f"log_weight must have the shape ({n_nodes},), one number for each node."
            raise ValueError(msg)

    @property
    def size(self) -> int:
        """Number of nodes, T."""
        return int(self.atoms.size if self.mixing is None else self.mixing.shape[0])

    def mix(self, of_atoms: FloatArray) -> FloatArray:
        """Average over the atoms of each node, the first axis of the array."""
        return of_atoms if self.mixing is None else self.mixing @ of_atoms

    def log_posterior(self, log_prob: FloatArray) -> FloatArray:
        """Return log posterior weights, given log P(S) at each node."""
        return log_prob if self.log_weight is None else log_prob + self.log_weight


@dataclass(frozen=True, slots=True, kw_only=True)
class LogProbSelection:
    """log P(S) at nodes, and how far it can be trusted.

    Attributes
    ----------
    log_prob : ndarray of shape (T,)
        log P(S | node).
    error : ndarray of shape (T,)
        Standard error of its difference from that of the reference; 0 where exact.
    reference : int
        The node of largest posterior weight.
    max_error : float
        The largest error among nodes whose posterior weight is not negligible.
    method : {"formula", "enumeration", "simulation"}
        How it was found.
    n_draws : int
        Columns drawn in all; 0 where exact.
    ties : {"known", "unknown", "at_most"}
        What was conditioned on: "unknown" instead of "known" where ties are too rare for
        simulation to find their probability.
    """

    log_prob: FloatArray
    error: FloatArray
    reference: int
    max_error: float
    method: Literal["formula", "enumeration", "simulation"]
    n_draws: int
    ties: Ties

    @property
    def exact(self) -> bool:
        """Whether there is no error of simulation."""
        return self.method != "simulation"


def event_of(selection: Selection, bound: float) -> Event:
    """Return the event of a selection; ``bound`` is in the criterion's own unit."""
    ties: Ties = "known" if selection.ties_known else "unknown"
    if selection.rule == "threshold":
        ties = "at_most"
    return Event(bound, selection.groups, ties, selection.n_tied_kept)
