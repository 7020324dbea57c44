"""Draws from the joint distribution of factors, ratios and columns, which chains must keep.

Nothing here is taken from the package but the records that its kernels take.
"""

from __future__ import annotations

import numpy as np


def draw_log_loading(rng, size=None):
    """log(v) where sqrt(v) is half Cauchy with scale 1, within the bounds of the sampler."""
    while True:
        log_v = 2 * np.log(np.abs(rng.standard_cauchy(size)))
        if np.all(np.abs(log_v) < 12):
            return log_v


def draw_log_noise(rng):
    """log(t) where t is exponential with mean 1, within the bounds of the sampler."""
    while True:
        log_t = np.log(rng.exponential())
        if -8 < log_t < 3:
            return log_t


def draw_scores(rng, codes, d, log_shift=None):
    """Standard normal scores, around shifts of the classes that are 0 on average."""
    scores = rng.normal(size=(codes.size, d))
    if log_shift is not None:
        shifts = np.exp(log_shift / 2) * rng.normal(size=(codes.max() + 1, d))[codes]
        scores += shifts - shifts.mean(axis=0)
    return scores


def draw_columns(rng, scores, codes, log_loading, log_noise, probabilities, ratio, shape, scale, k):
    """Draw k columns given the scores, with nu = 0; return cells, positions and variances."""
    n, d = scores.shape
    position = rng.choice(ratio.size, size=k, p=probabilities)
    noise = np.exp(log_noise)
    variance = noise * scale / rng.gamma(shape, size=k)
    effects = rng.normal(size=(codes.max() + 1, k)) * np.sqrt(ratio[position] * variance / noise)
    loadings = rng.normal(size=(d, k)) * np.sqrt(np.exp(log_loading) * variance)
    cells = effects[codes] + scores @ loadings + rng.normal(size=(n, k)) * np.sqrt(variance)
    return cells, position, variance


def r_squared_of_classes(values, codes):
    """Share of each column's sum of squares between classes."""
    centred = values - values.mean(axis=0)
    between = sum(
        (codes == c).sum() * centred[codes == c].mean(axis=0) ** 2 for c in np.unique(codes)
    )
    return between / (centred**2).sum(axis=0)


def r_squared_of_response(values, y):
    """Squared correlation of each column with y."""
    x, u = values - values.mean(axis=0), y - y.mean()
    return (u @ x) ** 2 / ((u @ u) * (x**2).sum(axis=0))


def log_density_of_columns(values, scores, codes, ratio, log_loading, shape, scale):
    """Log density of contrasts of each column given the scores: a multivariate Student t.

    Up to a constant that depends on the number of cases alone.
    """
    n = values.shape[0]
    E = np.eye(codes.max() + 1)[codes]
    covariance = np.eye(n) + ratio * E @ E.T + np.exp(log_loading) * scores @ scores.T
    # Any orthonormal basis of what is orthogonal to a constant.
    basis = np.linalg.svd(np.eye(n) - 1 / n)[0][:, : n - 1]
    small = basis.T @ covariance @ basis
    x = basis.T @ values
    square = np.einsum("ij,ij->j", x, np.linalg.solve(small, x))
    degrees = shape + (n - 1) / 2
    return -0.5 * np.linalg.slogdet(small)[1] - degrees * np.log(scale + square / 2)


# --------------------------------------------------------------------- invariance of a kernel


def statistics(scores, log_loading, log_noise, log_shift, node, values, variance, ratio, contrasts):
    """Numbers whose distribution a kernel must keep; neither turned factors nor shifts matter."""
    centred = scores - scores.mean(axis=0)
    x = (values - values.mean(axis=0)) / np.sqrt(variance)
    along = contrasts.T @ scores
    return np.array(
        [
            *log_loading,
            log_noise,
            log_shift,
            log_noise * log_loading[0],
            np.sum(along**2),
            np.log(np.sum(centred**2)),
            np.sum(scores.mean(axis=0) ** 2),
            np.sum((centred.T @ x) ** 2) / np.sum(centred**2),
            np.sum((along @ (centred.T @ x)) * (contrasts.T @ x)),
            np.mean(np.log(variance)),
            np.mean(np.log(ratio + 0.01)),
            float(node),
            float(node) * log_loading[0],
        ]
    )


def paired_z(before, after):
    """Mean of the differences of each statistic, in standard errors; 0 where nothing moves."""
    apart = np.asarray(after) - np.asarray(before)
    error = apart.std(axis=0, ddof=1) / np.sqrt(len(apart))
    moves = error > 1e-9
    return np.where(moves, apart.mean(axis=0) / np.where(moves, error, 1.0), 0.0)
