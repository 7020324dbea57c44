"""Graphs as parents of each node: their form in files, what is in the blanket, known graphs."""

from __future__ import annotations

import numpy as np

from honestbayes.selection.measures import mutual_information
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

BYTES = 8
"""Of the parents of one node."""


def as_bytes(graphs: IntArray) -> AnyArray:
    """Return graphs of shape (..., k + 1) as bytes of shape (..., 8 (k + 1))."""
    return np.ascontiguousarray(graphs, dtype="<i8").view(np.uint8)


def from_bytes(data: AnyArray) -> IntArray:
    """Return the graphs that `as_bytes` wrote."""
    return np.ascontiguousarray(data, dtype=np.uint8).view("<i8").astype(np.int64)


def are_valid(graphs: IntArray, max_parents: int, *, general: bool = False) -> bool:
    """Whether all graphs, of shape (S, k + 1), are of the space.

    That is: there is no cycle, no node has more parents than it may, and, but in the general space,
    no arc enters a node other than the class and its children.
    """
    nodes = graphs.shape[1]
    own = np.int64(1) << np.arange(nodes, dtype=np.int64)
    of_class = own[-1]
    if np.any(graphs < 0) or np.any((graphs >> (nodes - 1)) > 1):
        return False
    if np.any(np.bitwise_count(graphs) > max_parents):
        return False
    if not general and np.any((graphs[:, :-1] != 0) & ((graphs[:, :-1] & of_class) == 0)):
        return False
    # Nodes without a parent that is left are taken away, until none can be.
    left = np.ones(graphs.shape, dtype=bool)
    for _ in range(nodes):
        remaining = np.where(left, own, 0).sum(axis=1)
        left &= (graphs & remaining[:, None]) != 0
    return not left.any()


def arcs_of(graphs: IntArray) -> BoolArray:
    """Return whether each arc is there, shape (S, from, to)."""
    nodes = graphs.shape[1]
    bits = (graphs[:, None, :] >> np.arange(nodes)[None, :, None]) & 1
    return np.asarray(bits.astype(bool))


def members(graphs: IntArray) -> BoolArray:
    """Return which features are in the class's Markov blanket, shape (S, k)."""
    k = graphs.shape[1] - 1
    is_child = ((graphs[:, :k] >> k) & 1).astype(bool)
    beside = np.bitwise_or.reduce(np.where(is_child, graphs[:, :k], 0), axis=1, initial=0)
    inside = (((graphs[:, k] | beside)[:, None] >> np.arange(k)) & 1).astype(bool)
    return np.asarray(inside | is_child)


def naive_graph(k: int) -> IntArray:
    """Return naive Bayes: the class is the only parent of every feature."""
    graph = np.full(k + 1, np.int64(1) << k, dtype=np.int64)
    graph[k] = 0
    return graph


def tree_graph(
    cells: AnyArray, codes: IntArray, n_levels: IntArray, n_classes: int, max_parents: int
) -> IntArray:
    """Return tree-augmented naive Bayes: each feature but the first has one more parent.

    These arcs are a tree of the largest sum of mutual information given the class (Friedman,
    Geiger and Goldszmidt 1997), all leading away from the first feature.
    """
    k = cells.shape[1]
    graph = naive_graph(k)
    if max_parents < 2 or k < 2:
        return graph
    information = _conditional_information(cells, codes, n_levels, n_classes)
    inside, best, strength = {0}, np.zeros(k, dtype=np.int64), information[0].copy()
    while len(inside) < k:
        outside = [j for j in range(k) if j not in inside]
        new = outside[int(np.argmax(strength[outside]))]
        graph[new] |= np.int64(1) << best[new]
        inside.add(new)
        closer = information[new] > strength
        best[closer], strength[closer] = new, information[new][closer]
    return graph


def _conditional_information(
    cells: AnyArray, codes: IntArray, n_levels: IntArray, n_classes: int
) -> FloatArray:
    """Return the mutual information of each pair of columns given the class, shape (k, k)."""
    k, n = cells.shape[1], cells.shape[0]
    result = np.zeros((k, k))
    wide = cells.astype(np.int64)
    for i in range(k):
        for j in range(i):
            shape = (n_classes, int(n_levels[i]), int(n_levels[j]))
            place = (codes * shape[1] + wide[:, i]) * shape[2] + wide[:, j]
            table = np.bincount(place, minlength=int(np.prod(shape))).reshape(shape)
            share = table.sum(axis=(1, 2)) / max(n, 1)
            result[i, j] = result[j, i] = share @ mutual_information(table)
    return result
