"""The probability that a feature with loadings on known factor scores is discarded.

Given the scores Z of all cases a real-valued feature is normal, up to its mean, with covariance

    s2 (I + w E E' + w_lambda Z Z'),

where E holds the classes' 0/1 columns, w is the feature's signal ratio and w_lambda the ratio of
the loadings. With a real response there is no E: features depend on it through Z only. A feature
is kept where r^2 = x' P x / x' C x > gamma^2, with C the centring and P the projection on the
centred class indicators, or on the centred response: where the quadratic form of P - gamma^2 C is
positive. All but a few dimensions are alike: in a basis of the span of C E (or C y) and C Z the
form has as many eigenvalues as that span has dimensions, and -gamma^2 in all others.

References
----------
Li, L., Zhang, J. and Neal, R. M. (2008). A method for avoiding bias from feature selection with
application to naive Bayes classification models. Bayesian Analysis 3, 171-196, section 2, for the
factor that conditions on the selection; the form for factor models is derived in the docs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.types import AnyArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# The probability that a quadratic form in normal variables is positive, by a contour integral
#
# Whether a real-valued feature is kept depends on the sign of such a form: its correlation with y
# is beyond gamma where x' M x > 0, M = C (u u' - gamma^2 I) C, with u the normalised centred y and
# C the centring. With x normal of covariance S the form is distributed as sum_k lambda_k
# chi^2(m_k), where lambda_k are the eigenvalues of M S, so
#
#     P(form > 0) = (1 / (2 pi i)) integral of exp(K(s)) / s ds,
#     K(s) = -sum_k (m_k / 2) log(1 - 2 s lambda_k),
#
# along any line from c - i infinity to c + i infinity with 0 < c < 1 / (2 max lambda). The line is
# bent through the saddle point into a hyperbola along which the integrand falls fast, and the
# trapezoidal rule is then accurate to as many digits as it is given nodes.
#
# References
# ----------
# Rice, S. O. (1980). Distribution of quadratic forms in normal random variables: evaluation by
# numerical integration. SIAM Journal on Scientific and Statistical Computing 1, 438-448.
# --------------------------------------------------------------------------------------------------


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
    # Through the saddle point s_0 of exp(K(s)) / s the integrand is real and largest on the line.
    # With s = s_0 (1 + y) it is exp(K(s_0)) / (1 + y) times the product of (1 + y / p_k)^(-m_k/2).
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
    # The path of steepest descent to second order: b is the integrand's width, a its bend. With
    # the derivatives f2 and f3 of the log integrand at y = 0, exp(f2 y^2 / 2 + f3 y^3 / 6) is real
    # along y = i v + f3 / (6 f2) v^2 to third order: y = a (cosh u - 1) + i b sinh u follows that.
    b = 1.0 / np.sqrt(second)
    a = b * min(max(third * b / (3.0 * second), -_STEEPEST_BEND), _STEEPEST_BEND)
    step = _FIRST_STEP
    while True:
        fine, coarse = _trapezoid(point, power, a, b, step)
        # The trapezoidal rule errs by exp(-constant / step) for an analytic integrand, so that
        # halving the step squares the error: the difference is that of the coarser rule.
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
        # s times the derivative of K(s) - log(s). That function is convex, being a cumulant
        # generating function less a logarithm, and infinite at both ends, x = 0 and x = 1 (the
        # largest eigenvalue is 1): the sign changes exactly once.
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
                # Logarithm and angle factor by factor: the angle of the product is beyond pi, where
                # a complex power would jump to another branch.
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


@dataclass(frozen=True, slots=True, eq=False)
class Contrasts:
    """What features are correlated with.

    Attributes
    ----------
    basis : ndarray of shape (n, B)
        Orthonormal basis U of the centred class indicators, or of the centred response.
    signal : ndarray of shape (B,)
        U' E E' U, which is diagonal in this basis; 0 for a response.
    """

    basis: FloatArray
    signal: FloatArray


def class_contrasts(codes: IntArray) -> Contrasts:
    """Return the contrasts of classes.

    Parameters
    ----------
    codes : ndarray of int of shape (n,)
        Class of each case, from 0; no class is empty.
    """
    counts = np.bincount(codes).astype(float)
    root = np.sqrt(counts / counts.sum())
    # An orthonormal basis of what is orthogonal to the root: the rest of a full QR.
    rest = np.linalg.qr(root[:, None], mode="complete")[0][:, 1:]
    signal, turn = np.linalg.eigh(rest.T @ (counts[:, None] * rest))
    by_class = (rest @ turn) / np.sqrt(counts)[:, None]
    return Contrasts(np.ascontiguousarray(by_class[codes]), signal)


def response_contrast(y: AnyArray) -> Contrasts:
    """Return the contrast of a real response that is not constant, shape (n,)."""
    centred = np.asarray(y, dtype=float) - np.mean(y)
    centred = centred / np.max(np.abs(centred))
    return Contrasts((centred / np.linalg.norm(centred))[:, None], np.zeros(1))


def log_prob_discarded(
    contrasts: Contrasts,
    scores: FloatArray,
    ratio: FloatArray,
    loading_ratio: float,
    gamma_squared: float,
) -> FloatArray:
    """Return log P(r^2 <= gamma^2 | Z, y, w, w_lambda) for each signal ratio, shape (A,).

    Parameters
    ----------
    contrasts : Contrasts
        Of the classes or of the response.
    scores : ndarray of shape (n, d)
        Factor scores Z. Neither rotating them nor adding a constant changes anything.
    ratio : ndarray of shape (A,)
        Signal ratios w >= 0. For a response they do not matter.
    loading_ratio : float
        Ratio w_lambda >= 0 of the variance of loadings to s2.
    gamma_squared : float
        Bound on r squared, between 0 and 1.
    """
    along, rest = project(np.ascontiguousarray(scores, dtype=float), contrasts.basis)
    return np.asarray(
        log_discarded(
            along,
            rest,
            contrasts.signal,
            np.ascontiguousarray(ratio, dtype=float),
            float(loading_ratio),
            float(gamma_squared),
            float(contrasts.basis.shape[0]),
        )
    )


@kernel()
def project(scores, basis):  # type: ignore[no-untyped-def]
    """Return U' Z, shape (B, d), and (Z - U U' Z)' C (Z - U U' Z), shape (d, d)."""
    n, d = scores.shape
    n_contrasts = basis.shape[1]
    along = np.zeros((n_contrasts, d))
    mean = np.zeros(d)
    for i in range(n):
        for f in range(d):
            mean[f] += scores[i, f] / n
            for b in range(n_contrasts):
                along[b, f] += basis[i, b] * scores[i, f]
    rest = np.zeros((d, d))
    left = np.empty(d)
    for i in range(n):
        for f in range(d):
            left[f] = scores[i, f] - mean[f]
            for b in range(n_contrasts):
                left[f] -= basis[i, b] * along[b, f]
        for f in range(d):
            for g in range(d):
                rest[f, g] += left[f] * left[g]
    return along, rest


@kernel()
def log_discarded(along, rest, signal, ratio, loading_ratio, gamma_squared, n_cases):  # type: ignore[no-untyped-def]
    """Return log P(discarded) at each ratio, shape (A,), from what `project` returns."""
    scores = _coordinates(along, rest, n_cases)
    dimensions, n_contrasts = scores.shape[0], signal.size
    degrees = np.ones(dimensions + 1)
    # All other dimensions, but for the mean, have variance 1 and the form -gamma^2.
    degrees[dimensions] = n_cases - 1.0 - dimensions
    eigenvalues = np.empty(dimensions + 1)
    eigenvalues[dimensions] = -gamma_squared
    result = np.empty(ratio.size)
    for a in range(ratio.size):
        covariance = loading_ratio * (scores @ scores.T)
        for b in range(dimensions):
            covariance[b, b] += 1.0
            if b < n_contrasts:
                covariance[b, b] += ratio[a] * signal[b]
        eigenvalues[:dimensions] = _form_eigenvalues(covariance, n_contrasts, gamma_squared)
        mean = 0.0
        for b in range(dimensions + 1):
            mean += degrees[b] * eigenvalues[b]
        # Of both signs the rarer one is integrated, so that neither log loses digits.
        if mean < 0:
            result[a] = np.log1p(-np.exp(log_prob_positive_of(eigenvalues, degrees)))
        else:
            result[a] = log_prob_positive_of(-eigenvalues, degrees)
    return result


@kernel()
def _coordinates(along, rest, n_cases):  # type: ignore[no-untyped-def]
    """Return the scores in an orthonormal basis whose first dimensions are the contrasts.

    With fewer cases than factors the scores span no more dimensions than there are cases.
    """
    n_contrasts, d = along.shape
    beyond = min(d, max(int(n_cases) - 1 - n_contrasts, 0))
    scores = np.zeros((n_contrasts + beyond, d))
    scores[:n_contrasts] = along
    if beyond > 0:
        value, vector = np.linalg.eigh(rest)
        for b in range(beyond):
            size = np.sqrt(max(value[d - 1 - b], 0.0))
            for f in range(d):
                scores[n_contrasts + b, f] = size * vector[f, d - 1 - b]
    return scores


@kernel()
def _form_eigenvalues(covariance, n_contrasts, gamma_squared):  # type: ignore[no-untyped-def]
    """Return the eigenvalues of the form P - gamma^2 I under a covariance, shape (r,)."""
    root = np.linalg.cholesky(covariance)
    form = np.zeros(covariance.shape)
    for g in range(covariance.shape[0]):
        factor = (1.0 if g < n_contrasts else 0.0) - gamma_squared
        for b in range(g + 1):
            for c in range(g + 1):
                form[b, c] += factor * root[g, b] * root[g, c]
    return np.linalg.eigvalsh(form)


# --------------------------------------------------------------------------------------------------
# P(kept) at all signal ratios at once, for samplers: one contour instead of one for each ratio
#
# With two classes, or a real response, features are correlated with a single contrast. In
# coordinates whose first is that contrast and whose others are the principal axes of the scores
# beside it, the covariance of a feature is an arrow matrix, and the transform of its quadratic form
# (see above) is
#
#     exp(K(s)) = R(s)^(-1/2) prod_k d_k(s)^(-1/2) (1 + 2 s gamma^2)^(-m / 2),
#     d_k(s) = 1 + 2 s gamma^2 (1 + v e_k),
#     R(s) = 1 - 2 s (1 - gamma^2)(1 + v |h|^2 + w u)
#              + 4 s^2 gamma^2 (1 - gamma^2) v^2 sum_k g_k^2 / d_k(s),
#
# where v is the loading ratio, h the scores along the contrast, e_k the eigenvalues of the rest and
# g_k^2 = (h' V_k)^2 e_k. Only R depends on the signal ratio w, by a term that is linear in it. So
# all ratios share the line Re(s) = c, left of every singular point, and a node costs one complex
# square root for each. Along y = c sinh(u) every singular point is pi / 2 from the real axis of u,
# and the trapezoidal rule errs by exp(-(2 pi / step)^2 / n) where n is large.
#
# What is lost is the accuracy of very small probabilities relative to themselves: the error is
# about 1e-10 whatever the ratio, which is all that P(S)^N needs.
# --------------------------------------------------------------------------------------------------


_EXPONENT = 25.0
"""The trapezoidal rule's error is the exponential of minus this."""

_COARSEST_STEP = 0.22
_NEGLIGIBLE_FACTOR = 1e-14
_MOST_CONTOUR_NODES = 100_000


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
    for node in range(_MOST_CONTOUR_NODES):
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
        if slope * abs(factor) < _NEGLIGIBLE_FACTOR:
            break
    for a in range(ratio.size):
        result[a] = min(max(result[a], 0.0), 1.0)
    return result


@kernel(error_model="numpy")  # no check of divisors, so that it vectorises
def _add_node(result, factor, start, shift, ratio):  # type: ignore[no-untyped-def]
    """Add Re(factor / sqrt(start - w shift)) at each ratio w, in real numbers: far faster.

    The imaginary part of start - w shift is negative, so that of its inverse root is positive.
    """
    # 1 / sqrt(z) = (sqrt(|z| + x) + i sqrt(|z| - x)) / (sqrt(2) |z|) for z = x + i y, y < 0.
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
