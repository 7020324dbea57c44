"""Rules over theta and alpha against rational arithmetic, plain sums and printed figures."""

import math
from fractions import Fraction

import numpy as np
import oracles
import pytest
from scipy import stats

from honestbayes.likelihood import quadrature
from honestbayes.likelihood.beta_binomial import log_rising
from honestbayes.likelihood.counts import CountLikelihood, distinct_counts
from honestbayes.likelihood.quadrature import (
    AlphaPrior,
    Nodes,
    cell_rule,
    integrate_log_alpha,
    paper_alpha_nodes,
    simpson_rule,
    theta_rule,
)


def rational_error(rule, alpha, interval, i0, i1, n0, n1):
    """Relative errors of P(column) and E[theta], the rule applied to the plain product."""
    theta, weight = rule.theta, rule.weight
    product = np.ones_like(theta)
    for ones, cases in ((i0, n0), (i1, n1)):
        for l in range(ones):
            product *= (alpha * theta + l) / (alpha + l)
        for l in range(cases - ones):
            product *= (alpha * (1 - theta) + l) / (alpha + ones + l)
    low, high = (Fraction(bound) for bound in interval)
    arguments = (Fraction(alpha), low, high, i0, i1, n0, n1)
    exact = float(oracles.exact_column_probability(*arguments))
    mean = float(oracles.exact_mean_theta(*arguments))
    got = weight @ product
    return abs(got / exact - 1), abs(weight @ (theta * product) / got / mean - 1)


