"""Quadrature rules over theta and alpha, with error estimates.

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
from typing import Annotated

import numpy as np
from scipy import special

from honestbayes.files.fields import Floats, Weights
from honestbayes.types import BoolArray, FloatArray, IntArray

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
"""Lower bound of estimated errors."""

_FIRST_STEP = 0.3
_MAX_LEVELS = 6


@dataclass(frozen=True, slots=True, eq=False)
class ThetaRule:
    """Nodes in the prior's interval and weights that sum to 1 (the uniform prior is inside)."""

    theta: Annotated[FloatArray, Floats("theta_nodes", low=0.0, high=1.0)]
    weight: Annotated[FloatArray, Weights("theta_weights")]


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
    """Return a rule for the integral over theta, uniform on ``interval`` (equations 10 and 24).

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
    wanted = refine * (32 + 6.5 * np.sqrt(effective))
    # Rounded up to one of few sizes, because large rules take a second to make.
    return _angle_rule(int(np.ceil(1.1 ** np.ceil(np.log(wanted) / np.log(1.1)))), low, high)


def cell_rule(n_cells: int, n: int, interval: tuple[float, float]) -> tuple[FloatArray, ThetaRule]:
    """Return edges of cells that are equal in the angle, and a rule over all of them.

    Each cell has the same number of nodes, for a density that is constant on each cell.
    """
    n_nodes = max(4, int(np.ceil((16 + 5.0 * np.sqrt(n)) / n_cells)))
    return rule_on_cells(n_cells, n_nodes, interval)


@lru_cache(maxsize=64)
def rule_on_cells(
    n_cells: int, n_nodes: int, interval: tuple[float, float]
) -> tuple[FloatArray, ThetaRule]:
    """Do `cell_rule` with a given number of nodes in each cell."""
    nodes, weights = _legendre(n_nodes)
    low, high = interval
    angles = np.linspace(np.arccos(1 - 2 * low), np.arccos(1 - 2 * high), n_cells + 1)
    width = np.diff(angles)[:, None]
    angle = angles[:-1, None] + width * (nodes + 1) / 2
    theta = np.sin(angle / 2) ** 2
    weight = weights * np.sin(angle) / 2 * width / 2 / (high - low)
    return np.sin(angles / 2) ** 2, ThetaRule(theta.ravel(), weight.ravel())


_ELLIPSES = np.geomspace(1.05, 100.0, 200)
"""Sums of semi-axes of Bernstein's ellipses, relative to the half-width of a cell."""


@lru_cache(maxsize=1024)
def nodes_for_error(
    n_cells: int, alpha: float, cases: tuple[int, ...], interval: tuple[float, float], error: float
) -> int:
    """Return so many nodes in each cell that the integral over theta is off by ``error`` at most.

    Parameters
    ----------
    n_cells : int
        Number of cells, equal in the angle.
    alpha : float
        Parameter of the beta-binomial distributions.
    cases : tuple of int
        Observed cases of each class.
    interval : tuple of float
        Bounds of the prior of theta.
    error : float
        Bound, relative to the largest probability of the column given any theta.

    Notes
    -----
    Gauss-Legendre with N nodes on [-1, 1] is off by at most 64/15 M rho^-2N / (1 - rho^-2), where M
    bounds the integrand inside the ellipse with foci -1, 1 and semi-axes that sum to rho (Trefethen
    2008, theorem 4.5). See "Many cases" in ``docs/mathematics.rst`` for M.
    """
    low, high = interval
    half = (np.arccos(1 - 2 * high) - np.arccos(1 - 2 * low)) / n_cells / 2
    rho = _ELLIPSES
    shift = half * (rho - 1 / rho) / 2  # largest imaginary part of the angle in the ellipse
    growth = sum(alpha * (special.digamma(alpha + n) - special.digamma(alpha)) for n in cases)
    jacobian = half * np.sinh(half * (1 + rho)) / (2 * np.sin(half) ** 2)
    log_bound = 2 * growth * np.sinh(shift / 2) ** 2 + np.log(64 / 15 * jacobian)
    needed = (log_bound - np.log(error) - np.log1p(-(rho**-2))) / (2 * np.log(rho))
    return max(int(np.ceil(needed.min())), 2)


@lru_cache(maxsize=8)
def simpson_rule(interval: tuple[float, float], n_points: int = 21) -> ThetaRule:
    """Return Simpson's rule on equidistant points, as in section 3.3 of the 2008 paper."""
    weight = np.ones(n_points)
    weight[1:-1:2], weight[2:-1:2] = 4.0, 2.0
    return ThetaRule(np.linspace(*interval, n_points), weight / weight.sum())


