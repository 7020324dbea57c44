"""The categorical model's marginal likelihood against rational arithmetic and integration."""

import math

import numpy as np
import oracles_categorical as oracle
import pytest
from scipy.special import logsumexp

from honestbayes.likelihood.counts import CountLikelihood, distinct_counts
from honestbayes.likelihood.dirichlet import TableLikelihood, log_marginal

ALPHAS = [1e-3, 0.5, 37.0, 1e4, 1e9]


def _log(fraction):
    return math.log(fraction.numerator) - math.log(fraction.denominator)


@pytest.mark.parametrize(
    ("sizes", "levels"), [((3, 4), 2), ((3, 2, 2), 3), ((4, 3), 4), ((2, 2, 2, 1), 3), ((0, 5), 3)]
)
def test_equals_rational_arithmetic(sizes, levels):
    tables = oracle.draw_tables(5.0, sizes, levels, 1.0, 4, np.random.default_rng(1))
    likelihood = TableLikelihood(tables)
    found, means = (
        likelihood.log_marginal(np.array(ALPHAS)),
        likelihood.mean_theta(np.array(ALPHAS)),
    )
    for a, alpha in enumerate(ALPHAS):
        for d, table in enumerate(tables):
            assert found[a, d] == pytest.approx(_log(oracle.marginal(table, alpha)), abs=1e-12)
            np.testing.assert_allclose(means[a, d], oracle.mean_theta(table, alpha), rtol=1e-12)


@pytest.mark.slow_cases("table1-0.2")
@pytest.mark.parametrize("base", [0.2, 1.0, 3.5])
@pytest.mark.parametrize("table", [[[3, 1], [0, 4]], [[3, 1, 2], [0, 4, 1]]])
def test_other_bases_equal_integration(table, base):
    found = log_marginal(np.array([table]), np.array([7.0]), base)[0, 0]
    assert found == pytest.approx(oracle.log_marginal_by_integration(table, 7.0, base), abs=1e-7)


@pytest.mark.parametrize("n_cases", [30, 700, 5000])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_two_levels_and_classes_are_the_binary_model(n_cases, alpha):
    generator = np.random.default_rng(n_cases)
    sizes = np.array([[n_cases // 3], [n_cases - n_cases // 3]])
    counts = distinct_counts(generator.integers(0, sizes + 1, (2, 8)), sizes)
    tables = np.stack([counts.observed - counts.ones, counts.ones], axis=2).transpose(1, 0, 2)
    likelihood = TableLikelihood(tables)
    expected, mean = CountLikelihood(counts, (0.0, 1.0))(alpha)
    np.testing.assert_allclose(
        likelihood.log_marginal(np.array([alpha]))[0], expected, rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(
        likelihood.mean_theta(np.array([alpha]))[0, :, 1], mean, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("base", [0.3, 1.0])
def test_probabilities_of_all_columns_sum_to_one(base):
    tables, ways = oracle.all_tables((3, 2, 2), 3)
    found = log_marginal(tables, np.array([0.2, 3.0, 200.0]), base)
    np.testing.assert_allclose(logsumexp(found, axis=1, b=ways), 0.0, atol=1e-12)


def test_chunks_change_nothing(monkeypatch):
    tables = oracle.draw_tables(5.0, (20, 30), 4, 1.0, 30, np.random.default_rng(2))
    whole = log_marginal(tables, np.array(ALPHAS))
    monkeypatch.setattr("honestbayes.likelihood.dirichlet._CHUNK_TERMS", 100)
    np.testing.assert_array_equal(log_marginal(tables, np.array(ALPHAS)), whole)


def test_levels_may_be_renamed():
    tables = oracle.draw_tables(5.0, (20, 30), 4, 1.0, 5, np.random.default_rng(3))
    order = [2, 0, 3, 1]
    first, second = TableLikelihood(tables), TableLikelihood(tables[:, :, order])
    alpha = np.array([3.0])
    np.testing.assert_allclose(first.log_marginal(alpha), second.log_marginal(alpha), atol=1e-11)
    np.testing.assert_allclose(
        first.mean_theta(alpha)[:, :, order], second.mean_theta(alpha), rtol=1e-10
    )


def test_no_tables_and_no_cases():
    assert log_marginal(np.zeros((0, 2, 3), dtype=int), np.array([1.0, 2.0])).shape == (2, 0)
    likelihood = TableLikelihood(np.zeros((1, 2, 3), dtype=int))
    np.testing.assert_allclose(likelihood.log_marginal(np.array([5.0])), 0.0)
    np.testing.assert_allclose(likelihood.mean_theta(np.array([5.0])), 1 / 3)
