"""Sampler of the factor model, conditioned on the event that the other features were discarded.

The parameters of columns are integrated out wherever that is possible. What a chain remembers are
the scores Z, the log loading ratios, the log share of noise, the log ratio of the classes' shifts,
the node of the signal's scale, and missing cells.

U is an orthonormal basis of what features are correlated with: the contrasts of the classes, or
the response. A sweep

1. rescales Z against the loading ratios, and moves its mean, neither of which the data see;
2. draws the node of the scale;
3. draws each log loading ratio, the log share of noise and the log shift ratio by slice sampling;
4. draws U' Z, the part of the scores that is correlated with the class or the response, by
   elliptical slice sampling (its prior is normal), and stretches it against ratios;
5. draws the parameters of all columns (`draw_columns`), and moves them again with scores that
   follow (`follow`);
6. draws the rest of Z given them, a normal distribution. The probability that N features were
   discarded depends most on U' Z, which stays as it is; the rest is proposed in steps that leave
   its normal distribution as it is, small ones too, each accepted with the ratio of P(S)^N;
7. draws missing cells.

From top to bottom: the likelihood of columns given the scores; the event; draws of parameters given
the scores; columns with the scores integrated out, and the moves in which the scores follow; the
other steps of the sweep and the sweep itself; the kernel that chains run.

References
----------
Murray, I., Adams, R. P. and MacKay, D. J. C. (2010). Elliptical slice sampling. AISTATS, figure 2.
Neal, R. M. (1999). Regression and classification using Gaussian process priors. Bayesian Statistics
6, 475-501, equation 15, for proposals that leave a normal distribution as it is.
Yu, Y. and Meng, X.-L. (2011). To center or not to center: that is not the question. Journal of
Computational and Graphical Statistics 20, 531-570, for holding in turn the scores and the noise.
Liu, J. S. and Sabatti, C. (2000). Generalised Gibbs sampler and multigrid Monte Carlo for Bayesian
computation. Biometrika 87, 353-369, for moves along curves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.correction.factor_event import log_discarded, prob_kept, project
from honestbayes.files.fields import Check, Counts, Floats, Known
from honestbayes.models.factors.model import check_draws, draw_fields
from honestbayes.sampling.chains import Form, Info, State
from honestbayes.sampling.slicing import (
    DONE,
    LEVEL,
    LOG_F,
    PHASE,
    POINT,
    X,
    slice_start,
    slice_tell,
)
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Likelihood of columns given the scores, their parameters integrated out
#
# Cell (i, j) is nu_j + mu_{c(i) j} + lambda_j' z_i + e_ij with e ~ N(0, s2_j). nu_j is flat, class
# effects are N(0, w s2_j / t) with the ratio w on a grid, loadings are N(0, v s2_j I) with the
# ratio v of the column's group, and s2_j is inverse gamma with scale b_j t. The share of noise t is
# that of the variance within classes which factors do not explain: w and b_j are in terms of the
# whole, since they are learned where factors are not known. Given the scores Z, v and t all others
# are integrated out in closed form. Class effects and nu_j act like the weights of
# `likelihood.normal`: with q_c = n_c / (1 + w n_c), the product of two columns is what they share
# within classes, and between classes sum_c q_c (x_c - x)(y_c - y), where x is the mean of the x_c
# weighted by q_c. What is left is a regression on d columns of scores.
#
# With one class and a single ratio 0 this is plain factor analysis.
# --------------------------------------------------------------------------------------------------


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
        Distributions of the ratio over columns at each node of its scale: of ranked columns, and,
        where there are two, of columns kept by design.
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


class ScoreMoments(NamedTuple):
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
        Lower Cholesky factor of I + v Z' Z, products as above.
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
    """Return the design in terms of s2: ratios over the share of noise, scales times it.

    Class effects have the variance w s2 / t, so w / t in units of s2; the scale of s2 is b t.
    """
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
    """Return the `ScoreMoments`."""
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
    return ScoreMoments(mean, _products(left, left), _products(left, columns.left))


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
            # The mean of class c has the variance s2 (1 / n_c + w) = s2 / q_c around nu, and
            # integrating its effect out leaves the determinant 1 + w n_c.
            weight[a, c] = counts[c] / (1.0 + ratio[a] * counts[c])
            total[a] += weight[a, c]
            constant -= 0.5 * np.log1p(ratio[a] * counts[c])
        # The flat nu has the precision sum_c q_c / s2.
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
    # n - 1, not n: the flat nu takes one dimension up.
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
                    # s2 integrated out. Of the inverse gamma's constant scale^shape, which does
                    # not depend on Z, w and v, nothing is kept here (but `_log_density_of_noise`).
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


# --------------------------------------------------------------------------------------------------
# The event that features were discarded, and its probability given the scores
# --------------------------------------------------------------------------------------------------


class FactorEvent(NamedTuple):
    """The event that features were discarded.

    Attributes
    ----------
    basis : ndarray of shape (n, B)
        What features were correlated with (`correction.factor_event.Contrasts`).
    signal : ndarray of shape (B,)
        The same.
    gamma_squared : float
        Bound on r squared.
    n_cases : ndarray of shape (D,)
        Observed cases of each group of discarded features.
    n_discarded : ndarray of shape (D,)
        How many there are; no groups: nothing is conditioned on.
    used : ndarray of bool of shape (T, A)
        Ratios that matter to P(S) at each node.
    kept_share : ndarray of shape (R,)
        How much of its deviation from the mean each proposal of scores keeps, from 0 to 1.
    has_shifts : bool
        Whether classes may differ in the factors.
    """

    basis: FloatArray
    signal: FloatArray
    gamma_squared: float
    n_cases: FloatArray
    n_discarded: FloatArray
    used: BoolArray
    kept_share: FloatArray
    has_shifts: bool


@kernel()
def log_selection(event, ratio, weights, used, along, rest, loading):  # type: ignore[no-untyped-def]
    """Return log P(S | Z, w_lambda) at each node, shape (T,), by the ratios that are used.

    Of the scores it takes what `project` returns. A feature with fewer observed cases than all is
    taken to have seen a fair sample of them.
    """
    result = np.zeros(weights.shape[0])
    if event.n_discarded.size == 0:
        return result
    few = ratio[used]
    for g in range(event.n_discarded.size):
        kept = _prob_kept(event, along, rest, few, loading, event.n_cases[g] / event.basis.shape[0])
        for t in range(weights.shape[0]):
            total = 0.0
            position = 0
            for a in range(ratio.size):
                if used[a]:
                    total += weights[t, a] * kept[position]
                    position += 1
            # Features are independent given the scores, hence a power. P(kept) is small and the
            # number of features large: log1p keeps the relative accuracy that 1 - P would lose.
            result[t] += event.n_discarded[g] * np.log1p(-min(total, 1.0))
    return result


@kernel(inline="always")
def _prob_kept(event, along, rest, ratio, loading, share):  # type: ignore[no-untyped-def]
    """Return P(kept) at each ratio of a feature that has seen this share of the cases."""
    n_cases = np.round(share * event.basis.shape[0])
    # A fair sample scales all sums of squares over cases, in U' Z, Z' Z and the classes alike.
    along, rest, signal = np.sqrt(share) * along, share * rest, share * event.signal
    if signal.size == 1:
        return prob_kept(along, rest, signal[0], ratio, loading, event.gamma_squared, n_cases)
    return -np.expm1(
        log_discarded(along, rest, signal, ratio, loading, event.gamma_squared, n_cases)
    )


@kernel(inline="always")
def log_selection_of(event, design, node, along, rest, loading):  # type: ignore[no-untyped-def]
    """Return log P(S | Z, w_lambda) at one node, of what `project` returns."""
    if event.n_discarded.size == 0:
        return 0.0
    one = design.weights[node : node + 1, 0]
    return log_selection(event, design.ratio, one, event.used[node], along, rest, loading)[0]


@kernel(inline="always")
def log_selection_at(event, design, node, scores, loading):  # type: ignore[no-untyped-def]
    """Return log P(S | Z, w_lambda) at one node."""
    if event.n_discarded.size == 0:
        return 0.0
    along, rest = project(scores, event.basis)
    return log_selection_of(event, design, node, along, rest, loading)


# --------------------------------------------------------------------------------------------------
# Draws of columns' parameters given the scores, of scores, of missing cells and of shifts
#
# Shifts: the scores of a case of class c are normal around a shift, and shifts have the variance k,
# the shift ratio. What they have in common does not matter: nu takes it up. With U an orthonormal
# basis of the classes' contrasts U' Z is normal with variance 1 + k U' E E' U, and the rest of Z is
# standard normal as without shifts.
# --------------------------------------------------------------------------------------------------


LOWEST, HIGHEST = -12.0, 12.0
"""Bounds of the logarithms of ratios of variances."""

_SHIFT_WIDTH = 1.0


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
        # By composition: the ratio with all else of the column integrated out, then s2, the
        # loadings, nu and the class effects, each given those before. So this is one exact draw.
        g = design.group[j]
        a = _draw_signal_ratio(rng, table[:, j], weights[design.drawn_from[j]])
        position[j] = a
        square = regress(shared, columns, moments, loading, a, g, j, fitted)
        s2 = (design.scale[j] + 0.5 * square) / rng.standard_gamma(design.shape[j] + half)
        variance[j] = s2
        # lambda = sqrt(v) R'^-1 (R^-1 sqrt(v) Z' x + sqrt(s2) e) with R R' = I + v Z' Z: its mean
        # is the ridge regression on the scores, its covariance v s2 (I + v Z' Z)^-1.
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
def _draw_signal_ratio(rng, log_likelihood, weights):  # type: ignore[no-untyped-def]
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
        # nu + mu_c = (1 - own) nu + own mean_c + noise, and 1 - own is ``others``.
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
    """Return the log density of log(v) where sqrt(v) is half Cauchy with scale 1.

    With u = sqrt(v) and x = log(v) it is u / (1 + u^2), that is 1 / (2 cosh(x / 2)).
    """
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
    update = slice_start(rng, log_shift, log_f, _SHIFT_WIDTH, LOWEST, HIGHEST)
    while update[PHASE] != DONE:
        slice_tell(rng, update, log_density_of_shift(update[POINT], event, along))
    return update[X]


@kernel()
def draw_class_shifts(rng, event, shift, scores, codes, n_classes):  # type: ignore[no-untyped-def]
    """Draw the classes' shifts of the factors given the scores, shape (C, d)."""
    along, _ = project(scores, event.basis)
    d = along.shape[1]
    for b in range(along.shape[0]):
        # U' Z is a shift of variance k g_b plus noise of variance 1: a normal mean given one value.
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


