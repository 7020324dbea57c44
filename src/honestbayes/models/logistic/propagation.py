"""Expectation propagation for logistic regression with normal coefficients.

Each case's likelihood is replaced by a normal site, exp(-precision f^2 / 2 + shift f), such that
the linear predictor f of the case has the mean and variance that it would have with the logistic
function in the place of its own site (Minka, 2001; Rasmussen and Williams, 2006, section 3.6). All
sites are renewed at once.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri, dtrtrs
from scipy.special import log_expit, log_ndtr, ndtr

from honestbayes.types import FloatArray

# --------------------------------------------------------------------------------------------------
# The logistic function averaged over a normal distribution, and what that says of its moments
#
# The logistic function is a mixture of eight normal distribution functions to 2e-9 (Monahan and
# Stefanski, 1992, in Balakrishnan, Handbook of the Logistic Distribution, table 11.1), so that
# every average is a closed form, as good for wide normal distributions as for narrow ones. Gauss-
# Hermite rules are not: with 32 nodes and a standard deviation of 10 they are off by 6%.
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
"""Where the normal distribution function is still a number, with its square."""


class Tilted(NamedTuple):
    """A normal variable times the logistic function of itself.

    Attributes
    ----------
    log_mass : ndarray of shape (n,)
        Log of the average of the logistic function.
    slope, curvature : ndarray of shape (n,)
        Its first derivative by the mean, and the second with its sign changed.
    """

    log_mass: FloatArray
    slope: FloatArray
    curvature: FloatArray


def tilted(mean: FloatArray, variance: FloatArray) -> Tilted:
    """Return what the logistic function does to normal variables, shape (n,)."""
    steepness = _STEEPNESS / np.sqrt(1 + variance[:, None] * _STEEPNESS**2)
    z = np.maximum(mean[:, None] * steepness, _LOWEST)
    mass = ndtr(z) @ _SHARE
    density = np.exp(-0.5 * z**2) * steepness
    slope = density @ (_SHARE / np.sqrt(2 * np.pi)) / mass
    bend = (density * steepness * z) @ (_SHARE / np.sqrt(2 * np.pi)) / mass
    return Tilted(np.log(mass), slope, slope**2 + bend)


def log_mean_expit(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return log E[1 / (1 + exp(-f))] for normal f, of any shape.

    The mixture's own tails are too thin beyond 20; for a negative mean the average is at least the
    function at the mean, which has the right tail.
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
"""How far a renewal moves a case's mean, in standard deviations, or its log variance, at most."""

_MOST_RENEWALS = 200

_SMALLEST = 1e-10
"""Precision of a site; the logistic function is log-concave, so that it has one."""


class Columns(Protocol):
    """The columns that coefficients belong to, shape (n, q), the first of them all ones."""

    def predictor(self, coefficients: FloatArray) -> FloatArray:
        """Return X w, shape (n,)."""

    def gathered(self, shift: FloatArray) -> FloatArray:
        """Return X' s, shape (q,)."""

    def precision(self, weights: FloatArray) -> FloatArray:
        """Return X' diag(weights) X, shape (q, q)."""

    def variance(self, triangle: FloatArray) -> FloatArray:
        """Return the variances of X w, shape (n,), where w has precision L L'."""


class Sites(NamedTuple):
    """Normal sites of the cases, in terms of f less its offset.

    Attributes
    ----------
    precision, shift : ndarray of shape (n,)
        Of exp(-precision f^2 / 2 + shift f).
    """

    precision: FloatArray
    shift: FloatArray


class Approximation(NamedTuple):
    """A normal approximation to the posterior of coefficients.

    Attributes
    ----------
    mean : ndarray of shape (q,)
        Of the coefficients.
    factor : ndarray of shape (q, q)
        Upper triangle U whose product U U' is their covariance.
    log_evidence : float
        Log probability of the classes.
    sites : Sites
        For a start nearby.
    converged : bool
        Whether the sites have settled.
    """

    mean: FloatArray
    factor: FloatArray
    log_evidence: float
    sites: Sites
    converged: bool


