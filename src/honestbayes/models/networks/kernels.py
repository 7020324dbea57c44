"""Markov chains over graphs: scores of families, moves, and their acceptance.

A graph is the set of parents of each node, as bits of a whole number: bit j for feature j, bit k
for the class, which is also the last node. In the space of graphs every arc enters the class or one
of its children, so that a feature with parents has the class among them, the ancestors of the class
are its parents, and its descendants are its children. In the larger space of all graphs without
cycles (``general``) arcs are added, deleted, reversed and exchanged wherever that leaves none.

References
----------
Egmont-Petersen, M. Feature selection by Markov chain Monte Carlo sampling: a Bayesian approach,
section 4.4, equations 9 to 11. The moves of equation 9 are not reversible, and are here for
comparison (``PRINTED``). Those that are used otherwise are reversible: the four kinds of equation
11, reversals of arcs, and exchanges of one parent for another (``TYPED``), or any arc more or less
(``UNIFORM``, equations 4 and 5).
"""

from __future__ import annotations

import math

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.models.networks.problem import (
    ADD_ARC,
    ADD_FEATURE,
    BACK,
    BLANKET,
    DELETE_ARC,
    DELETE_FEATURE,
    EXCHANGE,
    INNER,
    K2,
    LONE,
    MARGINAL,
    PRINTED,
    REVERSE,
    SOLE,
    UNIFORM,
)
from honestbayes.models.subsets.kernels import log_weight, score_of_rows

# --------------------------------------------------------------------------------------------------
# Scores of families, a node and its parents each, with the parameters integrated out
#
# Given its parents, a node has a table of probabilities with a Dirichlet prior of parameters a in
# each of its cells. With N_ij cases of combination j of the parents' levels, N_ijk of which have
# level k of r,
#
#     log P = sum_j [log G(a r) - log G(a r + N_ij) + sum_k (log G(a + N_ijk) - log G(a))]
#
# where G is the gamma function. K2 has a = 1; BDeu has a = s / (q r) for q combinations and the
# equivalent sample size s. Combinations without cases add nothing.
# --------------------------------------------------------------------------------------------------


@kernel()
def remembered_score(problem, memory, node, parents):  # type: ignore[no-untyped-def]
    """Return the score of a family, computed only where it is not remembered."""
    size = memory.node.size
    mixed = (parents + 1) * 0x1E3779B97F4A7C15 + node * 0x3C6EF372FE94F82B
    slot = (mixed ^ (mixed >> 29)) & (size - 1)
    if memory.node[slot] == node and memory.parents[slot] == parents:
        return memory.value[slot]
    # One place for each value: what stood there is forgotten, and computed again when needed.
    value = family_score(problem, memory, node, parents)
    memory.node[slot] = node
    memory.parents[slot] = parents
    memory.value[slot] = value
    return value


@kernel()
def number_combinations(problem, memory, parents):  # type: ignore[no-untyped-def]
    """Write the number of each case's combination of the parents' levels.

    Returns
    -------
    q : int
        More than the largest number, and 2 n + 64 at most.
    combinations : float
        How many there could be.
    """
    cells, code = problem.cells, memory.code
    n = cells.shape[1]
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
        # Combinations that no case has add 0 to the score, so those that occur may be numbered
        # anew. There are n of them at most: the table of counts never has more than 2 n + 64 rows.
        if q > limit:
            q = _relabel(memory, n)
    return q, combinations


@kernel()
def family_score(problem, memory, node, parents):  # type: ignore[no-untyped-def]
    """Return the log marginal likelihood of a node given its parents."""
    cells, code = problem.cells, memory.code
    n, r = cells.shape[1], problem.n_levels[node]
    q, combinations = number_combinations(problem, memory, parents)
    counts, own = memory.counts, cells[node]
    for slot in range(q * r):
        counts[slot] = 0
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
    for slot in range(key.size):
        key[slot] = -1
    number = 0
    for t in range(n):
        value = code[t]
        mixed = (value + 1) * 0x1E3779B97F4A7C15
        slot = (mixed ^ (mixed >> 31)) & last
        while key[slot] != -1 and key[slot] != value:
            slot = (slot + 1) & last
        if key[slot] == -1:
            key[slot] = value
            label[slot] = number
            number += 1
        code[t] = label[slot]
    return number


