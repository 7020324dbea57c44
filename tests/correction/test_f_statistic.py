"""The probability that a real-valued feature is kept or discarded by its F statistic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_f_statistic import (
    false_alarm_bound,
    imhof_kept,
    log_f_tails,
    log_tails_three_classes,
    matrix_eigenvalues,
    simulated_kept,
)
from scipy import stats

from honestbayes.correction.f_statistic import (
    between_eigenvalues,
    log_prob_discarded,
    log_prob_kept,
)

CASES = [
    ((3, 9), 0.4, 0.3),
    ((5, 8, 30), 0.1, 0.15),
    ((1, 4, 25, 3), 0.5, 0.5),
    ((2, 60, 7, 11, 20), 0.05, 0.08),
    ((1, 1, 1, 1, 40), 2.0, 0.2),
]


@pytest.mark.parametrize("sizes", [(4, 9), (2, 3, 50), (5, 5, 8, 8, 8), (1, 1, 1), (1, 20, 300, 7)])
def test_the_eigenvalues_are_those_of_the_matrix(sizes):
    assert between_eigenvalues(np.array(sizes)) == pytest.approx(
        matrix_eigenvalues(sizes), rel=1e-12
    )


@pytest.mark.parametrize("sizes", [(1, 10**9), (1, 2, 10**8), (1, 1, 10**6, 10**6)])
def test_the_smallest_eigenvalue_of_very_unequal_sizes_has_all_its_digits(sizes):
    smallest = between_eigenvalues(np.array(sizes))[0]
    if len(sizes) == 2:
        assert smallest == pytest.approx(2 * sizes[0] * sizes[1] / sum(sizes), rel=1e-15)
    elif sizes[0] == sizes[1]:
        assert smallest == 1.0
    else:
        # n1 / (n1 - mu) + n2 / (n2 - mu) + n3 / (n3 - mu) = 0 is a quadratic equation in mu.
        a, b, c = sum(sizes), 2 * (1 * 2 + 2 * sizes[2] + 1 * sizes[2]), 3 * 2 * sizes[2]
        exact = 2 * c / (b + np.sqrt(b * b - 4 * a * c))
        assert smallest == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize("sizes", [(3, 4), (30, 70), (1, 500), (6, 6, 6), (40, 40, 40, 40, 40)])
@pytest.mark.parametrize("gamma_squared", [1e-5, 0.05, 0.4, 0.95])
def test_two_classes_and_equal_sizes_are_one_f_distribution(sizes, gamma_squared):
    ratio = np.array([0.0, 1e-3, 0.1, 5.0, 1e4])
    n, C = sum(sizes), len(sizes)
    mu = 2 * sizes[0] * sizes[1] / n if C == 2 else sizes[0]
    t = gamma_squared / (1 - gamma_squared) / (1 + ratio * mu)
    kept = log_prob_kept(ratio, np.array(sizes), gamma_squared)
    discarded = log_prob_discarded(ratio, np.array(sizes), gamma_squared)
    x = t * (n - C) / (C - 1)
    # scipy's own tails agree with the direct integral to no more than 1e-9.
    assert np.exp(kept) == pytest.approx(stats.f.sf(x, C - 1, n - C), rel=1e-8)
    assert np.exp(discarded) == pytest.approx(stats.f.cdf(x, C - 1, n - C), rel=1e-8)
    direct_kept, direct_discarded = log_f_tails(t, C - 1, n - C)
    assert kept == pytest.approx(direct_kept, abs=1e-9)
    assert discarded == pytest.approx(direct_discarded, abs=1e-9)


def test_one_degree_of_freedom_within_is_an_arc_tangent():
    ratio = np.concatenate([[0.0], np.logspace(-6, 12, 40)])
    for gamma_squared in (1e-12, 1e-3, 0.5, 0.999):
        root = np.sqrt(gamma_squared / (1 - gamma_squared) / (1 + ratio * 4 / 3))
        got = log_prob_kept(ratio, np.array([1, 2]), gamma_squared)
        assert np.exp(got) == pytest.approx(2 / np.pi * np.arctan(1 / root), rel=1e-12)
        got = log_prob_discarded(ratio, np.array([1, 2]), gamma_squared)
        assert np.exp(got) == pytest.approx(2 / np.pi * np.arctan(root), rel=1e-12)


@pytest.mark.parametrize(("sizes", "ratio", "gamma_squared"), CASES)
def test_simulated_columns_are_kept_as_often(sizes, ratio, gamma_squared):
    rng = np.random.default_rng(7)
    p = np.exp(log_prob_kept(np.array([ratio]), np.array(sizes), gamma_squared))[0]
    frequency = simulated_kept(rng, 1_000_000, sizes, ratio, gamma_squared)
    assert abs(frequency - p) < false_alarm_bound(p, 1_000_000)


@pytest.mark.parametrize(
    "mistake",
    ["none", "sizes as eigenvalues", "one more within", "one less within", "signal forgotten",
     "one added forgotten", "average eigenvalue"],
)  # fmt: skip
def test_simulation_tells_a_wrong_formula_from_the_right_one(mistake):
    sizes, ratio, gamma_squared = (1, 4, 9), 0.5, 0.35
    mu, m = matrix_eigenvalues(sizes), sum(sizes) - len(sizes)
    wrong = {
        "none": (mu, m, ratio),
        "sizes as eigenvalues": (np.sort(sizes)[1:].astype(float), m, ratio),
        "one more within": (mu, m + 1, ratio),
        "one less within": (mu, m - 1, ratio),
        "signal forgotten": (mu, m, 0.0),
        "one added forgotten": (mu - 1 / ratio, m, ratio),
        "average eigenvalue": (np.full(2, mu.mean()), m, ratio),
    }
    p = imhof_kept(*wrong[mistake], gamma_squared)
    frequency = simulated_kept(np.random.default_rng(3), 1_000_000, sizes, ratio, gamma_squared)
    agrees = abs(frequency - p) < false_alarm_bound(frequency, 1_000_000)
    assert agrees == (mistake == "none")


@pytest.mark.parametrize(("sizes", "ratio", "gamma_squared"), CASES)
def test_imhof_integration_gives_the_same(sizes, ratio, gamma_squared):
    expected = imhof_kept(matrix_eigenvalues(sizes), sum(sizes) - len(sizes), ratio, gamma_squared)
    got = np.exp(log_prob_kept(np.array([ratio]), np.array(sizes), gamma_squared))[0]
    assert got == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    ("sizes", "ratio", "gamma_squared"),
    [
        ((20, 50, 130), 0.01, 0.9),
        ((20, 50, 130), 0.0, 0.9),
        ((20, 50, 130), 0.0, 0.99),
        ((20, 50, 130), 3.0, 0.9999),
        ((500, 1, 1499), 2e-4, 0.35),
        ((1, 2, 3000), 1e-4, 0.2),
        ((5, 7, 9), 1e9, 1e-3),
        ((100, 300, 900), 1.0, 1e-8),
        ((100, 300, 900), 10.0, 0.9),
        ((2, 2, 9), 1e3, 0.3),
    ],
)
def test_small_tails_of_three_classes_keep_their_relative_accuracy(sizes, ratio, gamma_squared):
    kept, discarded = log_tails_three_classes(
        matrix_eigenvalues(sizes), sum(sizes) - 3, ratio, gamma_squared
    )
    at = np.array([ratio])
    assert log_prob_kept(at, np.array(sizes), gamma_squared)[0] == pytest.approx(kept, abs=1e-9)
    assert log_prob_discarded(at, np.array(sizes), gamma_squared)[0] == pytest.approx(
        discarded, abs=1e-9
    )


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 3000), min_size=2, max_size=7).filter(lambda s: sum(s) > len(s)),
    st.floats(1e-6, 1 - 1e-6),
    st.randoms(use_true_random=False),
)
def test_probabilities_add_up_are_monotone_and_ignore_the_order_of_classes(sizes, g, random):
    ratio = np.concatenate([[0.0], np.logspace(-6, 12, 25)])
    kept = log_prob_kept(ratio, np.array(sizes), g)
    discarded = log_prob_discarded(ratio, np.array(sizes), g)
    assert np.exp(kept) + np.exp(discarded) == pytest.approx(np.ones(26), abs=1e-14)
    assert np.all(np.diff(kept) >= -1e-10)
    assert np.all(np.diff(discarded) <= 1e-10)
    assert np.all(log_prob_kept(ratio, np.array(sizes), g * 0.9) >= kept - 1e-10)
    assert np.all(log_prob_discarded(ratio, np.array(sizes), g * 0.9) <= discarded + 1e-10)
    random.shuffle(sizes)
    assert np.array_equal(log_prob_kept(ratio, np.array(sizes), g), kept)


@pytest.mark.parametrize("sizes", [(4, 9), (2, 3, 50), (1, 5, 8, 80)])
def test_without_signal_it_is_the_null_f_distribution(sizes):
    C, n, g = len(sizes), sum(sizes), 0.2
    x = g / (1 - g) * (n - C) / (C - 1)
    got = np.exp(log_prob_kept(np.zeros(1), np.array(sizes), g))[0]
    assert got == pytest.approx(stats.f.sf(x, C - 1, n - C), rel=1e-8)


def test_everything_is_kept_at_zero_and_nothing_at_one():
    ratio, sizes = np.array([0.0, 1.0, 1e12]), np.array([2, 5, 9])
    for gamma_squared, kept, discarded in ((0.0, 0.0, -np.inf), (1.0, -np.inf, 0.0)):
        assert np.all(log_prob_kept(ratio, sizes, gamma_squared) == kept)
        assert np.all(log_prob_discarded(ratio, sizes, gamma_squared) == discarded)


@pytest.mark.parametrize("sizes", [(5,), (1, 1), (0, 7)])
def test_classes_without_an_f_statistic_are_refused_in_one_sentence(sizes):
    with pytest.raises(ValueError, match="two or more classes, none of them empty, and more cases"):
        log_prob_kept(np.ones(1), np.array(sizes), 0.1)
