"""Likelihood and conditional draws of real-valued features that load on latent factors.

Cell (i, j) is nu_j + mu_{c(i) j} + lambda_j' z_i + e_ij with e ~ N(0, s2_j). nu_j is flat, class
effects are N(0, w s2_j / t) with the ratio w on a grid, loadings are N(0, v s2_j I) with the ratio
v of the column's group, and s2_j is inverse gamma with scale b_j t. The share of noise t is that of
the variance within classes which factors do not explain: w and b_j are in terms of the whole, since
they are learned where factors are not known. Given the scores Z, v and t all others are integrated
out in closed form. Class effects and nu_j act like the weights of `likelihood.normal`: with
q_c = n_c / (1 + w n_c), the product of two columns is what they share within classes, and between
classes sum_c q_c (x_c - x)(y_c - y), where x is the mean of the x_c weighted by q_c. What is left
is a regression on d columns of scores.

With one class and a single ratio 0 this is plain factor analysis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.types import BoolArray, FloatArray, IntArray

ALL_GROUPS, FIRST_GROUP = np.int64(-1), np.int64(0)
"""Groups of columns. As numbers of NumPy they have one type, as literals each would have its own.
"""


class Design(NamedTuple):
    """What does not change while chains run.

    Attributes
    ----------
    values : ndarray of shape (n, k)
        Columns; whatever stands in missing cells does not matter.
    missing : ndarray of bool of shape (n, k)
        Missing cells.
    codes : ndarray of int of shape (n,)
        Class of each case.
    counts : ndarray of shape (C,)
        Cases in each class.
    ratio : ndarray of shape (A,)
        Grid of signal ratios w.
    weights : ndarray of shape (T, G, A)
        Distributions of the ratio over columns at each node of its scale: of the race, and, where
        there are two, of columns kept by design.
    drawn_from : ndarray of int of shape (k,)
        Which of these distributions a column's ratio has.
    group : ndarray of int of shape (k,)
        Which of the loading ratios a column has; only group 0 has a share of noise.
    shape, scale : ndarray of shape (k,)
        Inverse gamma prior of the variance within classes.
    """

    values: FloatArray
    missing: BoolArray
    codes: IntArray
    counts: FloatArray
    ratio: FloatArray
    weights: FloatArray
    drawn_from: IntArray
    group: IntArray
    shape: FloatArray
    scale: FloatArray


class ColumnMoments(NamedTuple):
    """Class means (C, k), what is left of the cells (n, k), and its sums of squares (k,)."""

    mean: FloatArray
    left: FloatArray
    within: FloatArray


class Scores(NamedTuple):
    """Class means (C, d) of scores, products within classes (d, d), and with columns (d, k)."""

    mean: FloatArray
    within: FloatArray
    cross: FloatArray


class Shared(NamedTuple):
    """What all columns of a group share at each ratio.

    Attributes
    ----------
    weight : ndarray of shape (A, C)
        q_c.
    total : ndarray of shape (A,)
        Sum of q_c: precision of nu over s2.
    apart : ndarray of shape (A, C, d)
        Class means of scores around their weighted mean.
    root : ndarray of shape (A, G, d, d)
        Lower Cholesky factor of I + v Z' Z, products as said above.
    log_constant : ndarray of shape (A, G)
        Log determinants of the marginal likelihood.
    """

    weight: FloatArray
    total: FloatArray
    apart: FloatArray
    root: FloatArray
    log_constant: FloatArray


@kernel()
def copy_into(target, values):  # type: ignore[no-untyped-def]
    """Overwrite a matrix by another; a slice would take longer to compile wherever it stands."""
    for i in range(target.shape[0]):
        for j in range(target.shape[1]):
            target[i, j] = values[i, j]


@kernel()
def add_along(target, basis, change):  # type: ignore[no-untyped-def]
    """Add U times a change of U' Z to Z."""
    target += basis @ change


@kernel()
def keep_along(proposed, scores, basis):  # type: ignore[no-untyped-def]
    """Give proposed scores the U' Z of others."""
    proposed += basis @ (basis.T @ (scores - proposed))


