"""Sampler of models with interactions: coefficients of groups of patterns, and their widths.

A chain has a coefficient s for each class and group, the logarithm of a width sigma for each order
of patterns, and the variance of noise where the response is real-valued. There are two sweeps:
`sweep` updates coefficients one after the other by slice sampling, `sweep_together` draws all
coefficients of a class at once, for which the likelihood is made normal by Polya-Gamma variables.

From top to bottom: the problem, predictors and likelihood; updates of the widths; the sweep over
single coefficients; joint draws of normal coefficients; the sweep that uses them.

References
----------
Li, L. (2007), Bayesian classification and regression with high dimensional features, PhD thesis,
University of Toronto; chapter 3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.sampling.polya_gamma import polya_gammas
from honestbayes.sampling.slicing import (
    DONE,
    LEVEL,
    LOG_F,
    PHASE,
    POINT,
    X,
    slice_start,
    slice_tell,
)
from honestbayes.types import AnyArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Data, priors, predictors and likelihood
# --------------------------------------------------------------------------------------------------


SLICES, TREE, GROUPS, ROWS = 0, 1, 2, 3
"""Ways to draw coefficients: one after the other, or all at once in one of three ways."""

LOG_WIDTHS = LOWEST, HIGHEST = -18.0, 30.0
"""Bounds of the logarithms of the widths sigma."""

LARGEST = 1e8
"""Bound of coefficients: the prior is conditioned on none being larger, far beyond any log odds, so
that sums of large coefficients of both signs are still exact to seven digits."""


class InteractionProblem(NamedTuple):
    """Data and priors as kernels take them.

    Attributes
    ----------
    start, cases : ndarray of int
        The cases of group g are ``cases[start[g] : start[g + 1]]``.
    counts : ndarray of shape (n_groups, order + 1)
        Patterns of each order in each group.
    order_start, order_groups : ndarray of int
        The groups with patterns of order o are ``order_groups[order_start[o] : ...]``.
    target : ndarray of shape (K, n)
        Of classes: cases of class k in each row, of all but the first where there are two. Of a
        response: its sum over the cases of each row.
    size : ndarray of shape (n,)
        Cases of each row.
    spread : float
        Of a response, the sum of squares of cases about the means of their rows.
    priors : ndarray of shape (order + 1, 2)
        Shape and rate of the inverse gamma prior of each sigma; a shape of 0 means fixed.
    noise : ndarray of shape (2,)
        Shape and rate of the inverse gamma prior of the variance of noise; 0, 0 for classes.
    is_cauchy : bool
        Whether coefficients are Cauchy, else normal.
    n_width_updates : int
        Updates of each sigma in a sweep.
    way : int
        How coefficients are drawn: `SLICES`, `TREE`, `GROUPS` or `ROWS`.
    down, parent, within : ndarray of int
        How groups are nested, where they are (`nest`).
    agree : ndarray of int of shape (n, n)
        Cells in which rows agree, where these are needed; else of size 0.
    choose : ndarray of shape (p + 1, order + 1)
        Binomial coefficients.
    part_start, parts : ndarray of int
        Groups that a column cuts into others, from `cut_groups`: ``parts[part_start[r]]`` is cut
        into ``parts[part_start[r] + 1 : part_start[r + 1]]``. Empty where no use is made of them.
    """

    start: IntArray
    cases: AnyArray
    counts: FloatArray
    order_start: IntArray
    order_groups: IntArray
    target: FloatArray
    size: FloatArray
    spread: float
    priors: FloatArray
    noise: FloatArray
    is_cauchy: bool
    n_width_updates: int
    way: int
    down: IntArray
    parent: IntArray
    within: IntArray
    agree: AnyArray
    choose: FloatArray
    part_start: IntArray
    parts: IntArray


@kernel()
def widths_of(counts, log_sigma, is_cauchy):  # type: ignore[no-untyped-def]
    """Return the width of the prior of each group's coefficient (equation 3.10)."""
    n_groups, n_orders = counts.shape
    result = np.zeros(n_groups)
    for o in range(n_orders):
        sigma = math.exp(log_sigma[o])
        unit = sigma if is_cauchy else sigma * sigma
        for g in range(n_groups):
            result[g] += counts[g, o] * unit
    return result if is_cauchy else np.sqrt(result)


@kernel()
def softplus(u):  # type: ignore[no-untyped-def]
    """Return log(1 + exp(u)), to rounding of 1."""
    if u > 37.0:
        return u
    if u < -37.0:
        return 0.0
    return math.log1p(math.exp(u))


@kernel()
def predictors(s, start, cases, n):  # type: ignore[no-untyped-def]
    """Return the linear predictors of all rows, shape (K, n)."""
    f = np.zeros((s.shape[0], n))
    for g in range(start.size - 1):
        for k in range(s.shape[0]):
            value = s[k, g]
            for i in cases[start[g] : start[g + 1]]:
                f[k, i] += value
    return f


