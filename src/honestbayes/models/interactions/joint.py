"""All normal coefficients of one linear predictor at once, given precisions of its rows.

Each row has a value z_i = f_i + noise of precision w_i, f_i the sum of the coefficients s of the
groups that the row is in, s_g normal with variance v_g. Two things are needed: the density of z
with s integrated out, log N(z; 0, K + diag(1 / w)), K = Z diag(v) Z' the prior covariance of f; and
draws of s given z. There are three ways, which give the same (``way`` of `Problem`):

* TREE, where any two groups are nested or share no row, as of sequences: up the tree, what is known
  of the sum of coefficients from the top down to a group is a normal density, and the coefficient
  of the group is integrated out of it in closed form. This takes time in proportion to the groups.
* GROUPS: a matrix I + diag(v)^1/2 Z' diag(w) Z diag(v)^1/2 of the groups.
* ROWS: a matrix I + diag(w)^1/2 K diag(w)^1/2 of the rows. Two rows that agree in m cells share
  C(m, o) patterns of order o, so K is a function of m, and no list of patterns is needed.

No eigenvalue of the matrices is below 1. What is handed over is w and the products h = w z.
"""

from __future__ import annotations

import math

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.models.interactions.likelihood import predictors

SLICES, TREE, GROUPS, ROWS = 0, 1, 2, 3


@kernel()
def nest(down, start, cases, parent, within):  # type: ignore[no-untyped-def]
    """Find how groups are nested; return whether any two are nested or share no row.

    Parameters
    ----------
    down : ndarray of int of shape (G,)
        Groups, with larger ones first.
    start, cases : ndarray of int
        The rows of groups.
    parent, within : ndarray of int of shapes (G,) and (n,)
        All -1; filled with the smallest group around each group, and around each row.
    """
    for g in down:
        parent[g] = within[cases[start[g]]]
        for i in cases[start[g] : start[g + 1]]:
            if within[i] != parent[g]:
                return False
            within[i] = g
    return True


@kernel()
def agreement(start, cases, counts, n):  # type: ignore[no-untyped-def]
    """Return in how many cells two rows of a table agree: the patterns of order 1 they share."""
    result = np.zeros((n, n), np.uint16)
    if counts.shape[1] > 1:
        for g in range(start.size - 1):
            number = np.uint16(counts[g, 1])
            if number > 0:
                for i in cases[start[g] : start[g + 1]]:
                    for j in cases[start[g] : start[g + 1]]:
                        result[i, j] += number
    return result


@kernel()
def row_covariance(log_sigma, variance, problem):  # type: ignore[no-untyped-def]
    """Return K = Z diag(variance) Z', shape (n, n), the lower triangle only.

    The variances of normal coefficients are those of the widths, so that K is a function of the
    agreement of rows; those of Cauchy coefficients, as mixtures of normal ones, are any.
    """
    n = problem.size.size
    result = np.zeros((n, n))
    if problem.is_cauchy:
        for g in range(variance.size):
            members = problem.cases[problem.start[g] : problem.start[g + 1]]
            for a in range(members.size):
                for b in range(a + 1):  # rows stand in their order
                    result[members[a], members[b]] += variance[g]
        return result
    table = np.zeros(problem.choose.shape[0])
    for o in range(log_sigma.size):
        unit = math.exp(2.0 * log_sigma[o])
        for m in range(table.size):
            table[m] += unit * problem.choose[m, o]
    for i in range(n):
        for j in range(i + 1):
            result[i, j] = table[problem.agree[i, j]]
    return result


@kernel()
def group_gram(weight, problem):  # type: ignore[no-untyped-def]
    """Return Z' diag(weight) Z, shape (G, G), the lower triangle only."""
    start, cases, n = problem.start, problem.cases, problem.size.size
    n_groups = start.size - 1
    first = np.zeros(n + 1, np.int64)
    for i in cases:
        first[i + 1] += 1
    first = np.cumsum(first)
    place, groups = first[:-1].copy(), np.empty(cases.size, np.int64)
    for g in range(n_groups):
        for i in cases[start[g] : start[g + 1]]:
            groups[place[i]] = g
            place[i] += 1
    result = np.zeros((n_groups, n_groups))
    for i in range(n):
        own = groups[first[i] : first[i + 1]]  # in their order
        for a in range(own.size):
            for b in range(a + 1):
                result[own[a], own[b]] += weight[i]
    return result


@kernel()
def sums_of_groups(values, problem):  # type: ignore[no-untyped-def]
    """Return the sum over the rows of each group."""
    start, cases = problem.start, problem.cases
    result = np.zeros(start.size - 1)
    for g in range(start.size - 1):
        for i in cases[start[g] : start[g + 1]]:
            result[g] += values[i]
    return result


@kernel()
def _scaled(gram, scale):  # type: ignore[no-untyped-def]
    """Return I + diag(scale) gram diag(scale), the lower triangle only."""
    n = scale.size
    result = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            result[i, j] = gram[i, j] * (scale[i] * scale[j])
        result[i, i] += 1.0
    return result


@kernel()
def factor_of(matrix):  # type: ignore[no-untyped-def]
    """Return the upper triangular U with U'U the matrix; of size 0 where rounding hides it.

    Only the lower triangle of the matrix is looked at.

    That can be only where a variance is some 10^15 times that of the noise, while some combination
    of rows has none. The density there counts as 0.
    """
    try:
        return np.linalg.cholesky(matrix).T
    except Exception:
        return np.zeros((0, 0)).T


