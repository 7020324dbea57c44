"""The probability that a quadratic form in normal variables is positive.

Whether a real-valued feature is kept depends on the sign of such a form: its correlation with y is
beyond gamma where x' M x > 0, M = C (u u' - gamma^2 I) C, with u the normalised centred y and C the
centring. With x normal of covariance S the form is distributed as sum_k lambda_k chi^2(m_k), where
lambda_k are the eigenvalues of M S, so

    P(form > 0) = (1 / (2 pi i)) integral of exp(K(s)) / s ds,
    K(s) = -sum_k (m_k / 2) log(1 - 2 s lambda_k),

along any line from c - i infinity to c + i infinity with 0 < c < 1 / (2 max lambda). The line is
bent through the saddle point into a hyperbola along which the integrand falls fast, and the
trapezoidal rule is then accurate to as many digits as it is given nodes.

References
----------
Rice, S. O. (1980). Distribution of quadratic forms in normal random variables: evaluation by
numerical integration. SIAM Journal on Scientific and Statistical Computing 1, 438-448.
"""

from __future__ import annotations

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.types import FloatArray

_BISECTIONS = 40
_STEEPEST_BEND = 0.8
_NEGLIGIBLE = 1e-16
_MOST_NODES = 20_000
_FIRST_STEP = 0.2
_FINEST_STEP = 0.2 / 64
_RELATIVE_ERROR = 1e-6
"""Half as many nodes may be off by this; those that are used then vouch for its square."""


def log_prob_positive(eigenvalues: FloatArray, degrees: FloatArray) -> FloatArray:
    """Return log P(sum_k eigenvalue_k chi^2(degrees_k) > 0).

    Parameters
    ----------
    eigenvalues : ndarray of shape (..., K)
        Of either sign; zeros do not count.
    degrees : ndarray of shape (K,)
        Degrees of freedom, 0 or more; whole numbers or not.

    Returns
    -------
    ndarray of shape (...)
        Accurate to about 1e-11, relative to the rarer of both signs, of which the other is the
        complement. Minus infinity where no eigenvalue is positive.
    """
    flat = np.ascontiguousarray(eigenvalues, dtype=float).reshape(-1, np.shape(eigenvalues)[-1])
    result = _all(flat, np.ascontiguousarray(degrees, dtype=float))
    return np.asarray(result.reshape(np.shape(eigenvalues)[:-1]))


@kernel()
def _all(eigenvalues, degrees):  # type: ignore[no-untyped-def]
    result = np.empty(eigenvalues.shape[0])
    for a in range(eigenvalues.shape[0]):
        result[a] = log_prob_positive_of(eigenvalues[a], degrees)
    return result


@kernel()
def log_prob_positive_of(eigenvalues, degrees):  # type: ignore[no-untyped-def]
    """Return log P(form > 0) of one form; for kernels."""
    mean = 0.0
    largest, smallest = 0.0, 0.0
    for k in range(eigenvalues.size):
        if degrees[k] > 0:
            mean += degrees[k] * eigenvalues[k]
            largest = max(largest, eigenvalues[k])
            smallest = min(smallest, eigenvalues[k])
    if largest == 0.0:
        return -np.inf
    if smallest == 0.0:
        return 0.0
    # Integrate for the rarer sign, whose probability is then accurate relative to itself.
    if mean < 0:
        return _log_rare(eigenvalues / largest, degrees)
    rare = _log_rare(eigenvalues / smallest, degrees)
    return np.log1p(-np.exp(rare)) if rare < 0 else -np.inf


@kernel()
def _log_rare(eigenvalues, degrees):  # type: ignore[no-untyped-def]
    """Return log P(form > 0), where the largest eigenvalue is 1 and the mean below 0."""
    # Through the saddle point of exp(K(s)) / s the integrand is real and largest on the line.
    x = _saddle_point(eigenvalues, degrees)
    value, second, third = 0.0, 1.0, -2.0
    point = np.empty(eigenvalues.size)
    power = np.zeros(eigenvalues.size)
    for k in range(eigenvalues.size):
        point[k] = 1.0
        if degrees[k] > 0 and eigenvalues[k] != 0.0:
            rest = 1.0 - x * eigenvalues[k]
            value -= 0.5 * degrees[k] * np.log(rest)
            point[k] = -rest / (x * eigenvalues[k])
            power[k] = 0.5 * degrees[k]
            second += power[k] / point[k] ** 2
            third -= 2.0 * power[k] / point[k] ** 3
    # The path of steepest descent to second order: b is the integrand's width, a its bend.
    b = 1.0 / np.sqrt(second)
    a = b * min(max(third * b / (3.0 * second), -_STEEPEST_BEND), _STEEPEST_BEND)
    step = _FIRST_STEP
    while True:
        fine, coarse = _trapezoid(point, power, a, b, step)
        if abs(fine - coarse) < _RELATIVE_ERROR * fine or step <= _FINEST_STEP:
            return value + np.log(fine / np.pi)
        step /= 2.0
        a /= 2.0  # the vertical line never lets the integrand grow


@kernel()
def _saddle_point(eigenvalues, degrees):  # type: ignore[no-untyped-def]
    """Return x = 2 s at which K(s) - log(s) is least, by bisection of log(x / (1 - x))."""
    low, high = -40.0, 40.0
    x = 0.5
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        x = 1.0 / (1.0 + np.exp(-middle))
        slope = -1.0
        for k in range(eigenvalues.size):
            slope += 0.5 * degrees[k] * x * eigenvalues[k] / (1.0 - x * eigenvalues[k])
        if slope < 0:
            low = middle
        else:
            high = middle
    return x


@kernel()
def _trapezoid(point, power, a, b, step):  # type: ignore[no-untyped-def]
    """Return the integral by nodes at multiples of the step, and by every second one."""
    # The integrand at -u is the conjugate of that at u: half of the line, imaginary parts.
    fine = 0.5 * step * b
    coarse = 2.0 * fine
    largest = b
    for node in range(1, _MOST_NODES):
        u = step * node
        sinh_u, half = np.sinh(u), np.sinh(0.5 * u)
        y_re, y_im = 2.0 * a * half * half, b * sinh_u
        # The pole at s = 0.
        log_size = -0.5 * np.log((1.0 + y_re) ** 2 + y_im**2)
        angle = -np.arctan2(y_im, 1.0 + y_re)
        for k in range(point.size):
            if power[k] > 0:
                re, im = 1.0 + y_re / point[k], y_im / point[k]
                log_size -= 0.5 * power[k] * np.log(re * re + im * im)
                angle -= power[k] * np.arctan2(im, re)
        slope_re, slope_im = a * sinh_u, b * np.cosh(u)
        size = np.exp(log_size)
        term = size * (np.cos(angle) * slope_im + np.sin(angle) * slope_re)
        fine += step * term
        if node % 2 == 0:
            coarse += 2.0 * step * term
        magnitude = size * np.hypot(slope_re, slope_im)
        largest = max(largest, magnitude)
        if magnitude < _NEGLIGIBLE * largest:
            break
    return fine, coarse