@kernel()
def _k2(problem, counts, q, r):  # type: ignore[no-untyped-def]
    """Return the score with 1 in each cell, from a table of log factorials."""
    log_gamma = problem.log_gamma
    total = 0.0
    for j in range(q):
        cases = 0
        for slot in range(j * r, j * r + r):
            cell_count = counts[slot]
            cases += cell_count
            total += log_gamma[cell_count + 1]
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
        for slot in range(j * r, j * r + r):
            cell_count = counts[slot]
            if cell_count:
                cases += cell_count
                total += math.lgamma(each + cell_count) - of_each
        if cases:
            total += of_whole - math.lgamma(whole + cases)
    return total


# --------------------------------------------------------------------------------------------------
# Scores of rows: how well a graph predicts the class of each case
#
# P(class | x) depends on the tables of the class and its children only. Each of them adds to a
# row's log-odds of the other classes against the actual one, with posterior means of its cells,
#
#     P(level x | combination v) = (N_vx + a) / (N_v + a r),
#
# where cases of the row's own fold are not counted (equation 1 with J = 1 - error, and others).
# --------------------------------------------------------------------------------------------------


@kernel()
def remembered_rows(problem, variant, memory, node, parents):  # type: ignore[no-untyped-def]
    """Return where the log-odds stand that a family adds, computed only if not remembered."""
    rows = memory.rows
    size = rows.node.size
    mixed = (parents + 1) * 0x1E3779B97F4A7C15 + node * 0x3C6EF372FE94F82B
    slot = (mixed ^ (mixed >> 29)) & (size - 1)
    if rows.node[slot] != node or rows.parents[slot] != parents:
        family_rows(problem, variant, memory, node, parents, rows.added[slot])
        rows.node[slot] = node
        rows.parents[slot] = parents
    return slot


@kernel()
def family_rows(problem, variant, memory, node, parents, out):  # type: ignore[no-untyped-def]
    """Write what the class or a child of it adds to the log-odds of each row."""
    cells, code = problem.cells, memory.code
    n, last = cells.shape[1], cells.shape[0] - 1
    n_classes, r = problem.n_levels[last], problem.n_levels[node]
    # The class is varied, and so it is no part of the combination.
    q, combinations = number_combinations(problem, memory, parents & ~(1 << last))
    table, whole, labels, own = memory.rows.counts, memory.rows.whole, cells[last], cells[node]
    is_class = node == last
    for slot in range(q * n_classes):
        whole[slot] = 0
    for slot in range(q * n_classes * r):
        table[slot] = 0
    for t in range(n):
        whole[code[t] * n_classes + labels[t]] += 1
        table[(code[t] * n_classes + labels[t]) * r + own[t]] += 1
    a = 1.0
    if problem.score != K2:
        a = problem.size / (combinations * r if is_class else combinations * n_classes * r)
    value = np.empty(n_classes)
    held_out = variant.first.size > 0
    for f in range(-1 if held_out else 0, max(1, variant.first.size - 1)):
        # Rows before the first fold are of none, and their tables are those of all rows.
        start = variant.first[f] if held_out and f >= 0 else 0
        stop = variant.first[f + 1] if held_out else n
        leaves = held_out and f >= 0
        if leaves:
            for t in variant.order[start:stop]:
                whole[code[t] * n_classes + labels[t]] -= 1
                table[(code[t] * n_classes + labels[t]) * r + own[t]] -= 1
        for t in variant.order[start:stop]:
            for c in range(n_classes):
                slot = code[t] * n_classes + c
                if is_class:  # over the same sum for all classes, which cancels
                    value[c] = math.log(whole[slot] + a)
                else:
                    value[c] = math.log((table[slot * r + own[t]] + a) / (whole[slot] + a * r))
            other = 0
            for c in range(n_classes):
                if c != labels[t]:
                    out[t, other] = value[c] - value[labels[t]]
                    other += 1
        if leaves:
            for t in variant.order[start:stop]:
                whole[code[t] * n_classes + labels[t]] += 1
                table[(code[t] * n_classes + labels[t]) * r + own[t]] += 1