# --------------------------------------------------------------------------------------------------
# Columns with their scores integrated out, and scores that follow the columns' parameters
#
# A case's scores are their mean given its cells, and a deviation in units of its own covariance.
# Here the deviation is held: whatever the mean and the covariance become, the scores follow. Given
# the parameters the deviation is standard normal whatever they are, so the density of parameters
# and deviations is that of the columns with the scores integrated out, and no Jacobian is needed.
# nu and the class effects are integrated out too. The derivation is in the docs (factors.rst).
#
# In a basis of cases whose first dimensions are the contrasts U, and without their mean, which nu
# takes up, cases are independent given the parameters: the rest has noise s2 and scores of variance
# 1, contrast b has noise s2 (1 + w g_b) and scores of variance 1 + k g_b. All that is needed of the
# rest are products, so that no evaluation takes time in proportion to the number of cases.
# --------------------------------------------------------------------------------------------------


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


class ColumnParameters(NamedTuple):
    """Parameters of columns: signal ratios (k,), variances (k,) and loadings (k, d)."""

    ratio: FloatArray
    variance: FloatArray
    loadings: FloatArray


@kernel()
def factorise(loadings, noise, spread, root, weighted):  # type: ignore[no-untyped-def]
    """Write the root R of I / spread + L' D^-1 L, and R^-1 L' D^-1; return its half log det.

    It is the precision of the scores of a case, given its cells: L are the loadings, D the noise
    and ``spread`` the scores' own variance.
    """
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
    columns : ColumnParameters
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
    # Of each of the n_rest dimensions: |D + L L'| = |D| |I + L' D^-1 L|, and x' (D + L L')^-1 x is
    # x' D^-1 x less |R^-1 L' D^-1 x|^2, summed over the dimensions by means of X' X.
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
        # |D + spread L L'| = |D| spread^d |I / spread + L' D^-1 L|.
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
    # The held deviation is rest R_0 - X W_0'; the scores that follow are (X W' + it) R^-1.
    moved = rest @ first + rest_of_columns @ (weighted - first_weighted).T
    for i in range(scores.shape[0]):
        solve_upper(root, moved[i])
    scores[:] = moved + event.basis @ along + mean


