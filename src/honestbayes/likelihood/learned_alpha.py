"""Learned distribution of a parameter such as alpha over all screened features.

The distribution of alpha is on atoms, and its shape is uncertain. Simple shapes (one alpha for all,
normal distributions of log(alpha), few strong features among uninformative ones) have a posterior.
EM finds a free shape, penalised by ``PSEUDO_FEATURES`` features from the average of the simple
ones, and Schwarz's approximation to the marginal likelihoods decides between the two: a free shape
must gain more than log(p) in log likelihood over the simple ones to be believed (two parameters,
half of log(p) each). Without that, EM turns the luckiest of 10,000 equal features into strong ones.

Shapes are kept apart, because a shape is a statement about all features at once: predictions are
averaged over shapes, and features are independent only given the shape. If the average shape were
the prior of each feature, the luckiest features would choose its strong atoms, even where each
shape alone says that no feature, or every feature, is strong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, ndtr

from honestbayes.files.fields import (
    CLOSE,
    INLINE,
    Check,
    Floats,
    Logs,
    Number,
    Weights,
)
from honestbayes.likelihood.quadrature import AlphaPrior
from honestbayes.types import FloatArray, IntArray

SPACING = 0.35
"""Distance between atoms of log(alpha)."""

COARSE_SPACING = 1.8
"""The same while the density of theta is learned."""

NEGLIGIBLE_SHAPE = 1e-4
"""Less probable shapes are dropped."""

_SAME_SHAPE = 6e-5
"""Shapes are merged while that changes shrinkage by less, squared and weighted."""

MOST_SHAPES = 32
"""Shapes are merged in any case until no more are left."""

_PROBES = 64
"""Features whose shrinkage decides which shapes are similar."""

PSEUDO_FEATURES = 20.0
"""Strength of the penalty that pulls towards the family of simple distributions."""

_SPREADS = (0.3, 0.6, 0.9, 1.2, 1.6, 2.2, 3.0)
"""Standard deviations of log(alpha) in the normal family, beside 0."""

_COMMON = 0.6
"""Prior probability that all features share one alpha."""

_SPARSE = 0.24
"""Prior probability of few strong features among uninformative ones: half of it for strong ones of
all sizes, half for strong ones of one size."""

_CENTRES_WITHIN = 3.5
"""Centres of the family are this close to the best common log(alpha)."""

ALPHA_TOLERANCE = 0.02
"""EM over alpha stops when a step gains less than this in log likelihood."""

_IMPOSSIBLE = 1e-290
"""Smallest likelihood relative to the largest, so that logarithms stay finite."""

_NEW_SUPPORT = 0.01
"""Share of the papers' prior in the starting point, so that EM can reach every atom."""


@dataclass(frozen=True, slots=True)
class EMResult:
    """Weights found by EM and the penalised log likelihood after each step."""

    weights: FloatArray
    path: FloatArray
    converged: bool


LARGEST_ALPHA = 1e131
"""Above the largest alpha of any rule."""


def check_shapes(
    average: FloatArray, shapes: FloatArray, shape_weights: FloatArray, check: Check
) -> None:
    """Refuse shapes in a file whose average is not the distribution over features."""
    check(len(shapes) > 0, "shapes", "are none")
    check(np.all(shape_weights > 0), "shape_weights", "is not positive")
    same = np.allclose(shape_weights @ shapes, average, rtol=0, atol=CLOSE)
    check(same, "shapes", "do not have the average that is stored")


