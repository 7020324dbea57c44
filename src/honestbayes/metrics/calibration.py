"""Calibration slope and intercept: logistic regression of the class on the claimed log-odds.

References
----------
Cox, D. R. (1958). Two further applications of a model for binary regression. Biometrika 45,
562-565.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import chdtri

from honestbayes.metrics.cases import (
    ClassArray,
    as_classes,
    as_probabilities,
    finite_log_odds,
    log_odds_of,
)
from honestbayes.metrics.estimate import check_level
from honestbayes.metrics.logistic import (
    DOUBLINGS,
    Interval,
    both_ends,
    information,
    inverse,
    log_likelihood,
    maximise,
    profile_end,
    quadratic_reach,
    residual,
)
from honestbayes.types import FloatArray

_WHOLE_LINE: Interval = (-np.inf, np.inf)


@dataclass(frozen=True, slots=True)
class CalibrationFit:
    """The line logit P(class 1) = intercept + slope * (claimed log-odds), fitted to what happened.

    Honest probabilities have slope 1 and intercept 0; a slope below 1 means overconfidence.

    Attributes
    ----------
    slope, intercept : float
        Maximum-likelihood estimates. An infinite slope means that the log-odds separate the
        classes (minus infinity: the wrong way round); NaN, that the data do not determine it.
    slope_interval, intercept_interval : (float, float)
        Profile-likelihood intervals; infinite bounds where nothing bounds them.
    shift : float
        What to add to the log-odds when the slope is held at 1 ("calibration in the large").
    shift_interval : (float, float)
        Its profile-likelihood interval.
    level : float
        Coverage of the intervals, which take cases as independent.
    n_cases : int
        Number of cases.
    """

    slope: float
    slope_interval: Interval
    intercept: float
    intercept_interval: Interval
    shift: float
    shift_interval: Interval
    level: float
    n_cases: int

    def __str__(self) -> str:
        low, high = self.slope_interval
        return (
            f"slope {self.slope:z.2f} ({low:z.2f} to {high:z.2f}), "
            f"intercept {self.intercept:z.2f} "
            f"({self.intercept_interval[0]:z.2f} to {self.intercept_interval[1]:z.2f})"
        )


def calibration_slope(
    y_true: ArrayLike,
    p: ArrayLike | None = None,
    *,
    log_odds: ArrayLike | None = None,
    pos_label: Any = None,
    level: float = 0.95,
) -> CalibrationFit:
    """Fit the calibration line by maximum likelihood.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Two labels.
    p : array-like, shape (n_cases,), optional
        P(class 1). Where it is exactly 0 or 1 the log-odds are set to the largest finite magnitude
        among the cases, or 37.4 (what a double can tell from 1) where that is larger.
    log_odds : array-like, shape (n_cases,), optional
        Log-odds of class 1 instead of `p`: exact where probabilities round to 0 or 1.
    pos_label : label, optional
        The label of class 1; by default 1, or the second label in sorted order.
    level : float
        Coverage of the intervals.

    Returns
    -------
    CalibrationFit

    Examples
    --------
    >>> fit = calibration_slope([0, 0, 1, 0, 1, 1], [0.01, 0.1, 0.2, 0.8, 0.9, 0.99])
    >>> round(fit.slope, 2)
    0.51
    """
    y = as_classes(y_true, pos_label)
    if (p is None) == (log_odds is None):
        raise ValueError("p and log_odds: give exactly one of them.")
    if p is not None:
        z = log_odds_of(as_probabilities(p, y.size))
    else:
        z = np.asarray(log_odds, dtype=np.float64)
        if z.shape != y.shape or np.isnan(z).any():
            raise ValueError("log_odds: give one number for each case, without NaN.")
        z = finite_log_odds(z)
    return fit_calibration(y, z[None, :], check_level(level))


def fit_calibration(y: ClassArray, log_odds: FloatArray, level: float) -> CalibrationFit:
    """Fit the line to one or more predictions of each case.

    Parameters
    ----------
    y : ndarray of 0 and 1, shape (n_cases,)
        Classes.
    log_odds : ndarray, shape (n_repeats, n_cases)
        Finite log-odds; each repeat weighs 1 / n_repeats, so that repeats do not narrow the
        intervals as if they were new cases.
    level : float
        Coverage.
    """
    n_repeats = log_odds.shape[0]
    z, classes = log_odds.ravel(), np.tile(y, n_repeats)
    # The likelihood of all repeats is n_repeats times too large, and so is this bound.
    cutoff = n_repeats * float(chdtri(1, 1 - level)) / 2
    shift, shift_interval = _fit_shift(z, classes, cutoff)
    slope, slope_interval, intercept, intercept_interval = _fit_line(z, classes, cutoff)
    return CalibrationFit(
        slope=slope,
        slope_interval=slope_interval,
        intercept=intercept,
        intercept_interval=intercept_interval,
        shift=shift,
        shift_interval=shift_interval,
        level=level,
        n_cases=y.size,
    )


def _fit_line(
    z: FloatArray, y: ClassArray, cutoff: float
) -> tuple[float, Interval, float, Interval]:
    """Return slope, its interval, intercept, its interval."""
    if y.min() == y.max():
        return np.nan, _WHOLE_LINE, np.inf if y[0] else -np.inf, _WHOLE_LINE
    centre, scale = float(z.mean()), float(z.std())
    # Rounding of the mean must not pass for a spread.
    if z.max() == z.min() or scale <= 1e-12 * max(1.0, abs(centre)):
        return np.nan, _WHOLE_LINE, np.nan, _WHOLE_LINE
    u = (z - centre) / scale
    if u[y == 0].max() <= u[y == 1].min():
        return np.inf, (_separated_bound(u, y, cutoff) / scale, np.inf), np.nan, _WHOLE_LINE
    if u[y == 1].max() <= u[y == 0].min():
        return -np.inf, (-np.inf, -_separated_bound(-u, y, cutoff) / scale), np.nan, _WHOLE_LINE
    ones = np.ones_like(u)
    design = np.stack([ones, u], axis=1)
    level, gradient = maximise(design, y, np.zeros_like(u))
    best = log_likelihood(level + gradient * u, y)
    slope = gradient / scale
    intercept = level - slope * centre

    def slope_drop(value: float) -> float:
        (at,) = maximise(ones[:, None], y, value * u, start=(level,))
        return best - log_likelihood(at + value * u, y) - cutoff

    def intercept_drop(value: float) -> float:
        # In units of z / scale, so that the Newton step is well scaled.
        (at,) = maximise((z / scale)[:, None], y, value * ones, start=(gradient,))
        return best - log_likelihood(value + at * (z / scale), y) - cutoff

    covariance = inverse(information(design, level + gradient * u))
    reach = [
        quadratic_reach(covariance, np.array(c), cutoff) for c in ((0, 1), (1, -centre / scale))
    ]
    low, high = both_ends(slope_drop, gradient, reach[0])
    ends = both_ends(intercept_drop, intercept, reach[1])
    return slope, (low / scale, high / scale), intercept, ends


def _separated_bound(u: FloatArray, y: ClassArray, cutoff: float) -> float:
    """Return the lower bound of the slope where u separates the classes, or nearly: ties allowed.

    The likelihood then rises with the slope to the supremum that the tied cases allow.
    """
    at_border = u == u[y == 1].min()
    tied = np.array([np.sum(at_border & (y == c)) for c in (0, 1)], dtype=np.float64)
    supremum = float(np.sum(tied * np.log(tied / tied.sum()))) if tied.all() else 0.0
    border = (float(u[y == 0].max()) + float(u[y == 1].min())) / 2

    def drop(value: float) -> float:
        # Starting at the border keeps Newton's method in reach at any slope.
        offset = value * (u - border)
        (at,) = maximise(np.ones((u.size, 1)), y, offset)
        return supremum - log_likelihood(at + offset, y) - cutoff

    start = 1.0
    for _ in range(DOUBLINGS):
        if drop(start) < 0:
            break
        start *= 2
    return profile_end(drop, start, -start)


def _fit_shift(z: FloatArray, y: ClassArray, cutoff: float) -> tuple[float, Interval]:
    """Return the shift at slope 1 and its interval."""
    if y.min() < y.max():
        # Between these two bounds the fitted number of class-1 cases crosses the actual one.
        margin = np.log(y.size) + 1
        shift = brentq(
            lambda value: float(np.sum(residual(value + z, y))),
            -z.max() - margin,
            -z.min() + margin,
            xtol=1e-12,
        )
        best = log_likelihood(shift + z, y)
        covariance = inverse(information(np.ones((z.size, 1)), shift + z))
        return float(shift), both_ends(
            lambda value: best - log_likelihood(value + z, y) - cutoff,
            float(shift),
            quadratic_reach(covariance, np.ones(1), cutoff),
        )
    sign = 1.0 if y[0] else -1.0
    # At this start each case costs at most cutoff / (e n): inside the interval.
    start = sign * (float(np.max(-sign * z)) + np.log(y.size / cutoff) + 1)
    bound = profile_end(lambda value: -log_likelihood(value + z, y) - cutoff, start, -sign)
    return sign * np.inf, (bound, np.inf) if sign > 0 else (-np.inf, bound)
