"""Intervals for a probability: coherence with the probability, brute force, and coverage."""

import math

import numpy as np
import oracles
import pytest
from comparisons import interval_mean_distance, kept_patterns, probability_draws, small_table
from grids import each_once, slow
from scipy.special import expit

from honestbayes import SelectiveBernoulliNB

MODELS = {
    "uniform, selection": {"feature_prior": "uniform", "correction": "selection"},
    "uniform, counts": {"feature_prior": "uniform", "correction": "counts"},
    "uniform, none": {"feature_prior": "uniform", "correction": None},
    "learned": {"feature_prior": "learned"},
    "always_keep": {"feature_prior": "uniform", "correction": "selection", "always_keep": [1, 3]},
    "learned, always_keep": {"feature_prior": "learned", "always_keep": [1, 3]},
}


@each_once("name, n, missing", list(MODELS), [6, 24], [0.0, 0.15])
def test_the_mean_of_the_distribution_is_predict_proba(name, n, missing):
    X, y = small_table(seed=11, n=n, p=30, missing=missing)
    model = SelectiveBernoulliNB(
        n_features_to_select=3, recalibrate=None, random_state=0, **MODELS[name]
    ).fit(X, y)
    rows = kept_patterns(model, 30, missing=True)
    z, size = interval_mean_distance(model, rows)
    assert np.max(np.abs(z)) < 4.5  # 32 rows at one in ten thousand
    assert np.max(size) < 0.03


@pytest.mark.parametrize("name", ["uniform, selection", "learned"])
def test_the_mean_is_predict_proba_at_another_prevalence(name):
    X, y = small_table(seed=12, n=20, p=30)
    model = SelectiveBernoulliNB(
        n_features_to_select=3,
        recalibrate=None,
        random_state=0,
        class_prior=(0.2, 0.8),
        **MODELS[name],
    ).fit(X, y)
    rows = kept_patterns(model, 30)
    z, _ = interval_mean_distance(model, rows, log_prior=np.log([0.2, 0.8]))
    assert np.max(np.abs(z)) < 4.5


def prior_sample(generator, size, k, alpha_prior):
    """Draw parameters from the prior: psi, alpha and both phi of k features."""
    shape, rate = alpha_prior
    alpha = rate / generator.gamma(shape, 1.0, size)
    theta = generator.random((k, size))
    phi = [
        np.clip(generator.beta(alpha * theta, alpha * (1 - theta)), 1e-300, 1 - 1e-16)
        for _ in range(2)
    ]
    return generator.random(size), alpha, phi


def brute_force(X, y, kept, rows, correction, alpha_prior, size=600_000):
    """Weigh draws from the prior by the likelihood of the training data and of x itself.

    Returns values of P(class 1 | x, parameters) and weights, for each row.
    """
    psi, alpha, phi = prior_sample(np.random.default_rng(5), size, len(kept), alpha_prior)
    n1 = int(np.sum(y == 1))
    log_weight = n1 * np.log(psi) + (y.size - n1) * np.log1p(-psi)
    for position, j in enumerate(kept):
        for c in (0, 1):
            column = X[y == c, j]
            ones, zeros = np.sum(column == 1), np.sum(column == 0)
            log_weight += ones * np.log(phi[c][position]) + zeros * np.log1p(-phi[c][position])
    if correction == "selection":
        oracle = oracles.TwoDimensionalIntegral(
            X, y, kept, correction="selection", alpha_prior=alpha_prior
        )
        log_weight += np.interp(np.log(alpha), oracle.log_alpha, oracle.log_event)
    for row in rows:
        likelihood = [psi * 0 + 1.0, psi * 0 + 1.0]
        for position, j in enumerate(kept):
            for c in (0, 1):
                q = phi[c][position]
                likelihood[c] = likelihood[c] * (q if row[j] == 1 else 1 - q)
        total = psi * likelihood[1] + (1 - psi) * likelihood[0] + 1e-300
        weight = np.exp(log_weight - log_weight.max()) * total
        yield psi * likelihood[1] / total, weight / weight.sum()


