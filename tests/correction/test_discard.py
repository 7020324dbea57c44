"""P(S | alpha) against all 2^n columns with theta integrated in rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import oracles
import pytest
from comparisons import (
    ENUMERATED,
    discard_distance,
    enumerated_posterior_distance,
    event_distance,
)
from grids import each_once
from scipy import integrate

from honestbayes.correction import discard
from honestbayes.likelihood import beta_binomial
from honestbayes.likelihood.counts import class_tables
from honestbayes.likelihood.quadrature import ThetaRule, theta_rule
from honestbayes.selection import DiscardedGroup, squared_correlation
from honestbayes.selection.counts import correlation

ALPHAS = [1e-3, 0.5, 10.0, 300.0, 1e5, 1e9]
INTERVALS = [(0.0, 1.0), (0.1, 0.9), (0.2, 1.0)]
SIZES = [(1, 1), (1, 5), (4, 4), (6, 3), (2, 9), (1, 13), (7, 7), (9, 5)]


def some_gammas(n0, n1):
    """0, 1, values that are attained, and values in between."""
    attained = sorted({value for _, _, value in oracles.enumerated_columns(n0, n1)} - {0, 1})
    picked = attained[:: max(1, len(attained) // 3)]
    return [Fraction(0), Fraction(1), *picked, Fraction(0.3) ** 2, Fraction(0.77) ** 2]


@pytest.mark.slow_cases("(9, 5)-case 1")
@each_once("sizes, interval", {str(sizes): sizes for sizes in SIZES}, INTERVALS)
def test_probabilities_agree_with_all_columns(sizes, interval):
    for gamma_squared in some_gammas(*sizes):
        for alpha in ALPHAS:
            absolute, kept, tied = discard_distance(alpha, interval, sizes, gamma_squared)
            assert absolute < 1e-12, (gamma_squared, alpha)
            assert kept < 1e-9, (gamma_squared, alpha)
            assert tied < 1e-9, (gamma_squared, alpha)


@pytest.mark.parametrize("ties", ["known", "unknown", "at_most"])
@pytest.mark.parametrize("interval", INTERVALS)
def test_the_event_agrees_with_exact_arithmetic_in_every_treatment_of_ties(ties, interval):
    gammas = [Fraction(0), squared_correlation(1, 4, 5, 6), Fraction(0.4) ** 2, Fraction(1)]
    for gamma_squared, alpha, m in [(g, a, m) for g in gammas for a in ALPHAS for m in (1, 3)]:
        n_tied = {Fraction(0): 9, Fraction(0.4) ** 2: 0}.get(gamma_squared, 2)
        groups = [DiscardedGroup((5, 6), 9, n_tied)]
        absolute, in_log = event_distance(alpha, interval, groups, gamma_squared, ties, m)
        assert absolute < 1e-12
        assert in_log < 1e-9


@pytest.mark.parametrize("ties", ["known", "unknown", "at_most"])
def test_features_with_missing_cells_have_their_own_discard_probability(ties):
    gamma_squared = squared_correlation(1, 3, 4, 4)
    groups = [
        DiscardedGroup((4, 4), 5, 2),
        DiscardedGroup((3, 4), 4, 0),
        DiscardedGroup((4, 2), 2, 0),
        DiscardedGroup((1, 4), 3, 0),
        DiscardedGroup((0, 4), 1, 0),
    ]
    for alpha in ALPHAS:
        for m in (1, 2):
            absolute, in_log = event_distance(alpha, (0.0, 1.0), groups, gamma_squared, ties, m)
            assert absolute < 1e-12
            assert in_log < 1e-9


@pytest.mark.parametrize("ties", ["known", "unknown"])
@pytest.mark.parametrize(("sizes", "values", "k"), ENUMERATED)
def test_posterior_weights_of_alpha_match_all_assignments_and_random_tie_breaking(
    sizes, values, k, ties
):
    assert enumerated_posterior_distance(sizes, values, k, ties) < 1e-12


@pytest.mark.parametrize(
    ("below", "tied", "number", "m"),
    [(0.9, 0.05, 10_000, 1), (0.9, 0.05, 10_000, 7), (0.2, 0.8, 50, 2), (0.999, 1e-9, 100, 40)],
)
def test_unknown_ties_agree_with_direct_integration(below, tied, number, m):
    top = math.log(below + tied)

    def integrand(u):  # u = 1 - v; scaled, because the integral itself may underflow
        share = u * tied / (below + tied)
        return m * u ** (m - 1) * math.exp(number * math.log1p(-share))

    width = min(1.0, 60.0 * m / (number * tied))
    value, _ = integrate.quad(integrand, 0, width, epsrel=1e-12, epsabs=0, limit=500)
    if width < 1:
        value += integrate.quad(integrand, width, 1, epsabs=1e-30)[0]
    got = discard.log_prob_selection(
        np.array([1 - below - tied]),
        np.array([tied]),
        [DiscardedGroup((5, 5), number)],
        ties="unknown",
        n_tied_kept=m,
    )
    assert got == pytest.approx(number * top + math.log(value), abs=1e-9)


def test_ten_million_discarded_features_keep_relative_accuracy_of_what_was_kept():
    gamma_squared, alpha, sizes = Fraction(9, 10), 1e9, (7, 7)
    _, _, beyond = oracles.exact_discard_probabilities(
        Fraction(alpha), Fraction(0), Fraction(1), *sizes, gamma_squared
    )
    got, tied = discard.probabilities(
        alpha, sizes, gamma_squared, theta_rule(14, alpha, (0.0, 1.0))
    )
    log_p = discard.log_prob_selection(
        np.array([got]),
        np.array([tied]),
        [DiscardedGroup(sizes, 10**7)],
        ties="at_most",
        n_tied_kept=0,
    )
    assert log_p == pytest.approx(1e7 * math.log1p(-float(beyond)), rel=1e-9)


# --------------------------------------------------------------------------------------- Figure 2

FIGURE_2 = """
+1.00 +0.90 +0.81 +0.72 +0.62 +0.53 +0.42 +0.29  0.00
+0.91 +0.80 +0.70 +0.60 +0.49 +0.38 +0.25 +0.09 -0.16
+0.83 +0.72 +0.61 +0.50 +0.39 +0.27 +0.13 -0.03 -0.24
+0.76 +0.64 +0.52 +0.41 +0.30 +0.17 +0.04 -0.11 -0.30
+0.69 +0.57 +0.45 +0.33 +0.21 +0.09 -0.04 -0.18 -0.36
+0.63 +0.50 +0.38 +0.26 +0.14 +0.02 -0.11 -0.25 -0.41
+0.57 +0.44 +0.31 +0.19 +0.07 -0.05 -0.18 -0.31 -0.46
+0.52 +0.38 +0.24 +0.12  0.00 -0.12 -0.24 -0.37 -0.52
+0.46 +0.31 +0.18 +0.05 -0.07 -0.19 -0.31 -0.44 -0.57
+0.41 +0.25 +0.11 -0.02 -0.14 -0.26 -0.38 -0.50 -0.63
+0.36 +0.18 +0.04 -0.09 -0.21 -0.33 -0.45 -0.57 -0.69
+0.30 +0.11 -0.04 -0.17 -0.30 -0.41 -0.52 -0.64 -0.76
+0.24 +0.03 -0.13 -0.27 -0.39 -0.50 -0.61 -0.72 -0.83
+0.16 -0.09 -0.25 -0.38 -0.49 -0.60 -0.70 -0.80 -0.91
 0.00 -0.29 -0.42 -0.53 -0.62 -0.72 -0.81 -0.90 -1.00
