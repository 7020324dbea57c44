"""Subsets by brute force: targets by enumeration, and transition matrices from the rules.

Shares no code with the package.
"""

from itertools import combinations
from math import comb, exp, lgamma, log

import numpy as np


def all_subsets(p, most):
    """All subsets of at most so many of p features, by size."""
    return [s for k in range(most + 1) for s in combinations(range(p), k)]


def size_weight(prior, k):
    """How likely a size is, up to a constant."""
    if prior == "sizes":
        return 1.0
    if isinstance(prior, tuple):
        return prior[1] ** k / exp(lgamma(k + 1))
    return prior(k)


def target(p, most, prior, weight_of):
    """Probability of each subset: prior times the weight of its score."""
    subsets = all_subsets(p, most)
    value = []
    for s in subsets:
        of_prior = 1.0 if prior == "subsets" else size_weight(prior, len(s)) / comb(p, len(s))
        value.append(of_prior * weight_of(s))
    return subsets, np.array(value) / sum(value)


def transition_matrix(p, most, pi, subsets, proposal, swap):
    """The matrix of Metropolis and Hastings, its proposals written out from their words."""
    place = {s: i for i, s in enumerate(subsets)}
    q = np.zeros((len(subsets), len(subsets)))
    for s, i in place.items():
        inside, outside = set(s), [j for j in range(p) if j not in s]
        adding = [tuple(sorted({*s, j})) for j in outside] if len(s) < most else []
        deleting = [tuple(sorted(inside - {j})) for j in s]
        if proposal == "uniform":
            steps = dict.fromkeys([*adding, *deleting], 1 / (len(adding) + len(deleting)))
        else:
            half = 0.5 if adding and deleting else 1.0
            steps = {t: half / len(adding) for t in adding}
            steps |= {t: half / len(deleting) for t in deleting}
        for t, chance in steps.items():
            q[i, place[t]] += (1 - swap) * chance
        for a in s:
            for b in outside:
                t = tuple(sorted((inside - {a}) | {b}))
                q[i, place[t]] += swap / (len(s) * len(outside))
    ratio = np.divide(pi[None] * q.T, pi[:, None] * q, out=np.zeros_like(q), where=q > 0)
    matrix = q * np.minimum(1, ratio)
    matrix[np.diag_indices(len(pi))] += 1 - matrix.sum(axis=1)
    return matrix


def log_marginal(column, classes, level_count, a):
    """Log P(column | classes) of a Dirichlet-multinomial, cell by cell."""
    total = 0.0
    for c in set(classes):
        seen = {}
        for x, own in zip(column, classes, strict=True):
            if own != c or x < 0:
                continue
            n = sum(seen.values())
            total += log((seen.get(x, 0) + a) / (n + a * level_count))
            seen[x] = seen.get(x, 0) + 1
    return total


def posterior(X, y, counted, a, columns, n_levels):
    """P(class | row) of naive Bayes with some columns, trained on the rows that are counted."""
    classes = sorted(set(y))
    result = []
    for row in X:
        logs = []
        for c in classes:
            mine = [i for i in counted if y[i] == c]
            value = log(len(mine) / len(counted))
            for j in columns:
                n = sum(X[i][j] == row[j] for i in mine)
                value += log((n + a) / (len(mine) + a * n_levels[j]))
            logs.append(value)
        top = max(logs)
        weights = np.exp(np.array(logs) - top)
        result.append(weights / weights.sum())
    return np.array(result)