@pytest.mark.slow_cases("0.01-sizes3-interval2")
@pytest.mark.parametrize("interval", [(0.0, 1.0), (0.1, 0.9), (0.2, 1.0)])
@pytest.mark.parametrize("sizes", [(1, 1), (4, 5), (12, 12), (20, 31)])
@pytest.mark.parametrize("alpha", [1e-2, 5.0, 300.0, 1e9])
def test_the_theta_rule_is_exact_for_likelihood_and_mean(alpha, sizes, interval):
    n0, n1 = sizes
    rule = theta_rule(n0 + n1, alpha, interval)
    assert rule.theta.size == math.ceil((n0 + n1 + 2) / 2)
    assert rule.weight.sum() == pytest.approx(1, abs=1e-14)
    for i0, i1 in [(0, n1), (n0, 0), (0, 0), (n0 // 2, n1 // 3)]:
        likelihood, mean = rational_error(rule, alpha, interval, i0, i1, n0, n1)
        assert likelihood < 1e-11
        assert mean < 1e-11


@pytest.mark.parametrize("n", [2, 7, 8])
def test_one_node_fewer_is_not_exact_for_the_mean(n):
    n0, n1 = n // 2, n - n // 2
    needed = math.ceil((n + 2) / 2)
    fewer = quadrature._exact_rule(needed - 1, 0.0, 1.0)
    errors = [
        max(rational_error(fewer, 1e3, (0.0, 1.0), i0, i1, n0, n1))
        for i0 in range(n0 + 1)
        for i1 in range(n1 + 1)
    ]
    assert max(errors) > 1e-6


def test_simpsons_rule_with_21_points_is_far_off_at_200_cases():
    counts = distinct_counts(np.array([[3, 50], [1, 47]]), np.array([[100], [100]]))
    exact, _ = CountLikelihood(counts, (0.0, 1.0))(300.0)
    theta, weight = simpson_rule((0.0, 1.0)).theta, simpson_rule((0.0, 1.0)).weight
    inside = slice(1, -1)  # at 0 and 1 these columns are impossible
    logs = stats.betabinom.logpmf(
        np.array([3, 1])[:, None], 100, 300 * theta[inside], 300 * (1 - theta[inside])
    ).sum(axis=0)
    ways = math.log(math.comb(100, 3) * math.comb(100, 1))
    simpson = np.log(weight[inside] @ np.exp(logs)) - ways
    assert abs(np.expm1(simpson - exact[0])) > 0.05


@pytest.mark.parametrize("alpha", [0.3, 30.0, 3e3, 1e6])
@pytest.mark.parametrize("n", [1000, 6000])
def test_the_rule_for_many_cases_has_a_small_error(n, alpha):
    half = n // 2
    ones = np.array([[0, 1, half // 7, half // 2, half], [0, 3, half // 5, half // 2, 0]])
    counts = distinct_counts(ones, np.array([[half], [half]]))
    log_likelihood, mean = CountLikelihood(counts, (0.0, 1.0))(alpha)
    x, w = np.polynomial.legendre.leggauss(1200)
    angle = np.pi * (x + 1) / 2
    theta, weight = np.sin(angle / 2) ** 2, w * np.pi / 4 * np.sin(angle)
    for d in range(counts.multiplicity.size):
        logs = np.log(weight)
        for ones_c in counts.ones[:, d]:
            for number, base in ((ones_c, alpha * theta), (half - ones_c, alpha * (1 - theta))):
                l = np.arange(number)[:, None]
                logs = logs + number * np.log(base) + np.log1p(l / base).sum(axis=0)
            l = np.arange(half)
            logs = logs - half * math.log(alpha) - math.fsum(np.log1p(l / alpha))
        top = logs.max()
        expected = top + math.log(math.fsum(np.exp(logs - top)))
        assert log_likelihood[d] == pytest.approx(expected, abs=2e-9)
        share = np.exp(logs - expected)
        assert mean[d] == pytest.approx(share @ theta, rel=1e-8)


@pytest.mark.parametrize("interval", [(0.0, 1.0), (0.1, 0.9)])
def test_the_cells_of_theta_integrate_the_uniform_density(interval):
    low, high = interval
    edges, rule = cell_rule(12, 200, interval)
    assert edges[0] == pytest.approx(low)
    assert edges[-1] == pytest.approx(high)
    per_cell = rule.weight.reshape(12, -1).sum(axis=1)
    np.testing.assert_allclose(per_cell, np.diff(edges) / (high - low), rtol=1e-9)
    for power in (1, 2, 30):
        expected = (high ** (power + 1) - low ** (power + 1)) / (power + 1) / (high - low)
        assert rule.weight @ rule.theta**power == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("a", [1e-3, 0.4, 1.0, 15.9, 16.0, 300.0, 1e5, 1e9])
@pytest.mark.parametrize("i", [0, 1, 2, 15, 16, 17, 500, 1_000_000])
def test_log_rising_agrees_with_the_sum_of_log1p(a, i):
    expected = oracles.log_rising_sum(a, i)
    assert log_rising(a, i) == pytest.approx(expected, rel=2e-12, abs=1e-13)


@pytest.mark.parametrize("a", [1e-3, 0.4, 1.0, 12.0])
@pytest.mark.parametrize("i", [1, 16, 17, 40, 1000])
def test_log_rising_agrees_with_lgamma_where_that_is_accurate(a, i):
    expected = math.lgamma(a + i) - math.lgamma(a) - i * math.log(a)
    assert log_rising(a, i) == pytest.approx(expected, rel=1e-11, abs=1e-12)


# ------------------------------------------------------------------------------------------- alpha


def test_prior_quantiles_are_those_printed_in_the_thesis():
    printed = [2.60, 4.83, 7.56, 11.45, 17.52, 27.99, 48.57, 98.49, 279.60, 2543.14]
    got = AlphaPrior(0.5, 5.0).quantiles(np.arange(0.05, 1.0, 0.1))
    np.testing.assert_allclose(got, printed, atol=0.005 + 1e-9)


def test_the_published_nodes_are_30_midpoint_quantiles():
    nodes = paper_alpha_nodes(AlphaPrior(0.5, 5.0))
    # F(alpha) = P(Gamma(0.5) > 5 / alpha) = erf(...) of the other tail
    distribution = [math.erfc(math.sqrt(5.0 / alpha)) for alpha in nodes]
    np.testing.assert_allclose(distribution, (np.arange(30) + 0.5) / 30, rtol=1e-10)


@pytest.mark.parametrize(("shape", "rate"), [(0.5, 5.0), (5.0, 500.0), (2.0, 0.1)])
def test_the_prior_density_of_log_alpha_integrates_to_one_and_matches_the_quantiles(shape, rate):
    prior = AlphaPrior(shape, rate)
    t = np.arange(-12.0, 90.0, 0.005)
    density = np.exp(prior.log_density_of_log(t))
    assert density.sum() * 0.005 == pytest.approx(1, abs=1e-10)
    middle = math.log(prior.quantiles(np.array([0.5]))[0])
    fine = np.linspace(-12.0, middle, 200_001)
    assert np.trapezoid(np.exp(prior.log_density_of_log(fine)), fine) == pytest.approx(
        0.5, abs=1e-8
    )


def known_integrand(log_density):
    """Return the integrand, with a made-up case whose log-odds follow the mean of log(alpha)."""

    def evaluate(t):
        tilt = np.stack([np.zeros(t.size), np.log(np.maximum(t + 200, 1))], axis=1)[:, :, None]
        return Nodes(log_density(t), [(value,) for value in t], tilt)

    return evaluate


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize(
    ("log_density", "log_integral", "mean"),
    [
        # narrow Gaussian far from the start
        (lambda t: -0.5 * ((t - 37.3) / 0.01) ** 2, math.log(0.01 * math.sqrt(2 * math.pi)), 37.3),
        # wide Gaussian
        (lambda t: -0.5 * ((t + 20) / 6.0) ** 2, math.log(6.0 * math.sqrt(2 * math.pi)), -20.0),
        # log of an inverse gamma variable: mean log(rate) - digamma(shape)
        (
            lambda t: -0.5 * t - 5 * np.exp(-t),
            0.5 * math.log(math.pi) - 0.5 * math.log(5),
            math.log(5) + 1.9635100260214235,
        ),
        # log of a gamma variable with shape 400: the other skewness
        (
            lambda t: 400 * (t - math.log(400)) - np.exp(t) + 400,
            math.lgamma(400) - 400 * math.log(400) + 400,
            float(np.log(400) - 1 / 800 - 1 / (12 * 400**2)),
        ),
    ],
)
def test_the_rule_over_alpha_meets_its_tolerance_and_its_claimed_error(
    log_density, log_integral, mean, tolerance
):
    rule = integrate_log_alpha(known_integrand(log_density), (0.0, 8.0), tolerance=tolerance)
    assert rule.error <= tolerance
    assert rule.weight.sum() == pytest.approx(1, abs=1e-14)
    assert np.all(np.diff(rule.log_alpha) > 0)
    actual = max(abs(rule.log_evidence - log_integral), abs(rule.weight @ rule.log_alpha - mean))
    assert actual <= 10 * rule.error + 1e-12


def test_two_separate_modes_are_both_found():
    def log_density(t):
        return np.logaddexp(-0.5 * (t - 2) ** 2 / 0.04, -0.5 * (t - 6) ** 2 / 0.04)

    rule = integrate_log_alpha(known_integrand(log_density), (0.0, 9.0), tolerance=1e-8)
    assert rule.weight @ rule.log_alpha == pytest.approx(4.0, abs=1e-7)


def test_a_tolerance_out_of_reach_is_reported_as_an_error_above_it():
    rule = integrate_log_alpha(
        known_integrand(lambda t: -0.5 * t - 5 * np.exp(-t)),
        (0.0, 8.0),
        tolerance=1e-300,
    )
    assert rule.error > 1e-300


def test_the_reported_error_is_never_below_rounding():
    rule = integrate_log_alpha(
        known_integrand(lambda t: -0.5 * t - 5 * np.exp(-t)),
        (0.0, 8.0),
        tolerance=1e-15,
    )
    assert rule.error >= np.finfo(float).eps
