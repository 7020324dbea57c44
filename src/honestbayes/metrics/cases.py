"""Checks of what the metrics are given: classes as 0 and 1, probabilities, log-odds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from honestbayes.types import FloatArray

ClassArray = NDArray[np.int64]

# What a double can still tell from 1: -log(2**-54).
_SATURATED_LOG_ODDS = 54 * np.log(2.0)
_LOG_TINY = float(np.log(np.finfo(np.float64).tiny))


def as_classes(y_true: ArrayLike, pos_label: Any = None) -> ClassArray:
    """Return the classes as 0 and 1.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Two labels.
    pos_label : label, optional
        The label of class 1. By default 1 where the labels are 0 and 1, else the second label in
        sorted order, which is column 1 of scikit-learn's ``predict_proba``.
    """
    labels = np.asarray(y_true)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"y_true has shape {labels.shape}; give one label per case, at least one.")
    present = np.unique(labels)
    if present.size > 2:
        raise ValueError(f"y_true holds {present.size} different labels; give two classes.")
    if pos_label is not None:
        if present.size == 2 and pos_label not in present.tolist():
            raise ValueError(f"pos_label {pos_label!r} is not a label of y_true; give one of them.")
        return np.asarray(labels == pos_label, dtype=np.int64)
    if set(present.tolist()) <= {0, 1}:
        return np.asarray(labels, dtype=np.int64)
    if present.size == 1:
        raise ValueError(
            f"y_true holds the label {present[0]!r} only; say which label is class 1 by pos_label."
        )
    return np.asarray(labels == present[1], dtype=np.int64)


def as_probabilities(p: ArrayLike, n_cases: int, *, repeats: bool = False) -> FloatArray:
    """Return P(class 1), checked: shape (n_cases,), or (n_repeats, n_cases) where allowed."""
    values = np.asarray(p, dtype=np.float64)
    allowed = (1, 2) if repeats else (1,)
    if values.ndim not in allowed or values.shape[-1] != n_cases or values.size == 0:
        raise ValueError(
            f"p has shape {values.shape} for {n_cases} cases; give P(class 1) of each case, for "
            "instance predict_proba(X)[:, 1]."
        )
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError("p holds a value outside 0 to 1 or NaN; give probabilities.")
    return values


def as_log_probabilities(log_proba: ArrayLike, n_cases: int) -> FloatArray:
    """Return log P(class 0) and log P(class 1), checked: shape (..., n_cases, 2)."""
    values = np.asarray(log_proba, dtype=np.float64)
    if values.ndim not in (2, 3) or values.shape[-2:] != (n_cases, 2) or values.size == 0:
        raise ValueError(
            f"log_proba has shape {values.shape} for {n_cases} cases; give two columns, for "
            "instance predict_log_proba(X)."
        )
    # A little above 0 is the rounding of a normalisation, not a mistake of the caller.
    if not np.all(values <= 1e-6) or np.any(np.all(np.isneginf(values), axis=-1)):
        raise ValueError(
            "log_proba holds NaN, a value above 0, or a case with both classes impossible; give "
            "natural logarithms of probabilities."
        )
    return np.minimum(values, 0.0)


def log_loss_per_case(
    y: ClassArray, p: FloatArray | None, log_proba: FloatArray | None = None
) -> FloatArray:
    """Return minus the log probability of the actual class, shape (..., n_cases).

    A probability of 0 counts as the smallest normal double, so that the loss is at most 708.4.
    """
    if log_proba is not None:
        chosen = np.where(y == 1, log_proba[..., 1], log_proba[..., 0])
        return np.asarray(-np.maximum(chosen, _LOG_TINY))
    if p is None:
        raise ValueError("p and log_proba are both missing; give one of them.")
    of_actual = np.where(y == 1, p, 1 - p)
    # log1p keeps the digits of a small p where the actual class is 0.
    with np.errstate(divide="ignore"):
        log_of_actual = np.where(y == 1, np.log(of_actual), np.log1p(-np.where(y == 1, 0, p)))
    return np.asarray(-np.maximum(log_of_actual, _LOG_TINY))


def log_odds_of(p: FloatArray | None, log_proba: FloatArray | None = None) -> FloatArray:
    """Return finite log-odds of class 1.

    Infinite ones (probabilities of exactly 0 and 1) become the largest finite magnitude among the
    cases, or 37.4 where that is larger: what a double can tell from 1.
    """
    if log_proba is not None:
        log_odds = log_proba[..., 1] - log_proba[..., 0]
    elif p is not None:
        with np.errstate(divide="ignore"):
            log_odds = np.log(p) - np.log1p(-p)
    else:
        raise ValueError("p and log_proba are both missing; give one of them.")
    return finite_log_odds(log_odds)


def finite_log_odds(log_odds: FloatArray) -> FloatArray:
    """Replace infinite log-odds as `log_odds_of` says."""
    finite = np.abs(log_odds[np.isfinite(log_odds)])
    bound = max(_SATURATED_LOG_ODDS, float(finite.max(initial=0.0)))
    return np.asarray(np.clip(log_odds, -bound, bound))
