"""Expectation propagation against integrals, and one form of the columns against another."""

import numpy as np
import pytest
from oracles_logistic import chain_probabilities, log_evidence_by_quadrature
from scipy import integrate
from scipy.special import expit

from honestbayes.models.logistic import estimator
from honestbayes.models.logistic.estimator import (
    SCALES,
    DenseRegressors,
    Directions,
    SparseRegressors,
    fit_scales,
    training_columns,
)
from honestbayes.models.logistic.propagation import log_mean_expit, no_sites, propagate, tilted

EVEN = np.log([0.5, 0.5])


def table(n, k, size=1.0, seed=0):
    """Measurements of which three tell the class, and new ones; a very large size separates."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k))
    y = (rng.random(n) < expit(size * X[:, :3].sum(axis=1))).astype(int)
    return X, y, rng.normal(size=(30, k))


def fitted(X, y, new, log_prior=EVEN, turned=None):
    directions = Directions.learn(X, X.shape[1], turned=turned)
    posterior = fit_scales(directions, X, y, log_prior, X.shape[1])
    return posterior, np.exp(
        posterior.log_proba(*posterior.predictor(*directions.coordinates(new)))
    )


@pytest.mark.parametrize("variance", [0.01, 1.0, 9.0, 400.0])
@pytest.mark.parametrize("mean", [-9.0, -1.0, 0.0, 4.0])
def test_moments_under_the_logistic_function_are_those_of_the_integral(mean, variance):
    sd = np.sqrt(variance)

    def moment(power):
        def integrand(t):
            return expit(mean + sd * t) * (mean + sd * t) ** power * np.exp(-(t**2) / 2)

        return integrate.quad(integrand, -14, 14, points=[-mean / sd], limit=500)[0]

    mass, first, second = (moment(power) / np.sqrt(2 * np.pi) for power in range(3))
    found = tilted(np.array([mean]), np.array([variance]))
    centre = mean + variance * found.slope[0]
    left = variance - variance**2 * found.curvature[0]
    assert found.log_mass[0] == pytest.approx(np.log(mass), abs=3e-5)
    assert centre == pytest.approx(first / mass, abs=1e-4 * sd)
    assert left == pytest.approx(second / mass - (first / mass) ** 2, rel=1e-3)
    log_mean = log_mean_expit(np.array(mean), np.array(variance))
    assert log_mean == pytest.approx(np.log(mass), abs=3e-5)


def test_tails_are_those_of_the_logistic_function():
    mean = np.array([-1e6, -700.0, -60.0, -25.0])
    found = log_mean_expit(mean, np.full(4, 1e-6))
    assert np.allclose(found, mean, rtol=1e-9)
    assert np.all(log_mean_expit(-mean, np.full(4, 1e-6)) <= 0)


@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_evidence_and_probabilities_of_six_cases_are_those_of_quadrature(
    n_columns, scale, seed, monkeypatch
):
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(6, n_columns)), rng.normal(size=(5, n_columns))
    y = np.array([[0, 1, 1, 0, 1, 1], [0, 0, 0, 1, 1, 1], [1, 0, 0, 0, 0, 1]][seed])
    monkeypatch.setattr(estimator, "SCALES", np.array([scale]))
    monkeypatch.setattr(estimator, "_FIRST", 0)
    posterior, proba = fitted(X, y, new)
    log_evidence, expected = log_evidence_by_quadrature(X, y, scale, 0.5, new)
    assert posterior.log_evidence[0] == pytest.approx(log_evidence, abs=0.04)
    assert np.allclose(proba[:, 1], expected, atol=0.02)


@pytest.mark.slow_cases("20-3-1.0", "20-40-1000.0")
@pytest.mark.parametrize(("n", "k", "size"), [(20, 3, 1.0), (20, 40, 1000.0)])
def test_probabilities_are_those_of_long_chains(n, k, size):
    X, y, new = table(n, k, size, seed=3)
    prevalence = (y.sum() + 1) / (n + 2)
    _, proba = fitted(X, y, new, np.log([1 - prevalence, prevalence]))
    chains = chain_probabilities(X, y, new, SCALES, prevalence, n_steps=2000)
    assert np.abs(proba[:, 1] - chains).max() < 0.02


@pytest.mark.parametrize(("n", "k"), [(30, 8), (30, 30), (25, 90)])
def test_columns_and_directions_of_cases_give_the_same(n, k):
    X, y, new = table(n, k)
    one, by_columns = fitted(X, y, new, turned=False)
    other, by_cases = fitted(X, y, new, turned=True)
    assert np.allclose(by_columns, by_cases, atol=1e-8, rtol=0)
    assert np.allclose(one.log_evidence, other.log_evidence, atol=1e-8, rtol=0)
    assert other.mean.shape[2] == 1 + min(n, k)


def test_sparse_columns_give_what_dense_ones_do():
    rng = np.random.default_rng(0)
    X = (rng.random((3000, 90)) < rng.uniform(0.005, 0.05, 90)).astype(float)
    X[:, 5] = 0.0
    sign = np.where(rng.random(3000) < expit(3 * X[:, :9].sum(axis=1) - 1), 1.0, -1.0)
    directions = Directions.learn(X, 90)
    sparse, dense = training_columns(directions, X), DenseRegressors(directions.coordinates(X)[0])
    assert isinstance(sparse, SparseRegressors)
    prior = np.full(91, 20.0)
    a, b = (propagate(each, prior, 0.3, sign, no_sites(3000)) for each in (sparse, dense))
    assert a.log_evidence == pytest.approx(b.log_evidence, abs=1e-7)
    assert np.allclose(a.mean, b.mean, atol=1e-9)
    assert np.allclose(a.factor, b.factor, atol=1e-9)


@pytest.mark.parametrize("size", [0.0, 1.0, 1000.0])
@pytest.mark.parametrize(("n", "k"), [(12, 2), (40, 39), (60, 300)])
def test_sites_settle_at_every_scale(n, k, size):
    X, y, _ = table(n, k, size)
    columns = training_columns(Directions.learn(X, k), X)
    sign = np.where(y == 1, 1.0, -1.0)
    for scale in SCALES:
        prior = np.append(0.25, np.full(min(n, k), k / scale**2))
        assert propagate(columns, prior, 0.0, sign, no_sites(n)).converged


def test_one_best_scale_is_looked_for_between_nodes():
    X, y, new = table(3000, 400)
    posterior, _ = fitted(X, y, new)
    assert not np.all(np.isin(posterior.scale, SCALES))
    assert posterior.weight.sum() == pytest.approx(1)
