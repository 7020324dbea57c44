"""Class shares of rows in the leaves of trees, by a compiled loop."""

from __future__ import annotations

import numpy as np

from honestbayes.compiled import kernel


@kernel()
def leaf_shares(first, feature, threshold, right, share_left, value, rows, by_tree):  # type: ignore[no-untyped-def]
    """Add up the class shares of the leaves that each row reaches.

    Parameters
    ----------
    first, feature, threshold, right, share_left, value
        The trees, as in `Trees`.
    rows : ndarray of float32 of shape (n, k)
        Values of the columns; NaN is missing.
    by_tree : ndarray of shape (n, T, C) or (n, 1, C)
        Zeros, to which the shares are added: of each tree, or of all trees, one after the other.
    """
    n_trees, n_nodes = first.size, right.size
    largest = 0
    for tree in range(n_trees):
        end = first[tree + 1] if tree + 1 < n_trees else n_nodes
        largest = max(largest, end - first[tree])
    # Each inner node of a path is put off once at most.
    put_off = np.empty(largest, np.int64)
    weights = np.empty(largest)
    # All rows go through one tree before the next, whose nodes then stay in the processor's cache.
    for tree in range(n_trees):
        for row in range(rows.shape[0]):
            total = by_tree[row, tree if by_tree.shape[1] > 1 else 0]
            node, weight, waiting = first[tree], 1.0, 0
            while True:
                while right[node] > 0:
                    cell = rows[row, feature[node]]
                    if np.isnan(cell):
                        put_off[waiting] = right[node]
                        weights[waiting] = weight * (1.0 - share_left[node])
                        waiting += 1
                        weight *= share_left[node]
                        node += 1
                    elif cell <= threshold[node]:
                        node += 1
                    else:
                        node = right[node]
                # Without missing cells the weight is exactly 1, and the sum that of scikit-learn.
                for label in range(total.size):
                    total[label] += weight * value[node, label]
                if waiting == 0:
                    break
                waiting -= 1
                node, weight = put_off[waiting], weights[waiting]


@kernel()
def impurity_decreases(first, feature, right, share_left, value, decrease):  # type: ignore[no-untyped-def]
    """Add to each column how much its splits lower the Gini impurity, over all trees."""
    reach = np.zeros(right.size)
    for root in first:
        reach[root] = 1.0
    # Children come after their node, so that one pass reaches all nodes.
    for node in range(right.size):
        if right[node] > 0:
            share = share_left[node]
            reach[node + 1] = reach[node] * share
            reach[right[node]] = reach[node] * (1.0 - share)
            gain = 0.0
            for label in range(value.shape[1]):
                left, other = value[node + 1, label], value[right[node], label]
                gain += share * left**2 + (1.0 - share) * other**2 - value[node, label] ** 2
            decrease[feature[node]] += reach[node] * gain
