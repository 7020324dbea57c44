"""Calibration slope and intercepts: logistic regression of the class on the predicted log-odds.

References
----------
Cox, D. R. (1958). Two further applications of a model for binary regression. Biometrika 45,
562-565.

Van Hoorde, K., Vergouwe, Y., Timmerman, D., Van Huffel, S., Steyerberg, E. W. and Van Calster, B.
(2014). Assessing calibration of multinomial risk prediction models. Statistics in Medicine 33,
2585-2596. Here all classes share one slope, so that a single number measures overconfidence,
whichever class comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import chdtri, log_expit, logsumexp

from honestbayes.metrics.cases import ClassArray, PerClass, as_predictions, log_odds_against_first
from honestbayes.metrics.estimate import check_level
from honestbayes.types import BoolArray, FloatArray

# --------------------------------------------------------------------------------------------------
# Multinomial logistic likelihood in a few parameters: its maximum, and the ends of its profiles
#
# A case is represented by its margins: the linear predictor of each wrong class minus that of its
# actual class. With two classes a margin is the log-odds of the wrong class.
# --------------------------------------------------------------------------------------------------


Interval = tuple[float, float]

_NEWTON_STEPS = 200
DOUBLINGS = 200


def margins_of(predictors: FloatArray, y: ClassArray) -> FloatArray:
    """Return the linear predictor of each wrong class minus that of the actual one.

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
    index = np.arange(n_classes - 1)
    return index + (index >= y[:, None])


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
    """Return the information matrix: the covariance over classes of the design."""
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


# --------------------------------------------------------------------------------------------------
# Separated classes: intercepts, and a lower bound of the calibration slope
#
# Albert, A. and Anderson, J. A. (1984). On the existence of maximum likelihood estimates in
# logistic regression models. Biometrika 71, 1-10.
# --------------------------------------------------------------------------------------------------


# Rounding of standardised log-odds must not pass for a gap or an overlap.
_ROUNDING = 1e-12


def separating_intercepts(u: FloatArray, y: ClassArray) -> FloatArray | None:
    """Return intercepts with which no case has a class above its actual one, or None.

    The conditions bound differences of two intercepts: a_c - a_y is at most the smallest
    u_y - u_c among the cases of class y. Such conditions can be met if and only if no cycle of
    them sums to less than 0, which shortest paths between all classes tell (Bellman 1958). The mean
    of the solutions from each class is tight only where it must be; with two classes it is minus
    the middle of the gap between them.

    Parameters
    ----------
    u : ndarray, shape (n_cases, n_classes)
        Log-odds against the first class, standardised.
    y : ndarray of int, shape (n_cases,)
        Actual classes; each has a case.
    """
    classes = range(u.shape[1])
    distance = np.stack([(u[y == c, c][:, None] - u[y == c]).min(axis=0) for c in classes])
    for between in classes:
        distance = np.minimum(distance, distance[:, [between]] + distance[[between], :])
    if distance.diagonal().min() < -_ROUNDING:
        return None
    intercepts = distance.mean(axis=0)
    return np.asarray(intercepts - intercepts[0])


def separated_bound(u: FloatArray, y: ClassArray, intercepts: FloatArray, cutoff: float) -> float:
    """Return the lower bound of the slope where u separates the classes, or nearly: ties allowed.

    The likelihood then rises with the slope to the supremum that the tied cases allow.
    """
    design = intercept_margins(y, u.shape[1])
    # At the border between the classes Newton's method stays in reach at any slope.
    margins = margins_of(u + intercepts, y)
    tied = np.where(margins >= -_ROUNDING, 0.0, -np.inf)
    supremum = 0.0
    if not np.isneginf(tied).all():
        supremum = log_likelihood(tied + design @ np.array(maximise(design, tied)))

    def drop(value: float) -> float:
        offset = value * margins
        best = np.array(maximise(design, offset))
        return supremum - log_likelihood(offset + design @ best) - cutoff

    start = 1.0
    for _ in range(DOUBLINGS):
        if drop(start) < 0:
            break
        start *= 2
    return profile_end(drop, start, -start)


