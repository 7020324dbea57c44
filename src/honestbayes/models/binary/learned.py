"""Fit features whose distribution was learned from all that were screened."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from honestbayes.files.fields import CLOSE, Logs
from honestbayes.files.records import Check, Section
from honestbayes.likelihood.counts import GivenMargin
from honestbayes.likelihood.learned_alpha import ALPHA_TOLERANCE, LearnedDistribution
from honestbayes.likelihood.learned_prior import LearnedPrior, feature_likelihood
from honestbayes.models.binary.common_alpha import FeatureBlock
from honestbayes.models.binary.predictive import PredictiveTable
from honestbayes.models.shared.alpha_posterior import AlphaPosterior
from honestbayes.types import FloatArray, IntArray

_NEGLIGIBLE = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedFit:
    """A fitted block: given the shape, each kept feature has its own posterior over atoms of alpha.

    The nodes of ``table`` are the shapes. ``log_atom_weight``, of shape (A, D), is the log weight
    of each atom before the counts are seen, averaged over shapes, less what is not to be learned
    from: its number of ones, where the cut has fixed that.
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
        nodes = np.exp(self.table.log_weight)
        same = nodes.shape == self.prior.shape_weights.shape
        same = same and np.allclose(nodes, self.prior.shape_weights, rtol=0, atol=CLOSE)
        check(same, "table.log_weight", "differs from the weights of the shapes")
        same = np.array_equal(alpha, self.posterior.alpha)
        check(same, "posterior.alpha", "differs from the prior's")
        fits = weights.shape == (alpha.size, self.block.others.size)
        check(fits, "log_atom_weight", f"is an array of shape {weights.shape}")
        known = np.all(np.isfinite(weights[self.prior.alpha_weights > 0]))
        check(known, "log_atom_weight", "has no weight where the prior has some")

    def log_atom_weight_given(self, shape: int, atoms: IntArray) -> FloatArray:
        """Return the log weight of some atoms under one shape, shape (atoms, D)."""
        share = self.prior.shapes[shape, atoms] / self.prior.alpha_weights[atoms]
        with np.errstate(divide="ignore"):
            return np.asarray(self.log_atom_weight[atoms] + np.log(share)[:, None])


def fit_learned(block: FeatureBlock, prior: LearnedPrior) -> LearnedFit:
    """Shrink each kept feature by its own posterior, given the learned prior.

    With shapes s of posterior probability W_s and atoms a with shares g_s(a),

    P(x* | class c, data) = sum_s W_s prod_j sum_a w_sj(a) P(x*_j | c, a, counts of j),

    where w_sj(a) is proportional to g_s(a) P(counts of j | a). Features are independent given the
    shape only: the product over features stands inside the sum over shapes.
    """
    counts = block.counts
    likelihood = feature_likelihood(counts, prior.rule, prior.given_margin)
    parts = [likelihood(float(alpha)) for alpha in prior.alpha]
    log_likelihood = np.stack([part[0] for part in parts])
    kept_log_likelihood = log_likelihood @ block.kept_multiplicity
    used = np.flatnonzero(prior.alpha_weights > _NEGLIGIBLE)
    mean_theta = np.stack([part[1] for part in parts])[used]
    a = prior.alpha[used][:, None]
    i, n = counts.ones[:, None], counts.observed[:, None]
    one = (a * mean_theta + i) / (a + n)
    zero = (a * (1 - mean_theta) + n - i) / (a + n)
    log_one = np.empty((2, prior.shape_weights.size, counts.multiplicity.size))
    log_zero = np.empty(log_one.shape)
    for s, shape in enumerate(prior.shapes[:, used]):
        # A shape's own atoms, and their own largest likelihood: under "one alpha for all" a strong
        # feature may be all but impossible, and must not become 0 / 0.
        own = np.flatnonzero(shape > _NEGLIGIBLE)
        log_weight = log_likelihood[used[own]] + np.log(shape[own])[:, None]
        weight = np.exp(log_weight - log_weight.max(axis=0, initial=-np.inf))
        weight /= weight.sum(axis=0)
        log_one[:, s] = np.log((weight * one[:, own]).sum(axis=1))
        log_zero[:, s] = np.log((weight * zero[:, own]).sum(axis=1))
    # The nodes are shapes, not alphas: the product over features is inside the sum over shapes.
    table = PredictiveTable.of_columns(np.log(prior.shape_weights), log_one, log_zero, block.kept)
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
        shapes=prior.shapes,
        shape_weights=prior.shape_weights,
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
