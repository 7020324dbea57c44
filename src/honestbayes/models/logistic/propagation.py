"""Expectation propagation for logistic regression with normal coefficients.

Each case's likelihood is replaced by a normal site, exp(-precision f^2 / 2 + shift f), such that
the linear predictor f of the case has the mean and variance that it would have with the logistic
function instead of its own site (Minka, 2001; Rasmussen and Williams, 2006, section 3.6). All sites
are updated in parallel. Where a row's predictor is wide, the logistic function is far from a normal
density, and Laplace's method, which expands at the mode, would misjudge both the evidence and the
variance.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri, dtrtrs
from scipy.special import log_expit, log_ndtr, ndtr

from honestbayes.types import FloatArray

# --------------------------------------------------------------------------------------------------
# The logistic function averaged over a normal distribution
#
# The logistic function is a mixture of eight normal distribution functions to 2e-9 (Monahan and
# Stefanski, 1992, in Balakrishnan, Handbook of the Logistic Distribution, table 11.1), so that
# every average has a closed form, E[Phi(a f)] = Phi(a m / sqrt(1 + a^2 v)), as accurate for wide
# normal distributions as for narrow ones. Gauss-Hermite rules are not: with 32 nodes and a standard
# deviation of 10 they are off by 6%.
# --------------------------------------------------------------------------------------------------


_SHARE = np.array(
    [
        0.003246343272134,
        0.051517477033972,
        0.195077912673858,
        0.315569823632818,
        0.274149576158423,
        0.131076880695470,
        0.027912418727972,
        0.001449567805354,
    ]
)
_STEEPNESS = np.array(
    [
        1.365340806296348,
        1.059523971016916,
        0.830791313765644,
        0.650732166639391,
        0.508135425366489,
        0.396313345166341,
        0.308904252267995,
        0.238212616409306,
    ]
)
_LOWEST = -35.0
"""Smallest argument at which the normal distribution function and its square do not underflow."""


class Tilted(NamedTuple):
    """A normal variable times the logistic function of itself.

    Attributes
    ----------
    log_mass : ndarray of shape (n,)
        Log of the average of the logistic function.
    slope, curvature : ndarray of shape (n,)
        First derivative of `log_mass` with respect to the mean, and minus the second.
    """

    log_mass: FloatArray
    slope: FloatArray
    curvature: FloatArray


def tilted(mean: FloatArray, variance: FloatArray) -> Tilted:
    """Return the normaliser of normal x logistic, and its derivatives, shape (n,) each.

    Mean and variance of the product follow: m + v slope and v - v^2 curvature (Rasmussen and
    Williams, 2006, section 3.9).
    """
    steepness = _STEEPNESS / np.sqrt(1 + variance[:, None] * _STEEPNESS**2)
    z = np.maximum(mean[:, None] * steepness, _LOWEST)
    mass = ndtr(z) @ _SHARE
    density = np.exp(-0.5 * z**2) * steepness
    slope = density @ (_SHARE / np.sqrt(2 * np.pi)) / mass
    bend = (density * steepness * z) @ (_SHARE / np.sqrt(2 * np.pi)) / mass
    return Tilted(np.log(mass), slope, slope**2 + bend)


def log_mean_expit(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return log E[1 / (1 + exp(-f))] for normal f, of any shape.

    The mixture's tails are normal, too thin beyond -20. For a mean m <= 0 the average is at least
    the value at the mean, which has the right tail: s(m + t) + s(m - t) >= 2 s(m) for every t.
    """
    mean, variance = mean[..., None], variance[..., None]
    z = mean * (_STEEPNESS / np.sqrt(1 + variance * _STEEPNESS**2))
    log_parts = log_ndtr(z) + np.log(_SHARE)
    top = log_parts.max(axis=-1, keepdims=True)
    mixed = top[..., 0] + np.log(np.exp(log_parts - top).sum(axis=-1))
    mean = mean[..., 0]
    right = np.maximum(mixed, log_expit(mean))
    return np.asarray(np.where(mean < 0, right, np.minimum(mixed, 0.0)))


SETTLED = 1e-4
"""Convergence: largest change of a case's mean, in standard deviations, or log variance."""

_MOST_UPDATES = 200
"""Largest number of updates of the sites."""

_SMALLEST = 1e-10
"""Smallest precision of a site. The logistic function is log-concave, so that exact updates have
positive precisions; rounding must not make one negative."""


class Regressors(Protocol):
    """The regressors X, shape (n, q), the first of them all ones."""

    def predictor(self, coefficients: FloatArray) -> FloatArray:
        """Return X w, shape (n,)."""

    def gathered(self, shift: FloatArray) -> FloatArray:
        """Return X' s, shape (q,)."""

    def precision(self, weights: FloatArray) -> FloatArray:
        """Return X' diag(weights) X, shape (q, q)."""

    def variance(self, triangle: FloatArray) -> FloatArray:
        """Return the variances of X w, shape (n,), where w has precision L L'."""


class Sites(NamedTuple):
    """Normal sites of the cases, as functions of f without its offset.

    Attributes
    ----------
    precision, shift : ndarray of shape (n,)
        Natural parameters: the site is exp(-precision f^2 / 2 + shift f).
    """

    precision: FloatArray
    shift: FloatArray


