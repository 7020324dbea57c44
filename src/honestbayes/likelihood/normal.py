"""Marginal likelihood of real-valued features, and the distribution of their signal.

A feature in class c is N(mu_c, s2), and mu_c ~ N(nu, w s2): the ratio w says how much the classes
differ, as alpha does for binary features. nu is flat, and s2 is inverse gamma in units of the
column itself, so both are integrated out in closed form (docs, "Real-valued features"). The ratio
is each feature's own; its distribution over features is on a grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import digamma, polygamma

from honestbayes.files.fields import Check, Number
from honestbayes.likelihood.learned_alpha import learn_distribution
from honestbayes.types import FloatArray, IntArray

LARGEST_RATIO = 100.0
"""Class means ten standard deviations apart and more are all alike."""

SMALLEST_EFFECT = 0.1
"""The smallest ratio of the grid, times the number of cases; below it a feature is null."""

RATIO_STEP = 0.8
"""Distance between ratios of the grid, in logarithms. Against a step of 0.15, log-odds differ by 2%
of their spread, and log scores by -0.002 on average (12 data sets, k = 10 and 100)."""

COMMON_SCALE = 0.25
"""Scale of the heavy-tailed prior of a ratio that all features share."""

_MOST_DEGREES = 1e6


@dataclass(frozen=True, slots=True)
class VariancePrior:
    """Inverse gamma prior of the features' variances."""

    shape: Annotated[float, Number(0.0, 1e9)]
    scale: Annotated[float, Number(0.0, 1e300)]

    def check(self, check: Check) -> None:
        """Refuse what is not positive."""
        check(self.shape > 0 and self.scale > 0, "scale", "is not positive")


OWN_VARIANCE = VariancePrior(0.1, 0.1)
"""The prior of a variance within classes, in units of the column's own variance: a guess that is
worth a fifth of a case. Units say nothing then, and a column that never varies within a class has
a variance. A prior that is worth more makes weak signals weaker (docs, "Units")."""


def fit_variance_prior(within: FloatArray, degrees: FloatArray | int) -> VariancePrior:
    """Estimate the prior of the variances from the sums of squares of all features.

    By the moments of log(within / degrees), as Smyth (2004), Statistical Applications in Genetics
    and Molecular Biology 3(1), article 3, section 6.2: exact expectation and variance of the
    logarithm of a scaled F variable. The selection event does not depend on the variances, so
    selection does not bias this.

    Parameters
    ----------
    within : ndarray of shape (p,)
        Sums of squares around class means.
    degrees : ndarray of shape (p,) or int
        Degrees of freedom of each.
    """
    d = np.broadcast_to(np.asarray(degrees, dtype=float), within.shape)
    good = (d >= 1) & (within > 0)
    if not good.any():
        return VariancePrior(1.0, 1.0)
    half = d[good] / 2
    excess = np.log(within[good] / d[good]) - digamma(half) + np.log(half)
    centre = float(excess.mean())
    spread = float(excess.var(ddof=1) - polygamma(1, half).mean()) if good.sum() > 1 else 0.0
    half_prior = _MOST_DEGREES / 2 if spread <= 0 else _inverse_trigamma(spread)
    half_prior = min(half_prior, _MOST_DEGREES / 2)
    typical = np.exp(centre + digamma(half_prior) - np.log(half_prior))
    return VariancePrior(half_prior, half_prior * float(typical))


def _inverse_trigamma(value: float) -> float:
    """Solve trigamma(x) = value by Newton's method on 1 / trigamma, which is nearly straight."""
    if value > 1e7:
        return float(1 / np.sqrt(value))
    x = 0.5 + 1 / value
    for _ in range(50):
        slope = float(polygamma(1, x))
        step = slope * (1 - slope / value) / float(polygamma(2, x))
        x += step
        if abs(step) < 1e-10 * x:
            break
    return float(x)


def ratio_grid(n_cases: int) -> FloatArray:
    """Return 0 and ratios from where n cases see nothing to where classes are far apart."""
    low, high = np.log(SMALLEST_EFFECT / max(n_cases, 2)), np.log(LARGEST_RATIO)
    steps = int(np.ceil((high - low) / RATIO_STEP))
    return np.concatenate([[0.0], np.exp(np.linspace(low, high, steps + 1))])


