"""Tables of families: what the training cases say of a node given its parents.

The probability of level x of r, given combination v of the parents' levels, is the posterior mean
(N_vx + a) / (N_v + a r). Counts stand in hash tables, because most combinations never occur. For
intervals the probabilities of a combination are drawn from their Dirichlet distribution instead; a
draw depends on nothing but the seed, its number, the family and the combination.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.types import AnyArray, FloatArray, IntArray


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


class Graphs(NamedTuple):
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
def place_of(key, first, size, value):  # type: ignore[no-untyped-def]
    """Return where a value stands in a hash table, or could be put."""
    mixed = (value + 1) * 0x1E3779B97F4A7C15
    place = (mixed ^ (mixed >> 31)) & (size - 1)
    while key[first + place] != -1 and key[first + place] != value:
        place = (place + 1) & (size - 1)
    return first + place


@kernel()
def count_family(cells, node, r, parent, factor, key, count):  # type: ignore[no-untyped-def]
    """Fill an empty hash table with the cases of each cell; return how many entries it has."""
    used = 0
    for t in range(cells.shape[1]):
        v = 0
        for i in range(parent.size):
            v += factor[i] * cells[parent[i], t]
        for value in (v * (r + 1) + cells[node, t], v * (r + 1) + r):
            place = place_of(key, 0, key.size, value)
            if key[place] == -1:
                key[place] = value
                used += 1
            count[place] += 1
    return used


@kernel()
def shrink(key, count, new_key, new_count):  # type: ignore[no-untyped-def]
    """Copy a hash table into a smaller one."""
    for old in range(key.size):
        if key[old] != -1:
            place = place_of(new_key, 0, new_key.size, key[old])
            new_key[place] = key[old]
            new_count[place] = count[old]


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
        place = place_of(families.key, first, size, v * (r + 1) + r)
        # Combinations that never occur are most of them: both counts are 0.
        whole = families.cases[place]
        own = 0
        if whole:
            own = families.cases[place_of(families.key, first, size, v * (r + 1) + x)]
        return (own + weight) / (whole + weight * r)
    state = _mixed(_mixed(_mixed(np.uint64(seed)) ^ np.uint64(draw)) ^ np.uint64(f))
    state = _mixed(state ^ np.uint64(v))
    top, mine = -np.inf, 0.0
    total = 0.0
    for level in range(r):
        own = families.cases[place_of(families.key, first, size, v * (r + 1) + level)]
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
def _mixed(state):  # type: ignore[no-untyped-def]
    """Return the next number of SplitMix64 (Steele, Lea and Flood 2014), from its state."""
    z = state + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel()
def _uniform(state):  # type: ignore[no-untyped-def]
    """Return a number between 0 and 1, and the next state."""
    state = _mixed(state)
    return (float(state >> np.uint64(11)) + 0.5) / 9007199254740992.0, state


@kernel()
def _log_gamma_variate(shape, state):  # type: ignore[no-untyped-def]
    """Return the log of a gamma variate (Marsaglia and Tsang 2000), and the next state."""
    more = 0.0
    if shape < 1.0:
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
