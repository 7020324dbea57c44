"""The learned prior by direct sums, for tiny tables; nothing is shared with the package.

A shape is a distribution of alpha over features. Given the shape, features are independent, each
with its own atom of alpha; all assignments of atoms to features are enumerated. Theta has a density
that is constant on cells.
"""

import itertools
import math

import numpy as np
from scipy.special import betaln


def theta_rule(edges, cell_weights, n_nodes=40):
    """Nodes and weights of the density of theta, each cell by Gauss-Legendre."""
    x, w = np.polynomial.legendre.leggauss(n_nodes)
    low, high = edges[:-1, None], edges[1:, None]
    theta = (low + (high - low) * (x + 1) / 2).ravel()
    return theta, (cell_weights[:, None] * w / 2).ravel()


def column_probability(column, y, alpha, rule):
    """P(the observed cells of a column | alpha), theta integrated out."""
    theta, weight = rule
    total = np.zeros(theta.size)
    for label in (0, 1):
        cells = column[(y == label) & ~np.isnan(column)]
        ones = cells.sum()
        a, b = alpha * theta, alpha * (1 - theta)
        total += betaln(a + ones, b + cells.size - ones) - betaln(a, b)
    return float(weight @ np.exp(total))


def margin_probability(column, y, alpha, rule):
    """P(the number of ones of a column | alpha), all columns with that number summed."""
    observed = ~np.isnan(column)
    n0, n1 = (int(np.sum(observed & (y == label))) for label in (0, 1))
    ones = int(np.nansum(column))
    labels = np.repeat([0, 1], [n0, n1])
    total = 0.0
    for i0 in range(max(0, ones - n1), min(n0, ones) + 1):
        i1 = ones - i0
        like = np.concatenate([np.arange(n0) < i0, np.arange(n1) < i1]).astype(float)
        ways = math.comb(n0, i0) * math.comb(n1, i1)
        total += ways * column_probability(like, labels, alpha, rule)
    return total


def joint_probabilities(X, y, prior, row, *, average_first=False):
    """P(y*, x*) / P(x*) of one row, shape (2,), by summing over shapes and assignments of atoms.

    Parameters
    ----------
    X : ndarray of shape (n, k)
        Kept columns; NaN is a missing cell.
    y : ndarray of shape (n,)
        Classes, 0 or 1.
    prior : object
        With ``edges``, ``cell_weights``, ``alpha``, ``shapes``, ``shape_weights`` and
        ``given_margin``.
    row : ndarray of shape (k,)
        The new case.
    average_first : bool
        The mistake: average shapes, and take the average for the prior of each feature.
    """
    rule = theta_rule(prior.edges, prior.cell_weights)
    shapes, shape_weights = prior.shapes, prior.shape_weights
    if average_first:
        shapes, shape_weights = (shape_weights @ shapes)[None], np.ones(1)
    k = X.shape[1]
    labels = np.append(y, 0)
    joint = np.zeros(2)
    before = np.empty((k, prior.alpha.size))
    after = np.empty((2, k, prior.alpha.size))
    for j, (a, alpha) in itertools.product(range(k), enumerate(prior.alpha)):
        factor = 1.0
        if prior.given_margin:
            factor = margin_probability(X[:, j], y, alpha, rule)
        before[j, a] = column_probability(X[:, j], y, alpha, rule) / factor
        for label in (0, 1):
            labels[-1] = label
            longer = np.append(X[:, j], row[j])
            after[label, j, a] = column_probability(longer, labels, alpha, rule) / factor
    for shape, weight in zip(shapes, shape_weights, strict=True):
        atoms = np.flatnonzero(shape > 1e-14)
        evidence, with_case = 0.0, np.zeros(2)
        for assigned in itertools.product(atoms.tolist(), repeat=k):
            share = math.prod(shape[a] for a in assigned)
            evidence += share * math.prod(before[j, a] for j, a in enumerate(assigned))
            for label in (0, 1):
                with_case[label] += share * math.prod(
                    after[label, j, a] for j, a in enumerate(assigned)
                )
        joint += weight * with_case / evidence
    joint *= np.array([np.sum(y == label) + 1.0 for label in (0, 1)])
    return joint / joint.sum()


def log_evidence_of_one_alpha(X, y, prior):
    """Log P(all columns | every feature has this alpha), for each atom of the prior."""
    rule = theta_rule(prior.edges, prior.cell_weights)
    return np.array(
        [
            sum(math.log(column_probability(column, y, alpha, rule)) for column in X.T)
            for alpha in prior.alpha
        ]
    )