# --------------------------------------------------------------------------------------------------
# Moves of loadings, variances and loading ratios in which the scores follow
#
# Given the scores, a loading and a variance can move by a tenth only (n = 100), and given these the
# scores can hardly move where one column almost fixes them. So the split of a column's variance
# into a factor's and its own would be walked through in small steps. Here the scores are not held,
# but their deviations from what the columns say of them.
#
# 1. The log loading ratio of each group: loadings in units of its root are held.
# 2. All loadings, by elliptical slice sampling: their prior is normal.
# 3. The angle between a column's loadings and the root of its own variance, which holds the sum of
#    their squares: slice sampling on the half circle. For a response also with features' loading
#    ratio giving way: factors that go along with it must load on few features, or many of the
#    discarded ones would have been kept.
# --------------------------------------------------------------------------------------------------


_RATIO_WIDTH = 2.0
_MOST_SHRINKAGE = 60
"""Steps after which a bracket around the present state has shrunk to rounding: the state stays."""

_TURNED = 1
"""Columns that are turned in a sweep, at most; which, is drawn."""


@kernel(inline="always")
def _log_target(design, event, shift, node, held, columns, log_loading, log_prior, level):  # type: ignore[no-untyped-def]
    """Return the log prior and density of columns times P(S) of the scores that follow.

    Where it is below the level without P(S), which is at most 1, P(S) is not computed.
    """
    d = columns.loadings.shape[1]
    along, rest = np.zeros((event.signal.size, d)), np.zeros((d, d))
    value = log_prior + log_density(event, shift, held, columns, along, rest)
    if value <= level:
        return -np.inf
    return value + log_selection_of(event, design, node, along, rest, np.exp(log_loading[0]))


@kernel()
def _rescale_group(g, design, columns, before, change):  # type: ignore[no-untyped-def]
    """Overwrite the loadings of a group by their former ones at a log loading ratio larger so."""
    for j in range(design.group.size):
        if design.group[j] == g:
            columns.loadings[j] = before[j] * np.exp(0.5 * change)


@kernel(inline="always")
def _draw_scale(rng, g, value, design, event, shift, node, held, columns, log_loading):  # type: ignore[no-untyped-def]
    """Draw a log loading ratio, loadings in units of it held; overwrites it and the loadings.

    Takes and returns, as all moves here, the log density of columns times P(S).
    """
    before, start = columns.loadings.copy(), log_loading[g]
    log_f = value + log_prior_of_ratio(start)
    update = slice_start(rng, start, log_f, _RATIO_WIDTH, LOWEST, HIGHEST)
    while update[PHASE] != DONE:
        x = update[POINT]
        # Loadings over the root of their ratio are standard normal whatever the ratio: only the
        # prior of the ratio itself is left.
        _rescale_group(g, design, columns, before, x - start)
        log_loading[g] = x
        log_f = _log_target(
            design,
            event,
            shift,
            node,
            held,
            columns,
            log_loading,
            log_prior_of_ratio(x),
            update[LEVEL],
        )
        slice_tell(rng, update, log_f)
    log_loading[g] = update[X]
    _rescale_group(g, design, columns, before, update[X] - start)
    return update[LOG_F] - log_prior_of_ratio(update[X])


@kernel(inline="always")
def _draw_loadings(rng, value, design, event, shift, node, held, columns, log_loading):  # type: ignore[no-untyped-def]
    """Draw all loadings by elliptical slice sampling; overwrites them."""
    before = columns.loadings.copy()
    other = rng.standard_normal(before.shape)
    for j in range(design.group.size):
        other[j] *= np.sqrt(np.exp(log_loading[design.group[j]]) * columns.variance[j])
    level = value - rng.standard_exponential()
    angle = 2.0 * np.pi * rng.random()
    low, high = angle - 2.0 * np.pi, angle
    for _ in range(_MOST_SHRINKAGE):
        copy_into(columns.loadings, np.cos(angle) * before + np.sin(angle) * other)
        proposed = _log_target(design, event, shift, node, held, columns, log_loading, 0.0, level)
        if proposed > level:
            return proposed
        # The present state is at angle 0: the bracket shrinks towards it and always holds it.
        if angle < 0:
            low = angle
        else:
            high = angle
        angle = low + (high - low) * rng.random()
    copy_into(columns.loadings, before)
    return value


