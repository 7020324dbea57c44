"""P(S) and posteriors of small mixtures of K components and C classes, by listing all columns.

Shares no code with the package.
"""

import itertools
from fractions import Fraction

import numpy as np
from scipy.special import gammaln, poch

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
NODES, WEIGHTS = (NODES + 1) / 2, WEIGHTS / 2


def strength(column, y, n_classes):
    """Squared correlation, or for three classes or more the one as surprising in two classes."""
    n, s = len(y), sum(column)
    if s in (0, n):
        return Fraction(0)
    cases = [list(y).count(c) for c in range(n_classes)]
    ones = [
        sum(x for x, label in zip(column, y, strict=True) if label == c) for c in range(n_classes)
    ]
    square = sum(
        Fraction((n * i - s * m) ** 2, n * m * s * (n - s))
        for i, m in zip(ones, cases, strict=True)
    )
    if n_classes == 2:
        return square
    d = n_classes - 1
    z = ((float(square) * n / d) ** (1 / 3) - (1 - 2 / (9 * d))) / (2 / (9 * d)) ** 0.5
    root = max(1 - 2 / 9 + z * (2 / 9) ** 0.5, 0.0)
    return min(round(root**3 / n, 12), 1.0)


def log_column(ones, zeros, alphas):
    """log P(cells of a feature | labels, alpha), theta integrated out, at each of some alphas.

    ``ones`` and ``zeros`` are counts by component.
    """
    alphas = np.asarray(alphas, dtype=float)[:, None]
    with np.errstate(divide="ignore"):
        logs = sum(
            np.log(poch(alphas * NODES, i))
            + np.log(poch(alphas * (1 - NODES), o))
            - np.log(poch(alphas, i + o))
            for i, o in zip(ones, zeros, strict=True)
        )
    return np.log(np.exp(logs) @ WEIGHTS)


def beyond_and_tied(table, y_counts, alphas, bound):
    """P(strength > bound) and P(strength = bound) of one column, over all 2^n columns."""
    table = np.asarray(table)
    z = np.concatenate([np.repeat(np.arange(len(table)), of_class) for of_class in table.T])
    y = np.repeat(np.arange(len(y_counts)), y_counts)
    result = np.zeros((2, len(alphas)))
    for column in itertools.product((0, 1), repeat=len(y)):
        value = strength(column, y, len(y_counts))
        if value < bound:
            continue
        cells = np.array(column)
        ones = [int(cells[z == k].sum()) for k in range(len(table))]
        zeros = [int((1 - cells[z == k]).sum()) for k in range(len(table))]
        result[int(value == bound)] += np.exp(log_column(ones, zeros, alphas))
    return result


def log_selection(table, y_counts, alphas, bound, n_discarded):
    """log P(S) where a threshold was given: discarded features are at most at the bound."""
    beyond, _ = beyond_and_tied(table, y_counts, alphas, bound)
    return n_discarded * np.log1p(-beyond)


def log_labels(z, pseudocounts):
    """log P(z), the components' frequencies integrated out."""
    sizes = np.bincount(z, minlength=len(pseudocounts))
    total = sum(pseudocounts)
    logs = gammaln(np.add(pseudocounts, sizes)) - gammaln(pseudocounts)
    return float(logs.sum() + gammaln(total) - gammaln(total + len(z)))


def simplex_rule(n_classes):
    """Nodes and weights for theta_0, uniform on the simplex of two or three classes."""
    if n_classes == 2:
        return np.stack([NODES, 1 - NODES], axis=1), WEIGHTS
    first, second = np.meshgrid(NODES, NODES, indexing="ij")
    nodes = np.stack([first, (1 - first) * second, (1 - first) * (1 - second)], axis=-1)
    weights = 2 * np.multiply.outer(WEIGHTS * (1 - NODES), WEIGHTS)
    return nodes.reshape(-1, 3), weights.ravel()


def log_classes(table, alphas):
    """log P(y | labels, alpha_0), theta_0 integrated out, at each of some alphas."""
    table = np.asarray(table)
    nodes, weights = simplex_rule(table.shape[1])
    result = []
    for alpha in alphas:
        with np.errstate(divide="ignore"):
            logs = sum(
                np.log(poch(alpha * nodes, row)).sum(axis=1) - np.log(poch(alpha, row.sum()))
                for row in table
            )
        result.append(np.log(weights @ np.exp(logs)))
    return np.array(result)
