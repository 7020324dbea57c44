"""Averages over cases, with standard errors and intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri, stdtrit

from honestbayes.types import FloatArray

OUT_OF_FOLD = 1.5
"""Factor on standard errors of cross-validated scores. What varies is not only which cases are
predicted, but also which have trained the models, and folds share those: for the mean of K scores
of folds, Nadeau and Bengio (Machine Learning 52, 2003, 239-281) take 1 + K / (K - 1) times the
variance of independent ones (five folds: 1.5 squared). Docs, "Intervals of scores"."""


_LARGEST_LOG = 500.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval; ``float(estimate)`` is the value.

    Attributes
    ----------
    value : float
        The estimate.
    standard_error : float
        Its standard error; infinite with a single case.
    interval : (float, float)
        Lower and upper bound.
    level : float
        Probability that the interval is made to cover.

    Examples
    --------
    >>> from honestbayes.metrics import optimism
    >>> estimate = optimism([0, 1, 1, 0], [0.1, 0.9, 0.2, 0.8])
    >>> print(estimate)
    0.350 (-0.477 to 1.177)
    >>> round(float(estimate), 3)
    0.35
    """

    value: float
    standard_error: float
    interval: tuple[float, float]
    level: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        lower, upper = self.interval
        return f"{self.value:z.3f} ({lower:z.3f} to {upper:z.3f})"


def check_level(level: float) -> float:
    """Return `level`, or refuse it."""
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; give a number between 0 and 1, such as 0.95.")
    return float(level)


def group_codes(groups: ArrayLike | None, n_cases: int) -> NDArray[np.intp]:
    """Return the number of each case's group, from 0; without groups each case is its own."""
    if groups is None:
        return np.arange(n_cases)
    labels = np.asarray(groups)
    if labels.shape != (n_cases,):
        raise ValueError(f"groups has shape {labels.shape}; give one group for each case.")
    codes: NDArray[np.intp] = np.unique(labels, return_inverse=True)[1]
    return codes


def clustered_error(influence: FloatArray, codes: NDArray[Any]) -> float:
    """Return the standard error of a sum of per-case terms that are dependent within groups.

    The terms have mean 0. The root of the sum of squared group totals, times G / (G - 1) for G
    groups; without groups, the ordinary standard error.
    """
    totals = np.bincount(codes, weights=influence)
    if totals.size < 2:
        return float("inf")
    return float(np.sqrt(totals.size / (totals.size - 1) * np.sum(totals**2)))


def mean_estimate(
    values: FloatArray,
    codes: NDArray[Any],
    level: float,
    *,
    positive: bool = False,
    widened: float = 1.0,
) -> Estimate:
    """Return the mean of per-case values with a Student t interval over groups.

    Parameters
    ----------
    values : ndarray, shape (n_cases,) or (n_repeats, n_cases)
        One value for each case and repeat. The standard error is that of one repeat: models of
        other folds share their training cases, so repeats hold less information than they seem to.
    codes : ndarray of int, shape (n_cases,)
        Group of each case.
    level : float
        Coverage.
    positive : bool
        Whether values are losses, which are positive and skewed: a few large ones decide. The
        interval is then that of the logarithm of the mean, longer on the side of larger losses.
    widened : float
        A factor on the standard error, such as ``OUT_OF_FOLD``.
    """
    repeats = np.atleast_2d(values)
    mean = float(repeats.mean())
    squares = [clustered_error((row - row.mean()) / row.size, codes) ** 2 for row in repeats]
    error = widened * float(np.sqrt(np.mean(squares)))
    if np.isinf(error):
        return Estimate(mean, error, (0.0 if positive else -np.inf, np.inf), level)
    n_groups = int(codes.max()) + 1
    half = float(stdtrit(n_groups - 1, 0.5 + level / 2)) * error
    if positive and 0 < mean < np.inf:
        ratio = np.exp(min(half / mean, _LARGEST_LOG))
        return Estimate(mean, error, (float(mean / ratio), float(mean * ratio)), level)
    return Estimate(mean, error, (mean - half, mean + half), level)


def fraction_estimate(
    value: float,
    error: float,
    n_units: float,
    level: float,
    *,
    most: float = np.inf,
    exact: bool = False,
) -> Estimate:
    """Return a fraction with a Wilson interval for the sample size that its error amounts to.

    Unlike a symmetric interval it stays within 0 and 1, and has a width at 0 and 1 too.

    Parameters
    ----------
    value : float
        A mean between 0 and 1.
    error : float
        Its standard error.
    n_units : float
        Sample size to use where the error is 0.
    level : float
        Coverage.
    most : float
        Upper bound on the sample size.
    exact : bool
        Clopper and Pearson's interval instead, which covers at least `level` in small samples too.
    """
    if np.isinf(error):
        return Estimate(value, error, (0.0, 1.0), level)
    # For n independent 0/1 cases, error**2 = value (1 - value) / (n - 1).
    n = 1 + value * (1 - value) / error**2 if error > 0 else float(n_units)
    n = min(n, most)
    interval = exact_interval if exact else wilson_interval
    lower, upper = interval(np.array([value * n]), np.array([n]), level)
    return Estimate(value, error, (float(lower[0]), float(upper[0])), level)


def wilson_interval(
    successes: ArrayLike, trials: ArrayLike, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's score interval for binomial fractions (JASA 22, 1927, 209-212)."""
    n = np.asarray(trials, dtype=np.float64)
    fraction = np.asarray(successes, dtype=np.float64) / n
    z2 = float(ndtri(0.5 + level / 2)) ** 2
    centre = (fraction + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * fraction * (1 - fraction) / n + (z2 / (2 * n)) ** 2) / (1 + z2 / n)
    # Rounding must not push the bounds past the fraction itself at 0 and 1.
    lower = np.where(fraction <= 0, 0.0, np.maximum(centre - half, 0.0))
    upper = np.where(fraction >= 1, 1.0, np.minimum(centre + half, 1.0))
    return lower, upper


def exact_interval(
    successes: ArrayLike, trials: ArrayLike, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the Clopper-Pearson interval for binomial fractions (Biometrika 26, 1934)."""
    k = np.asarray(successes, dtype=np.float64)
    n = np.asarray(trials, dtype=np.float64)
    tail = (1 - level) / 2
    lower = np.where(k > 0, betaincinv(np.where(k > 0, k, 1), n - k + 1, tail), 0.0)
    upper = np.where(k < n, betaincinv(k + 1, np.where(k < n, n - k, 1), 1 - tail), 1.0)
    return lower, upper