@kernel()
def graph_score(problem, variant, memory, parents):  # type: ignore[no-untyped-def]
    """Return the score of a graph that looks at rows, from the class and its children."""
    last = parents.size - 1
    margin = memory.rows.margin
    margin[:] = 0.0
    for j in range(last + 1):
        if j == last or (parents[j] >> last) & 1:
            margin += memory.rows.added[remembered_rows(problem, variant, memory, j, parents[j])]
    return score_of_rows(margin, variant.objective)


# --------------------------------------------------------------------------------------------------
# Moves: how many of each kind a graph has, and one of them
# --------------------------------------------------------------------------------------------------


@kernel()
def bit_count(x):  # type: ignore[no-untyped-def]
    """Return the number of bits that are set, of the lower 63."""
    x = x - ((x >> 1) & 0x5555555555555555)
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F
    x = x + (x >> 8)
    x = x + (x >> 16)
    x = x + (x >> 32)
    return x & 127


@kernel()
def nth_bit(x, n):  # type: ignore[no-untyped-def]
    """Return the place of a bit that is set, counted from 0."""
    for _ in range(n):
        x &= x - 1
    return bit_count((x & -x) - 1)


@kernel()
def relate(parents, children, below, sets, general):  # type: ignore[no-untyped-def]
    """Find children and descendants of each node, and the sets that moves depend on.

    Parameters
    ----------
    parents, children : ndarray of int of shape (k + 1,)
        Of each node; children are written.
    below : ndarray of int of shape (k + 1,)
        Nodes that can be reached from each, written; of features alone, but in the general space.
    sets : ndarray of int of shape (4,)
        Written, as `BLANKET` and the others say; not used in the general space.
    general : bool
        Whether the space is that of all graphs without cycles.
    """
    k = parents.size - 1
    # A one of 64 bits: a literal that is shifted may be of another type.
    one = 1 + 0 * parents[0]
    of_class, everyone = one << k, (one << k) - 1
    reach = everyone | of_class if general else everyone
    for i in range(k + 1):
        children[i] = 0
        below[i] = 0
    inner, sole = 0 * one, 0 * one
    for j in range(k + 1):
        rest = parents[j]
        while rest != 0:
            children[bit_count((rest & -rest) - 1)] |= one << j
            rest &= rest - 1
        if j < k or general:
            inner |= parents[j] & reach
            if parents[j] == of_class:
                sole |= one << j
    # Parents whose children are all done come next; a graph without cycles leaves none over.
    done = ~inner & reach
    waiting = inner
    while waiting != 0:
        rest, finished = waiting, 0 * one
        while rest != 0:
            i = bit_count((rest & -rest) - 1)
            rest &= rest - 1
            mine = children[i] & reach
            if mine & ~done == 0:
                reached = mine
                while mine != 0:
                    reached |= below[bit_count((mine & -mine) - 1)]
                    mine &= mine - 1
                below[i] = reached
                finished |= one << i
        if finished == 0:
            break
        done |= finished
        waiting &= ~finished
    if general:
        return
    lone, rest = 0 * one, inner & ~parents[k] & ~children[k]
    while rest != 0:
        i = bit_count((rest & -rest) - 1)
        rest &= rest - 1
        if bit_count(children[i] & everyone) == 1:
            lone |= one << i
    sets[BLANKET] = parents[k] | children[k] | inner
    sets[INNER] = inner
    sets[SOLE] = sole
    sets[LONE] = lone


