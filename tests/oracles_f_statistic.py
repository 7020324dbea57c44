"""Slow and direct answers for the F statistic of a real-valued feature. No package code."""

import itertools

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln, ndtri


def matrix_eigenvalues(class_sizes):
    """Nonzero eigenvalues of P N P by a matrix routine."""
    sizes = np.asarray(class_sizes, dtype=float)
    u = np.sqrt(sizes / sizes.sum())
    P = np.eye(sizes.size) - np.outer(u, u)
    return np.linalg.eigvalsh(P @ np.diag(sizes) @ P)[1:]


def simulated_kept(rng, n_columns, class_sizes, ratio, gamma_squared):
    """Share of simulated columns with r^2 above the threshold.

    Class averages are normal given the class means and SSW is chi-square: this is the model itself,
    not its quadratic form.
    """
    sizes = np.asarray(class_sizes)
    n, kept, chunk = sizes.sum(), 0, 250_000
    for start in range(0, n_columns, chunk):
        k = min(chunk, n_columns - start)
        means = 3.0 + np.sqrt(ratio) * rng.normal(size=(k, sizes.size))
        averages = means + rng.normal(size=(k, sizes.size)) / np.sqrt(sizes)
        overall = averages @ sizes / n
        between = (averages - overall[:, None]) ** 2 @ sizes
        within = rng.chisquare(n - sizes.size, size=k)
        kept += int(np.sum(between > gamma_squared * (between + within)))
    return kept / n_columns


def false_alarm_bound(p, n_columns):
    """Half-width that a frequency leaves once in ten thousand times."""
    return -ndtri(0.5e-4) * np.sqrt(p * (1 - p) / n_columns) + 1.0 / n_columns


def imhof_kept(eigenvalues, n_within, ratio, gamma_squared):
    """Imhof (1961): P(sum (1 + w mu) (1 - g) chi2_1 - g chi2_m > 0), an oscillating integral."""
    coefficient = np.append(
        (1 + ratio * np.asarray(eigenvalues)) * (1 - gamma_squared), -gamma_squared
    )
    coefficient = coefficient / np.abs(coefficient).max()
    df = np.append(np.ones(len(eigenvalues)), n_within)

    def integrand(v):
        u = np.exp(v)
        angle = 0.5 * np.sum(df * np.arctan(coefficient * u))
        return np.sin(angle) * np.exp(-0.25 * np.sum(df * np.log1p((coefficient * u) ** 2)))

    edges = np.linspace(-40, 80, 121)
    pieces = [
        quad(integrand, lo, hi, epsabs=1e-12, epsrel=1e-12, limit=400)[0]
        for lo, hi in itertools.pairwise(edges)
    ]
    return 0.5 + sum(pieces) / np.pi


def _log_mean(log_values, log_weights):
    total = log_values + log_weights
    top = total.max()
    return top + np.log(np.sum(np.exp(total - top)))


def log_f_tails(t, d, m):
    """log P(chi2_d / chi2_m > t) and log P(< t), t an array, by Gauss-Legendre on many panels.

    The ratio is q / (1 - q) with q ~ Beta(d / 2, m / 2). Its log-odds z have a smooth density, and
    the panels widen with the distance from log t.
    """
    constant = gammaln((d + m) / 2) - gammaln(d / 2) - gammaln(m / 2)
    edges = np.append(0.0, np.geomspace(1e-6, 400.0, 160))
    node, weight = np.polynomial.legendre.leggauss(30)
    half = np.diff(edges)[:, None] / 2
    distance = (edges[:-1, None] + half * (node + 1)).ravel()
    log_weight = np.log(half * weight).ravel()
    result = []
    for sign in (1, -1):
        z = np.log(np.asarray(t))[:, None] + sign * distance
        density = constant + d / 2 * z - (d + m) / 2 * np.logaddexp(0.0, z)
        result.append(np.array([_log_mean(row, log_weight) for row in density]))
    return result


def log_tails_three_classes(eigenvalues, n_within, ratio, gamma_squared):
    """Average F tails over the direction of two normals, on a circle: periodic, so equal steps."""
    low, high = 1 + ratio * np.asarray(eigenvalues)
    angle = (np.arange(400) + 0.5) * np.pi / 800
    scale = low * np.cos(angle) ** 2 + high * np.sin(angle) ** 2
    odds = gamma_squared / (1 - gamma_squared)
    kept, discarded = log_f_tails(odds / scale, 2, n_within)
    weight = np.full(angle.size, -np.log(angle.size))
    return _log_mean(kept, weight), _log_mean(discarded, weight)