# --------------------------------------------------------------------------------------------------
# Shifts of the log-odds of each class, with the calibration slope held at 1
# --------------------------------------------------------------------------------------------------


WHOLE_LINE: Interval = (-np.inf, np.inf)

_SWEEPS = 30


def fit_shifts(z: FloatArray, y: ClassArray, cutoff: float) -> list[tuple[float, Interval]]:
    """Return the shift of each class but the first, against the first, with its interval.

    Parameters
    ----------
    z : ndarray, shape (n_cases, n_classes)
        Log-odds against the first class.
    y : ndarray of int, shape (n_cases,)
        Actual classes. The shift of a class without cases is minus infinity.
    cutoff : float
        How far the log likelihood may fall below its maximum.
    """
    present = np.unique(y)
    shifts = _solve(z[:, present], np.searchsorted(present, y))
    results = []
    for c in range(1, z.shape[1]):
        if 0 in present and c in present:
            index = int(np.searchsorted(present, c))
            interval = _profile(z[:, present], np.searchsorted(present, y), shifts, index, cutoff)
            results.append((float(shifts[index]), interval))
        elif 0 in present:
            results.append((-np.inf, (-np.inf, _absent_bound(z, y, 0, c, cutoff))))
        elif c in present:
            results.append((np.inf, (-_absent_bound(z, y, c, 0, cutoff), np.inf)))
        else:
            results.append((np.nan, WHOLE_LINE))
    return results


def _solve(z: FloatArray, y: ClassArray) -> FloatArray:
    """Return the shifts that maximise the likelihood, that of the first class 0.

    Class by class, each against the rest, which is a search for one root even where the
    probabilities round to 0 and 1; with more than two classes, in turns.
    """
    n_classes = z.shape[1]
    shifts = np.zeros(n_classes)
    for _ in range(_SWEEPS):
        before = shifts.copy()
        for c in range(1, n_classes):
            shifts[c] = _solve_two(z[:, c] - _rest(z + shifts, c), y == c)
        if n_classes <= 2 or np.abs(shifts - before).max() < 1e-9:
            return shifts
    offset = margins_of(z, y)
    return np.array([0.0, *maximise(intercept_margins(y, n_classes), offset, tuple(shifts[1:]))])


def _rest(predictors: FloatArray, c: int) -> FloatArray:
    """Return the logarithm of the summed weights of all classes but one."""
    return np.asarray(logsumexp(np.delete(predictors, c, axis=1), axis=1))


def _solve_two(z: FloatArray, is_one: BoolArray) -> float:
    """Return the shift of the log-odds of one class against the rest.

    The fitted number of cases of the class is the actual one where two sums are equal: of
    1 - P over its cases, and of P over the rest. Their logarithms are compared, which are nearly
    linear and do not vanish where all probabilities round to 0 and 1.
    """
    ones, rest = z[is_one], z[~is_one]

    def excess(value: float) -> float:
        missed = logsumexp(log_expit(-(value + ones)))
        return float(missed - logsumexp(log_expit(value + rest)))

    margin = np.log(z.size) + 1
    return float(brentq(excess, -z.max() - margin, -z.min() + margin, xtol=1e-12, maxiter=1000))


def _profile(z: FloatArray, y: ClassArray, shifts: FloatArray, c: int, cutoff: float) -> Interval:
    """Return the interval of one shift, the others at their best."""
    design, offset = intercept_margins(y, z.shape[1]), margins_of(z, y)
    at_best = offset + design @ shifts[1:]
    best = log_likelihood(at_best)
    others = np.delete(design, c - 1, axis=2)
    start = tuple(np.delete(shifts, [0, c]))

    def drop(value: float) -> float:
        held = offset + value * design[:, :, c - 1]
        free = np.array(maximise(others, held, start))
        return best - log_likelihood(held + others @ free) - cutoff

    covariance = inverse(information(design, at_best))
    contrast = np.eye(shifts.size - 1)[c - 1]
    return both_ends(drop, float(shifts[c]), quadratic_reach(covariance, contrast, cutoff))


