"""Slow and plain: the Gaussian model by numerical integration over nu and s2."""

import numpy as np
from scipy import special, stats


def log_column(x, y, ratio, shape, scale):
    """Log density of one column given w, nu flat, s2 inverse gamma, by integration over s2.

    Given s2 and nu the column is normal with covariance s2 (I + w Z Z'), Z the classes' 0/1
    columns; the flat nu is integrated by completing the square with generalised least squares.
    """
    x, y = np.asarray(x, float), np.asarray(y)
    n = x.size
    Z = (y[:, None] == np.unique(y)[None, :]).astype(float)
    V = np.eye(n) + ratio * Z @ Z.T
    inverse = np.linalg.inv(V)
    ones = np.ones(n)
    precision = ones @ inverse @ ones
    nu = ones @ inverse @ x / precision
    square = (x - nu) @ inverse @ (x - nu)
    log_constant = -0.5 * (n - 1) * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(V)[1]
    log_constant -= 0.5 * np.log(precision)

    # log(s2), around where the integrand is; the trapezoid rule is exact for such bells.
    degrees = shape + (n - 1) / 2
    centre, width = np.log((scale + square / 2) / degrees), 1 / np.sqrt(degrees)
    t = centre + width * np.linspace(-40, 40, 8001)
    log_prior = stats.invgamma.logpdf(np.exp(t), shape, scale=scale)
    log_value = log_constant - 0.5 * (n - 1) * t - square / (2 * np.exp(t)) + log_prior + t
    return special.logsumexp(log_value) + np.log(t[1] - t[0])
