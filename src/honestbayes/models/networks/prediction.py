"""Predictions of graphs: tables of families, class probabilities, and their average.

Of a graph, P(class, x) is the product over the class and its children of P(node | parents); all
other factors are the same for every class, but for those of nodes with missing parents. A missing
feature without children that count is left out, because its probabilities sum to 1. Over the others
all combinations of levels are summed, each with its probability under the graph, up to
``MOST_COMBINATIONS`` of them. Beyond that each table is summed over its missing parents as if these
were independent of all else; and a table with more combinations than that says nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.sampling.splitmix import mixed, uniform_of
from honestbayes.types import AnyArray, FloatArray, IntArray

MOST_COMBINATIONS = 1024
"""Combinations of levels of missing features that are summed over, at most."""

# --------------------------------------------------------------------------------------------------
# Tables of families: what the training cases say of a node given its parents
#
# The probability of level x of r, given combination v of the parents' levels, is the posterior mean
# (N_vx + a) / (N_v + a r). Counts stand in hash tables, because most combinations never occur. For
# intervals the probabilities of a combination are drawn from their Dirichlet distribution instead;
# a draw depends on nothing but the seed, its number, the family and the combination.
# --------------------------------------------------------------------------------------------------


class Families(NamedTuple):
    """Tables of some families.

    Attributes
    ----------
    node : ndarray of int of shape (F,)
        Whose they are.
    n_levels : ndarray of int of shape (F,)
        Of that node.
    weight : ndarray of shape (F,)
        Dirichlet parameter of each cell.
    start : ndarray of int of shape (F + 1,)
        Where parents of each family begin in the next two.
    parent, factor : ndarray of int
        Parents, and what their levels are multiplied by in the number of a combination.
    first : ndarray of int of shape (F + 1,)
        Where the hash table of each family begins in the next two; sizes are powers of 2.
    key, cases : ndarray of int
        Cells, and their training cases. The number of a cell is v (r + 1) + x, and that of all
        levels together v (r + 1) + r.
    """

    node: IntArray
    n_levels: IntArray
    weight: FloatArray
    start: IntArray
    parent: IntArray
    factor: IntArray
    first: IntArray
    key: IntArray
    cases: IntArray


class GraphTables(NamedTuple):
    """Graphs and their tables.

    Attributes
    ----------
    parents, table_of : ndarray of int of shape (S, k + 1)
        Parents of each node, and which family it is.
    alone : ndarray of int of shape (k,)
        The family of each feature without parents.
    n_levels : ndarray of int of shape (k + 1,)
        Of all nodes.
    families : Families
        Tables.
    """

    parents: IntArray
    table_of: IntArray
    alone: IntArray
    n_levels: IntArray
    families: Families


@kernel()
def slot_of(key, first, size, value):  # type: ignore[no-untyped-def]
    """Return where a value stands in a hash table, or could be put."""
    hashed = (value + 1) * 0x1E3779B97F4A7C15
    slot = (hashed ^ (hashed >> 31)) & (size - 1)
    while key[first + slot] != -1 and key[first + slot] != value:
        slot = (slot + 1) & (size - 1)
    return first + slot


@kernel()
def count_family(cells, node, r, parent, factor, key, count):  # type: ignore[no-untyped-def]
    """Fill an empty hash table with the cases of each cell; return how many entries it has."""
    used = 0
    for t in range(cells.shape[1]):
        v = 0
        for i in range(parent.size):
            v += factor[i] * cells[parent[i], t]
        for value in (v * (r + 1) + cells[node, t], v * (r + 1) + r):
            slot = slot_of(key, 0, key.size, value)
            if key[slot] == -1:
                key[slot] = value
                used += 1
            count[slot] += 1
    return used


@kernel()
def shrink(key, count, new_key, new_count):  # type: ignore[no-untyped-def]
    """Copy a hash table into a smaller one."""
    for old in range(key.size):
        if key[old] != -1:
            slot = slot_of(new_key, 0, new_key.size, key[old])
            new_key[slot] = key[old]
            new_count[slot] = count[old]


def make_families(
    cells: AnyArray, n_levels: IntArray, nodes: IntArray, parents: IntArray, size: float | None
) -> Families:
    """Count all families.

    Parameters
    ----------
    cells : ndarray of int of shape (k + 1, n)
        Training cases.
    n_levels : ndarray of int of shape (k + 1,)
        Levels of each node.
    nodes, parents : ndarray of int of shape (F,)
        The families.
    size : float or None
        Equivalent sample size of BDeu; None for K2.
    """
    n = cells.shape[1]
    weight, start, first = np.ones(nodes.size), [0], [0]
    all_parents, factors, keys, counts = [], [], [], []
    for f, (node, mask) in enumerate(zip(nodes.tolist(), parents.tolist(), strict=True)):
        own = np.array([i for i in range(n_levels.size) if mask >> i & 1], dtype=np.int64)
        sizes = n_levels[own]
        factor = np.concatenate([[1], np.cumprod(sizes[:-1])])[: own.size].astype(np.int64)
        r = int(n_levels[node])
        if size is not None:
            weight[f] = size / (r * float(np.prod(sizes.astype(float))))
        # A case fills two entries at most. At least half of a table stays empty, so that a search
        # for what is not there ends soon.
        most = 1 << (4 * n + 4).bit_length()
        key, count = np.full(most, -1, dtype=np.int64), np.zeros(most, dtype=np.int64)
        used = count_family(cells, node, r, own, factor, key, count)
        small = 1 << (2 * used + 1).bit_length()
        new_key, new_count = np.full(small, -1, dtype=np.int64), np.zeros(small, dtype=np.int64)
        shrink(key, count, new_key, new_count)
        all_parents.append(own)
        factors.append(factor)
        keys.append(new_key)
        counts.append(new_count)
        start.append(start[-1] + own.size)
        first.append(first[-1] + small)
    return Families(
        nodes.astype(np.int64),
        n_levels[nodes],
        weight,
        np.array(start),
        np.concatenate(all_parents),
        np.concatenate(factors),
        np.array(first),
        np.concatenate(keys),
        np.concatenate(counts),
    )


@kernel()
def probability(families, f, values, seed, draw):  # type: ignore[no-untyped-def]
    """Return P(level of the node | levels of its parents): the mean, or draw number ``draw``.

    Parameters
    ----------
    families : Families
        Tables.
    f : int
        Which.
    values : ndarray of int of shape (k + 1,)
        Levels of all nodes.
    seed, draw : int
        Of the draw; the mean where ``draw`` is -1.
    """
    r = families.n_levels[f]
    x = values[families.node[f]]
    v = 0
    for i in range(families.start[f], families.start[f + 1]):
        v += families.factor[i] * values[families.parent[i]]
    first = families.first[f]
    size = families.first[f + 1] - first
    weight = families.weight[f]
    if draw < 0:
        slot = slot_of(families.key, first, size, v * (r + 1) + r)
        # Combinations that never occur are most of them: both counts are 0.
        whole = families.cases[slot]
        own = 0
        if whole:
            own = families.cases[slot_of(families.key, first, size, v * (r + 1) + x)]
        return (own + weight) / (whole + weight * r)
    # The same numbers whenever this combination of this family comes up in this draw: all rows
    # share one drawn table, of which nothing is stored.
    state = mixed(mixed(mixed(np.uint64(seed)) ^ np.uint64(draw)) ^ np.uint64(f))
    state = mixed(state ^ np.uint64(v))
    top, mine = -np.inf, 0.0
    total = 0.0
    for level in range(r):
        own = families.cases[slot_of(families.key, first, size, v * (r + 1) + level)]
        # A Dirichlet draw is gamma variates over their sum; in logarithms, because those of BDeu's
        # small parameters underflow.
        value, state = _log_gamma_variate(own + weight, state)
        if value > top:
            total = total * math.exp(top - value) + 1.0
            top = value
        else:
            total += math.exp(value - top)
        if level == x:
            mine = value
    return max(math.exp(mine - top) / total, 1e-300)


@kernel()
def _uniform(state):  # type: ignore[no-untyped-def]
    """Return a number between 0 and 1, and the next state."""
    state = mixed(state)
    return uniform_of(state), state


@kernel()
def _log_gamma_variate(shape, state):  # type: ignore[no-untyped-def]
    """Return the log of a gamma variate (Marsaglia and Tsang 2000), and the next state."""
    more = 0.0
    if shape < 1.0:
        # A gamma variate of shape a is one of shape a + 1, times U^(1 / a).
        u, state = _uniform(state)
        more = math.log(u) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        u, state = _uniform(state)
        w, state = _uniform(state)
        z = math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * w)
        cube = (1.0 + c * z) ** 3
        if cube <= 0.0:
            continue
        u, state = _uniform(state)
        if math.log(u) < 0.5 * z * z + d - d * cube + d * math.log(cube):
            return math.log(d * cube) + more, state


# --------------------------------------------------------------------------------------------------
# Class probabilities of a row, missing cells summed over
# --------------------------------------------------------------------------------------------------


@kernel()
def _log_values(families, f, values, n_classes, seed, draw, out):  # type: ignore[no-untyped-def]
    """Write the log probability of a table's cell, with each class."""
    for c in range(n_classes):
        values[values.size - 1] = c
        out[c] = math.log(probability(families, f, values, seed, draw))


