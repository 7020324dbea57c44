"""Columns with their scores integrated out, and scores that follow the columns' parameters.

A case's scores are their mean given its cells, and a deviation in units of its own covariance. Here
the deviation is held: whatever the mean and the covariance become, the scores follow. nu and the
class effects are integrated out too. The derivation is in the docs (factors.rst).

In a basis of cases whose first dimensions are the contrasts U, and without their mean, which nu
takes up, cases are independent given the parameters: the rest has noise s2 and scores of variance
1, contrast b has noise s2 (1 + w g_b) and scores of variance 1 + k g_b. All that is needed of the
rest are products, so that no evaluation takes time in proportion to the number of cases.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.correction.factor_event import project
from honestbayes.models.factors.kernels import cholesky, solve_lower, solve_upper
from honestbayes.types import FloatArray


class Held(NamedTuple):
    """What is held while the scores follow.

    Attributes
    ----------
    n_rest : float
        Dimensions of the rest.
    contrasts : ndarray of shape (B, k)
        U' X.
    products : ndarray of shape (k, k)
        X' X of the rest.
    deviation : ndarray of shape (B, d)
        Of U' Z from its mean, in units of its covariance's root.
    cross : ndarray of shape (k, d)
        X' of the rest, times the deviations of the rest of Z.
    square : ndarray of shape (d, d)
        Products of these deviations.
    """

    n_rest: float
    contrasts: FloatArray
    products: FloatArray
    deviation: FloatArray
    cross: FloatArray
    square: FloatArray


class Columns(NamedTuple):
    """Parameters of columns: signal ratios (k,), variances (k,) and loadings (k, d)."""

    ratio: FloatArray
    variance: FloatArray
    loadings: FloatArray


@kernel()
def factorise(loadings, noise, spread, root, weighted):  # type: ignore[no-untyped-def]
    """Write the root R of I / spread + L' D^-1 L, and R^-1 L' D^-1; return its half log det."""
    k, d = loadings.shape
    matrix = np.zeros((d, d))
    for f in range(d):
        matrix[f, f] = 1.0 / spread
    for j in range(k):
        for f in range(d):
            for g in range(d):
                matrix[f, g] += loadings[j, f] * loadings[j, g] / noise[j]
    half = cholesky(matrix, root)
    one = np.empty(d)
    for j in range(k):
        for f in range(d):
            one[f] = loadings[j, f] / noise[j]
        solve_lower(root, one)
        for f in range(d):
            weighted[f, j] = one[f]
    return half


@kernel()
def _noise_of(columns, signal):  # type: ignore[no-untyped-def]
    """Return the columns' variances in a dimension with this much of the classes, shape (k,)."""
    return columns.variance * (1.0 + columns.ratio * signal)


@kernel()
def hold(event, shift, columns, rest_of_columns, contrasts, scores):  # type: ignore[no-untyped-def]
    """Return the `Held` of scores given parameters; the inverse of `log_density`.

    Parameters
    ----------
    event : FactorEvent
        Contrasts.
    shift : float
        Shift ratio.
    columns : Columns
        Parameters.
    rest_of_columns : ndarray of shape (n, k)
        Cells without their mean and contrasts.
    contrasts : ndarray of shape (B, k)
        U' X.
    scores : ndarray of shape (n, d)
        Z.
    """
    k, d = columns.loadings.shape
    n_contrasts = event.signal.size
    along, rest = project(scores, event.basis)
    products = rest_of_columns.T @ rest_of_columns
    root, weighted = np.zeros((d, d)), np.empty((d, k))
    n_rest = scores.shape[0] - 1.0
    deviation = np.zeros((n_contrasts, d))
    for b in range(n_contrasts):
        if not _is_there(event, b):
            continue
        n_rest -= 1.0
        noise = _noise_of(columns, event.signal[b])
        factorise(columns.loadings, noise, 1.0 + shift * event.signal[b], root, weighted)
        deviation[b] = root.T @ along[b] - weighted @ contrasts[b]
    factorise(columns.loadings, columns.variance, 1.0, root, weighted)
    # The rest of the columns has neither a mean nor contrasts, so those of Z drop out.
    moved = rest_of_columns.T @ scores @ root
    inner = weighted @ moved
    cross = moved - products @ weighted.T
    square = root.T @ rest @ root - inner - inner.T + weighted @ products @ weighted.T
    return Held(n_rest, contrasts, products, deviation, cross, square)


@kernel()
def _is_there(event, b):  # type: ignore[no-untyped-def]
    """Whether a contrast is one: that of a response which never varies is all 0."""
    return np.sum(event.basis[:, b] ** 2) > 0.5


@kernel()
def log_density(event, shift, held, columns, along, rest):  # type: ignore[no-untyped-def]
    """Return the log density of all columns, with scores, nu and class effects integrated out.

    Overwrites ``along`` and ``rest``, what `project` returns, by those of the scores that follow.
    """
    k, d = columns.loadings.shape
    root, weighted = np.zeros((d, d)), np.empty((d, k))
    result = -held.n_rest * factorise(columns.loadings, columns.variance, 1.0, root, weighted)
    for j in range(k):
        s2 = columns.variance[j]
        result -= 0.5 * (held.n_rest * np.log(s2) + held.products[j, j] / s2)
    explained = weighted @ held.products @ weighted.T
    inner = weighted @ held.cross
    for f in range(d):
        result += 0.5 * explained[f, f]
    # The mean of Z given X is X weighted' root^-1, its deviation is the held one times root^-1.
    small = explained + inner + inner.T + held.square
    for f in range(d):
        solve_upper(root, small[f])
    rest[:] = small.T
    for f in range(d):
        solve_upper(root, rest[f])
    for b in range(event.signal.size):
        along[b] = 0.0
        if not _is_there(event, b):
            continue
        noise = _noise_of(columns, event.signal[b])
        spread = 1.0 + shift * event.signal[b]
        x = held.contrasts[b]
        result -= factorise(columns.loadings, noise, spread, root, weighted)
        result -= 0.5 * (d * np.log(spread) + np.sum(np.log(noise) + x * x / noise))
        fitted = weighted @ x
        result += 0.5 * np.sum(fitted**2)
        along[b] = fitted + held.deviation[b]
        solve_upper(root, along[b])
    return result


@kernel()
def move_scores(event, columns, rest_of_columns, first, first_weighted, along, scores):  # type: ignore[no-untyped-def]
    """Overwrite the scores by those that have followed; their mean stays."""
    k, d = columns.loadings.shape
    root, weighted = np.zeros((d, d)), np.empty((d, k))
    factorise(columns.loadings, columns.variance, 1.0, root, weighted)
    before, _ = project(scores, event.basis)
    mean = np.zeros(d)
    for f in range(d):
        mean[f] = scores[:, f].mean()
    rest = scores - event.basis @ before - mean
    moved = rest @ first + rest_of_columns @ (weighted - first_weighted).T
    for i in range(scores.shape[0]):
        solve_upper(root, moved[i])
    scores[:] = moved + event.basis @ along + mean
