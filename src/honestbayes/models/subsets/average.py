"""Probabilities averaged over subsets of features."""

from __future__ import annotations

import numpy as np

from honestbayes.compiled import kernel


@kernel()
def add_averages(cells, first, log_likelihood, log_prior, start, members, weight, out):  # type: ignore[no-untyped-def]
    """Add to ``out`` the class probabilities of each row, averaged over subsets.

    Parameters
    ----------
    cells : ndarray of int of shape (n, p)
        Codes.
    first : ndarray of int of shape (p,)
        Slot of each column's missing cells.
    log_likelihood : ndarray of shape (L, C)
        Log P(level | class) of each slot.
    log_prior : ndarray of shape (C,)
        Of the classes.
    start, members : ndarray of int
        The columns of subset s are ``members[start[s] : start[s + 1]]``.
    weight : ndarray of shape (S,)
        Of the subsets; their sum is 1.
    out : ndarray of shape (n, C)
        Probabilities.
    """
    n, n_classes = out.shape
    value = np.empty(n_classes)
    for i in range(n):
        for s in range(weight.size):
            for c in range(n_classes):
                value[c] = log_prior[c]
            for j in members[start[s] : start[s + 1]]:
                slot = first[j] + 1 + cells[i, j]
                for c in range(n_classes):
                    value[c] += log_likelihood[slot, c]
            top = value.max()
            total = 0.0
            for c in range(n_classes):
                value[c] = np.exp(value[c] - top)
                total += value[c]
            for c in range(n_classes):
                out[i, c] += weight[s] * value[c] / total