@kernel()
def _next(values, missing, n_missing, n_levels):  # type: ignore[no-untyped-def]
    """Go to the next combination of levels of missing features; return whether there is one."""
    for index in range(n_missing):
        i = missing[index]
        values[i] += 1
        if values[i] < n_levels[i]:
            return True
        values[i] = 0
    return False


@kernel()
def _sum_over(families, tables, n_tables, values, missing, n_missing, n_levels, seed, draw, value):  # type: ignore[no-untyped-def]
    """Add the log of the sum, over missing features, of the product of some tables' cells."""
    n_classes = value.size
    total = np.zeros(n_classes)
    for index in range(n_missing):
        values[missing[index]] = 0
    while True:
        for c in range(n_classes):
            values[values.size - 1] = c
            product = 1.0
            for index in range(n_tables):
                product *= probability(families, tables[index], values, seed, draw)
            total[c] += product
        if not _next(values, missing, n_missing, n_levels):
            break
    for c in range(n_classes):
        value[c] += math.log(max(total[c], 1e-300))
    for index in range(n_missing):
        values[missing[index]] = -1


@kernel()
def evaluate(graphs, s, values, hidden, seed, draw, known, stamp, logs, value):  # type: ignore[no-untyped-def]
    """Write log P(class, x) of one graph, up to a constant.

    Parameters
    ----------
    graphs : GraphTables
        Graphs and tables.
    s : int
        Which of them.
    values : ndarray of int of shape (k + 1,)
        Levels; -1 for missing. The last place is written to.
    hidden : int
        Missing features, as bits.
    seed, draw : int
        As in `probability`.
    known : ndarray of int of shape (F,)
        Families whose ``logs`` have been computed for this row have the number ``stamp`` here.
    stamp : int
        A number of the row and draw.
    logs : ndarray of shape (F, C)
        Log probabilities of families whose cells are all there.
    value : ndarray of shape (C,)
        Written.
    """
    graph, table_of = graphs.parents[s], graphs.table_of[s]
    families, n_levels = graphs.families, graphs.n_levels
    k, n_classes = graph.size - 1, value.size
    one = 1 + 0 * graph[0]
    needed, counted = one << k, 0 * one
    for j in range(k):
        if graph[j] & (hidden | (one << k)) != 0 and (hidden >> j) & 1 == 0:
            needed |= one << j
    while needed != counted:  # missing parents of what counts do count
        counted = needed
        for j in range(k + 1):
            if (counted >> j) & 1:
                needed |= graph[j] & hidden
    value[:] = 0.0
    tables, n_tables = np.empty(k + 1, np.int64), 0
    missing, n_missing, combinations = np.empty(k + 1, np.int64), 0, 1.0
    for j in range(k + 1):
        if (needed >> j) & 1 == 0:
            continue
        f = table_of[j]
        if ((graph[j] | (one << j)) & hidden) == 0:
            if known[f] != stamp:
                _log_values(families, f, values, n_classes, seed, draw, logs[f])
                known[f] = stamp
            for c in range(n_classes):
                value[c] += logs[f, c]
        else:
            tables[n_tables] = f
            n_tables += 1
        if (hidden >> j) & 1:
            missing[n_missing] = j
            n_missing += 1
            combinations *= n_levels[j]
    if n_missing == 0:
        return
    if combinations <= MOST_COMBINATIONS:
        _sum_over(
            families, tables, n_tables, values, missing, n_missing, n_levels, seed, draw, value
        )
        return
    for index in range(n_tables):
        f = tables[index]
        if (hidden >> families.node[f]) & 1:
            continue
        few, n_few, some, combinations = np.empty(k + 1, np.int64), 0, np.empty(k + 1, np.int64), 1
        some[0] = f
        for i in range(families.start[f], families.start[f + 1]):
            parent = families.parent[i]
            if (hidden >> parent) & 1:
                few[n_few] = parent
                n_few += 1
                some[n_few] = graphs.alone[parent]
                combinations *= n_levels[parent]
                if combinations > MOST_COMBINATIONS:
                    break
        if combinations <= MOST_COMBINATIONS:
            _sum_over(families, some, n_few + 1, values, few, n_few, n_levels, seed, draw, value)