@kernel()
def log_prior_of_angle(angle, length, d, shape, scale, loading):  # type: ignore[no-untyped-def]
    """Return the log density of the angle whose sine is a column's own share of ``length``.

    The loadings have the length r cos(angle) and s is r sin(angle). In these coordinates a volume
    of loadings and s is r^d |cos(angle)|^(d - 1), and s2 has the density of s over 2 s.
    """
    s2 = (length * np.sin(angle)) ** 2
    ratio = 1.0 / np.tan(angle) ** 2
    volume = (d - 1.0) * np.log(max(abs(np.cos(angle)), 1e-300))
    return volume - (shape + 0.5 * (d + 1.0)) * np.log(s2) - scale / s2 - 0.5 * ratio / loading


@kernel(inline="always")
def _turn(rng, j, does_offset, value, design, event, shift, node, held, columns, log_loading):  # type: ignore[no-untyped-def]
    """Draw the angle between a column's loadings and the root of its variance.

    With ``does_offset`` the first group's loading ratio v gives way: v times (1 + what of the
    column's square along the contrasts the factors take) is held, and so are that group's loadings
    in units of the root of v. The column itself must be of another group.
    """
    before, s2, start = columns.loadings.copy(), columns.variance[j], log_loading[0]
    size = np.sqrt(np.sum(before[j] ** 2))
    length = np.sqrt(size**2 + s2)
    if not size > 1e-150:
        return value
    own = np.exp(log_loading[design.group[j]])
    given = (length, before.shape[1], design.shape[j], design.scale[j], own)
    reach = np.sum(held.contrasts[:, j] ** 2) / length**2 if does_offset else 0.0
    now = np.arctan2(np.sqrt(s2), size)
    level = value + log_prior_of_angle(now, *given) + log_prior_of_ratio(start)
    level -= rng.standard_exponential()
    # Beyond a right angle the loadings point the other way. The interval has all angles at first.
    low, high = 0.0, np.pi
    for _ in range(_MOST_SHRINKAGE):
        angle = low + (high - low) * rng.random()
        # A shear: at each angle the log ratio is moved by a constant. Its Jacobian is 1.
        change = np.log1p(reach * np.cos(now) ** 2) - np.log1p(reach * np.cos(angle) ** 2)
        log_loading[0] = start + change
        if does_offset:
            _rescale_group(FIRST_GROUP, design, columns, before, change)
        columns.loadings[j] = before[j] * (length * np.cos(angle) / size)
        columns.variance[j] = max((length * np.sin(angle)) ** 2, 1e-300)
        log_prior = log_prior_of_angle(angle, *given) + log_prior_of_ratio(log_loading[0])
        if LOWEST < log_loading[0] < HIGHEST:
            proposed = _log_target(
                design, event, shift, node, held, columns, log_loading, log_prior, level
            )
            if proposed > level:
                return proposed - log_prior
        if angle < now:
            low = angle
        else:
            high = angle
    copy_into(columns.loadings, before)
    columns.variance[j], log_loading[0] = s2, start
    return value


@kernel()
def _log_density_of_ratio(x, squares, number):  # type: ignore[no-untyped-def]
    """Return the log density of a log loading ratio given loadings in units of the noise."""
    return log_prior_of_ratio(x) - 0.5 * number * x - 0.5 * squares * np.exp(-x)


@kernel()
def _draw_loading_ratio(rng, g, design, columns, log_loading):  # type: ignore[no-untyped-def]
    """Draw a log loading ratio, which P(S) does not know of, given the loadings."""
    squares, number = 0.0, 0
    for j in range(design.group.size):
        if design.group[j] == g:
            squares += np.sum(columns.loadings[j] ** 2) / columns.variance[j]
            number += columns.loadings.shape[1]
    log_f = _log_density_of_ratio(log_loading[g], squares, number)
    update = slice_start(rng, log_loading[g], log_f, _RATIO_WIDTH, LOWEST, HIGHEST)
    while update[PHASE] != DONE:
        slice_tell(rng, update, _log_density_of_ratio(update[POINT], squares, number))
    log_loading[g] = update[X]


@kernel(inline="always")
def follow(rng, design, event, shift, node, left, contrasts, columns, scores, log_loading):  # type: ignore[no-untyped-def]
    """Move loadings, variances and loading ratios; overwrites them and the scores.

    Parameters
    ----------
    rng : Generator
        Drawn from.
    design : Design
        In terms of s2 (`with_noise`).
    event, shift, node : FactorEvent, float, int
        The discarded features, the shift ratio, the node of the signal's scale.
    left : ndarray of shape (n, k)
        Columns without the means of their classes.
    contrasts : ndarray of shape (B, k)
        U' X.
    columns : ColumnParameters
        Parameters.
    scores : ndarray of shape (n, d)
        Z.
    log_loading : ndarray of shape (G,)
        Log loading ratios.
    """
    k, d = columns.loadings.shape
    rest_of_columns = left - event.basis @ (event.basis.T @ left)
    held = hold(event, shift, columns, rest_of_columns, contrasts, scores)
    first, first_weighted = np.zeros((d, d)), np.empty((d, k))
    factorise(columns.loadings, columns.variance, 1.0, first, first_weighted)
    value = _log_target(design, event, shift, node, held, columns, log_loading, 0.0, -np.inf)
    for g in range(log_loading.size):
        value = _draw_scale(rng, g, value, design, event, shift, node, held, columns, log_loading)
    value = _draw_loadings(rng, value, design, event, shift, node, held, columns, log_loading)
    first_turned, n_turned = rng.integers(0, k), min(k, _TURNED)
    # Some columns of the first group, then each of the others, without an offset and with one.
    for step in range(n_turned + 2 * k):
        is_first, later = step < n_turned, step - n_turned
        j = (first_turned + step) % k if is_first else later // 2
        does_offset = not is_first and later % 2 == 1
        if is_first != (design.group[j] == 0):
            continue
        value = _turn(
            rng, j, does_offset, value, design, event, shift, node, held, columns, log_loading
        )
        if not is_first:
            _draw_loading_ratio(rng, design.group[j], design, columns, log_loading)
    along, rest = np.zeros((event.signal.size, d)), np.zeros((d, d))
    log_density(event, shift, held, columns, along, rest)
    move_scores(event, columns, rest_of_columns, first, first_weighted, along, scores)


