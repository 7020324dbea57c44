"""Metrics against closed forms and plain loops that share no code with the package."""

import itertools
import json
import math
import re
import warnings

import numpy as np
import pytest
from grids import slow
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit
from scipy.stats import binomtest, chi2, norm, t

import honestbayes.metrics
from honestbayes.metrics import (
    actual_error,
    auc,
    brier_score,
    calibration_slope,
    calibration_table,
    expected_error,
    log_score,
    optimism,
    reliability,
    smooth_calibration,
    summarise,
)

probabilities = st.floats(0, 1, allow_subnormal=False)
cases = st.lists(st.tuples(st.integers(0, 1), probabilities), min_size=1, max_size=60)


def plain_scores(y, p):
    """Loop over cases, with the formulas of section 4."""
    n = len(y)
    wrong = [float((q >= 0.5) != (c == 1)) for c, q in zip(y, p, strict=True)]
    predicted = [q if q < 0.5 else 1 - q for q in p]
    brier = sum((c - q) ** 2 for c, q in zip(y, p, strict=True)) / n
    return sum(wrong) / n, sum(predicted) / n, brier, wrong, predicted


@given(cases)
def test_error_rates_and_squared_error_follow_the_formulas_of_section_4(rows):
    y, p = (list(column) for column in zip(*rows, strict=True))
    actual, expected, brier, _, _ = plain_scores(y, p)
    assert actual_error(y, p) == pytest.approx(actual)
    assert expected_error(p) == pytest.approx(expected)
    assert brier_score(y, p) == pytest.approx(brier)


def test_probability_one_half_predicts_class_1():
    assert actual_error([1, 0], [0.5, 0.5]) == 0.5
    assert actual_error([1], [0.5]) == 0.0


def test_optimism_is_actual_minus_expected_error_with_the_paired_standard_error():
    rng = np.random.default_rng(1)
    p = rng.random(50)
    y = (rng.random(50) < 0.5).astype(int)
    actual, expected, _, wrong, predicted = plain_scores(y.tolist(), p.tolist())
    result = optimism(y, p, level=0.9)
    difference = np.subtract(wrong, predicted)
    error = np.std(difference, ddof=1) / math.sqrt(50)
    assert float(result) == pytest.approx(actual - expected)
    assert result.standard_error == pytest.approx(error)
    half = t(49).ppf(0.95) * error
    assert result.interval == pytest.approx((result.value - half, result.value + half))


def test_interval_of_the_optimism_covers_0_for_honest_probabilities_at_its_level():
    rng = np.random.default_rng(2)
    p = rng.random((1000, 200))
    y = (rng.random(p.shape) < p).astype(int)
    covered = [
        low <= 0 <= high
        for low, high in (optimism(c, q, level=0.9).interval for c, q in zip(y, p, strict=True))
    ]
    # 0.03 is over three binomial standard errors; the t interval itself is off by less than 0.01.
    assert abs(np.mean(covered) - 0.9) < 0.03


def test_groups_of_identical_cases_count_once_in_the_standard_error():
    rng = np.random.default_rng(3)
    y, p = rng.integers(0, 2, 30), rng.random(30)
    single = summarise(y, p)
    triple = summarise(np.repeat(y, 3), np.repeat(p, 3), groups=np.repeat(np.arange(30), 3))
    for name in ("optimism", "log_score", "squared_error", "actual_error"):
        one, three = getattr(single, name), getattr(triple, name)
        assert three.standard_error == pytest.approx(one.standard_error)
        assert three.interval == pytest.approx(one.interval)


def test_log_score_is_the_mean_of_minus_log_probability():
    assert log_score([1, 0], [0.2, 0.4]) == pytest.approx(-(math.log(0.2) + math.log(0.6)) / 2)


def test_log_score_keeps_the_digits_of_tiny_probabilities():
    assert log_score([0], [1e-300]) == pytest.approx(1e-300, rel=1e-12, abs=0)
    assert log_score([1], [1e-300]) == pytest.approx(300 * math.log(10))