@kernel()
def log_likelihood(f, problem, noise):  # type: ignore[no-untyped-def]
    """Return the log likelihood of linear predictors."""
    total = 0.0
    n = problem.size.size
    if problem.noise[0] > 0:
        for i in range(n):
            total += f[0, i] * (problem.target[0, i] - 0.5 * problem.size[i] * f[0, i])
        return total / noise
    if f.shape[0] == 1:
        for i in range(n):
            total += problem.target[0, i] * f[0, i] - problem.size[i] * softplus(f[0, i])
        return total
    for i in range(n):
        top = f[0, i]
        for k in range(1, f.shape[0]):
            top = max(top, f[k, i])
        exponents = 0.0
        for k in range(f.shape[0]):
            exponents += math.exp(f[k, i] - top)
            total += problem.target[k, i] * f[k, i]
        total -= problem.size[i] * (top + math.log(exponents))
    return total


# --------------------------------------------------------------------------------------------------
# Updates of the widths of priors, one for each order of patterns
#
# Widths have two updates: given coefficients, which need only the prior, and given coefficients in
# units of their widths, which then change with them, so that the likelihood is needed. Where data
# say little the second moves far, where they say much the first (interweaving; Yu and Meng, 2011).
# --------------------------------------------------------------------------------------------------


TURNS = 2
"""Orders of which coefficients are rescaled in each sweep."""

THRESHOLDS = 3.0, 30.0
"""Between these, in widths of the prior, is the size from which Cauchy coefficients are rather kept
than rescaled."""

