"""Features drawn from a planted distribution, and models fitted to their counts alone."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import special

from honestbayes.data import Binarization
from honestbayes.likelihood.counts import distinct_counts
from honestbayes.likelihood.learned_prior import learn_prior
from honestbayes.likelihood.quadrature import AlphaPrior
from honestbayes.models.binary.model import BernoulliSettings, CommonAlphaSettings, fit_screening
from honestbayes.selection.counts import Screening

PRIOR = AlphaPrior(0.5, 5.0)


def draw_features(seed, n_features, sizes, log_alpha, theta):
    """Draw phi of both classes and counts; log_alpha and theta map (rng, p) to arrays."""
    rng = np.random.default_rng(seed)
    alpha = np.exp(log_alpha(rng, n_features))
    t = theta(rng, n_features)
    phi = np.clip(rng.beta(alpha * t, alpha * (1 - t), (2, n_features)), 1e-15, 1 - 1e-15)
    ones = np.stack([rng.binomial(n, q) for n, q in zip(sizes, phi, strict=True)])
    return phi, ones, np.log(alpha), t


def learn(ones, sizes):
    return learn_prior(distinct_counts(ones, np.array(sizes)[:, None]), PRIOR, (0.0, 1.0))


def fit_counts(ones, sizes, k, feature_prior, correction="counts", seed=0):
    """Fit the model from counts alone, without a table."""
    p = ones.shape[1]
    nothing = np.full(p, np.nan)
    screening = Screening(
        np.array([0, 1]),
        sizes,
        ones,
        np.array(sizes)[:, None],
        Binarization(np.full(p, 0.5), nothing),
    )
    settings = BernoulliSettings(
        n_features=k,
        threshold=None,
        always_keep=np.zeros(p, dtype=bool),
        feature_prior=feature_prior,
        correction=correction,
        model=CommonAlphaSettings(PRIOR, (0.0, 1.0), "adaptive", 1e-6),
        class_pseudocounts=(1.0, 1.0),
    )
    return fit_screening(screening, settings, np.random.RandomState(seed))


def all_patterns(k):
    return np.array(list(itertools.product((0, 1), repeat=k)), dtype=np.uint8)


def exact_optimism(fit, phi):
    """Actual minus expected error over the true distribution of x, all patterns summed."""
    x = all_patterns(len(fit.selection.kept))
    q = phi[:, list(fit.selection.kept)]
    joint = 0.5 * np.stack([np.prod(np.where(x, row, 1 - row), axis=1) for row in q])
    p1 = special.expit(fit.log_prior_odds + fit.evidence(x, None))
    guess = p1 >= 0.5
    actual = np.sum(np.where(guess, joint[0], joint[1]))
    expected = np.sum(joint.sum(axis=0) * np.minimum(p1, 1 - p1))
    return actual - expected


def distance_to_common_alpha(alpha, seed):
    """|P learned - P common alpha| of 2,000 cases, where all features share one alpha."""
    phi, ones, _, _ = draw_features(
        seed,
        10_000,
        (100, 100),
        lambda _, p: np.full(p, math.log(alpha)),
        lambda r, p: r.random(p),
    )
    learned = fit_counts(ones, (100, 100), 10, "learned")
    common = fit_counts(ones, (100, 100), 10, "uniform")
    assert learned.selection.kept == common.selection.kept
    rng = np.random.default_rng(seed)
    q = phi[:, list(learned.selection.kept)]
    x = (rng.random((2000, 10)) < q[rng.integers(0, 2, 2000)]).astype(np.uint8)
    return np.abs(
        special.expit(learned.log_prior_odds + learned.evidence(x, None))
        - special.expit(common.log_prior_odds + common.evidence(x, None))
    )
