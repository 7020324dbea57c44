"""Calibration slope and intercepts: logistic regression of the class on the claimed log-odds.

References
----------
Cox, D. R. (1958). Two further applications of a model for binary regression. Biometrika 45,
562-565.

Van Hoorde, K., Vergouwe, Y., Timmerman, D., Van Huffel, S., Steyerberg, E. W. and Van Calster, B.
(2014). Assessing calibration of multinomial risk prediction models. Statistics in Medicine 33,
2585-2596. With one slope for all classes here, so that a single number says how overconfident the
probabilities are, whichever class comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, log_expit

from honestbayes.metrics.cases import PerClass, as_predictions
from honestbayes.metrics.estimate import check_level
from honestbayes.metrics.logistic import (
    Interval,
    both_ends,
    information,
    intercept_margins,
    inverse,
    log_likelihood,
    margins_of,
    maximise,
    quadratic_reach,
)
from honestbayes.metrics.per_case import ClassArray, log_odds_against_first
from honestbayes.metrics.separation import separated_bound, separating_intercepts
from honestbayes.metrics.shift import WHOLE_LINE, fit_shifts
from honestbayes.types import FloatArray

_Line = tuple[float, Interval, list[tuple[float, Interval]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationFit:
    """The line logit P(class 1) = intercept + slope * (claimed log-odds), fitted to what happened.

    With more than two classes, the log-odds of class c against the first are
    intercept_c + slope * (claimed log-odds of c against the first), with one slope for all; which
    class is the first does not matter for the slope. Honest probabilities have slope 1 and
    intercepts 0; a slope below 1 means overconfidence.

    Attributes
    ----------
    slope : float
        Maximum-likelihood estimate. An infinite slope means that the log-odds separate the
        classes (minus infinity: the wrong way round); NaN, that the data do not determine it.
    slope_interval : (float, float)
        Profile-likelihood interval; infinite bounds where nothing bounds it.
    intercept : float, or tuple of float
        Maximum-likelihood estimate; with more than two classes, of each class but the first.
        Infinite where a class has no cases.
    intercept_interval : (float, float), or tuple of such
        Profile-likelihood interval.
    shift : float, or tuple of float
        What to add to the log-odds when the slope is held at 1 ("calibration in the large").
    shift_interval : (float, float), or tuple of such
        Its profile-likelihood interval.
    level : float
        Coverage of the intervals, which take cases as independent.
    n_cases : int
        Number of cases.

    Examples
    --------
    >>> y, p = [0, 0, 1, 0, 1, 1], [0.01, 0.1, 0.2, 0.8, 0.9, 0.99]
    >>> fit = calibration_slope(y, p)
    >>> lower, upper = fit.slope_interval
    >>> round(lower, 2), round(fit.slope, 2), round(upper, 2)
    (-0.12, 0.51, 1.68)
    """

    slope: float
    slope_interval: Interval
    intercept: PerClass
    intercept_interval: PerClass
    shift: PerClass
    shift_interval: PerClass
    level: float
    n_cases: int

    def __str__(self) -> str:
        low, high = self.slope_interval
        text = f"slope {self.slope:z.2f} ({low:z.2f} to {high:z.2f}), "
        if not isinstance(self.intercept, tuple):
            return text + f"intercept {_in_words(self.intercept, self.intercept_interval)}"
        pairs = zip(self.intercept, self.intercept_interval, strict=True)
        return text + f"intercepts {', '.join(_in_words(*pair) for pair in pairs)}"


def _in_words(value: float, interval: Interval) -> str:
    return f"{value:z.2f} ({interval[0]:z.2f} to {interval[1]:z.2f})"


def calibration_slope(
    y_true: ArrayLike,
    p: ArrayLike | None = None,
    *,
    log_odds: ArrayLike | None = None,
    log_proba: ArrayLike | None = None,
    pos_label: Any = None,
    classes: ArrayLike | None = None,
    level: float = 0.95,
) -> CalibrationFit:
    """Fit the calibration line by maximum likelihood.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Labels.
    p : array-like, shape (n_cases,) or (n_cases, n_classes), optional
        P(class 1), or a column for each class. Where it is exactly 0 or 1 the log-odds are set to
        the largest finite magnitude among the cases, or 37.4 (what a double can tell from 1) where
        that is larger.
    log_odds : array-like, shape (n_cases,), optional
        Log-odds of class 1 instead of `p`, with two classes: exact where probabilities round to 0
        or 1.
    log_proba : array-like, shape (n_cases, n_classes), optional
        ``predict_log_proba(X)``, instead of `p`: exact too, with any number of classes.
    pos_label : label, optional
        With two classes, the label of class 1; by default 1, or the second label in sorted order.
    classes : array-like, shape (n_classes,), optional
        The labels in the order of the columns; by default in sorted order, where all occur.
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
    if (p is not None) + (log_odds is not None) + (log_proba is not None) != 1:
        raise ValueError("p, log_odds and log_proba: give exactly one of them.")
    if log_odds is not None:
        z = np.asarray(log_odds, dtype=np.float64)
        if z.shape != np.shape(y_true) or np.isnan(z).any():
            raise ValueError("log_odds: give one number for each case, without NaN.")
        log_proba = log_expit(np.stack([-z, z], axis=-1))
    given = as_predictions(y_true, p, log_proba=log_proba, pos_label=pos_label, classes=classes)
    return fit_calibration(given.y, given.log_proba(), check_level(level))


