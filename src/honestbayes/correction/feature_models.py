"""Feature models for the probability of selection.

An atom is a value of the parameter that says how much a feature tells: alpha of a discrete feature,
the signal ratio w of a real-valued one. A model can draw columns given an atom, and compare atoms
by the likelihood of what it drew:

* of a discrete feature theta, whose distribution does not depend on alpha, and the table of counts
  by class and level: no criterion depends on the order of the cases;
* of a real-valued one all but its origin and unit, which have flat priors. Their likelihood depends
  on the class means and the sum of squares within classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import gammaln, logsumexp

from honestbayes.likelihood.counts import CountLikelihood, distinct_counts
from honestbayes.likelihood.dirichlet import TableLikelihood
from honestbayes.likelihood.normal import VariancePrior, log_marginal
from honestbayes.likelihood.quadrature import theta_rule
from honestbayes.selection.criteria import FeatureKind
from honestbayes.types import FloatArray, IntArray

Likelihood = Callable[[FloatArray], FloatArray]
"""From atoms of shape (A,) to the log likelihood of each for m columns, shape (A, m)."""

_ALIKE = 1e5
"""With alpha so many times the number of cases, classes are alike."""

_BLOCK_CELLS = 1 << 22


class FeatureModel(Protocol):
    """What is asked of a feature model."""

    @property
    def kind(self) -> FeatureKind:
        """What a column of such a feature holds."""

    def signal(self, atoms: FloatArray) -> FloatArray:
        """Return how much features tell: the variance of class means over that of cases."""

    def atoms(self, signal: FloatArray) -> FloatArray:
        """Return atoms with this signal."""

    def draw(
        self,
        atom: float,
        class_sizes: IntArray,
        n_levels: int,
        number: int,
        generator: np.random.Generator,
    ) -> FloatArray:
        """Draw all that the likelihood of columns needs; the first axis has length ``number``."""

    def likelihood(self, drawn: FloatArray, class_sizes: IntArray) -> Likelihood:
        """Return the log likelihood of atoms, up to a constant of each column."""


class DiscreteFeatures(ABC):
    """In class c levels have probabilities phi_c ~ Dirichlet(alpha theta); theta varies."""

    kind: ClassVar[FeatureKind] = "categorical"

    @abstractmethod
    def draw_theta(self, n_levels: int, number: int, generator: np.random.Generator) -> FloatArray:
        """Draw theta from its prior, shape (number, V)."""

    @abstractmethod
    def table_likelihood(self, tables: IntArray, class_sizes: IntArray) -> Likelihood:
        """Return log P(column | alpha), theta integrated out, of tables of shape (m, C, V)."""

    def signal(self, atoms: FloatArray) -> FloatArray:
        """Return 1 / alpha."""
        return 1.0 / np.asarray(atoms, dtype=float)

    def atoms(self, signal: FloatArray) -> FloatArray:
        """Return alpha = 1 / signal."""
        return 1.0 / signal

    def draw(
        self,
        atom: float,
        class_sizes: IntArray,
        n_levels: int,
        number: int,
        generator: np.random.Generator,
    ) -> FloatArray:
        """Draw theta, and below it the counts of each class: shape (number, 1 + C, V)."""
        theta = self.draw_theta(n_levels, number, generator)
        drawn = np.empty((number, 1 + class_sizes.size, n_levels))
        drawn[:, 0] = theta
        for c, size in enumerate(class_sizes.tolist()):
            phi = np.exp(_log_dirichlet(atom * theta, generator))
            phi /= phi.sum(axis=1, keepdims=True)
            drawn[:, 1 + c] = generator.multinomial(size, phi)
        return drawn

    def likelihood(self, drawn: FloatArray, class_sizes: IntArray) -> Likelihood:
        """Return log P(counts | theta, alpha); simpler than without theta, at any number of cases.

        It makes weights vary more than the likelihood of counts alone would, by a factor of two
        or so.
        """
        theta, counts = np.maximum(drawn[:, 0], 1e-300), drawn[:, 1:]
        largest = _ALIKE * float(class_sizes.sum())

        def evaluate(atoms: FloatArray) -> FloatArray:
            result = np.empty((atoms.size, theta.shape[0]))
            for a, alpha in enumerate(np.minimum(atoms, largest)):
                x = alpha * theta
                rising = gammaln(x[:, None] + counts).sum(axis=1) - class_sizes.size * gammaln(x)
                result[a] = rising.sum(axis=1)
                result[a] -= np.sum(gammaln(alpha + class_sizes) - gammaln(alpha))
            return result

        return evaluate


@dataclass(frozen=True, slots=True)
class CategoricalFeatures(DiscreteFeatures):
    """Discrete features with theta ~ Dirichlet(base, ..., base).

    Attributes
    ----------
    base : float, default=1.0
        Parameter of the prior of theta.
    """

    base: float = 1.0

    def draw_theta(self, n_levels: int, number: int, generator: np.random.Generator) -> FloatArray:
        """Draw theta from its prior, shape (number, V)."""
        return np.exp(_log_dirichlet(np.full((number, n_levels), self.base), generator))

    def table_likelihood(self, tables: IntArray, class_sizes: IntArray) -> Likelihood:
        """Return log P(column | alpha), theta integrated out, of tables of shape (m, C, V)."""
        del class_sizes
        return TableLikelihood(tables, self.base).log_marginal


@dataclass(frozen=True, slots=True)
class BinaryFeatures(DiscreteFeatures):
    """The papers' model: phi_c ~ Beta(alpha theta, alpha (1 - theta)), theta uniform.

    Attributes
    ----------
    interval : tuple of float
        Support of theta, the probability of a one; ones are the second level.
    """

    interval: tuple[float, float] = (0.0, 1.0)

    def draw_theta(self, n_levels: int, number: int, generator: np.random.Generator) -> FloatArray:
        """Draw theta from its prior, shape (number, 2)."""
        if n_levels != 2:
            msg = f"binary features have two levels, not {n_levels}."
            raise ValueError(msg)
        one = generator.uniform(*self.interval, size=number)
        return np.stack([1.0 - one, one], axis=1)

    def table_likelihood(self, tables: IntArray, class_sizes: IntArray) -> Likelihood:
        """Return log P(column | alpha), theta integrated out, of tables of shape (m, C, 2)."""
        ones = np.ascontiguousarray(tables[:, :, 1].T)
        if class_sizes.size != 2:
            return lambda atoms: np.stack(
                [_log_binary(float(alpha), ones, class_sizes, self.interval) for alpha in atoms]
            )
        counts = distinct_counts(ones, class_sizes[:, None])
        evaluate = CountLikelihood(counts, self.interval)
        return lambda atoms: np.stack(
            [evaluate(float(alpha))[0][counts.inverse] for alpha in atoms]
        )


@dataclass(frozen=True, slots=True)
class RealFeatures:
    """Normal values around class means mu_c ~ N(nu, w s2), with variance s2; nu and log(s2) flat.

    A prior of s2 that features share changes nothing here: what a criterion sees is free of s2.
    """

    kind: ClassVar[FeatureKind] = "real"

    def signal(self, atoms: FloatArray) -> FloatArray:
        """Return w."""
        return np.asarray(atoms, dtype=float)

    def atoms(self, signal: FloatArray) -> FloatArray:
        """Return w."""
        return signal

    def draw(
        self,
        atom: float,
        class_sizes: IntArray,
        n_levels: int,
        number: int,
        generator: np.random.Generator,
    ) -> FloatArray:
        """Draw class means and sums of squares within, shape (number, C + 1), with nu 0, s2 1."""
        del n_levels
        spread = np.sqrt(atom + 1.0 / class_sizes)
        mean = spread * generator.standard_normal((number, class_sizes.size))
        degrees = int(class_sizes.sum()) - class_sizes.size
        within = generator.chisquare(degrees, number) if degrees else np.zeros(number)
        return np.concatenate([mean, within[:, None]], axis=1)

    def draw_columns(
        self, atom: float, class_sizes: IntArray, number: int, generator: np.random.Generator
    ) -> FloatArray:
        """Draw whole columns, class after class, shape (number, n)."""
        mean = np.sqrt(atom) * generator.standard_normal((number, class_sizes.size))
        noise = generator.standard_normal((number, int(class_sizes.sum())))
        return np.asarray(np.repeat(mean, class_sizes, axis=1) + noise)

    def likelihood(self, drawn: FloatArray, class_sizes: IntArray) -> Likelihood:
        """Return the log density of all but origin and unit, of rows of shape (m, C + 1)."""
        mean, within = np.ascontiguousarray(drawn[:, :-1].T), drawn[:, -1]
        flat = VariancePrior(0.0, 0.0)
        return lambda atoms: log_marginal(atoms, class_sizes[:, None], mean, within, flat)


def _log_dirichlet(parameter: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Draw logarithms of Dirichlet variables over the last axis, for parameters however small."""
    # Gamma(a) = Gamma(a + 1) U^(1 / a), which does not underflow as a logarithm.
    log_gamma = np.log(generator.standard_gamma(parameter + 1.0))
    log_gamma -= generator.standard_exponential(parameter.shape) / np.maximum(parameter, 1e-300)
    return np.asarray(log_gamma - logsumexp(log_gamma, axis=-1, keepdims=True))


