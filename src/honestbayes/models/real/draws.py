"""Draws of the evidence of real-valued features, for intervals."""

from __future__ import annotations

import numpy as np

from honestbayes.models.real.blocks import GaussianBlock, GaussianFit
from honestbayes.models.shared.intervals import systematic
from honestbayes.types import AnyArray, FloatArray, IntArray

_FARTHEST = 1e100


def draw_gaussian_evidence(
    fit: GaussianFit, values: AnyArray, n_draws: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw log P(x | class, parameters) given the training data, x, and each y*.

    With x as one more case of class y*, each feature has a posterior in closed form: its ratio on
    the grid, its variance inverse gamma, its centre and class means normal.

    Returns
    -------
    evidence : ndarray of shape (C, n, S, C - 1)
    log_weight : ndarray of shape (C, n, S)
    """
    n_classes = len(fit.race.moments.classes)
    evidence = np.zeros((n_classes, len(values), n_draws, n_classes - 1))
    log_weight = np.zeros((n_classes, len(values), n_draws))
    for block, columns in zip(fit.blocks, fit.in_own_units(values), strict=True):
        node = systematic(generator, np.exp(block.log_scale_weight), n_draws)
        for label in range(n_classes):
            for j, x in enumerate(columns.T):
                known = np.flatnonzero(~np.isnan(x))
                ratio, by_node = _draw_ratio(block, x[known], j, label, node, generator)
                log_density = _draw_log_density(block, x[known], j, label, ratio, generator)
                log_weight[label, known] += by_node[:, node]
                evidence[label, known] += log_density[..., 1:] - log_density[..., :1]
    return evidence, log_weight


def _draw_ratio(
    fit: GaussianBlock,
    x: FloatArray,
    j: int,
    label: int,
    node: IntArray,
    generator: np.random.Generator,
) -> tuple[IntArray, FloatArray]:
    """Draw the position of the feature's ratio, shape (n, S); log P(x | y*, node), shape (n, T)."""
    log_t = fit.log_density(x, j, label)
    positions = np.empty((x.size, node.size), dtype=np.int64)
    by_node = np.empty((x.size, fit.log_scale_weight.size))
    for t in range(fit.log_scale_weight.size):
        log_joint = log_t + fit.log_mixing[t, :, j]
        top = log_joint.max(axis=1, keepdims=True)
        below = np.cumsum(np.exp(log_joint - top), axis=1)
        by_node[:, t] = np.log(below[:, -1]) + top[:, 0]
        draws = generator.permutation(np.flatnonzero(node == t))
        places = (np.arange(draws.size) + generator.random()) / max(draws.size, 1)
        for row in range(x.size):
            positions[row, draws] = np.searchsorted(below[row], places * below[row, -1])
    return np.minimum(positions, fit.ratio.size - 1), by_node


def _draw_log_density(
    fit: GaussianBlock,
    x: FloatArray,
    j: int,
    label: int,
    position: IntArray,
    generator: np.random.Generator,
) -> FloatArray:
    """Draw the feature's variance and means given x in class y*; log N(x) up to a constant."""
    moments = fit.moments
    n_classes = moments.mean.shape[0]
    observed = np.broadcast_to(moments.observed, moments.mean.shape)[:, j].astype(float)
    mean = np.repeat(moments.mean[:, j][None], x.size, axis=0)
    # In units of the feature and around its centre, so that squares stay in range.
    unit = np.sqrt(fit.variance_prior.scale + moments.within[j] + 1e-300)
    centre = float(observed @ moments.mean[:, j] / max(observed.sum(), 1.0))
    mean, new = (mean - centre) / unit, np.clip((x - centre) / unit, -_FARTHEST, _FARTHEST)
    scale, within = fit.variance_prior.scale / unit**2, moments.within[j] / unit**2
    size = observed[label]
    within = within + size / (size + 1) * (new - mean[:, label]) ** 2
    mean[:, label] = (size * mean[:, label] + new) / (size + 1)
    observed[label] += 1
    w = fit.ratio[position]
    weight = observed / (1 + w[..., None] * observed)
    precision = weight.sum(axis=2)
    middle = np.einsum("nsc,nc->ns", weight, mean) / precision
    between = np.einsum("nsc,nsc->ns", weight, (mean[:, None, :] - middle[..., None]) ** 2)
    shape = fit.variance_prior.shape + (observed.sum() - 1) / 2
    n_draws = w.shape[1]
    variance = (scale + (within[:, None] + between) / 2) / generator.gamma(shape, size=n_draws)
    nu = middle + np.sqrt(variance / precision) * generator.normal(size=n_draws)
    result = np.empty((*w.shape, n_classes))
    for c in range(n_classes):
        own = w * observed[c] / (1 + w * observed[c])
        spread = np.sqrt(variance * w / (1 + w * observed[c]))
        mu = nu + own * (mean[:, None, c] - nu) + spread * generator.normal(size=n_draws)
        result[..., c] = -((new[:, None] - mu) ** 2) / (2 * variance)
    return result
