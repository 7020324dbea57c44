"""Learn from all screened categorical features how features are distributed.

The distribution of alpha over features is shared by features of any number of levels. Theta of a
two-level feature in two classes has the learned density of the binary model; theta of others is
Dirichlet with a symmetric parameter, the base, chosen by marginal likelihood: below 1 where levels
are of unequal frequency, as rare ones are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from honestbayes.files.fields import Number
from honestbayes.files.records import INLINE
from honestbayes.likelihood.counts import DistinctCounts, distinct_counts
from honestbayes.likelihood.dirichlet import log_marginal, table_likelihood
from honestbayes.likelihood.learned_alpha import (
    COARSE_SPACING,
    LearnedAlpha,
    alpha_atoms,
    em_weights,
    learn_alpha,
    prior_mass,
)
from honestbayes.likelihood.learned_prior import LearnedPrior, learn_theta, most_cases
from honestbayes.likelihood.quadrature import AlphaPrior
from honestbayes.threads import one_blas_thread
from honestbayes.types import FloatArray, IntArray

BASES = (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 5.0)

_CASES_FOR_BASE = 80_000
"""Tables with more cases than these together add little to what is known of the base."""

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
    others = [distinct_tables(tables) for tables in groups if not is_binary(tables)]
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


def _learn_base(
    groups: Sequence[tuple[IntArray, IntArray]], prior: AlphaPrior, n_cases: int
) -> float:
    """Return the base of largest marginal likelihood, times a lognormal prior around 1."""
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
        found = em_weights(likelihood, multiplicity, mass, mass, tolerance=_ENOUGH)
        score[index] = multiplicity @ (np.log(likelihood @ found.weights) + top[:, 0])
    return float(BASES[int(np.argmax(score - np.log(BASES) ** 2 / 2))])
