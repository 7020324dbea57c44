"""The posterior of a two-component mixture by brute force: all labels, all columns, all alphas.

Alphas are those of a short list, with equal prior weights, as in the thesis; thetas are integrated
out by integrating polynomials. Shares no code with the package.
"""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
from numpy.polynomial import Polynomial


def column_probability(column, z, alpha):
    """P(column | z, alpha), theta uniform on (0, 1); None in a column is a missing cell.

    Given theta, the cells of a component are exchangeable: ones and zeros may be taken in turn.
    """
    cells = [(label, x) for x, label in zip(column, z, strict=True) if x is not None]
    counts = tuple(cells.count((c, x)) for c in (0, 1) for x in (0, 1))
    return _column_probability(*counts, alpha)


@cache
def _column_probability(zeros_0, ones_0, zeros_1, ones_1, alpha):
    total = Polynomial([1.0])
    theta, rest = Polynomial([0.0, 1.0]), Polynomial([1.0, -1.0])
    for zeros, ones in ((zeros_0, ones_0), (zeros_1, ones_1)):
        for step in range(ones):
            total = total * (alpha * theta + step) / (alpha + step)
        for step in range(zeros):
            total = total * (alpha * rest + step) / (alpha + ones + step)
    whole = total.integ()
    return whole(1.0) - whole(0.0)


def correlation_squared(column, y):
    """Squared correlation as a fraction, so that ties are ties; 0 where the column is constant."""
    n, ones, positive = len(y), sum(column), sum(y)
    both = sum(a * b for a, b in zip(column, y, strict=True))
    if ones in (0, n):
        return Fraction(0)
    covariance = n * both - ones * positive
    return Fraction(covariance**2, ones * (n - ones) * positive * (n - positive))


def discard_probability(z, y, alpha, bound):
    """P(correlation^2 < bound | z, y, alpha), over all 2^n columns."""
    return sum(
        column_probability(column, z, alpha)
        for column in product((0, 1), repeat=len(y))
        if correlation_squared(column, y) < bound
    )


def label_prior(z, pseudocounts):
    """P(z), psi integrated out, one case after the other."""
    result, sizes = 1.0, [0, 0]
    for label in z:
        result *= (pseudocounts[label] + sizes[label]) / (sum(pseudocounts) + sum(sizes))
        sizes[label] += 1
    return result


def posterior(X, y, alphas, alphas_0, *, pseudocounts=(1.0, 1.0), bound=None, n_discarded=0):
    """P(z, alpha, alpha_0 | y, kept columns, the others discarded), all states.

    Returns
    -------
    states : list of (z, alpha, alpha_0)
    weights : ndarray that sums to 1
    """
    states, weights = [], []
    for z in product((0, 1), repeat=len(y)):
        prior = label_prior(z, pseudocounts)
        of_y = {a0: column_probability(y, z, a0) for a0 in alphas_0}
        for alpha in alphas:
            of_x = np.prod([column_probability(column, z, alpha) for column in np.transpose(X)])
            if bound is not None:
                of_x *= discard_probability(z, y, alpha, bound) ** n_discarded
            for alpha_0 in alphas_0:
                states.append((z, alpha, alpha_0))
                weights.append(prior * of_x * of_y[alpha_0])
    weights = np.array(weights)
    return states, weights / weights.sum()


def predictive(x_new, X, y, states, weights, pseudocounts=(1.0, 1.0)):
    """P(y_new = 1 | x_new, training data): joint probabilities of the longer columns."""
    joint = np.zeros(2)
    for y_new in (0, 1):
        for (z, alpha, alpha_0), weight in zip(states, weights, strict=True):
            for z_new in (0, 1):
                longer = (*z, z_new)
                ratio = label_prior(longer, pseudocounts) / label_prior(z, pseudocounts)
                ratio *= column_probability((*y, y_new), longer, alpha_0) / column_probability(
                    y, z, alpha_0
                )
                for column, x in zip(np.transpose(X), x_new, strict=True):
                    ratio *= column_probability((*column, x), longer, alpha) / column_probability(
                        column, z, alpha
                    )
                joint[y_new] += weight * ratio
    return joint[1] / joint.sum()