def fit_calibration(y: ClassArray, log_proba: FloatArray, level: float) -> CalibrationFit:
    """Fit the line to one or more predictions of each case.

    Parameters
    ----------
    y : ndarray of int, shape (n_cases,)
        Classes.
    log_proba : ndarray, shape (n_repeats, n_cases, n_classes)
        Logarithms of the probabilities, up to a constant for each case; each repeat weighs
        1 / n_repeats, so that repeats do not narrow the intervals as if they were new cases.
    level : float
        Coverage.
    """
    n_repeats, _, n_classes = log_proba.shape
    z = log_odds_against_first(log_proba).reshape(-1, n_classes)
    repeated = np.tile(y, n_repeats)
    # The likelihood of all repeats is n_repeats times too large, and so is this bound.
    cutoff = n_repeats * float(chdtri(1, 1 - level)) / 2
    shift, shift_interval = _per_class(fit_shifts(z, repeated, cutoff))
    slope, slope_interval, intercepts = _fit_line(z, repeated, cutoff)
    intercept, intercept_interval = _per_class(intercepts)
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


def _per_class(found: Sequence[tuple[float, Interval]]) -> tuple[PerClass, PerClass]:
    """Return values and intervals; a single pair as it is, for two classes."""
    if len(found) == 1:
        return found[0]
    values, intervals = zip(*found, strict=True)
    return values, intervals


def _fit_line(z: FloatArray, y: ClassArray, cutoff: float) -> _Line:
    """Return the slope, its interval, and the intercepts of each class but the first.

    Classes without cases are left out: their best intercept is minus infinity, where they do not
    matter for the others.
    """
    n_classes, present = z.shape[1], np.unique(y)
    among = z[:, present] - z[:, present[:1]]
    slope, interval, found = _fit_present(among, np.searchsorted(present, y), cutoff)
    if present.size == n_classes:
        return slope, interval, found
    known = dict(zip(present[1:].tolist(), found, strict=True))
    unknown = (-np.inf, WHOLE_LINE)
    if 0 not in present:
        known, unknown = dict.fromkeys(present.tolist(), (np.inf, WHOLE_LINE)), (np.nan, WHOLE_LINE)
    return slope, interval, [known.get(c, unknown) for c in range(1, n_classes)]


def _fit_present(z: FloatArray, y: ClassArray, cutoff: float) -> _Line:
    """Fit classes that all have cases."""
    n_free = z.shape[1] - 1
    open_intercepts = [(np.nan, WHOLE_LINE)] * n_free
    centre = z.mean(axis=0)
    scale = float(np.sqrt(np.mean((z - centre)[:, 1:] ** 2))) if n_free else 0.0
    # Rounding of the mean must not pass for a spread.
    constant = bool(np.all(z.max(axis=0) == z.min(axis=0)))
    if constant or scale <= 1e-12 * max(1.0, float(np.abs(centre).max())):
        return np.nan, WHOLE_LINE, open_intercepts
    u = (z - centre) / scale
    for sign in (1.0, -1.0):
        border = separating_intercepts(sign * u, y)
        if border is not None:
            bound = sign * separated_bound(sign * u, y, border, cutoff) / scale
            low, high = sorted((bound, sign * np.inf))
            return sign * np.inf, (low, high), open_intercepts
    free, slopes = intercept_margins(y, n_free + 1), margins_of(u, y)
    design = np.concatenate([free, slopes[:, :, None]], axis=2)
    *levels, gradient = maximise(design, np.zeros_like(slopes))
    at_best = design @ np.array([*levels, gradient])
    best, covariance = log_likelihood(at_best), inverse(information(design, at_best))

    def slope_drop(value: float) -> float:
        found = np.array(maximise(free, value * slopes, tuple(levels)))
        return best - log_likelihood(value * slopes + free @ found) - cutoff

    reach = quadratic_reach(covariance, np.eye(n_free + 1)[-1], cutoff)
    low, high = both_ends(slope_drop, gradient, reach)
    # In units of z / scale, so that the Newton step is well scaled.
    raw = np.concatenate([free, margins_of(z / scale, y)[:, :, None]], axis=2)
    at = np.array([*(np.array(levels) - gradient * centre[1:] / scale), gradient])
    intercepts = []
    for c in range(n_free):
        contrast = np.eye(n_free + 1)[c]
        contrast[-1] = -centre[c + 1] / scale
        reach = quadratic_reach(covariance, contrast, cutoff)
        intercepts.append((float(at[c]), _intercept_interval(raw, at, c, reach, best - cutoff)))
    return gradient / scale, (low / scale, high / scale), intercepts


def _intercept_interval(
    design: FloatArray, at: FloatArray, c: int, reach: float, lowest: float
) -> Interval:
    """Return where the profile of one intercept is above `lowest`."""
    others, start = np.delete(design, c, axis=2), tuple(np.delete(at, c))

    def drop(value: float) -> float:
        held = value * design[:, :, c]
        found = np.array(maximise(others, held, start))
        return lowest - log_likelihood(held + others @ found)

    return both_ends(drop, float(at[c]), reach)
