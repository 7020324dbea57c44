"""Coordinate descent for the multinomial logistic regression with an L1 penalty, compiled.

After Friedman, Hastie and Tibshirani (2010), section 4: one class at a time, a quadratic
approximation of the log likelihood is minimised over the coefficients of that class, coordinate by
coordinate. A step that would make the penalised loss larger is halved.
"""

from __future__ import annotations

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.types import FloatArray

LEAST_WEIGHT = 1e-6
HALVINGS = 20
CYCLES = 100


@kernel()
def _log_normalisers(scores: FloatArray) -> FloatArray:
    """Return log(sum(exp(scores))) over classes, for each case."""
    n_classes, n = scores.shape
    result = np.empty(n)
    for i in range(n):
        top = scores[0, i]
        for c in range(1, n_classes):
            top = max(top, scores[c, i])
        total = 0.0
        for c in range(n_classes):
            total += np.exp(scores[c, i] - top)
        result[i] = top + np.log(total)
    return result


@kernel()
def _loss(scores: FloatArray, is_class: FloatArray, c: int, size: float) -> float:
    """Return the part of the penalised loss that depends on the scores of class `c`."""
    predicted = _log_normalisers(scores)
    total = 0.0
    for i in range(scores.shape[1]):
        total += predicted[i] - is_class[c, i] * scores[c, i]
    result: float = total / scores.shape[1] + size
    return result


@kernel()
def _quadratic(
    columns: FloatArray,
    weights: FloatArray,
    residual: FloatArray,
    penalty: float,
    start: FloatArray,
    tolerance: float,
) -> tuple[FloatArray, float, FloatArray]:
    """Minimise the quadratic approximation; return coefficients, intercept's and scores' steps."""
    m, n = columns.shape
    solution, shift = start.copy(), 0.0
    steps = np.zeros(n)
    curvature = np.empty(m)
    for j in range(m):
        curvature[j] = np.sum(weights * columns[j] ** 2) / n
    total = np.sum(weights)
    for _ in range(CYCLES):
        move = np.sum(residual) / total
        shift += move
        steps += move
        residual -= weights * move
        largest = move**2 * total / n
        for j in range(m):
            if curvature[j] == 0.0:
                continue
            pull = curvature[j] * solution[j] + np.sum(columns[j] * residual) / n
            new = np.sign(pull) * max(abs(pull) - penalty, 0.0) / curvature[j]
            move = new - solution[j]
            if move != 0.0:
                solution[j] = new
                steps += columns[j] * move
                residual -= weights * columns[j] * move
                largest = max(largest, curvature[j] * move**2)
        if largest < tolerance:
            break
    return solution, shift, steps


@kernel()
def minimise(
    columns: FloatArray,
    is_class: FloatArray,
    penalty: float,
    coefficients: FloatArray,
    intercepts: FloatArray,
    tolerance: float,
    most_rounds: int,
) -> int:
    """Minimise mean log loss plus penalty; change coefficients and intercepts in place.

    Parameters
    ----------
    columns : ndarray, shape (m, n)
        Standardised columns, one a row.
    is_class : ndarray, shape (C, n)
        1 where a case is of the class.
    penalty : float
        On the sum of absolute coefficients.
    coefficients, intercepts : ndarray, shapes (C, m) and (C,)
        Starting values, replaced by the solution.
    tolerance : float
        Of the gain in loss by any one coordinate in a round over classes.
    most_rounds : int
        After so many it stops.

    Returns
    -------
    int
        Rounds that were needed.
    """
    n_classes, n = is_class.shape
    m = columns.shape[0]
    scores = np.empty((n_classes, n))
    for c in range(n_classes):
        scores[c] = intercepts[c]
        for j in range(m):
            if coefficients[c, j] != 0.0:
                scores[c] += coefficients[c, j] * columns[j]
    for done in range(most_rounds):
        largest = 0.0
        for c in range(n_classes):
            proba = np.exp(scores[c] - _log_normalisers(scores))
            weights = np.maximum(proba * (1 - proba), LEAST_WEIGHT)
            residual = is_class[c] - proba
            old = coefficients[c].copy()
            before = _loss(scores, is_class, c, penalty * np.sum(np.abs(old)))
            solution, shift, steps = _quadratic(columns, weights, residual, penalty, old, tolerance)
            start, share = scores[c].copy(), 1.0
            for _ in range(HALVINGS):
                scores[c] = start + share * steps
                new = old + share * (solution - old)
                if _loss(scores, is_class, c, penalty * np.sum(np.abs(new))) <= before:
                    break
                share /= 2
            coefficients[c] = old + share * (solution - old)
            intercepts[c] += share * shift
            largest = max(largest, share**2 * np.sum(weights * steps**2) / n)
        if largest < tolerance:
            return done + 1
    return most_rounds
