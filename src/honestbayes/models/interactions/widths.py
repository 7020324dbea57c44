"""Compiled updates of the widths of priors, one for each order of patterns.

Widths have two updates: given coefficients, which need only the prior, and given coefficients in
units of their widths, which then change with them, so that the likelihood is needed. Where data say
little the second moves far, where they say much the first (interweaving; Yu and Meng, 2011).
"""

from __future__ import annotations

import math

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.models.interactions.likelihood import (
    HIGHEST,
    LARGEST,
    LOWEST,
    log_likelihood,
    predictors,
    widths_of,
)
from honestbayes.sampling.slicing import DONE, PHASE, POINT, X, slice_start, slice_tell

TURNS = 2
"""Orders of which coefficients are rescaled in each sweep."""

STEP = 2.0
"""First width of slices of log(sigma)."""

# Products are kept between these; one factor is at most 1e16 and at least 1e-16 of a square.
_SMALL, _LARGE = 1e-200, 1e200


@kernel()
def log_inverse_gamma(log_x, shape, rate):  # type: ignore[no-untyped-def]
    """Return the log density of log(x), x inverse gamma, up to a constant."""
    return -shape * log_x - rate * math.exp(-log_x)


@kernel()
def update_widths(rng, s, log_sigma, problem):  # type: ignore[no-untyped-def]
    """Update every sigma given the coefficients; ``log_sigma`` is changed."""
    n_orders = log_sigma.size
    is_cauchy = problem.is_cauchy
    units = np.exp(log_sigma) if is_cauchy else np.exp(2.0 * log_sigma)
    for _ in range(problem.n_width_updates):
        for o in range(n_orders):
            shape, rate = problem.priors[o]
            if shape == 0.0:
                continue
            groups = problem.order_groups[problem.order_start[o] : problem.order_start[o + 1]]
            others, count = np.empty(groups.size), np.empty(groups.size)
            for a in range(groups.size):
                count[a] = problem.counts[groups[a], o]
                others[a] = _other_widths(problem.counts[groups[a]], units, o)
            log_f = log_inverse_gamma(log_sigma[o], shape, rate) + _log_of_widths(
                log_sigma[o], s, groups, others, count, is_cauchy
            )
            update = slice_start(rng, log_sigma[o], log_f, STEP, LOWEST, HIGHEST)
            while update[PHASE] != DONE:
                point = update[POINT]
                value = log_inverse_gamma(point, shape, rate) + _log_of_widths(
                    point, s, groups, others, count, is_cauchy
                )
                slice_tell(rng, update, value)
            log_sigma[o] = update[X]
            units[o] = math.exp(log_sigma[o] if is_cauchy else 2.0 * log_sigma[o])


@kernel()
def _other_widths(counts, units, order):  # type: ignore[no-untyped-def]
    """Return what all other orders add to the width of a group, squared for normal priors."""
    total = 0.0
    for o in range(units.size):
        if o != order:
            total += counts[o] * units[o]
    return total


@kernel()
def _log_of_widths(log_sigma, s, groups, others, count, is_cauchy):  # type: ignore[no-untyped-def]
    """Return the log density of the coefficients of some groups, given one of the sigmas.

    Logarithms of products of many factors are taken at once.
    """
    unit = math.exp(log_sigma if is_cauchy else 2.0 * log_sigma)
    total, above, below = 0.0, 1.0, 1.0
    for k in range(s.shape[0]):
        for a in range(groups.size):
            width = others[a] + count[a] * unit
            value = s[k, groups[a]]
            above *= width
            if is_cauchy:  # width / (width^2 + value^2)
                below *= width * width + value * value
            else:
                total += value * value / width
            if not (_SMALL < above < _LARGE and _SMALL < below < _LARGE):
                total += _taken(above, below, is_cauchy)
                above, below = 1.0, 1.0
    total += _taken(above, below, is_cauchy)
    return total if is_cauchy else -0.5 * total


@kernel()
def _taken(above, below, is_cauchy):  # type: ignore[no-untyped-def]
    """Return the logarithm that the products of many factors stand for."""
    return math.log(above) - math.log(below) if is_cauchy else math.log(above)


