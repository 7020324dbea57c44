"""Draws from the joint distribution of factors, ratios and columns, which chains must keep.

Nothing here is taken from the package but the records that its kernels take.
"""

from __future__ import annotations

from typing import NamedTuple

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


class Parameters(NamedTuple):
    """Of k columns: positions of their ratios (k,), s2 (k,), effects (C, k) and loadings (d, k)."""

    position: np.ndarray
    variance: np.ndarray
    effects: np.ndarray
    loadings: np.ndarray


def draw_parameters(rng, codes, d, log_loading, log_noise, probabilities, ratio, shape, scale, k):
    """Draw the parameters of k columns, with nu = 0."""
    below = np.cumsum(probabilities)
    position = np.searchsorted(below / below[-1], rng.random(k), side="right")
    noise = np.exp(log_noise)
    variance = noise * scale / rng.gamma(shape, size=k)
    effects = rng.normal(size=(codes.max() + 1, k)) * np.sqrt(ratio[position] * variance / noise)
    loadings = rng.normal(size=(d, k)) * np.sqrt(np.exp(log_loading) * variance)
    return Parameters(position, variance, effects, loadings)


def draw_cells(rng, scores, codes, parameters):
    """Draw the cells of columns given the scores and their parameters."""
    mean = parameters.effects[codes] + scores @ parameters.loadings
    return mean + rng.normal(size=mean.shape) * np.sqrt(parameters.variance)


def draw_columns(rng, scores, codes, log_loading, log_noise, probabilities, ratio, shape, scale, k):
    """Draw k columns given the scores, with nu = 0; return cells, positions and variances."""
    given = (log_loading, log_noise, probabilities, ratio, shape, scale, k)
    drawn = draw_parameters(rng, codes, scores.shape[1], *given)
    return draw_cells(rng, scores, codes, drawn), drawn.position, drawn.variance


def r_squared_of_classes(values, codes):
    """Share of each column's sum of squares between classes."""
    centred = values - values.mean(axis=0)
    members = (codes == np.unique(codes)[:, None]).astype(float)
    between = ((members @ centred) ** 2 / members.sum(axis=1)[:, None]).sum(axis=0)
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


# ------------------------------------------------------------------------- Geweke's joint test


def joint_statistics(state, parameters, values, codes, strength, contrasts, ratio):
    """Numbers of a draw of everything, by name.

    All but the residuals are bounded: means over a few chains of what has a long tail, as the
    logarithm of the noise, are far from normal. ``state`` has scores, log_loading, log_noise,
    log_shift and node; ``strength`` are the columns' r squared with what they were selected by.
    """
    scores, variance = state["scores"], parameters.variance
    centred, x = scores - scores.mean(axis=0), values - values.mean(axis=0)
    square = np.sum(x**2, axis=0)
    explained = np.linalg.svd(centred, full_matrices=False)[0].T @ x
    left = values - parameters.effects[codes] - scores @ parameters.loadings
    loading, size = _below(state["log_loading"]), _share(np.mean(centred**2))
    return {
        "loading ratio": loading[0],
        "its square": (loading[0] - 0.5) ** 2,
        "last loading ratio": loading[-1],
        "noise": -np.expm1(-np.exp(state["log_noise"])),
        "shift ratio": _below(state["log_shift"]),
        "node": state["node"],
        "scores along the contrasts": _share(np.sum((contrasts.T @ scores) ** 2)),
        "size of the scores": size,
        "size and loading ratio": (size - 0.5) * (loading[0] - 0.5),
        "variances": np.mean(_share(variance)),
        "ratios": np.mean(_share(ratio[parameters.position])),
        "effects": np.mean(_share(np.ptp(parameters.effects, axis=0) ** 2 / variance)),
        "loadings": np.mean(_share(np.sum(parameters.loadings**2, axis=0) / variance)),
        "residuals": np.mean(left**2 / variance),
        "squares of the columns": np.mean(_share(square / len(x))),
        "strength of the columns": np.mean(strength),
        "columns and scores": np.mean(np.sum(explained**2, axis=0) / square),
    }


def _below(log_ratio):
    """The distribution function of a ratio whose root is half Cauchy."""
    return 2 / np.pi * np.arctan(np.exp(log_ratio / 2))


def _share(x):
    return x / (1 + x)


def unpaired_z(draws, chains):
    """Mean over chains (chains, draws, s) less that of independent draws (m, s), in errors.

    Chains are batches: they are independent of each other, so their means tell the error.
    """
    draws, batches = np.asarray(draws), np.asarray(chains).mean(axis=1)
    error = np.sqrt(
        draws.var(axis=0, ddof=1) / len(draws) + batches.var(axis=0, ddof=1) / len(batches)
    )
    apart = batches.mean(axis=0) - draws.mean(axis=0)
    # What is the same in all draws must be the same in all chains.
    return apart / np.maximum(error, 1e-9)
