"""Markov chains over subsets: proposals, and walks by additive or conditional scores.

A subset is the first ``size`` places of a permutation of all features, so that a feature inside or
outside is drawn in one step and moved by one exchange.

References
----------
Egmont-Petersen, M. Feature selection by Markov chain Monte Carlo sampling: a Bayesian approach,
section 4.3.
"""

from __future__ import annotations

import math

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.models.subsets.problem import ACCURACY, DISTANCE, LIKELIHOOD, LOG, UNIFORM

FARTHEST = 150.0
"""Log-odds up to which odds are multiplied; beyond it logarithms are added."""

TIE = 1e-9
"""Log-odds that are nearer to 0 are even: rounding, which depends on the way that a chain took,
must not decide on a case."""


# ------------------------------------------------------------------------------- proposals


@kernel()
def chance_of_adding(size, most):  # type: ignore[no-untyped-def]
    """Return how often the two-step proposal adds; at the ends it has no choice."""
    if size == 0:
        return 1.0
    return 0.0 if size == most else 0.5


@kernel()
def propose(rng, size, p, moves):  # type: ignore[no-untyped-def]
    """Draw a proposal.

    Returns
    -------
    enters, leaves : int
        Places in the permutation of the feature that is added and of the one that is deleted; -1
        for none.
    log_ratio : float
        Log of the probability of proposing the way back, over that of proposing this.
    """
    most = moves.log_prior.size - 1
    if moves.swap > 0 and rng.random() < moves.swap:
        if size == 0 or size == p:
            return -1, -1, 0.0
        return size + int(rng.integers(0, p - size)), int(rng.integers(0, size)), 0.0
    if moves.scheme == UNIFORM:
        n_adding = p - size if size < most else 0
        r = int(rng.integers(0, n_adding + size))
        added = r < n_adding
        after = size + 1 if added else size - 1
        # Equation 6: as many neighbours as features to add or to delete; none to add at the limit.
        n_after = after + (p - after if after < most else 0)
        log_ratio = math.log((n_adding + size) / n_after)
        return (size + r, -1, log_ratio) if added else (-1, r - n_adding, log_ratio)
    chance = chance_of_adding(size, most)
    # The printed equation 8 lacks the factor 2 of moves into an end, which have no other way out.
    if rng.random() < chance:
        back = (1.0 - chance_of_adding(size + 1, most)) / (size + 1)
        return size + int(rng.integers(0, p - size)), -1, math.log(back * (p - size) / chance)
    back = chance_of_adding(size - 1, most) / (p - size + 1)
    return -1, int(rng.integers(0, size)), math.log(back * size / (1.0 - chance))


@kernel()
def exchange(order, size, enters, leaves):  # type: ignore[no-untyped-def]
    """Move features in and out of the subset; return its size."""
    if enters >= 0 and leaves >= 0:
        order[enters], order[leaves] = order[leaves], order[enters]
        return size
    if enters >= 0:
        order[enters], order[size] = order[size], order[enters]
        return size + 1
    order[leaves], order[size - 1] = order[size - 1], order[leaves]
    return size - 1


@kernel()
def log_weight(score, moves):  # type: ignore[no-untyped-def]
    """Return the log of what the target gives a score, before the prior."""
    if moves.kind == LOG:
        return score / moves.temperature
    value = 1.0 - 0.5 * math.exp(-score) if moves.kind == DISTANCE else score
    return math.log(value) / moves.temperature if value > 0 else -np.inf


@kernel()
def size_after(size, enters, leaves):  # type: ignore[no-untyped-def]
    """Return the size of a proposed subset."""
    return size + (1 if enters >= 0 else 0) - (1 if leaves >= 0 else 0)


@kernel()
def accepts(rng, now, then, log_ratio):  # type: ignore[no-untyped-def]
    """Decide by Metropolis and Hastings; a state that is impossible is always left."""
    if then == -np.inf:
        return False
    return math.log(1.0 - rng.random()) < then - now + log_ratio


