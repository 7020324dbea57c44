"""Search for groups of patterns that occur in the same training cases.

A pattern fixes the values of some columns. Two patterns that the same training cases have share a
parameter, the sum of their coefficients (thesis, section 3.5.1). The search goes through sets of
fixed cells that all occur in some case, depth first. At each it looks at the columns that are still
open. Those with one value among the cases left can be added without losing a case: they are *free*,
and the patterns made of the fixed cells and any of them are all of one group. The others divide the
cases; each value of each of them is a step down, below which only later columns are open. So each
pattern is met once, as fixed cells F and a subset of the free ones U: there are C(|U|, d) of order
|F| + d (equation 3.40), which are counted and never listed.

Groups are found by the cases themselves, in a hash table: no group is found twice, so that nothing
has to be merged afterwards.

The search leaves a tree, in which the patterns of another case are found by going down only where
its cells fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.types import AnyArray, FloatArray, IntArray

TOO_MANY_NODES, TOO_MANY_CELLS = 1, 2


class Tree(NamedTuple):
    """Sets of fixed cells, as the search found them.

    Attributes
    ----------
    group, fixed, case : ndarray of int of shape (n_nodes,)
        The group of each node, how many cells it fixes, and one of its cases, whose cells its own
        are.
    free_start, free : ndarray of int
        The free columns of node i are ``free[free_start[i] : free_start[i + 1]]``.
    step_start, steps : ndarray of int
        The columns by which node i is divided, in the same way.
    child_start, children : ndarray of int
        For each of these steps, the node of each level of the column from ``child_start`` on, -1
        where no case has it.
    """

    group: IntArray
    fixed: IntArray
    case: IntArray
    free_start: IntArray
    free: IntArray
    step_start: IntArray
    steps: IntArray
    child_start: IntArray
    children: IntArray


class Found(NamedTuple):
    """What the search found.

    Attributes
    ----------
    start, cases : ndarray of int
        The cases of group g are ``cases[start[g] : start[g + 1]]``, in ascending order.
    counts : ndarray of shape (n_groups, order + 1)
        Patterns of each order in each group.
    tree : Tree
        Where they stand.
    problem : int
        0, or what there was too much of.
    """

    start: IntArray
    cases: AnyArray
    counts: FloatArray
    tree: Tree
    problem: int


@kernel()
def _longer(values, size):  # type: ignore[no-untyped-def]
    """Return the array with room for so many entries, and for more to come."""
    if size <= values.size:
        return values
    longer = np.empty(max(size, 2 * values.size), values.dtype)
    longer[: values.size] = values
    return longer


@kernel()
def _slot(table, hashes, key, start, cases, members):  # type: ignore[no-untyped-def]
    """Return the place in the table of the group with these members, or where it belongs."""
    mask = table.size - 1
    slot = np.int64(key ^ (key >> np.uint64(29))) & mask
    while table[slot] >= 0:
        group = table[slot]
        if hashes[group] == key and start[group + 1] - start[group] == members.size:
            first = start[group]
            same = True
            for i in range(members.size):
                if cases[first + i] != members[i]:
                    same = False
                    break
            if same:
                return slot
        slot = (slot + 1) & mask
    return slot


@kernel()
def _rehashed(hashes, n_groups, size):  # type: ignore[no-untyped-def]
    """Return a larger table with the groups that there are, all of them different."""
    table = np.full(size, -1, np.int64)
    for group in range(n_groups):
        key = hashes[group]
        slot = np.int64(key ^ (key >> np.uint64(29))) & (size - 1)
        while table[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table[slot] = group
    return table


@kernel()
def search(cells, columns, n_levels, order, keys, binomials, most_nodes, most_cells):  # type: ignore[no-untyped-def]
    """Find all groups of patterns up to an order.

    Parameters
    ----------
    cells : ndarray of int of shape (p, n)
        Codes of different cases, a row for each column.
    columns : ndarray of int of shape (p,)
        In which order columns are looked at: the most varied first gives the fewest nodes.
    n_levels : ndarray of int of shape (p,)
        Levels of each column.
    order : int
        Largest number of cells that a pattern fixes.
    keys : ndarray of uint64 of shape (n,)
        Random numbers whose sum is the hash of a set of cases.
    binomials : ndarray of shape (p + 1, order + 1)
        C(m, d).
    most_nodes, most_cells : int
        Bounds on nodes, and on cases of all groups together.
    """
    p, n = cells.shape
    most_levels = n_levels.max() if p else 1
    depths = order + 1
    # The cases of a node at depth d, divided by the column that it is at, and where it is.
    members = np.empty((depths, n), np.int32)
    first, last = np.zeros(depths, np.int64), np.zeros(depths, np.int64)
    opened = np.empty((depths, p), np.int64)  # open columns: first the free ones
    n_open, n_free = np.zeros(depths, np.int64), np.zeros(depths, np.int64)
    cursor, value = np.zeros(depths, np.int64), np.zeros(depths, np.int64)
    bounds = np.zeros((depths, most_levels + 1), np.int64)
    nodes = np.zeros(depths, np.int64)
    everyone = np.arange(n).astype(np.int32)

    group_of, fixed = np.empty(1024, np.int64), np.empty(1024, np.int64)
    case_of = np.empty(1024, np.int64)
    free_start, step_start = np.zeros(1025, np.int64), np.zeros(1025, np.int64)
    free, steps = np.empty(1024, np.int64), np.empty(1024, np.int64)
    child_start, children = np.empty(1024, np.int64), np.empty(1024, np.int64)
    n_nodes, n_children = 0, 0
    start, cases = np.zeros(1025, np.int64), np.empty(4096, np.int32)
    hashes, counts = np.empty(1024, np.uint64), np.zeros((1024, depths))
    n_groups = 0
    table = np.full(4096, -1, np.int64)
    problem = 0

    depth = 0
    last[0] = n
    opened[0] = columns
    n_open[0] = p
    arrived = True
    while depth >= 0:
        here = everyone if depth == 0 else members[depth - 1]
        own = here[first[depth] : last[depth]]
        if arrived:
            # The group of these cases. The hash, a sum of random numbers, does not depend on their
            # order, and sets with the same hash are compared case by case: none is merged by luck.
            key = np.uint64(0)
            for i in range(own.size):
                key += keys[own[i]]
            slot = _slot(table, hashes, key, start, cases, own)
            group = table[slot]
            if group < 0:
                group = n_groups
                n_groups += 1
                table[slot] = group
                hashes = _longer(hashes, n_groups)
                hashes[group] = key
                start = _longer(start, n_groups + 1)
                end = start[group] + own.size
                if end > most_cells:
                    problem = TOO_MANY_CELLS
                    break
                start[group + 1] = end
                cases = _longer(cases, end)
                cases[start[group] : end] = own
                if n_groups > counts.shape[0]:
                    more = np.zeros((2 * counts.shape[0], depths))
                    more[: counts.shape[0]] = counts
                    counts = more
                if 2 * n_groups > table.size:
                    table = _rehashed(hashes, n_groups, 2 * table.size)
            # Its open columns: first those with one value, then those that divide the cases.
            if depth < order:
                n_same, k = 0, n_open[depth]
                for a in range(k):
                    column = opened[depth, a]
                    line = cells[column]
                    # A column that was free above is so among fewer cases.
                    same = True
                    if a >= n_free[depth]:
                        for i in range(1, own.size):
                            if line[own[i]] != line[own[0]]:
                                same = False
                                break
                    if same:  # a stable move to the front of those that differ
                        for b in range(a, n_same, -1):
                            opened[depth, b] = opened[depth, b - 1]
                        opened[depth, n_same] = column
                        n_same += 1
                n_free[depth] = n_same
            else:
                n_free[depth], n_open[depth] = 0, 0
            node = n_nodes
            n_nodes += 1
            if n_nodes > most_nodes:
                problem = TOO_MANY_NODES
                break
            nodes[depth] = node
            group_of, fixed = _longer(group_of, n_nodes), _longer(fixed, n_nodes)
            case_of = _longer(case_of, n_nodes)
            group_of[node], fixed[node], case_of[node] = group, depth, own[0]
            # Equation 3.40: patterns that fix the cells of the path and d of the free ones. Other
            # nodes of the same group have other paths, so that no pattern is counted twice.
            for d in range(order - depth + 1):
                counts[group, depth + d] += binomials[n_free[depth], d]
            free_start = _longer(free_start, n_nodes + 1)
            free_end = free_start[node] + n_free[depth]
            free = _longer(free, free_end)
            free[free_start[node] : free_end] = opened[depth, : n_free[depth]]
            free_start[node + 1] = free_end
            step_start = _longer(step_start, n_nodes + 1)
            begin = step_start[node]
            step_end = begin + n_open[depth] - n_free[depth]
            steps, child_start = _longer(steps, step_end), _longer(child_start, step_end)
            for a in range(n_free[depth], n_open[depth]):
                column = opened[depth, a]
                at = begin + a - n_free[depth]
                steps[at], child_start[at] = column, n_children
                children = _longer(children, n_children + n_levels[column])
                children[n_children : n_children + n_levels[column]] = -1
                n_children += n_levels[column]
            step_start[node + 1] = step_end
            cursor[depth], value[depth] = n_free[depth] - 1, most_levels
            arrived = False
        # The next step down from here.
        value[depth] += 1
        at = cursor[depth]
        if at < n_free[depth] or value[depth] >= n_levels[opened[depth, at]]:
            cursor[depth] += 1
            at = cursor[depth]
            if at >= n_open[depth]:
                depth -= 1
                continue
            line = cells[opened[depth, at]]
            size = n_levels[opened[depth, at]]
            bounds[depth, : size + 1] = 0
            # Counting sort by the column's value. It is stable, so that cases stay in ascending
            # order, by which `_slot` compares them.
            for i in range(own.size):
                bounds[depth, line[own[i]] + 1] += 1
            for v in range(size):
                bounds[depth, v + 1] += bounds[depth, v]
            for i in range(own.size):
                v = line[own[i]]
                members[depth, bounds[depth, v]] = own[i]
                bounds[depth, v] += 1
            for v in range(size, 0, -1):
                bounds[depth, v] = bounds[depth, v - 1]
            bounds[depth, 0] = 0
            value[depth] = 0
        v = value[depth]
        if bounds[depth, v + 1] > bounds[depth, v]:
            step = step_start[nodes[depth]] + at - n_free[depth]
            children[child_start[step] + v] = n_nodes
            below = depth + 1
            first[below], last[below] = bounds[depth, v], bounds[depth, v + 1]
            # Below, the free columns stay open, and those that come later.
            n_free[below] = n_free[depth]
            opened[below, : n_free[depth]] = opened[depth, : n_free[depth]]
            later = n_open[depth] - at - 1
            opened[below, n_free[depth] : n_free[depth] + later] = opened[
                depth, at + 1 : n_open[depth]
            ]
            n_open[below] = n_free[depth] + later
            depth = below
            arrived = True
    tree = Tree(
        group_of[:n_nodes].copy(),
        fixed[:n_nodes].copy(),
        case_of[:n_nodes].copy(),
        free_start[: n_nodes + 1].copy(),
        free[: free_start[n_nodes]].copy(),
        step_start[: n_nodes + 1].copy(),
        steps[: step_start[n_nodes]].copy(),
        child_start[: step_start[n_nodes]].copy(),
        children[:n_children].copy(),
    )
    return Found(
        start[: n_groups + 1].copy(),
        cases[: start[n_groups]].copy(),
        counts[:n_groups].copy(),
        tree,
        problem,
    )


@kernel()
def express(tree, cells, case, order, binomials, group_at, counts, met_groups, stack):  # type: ignore[no-untyped-def]
    """Count the patterns of a new case that are in each group.

    Parameters
    ----------
    tree : Tree
        From `search`.
    cells : ndarray of int of shape (p, n)
        Codes of the training cases.
    case : ndarray of int of shape (p,)
        Codes of the new one; -1 is a level that no training case has.
    order : int
        Largest number of cells that a pattern fixes.
    binomials : ndarray of shape (p + 1, order + 1)
        C(m, d).
    group_at : ndarray of int of shape (n_groups,)
        All -1; where the groups that were met stand in ``met_groups``, on return.
    counts : ndarray of shape (n_groups, order + 1)
        What the case has of each group in ``met_groups``, a row for each; all 0.
    met_groups : ndarray of int of shape (n_groups,)
        The groups that were met.
    stack : ndarray of int of shape (n_nodes,)
        Room to work in.

    Returns
    -------
    int
        How many groups were met.
    """
    n_found, top = 0, 1
    stack[0] = 0
    while top:
        top -= 1
        node = stack[top]
        group, fixed = tree.group[node], tree.fixed[node]
        own = tree.case[node]
        # Of the free cells only those that the new case has can be part of its patterns.
        fits = 0
        for a in range(tree.free_start[node], tree.free_start[node + 1]):
            column = tree.free[a]
            fits += case[column] == cells[column, own]
        at = group_at[group]
        if at < 0:
            at = n_found
            n_found += 1
            group_at[group] = at
            met_groups[at] = group
        for d in range(order - fixed + 1):
            counts[at, fixed + d] += binomials[fits, d]
        for a in range(tree.step_start[node], tree.step_start[node + 1]):
            level = case[tree.steps[a]]
            if level >= 0:
                child = tree.children[tree.child_start[a] + level]
                if child >= 0:
                    stack[top] = child
                    top += 1
    return n_found


# --------------------------------------------------------------------------------------------------
# Suffixes of sequences
# --------------------------------------------------------------------------------------------------


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
