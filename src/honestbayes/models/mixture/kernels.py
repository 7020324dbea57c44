"""One sweep over the labels, thetas and alphas of a two-component mixture (thesis, section 2.4.2).

Columns of ``cells`` are the response (column 0) and the kept features; a cell is 0, 1, or 2 where
it is missing. Given the label of its case a cell is a one with probability phi; phi is integrated
out, and the counts of each component are all that is left of the data. Columns belong to blocks
that share an alpha: the response, the features that were ranked, and those kept by design.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.correction.mixture_kernels import (
    log_selection,
    log_selection_of_alpha,
    prepare,
    prepare_state,
)
from honestbayes.sampling.slicing import DONE, LOG_F, PHASE, POINT, X, slice_start, slice_tell
from honestbayes.types import AnyArray, FloatArray, IntArray

MISSING = 2
RESPONSE, RANKED, BY_DESIGN = 0, 1, 2

_FLUSH = 8
"""Columns whose factors are multiplied before a logarithm is taken. A factor is at most about
(5e8)^2, and at least 1e-36 (`_LOWEST`, and the bounds of theta), so that 8 stay within 1e-288 and
1e140."""

_LARGE = 60.0  # from here on Stirling's series is accurate to rounding
_ALPHA_WIDTH = 1.0
_ALMOST_NOTHING = 1e-15  # rounding must not make a probability 0 or 1

LOG_ALPHAS = _LOWEST, _HIGHEST = -7.0, 20.0
"""Bounds of log(alpha): 0.001 to 5e8."""


class MixtureProblem(NamedTuple):
    """Data, priors and what is known of the discarded features, as kernels take them.

    Attributes
    ----------
    cells : ndarray of int8 of shape (n, 1 + k)
        Response and kept features.
    blocks : ndarray of int of shape (1 + k,)
        Block of each column.
    pseudocounts : ndarray of shape (2,)
        Beta prior of the components' frequencies.
    priors : ndarray of shape (B, 2)
        Shape and rate of the inverse gamma prior of each block's alpha.
    grid : ndarray of shape (B, G)
        Values of log(alpha) with even prior weights; empty where alpha is continuous.
    theta_range : ndarray of shape (2,)
        Bounds of theta.
    labels_are_fixed : bool
        Whether labels stay as they are: the naive Bayes model, where they are the classes.
    table : TableArrays
        Of `correction.mixture_table`; with no discarded features, where none are conditioned on.
    """

    cells: AnyArray
    blocks: IntArray
    pseudocounts: FloatArray
    priors: FloatArray
    grid: FloatArray
    theta_range: FloatArray
    labels_are_fixed: bool
    table: Any


@kernel()
def log_rising(x, m):  # type: ignore[no-untyped-def]
    """Return log(x (x + 1) ... (x + m - 1)) for any x > 0, without loss where x is large."""
    if m == 0:
        return 0.0
    if m == 1:
        return math.log(x)
    if x < _LARGE:
        return math.lgamma(x + m) - math.lgamma(x)
    # The difference of two Stirling series, with what cancels taken out by hand: a difference of
    # two values of lgamma would lose about as many digits as x / m has.
    end = x + m
    series = (1.0 / end - 1.0 / x) / 12.0 - (1.0 / end**3 - 1.0 / x**3) / 360.0
    return m * math.log(x) + (end - 0.5) * math.log1p(m / x) - m + series


@kernel()
def count(cells, labels, ones, seen):  # type: ignore[no-untyped-def]
    """Count the ones, and the cells that are there, of each column in each component."""
    ones[:] = 0
    seen[:] = 0
    for i in range(cells.shape[0]):
        c = labels[i]
        for j in range(cells.shape[1]):
            if cells[i, j] != MISSING:
                seen[c, j] += 1
                ones[c, j] += cells[i, j]


@kernel()
def in_component_1(cells, labels):  # type: ignore[no-untyped-def]
    """Count the cases of component 1 in class 0 and in class 1: all that selection knows of z."""
    a, b = 0, 0
    for i in range(labels.size):
        if labels[i] == 1:
            b += cells[i, 0]
            a += 1 - cells[i, 0]
    return a, b


@kernel()
def _log_odds(row, alpha, mass, ones, seen):  # type: ignore[no-untyped-def]
    """Return log P(row | component 1) - log P(row | component 0), equation 2.70."""
    total, above, below = 0.0, 1.0, 1.0
    used = 0
    for j in range(row.size):
        x = row[j]
        if x == MISSING:
            continue
        one_0, one_1 = mass[j] + ones[0, j], mass[j] + ones[1, j]
        all_0, all_1 = alpha[j] + seen[0, j], alpha[j] + seen[1, j]
        if x == 1:
            above *= one_1 * all_0
            below *= one_0 * all_1
        else:
            above *= (all_1 - one_1) * all_0
            below *= (all_0 - one_0) * all_1
        used += 1
        if used % _FLUSH == 0:
            total += np.log(above / below)
            above, below = 1.0, 1.0
    return total + np.log(above / below)


@kernel()
def update_labels(  # type: ignore[no-untyped-def]
    rng, cells, labels, alpha, theta, pseudocounts, ones, seen, table, work
):
    """Draw the label of each case given all others, equation 2.74, times the adjustment factor.

    ``table`` and ``work`` are those of `correction.mixture_kernels`, prepared for this alpha.
    """
    mass = alpha * theta
    a, b = in_component_1(cells, labels)
    size_1 = a + b
    here = log_selection(table, work, a, b) if table.n_discarded > 0 else 0.0
    for i in range(labels.size):
        row, old, y = cells[i], labels[i], cells[i, 0]
        for j in range(row.size):
            if row[j] != MISSING:
                seen[old, j] -= 1
                ones[old, j] -= row[j]
        size_1 -= old
        a -= old * (1 - y)
        b -= old * y
        others_0 = labels.size - 1 - size_1
        # The case itself is taken out of all counts: what is left is the Polya urn of the others.
        log_odds = np.log((pseudocounts[1] + size_1) / (pseudocounts[0] + others_0))
        log_odds += _log_odds(row, alpha, mass, ones, seen)
        there = here
        if table.n_discarded > 0:
            # P(S) depends on labels by (a, b) alone, and one of both states is the one that the
            # case was in: one look-up is enough.
            if old == 1:
                there = log_selection(table, work, a, b)
                log_odds += here - there
            else:
                there = log_selection(table, work, a + 1 - y, b + y)
                log_odds += there - here
        new = 1 if rng.random() * (1.0 + np.exp(-log_odds)) < 1.0 else 0
        if new != old:
            here = there
        labels[i] = new
        for j in range(row.size):
            if row[j] != MISSING:
                seen[new, j] += 1
                ones[new, j] += row[j]
        size_1 += new
        a += new * (1 - y)
        b += new * y


@kernel()
def _log_theta(theta, alpha, ones, zeros):  # type: ignore[no-untyped-def]
    """Return the log density of one theta given the counts of both components, equation 2.75."""
    mass, rest = alpha * theta, alpha * (1.0 - theta)
    if mass <= 0.0 or rest <= 0.0:
        return -np.inf
    return (
        log_rising(mass, ones[0])
        + log_rising(mass, ones[1])
        + log_rising(rest, zeros[0])
        + log_rising(rest, zeros[1])
    )


@kernel()
def update_thetas(rng, alpha, theta, bounds, ones, seen):  # type: ignore[no-untyped-def]
    """Draw each theta by slice sampling; its own column alone matters."""
    for j in range(theta.size):
        one, zero = ones[:, j], seen[:, j] - ones[:, j]
        n = seen[:, j].sum()
        # As wide as a few standard deviations, from counts that do not change with theta: a width
        # that depended on the present theta would make the slice sampler irreversible.
        share = (one.sum() + 1.0) / (n + 2.0)
        width = min(1.0, 4.0 * math.sqrt(share * (1.0 - share) / (n + 1.0)))
        log_f = _log_theta(theta[j], alpha[j], one, zero)
        update = slice_start(rng, theta[j], log_f, width, bounds[0], bounds[1])
        while update[PHASE] != DONE:
            slice_tell(rng, update, _log_theta(update[POINT], alpha[j], one, zero))
        theta[j] = update[X]


@kernel()
def log_prior_alpha(log_alpha, shape, rate):  # type: ignore[no-untyped-def]
    """Return the log density of log(alpha), alpha inverse gamma, up to a constant.

    The Jacobian of alpha -> log(alpha) turns the power -(shape + 1) into -shape.
    """
    return -shape * log_alpha - rate * np.exp(-log_alpha)


@kernel()
def log_columns(alpha, theta, blocks, block, ones, seen):  # type: ignore[no-untyped-def]
    """Return the log probability of the columns of a block, equation 2.71."""
    total = 0.0
    for j in range(theta.size):
        if blocks[j] != block:
            continue
        mass, rest = alpha * theta[j], alpha * (1.0 - theta[j])
        if mass <= 0.0 or rest <= 0.0:
            return -np.inf
        for c in range(2):
            total += log_rising(mass, ones[c, j])
            total += log_rising(rest, seen[c, j] - ones[c, j])
            total -= log_rising(alpha, seen[c, j])
    return total


@kernel()
def _log_alpha(log_alpha, block, theta, ones, seen, problem, work):  # type: ignore[no-untyped-def]
    """Return the log density of the log(alpha) of a block given all else, less its prior."""
    total = log_columns(math.exp(log_alpha), theta, problem.blocks, block, ones, seen)
    # Discarded features have the alpha of those that were ranked.
    if block == RANKED and problem.table.n_discarded > 0:
        total += log_selection_of_alpha(problem.table, work, log_alpha)
    return total


@kernel()
def update_log_alpha(rng, log_alpha, block, theta, ones, seen, problem, work):  # type: ignore[no-untyped-def]
    """Draw the log(alpha) of a block: by slice sampling, or from a grid with even prior weights.

    ``work`` is prepared for the state of the labels. Returns it and its log density.
    """
    if problem.grid.size > 0:
        grid = problem.grid[block]
        logs = np.empty(grid.size)
        for g in range(grid.size):
            logs[g] = _log_alpha(grid[g], block, theta, ones, seen, problem, work)
        chosen = draw_index(rng, logs)
        return grid[chosen], logs[chosen]
    shape, rate = problem.priors[block]
    log_f = _log_alpha(log_alpha, block, theta, ones, seen, problem, work)
    log_f += log_prior_alpha(log_alpha, shape, rate)
    update = slice_start(rng, log_alpha, log_f, _ALPHA_WIDTH, _LOWEST, _HIGHEST)
    while update[PHASE] != DONE:
        log_f = _log_alpha(update[POINT], block, theta, ones, seen, problem, work)
        slice_tell(rng, update, log_f + log_prior_alpha(update[POINT], shape, rate))
    return update[X], update[LOG_F]


@kernel()
def draw_index(rng, logs):  # type: ignore[no-untyped-def]
    """Draw a position with probabilities proportional to exp(logs)."""
    chances = np.exp(logs - logs.max())
    left = rng.random() * chances.sum()
    for g in range(logs.size - 1):
        left -= chances[g]
        if left < 0:
            return g
    return logs.size - 1


@kernel()
def sweep(rng, labels, log_alpha, theta, problem, work):  # type: ignore[no-untyped-def]
    """Make one sweep in place, over labels (unless they are fixed), thetas and alphas.

    Returns the log posterior density of what is sampled, up to a constant.
    """
    cells, table, pseudocounts = problem.cells, problem.table, problem.pseudocounts
    ones = np.zeros((2, theta.size), dtype=np.int64)
    seen = np.zeros((2, theta.size), dtype=np.int64)
    count(cells, labels, ones, seen)
    alpha = np.exp(log_alpha)[problem.blocks]
    if not problem.labels_are_fixed:
        if table.n_discarded > 0:
            prepare(table, work, log_alpha[RANKED])
        update_labels(rng, cells, labels, alpha, theta, pseudocounts, ones, seen, table, work)
    update_thetas(rng, alpha, theta, problem.theta_range, ones, seen)
    a, b = in_component_1(cells, labels)
    if table.n_discarded > 0:
        prepare_state(table, work, a, b)
    total = log_rising(pseudocounts[0], labels.size - a - b) + log_rising(pseudocounts[1], a + b)
    for block in range(log_alpha.size):
        log_alpha[block], log_density = update_log_alpha(
            rng, log_alpha[block], block, theta, ones, seen, problem, work
        )
        total += log_density
    return total


@kernel()
def predictive(labels, log_alpha, theta, problem, psi, phi):  # type: ignore[no-untyped-def]
    """Fill psi, shape (2,), and phi, shape (2, columns), of a new case; equation 2.69."""
    ones = np.zeros((2, theta.size), dtype=np.int64)
    seen = np.zeros((2, theta.size), dtype=np.int64)
    count(problem.cells, labels, ones, seen)
    blocks, size_1 = problem.blocks, labels.sum()
    total = problem.pseudocounts.sum() + labels.size
    psi[0] = (problem.pseudocounts[0] + labels.size - size_1) / total
    psi[1] = (problem.pseudocounts[1] + size_1) / total
    for j in range(theta.size):
        alpha = np.exp(log_alpha[blocks[j]])
        for c in range(2):
            share = (alpha * theta[j] + ones[c, j]) / (alpha + seen[c, j])
            if problem.labels_are_fixed and blocks[j] == RESPONSE:
                share = float(c)  # the label is the class
            phi[c, j] = min(max(share, _ALMOST_NOTHING), 1.0 - _ALMOST_NOTHING)