def log_marginal(
    ratio: FloatArray,
    observed: IntArray,
    mean: FloatArray,
    within: FloatArray,
    prior: VariancePrior,
) -> FloatArray:
    """Return log P(column | w) up to a constant of each feature, shape (A, p).

    Parameters
    ----------
    ratio : ndarray of shape (A,)
        Signal ratios w.
    observed : ndarray of shape (C, p) or (C, 1)
        Observed cases.
    mean : ndarray of shape (C, p)
        Class means.
    within : ndarray of shape (p,)
        Sums of squares around them.
    prior : VariancePrior
        Of the variances.
    """
    if observed.shape[1] == 1 and observed.sum() > 0:
        return _log_marginal_complete(ratio, observed[:, 0], mean, within, prior)
    result = np.empty((ratio.size, within.size))
    degrees = prior.shape + np.maximum(observed.sum(axis=0) - 1, 0) / 2
    for a, w in enumerate(ratio):
        shrunk = shrinkage(float(w), observed, mean)
        result[a] = (
            -0.5 * np.log1p(w * observed).sum(axis=0)
            - 0.5 * np.log(np.maximum(shrunk.precision, 1e-300))
            - degrees * np.log(prior.scale + (within + shrunk.between) / 2)
        )
    result[:, np.broadcast_to(observed.sum(axis=0) == 0, within.shape)] = 0.0
    return result


def _log_marginal_complete(
    ratio: FloatArray,
    observed: IntArray,
    mean: FloatArray,
    within: FloatArray,
    prior: VariancePrior,
) -> FloatArray:
    """Do the same for all ratios at once, where nothing is missing and precisions are shared."""
    weight = observed / (1 + ratio[:, None] * observed)
    precision = weight.sum(axis=1)
    # Around the mean of all cases, so that the difference of squares loses no digits.
    apart = mean - observed @ mean / observed.sum()
    between = weight @ apart**2 - (weight @ apart) ** 2 / precision[:, None]
    constant = -0.5 * np.log1p(ratio[:, None] * observed).sum(axis=1) - 0.5 * np.log(precision)
    degrees = prior.shape + (observed.sum() - 1) / 2
    spread = np.log(prior.scale + (within + np.maximum(between, 0.0)) / 2)
    return np.asarray(constant[:, None] - degrees * spread)


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """Posterior of nu given w: its centre and precision over s2, and what is left between classes.

    Each array has shape (p,); ``precision`` may have shape (1,).
    """

    centre: FloatArray
    precision: FloatArray
    between: FloatArray


def shrinkage(ratio: float, observed: IntArray, mean: FloatArray) -> Shrinkage:
    """Weigh class means by their precision q_c = n_c / (1 + w n_c), in units of 1 / s2."""
    weight = observed / (1 + ratio * observed)
    precision = weight.sum(axis=0)
    centre = (weight * mean).sum(axis=0) / np.maximum(precision, 1e-300)
    between = (weight * (mean - centre) ** 2).sum(axis=0)
    return Shrinkage(centre, precision, between)


def learn_ratios(
    log_likelihood: Callable[[FloatArray], FloatArray],
    ratio: FloatArray,
    multiplicity: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Estimate from all screened features how ratios are distributed over features.

    As the distribution of alpha of binary features is estimated, with 1 / w in the place of
    alpha: shrunk towards one ratio for all, normal distributions of log(w), and few strong
    features among null ones.

    Parameters
    ----------
    log_likelihood : callable
        Given ratios of shape (A,), their log likelihood for every feature, shape (A, p).
    ratio : ndarray of shape (A,)
        The grid; the first is 0.
    multiplicity : ndarray of int of shape (p,)
        How many features each one stands for.

    Returns
    -------
    ratio, weights : ndarray of shape (A + 1,)
        The grid with the best ratio for all features added, and the share of features at each.
    """
    table = log_likelihood(ratio)
    position = max(1, int(np.argmax((table * multiplicity).sum(axis=1))))
    low, high = ratio[max(position - 1, 1)], ratio[min(position + 1, ratio.size - 1)]
    optimum = minimize_scalar(
        lambda t: -float((log_likelihood(np.exp([t])) * multiplicity).sum()),
        bounds=(np.log(low), np.log(high)),
        method="bounded",
        options={"xatol": 0.01},
    )
    best = float(np.exp(optimum.x))
    index = int(np.searchsorted(ratio, best))
    ratio = np.insert(ratio, index, best)
    table = np.insert(table, index, log_likelihood(np.array([best]))[0], axis=0)
    table = np.ascontiguousarray(table[::-1].T)  # no other copy stays: wide tables are large
    # Idle features stand at the end, as where alpha is so large that classes are alike.
    log_inverse = np.append(-np.log(ratio[:0:-1]), -np.log(ratio[1]) + np.log(1000.0))
    learnt = learn_distribution(
        log_inverse,
        table,
        multiplicity,
        heavy_tailed(ratio, COMMON_SCALE)[::-1],
    )
    # Contiguous, as a loaded model's are: logarithms of a reversed view may differ in the last bit.
    return ratio, np.ascontiguousarray(learnt.weights[::-1])


def heavy_tailed(ratio: FloatArray, scale: float) -> FloatArray:
    """Return the distribution on the grid of w = scale * h^2 with h half Cauchy, shape (A,)."""
    edges = np.sqrt(ratio[1:-1] * ratio[2:])
    edges = np.concatenate([[ratio[1] ** 2 / edges[0]], edges])
    below = 2 / np.pi * np.arctan(np.sqrt(edges / scale))
    return np.diff(np.concatenate([[0.0], below, [1.0]]))
