"""The verdict says what happened: planted data of each kind get their words."""

import re

import numpy as np
import pytest
from scipy.special import expit

from honestbayes.metrics import Estimate, claims, summarise
from honestbayes.report.verdict import Judged, external_verdict, verdict


def judged(y, log_odds):
    p = expit(log_odds)
    return Judged(summarise(y, p), claims(y, p))


def drawn(n, spread, seed=0):
    """Honest log-odds and classes drawn from them."""
    generator = np.random.default_rng(seed)
    log_odds = generator.normal(0, spread, n)
    return (generator.random(n) < expit(log_odds)).astype(int), log_odds


def say(y, corrected, factor=3.0, recalibrated=None, **words):
    """The verdict where the uncorrected model is `factor` times too sure."""
    return verdict(
        ("no", "yes"),
        judged(y, factor * corrected),
        judged(y, corrected),
        judged(y, corrected if recalibrated is None else recalibrated),
        **({"better": {}, "n_repeats": 1} | words),
    )


def test_honest_probabilities_of_many_cases_are_called_consistent_with_honest():
    y, z = drawn(800, 2.0)
    found = say(y, z)
    assert found.remaining == "honest"
    assert "consistent with honest" in found.remains
    assert "more than it claimed" in found.uncorrected
    assert "The interval includes the claim" in found.corrected


def test_log_odds_three_times_too_large_are_called_overconfident_with_the_slope():
    y, z = drawn(800, 2.0)
    found = say(y, 3 * z, recalibrated=z)
    assert found.remaining == "overconfident"
    assert "most likely because features depend on each other" in found.remains
    # A third of 1, give or take four standard errors of the slope of 800 cases.
    slope = float(re.search(r"slope is (\d\.\d+)", found.remains)[1])
    assert 0.23 < slope < 0.43
    assert "With recalibration the calibration slope is" in found.advice
    assert "too sure; a model that knows" not in found.advice


def test_recalibration_that_did_not_help_is_said_to_have_not():
    y, z = drawn(800, 2.0)
    assert "Even so it is too sure" in say(y, 3 * z, recalibrated=2.5 * z).advice


def test_log_odds_too_small_are_called_too_careful():
    y, z = drawn(800, 3.0)
    found = say(y, z / 3)
    assert found.remaining == "underconfident"
    assert "too careful" in found.remains


def test_forty_cases_are_too_few_to_tell():
    y, z = drawn(40, 1.5)
    found = say(y, z)
    assert found.remaining == "too few cases"
    assert "too few cases to tell" in found.remains


@pytest.mark.parametrize("n", [40, 800])
def test_noise_is_said_to_predict_nothing(n):
    generator = np.random.default_rng(n)
    y = generator.permutation(np.arange(n) % 2)
    found = say(y, generator.normal(0, 1, n))
    assert found.remaining == "nothing"
    assert found.headline.startswith("Nothing can be predicted")
    assert "do not act" in found.advice


def test_a_method_that_did_better_is_named_with_its_gain():
    y, z = drawn(800, 2.0)
    gain = Estimate(-0.12, 0.02, (-0.16, -0.08), 0.95)
    found = say(y, z, better={"L1 logistic regression": gain})
    assert "L1 logistic regression had the better log score" in found.advice
    assert "0.120 (0.080 to 0.160; one of several comparisons)" in found.advice


def test_where_only_another_method_finds_a_signal_the_verdict_says_which():
    generator = np.random.default_rng(1)
    y = generator.permutation(np.arange(200) % 2)
    gain = Estimate(-0.6, 0.02, (-0.7, -0.5), 0.95)
    found = say(y, generator.normal(0, 1, 200), better={"L1 logistic regression": gain})
    assert found.headline.startswith("This model can predict nothing")
    assert "L1 logistic regression had the better log score" in found.advice


def test_a_dozen_cases_are_too_few_to_tell_chance_from_a_signal():
    y = np.arange(12) % 2
    found = say(y, np.random.default_rng(0).normal(0, 1, 12))
    assert found.remaining == "nothing"
    assert "too few cases to tell chance from a signal" in found.headline


def test_no_kept_feature_is_said():
    y = np.arange(60) % 2
    found = say(y, np.zeros(60), n_kept=0)
    assert "no feature passed the selection" in found.remains


def test_recalibration_that_stays_too_careful_is_said_to():
    y, z = drawn(800, 3.0)
    assert "Even so it is too careful" in say(y, z / 3, recalibrated=z / 2).advice


def test_another_prevalence_is_called_a_shift_and_not_honest():
    y, z = drawn(3000, 2.0)
    p = expit(z + 2)
    text = external_verdict(summarise(y, p), claims(y, p), ("no", "yes"))
    assert "too high on average" in text
    assert "consistent with honest" not in text
    assert "--prevalence moves the probabilities" in text


def test_numbers_in_the_words_are_those_of_the_claims():
    y = np.array([1] * 20 + [0] * 20 + [1])
    p = np.array([0.99] * 20 + [0.01] * 20 + [0.02])
    text = external_verdict(summarise(y, p), claims(y, p), ("no", "yes"))
    assert "95% or more for 41 of 41 cases" in text
    assert "0.42 of them would be wrong (1%); 1 was: 2.4%" in text


def test_no_claims_are_said_to_be_none():
    y, z = drawn(100, 0.1)
    text = say(y, z, factor=1.0).corrected
    assert text == "With the correction, the model claimed 95% or more for none of the 100 cases."


def test_without_recalibration_the_advice_names_the_option():
    y, z = drawn(800, 2.0)
    found = say(y, 3 * z, recalibrated=z, recalibrate=False)
    assert "Leave out --no-recalibrate" in found.advice
    assert found.headline.startswith("The corrected model claims")
