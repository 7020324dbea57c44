"""Draws of columns' parameters given the scores, of scores, of missing cells and of shifts.

Shifts: the scores of a case of class c are normal around a shift, and shifts have the variance k,
the shift ratio. What they have in common does not matter: nu takes it up. With U an orthonormal
basis of the classes' contrasts U' Z is normal with variance 1 + k U' E E' U, and the rest of Z is
standard normal as without shifts.
"""

from __future__ import annotations

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.correction.factor_event import project
from honestbayes.models.factors.kernels import (
    ALL_GROUPS,
    cholesky,
    log_marginals,
    regress,
    share,
    solve_lower,
    solve_upper,
)
from honestbayes.sampling.slicing import DONE, PHASE, POINT, X, slice_start, slice_tell

LOWEST, HIGHEST = -12.0, 12.0
"""Bounds of the logarithms of ratios of variances."""

_WIDTH = 1.0


@kernel()
def draw_columns(rng, design, columns, moments, loading, weights):  # type: ignore[no-untyped-def]
    """Draw the parameters of all columns given the scores.

    Returns
    -------
    position : ndarray of int of shape (k,)
        Ratio of each column, on the grid.
    variance : ndarray of shape (k,)
        s2.
    loadings : ndarray of shape (k, d)
        lambda.
    centre : ndarray of shape (C, k)
        nu + mu_c.
    expected, spread : ndarray of shape (C, k)
        Mean of nu + mu_c given all of the above, and s2 plus its variance: what a new case of the
        class is like, scores apart.
    """
    table = log_marginals(design, columns, moments, loading, ALL_GROUPS)
    shared = share(design.ratio, design.counts, moments, loading)
    n_classes, k, d = design.counts.size, design.group.size, moments.within.shape[0]
    position = np.empty(k, dtype=np.int64)
    variance, loadings = np.empty(k), np.empty((k, d))
    centre, expected, spread = (
        np.empty((n_classes, k)),
        np.empty((n_classes, k)),
        np.empty((n_classes, k)),
    )
    mean, fitted = np.empty(n_classes), np.empty(d)
    half = 0.5 * (design.codes.size - 1)
    for j in range(k):
        g = design.group[j]
        a = _draw_ratio(rng, table[:, j], weights[design.drawn_from[j]])
        position[j] = a
        square = regress(shared, columns, moments, loading, a, g, j, fitted)
        s2 = (design.scale[j] + 0.5 * square) / rng.standard_gamma(design.shape[j] + half)
        variance[j] = s2
        for f in range(d):
            fitted[f] += np.sqrt(s2) * rng.standard_normal()
        solve_upper(shared.root[a, g], fitted)
        for f in range(d):
            loadings[j, f] = np.sqrt(loading[g]) * fitted[f]
        for c in range(n_classes):
            mean[c] = columns.mean[c, j]
            for f in range(d):
                mean[c] -= loadings[j, f] * moments.mean[c, f]
        _draw_centres(
            rng,
            design.ratio[a],
            design.counts,
            s2,
            mean,
            shared.weight[a],
            shared.total[a],
            centre[:, j],
            expected[:, j],
            spread[:, j],
        )
    return position, variance, loadings, centre, expected, spread


@kernel()
def _draw_ratio(rng, log_likelihood, weights):  # type: ignore[no-untyped-def]
    """Draw a position of the grid."""
    top = -np.inf
    for a in range(weights.size):
        if weights[a] > 0:
            top = max(top, log_likelihood[a] + np.log(weights[a]))
    chances = np.zeros(weights.size)
    total = 0.0
    for a in range(weights.size):
        if weights[a] > 0:
            total += np.exp(log_likelihood[a] + np.log(weights[a]) - top)
        chances[a] = total
    u = rng.random() * total
    for a in range(weights.size):
        if u < chances[a]:
            return a
    return int(np.argmax(chances))


@kernel()
def _draw_centres(rng, ratio, counts, s2, mean, weight, total, centre, expected, spread):  # type: ignore[no-untyped-def]
    """Draw nu and the class effects of a column whose class means without scores are ``mean``."""
    common = 0.0
    for c in range(counts.size):
        common += weight[c] * mean[c] / total
    nu = common + np.sqrt(s2 / total) * rng.standard_normal()
    for c in range(counts.size):
        others = 1.0 / (1.0 + ratio * counts[c])
        own = ratio * counts[c] * others
        noise = np.sqrt(s2 * ratio * others) * rng.standard_normal()
        centre[c] = nu + own * (mean[c] - nu) + noise
        expected[c] = common + own * (mean[c] - common)
        spread[c] = s2 * (1.0 + ratio * others + others * others / total)