@dataclass(frozen=True, slots=True)
class AlphaPrior:
    """Inverse gamma prior of alpha (equation 9 of the 2008 paper).

    Its density is proportional to alpha^-(1+shape) exp(-rate/alpha).
    """

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


@dataclass(frozen=True, slots=True)
class Nodes:
    """What the integrand returns at points of log(alpha).

    Attributes
    ----------
    log_density : ndarray of shape (A,)
        Log density up to a constant.
    values : list of length A
        What the caller wants back for each node.
    tilt : ndarray of shape (A, C, r)
        Log probability of each of r made-up cases given the class and the node. Their log-odds
        decide when the rule is fine enough, and nodes that matter to any of them are kept.
    """

    log_density: FloatArray
    values: list[Values]
    tilt: FloatArray


Evaluate = Callable[[FloatArray], Nodes]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRule:
    """Nodes over log(alpha) with weights that sum to 1, and the estimated error of the rule.

    Attributes
    ----------
    log_alpha, log_weight : ndarray of shape (A,)
        Nodes and logarithms of normalised posterior weights.
    log_density : ndarray of shape (A,)
        Log posterior density of log(alpha) at the nodes.
    values : list of length A
        What the integrand's function returned beside the log density.
    log_evidence : float
        Log of the integral.
    error : float
        Estimated error of the log integral and of the made-up cases' log-odds (relative where
        these exceed 1).
    """

    log_alpha: FloatArray
    log_weight: FloatArray
    log_density: FloatArray
    values: list[Values]
    log_evidence: float
    error: float

    @property
    def weight(self) -> FloatArray:
        """Normalised posterior weights."""
        return np.asarray(np.exp(self.log_weight))


