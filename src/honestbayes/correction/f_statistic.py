"""The probability that a real-valued feature is discarded by its F statistic.

Given its class, a value is normal with variance s2; the class means are normal with variance
w s2, where w is the signal ratio. The feature is kept when r^2 = SSB / (SSB + SSW) exceeds
gamma^2. Neither s2 nor the common mean of the class means matters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from honestbayes.selection import DiscardedGroup
from honestbayes.types import FloatArray, IntArray

ComplexArray = NDArray[np.complex128]

_STEP = 0.1
_FINEST_STEP = _STEP / 16
_BLOCK = 64
_BISECTIONS = 25
_NEGLIGIBLE = 1e-16
# The error of the trapezoidal rule is squared when the step is halved, so a coarse sum that is off
# by this much vouches for a fine one to about 1e-12.
_COARSE_ERROR = 1e-7
_STEEPEST_BEND = 0.8


def between_eigenvalues(class_sizes: IntArray) -> FloatArray:
    """Return the nonzero eigenvalues of P N P, in increasing order.

    N is the diagonal matrix of class sizes and P = I - u u' with u_c = sqrt(n_c / n). They are the
    roots of sum_c n_c / (n_c - mu) = 0, one between each two neighbours of the sorted sizes, and
    are found by bisection: a matrix routine is accurate only relative to the largest one.

    Parameters
    ----------
    class_sizes : ndarray of shape (C,)
        Numbers of cases, each at least 1.

    Returns
    -------
    ndarray of shape (C - 1,)
    """
    return np.array(_eigenvalues(tuple(sorted(int(size) for size in class_sizes))))


@lru_cache(maxsize=256)
def _eigenvalues(sizes: tuple[int, ...]) -> tuple[float, ...]:
    size, count = np.unique(np.array(sizes, dtype=float), return_counts=True)
    repeated = np.repeat(size, count - 1)
    low, high = size[:-1].copy(), size[1:].copy()
    mass = count * size
    while True:
        middle = 0.5 * (low + high)
        inside = (middle > low) & (middle < high)
        if not inside.any():
            break
        # Where no number is left between the bounds, a class size may be hit: keep clear of it.
        mu = np.where(inside, middle, 0.0)
        below = (mass / (size - mu[:, None])).sum(axis=1) < 0
        low = np.where(inside & below, middle, low)
        high = np.where(inside & ~below, middle, high)
    return tuple(np.sort(np.concatenate([repeated, middle])).tolist())


def log_prob_kept(ratio: FloatArray, class_sizes: IntArray, gamma_squared: float) -> FloatArray:
    """Return log P(r^2 > gamma^2 | w).

    Parameters
    ----------
    ratio : ndarray of shape (A,)
        Signal ratios w >= 0.
    class_sizes : ndarray of shape (C,)
        Numbers of cases, C >= 2, each at least 1 and more than C in all.
    gamma_squared : float
        Threshold of r^2, from 0 to 1.

    Returns
    -------
    ndarray of shape (A,)
        The probability of the rarer of both events is accurate to about 1e-11 in relative terms,
        however small it is, and the other is its complement.
    """
    return _log_probs(ratio, class_sizes, gamma_squared)[0]


def log_prob_all_discarded(
    groups: Sequence[DiscardedGroup],
    bound: Callable[[IntArray], float],
    ratio: FloatArray,
    mixing: FloatArray | None = None,
) -> FloatArray:
    """Return log P(S): that all features of all groups were discarded; real values never tie.

    Parameters
    ----------
    groups : sequence of DiscardedGroup
        Discarded features by their numbers of observed cases.
    bound : callable
        Given the sizes of the classes that are present, the bound on r squared.
    ratio : ndarray of shape (A,)
        Signal ratios.
    mixing : ndarray of shape (T, A), optional
        Distribution of a feature's ratio at each node; without it each ratio is a node.

    Returns
    -------
    ndarray of shape (T,)
    """
    total: FloatArray = np.zeros(ratio.size if mixing is None else mixing.shape[0])
    for group in groups:
        present = np.array([size for size in group.observed if size > 0], dtype=np.int64)
        if present.size < 2 or present.sum() <= present.size:
            continue  # such a feature cannot be told from a constant one: it never wins
        one = log_prob_discarded(ratio, present, bound(present))
        if mixing is not None:
            one = logsumexp(one, axis=1, b=mixing)
        total = total + group.n_discarded * one
    return total


def log_prob_discarded(
    ratio: FloatArray, class_sizes: IntArray, gamma_squared: float
) -> FloatArray:
    """Return log P(r^2 <= gamma^2 | w); see :func:`log_prob_kept`."""
    return _log_probs(ratio, class_sizes, gamma_squared)[1]


def _log_probs(
    ratio: FloatArray, class_sizes: IntArray, gamma_squared: float
) -> tuple[FloatArray, FloatArray]:
    """Integrate for the rarer of both events, and complement it."""
    ratio = np.asarray(ratio, dtype=float)
    n_classes, n_within = len(class_sizes), int(np.sum(class_sizes)) - len(class_sizes)
    if n_classes < 2 or n_within < 1 or np.min(class_sizes) < 1:
        raise ValueError(
            "The F statistic needs two or more classes, none of them empty, and more cases than "
            "classes."
        )
    never, always = np.full(ratio.shape, -np.inf), np.zeros(ratio.shape)
    if gamma_squared <= 0:
        return always, never
    if gamma_squared >= 1:
        return never, always
    # Kept: sum_j (1 + w mu_j) chi2_1 - odds chi2_(n - C) > 0, a quadratic form in normal variables,
    # so that its probability is an integral along a line in the complex plane.
    mu, count = np.unique(between_eigenvalues(class_sizes), return_counts=True)
    scale = 1.0 + ratio[:, None] * mu
    odds = gamma_squared / (1.0 - gamma_squared)
    power = np.concatenate([[1.0, n_within / 2], count / 2])
    kept, discarded = np.empty(ratio.shape), np.empty(ratio.shape)
    # The form's mean decides which event is the rarer: it has its saddle point on the side of the
    # pole at s = 0 from which the integral is that event's probability, without subtraction.
    rare = scale @ count < n_within * odds
    kept[rare] = _log_tail(*_kept_side(scale[rare], odds, power), power)
    discarded[~rare] = _log_tail(*_discarded_side(scale[~rare], odds, power), power)
    discarded[rare] = np.log1p(-np.exp(kept[rare]))
    kept[~rare] = np.log1p(-np.exp(discarded[~rare]))
    return kept, discarded


def _kept_side(scale: FloatArray, odds: float, power: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the singular points seen from the saddle point at s > 0, and K there.

    With the largest scale L and s = x / (2 L), the saddle point has x / (1 - x) between 2 / (C - 1)
    and n - C + 2.
    """
    largest = scale[:, -1:]
    gap = (largest - scale) / scale

    def points(x_odds: FloatArray) -> FloatArray:
        x = x_odds / (1.0 + x_odds)
        right = gap * (1.0 + 1.0 / x_odds) + 1.0 / x_odds
        return np.hstack([np.ones_like(x), 1.0 + largest / odds / x, -right])

    low, high = 1.0 / power[2:].sum(), 2.0 * power[1] + 2.0
    x_odds = _saddle_point(points, power, low, high, len(scale))
    x = x_odds / (1.0 + x_odds)
    # 1 - x scale / L without loss for the largest, where x may be close to 1.
    rest = (largest - scale) / largest + scale / largest / (1.0 + x_odds)
    value = -np.log(rest) @ power[2:] - power[1] * np.log1p(odds * x / largest)[:, 0]
    return points(x_odds), value