@each_once("correction, alpha_prior, k", [None, "selection"], [(0.5, 5.0), (3.0, 6.0)], [2, 1])
def test_the_distribution_agrees_with_importance_sampling_from_the_prior(
    k, correction, alpha_prior
):
    X, y = small_table(seed=21, n=6, p=5)
    model = SelectiveBernoulliNB(
        n_features_to_select=k,
        feature_prior="uniform",
        correction=correction,
        recalibrate=None,
        alpha_prior=alpha_prior,
        random_state=0,
    ).fit(X, y)
    rows = kept_patterns(model, 5)
    draws = probability_draws(model, rows, 20_000)
    expected = brute_force(X, y, list(model.selection_.kept), rows, correction, alpha_prior)
    grid = np.linspace(0.05, 0.95, 19)
    for row, (value, weight) in enumerate(expected):
        effective = 1 / np.sum(weight**2)
        assert effective > 5000
        target = np.array([weight[value <= g].sum() for g in grid])
        got = np.array([draws.weight[row][draws.value[row, 0] <= g].sum() for g in grid])
        noise = 4.5 * np.sqrt(0.25 / effective + 0.25 / 20_000)
        # Theta is drawn from the nodes of its rule, which leaves a trace in so small a sample.
        assert np.max(np.abs(got - target)) < noise + 0.005


def coverage(correction, n_replicates, seed, *, prior=(5.0, 500.0), n=30, p=200, k=5):
    """Share of rows whose true P(class 1 | x) lies in the interval, one number per replicate."""
    generator = np.random.default_rng(seed)
    shares, n_rows = [], 12
    while len(shares) < n_replicates:
        psi, _, phi = prior_sample(generator, 1, p, prior)
        phi = np.stack([part[:, 0] for part in phi])
        y = (generator.random(n) < psi[0]).astype(int)
        if not 0 < y.sum() < n:
            continue  # a function of y, on which everything is conditioned
        X = (generator.random((n, p)) < phi[y]).astype(np.int8)
        model = SelectiveBernoulliNB(
            n_features_to_select=k,
            feature_prior="uniform",
            correction=correction,
            recalibrate=None,
            alpha_prior=prior,
            binarize=None,
            tol=1e-5,
            random_state=int(generator.integers(1 << 31)),
        ).fit(X, y)
        y_new = (generator.random(n_rows) < psi[0]).astype(int)
        rows = (generator.random((n_rows, p)) < phi[y_new]).astype(np.int8)
        kept = list(model.selection_.kept)
        x, q = rows[:, kept], phi[:, kept]
        log_ratio = x @ (np.log(q[1]) - np.log(q[0]))
        log_ratio += (1 - x) @ (np.log1p(-q[1]) - np.log1p(-q[0]))
        truth = expit(math.log(psi[0]) - math.log1p(-psi[0]) + log_ratio)
        low, high = model.predict_proba_interval(rows, 0.9, n_draws=1000).T
        shares.append(np.mean((low <= truth) & (truth <= high)))
    return np.array(shares)


@pytest.mark.slow_cases("prior0-200-120")
@pytest.mark.parametrize(
    ("prior", "p", "n_replicates"),
    [((5.0, 500.0), 200, 120), slow((5.0, 500.0), 200, 300), slow((1.0, 50.0), 1000, 300)],
)
def test_ninety_percent_intervals_cover_ninety_percent_over_the_prior(prior, p, n_replicates):
    shares = coverage("selection", n_replicates, seed=1, prior=prior, p=p)
    error = shares.std(ddof=1) / math.sqrt(shares.size)
    assert error < 0.02
    assert abs(shares.mean() - 0.9) < 3.9 * error  # one in ten thousand


def test_without_correction_the_intervals_cover_too_little():
    shares = coverage(None, 60, seed=2, prior=(1.0, 50.0), p=1000)
    error = shares.std(ddof=1) / math.sqrt(shares.size)
    assert shares.mean() < 0.9 - 3.9 * error
