"""What the kernels take: moves, scores, cases and the prior of graphs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from honestbayes.types import AnyArray, FloatArray, IntArray

ADD_FEATURE, DELETE_FEATURE, ADD_ARC, DELETE_ARC, REVERSE, EXCHANGE = 0, 1, 2, 3, 4, 5
"""Kinds of moves: the four of equation 11 in its order, reversals of an arc, and exchanges of one
parent of a node for another."""

BACK = (DELETE_FEATURE, ADD_FEATURE, DELETE_ARC, ADD_ARC, REVERSE, EXCHANGE)
"""The kind of the way back."""

BLANKET, INNER, SOLE, LONE = 0, 1, 2, 3
"""Sets of features that `kernels.relate` finds: in the class's Markov blanket; with a feature as
child; with the class as only parent; in the blanket by one single arc to a child of the class."""

K2, BDEU = 0, 1
"""Dirichlet priors: 1 for each cell of a table, or the same sum for all tables."""

CACHE_SIZE = 1 << 16
"""Family scores that are remembered."""

MOST_FEATURES = 62
"""Features and the class are the bits of a whole number of 64."""


class NetworkProblem(NamedTuple):
    """Cases, and what the posterior distribution of graphs depends on beside them.

    Attributes
    ----------
    cells : ndarray of int32 of shape (k + 1, n)
        Codes of each feature, and in the last row the class.
    n_levels : ndarray of int of shape (k + 1,)
        Of each.
    log_gamma : ndarray
        Log gamma function of 0, 1, 2, ..., up to more than there are cases and levels.
    log_prior : ndarray of shape (most arcs + 1,)
        Of a graph with so many arcs.
    max_parents : int
        The most parents of a node.
    score : int
        ``K2`` or ``BDEU``.
    size : float
        Equivalent sample size of BDeu.
    reversal, exchange : float
        Shares of proposals that reverse an arc, and that exchange a parent.
    heat : ndarray of shape (T,)
        Powers of the likelihood on the steps of a ladder of graphs; the first is 1.
    general : bool
        Whether the space is that of all graphs without cycles.
    """

    cells: AnyArray
    n_levels: IntArray
    log_gamma: FloatArray
    log_prior: FloatArray
    max_parents: int
    score: int
    size: float
    reversal: float
    exchange: float
    heat: FloatArray
    general: bool


class Memory(NamedTuple):
    """Where scores are computed and remembered; no result depends on it.

    Attributes
    ----------
    node, parents : ndarray of int of shape (CACHE_SIZE,)
        Whose score stands at each place.
    value : ndarray of shape (CACHE_SIZE,)
        Scores.
    code : ndarray of int of shape (n,)
        Combination of the parents' levels in each case.
    slot_key, slot_label : ndarray of int
        A hash table of combinations.
    counts : ndarray of int
        Cases by combination and level.
    """

    node: IntArray
    parents: IntArray
    value: FloatArray
    code: IntArray
    slot_key: IntArray
    slot_label: IntArray
    counts: IntArray


def make_problem(
    cells: AnyArray,
    codes: AnyArray,
    n_levels: IntArray,
    n_classes: int,
    log_prior: FloatArray,
    *,
    max_parents: int,
    score: int,
    size: float,
    reversal: float,
    exchange: float,
    heat: tuple[float, ...] = (1.0,),
    general: bool = False,
) -> NetworkProblem:
    """Return a problem of n rows of k codes and their classes; refuse tables beyond all bounds.

    Parameters
    ----------
    cells : ndarray of int of shape (n, k)
        Codes, none of them missing.
    codes : ndarray of int of shape (n,)
        Classes.
    n_levels : ndarray of int of shape (k,)
        Levels of each column.
    n_classes : int
        Classes.
    log_prior, max_parents, score, size, reversal, exchange, heat, general
        As in `NetworkProblem`.
    """
    n, k = cells.shape
    levels = np.concatenate([n_levels, [n_classes]]).astype(np.int64)
    largest = np.sort(levels)[::-1][: max_parents + 1].astype(float) + 1.0
    if k > MOST_FEATURES or np.log2(largest).sum() >= 62:
        msg = (
            "a node may have more combinations of its parents' levels than can be numbered; lower "
            "max_parents."
        )
        raise ValueError(msg)
    rows = np.empty((k + 1, n), dtype=np.int32)
    rows[:k], rows[k] = cells.T, codes
    most = n + int(levels.max()) + 2
    log_gamma = np.concatenate([[0.0], gammaln(np.arange(1, most))])
    return NetworkProblem(
        rows,
        levels,
        log_gamma,
        log_prior,
        int(max_parents),
        score,
        float(size),
        float(reversal),
        float(exchange),
        np.array(heat, dtype=float),
        bool(general),
    )


def make_memory(problem: NetworkProblem, cache_size: int = CACHE_SIZE) -> Memory:
    """Return an empty memory for a problem."""
    n = problem.cells.shape[1]
    size = 1 << int(2 * n + 2).bit_length()
    return Memory(
        np.full(cache_size, -1, dtype=np.int64),
        np.zeros(cache_size, dtype=np.int64),
        np.zeros(cache_size),
        np.zeros(n, dtype=np.int64),
        np.full(size, -1, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros((2 * n + 64) * int(problem.n_levels.max()), dtype=np.int64),
    )
