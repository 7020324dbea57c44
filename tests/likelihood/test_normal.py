"""Closed forms of the Gaussian model against numerical integration."""

import numpy as np
import pytest
from oracles_gaussian import log_column
from scipy.special import digamma, polygamma

from honestbayes.data import as_source
from honestbayes.likelihood.normal import (
    VariancePrior,
    _inverse_trigamma,
    fit_variance_prior,
    heavy_tailed,
    log_marginal,
    ratio_grid,
)
from honestbayes.selection.moments import screen_moments


def moments_of(X, y):
    classes, codes = np.unique(y, return_inverse=True)
    return screen_moments(as_source(X), codes, classes)


@pytest.mark.parametrize("sizes", [(4, 7), (2, 3, 5), (1, 6)])
@pytest.mark.parametrize("prior", [VariancePrior(1.5, 2.0), VariancePrior(20.0, 4.0)])
def test_the_marginal_likelihood_is_the_integral_up_to_a_constant(sizes, prior):
    generator = np.random.default_rng(0)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = generator.normal(2, 1.5, (y.size, 3)) + np.array([0, 1, 3]) * y[:, None]
    found = moments_of(X, y)
    ratio = np.array([0.0, 0.1, 2.0, 30.0])
    got = log_marginal(ratio, found.observed, found.mean, found.within, prior)
    for j in range(3):
        wanted = [log_column(X[:, j], y, w, prior.shape, prior.scale) for w in ratio]
        assert got[:, j] - got[0, j] == pytest.approx(np.array(wanted) - wanted[0], abs=1e-7)


def test_missing_cells_are_left_out_of_the_column():
    generator = np.random.default_rng(1)
    y = np.arange(12) % 2
    X = generator.normal(size=(12, 2))
    X[[0, 5, 7], 1] = np.nan
    ratio, prior = np.array([0.0, 0.5, 5.0]), VariancePrior(2.0, 1.0)
    found = moments_of(X, y)
    got = log_marginal(ratio, found.observed, found.mean, found.within, prior)
    known = ~np.isnan(X[:, 1])
    wanted = np.array([log_column(X[known, 1], y[known], w, 2.0, 1.0) for w in ratio])
    assert got[:, 1] - got[0, 1] == pytest.approx(wanted - wanted[0], abs=1e-7)


def test_complete_columns_are_treated_as_columns_that_might_have_gaps():
    generator = np.random.default_rng(5)
    y = np.arange(30) % 3
    found = moments_of(1e4 + generator.normal(size=(30, 8)) + y[:, None] * np.arange(8), y)
    ratio, prior = ratio_grid(30), VariancePrior(3.0, 2.0)
    fast = log_marginal(ratio, found.observed, found.mean, found.within, prior)
    spread = np.repeat(found.observed, 8, axis=1)
    slow = log_marginal(ratio, spread, found.mean, found.within, prior)
    assert fast == pytest.approx(slow, abs=1e-9)


@pytest.mark.parametrize("shape", [0.8, 3.0, 40.0])
def test_the_prior_of_the_variances_is_found_again(shape):
    generator = np.random.default_rng(2)
    variance = 7.0 / generator.gamma(shape, 1.0, 40_000)
    within = variance * generator.chisquare(18, 40_000)
    found = fit_variance_prior(within, 18)
    assert found.shape == pytest.approx(shape, rel=0.1)
    assert found.scale == pytest.approx(7.0, rel=0.12)


def test_equal_variances_give_a_narrow_prior():
    within = 3.0 * np.random.default_rng(3).chisquare(10, 5000)
    found = fit_variance_prior(within, 10)
    assert found.shape > 50
    assert found.scale / found.shape == pytest.approx(3.0, rel=0.03)


@pytest.mark.parametrize("value", [1e-8, 0.1, 1.0, 50.0, 1e9])
def test_the_inverse_of_the_trigamma_function(value):
    assert float(polygamma(1, _inverse_trigamma(value))) == pytest.approx(value, rel=1e-6)
    assert digamma(1.0) < 0  # the functions that the estimate rests on are SciPy's


def test_heavy_tails_are_a_distribution_on_the_grid():
    ratio = ratio_grid(100)
    for scale in (1e-6, 0.01, 1.0):
        weights = heavy_tailed(ratio, scale)
        assert weights.shape == ratio.shape
        assert np.all(weights > 0)
        assert weights.sum() == pytest.approx(1.0)
        # Half of all are below the scale, as for a half Cauchy variable below 1.
        below = weights[ratio <= scale].sum()
        assert scale < ratio[1] or below == pytest.approx(0.5, abs=0.12)


def test_r_squared_is_the_squared_correlation_of_two_classes():
    generator = np.random.default_rng(4)
    y = np.arange(30) % 2
    X = generator.normal(size=(30, 6)) + y[:, None] * np.arange(6)
    wanted = [np.corrcoef(column, y)[0, 1] ** 2 for column in X.T]
    assert moments_of(X, y).r_squared() == pytest.approx(wanted)


def test_a_constant_column_has_no_correlation_whatever_its_size():
    X = np.column_stack([np.full(10, 0.1), np.full(10, 1e300), np.full(10, 1e-300)])
    assert moments_of(X, np.arange(10) % 2).r_squared().tolist() == [0, 0, 0]