def _log_binary(
    alpha: float, ones: IntArray, class_sizes: IntArray, interval: tuple[float, float]
) -> FloatArray:
    """Return log P(column | alpha) of binary columns in any number of classes, shape (m,).

    By quadrature over theta, with ones of shape (C, m).
    """
    rule = theta_rule(int(class_sizes.sum()), alpha, interval)
    steps = np.arange(int(class_sizes.max()))[:, None]

    def log_rising(x: FloatArray) -> FloatArray:
        """Log of x(x + 1)...(x + i - 1) in row i; sums lose nothing where alpha is large."""
        return np.concatenate([np.zeros((1, x.size)), np.cumsum(np.log(x + steps), axis=0)])

    one, zero = log_rising(alpha * rule.theta), log_rising(alpha * (1.0 - rule.theta))
    either = log_rising(np.array([alpha]))
    by_class = [one[: n + 1] + zero[n::-1] - either[n] for n in class_sizes.tolist()]
    result = np.empty(ones.shape[1])
    step = max(1, _BLOCK_CELLS // rule.theta.size)
    for begin in range(0, ones.shape[1], step):
        part = slice(begin, begin + step)
        terms = sum(table[i[part]] for table, i in zip(by_class, ones, strict=True))
        result[part] = logsumexp(terms, axis=1, b=rule.weight)
    return result