SIGMA_STEP = 2.0
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
            update = slice_start(rng, log_sigma[o], log_f, SIGMA_STEP, LOWEST, HIGHEST)
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

    Of Cauchy coefficients a few may be many times their width, and these the data know, while the
    many others are known by their prior. So sigmas are updated once more, with the others in units
    of their widths, while large ones stay as they are.

    Which orders have their turn is drawn, so that a sweep does not grow with the square of the
    order. ``s``, ``f`` and ``log_sigma`` are changed.
    """
    n_orders = log_sigma.size
    moves = np.empty(n_orders, np.bool_)
    for turn in range(min(n_orders, 1 + TURNS)):
        # Index 0 stands for all together: sigma_0 alone has only one coefficient per class, and
        # `update_widths` moves it.
        o = 0 if turn == 0 else 1 + int((n_orders - 1) * rng.random())
        for other in range(n_orders):
            moves[other] = problem.priors[other, 0] > 0.0 and (o == 0 or other == o)
        if moves.any():
            _rescale_some(rng, s, f, log_sigma, noise, moves, np.inf, problem)
            if problem.is_cauchy:
                least, most = THRESHOLDS
                threshold = least * (most / least) ** rng.random()
                _rescale_some(rng, s, f, log_sigma, noise, moves, threshold, problem)


@kernel()
def _rescale_some(rng, s, f, log_sigma, noise, moves, threshold, problem):  # type: ignore[no-untyped-def]
    """Update the common factor of some sigmas, and of coefficients with them.

    A coefficient of r times its width is kept with probability r^2 / (threshold^2 + r^2), else it
    moves. What is kept is drawn given the state and forgotten after the update, so the update is
    one of the joint density of state and choice. Of a coefficient that moves r stays, and so does
    its factor; the factors of those that are kept are in `_log_kept`.
    """
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
    own = np.zeros((n_classes, n_groups))  # the shares of coefficients that move
    for g in range(n_groups):
        if share[g] > 0.0:
            for k in range(n_classes):
                ratio = s[k, g] / (threshold * width[g])
                if threshold == np.inf or (1.0 + ratio * ratio) * rng.random() < 1.0:
                    own[k, g] = share[g]
    # Cauchy: predictors are linear in the factor, so one vector is all that is needed.
    slope = np.zeros((n_classes, n))
    if is_cauchy:
        for g in range(n_groups):
            for k in range(n_classes):
                if own[k, g] > 0.0:
                    value = s[k, g] * own[k, g]
                    for i in cases[start[g] : start[g + 1]]:
                        slope[k, i] += value
    trial = f.copy()
    # In units of their widths coefficients have a density that does not depend on the sigmas: the
    # prior of the sigmas and the likelihood are all that is left, and no Jacobian.
    log_f = _log_moved(0.0, log_sigma, moves, problem) + log_likelihood(f, problem, noise)
    log_f += _log_kept(0.0, s, share, own, width, threshold)
    update = slice_start(rng, 0.0, log_f, SIGMA_STEP, low, high)
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
        if _largest(s, own, change, is_cauchy) < LARGEST:
            value = _log_moved(update[POINT], log_sigma, moves, problem)
            value += _log_kept(change, s, share, own, width, threshold)
            value += log_likelihood(trial, problem, noise)
        slice_tell(rng, update, value)
    change = math.expm1(power * update[X])
    for g in range(n_groups):
        for k in range(n_classes):
            ratio = _ratio(own[k, g], change, is_cauchy)
            s[k, g] *= ratio
    for o in range(log_sigma.size):
        if moves[o]:
            log_sigma[o] += update[X]
    f[:] = predictors(s, start, cases, n)


@kernel()
def _ratio(share, change, is_cauchy):  # type: ignore[no-untyped-def]
    """Return the factor by which a width changes when the share that moves has changed."""
    ratio = max(1.0 + share * change, 0.0)  # rounding may leave a share above 1
    return ratio if is_cauchy else math.sqrt(ratio)


@kernel()
def _largest(s, share, change, is_cauchy):  # type: ignore[no-untyped-def]
    """Return the largest coefficient after the shares that move have changed."""
    largest = 0.0
    for k in range(s.shape[0]):
        for g in range(s.shape[1]):
            largest = max(largest, abs(s[k, g]) * _ratio(share[k, g], change, is_cauchy))
    return largest


@kernel()
def _log_kept(change, s, share, own, width, threshold):  # type: ignore[no-untyped-def]
    """Return the log density of Cauchy coefficients that are kept, and of that they are.

    With width w these are w / (w^2 + s^2), and s^2 / ((threshold w)^2 + s^2).
    """
    total = 0.0
    if threshold == np.inf:  # none is
        return total
    for k in range(s.shape[0]):
        for g in range(share.size):
            if share[g] > 0.0 and own[k, g] == 0.0:
                w = width[g] * _ratio(share[g], change, True)
                square = s[k, g] * s[k, g]
                total += math.log(w / (w * w + square))
                total -= math.log(threshold * threshold * w * w + square)
    return total


@kernel()
def _log_moved(shift, log_sigma, moves, problem):  # type: ignore[no-untyped-def]
    """Return the log density of some of the log(sigma), each higher by ``shift``."""
    total = 0.0
    for o in range(log_sigma.size):
        if moves[o]:
            shape, rate = problem.priors[o]
            total += log_inverse_gamma(log_sigma[o] + shift, shape, rate)
    return total


# --------------------------------------------------------------------------------------------------
# The sweep over single coefficients
#
# The linear predictor of class k is the sum of the coefficients s of the groups that a case is in
# (equation 3.5, with 3.7). Given all others, a coefficient d higher changes the log likelihood by
#
#     sum over cases of its group of  n_ik d - n_i log(1 + exp(u_i + d)) + n_i log(1 + exp(u_i)),
#
# n_ik cases of class k among the n_i of this row, u_i the log odds of class k against all others;
# so only the cases of the group are looked at.
# --------------------------------------------------------------------------------------------------


_PLAIN = 115.0
"""Up to here exp(u) exp(d) neither overflows nor needs more than one logarithm for many factors."""

_FLUSH = 460.0
"""Log of a product from which on its logarithm is taken; one more factor does not overflow."""

STEP, WIDTHS = 20.0, 2.0
"""First width of slices of coefficients: so wide (thesis, section 3.4.4), as the far mode that a
Cauchy prior may leave, and so many widths of the prior where these are more. Where classes can be
told apart without error coefficients may be of the order of thousands, and 20 is a small step."""


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
            update = slice_start(rng, old, log_f, max(STEP, WIDTHS * width[g]), -LARGEST, LARGEST)
            while update[PHASE] != DONE:
                point = update[POINT]
                value = _log_prior(point, width[g], is_cauchy) + ones * (point - old)
                # The sum of logarithms is only needed as far as it decides about the slice.
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
            # Residuals hold the present coefficient: its own part is added back.
            precision = curvature + 1.0 / width[g] ** 2
            mean = (slope + curvature * old) / precision
            s[0, g] = mean + rng.standard_normal() / math.sqrt(precision)
        for i in members:
            f[0, i] += s[0, g] - old


# Moves that no data see
#
# A column with levels a, b, ... cuts the cases of a group g into those of groups g_a, g_b, ... So a
# coefficient of g that is d higher, while those of g_a, g_b, ... are d lower, leaves all predictors
# as they are: only the prior has a say. Slices of single coefficients have to go this way in steps
# that the data allow, which are small where coefficients are large. The direction is the same
# from wherever a move starts, so a slice along it is a slice of a density on a line.


@kernel()
def cut_groups(start, cases, lowest, levels, n_levels, keys):  # type: ignore[no-untyped-def]
    """Find all ways in which a column cuts a group into groups.

    Parameters
    ----------
    start, cases : ndarray of int
        The cases of groups.
    lowest : ndarray of bool of shape (G,)
        Groups that have a pattern below the highest order, so that their parts are groups too.
    levels : ndarray of int of shape (n, p)
        Codes of the cases.
    n_levels : int
        Codes are below.
    keys : ndarray of uint64 of shape (n,)
        Random numbers whose sum is the hash of a set of cases.

    Returns
    -------
    part_start, parts : ndarray of int
        As in `InteractionProblem`.
    """
    n_groups, p = start.size - 1, levels.shape[1]
    hashes = np.zeros(n_groups, np.uint64)
    for g in range(n_groups):
        for i in cases[start[g] : start[g + 1]]:
            hashes[g] += keys[i]
    known = np.argsort(hashes)
    in_order = hashes[known]
    own, has = np.zeros(n_levels, np.uint64), np.zeros(n_levels, np.bool_)
    part_start, parts = np.zeros(1024, np.int64), np.empty(4096, np.int64)
    n_cuts = 0
    for g in range(n_groups):
        if not lowest[g]:
            continue
        for column in range(p):
            own[:] = 0
            has[:] = False
            for i in cases[start[g] : start[g + 1]]:
                own[levels[i, column]] += keys[i]
                has[levels[i, column]] = True
            if np.sum(has) == 1:  # the group itself
                continue
            if n_cuts + 2 > part_start.size:
                part_start = np.append(part_start, np.zeros_like(part_start))
            end = part_start[n_cuts]
            while end + n_levels + 1 > parts.size:
                parts = np.append(parts, np.zeros_like(parts))
            parts[end] = g
            end += 1
            for level in range(n_levels):
                if has[level]:
                    parts[end] = known[np.searchsorted(in_order, own[level])]
                    end += 1
            n_cuts += 1
            part_start[n_cuts] = end
    return part_start[: n_cuts + 1].copy(), parts[: part_start[n_cuts]].copy()


@kernel()
def _log_prior_along(d, s, members, width, is_cauchy):  # type: ignore[no-untyped-def]
    """Return the log prior of a group's coefficient d higher, and of its parts' d lower."""
    total, product = 0.0, 1.0
    for a in range(members.size):
        ratio = (s[members[a]] + (d if a == 0 else -d)) / width[members[a]]
        if is_cauchy:
            product *= 1.0 + ratio * ratio
            if product > _LARGE:
                total -= math.log(product)
                product = 1.0
        else:
            total -= 0.5 * ratio * ratio
    return total - math.log(product)


@kernel()
def shift_between_parts(rng, s, log_sigma, problem):  # type: ignore[no-untyped-def]
    """Move from groups to their parts, or back, what leaves predictors as they are.

    ``s`` is changed; predictors are the same as before, but for rounding.
    """
    width = widths_of(problem.counts, log_sigma, problem.is_cauchy)
    for k in range(s.shape[0]):
        for r in range(problem.part_start.size - 1):
            members = problem.parts[problem.part_start[r] : problem.part_start[r + 1]]
            # Bounds may depend on the state, if they are where a coefficient would pass LARGEST.
            low, high, step = -np.inf, np.inf, 0.0
            for a in range(members.size):
                value = s[k, members[a]] if a == 0 else -s[k, members[a]]
                low, high = max(low, -LARGEST - value), min(high, LARGEST - value)
                step += width[members[a]]
            log_f = _log_prior_along(0.0, s[k], members, width, problem.is_cauchy)
            update = slice_start(rng, 0.0, log_f, step, low, high)
            while update[PHASE] != DONE:
                value = _log_prior_along(update[POINT], s[k], members, width, problem.is_cauchy)
                slice_tell(rng, update, value)
            for a in range(members.size):
                s[k, members[a]] += update[X] if a == 0 else -update[X]


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
    shift_between_parts(rng, s, log_sigma, problem)
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


# --------------------------------------------------------------------------------------------------
# All coefficients of one linear predictor at once, given precisions of its rows
#
# Each row has a value z_i = f_i + noise of precision w_i, f_i the sum of the coefficients s of the
# groups that the row is in, s_g normal with variance v_g. Two things are needed: the density of z
# with s integrated out, log N(z; 0, K + diag(1 / w)), K = Z diag(v) Z' the prior covariance of f;
# and draws of s given z. There are three ways, which give the same (``way`` of the problem):
#
# * TREE, where any two groups are nested or share no row, as of sequences: up the tree, what is
#   known of the sum of coefficients from the top down to a group is a normal density, and the
#   coefficient of the group is integrated out of it in closed form. This takes time in proportion
#   to the groups.
# * GROUPS: a matrix I + diag(v)^1/2 Z' diag(w) Z diag(v)^1/2 of the groups.
# * ROWS: a matrix I + diag(w)^1/2 K diag(w)^1/2 of the rows. Two rows that agree in m cells share
#   C(m, o) patterns of order o, so K is a function of m, and no list of patterns is needed.
#
# No eigenvalue of the matrices is below 1. What is handed over is w and the products h = w z.
# --------------------------------------------------------------------------------------------------


@kernel()
def nest(down, start, cases, parent, within):  # type: ignore[no-untyped-def]
    """Find how groups are nested; return whether any two are nested or share no row.

    Parameters
    ----------
    down : ndarray of int of shape (G,)
        Groups, with larger ones first.
    start, cases : ndarray of int
        The rows of groups.
    parent, within : ndarray of int of shapes (G,) and (n,)
        All -1; filled with the smallest group around each group, and around each row.
    """
    for g in down:
        parent[g] = within[cases[start[g]]]
        for i in cases[start[g] : start[g + 1]]:
            if within[i] != parent[g]:
                return False
            within[i] = g
    return True


@kernel()
def agreement(start, cases, counts, n):  # type: ignore[no-untyped-def]
    """Return in how many cells two rows of a table agree: the patterns of order 1 they share."""
    result = np.zeros((n, n), np.uint16)
    if counts.shape[1] > 1:
        for g in range(start.size - 1):
            number = np.uint16(counts[g, 1])
            if number > 0:
                for i in cases[start[g] : start[g + 1]]:
                    for j in cases[start[g] : start[g + 1]]:
                        result[i, j] += number
    return result


@kernel()
def row_covariance(log_sigma, variance, problem):  # type: ignore[no-untyped-def]
    """Return K = Z diag(variance) Z', shape (n, n), the lower triangle only.

    The variances of normal coefficients are those of the widths, so that K is a function of the
    agreement of rows; those of Cauchy coefficients, as mixtures of normal ones, are any.
    """
    n = problem.size.size
    result = np.zeros((n, n))
    if problem.is_cauchy:
        for g in range(variance.size):
            members = problem.cases[problem.start[g] : problem.start[g + 1]]
            for a in range(members.size):
                for b in range(a + 1):  # rows stand in their order
                    result[members[a], members[b]] += variance[g]
        return result
    table = np.zeros(problem.choose.shape[0])
    for o in range(log_sigma.size):
        unit = math.exp(2.0 * log_sigma[o])
        for m in range(table.size):
            table[m] += unit * problem.choose[m, o]
    for i in range(n):
        for j in range(i + 1):
            result[i, j] = table[problem.agree[i, j]]
    return result


@kernel()
def group_gram(weight, problem):  # type: ignore[no-untyped-def]
    """Return Z' diag(weight) Z, shape (G, G), the lower triangle only."""
    start, cases, n = problem.start, problem.cases, problem.size.size
    n_groups = start.size - 1
    first = np.zeros(n + 1, np.int64)
    for i in cases:
        first[i + 1] += 1
    first = np.cumsum(first)
    position, groups = first[:-1].copy(), np.empty(cases.size, np.int64)
    for g in range(n_groups):
        for i in cases[start[g] : start[g + 1]]:
            groups[position[i]] = g
            position[i] += 1
    result = np.zeros((n_groups, n_groups))
    for i in range(n):
        own = groups[first[i] : first[i + 1]]  # in their order
        for a in range(own.size):
            for b in range(a + 1):
                result[own[a], own[b]] += weight[i]
    return result