def _discarded_side(
    scale: FloatArray, odds: float, power: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the singular points seen from the saddle point at s < 0, mirrored, and K there.

    With s = -z / (2 odds), the saddle point has z / (1 - z) between 2 / (n - C) and
    (C + 1) / (n - C).
    """

    def points(z_odds: FloatArray) -> FloatArray:
        z = z_odds / (1.0 + z_odds)
        return np.hstack([np.ones_like(z), -1.0 / z_odds, 1.0 + odds / scale / z])

    low, high = 1.0 / power[1], (1.0 + power[2:].sum()) / power[1]
    z_odds = _saddle_point(points, power, low, high, len(scale))
    point = points(z_odds)
    z = z_odds / (1.0 + z_odds)
    # log(1 + scale z / odds), in a form in which a tiny threshold does not overflow.
    grown = np.log(point[:, 2:]) + np.log(scale) + np.log(z) - np.log(odds)
    return point, power[1] * np.log1p(z_odds)[:, 0] - grown @ power[2:]


def _saddle_point(
    points: Callable[[FloatArray], FloatArray],
    power: FloatArray,
    low: float,
    high: float,
    n_ratios: int,
) -> FloatArray:
    """Return the odds at which sum power / point = 0, by bisection; any value nearby would do."""
    # Between the pole at 0 and the next singular point the integrand's logarithm is convex, so
    # its derivative changes sign once.
    below, above = np.full((n_ratios, 1), np.log(low)), np.full((n_ratios, 1), np.log(high))
    for _ in range(_BISECTIONS):
        middle = 0.5 * (below + above)
        too_low = ((1.0 / points(np.exp(middle))) @ power > 0)[:, None]
        below, above = np.where(too_low, middle, below), np.where(too_low, above, middle)
    return np.asarray(np.exp(0.5 * (below + above)))


def _log_tail(point: FloatArray, value: FloatArray, power: FloatArray) -> FloatArray:
    """Return K + log((1 / pi) Im integral of prod_k (1 + y / point_k)^(-power_k) dy).

    The contour is the hyperbola y = a (cosh u - 1) + i b sinh u, which follows the path of
    steepest descent where it starts: b is the width of the integrand there, and a its bend.

    Parameters
    ----------
    point : ndarray of shape (A, K)
        Singular points, as distances from the saddle point with the sign turned.
    value : ndarray of shape (A,)
        Exponent K at the saddle point.
    power : ndarray of shape (K,)
    """
    # The second derivative of the exponent gives the integrand's width, the third the bend that
    # cancels the phase to next order. Any bend is right, because no singular point is crossed.
    second, third = (1.0 / point**2) @ power, (-2.0 / point**3) @ power
    b = 1.0 / np.sqrt(second)
    a = b * np.clip(third * b / (3.0 * second), -_STEEPEST_BEND, _STEEPEST_BEND)
    result = np.empty(value.shape)
    todo, step = np.arange(value.size), _STEP
    while todo.size:
        fine, coarse = _trapezoid(point[todo], power, a[todo], b[todo], step)
        done = (np.abs(fine - coarse) < _COARSE_ERROR * fine) | (step <= _FINEST_STEP)
        result[todo[done]] = value[todo[done]] + np.log(fine[done] / np.pi)
        # With many classes a bend towards far singular points of large power may let the
        # integrand grow before it falls. The vertical line never does.
        todo, step, a = todo[~done], step / 2.0, a / 2.0
    return result


def _trapezoid(
    point: FloatArray, power: FloatArray, a: FloatArray, b: FloatArray, step: float
) -> tuple[FloatArray, FloatArray]:
    """Return the sum over nodes at multiples of the step, and over every second one."""
    fine = 0.5 * step * b  # u = 0, where the product is 1
    coarse = 2.0 * fine
    largest = b
    first = 1
    while True:
        u = step * np.arange(first, first + _BLOCK)
        y = a[:, None] * 2.0 * np.sinh(u / 2.0) ** 2 + 1j * b[:, None] * np.sinh(u)
        log_product = np.zeros(y.shape, dtype=complex)
        for k, exponent in enumerate(power):
            log_product -= exponent * _log1p(y / point[:, k, None])
        slope = a[:, None] * np.sinh(u) + 1j * b[:, None] * np.cosh(u)
        terms = np.exp(log_product) * slope
        fine = fine + step * terms.imag.sum(axis=1)
        coarse = coarse + 2.0 * step * terms.imag[:, 1::2].sum(axis=1)
        size = np.abs(terms)
        largest = np.maximum(largest, size.max(axis=1))
        if np.all(size[:, -1] < _NEGLIGIBLE * largest):
            return fine, coarse
        first += _BLOCK


def _log1p(z: ComplexArray) -> ComplexArray:
    """Return log(1 + z), accurate also for small z, and faster than a complex logarithm."""
    x, y = z.real, z.imag
    return 0.5 * np.log1p(x * (2.0 + x) + y * y) + 1j * np.arctan2(y, 1.0 + x)
