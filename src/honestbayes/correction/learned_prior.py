"""Learn from all screened features how features are distributed.

Each feature j has its own theta_j and alpha_j, drawn from a density of theta (constant on cells)
and a distribution of alpha (on atoms), both estimated by EM from the counts of every feature.
That conditions on everything that was screened, so no selection bias is left.

The distribution of alpha is shrunk towards the papers' model, one alpha for all: the penalty is
that of ``PSEUDO_FEATURES`` features drawn from the posterior of a common alpha, and the two
models are averaged with Schwarz's approximation to their marginal likelihoods: a spread of alpha
must gain more than log(p) in log likelihood to be believed (two parameters, half of log(p) each).
Without that, EM turns the luckiest of 10,000 equal features into strong ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import expit

from honestbayes.correction.counts import CountLikelihood, DistinctCounts
from honestbayes.quadrature import AlphaPrior, ThetaRule, cell_rule
from honestbayes.types import FloatArray, IntArray

N_CELLS = 12
"""Cells of theta, equal in the angle arccos(1 - 2 theta)."""

SPACING = 0.3
"""Distance between atoms of log(alpha)."""

COARSE_SPACING = 1.5
"""The same while the density of theta is learnt."""

PSEUDO_FEATURES = 20.0
"""Strength of the penalty that pulls towards a common alpha."""

_THETA_ROUNDS = 2
_THETA_TOLERANCE = 0.1

_NEW_SUPPORT = 0.01
"""Share of the papers' prior in the starting point, so that EM can reach every atom."""


@dataclass(frozen=True, slots=True)
class EMResult:
    """Weights found by EM and the penalised log likelihood after each step."""

    weights: FloatArray
    path: FloatArray
    converged: bool


@dataclass(frozen=True, slots=True)
class LearnedPrior:
    """The distribution of features: a density of theta and atoms of alpha.

    Attributes
    ----------
    edges : ndarray of shape (N_CELLS + 1,)
        Cells of theta.
    cell_weights : ndarray of shape (N_CELLS,)
        Share of features in each cell.
    rule : ThetaRule
        The density as a quadrature rule.
    alpha, alpha_weights : ndarray of shape (A,)
        Atoms and the share of features at each.
    common : ndarray of shape (A,)
        Posterior weights of an alpha common to all features, towards which EM shrinks.
    spread : float
        Probability that features differ in alpha; the rest of the weight is the common model's.
    path : ndarray of shape (steps,)
        Penalised log likelihood after each EM step over alpha.
    converged : bool
        Whether EM met its tolerance.
    """

    edges: FloatArray
    cell_weights: FloatArray
    rule: ThetaRule
    alpha: FloatArray
    alpha_weights: FloatArray
    common: FloatArray
    spread: float
    path: FloatArray
    converged: bool

    def theta_moments(self) -> tuple[float, float]:
        """Mean and standard deviation of theta over features."""
        mean = float(self.rule.weight @ self.rule.theta)
        return mean, float(np.sqrt(self.rule.weight @ (self.rule.theta - mean) ** 2))

    def log_alpha_moments(self) -> tuple[float, float]:
        """Mean and standard deviation of log(alpha) over features."""
        t = np.log(self.alpha)
        mean = float(self.alpha_weights @ t)
        return mean, float(np.sqrt(self.alpha_weights @ (t - mean) ** 2))


def learn_prior(
    counts: DistinctCounts, prior: AlphaPrior, interval: tuple[float, float]
) -> LearnedPrior:
    """Estimate the distribution of features from the counts of all of them.

    Parameters
    ----------
    counts : DistinctCounts
        Counts of every screened feature.
    prior : AlphaPrior
        Prior of a common alpha.
    interval : tuple of float
        Support of theta.
    """
    n = int(np.sum(counts.observed, axis=0).max(initial=2))
    edges, uniform = cell_rule(N_CELLS, n, interval)
    per_cell = uniform.weight.reshape(N_CELLS, -1)
    cell_mass = per_cell.sum(axis=1)
    cell_weights = _learn_theta(counts, uniform, prior, n)
    rule = ThetaRule(uniform.theta, (per_cell * (cell_weights / cell_mass)[:, None]).ravel())

    likelihood = CountLikelihood(counts, interval, rule)
    log_alpha = _atoms(n, SPACING)
    table = np.stack([likelihood(alpha)[0] for alpha in np.exp(log_alpha)], axis=1)
    best = _common_mode(log_alpha, table, counts, prior)
    position = int(np.searchsorted(log_alpha, best))
    log_alpha = np.insert(log_alpha, position, best)
    table = np.insert(table, position, likelihood(float(np.exp(best)))[0], axis=1)

    mass = _prior_mass(log_alpha, prior)
    log_common = np.log(mass) + counts.multiplicity @ table
    common = np.exp(log_common - log_common.max())
    common /= common.sum()
    start = (1 - _NEW_SUPPORT) * common + _NEW_SUPPORT * mass
    table -= table.max(axis=1, keepdims=True)
    one_alpha = float(np.max(counts.multiplicity @ table))
    np.exp(table, out=table)
    result = em_weights(table, counts.multiplicity, PSEUDO_FEATURES * common, start)
    several = float(counts.multiplicity @ np.log(table @ result.weights))
    spread = float(expit(several - one_alpha - np.log(counts.multiplicity.sum())))
    return LearnedPrior(
        edges,
        cell_weights,
        rule,
        np.exp(log_alpha),
        spread * result.weights + (1 - spread) * common,
        common,
        spread,
        result.path,
        result.converged,
    )