@kernel()
def _forward(upper, values):  # type: ignore[no-untyped-def]
    """Return the solution x of U'x = values."""
    x = values.copy()
    for i in range(x.size):
        x[i] /= upper[i, i]
        x[i + 1 :] -= upper[i, i + 1 :] * x[i]
    return x


@kernel()
def _backward(upper, values):  # type: ignore[no-untyped-def]
    """Return the solution x of U x = values."""
    x = values.copy()
    for i in range(x.size - 1, -1, -1):
        x[i] = (x[i] - np.sum(upper[i, i + 1 :] * x[i + 1 :])) / upper[i, i]
    return x


@kernel()
def up_the_tree(h, weight, variance, problem):  # type: ignore[no-untyped-def]
    """Integrate coefficients out, from the smallest groups up.

    As a function of u, the sum of the coefficients of a group and those around it, the density of
    the rows of the group is exp(c + slope u - bend u^2 / 2). With u = t + s, t of the groups around
    and s of variance v, it is of the same form in t, both divided by 1 + v bend.

    Returns
    -------
    total : float
        What is left at the end, apart from the part of the rows alone.
    slope, bend : ndarray of shape (G,)
        Of each group, as above.
    """
    slope, bend = np.zeros(variance.size), np.zeros(variance.size)
    for i in range(h.size):
        slope[problem.within[i]] += h[i]
        bend[problem.within[i]] += weight[i]
    total, product = 0.0, 1.0
    for g in problem.down[::-1]:
        more = 1.0 + variance[g] * bend[g]
        total += 0.5 * variance[g] * slope[g] * slope[g] / more
        product *= more
        if product > 1e150:
            total -= 0.5 * math.log(product)
            product = 1.0
        if problem.parent[g] >= 0:
            slope[problem.parent[g]] += slope[g] / more
            bend[problem.parent[g]] += bend[g] / more
    return total - 0.5 * math.log(product), slope, bend


@kernel()
def log_evidence(h, weight, log_sigma, variance, gram, problem):  # type: ignore[no-untyped-def]
    """Return log N(z; 0, K + diag(1 / w)) - log N(z; 0, diag(1 / w)), given h = w z.

    Parameters
    ----------
    h, weight : ndarray of shape (n,)
        As above.
    log_sigma : ndarray of shape (order + 1,)
        Widths by order.
    variance : ndarray of shape (G,)
        Variances of groups, of these widths.
    gram : ndarray of shape (G, G)
        For GROUPS, of `group_gram`.
    problem : Problem
        The groups.
    """
    if problem.way == TREE:
        return up_the_tree(h, weight, variance, problem)[0]
    if problem.way == ROWS:
        scale = np.sqrt(weight)
        right = h / scale
        total, sign = 0.5 * np.sum(right * right), -0.5
        gram = row_covariance(log_sigma, variance, problem)
    else:
        scale = np.sqrt(variance)
        right = scale * sums_of_groups(h, problem)
        total, sign = 0.0, 0.5
    upper = factor_of(_scaled(gram, scale))
    if upper.size == 0:
        return -np.inf
    solved = _forward(upper, right)
    total += sign * np.sum(solved * solved)
    for i in range(right.size):
        total -= math.log(upper[i, i])
    return total


@kernel()
def draw_jointly(rng, h, weight, log_sigma, variance, gram, problem):  # type: ignore[no-untyped-def]
    """Draw all coefficients given z; of size 0 where rounding hides their distribution.

    Parameters as of `log_evidence`.
    """
    n_groups = variance.size
    if problem.way == TREE:
        s, sums = np.empty(n_groups), np.zeros(n_groups)
        _, slope, bend = up_the_tree(h, weight, variance, problem)
        for g in problem.down:
            around = sums[problem.parent[g]] if problem.parent[g] >= 0 else 0.0
            less = variance[g] / (1.0 + variance[g] * bend[g])
            s[g] = less * (slope[g] - bend[g] * around)
            s[g] += math.sqrt(less) * rng.standard_normal()
            sums[g] = around + s[g]
        return s
    root = np.sqrt(variance)
    scale = np.sqrt(weight) if problem.way == ROWS else root
    if problem.way == ROWS:
        gram = row_covariance(log_sigma, variance, problem)
    upper = factor_of(_scaled(gram, scale))
    if upper.size == 0:
        return np.zeros(0)
    if problem.way == GROUPS:
        mean = _forward(upper, root * sums_of_groups(h, problem))
        for g in range(n_groups):
            mean[g] += rng.standard_normal()
        return root * _backward(upper, mean)
    # A draw from the prior, and what the data say of its error (Bhattacharya, Chakraborty and
    # Mallick, 2016).
    prior = np.empty((1, n_groups))
    for g in range(n_groups):
        prior[0, g] = root[g] * rng.standard_normal()
    away = h / scale - scale * predictors(prior, problem.start, problem.cases, h.size)[0]
    for i in range(h.size):
        away[i] -= rng.standard_normal()
    away = scale * _backward(upper, _forward(upper, away))
    return prior[0] + variance * sums_of_groups(away, problem)
