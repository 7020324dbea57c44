"""Arguments of the kernels: moves, scores, cases and the prior of graphs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from honestbayes.models.subsets.problem import LOG
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

TYPED, UNIFORM, PRINTED = 0, 1, 2
"""Proposals: a kind of moves first, then one of that kind; any graph one arc away (equation 4); the
moves of equation 9 as printed."""

MARGINAL = -1
"""The score is the log marginal likelihood, a sum over nodes. The others, which look at rows, have
the numbers of `models.subsets.problem`."""

CACHE_SIZE = 1 << 16
"""Family scores that are remembered."""

_ROW_NUMBERS = 1 << 21
"""Numbers that families of rows may take in memory, which is 16 MB for each chain at work."""

MOST_FEATURES = 62
"""Features and the class are the bits of a whole number of 64."""


class Variant(NamedTuple):
    """Scores, priors and proposals that are not the usual ones.

    Attributes
    ----------
    proposal : int
        ``TYPED``, ``UNIFORM`` or ``PRINTED``.
    log_prior_of_features : ndarray of shape (k + 1,) or (0,)
        Of a graph with so many features in the class's Markov blanket; empty where their number
        has no prior of its own.
    objective : int
        ``MARGINAL``, or a score of rows.
    kind : int
        What number it is: ``LOG`` or ``SHARE`` of `models.subsets.problem`.
    temperature : float
        Divides the log of the score.
    order, first : ndarray of int of shape (n,), (number of folds + 1,)
        Rows by fold, and where each fold begins among them. A row is scored by tables that were
        counted without its fold; by all rows where there are no folds, and ``first`` is empty.
    """

    proposal: int
    log_prior_of_features: FloatArray
    objective: int
    kind: int
    temperature: float
    order: IntArray
    first: IntArray


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
    variant : Variant or None
        What else is sampled, and how. None for the log marginal likelihood, a prior of arcs or
        graphs, and ``TYPED`` proposals: kernels are compiled without all the rest then, which
        would cost the chains of default settings a third of their speed.
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
    variant: Variant | None


class RowMemory(NamedTuple):
    """Where the log-odds are remembered that families add to rows.

    Attributes
    ----------
    node, parents : ndarray of int of shape (R,)
        Whose rows stand at each place.
    added : ndarray of shape (R, n, C - 1)
        What the family adds to each row's log-odds of the other classes against the actual one.
    margin : ndarray of shape (n, C - 1)
        Log-odds of one graph.
    counts, whole : ndarray of int
        Cases by combination, class and level, and by combination and class.
    """

    node: IntArray
    parents: IntArray
    added: FloatArray
    margin: FloatArray
    counts: IntArray
    whole: IntArray


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
    rows : RowMemory or None
        For scores that look at rows; None where the problem has no variant.
    """

    node: IntArray
    parents: IntArray
    value: FloatArray
    code: IntArray
    slot_key: IntArray
    slot_label: IntArray
    counts: IntArray
    rows: RowMemory | None


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
    variant: Variant | None = None,
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
    log_prior, max_parents, score, size, reversal, exchange, heat, general, variant
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
        variant,
    )


def make_variant(
    *,
    proposal: int = TYPED,
    log_prior_of_features: FloatArray | None = None,
    objective: int = MARGINAL,
    kind: int = LOG,
    temperature: float = 1.0,
    fold: AnyArray,
) -> Variant | None:
    """Return a variant, or None where all is as usual.

    Parameters
    ----------
    proposal, log_prior_of_features, objective, kind, temperature
        As in `Variant`.
    fold : ndarray of int of shape (n,)
        Fold of each row, for scores of rows; -1 for rows that are in the tables of all.
    """
    by_features = np.zeros(0) if log_prior_of_features is None else log_prior_of_features
    usual = proposal == TYPED and objective == MARGINAL and temperature == 1.0
    if usual and not by_features.size:
        return None
    return Variant(proposal, by_features, objective, kind, float(temperature), *_by_fold(fold))


def _by_fold(fold: AnyArray) -> tuple[IntArray, IntArray]:
    """Return the rows by fold, those of none first, and where each fold begins among them."""
    order = np.argsort(fold, kind="stable").astype(np.int64)
    if np.all(fold < 0):
        return order, np.zeros(0, dtype=np.int64)
    starts = np.searchsorted(fold[order], np.arange(int(fold.max()) + 2))
    return order, starts.astype(np.int64)


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
        None if problem.variant is None else _row_memory(problem, problem.variant, cache_size),
    )


def _row_memory(problem: NetworkProblem, variant: Variant, cache_size: int) -> RowMemory:
    """Return an empty memory for rows, which takes n numbers for each family and other class."""
    n, n_classes = problem.cells.shape[1], int(problem.n_levels[-1])
    if variant.objective == MARGINAL:
        n, cache_size = 0, 1  # kernels are compiled for either, but rows are not looked at
    each = max(1, n * (n_classes - 1))
    # A power of 2, so that a hash is cut to a place by its lower bits.
    size = min(cache_size, max(16, 1 << (_ROW_NUMBERS // each).bit_length() >> 1))
    combinations = (2 * n + 64) * n_classes
    return RowMemory(
        np.full(size, -1, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros((size, n, n_classes - 1)),
        np.zeros((n, n_classes - 1)),
        np.zeros(combinations * int(problem.n_levels.max()), dtype=np.int64),
        np.zeros(combinations, dtype=np.int64),
    )
