"""Claims of near certainty, and what follows from acting above a threshold, case by case."""

import math

import numpy as np
import pytest

from honestbayes.metrics import (
    calibration_table,
    confident_predictions,
    reliability,
    threshold_table,
)


@pytest.fixture(scope="module")
def predictions():
    generator = np.random.default_rng(3)
    y = generator.integers(0, 2, 80)
    p = 1 / (1 + np.exp(-(2 * y - 1 + generator.normal(0, 3, (4, 80)))))
    return y, p


def test_claims_are_counted_case_by_case(predictions):
    y, p = predictions
    predicted = wrong = implied = 0
    for row in p:
        for label, value in zip(y, row, strict=True):
            sure = max(value, 1 - value)
            if sure >= 0.9:
                predicted += 1
                wrong += (value >= 0.5) != label
                implied += 1 - sure
    found = confident_predictions(y, p, at_least=0.9)
    assert found.n_confident == pytest.approx(predicted / 4)
    assert found.n_wrong == pytest.approx(wrong / 4)
    assert found.n_implied == pytest.approx(implied / 4)
    assert found.wrong.value == pytest.approx(wrong / predicted)
    assert found.implied == pytest.approx(implied / predicted)
    assert found.wrong.interval[0] < found.wrong.value < found.wrong.interval[1]


def test_a_claim_of_exactly_the_bound_counts_on_both_sides():
    assert confident_predictions([1, 0], [0.95, 0.05], at_least=0.95).n_confident == 2


def test_repeating_each_prediction_changes_no_interval(predictions):
    y, p = predictions
    once, often = confident_predictions(y, p[0]), confident_predictions(y, np.tile(p[0], (5, 1)))
    assert often.wrong.interval == pytest.approx(once.wrong.interval)
    one, many = reliability(y, p[0]), reliability(y, np.tile(p[0], (5, 1)))
    assert many.lower == pytest.approx(one.lower)
    assert many.n == pytest.approx(one.n)
    assert calibration_table(y, np.tile(p[0], (5, 1))).actual == pytest.approx(
        calibration_table(y, p[0]).actual, nan_ok=True
    )
    exact = [reliability(y, q, interval="exact").upper for q in (p[0], np.tile(p[0], (3, 1)))]
    assert exact[1] == pytest.approx(exact[0])


def test_twice_the_same_cases_in_groups_changes_no_interval_much(predictions):
    y, p = predictions
    once = confident_predictions(y, p[0])
    twice = confident_predictions(np.tile(y, 2), np.tile(p[0], 2), groups=np.tile(np.arange(80), 2))
    assert twice.wrong.interval == pytest.approx(once.wrong.interval, abs=0.005)


def test_honest_claims_are_seldom_called_broken_and_false_ones_often():
    generator = np.random.default_rng(4)
    broken = {1.0: 0, 3.0: 0}
    for _ in range(300):
        z = generator.normal(0, 4, 200)
        y = (generator.random(200) < 1 / (1 + np.exp(-z))).astype(int)
        for factor in broken:
            broken[factor] += confident_predictions(y, 1 / (1 + np.exp(-factor * z))).broken
    assert broken[1.0] <= 0.06 * 300
    assert broken[3.0] >= 0.5 * 300


def test_without_claims_nothing_is_said():
    found = confident_predictions([0, 1, 1], [0.4, 0.6, 0.7])
    assert found.n_confident == 0
    assert math.isnan(found.wrong.value)
    assert not found.broken


@pytest.mark.parametrize("at_least", [0.5, 1.0, float("nan")])
def test_a_bound_that_is_no_claim_is_refused(at_least):
    with pytest.raises(ValueError, match="at_least"):
        confident_predictions([0, 1], [0.1, 0.9], at_least=at_least)


@pytest.mark.parametrize("prevalence", [None, 0.02, 0.9])
def test_thresholds_are_counted_case_by_case(predictions, prevalence):
    y, p = predictions
    share = y.mean()
    table = threshold_table(y, p, thresholds=[0.1, 0.5, 0.9], prevalence=prevalence)
    for position, cut in enumerate([0.1, 0.5, 0.9]):
        counts = np.zeros((2, 2))
        for row in p:
            for label, value in zip(y, row, strict=True):
                if prevalence is not None:
                    odds = value / (1 - value) * prevalence / (1 - prevalence)
                    odds *= (1 - share) / share
                    value = odds / (1 + odds)
                counts[label, int(value >= cut)] += 1
        sensitivity = counts[1, 1] / counts[1].sum()
        false_alarms = counts[0, 1] / counts[0].sum()
        at = share if prevalence is None else prevalence
        benefit = at * sensitivity - (1 - at) * false_alarms * cut / (1 - cut)
        assert table.sensitivity[position] == pytest.approx(sensitivity)
        assert table.specificity[position] == pytest.approx(1 - false_alarms)
        assert table.net_benefit[position] == pytest.approx(benefit)
        assert table.net_benefit_all[position] == pytest.approx(at - (1 - at) * cut / (1 - cut))
        assert table.sensitivity_interval[position, 0] <= sensitivity
        assert table.sensitivity_interval[position, 1] >= sensitivity


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y_true": [1, 1], "pos_label": 1}, "one class only"),
        ({"thresholds": [0.0]}, "thresholds"),
        ({"prevalence": 1.0}, "prevalence is 1"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        threshold_table(**({"y_true": [0, 1], "p": [0.2, 0.7]} | arguments))