@kernel()
def _normalise(value):  # type: ignore[no-untyped-def]
    """Turn logs into probabilities."""
    top = value.max()
    total = 0.0
    for c in range(value.size):
        value[c] = math.exp(value[c] - top)
        total += value[c]
    value /= total


@kernel()
def _hidden(cells, values):  # type: ignore[no-untyped-def]
    """Copy a row; return which cells are missing, as bits."""
    hidden = np.int64(0)
    for j in range(cells.size):
        values[j] = cells[j]
        if cells[j] < 0:
            hidden |= np.int64(1) << j
    return hidden


@kernel()
def add_averages(graphs, weight, cells, out):  # type: ignore[no-untyped-def]
    """Add to ``out`` the class probabilities of each row, averaged over graphs.

    Parameters
    ----------
    graphs : GraphTables
        Graphs and tables.
    weight : ndarray of shape (S,)
        Of the graphs; their sum is 1.
    cells : ndarray of int of shape (n, k)
        Rows; -1 for missing cells.
    out : ndarray of shape (n, C)
        Probabilities.
    """
    n_classes = out.shape[1]
    values = np.zeros(graphs.n_levels.size, np.int64)
    known = np.full(graphs.families.node.size, -1, np.int64)
    logs, value = np.zeros((known.size, n_classes)), np.zeros(n_classes)
    for i in range(out.shape[0]):
        hidden = _hidden(cells[i], values)
        for s in range(weight.size):
            evaluate(graphs, s, values, hidden, 0, -1, known, i, logs, value)
            _normalise(value)
            for c in range(n_classes):
                out[i, c] += weight[s] * value[c]


@kernel()
def draw_probabilities(graphs, chosen, cells, seed, out):  # type: ignore[no-untyped-def]
    """Write class probabilities given drawn graphs and parameters, shape (rows, draws, C).

    ``chosen`` holds the graph of each draw; all else is as in `add_averages`.
    """
    n_rows, n_draws, n_classes = out.shape
    values = np.zeros(graphs.n_levels.size, np.int64)
    known = np.full(graphs.families.node.size, -1, np.int64)
    logs, value = np.zeros((known.size, n_classes)), np.zeros(n_classes)
    for i in range(n_rows):
        hidden = _hidden(cells[i], values)
        for d in range(n_draws):
            stamp = i * n_draws + d
            evaluate(graphs, chosen[d], values, hidden, seed, d, known, stamp, logs, value)
            _normalise(value)
            out[i, d] = value
