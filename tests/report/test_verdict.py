"""The verdict says what happened: planted data of each kind get their words."""

import re

import numpy as np
import pytest
from scipy.special import expit

from honestbayes.metrics import Estimate, confident_predictions, summarise
from honestbayes.report.verdict import (
    NOT_OFFERED,
    Judged,
    Other,
    OtherNumber,
    describe_external,
    judge,
)


def judged(y, log_odds):
    p = expit(log_odds)
    return Judged(summarise(y, p), confident_predictions(y, p))


def drawn(n, spread, seed=0):
    """Honest log-odds and classes drawn from them."""
    generator = np.random.default_rng(seed)
    log_odds = generator.normal(0, spread, n)
    return (generator.random(n) < expit(log_odds)).astype(int), log_odds


def say(y, corrected, factor=3.0, recalibrated=None, **words):
    """The verdict where the uncorrected model is `factor` times too sure."""
    return judge(
        ("no", "yes"),
        judged(y, factor * corrected),
        judged(y, corrected),
        judged(y, corrected if recalibrated is None else recalibrated),
        **({"n_repeats": 1, "n_features": 2000} | words),
    )


def other(name, gain, spread, **words):
    """A method whose log score is better by a gain, with an interval of two spreads about it."""
    ends = (-gain - 2 * spread, -gain + 2 * spread)
    return Other(name=name, difference=Estimate(-gain, spread, ends, 0.95), **words)


L1 = "L1 logistic regression"


def test_honest_probabilities_of_many_cases_are_called_consistent_with_honest():
    y, z = drawn(800, 2.0)
    found = say(y, z)
    assert found.calibration == "calibrated"
    assert "no sign of overconfidence" in found.calibration_text
    assert "The interval includes the expected rate" in found.confident_text


def test_the_verdict_is_about_the_model_in_use_and_not_about_the_one_without_a_slope():
    y, z = drawn(800, 2.0)
    found = say(y, 5 * z, factor=1.0, recalibrated=z)
    assert found.calibration == "calibrated"
    assert "no sign of overconfidence" in found.calibration_text
    assert "still overconfident" not in str(found)
    p = expit(z)
    assert f"for {np.sum(np.maximum(p, 1 - p) >= 0.95)} of 800 cases" in found.confident_text
    parts = str(found).split("\n\n")
    assert [part.split()[0] for part in parts] == ["The", "On", "Calibration:", "Without"]


def test_what_the_correction_and_the_slope_did_comes_last_with_their_slopes():
    y, z = drawn(800, 2.0)
    found = say(y, 2 * z, factor=2.0, recalibrated=z)
    slopes = [summarise(y, expit(f * z)).calibration.slope for f in (4, 2, 1)]
    assert found.correction_text.startswith(
        "Without the correction the model predicted a class with 95% or more for"
    )
    one, two, three = (f"{slope:.2f}" for slope in slopes)
    assert found.correction_text.endswith(
        f"its calibration slope was {one}; with the correction alone it is {two}, with correction "
        f"and recalibration, as in use, {three}."
    )
    plain = say(y, 2 * z, factor=2.0, recalibrate=False)
    assert plain.correction_text.endswith(
        f"slope was {slopes[0]:.2f}; with the correction, as in use, it is {slopes[1]:.2f}."
    )


def test_log_odds_three_times_too_large_are_called_overconfident_with_the_slope():
    y, z = drawn(800, 2.0)
    found = say(y, 3 * z)
    assert found.calibration == "overconfident"
    assert "most likely because features depend on each other" in found.calibration_text
    # A third of 1, give or take four standard errors of the slope of 800 cases.
    slope = float(re.search(r"slope (\d\.\d+)", found.calibration_text)[1])
    assert 0.23 < slope < 0.43


def test_recalibration_that_did_not_help_is_said_to_have_not():
    y, z = drawn(800, 2.0)
    assert (
        "This model's probabilities are overconfident" in say(y, 3 * z, recalibrated=2.5 * z).advice
    )


def test_log_odds_too_small_are_called_too_careful():
    y, z = drawn(800, 3.0)
    found = say(y, z / 3)
    assert found.calibration == "underconfident"
    assert "underconfident" in found.calibration_text


