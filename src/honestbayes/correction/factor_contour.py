"""P(kept) at all signal ratios at once, for samplers: one contour instead of one for each ratio.

With two classes, or a real response, features are correlated with a single contrast. In
coordinates whose first is that contrast and whose others are the principal axes of the scores
beside it, the covariance of a feature is an arrow matrix, and the transform of its quadratic form
(`correction.quadratic_form`) is

    exp(K(s)) = R(s)^(-1/2) prod_k d_k(s)^(-1/2) (1 + 2 s gamma^2)^(-m / 2),
    d_k(s) = 1 + 2 s gamma^2 (1 + v e_k),
    R(s) = 1 - 2 s (1 - gamma^2)(1 + v |h|^2 + w u)
             + 4 s^2 gamma^2 (1 - gamma^2) v^2 sum_k g_k^2 / d_k(s),

where v is the loading ratio, h the scores along the contrast, e_k the eigenvalues of the rest and
g_k^2 = (h' V_k)^2 e_k. Only R depends on the signal ratio w, by a term that is linear in it. So all
ratios share the line Re(s) = c, left of every singular point, and a node costs one complex square
root for each. Along y = c sinh(u) every singular point is pi / 2 from the real axis of u, and the
trapezoidal rule errs by exp(-(2 pi / step)^2 / n) where n is large.

What is lost is the accuracy of very small probabilities relative to themselves: the error is about
1e-10 whatever the ratio, which is all that P(S)^N needs.
"""

from __future__ import annotations

import numpy as np

from honestbayes.compiled import kernel

_EXPONENT = 25.0
"""The trapezoidal rule's error is the exponential of minus this."""

_COARSEST_STEP = 0.22
_NEGLIGIBLE = 1e-14
_MOST_NODES = 100_000


@kernel()
def prob_kept(along, rest, signal, ratio, loading_ratio, gamma_squared, n_cases):  # type: ignore[no-untyped-def]
    """Return P(r^2 > gamma^2 | Z, w, v) at each ratio, shape (A,), for a single contrast.

    Parameters
    ----------
    along : ndarray of shape (1, d)
        Scores along the contrast, U' Z.
    rest : ndarray of shape (d, d)
        Products of what is left of the centred scores.
    signal : float
        U' E E' U; 0 for a response.
    ratio : ndarray of shape (A,)
        Signal ratios w.
    loading_ratio, gamma_squared : float
        v, and the bound on r squared, between 0 and 1.
    n_cases : float
        Cases, more than 2.
    """
    spread, square = _axes(along, rest, n_cases)
    d = spread.size
    others = 0.5 * (n_cases - 2.0 - d)
    length = 0.0
    for f in range(along.shape[1]):
        length += along[0, f] ** 2
    reach = 1.0 + loading_ratio * length
    # Half way from the pole at 0 to the nearest zero of R(s), that of the largest ratio: one line
    # that is right of the pole and left of every other singular point serves all ratios.
    c = 0.25 / ((1.0 - gamma_squared) * (reach + ratio.max() * signal))
    # The rule errs by exp(-(2 pi / step)^2 / n): the step follows from the error that is allowed.
    step = min(_COARSEST_STEP, 2.0 * np.pi / np.sqrt(_EXPONENT * n_cases))
    result = np.zeros(ratio.size)
    scale = 2.0 * (1.0 - gamma_squared)
    bend = 2.0 * gamma_squared * scale * loading_ratio**2
    for node in range(_MOST_NODES):
        u = step * node
        slope = c * np.cosh(u)
        s = complex(c, c * np.sinh(u))
        start = 1.0 - scale * reach * s
        # Square roots one by one: each factor stays clear of the negative axis, a product may not.
        factor = (1.0 + 2.0 * gamma_squared * s) ** (-others) / s
        for f in range(d):
            one = 1.0 + 2.0 * gamma_squared * (1.0 + loading_ratio * spread[f]) * s
            start += bend * square[f] * s * s / one
            factor /= np.sqrt(one)
        # Real parts of the upper half of the line; its middle node belongs to both halves.
        weight = step * slope * (0.5 if node == 0 else 1.0) / np.pi
        _add_node(result, weight * factor, start, scale * signal * s, ratio)
        if slope * abs(factor) < _NEGLIGIBLE:
            break
    for a in range(ratio.size):
        result[a] = min(max(result[a], 0.0), 1.0)
    return result


@kernel(error_model="numpy")  # no check of divisors, so that it vectorises
def _add_node(result, factor, start, shift, ratio):  # type: ignore[no-untyped-def]
    """Add Re(factor / sqrt(start - w shift)) at each ratio w, in real numbers: far faster.

    The imaginary part of start - w shift is negative, so that of its inverse root is positive.
    """
    real, imaginary = np.sqrt(0.5) * factor.real, np.sqrt(0.5) * factor.imag
    for a in range(ratio.size):
        x = start.real - ratio[a] * shift.real
        y = start.imag - ratio[a] * shift.imag
        size = np.sqrt(x * x + y * y)
        result[a] += (real * np.sqrt(size + x) - imaginary * np.sqrt(size - x)) / size


@kernel()
def _axes(along, rest, n_cases):  # type: ignore[no-untyped-def]
    """Return eigenvalues e_k of what is left of the scores, and g_k^2, as many as cases allow."""
    d = along.shape[1]
    beyond = min(d, max(int(n_cases) - 2, 0))
    spread, square = np.zeros(beyond), np.zeros(beyond)
    if beyond > 0:
        value, vector = np.linalg.eigh(rest)
        for k in range(beyond):
            spread[k] = max(value[d - 1 - k], 0.0)
            inner = 0.0
            for f in range(d):
                inner += along[0, f] * vector[f, d - 1 - k]
            square[k] = inner * inner * spread[k]
    return spread, square