# --------------------------------------------------------------------------------------------------
# Steps of the sweep in which the columns' parameters are integrated out, draws of scores, the sweep
# --------------------------------------------------------------------------------------------------


LOWEST_NOISE, HIGHEST_NOISE = -8.0, 3.0
"""Bounds of the log share of noise."""

_LOADING_WIDTH, _NOISE_WIDTH = 2.0, 0.5
_ALONG_UPDATES = 2
"""Updates of U' Z in each sweep, which is what moves slowest."""


@kernel(inline="always")
def _rescale(rng, event, shift, scores, log_loading):  # type: ignore[no-untyped-def]
    """Move Z to g Z and v to v / g^2, which leaves the likelihood and P(S) as they are.

    g^(nd - 1) exp(-g^2 |Z|^2 / 2) is drawn from as it stands, with |Z|^2 in units of the prior's
    variances; the prior of v decides. The mean of Z over cases is what nu takes up, so it is drawn
    from its prior.
    """
    n, d = scores.shape
    along, _ = project(scores, event.basis)
    square = np.sum(scores**2)
    for b in range(along.shape[0]):
        more = shift * event.signal[b]
        square -= more / (1.0 + more) * np.sum(along[b] ** 2)
    if square > 0:
        # g^2 |Z|^2 is chi-square with n d degrees of freedom under the prior of Z; the Jacobian of
        # Z -> g Z is in its density, that of log(v) -> log(v) - 2 log(g) is 1.
        factor = 2.0 * rng.standard_gamma(0.5 * n * d) / square
        moved = log_loading - np.log(factor)
        change = 0.0
        for g in range(moved.size):
            change += log_prior_of_ratio(moved[g]) - log_prior_of_ratio(log_loading[g])
        inside = moved.min() > LOWEST and moved.max() < HIGHEST
        if inside and np.log(rng.random()) < change:
            scores *= np.sqrt(factor)
            log_loading[:] = moved
    for f in range(d):
        scores[:, f] += rng.standard_normal() / np.sqrt(n) - scores[:, f].mean()


@kernel(inline="always")
def _draw_node(rng, design, event, columns, moments, scores, loading):  # type: ignore[no-untyped-def]
    """Draw the node of the signal's scale, ratios summed over; all nodes are alike a priori."""
    n_nodes = design.weights.shape[0]
    if n_nodes == 1:
        return 0
    table = log_marginals(design, columns, moments, loading, ALL_GROUPS)
    any_used = np.zeros(design.ratio.size, dtype=np.bool_)
    for t in range(n_nodes):
        any_used |= event.used[t]
    # Discarded features were ranked, so their ratios have the first of the distributions.
    ranked = design.weights[:, 0]
    along, rest = project(scores, event.basis)
    value = log_selection(event, design.ratio, ranked, any_used, along, rest, loading[0])
    for t in range(n_nodes):
        value[t] += mixed(table, design.weights[t], design.drawn_from)
    chance = np.exp(value - value.max())
    u = rng.random() * chance.sum()
    total = 0.0
    for t in range(n_nodes):
        total += chance[t]
        if u < total:
            return t
    return int(np.argmax(chance))


@kernel(inline="always")
def _log_density_of_loading(  # type: ignore[no-untyped-def]
    x, level, g, design, event, columns, moments, scores, node, log_loading
):
    """Return the log density of one log loading ratio, columns' parameters integrated out.

    Where it is below the level without P(S), which is at most 1, P(S) is left out.
    """
    loading = np.exp(log_loading)
    loading[g] = np.exp(x)
    table = log_marginals(design, columns, moments, loading, g)
    result = log_prior_of_ratio(x) + mixed(table, design.weights[node], design.drawn_from)
    if g == 0 and result > level:
        result += log_selection_at(event, design, node, scores, loading[0])
    return result


@kernel(inline="always")
def _draw_loading(rng, g, design, event, columns, moments, scores, node, log_loading):  # type: ignore[no-untyped-def]
    """Draw one log loading ratio by slice sampling; overwrites it."""
    log_f = _log_density_of_loading(
        log_loading[g], -np.inf, g, design, event, columns, moments, scores, node, log_loading
    )
    update = slice_start(rng, log_loading[g], log_f, _LOADING_WIDTH, LOWEST, HIGHEST)
    while update[PHASE] != DONE:
        x, level = update[POINT], update[LEVEL]
        log_f = _log_density_of_loading(
            x, level, g, design, event, columns, moments, scores, node, log_loading
        )
        slice_tell(rng, update, log_f)
    log_loading[g] = update[X]