@kernel()
def rescale(rng, s, f, log_sigma, noise, problem):  # type: ignore[no-untyped-def]
    """Update sigmas given coefficients in units of their widths: all together, and some of them.

    Which orders have their turn is drawn, so that a sweep does not grow with the square of the
    order. ``s``, ``f`` and ``log_sigma`` are changed.
    """
    n_orders = log_sigma.size
    moves = np.empty(n_orders, np.bool_)
    for turn in range(min(n_orders, 1 + TURNS)):
        # The place of sigma_0, which is fixed, stands for all others.
        o = 0 if turn == 0 else 1 + int((n_orders - 1) * rng.random())
        for other in range(n_orders):
            moves[other] = problem.priors[other, 0] > 0.0 and (o == 0 or other == o)
        if moves.any():
            _rescale_some(rng, s, f, log_sigma, noise, moves, problem)


@kernel()
def _rescale_some(rng, s, f, log_sigma, noise, moves, problem):  # type: ignore[no-untyped-def]
    """Update the common factor of some sigmas, and of coefficients with them."""
    start, cases, counts = problem.start, problem.cases, problem.counts
    n, n_classes, n_groups = problem.size.size, s.shape[0], start.size - 1
    is_cauchy = problem.is_cauchy
    power = 1.0 if is_cauchy else 2.0
    width = widths_of(counts, log_sigma, is_cauchy)
    # The width, squared for normal priors, is a constant and a share that moves.
    share = np.zeros(n_groups)
    low, high = -np.inf, np.inf
    for o in range(log_sigma.size):
        if moves[o]:
            unit = math.exp(power * log_sigma[o])
            for a in range(problem.order_start[o], problem.order_start[o + 1]):
                g = problem.order_groups[a]
                share[g] += counts[g, o] * unit / width[g] ** power
            low, high = max(low, LOWEST - log_sigma[o]), min(high, HIGHEST - log_sigma[o])
    # Cauchy: predictors are linear in the factor, so one vector is all that is needed.
    slope = np.zeros((n_classes, n))
    if is_cauchy:
        for g in range(n_groups):
            if share[g] > 0.0:
                for k in range(n_classes):
                    value = s[k, g] * share[g]
                    for i in cases[start[g] : start[g + 1]]:
                        slope[k, i] += value
    trial = f.copy()
    log_f = _log_moved(0.0, log_sigma, moves, problem) + log_likelihood(f, problem, noise)
    update = slice_start(rng, 0.0, log_f, STEP, low, high)
    while update[PHASE] != DONE:
        change = math.expm1(power * update[POINT])
        if is_cauchy:
            for k in range(n_classes):
                for i in range(n):
                    trial[k, i] = f[k, i] + change * slope[k, i]
        else:
            trial[:] = f
            for g in range(n_groups):
                if share[g] > 0.0:
                    ratio = _ratio(share[g], change, is_cauchy)
                    for k in range(n_classes):
                        value = s[k, g] * (ratio - 1.0)
                        for i in cases[start[g] : start[g + 1]]:
                            trial[k, i] += value
        value = -np.inf
        if _largest(s, share, change, is_cauchy) < LARGEST:
            value = _log_moved(update[POINT], log_sigma, moves, problem)
            value += log_likelihood(trial, problem, noise)
        slice_tell(rng, update, value)
    change = math.expm1(power * update[X])
    for g in range(n_groups):
        ratio = _ratio(share[g], change, is_cauchy)
        for k in range(n_classes):
            s[k, g] *= ratio
    for o in range(log_sigma.size):
        if moves[o]:
            log_sigma[o] += update[X]
    f[:] = predictors(s, start, cases, n)


@kernel()
def _ratio(share, change, is_cauchy):  # type: ignore[no-untyped-def]
    """Return by what a width is multiplied when its share that moves has changed."""
    ratio = max(1.0 + share * change, 0.0)  # rounding may leave a share above 1
    return ratio if is_cauchy else math.sqrt(ratio)


@kernel()
def _largest(s, share, change, is_cauchy):  # type: ignore[no-untyped-def]
    """Return the largest coefficient after the shares that move have changed."""
    largest = 0.0
    for g in range(share.size):
        ratio = _ratio(share[g], change, is_cauchy)
        for k in range(s.shape[0]):
            largest = max(largest, abs(s[k, g]) * ratio)
    return largest


@kernel()
def _log_moved(shift, log_sigma, moves, problem):  # type: ignore[no-untyped-def]
    """Return the log density of some of the log(sigma), each higher by ``shift``."""
    total = 0.0
    for o in range(log_sigma.size):
        if moves[o]:
            shape, rate = problem.priors[o]
            total += log_inverse_gamma(log_sigma[o] + shift, shape, rate)
    return total
