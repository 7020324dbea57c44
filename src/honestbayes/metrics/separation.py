"""Whether the log-odds separate the classes, and what bounds the calibration slope then.

References
----------
Albert, A. and Anderson, J. A. (1984). On the existence of maximum likelihood estimates in logistic
regression models. Biometrika 71, 1-10.
"""

from __future__ import annotations

import numpy as np

from honestbayes.metrics.logistic import (
    DOUBLINGS,
    intercept_margins,
    log_likelihood,
    margins_of,
    maximise,
    profile_end,
)
from honestbayes.metrics.per_case import ClassArray
from honestbayes.types import FloatArray

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
