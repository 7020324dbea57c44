"""Metrics for several classes against loops and general optimisers that share no code with them."""

import itertools
import math
import warnings
from dataclasses import asdict

import matplotlib as mpl
import numpy as np
import pytest
from grids import few
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.special import log_softmax, softmax
from scipy.stats import chi2, t
from sklearn.metrics import log_loss, roc_auc_score

from honestbayes.metrics import (
    actual_error,
    auc,
    brier_score,
    calibration_slope,
    calibration_table,
    confident_predictions,
    expected_error,
    log_score,
    optimism,
    reliability,
    summarise,
    threshold_table,
)

mpl.use("Agg")

SCORES = ("actual_error", "optimism", "log_score", "squared_error", "auc")


def draw(seed, n=60, n_classes=3, factor=1.0, spread=1.5):
    """Draw honest probabilities (with factor 1) and classes, each class at least once."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, spread, (n, n_classes)) + rng.normal(0, 0.5, n_classes)
    p = softmax(logits, axis=1)
    y = np.array([rng.choice(n_classes, p=row) for row in p])
    y[:n_classes] = np.arange(n_classes)
    return y, softmax(factor * logits, axis=1)


def plain_scores(y, p):
    """Loop over cases: expected error, actual error, log score, squared error."""
    expected = actual = log = squared = 0.0
    for label, row in zip(y, p, strict=True):
        top = max(range(len(row)), key=lambda c: (row[c], -c))
        expected += 1 - row[top]
        actual += top != label
        log -= math.log(row[label])
        squared += sum((float(c == label) - row[c]) ** 2 for c in range(len(row)))
    return np.array([expected, actual, log, squared]) / len(y)


@pytest.mark.parametrize("n_classes", [3, 4, 7])
def test_scores_are_those_of_a_loop_over_cases_and_of_scikit_learn(n_classes):
    y, p = draw(0, 80, n_classes)
    expected, actual, log, squared = plain_scores(y, p)
    assert expected_error(p) == pytest.approx(expected)
    assert actual_error(y, p) == pytest.approx(actual)
    assert log_score(y, p) == pytest.approx(log)
    assert log_score(y, log_proba=np.log(p)) == pytest.approx(log)
    assert log_score(y, p) == pytest.approx(log_loss(y, p))
    assert brier_score(y, p) == pytest.approx(squared)
    assert auc(y, p) == pytest.approx(roc_auc_score(y, p, multi_class="ovo"))
    summary = summarise(y, p)
    found = [summary.expected_error, *(float(getattr(summary, name)) for name in SCORES)]
    rank = roc_auc_score(y, p, multi_class="ovo")
    assert found == pytest.approx([expected, actual, actual - expected, log, squared, rank])
    assert summary.n_positive == tuple(np.bincount(y))
    assert summary.mean_probability == pytest.approx(tuple(p.mean(axis=0)))


def test_two_columns_say_the_same_as_the_probability_of_class_1():
    y, p = draw(1, 40, 2)
    one, two = summarise(y, p[:, 1]), summarise(y, p)
    assert (two.n_positive, two.mean_probability) == (one.n_positive, one.mean_probability)
    for name in SCORES:
        assert getattr(two, name).interval == pytest.approx(getattr(one, name).interval), name
    for name, value in asdict(one.calibration).items():
        assert getattr(two.calibration, name) == pytest.approx(value), name
    assert reliability(y, p).actual == pytest.approx(reliability(y, p[:, 1]).actual)
    assert confident_predictions(y, p).wrong.interval == pytest.approx(
        confident_predictions(y, p[:, 1]).wrong.interval
    )
    assert threshold_table(y, p).net_benefit == pytest.approx(
        threshold_table(y, p[:, 1]).net_benefit
    )


def test_squared_error_of_two_classes_is_half_of_the_sum_over_both():
    y, p = draw(2, 40, 2)
    assert 2 * brier_score(y, p) == pytest.approx(plain_scores(y, p)[3])
    with_a_third = np.column_stack([p, np.zeros(40)])
    assert brier_score(y, with_a_third, classes=[0, 1, 2]) == pytest.approx(2 * brier_score(y, p))


def test_of_equally_probable_classes_the_first_is_predicted():
    p = [[0.4, 0.4, 0.2], [0.2, 0.4, 0.4]]
    assert actual_error([0, 1], p, classes=[0, 1, 2]) == 0
    assert actual_error([1, 2], p, classes=[0, 1, 2]) == 1


def test_tiny_probabilities_keep_their_digits():
    p = [[1e-300, 1.0, 1e-200]]
    assert log_score([1], p, classes=[0, 1, 2]) == pytest.approx(1e-200, rel=1e-12, abs=0)
    assert log_score([0], p, classes=[0, 1, 2]) == pytest.approx(300 * math.log(10))
    assert expected_error(p) == pytest.approx(1e-200, rel=1e-12, abs=0)
    bound = -math.log(np.finfo(float).tiny)
    assert log_score([0], [[0.0, 0.5, 0.5]], classes=[0, 1, 2]) == pytest.approx(bound)


def test_standard_errors_are_paired_and_over_groups():
    y, p = draw(3, 50)
    wrong = (p.argmax(axis=1) != y).astype(float)
    difference = wrong - (1 - p.max(axis=1))
    error = np.std(difference, ddof=1) / math.sqrt(50)
    found = optimism(y, p, level=0.9)
    assert found.standard_error == pytest.approx(error)
    half = t(49).ppf(0.95) * error
    assert found.interval == pytest.approx((found.value - half, found.value + half))
    single = summarise(y, p)
    triple = summarise(np.repeat(y, 3), np.repeat(p, 3, axis=0), groups=np.repeat(range(50), 3))
    for name in SCORES[:-1]:
        assert getattr(triple, name).interval == pytest.approx(getattr(single, name).interval)


def test_repeats_of_the_same_predictions_change_nothing():
    y, p = draw(4, 40, 4)
    one, three = summarise(y, p), summarise(y, np.tile(p, (3, 1, 1)))
    for name in SCORES:
        assert getattr(one, name).interval == pytest.approx(getattr(three, name).interval)
    assert one.calibration.slope_interval == pytest.approx(three.calibration.slope_interval)
    assert one.calibration.shift == pytest.approx(three.calibration.shift)


def test_standard_error_of_the_auc_is_that_of_a_sum_over_independent_samples_of_the_classes():
    y, p = draw(5, 60, 3)
    p = np.floor(32 * p) / 32
    p[:, 2] = 1 - p[:, 0] - p[:, 1]
    value, parts = 0.0, np.zeros(60)
    for c, d in itertools.permutations(range(3), 2):
        inside, outside = np.flatnonzero(y == c), np.flatnonzero(y == d)
        kernel = np.array(
            [[(p[i, c] > p[j, c]) + 0.5 * (p[i, c] == p[j, c]) for j in outside] for i in inside]
        )
        value += kernel.mean() / 6
        parts[inside] += kernel.mean(axis=1) / 6
        parts[outside] += kernel.mean(axis=0) / 6
    variance = sum(np.var(parts[y == c], ddof=1) / np.sum(y == c) for c in range(3))
    found = summarise(y, p).auc
    assert found.value == pytest.approx(value)
    assert found.standard_error == pytest.approx(math.sqrt(variance))


def test_auc_is_unknown_where_a_class_has_no_case():
    y, p = draw(6, 40, 3)
    y[y == 2] = 0
    assert math.isnan(auc(y, p, classes=[0, 1, 2]))
    assert math.isnan(summarise(y, p, classes=[0, 1, 2]).auc.value)


def test_top_class_reliability_is_the_reliability_of_being_right():
    y, p = draw(7, 200, 4)
    top, right = p.max(axis=1), (p.argmax(axis=1) == y).astype(int)
    several, plain = reliability(y, p, n_bins=5), reliability(right, top, n_bins=5)
    for name in ("n", "predicted", "actual", "lower", "upper"):
        assert getattr(several, name) == pytest.approx(getattr(plain, name))
    assert str(calibration_table(y, p)) == str(calibration_table(right, top))


def test_claims_of_the_most_probable_class_are_counted_case_by_case():
    y, p = draw(8, 120, 3, spread=3)
    repeats = np.stack([p, p[::-1]])
    n_confident = n_wrong = implied = 0
    for table in repeats:
        for label, row in zip(y, table, strict=True):
            if max(row) >= 0.9:
                n_confident += 1
                n_wrong += int(np.argmax(row)) != label
                implied += 1 - max(row)
    found = confident_predictions(y, repeats, at_least=0.9)
    assert (2 * found.n_confident, 2 * found.n_wrong) == (n_confident, n_wrong)
    assert 2 * found.n_implied == pytest.approx(implied)


# ----------------------------------------------------------------- calibration


def plain_log_likelihood(slope, intercepts, p, y):
    """Log likelihood of log-odds a_c + b log(p_c / p_0), with a_0 = 0."""
    eta = np.concatenate([[0.0], intercepts]) + slope * np.log(p / p[:, :1])
    return float(log_softmax(eta, axis=1)[np.arange(len(y)), y].sum())


def plain_maximum(p, y, slope=None, held=None):
    """Maximise over what is not held, by a general optimiser; return value, slope, intercepts."""
    n_free = p.shape[1] - 1

    def unpack(x):
        x = list(x)
        b = x.pop(0) if slope is None else slope
        if held is not None:
            x.insert(held[0], held[1])
        return b, np.array(x)

    size = n_free + (slope is None) - (held is not None)
    start = np.zeros(size)
    found = minimize(
        lambda x: -plain_log_likelihood(*unpack(x), p, y), start, method="BFGS", tol=1e-12
    )
    return -found.fun, *unpack(found.x)


@pytest.mark.parametrize(("seed", "n_classes"), [(0, 2), (1, 3), (2, 3), (3, 4), (4, 5)])
def test_slope_is_the_multinomial_fit_and_its_bounds_lie_on_the_profile(seed, n_classes):
    y, p = draw(seed, 90, n_classes, factor=2.0)
    fit = calibration_slope(y, p, level=0.9)
    intercepts, bounds = np.atleast_1d(fit.intercept), np.atleast_2d(fit.intercept_interval)
    top, slope, best = plain_maximum(p, y)
    assert fit.slope == pytest.approx(slope, abs=1e-4)
    assert intercepts == pytest.approx(best, abs=1e-3)
    assert plain_log_likelihood(fit.slope, intercepts, p, y) >= top - 1e-9
    fall = chi2(1).ppf(0.9)
    for bound in fit.slope_interval:
        assert 2 * (top - plain_maximum(p, y, slope=bound)[0]) == pytest.approx(fall, abs=1e-4)
    for place, ends in enumerate(bounds):
        assert ends[0] < intercepts[place] < ends[1]
        for end in ends:
            held = plain_maximum(p, y, held=(place, end))[0]
            assert 2 * (top - held) == pytest.approx(fall, abs=1e-4)


@pytest.mark.parametrize("n_classes", [3, 4])
def test_shifts_make_mean_probabilities_equal_the_shares_of_the_classes(n_classes):
    y, p = draw(9, 70, n_classes, factor=1.7)
    fit = calibration_slope(y, p)
    shifted = softmax(np.log(p) + np.array([0, *fit.shift]), axis=1)
    assert shifted.mean(axis=0) == pytest.approx(np.bincount(y) / 70, abs=1e-8)
    top = plain_log_likelihood(1.0, fit.shift, p, y)
    for place, ends in enumerate(fit.shift_interval):
        for end in ends:
            held = plain_maximum(p, y, slope=1.0, held=(place, end))[0]
            assert 2 * (top - held) == pytest.approx(chi2(1).ppf(0.95), abs=1e-4)


def test_order_of_the_classes_does_not_matter_for_the_slope():
    y, p = draw(10, 60, 4, factor=1.5)
    one = calibration_slope(y, p)
    order = np.array([2, 0, 3, 1])
    other = calibration_slope(np.argsort(order)[y], p[:, order])
    assert other.slope == pytest.approx(one.slope)
    assert other.slope_interval == pytest.approx(one.slope_interval)


def test_scaling_the_log_probabilities_divides_the_slope_and_its_interval():
    y, p = draw(11, 60, 3)
    one = calibration_slope(y, p)
    many = calibration_slope(y, log_proba=log_softmax(50 * np.log(p), axis=1))
    assert one.slope == pytest.approx(50 * many.slope)
    assert one.slope_interval == pytest.approx(tuple(50 * b for b in many.slope_interval))
    assert one.intercept == pytest.approx(many.intercept, rel=1e-5, abs=1e-6)


@pytest.mark.slow  # test_metrics.py has the same of two classes
def test_interval_of_the_slope_covers_1_for_honest_probabilities_at_its_level():
    covered = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        logits = rng.normal(0, 1.5, (60, 3))
        y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        low, high = calibration_slope(y, softmax(logits, axis=1), level=0.9).slope_interval
        covered.append(low <= 1 <= high)
    # 0.065 is three binomial standard errors.
    assert abs(np.mean(covered) - 0.9) < 0.065


def separating_sign(z, y):
    """Ask a linear program for a direction along which the likelihood never falls.

    Margins of the wrong classes must not rise along (a, b), and their sum must fall by 1.
    """
    n_classes = z.shape[1]
    rows = []
    for case, label in zip(z, y, strict=True):
        for wrong in range(n_classes):
            if wrong != label:
                row = np.zeros(n_classes + 1)
                row[wrong] += 1
                row[label] -= 1
                row[-1] = case[wrong] - case[label]
                rows.append(row)
    rows = np.array(rows)[:, 1:]
    for sign in (1, -1):
        bounds = [(None, None)] * (n_classes - 1) + [(0, None) if sign > 0 else (None, 0)]
        found = linprog(
            np.zeros(n_classes),
            A_ub=rows,
            b_ub=np.zeros(len(rows)),
            A_eq=[rows.sum(axis=0)],
            b_eq=[-1.0],
            bounds=bounds,
        )
        if found.status == 0:
            return sign
    return 0


@few("seed", range(60), range(12))
def test_slope_is_infinite_exactly_where_a_linear_program_finds_separation(seed):
    rng = np.random.default_rng(seed)
    n_classes, n = int(rng.integers(2, 5)), int(rng.integers(5, 12))
    # Whole numbers, so that ties are common and everything is exact.
    z = rng.integers(-2, 3, (n, n_classes)).astype(float)
    y = (rng.choice([-1, 1]) * z + rng.choice([0.1, 1.0]) * rng.gumbel(size=z.shape)).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    sign = separating_sign(z, y)
    fit = calibration_slope(y, log_proba=log_softmax(z, axis=1))
    assert sign == (np.sign(fit.slope) if math.isinf(fit.slope) else 0)
    p = softmax(z, axis=1)
    fall = chi2(1).ppf(0.95)
    if sign:
        bound, other = fit.slope_interval[:: int(sign)]
        assert other == sign * math.inf
        # The supremum, from a slope so large that only ties are left.
        top = plain_maximum(p, y, slope=sign * 60.0)[0]
        drop = 2 * (top - plain_maximum(p, y, slope=bound)[0])
        assert drop == pytest.approx(fall, abs=1e-3)
    else:
        top = plain_maximum(p, y)[0]
        for bound in fit.slope_interval:
            drop = 2 * (top - plain_maximum(p, y, slope=bound)[0])
            assert drop == pytest.approx(fall, abs=1e-3)


def test_perfect_certain_predictions_give_an_infinite_slope_with_a_finite_bound():
    y = np.arange(30) % 3
    fit = calibration_slope(y, np.eye(3)[y])
    assert fit.slope == math.inf
    assert 0 < fit.slope_interval[0] < 1
    assert fit.slope_interval[1] == math.inf
    assert fit.shift == pytest.approx((0, 0), abs=1e-6)


def test_a_class_without_cases_is_left_out_of_the_slope():
    y, p = draw(12, 60, 4)
    y[y == 2] = 1
    fit = calibration_slope(y, p, classes=range(4))
    rest = p[:, [0, 1, 3]] / p[:, [0, 1, 3]].sum(axis=1, keepdims=True)
    without = calibration_slope(np.searchsorted([0, 1, 3], y), rest)
    assert fit.slope == pytest.approx(without.slope)
    assert fit.slope_interval == pytest.approx(without.slope_interval)
    assert fit.intercept == pytest.approx(
        (without.intercept[0], -math.inf, without.intercept[1]), rel=1e-6
    )
    assert fit.shift[1] == -math.inf
    # The absent class is bounded from above: a larger shift would ask for cases of it.
    top = plain_maximum(rest, np.searchsorted([0, 1, 3], y), slope=1.0)[0]
    at_bound = plain_maximum(p, y, slope=1.0, held=(1, fit.shift_interval[1][1]))[0]
    assert 2 * (top - at_bound) == pytest.approx(chi2(1).ppf(0.95), abs=1e-4)


def test_a_first_class_without_cases_leaves_the_slope_as_it_is():
    y, p = draw(13, 60, 4)
    y[y == 0] = 1
    y[y == 3] = 2
    fit = calibration_slope(y, p, classes=range(4))
    rest = p[:, 1:3] / p[:, 1:3].sum(axis=1, keepdims=True)
    without = calibration_slope(y - 1, rest)
    assert fit.slope == pytest.approx(without.slope)
    assert fit.intercept == pytest.approx((math.inf, math.inf, math.nan), nan_ok=True)
    assert fit.shift == pytest.approx((math.inf, math.inf, math.nan), nan_ok=True)
    # A lower bound of class 1 against the first is an upper bound of the first against class 1.
    order = [1, 0, 2]
    top = plain_maximum(rest, y - 1, slope=1.0)[0]
    relative = p[:, order] / p[:, order].sum(axis=1, keepdims=True)
    at_bound = plain_maximum(
        relative, np.where(y == 1, 0, 2), slope=1.0, held=(0, -fit.shift_interval[0][0])
    )[0]
    assert 2 * (top - at_bound) == pytest.approx(chi2(1).ppf(0.95), abs=1e-4)


def test_constant_probabilities_leave_the_slope_open():
    fit = calibration_slope([0, 1, 2, 2], [[0.2, 0.3, 0.5]] * 4)
    assert math.isnan(fit.slope)
    assert fit.slope_interval == (-math.inf, math.inf)
    assert fit.shift == pytest.approx((math.log(2 / 3), math.log(2 * 0.2 / 0.5)))


rows_of_three = st.lists(
    st.tuples(st.integers(0, 2), *[st.floats(0, 1, allow_subnormal=False)] * 3),
    min_size=1,
    max_size=25,
)


@settings(max_examples=20, deadline=None)
@given(rows_of_three)
def test_summary_never_warns_nor_raises_and_bounds_enclose_the_values(rows):
    table = np.array(rows)
    y, weights = table[:, 0].astype(int), table[:, 1:] + 1e-30 * (table[:, 1:].max(1) == 0)[:, None]
    p = weights / weights.sum(axis=1, keepdims=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        summary = summarise(y, p, classes=[0, 1, 2])
    for name in SCORES:
        estimate = getattr(summary, name)
        low, high = estimate.interval
        assert math.isnan(estimate.value) or low - 1e-9 <= estimate.value <= high + 1e-9
    fit = summary.calibration
    low, high = fit.slope_interval
    assert math.isnan(fit.slope) or low <= fit.slope <= high
    for value, (low, high) in zip(fit.shift, fit.shift_interval, strict=True):
        assert math.isnan(value) or low - 1e-9 <= value <= high + 1e-9
    assert "calibration" in str(summary)


# ---------------------------------------------------------------- labels, input


def test_labels_may_be_strings_in_any_order_of_columns():
    y, p = draw(14, 30, 3)
    names = np.array(["ewing", "burkitt", "neuroblastoma"])
    order = np.argsort(names)
    assert log_score(names[y], p[:, order]) == pytest.approx(log_score(y, p))
    assert log_score(names[y], p, classes=names) == pytest.approx(log_score(y, p))
    few = y < 2
    assert log_score(names[y[few]], p[few], classes=names) == pytest.approx(
        -np.log(p[few, y[few]]).mean()
    )


def test_as_many_cases_as_classes_are_read_as_a_column_for_each_class():
    p = softmax(np.random.default_rng(15).normal(size=(3, 3)), axis=1)
    assert log_score([0, 1, 2], p) == pytest.approx(-np.log(np.diag(p)).mean())
    assert log_score([0, 0, 1], p, classes=[0, 1, 2]) == pytest.approx(
        -np.log(p[[0, 1, 2], [0, 0, 1]]).mean()
    )


def test_the_reliability_display_names_what_it_shows():
    from honestbayes.plots import ReliabilityDisplay

    y, p = draw(16, 80, 3)
    display = ReliabilityDisplay.from_predictions(y, p, name="mine")
    assert display.ax_.get_xlabel() == "predicted probability of the most probable class"
    assert display.curves["mine"].actual == pytest.approx(reliability(y, p).actual)
    mpl.pyplot.close(display.figure_)


THREE = np.full((3, 3), 1 / 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: log_score([0, 1, 2], THREE[:, :2] * 1.5), "3 different labels"),
        (lambda: log_score([0, 1, 1, 0], np.full((4, 3), 1 / 3)), "2 different labels for 3 col"),
        (lambda: log_score([0, 1, 2], THREE / 2), "do not sum to 1"),
        (lambda: expected_error(THREE / 2), "do not sum to 1"),
        (lambda: log_score([0, 1, 2], log_proba=THREE - 2), "log_proba holds a row"),
        (lambda: log_score([0, 1, 5], THREE, classes=[0, 1, 2]), "the label 5, which is not among"),
        (lambda: log_score([0, 1, 2], THREE, classes=[0, 1]), "classes holds 2 different labels"),
        (lambda: log_score([0, 1, 2], THREE, classes=[0, 1, 1]), "classes holds 2"),
        (lambda: log_score([0, 1, 2], THREE, pos_label=1), "pos_label is for two classes"),
        (lambda: brier_score([0, 1, 2], THREE[:2]), r"p has shape \(2, 3\) for 3 cases"),
        (lambda: brier_score([0, 1, 2], [THREE]), r"p has shape \(1, 3, 3\)"),
        (lambda: brier_score([0, 1, 2], THREE - 0.5), "outside 0 to 1"),
        (lambda: summarise([0, 1, 2], THREE, log_proba=np.log(THREE[:, :2])), "has 2 columns for"),
        (lambda: threshold_table([0, 1, 2], THREE), "more than two columns"),
        (lambda: expected_error([[0.2]]), "p has shape"),
    ],
)
def test_bad_input_gets_one_sentence_that_names_it(call, message):
    with pytest.raises(ValueError, match=message):
        call()
