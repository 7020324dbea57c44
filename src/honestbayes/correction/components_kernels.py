"""Compiled kernels for P(S | labels, alpha) with any number of components and classes.

Import this module only where a kernel is about to run: it imports numba.

Notation: the labels matter only through ``table[k, c]``, the cases of class c in component k.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.types import FloatArray, IntArray

_NEGLIGIBLE = 1e-18
"""Numbers of ones this improbable are left out of sums: the error is below 1e-15 in all."""


# ------------------------------------------------------------------------------------- exact sums


@kernel()
def _binomials(n: int, phi: FloatArray, out: FloatArray) -> None:
    """Fill ``out[q, i]`` with P(i of n are ones) where a one has probability phi[q]."""
    for q in range(phi.size):
        log_one, log_zero = math.log(phi[q]), math.log1p(-phi[q])
        for i in range(n + 1):
            log_choose = math.lgamma(n + 1.0) - math.lgamma(i + 1.0) - math.lgamma(n - i + 1.0)
            out[q, i] = math.exp(log_choose + i * log_one + (n - i) * log_zero)


@kernel()
def beyond_given_phi(
    table: IntArray,
    sizes: IntArray,
    phi: FloatArray,
    first: IntArray,
    last: IntArray,
    first_below: IntArray,
    last_below: IntArray,
    out: FloatArray,
) -> None:
    """Fill ``out`` with P(strength > bound) and P(strength = bound) given phi.

    Given phi the numbers of ones in the classes are independent, each a sum of binomials: only
    one-dimensional convolutions are needed.

    Parameters
    ----------
    table : ndarray of int of shape (K, C)
        Cases of each component and class.
    sizes : ndarray of int of shape (K,)
        Numbers of nodes of each component, Q_k.
    phi : ndarray of shape (K, max Q)
        Nodes, symmetric around 1/2.
    first, last : ndarray of int of shape (R,)
        For each combination of the ones in all classes but the last: the range of ones in the last
        class whose strength is at most the bound; ``last < first`` where there is none.
    first_below, last_below : ndarray of int of shape (R,)
        The range whose strength is below the bound, or where none is, ``last_below < first_below``
        with both between the ends of the other.
    out : ndarray of shape (2, Q_1 ... Q_K)
        P(strength > bound) and P(strength = bound) at each combination of nodes, the last
        component's nodes running fastest.
    """
    n_components, n_classes = table.shape
    cases = table.sum(axis=0)
    longest = cases.max() + 1
    choose = np.zeros((n_components, n_classes, phi.shape[1], longest))
    for k in range(n_components):
        for c in range(n_classes):
            _binomials(table[k, c], phi[k, : sizes[k]], choose[k, c])
    # Level k holds the ones of each class among components 0..k, for the present nodes.
    partial = np.zeros((n_components, n_classes, longest))
    reached = np.zeros((n_components, n_classes), dtype=np.int64)
    digits = np.full(n_components, -1)
    below_last = np.zeros(longest + 1)
    above_last = np.zeros(longest + 1)
    width = 1
    for c in range(1, n_classes - 1):
        width *= cases[c] + 1
    middle = np.empty(width)
    total = out.shape[1]
    # Zeros and ones can be swapped, so node combination t has the value of total - 1 - t.
    for t in range((total + 1) // 2):
        rest, changed = t, n_components
        for k in range(n_components - 1, -1, -1):
            digit = rest % sizes[k]
            rest //= sizes[k]
            if digit != digits[k]:
                digits[k] = digit
                changed = k
        for k in range(changed, n_components):
            for c in range(n_classes):
                new = choose[k, c, digits[k]]
                row = partial[k, c]
                if k == 0:
                    row[:] = new
                    reached[k, c] = table[k, c]
                    continue
                old, end = partial[k - 1, c], reached[k - 1, c]
                row[:] = 0.0
                for j in range(table[k, c] + 1):
                    for i in range(end + 1):
                        row[i + j] += old[i] * new[j]
                reached[k, c] = end + table[k, c]
        ones = partial[n_components - 1]
        n_last = cases[n_classes - 1]
        below_last[0] = 0.0
        for i in range(n_last + 1):
            below_last[i + 1] = below_last[i] + ones[n_classes - 1, i]
        above_last[n_last + 1] = 0.0
        for i in range(n_last, -1, -1):
            above_last[i] = above_last[i + 1] + ones[n_classes - 1, i]
        middle[0] = 1.0
        filled = 1
        for c in range(1, n_classes - 1):
            for j in range(filled - 1, -1, -1):
                value = middle[j]
                for i in range(cases[c] + 1):
                    middle[j * (cases[c] + 1) + i] = value * ones[c, i]
            filled *= cases[c] + 1
        beyond, tied = 0.0, 0.0
        for i in range(cases[0] + 1):
            if ones[0, i] < _NEGLIGIBLE:
                continue
            some_beyond, some_tied = 0.0, 0.0
            for j in range(width):
                r = i * width + j
                # Both tails are added, and nothing is subtracted from 1: small probabilities keep
                # their digits.
                low, high = first[r], last[r] + 1
                some_beyond += middle[j] * (below_last[low] + above_last[high])
                for x in range(low, first_below[r]):
                    some_tied += middle[j] * ones[n_classes - 1, x]
                for x in range(last_below[r] + 1, high):
                    some_tied += middle[j] * ones[n_classes - 1, x]
            beyond += ones[0, i] * some_beyond
            tied += ones[0, i] * some_tied
        out[0, t] = out[0, total - 1 - t] = beyond
        out[1, t] = out[1, total - 1 - t] = tied


# --------------------------------------------------------------------------------------- look-ups


class SurfaceArrays(NamedTuple):
    """log P(S) as kernels take it: see `honestbayes.correction.components_table`.

    Attributes
    ----------
    n_discarded : float
        Number of discarded features, N; 0 where nothing is conditioned on.
    alpha_line : ndarray of shape (3,)
        First node and step of x = -log(1 / alpha + floor), and the floor.
    linear : ndarray of shape (C, C)
        Counts of a component times this are its coordinates: its share of all cases, and contrasts
        of its shares of the classes.
    shift : float
        What is taken off the first coordinate, 1 / K.
    stretch : ndarray of shape (2,)
        h and 2 / log(1 + h), by which y = 2 log(1 + h t) / log(1 + h) - 1, where t is how far the
        components go with the class.
    lengths : ndarray of int of shape (I,)
        How many monomials are multiplied by each power of y.
    coefficients : ndarray of shape (A, F)
        Of log(-log P(S) / N), at the nodes of alpha.
    exact : ndarray of shape (T, A)
        Instead, the exact values for all tables, by `table_index`; T is 0 where there are too many.
    """

    n_discarded: float
    alpha_line: FloatArray
    linear: FloatArray
    shift: float
    stretch: FloatArray
    lengths: IntArray
    coefficients: FloatArray
    exact: FloatArray


ALPHA_POINTS = 8
"""Nodes of alpha around a value."""

_HIGHEST_COST = 10.0
"""Bound of log(-log P(S) / N), far beyond any, in case the approximation runs away."""


@kernel()
def find_alpha(arrays, log_alpha, weights):  # type: ignore[no-untyped-def]
    """Fill the Lagrange weights of the nodes of alpha around a value; return the first node."""
    first, step, floor = arrays.alpha_line
    n_nodes = max(arrays.coefficients.shape[0], arrays.exact.shape[1])
    x = -math.log(math.exp(-log_alpha) + floor)
    position = min(max((x - first) / step, 0.0), n_nodes - 1.0)
    start = min(max(int(position) - ALPHA_POINTS // 2 + 1, 0), n_nodes - ALPHA_POINTS)
    for t in range(ALPHA_POINTS):
        weight = 1.0
        for u in range(ALPHA_POINTS):
            if u != t:
                weight *= (position - start - u) / (t - u)
        weights[t] = weight
    return start


@kernel()
def n_coordinates(n_classes):  # type: ignore[no-untyped-def]
    """Return the numbers of products of two, and of three, of the C coordinates."""
    return n_classes * (n_classes + 1) // 2, n_classes * (n_classes + 1) * (n_classes + 2) // 6


@kernel()
def add_component(arrays, counts, x, out):  # type: ignore[no-untyped-def]
    """Fill ``x`` with a component's coordinates, ``out`` with the products of two, then three."""
    n_classes = counts.size
    for a in range(n_classes):
        total = 0.0
        for c in range(n_classes):
            total += counts[c] * arrays.linear[c, a]
        x[a] = total
    x[0] -= arrays.shift
    i = 0
    for a in range(n_classes):
        for b in range(a, n_classes):
            out[i] = x[a] * x[b]
            i += 1
    for a in range(n_classes):
        for b in range(a, n_classes):
            for c in range(b, n_classes):
                out[i] = x[a] * x[b] * x[c]
                i += 1