@kernel()
def note(order, size, bits):  # type: ignore[no-untyped-def]
    """Write a subset as bits, the first feature's being the highest of the first byte."""
    bits[:] = 0
    for j in order[:size]:
        bits[j >> 3] |= np.uint8(128 >> (j & 7))


# --------------------------------------------------------------------------- scores that add


@kernel()
def walk_sums(rng, order, size, moves, values, thin, bits, sizes, scores):  # type: ignore[no-untyped-def]
    """Walk by a score that is the sum of the features' values; fill bits, sizes and scores.

    Returns the size; overwrites the permutation.
    """
    p = order.size
    score = moves.base
    for j in order[:size]:
        score += values[j]
    now = moves.log_prior[size] + log_weight(score, moves)
    for draw in range(sizes.size):
        for _ in range(thin):
            enters, leaves, log_ratio = propose(rng, size, p, moves)
            if enters < 0 and leaves < 0:
                continue
            new = score
            if enters >= 0:
                new += values[order[enters]]
            if leaves >= 0:
                new -= values[order[leaves]]
            prior = moves.log_prior[size_after(size, enters, leaves)]
            then = prior + log_weight(new, moves)
            if accepts(rng, now, then, log_ratio):
                size = exchange(order, size, enters, leaves)
                score, now = new, then
        note(order, size, bits[draw])
        sizes[draw], scores[draw] = size, score
    return size


# ----------------------------------------------------------------------- scores that look at rows


@kernel()
def _change(rows, margin, j, sign, out):  # type: ignore[no-untyped-def]
    """Write the log-odds of all rows with a feature more (sign 1) or less (-1)."""
    slot = rows.first[j] + 1
    for i in range(margin.shape[0]):
        for c in range(margin.shape[1]):
            gain = rows.log_table[rows.fold[i], rows.labels[i], c, slot + rows.cells[i, j]]
            out[i, c] = margin[i, c] + sign * gain


@kernel()
def score_of_rows(margin, score):  # type: ignore[no-untyped-def]
    """Return the score of log-odds of the other classes against the actual one."""
    n, n_others = margin.shape
    total = 0.0
    for i in range(n):
        top = 0.0
        for c in range(n_others):
            top = max(top, margin[i, c])
        own = math.exp(-top)
        others, squares, highest = 0.0, 0.0, -np.inf
        for c in range(n_others):
            one = math.exp(margin[i, c] - top)
            others += one
            squares += one * one
            highest = max(highest, margin[i, c])
        if score == LIKELIHOOD:
            total -= top + math.log(own + others)
        elif score == ACCURACY:
            total += 1.0 if highest < -TIE else 0.5 if highest <= TIE else 0.0
        else:
            whole = own + others
            total += 1.0 - 0.5 * (others * others + squares) / (whole * whole)
    return total if score == LIKELIHOOD else total / n


@kernel()
def _factors(rows, j, sign, out):  # type: ignore[no-untyped-def]
    """Multiply ``out`` by what a feature makes of the odds of each row, of two classes."""
    n_slots = rows.table.shape[3]
    flat = rows.table.reshape(-1) if sign > 0 else rows.inverse.reshape(-1)
    slot = rows.first[j] + 1
    for i in range(out.size):
        out[i] *= flat[(2 * rows.fold[i] + rows.labels[i]) * n_slots + slot + rows.cells[i, j]]


@kernel()
def _score_of_odds(odds, score):  # type: ignore[no-untyped-def]
    """Return the score of the odds of the other class against the actual one, of two classes."""
    total = 0.0
    if score == LIKELIHOOD:
        # One logarithm of the product of many: no factor is above exp(2 FARTHEST) < 1e131.
        product = 1.0
        for i in range(odds.size):
            product *= 1.0 + odds[i]
            if product > 1e150:
                total -= math.log(product)
                product = 1.0
        return total - math.log(product)
    for i in range(odds.size):
        if score == ACCURACY:
            total += 1.0 if odds[i] < 1.0 - TIE else 0.5 if odds[i] <= 1.0 + TIE else 0.0
        else:
            wrong = odds[i] / (1.0 + odds[i])
            total += 1.0 - wrong * wrong
    return total / odds.size


