"""What a single case contributes to the scores, as arrays over cases and repeats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from honestbayes.types import FloatArray

ClassArray = NDArray[np.int64]

# What a double can still tell from 1: -log(2**-54).
_SATURATED_LOG_ODDS = 54 * np.log(2.0)
_LOG_TINY = float(np.log(np.finfo(np.float64).tiny))


def top_class(proba: FloatArray) -> NDArray[np.intp]:
    """Return the most probable class, shape (..., n_cases).

    The first of several that are equally probable; of two classes the second, as p = 1/2 predicts
    class 1.
    """
    if proba.shape[-1] == 2:
        return np.asarray(proba[..., 1] >= proba[..., 0], dtype=np.intp)
    return np.asarray(proba.argmax(axis=-1))


def claimed_error_per_case(proba: FloatArray) -> FloatArray:
    """Return the probability of being wrong that the prediction itself claims.

    1 minus the largest probability, as the sum of the others, which keeps its digits.
    """
    others = proba.copy()
    np.put_along_axis(others, top_class(proba)[..., None], 0.0, axis=-1)
    return np.asarray(others.sum(axis=-1))


def error_per_case(y: ClassArray, proba: FloatArray) -> FloatArray:
    """Return 1.0 where the most probable class is not the actual one, shape (..., n_cases)."""
    return np.asarray(top_class(proba) != y, dtype=np.float64)


def squared_error_per_case(y: ClassArray, proba: FloatArray) -> FloatArray:
    """Return the squared error of each case, shape (..., n_cases).

    Summed over the classes; of two classes, whose terms are equal, one counts.
    """
    n_classes = proba.shape[-1]
    counted = slice(1 if n_classes == 2 else 0, None)
    return np.asarray(((np.eye(n_classes)[y] - proba)[..., counted] ** 2).sum(axis=-1))


def log_loss_per_case(y: ClassArray, log_proba: FloatArray) -> FloatArray:
    """Return minus the log probability of the actual class, shape (..., n_cases).

    A probability of 0 counts as the smallest normal double, so that the loss is at most 708.4.
    """
    chosen = np.take_along_axis(log_proba, np.broadcast_to(y, log_proba.shape[:-1])[..., None], -1)
    return np.asarray(-np.maximum(chosen[..., 0], _LOG_TINY))


def exact_logs(proba: FloatArray) -> FloatArray:
    """Return log(proba), by log1p of the other classes where a probability is near 1."""
    with np.errstate(divide="ignore"):
        logs = np.log(proba)
    rest, top = claimed_error_per_case(proba), top_class(proba)[..., None]
    of_top = np.take_along_axis(logs, top, axis=-1)[..., 0]
    exact = np.where(rest < 0.5, np.log1p(-np.minimum(rest, 0.5)), of_top)
    np.put_along_axis(logs, top, exact[..., None], axis=-1)
    return np.asarray(logs)


def log_odds_against_first(log_proba: FloatArray) -> FloatArray:
    """Return finite log-odds of each class against the first, shape of `log_proba`.

    Infinite ones (probabilities of exactly 0 and 1) become the largest finite magnitude among the
    cases, or 37.4 where that is larger: what a double can tell from 1.
    """
    against_top = log_proba - log_proba.max(axis=-1, keepdims=True)
    finite = against_top[np.isfinite(against_top)]
    bound = max(_SATURATED_LOG_ODDS, float(-finite.min(initial=0.0)))
    clipped = np.maximum(against_top, -bound)
    return np.asarray(clipped - clipped[..., :1])


def log_odds_against_rest(log_proba: FloatArray) -> FloatArray:
    """Return finite log-odds of each class against all others, shape of `log_proba`.

    They rank cases as the probability of the class does, and where that rounds to 1 too.
    """
    columns = range(log_proba.shape[-1])
    rest = [logsumexp(np.delete(log_proba, c, axis=-1), axis=-1) for c in columns]
    log_odds = log_proba - np.stack(rest, axis=-1)
    finite = np.abs(log_odds[np.isfinite(log_odds)])
    bound = max(_SATURATED_LOG_ODDS, float(finite.max(initial=0.0)))
    clipped = np.clip(log_odds, -bound, bound)
    # Equal probabilities of a class must stay ties, however the sum of the others was rounded.
    return np.asarray(clipped if log_proba.shape[-1] == 2 else np.round(clipped, 10))