@kernel()
def options(parents, children, below, sets, most, general, kind, chosen):  # type: ignore[no-untyped-def]
    """Count the moves of a kind, or find one of them.

    Parameters
    ----------
    parents, children, below, sets : ndarray of int
        From `relate`.
    most : int
        The most parents of a node.
    general : bool
        Whether the space is that of all graphs without cycles.
    kind : int
        As in `problem`.
    chosen : int
        Which move is asked for, counted from 0; -1 to count them.

    Returns
    -------
    number, source, target, instead : int
        How many there are (where they are counted), the arc of the move that is asked for, and the
        node that an exchange puts in the place of its source, else -1.
    """
    if kind == EXCHANGE:
        return _exchanges(parents, children, below, general, chosen)
    if general:
        return _anywhere(parents, children, below, most, kind, chosen)
    k = parents.size - 1
    one = 1 + 0 * parents[0]
    everyone = (one << k) - 1
    # An arc whose source is outside the Markov blanket adds a feature, any other an arc, and a
    # deletion is of the first kind where its source leaves the blanket. So each kind is undone by
    # exactly one other (`BACK`), which the Hastings ratio in `propose` relies on.
    above, under = parents[k], children[k]
    room = bit_count(above) < most
    if kind in (ADD_FEATURE, ADD_ARC):
        to_class = everyone & ~sets[BLANKET]
        anyone = to_class
        if kind == ADD_ARC:
            to_class = sets[BLANKET] & ~above & ~under
            anyone = sets[BLANKET]
        # A parent of the class cannot become its child as well, and the other way round.
        from_class = to_class
    elif kind == REVERSE:
        # A child with other parents would leave arcs behind that enter no child of the class.
        to_class, from_class, anyone = above, sets[SOLE] if room else 0 * one, under
    elif kind == DELETE_FEATURE:
        to_class, from_class = above & ~sets[INNER], sets[SOLE] & ~sets[INNER]
        anyone = sets[LONE]
    else:
        to_class, from_class = above & sets[INNER], sets[SOLE] & sets[INNER]
        anyone = ~sets[LONE]
    adds = kind in (ADD_FEATURE, ADD_ARC)
    number = 0
    if not adds or room:
        n_here = bit_count(to_class)
        if 0 <= chosen < number + n_here:
            return number, nth_bit(to_class, chosen - number), k, -1
        number += n_here
    n_here = bit_count(from_class)
    if 0 <= chosen < number + n_here:
        return number, k, nth_bit(from_class, chosen - number), -1
    number += n_here
    rest = under
    while rest != 0:
        j = bit_count((rest & -rest) - 1)
        rest &= rest - 1
        if adds:
            if bit_count(parents[j]) >= most:
                continue
            # An arc from a descendant of j would close a cycle.
            who = anyone & ~parents[j] & ~below[j] & ~(one << j)
        else:
            who = anyone & parents[j] & everyone
            if kind == REVERSE:
                who = _reversible(parents, children, below, most, j, who)
        n_here = bit_count(who)
        if 0 <= chosen < number + n_here:
            return number, nth_bit(who, chosen - number), j, -1
        number += n_here
    return number, -1, -1, -1


@kernel()
def _anywhere(parents, children, below, most, kind, chosen):  # type: ignore[no-untyped-def]
    """Count or find additions, deletions and reversals in the general space."""
    nodes = parents.size
    one = 1 + 0 * parents[0]
    anyone = (one << nodes) - 1
    number = 0
    for j in range(nodes):
        who = parents[j]
        if kind == ADD_ARC:
            room = bit_count(parents[j]) < most
            who = anyone & ~parents[j] & ~below[j] & ~(one << j) if room else 0 * one
        elif kind == REVERSE:
            who = _reversible(parents, children, below, most, j, who)
        n_here = bit_count(who)
        if 0 <= chosen < number + n_here:
            return number, nth_bit(who, chosen - number), j, -1
        number += n_here
    return number, -1, -1, -1


@kernel()
def _exchanges(parents, children, below, general, chosen):  # type: ignore[no-untyped-def]
    """Count or find exchanges of one parent of a node for another.

    In the smaller space the class stays a parent, and none of its children becomes its parent.
    """
    k = parents.size - 1
    one = 1 + 0 * parents[0]
    everyone = (one << k) - 1
    anyone = everyone | (one << k) if general else everyone
    number = 0
    for j in range(k + 1):
        leave = parents[j] & anyone
        if leave == 0:
            continue
        # The arc that goes was none of those that lead away from j.
        after = children[k] if j == k and not general else below[j] | (one << j)
        enter = anyone & ~parents[j] & ~after
        each = bit_count(enter)
        n_here = bit_count(leave) * each
        if 0 <= chosen < number + n_here:
            a, b = (chosen - number) // each, (chosen - number) % each
            return number, nth_bit(leave, a), j, nth_bit(enter, b)
        number += n_here
    return number, -1, -1, -1


