"""Checks of what is drawn given the scores.

They pass on the source as it is, and not where a mistake is planted in it.
"""

from __future__ import annotations

import numpy as np
import oracles_factor as oracle
from factor_problem import LIMIT
from factor_source import event_of
from scipy import stats


def small_design(modules, rng, *, shape=1.5, scale=0.7, k=3):
    codes = np.repeat([0, 1], [4, 6])
    scores = rng.normal(size=(10, 2))
    values = rng.normal(size=(10, k)) + 2 * scores @ rng.normal(size=(2, k)) + codes[:, None]
    values *= 4.0
    ratio = np.array([0.0, 0.2, 3.0])
    design = modules.sampler.Design(
        values,
        np.zeros((10, k), dtype=bool),
        codes,
        np.bincount(codes).astype(float),
        ratio,
        np.array([[[0.5, 0.3, 0.2]]]),
        np.zeros(k, dtype=np.int64),
        np.zeros(k, dtype=np.int64),
        np.full(k, shape),
        np.full(k, scale),
    )
    columns = modules.sampler.column_moments(values, codes, design.counts)
    moments = modules.sampler.score_moments(scores, columns, codes, design.counts)
    return design, columns, moments, scores


def density_check(modules):
    """Columns given the scores: a multivariate Student t."""
    design, columns, moments, scores = small_design(modules, np.random.default_rng(2))
    loading = np.array([0.6])
    table = modules.sampler.log_marginals(design, columns, moments, loading)
    oracles = [
        oracle.log_density_of_columns(design.values, scores, design.codes, w, np.log(0.6), 1.5, 0.7)
        for w in design.ratio
    ]
    return np.ptp(table - np.array(oracles)) < 1e-10


def parameters_check(modules):
    """Draws of a column's parameters: residuals and effects in units of s2 are standard normal."""
    rng = np.random.default_rng(3)
    design, columns, moments, scores = small_design(modules, rng, k=1)
    loading, weights = np.array([0.6]), np.array([0.0, 1.0, 0.0])
    w, n, n_draws = 0.2, 10, 1500
    precision = np.linalg.inv(
        np.eye(n)
        + w * np.eye(2)[design.codes] @ np.eye(2)[design.codes].T
        + 0.6 * scores @ scores.T
    )
    ones = np.ones(n)
    x = design.values[:, 0]
    nu = ones @ precision @ x / (ones @ precision @ ones)
    square = (x - nu) @ precision @ (x - nu)
    inverse, lengths, scaled = [], [], []
    mean = 0.6 * scores.T @ (precision @ (x - nu))  # of the loadings, whatever s2
    spread = (
        0.6 * np.eye(2)
        - 0.36
        * scores.T
        @ (precision - np.outer(precision @ ones, precision @ ones) / (ones @ precision @ ones))
        @ scores
    )
    for _ in range(n_draws):
        _, variance, loadings, centre, expected, _ = modules.sampler.draw_columns(
            rng, design, columns, moments, loading, weights[None]
        )
        inverse.append(1 / variance[0])
        left = (loadings[0] - mean) / np.sqrt(variance[0])
        lengths.append(left @ np.linalg.solve(spread, left))
        scaled.append((centre[0, 0] - expected[0, 0]) ** 2 / variance[0])
    degrees = 1.5 + (n - 1) / 2
    p_variance = stats.kstest(
        inverse, stats.gamma(degrees, scale=1 / (0.7 + square / 2)).cdf
    ).pvalue
    p_loadings = stats.kstest(lengths, stats.chi2(2).cdf).pvalue
    q = design.counts / (1 + w * design.counts)
    own = 1 / (1 + w * 4)
    theory = w * own + own**2 / q.sum()
    p_centre = stats.kstest(np.array(scaled) / theory, stats.chi2(1).cdf).pvalue
    return min(p_variance, p_loadings, p_centre) > 1e-5


def shifts_check(modules):
    """Shifts drawn given the scores are as those that the scores were drawn with."""
    rng = np.random.default_rng(6)
    codes = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])
    event = event_of(modules, codes, 14)
    before, after = [], []
    for _ in range(2000):
        shifts = 0.7 * rng.normal(size=(3, 1))
        shifts -= shifts[codes].mean(axis=0)
        scores = shifts[codes] + rng.normal(size=(9, 1))
        drawn = modules.sampler.draw_class_shifts(rng, event, 0.49, scores, codes, 3)
        for found, values in ((before, shifts), (after, drawn)):
            by_case = values[codes, 0]
            found.append(
                [*values[:, 0] ** 2, *(values[:, 0] * scores[:3, 0]), by_case @ scores[:, 0]]
            )
    return np.max(np.abs(oracle.paired_z(before, after))) < LIMIT


CHECKS = {
    "density": density_check,
    "parameters": parameters_check,
    "shifts": shifts_check,
}

# Name, the check that notices it, the right text, and the wrong one.
MISTAKES = [
    (
        "shifts of the factors without their noise",
        "shifts",
        "along[b, f] = more / (1.0 + more) * along[b, f] + noise",
        "along[b, f] *= more / (1.0 + more)",
    ),
    (
        "shifts of the factors not shrunk",
        "shifts",
        "along[b, f] = more / (1.0 + more) * along[b, f] + noise",
        "along[b, f] += 0.0 * noise",
    ),
    (
        "degrees of freedom of s2: n for n - 1",
        "density",
        "half = 0.5 * (design.codes.size - 1)",
        "half = 0.5 * design.codes.size",
    ),
    (
        "the same, seen in draws",
        "parameters",
        "half = 0.5 * (design.codes.size - 1)",
        "half = 0.5 * design.codes.size",
    ),
    (
        "loadings not scaled by s2",
        "parameters",
        "fitted[f] += np.sqrt(s2) * rng.standard_normal()",
        "fitted[f] += rng.standard_normal()",
    ),
    (
        "flat nu not integrated out",
        "density",
        "        constant -= 0.5 * np.log(total[a])\n",
        "",
    ),
    (
        "determinant of the scores forgotten",
        "density",
        "constant - cholesky(matrix, root[a, g])",
        "constant + 0.0 * cholesky(matrix, root[a, g])",
    ),
    (
        "class effects without their noise",
        "parameters",
        "centre[c] = nu + own * (mean[c] - nu) + noise",
        "centre[c] = nu + own * (mean[c] - nu)",
    ),
]