@kernel()
def walk_rows(rng, order, size, moves, rows, thin, bits, sizes, scores):  # type: ignore[no-untyped-def]
    """Walk by a score of all rows; fill bits, sizes and scores, and return the size.

    Two classes have odds that are multiplied while none is extreme, which is several times as fast.
    """
    p, n = order.size, rows.margin.shape[0]
    margin, other = rows.margin.copy(), rows.margin.copy()
    for j in order[:size]:
        _change(rows, margin, j, 1.0, margin)
    odds, product = np.empty(n), np.empty(n)
    near = _refresh(rows, margin, odds)
    score = score_of_rows(margin, rows.score)
    now = moves.log_prior[size] + log_weight(score, moves)
    for draw in range(sizes.size):
        for _ in range(thin):
            enters, leaves, log_ratio = propose(rng, size, p, moves)
            if enters < 0 and leaves < 0:
                continue
            prior = moves.log_prior[size_after(size, enters, leaves)]
            if prior == -np.inf:
                continue
            if near:
                product[:] = odds
                if enters >= 0:
                    _factors(rows, order[enters], 1, product)
                if leaves >= 0:
                    _factors(rows, order[leaves], -1, product)
                new = _score_of_odds(product, rows.score)
            else:
                _changed(rows, margin, order, enters, leaves, other)
                new = score_of_rows(other, rows.score)
            then = prior + log_weight(new, moves)
            if accepts(rng, now, then, log_ratio):
                _changed(rows, margin, order, enters, leaves, margin)
                size = exchange(order, size, enters, leaves)
                near = _refresh(rows, margin, odds)
                score, now = new, then
        note(order, size, bits[draw])
        sizes[draw], scores[draw] = size, score
    return size


@kernel()
def _changed(rows, margin, order, enters, leaves, out):  # type: ignore[no-untyped-def]
    """Write the log-odds of a proposed subset."""
    if enters >= 0:
        _change(rows, margin, order[enters], 1.0, out)
        margin = out
    if leaves >= 0:
        _change(rows, margin, order[leaves], -1.0, out)


@kernel()
def _refresh(rows, margin, odds):  # type: ignore[no-untyped-def]
    """Compute odds from log-odds; return whether products of them may be used."""
    if margin.shape[1] != 1 or rows.table.size == 0:
        return False
    for i in range(odds.size):
        if abs(margin[i, 0]) > FARTHEST:
            return False
        odds[i] = math.exp(margin[i, 0])
    return True


# --------------------------------------------------------------------------------------------------
# Probabilities averaged over subsets of features
# --------------------------------------------------------------------------------------------------


@kernel()
def add_averages(cells, first, log_likelihood, log_prior, start, members, weight, out):  # type: ignore[no-untyped-def]
    """Add to ``out`` the class probabilities of each row, averaged over subsets.

    Parameters
    ----------
    cells : ndarray of int of shape (n, p)
        Codes.
    first : ndarray of int of shape (p,)
        Slot of each column's missing cells.
    log_likelihood : ndarray of shape (L, C)
        Log P(level | class) of each slot.
    log_prior : ndarray of shape (C,)
        Of the classes.
    start, members : ndarray of int
        The columns of subset s are ``members[start[s] : start[s + 1]]``.
    weight : ndarray of shape (S,)
        Of the subsets; their sum is 1.
    out : ndarray of shape (n, C)
        Probabilities.
    """
    n, n_classes = out.shape
    value = np.empty(n_classes)
    for i in range(n):
        for s in range(weight.size):
            for c in range(n_classes):
                value[c] = log_prior[c]
            for j in members[start[s] : start[s + 1]]:
                slot = first[j] + 1 + cells[i, j]
                for c in range(n_classes):
                    value[c] += log_likelihood[slot, c]
            top = value.max()
            total = 0.0
            for c in range(n_classes):
                value[c] = np.exp(value[c] - top)
                total += value[c]
            for c in range(n_classes):
                out[i, c] += weight[s] * value[c] / total
