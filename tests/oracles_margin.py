"""Slow and plain: the probability of a column given its number of ones."""

import math

import numpy as np
from scipy import integrate, special


def column_probability(i0, i1, n0, n1, alpha):
    """P(one column with these counts | alpha), theta uniform, by numerical integration."""

    def integrand(theta):
        a, b = alpha * theta, alpha * (1 - theta)
        total = special.betaln(a + i0, b + n0 - i0) + special.betaln(a + i1, b + n1 - i1)
        return np.exp(total - 2 * special.betaln(a, b))

    return integrate.quad(integrand, 0, 1, epsabs=0, epsrel=1e-12, limit=200)[0]


def log_conditional(i0, i1, n0, n1, alpha):
    """Log P(column | alpha, its number of ones)."""
    s = int(i0 + i1)
    margin = sum(
        math.comb(int(n0), j)
        * math.comb(int(n1), s - j)
        * column_probability(j, s - j, n0, n1, alpha)
        for j in range(max(0, s - int(n1)), min(int(n0), s) + 1)
    )
    return math.log(column_probability(i0, i1, n0, n1, alpha) / margin)
