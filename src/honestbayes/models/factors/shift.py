"""Shifts of the factors between classes, and the ratio of their variance.

The scores of a case of class c are normal around a shift, and shifts have the variance k, the shift
ratio. What they have in common does not matter: nu takes it up. With U an orthonormal basis of the
classes' contrasts U' Z is normal with variance 1 + k U' E E' U, and the rest of Z is standard
normal as without shifts.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from honestbayes.correction.factor_event import project
from honestbayes.sampling.slicing import DONE, PHASE, POINT, X, slice_start, slice_tell

LOWEST, HIGHEST = -12.0, 12.0
"""Bounds of the logarithms of ratios of variances."""

_WIDTH = 1.0


@njit(cache=True, nogil=True)
def log_prior_of_ratio(log_loading):  # type: ignore[no-untyped-def]
    """Return the log density of log(v) where sqrt(v) is half Cauchy with scale 1."""
    return -np.log(np.cosh(0.5 * log_loading))


@njit(cache=True, nogil=True)
def _log_density_of_shift(x, event, along):  # type: ignore[no-untyped-def]
    """Return the log density of the log shift ratio, whose root is half Cauchy with scale 1."""
    result = log_prior_of_ratio(x)
    for b in range(along.shape[0]):
        variance = 1.0 + np.exp(x) * event.signal[b]
        result -= 0.5 * along.shape[1] * np.log(variance) + 0.5 * np.sum(along[b] ** 2) / variance
    return result


@njit(cache=True, nogil=True)
def draw_shift(rng, log_shift, event, along):  # type: ignore[no-untyped-def]
    """Draw the log shift ratio by slice sampling."""
    log_f = _log_density_of_shift(log_shift, event, along)
    update = slice_start(rng, log_shift, log_f, _WIDTH, LOWEST, HIGHEST)
    while update[PHASE] != DONE:
        slice_tell(rng, update, _log_density_of_shift(update[POINT], event, along))
    return update[X]


@njit(cache=True, nogil=True)
def draw_class_shifts(rng, event, shift, scores, codes, n_classes):  # type: ignore[no-untyped-def]
    """Draw the classes' shifts of the factors given the scores, shape (C, d)."""
    along, _ = project(scores, event.basis)
    d = along.shape[1]
    for b in range(along.shape[0]):
        more = shift * event.signal[b]
        for f in range(d):
            noise = np.sqrt(more / (1.0 + more)) * rng.standard_normal()
            along[b, f] = more / (1.0 + more) * along[b, f] + noise
    result = np.zeros((n_classes, d))
    for i in range(codes.size):
        for f in range(d):
            total = 0.0
            for b in range(along.shape[0]):
                total += event.basis[i, b] * along[b, f]
            result[codes[i], f] = total
    return result
