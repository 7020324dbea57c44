"""Compiled search for the suffixes that sorted sequences share."""

from __future__ import annotations

import numpy as np

from honestbayes.compiled import kernel


@kernel()
def suffix_tree(common, length):  # type: ignore[no-untyped-def]
    """Build the tree of suffixes of sorted sequences, a node where some of them part.

    Parameters
    ----------
    common : ndarray of int of shape (n - 1,)
        Length of the suffix that each sequence shares with the next, below ``length``.
    length : int
        Length of the sequences.

    Returns
    -------
    shallow, deep : ndarray of int of shape (n_nodes,)
        A node has the suffixes longer than ``shallow``, up to ``deep``.
    first, last : ndarray of int of shape (n_nodes,)
        The sequences that have them.
    parent : ndarray of int of shape (n_nodes,)
        The node above; -1 for the root, which comes first.
    leaf : ndarray of int of shape (n,)
        The node of each sequence alone.
    """
    n = common.size + 1
    most = 2 * n
    deep, first, last = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    parent, leaf = np.full(most, -1, np.int64), np.empty(n, np.int64)
    # The path from the root to the sequence at hand; the root is as deep as all agree.
    least = length
    for i in range(n - 1):
        least = min(least, common[i])
    deep[0], first[0], last[0] = least, 0, n
    n_nodes = 1
    path = np.empty(length + 3, np.int64)
    path[0] = 0
    top = 0
    for i in range(n):
        # Nodes deeper than what this sequence shares with the one before end here.
        shared = common[i - 1] if i else least
        came_from = -1
        while deep[path[top]] > shared:
            came_from = path[top]
            last[came_from] = i
            top -= 1
        if deep[path[top]] < shared:  # a branch within what was the child of a shorter suffix
            node = n_nodes
            n_nodes += 1
            deep[node], first[node], parent[node] = shared, first[came_from], path[top]
            parent[came_from] = node
            top += 1
            path[top] = node
        if n == 1:
            leaf[0] = 0
            break
        node = n_nodes
        n_nodes += 1
        deep[node], first[node], last[node] = length, i, i + 1
        parent[node] = path[top]
        leaf[i] = node
        top += 1
        path[top] = node
    while top > 0:
        last[path[top]] = n
        top -= 1
    shallow = np.empty(n_nodes, np.int64)
    shallow[0] = -1
    for node in range(1, n_nodes):
        shallow[node] = deep[parent[node]]
    return (
        shallow,
        deep[:n_nodes].copy(),
        first[:n_nodes].copy(),
        last[:n_nodes].copy(),
        parent[:n_nodes].copy(),
        leaf,
    )


@kernel()
def longest_suffix(rows, cells):  # type: ignore[no-untyped-def]
    """Return the sorted sequence that shares the longest suffix with each new one, and its length.

    Parameters
    ----------
    rows : ndarray of int of shape (n, length)
        Sequences, sorted by their last state, then the one before, and so on.
    cells : ndarray of int of shape (m, length)
        New ones.
    """
    n, length = rows.shape
    near, longest = np.zeros(cells.shape[0], np.int64), np.zeros(cells.shape[0], np.int64)
    for case in range(cells.shape[0]):
        low, high = 0, n  # those with the suffix so far
        for size in range(1, length + 1):
            column = length - size
            value = cells[case, column]
            a, b = low, high
            while a < b:  # the first that is not below
                middle = (a + b) // 2
                if rows[middle, column] < value:
                    a = middle + 1
                else:
                    b = middle
            begin = a
            b = high
            while a < b:  # the first that is above
                middle = (a + b) // 2
                if rows[middle, column] <= value:
                    a = middle + 1
                else:
                    b = middle
            if begin == a:
                break
            low, high = begin, a
            longest[case] = size
        near[case] = low
    return near, longest