@kernel()
def sums_of_groups(values, problem):  # type: ignore[no-untyped-def]
    """Return the sum over the rows of each group."""
    start, cases = problem.start, problem.cases
    result = np.zeros(start.size - 1)
    for g in range(start.size - 1):
        for i in cases[start[g] : start[g + 1]]:
            result[g] += values[i]
    return result


@kernel()
def _scaled(gram, scale):  # type: ignore[no-untyped-def]
    """Return I + diag(scale) gram diag(scale), the lower triangle only."""
    n = scale.size
    result = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            result[i, j] = gram[i, j] * (scale[i] * scale[j])
        result[i, i] += 1.0
    return result


@kernel()
def factor_of(matrix):  # type: ignore[no-untyped-def]
    """Return the upper triangular U with U'U the matrix; of size 0 where rounding hides it.

    Only the lower triangle of the matrix is looked at.

    That can be only where a variance is some 10^15 times that of the noise, while some combination
    of rows has none. The density there counts as 0.
    """
    try:
        return np.linalg.cholesky(matrix).T
    except Exception:
        return np.zeros((0, 0)).T


@kernel()
def _forward(upper, values):  # type: ignore[no-untyped-def]
    """Return the solution x of U'x = values."""
    x = values.copy()
    for i in range(x.size):
        x[i] /= upper[i, i]
        x[i + 1 :] -= upper[i, i + 1 :] * x[i]
    return x


