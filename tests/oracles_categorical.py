"""Slow and plain: the categorical model in rational arithmetic, by integration and by drawing."""

from fractions import Fraction
from itertools import product
from math import factorial

import numpy as np
from scipy import integrate
from scipy.special import gammaln


def _times(first, second):
    result = [Fraction(0)] * (len(first) + len(second) - 1)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            result[i + j] += a * b
    return result


def marginal(table, alpha, powers=None):
    """P(column | alpha) with theta uniform on the simplex, exactly, as a Fraction.

    The integrand is multiplied out into monomials of theta; each is integrated by Dirichlet's
    formula. ``powers`` multiplies it by theta_v ** powers[v].
    """
    table = np.asarray(table).tolist()
    levels = len(table[0])
    alpha = Fraction(alpha)
    factors = []
    for v in range(levels):
        polynomial = [Fraction(1)]
        for counts in table:
            for i in range(counts[v]):
                polynomial = _times(polynomial, [Fraction(i), alpha])
        factors.append(polynomial)
    extra = powers or [0] * levels
    total = Fraction(0)
    for degrees in product(*(range(len(factor)) for factor in factors)):
        term = Fraction(factorial(levels - 1))
        for v, degree in enumerate(degrees):
            term *= factors[v][degree] * factorial(degree + extra[v])
        total += term / factorial(sum(degrees) + sum(extra) + levels - 1)
    for counts in table:
        for i in range(sum(counts)):
            total /= alpha + i
    return total


def mean_theta(table, alpha):
    """E[theta_v | table, alpha] for each level, exactly."""
    whole = marginal(table, alpha)
    levels = len(np.asarray(table)[0])
    return [
        float(marginal(table, alpha, [int(v == u) for u in range(levels)]) / whole)
        for v in range(levels)
    ]


def log_marginal_by_integration(table, alpha, base):
    """Log P(column | alpha) with theta ~ Dirichlet(base, ...) for two or three levels."""
    table = np.asarray(table)
    levels = table.shape[1]

    def value(theta):
        log = gammaln(levels * base) - levels * gammaln(base) + np.sum((base - 1) * np.log(theta))
        for counts in table:
            log += gammaln(alpha) - gammaln(alpha + counts.sum())
            log += np.sum(gammaln(alpha * theta + counts) - gammaln(alpha * theta))
        return np.exp(log)

    if levels == 2:
        found = integrate.quad(lambda t: value(np.array([t, 1 - t])), 0, 1, epsabs=0, limit=500)
    else:
        found = integrate.dblquad(
            lambda s, t: value(np.array([t, s * (1 - t), (1 - s) * (1 - t)])) * (1 - t),
            *(0, 1, 0, 1),
            epsabs=0,
            epsrel=1e-9,
        )
    return np.log(found[0])


def draw_tables(alpha, sizes, levels, base, number, generator):
    """Tables of counts from the model, one at a time."""
    tables = np.empty((number, len(sizes), levels), dtype=int)
    for table in tables:
        theta = generator.dirichlet(np.full(levels, base))
        for label, size in enumerate(sizes):
            phi = generator.dirichlet(np.maximum(alpha * theta, 1e-300))
            table[label] = generator.multinomial(size, phi)
    return tables


def all_tables(sizes, levels):
    """Every table of counts with these class sizes, and how many columns each stands for."""

    def splits(total, parts):
        if parts == 1:
            yield (total,)
            return
        for first in range(total + 1):
            for rest in splits(total - first, parts - 1):
                yield (first, *rest)

    tables, ways = [], []
    for rows in product(*(list(splits(size, levels)) for size in sizes)):
        number = 1
        for row in rows:
            number *= factorial(sum(row))
            for count in row:
                number //= factorial(count)
        tables.append(rows)
        ways.append(number)
    return np.array(tables), np.array(ways, dtype=float)