@kernel()
def with_noise(design, log_noise):  # type: ignore[no-untyped-def]
    """Return the design in terms of s2: ratios over the share of noise, scales times it."""
    scale = design.scale.copy()
    for j in range(scale.size):
        if design.group[j] == 0:
            scale[j] *= np.exp(log_noise)
    return Design(
        design.values,
        design.missing,
        design.codes,
        design.counts,
        design.ratio * np.exp(-log_noise),
        design.weights,
        design.drawn_from,
        design.group,
        design.shape,
        scale,
    )


@kernel()
def column_moments(values, codes, counts):  # type: ignore[no-untyped-def]
    """Return the `ColumnMoments` of complete cells."""
    n, k = values.shape
    mean = np.zeros((counts.size, k))
    for i in range(n):
        for j in range(k):
            mean[codes[i], j] += values[i, j]
    for c in range(counts.size):
        mean[c] /= counts[c]
    left = np.empty((n, k))
    within = np.zeros(k)
    for i in range(n):
        for j in range(k):
            left[i, j] = values[i, j] - mean[codes[i], j]
            within[j] += left[i, j] ** 2
    return ColumnMoments(mean, left, within)


@kernel()
def score_moments(scores, columns, codes, counts):  # type: ignore[no-untyped-def]
    """Return the `Scores`."""
    n, d = scores.shape
    mean = np.zeros((counts.size, d))
    for i in range(n):
        for f in range(d):
            mean[codes[i], f] += scores[i, f]
    for c in range(counts.size):
        mean[c] /= counts[c]
    left = np.empty((n, d))
    for i in range(n):
        for f in range(d):
            left[i, f] = scores[i, f] - mean[codes[i], f]
    return Scores(mean, _products(left, left), _products(left, columns.left))


@kernel()
def _products(a, b):  # type: ignore[no-untyped-def]
    """Return a' b, also where a has no columns."""
    result = np.zeros((a.shape[1], b.shape[1]))
    for i in range(a.shape[0]):
        for f in range(a.shape[1]):
            x = a[i, f]
            for j in range(b.shape[1]):
                result[f, j] += x * b[i, j]
    return result


@kernel()
def cholesky(matrix, root):  # type: ignore[no-untyped-def]
    """Write the lower Cholesky factor of a small matrix; return half its log determinant."""
    half = 0.0
    for f in range(matrix.shape[0]):
        for g in range(f + 1):
            total = matrix[f, g]
            for h in range(g):
                total -= root[f, h] * root[g, h]
            if f == g:
                root[f, f] = np.sqrt(total)
                half += np.log(root[f, f])
            else:
                root[f, g] = total / root[g, g]
    return half


@kernel()
def solve_lower(root, x):  # type: ignore[no-untyped-def]
    """Overwrite x by root^-1 x."""
    for f in range(x.size):
        for g in range(f):
            x[f] -= root[f, g] * x[g]
        x[f] /= root[f, f]


@kernel()
def solve_upper(root, x):  # type: ignore[no-untyped-def]
    """Overwrite x by root'^-1 x."""
    for f in range(x.size - 1, -1, -1):
        for g in range(f + 1, x.size):
            x[f] -= root[g, f] * x[g]
        x[f] /= root[f, f]


@kernel()
def share(ratio, counts, moments, loading):  # type: ignore[no-untyped-def]
    """Return the `Shared` at loading ratios of shape (G,)."""
    n_ratios, n_classes, d = ratio.size, counts.size, moments.within.shape[0]
    weight = np.empty((n_ratios, n_classes))
    total = np.zeros(n_ratios)
    apart = np.empty((n_ratios, n_classes, d))
    root = np.zeros((n_ratios, loading.size, d, d))
    log_constant = np.zeros((n_ratios, loading.size))
    matrix = np.empty((d, d))
    for a in range(n_ratios):
        constant = 0.0
        for c in range(n_classes):
            weight[a, c] = counts[c] / (1.0 + ratio[a] * counts[c])
            total[a] += weight[a, c]
            constant -= 0.5 * np.log1p(ratio[a] * counts[c])
        constant -= 0.5 * np.log(total[a])
        for f in range(d):
            centre = 0.0
            for c in range(n_classes):
                centre += weight[a, c] * moments.mean[c, f] / total[a]
            for c in range(n_classes):
                apart[a, c, f] = moments.mean[c, f] - centre
        for g in range(loading.size):
            for e in range(d):
                for f in range(d):
                    between = moments.within[e, f]
                    for c in range(n_classes):
                        between += weight[a, c] * apart[a, c, e] * apart[a, c, f]
                    matrix[e, f] = loading[g] * between + (1.0 if e == f else 0.0)
            log_constant[a, g] = constant - cholesky(matrix, root[a, g])
    return Shared(weight, total, apart, root, log_constant)


