"""Multinomial logistic likelihood in a few parameters: its maximum, and the ends of its profiles.

A case is represented by its margins: the linear predictor of each class that it is not of, minus
that of its actual class. With two classes a margin is the log-odds of the wrong class.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from honestbayes.metrics.per_case import ClassArray
from honestbayes.types import FloatArray

Interval = tuple[float, float]

_NEWTON_STEPS = 200
DOUBLINGS = 200


def margins_of(predictors: FloatArray, y: ClassArray) -> FloatArray:
    """Return what each wrong class has more than the actual one.

    Parameters
    ----------
    predictors : ndarray, shape (n_cases, n_classes)
        Linear predictors.
    y : ndarray of int, shape (n_cases,)
        Actual classes.

    Returns
    -------
    ndarray, shape (n_cases, n_classes - 1)
        The wrong classes of a case in their order.
    """
    actual = np.take_along_axis(predictors, y[:, None], axis=1)
    return np.asarray(
        np.take_along_axis(predictors, _wrong_classes(y, predictors.shape[1]), 1) - actual
    )


def intercept_margins(y: ClassArray, n_classes: int) -> FloatArray:
    """Return the margins of one intercept for each class but the first.

    Shape (n_cases, n_classes - 1, n_classes - 1), the last axis for the intercepts.
    """
    unit = np.eye(n_classes)[:, 1:]
    return np.asarray(unit[_wrong_classes(y, n_classes)] - unit[y][:, None, :])


def _wrong_classes(y: ClassArray, n_classes: int) -> ClassArray:
    """Return the classes that a case is not of, shape (n_cases, n_classes - 1)."""
    places = np.arange(n_classes - 1)
    return places + (places >= y[:, None])


def log_likelihood(margins: FloatArray) -> float:
    """Return the log likelihood of the actual classes."""
    return -float(np.sum(_losses(margins)))


def _losses(margins: FloatArray) -> FloatArray:
    """Return log(1 + sum of exp(margins)) of each case, without overflow or loss of digits."""
    top = np.maximum(margins.max(axis=1), 0.0)
    return np.asarray(top + np.log1p(np.exp(margins - top[:, None]).sum(axis=1) + np.expm1(-top)))


def wrong_probabilities(margins: FloatArray) -> FloatArray:
    """Return the probabilities of the wrong classes, exact where that of the actual one is 1."""
    return np.asarray(np.exp(margins - _losses(margins)[:, None]))


def maximise(
    design: FloatArray, offset: FloatArray, start: tuple[float, ...] | None = None
) -> tuple[float, ...]:
    """Maximise the likelihood of the margins ``offset + design @ parameters`` by Newton's method.

    Steps are bounded and halved until the likelihood does not fall, so that it rises to the
    maximum, which exists because the callers exclude separated classes.

    Parameters
    ----------
    design : ndarray, shape (n_cases, n_classes - 1, n_parameters)
        What a parameter adds to each margin.
    offset : ndarray, shape (n_cases, n_classes - 1)
        Margins without the parameters; minus infinity where a class is impossible.
    start : tuple of float, optional
        Where to begin; by default at 0.
    """
    parameters = np.zeros(design.shape[2]) if start is None else np.array(start)
    if parameters.size == 0:
        return ()
    margins = offset + design @ parameters
    value = log_likelihood(margins)
    for _ in range(_NEWTON_STEPS):
        gradient = -np.tensordot(design, wrong_probabilities(margins), axes=([0, 1], [0, 1]))
        curvature = information(design, margins)
        step = np.linalg.lstsq(curvature + 1e-200 * np.eye(len(gradient)), gradient, rcond=None)[0]
        move = design @ step
        # So near the maximum, the full step lands on it, and rounding would mislead a comparison,
        # unless the curvature has vanished and the step leads far away.
        if float(gradient @ step) < 1e-8:
            if log_likelihood(margins + move) > value - 1e-7:
                parameters = parameters + step
            break
        # Far from the maximum the curvature vanishes and a full step would overshoot.
        factor = min(1.0, max(20.0, float(np.abs(margins).max()) / 2) / float(np.abs(move).max()))
        while (new_value := log_likelihood(margins + factor * move)) < value and factor > 1e-12:
            factor /= 2
        if new_value < value:
            break
        parameters, margins, value = parameters + factor * step, margins + factor * move, new_value
    return tuple(float(x) for x in parameters)


def information(design: FloatArray, margins: FloatArray) -> FloatArray:
    """Return the information matrix: the covariance over classes of what a parameter adds."""
    losses = _losses(margins)
    wrong = np.exp(margins - losses[:, None])
    mean = np.einsum("ncp,nc->np", design, wrong)
    spread = (design - mean[:, None, :]).reshape(-1, design.shape[2])
    of_actual = mean * np.exp(-losses)[:, None]
    return np.asarray((spread * wrong.reshape(-1, 1)).T @ spread + of_actual.T @ mean)


def inverse(matrix: FloatArray) -> FloatArray:
    """Return the pseudo-inverse, which exists even where the curvature vanishes."""
    return np.asarray(np.linalg.pinv(matrix), dtype=np.float64)


def quadratic_reach(covariance: FloatArray, contrast: FloatArray, cutoff: float) -> float:
    """Return the half width of the quadratic approximation's interval: where to look first."""
    variance = float(contrast @ covariance @ contrast)
    return float(np.sqrt(2 * cutoff * max(variance, 0.0)))


def both_ends(drop: Callable[[float], float], best: float, reach: float) -> Interval:
    """Return both ends of an interval around the maximum `best`."""
    # A little beyond the approximate end, so that the first look mostly brackets the true one.
    # A vanishing curvature says nothing about distances, hence the bound.
    unit = max(1.0, abs(best))
    step = min(max(1.1 * reach, 1e-9 * unit), unit)
    return profile_end(drop, best, -step), profile_end(drop, best, step)


def profile_end(drop: Callable[[float], float], start: float, step: float) -> float:
    """Return where `drop`, negative at `start` and rising in the direction of `step`, is 0."""
    inside, outside = start, start + step
    for _ in range(DOUBLINGS):
        if drop(outside) > 0:
            low, high = sorted((inside, outside))
            return float(brentq(drop, low, high, xtol=1e-10, rtol=1e-10))
        inside, step = outside, 2 * step
        outside = inside + step
    return float(np.copysign(np.inf, step))