def check_alpha(alpha: FloatArray, check: Check, *, strictly: bool) -> None:
    """Refuse nodes of alpha in a file that are not positive or not in increasing order."""
    check(alpha.size > 0 and alpha[0] > 0, "alpha", "is not positive")
    step = np.diff(alpha)
    check(np.all(step > 0 if strictly else step >= 0), "alpha", "is not increasing")


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedDistribution:
    """How a parameter is distributed over features: simple shapes and EM's free one.

    Attributes
    ----------
    weights : ndarray of shape (A,)
        The average shape.
    shapes : ndarray of shape (S, A)
        The shapes that matter: the share of features at each atom.
    shape_weights : ndarray of shape (S,)
        Their posterior probabilities.
    family : ndarray of shape (A,)
        The average of simple distributions.
    free : float
        Probability of the free shape.
    path : ndarray of shape (steps,)
        Penalised log likelihood after each EM step.
    converged : bool
        Whether EM met its tolerance.
    """

    weights: Annotated[FloatArray, Weights("atoms")]
    shapes: Annotated[FloatArray, Weights("n_shapes", "atoms")]
    shape_weights: Annotated[FloatArray, Weights("n_shapes")]
    family: Annotated[FloatArray, Weights("atoms")]
    free: Annotated[float, Number(0.0, 1.0)]
    path: Annotated[FloatArray, Floats("steps")]
    converged: bool


@dataclass(frozen=True, slots=True)
class LearnedAlpha:
    """How alpha is distributed over features.

    Attributes
    ----------
    alpha : ndarray of shape (A,)
        Atoms.
    log_likelihood : ndarray of shape (A,)
        Log likelihood of all features, were the atom the alpha of all.
    shape : LearnedDistribution
        The share of features at each atom, and how it was found.
    """

    alpha: Annotated[FloatArray, Floats("atoms", low=0.0, high=LARGEST_ALPHA)]
    log_likelihood: Annotated[FloatArray, Logs("atoms")]
    shape: Annotated[LearnedDistribution, INLINE]

    def check(self, check: Check) -> None:
        """Refuse atoms that are too few or not in order."""
        check_alpha(self.alpha, check, strictly=True)
        check(self.alpha.size >= 2, "alpha", "has fewer than two atoms")
        shape = self.shape
        check_shapes(shape.weights, shape.shapes, shape.shape_weights, check)


def learn_alpha(
    log_likelihood: Callable[[FloatArray], FloatArray],
    multiplicity: IntArray,
    n_cases: int,
    prior: AlphaPrior,
) -> LearnedAlpha:
    """Estimate the distribution of alpha over features whose likelihood is known.

    Parameters
    ----------
    log_likelihood : callable
        Given alphas of shape (A,), their log likelihood for each distinct feature, shape (D, A).
    multiplicity : ndarray of shape (D,)
        How many features are like it.
    n_cases : int
        Cases, which say how large an alpha can be told from a larger one.
    prior : AlphaPrior
        Prior of a common alpha.
    """
    log_alpha = alpha_atoms(n_cases, SPACING)
    table = log_likelihood(np.exp(log_alpha))
    # An atom at the mode itself: with many features the posterior of a common alpha is narrower
    # than the distance between atoms.
    best = _common_mode(log_alpha, table, multiplicity, prior)
    position = int(np.searchsorted(log_alpha, best))
    log_alpha = np.insert(log_alpha, position, best)
    table = np.insert(table, position, log_likelihood(np.exp([best]))[:, 0], axis=1)
    in_common = multiplicity @ table
    shape = learn_distribution(log_alpha, table, multiplicity, prior_mass(log_alpha, prior))
    alpha = np.exp(log_alpha)
    if multiplicity.size:
        # P(x | class) = (1 - B) E[theta] + B I / N with B = N / (N + alpha).
        shape = _with_fewer_shapes(shape, table, multiplicity, n_cases / (n_cases + alpha))
    # Without the shapes that were dropped, so that the average is that of those which are used.
    shape = replace(shape, weights=shape.shape_weights @ shape.shapes)
    return LearnedAlpha(alpha, in_common, shape)


