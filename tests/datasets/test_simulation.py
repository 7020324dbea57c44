"""The simulator against the distributions that it claims to draw from."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, kstest

from honestbayes.datasets import simulate_naive_bayes


def plain_true_proba(row, phi, prevalence):
    """Multiply the probabilities of one row, feature by feature."""
    joint = [1 - prevalence, prevalence]
    for c in (0, 1):
        for x, f in zip(row, phi[c], strict=True):
            joint[c] *= 1.0 if math.isnan(x) else f if x == 1 else 1 - f
    return joint[1] / sum(joint)


def test_defaults_are_the_experiment_of_section_4():
    data = simulate_naive_bayes(random_state=0)
    assert data.X_train.shape == (200, 10_000)
    assert data.X_test.shape == (2000, 10_000)
    assert data.X_train.dtype == data.X_test.dtype == np.int8
    assert data.y_train.sum() == 100
    assert data.y_test.sum() == 1000
    assert np.all(data.alpha == 300)
    assert set(np.unique(data.X_train)) == {0, 1}


def test_theta_is_uniform_and_phi_is_beta_in_each_class_independently():
    data = simulate_naive_bayes(2, 2, 20_000, alpha=5.0, random_state=1)
    assert kstest(data.theta, "uniform").pvalue > 1e-4
    levels = beta(5 * data.theta, 5 * (1 - data.theta)).cdf(data.phi)
    assert kstest(levels[0], "uniform").pvalue > 1e-4
    assert kstest(levels[1], "uniform").pvalue > 1e-4
    assert abs(np.corrcoef(levels)[0, 1]) < 4 / math.sqrt(20_000)


@pytest.mark.parametrize("alpha", [0.01, 0.5, 1e6])
def test_phi_has_the_mean_and_variance_of_its_beta_distribution(alpha):
    phi = simulate_naive_bayes(
        0, 0, 100_000, alpha=alpha, theta=np.full(100_000, 0.3), random_state=2
    ).phi
    variance = 0.21 / (alpha + 1)
    assert abs(phi.mean() - 0.3) < 4 * math.sqrt(variance / phi.size)
    assert phi.var() == pytest.approx(variance, rel=0.02)


def test_frequencies_of_ones_follow_phi_within_each_class():
    data = simulate_naive_bayes(40_000, 0, 50, alpha=3.0, random_state=3)
    for c in (0, 1):
        observed = data.X_train[data.y_train == c].mean(axis=0)
        error = np.sqrt(data.phi[c] * (1 - data.phi[c]) / 20_000)
        assert np.all(np.abs(observed - data.phi[c]) < 5 * error + 1e-12)


@given(
    alpha=st.floats(1e-320, 1e12, allow_subnormal=True),
    low=st.floats(0, 1),
    high=st.floats(0, 1),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=80, deadline=None)
def test_every_probability_is_defined_for_any_alpha_and_theta(alpha, low, high, seed):
    bounds = (min(low, high), max(low, high))
    data = simulate_naive_bayes(4, 6, 30, alpha, bounds, seed)
    assert np.all((data.phi > 0) & (data.phi < 1))
    assert np.all(np.isfinite(data.true_proba(data.X_test)))


def test_theta_of_0_and_1_give_constant_features():
    data = simulate_naive_bayes(20, 0, 2, theta=[0.0, 1.0], random_state=4)
    assert np.all(data.X_train == [0, 1])


@given(seed=st.integers(0, 1000), prevalence=st.floats(0.05, 0.95))
@settings(max_examples=30, deadline=None)
def test_true_probability_is_the_product_over_features(seed, prevalence):
    data = simulate_naive_bayes(4, 5, 6, 2.0, random_state=seed, prevalence=prevalence)
    X = data.X_test.astype(float)
    X[1, 2] = X[3, 0] = np.nan
    expected = [plain_true_proba(row, data.phi, prevalence) for row in X]
    assert data.true_proba(X) == pytest.approx(expected)


def test_true_probability_on_some_columns_takes_all_features_or_just_those():
    data = simulate_naive_bayes(4, 5, 6, 2.0, random_state=0)
    columns = [4, 1]
    expected = [plain_true_proba(row[columns], data.phi[:, columns], 0.5) for row in data.X_test]
    assert data.true_proba(data.X_test, columns) == pytest.approx(expected)
    assert data.true_proba(data.X_test[:, columns], columns) == pytest.approx(expected)
    mask = np.isin(np.arange(6), columns)
    assert data.true_proba(data.X_test, mask) == pytest.approx(expected)


def test_true_probabilities_are_calibrated():
    data = simulate_naive_bayes(0, 40_000, 20, 10.0, random_state=5, class_balance="random")
    p = data.true_proba(data.X_test)
    error = math.sqrt(np.sum(p * (1 - p)))
    for low in np.arange(0, 1, 0.25):
        inside = (p >= low) & (p < low + 0.25)
        assert abs(np.sum(data.y_test[inside] - p[inside])) < 4 * error


def test_thousands_of_features_do_not_underflow():
    data = simulate_naive_bayes(2, 50, 20_000, 1.0, random_state=6)
    assert np.all(np.isfinite(data.true_proba(data.X_test)))
    assert np.mean((data.true_proba(data.X_test) > 0.5) == data.y_test) == 1.0


def test_planted_alpha_and_theta_are_kept():
    alpha, theta = np.array([1.0, 50.0, 1e4]), np.array([0.1, 0.5, 0.9])
    data = simulate_naive_bayes(10, 0, 3, alpha, theta=theta, random_state=0)
    assert np.array_equal(data.alpha, alpha)
    assert np.array_equal(data.theta, theta)


def test_same_seed_gives_the_same_data_and_n_test_changes_no_training_case():
    one = simulate_naive_bayes(20, 5, 30, random_state=7)
    same = simulate_naive_bayes(20, 5, 30, random_state=7)
    longer = simulate_naive_bayes(20, 500, 30, random_state=7)
    assert np.array_equal(one.X_test, same.X_test)
    assert np.array_equal(one.X_train, longer.X_train)
    assert np.array_equal(one.phi, longer.phi)


def test_numbers_per_class_replace_n_train_and_leave_the_test_set_at_the_prevalence():
    data = simulate_naive_bayes(n_test=100, n_features=5, n_per_class=(7, 3), prevalence=0.2)
    assert np.bincount(data.y_train).tolist() == [7, 3]
    assert np.bincount(data.y_test).tolist() == [80, 20]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_train": -1}, "n_train is -1"),
        ({"alpha": 0.0}, "alpha holds a value that is not positive"),
        ({"alpha": [1.0, 2.0]}, r"alpha has shape \(2,\)"),
        ({"theta": [0.5, 0.5]}, r"theta has shape \(2,\)"),
        ({"theta": 1.5}, "theta holds a value outside 0 to 1"),
        ({"theta_range": (0.5, 0.2)}, "theta_range"),
        ({"prevalence": 1.0}, "prevalence is 1.0"),
        ({"n_per_class": (1, 2, 3)}, "n_per_class"),
        ({"class_balance": "equal"}, "class_balance is 'equal'"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        simulate_naive_bayes(**{"n_train": 4, "n_test": 4, "n_features": 3, **arguments})


def test_true_probability_refuses_other_values_and_shapes():
    data = simulate_naive_bayes(4, 5, 6, random_state=0)
    with pytest.raises(ValueError, match="X holds a value other than 0, 1 and NaN"):
        data.true_proba(np.full((2, 6), 2))
    with pytest.raises(ValueError, match="6 columns"):
        data.true_proba(np.zeros((2, 5)))
