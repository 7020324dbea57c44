"""Class probabilities of graphs, missing cells summed over, and their average.

Of a graph, P(class, x) is the product over the class and its children of P(node | parents); all
other factors are the same for every class, but for those of nodes with missing parents. A missing
feature without children that count is left out, because its probabilities sum to 1. Over the others
all combinations of levels are summed, each with its probability under the graph, up to
``MOST_COMBINATIONS`` of them. Beyond that each table is summed over its missing parents as if these
were independent of all else; and a table with more combinations than that says nothing.
"""

from __future__ import annotations

import math

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.models.networks.kernels import probability

MOST_COMBINATIONS = 1024


@kernel()
def _log_values(families, f, values, n_classes, seed, draw, out):  # type: ignore[no-untyped-def]
    """Write the log probability of a table's cell, with each class."""
    for c in range(n_classes):
        values[values.size - 1] = c
        out[c] = math.log(probability(families, f, values, seed, draw))


@kernel()
def _next(values, missing, n_missing, n_levels):  # type: ignore[no-untyped-def]
    """Go to the next combination of levels of missing features; return whether there is one."""
    for place in range(n_missing):
        i = missing[place]
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
    for place in range(n_missing):
        values[missing[place]] = 0
    while True:
        for c in range(n_classes):
            values[values.size - 1] = c
            product = 1.0
            for place in range(n_tables):
                product *= probability(families, tables[place], values, seed, draw)
            total[c] += product
        if not _next(values, missing, n_missing, n_levels):
            break
    for c in range(n_classes):
        value[c] += math.log(max(total[c], 1e-300))
    for place in range(n_missing):
        values[missing[place]] = -1


@kernel()
def evaluate(graphs, s, values, hidden, seed, draw, known, stamp, logs, value):  # type: ignore[no-untyped-def]
    """Write log P(class, x) of one graph, up to a constant.

    Parameters
    ----------
    graphs : Graphs
        Graphs and tables.
    s : int
        Which of them.
    values : ndarray of int of shape (k + 1,)
        Levels; -1 for missing. The last place is written to.
    hidden : int
        Missing features, as bits.
    seed, draw : int
        As in `tables.probability`.
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
    for place in range(n_tables):
        f = tables[place]
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
    graphs : Graphs
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
