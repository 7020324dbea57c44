"""Learned prior of binary features, from all screened features.

Each feature j has its own theta_j and alpha_j, drawn from a density of theta (uniform, or constant
on cells where the counts ask for it) and a distribution of alpha (on atoms, `learned_alpha`), both
estimated by EM from the counts of every feature. That conditions on everything that was screened,
so no selection bias is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.special import expit

from honestbayes.files.fields import INLINE, Check, Floats, Logs, Number, Weights
from honestbayes.likelihood.counts import (
    CoarserRule,
    CountLikelihood,
    DistinctCounts,
    GivenMargin,
    distinct_counts,
    margins_are_fixed,
)
from honestbayes.likelihood.dirichlet import log_marginal, table_likelihood
from honestbayes.likelihood.learned_alpha import (
    COARSE_SPACING,
    LARGEST_ALPHA,
    LearnedAlpha,
    alpha_atoms,
    check_alpha,
    check_shapes,
    em_weights,
    learn_alpha,
    prior_mass,
    representatives,
)
from honestbayes.likelihood.quadrature import (
    AlphaPrior,
    ThetaRule,
    cell_rule,
    nodes_for_error,
    rule_on_cells,
)
from honestbayes.selection.correlation import equivalent_r_squared
from honestbayes.threads import one_blas_thread
from honestbayes.types import FloatArray, IntArray

N_CELLS = 16
"""Cells of theta, equal in the angle arccos(1 - 2 theta)."""

_THETA_ROUNDS = 2

_THETA_TOLERANCE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
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
        Atoms and the share of features at each, averaged over shapes.
    shapes : ndarray of shape (S, A)
        The shares under each shape; given the shape, features are independent.
    shape_weights : ndarray of shape (S,)
        Posterior probabilities of the shapes.
    family : ndarray of shape (A,)
        The average of simple distributions, towards which EM shrinks.
    free : float
        Probability of the free shape found by EM; the rest of the weight is the family's.
    log_likelihood : ndarray of shape (A,)
        Log likelihood of all features, were the atom the alpha of all.
    given_margin : bool
        Whether features are looked at given their numbers of ones, which the cut has fixed.
    path : ndarray of shape (steps,)
        Penalised log likelihood after each EM step over alpha.
    converged : bool
        Whether EM met its tolerance.
    """

    edges: Annotated[FloatArray, Floats("cells+1", low=0.0, high=1.0)]
    cell_weights: Annotated[FloatArray, Weights("cells")]
    rule: ThetaRule
    alpha: Annotated[FloatArray, Floats("atoms", low=0.0, high=LARGEST_ALPHA)]
    alpha_weights: Annotated[FloatArray, Weights("atoms")]
    shapes: Annotated[FloatArray, Weights("n_shapes", "atoms")]
    shape_weights: Annotated[FloatArray, Weights("n_shapes")]
    family: Annotated[FloatArray, Weights("atoms")]
    free: Annotated[float, Number(0.0, 1.0)]
    log_likelihood: Annotated[FloatArray, Logs("atoms")]
    given_margin: bool
    path: Annotated[FloatArray, Floats("steps")]
    converged: bool

    def check(self, check: Check) -> None:
        """Refuse cells and atoms that are not in order, and nodes that are not in the cells."""
        n_cells, theta = self.cell_weights.size, self.rule.theta
        good = n_cells > 0 and np.all(np.diff(self.edges) > 0)
        check(good, "edges", "is not increasing")
        even = theta.size > 0 and theta.size % n_cells == 0
        check(even, "theta", "is not spread evenly over the cells")
        nodes = theta.reshape(n_cells, -1)
        inside = (nodes >= self.edges[:-1, None]) & (nodes <= self.edges[1:, None])
        inside &= (nodes > 0) & (nodes < 1)
        check(np.all(inside), "theta", "is not inside its cells")
        check(self.rule.weight.size == theta.size, "theta_weights", "is not one for each theta")
        check_alpha(self.alpha, check, strictly=True)
        check(self.alpha.size >= 2, "alpha", "has fewer than two atoms")
        check_shapes(self.alpha_weights, self.shapes, self.shape_weights, check)

    def theta_moments(self) -> tuple[float, float]:
        """Mean and standard deviation of theta over features."""
        mean = float(self.rule.weight @ self.rule.theta)
        return mean, float(np.sqrt(self.rule.weight @ (self.rule.theta - mean) ** 2))

    def log_alpha_moments(self) -> tuple[float, float]:
        """Mean and standard deviation of log(alpha) over features."""
        t = np.log(self.alpha)
        mean = float(self.alpha_weights @ t)
        return mean, float(np.sqrt(self.alpha_weights @ (t - mean) ** 2))