@kernel()
def _backward(upper, values):  # type: ignore[no-untyped-def]
    """Return the solution x of U x = values."""
    x = values.copy()
    for i in range(x.size - 1, -1, -1):
        x[i] = (x[i] - np.sum(upper[i, i + 1 :] * x[i + 1 :])) / upper[i, i]
    return x


@kernel()
def up_the_tree(h, weight, variance, problem):  # type: ignore[no-untyped-def]
    """Integrate coefficients out, from the smallest groups up.

    As a function of u, the sum of the coefficients of a group and those around it, the density of
    the rows of the group is exp(c + slope u - bend u^2 / 2). With u = t + s, t of the groups around
    and s of variance v, it is of the same form in t, both divided by 1 + v bend.

    Returns
    -------
    total : float
        What is left at the end, apart from the part of the rows alone.
    slope, bend : ndarray of shape (G,)
        Of each group, as above.
    """
    slope, bend = np.zeros(variance.size), np.zeros(variance.size)
    for i in range(h.size):
        slope[problem.within[i]] += h[i]
        bend[problem.within[i]] += weight[i]
    total, product = 0.0, 1.0
    for g in problem.down[::-1]:
        # The integral over s of exp(slope u - bend u^2 / 2) N(s; 0, v), u = t + s, is
        # (1 + v bend)^(-1/2) exp((slope t - bend t^2 / 2 + v slope^2 / 2) / (1 + v bend)).
        more = 1.0 + variance[g] * bend[g]
        total += 0.5 * variance[g] * slope[g] * slope[g] / more
        product *= more
        if product > 1e150:
            total -= 0.5 * math.log(product)
            product = 1.0
        if problem.parent[g] >= 0:
            slope[problem.parent[g]] += slope[g] / more
            bend[problem.parent[g]] += bend[g] / more
    return total - 0.5 * math.log(product), slope, bend