"""
"""Rows I1 = 14, 13, ..., 0; columns I0 = 0, ..., 8; two lost minus signs put back."""


def figure_2():
    return np.array([[float(v) for v in line.split()] for line in FIGURE_2.split("\n") if line])[
        ::-1
    ]


def test_correlations_are_those_of_figure_2():
    i1, i0 = np.mgrid[0:15, 0:9]
    ones = np.stack([i0.ravel(), i1.ravel()])
    got = correlation(ones, np.array([[8], [14]])).reshape(15, 9)
    np.testing.assert_allclose(got, figure_2(), atol=0.005 + 1e-12)
    for a in range(9):
        for b in range(15):
            assert float(squared_correlation(a, b, 8, 14)) == pytest.approx(got[b, a] ** 2)


def test_the_region_for_gamma_0_2_is_that_of_figure_2():
    region = discard.region(8, 14, Fraction(1, 25))
    np.testing.assert_array_equal(region.n_beyond, np.sum(figure_2() > 0.2, axis=1))
    assert region.tied0.size == 0
    beyond = figure_2() > 0.2
    np.testing.assert_array_equal(beyond[::-1, ::-1], figure_2() < -0.2)  # H- mirrors H+


@pytest.mark.parametrize("sizes", [(1, 1), (3, 8), (10, 10), (1, 40), (23, 17), (60, 60)])
def test_regions_agree_with_a_list_of_all_pairs_at_every_attained_correlation(sizes):
    n0, n1 = sizes
    value = {
        (i0, i1): oracles.squared_correlation_of_counts(i0, i1, n0, n1)
        * (1 if n0 * i1 > n1 * i0 else -1)
        for i0 in range(n0 + 1)
        for i1 in range(n1 + 1)
    }
    attained = sorted({abs(v) for v in value.values()})
    for gamma_squared in [*attained[:: max(1, len(attained) // 12)], Fraction(1)]:
        region = discard.region(n0, n1, gamma_squared)
        expected = [
            sum(value[i0, i1] > gamma_squared for i0 in range(n0 + 1)) for i1 in range(n1 + 1)
        ]
        assert region.n_beyond.tolist() == expected
        if gamma_squared:
            ties = {pair for pair, v in value.items() if v == gamma_squared}
            got = list(zip(region.tied0.tolist(), region.tied1.tolist(), strict=True))
            assert len(got) == len(set(got))
            assert set(got) == ties


# ---------------------------------------------------------------------------------- large classes


@pytest.mark.parametrize("alpha", [1e-3, 2.0, 300.0, 1e6, 1e9])
@pytest.mark.parametrize("sizes", [(500, 500), (500, 7), (1, 500), (130, 499)])
def test_the_route_without_tables_agrees_with_the_tables_where_they_meet(sizes, alpha):
    n0, n1 = sizes
    rule = theta_rule(n0 + n1, alpha, (0.0, 1.0))
    for gamma_squared in (squared_correlation(0, max(n1 // 3, 1), n0, n1), Fraction(1, 50)):
        region = discard.region(n0, n1, gamma_squared)
        table0, table1, weight = class_tables(alpha, rule, n0, n1)
        where = (region.n_beyond, region.tied0, region.tied1)
        tables = beta_binomial.region_from_tables(table0, table1, weight, *where)
        without = beta_binomial.region_probabilities(alpha, rule.theta, rule.weight, n0, n1, *where)
        assert region.tied0.size or gamma_squared == Fraction(1, 50)
        np.testing.assert_allclose(without, tables, rtol=1e-10, atol=1e-45)


def angle_rule(n_nodes):
    """Gauss-Legendre in the angle, for an integrand with peaks near 0 and 1."""
    x, w = np.polynomial.legendre.leggauss(n_nodes)
    angle = np.pi * (x + 1) / 2
    return np.sin(angle / 2) ** 2, w * np.pi / 4 * np.sin(angle)


@pytest.mark.parametrize("alpha", [0.7, 40.0, 3000.0])
def test_three_thousand_cases_agree_with_a_double_sum_of_scipys_beta_binomial(alpha):
    sizes = (1400, 1600)
    gamma_squared = squared_correlation(500, 640, *sizes)
    expected = oracles.betabinom_region(alpha, *angle_rule(220), *sizes, gamma_squared)
    got = discard.probabilities(alpha, sizes, gamma_squared, theta_rule(3000, alpha, (0.0, 1.0)))
    np.testing.assert_allclose(got, expected, rtol=2e-8)


@pytest.mark.parametrize(
    ("sizes", "pair"), [((1, 5000), (0, 1200)), ((5000, 1), (3000, 1)), ((100_000, 3), (50_000, 3))]
)
@pytest.mark.parametrize("alpha", [1.0, 300.0])
def test_very_unequal_classes_agree_with_scipys_beta_binomial(sizes, pair, alpha):
    gamma_squared = squared_correlation(*pair, *sizes)
    rule = theta_rule(sum(sizes), alpha, (0.0, 1.0))
    # Few nodes are shared by both sides: what is checked is the sum, not the rule.
    few = ThetaRule(rule.theta[::20], rule.weight[::20] / rule.weight[::20].sum())
    got = discard.probabilities(alpha, sizes, gamma_squared, few)
    expected = oracles.betabinom_region(alpha, few.theta, few.weight, *sizes, gamma_squared)
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-30)


def test_a_million_cases_need_no_table_of_pairs(monkeypatch):
    def forbidden(*_args):
        raise AssertionError("tables were made")

    monkeypatch.setattr(discard, "class_tables", forbidden)
    sizes = (600_000, 400_000)
    rule = theta_rule(1000, 50.0, (0.0, 1.0))
    few = ThetaRule(rule.theta[::30], rule.weight[::30] / rule.weight[::30].sum())
    beyond, tied = discard.probabilities(50.0, sizes, Fraction(1, 1000), few)
    assert 0 < beyond < 1
    assert 0 <= tied < 1e-3