def representatives(
    strength: FloatArray, multiplicity: IntArray, most: int
) -> tuple[IntArray, IntArray]:
    """Return features that stand for all where there are very many, and for how many each does.

    The distribution of alpha over features shows in their strengths. The strongest, on which its
    tail rests, stand for themselves. Of the others, in the order of their strengths, each stands
    for an equal number: systematic sampling, whose error is far below that of a random sample.

    Parameters
    ----------
    strength : ndarray of shape (D,)
        Association of each distinct feature with the class.
    multiplicity : ndarray of int of shape (D,)
        How many features are like it.
    most : int
        Number of features from which on there are fewer representatives: this many.
    """
    if strength.size <= most:
        return np.arange(strength.size), multiplicity
    order = np.argsort(-strength, kind="stable")
    first = most // 2
    starts = first + (strength.size - first) * np.arange(most - first + 1) // (most - first)
    middle = (starts[:-1] + starts[1:]) // 2
    times = np.add.reduceat(multiplicity[order], starts[:-1])
    chosen = np.concatenate([order[:first], order[middle]])
    return chosen, np.concatenate([multiplicity[order[:first]], times])


def learn_distribution(
    log_alpha: FloatArray, table: FloatArray, multiplicity: IntArray, mass: FloatArray
) -> LearnedDistribution:
    """Estimate the distribution of alpha over features, shrunk towards simple ones.

    Parameters
    ----------
    log_alpha : ndarray of shape (A,)
        Atoms, increasing; the last stands for features that tell nothing.
    table : ndarray of shape (D, A)
        Log likelihood of each atom for each distinct feature. Overwritten by the likelihood,
        relative to the largest of the feature.
    multiplicity : ndarray of shape (D,)
        How many features are like it.
    mass : ndarray of shape (A,)
        Prior probability of each atom, were it the alpha of all features.
    """
    table -= table.max(axis=1, keepdims=True)
    np.exp(table, out=table)
    # Strong features of many cases are all but impossible under most atoms.
    np.maximum(table, _IMPOSSIBLE, out=table)
    members, posterior, best_in_family = _family(log_alpha, table, multiplicity, mass)
    family = posterior @ members
    start = (1 - _NEW_SUPPORT) * family + _NEW_SUPPORT * mass
    result = em_weights(
        table, multiplicity, PSEUDO_FEATURES * family, start, tolerance=ALPHA_TOLERANCE
    )
    # Schwarz: the free shape counts as two parameters more than the best simple one, so it must
    # gain log(p). Likelihoods relative to each feature's largest will do for a difference.
    gain = float(multiplicity @ np.log(table @ result.weights)) - best_in_family
    free = float(expit(gain - np.log(max(multiplicity.sum(), 1))))
    weights = free * result.weights + (1 - free) * family
    probability = np.append((1 - free) * posterior, free)
    used = np.flatnonzero(probability > NEGLIGIBLE_SHAPE)
    return LearnedDistribution(
        weights=weights,
        shapes=np.concatenate([members, result.weights[None]])[used],
        shape_weights=probability[used] / probability[used].sum(),
        family=family,
        free=free,
        path=result.path,
        converged=result.converged,
    )