def test_log_score_of_an_impossible_event_is_finite_and_bounded_by_the_smallest_double():
    bound = -math.log(np.finfo(float).tiny)
    assert log_score([1, 0], [0.0, 1.0]) == pytest.approx(bound)
    assert log_score([1, 0], [1.0, 0.0]) == 0.0


def test_log_score_from_log_probabilities_is_exact_where_probabilities_round_to_1():
    log_proba = [[-50.0, math.log1p(-math.exp(-50.0))]]
    assert log_score([0], log_proba=log_proba) == pytest.approx(50.0)
    assert log_score([0], np.exp(log_proba)[:, 1]) > 700


@settings(deadline=None)
@given(cases)
def test_auc_is_the_fraction_of_pairs_in_order_with_ties_one_half(rows):
    y, p = (list(column) for column in zip(*rows, strict=True))
    p = [round(q, 1) for q in p]
    ones = [q for c, q in zip(y, p, strict=True) if c == 1]
    zeros = [q for c, q in zip(y, p, strict=True) if c == 0]
    if not ones or not zeros:
        assert math.isnan(auc(y, p))
        return
    pairs = [(a > b) + 0.5 * (a == b) for a, b in itertools.product(ones, zeros)]
    assert auc(y, p) == pytest.approx(sum(pairs) / len(pairs))
    assert summarise(y, p).auc.value == pytest.approx(sum(pairs) / len(pairs))


def test_standard_error_of_the_auc_is_delongs():
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], [25, 15])
    p = np.round(rng.beta(1 + y, 2 - y), 2)
    zeros, ones = p[y == 0], p[y == 1]
    kernel = (ones[:, None] > zeros) + 0.5 * (ones[:, None] == zeros)
    variance = np.var(kernel.mean(1), ddof=1) / 15 + np.var(kernel.mean(0), ddof=1) / 25
    assert summarise(y, p).auc.standard_error == pytest.approx(math.sqrt(variance))


def plain_log_likelihood(intercept, slope, z, y):
    eta = intercept + slope * z
    return float(np.sum(y * eta - np.logaddexp(0, eta)))


def plain_profile(value, which, z, y):
    """Return the likelihood maximised over the other parameter, by a plain scalar search."""

    def negative(other):
        pair = (other, value) if which == "slope" else (value, other)
        return -plain_log_likelihood(*pair, z, y)

    return -minimize_scalar(negative, bracket=(-1, 1), options={"xtol": 1e-12}).fun