def _atoms(n: int, spacing: float) -> FloatArray:
    """Log(alpha) from where classes are unrelated to where n cases cannot tell them apart."""
    top = np.log(30.0 * n)
    return np.append(np.arange(-0.5, top, spacing), top + np.log(1000.0))


def _prior_mass(log_alpha: FloatArray, prior: AlphaPrior) -> FloatArray:
    """Prior probability of the neighbourhood of each atom."""
    middle = np.exp((log_alpha[1:] + log_alpha[:-1]) / 2)
    below = stats.invgamma.cdf(middle, prior.shape, scale=prior.rate)
    mass = np.diff(np.concatenate([[0.0], below, [1.0]]))
    return np.maximum(mass, 1e-300)


def _common_mode(
    log_alpha: FloatArray, table: FloatArray, counts: DistinctCounts, prior: AlphaPrior
) -> float:
    """Mode of the posterior of a common alpha, by a parabola through the best three atoms."""
    log_density = counts.multiplicity @ table + prior.log_density_of_log(log_alpha)
    best = min(max(int(np.argmax(log_density[:-1])), 1), log_alpha.size - 3)
    around = slice(best - 1, best + 2)
    a, b, _ = np.polyfit(log_alpha[around] - log_alpha[best], log_density[around], 2)
    shift = np.clip(-b / (2 * a), -SPACING, SPACING) if a < 0 else 0.0
    if np.min(np.abs(log_alpha - log_alpha[best] - shift)) < 1e-3:
        shift += 1e-2
    return float(log_alpha[best] + shift)


def _learn_theta(
    counts: DistinctCounts, uniform: ThetaRule, prior: AlphaPrior, n: int
) -> FloatArray:
    """Share of features in each cell of theta, by EM in turns with a coarse alpha."""
    per_cell = uniform.weight.reshape(N_CELLS, -1)
    mass = per_cell.sum(axis=1)
    within = ThetaRule(uniform.theta, (per_cell / mass[:, None]).ravel())
    likelihood = CountLikelihood(counts, (0.0, 1.0))
    log_alpha = _atoms(n, COARSE_SPACING)
    tensor = np.stack(
        [likelihood.by_cell(float(alpha), within, N_CELLS) for alpha in np.exp(log_alpha)], axis=1
    )
    tensor -= tensor.max(axis=(1, 2), keepdims=True)
    np.exp(tensor, out=tensor)
    alpha_mass = _prior_mass(log_alpha, prior)
    by_alpha: FloatArray = alpha_mass
    by_cell: FloatArray = mass
    for _ in range(_THETA_ROUNDS):
        table = np.einsum("dac,a->dc", tensor, by_alpha)
        by_cell = em_weights(
            table, counts.multiplicity, mass, by_cell, tolerance=_THETA_TOLERANCE
        ).weights
        table = tensor @ by_cell
        by_alpha = em_weights(
            table, counts.multiplicity, alpha_mass, by_alpha, tolerance=_THETA_TOLERANCE
        ).weights
    return by_cell


def em_weights(
    likelihood: FloatArray,
    multiplicity: IntArray,
    pseudo_counts: FloatArray,
    start: FloatArray,
    *,
    tolerance: float = 1e-3,
    max_steps: int = 300,
) -> EMResult:
    """Estimate mixture weights by penalised EM, accelerated, with each step an increase.

    Maximises sum_d m_d log(sum_g w_g L_dg) + sum_g c_g log(w_g) over the simplex.

    Parameters
    ----------
    likelihood : ndarray of shape (D, G)
        Likelihood of each observation under each component, up to a factor per observation.
    multiplicity : ndarray of shape (D,)
        How often each observation occurs.
    pseudo_counts : ndarray of shape (G,)
        Penalty c; components with 0 may vanish.
    start : ndarray of shape (G,)
        Positive starting weights.
    tolerance : float
        Stop when a step gains less than this in penalised log likelihood.
    max_steps : int
        Stop in any case.

    Notes
    -----
    Squared extrapolation (Varadhan and Roland 2008) of two EM steps, followed by a third, is
    taken only if it does not lower the objective; otherwise the two EM steps are.
    """
    counts = np.asarray(multiplicity, dtype=float)
    total = counts.sum() + pseudo_counts.sum()
    used = pseudo_counts > 0

    def step(w: FloatArray) -> tuple[float, FloatArray]:
        """Objective at w and the weights after one EM step."""
        mixture = likelihood @ w
        expected = w * ((counts / mixture) @ likelihood)
        objective = counts @ np.log(mixture) + pseudo_counts[used] @ np.log(w[used])
        return float(objective), (expected + pseudo_counts) / total

    w = start / start.sum()
    objective, one = step(w)
    path = [objective]
    converged = False
    for _ in range(max_steps):
        objective_one, two = step(one)
        change, bend = one - w, two - 2 * one + w
        length = np.linalg.norm(bend)
        candidate = two
        if length > 0:
            stride = max(float(np.linalg.norm(change) / length), 1.0)
            candidate = w + 2 * stride * change + stride**2 * bend
            candidate = np.maximum(candidate, 1e-3 * two)
            candidate /= candidate.sum()
        objective_candidate, after = step(candidate)
        if not objective_candidate >= objective_one:
            candidate = two
            objective_candidate, after = step(two)
        gain = objective_candidate - path[-1]
        path.append(objective_candidate)
        w, one = candidate, after
        if gain < tolerance:
            converged = True
            break
    return EMResult(w, np.array(path), converged)
