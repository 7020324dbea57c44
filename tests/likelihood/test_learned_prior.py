"""The learned prior: its EM, what it recovers, and what its probabilities are worth."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_features import (
    distance_to_common_alpha,
    draw_features,
    exact_optimism,
    fit_counts,
    learn,
)
from scipy import optimize, special, stats

from honestbayes.likelihood.learned_alpha import em_weights

# --------------------------------------------------------------------------------------------- EM


def objective(likelihood, multiplicity, pseudo, w):
    """Penalised log likelihood, term by term."""
    total = 0.0
    for row, m in zip(likelihood, multiplicity, strict=True):
        total += m * math.log(sum(a * b for a, b in zip(w, row, strict=True)))
    return total + sum(c * math.log(a) for c, a in zip(pseudo, w, strict=True) if c > 0)


@st.composite
def mixture_tables(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, g = draw(st.integers(1, 30)), draw(st.integers(1, 12))
    sharpness = draw(st.sampled_from([0.1, 1.0, 5.0, 40.0]))
    log_likelihood = sharpness * rng.standard_normal((n, g))
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    multiplicity = rng.integers(1, draw(st.sampled_from([2, 1000])), n)
    pseudo = draw(st.sampled_from([0.0, 0.1, 20.0])) * rng.dirichlet(np.ones(g))
    start = rng.dirichlet(np.ones(g)) + 1e-6
    return likelihood, multiplicity, pseudo, start


@given(mixture_tables())
@settings(deadline=None, max_examples=150)
def test_no_step_of_em_lowers_the_penalised_likelihood(table):
    likelihood, multiplicity, pseudo, start = table
    result = em_weights(likelihood, multiplicity, pseudo, start)
    assert np.all(np.diff(result.path) >= -1e-9 * np.abs(result.path[:-1]).max())
    assert result.weights.sum() == pytest.approx(1)
    assert np.all(result.weights >= 0)
    w = start / start.sum()
    scale = 1e-9 * (1 + abs(result.path).max())
    assert result.path[0] == pytest.approx(
        objective(likelihood, multiplicity, pseudo, w), abs=scale
    )
    assert result.path[-1] == pytest.approx(
        objective(likelihood, multiplicity, pseudo, result.weights), abs=scale
    )


@pytest.mark.parametrize("seed", range(8))
def test_em_reaches_the_maximum_that_a_general_optimiser_finds(seed):
    rng = np.random.default_rng(seed)
    log_likelihood = 2 * rng.standard_normal((25, 5))
    likelihood = np.exp(log_likelihood)
    multiplicity = rng.integers(1, 50, 25)
    pseudo = 3 * rng.dirichlet(np.ones(5))

    def minus(z):
        return -objective(likelihood, multiplicity, pseudo, special.softmax(z))

    best = -min(
        optimize.minimize(minus, rng.standard_normal(5), method="BFGS", tol=1e-8).fun
        for _ in range(2)
    )
    start = np.full(5, 0.2)
    far = em_weights(likelihood, multiplicity, pseudo, start, tolerance=1e-10, max_steps=5000)
    assert far.converged
    assert far.path[-1] == pytest.approx(best, abs=1e-5)
    usual = em_weights(likelihood, multiplicity, pseudo, start)
    assert usual.path[-1] == pytest.approx(best, abs=0.05)


# --------------------------------------------------------------------------- planted distributions


def capped_moments(log_alpha, weight, cap):
    """Mean and standard deviation of log(min(alpha, cap))."""
    t = np.minimum(log_alpha, math.log(cap))
    mean = weight @ t
    return float(mean), float(np.sqrt(weight @ (t - mean) ** 2))


def pair_likelihoods(log_alpha, ones, n, theta_distribution):
    """P(I0, I1 | alpha) of each feature for each alpha, theta integrated; shape (p, A)."""
    x, w = np.polynomial.legendre.leggauss(200)
    theta = (x + 1) / 2
    w = w / 2 * theta_distribution.pdf(theta)
    i = np.arange(n + 1)[:, None]
    columns = []
    for alpha in np.exp(log_alpha):
        a, b = alpha * theta, alpha * (1 - theta)
        pmf = np.exp(
            special.betaln(a + i, b + n - i)
            - special.betaln(a, b)
            - np.log(n + 1)
            - special.betaln(i + 1, n - i + 1)
        )
        columns.append(((pmf * w) @ pmf.T)[ones[0], ones[1]])
    return np.stack(columns, axis=1)


def fit_normal_family(log_alpha, likelihood):
    """Maximum likelihood in the family log(alpha) ~ N(mu, sd^2), on a fine grid."""

    def weights(q):
        w = np.exp(-0.5 * ((log_alpha - q[0]) / math.exp(q[1])) ** 2)
        return w / w.sum()

    def minus(q):
        return -np.log(likelihood @ weights(q)).sum()

    best = optimize.minimize(minus, [3.0, 0.3], method="Nelder-Mead", options={"xatol": 1e-3})
    return weights(best.x), -best.fun


@pytest.mark.parametrize("seed", range(4))
def test_a_planted_distribution_is_recovered_as_well_as_the_data_allow(seed):
    # One feature of 100 + 100 cases cannot tell alpha = 5000 from infinity: so moments are those of
    # log(min(alpha, 5000)), and the likelihood is compared with the maximum-likelihood fit of the
    # true two-parameter family.
    sizes = (100, 100)
    _, ones, log_alpha, theta = draw_features(
        seed, 10_000, sizes, lambda r, p: r.normal(4, 1, p), lambda r, p: r.beta(2, 5, p)
    )
    prior = learn(ones, sizes)
    mean, sd = prior.theta_moments()
    assert mean == pytest.approx(theta.mean(), abs=0.01)
    assert sd == pytest.approx(theta.std(), abs=0.01)

    grid = np.arange(-1.0, 12.0, 0.2)
    beta = stats.beta(2, 5)
    family, best = fit_normal_family(grid, pair_likelihoods(grid, ones, 100, beta))
    own = pair_likelihoods(np.log(prior.alpha), ones, 100, beta)
    assert np.log(own @ prior.alpha_weights).sum() > best - 6

    truth = np.minimum(log_alpha, math.log(5000))
    by_family = capped_moments(grid, family, 5000)
    learned = capped_moments(np.log(prior.alpha), prior.alpha_weights, 5000)
    assert by_family == pytest.approx((truth.mean(), truth.std()), abs=0.1)
    assert learned == pytest.approx(by_family, abs=0.15)


def test_probabilities_are_calibrated_on_data_from_a_planted_distribution():
    corrected, uncorrected = [], []
    for seed in range(10):
        phi, ones, _, _ = draw_features(
            seed,
            10_000,
            (100, 100),
            lambda r, p: r.normal(6, 0.8, p),
            lambda r, p: r.beta(2, 5, p),
        )
        corrected.append(exact_optimism(fit_counts(ones, (100, 100), 5, "learned"), phi))
        naive = fit_counts(ones, (100, 100), 5, "uniform", correction=None)
        uncorrected.append(exact_optimism(naive, phi))
    error = np.std(corrected, ddof=1) / math.sqrt(10)
    assert abs(np.mean(corrected)) < 0.01 + 2 * error
    assert np.mean(uncorrected) > 0.01 + 2 * np.std(uncorrected, ddof=1) / math.sqrt(10)


@pytest.mark.slow_cases("300.0-0.01-0.005", "50.0-0.01-0.005")
@pytest.mark.parametrize(
    ("alpha", "mean", "median"), [(50.0, 0.01, 0.005), (300.0, 0.01, 0.005), (2000.0, 0.03, 0.015)]
)
def test_the_learned_prior_reduces_to_the_common_alpha_model(alpha, mean, median):
    # A data set can look spread by luck, the more so where the signal is weak: so on average. At
    # alpha = 2000, 200 cases can hardly tell equal features from few weak ones among idle ones,
    # which have a prior probability of their own (docs, "The learned prior").
    differences = [distance_to_common_alpha(alpha, seed).mean() for seed in range(10)]
    assert np.mean(differences) < mean
    assert np.median(differences) < median
