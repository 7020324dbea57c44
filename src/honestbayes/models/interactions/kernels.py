"""One sweep over the coefficients of groups of patterns, and the widths of their priors.

The linear predictor of class k is the sum of the coefficients s of the groups that a case is in
(equation 3.5, with 3.7). Given all others, a coefficient d higher changes the log likelihood by

    sum over the cases of its group of  n_ik d - n_i log(1 + exp(u_i + d)) + n_i log(1 + exp(u_i)),

n_ik cases of class k among the n_i of this row, u_i the log odds of class k against all others; so
only the cases of the group are looked at.
"""

from __future__ import annotations

import math

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.models.interactions.likelihood import LARGEST, predictors, softplus, widths_of
from honestbayes.models.interactions.widths import rescale, update_widths
from honestbayes.sampling.slicing import DONE, LEVEL, PHASE, POINT, X, slice_start, slice_tell

_PLAIN = 115.0
"""Up to here exp(u) exp(d) neither overflows nor needs more than one logarithm for many factors."""

_FLUSH = 460.0
"""Log of a product from which on its logarithm is taken; one more factor does not overflow."""

STEP = 20.0
"""First width of slices of coefficients (thesis, section 3.4.4): as wide as the far mode that a
Cauchy prior may leave. Widths in proportion to those of priors mixed no better."""


@kernel()
def _log_prior(s, width, is_cauchy):  # type: ignore[no-untyped-def]
    """Return the log density of a coefficient, up to a constant."""
    ratio = s / width
    if is_cauchy:
        return -math.log(width) - math.log1p(ratio * ratio)
    return -math.log(width) - 0.5 * ratio * ratio


@kernel()
def log_rest(f, k, n):  # type: ignore[no-untyped-def]
    """Return log(sum over the other classes of exp(f)); 0 for two classes."""
    rest = np.zeros(n)
    if f.shape[0] > 1:
        for i in range(n):
            top = -np.inf
            for j in range(f.shape[0]):
                if j != k:
                    top = max(top, f[j, i])
            total = 0.0
            for j in range(f.shape[0]):
                if j != k:
                    total += math.exp(f[j, i] - top)
            rest[i] = top + math.log(total)
    return rest


@kernel()
def _log_ones(d, u, v, size, m, is_plain, most):  # type: ignore[no-untyped-def]
    """Return the sum of n_i log(1 + exp(u_i + d)) over the first m entries; v is exp(u).

    No term is negative, so a sum that is above ``most`` need not be finished. Logarithms of
    products of many factors are taken at once, where these cannot overflow.
    """
    total = 0.0
    if is_plain and abs(d) < _PLAIN:
        factor, product = math.exp(d), 1.0
        flush = math.exp(min(most, _FLUSH))
        for a in range(m):
            one = 1.0 + v[a] * factor
            if size[a] == 1.0:
                product *= one
                if product > flush:
                    total += math.log(product)
                    product = 1.0
                    if total > most:
                        return total
            else:
                total += size[a] * math.log(one)
                if total > most:
                    return total
        return total + math.log(product)
    for a in range(m):
        total += size[a] * softplus(u[a] + d)
        if total > most:
            return total
    return total


@kernel()
def update_coefficients(rng, s, f, log_sigma, problem):  # type: ignore[no-untyped-def]
    """Update every coefficient of classes by slice sampling; ``s`` and ``f`` are changed."""
    start, cases, size = problem.start, problem.cases, problem.size
    n, n_groups = size.size, start.size - 1
    is_cauchy = problem.is_cauchy
    width = widths_of(problem.counts, log_sigma, is_cauchy)
    longest = 1
    for g in range(n_groups):
        longest = max(longest, start[g + 1] - start[g])
    own_u, own_v, own_size = np.empty(longest), np.empty(longest), np.empty(longest)
    for k in range(s.shape[0]):
        rest = log_rest(f, k, n)
        u = f[k] - rest
        for g in range(n_groups):
            m = start[g + 1] - start[g]
            members = cases[start[g] : start[g + 1]]
            ones, largest = 0.0, 0.0
            for a in range(m):
                i = members[a]
                own_u[a] = u[i]
                own_v[a] = math.exp(min(u[i], _PLAIN))
                own_size[a] = size[i]
                ones += problem.target[k, i]
                largest = max(largest, abs(u[i]))
            is_plain = largest < _PLAIN
            old = s[k, g]
            log_f = _log_prior(old, width[g], is_cauchy) - _log_ones(
                0.0, own_u, own_v, own_size, m, is_plain, np.inf
            )
            update = slice_start(rng, old, log_f, STEP, -LARGEST, LARGEST)
            while update[PHASE] != DONE:
                point = update[POINT]
                value = _log_prior(point, width[g], is_cauchy) + ones * (point - old)
                room = value - update[LEVEL]
                if room > 0.0:
                    d = point - old
                    value -= _log_ones(d, own_u, own_v, own_size, m, is_plain, room)
                slice_tell(rng, update, value)
            s[k, g] = update[X]
            change = s[k, g] - old
            for a in range(m):
                u[members[a]] += change
        f[k] = u + rest


@kernel()
def update_normal_coefficients(rng, s, f, log_sigma, noise, problem):  # type: ignore[no-untyped-def]
    """Update every coefficient of a real-valued response; ``s`` and ``f`` are changed."""
    start, cases, size = problem.start, problem.cases, problem.size
    width = widths_of(problem.counts, log_sigma, problem.is_cauchy)
    for g in range(start.size - 1):
        members = cases[start[g] : start[g + 1]]
        slope, curvature = 0.0, 0.0
        for i in members:
            slope += problem.target[0, i] - size[i] * f[0, i]
            curvature += size[i]
        slope, curvature = slope / noise, curvature / noise
        old = s[0, g]
        if problem.is_cauchy:
            log_f = _log_prior(old, width[g], True)
            update = slice_start(rng, old, log_f, STEP, -LARGEST, LARGEST)
            while update[PHASE] != DONE:
                point = update[POINT]
                d = point - old
                value = _log_prior(point, width[g], True) + d * (slope - 0.5 * curvature * d)
                slice_tell(rng, update, value)
            s[0, g] = update[X]
        else:
            precision = curvature + 1.0 / width[g] ** 2
            mean = (slope + curvature * old) / precision
            s[0, g] = mean + rng.standard_normal() / math.sqrt(precision)
        for i in members:
            f[0, i] += s[0, g] - old


@kernel()
def sweep(rng, s, log_sigma, noise, problem):  # type: ignore[no-untyped-def]
    """Update all coefficients and widths, and the variance of noise where there is a response.

    ``s`` and ``log_sigma`` are changed; the variance of noise is returned.
    """
    f = predictors(s, problem.start, problem.cases, problem.size.size)
    has_noise = problem.noise[0] > 0
    if has_noise:
        update_normal_coefficients(rng, s, f, log_sigma, noise, problem)
    else:
        update_coefficients(rng, s, f, log_sigma, problem)
    update_widths(rng, s, log_sigma, problem)
    rescale(rng, s, f, log_sigma, noise, problem)
    if has_noise:
        squares, n_cases = problem.spread, 0.0
        for i in range(problem.size.size):
            away = problem.target[0, i] / problem.size[i] - f[0, i]
            squares += problem.size[i] * away * away
            n_cases += problem.size[i]
        shape, rate = problem.noise
        noise = (rate + 0.5 * squares) / rng.standard_gamma(shape + 0.5 * n_cases)
    return noise
