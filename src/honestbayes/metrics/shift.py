"""What to add to the log-odds of each class while the calibration slope is held at 1."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_expit, logsumexp

from honestbayes.metrics.logistic import (
    Interval,
    both_ends,
    information,
    intercept_margins,
    inverse,
    log_likelihood,
    margins_of,
    maximise,
    profile_end,
    quadratic_reach,
)
from honestbayes.metrics.per_case import ClassArray
from honestbayes.types import BoolArray, FloatArray

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
            place = int(np.searchsorted(present, c))
            interval = _profile(z[:, present], np.searchsorted(present, y), shifts, place, cutoff)
            results.append((float(shifts[place]), interval))
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
        found = np.array(maximise(others, held, start))
        return best - log_likelihood(held + others @ found) - cutoff

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
        found = np.array(maximise(design[:, :, :-1], held, tuple(shifts[1:])))
        return best - log_likelihood(held + design[:, :, :-1] @ found) - cutoff

    # At this start each case costs at most cutoff / (e n): inside the interval.
    log_odds = among[:, -1] - logsumexp(among[:, :-1] + shifts, axis=1)
    start = -(float(log_odds.max()) + np.log(y.size / cutoff) + 1)
    return profile_end(drop, start, 1.0)
