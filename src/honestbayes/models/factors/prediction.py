"""Densities of new cases under drawn factor models, averaged over draws.

Given a draw, the columns of a case of class c are normal around ``location`` with covariance
L L' + diag(spread): L the loadings, the scores of a new case being standard normal. Missing cells
are left out. All is done for a case at a time, so that no case depends on the others.
"""

from __future__ import annotations

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.models.factors.sampler import cholesky, solve_lower

_LOG_2PI = np.log(2.0 * np.pi)

_FARTHEST = 1e100
"""Standard deviations of the noise beyond which all cells are alike; squares would overflow."""


@kernel()
def log_density_of_classes(values, location, spread, loadings):  # type: ignore[no-untyped-def]
    """Return the log of the density of each case in each class, averaged over draws, (n, C).

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Cells; NaN is missing.
    location, spread : ndarray of shape (S, C, k)
        Centres and variances of each draw and class.
    loadings : ndarray of shape (S, k, d)
        Loadings.
    """
    n_draws, n_classes, _ = location.shape
    n = values.shape[0]
    top = np.full((n, n_classes), -np.inf)
    total = np.zeros((n, n_classes))
    seen, one = ~np.isnan(values), np.empty(n)
    for s in range(n_draws):
        for c in range(n_classes):
            _log_density_of_draw(values, seen, location[s, c], spread[s, c], loadings[s], one)
            for i in range(n):
                _add(one[i], top, total, i, c)
    return top + np.log(total) - np.log(n_draws)


@kernel()
def log_density_of_draws(values, location, spread, loadings):  # type: ignore[no-untyped-def]
    """Return the log of the density of each case under each draw in each class, (n, S, C).

    Parameters are those of `log_density_of_classes`.
    """
    n_draws, n_classes, _ = location.shape
    n = values.shape[0]
    result = np.empty((n, n_draws, n_classes))
    seen, one = ~np.isnan(values), np.empty(n)
    for s in range(n_draws):
        for c in range(n_classes):
            _log_density_of_draw(values, seen, location[s, c], spread[s, c], loadings[s], one)
            result[:, s, c] = one
    return result


@kernel()
def _log_density_of_draw(values, seen, location, spread, loadings, result):  # type: ignore[no-untyped-def]
    """Write the log density of each case under one draw in one class."""
    k, d = loadings.shape
    matrix, root, own = np.empty((d, d)), np.zeros((d, d)), np.zeros((d, d))
    fitted, weighted = np.empty(d), np.empty((k, d))
    for j in range(k):
        for f in range(d):
            weighted[j, f] = loadings[j, f] / spread[j]
    farthest = _FARTHEST * np.sqrt(spread)
    constant = _prepare(loadings, spread, np.ones(k, dtype=np.bool_), matrix, root)
    for i in range(values.shape[0]):
        use, base = root, constant
        if not seen[i].all():
            base = _prepare(loadings, spread, seen[i], matrix, own)
            use = own
        square = _project(values[i], seen[i], location, spread, farthest, weighted, use, fitted)
        for f in range(d):
            square -= fitted[f] ** 2
        result[i] = base - 0.5 * square


@kernel()
def _add(value, top, total, i, c):  # type: ignore[no-untyped-def]
    """Add exp(value) to a sum that is kept relative to its largest term."""
    if value > top[i, c]:
        total[i, c] = total[i, c] * np.exp(top[i, c] - value) + 1.0
        top[i, c] = value
    elif value > -np.inf:
        total[i, c] += np.exp(value - top[i, c])


@kernel()
def _prepare(loadings, spread, seen, matrix, root):  # type: ignore[no-untyped-def]
    """Write the Cholesky factor of I + L' diag(spread)^-1 L; return the log of the constant."""
    k, d = loadings.shape
    matrix[:] = np.eye(d)
    constant = 0.0
    for j in range(k):
        if seen[j]:
            constant -= 0.5 * (np.log(spread[j]) + _LOG_2PI)
            for f in range(d):
                for g in range(d):
                    matrix[f, g] += loadings[j, f] * loadings[j, g] / spread[j]
    return constant - cholesky(matrix, root)


@kernel()
def _project(row, seen, location, spread, farthest, weighted, root, fitted):  # type: ignore[no-untyped-def]
    """Return the sum of squares of a row; overwrite ``fitted`` by root^-1 L' diag(spread)^-1 x."""
    fitted[:] = 0.0
    square = 0.0
    for j in range(row.size):
        if seen[j]:
            left = min(max(row[j] - location[j], -farthest[j]), farthest[j])
            square += left * left / spread[j]
            for f in range(fitted.size):
                fitted[f] += weighted[j, f] * left
    solve_lower(root, fitted)
    return square


@kernel()
def response_given_columns(values, location, spread, loadings, columns, response):  # type: ignore[no-untyped-def]
    """Return what each draw says of a column of new cases, given the other ones.

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Cells of the columns that are given; NaN is missing.
    location, spread : ndarray of shape (S, K)
        Centres and variances of all columns.
    loadings : ndarray of shape (S, K, d)
        Loadings of all columns.
    columns : ndarray of int of shape (k,)
        The given ones.
    response : int
        The other one.

    Returns
    -------
    mean, variance, log_weight : ndarray of shape (n, S)
        Of the normal distribution of the response, and the log density of the given cells.
    """
    n, k = values.shape
    n_draws, _, d = loadings.shape
    mean, variance, log_weight = (
        np.empty((n, n_draws)),
        np.empty((n, n_draws)),
        np.empty((n, n_draws)),
    )
    matrix, root = np.empty((d, d)), np.zeros((d, d))
    fitted, own, weighted = np.empty(d), np.empty(d), np.empty((k, d))
    for s in range(n_draws):
        own_loadings, own_spread = loadings[s][columns], spread[s][columns]
        own_location = location[s][columns]
        for j in range(k):
            for f in range(d):
                weighted[j, f] = own_loadings[j, f] / own_spread[j]
        farthest = _FARTHEST * np.sqrt(own_spread)
        for i in range(n):
            seen = ~np.isnan(values[i])
            if i == 0 or not seen.all() or np.isnan(values[i - 1]).any():
                constant = _prepare(own_loadings, own_spread, seen, matrix, root)
            square = _project(
                values[i], seen, own_location, own_spread, farthest, weighted, root, fitted
            )
            own[:] = loadings[s, response]
            solve_lower(root, own)
            mean[i, s] = location[s, response]
            variance[i, s] = spread[s, response]
            for f in range(d):
                square -= fitted[f] ** 2
                mean[i, s] += own[f] * fitted[f]
                variance[i, s] += own[f] ** 2
            log_weight[i, s] = constant - 0.5 * square
    return mean, variance, log_weight