@one_blas_thread()
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
    density = learn_theta(counts, prior, interval)
    likelihood = density.likelihood(counts)
    learned = learn_alpha(
        lambda alpha: np.stack([likelihood(value)[0] for value in alpha.tolist()], axis=1),
        counts.multiplicity,
        most_cases(counts),
        prior,
    )
    return density.with_alpha(learned)


def most_cases(counts: DistinctCounts) -> int:
    """Return the largest number of observed cases, two or more."""
    return int(np.sum(counts.observed, axis=0).max(initial=2))


@dataclass(frozen=True, slots=True)
class ThetaDensity:
    """The distribution of theta over features, constant on cells.

    Attributes
    ----------
    edges, cell_weights, rule, given_margin
        As in `LearnedPrior`.
    """

    edges: FloatArray
    cell_weights: FloatArray
    rule: ThetaRule
    given_margin: bool

    def likelihood(self, counts: DistinctCounts) -> CountLikelihood | GivenMargin:
        """Return the likelihood of alpha for features whose theta has this density."""
        return feature_likelihood(counts, self)

    def with_alpha(self, learned: LearnedAlpha) -> LearnedPrior:
        """Return the distribution of features, given that of alpha."""
        return LearnedPrior(
            edges=self.edges,
            cell_weights=self.cell_weights,
            rule=self.rule,
            alpha=learned.alpha,
            alpha_weights=learned.shape.weights,
            shapes=learned.shape.shapes,
            shape_weights=learned.shape.shape_weights,
            family=learned.shape.family,
            free=learned.shape.free,
            log_likelihood=learned.log_likelihood,
            given_margin=self.given_margin,
            path=learned.shape.path,
            converged=learned.shape.converged,
        )


def learn_theta(
    counts: DistinctCounts, prior: AlphaPrior, interval: tuple[float, float]
) -> ThetaDensity:
    """Estimate the density of theta; parameters as in `learn_prior`."""
    n = most_cases(counts)
    edges, uniform = cell_rule(N_CELLS, n, interval)
    cell_weights = _learn_cells(counts, uniform, prior, interval)
    rule = _with_cell_weights(uniform, cell_weights)
    return ThetaDensity(edges, cell_weights, rule, margins_are_fixed(counts))


def feature_likelihood(
    counts: DistinctCounts, density: ThetaDensity | LearnedPrior
) -> CountLikelihood | GivenMargin:
    """Likelihood of alpha for features whose theta has the learned density."""
    interval = (float(density.edges[0]), float(density.edges[-1]))
    coarser = _coarser_than(density.rule, density.cell_weights, interval)
    kind = GivenMargin if density.given_margin else CountLikelihood
    return kind(counts, (0.0, 1.0), density.rule, coarser=coarser)


def _coarser_than(
    rule: ThetaRule, cell_weights: FloatArray, interval: tuple[float, float]
) -> CoarserRule:
    """Return a function that returns rules for the same density with fewer nodes.

    A small alpha makes the likelihood wide, so that fewer nodes do. There are never more than in
    the rule itself, so that the bound is one on the difference from it.
    """
    n_cells = cell_weights.size

    def coarser(alpha: float, cases: tuple[int, ...], error: float) -> ThetaRule:
        n_nodes = nodes_for_error(n_cells, alpha, cases, interval, error)
        if n_nodes * n_cells >= rule.theta.size:
            return rule
        _, uniform = rule_on_cells(n_cells, n_nodes, interval)
        return _with_cell_weights(uniform, cell_weights)

    return coarser


def _with_cell_weights(uniform: ThetaRule, cell_weights: FloatArray) -> ThetaRule:
    """Give cells their weights; within a cell the density stays that of the support."""
    per_cell = uniform.weight.reshape(cell_weights.size, -1)
    shares = cell_weights / per_cell.sum(axis=1)
    return ThetaRule(uniform.theta, (per_cell * shares[:, None]).ravel())