def test_forty_cases_are_too_few_to_tell():
    y, z = drawn(40, 1.5)
    found = say(y, z)
    assert found.calibration == "too few cases"
    assert "too few cases to judge" in found.calibration_text


@pytest.mark.parametrize("n", [40, 800])
def test_noise_is_said_to_predict_nothing(n):
    generator = np.random.default_rng(n)
    y = generator.permutation(np.arange(n) % 2)
    found = say(y, generator.normal(0, 1, n))
    assert found.calibration == "no signal"
    assert found.headline.startswith("Nothing can be predicted")
    assert "do not act" in found.advice
    assert "slope" not in found.correction_text


def test_a_method_that_is_clearly_better_is_to_be_used_and_luck_is_mentioned():
    y, z = drawn(800, 2.0)
    found = say(y, z, others=(other(L1, 0.12, 0.02), other("another", 0.01, 0.1)))
    assert found.advice.startswith(f"Advice: use {L1} rather than this model")
    assert "better by 0.120 (0.080 to 0.160)" in found.advice
    assert "the best of 2, so its lead is probably overstated" in found.advice


def test_a_large_difference_is_named_though_it_is_not_significant():
    y, z = drawn(60, 2.0)
    found = say(y, z, others=(other(L1, 0.21, 0.15), other("another", 0.01, 0.1)))
    assert f"{L1} may be better: its log score is better by 0.210 (-0.090 to 0.510)" in found.advice
    assert "These cases cannot settle that" in found.advice


def test_in_doubt_a_model_whose_claims_did_not_hold_is_not_the_one_to_use():
    y, z = drawn(400, 2.0)
    better = (other(L1, 0.21, 0.15),)
    assert "either can be used" in say(y, z, others=better).advice
    sure = say(y, 4 * z, others=better).advice
    assert "this model was not calibrated, so prefer the other" in sure
    assert "either can be used" not in sure


def test_advice_names_no_method_that_nobody_can_use():
    y, z = drawn(800, 2.0)
    better = [other(name, 0.3, 0.02) for name in NOT_OFFERED]
    found = say(y, z, others=(*better, other(L1, 0.01, 0.02)))
    assert found.advice.startswith("Advice: use this model; no other method was clearly better")
    assert "uncorrected" not in found.advice
    named = other("naive Bayes, corrected", 0.3, 0.02, option="--model mixed")
    found = say(y, z, others=(*better, named))
    assert found.advice.startswith("Advice: use naive Bayes, corrected (--model mixed) rather than")


def test_a_tiny_difference_is_not_named_however_significant_it_is():
    y, z = drawn(800, 2.0)
    found = say(y, z, others=(other(L1, 0.001, 0.0001), other("another", 0.015, 0.02)))
    assert L1 not in found.advice
    assert found.advice.startswith("Advice: use this model; none of the 2 other methods")
    sure = say(y, 4 * z, others=(other("another", 0.015, 0.02),))
    assert sure.advice.startswith("Advice: use this model to rank cases, and do not rely on single")


def test_where_cases_outnumber_features_a_logistic_regression_is_what_to_use():
    y, z = drawn(800, 2.0)
    better = other("centroids", 0.10, 0.02, actual_error=0.1)
    found = say(
        y,
        z,
        others=(better, other(L1, 0.09, 0.02, actual_error=0.03, is_logistic=True)),
        n_features=30,
    )
    assert "Advice: use a logistic regression: there are more cases (800) than features (30)" in (
        found.advice
    )
    assert "with 3% errors where this model had" in found.advice


def test_clearly_fewer_errors_are_enough_for_a_logistic_regression():
    y, z = drawn(800, 2.0)
    one = other(L1, 0.015, 0.02, actual_error=0.03, is_logistic=True)
    assert "use a logistic regression" in say(y, z, others=(one,), n_features=30).advice
    # Not where features outnumber cases, and the log score is hardly better.
    assert "logistic" not in say(y, z, others=(one,), n_features=3000).advice