@kernel()
def spread_between(sums, n_classes):  # type: ignore[no-untyped-def]
    """Return the sum of squares of the contrasts: how far the components go with the class."""
    total, i = 0.0, 0
    for a in range(n_classes):
        if a > 0:
            total += sums[i]
        i += n_classes - a
    return total


@kernel()
def monomials(sums, n_classes, out):  # type: ignore[no-untyped-def]
    """Fill 1, the sums over components, and their products, as many as ``out`` holds.

    The sums run over components, so that naming the components otherwise changes nothing.
    """
    two, three = n_coordinates(n_classes)
    out[0] = 1.0
    for i in range(two + three):
        out[1 + i] = sums[i]
    at = 1 + two + three
    for i in range(two):
        for j in range(i, two):
            if at == out.size:
                return
            out[at] = sums[i] * sums[j]
            at += 1
    for i in range(two):
        for j in range(two, two + three):
            if at == out.size:
                return
            out[at] = sums[i] * sums[j]
            at += 1
    for i in range(two):
        for j in range(i, two):
            for k in range(j, two):
                if at == out.size:
                    return
                out[at] = sums[i] * sums[j] * sums[k]
                at += 1


@kernel(fastmath={"reassoc", "contract"})
def _polynomial(coefficients, lengths, monomials, y):  # type: ignore[no-untyped-def]
    """Return the sum over i of y^i times a linear combination of the first monomials."""
    total, at = 0.0, lengths.sum()
    for i in range(lengths.size - 1, -1, -1):
        at -= lengths[i]
        row = 0.0
        for j in range(lengths[i]):
            row += coefficients[at + j] * monomials[j]
        total = total * y + row
    return total