def _with_fewer_shapes(
    learned: LearnedDistribution,
    likelihood: FloatArray,
    multiplicity: IntArray,
    shrinkage: FloatArray,
) -> LearnedDistribution:
    """Merge shapes that shrink features alike, by Ward's method, until few are left.

    Shapes are compared by what they are used for: each is described by the posterior means
    E[B_j | shape, counts of j] of some features j, where B is the weight of a feature's own counts
    in its prediction. Two shapes with weights w and v are merged, into their weighted average,
    where w v / (w + v) times the squared distance of these means is smallest.

    Parameters
    ----------
    learned : LearnedDistribution
        Distribution with all shapes.
    likelihood : ndarray of shape (D, A)
        Likelihood of each atom for each distinct feature, up to a factor per feature.
    multiplicity : ndarray of shape (D,)
        How many features are like it.
    shrinkage : ndarray of shape (A,)
        B at each atom.
    """
    # The strongest feature, and others at ranks that grow by a constant factor: the strongest ones
    # are selected, and they are the ones for which shapes with few strong features differ.
    order = np.argsort(likelihood[:, -1], kind="stable")  # the last atom: uninformative
    rank = np.cumsum(multiplicity[order])
    probes = np.unique(np.searchsorted(rank, np.geomspace(1, rank[-1], _PROBES)))
    of_probes = likelihood[order[np.minimum(probes, order.size - 1)]]
    shapes, weights = learned.shapes.copy(), learned.shape_weights.copy()
    means = (of_probes * shrinkage) @ shapes.T
    means /= of_probes @ shapes.T
    means = means.T

    def cost_of(i: int) -> FloatArray:
        """Cost of merging shape i with each other one."""
        # Products in this order are symmetric in i and j to the last bit. Otherwise rounding, which
        # differs between processors, would decide which of the two keeps its place.
        cost = np.square(means - means[i]).sum(axis=1)
        cost *= (weights * weights[i]) / (weights + weights[i])
        cost[i] = np.inf
        cost[gone] = np.inf
        return np.asarray(cost)

    gone = np.zeros(weights.size, dtype=bool)
    cost = np.stack([cost_of(i) for i in range(weights.size)])
    for n_left in range(weights.size, 1, -1):
        i, j = divmod(int(np.argmin(cost)), weights.size)
        if n_left <= MOST_SHAPES and cost[i, j] > _SAME_SHAPE:
            break
        share = weights[j] / (weights[i] + weights[j])
        for values in (shapes, means):
            values[i] += share * (values[j] - values[i])
        weights[i] += weights[j]
        gone[j] = True
        cost[j], cost[:, j] = np.inf, np.inf
        cost[i] = cost[:, i] = cost_of(i)
    return replace(learned, shapes=shapes[~gone], shape_weights=weights[~gone])


