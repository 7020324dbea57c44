"""The model with interactions as kernels take it: data, priors, predictors and likelihood."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.types import AnyArray, FloatArray, IntArray

LOG_WIDTHS = LOWEST, HIGHEST = -18.0, 30.0
"""Bounds of the logarithms of the widths sigma."""

LARGEST = 1e8
"""Bound of coefficients: the prior is conditioned on none being larger, far beyond any log odds, so
that sums of large coefficients of both signs are still exact to seven digits."""


class Problem(NamedTuple):
    """Data and priors as kernels take them.

    Attributes
    ----------
    start, cases : ndarray of int
        The cases of group g are ``cases[start[g] : start[g + 1]]``.
    counts : ndarray of shape (n_groups, order + 1)
        Patterns of each order in each group.
    order_start, order_groups : ndarray of int
        The groups with patterns of order o are ``order_groups[order_start[o] : ...]``.
    target : ndarray of shape (K, n)
        Of classes: cases of class k in each row, of all but the first where there are two. Of a
        response: its sum over the cases of each row.
    size : ndarray of shape (n,)
        Cases of each row.
    spread : float
        Of a response, the sum of squares of cases about the means of their rows.
    priors : ndarray of shape (order + 1, 2)
        Shape and rate of the inverse gamma prior of each sigma; a shape of 0 means fixed.
    noise : ndarray of shape (2,)
        Shape and rate of the inverse gamma prior of the variance of noise; 0, 0 for classes.
    is_cauchy : bool
        Whether coefficients are Cauchy, else normal.
    n_width_updates : int
        Updates of each sigma in a sweep.
    way : int
        How all coefficients are drawn at once, of `joint`; 0 where they are not.
    down, parent, within : ndarray of int
        How groups are nested, where they are (`joint.nested`).
    agree : ndarray of int of shape (n, n)
        Cells in which rows agree, where these are needed; else of size 0.
    choose : ndarray of shape (p + 1, order + 1)
        Binomial coefficients.
    """

    start: IntArray
    cases: AnyArray
    counts: FloatArray
    order_start: IntArray
    order_groups: IntArray
    target: FloatArray
    size: FloatArray
    spread: float
    priors: FloatArray
    noise: FloatArray
    is_cauchy: bool
    n_width_updates: int
    way: int
    down: IntArray
    parent: IntArray
    within: IntArray
    agree: AnyArray
    choose: FloatArray


@kernel()
def widths_of(counts, log_sigma, is_cauchy):  # type: ignore[no-untyped-def]
    """Return the width of the prior of each group's coefficient (equation 3.10)."""
    n_groups, n_orders = counts.shape
    result = np.zeros(n_groups)
    for o in range(n_orders):
        sigma = math.exp(log_sigma[o])
        unit = sigma if is_cauchy else sigma * sigma
        for g in range(n_groups):
            result[g] += counts[g, o] * unit
    return result if is_cauchy else np.sqrt(result)


@kernel()
def softplus(u):  # type: ignore[no-untyped-def]
    """Return log(1 + exp(u)), to rounding of 1."""
    if u > 37.0:
        return u
    if u < -37.0:
        return 0.0
    return math.log1p(math.exp(u))


@kernel()
def predictors(s, start, cases, n):  # type: ignore[no-untyped-def]
    """Return the linear predictors of all rows, shape (K, n)."""
    f = np.zeros((s.shape[0], n))
    for g in range(start.size - 1):
        for k in range(s.shape[0]):
            value = s[k, g]
            for i in cases[start[g] : start[g + 1]]:
                f[k, i] += value
    return f


@kernel()
def log_likelihood(f, problem, noise):  # type: ignore[no-untyped-def]
    """Return the log likelihood of linear predictors."""
    total = 0.0
    n = problem.size.size
    if problem.noise[0] > 0:
        for i in range(n):
            total += f[0, i] * (problem.target[0, i] - 0.5 * problem.size[i] * f[0, i])
        return total / noise
    if f.shape[0] == 1:
        for i in range(n):
            total += problem.target[0, i] * f[0, i] - problem.size[i] * softplus(f[0, i])
        return total
    for i in range(n):
        top = f[0, i]
        for k in range(1, f.shape[0]):
            top = max(top, f[k, i])
        exponents = 0.0
        for k in range(f.shape[0]):
            exponents += math.exp(f[k, i] - top)
            total += problem.target[k, i] * f[k, i]
        total -= problem.size[i] * (top + math.log(exponents))
    return total