@kernel()
def log_evidence(h, weight, log_sigma, variance, gram, problem):  # type: ignore[no-untyped-def]
    """Return log N(z; 0, K + diag(1 / w)) - log N(z; 0, diag(1 / w)), given h = w z.

    Parameters
    ----------
    h, weight : ndarray of shape (n,)
        As above.
    log_sigma : ndarray of shape (order + 1,)
        Widths by order.
    variance : ndarray of shape (G,)
        Variances of groups, of these widths.
    gram : ndarray of shape (G, G)
        For GROUPS, of `group_gram`.
    problem : InteractionProblem
        The groups.
    """
    if problem.way == TREE:
        return up_the_tree(h, weight, variance, problem)[0]
    # z' (K + W^-1)^-1 z is |U'^-1 W^1/2 z|^2 by rows, and by Woodbury's identity z' W z less
    # |U'^-1 V^1/2 Z' h|^2 by groups. Both matrices have the same determinant.
    if problem.way == ROWS:
        scale = np.sqrt(weight)
        right = h / scale
        total, sign = 0.5 * np.sum(right * right), -0.5
        gram = row_covariance(log_sigma, variance, problem)
    else:
        scale = np.sqrt(variance)
        right = scale * sums_of_groups(h, problem)
        total, sign = 0.0, 0.5
    upper = factor_of(_scaled(gram, scale))
    if upper.size == 0:
        return -np.inf
    solved = _forward(upper, right)
    total += sign * np.sum(solved * solved)
    for i in range(right.size):
        total -= math.log(upper[i, i])
    return total


@kernel()
def draw_jointly(rng, h, weight, log_sigma, variance, gram, problem):  # type: ignore[no-untyped-def]
    """Draw all coefficients given z; of size 0 where rounding hides their distribution.

    Parameters as of `log_evidence`.
    """
    n_groups = variance.size
    if problem.way == TREE:
        s, sums = np.empty(n_groups), np.zeros(n_groups)
        _, slope, bend = up_the_tree(h, weight, variance, problem)
        for g in problem.down:
            around = sums[problem.parent[g]] if problem.parent[g] >= 0 else 0.0
            less = variance[g] / (1.0 + variance[g] * bend[g])
            s[g] = less * (slope[g] - bend[g] * around)
            s[g] += math.sqrt(less) * rng.standard_normal()
            sums[g] = around + s[g]
        return s
    root = np.sqrt(variance)
    scale = np.sqrt(weight) if problem.way == ROWS else root
    if problem.way == ROWS:
        gram = row_covariance(log_sigma, variance, problem)
    upper = factor_of(_scaled(gram, scale))
    if upper.size == 0:
        return np.zeros(0)
    if problem.way == GROUPS:
        # s = V^1/2 U^-1 (U'^-1 V^1/2 Z' h + e): its covariance is V^1/2 (U'U)^-1 V^1/2.
        mean = _forward(upper, root * sums_of_groups(h, problem))
        for g in range(n_groups):
            mean[g] += rng.standard_normal()
        return root * _backward(upper, mean)
    # A draw from the prior, and what the data say of its error (Bhattacharya, Chakraborty and
    # Mallick, 2016).
    prior = np.empty((1, n_groups))
    for g in range(n_groups):
        prior[0, g] = root[g] * rng.standard_normal()
    away = h / scale - scale * predictors(prior, problem.start, problem.cases, h.size)[0]
    for i in range(h.size):
        away[i] -= rng.standard_normal()
    away = scale * _backward(upper, _forward(upper, away))
    return prior[0] + variance * sums_of_groups(away, problem)


