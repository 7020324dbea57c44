"""Logistic regression: long chains at larger sizes, and data drawn from the prior."""

import numpy as np
import pytest
from oracles_logistic import chain_probabilities
from scipy.special import expit

from honestbayes import SelectiveLogistic
from honestbayes.models.logistic.estimator import SCALES

REPLICATES = 400


@pytest.mark.parametrize(
    ("n", "k", "size"), [(40, 10, 1.0), (60, 10, 1000.0), (30, 10, 1000.0), (40, 100, 1000.0)]
)
def test_probabilities_are_those_of_long_chains(n, k, size):
    rng = np.random.default_rng(n + k)
    X, new = rng.normal(size=(n, k)), rng.normal(size=(40, k))
    y = (rng.random(n) < expit(size * X[:, :3].sum(axis=1))).astype(int)
    prevalence = (y.sum() + 1) / (n + 2)
    runs = np.stack(
        [
            chain_probabilities(
                X, y, new, SCALES, prevalence, n_steps=1500, n_warmup=400, seed=seed
            )
            for seed in range(4)
        ]
    )
    model = SelectiveLogistic(n_features_to_select="all", recalibrate=None).fit(X, y)
    apart = np.abs(model.predict_proba(new)[:, 1] - runs.mean(axis=0))
    # Chains of separated classes mix slowly: their own error, as the runs tell it, is allowed for.
    # In the worst case (30, 10) ten runs of 8,000 steps are 0.016 (0.001) from the model.
    error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    assert error.max() < 0.01
    assert np.all(apart < 0.02 + 2 * error)


@pytest.mark.parametrize(("n", "k"), [(60, 5), (40, 60)])
def test_claims_over_data_drawn_from_the_prior_are_what_happens(n, k):
    rng = np.random.default_rng(1)
    optimism = []
    for _ in range(REPLICATES):
        scale = rng.choice(SCALES)
        beta, intercept = scale / np.sqrt(k) * rng.normal(size=k), 2 * rng.normal()
        X, new = rng.normal(size=(n, k)), rng.normal(size=(200, k))
        y = (rng.random(n) < expit(intercept + X @ beta)).astype(int)
        if min(np.bincount(y, minlength=2)) < 2:
            continue
        model = SelectiveLogistic(n_features_to_select="all", recalibrate=None).fit(X, y)
        p, truth = model.predict_proba(new)[:, 1], expit(intercept + new @ beta)
        predicted = np.minimum(p, 1 - p).mean()
        optimism.append(np.where(p > 0.5, 1 - truth, truth).mean() - predicted)
    error = 1.96 * np.std(optimism) / np.sqrt(len(optimism))
    assert abs(np.mean(optimism)) + error < 0.02