def _family(
    log_alpha: FloatArray, likelihood: FloatArray, multiplicity: IntArray, mass: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return simple distributions of log(alpha), their posterior, and the largest log likelihood.

    Three kinds: one alpha for all (prior probability ``_COMMON``); normal distributions; and few
    strong features among many others (prior probability ``_SPARSE``). The strong ones are either
    distributed as the papers' prior is, beside others that share one alpha, or share one alpha,
    beside others that are uninformative: without the second, many weak features among uninformative
    ones would be taken for all features being alike, and shrunk too far. The prior of the centre is
    that of a common alpha. The best normal distribution of the grid is replaced by the maximum next
    to it, because the posterior may be narrower than the grid.
    """
    edges = (log_alpha[1:] + log_alpha[:-1]) / 2
    counts = multiplicity.astype(float)

    def normal(centre: FloatArray, spread: FloatArray) -> FloatArray:
        return _differences(ndtr((edges - centre[:, None]) / spread[:, None]))

    def log_likelihood(members: FloatArray) -> FloatArray:
        mixed = likelihood @ members.T
        return np.asarray(counts @ np.log(mixed, out=mixed))

    one_alpha = np.eye(log_alpha.size)
    common = log_likelihood(one_alpha)
    # The last atom stands for uninformative features, and is no centre.
    best = log_alpha[int(np.argmax((common + np.log(mass))[:-1]))]
    window = np.flatnonzero(np.abs(log_alpha[:-1] - best) <= _CENTRES_WITHIN)
    near = window[::2]
    centre_prior = mass[near] * (mass[window].sum() / mass[near].sum())  # for those between, too

    spread_prior = np.exp(-np.array(_SPREADS))
    spread_prior *= (1 - _COMMON - _SPARSE) / spread_prior.sum()
    centres = np.repeat(log_alpha[near], len(_SPREADS))
    spreads = np.tile(_SPREADS, near.size)
    members = normal(centres, spreads)
    values = log_likelihood(members)
    top = int(np.argmax(values))
    if values[top] > common.max():
        members[top], values[top] = _climb(normal, log_likelihood, centres[top], spreads[top])

    shares = _strong_shares(int(counts.sum()))

    def mixtures(most: FloatArray, strong: FloatArray) -> FloatArray:
        """Mix each pair of rows by each of the shares."""
        mixed = (1 - shares)[:, None, None] * most + shares[:, None, None] * strong
        return np.asarray(mixed.reshape(-1, log_alpha.size))

    rest = np.append(near, log_alpha.size - 1)
    few = np.concatenate(
        [mixtures(one_alpha[rest], mass), mixtures(one_alpha[-1], one_alpha[window])]
    )
    few_prior = [np.append(centre_prior, mass[-1]), mass[window] / mass[window].sum()]
    few_prior = [np.tile(_SPARSE / 2 / shares.size * each, shares.size) for each in few_prior]

    prior = np.concatenate(
        [_COMMON * mass, np.outer(centre_prior, spread_prior).ravel(), *few_prior]
    )
    everything = np.concatenate([common, values, log_likelihood(few)])
    log_posterior = everything + np.log(prior)
    posterior = np.exp(log_posterior - log_posterior.max())
    posterior /= posterior.sum()
    return np.concatenate([one_alpha, members, few]), posterior, float(everything.max())


def _strong_shares(n_features: int) -> FloatArray:
    """Shares of strong features: from one of all to a third, a factor of about 3 apart."""
    steps = max(2, int(np.ceil(np.log(max(n_features, 4) / 3) / np.log(3))))
    return np.geomspace(1.0 / max(n_features, 4), 1.0 / 3.0, steps)


def _climb(
    normal: Callable[[FloatArray, FloatArray], FloatArray],
    log_likelihood: Callable[[FloatArray], FloatArray],
    centre: float,
    spread: float,
) -> tuple[FloatArray, float]:
    """Find the best normal distribution close to one of the grid, and its log likelihood."""

    def loss(q: FloatArray) -> float:
        return -float(log_likelihood(normal(q[:1], np.exp(q[1:])))[0])

    optimum = minimize(
        loss,
        np.array([centre, np.log(spread)]),
        method="Nelder-Mead",
        options={"xatol": 0.02, "fatol": 0.05, "maxfev": 40},
    )
    return normal(optimum.x[:1], np.exp(optimum.x[1:]))[0], -float(optimum.fun)


def alpha_atoms(n: int, spacing: float) -> FloatArray:
    """Log(alpha) from where classes are unrelated to where n cases cannot tell them apart."""
    top = np.log(30.0 * n)
    return np.append(np.arange(-0.5, top, spacing), top + np.log(1000.0))


def prior_mass(log_alpha: FloatArray, prior: AlphaPrior) -> FloatArray:
    """Prior probability of the neighbourhood of each atom."""
    edges = np.exp((log_alpha[1:] + log_alpha[:-1]) / 2)
    return _differences(prior.distribution(edges))


def _differences(below: FloatArray) -> FloatArray:
    """Probabilities of cells from the distribution function at the edges between them."""
    ends = np.zeros((*below.shape[:-1], 1))
    mass = np.diff(np.concatenate([ends, below, ends + 1.0], axis=-1), axis=-1)
    return np.maximum(mass, 1e-300)


def _common_mode(
    log_alpha: FloatArray, table: FloatArray, multiplicity: IntArray, prior: AlphaPrior
) -> float:
    """Mode of the posterior of a common alpha, by a parabola through the best three atoms."""
    log_density = multiplicity @ table + prior.log_density_of_log(log_alpha)
    best = min(max(int(np.argmax(log_density[:-1])), 1), log_alpha.size - 3)
    around = slice(best - 1, best + 2)
    a, b, _ = np.polyfit(log_alpha[around] - log_alpha[best], log_density[around], 2)
    shift = np.clip(-b / (2 * a), -SPACING, SPACING) if a < 0 else 0.0
    if np.min(np.abs(log_alpha - log_alpha[best] - shift)) < 1e-3:
        shift += 1e-2  # atoms must differ
    return float(log_alpha[best] + shift)


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
        # Expected numbers of features at each atom, and pseudo-features: the mode of the weights
        # under a Dirichlet prior with parameters 1 + c. A weight of 0 would stay 0.
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
            # The extrapolation may leave the simplex.
            candidate = np.maximum(candidate, 1e-3 * two)
            candidate /= candidate.sum()
        objective_candidate, after = step(candidate)
        # Two plain EM steps never lower the objective, so neither does this one. The negation
        # rejects NaN as well.
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
