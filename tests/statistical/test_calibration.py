"""Expected and actual error agree with the correction, and do not without it.

Effect sizes, not only significance: with the correction the mean optimism is close to 0, and the
uncorrected model, the negative control, is far from it. The full numbers of replicates run in
tests/slow.
"""

import numpy as np
import pytest
from calibration import draw_features, draw_screening, expected_and_actual_error, fit_counts
from grids import each_once, few
from scipy import stats

UNCORRECTED = {"correction": None, "feature_prior": "uniform"}
CORRECTED = {
    "selection": {"correction": "selection"},
    "counts": {"correction": "counts", "feature_prior": "uniform"},
    "learned": {},
}


def section_4_differences(seeds, k, n_test, **parameters):
    """Expected minus actual error on data as in section 4 of the 2008 paper, one per seed."""
    differences = []
    for seed in seeds:
        generator = np.random.default_rng(seed)
        phi = draw_features(generator, 10_000, 300.0)
        screening = draw_screening(generator, phi, 100, 100)
        fit = fit_counts(screening, seed, n_features_to_select=k, **parameters)
        test = np.random.default_rng([seed, 1])
        expected, actual = expected_and_actual_error(test, fit, phi, n_test)
        differences.append(expected - actual)
    return np.array(differences)


def prior_optimism(replicates, n, p, k, **parameters):
    """Actual minus expected error over alpha from its prior, one per replicate."""
    result = []
    for replicate in range(replicates):
        generator = np.random.default_rng([n, replicate])
        alpha = stats.invgamma.rvs(0.5, scale=5.0, random_state=generator)
        phi = draw_features(generator, p, alpha)
        screening = draw_screening(generator, phi, n // 2, n // 2)
        fit = fit_counts(screening, replicate, n_features_to_select=k, **parameters)
        expected, actual = expected_and_actual_error(generator, fit, phi, 400)
        result.append(actual - expected)
    return np.array(result)


def assert_close_to_zero(differences, bound=0.01):
    error = differences.std(ddof=1) / np.sqrt(differences.size)
    assert abs(differences.mean()) < bound + 2 * error


@pytest.mark.slow_cases("counts-100", "learned-10", "selection-10")
@each_once("name, k", list(CORRECTED), [10, 100])
def test_corrected_claims_come_true_on_simulated_data(name, k):
    differences = section_4_differences(range(12), k, 2000, **CORRECTED[name])
    assert_close_to_zero(differences)


@few("k", [10, 100], [10])
def test_uncorrected_claims_do_not_come_true(k):
    differences = section_4_differences(range(5), k, 2000, **UNCORRECTED)
    assert differences.mean() < -0.1


SIZES = [(10, 2000, 5), (20, 5000, 10), (40, 5000, 10)]
"""Cases, features, and kept ones."""


@pytest.mark.slow_cases("case 0-selection", "case 1-counts", "case 2-selection")
@each_once("size, name", SIZES, ["selection", "counts"])
def test_optimism_vanishes_over_the_prior_where_ties_are_common(size, name):
    n, p, k = size
    optimism = prior_optimism(200, n, p, k, **CORRECTED[name])
    half_width = 1.96 * optimism.std(ddof=1) / np.sqrt(optimism.size)
    assert abs(optimism.mean()) < 0.01 + half_width
    assert half_width < 0.01


@few("size", SIZES, SIZES[:1])
def test_without_correction_optimism_over_the_prior_exceeds_a_tenth(size):
    optimism = prior_optimism(100, *size, **UNCORRECTED)
    assert optimism.mean() > 0.1


def signed_difference(column, y):
    """Difference of the shares of ones: keeps features that are more frequent in class 1."""
    return column[y == 1].mean() - column[y == 0].mean()


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["mutual_information", "chi2", signed_difference])
def test_optimism_vanishes_over_the_prior_with_other_criteria(criterion):
    n, p, k = 20, 5000, 10
    params = {"correction": "selection", "feature_prior": "uniform", "criterion": criterion}
    optimism = prior_optimism(200, n, p, k, **params)
    half_width = 1.96 * optimism.std(ddof=1) / np.sqrt(optimism.size)
    assert abs(optimism.mean()) + half_width < 0.01
    control = prior_optimism(60, n, p, k, **UNCORRECTED, criterion=criterion)
    assert control.mean() > 0.05


def test_ignoring_the_luck_of_ties_is_noticed():
    # The published rule takes P(|COR| <= gamma) for a discarded feature; at n = 10 that is wrong.
    optimism = prior_optimism(150, 10, 2000, 5, correction="selection", quadrature="paper")
    assert optimism.mean() > 0.04
