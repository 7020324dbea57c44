"""Measurements kept by design have a distribution of their own, not that of the race."""

import numpy as np
import pytest
from oracles_gaussian import log_column
from scipy.special import logsumexp
from sklearn.metrics import log_loss

from honestbayes import SelectiveFactorClassifier, SelectiveGaussianNB, SelectiveMixedNB, load


def covariate_beside_noise(seed, n=200, p=2000):
    """A covariate 0.8 standard deviations apart, and columns that know nothing of the class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p + 1))
    X[:, 0] += 0.8 * y
    return X, y


def score(model, columns):
    """Log score on fresh cases, over four data sets."""
    found = []
    for seed in range(4):
        X, y = covariate_beside_noise(seed)
        Z, new = covariate_beside_noise(100 + seed, n=1000)
        model.fit(X[:, columns], y)
        found.append(log_loss(new, model.predict_proba(Z[:, columns])))
    return np.mean(found)


@pytest.mark.parametrize("model", [SelectiveGaussianNB, SelectiveMixedNB])
def test_a_covariate_says_beside_thousands_of_idle_columns_what_it_says_alone(model):
    alone = score(SelectiveGaussianNB(recalibrate=None), [0])
    words = {"always_keep": [0], "n_features_to_select": 5, "recalibrate": None}
    beside = score(model(**words), np.arange(2001))
    assert alone < 0.65  # nothing is 0.693
    assert beside < alone + 0.01


def log_heavy_tailed(ratio, scale):
    """Log weights on the grid of scale times the square of a half Cauchy variable."""
    edges = np.sqrt(ratio[1:-1] * ratio[2:])
    edges = np.concatenate([[ratio[1] ** 2 / edges[0]], edges, [np.inf]])
    below = np.concatenate([[0.0], 2 / np.pi * np.arctan(np.sqrt(edges / scale))])
    return np.log(np.diff(below))


def log_joint(columns, y, ratio, log_weights, prior, scales):
    """log P(columns) where log_weights are those of each node, averaged over the nodes."""
    table = [
        [log_column(x, y, w, prior.shape, scale) for w in ratio]
        for x, scale in zip(columns, scales, strict=True)
    ]
    by_node = [sum(logsumexp(np.array(row) + weights) for row in table) for weights in log_weights]
    return logsumexp(by_node)


@pytest.mark.parametrize("n", [6, 9, 12])
def test_predictions_are_ratios_of_both_blocks_marginal_likelihoods(n):
    rng = np.random.default_rng(n)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 20)) + np.outer(y, np.arange(20) < 2)
    words = {"n_features_to_select": 1, "always_keep": [1, 5], "recalibrate": None}
    model = SelectiveGaussianNB(**words).fit(X, y)
    (kept,) = model.selection_.kept
    ratio, prior = model.posterior_.ratio, model.variance_prior_
    ends = np.log(ratio[1]) - 9.0, 0.0
    heavy = [log_heavy_tailed(ratio, scale) for scale in np.exp(np.linspace(*ends, 24))]
    with np.errstate(divide="ignore"):
        learned = [np.log(model.posterior_.weights[0])]
    new = rng.normal(size=20)
    joint = np.log((np.bincount(y) + 1) / (n + 2))
    for names, weights in (([kept], learned), ([1, 5], heavy)):
        scales = [prior.scale * X[:, j].var(ddof=1) for j in names]
        before = log_joint(X[:, names].T, y, ratio, weights, prior, scales)
        for label in (0, 1):
            columns = [np.append(X[:, j], new[j]) for j in names]
            after = log_joint(columns, np.append(y, label), ratio, weights, prior, scales)
            joint[label] += after - before
    found = model.predict_log_proba(new[None])[0]
    assert found == pytest.approx(joint - logsumexp(joint), abs=1e-6)


@pytest.mark.filterwarnings("ignore:the chains have not converged")
def test_a_factor_model_learns_the_covariate_too():
    words = {"n_factors": 0, "recalibrate": None, "random_state": 0}
    chains = {"n_chains": 1, "n_warmup": 50, "n_draws": 150}
    alone = score(SelectiveFactorClassifier(**words, **chains), [0])
    beside = SelectiveFactorClassifier(always_keep=[0], n_features_to_select=4, **words, **chains)
    assert score(beside, np.arange(301)) < alone + 0.015


def test_both_distributions_are_saved(tmp_path):
    X, y = covariate_beside_noise(1, n=40, p=30)
    model = SelectiveGaussianNB(always_keep=[0, 3], n_features_to_select=4).fit(X, y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert str(again.feature_table()) == str(model.feature_table())