@kernel()
def _reversible(parents, children, below, most, j, who):  # type: ignore[no-untyped-def]
    """Return those parents of a feature whose arcs to it may be reversed, of some of them."""
    one = 1 + 0 * parents[0]
    result, rest = 0 * one, who
    while rest != 0:
        i = bit_count((rest & -rest) - 1)
        rest &= rest - 1
        good = bit_count(parents[i]) < most
        others = children[i] & ~(one << j)
        while good and others != 0:  # another way from i to j would become a cycle
            good = (below[bit_count((others & -others) - 1)] >> j) & 1 == 0
            others &= others - 1
        if good:
            result |= one << i
    return result


@kernel()
def blanket_of(parents):  # type: ignore[no-untyped-def]
    """Return the class's Markov blanket in any graph without cycles, as bits."""
    k = parents.size - 1
    one = 1 + 0 * parents[0]
    result = parents[k]
    for j in range(k):
        if (parents[j] >> k) & 1:
            result |= parents[j] | (one << j)
    return result & ~(one << k)


@kernel()
def _printed(parents, children, below, most, kind, chosen):  # type: ignore[no-untyped-def]
    """Count or find the moves of equation 9 as printed, which many deletions cannot undo.

    Arcs are added between a feature and the class, or from a feature to a child of the class; any
    arc is deleted, that from the class to a child with other parents too. A move is one of features
    where the Markov blanket is another one afterwards, by however many features.
    """
    k = parents.size - 1
    one = 1 + 0 * parents[0]
    everyone, before, other = (one << k) - 1, blanket_of(parents), parents.copy()
    adds = kind in (ADD_FEATURE, ADD_ARC)
    of_features = kind in (ADD_FEATURE, DELETE_FEATURE)
    number = 0
    for j in range(k + 1):
        who = parents[j]
        if adds:
            # An arc from a descendant of j would close a cycle; children of the class are some.
            who = everyone & ~parents[j] & ~below[j] & ~(one << j)
            if j < k and (children[k] >> j) & 1 == 0:
                # A feature that is no child of the class can become one, and nothing else.
                who = one << k if (below[j] >> k) & 1 == 0 else 0 * one
            if bit_count(parents[j]) >= most:
                who = 0 * one
        while who != 0:
            i = bit_count((who & -who) - 1)
            who &= who - 1
            other[j] = parents[j] ^ (one << i)
            if (blanket_of(other) != before) == of_features:
                if number == chosen:
                    return number, i, j, -1
                number += 1
        other[j] = parents[j]
    return number, -1, -1, -1


@kernel()
def choices(variant, parents, children, below, sets, most, general, kind, chosen):  # type: ignore[no-untyped-def]
    """Count the moves that a proposal chooses from, or find one of them.

    Parameters and what is returned are those of `options`, with the kind of the move after the
    number. The uniform proposal chooses from all additions and deletions, whatever the kind.
    """
    if variant.proposal == PRINTED:
        number, source, target, _ = _printed(parents, children, below, most, kind, chosen)
        return number, kind, source, target, -1
    if variant.proposal == UNIFORM:
        number = 0
        for each in range(ADD_ARC if general else ADD_FEATURE, DELETE_ARC + 1):
            left = chosen - number if chosen >= number else -1
            here, source, target, _ = options(
                parents, children, below, sets, most, general, each, left
            )
            if source >= 0:
                return number, each, source, target, -1
            number += here
        return number, kind, -1, -1, -1
    number, source, target, instead = options(
        parents, children, below, sets, most, general, kind, chosen
    )
    return number, kind, source, target, instead


@kernel()
def change(parents, kind, source, target, instead):  # type: ignore[no-untyped-def]
    """Make a move that `options` found; return by how much the number of arcs changes."""
    one = 1 + 0 * parents[0]
    if kind in (ADD_FEATURE, ADD_ARC):
        parents[target] |= one << source
        return 1
    parents[target] &= ~(one << source)
    if kind == REVERSE:
        parents[source] |= one << target
        return 0
    if kind == EXCHANGE:
        parents[target] |= one << instead
        return 0
    return -1


