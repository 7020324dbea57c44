"""Error rates, claimed and actual, and proper scores (the paper, section 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score

from honestbayes.metrics.cases import (
    ClassArray,
    as_classes,
    as_log_probabilities,
    as_probabilities,
    log_loss_per_case,
)
from honestbayes.metrics.estimate import (
    Estimate,
    check_level,
    clustered_error,
    fraction_estimate,
    group_codes,
    mean_estimate,
)
from honestbayes.types import FloatArray


def expected_error(p: ArrayLike) -> float:
    """Return the error rate that the probabilities themselves claim.

    (1/N) sum of p I(p < 0.5) + (1 - p) I(p >= 0.5) (the paper, section 4).

    Parameters
    ----------
    p : array-like, shape (n_cases,)
        P(class 1).

    Examples
    --------
    >>> expected_error([0.125, 0.75])
    0.1875
    """
    values = np.asarray(p, dtype=np.float64)
    values = as_probabilities(values, values.shape[-1] if values.ndim else 0)
    return float(claimed_error_per_case(values).mean())


def actual_error(y_true: ArrayLike, p: ArrayLike, *, pos_label: Any = None) -> float:
    """Return the fraction of cases on the wrong side of 1/2; p = 0.5 predicts class 1.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Two labels.
    p : array-like, shape (n_cases,)
        P(class 1).
    pos_label : label, optional
        The label of class 1; by default 1, or the second label in sorted order.
    """
    y, probabilities = _checked(y_true, p, pos_label)
    return float(error_per_case(y, probabilities).mean())


def optimism(
    y_true: ArrayLike,
    p: ArrayLike,
    *,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """Return the actual minus the expected error rate, with an interval.

    Above 0, the probabilities promise more than they keep. The standard error is paired: that of
    the mean over cases of (wrong or not) minus (claimed probability of being wrong).

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Two labels.
    p : array-like, shape (n_cases,)
        P(class 1).
    pos_label : label, optional
        The label of class 1; by default 1, or the second label in sorted order.
    groups : array-like, shape (n_cases,), optional
        Cases of one group may depend on each other; the standard error is then over groups.
    level : float
        Coverage of the interval.

    Examples
    --------
    >>> print(optimism([0, 1, 1, 0], [0.1, 0.9, 0.2, 0.8]))
    0.350 (-0.477 to 1.177)
    """
    y, probabilities = _checked(y_true, p, pos_label)
    difference = error_per_case(y, probabilities) - claimed_error_per_case(probabilities)
    return mean_estimate(difference, group_codes(groups, y.size), check_level(level))


def log_score(
    y_true: ArrayLike,
    p: ArrayLike | None = None,
    *,
    log_proba: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Return the average of minus the log probability of the actual class (natural logarithm).

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Two labels.
    p : array-like, shape (n_cases,), optional
        P(class 1). A probability of 0 for the actual class counts as the smallest normal double.
    log_proba : array-like, shape (n_cases, 2), optional
        ``predict_log_proba(X)``, instead of `p`: exact where probabilities round to 0 or 1.
    pos_label : label, optional
        The label of class 1; by default 1, or the second label in sorted order.
    """
    y = as_classes(y_true, pos_label)
    if (p is None) == (log_proba is None):
        raise ValueError("p and log_proba: give exactly one of them.")
    if log_proba is not None:
        logs = as_log_probabilities(log_proba, y.size)
        return float(log_loss_per_case(y, None, logs).mean())
    assert p is not None
    return float(log_loss_per_case(y, as_probabilities(p, y.size)).mean())


def squared_error(y_true: ArrayLike, p: ArrayLike, *, pos_label: Any = None) -> float:
    """Return the average of (y - p)^2, the Brier score (the paper, section 4).

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Two labels.
    p : array-like, shape (n_cases,)
        P(class 1).
    pos_label : label, optional
        The label of class 1; by default 1, or the second label in sorted order.
    """
    y, probabilities = _checked(y_true, p, pos_label)
    return float(squared_error_per_case(y, probabilities).mean())


def auc(y_true: ArrayLike, p: ArrayLike, *, pos_label: Any = None) -> float:
    """Return P(a case of class 1 has the higher p), ties counting one half.

    NaN where only one class is present.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Two labels.
    p : array-like, shape (n_cases,)
        P(class 1).
    pos_label : label, optional
        The label of class 1; by default 1, or the second label in sorted order.
    """
    y, probabilities = _checked(y_true, p, pos_label)
    if y.min() == y.max():
        return float("nan")
    return float(roc_auc_score(y, probabilities))


def error_per_case(y: ClassArray, p: FloatArray) -> FloatArray:
    """Return 1.0 where p is on the wrong side of 1/2, shape of p."""
    return np.asarray((p >= 0.5) != (y == 1), dtype=np.float64)


def claimed_error_per_case(p: FloatArray) -> FloatArray:
    """Return the probability of being wrong that p itself claims."""
    return np.asarray(np.where(p < 0.5, p, 1 - p))


def squared_error_per_case(y: ClassArray, p: FloatArray) -> FloatArray:
    """Return (y - p)^2, shape of p."""
    return np.asarray((y - p) ** 2)


def auc_estimate(
    y: ClassArray, scores: FloatArray, codes: NDArray[np.intp], level: float
) -> Estimate:
    """Return the AUC, averaged over repeats, with an interval as wide as that of one.

    The standard error is that of DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988, 837-845),
    summed over groups; the interval has Wilson's form.

    Parameters
    ----------
    y : ndarray of 0 and 1, shape (n_cases,)
        Classes.
    scores : ndarray, shape (n_repeats, n_cases)
        Anything that rises with P(class 1).
    codes : ndarray of int, shape (n_cases,)
        Group of each case.
    level : float
        Coverage.
    """
    n0, n1 = int(np.sum(y == 0)), int(np.sum(y == 1))
    if not n0 or not n1:
        return Estimate(np.nan, np.inf, (0.0, 1.0), level)
    placements = np.stack([_placements(y, row) for row in scores])
    by_repeat = placements[:, y == 1].mean(axis=1)
    value = float(by_repeat.mean())
    if min(n0, n1) == 1:
        return Estimate(value, np.inf, (0.0, 1.0), level)
    # n / (n - 1) within each class makes the sum DeLong's variance.
    scale = np.where(y == 1, np.sqrt(1 / (n1 * (n1 - 1))), np.sqrt(1 / (n0 * (n0 - 1))))
    influence = (placements - by_repeat[:, None]) * scale
    n_groups = int(codes.max()) + 1
    squares = [clustered_error(row, codes) ** 2 for row in influence]
    error = np.sqrt(np.mean(squares) * (n_groups - 1) / n_groups)
    return fraction_estimate(value, float(error), min(n0, n1), level)


def _placements(y: ClassArray, scores: FloatArray) -> FloatArray:
    """Return the fraction of the other class on the right side of each case, ties one half."""
    ones, zeros = np.sort(scores[y == 1]), np.sort(scores[y == 0])
    below = (np.searchsorted(zeros, scores) + np.searchsorted(zeros, scores, "right")) / 2
    above = ones.size - (np.searchsorted(ones, scores) + np.searchsorted(ones, scores, "right")) / 2
    return np.asarray(np.where(y == 1, below / zeros.size, above / ones.size))


def _checked(y_true: ArrayLike, p: ArrayLike, pos_label: Any) -> tuple[ClassArray, FloatArray]:
    y = as_classes(y_true, pos_label)
    return y, as_probabilities(p, y.size)
