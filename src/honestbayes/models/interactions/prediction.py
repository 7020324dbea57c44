"""Linear predictors of new cases: sums of the coefficients of groups of patterns.

A new case may have some patterns of a group and not others. What it has of the group's sum is drawn
given the sum (equations 3.25 to 3.27); coefficients of patterns that no training case has are drawn
from their prior. All these draws are functions of a seed, the draw of the chains, the class and the
group: the same case always has the same prediction, whatever stands beside it.
"""

from __future__ import annotations

import math

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.sampling.splitmix import GOLDEN, mixed, uniform_of


@kernel()
def uniform(key, number):  # type: ignore[no-untyped-def]
    """Return the number-th of the uniform numbers of a key, strictly between 0 and 1."""
    return uniform_of(mixed(key + GOLDEN * np.uint64(number)))


@kernel()
def split_cauchy(total, first, second, key):  # type: ignore[no-untyped-def]
    """Draw a Cauchy variable given its sum with another.

    Parameters
    ----------
    total : float
        The sum.
    first, second : float
        Widths of the variable and of the other.
    key : uint64
        Whose uniform numbers are used.

    Notes
    -----
    A proposal from the even mixture of the two densities c1(x) and c2(total - x) is accepted with
    probability c1 c2 / (c1 + c2) over its largest value. As 1 / c is proportional to
    width + x^2 / width, that ratio needs no density, and its largest value is at
    x = total first / (first + second). One proposal in two is accepted, whatever the widths.
    """
    width = first + second
    least = width + total / width * total
    number = 0
    while True:
        tangent = math.tan(math.pi * (uniform(key, number + 1) - 0.5))
        if uniform(key, number) < 0.5:
            x = first * tangent
            rest = total - x
        else:
            rest = second * tangent
            x = total - rest
        value = width + x / first * x + rest / second * rest
        if uniform(key, number + 2) * value < least:
            return x
        number += 3


@kernel()
def normal(key):  # type: ignore[no-untyped-def]
    """Return a standard normal number of a key."""
    radius = math.sqrt(-2.0 * math.log(uniform(key, 0)))
    return radius * math.cos(2.0 * math.pi * uniform(key, 1))


@kernel()
def split_sums(totals, own, other, is_cauchy, seed):  # type: ignore[no-untyped-def]
    """Draw one of two coefficients given their sum, for each draw of the chains.

    Parameters
    ----------
    totals : ndarray of shape (D,)
        The sums.
    own, other : ndarray of shape (D,)
        Widths of the coefficient and of the other one, squared for normal coefficients.
    is_cauchy : bool
        Whether coefficients are Cauchy, else normal.
    seed : uint64
        Of what is drawn here.
    """
    result = totals.copy()
    of_split = mixed(np.uint64(seed))
    for d in range(totals.size):
        if other[d] == 0.0:
            continue
        key = mixed(of_split ^ np.uint64(d))
        if is_cauchy:
            result[d] = split_cauchy(totals[d], own[d], other[d], key)
        else:
            share = own[d] / (own[d] + other[d])
            result[d] = share * totals[d] + math.sqrt(other[d] * share) * normal(key)
    return result


@kernel()
def linear_predictors(  # type: ignore[no-untyped-def]
    s, log_sigma, group_counts, start, group, counts, unseen, is_cauchy, seed, first_draw, result
):
    """Draw linear predictors of new cases, for each draw of the chains.

    Parameters
    ----------
    s : ndarray of shape (D, K, G)
        Draws of coefficients.
    log_sigma : ndarray of shape (D, order + 1)
        Draws of the logarithms of widths.
    group_counts : ndarray of shape (G, order + 1)
        Patterns of each order in each group.
    start, group, counts, unseen
        As in `patterns.Expressed`, of n cases.
    is_cauchy : bool
        Whether coefficients are Cauchy, else normal.
    seed : uint64
        Of what is drawn here.
    first_draw : int
        The number of the first of these draws among all.
    result : ndarray of shape (n, D, K)
        Where predictors are written.
    """
    n_draws, n_classes, n_groups = s.shape
    n, n_orders = unseen.shape
    is_whole = np.empty(group.size, np.bool_)
    for a in range(group.size):
        is_whole[a] = True
        for o in range(n_orders):
            if counts[a, o] != group_counts[group[a], o]:
                is_whole[a] = False
                break
    unit = np.empty(n_orders)
    for d in range(n_draws):
        for o in range(n_orders):
            unit[o] = math.exp(log_sigma[d, o] if is_cauchy else 2.0 * log_sigma[d, o])
        of_draw = mixed(np.uint64(seed) ^ mixed(np.uint64(first_draw + d)))
        for i in range(n):
            new = 0.0
            for o in range(n_orders):
                new += unseen[i, o] * unit[o]
            for k in range(n_classes):
                of_class = mixed(of_draw + np.uint64(k))
                total, variance = 0.0, 0.0
                for a in range(start[i], start[i + 1]):
                    g = group[a]
                    value = np.float64(s[d, k, g])
                    if is_whole[a]:
                        total += value
                        continue
                    own, other = 0.0, 0.0
                    for o in range(n_orders):
                        own += counts[a, o] * unit[o]
                        other += (group_counts[g, o] - counts[a, o]) * unit[o]
                    # What the case has of the group, given the group's sum: equations 3.25 to 3.27.
                    if is_cauchy:
                        total += split_cauchy(value, own, other, mixed(of_class ^ np.uint64(g)))
                    else:
                        # Of two normal variables with a known sum each has its share of the sum,
                        # by variance, and the variance own other / (own + other).
                        share = own / (own + other)
                        total += share * value
                        variance += own * (1.0 - share)
                key = mixed(of_class ^ np.uint64(n_groups))
                if is_cauchy:
                    if new > 0.0:
                        total += new * math.tan(math.pi * (uniform(key, 0) - 0.5))
                elif variance + new > 0.0:
                    total += math.sqrt(variance + new) * normal(key)
                result[i, d, k] = total