@kernel()
def log_prior_of_noise(log_noise):  # type: ignore[no-untyped-def]
    """Return the log density of log(t) where t is exponential with mean 1."""
    return log_noise - np.exp(log_noise)


@kernel(inline="always")
def _log_density_of_noise(x, level, design, event, columns, moments, scores, node, loading):  # type: ignore[no-untyped-def]
    """Return the log density of the log share of noise, columns' parameters integrated out."""
    current = with_noise(design, x)
    table = log_marginals(current, columns, moments, loading, FIRST_GROUP)
    result = log_prior_of_noise(x) + mixed(table, design.weights[node], design.drawn_from)
    # The constant (b t)^shape of each inverse gamma prior, which `log_marginals` leaves out.
    for j in range(design.group.size):
        if design.group[j] == 0:
            result += design.shape[j] * x
    if result > level:
        result += log_selection_at(event, current, node, scores, loading[0])
    return result


@kernel(inline="always")
def _draw_noise(rng, log_noise, design, event, columns, moments, scores, node, loading):  # type: ignore[no-untyped-def]
    """Draw the log share of noise by slice sampling."""
    log_f = _log_density_of_noise(
        log_noise, -np.inf, design, event, columns, moments, scores, node, loading
    )
    update = slice_start(rng, log_noise, log_f, _NOISE_WIDTH, LOWEST_NOISE, HIGHEST_NOISE)
    while update[PHASE] != DONE:
        x, level = update[POINT], update[LEVEL]
        log_f = _log_density_of_noise(
            x, level, design, event, columns, moments, scores, node, loading
        )
        slice_tell(rng, update, log_f)
    return update[X]


@kernel(inline="always")
def _collapsed(design, event, columns, scores, node, loading, level):  # type: ignore[no-untyped-def]
    """Return the log likelihood of all columns given Z, times P(S).

    Where the likelihood alone is below the level, P(S) is not computed: it is at most 1.
    """
    moments = score_moments(scores, columns, design.codes, design.counts)
    table = log_marginals(design, columns, moments, loading, ALL_GROUPS)
    likelihood = mixed(table, design.weights[node], design.drawn_from)
    if likelihood <= level:
        return -np.inf
    return likelihood + log_selection_at(event, design, node, scores, loading[0])


@kernel(inline="always")
def _draw_along(rng, design, event, shift, columns, scores, node, loading):  # type: ignore[no-untyped-def]
    """Draw U' Z by elliptical slice sampling; overwrites the scores, returns evaluations."""
    along, _ = project(scores, event.basis)
    other = rng.standard_normal(along.shape)
    for b in range(along.shape[0]):
        other[b] *= np.sqrt(1.0 + shift * event.signal[b])
    now = _collapsed(design, event, columns, scores, node, loading, -np.inf)
    # A uniform height under the density, in logarithms. The ellipse through U' Z and an independent
    # draw of its prior leaves the prior as it is, so that the height needs the likelihood alone.
    level = now - rng.standard_exponential()
    angle = 2.0 * np.pi * rng.random()
    low, high = angle - 2.0 * np.pi, angle
    for evaluation in range(_MOST_SHRINKAGE):
        new = np.cos(angle) * along + np.sin(angle) * other
        proposed = scores.copy()
        add_along(proposed, event.basis, new - along)
        if _collapsed(design, event, columns, proposed, node, loading, level) > level:
            copy_into(scores, proposed)
            return evaluation + 1
        if angle < 0:
            low = angle
        else:
            high = angle
        angle = low + (high - low) * rng.random()
    return _MOST_SHRINKAGE


@kernel(inline="always")
def _log_density_of_stretch(  # type: ignore[no-untyped-def]
    x, level, design, event, columns, scores, along, node, log_loading, log_shift
):
    """Return the log density of the state with U' Z times exp(x), against the ratios."""
    result = log_prior_of_ratio(log_loading[0] - 2.0 * x)
    result += log_density_of_shift(log_shift + 2.0 * x, event, np.exp(x) * along)
    # The Jacobian of U' Z -> exp(x) U' Z; those of the logarithms of ratios are 1.
    result += along.size * x
    loading = np.exp(log_loading)
    loading[0] *= np.exp(-2.0 * x)
    stretched = scores.copy()
    add_along(stretched, event.basis, np.expm1(x) * along)
    return result + _collapsed(design, event, columns, stretched, node, loading, level - result)


@kernel(inline="always")
def _stretch(rng, design, event, columns, scores, node, log_loading, log_shift):  # type: ignore[no-untyped-def]
    """Move U' Z to g U' Z, v to v / g^2 and the shift ratio to its g^2-fold.

    What factors add to the classes' differences stays, and with it most of P(S). Returns the log
    shift ratio; overwrites the scores and the log loading ratio.
    """
    along, _ = project(scores, event.basis)
    low = max(0.5 * (log_loading[0] - HIGHEST), 0.5 * (LOWEST - log_shift))
    high = min(0.5 * (log_loading[0] - LOWEST), 0.5 * (HIGHEST - log_shift))
    log_f = _log_density_of_stretch(
        0.0, -np.inf, design, event, columns, scores, along, node, log_loading, log_shift
    )
    update = slice_start(rng, 0.0, log_f, _LOADING_WIDTH, low, high)
    while update[PHASE] != DONE:
        x, level = update[POINT], update[LEVEL]
        log_f = _log_density_of_stretch(
            x, level, design, event, columns, scores, along, node, log_loading, log_shift
        )
        slice_tell(rng, update, log_f)
    x = update[X]
    add_along(scores, event.basis, np.expm1(x) * along)
    log_loading[0] -= 2.0 * x
    return log_shift + 2.0 * x


