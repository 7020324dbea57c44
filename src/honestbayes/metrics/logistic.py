"""Logistic likelihood in one or two parameters: its maximum, and the ends of its profiles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_expit

from honestbayes.metrics.cases import ClassArray
from honestbayes.types import FloatArray

Interval = tuple[float, float]

_NEWTON_STEPS = 200
DOUBLINGS = 200


def log_likelihood(eta: FloatArray, y: ClassArray) -> float:
    """Return the log likelihood of the classes, given the log-odds `eta`."""
    return float(np.sum(log_expit(np.where(y == 1, eta, -eta))))


def residual(eta: FloatArray, y: ClassArray) -> FloatArray:
    """Return y - expit(eta), without losing its digits where expit(eta) rounds to 1."""
    return np.asarray(np.where(y == 1, expit(-eta), -expit(eta)))


def maximise(
    design: FloatArray, y: ClassArray, offset: FloatArray, start: tuple[float, ...] | None = None
) -> tuple[float, ...]:
    """Maximise the logistic likelihood of ``offset + design @ parameters`` by Newton's method.

    Steps are bounded and halved until the likelihood does not fall, so that it rises to the
    maximum, which exists because the callers exclude separated classes.
    """
    parameters = np.zeros(design.shape[1]) if start is None else np.array(start)
    eta = offset + design @ parameters
    value = log_likelihood(eta, y)
    for _ in range(_NEWTON_STEPS):
        gradient = design.T @ residual(eta, y)
        curvature = information(design, eta)
        step = np.linalg.lstsq(curvature + 1e-200 * np.eye(len(gradient)), gradient, rcond=None)[0]
        # So near the maximum, the full step lands on it, and rounding would mislead a comparison.
        if float(gradient @ step) < 1e-8:
            parameters = parameters + step
            break
        move = design @ step
        # Far from the maximum the curvature vanishes and a full step would overshoot.
        factor = min(1.0, max(20.0, float(np.abs(eta).max()) / 2) / float(np.abs(move).max()))
        while (new_value := log_likelihood(eta + factor * move, y)) < value and factor > 1e-12:
            factor /= 2
        if new_value < value:
            break
        parameters, eta, value = parameters + factor * step, eta + factor * move, new_value
    return tuple(float(x) for x in parameters)


def information(design: FloatArray, eta: FloatArray) -> FloatArray:
    """Return the information matrix at the linear predictor `eta`."""
    return np.asarray((design * (expit(eta) * expit(-eta))[:, None]).T @ design)


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