# --------------------------------------------------------------------------------------------------
# The sweep in which the coefficients of a linear predictor are drawn all at once
#
# What is needed is a normal likelihood of the predictor f and normal coefficients s.
#
# * Of a response the likelihood is normal: row i has a mean of precision size_i / noise.
# * Of classes it is, given Polya-Gamma variables w: with u = f_k - rest the log odds of class k
#   against the others, given all of these, the log likelihood is that of z = rest + (cases of
#   class k - size / 2) / w with precision w (`honestbayes.sampling.polya_gamma`).
# * Cauchy coefficients are normal given scales: s = width x / sqrt(scale), x standard normal and
#   scale gamma with shape and rate 1/2. Given s the scale is exponential.
#
# Then the widths, and the noise of a response, are updated with s integrated out, and after that s
# is drawn given them: together a draw from their joint conditional distribution. Why the posterior
# stays as it was:
#
# 1. w and the scales are drawn from their conditional distributions given all else, and are
#    forgotten after the step. Given them, the state (widths, noise, s_k) of one class has as its
#    density p(widths, noise | z) p(s_k | widths, noise, z), where the first factor has s_k
#    integrated out; widths are those of the other classes too, so the densities of their
#    coefficients are in it.
# 2. Slices leave the first factor as it is, one width at a time, and s_k is drawn from the second.
# 3. Which class has its turn for the widths is drawn without a look at the state. For the other
#    classes only w and s_k are drawn.
# 4. No coefficient may be beyond LARGEST. Slices are reversible, and the order of widths is drawn
#    anew, any order as likely as the one backwards; so a step from (widths, noise, s_k) to others
#    is as frequent as the step back. Such steps leave a distribution that is conditioned on a set
#    as it is, if those that would leave the set are not made.
#
# With more than two classes widths are also updated given all coefficients (`update_widths`), and
# the means of coefficients over classes are drawn anew (`_shift_classes`). Widths of classes are
# updated given coefficients in units of their widths too (`rescale`), which no Polya-Gamma variable
# holds back where classes can be told apart without error.
# --------------------------------------------------------------------------------------------------


LOG_NOISE = 600.0
"""Bound of the logarithm of the variance of noise, either way: the prior's probability of less is 0
to any precision, and of more exp(-600)."""

WIDTH_STEP, NOISE_STEP = 5.0, 1.5
"""Widths of slices, which are not stepped out: each evaluation costs as much as a draw of all
coefficients."""


@kernel()
def sweep_together(rng, s, log_sigma, noise, problem):  # type: ignore[no-untyped-def]
    """Update all coefficients and widths, and the variance of noise where there is a response.

    ``s`` and ``log_sigma`` are changed; the variance of noise is returned.
    """
    n, n_classes = problem.size.size, s.shape[0]
    has_noise = problem.noise[0] > 0
    f = predictors(s, problem.start, problem.cases, n)
    turn = 0 if n_classes == 1 else int(n_classes * rng.random())
    for k in range(n_classes):
        if has_noise:  # in units of the noise
            h, weight = problem.target[0].copy(), problem.size.copy()
        else:
            rest = log_rest(f, k, n)
            weight = polya_gammas(rng, f[k] - rest, problem.size)
            h = problem.target[k] - 0.5 * problem.size + weight * rest
        noise = _update_class(rng, s, k, h, weight, log_sigma, noise, k == turn, problem)
        f[k] = predictors(s[k : k + 1], problem.start, problem.cases, n)[0]
    if not has_noise:
        if n_classes > 1:
            if not problem.is_cauchy:
                _shift_classes(rng, s, f, log_sigma, problem)
            update_widths(rng, s, log_sigma, problem)
        rescale(rng, s, f, log_sigma, noise, problem)
    return noise


