"""Rules over theta and over alpha, each with what is known of its error.

Theta: the likelihood of a feature is a polynomial in theta whose degree is the number of cases,
so Gauss-Legendre is exact for small samples; for large ones the rule is placed in the angle
``u = arccos(1 - 2 theta)``, in which a binomial frequency has the same spread everywhere.

Alpha: the trapezoidal rule in ``v``, where ``log(alpha) = centre + scale * sinh(v)`` around the
posterior mode. The map makes both Gaussian flanks and the slow right tail of the inverse gamma
prior decay doubly exponentially, and then each halving of the step squares the error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy import special

from honestbayes.types import FloatArray, IntArray

EXACT_UP_TO = 400
"""With at most this many cases the rule over theta is exact; above, it is adapted to alpha."""

_LOST_TAIL = 5.0
"""Nodes are dropped whose log weight is below the largest by this much more than log(tolerance)."""

_SCAN_STEP = 1.5
_RESOLVED = 4.0
"""The scan stops halving when the mode's neighbours are at most this much lower in log density."""

_FARTHEST = 1e5
"""Nobody needs log(alpha) beyond this."""

_INFINITE = 300.0
"""Beyond this log(alpha) the classes are the same to the last bit, whatever the data."""

_SQUARING = 100.0
"""Halving the step turns an error e into at most this times e^2 (seen: up to 31)."""

_ROUNDING = 1e-14
"""No error is claimed to be smaller than this."""

_FIRST_STEP = 0.3
_MAX_LEVELS = 6


@dataclass(frozen=True, slots=True)
class ThetaRule:
    """Nodes in the prior's interval and weights that sum to 1 (the uniform prior is inside)."""

    theta: FloatArray
    weight: FloatArray


@lru_cache(maxsize=64)
def _legendre(n_nodes: int) -> tuple[FloatArray, FloatArray]:
    nodes, weights = special.roots_legendre(n_nodes)
    return nodes, weights


@lru_cache(maxsize=128)
def _angle_rule(n_nodes: int, low: float, high: float) -> ThetaRule:
    nodes, weights = _legendre(n_nodes)
    start, end = np.arccos(1 - 2 * low), np.arccos(1 - 2 * high)
    angle = start + (end - start) * (nodes + 1) / 2
    theta = np.sin(angle / 2) ** 2
    weight = weights * np.sin(angle) / 2 * (end - start) / (2 * (high - low))
    return ThetaRule(theta, weight)


@lru_cache(maxsize=32)
def _exact_rule(n_nodes: int, low: float, high: float) -> ThetaRule:
    nodes, weights = _legendre(n_nodes)
    return ThetaRule(low + (high - low) * (nodes + 1) / 2, weights / 2)