def _absent_bound(
    z: FloatArray, y: ClassArray, reference: int, absent: int, cutoff: float
) -> float:
    """Return the upper bound of the shift of a class without cases against one with cases."""
    present = np.unique(y)
    first = np.array([reference, *present[present != reference]])
    columns = np.array([*first, absent])
    codes = np.argmax(y[:, None] == first, axis=1)
    among = z[:, columns] - z[:, [reference]]
    shifts = _solve(among[:, :-1], codes)
    best = log_likelihood(margins_of(among[:, :-1] + shifts, codes)) if first.size > 1 else 0.0
    design = intercept_margins(codes, columns.size)
    offset = margins_of(among, codes)

    def drop(value: float) -> float:
        held = offset + value * design[:, :, -1]
        fitted = np.array(maximise(design[:, :, :-1], held, tuple(shifts[1:])))
        return best - log_likelihood(held + design[:, :, :-1] @ fitted) - cutoff

    # At this start each case costs at most cutoff / (e n): inside the interval.
    log_odds = among[:, -1] - logsumexp(among[:, :-1] + shifts, axis=1)
    start = -(float(log_odds.max()) + np.log(y.size / cutoff) + 1)
    return profile_end(drop, start, 1.0)


_Line = tuple[float, Interval, list[tuple[float, Interval]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationFit:
    """The line logit P(class 1) = intercept + slope * (predicted log-odds), fitted to the classes.

    With more than two classes, the log-odds of class c against the first are
    intercept_c + slope * (predicted log-odds of c against the first), with one slope for all; which
    class is the first does not matter for the slope. Calibrated probabilities have slope 1 and
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
            return text + f"intercept {_with_interval(self.intercept, self.intercept_interval)}"
        pairs = zip(self.intercept, self.intercept_interval, strict=True)
        return text + f"intercepts {', '.join(_with_interval(*pair) for pair in pairs)}"


def _with_interval(value: float, interval: Interval) -> str:
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
        raise ValueError("give exactly one of p, log_odds and log_proba.")
    if log_odds is not None:
        z = np.asarray(log_odds, dtype=np.float64)
        if z.shape != np.shape(y_true) or np.isnan(z).any():
            raise ValueError("log_odds must hold one number for each case, without NaN.")
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


def _per_class(estimates: Sequence[tuple[float, Interval]]) -> tuple[PerClass, PerClass]:
    """Return values and intervals; a single pair as it is, for two classes."""
    if len(estimates) == 1:
        return estimates[0]
    values, intervals = zip(*estimates, strict=True)
    return values, intervals


def _fit_line(z: FloatArray, y: ClassArray, cutoff: float) -> _Line:
    """Return the slope, its interval, and the intercepts of each class but the first.

    Classes without cases are left out: their best intercept is minus infinity, where they do not
    matter for the others.
    """
    n_classes, present = z.shape[1], np.unique(y)
    among = z[:, present] - z[:, present[:1]]
    slope, interval, intercepts = _fit_present(among, np.searchsorted(present, y), cutoff)
    if present.size == n_classes:
        return slope, interval, intercepts
    known = dict(zip(present[1:].tolist(), intercepts, strict=True))
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
        fitted = np.array(maximise(free, value * slopes, tuple(levels)))
        return best - log_likelihood(value * slopes + free @ fitted) - cutoff

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
        fitted = np.array(maximise(others, held, start))
        return lowest - log_likelihood(held + others @ fitted)

    return both_ends(drop, float(at[c]), reach)
