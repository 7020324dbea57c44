"""Compiled kernels for P(S | labels, alpha) of a two-component mixture.

Import this module only where a kernel is about to run: it imports numba.

Notation: ``a`` cases of class 0 and ``b`` of class 1 are in component 1. Given the number of ones
in a component, how many of them are in class 1 is hypergeometric.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.likelihood import beta_binomial
from honestbayes.types import FloatArray, IntArray

_NEGLIGIBLE = 1e-36
"""Terms this small relative to the mode are dropped; P(kept) stays accurate above 1e-22."""

ALPHA_POINTS = 10
"""Nodes of alpha around a value."""

_BARYCENTRIC = np.array([(-1.0) ** t * math.comb(ALPHA_POINTS - 1, t) for t in range(ALPHA_POINTS)])
"""Weights of so many equidistant nodes."""

_AT_A_NODE = 1e-12
"""Alphas this close to a node, in steps, have its value."""

_FARTHEST = 40.0

SLOTS = 64
"""A chain remembers the values at SLOTS x SLOTS neighbouring states."""


# ------------------------------------------------------------------------------------- exact sums


@kernel()
def hypergeometric_rows(zeros: int, ones: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Return P(i of m draws are in class 1) and its range of i, for each m.

    The component has ``zeros`` cases of class 0 and ``ones`` of class 1. The recurrence runs
    outwards from the mode and is normalised by its own sum.

    Returns
    -------
    rows : ndarray of shape (zeros + ones + 1, ones + 1)
    low, high : ndarray of shape (zeros + ones + 1,)
        Outside ``low[m]..high[m]`` the row is 0.
    """
    size = zeros + ones
    rows = np.zeros((size + 1, ones + 1))
    low = np.empty(size + 1, dtype=np.int64)
    high = np.empty(size + 1, dtype=np.int64)
    for m in range(size + 1):
        first, last = max(0, m - zeros), min(m, ones)
        # Ratios of neighbours instead of factorials: a term is off by a few roundings for each
        # step from the mode, so the largest terms are the most accurate.
        mode = int((m + 1.0) * (ones + 1.0) / (size + 2.0))
        mode = min(max(mode, first), last)
        row = rows[m]
        row[mode] = 1.0
        total = 1.0
        value = 1.0
        high[m] = mode
        for i in range(mode, last):
            value *= (ones - i) * (m - i) / ((i + 1.0) * (zeros - m + i + 1.0))
            if value < _NEGLIGIBLE:
                break
            high[m] = i + 1
            row[i + 1] = value
            total += value
        value = 1.0
        low[m] = mode
        for i in range(mode, first, -1):
            value *= i * (zeros - m + i) / ((ones - i + 1.0) * (m - i + 1.0))
            if value < _NEGLIGIBLE:
                break
            low[m] = i - 1
            row[i - 1] = value
            total += value
        for i in range(low[m], high[m] + 1):
            row[i] /= total
    return rows, low, high


@kernel()
def _upper_sums(rows: FloatArray, low: IntArray, high: IntArray) -> FloatArray:
    """Return P(at least last - k of m draws are in class 1), last the number of cases there.

    Columns k = 0, ..., last. They run backwards, because a convolution is to come.
    """
    sums = np.zeros_like(rows)
    last = rows.shape[1] - 1
    for m in range(rows.shape[0]):
        total = 0.0
        for i in range(high[m], low[m] - 1, -1):
            total += rows[m, i]
            sums[m, last - i] = total
        for k in range(last - low[m] + 1, last + 1):
            sums[m, k] = total
    return sums