@pytest.mark.parametrize("seed", range(8))
def test_calibration_line_is_the_maximum_likelihood_fit_and_its_bounds_lie_on_the_profile(seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(0.5, 2, 80)
    y = (rng.random(80) < 1 / (1 + np.exp(-(0.3 + 0.6 * z)))).astype(int)
    fit = calibration_slope(y, log_odds=z, level=0.9)
    best = minimize(
        lambda ab: -plain_log_likelihood(*ab, z, y), [0, 1], method="Nelder-Mead", tol=1e-10
    )
    assert (fit.intercept, fit.slope) == pytest.approx(tuple(best.x), abs=1e-4)
    top = plain_log_likelihood(fit.intercept, fit.slope, z, y)
    assert top >= -best.fun - 1e-10
    for which in ("slope", "intercept"):
        for bound in getattr(fit, f"{which}_interval"):
            drop = 2 * (top - plain_profile(bound, which, z, y))
            assert drop == pytest.approx(chi2(1).ppf(0.9), abs=1e-4)
    assert fit.slope_interval[0] < fit.slope < fit.slope_interval[1]
    assert fit.intercept_interval[0] < fit.intercept < fit.intercept_interval[1]


def test_shift_makes_the_mean_probability_equal_the_fraction_of_class_1():
    rng = np.random.default_rng(5)
    z = rng.normal(1, 2, 60)
    y = rng.integers(0, 2, 60)
    fit = calibration_slope(y, log_odds=z)
    assert np.mean(1 / (1 + np.exp(-(fit.shift + z)))) == pytest.approx(y.mean())
    top = plain_log_likelihood(fit.shift, 1.0, z, y)
    for bound in fit.shift_interval:
        drop = 2 * (top - plain_log_likelihood(bound, 1.0, z, y))
        assert drop == pytest.approx(chi2(1).ppf(0.95), abs=1e-4)


def test_probabilities_and_their_log_odds_give_the_same_line():
    rng = np.random.default_rng(6)
    p = rng.uniform(0.01, 0.99, 60)
    y = rng.integers(0, 2, 60)
    assert calibration_slope(y, p).slope == pytest.approx(
        calibration_slope(y, log_odds=np.log(p / (1 - p))).slope
    )


def test_scaling_the_log_odds_divides_the_slope_and_its_interval():
    rng = np.random.default_rng(7)
    z = rng.normal(0, 1, 70)
    y = (rng.random(70) < 1 / (1 + np.exp(-z))).astype(int)
    one, ten = calibration_slope(y, log_odds=z), calibration_slope(y, log_odds=100 * z)
    assert one.slope == pytest.approx(100 * ten.slope)
    assert one.slope_interval == pytest.approx(tuple(100 * b for b in ten.slope_interval))
    assert one.intercept_interval == pytest.approx(ten.intercept_interval, rel=1e-5)


@pytest.mark.parametrize("n_tables", [80, slow(300)])
def test_interval_of_the_slope_covers_1_for_honest_probabilities_at_its_level(n_tables):
    rng = np.random.default_rng(8)
    covered = []
    for _ in range(n_tables):
        z = rng.normal(0, 1.5, 100)
        y = (rng.random(100) < 1 / (1 + np.exp(-z))).astype(int)
        low, high = calibration_slope(y, log_odds=z, level=0.9).slope_interval
        covered.append(low <= 1 <= high)
    # 3.2 binomial standard errors.
    assert abs(np.mean(covered) - 0.9) < 3.2 * math.sqrt(0.9 * 0.1 / n_tables)


def test_separated_classes_give_an_infinite_slope_with_a_finite_lower_bound():
    z = np.array([-3.0, -2.0, -1.0, 1.5, 2.0, 4.0])
    y = np.array([0, 0, 0, 1, 1, 1])
    fit = calibration_slope(y, log_odds=z)
    low, high = fit.slope_interval
    assert fit.slope == math.inf
    assert high == math.inf
    assert math.isfinite(low)
    assert -2 * plain_profile(low, "slope", z, y) == pytest.approx(chi2(1).ppf(0.95), abs=1e-4)


def test_classes_separated_the_wrong_way_give_minus_infinity():
    z = np.array([-3.0, -2.0, -1.0, 1.5, 2.0, 4.0])
    y = np.array([0, 0, 0, 1, 1, 1])
    right, wrong = calibration_slope(y, log_odds=z), calibration_slope(1 - y, log_odds=z)
    assert wrong.slope == -math.inf
    assert wrong.slope_interval == pytest.approx((-math.inf, -right.slope_interval[0]))


def test_classes_separated_but_for_a_tie_give_an_infinite_slope():
    z = np.array([-2.0, -1.0, 0.0, 0.0, 0.0, 1.0, 2.0])
    y = np.array([0, 0, 0, 1, 1, 1, 1])
    fit = calibration_slope(y, log_odds=z)
    supremum = math.log(1 / 3) + 2 * math.log(2 / 3)
    assert fit.slope == math.inf
    drop = 2 * (supremum - plain_profile(fit.slope_interval[0], "slope", z, y))
    assert drop == pytest.approx(chi2(1).ppf(0.95), abs=1e-4)


def test_constant_log_odds_leave_the_slope_open_and_determine_the_shift():
    fit = calibration_slope([0, 1, 1, 1], [0.6] * 4)
    assert math.isnan(fit.slope)
    assert fit.slope_interval == (-math.inf, math.inf)
    assert fit.shift == pytest.approx(math.log(3) - math.log(1.5))


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_alone_leaves_the_slope_open_and_bounds_the_shift_on_one_side(label):
    p = np.array([0.2, 0.7, 0.9])
    fit = calibration_slope([label] * 3, p)
    sign = 2 * label - 1
    assert math.isnan(fit.slope)
    assert fit.shift == sign * math.inf
    bound = fit.shift_interval[0 if label else 1]
    likelihood = plain_log_likelihood(bound, 1.0, np.log(p / (1 - p)), np.full(3, label))
    assert -2 * likelihood == pytest.approx(chi2(1).ppf(0.95), abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(cases)
def test_summary_never_warns_nor_raises_and_bounds_enclose_the_values(rows):
    y, p = (list(column) for column in zip(*rows, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        summary = summarise(y, p)
    for name in ("actual_error", "optimism", "log_score", "squared_error", "auc"):
        estimate = getattr(summary, name)
        low, high = estimate.interval
        assert math.isnan(estimate.value) or low - 1e-9 <= estimate.value <= high + 1e-9
    fit = summary.calibration
    low, high = fit.slope_interval
    assert math.isnan(fit.slope) or low <= fit.slope <= high
    assert "calibration" in str(summary)


@settings(max_examples=40, deadline=None)
@given(cases)
def test_swapping_the_classes_keeps_every_score_but_mirrors_the_intercept(rows):
    y, p = (np.array(column) for column in zip(*rows, strict=True))
    # 1 - p must lose nothing, and p = 1/2 predicts class 1 whatever the coding.
    p = np.round(p * 1024) / 1024
    p[p == 0.5] = 0.25
    assume(y.min() < y.max())
    one, other = summarise(y, p), summarise(1 - y, 1 - p)
    for name in ("actual_error", "optimism", "log_score", "squared_error", "auc"):
        assert getattr(one, name).value == pytest.approx(getattr(other, name).value)
    assert one.calibration.slope == pytest.approx(other.calibration.slope, rel=1e-5, nan_ok=True)
    assert one.calibration.shift == pytest.approx(-other.calibration.shift, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(cases, st.randoms(use_true_random=False))
def test_order_of_cases_does_not_matter(rows, random):
    shuffled = rows.copy()
    random.shuffle(shuffled)
    one, other = (summarise(*(list(c) for c in zip(*r, strict=True))) for r in (rows, shuffled))
    assert one.log_score.value == pytest.approx(other.log_score.value)
    assert one.calibration.slope == pytest.approx(other.calibration.slope, rel=1e-5, nan_ok=True)


def test_repeats_of_the_same_predictions_change_nothing():
    rng = np.random.default_rng(9)
    p = rng.random(40)
    y = (rng.random(40) < p).astype(int)
    one, three = summarise(y, p), summarise(y, np.tile(p, (3, 1)))
    for name in ("actual_error", "optimism", "log_score", "squared_error", "auc"):
        assert getattr(one, name).interval == pytest.approx(getattr(three, name).interval)
    assert one.calibration.slope_interval == pytest.approx(three.calibration.slope_interval)


def test_calibration_table_groups_by_the_first_decimal_as_table_1():
    p = np.array([0.0, 0.05, 0.1, 0.29, 0.3, 0.7, 0.95, 1.0])
    y = np.array([0, 1, 0, 1, 1, 1, 1, 0])
    table = calibration_table(y, p)
    assert table.n.tolist() == [2, 1, 1, 1, 0, 0, 0, 1, 0, 2]
    assert table.predicted[[0, 9]] == pytest.approx([0.025, 0.975])
    assert table.actual[[0, 9]] == pytest.approx([0.5, 0.5])
    assert np.isnan(table.predicted[4])


def test_calibration_table_prints_like_table_1_with_dashes_for_empty_categories():
    lines = str(calibration_table([0, 1, 1], [0.045, 0.047, 0.96])).splitlines()
    assert lines[0].split() == ["C", "#", "Pred", "Actual"]
    assert lines[1].split() == ["0", "2", "0.046", "0.500"]
    assert lines[2].split() == ["1", "0", "—", "—"]
    assert lines[10].split() == ["9", "1", "0.960", "1.000"]


def test_calibration_table_turns_into_json_without_nan():
    plain = calibration_table([0, 1], [0.2, 0.9]).to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False))["predicted"][0] is None


@pytest.mark.parametrize("interval", ["wilson", "exact"])
def test_reliability_intervals_are_those_of_scipy(interval):
    rng = np.random.default_rng(10)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    curve = reliability(y, p, n_bins=5, interval=interval, level=0.9)
    for i in range(5):
        inside = (p >= i / 5) & (p < (i + 1) / 5)
        bounds = binomtest(int(y[inside].sum()), int(inside.sum())).proportion_ci(0.9, interval)
        assert (curve.lower[i], curve.upper[i]) == pytest.approx(tuple(bounds))
        assert curve.predicted[i] == pytest.approx(p[inside].mean())
        assert curve.actual[i] == pytest.approx(y[inside].mean())


@given(cases, st.integers(1, 12), st.sampled_from(["uniform", "quantile"]))
def test_reliability_puts_every_case_in_one_bin_and_encloses_the_fraction(rows, n_bins, strategy):
    y, p = (np.array(column) for column in zip(*rows, strict=True))
    curve = reliability(y, p, n_bins=n_bins, strategy=strategy)
    assert curve.n.sum() == y.size
    assert np.sum(curve.n * curve.actual) == pytest.approx(y.sum())
    assert np.sum(curve.n * curve.predicted) == pytest.approx(p.sum())
    assert np.all((curve.lower <= curve.actual) & (curve.actual <= curve.upper))
    assert np.all(curve.lower_edge <= curve.predicted + 1e-12)
    assert np.all(curve.predicted <= curve.upper_edge + 1e-12)


def test_a_smooth_curve_is_the_weighted_average_of_the_same_cases_on_both_axes():
    generator = np.random.default_rng(0)
    y, p = generator.integers(0, 2, 60), generator.random((2, 60))
    curve = smooth_calibration(y, p, bandwidth=0.1, n_points=11, level=0.9)
    for index, point in enumerate(np.arange(11) / 10):
        weight = [norm.pdf(value, point, 0.1) for value in p.ravel()]
        assert curve.predicted[index] == pytest.approx(np.average(p.ravel(), weights=weight))
        assert curve.observed[index] == pytest.approx(np.average(np.tile(y, 2), weights=weight))
        assert curve.lower[index] < curve.observed[index] < curve.upper[index]
    one = smooth_calibration(y, p[0], bandwidth=1e6, n_points=2, level=0.9)  # all cases alike
    low, high = binomtest(int(y.sum()), 60).proportion_ci(0.9, method="wilson")
    assert one.lower == pytest.approx([low, low])
    assert one.upper == pytest.approx([high, high])
    twice = smooth_calibration(y, np.array([p[0], p[0]]), bandwidth=0.1, level=0.9)
    assert twice.lower == pytest.approx(smooth_calibration(y, p[0], bandwidth=0.1, level=0.9).lower)


def test_a_smooth_curve_stops_where_fewer_than_three_cases_are_near():
    curve = smooth_calibration([0, 1] * 10, [0.1] * 18 + [0.9] * 2, bandwidth=0.05, n_points=11)
    assert np.flatnonzero(~np.isnan(curve.observed)).tolist() == [1]


@pytest.mark.parametrize(("law", "n"), [((1, 1), 60), ((0.3, 0.3), 60), ((2, 8), 400)])
def test_the_band_covers_the_diagonal_for_calibrated_probabilities_only(law, n):
    generator = np.random.default_rng(1)
    covered, sharpened = [], []
    for _ in range(200):
        p = generator.beta(*law, n)
        y = (generator.random(n) < p).astype(int)
        for predicted, result in ((p, covered), (expit(2 * logit(p)), sharpened)):
            curve = smooth_calibration(y, predicted, classes=[0, 1])
            drawn = ~np.isnan(curve.predicted)
            inside = (curve.lower <= curve.predicted) & (curve.predicted <= curve.upper)
            result.append(inside[drawn].mean())
    assert 0.92 < np.mean(covered) < 0.98
    assert np.mean(sharpened) < 0.85


def test_a_probability_on_an_edge_belongs_to_the_bin_above():
    curve = reliability([0, 1, 1], [0.3, 0.6, 1.0], n_bins=10)
    assert curve.lower_edge == pytest.approx([0.3, 0.6, 0.9])


def test_shift_is_exact_where_the_probabilities_round_to_0_and_1():
    assert calibration_slope([0, 1], [0.0, 1.0]).shift == pytest.approx(0, abs=1e-9)
    log_odds = np.array([-60.0, -50.0, 55.0, 65.0])
    fit = calibration_slope([0, 0, 1, 1], log_odds=log_odds)
    # With such log-odds the sum of exp(-55 - a) over ones equals that of exp(-50 + a) over zeros.
    assert fit.shift == pytest.approx(-2.5, abs=1e-3)


def test_quantile_bins_hold_about_equal_numbers():
    p = np.random.default_rng(11).beta(0.3, 0.3, 1000)
    curve = reliability(np.arange(1000) % 2, p, n_bins=8, strategy="quantile")
    assert curve.n.tolist() == [125] * 8


def test_labels_may_be_strings_and_the_second_in_order_is_class_1():
    p = [0.1, 0.9, 0.8]
    assert actual_error(["normal", "tumor", "tumor"], p) == 0.0
    assert actual_error(["normal", "tumor", "tumor"], p, pos_label="normal") == 1.0
    assert actual_error([False, True, True], p) == 0.0
    assert actual_error([-1, 1, 1], p) == 0.0


def test_actual_error_of_0_has_an_interval_with_a_width():
    estimate = summarise([0, 1] * 10, [0.1, 0.9] * 10).actual_error
    z2 = norm.ppf(0.975) ** 2
    assert estimate.interval == pytest.approx((0.0, z2 / (20 + z2)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: actual_error([0, 1, 2], [0.1] * 3), "y_true holds 3 different labels"),
        (lambda: actual_error(["a", "a"], [0.1] * 2), "pos_label"),
        (lambda: actual_error([0, 1], [0.1, 0.2], pos_label="x"), "pos_label 'x'"),
        (lambda: actual_error([], []), "y_true has shape"),
        (lambda: actual_error([0, 1], [0.1]), r"p has shape \(1,\) for 2 cases"),
        (lambda: actual_error([0, 1], [[0.1, 0.9]] * 2), r"predict_proba\(X\)\[:, 1\]"),
        (lambda: actual_error([0, 1], [0.1, 1.2]), "p holds a value outside 0 to 1"),
        (lambda: expected_error([0.1, np.nan]), "p holds a value outside 0 to 1 or NaN"),
        (lambda: expected_error(0.3), "p has shape"),
        (lambda: log_score([0]), "exactly one"),
        (lambda: log_score([0], log_proba=[[0.5, -1.0]]), "log_proba holds"),
        (lambda: log_score([0], log_proba=[-1.0]), "log_proba has shape"),
        (lambda: calibration_slope([0, 1], log_odds=[1.0, np.nan]), "log_odds"),
        (lambda: calibration_slope([0, 1]), "exactly one"),
        (lambda: optimism([0, 1], [0.1, 0.2], level=95), "level is 95"),
        (lambda: optimism([0, 1], [0.1, 0.2], groups=[1]), "groups has shape"),
        (lambda: reliability([0, 1], [0.1, 0.2], n_bins=0), "n_bins is 0"),
        (lambda: reliability([0, 1], [0.1, 0.2], strategy="x"), "strategy is 'x'"),
        (lambda: reliability([0, 1], [0.1, 0.2], interval="x"), "interval is 'x'"),
        (lambda: smooth_calibration([0, 1], [0.1, 0.2], bandwidth=0), "bandwidth is 0"),
        (lambda: smooth_calibration([0, 1], [0.1, 0.2], n_points=1), "n_points is 1"),
        (
            lambda: summarise([0, 1], [0.1, 0.2], log_proba=np.full((2, 2, 2), -1.0)),
            "different numbers of repeats",
        ),
    ],
)
def test_bad_input_gets_one_sentence_that_names_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_brier_score_is_called_so_and_its_scale_is_said():
    y, p = np.array([0, 1, 1, 0]), np.array([0.2, 0.7, 0.6, 0.4])
    (line,) = [line for line in str(summarise(y, p)).splitlines() if line.startswith("Brier")]
    assert line.startswith(f"Brier score        {brier_score(y, p):.3f} (")
    assert "summed" not in line
    three = np.array([[0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.5, 0.3, 0.2]])
    printed = str(summarise([0, 1, 2, 0], three))
    assert re.search(r"^Brier score .*, summed over the classes$", printed, re.MULTILINE)
    for text in (printed, str(summarise(y, p))):
        assert "squared error" not in text


def test_the_name_of_before_still_works():
    assert honestbayes.metrics.squared_error is brier_score


def test_nearly_equal_aucs_of_the_same_cases_have_nearly_equal_intervals():
    y = np.repeat([0, 1], [27, 11])
    rng = np.random.default_rng(0)
    perfect = np.where(y == 1, 0.9, 0.1) + 0.05 * rng.random(38)
    swapped = perfect.copy()  # one pair of cases is in the wrong order
    swapped[y == 0] = np.where(np.arange(27) == 0, perfect[y == 1].min() + 1e-9, perfect[y == 0])
    found = [summarise(y, p, out_of_fold=True).auc for p in (perfect, swapped)]
    assert found[0].value == 1
    assert 0.995 < found[1].value < 1
    assert found[0].interval[0] == pytest.approx(found[1].interval[0], abs=0.01)
    # As in one drawing of the folds, so in several.
    several = summarise(y, np.stack([perfect, swapped]), out_of_fold=True).auc
    assert several.interval[0] == pytest.approx(found[0].interval[0], abs=0.01)


@pytest.mark.slow_cases("0.75-counts0", "0.97-counts2")
@pytest.mark.parametrize(("truth", "counts"), [(0.75, (40, 3)), (0.9, (90, 10)), (0.97, (50, 50))])
def test_intervals_of_the_auc_cover_it_as_often_as_they_should(truth, counts):
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], counts)
    shift = np.sqrt(2) * norm.ppf(truth)
    covered = []
    for _ in range(300):
        low, high = summarise(y, expit(rng.normal(size=y.size) + shift * y)).auc.interval
        covered.append(low <= truth <= high)
    # Of 300 intervals, four standard errors below 0.95 are 0.90.
    assert np.mean(covered) > 0.9


def test_cases_of_one_group_count_once_in_the_interval_of_a_perfect_auc():
    y = np.repeat([0, 1], 20)
    p = np.where(y == 1, 0.9, 0.1)
    alone = summarise(y, p).auc
    grouped = summarise(y, p, groups=np.arange(40) // 4).auc
    assert grouped.interval[0] < alone.interval[0] - 0.1