def integrate_log_alpha(
    evaluate: Evaluate, start: tuple[float, float], *, tolerance: float
) -> LineRule:
    """Integrate a posterior over log(alpha) by a trapezoidal rule that refines itself.

    Parameters
    ----------
    evaluate : callable
        Maps log(alpha) of shape (A,) to :class:`Nodes`.
    start : tuple of float
        Range of log(alpha) scanned at first; extended while the ends still carry weight.
    tolerance : float
        Bound on the estimated error.

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
    now = level.summary()
    for _ in range(_MAX_LEVELS):
        coarse, before = level, now
        level = level.halved(evaluate, cut)
        now = level.summary()
        difference = float(np.max(np.abs(now - before)))
        if difference <= tolerance:
            return coarse.rule(max(difference, floor))
        error = max(_SQUARING * difference * difference, floor)
        if error <= tolerance:
            break
    return level.rule(error)


def _relevant(log_density: FloatArray, tilt: FloatArray, cut: float) -> BoolArray:
    """Which nodes carry weight in the posterior, or in what it becomes for a made-up case."""
    tilted = log_density[:, None] + tilt.reshape(log_density.size, -1)
    everything = np.concatenate([log_density[:, None], tilted], axis=1)
    return np.asarray(np.any(everything > everything.max(axis=0) - cut, axis=1))


def _locate(
    evaluate: Evaluate, start: tuple[float, float], cut: float
) -> tuple[float, float, float, float]:
    """Find the mode, the width and the range of the density by scanning and halving."""
    step = _SCAN_STEP
    scan = _Scan(evaluate, np.arange(np.floor(start[0]), np.ceil(start[1]) + step, step))
    while _relevant(scan.log_density, scan.tilt, cut)[0] and scan.t[0] > -_FARTHEST:
        scan.add(scan.t[0] - step * np.arange(3, 0, -1))
    reach = step
    while _relevant(scan.log_density, scan.tilt, cut)[-1] and scan.t[-1] < _FARTHEST:
        reach *= 2  # the right tail is exponential: long, but smooth
        scan.add(scan.t[-1:] + reach)
    while True:
        t, log_density = scan.t, scan.log_density
        best = min(max(int(np.argmax(log_density)), 1), t.size - 2)
        around = slice(best - 1, best + 2)
        drop = log_density[best] - log_density[around]
        if max(drop[0], drop[2]) < _RESOLVED or t[best + 1] - t[best - 1] < 1e-7:
            break
        scan.add((t[best - 1 : best + 1] + t[best : best + 2]) / 2)
    curvature = -np.polyfit(t[around] - t[best], log_density[around], 2)[0] * 2
    scale = 1.0 / np.sqrt(curvature) if curvature > 0 else 1.0
    heavy = np.flatnonzero(_relevant(log_density, scan.tilt, cut))
    low, high = t[max(heavy[0] - 1, 0)], t[min(heavy[-1] + 1, t.size - 1)]
    return float(t[np.argmax(log_density)]), float(np.clip(scale, 1e-6, 2.0)), low, high


class _Scan:
    """Points of log(alpha), in order, and the integrand there."""

    def __init__(self, evaluate: Evaluate, t: FloatArray) -> None:
        nodes = evaluate(t)
        self._evaluate = evaluate
        self.t, self.log_density, self.tilt = t, nodes.log_density, nodes.tilt

    def add(self, t: FloatArray) -> None:
        nodes = self._evaluate(t)
        order = np.argsort(np.concatenate([self.t, t]), kind="stable")
        self.t = np.concatenate([self.t, t])[order]
        self.log_density = np.concatenate([self.log_density, nodes.log_density])[order]
        self.tilt = np.concatenate([self.tilt, nodes.tilt])[order]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """Nodes of the trapezoidal rule at v = step * index, log(alpha) = centre + scale * sinh(v)."""

    centre: float
    scale: float
    step: float
    index: IntArray
    nodes: Nodes  # with the density of v

    @classmethod
    def first(
        cls, evaluate: Evaluate, centre: float, scale: float, low: float, high: float, cut: float
    ) -> _Level:
        start = np.floor(np.arcsinh((low - centre) / scale) / _FIRST_STEP)
        end = np.ceil(np.arcsinh((high - centre) / scale) / _FIRST_STEP)
        index = np.arange(start, end + 1).astype(np.int64)
        level = cls(
            centre=centre,
            scale=scale,
            step=_FIRST_STEP,
            index=index,
            nodes=Nodes(np.zeros(0), [], np.zeros(0)),
        )
        return replace(level, nodes=level._evaluated(index, evaluate))._pruned(cut)

    def halved(self, evaluate: Evaluate, cut: float) -> _Level:
        finer = replace(self, step=self.step / 2, index=2 * self.index)
        between = np.union1d(finer.index - 1, finer.index + 1)
        new = finer._evaluated(between, evaluate)
        index = np.concatenate([finer.index, between])
        order = np.argsort(index)
        values = self.nodes.values + new.values
        nodes = Nodes(
            np.concatenate([self.nodes.log_density, new.log_density])[order],
            [values[i] for i in order],
            np.concatenate([self.nodes.tilt, new.tilt])[order],
        )
        return replace(finer, index=index[order], nodes=nodes)._pruned(cut)

    def _evaluated(self, index: IntArray, evaluate: Evaluate) -> Nodes:
        v = self.step * index.astype(float)
        nodes = evaluate(self._to_log_alpha(v))
        return replace(nodes, log_density=nodes.log_density + np.log(self.scale * np.cosh(v)))

    def _pruned(self, cut: float) -> _Level:
        keep = np.flatnonzero(_relevant(self.nodes.log_density, self.nodes.tilt, cut))
        nodes = Nodes(
            self.nodes.log_density[keep],
            [self.nodes.values[i] for i in keep],
            self.nodes.tilt[keep],
        )
        return replace(self, index=self.index[keep], nodes=nodes)

    def _to_log_alpha(self, v: FloatArray) -> FloatArray:
        result: FloatArray = self.centre + self.scale * np.sinh(v)
        return result

    def _log_integral(self) -> float:
        return float(special.logsumexp(self.nodes.log_density) + np.log(self.step))

    def summary(self) -> FloatArray:
        """Return the numbers whose change decides whether the rule is fine enough."""
        terms = self.nodes.tilt + self.nodes.log_density[:, None, None]
        by_class = special.logsumexp(terms, axis=0)
        # Absolute where log-odds are small, relative where they are large.
        return np.append(np.arcsinh(by_class[1:] - by_class[0]), self._log_integral())

    def rule(self, error: float) -> LineRule:
        log_integral = self._log_integral()
        v = self.step * self.index.astype(float)
        log_density = self.nodes.log_density
        return LineRule(
            log_alpha=self._to_log_alpha(v),
            log_weight=log_density - special.logsumexp(log_density),
            log_density=log_density - np.log(self.scale * np.cosh(v)) - log_integral,
            values=self.nodes.values,
            log_evidence=log_integral,
            error=error,
        )