@kernel()
def draw_kind(rng, reversal, exchange, general):  # type: ignore[no-untyped-def]
    """Draw a kind of moves: equation 11, after the shares of reversals and exchanges.

    In the general space, where an arc may bring several features, it is to add or to delete.
    """
    u = rng.random()
    if u < reversal:
        return REVERSE
    if u < reversal + exchange:
        return EXCHANGE
    if general:
        return (
            ADD_ARC if 2.0 * (u - reversal - exchange) < 1.0 - reversal - exchange else DELETE_ARC
        )
    return min(3, int(4.0 * (u - reversal - exchange) / (1.0 - reversal - exchange)))


# --------------------------------------------------------------------------------------------------
# Markov chains over graphs: Metropolis and Hastings with the actual proposal probabilities
#
# A chain is a ladder of graphs. The likelihood of the graph on step t counts by its power h_t, with
# h_0 = 1, so that those on higher steps cross where those on lower ones do not. Now and then graphs
# on neighbouring steps change places, with probability
#
#     min(1, exp((h_t - h_u) (score of graph u - score of graph t))),
#
# which keeps the product of all their distributions. Only the graph on the first step is drawn.
# --------------------------------------------------------------------------------------------------


EACH_ROUND = 50
"""Proposals before neighbours on the ladder may change places."""


@kernel()
def propose(rng, parents, family, problem, variant, memory, heat, n_arcs, number):  # type: ignore[no-untyped-def]
    """Make some proposals, and moves where they are accepted.

    Parameters
    ----------
    rng : Generator
        Randomness.
    parents : ndarray of int of shape (k + 1,)
        The graph, overwritten.
    family : ndarray of shape (k + 1,)
        Score of each node, overwritten. A score of rows is one number of the whole graph, the first
        here, and the others are 0.
    problem : NetworkProblem
        What is sampled.
    variant : Variant or None
        Of the problem.
    memory : Memory
        Where scores are remembered.
    heat : float
        Power of the likelihood.
    n_arcs : int
        Arcs of the graph.
    number : int
        Proposals.

    Returns
    -------
    int
        Arcs of the graph afterwards.
    """
    most, general = problem.max_parents, problem.general
    children, below, sets = np.zeros_like(parents), np.zeros_like(parents), np.zeros(4, np.int64)
    other = parents.copy()
    children2, below2, sets2 = children.copy(), below.copy(), sets.copy()
    relate(parents, children, below, sets, general)
    for _ in range(number):
        # Where the variant is None, compilation leaves out all that asks for it, and `options` is
        # called directly: even an empty call in between costs a fifth of the speed.
        if variant is None:
            kind = draw_kind(rng, problem.reversal, problem.exchange, general)
            here, _, _, _ = options(parents, children, below, sets, most, general, kind, -1)
        else:
            merged = general and variant.proposal != PRINTED
            kind = draw_kind(rng, problem.reversal, problem.exchange, merged)
            here, _, _, _, _ = choices(
                variant, parents, children, below, sets, most, general, kind, -1
            )
        if here == 0:
            continue  # counted as a rejection: the graph stays, and so does its distribution
        chosen = int(rng.integers(0, here))
        if variant is None:
            _, source, target, instead = options(
                parents, children, below, sets, most, general, kind, chosen
            )
        else:
            _, kind, source, target, instead = choices(
                variant, parents, children, below, sets, most, general, kind, chosen
            )
        other[:] = parents
        more = change(other, kind, source, target, instead)
        relate(other, children2, below2, sets2, general)
        of_target, of_source, of_graph = 0.0, family[source], 0.0
        if variant is None or variant.objective == MARGINAL:
            of_target = remembered_score(problem, memory, target, other[target])
            if kind == REVERSE:
                of_source = remembered_score(problem, memory, source, other[source])
            # Only the families of nodes whose parents change have another score.
            gain = heat * (of_target - family[target] + of_source - family[source])
            if variant is not None:
                gain /= variant.temperature
        else:
            of_graph = graph_score(problem, variant, memory, other)
            gain = heat * (log_weight(of_graph, variant) - log_weight(family[0], variant))
        gain += problem.log_prior[n_arcs + more] - problem.log_prior[n_arcs]
        if variant is not None and variant.log_prior_of_features.size:
            gain += variant.log_prior_of_features[bit_count(sets2[BLANKET])]
            gain -= variant.log_prior_of_features[bit_count(sets[BLANKET])]
        # Hastings: a kind and the one that undoes it are drawn with the same probability, and a
        # move with one over the number of its kind. ``there`` is 1 at least, the way back.
        there = here
        if variant is None:
            there, _, _, _ = options(other, children2, below2, sets2, most, general, BACK[kind], -1)
        elif variant.proposal != PRINTED:
            there, _, _, _, _ = choices(
                variant, other, children2, below2, sets2, most, general, BACK[kind], -1
            )
        gain += math.log(here / there)
        if math.log(1.0 - rng.random()) < gain:
            n_arcs += more
            if variant is None or variant.objective == MARGINAL:
                family[target], family[source] = of_target, of_source
            else:
                family[0] = of_graph
            parents[:] = other
            children, children2 = children2, children
            below, below2 = below2, below
            sets, sets2 = sets2, sets
    return n_arcs


