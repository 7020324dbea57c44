"""Fit features whose distribution was learned from all that were screened."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from honestbayes.files.fields import Logs
from honestbayes.files.records import Check, Section
from honestbayes.likelihood.counts import GivenMargin
from honestbayes.likelihood.learned_alpha import ALPHA_TOLERANCE, LearnedDistribution
from honestbayes.likelihood.learned_prior import LearnedPrior, feature_likelihood
from honestbayes.models.binary.common_alpha import FeatureBlock
from honestbayes.models.binary.predictive import PredictiveTable
from honestbayes.models.shared.alpha_posterior import AlphaPosterior
from honestbayes.types import FloatArray

_NEGLIGIBLE = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedFit:
    """A fitted block: each kept feature has its own posterior over atoms of alpha.

    ``log_atom_weight``, of shape (A, D), is the log weight of each atom before the counts are
    seen, less what is not to be learned from: its number of ones, where the cut has fixed that.
    """

    posterior: AlphaPosterior
    table: PredictiveTable
    prior: LearnedPrior
    block: Annotated[FeatureBlock, Section(kind=FeatureBlock, stored_as="counts")]
    log_atom_weight: Annotated[FloatArray, Logs("atoms", "distinct")]

    def check(self, check: Check) -> None:
        """Refuse parts that are not of one model."""
        alpha, weights = self.prior.alpha, self.log_atom_weight
        check(self.posterior.edges is not None, "posterior.edges", "is missing")
        check(self.table.log_weight.size == 1, "table.log_weight", "is not of one node")
        same = np.array_equal(alpha, self.posterior.alpha)
        check(same, "posterior.alpha", "differs from the prior's")
        fits = weights.shape == (alpha.size, self.block.others.size)
        check(fits, "log_atom_weight", f"is an array of shape {weights.shape}")
        known = np.all(np.isfinite(weights[self.prior.alpha_weights > 0]))
        check(known, "log_atom_weight", "has no weight where the prior has some")


def fit_learned(block: FeatureBlock, prior: LearnedPrior) -> LearnedFit:
    """Shrink each kept feature by its own posterior, given the learned prior."""
    counts = block.counts
    likelihood = feature_likelihood(counts, prior.rule, prior.given_margin)
    parts = [likelihood(float(alpha)) for alpha in prior.alpha]
    log_likelihood = np.stack([part[0] for part in parts])
    kept_log_likelihood = log_likelihood @ block.kept_multiplicity
    atoms = np.flatnonzero(prior.alpha_weights > _NEGLIGIBLE)
    mean_theta = np.stack([part[1] for part in parts])[atoms]
    log_weight = log_likelihood[atoms] + np.log(prior.alpha_weights[atoms])[:, None]
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
    if not prior.converged:
        warnings.warn(
            "EM for the learned prior stopped at its limit of steps; the distribution of features "
            "may be less well adapted than it could be.",
            ConvergenceWarning,
            stacklevel=3,
        )
    with np.errstate(divide="ignore"):
        log_atom_weight = np.repeat(
            np.log(prior.alpha_weights)[:, None], counts.multiplicity.size, axis=1
        )
    if isinstance(likelihood, GivenMargin):
        log_atom_weight -= np.stack([likelihood.log_margin(float(a)) for a in prior.alpha])
    shape = LearnedDistribution(
        weights=prior.alpha_weights,
        family=prior.family,
        free=prior.free,
        path=prior.path,
        converged=prior.converged,
    )
    posterior = as_posterior(prior.alpha, shape, prior.log_likelihood, kept_log_likelihood)
    return LearnedFit(
        posterior=posterior, table=table, prior=prior, block=block, log_atom_weight=log_atom_weight
    )


def as_posterior(
    alpha: FloatArray,
    shape: LearnedDistribution,
    log_likelihood: FloatArray,
    kept_log_likelihood: FloatArray,
) -> AlphaPosterior:
    """Present the distribution of alpha over features in the form of a posterior.

    Parameters
    ----------
    alpha : ndarray of shape (A,)
        Atoms.
    shape : LearnedDistribution
        The share of features at each.
    log_likelihood, kept_log_likelihood : ndarray of shape (A,)
        Of all features and of the kept ones, were the atom the alpha of all.
    """
    t = np.log(alpha)
    first, last = t[1] - t[0], min(t[-1] - t[-2], 1.0)
    edges = np.concatenate([[t[0] - first / 2], (t[1:] + t[:-1]) / 2, [t[-1] + last / 2]])
    weights = shape.weights / shape.weights.sum()
    gain = float(shape.path[-1] - shape.path[-2]) if shape.path.size > 1 else 0.0
    return AlphaPosterior(
        alpha=alpha,
        weights=weights,
        log_prob_selection=log_likelihood - kept_log_likelihood,
        log_density=np.log(np.maximum(weights, 1e-300) / np.diff(edges)),
        error=gain,
        tolerance=ALPHA_TOLERANCE,
        edges=edges,
    )