def _learn_cells(
    counts: DistinctCounts, uniform: ThetaRule, prior: AlphaPrior, interval: tuple[float, float]
) -> FloatArray:
    """Share of features in each cell of theta, by EM in turns with a coarse alpha.

    The uniform density and the one that EM finds are averaged with Schwarz's approximation to
    their marginal likelihoods, so that uniform theta stays uniform: EM follows the luck of the
    counts, and a density with gaps makes lucky differences between classes look real.
    """
    n = most_cases(counts)
    mass = uniform.weight.reshape(N_CELLS, -1).sum(axis=1)
    within = _with_cell_weights(uniform, np.ones(N_CELLS))
    coarser = _coarser_than(within, np.ones(N_CELLS), interval)
    likelihood = CountLikelihood(counts, (0.0, 1.0), coarser=coarser)
    log_alpha = alpha_atoms(n, COARSE_SPACING)
    tensor = np.stack(
        [likelihood.by_cell(float(alpha), within, N_CELLS) for alpha in np.exp(log_alpha)], axis=1
    )
    # A factor for each feature, which cancels in EM's weights and in differences of logarithms.
    tensor -= tensor.max(axis=(1, 2), keepdims=True)
    np.exp(tensor, out=tensor)
    alpha_mass = prior_mass(log_alpha, prior)

    def alpha_given_cells(by_cell: FloatArray, start: FloatArray) -> tuple[FloatArray, float]:
        """Weights of alpha for a density of theta, and the log likelihood of both."""
        table = tensor @ by_cell
        by_alpha = em_weights(
            table, counts.multiplicity, alpha_mass, start, tolerance=_THETA_TOLERANCE
        ).weights
        return by_alpha, float(counts.multiplicity @ np.log(table @ by_alpha))

    # The uniform density has an alpha of its own: that of the learned one would not do it justice.
    _, log_likelihood_of_uniform = alpha_given_cells(mass, alpha_mass)
    by_alpha: FloatArray = alpha_mass
    by_cell: FloatArray = mass
    for _ in range(_THETA_ROUNDS):
        table = np.einsum("dac,a->dc", tensor, by_alpha)
        by_cell = em_weights(
            table, counts.multiplicity, mass, by_cell, tolerance=_THETA_TOLERANCE
        ).weights
        by_alpha, log_likelihood = alpha_given_cells(by_cell, by_alpha)
    # Not all shares of cells are parameters that the data determine: in the angle, which runs from
    # 0 to pi, a frequency of n cases has a standard deviation of 1 / sqrt(n), so cells closer than
    # two of these cannot be told apart. Counting all 15 would deny a density that 10 cases show.
    n_parameters = min(N_CELLS - 1.0, np.pi * np.sqrt(n) / 2)
    # Schwarz (1978): log marginal likelihood = log likelihood - (parameters / 2) log(features).
    penalty = n_parameters / 2 * np.log(max(counts.multiplicity.sum(), 1))
    share = expit(log_likelihood - log_likelihood_of_uniform - penalty)
    return np.asarray(share * by_cell + (1 - share) * mass)


# --------------------------------------------------------------------------------------------------
# Learn from all screened categorical features how features are distributed
#
# The distribution of alpha over features is shared by features of any number of levels. Theta of a
# two-level feature in two classes has the learned density of the binary model; theta of others is
# Dirichlet with a symmetric parameter, the base, chosen by marginal likelihood: below 1 where
# levels are of unequal frequency, as rare ones are.
# --------------------------------------------------------------------------------------------------


BASES = (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 5.0)

_CASES_FOR_BASE = 80_000
"""Tables with more cases than these together add little to what is known of the base."""

_CASES_TO_LEARN = 1 << 23
"""Cases of all distinct tables together up to which each of them is used; beyond, some stand for
all. Each case is a term of a polynomial: a million of them take half a second."""

_ENOUGH = 0.5
"""EM stops when a step gains less than this in log likelihood."""


@dataclass(frozen=True, slots=True)
class LearnedCategories:
    """The distribution of categorical features.

    Attributes
    ----------
    learned : LearnedAlpha
        Distribution of alpha over features.
    base : float
        Parameter of the symmetric Dirichlet prior of theta.
    binary : LearnedPrior or None
        The same distribution of alpha with the density of theta of two-level features in two
        classes, where there are any.
    """

    learned: Annotated[LearnedAlpha, INLINE]
    base: Annotated[float, Number(1e-3, 1e3)]
    binary: LearnedPrior | None


def is_binary(tables: IntArray) -> bool:
    """Whether tables of shape (m, C, V) are those of the binary model."""
    return tables.shape[1:] == (2, 2)


def binary_counts(tables: IntArray) -> DistinctCounts:
    """Return tables of shape (m, 2, 2) as distinct counts of ones."""
    return distinct_counts(
        np.ascontiguousarray(tables[:, :, 1].T), np.ascontiguousarray(tables.sum(axis=2).T)
    )