@kernel()
def draw_centres(rng, design, columns, moments, position, variance, loadings):  # type: ignore[no-untyped-def]
    """Draw nu and the class effects of all columns given everything else.

    Returns
    -------
    centre, expected, spread : ndarray of shape (C, k)
        As `draw_columns` returns them.
    """
    n_classes, k = design.counts.size, position.size
    centre, expected, spread = (
        np.empty((n_classes, k)),
        np.empty((n_classes, k)),
        np.empty((n_classes, k)),
    )
    for j in range(k):
        ratio = design.ratio[position[j]]
        weight = design.counts / (1.0 + ratio * design.counts)
        mean = columns.mean[:, j] - moments.mean @ loadings[j]
        _draw_centres(
            rng,
            ratio,
            design.counts,
            variance[j],
            mean,
            weight,
            weight.sum(),
            centre[:, j],
            expected[:, j],
            spread[:, j],
        )
    return centre, expected, spread


@kernel()
def score_conditional(design, values, variance, loadings, centre):  # type: ignore[no-untyped-def]
    """Return the means of all cases' scores given the parameters, shape (n, d), and a root.

    The root is the Cholesky factor of the precision I + sum_j lambda_j lambda_j' / s2_j, which all
    cases share.
    """
    n, k = values.shape
    d = loadings.shape[1]
    matrix, root = np.eye(d), np.zeros((d, d))
    for j in range(k):
        for f in range(d):
            for g in range(d):
                matrix[f, g] += loadings[j, f] * loadings[j, g] / variance[j]
    cholesky(matrix, root)
    mean = np.zeros((n, d))
    for i in range(n):
        for j in range(k):
            left = (values[i, j] - centre[design.codes[i], j]) / variance[j]
            for f in range(d):
                mean[i, f] += loadings[j, f] * left
        solve_lower(root, mean[i])
        solve_upper(root, mean[i])
    return mean, root


@kernel()
def draw_missing(rng, design, scores, variance, loadings, centre, values):  # type: ignore[no-untyped-def]
    """Overwrite missing cells by draws given everything else."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            if design.missing[i, j]:
                mean = centre[design.codes[i], j]
                for f in range(scores.shape[1]):
                    mean += loadings[j, f] * scores[i, f]
                values[i, j] = mean + np.sqrt(variance[j]) * rng.standard_normal()


@kernel()
def log_prior_of_ratio(log_loading):  # type: ignore[no-untyped-def]
    """Return the log density of log(v) where sqrt(v) is half Cauchy with scale 1."""
    return -np.log(np.cosh(0.5 * log_loading))


@kernel()
def log_density_of_shift(x, event, along):  # type: ignore[no-untyped-def]
    """Return the log density of the log shift ratio, whose root is half Cauchy with scale 1."""
    result = log_prior_of_ratio(x)
    for b in range(along.shape[0]):
        variance = 1.0 + np.exp(x) * event.signal[b]
        result -= 0.5 * along.shape[1] * np.log(variance) + 0.5 * np.sum(along[b] ** 2) / variance
    return result


@kernel()
def draw_shift(rng, log_shift, event, along):  # type: ignore[no-untyped-def]
    """Draw the log shift ratio by slice sampling."""
    log_f = log_density_of_shift(log_shift, event, along)
    update = slice_start(rng, log_shift, log_f, _WIDTH, LOWEST, HIGHEST)
    while update[PHASE] != DONE:
        slice_tell(rng, update, log_density_of_shift(update[POINT], event, along))
    return update[X]


@kernel()
def draw_class_shifts(rng, event, shift, scores, codes, n_classes):  # type: ignore[no-untyped-def]
    """Draw the classes' shifts of the factors given the scores, shape (C, d)."""
    along, _ = project(scores, event.basis)
    d = along.shape[1]
    for b in range(along.shape[0]):
        more = shift * event.signal[b]
        for f in range(d):
            noise = np.sqrt(more / (1.0 + more)) * rng.standard_normal()
            along[b, f] = more / (1.0 + more) * along[b, f] + noise
    result = np.zeros((n_classes, d))
    for i in range(codes.size):
        for f in range(d):
            total = 0.0
            for b in range(along.shape[0]):
                total += event.basis[i, b] * along[b, f]
            result[codes[i], f] = total
    return result