@kernel()
def log_of_sums(arrays, sums, coefficients, space):  # type: ignore[no-untyped-def]
    """Return the approximate log P(S), given sums over components and coefficients at an alpha."""
    n_classes = arrays.linear.shape[0]
    monomials(sums, n_classes, space)
    between = spread_between(sums, n_classes)
    y = arrays.stretch[1] * math.log1p(arrays.stretch[0] * between) - 1.0
    log_cost = _polynomial(coefficients, arrays.lengths, space, y)
    return -arrays.n_discarded * math.exp(min(log_cost, _HIGHEST_COST))


@kernel()
def table_index(table):  # type: ignore[no-untyped-def]
    """Return the number of a table among all with the same numbers of cases in the classes."""
    index = 0
    for c in range(table.shape[1]):
        cases = 0
        for k in range(table.shape[0]):
            cases += table[k, c]
        for k in range(1, table.shape[0]):
            index = index * (cases + 1) + table[k, c]
    return index


@kernel()
def coefficients_at(arrays, log_alpha, coefficients):  # type: ignore[no-untyped-def]
    """Fill the coefficients at an alpha, or without any the weights of nodes.

    What is a function of the table alone does not depend on alpha, so that interpolating
    coefficients is interpolating values. Returns the first node.
    """
    weights = np.empty(ALPHA_POINTS)
    start = find_alpha(arrays, log_alpha, weights)
    if arrays.exact.shape[0] > 0:
        coefficients[:] = weights
        return start
    coefficients[:] = 0.0
    for t in range(ALPHA_POINTS):
        for j in range(coefficients.size):
            coefficients[j] += weights[t] * arrays.coefficients[start + t, j]
    return start


@kernel()
def space_for(arrays):  # type: ignore[no-untyped-def]
    """Return empty arrays for coefficients, and for monomials."""
    if arrays.exact.shape[0] > 0:
        return np.empty(ALPHA_POINTS), np.empty(0)
    return np.empty(arrays.coefficients.shape[1]), np.empty(arrays.lengths[0])


@kernel()
def log_of_table(arrays, table, start, coefficients):  # type: ignore[no-untyped-def]
    """Return log P(S) where all tables are known."""
    values, total = arrays.exact[table_index(table)], 0.0
    for t in range(ALPHA_POINTS):
        total += coefficients[t] * values[start + t]
    return -arrays.n_discarded * math.exp(total)


@kernel()
def sums_over_components(arrays, table, held, sums):  # type: ignore[no-untyped-def]
    """Fill the products of coordinates of each component, and their sums."""
    sums[:] = 0.0
    x = np.empty(table.shape[1])
    for k in range(table.shape[0]):
        add_component(arrays, table[k], x, held[k])
        sums += held[k]


@kernel()
def log_selections(arrays, tables, log_alphas, out):  # type: ignore[no-untyped-def]
    """Fill log P(S) of tables, shape (S, K, C), each at its own alpha."""
    coefficients, space = space_for(arrays)
    n_classes = tables.shape[2]
    two, three = n_coordinates(n_classes)
    held, sums = np.empty((tables.shape[1], two + three)), np.empty(two + three)
    for s in range(tables.shape[0]):
        start = coefficients_at(arrays, log_alphas[s], coefficients)
        if arrays.exact.shape[0] > 0:
            out[s] = log_of_table(arrays, tables[s], start, coefficients)
        else:
            sums_over_components(arrays, tables[s], held, sums)
            out[s] = log_of_sums(arrays, sums, coefficients, space)


@kernel()
def all_monomials(arrays, tables, out, y):  # type: ignore[no-untyped-def]
    """Fill the monomials of tables, shape (S, L), and y of each."""
    n_classes = tables.shape[2]
    two, three = n_coordinates(n_classes)
    held, sums = np.empty((tables.shape[1], two + three)), np.empty(two + three)
    for s in range(tables.shape[0]):
        sums_over_components(arrays, tables[s], held, sums)
        monomials(sums, n_classes, out[s])
        between = spread_between(sums, n_classes)
        y[s] = arrays.stretch[1] * math.log1p(arrays.stretch[0] * between) - 1.0