@kernel()
def regress(shared, columns, moments, loading, a, g, j, fitted):  # type: ignore[no-untyped-def]
    """Return the sum of squares of column j that scores do not explain at ratio a.

    Overwrites ``fitted`` by root^-1 sqrt(v) Z' x, from which loadings are drawn.
    """
    n_classes, d = shared.weight.shape[1], fitted.size
    centre = 0.0
    for c in range(n_classes):
        centre += shared.weight[a, c] * columns.mean[c, j]
    centre /= shared.total[a]
    square = columns.within[j]
    for f in range(d):
        fitted[f] = moments.cross[f, j]
    for c in range(n_classes):
        x = columns.mean[c, j] - centre
        square += shared.weight[a, c] * x * x
        for f in range(d):
            fitted[f] += shared.weight[a, c] * shared.apart[a, c, f] * x
    for f in range(d):
        fitted[f] *= np.sqrt(loading[g])
    solve_lower(shared.root[a, g], fitted)
    for f in range(d):
        square -= fitted[f] ** 2
    return max(square, 0.0)


@kernel()
def log_marginals(design, columns, moments, loading, only=ALL_GROUPS):  # type: ignore[no-untyped-def]
    """Return log P(column | Z, w, v) of each ratio and column, up to a constant, shape (A, k).

    With ``only``, columns of other groups are left at 0.
    """
    shared = share(design.ratio, design.counts, moments, loading)
    n_ratios, k = design.ratio.size, design.group.size
    half = 0.5 * (design.codes.size - 1)
    table = np.zeros((n_ratios, k))
    square, fitted = np.empty(k), np.empty(moments.cross.shape)
    for a in range(n_ratios):
        for g in range(loading.size):
            if only >= 0 and g != only:
                continue
            _squares(shared, columns, moments, loading[g], a, g, square, fitted)
            for j in range(k):
                if design.group[j] == g:
                    table[a, j] = shared.log_constant[a, g] - (design.shape[j] + half) * np.log(
                        design.scale[j] + 0.5 * max(square[j], 0.0)
                    )
    return table


@kernel()
def _squares(shared, columns, moments, loading, a, g, square, fitted):  # type: ignore[no-untyped-def]
    """Do what `regress` does for all columns at once, row by row of the matrices."""
    n_classes = shared.weight.shape[1]
    d, k = fitted.shape
    centre = np.zeros(k)
    for c in range(n_classes):
        weight = shared.weight[a, c] / shared.total[a]
        for j in range(k):
            centre[j] += weight * columns.mean[c, j]
    square[:] = columns.within
    fitted[:] = moments.cross
    for c in range(n_classes):
        weight = shared.weight[a, c]
        for j in range(k):
            square[j] += weight * (columns.mean[c, j] - centre[j]) ** 2
        for f in range(d):
            slope = weight * shared.apart[a, c, f]
            for j in range(k):
                fitted[f, j] += slope * (columns.mean[c, j] - centre[j])
    for f in range(d):
        for e in range(f):
            pivot = shared.root[a, g, f, e]
            for j in range(k):
                fitted[f, j] -= pivot * fitted[e, j]
        for j in range(k):
            fitted[f, j] /= shared.root[a, g, f, f]
    for f in range(d):
        for j in range(k):
            square[j] -= loading * fitted[f, j] ** 2


@kernel()
def mixed(table, weights, drawn_from):  # type: ignore[no-untyped-def]
    """Return the log likelihood of all columns, ratios summed over with their weights."""
    n_ratios, k = table.shape
    result = 0.0
    for j in range(k):
        top = -np.inf
        for a in range(n_ratios):
            top = max(top, table[a, j])
        total = 0.0
        for a in range(n_ratios):
            total += weights[drawn_from[j], a] * np.exp(table[a, j] - top)
        # Where all likely ratios have no weight the sum may underflow.
        result += top + np.log(max(total, 1e-300))
    return result