@kernel()
def _shift_classes(rng, s, f, log_sigma, problem):  # type: ignore[no-untyped-def]
    """Draw the mean over classes of each coefficient, of which the data know nothing.

    The likelihood is that of differences between classes, and the mean of K normal variables is
    independent of their differences, with the variance of one divided by K.
    """
    n_classes, n_groups = s.shape
    width = widths_of(problem.counts, log_sigma, False)
    for g in range(n_groups):
        shift = rng.standard_normal() * width[g] / math.sqrt(n_classes)
        largest = 0.0
        for k in range(n_classes):
            shift -= s[k, g] / n_classes
        for k in range(n_classes):
            largest = max(largest, abs(s[k, g] + shift))
        if largest <= LARGEST:
            for k in range(n_classes):
                s[k, g] += shift
    f[:] = predictors(s, problem.start, problem.cases, problem.size.size)


@kernel()
def _variances(log_sigma, scale, problem):  # type: ignore[no-untyped-def]
    """Return the variance of each coefficient, given the scales."""
    width = widths_of(problem.counts, log_sigma, problem.is_cauchy)
    return width * width / scale


@kernel()
def _log_marginal(theta, s, k, h, weight, gram, scale, problem):  # type: ignore[no-untyped-def]
    """Return the log density of widths and noise with the coefficients of class k integrated out.

    ``theta`` holds the logarithms of the widths and of the variance of noise.
    """
    log_sigma = theta[:-1]
    variance = _variances(log_sigma, scale, problem)
    total = 0.0
    for o in range(log_sigma.size):
        shape, rate = problem.priors[o]
        if shape > 0.0:
            total += log_inverse_gamma(log_sigma[o], shape, rate)
    for j in range(s.shape[0]):
        if j != k:
            for g in range(variance.size):
                if problem.is_cauchy:  # the scales are those of class k only
                    square = variance[g] * scale[g]
                    total += 0.5 * math.log(square) - math.log(square + s[j, g] * s[j, g])
                else:
                    total -= 0.5 * (math.log(variance[g]) + s[j, g] * s[j, g] / variance[g])
    if problem.noise[0] == 0:
        return total + log_evidence(h, weight, log_sigma, variance, gram, problem)
    # The prior of noise, and all cases if every coefficient were 0.
    shape, rate = problem.noise
    shape += 0.5 * np.sum(problem.size)
    rate += 0.5 * (problem.spread + np.sum(h * h / weight))
    unit = math.exp(-theta[-1])
    total += log_inverse_gamma(theta[-1], shape, rate)
    return total + log_evidence(h * unit, weight * unit, log_sigma, variance, gram * unit, problem)


@kernel()
def _update_class(rng, s, k, h, weight, log_sigma, noise, has_turn, problem):  # type: ignore[no-untyped-def]
    """Update widths and noise, if it is the turn of class k, then draw its coefficients."""
    n_groups, n_parameters = s.shape[1], log_sigma.size + 1
    theta = np.empty(n_parameters)
    theta[:-1] = log_sigma
    theta[-1] = math.log(noise)
    gram = group_gram(weight, problem) if problem.way == GROUPS else np.zeros((0, 0))
    scale = np.ones(n_groups)
    if problem.is_cauchy:
        width = widths_of(problem.counts, log_sigma, True)
        for g in range(n_groups):
            ratio = s[k, g] / width[g]
            scale[g] = rng.standard_exponential() / (0.5 * (1.0 + ratio * ratio))
    if has_turn:
        log_f = _log_marginal(theta, s, k, h, weight, gram, scale, problem)
        waiting = np.arange(n_parameters)
        for last in range(n_parameters - 1, -1, -1):
            chosen = int((last + 1) * rng.random())
            index = waiting[chosen]
            waiting[chosen] = waiting[last]
            is_noise = index == n_parameters - 1
            if (problem.noise if is_noise else problem.priors[index])[0] == 0.0:
                continue
            low, high, step = LOWEST, HIGHEST, WIDTH_STEP
            if is_noise:
                low, high, step = -LOG_NOISE, LOG_NOISE, NOISE_STEP
            update = slice_start(rng, theta[index], log_f, step, low, high, 1)
            while update[PHASE] != DONE:
                theta[index] = update[POINT]
                log_f = _log_marginal(theta, s, k, h, weight, gram, scale, problem)
                slice_tell(rng, update, log_f)
            theta[index], log_f = update[X], update[LOG_F]
    unit = math.exp(-theta[-1]) if problem.noise[0] > 0 else 1.0
    variance = _variances(theta[:-1], scale, problem)
    drawn = draw_jointly(rng, h * unit, weight * unit, theta[:-1], variance, gram * unit, problem)
    # Widths, noise and coefficients go together: all stay where one would leave the set (4 above).
    if drawn.size == 0 or np.max(np.abs(drawn)) > LARGEST:
        return noise
    s[k] = drawn
    log_sigma[:] = theta[:-1]
    return math.exp(theta[-1]) if problem.noise[0] > 0 else noise