@kernel()
def _propose(rng, mean, root, deviation, kept_share):  # type: ignore[no-untyped-def]
    """Return scores whose normal distribution given the parameters is left as it is, (n, d)."""
    n, d = mean.shape
    fresh = np.sqrt(1.0 - kept_share**2)
    proposed = np.empty((n, d))
    noise = np.empty(d)
    for i in range(n):
        for f in range(d):
            noise[f] = rng.standard_normal()
        solve_upper(root, noise)
        for f in range(d):
            proposed[i, f] = mean[i, f] + kept_share * deviation[i, f] + fresh * noise[f]
    return proposed


@kernel(inline="always")
def _draw_scores(rng, design, event, node, mean, root, scores, loading):  # type: ignore[no-untyped-def]
    """Draw the scores given the parameters; overwrites them, returns the share of acceptances.

    Cases are alike, so that U' Z and the rest are independent given the parameters.
    """
    if event.n_discarded.size == 0:
        proposed = _propose(rng, mean, root, scores - mean, 0.0)
        if event.has_shifts:
            keep_along(proposed, scores, event.basis)
        copy_into(scores, proposed)
        return 1.0
    now = log_selection_at(event, design, node, scores, loading)
    accepted = 0
    for r in range(event.kept_share.size):
        proposed = _propose(rng, mean, root, scores - mean, event.kept_share[r])
        # U' Z stays: given the parameters it is independent of the rest.
        keep_along(proposed, scores, event.basis)
        value = log_selection_at(event, design, node, proposed, loading)
        # The proposal keeps the normal distribution given the parameters, so only P(S) is left of
        # the Metropolis-Hastings ratio.
        if np.log(rng.random()) < value - now:
            copy_into(scores, proposed)
            now = value
            accepted += 1
    return accepted / event.kept_share.size


@kernel()
def sweep(rng, design, event, scores, log_loading, log_noise, log_shift, node, values):  # type: ignore[no-untyped-def]
    """Make one sweep; overwrites scores, loading ratios and the missing cells of ``values``.

    Without factors there is neither a share of noise to draw nor a shift.

    Returns
    -------
    node : int
        Node of the signal's scale.
    log_noise, log_shift : float
        Log share of noise, and log shift ratio.
    shifts : ndarray of shape (C, d)
        Shifts of the classes' factors.
    drawn : tuple
        What `draw_columns` returns.
    log_density : float
        Log likelihood given Z, columns' parameters integrated out, and log P(S).
    accepted : float
        Share of the proposals of scores that were accepted.
    """
    has_factors = scores.shape[1] > 0
    shift = np.exp(log_shift) if event.has_shifts else 0.0
    # A partially collapsed Gibbs sampler: steps 1 to 4 integrate the columns' parameters out, so
    # they come before step 5, which draws these, and steps 6 and 7, which condition on them, after
    # it. In another order the chain would not have the posterior as its distribution. The second
    # half of step 5 integrates nu and class effects out, so these are drawn again after it.
    columns = column_moments(values, design.codes, design.counts)
    if has_factors:
        _rescale(rng, event, shift, scores, log_loading)
    moments = score_moments(scores, columns, design.codes, design.counts)
    current = with_noise(design, log_noise)
    node = _draw_node(rng, current, event, columns, moments, scores, np.exp(log_loading))
    if has_factors:
        for g in range(log_loading.size):
            _draw_loading(rng, g, current, event, columns, moments, scores, node, log_loading)
        loading = np.exp(log_loading)
        log_noise = _draw_noise(
            rng, log_noise, design, event, columns, moments, scores, node, loading
        )
        current = with_noise(design, log_noise)
        for _ in range(_ALONG_UPDATES):
            if event.has_shifts:
                log_shift = draw_shift(rng, log_shift, event, project(scores, event.basis)[0])
                shift = np.exp(log_shift)
            _draw_along(rng, current, event, shift, columns, scores, node, loading)
        if event.has_shifts:
            log_shift = _stretch(rng, current, event, columns, scores, node, log_loading, log_shift)
            shift = np.exp(log_shift)
        moments = score_moments(scores, columns, design.codes, design.counts)
    loading = np.exp(log_loading)
    drawn = draw_columns(rng, current, columns, moments, loading, design.weights[node])
    if has_factors:
        position, variance, loadings, _, _, _ = drawn
        parameters = ColumnParameters(current.ratio[position], variance, loadings)
        contrasts = event.basis.T @ values
        left = columns.left
        follow(rng, current, event, shift, node, left, contrasts, parameters, scores, log_loading)
        moments = score_moments(scores, columns, design.codes, design.counts)
        loading = np.exp(log_loading)
        centre, expected, spread = draw_centres(
            rng, current, columns, moments, position, variance, loadings
        )
        drawn = (position, variance, loadings, centre, expected, spread)
    shifts = draw_class_shifts(rng, event, shift, scores, design.codes, design.counts.size)
    _, variance, loadings, centre, _, _ = drawn
    accepted = 1.0
    if has_factors:
        mean, root = score_conditional(design, values, variance, loadings, centre)
        accepted = _draw_scores(rng, current, event, node, mean, root, scores, loading[0])
    if design.missing.any():
        draw_missing(rng, design, scores, variance, loadings, centre, values)
        columns = column_moments(values, design.codes, design.counts)
    log_density = _collapsed(current, event, columns, scores, node, loading, -np.inf)
    return node, log_noise, log_shift, shifts, drawn, log_density, accepted


# --------------------------------------------------------------------------------------------------
# The kernel that chains run, and the states that they start from
# --------------------------------------------------------------------------------------------------


NUMBERS = ("log_loading_ratio", "log_noise", "alignment", "log_density")
"""What chains are judged by. Scores and loadings themselves turn freely, so they are not."""

