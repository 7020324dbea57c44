"""Small problems with interactions, and their posteriors by integration.

Nothing of the sampler is used: a problem is one column of two levels, so that its patterns are the
intercept and the two levels. Given the intercept and the width, the two coefficients are
independent, and everything is a sum of products of one-dimensional integrals.
"""

from __future__ import annotations

import numpy as np
from scipy import stats
from scipy.special import expit

WIDTH_PRIOR = (2.0, 0.5)
SIZE, ONES = np.array([4.0, 3.0]), np.array([3.0, 0.0])


def nodes(width, number=1200):
    """Return nodes and weights for integrals over the line, as wide as a Cauchy distribution."""
    u = (np.arange(number) + 0.5) / number
    angle = np.pi * (u - 0.5)
    return width * np.tan(angle), np.pi * width / np.cos(angle) ** 2 / number


def exact_moments(prior, intercept_width):
    """Return posterior means of log(sigma_1), and of the probabilities of the two rows."""
    density = stats.cauchy.pdf if prior == "cauchy" else stats.norm.pdf
    shape, mode = WIDTH_PRIOR
    log_sigma = np.linspace(-4.0, 6.0, 81)
    hyper = stats.invgamma.pdf(np.exp(log_sigma), shape, scale=(shape + 1) * mode) * np.exp(
        log_sigma
    )
    s0, w0 = nodes(intercept_width, 301)
    w0 = w0 * density(s0 / intercept_width) / intercept_width
    totals = np.zeros(4)
    for theta, weight in zip(log_sigma, hyper, strict=True):
        sigma = np.exp(theta)
        s, w = nodes(sigma)
        w = w * density(s / sigma) / sigma
        p = expit(s0[:, None] + s)
        rows = []
        for size, ones in zip(SIZE, ONES, strict=True):
            likelihood = p**ones * (1 - p) ** (size - ones) * w
            rows.append((likelihood.sum(axis=1), (likelihood * p).sum(axis=1)))
        (one, p_one), (two, p_two) = rows
        both = one * two @ w0
        totals += weight * np.array([both, theta * both, p_one * two @ w0, one * p_two @ w0])
    return totals[1:] / totals[0]