@kernel()
def change_places(rng, parents, family, variant, arcs, heat):  # type: ignore[no-untyped-def]
    """Let graphs on neighbouring steps of the ladder change places, from the last step on."""
    for t in range(heat.size - 1, 0, -1):
        # The prior has the power 1 on every step, so that it cancels.
        gain = (heat[t - 1] - heat[t]) * (family[t].sum() - family[t - 1].sum())
        if variant is not None:
            gain /= variant.temperature  # only logs of probabilities have a ladder, and no shares
        if math.log(1.0 - rng.random()) < gain:
            arcs[t], arcs[t - 1] = arcs[t - 1], arcs[t]
            for i in range(parents.shape[1]):
                parents[t, i], parents[t - 1, i] = parents[t - 1, i], parents[t, i]
                family[t, i], family[t - 1, i] = family[t - 1, i], family[t, i]


@kernel()
def score_graph(problem, variant, memory, parents, family):  # type: ignore[no-untyped-def]
    """Write the score of each node; of a graph that is scored by rows one number, and 0."""
    family[:] = 0.0
    if variant is None or variant.objective == MARGINAL:
        for i in range(parents.size):
            family[i] = remembered_score(problem, memory, i, parents[i])
    else:
        family[0] = graph_score(problem, variant, memory, parents)


@kernel()
def walk(rng, parents, problem, memory, thin, graphs, arcs, scores):  # type: ignore[no-untyped-def]
    """Walk from a ladder of graphs, which is overwritten; fill in the draws of its first step.

    Parameters
    ----------
    rng : Generator
        Randomness.
    parents : ndarray of int of shape (T, k + 1)
        The graphs.
    problem : NetworkProblem
        What is sampled.
    memory : Memory
        Where scores are remembered.
    thin : int
        Proposals for each draw, on each step of the ladder.
    graphs : ndarray of int of shape (S, k + 1)
        Parents of each node, written.
    arcs : ndarray of int of shape (S,)
        Arcs, written.
    scores : ndarray of shape (S,)
        Log marginal likelihood, or the score of rows, written.
    """
    steps, nodes = parents.shape
    family, n_arcs = np.empty((steps, nodes)), np.zeros(steps, np.int64)
    for t in range(steps):
        score_graph(problem, problem.variant, memory, parents[t], family[t])
        for i in range(nodes):
            n_arcs[t] += bit_count(parents[t, i])
    # Shares have no ladder: what is divided by the temperature is the log of a probability.
    for draw in range(scores.size):
        left = thin
        while left > 0:
            number = min(left, EACH_ROUND) if steps > 1 else left
            left -= number
            for t in range(steps):
                n_arcs[t] = propose(
                    rng,
                    parents[t],
                    family[t],
                    problem,
                    problem.variant,
                    memory,
                    problem.heat[t],
                    n_arcs[t],
                    number,
                )
            change_places(rng, parents, family, problem.variant, n_arcs, problem.heat)
        graphs[draw] = parents[0]
        arcs[draw] = n_arcs[0]
        scores[draw] = family[0].sum()