def test_a_better_number_of_features_is_named_with_its_option():
    y, z = drawn(800, 2.0)
    number = OtherNumber(50, Estimate(-0.06, 0.01, (-0.08, -0.04), 0.95))
    small = OtherNumber(20, Estimate(-0.001, 0.0001, (-0.002, -0.0005), 0.95))
    found = say(y, z, numbers=(small, number))
    assert "50 features do better with this model" in found.advice
    assert "by 0.060 (0.040 to 0.080) in log score: --features 50." in found.advice
    assert "the best of 2 numbers, so its lead" in found.advice
    assert "--features" not in say(y, z, numbers=(small,)).advice


def test_where_only_another_method_finds_a_signal_the_verdict_says_which():
    generator = np.random.default_rng(1)
    y = generator.permutation(np.arange(200) % 2)
    found = say(y, generator.normal(0, 1, 200), others=(other(L1, 0.6, 0.02),))
    assert found.headline.startswith("This model can predict nothing")
    assert f"use {L1} rather than this model" in found.advice
    assert "Do not act on the probabilities of this model" in found.advice


def test_without_signal_a_method_that_may_be_better_is_no_reason_to_use_either():
    generator = np.random.default_rng(1)
    y = generator.permutation(np.arange(200) % 2)
    found = say(y, generator.normal(0, 1, 200), others=(other(L1, 0.2, 0.15),))
    assert f"{L1} may be better" in found.advice
    assert "use neither until there are more cases. Do not act on the" in found.advice
    assert "can be used" not in found.advice


def test_frequencies_that_are_better_find_no_signal():
    generator = np.random.default_rng(1)
    y = generator.permutation(np.arange(200) % 2)
    both = (other("class frequencies alone", 0.3, 0.02),)
    found = say(y, generator.normal(0, 1, 200), others=both)
    assert found.headline.startswith("Nothing can be predicted")


def test_a_dozen_cases_are_too_few_to_tell_chance_from_a_signal():
    y = np.arange(12) % 2
    found = say(y, np.random.default_rng(0).normal(0, 1, 12))
    assert found.calibration == "cannot tell"
    assert found.headline.startswith(
        "There are too few cases to show whether this model predicts anything"
    )


def test_three_events_cannot_tell_whether_anything_can_be_predicted():
    y = np.array([1] * 3 + [0] * 37)
    z = np.random.default_rng(3).normal(0, 1, 40) + 0.7 * y
    found = say(y, z)
    low, high = judged(y, z).summary.auc.interval
    assert low < 0.5 < 0.75 < high
    assert found.calibration == "cannot tell"
    assert "Nothing can be predicted" not in str(found)
    assert "predicts anything (40, 3 of the rarest class)" in found.headline
    assert "do not act on these probabilities" in found.advice


def test_no_kept_feature_is_said():
    y = np.arange(60) % 2
    found = say(y, np.zeros(60), n_kept=0)
    assert "no features were selected" in found.calibration_text


def test_recalibration_that_stays_too_careful_is_said_to():
    y, z = drawn(800, 3.0)
    assert "they could be nearer to 0 and 1" in say(y, z / 3, recalibrated=z / 2).advice


def test_another_prevalence_is_called_a_shift_and_not_honest():
    y, z = drawn(3000, 2.0)
    p = expit(z + 2)
    text = describe_external(summarise(y, p), confident_predictions(y, p), ("no", "yes"))
    assert "too high on average" in text
    assert "no sign of overconfidence" not in text
    assert "--prevalence adjusts the probabilities" in text


def test_numbers_in_the_words_are_those_of_the_claims():
    y = np.array([1] * 20 + [0] * 20 + [1])
    p = np.array([0.99] * 20 + [0.01] * 20 + [0.02])
    text = describe_external(summarise(y, p), confident_predictions(y, p), ("no", "yes"))
    assert "95% or more for 41 of 41 cases" in text
    assert "It expected 0.42 of them to be wrong (1%); 1 was: 2.4%" in text


def test_no_claims_are_said_to_be_none():
    y, z = drawn(100, 0.1)
    text = say(y, z, factor=1.0).confident_text
    assert text.endswith("predicted a class with 95% or more for none of the 100 cases.")


def test_without_recalibration_the_advice_names_the_option():
    y, z = drawn(800, 2.0)
    found = say(y, 3 * z, recalibrated=z, recalibrate=False)
    assert "Leave out --no-recalibrate to use it" in found.advice
    assert found.calibration == "overconfident"
    assert found.headline.startswith("The corrected model expected")
