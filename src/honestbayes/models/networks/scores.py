"""Scores of families: a node and its parents, with the parameters integrated out.

Given its parents, a node has a table of probabilities with a Dirichlet prior of parameters a in
each of its cells. With N_ij cases of combination j of the parents' levels, N_ijk of which have
level k of r,

    log P = sum_j [log G(a r) - log G(a r + N_ij) + sum_k (log G(a + N_ijk) - log G(a))]

where G is the gamma function. K2 has a = 1; BDeu has a = s / (q r) for q combinations and the
equivalent sample size s. Combinations without cases add nothing.
"""

from __future__ import annotations

import math

from honestbayes.compiled import kernel
from honestbayes.models.networks.problem import K2


@kernel()
def remembered_score(problem, memory, node, parents):  # type: ignore[no-untyped-def]
    """Return the score of a family, computed only where it is not remembered."""
    size = memory.node.size
    mixed = (parents + 1) * 0x1E3779B97F4A7C15 + node * 0x3C6EF372FE94F82B
    place = (mixed ^ (mixed >> 29)) & (size - 1)
    if memory.node[place] == node and memory.parents[place] == parents:
        return memory.value[place]
    value = family_score(problem, memory, node, parents)
    memory.node[place] = node
    memory.parents[place] = parents
    memory.value[place] = value
    return value


@kernel()
def family_score(problem, memory, node, parents):  # type: ignore[no-untyped-def]
    """Return the log marginal likelihood of a node given its parents."""
    cells, code = problem.cells, memory.code
    n, r = cells.shape[1], problem.n_levels[node]
    limit = 2 * n + 64
    q, combinations = 1, 1.0
    for t in range(n):
        code[t] = 0
    for i in range(cells.shape[0]):
        if (parents >> i) & 1 == 0:
            continue
        levels = problem.n_levels[i]
        combinations *= levels
        row = cells[i]
        for t in range(n):
            code[t] = code[t] * levels + row[t]
        q *= levels
        if q > limit:
            q = _relabel(memory, n)
    counts, own = memory.counts, cells[node]
    for place in range(q * r):
        counts[place] = 0
    for t in range(n):
        counts[code[t] * r + own[t]] += 1
    if problem.score == K2:
        return _k2(problem, counts, q, r)
    return _bdeu(counts, q, r, problem.size / combinations)


@kernel()
def _relabel(memory, n):  # type: ignore[no-untyped-def]
    """Give numbers to the combinations that occur, in the order of the cases; return how many."""
    key, label, code = memory.slot_key, memory.slot_label, memory.code
    last = key.size - 1
    for place in range(key.size):
        key[place] = -1
    number = 0
    for t in range(n):
        value = code[t]
        mixed = (value + 1) * 0x1E3779B97F4A7C15
        place = (mixed ^ (mixed >> 31)) & last
        while key[place] != -1 and key[place] != value:
            place = (place + 1) & last
        if key[place] == -1:
            key[place] = value
            label[place] = number
            number += 1
        code[t] = label[place]
    return number


@kernel()
def _k2(problem, counts, q, r):  # type: ignore[no-untyped-def]
    """Return the score with 1 in each cell, from a table of log factorials."""
    log_gamma = problem.log_gamma
    total = 0.0
    for j in range(q):
        cases = 0
        for place in range(j * r, j * r + r):
            found = counts[place]
            cases += found
            total += log_gamma[found + 1]
        total += log_gamma[r] - log_gamma[cases + r]
    return total


@kernel()
def _bdeu(counts, q, r, whole):  # type: ignore[no-untyped-def]
    """Return the score with the sum ``whole`` of the parameters of each combination."""
    each = whole / r
    of_whole, of_each = math.lgamma(whole), math.lgamma(each)
    total = 0.0
    for j in range(q):
        cases = 0
        for place in range(j * r, j * r + r):
            found = counts[place]
            if found:
                cases += found
                total += math.lgamma(each + found) - of_each
        if cases:
            total += of_whole - math.lgamma(whole + cases)
    return total
