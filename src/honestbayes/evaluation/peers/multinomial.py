"""Multinomial logistic regression with an L1 penalty, along a path of penalties.

Most columns have no coefficient at any penalty that is worth trying. So only those take part that
have one already; the conditions of Karush, Kuhn and Tucker are then checked for all columns, and
those that break them most are let in, until none does. The solution is that of all columns, at the
cost of a few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, softmax

from honestbayes.types import AnyArray, BoolArray, FloatArray

TOLERANCE = 1e-7
"""Of the gain in mean log loss at which coordinate descent stops."""

MOST_ROUNDS = 500

SLACK = 1e-3
"""By which share of the penalty a gradient may pass it before its column is let in."""

AT_ONCE = 20
"""Columns that are let in before the solution is found anew."""


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """Scores of classes that are linear in the columns.

    Attributes
    ----------
    coefficients : ndarray, shape (C, p)
        Of each class and column.
    intercepts : ndarray, shape (C,)
        Of each class.
    """

    coefficients: FloatArray
    intercepts: FloatArray

    def log_proba(self, columns: FloatArray) -> FloatArray:
        """Return log P(class | x), shape (n, C)."""
        scores = columns @ self.coefficients.T + self.intercepts
        return np.asarray(log_softmax(scores, axis=1), dtype=np.float64)


def strongest_penalty(columns: FloatArray, is_class: FloatArray) -> float:
    """Return the least penalty that leaves no column."""
    gaps = is_class - is_class.mean(axis=1, keepdims=True)
    return float(np.max(np.abs(gaps @ columns), initial=0.0) / columns.shape[0])


def indicators(y: AnyArray, classes: AnyArray) -> FloatArray:
    """Return 1 where a case is of a class, shape (C, n)."""
    return np.asarray(classes[:, None] == np.asarray(y), dtype=np.float64)


def l1_path(columns: FloatArray, is_class: FloatArray, penalties: FloatArray) -> Iterator[Linear]:
    """Yield the solution at each penalty, the strongest first, each from the one before.

    Parameters
    ----------
    columns : ndarray, shape (n, p)
        Standardised columns.
    is_class : ndarray, shape (C, n)
        1 where a case is of the class; each class has a case.
    penalties : ndarray
        On the sum of absolute coefficients, with the mean log loss; falling.
    """
    across = np.ascontiguousarray(columns.T)
    shares = is_class.mean(axis=1)
    found = Linear(np.zeros((shares.size, across.shape[0])), np.log(shares))
    for penalty in penalties.tolist():
        inside = np.any(found.coefficients != 0, axis=0)
        while True:
            found = _solved(across, is_class, penalty, found, inside)
            gradient = np.max(np.abs(_gradient(columns, is_class, found)), axis=0, initial=0.0)
            broken = np.flatnonzero((gradient > penalty * (1 + SLACK)) & ~inside)
            if not broken.size:
                break
            inside[broken[np.argsort(-gradient[broken], kind="stable")[:AT_ONCE]]] = True
        yield found


def _gradient(columns: FloatArray, is_class: FloatArray, found: Linear) -> FloatArray:
    scores = columns @ found.coefficients.T + found.intercepts
    proba = np.asarray(softmax(scores, axis=1))
    return np.asarray((proba.T - is_class) @ columns / columns.shape[0])


def _solved(
    across: FloatArray, is_class: FloatArray, penalty: float, start: Linear, inside: BoolArray
) -> Linear:
    """Return the solution over the columns that are inside; the others have none."""
    from honestbayes.evaluation.peers.multinomial_kernels import minimise

    within = np.ascontiguousarray(start.coefficients[:, inside])
    intercepts = start.intercepts.copy()
    minimise(across[inside], is_class, penalty, within, intercepts, TOLERANCE, MOST_ROUNDS)
    coefficients = np.zeros_like(start.coefficients)
    coefficients[:, inside] = within
    return Linear(coefficients, intercepts)
