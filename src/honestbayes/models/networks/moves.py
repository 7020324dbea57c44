"""Moves between graphs: the four kinds of equation 11, reversals, and exchanges of parents.

A graph is the set of parents of each node, as bits of a whole number: bit j for feature j, bit k
for the class, which is also the last node. In the space of graphs every arc enters the class or one
of its children, so that a feature with parents has the class among them, the ancestors of the class
are its parents, and its descendants are its children. In the larger space of all graphs without
cycles (``general``) arcs are added, deleted, reversed and exchanged wherever that leaves none.

References
----------
Egmont-Petersen, M. Feature selection by Markov chain Monte Carlo sampling: a Bayesian approach,
section 4.4, equations 9 to 11. The moves of equation 9 are not reversible; those here are.
"""

from __future__ import annotations

import math

from honestbayes.compiled import kernel
from honestbayes.models.networks.problem import (
    ADD_ARC,
    ADD_FEATURE,
    BLANKET,
    DELETE_ARC,
    DELETE_FEATURE,
    EXCHANGE,
    INNER,
    LONE,
    REVERSE,
    SOLE,
)


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
        Written, as `problem.BLANKET` and the others say; not used in the general space.
    general : bool
        Whether the space is that of all graphs without cycles.
    """
    k = parents.size - 1
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
        rest, found = waiting, 0 * one
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
                found |= one << i
        if found == 0:
            break
        done |= found
        waiting &= ~found
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
        found = bit_count(to_class)
        if 0 <= chosen < number + found:
            return number, nth_bit(to_class, chosen - number), k, -1
        number += found
    found = bit_count(from_class)
    if 0 <= chosen < number + found:
        return number, k, nth_bit(from_class, chosen - number), -1
    number += found
    rest = under
    while rest != 0:
        j = bit_count((rest & -rest) - 1)
        rest &= rest - 1
        if adds:
            if bit_count(parents[j]) >= most:
                continue
            who = anyone & ~parents[j] & ~below[j] & ~(one << j)
        else:
            who = anyone & parents[j] & everyone
            if kind == REVERSE:
                who = _reversible(parents, children, below, most, j, who)
        found = bit_count(who)
        if 0 <= chosen < number + found:
            return number, nth_bit(who, chosen - number), j, -1
        number += found
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
        found = bit_count(who)
        if 0 <= chosen < number + found:
            return number, nth_bit(who, chosen - number), j, -1
        number += found
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
        found = bit_count(leave) * each
        if 0 <= chosen < number + found:
            a, b = (chosen - number) // each, (chosen - number) % each
            return number, nth_bit(leave, a), j, nth_bit(enter, b)
        number += found
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


@kernel()
def log_of_ratio(here, there):  # type: ignore[no-untyped-def]
    """Return the log of the chance of the way back over that of the way there.

    Both kinds are drawn with the same probability, and each move with one over the number of moves
    of its kind.
    """
    return math.log(here / there)
