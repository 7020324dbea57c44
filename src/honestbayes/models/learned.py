"""Fit features whose distribution was learnt from all that were screened."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from honestbayes.correction.counts import CountLikelihood
from honestbayes.correction.learned_prior import LearnedPrior
from honestbayes.models.alpha_posterior import AlphaPosterior
from honestbayes.models.common_alpha import FeatureBlock
from honestbayes.models.predictive import PredictiveTable
from honestbayes.types import FloatArray

_NEGLIGIBLE = 1e-10


@dataclass(frozen=True, slots=True)
class LearnedFit:
    """A fitted block: each kept feature has its own posterior over atoms of alpha."""

    posterior: AlphaPosterior
    table: PredictiveTable
    prior: LearnedPrior
    block: FeatureBlock


def fit_learned(block: FeatureBlock, prior: LearnedPrior, tolerance: float) -> LearnedFit:
    """Shrink each kept feature by its own posterior, given the learned prior."""
    atoms = np.flatnonzero(prior.alpha_weights > _NEGLIGIBLE)
    counts = block.counts
    likelihood = CountLikelihood(counts, (0.0, 1.0), prior.rule)
    log_weight = np.empty((atoms.size, counts.multiplicity.size))
    mean_theta = np.empty_like(log_weight)
    for position, atom in enumerate(atoms):
        log_weight[position], mean_theta[position] = likelihood(float(prior.alpha[atom]))
    log_weight += np.log(prior.alpha_weights[atoms])[:, None]
    weight = np.exp(log_weight - log_weight.max(axis=0, initial=-np.inf))
    weight /= weight.sum(axis=0)
    a = prior.alpha[atoms][:, None]
    ones, zeros = [], []
    for label in (0, 1):
        i, n = counts.ones[label], counts.observed[label]
        ones.append((weight * (a * mean_theta + i) / (a + n)).sum(axis=0))
        zeros.append((weight * (a * (1 - mean_theta) + n - i) / (a + n)).sum(axis=0))
    table = PredictiveTable.of_columns(
        np.zeros(1), np.log(ones)[:, None, :], np.log(zeros)[:, None, :], block.kept
    )
    return LearnedFit(_as_posterior(prior, tolerance), table, prior, block)


def _as_posterior(prior: LearnedPrior, tolerance: float) -> AlphaPosterior:
    """Present the distribution of alpha over features in the form of a posterior."""
    t = np.log(prior.alpha)
    edges: FloatArray = np.concatenate([[t[0]], (t[1:] + t[:-1]) / 2, [t[-1]]])
    with np.errstate(divide="ignore"):
        log_density = np.log(np.maximum(prior.alpha_weights, 1e-300) / np.diff(edges))
    gain = float(prior.path[-1] - prior.path[-2]) if prior.path.size > 1 else 0.0
    return AlphaPosterior(
        prior.alpha,
        prior.alpha_weights / prior.alpha_weights.sum(),
        np.zeros(prior.alpha.size),
        log_density,
        abs(gain) if prior.converged else np.inf,
        max(tolerance, abs(gain)),
    )