class _State(NamedTuple):
    """What sites imply: coefficients, and each case's predictor."""

    triangle: FloatArray
    coefficients: FloatArray
    mean: FloatArray
    variance: FloatArray


def no_sites(n_cases: int) -> Sites:
    """Return sites that say nothing."""
    return Sites(np.full(n_cases, _SMALLEST), np.zeros(n_cases))


def propagate(
    columns: Columns,
    prior_precision: FloatArray,
    offset: float,
    sign: FloatArray,
    start: Sites,
    tolerance: float = SETTLED,
) -> Approximation:
    """Approximate the posterior of coefficients.

    Parameters
    ----------
    columns : Columns of shape (n, q)
        What coefficients are multiplied by.
    prior_precision : ndarray of shape (q,)
        The coefficients are normal around 0, independently.
    offset : float
        What is added to each predictor.
    sign : ndarray of shape (n,)
        1 for cases of the class, -1 for others.
    start : Sites
        Where to begin.
    tolerance : float
        How far the last renewal may have moved a case. Sites that have settled are where the
        evidence is stationary, so that it is known before they are.
    """
    sites, step, before = start, 1.0, np.inf
    for _ in range(_MOST_RENEWALS):
        state = _state(columns, prior_precision, sites)
        wanted, log_mass = _renewed(state, sites, offset, sign)
        change = Sites(wanted.precision - sites.precision, wanted.shift - sites.shift)
        moved = _moved(state, change)
        if moved < tolerance:
            break
        if moved > 0.9 * before:  # all at once may go too far; then half as far
            step = max(0.5 * step, 0.05)
        before = moved
        sites = Sites(sites.precision + step * change.precision, sites.shift + step * change.shift)
    log_evidence = _log_evidence(state, sites, prior_precision, log_mass)
    factor = dtrtri(state.triangle, lower=1)[0].T
    return Approximation(state.coefficients, factor, log_evidence, sites, moved < tolerance)


def _state(columns: Columns, prior_precision: FloatArray, sites: Sites) -> _State:
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


def _renewed(
    state: _State, sites: Sites, offset: float, sign: FloatArray
) -> tuple[Sites, FloatArray]:
    """Return the sites that match moments, and each case's part of the log evidence.

    That part is the log of the logistic function's average over the case's cavity (the predictor
    without its own site), less the same of the site in its place.
    """
    # Without its site a case is less certain, whatever rounding says.
    cavity_precision = np.maximum(1 / state.variance - sites.precision, 1e-9 / state.variance)
    cavity_variance = 1 / cavity_precision
    cavity_mean = cavity_variance * (state.mean / state.variance - sites.shift)
    found = tilted(sign * (cavity_mean + offset), cavity_variance)
    rest = np.maximum(1 - cavity_variance * found.curvature, 1e-6)
    precision = np.maximum(found.curvature / rest, _SMALLEST)
    shift = (sign * found.slope + found.curvature * cavity_mean) / rest
    log_site = 0.5 * (
        np.log(state.variance * cavity_precision)
        + state.mean**2 / state.variance
        - cavity_mean**2 * cavity_precision
    )
    return Sites(precision, shift), found.log_mass - log_site


def _moved(state: _State, change: Sites) -> float:
    """Return how far a change of sites moves any case's own predictor."""
    spread = np.sqrt(state.variance)
    mean = np.abs(change.shift - change.precision * state.mean) * spread
    return float(max(mean.max(), (np.abs(change.precision) * state.variance).max()))


def _log_evidence(
    state: _State, sites: Sites, prior_precision: FloatArray, parts: FloatArray
) -> float:
    """Return the log of the average of all sites over the prior, and what cases add to it."""
    log_determinant = np.log(np.diag(state.triangle)).sum() - 0.5 * np.log(prior_precision).sum()
    return float(parts.sum() + 0.5 * sites.shift @ state.mean - log_determinant)