def distinct_tables(tables: IntArray) -> tuple[IntArray, IntArray]:
    """Return the tables that differ by more than the names of levels, and how often each occurs."""
    n_tables, n_classes, n_levels = tables.shape
    if n_tables == 0:
        return tables, np.zeros(0, dtype=np.int64)
    # Levels in order of their counts, which are written as one number each.
    width = int(tables.max()) + 1
    if width**n_classes < 2**62:  # whole numbers of Python, which do not overflow
        key = (tables * width ** np.arange(n_classes)[:, None]).sum(axis=1)
        order = np.argsort(key, axis=1)
        tables = np.take_along_axis(tables, order[:, None, :], axis=2)
    flat, multiplicity = np.unique(tables.reshape(n_tables, -1), axis=0, return_counts=True)
    return flat.reshape(-1, n_classes, n_levels), multiplicity


@one_blas_thread()
def learn_categories(groups: Sequence[IntArray], prior: AlphaPrior) -> LearnedCategories:
    """Estimate the distribution of features from the tables of all of them.

    Parameters
    ----------
    groups : sequence of ndarray of shape (m, C, V)
        Tables, by number of levels.
    prior : AlphaPrior
        Prior of a common alpha.
    """
    counts = next((binary_counts(tables) for tables in groups if is_binary(tables)), None)
    others = _fewer_tables([distinct_tables(t) for t in groups if not is_binary(t)])
    n_cases = max(
        [2 if counts is None else most_cases(counts)]
        + [int(tables.sum(axis=(1, 2)).max(initial=2)) for tables, _ in others]
    )
    density = None if counts is None else learn_theta(counts, prior, (0.0, 1.0))
    base = _learn_base(others, prior, n_cases) if others else 1.0
    likelihood = None if counts is None or density is None else density.likelihood(counts)

    of_others = [table_likelihood(tables, base) for tables, _ in others]

    def log_likelihood(alpha: FloatArray) -> FloatArray:
        parts = (
            []
            if likelihood is None
            else [np.stack([likelihood(value)[0] for value in alpha.tolist()], axis=1)]
        )
        parts += [values(alpha).T for values in of_others]
        return np.concatenate(parts)

    multiplicity = [] if counts is None else [counts.multiplicity]
    multiplicity += [times for _, times in others]
    learned = learn_alpha(log_likelihood, np.concatenate(multiplicity), n_cases, prior)
    binary = None if density is None else density.with_alpha(learned)
    return LearnedCategories(learned, base, binary)


def _fewer_tables(groups: list[tuple[IntArray, IntArray]]) -> list[tuple[IntArray, IntArray]]:
    """Return tables that stand for all, where there are very many; see `representatives`."""
    total = sum(int(tables.sum()) for tables, _ in groups)
    if total <= _CASES_TO_LEARN:
        return groups
    fewer = []
    for tables, times in groups:
        most = max(int(times.size * (_CASES_TO_LEARN / total)), 1)
        chosen, stands_for = representatives(equivalent_r_squared(tables), times, most)
        fewer.append((tables[chosen], stands_for))
    return fewer


def _learn_base(
    groups: Sequence[tuple[IntArray, IntArray]], prior: AlphaPrior, n_cases: int
) -> float:
    """Return the base with the largest product of marginal likelihood and lognormal prior."""
    log_alpha = alpha_atoms(n_cases, COARSE_SPACING)
    mass = prior_mass(log_alpha, prior)
    generator = np.random.default_rng(0)
    share = max(_CASES_FOR_BASE // n_cases, 8) / max(sum(times.size for _, times in groups), 1)
    some = []
    for tables, times in groups:
        number = min(times.size, int(np.ceil(share * times.size)))
        chosen = np.sort(generator.choice(times.size, number, replace=False))
        some.append((tables[chosen], times[chosen]))
    multiplicity = np.concatenate([times for _, times in some])
    score = np.empty(len(BASES))
    for index, base in enumerate(BASES):
        table = np.concatenate([log_marginal(t, np.exp(log_alpha), base).T for t, _ in some])
        top = table.max(axis=1, keepdims=True)
        likelihood = np.maximum(np.exp(table - top), 1e-290)
        weights = em_weights(likelihood, multiplicity, mass, mass, tolerance=_ENOUGH).weights
        # Here the factor of each feature counts: it depends on the base.
        score[index] = multiplicity @ (np.log(likelihood @ weights) + top[:, 0])
    return float(BASES[int(np.argmax(score - np.log(BASES) ** 2 / 2))])