@kernel(fastmath={"reassoc", "contract"})
def beyond_given_ones(
    a: int, b: int, n0: int, n1: int, first_beyond: IntArray, out: FloatArray
) -> None:
    """Fill ``out[m0, m1]`` with P(|COR| > gamma) given the ones in each component.

    ``first_beyond[s]`` is the smallest I1 whose correlation exceeds gamma when there are s ones in
    all. The sum over I1 of component 0 meets upper sums over component 1, so only positive terms
    are added. The negative side follows by swapping zeros and ones.
    """
    rows0, low0, high0 = hypergeometric_rows(n0 - a, n1 - b)
    rows1, low1, high1 = hypergeometric_rows(a, b)
    upper0 = _upper_sums(rows0, low0, high0)
    upper1 = _upper_sums(rows1, low1, high1)
    for m0 in range(rows0.shape[0]):
        row0 = rows0[m0]
        for m1 in range(rows1.shape[0]):
            needed = first_beyond[m0 + m1]
            row1 = upper1[m1]
            # With i ones of class 1 in component 0, component 1 must have ``needed - i`` or more.
            # From `sure` on any draw of component 1 will do; below `start` none does.
            start = max(low0[m0], needed - high1[m1])
            sure = max(low0[m0], needed - low1[m1])
            total = 0.0
            if sure <= high0[m0]:
                total = upper0[m0, n1 - b - sure]
            stop = max(start, min(sure, high0[m0] + 1))
            part0 = row0[start:stop]
            part1 = row1[b - needed + start :]
            # All terms are positive: in whatever order they are added (fastmath may choose it),
            # the relative error is that of a few roundings.
            for i in range(part0.size):  # indices from 0 on are what is compiled to vectors
                total += part0[i] * part1[i]
            out[m0, m1] = total
    _add_mirror_image(out)


@kernel()
def tied_given_ones(
    a: int, b: int, n0: int, n1: int, tied0: IntArray, tied1: IntArray, out: FloatArray
) -> None:
    """Fill ``out[m0, m1]`` with P(|COR| = gamma) given the ones in each component.

    ``tied0, tied1`` list the pairs (I0, I1) whose correlation is exactly +gamma.
    """
    rows0, low0, high0 = hypergeometric_rows(n0 - a, n1 - b)
    rows1, low1, high1 = hypergeometric_rows(a, b)
    last0, last1 = n0 + n1 - a - b, a + b
    out[:] = 0.0
    for t in range(tied0.size):
        s = tied0[t] + tied1[t]
        for m0 in range(max(0, s - last1), min(s, last0) + 1):
            m1 = s - m0
            total = 0.0
            first = max(low0[m0], tied1[t] - high1[m1])
            for i in range(first, min(high0[m0], tied1[t] - low1[m1]) + 1):
                total += rows0[m0, i] * rows1[m1, tied1[t] - i]
            out[m0, m1] += total
    _add_mirror_image(out)