_FAR = 1e30
"""Scores and missing cells in files, in units of standard deviations: far beyond any drawn."""


@dataclass(frozen=True, slots=True)
class FactorKernel:
    """One sweep as a step of a chain.

    Attributes
    ----------
    design : Design
        Columns and priors.
    event : FactorEvent
        The discarded features.
    log_scale : ndarray of shape (T,)
        Logarithms of the nodes of the signal's scale; one node where ratios are learned.
    """

    design: Design
    event: FactorEvent
    log_scale: FloatArray

    def step(self, rng: np.random.Generator, state: State) -> tuple[State, Info]:
        """Make one sweep."""
        scores, log_loading = state["scores"].copy(), state["log_loading"].copy()
        values = self.design.values.copy()
        values[self.design.missing] = state["hidden"]
        node, log_noise, log_shift, shifts, drawn, log_density, accepted = _interruptible_sweep(
            rng,
            self.design,
            self.event,
            scores,
            log_loading,
            float(state["log_noise"]),
            float(state["log_shift"]),
            int(state["node"]),
            values,
        )
        new = {
            "scores": scores,
            "log_loading": log_loading,
            "log_noise": np.array(log_noise),
            "log_shift": np.array(log_shift),
            "node": np.array(node),
            "hidden": values[self.design.missing],
        }
        info = self._info(drawn, shifts, new)
        return new, info | {"log_density": log_density, "accepted": accepted}

    def form(self) -> Form:
        """Return what states and draws can be."""
        n_cases, n_columns = self.design.values.shape
        n_groups = 1 + int(self.design.group.max(initial=0))
        known: Known = {
            "n_columns": n_columns,
            "n_classes": self.design.counts.size,
            "of_response": n_groups > 1,
        }
        n_hidden = int(self.design.missing.sum())
        ratio = Floats("n_chains", low=LOWEST, high=HIGHEST)
        return Form(
            state={
                "scores": Floats("n_chains", n_cases, "n_factors", low=-_FAR, high=_FAR),
                "log_loading": Floats("n_chains", n_groups, low=LOWEST, high=HIGHEST),
                "log_noise": Floats("n_chains", low=LOWEST_NOISE, high=HIGHEST_NOISE),
                "log_shift": ratio,
                "node": Counts("n_chains", high=self.log_scale.size - 1),
                "hidden": Floats("n_chains", n_hidden, low=-_FAR, high=_FAR),
            },
            drawn=draw_fields(known),
            sizes=known,
            check=_check,
        )

    def _info(
        self, drawn: tuple[Any, ...], shifts: FloatArray, state: Mapping[str, AnyArray]
    ) -> dict[str, Any]:
        """Return what is kept of a sweep; the classes' centres have their factors' shifts."""
        position, variance, loadings, _, expected, spread = drawn
        along, _ = project(state["scores"], self.event.basis)
        log_loading = state["log_loading"]
        of_response = {"log_response_ratio": log_loading[1]} if log_loading.size > 1 else {}
        return of_response | {
            "location": expected + shifts @ loadings.T,
            "spread": spread,
            "loadings": loadings,
            "variance": variance,
            "signal_ratio": self.design.ratio[position],
            "log_noise": float(state["log_noise"]),
            "log_shift_ratio": float(state["log_shift"]),
            "log_loading_ratio": log_loading[0],
            "log_scale": self.log_scale[int(state["node"])],
            "alignment": float(np.sum(along**2)),
        }


def _check(_state: Known, drawn: Known, check: Check) -> None:
    """Refuse draws that a model file may not hold either."""
    if drawn:
        check_draws(drawn, check)


def _interruptible_sweep(*given: Any) -> Any:
    """Make a sweep; an interrupt during compiled code comes as one, not as a SystemError."""
    try:
        return sweep(*given)
    except SystemError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__ or cause.__context__
        if cause is None:
            raise
        raise KeyboardInterrupt from None


def first_state(
    design: Design, n_factors: int, n_groups: int, rng: np.random.Generator
) -> dict[str, AnyArray]:
    """Return a scattered state: principal axes of the columns, turned at random and blurred.

    Parameters
    ----------
    design : Design
        Columns.
    n_factors : int
        Factors d.
    n_groups : int
        Loading ratios.
    rng : Generator
        Scatters.
    """
    values = np.where(design.missing, np.nan, design.values)
    n, _ = values.shape
    centre = np.zeros((design.counts.size, values.shape[1]))
    for label in range(design.counts.size):
        rows = values[design.codes == label]
        seen = np.maximum((~np.isnan(rows)).sum(axis=0), 1)
        centre[label] = np.nansum(rows, axis=0) / seen
    left = np.where(design.missing, 0.0, design.values - centre[design.codes])
    axes = np.zeros((n, n_factors))
    if n_factors and values.shape[1]:
        u = np.linalg.svd(left, full_matrices=False)[0][:, :n_factors]
        axes[:, : u.shape[1]] = np.sqrt(n) * u
    turn = np.linalg.qr(rng.normal(size=(n_factors, n_factors)))[0] if n_factors else np.eye(0)
    filled = centre[design.codes][design.missing]
    return {
        "scores": np.ascontiguousarray(
            0.8 * axes @ turn + 0.6 * rng.normal(size=(n, n_factors)), dtype=float
        ),
        "log_loading": rng.normal(size=n_groups),
        "log_noise": np.array(-0.7 * rng.random() if n_factors else 0.0),
        "log_shift": np.array(rng.normal()),
        "node": np.array(rng.integers(design.weights.shape[0])),
        "hidden": np.asarray(filled, dtype=float),
    }