def theta_rule(
    n: int, alpha: float, interval: tuple[float, float], *, refine: float = 1.0
) -> ThetaRule:
    """Return a rule for the integral over theta, uniform on ``interval``.

    Parameters
    ----------
    n : int
        Number of cases, the degree of the integrand.
    alpha : float
        The width of the integrand is at least that of n and of alpha pseudo-cases.
    interval : tuple of float
        Bounds of the uniform prior.
    refine : float, default=1.0
        Factor on the number of nodes where the rule is not exact, to estimate its error.

    Returns
    -------
    ThetaRule
        Exact for ``n <= EXACT_UP_TO``, with ceil((n + 2) / 2) nodes.
    """
    low, high = interval
    if n <= EXACT_UP_TO:
        return _exact_rule((n + 3) // 2, low, high)
    effective = 1.0 / (1.0 / n + 1.0 / alpha)
    return _angle_rule(int(refine * (32 + 6.5 * np.sqrt(effective))), low, high)


@lru_cache(maxsize=32)
def cell_rule(n_cells: int, n: int, interval: tuple[float, float]) -> tuple[FloatArray, ThetaRule]:
    """Return edges of cells that are equal in the angle, and a rule over all of them.

    Each cell has the same number of nodes, for a density that is constant on each cell.
    """
    n_nodes = max(4, int(np.ceil((16 + 5.0 * np.sqrt(n)) / n_cells)))
    nodes, weights = _legendre(n_nodes)
    low, high = interval
    angles = np.linspace(np.arccos(1 - 2 * low), np.arccos(1 - 2 * high), n_cells + 1)
    width = np.diff(angles)[:, None]
    angle = angles[:-1, None] + width * (nodes + 1) / 2
    theta = np.sin(angle / 2) ** 2
    weight = weights * np.sin(angle) / 2 * width / 2 / (high - low)
    return np.sin(angles / 2) ** 2, ThetaRule(theta.ravel(), weight.ravel())


@lru_cache(maxsize=8)
def simpson_rule(interval: tuple[float, float], n_points: int = 21) -> ThetaRule:
    """Return Simpson's rule on equidistant points, as in section 3.3 of the 2008 paper."""
    weight = np.ones(n_points)
    weight[1:-1:2], weight[2:-1:2] = 4.0, 2.0
    return ThetaRule(np.linspace(*interval, n_points), weight / weight.sum())


@dataclass(frozen=True, slots=True)
class AlphaPrior:
    """Inverse gamma prior of alpha, density proportional to alpha^-(1+shape) exp(-rate/alpha)."""

    shape: float
    rate: float

    def log_density_of_log(self, log_alpha: FloatArray) -> FloatArray:
        """Log density of log(alpha)."""
        constant = self.shape * np.log(self.rate) - special.gammaln(self.shape)
        result: FloatArray = constant - self.shape * log_alpha - self.rate * np.exp(-log_alpha)
        return result

    def quantiles(self, probability: FloatArray) -> FloatArray:
        """Quantiles of alpha."""
        return np.asarray(self.rate / special.gammainccinv(self.shape, probability))

    def distribution(self, alpha: FloatArray) -> FloatArray:
        """Distribution function of alpha."""
        return np.asarray(special.gammaincc(self.shape, self.rate / alpha))


def finite_alpha(log_alpha: FloatArray) -> FloatArray:
    """Return alpha, without overflow where a prior with a very heavy tail goes that far."""
    return np.asarray(np.exp(np.minimum(log_alpha, _INFINITE)))


def paper_alpha_nodes(prior: AlphaPrior, n_nodes: int = 30) -> FloatArray:
    """Return the 0.5/K, ..., 1 - 0.5/K quantiles of the prior (end of section 3.3)."""
    return prior.quantiles((np.arange(n_nodes) + 0.5) / n_nodes)


Values = tuple[FloatArray, ...]
Evaluate = Callable[[FloatArray], tuple[FloatArray, list[Values]]]
Probe = Callable[[FloatArray, FloatArray, list[Values]], FloatArray]


@dataclass(frozen=True, slots=True)
class LineRule:
    """Nodes over log(alpha) with weights that sum to 1, and the estimated error of the rule.

    Attributes
    ----------
    log_alpha, weight : ndarray of shape (A,)
        Nodes and normalised posterior weights.
    log_density : ndarray of shape (A,)
        Log posterior density of log(alpha) at the nodes.
    values : list of length A
        What the integrand's function returned beside the log density.
    log_evidence : float
        Log of the integral.
    error : float
        Estimated error of the log integral and of the probes.
    """

    log_alpha: FloatArray
    weight: FloatArray
    log_density: FloatArray
    values: list[Values]
    log_evidence: float
    error: float


def integrate_log_alpha(
    evaluate: Evaluate, probe: Probe, start: tuple[float, float], *, tolerance: float
) -> LineRule:
    """Integrate a posterior over log(alpha) by a trapezoidal rule that refines itself.

    Parameters
    ----------
    evaluate : callable
        Maps log(alpha) of shape (A,) to the log density there (up to a constant) and a list of
        values, one per node, kept for the caller.
    probe : callable
        Maps log(alpha), log weights and values to an array of numbers that the caller cares
        about, here the log-odds of training rows.
    start : tuple of float
        Range of log(alpha) scanned at first; extended while the ends still carry weight.
    tolerance : float
        Bound on the estimated error of the log integral and of the probes.

    Returns
    -------
    LineRule

    Notes
    -----
    The difference between two levels measures the error of the coarser one, which is used if
    that is within the tolerance. For an integrand that is analytic in a strip, halving the step
    squares the error up to a constant, so a multiple of the squared difference is what is reported
    for the finer level.
    """
    cut = _LOST_TAIL - np.log(max(tolerance, 1e-13))
    floor = max(np.exp(-cut), _ROUNDING)
    level = _Level.first(evaluate, *_locate(evaluate, start, cut), cut)
    now = level.summary(probe)
    for _ in range(_MAX_LEVELS):
        coarse, before = level, now
        level = level.halved(evaluate, cut)
        now = level.summary(probe)
        difference = float(np.max(np.abs(now - before)))
        if difference <= tolerance:
            return coarse.rule(max(difference, floor))
        error = max(_SQUARING * difference * difference, floor)
        if error <= tolerance:
            break
    return level.rule(error)


def _locate(
    evaluate: Evaluate, start: tuple[float, float], cut: float
) -> tuple[float, float, float, float]:
    """Find the mode, the width and the range of the density by scanning and halving."""
    step = _SCAN_STEP
    t = np.arange(np.floor(start[0]), np.ceil(start[1]) + step, step)
    log_density, _ = evaluate(t)
    while log_density[0] > log_density.max() - cut and t[0] > -_FARTHEST:
        more = t[0] - step * np.arange(3, 0, -1)
        t, log_density = _join(t, log_density, more, evaluate)
    reach = step
    while log_density[-1] > log_density.max() - cut and t[-1] < _FARTHEST:
        reach *= 2  # the right tail is exponential: long, but smooth
        t, log_density = _join(t, log_density, np.array([t[-1] + reach]), evaluate)
    while True:
        best = int(np.argmax(log_density))
        best = min(max(best, 1), t.size - 2)
        around = slice(best - 1, best + 2)
        drop = log_density[best] - log_density[around]
        if max(drop[0], drop[2]) < _RESOLVED or t[best + 1] - t[best - 1] < 1e-7:
            break
        new = (t[best - 1 : best + 1] + t[best : best + 2]) / 2
        t, log_density = _join(t, log_density, new, evaluate)
    curvature = -np.polyfit(t[around] - t[best], log_density[around], 2)[0] * 2
    scale = 1.0 / np.sqrt(curvature) if curvature > 0 else 1.0
    heavy = np.flatnonzero(log_density > log_density.max() - cut)
    low, high = t[max(heavy[0] - 1, 0)], t[min(heavy[-1] + 1, t.size - 1)]
    return float(t[np.argmax(log_density)]), float(np.clip(scale, 1e-6, 2.0)), low, high


def _join(
    t: FloatArray, log_density: FloatArray, more: FloatArray, evaluate: Evaluate
) -> tuple[FloatArray, FloatArray]:
    extra, _ = evaluate(more)
    order = np.argsort(np.concatenate([t, more]), kind="stable")
    return np.concatenate([t, more])[order], np.concatenate([log_density, extra])[order]


@dataclass(frozen=True, slots=True)
class _Level:
    """Nodes of the trapezoidal rule at v = step * index, log(alpha) = centre + scale * sinh(v)."""

    centre: float
    scale: float
    step: float
    index: IntArray
    log_density: FloatArray  # of v
    values: list[Values]

    @property
    def v(self) -> FloatArray:
        return self.step * self.index.astype(float)

    @classmethod
    def first(
        cls, evaluate: Evaluate, centre: float, scale: float, low: float, high: float, cut: float
    ) -> _Level:
        start = np.floor(np.arcsinh((low - centre) / scale) / _FIRST_STEP)
        end = np.ceil(np.arcsinh((high - centre) / scale) / _FIRST_STEP)
        nothing = np.zeros(0, dtype=np.int64)
        empty = cls(centre, scale, _FIRST_STEP, nothing, np.zeros(0), [])
        return empty._with(np.arange(start, end + 1).astype(np.int64), evaluate, cut)

    def halved(self, evaluate: Evaluate, cut: float) -> _Level:
        finer = replace(self, step=self.step / 2, index=2 * self.index)
        return finer._with(np.union1d(finer.index - 1, finer.index + 1), evaluate, cut)

    def _with(self, index: IntArray, evaluate: Evaluate, cut: float) -> _Level:
        v = self.step * index.astype(float)
        log_density, values = evaluate(self._to_log_alpha(v))
        log_density = log_density + np.log(self.scale * np.cosh(v))
        all_index = np.concatenate([self.index, index])
        everything = np.concatenate([self.log_density, log_density])
        both = self.values + values
        keep = np.flatnonzero(everything > everything.max() - cut)
        order = keep[np.argsort(all_index[keep])]
        return replace(
            self,
            index=all_index[order],
            log_density=everything[order],
            values=[both[i] for i in order],
        )

    def _to_log_alpha(self, v: FloatArray) -> FloatArray:
        result: FloatArray = self.centre + self.scale * np.sinh(v)
        return result

    def _log_integral(self) -> float:
        return float(special.logsumexp(self.log_density) + np.log(self.step))

    def summary(self, probe: Probe) -> FloatArray:
        """Return the numbers whose change decides whether the rule is fine enough."""
        log_alpha = self._to_log_alpha(self.v)
        return np.append(probe(log_alpha, self.log_density, self.values), self._log_integral())

    def rule(self, error: float) -> LineRule:
        log_integral = self._log_integral()
        weight = np.exp(self.log_density - self.log_density.max())
        return LineRule(
            log_alpha=self._to_log_alpha(self.v),
            weight=weight / weight.sum(),
            log_density=self.log_density - np.log(self.scale * np.cosh(self.v)) - log_integral,
            values=self.values,
            log_evidence=log_integral,
            error=error,
        )