@kernel()
def _both_tails(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return P(fewer than k of m draws are in class 1) and P(k or more), shape (M, ones + 2)."""
    n_rows, width = rows.shape
    fewer = np.zeros((n_rows, width + 1))
    more = np.zeros((n_rows, width + 1))
    for m in range(n_rows):
        for k in range(width):
            fewer[m, k + 1] = fewer[m, k] + rows[m, k]
        for k in range(width - 1, -1, -1):
            more[m, k] = more[m, k + 1] + rows[m, k]
    return fewer, more


@kernel()
def region_given_ones(
    a: int,
    b: int,
    n0: int,
    n1: int,
    run: IntArray,
    first: IntArray,
    stop: IntArray,
    out: FloatArray,
) -> None:
    """Fill ``out[m0, m1]`` with the probability of any region, given the ones in each component.

    With s ones in all the region is ``first[r] <= I1 < stop[r]``, r from ``run[s]`` to
    ``run[s + 1]``.
    """
    rows0, low0, high0 = hypergeometric_rows(n0 - a, n1 - b)
    rows1, low1, high1 = hypergeometric_rows(a, b)
    fewer, more = _both_tails(rows1)
    for m0 in range(rows0.shape[0]):
        for m1 in range(rows1.shape[0]):
            low, high = low1[m1], high1[m1]
            mode = int((m1 + 1.0) * (b + 1.0) / (a + b + 2.0))
            total = 0.0
            for r in range(run[m0 + m1], run[m0 + m1 + 1]):
                for i in range(
                    max(low0[m0], first[r] - high), min(high0[m0], stop[r] - 1 - low) + 1
                ):
                    # With i ones of class 1 in component 0, component 1 has from p to q - 1.
                    p, q = max(first[r] - i, low), min(stop[r] - i, high + 1)
                    # Of both tails the one that ends nearer: a difference of the other would lose
                    # the digits of a small probability.
                    if p == low:
                        inside = fewer[m1, q]
                    elif q > high or p > mode:
                        inside = more[m1, p] - more[m1, q]
                    elif q <= mode:
                        inside = fewer[m1, q] - fewer[m1, p]
                    else:
                        inside = more[m1, p] - more[m1, q]
                    total += rows0[m0, i] * inside
            out[m0, m1] = total


@kernel()
def _add_mirror_image(table: FloatArray) -> None:
    """Add to each entry the one with zeros and ones swapped, in place."""
    # (m0, m1) becomes (size0 - m0, size1 - m1), which is the flat table read backwards; the
    # correlation changes its sign and nothing else.
    flat = table.reshape(-1)
    for i in range((flat.size + 1) // 2):
        both = flat[i] + flat[flat.size - 1 - i]
        flat[i] = both
        flat[flat.size - 1 - i] = both


@kernel()
def pmf_columns(n: int, alpha: float, theta: FloatArray) -> FloatArray:
    """Return P(i ones among n | theta_m, alpha), shape (n + 1, M), for any n."""
    rows = np.zeros((theta.size, n + 1))
    for m in range(theta.size):
        beta_binomial.pmf(n, alpha * theta[m], alpha * (1.0 - theta[m]), rows[m])
    return np.ascontiguousarray(rows.T)


# --------------------------------------------------------------------------------------- look-ups


class TableArrays(NamedTuple):
    """A table of log P(S) as kernels take it: see `honestbayes.correction.mixture_table`.

    There are few arrays here and in `ChainWork`, because a call counts references to each.

    Attributes
    ----------
    n_discarded : float
        Number of discarded features, N.
    alpha_first, alpha_step, alpha_floor : float
        First node and step of x = -log(1 / alpha + alpha_floor).
    log_cost : ndarray of shape (K0, K1, A)
        log(-log P(S) / N) at the nodes.
    stencil0, stencil1 : ndarray of shape (n0 + 1, 1 + p0), (n1 + 1, 1 + p1)
        For each number of cases the first of the nodes around it, then their Lagrange weights.
    """

    n_discarded: float
    alpha_first: float
    alpha_step: float
    alpha_floor: float
    log_cost: FloatArray
    stencil0: FloatArray
    stencil1: FloatArray


class ChainWork(NamedTuple):
    """What one chain keeps between look-ups; made by :func:`chain_work`.

    Attributes
    ----------
    alpha : ndarray of shape (2, 2 + ALPHA_POINTS)
        Number of the alpha, the first of the nodes around it, their weights: for the alpha of
        :func:`prepare`, and for any other.
    slots : ndarray of shape (SLOTS, SLOTS, 2)
        State and alpha whose value a slot holds, as one number; the value.
    row : ndarray of shape (A,)
        The state of :func:`prepare_state` at all nodes of alpha.
    """

    alpha: FloatArray
    slots: FloatArray
    row: FloatArray


@kernel()
def chain_work(table: TableArrays) -> ChainWork:
    """Return empty work arrays for one chain."""
    return ChainWork(
        np.zeros((2, 2 + ALPHA_POINTS)),
        np.full((SLOTS, SLOTS, 2), -1.0),
        np.zeros(table.log_cost.shape[2]),
    )


@kernel()
def _find_alpha(table: TableArrays, log_alpha: float, row: FloatArray) -> None:
    """Fill a row of ``ChainWork.alpha``.

    Alpha may be infinite. Below the first node a line goes through the first two, because there
    P(kept) is a power of alpha or constant; it ends _FARTHEST steps away.
    """
    row[0] += 1.0
    weight = row[2:]
    x = -math.log(math.exp(-log_alpha) + table.alpha_floor)
    u = (x - table.alpha_first) / table.alpha_step
    if u < 0.0:
        u = max(u, -_FARTHEST)
        weight[:] = 0.0
        weight[0], weight[1] = 1.0 - u, u
        row[1] = 0.0
        return
    # Barycentric form of Lagrange's polynomial (Berrut and Trefethen 2004, SIAM Review 46, 501).
    # Near the ends of the line the nodes are not centred around u.
    first = min(max(int(u) - ALPHA_POINTS // 2 + 1, 0), table.log_cost.shape[2] - ALPHA_POINTS)
    row[1] = first
    u -= first
    total = 0.0
    for t in range(ALPHA_POINTS):
        gap = u - t
        if abs(gap) < _AT_A_NODE:
            weight[:] = 0.0
            weight[t] = 1.0
            return
        weight[t] = _BARYCENTRIC[t] / gap
        total += weight[t]
    for t in range(ALPHA_POINTS):
        weight[t] /= total


@kernel(fastmath={"reassoc", "contract"})
def _interpolate(table: TableArrays, row: FloatArray, a: int, b: int) -> float:
    """Return log P(S) from the nodes around a state and around an alpha."""
    first, weight = int(row[1]), row[2:]
    around0, around1 = table.stencil0[a], table.stencil1[b]
    start0, start1 = int(around0[0]), int(around1[0])
    total = 0.0
    for i in range(around0.size - 1):
        along = 0.0
        for j in range(around1.size - 1):
            nodes = table.log_cost[start0 + i, start1 + j, first:]
            value = 0.0
            for t in range(ALPHA_POINTS):
                value += weight[t] * nodes[t]
            along += around1[1 + j] * value
        total += around0[1 + i] * along
    # log(-log P(S) / N) was interpolated: log P(S) is negative whatever the polynomial does.
    return -table.n_discarded * math.exp(total)


@kernel()
def prepare(table: TableArrays, work: ChainWork, log_alpha: float) -> None:
    """Prepare look-ups of many states at one alpha by :func:`log_selection`."""
    _find_alpha(table, log_alpha, work.alpha[0])


@kernel()
def log_selection(table: TableArrays, work: ChainWork, a: int, b: int) -> float:
    """Return log P(S) at a state, at the alpha of the last :func:`prepare`.

    A state that was asked for at the same alpha is found in the chain's slots.
    """
    i, j = a % SLOTS, b % SLOTS
    n_alphas = work.alpha[0, 0]
    # Each `prepare` has another number, so that values of an earlier alpha are never taken. The key
    # is a float, exact up to 2^53.
    key = (n_alphas * table.stencil0.shape[0] + a) * table.stencil1.shape[0] + b
    if work.slots[i, j, 0] != key:
        work.slots[i, j, 0] = key
        work.slots[i, j, 1] = _interpolate(table, work.alpha[0], a, b)
    value: float = work.slots[i, j, 1]
    return value


@kernel(fastmath={"reassoc", "contract"})
def prepare_state(table: TableArrays, work: ChainWork, a: int, b: int) -> None:
    """Prepare look-ups of many alphas at one state by :func:`log_selection_of_alpha`."""
    row = work.row
    row[:] = 0.0
    around0, around1 = table.stencil0[a], table.stencil1[b]
    for i in range(around0.size - 1):
        for j in range(around1.size - 1):
            weight = around0[1 + i] * around1[1 + j]
            nodes = table.log_cost[int(around0[0]) + i, int(around1[0]) + j]
            for t in range(row.size):
                row[t] += weight * nodes[t]


@kernel()
def log_selection_of_alpha(table: TableArrays, work: ChainWork, log_alpha: float) -> float:
    """Return log P(S) at an alpha, at the state of the last :func:`prepare_state`."""
    around = work.alpha[1]
    _find_alpha(table, log_alpha, around)
    nodes = work.row[int(around[1]) :]
    total = 0.0
    for t in range(ALPHA_POINTS):
        total += around[2 + t] * nodes[t]
    return -table.n_discarded * math.exp(total)


@kernel()
def log_selections(
    table: TableArrays, states: IntArray, log_alphas: FloatArray, out: FloatArray
) -> None:
    """Fill ``out[s, t]`` with log P(S) at each state, shape (S, 2), and each alpha."""
    work = chain_work(table)
    for s in range(states.shape[0]):
        prepare_state(table, work, states[s, 0], states[s, 1])
        for t in range(log_alphas.size):
            out[s, t] = log_selection_of_alpha(table, work, log_alphas[t])