class Approximation(NamedTuple):
    """A normal approximation to the posterior of coefficients.

    Attributes
    ----------
    mean : ndarray of shape (q,)
        Mean of the coefficients.
    factor : ndarray of shape (q, q)
        Upper triangle U whose product U U' is their covariance.
    log_evidence : float
        Log probability of the classes.
    sites : Sites
        The sites, from which a fit with similar settings can start.
    converged : bool
        Whether the sites have converged.
    """

    mean: FloatArray
    factor: FloatArray
    log_evidence: float
    sites: Sites
    converged: bool


class _State(NamedTuple):
    """The posterior that sites imply: of the coefficients, and of each case's predictor."""

    triangle: FloatArray
    coefficients: FloatArray
    mean: FloatArray
    variance: FloatArray


def no_sites(n_cases: int) -> Sites:
    """Return sites without information."""
    return Sites(np.full(n_cases, _SMALLEST), np.zeros(n_cases))


def propagate(
    columns: Regressors,
    prior_precision: FloatArray,
    offset: float,
    sign: FloatArray,
    start: Sites,
    tolerance: float = SETTLED,
) -> Approximation:
    """Approximate the posterior of the coefficients.

    Parameters
    ----------
    columns : Regressors of shape (n, q)
        Regressors.
    prior_precision : ndarray of shape (q,)
        Prior precisions of the coefficients, which are independent and normal around 0.
    offset : float
        Offset of each predictor.
    sign : ndarray of shape (n,)
        1 for cases of the class, -1 for others.
    start : Sites
        Initial sites.
    tolerance : float
        Largest change of a case by the last update. Fixed points of the updates are stationary
        points of the evidence, so that its error is of second order in that of the sites.
    """
    sites, step, before = start, 1.0, np.inf
    for _ in range(_MOST_UPDATES):
        state = _state(columns, prior_precision, sites)
        wanted, log_mass = _updated(state, sites, offset, sign)
        change = Sites(wanted.precision - sites.precision, wanted.shift - sites.shift)
        moved = _moved(state, change)
        if moved < tolerance:
            break
        # Parallel updates of correlated cases overshoot and may oscillate: damp them.
        if moved > 0.9 * before:
            step = max(0.5 * step, 0.05)
        before = moved
        sites = Sites(sites.precision + step * change.precision, sites.shift + step * change.shift)
    log_evidence = _log_evidence(state, sites, prior_precision, log_mass)
    factor = dtrtri(state.triangle, lower=1)[0].T
    return Approximation(state.coefficients, factor, log_evidence, sites, moved < tolerance)


def _state(columns: Regressors, prior_precision: FloatArray, sites: Sites) -> _State:
    precision = columns.precision(sites.precision)
    precision.flat[:: prior_precision.size + 1] += prior_precision
    triangle, failed = dpotrf(precision, lower=1, clean=1, overwrite_a=1)
    if failed:
        msg = "the posterior precision of the coefficients is not positive."
        raise FloatingPointError(msg)
    half = dtrtrs(triangle, columns.gathered(sites.shift), lower=1)[0]
    coefficients = dtrtrs(triangle, half, lower=1, trans=1)[0]
    mean, variance = columns.predictor(coefficients), columns.variance(triangle)
    return _State(triangle, coefficients, mean, variance)


def _updated(
    state: _State, sites: Sites, offset: float, sign: FloatArray
) -> tuple[Sites, FloatArray]:
    """Return the sites that match moments, and each case's part of the log evidence.

    That part is the log of the average of the logistic function over the case's cavity (the
    predictor without its own site), less the log of the average of the site.
    """
    # The cavity is less precise than the posterior, but its precision stays positive in rounding.
    cavity_precision = np.maximum(1 / state.variance - sites.precision, 1e-9 / state.variance)
    cavity_variance = 1 / cavity_precision
    cavity_mean = cavity_variance * (state.mean / state.variance - sites.shift)
    product = tilted(sign * (cavity_mean + offset), cavity_variance)
    # With cavity N(m, v), the product has variance v (1 - v k) and mean m + v g, where k is the
    # curvature and g = sign x slope. The site's precision is 1 / variance - 1 / v = k / (1 - v k),
    # and its shift mean / variance - m / v = (g + k m) / (1 - v k): no difference of large numbers.
    rest = np.maximum(1 - cavity_variance * product.curvature, 1e-6)
    precision = np.maximum(product.curvature / rest, _SMALLEST)
    shift = (sign * product.slope + product.curvature * cavity_mean) / rest
    # The average of the site over the cavity: cavity x site is an unnormalised N(mean, variance).
    log_site = 0.5 * (
        np.log(state.variance * cavity_precision)
        + state.mean**2 / state.variance
        - cavity_mean**2 * cavity_precision
    )
    return Sites(precision, shift), product.log_mass - log_site


def _moved(state: _State, change: Sites) -> float:
    """Return the largest change of a case's predictor by a change of its own site."""
    spread = np.sqrt(state.variance)
    mean = np.abs(change.shift - change.precision * state.mean) * spread
    return float(max(mean.max(), (np.abs(change.precision) * state.variance).max()))


def _log_evidence(
    state: _State, sites: Sites, prior_precision: FloatArray, parts: FloatArray
) -> float:
    """Return the log evidence of expectation propagation.

    The log of the average of all sites over the prior, |P|^(1/2) |P + X'TX|^(-1/2)
    exp(shift' X m / 2), plus the parts of the cases (Rasmussen and Williams, 2006, equation 3.65,
    written with unnormalised sites).
    """
    log_determinant = np.log(np.diag(state.triangle)).sum() - 0.5 * np.log(prior_precision).sum()
    return float(parts.sum() + 0.5 * sites.shift @ state.mean - log_determinant)
