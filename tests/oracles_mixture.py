"""The mixture's P(S | labels, alpha) from all 2^n columns, in rational arithmetic.

Nothing is imported from the package. Given its component's label a cell is a one with probability
phi, phi is Beta(alpha theta, alpha (1 - theta)) in each component, and theta is uniform (thesis,
equations 2.59 to 2.63). Each column is judged by its correlation with y, from the definition.
"""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
from oracles import (
    column_polynomial,
    exact_log,
    exact_unknown_ties,
    integrate_polynomial,
    squared_correlation_of_column,
)
from scipy import stats


def information_of_column(x, y):
    """Return exp(n I(x, y)), I the mutual information: a rational number, in the order of I."""

    def power(counts):
        product = 1
        for count in counts:
            product *= count**count
        return product

    pairs = Counter(zip(x, y, strict=True)).values()
    margins = power(Counter(x).values()) * power(Counter(y).values())
    return Fraction(power([len(y)]) * power(pairs), margins)


def difference_of_column(x, y):
    """Return the share of ones in class 1 less that in class 0, with its sign."""
    ones = Counter(label for cell, label in zip(x, y, strict=True) if cell)
    return Fraction(ones[1], y.count(1)) - Fraction(ones[0], y.count(0))


def chi_square_of_ones(x, y):
    """Return the chi-square of the numbers of ones in both classes, 0 without ones.

    Zeros do not count, so a rare feature is stronger than its complement.
    """
    total = Fraction(0)
    for label in (0, 1):
        expected = Fraction(sum(x) * y.count(label), len(y))
        ones = sum(cell for cell, of in zip(x, y, strict=True) if of == label)
        total += (ones - expected) ** 2 / expected if expected else 0
    return total


def remainder_of_column(x, y):
    """Return an order that no statistic has: 3 I0 + 5 I1 modulo 7."""
    ones = Counter(label for cell, label in zip(x, y, strict=True) if cell)
    return Fraction((3 * ones[0] + 5 * ones[1]) % 7)


@cache
def enumerated_columns(z, y, strength=squared_correlation_of_column):
    """Go through all columns: how many have each (ones in component 0, ones in 1, strength)."""
    found = Counter()
    for x in itertools.product((0, 1), repeat=len(y)):
        ones = [sum(cell for cell, label in zip(x, z, strict=True) if label == c) for c in (0, 1)]
        found[ones[0], ones[1], strength(x, y)] += 1
    return found


@cache
def probability_of_column(alpha, low, high, ones0, ones1, size0, size1):
    """Return P(one column | alpha), theta integrated as a polynomial."""
    polynomial = column_polynomial(alpha, ((ones0, size0), (ones1, size1)))
    return integrate_polynomial(polynomial, low, high)


def exact_probabilities(z, y, alpha, low, high, bound, strength=squared_correlation_of_column):
    """Return P(strength < bound), P(=) and P(>) as fractions; z and y are tuples."""
    size0, size1 = z.count(0), z.count(1)
    total = {-1: Fraction(0), 0: Fraction(0), 1: Fraction(0)}
    for (ones0, ones1, value), number in enumerated_columns(z, y, strength).items():
        side = (value > bound) - (value < bound)
        one = probability_of_column(alpha, low, high, ones0, ones1, size0, size1)
        total[side] += number * one
    return total[-1], total[0], total[1]


def exact_log_prob(below, equal, n_discarded, n_tied, ties, m):
    """Return log P(S) from exact probabilities of one feature."""
    if ties == "at_most":
        p = (below + equal) ** n_discarded
    elif ties == "known":
        p = equal**n_tied * below ** (n_discarded - n_tied)
    else:
        p = exact_unknown_ties([(below, equal, n_discarded)], m)
    return exact_log(p)


def beyond_without_components(n0, n1, gamma):
    """Return P(|COR| > gamma) if all cells of a column have one probability, uniform on (0, 1).

    The number of ones is uniform on 0..n, and which cases have them is hypergeometric: the limit
    of an infinite alpha at any labels. For gamma that no column attains.
    """
    n = n0 + n1
    s = np.arange(1, n)
    # COR = (n I1 - n1 s) / sqrt(n0 n1 s (n - s)) is beyond gamma from this I1 on.
    bound = (n1 * s + gamma * np.sqrt(float(n0 * n1) * s * (n - s))) / n
    other = (n1 * s - gamma * np.sqrt(float(n0 * n1) * s * (n - s))) / n
    draw = stats.hypergeom(n, n1, s)
    return float(np.sum(draw.sf(np.floor(bound)) + draw.cdf(np.ceil(other) - 1)) / (n + 1))
