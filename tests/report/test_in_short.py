"""The verdict in two or three sentences, which word the same decision as the figures."""

from dataclasses import replace

import pytest

from honestbayes.evaluation.baselines import FREQUENCIES
from honestbayes.metrics import Estimate
from honestbayes.report.render import render
from honestbayes.report.verdict import Judged, Other, judge

L2 = "L2 logistic regression"


def decide(report, *others, calibration=None, **params):
    """The verdict on the model of a report, beside other methods and with another calibration."""
    method = report.method(report.in_use)
    summary = method.summary
    if calibration is not None:
        summary = with_calibration(summary, calibration)
    used = Judged(summary, method.confident)
    params = {"n_repeats": 1, "n_features": 2000, "others": others} | params
    return judge(report.data.labels, None, used, None, **params)


def with_calibration(summary, calibration):
    """The same scores, with a slope, a shift or an AUC that is judged so."""
    if calibration in ("no signal", "cannot tell"):
        interval = (0.4, 0.6 if calibration == "no signal" else 0.9)
        return replace(summary, auc=replace(summary.auc, value=0.55, interval=interval))
    slope = {
        "calibrated": (1.0, (0.8, 1.2)),
        "shifted": (1.0, (0.8, 1.2)),
        "overconfident": (0.5, (0.3, 0.7)),
        "underconfident": (2.0, (1.5, 2.5)),
        "too few cases": (1.0, (0.2, 3.0)),
    }[calibration]
    shift = (0.3, 0.5) if calibration == "shifted" else (-0.1, 0.1)
    auc = replace(summary.auc, value=0.8, interval=(0.7, 0.9))
    fit = replace(
        summary.calibration, slope=slope[0], slope_interval=slope[1], shift_interval=shift
    )
    return replace(summary, auc=auc, calibration=fit)


def other(name, value, interval, actual_error=0.5):
    return Other(
        name=name, difference=Estimate(value, 0.05, interval, 0.95), actual_error=actual_error
    )


WORSE = other(L2, 0.1, (0.01, 0.2))


def test_errors_are_told_as_cases_of_a_hundred(analysis):
    summary = analysis.report.method(analysis.report.in_use).summary
    guess = analysis.report.method(FREQUENCIES).summary
    first = analysis.report.verdict.in_short[0]
    assert f"to misclassify about {100 * summary.expected_error:.0f} " in first
    assert f"misclassified about {100 * summary.actual_error.value:.0f}." in first
    assert first.endswith(f"would misclassify about {100 * guess.actual_error.value:.0f}.")


@pytest.mark.parametrize(
    ("calibration", "text"),
    [
        ("calibrated", "agree with what was observed"),
        ("overconfident", "overconfident: where it predicts 90%, about "),
        ("underconfident", "underconfident"),
        ("shifted", " on average, "),
        ("too few cases", "60 cases are too few to show whether its probabilities are calibrated"),
    ],
)
def test_the_second_sentence_is_about_calibration(analysis, calibration, text):
    verdict = decide(analysis.report, WORSE, calibration=calibration)
    assert verdict.calibration == calibration
    assert len(verdict.in_short) == 3
    assert text in verdict.in_short[1]


@pytest.mark.parametrize("calibration", ["no signal", "cannot tell"])
def test_without_signal_it_advises_against_the_model(analysis, calibration):
    verdict = decide(analysis.report, WORSE, calibration=calibration)
    assert verdict.status == ("not usable" if calibration == "no signal" else "cannot tell")
    assert len(verdict.in_short) == 2
    assert "Do not use it: more cases or other columns are needed." in verdict.in_short[1]
    for label in analysis.report.data.labels:
        assert label in verdict.in_short[1]


@pytest.mark.parametrize(
    ("value", "interval", "status", "text"),
    [
        (-0.1, (-0.2, -0.05), "with care", f"Use {L2} instead"),
        (-0.1, (-0.3, 0.1), "with care", f"{L2} did better, but that may be chance"),
        (0.1, (0.05, 0.2), "usable", "It can be used for new cases"),
    ],
)
def test_the_last_sentence_names_what_the_advice_names(analysis, value, interval, status, text):
    one = other(L2, value, interval)
    verdict = decide(analysis.report, one, calibration="calibrated")
    assert verdict.status == status
    assert text in verdict.in_short[-1]
    assert (L2 in verdict.advice) == (status != "usable")


def test_a_kept_copy_of_the_class_comes_first_and_asks_for_care(analysis):
    condition = "'code' determines the class and is kept on request"
    verdict = decide(analysis.report, WORSE, calibration="calibrated", conditions=(condition,))
    assert (verdict.status, verdict.reason) == ("with care", "holds under a condition")
    assert verdict.in_short[0] == f"{condition}."
    assert decide(analysis.report, WORSE, calibration="no signal").status == "not usable"


@pytest.mark.parametrize(("share", "says"), [(1.0, True), (0.95, True), (0.5, False)])
def test_labels_that_are_no_better_than_a_guess_are_told_apart_from_probabilities(
    analysis, share, says
):
    error = analysis.report.method(analysis.report.in_use).summary.actual_error.value
    guess = other(FREQUENCIES, 0.3, (0.2, 0.4), actual_error=error / share)
    verdict = decide(analysis.report, guess, calibration="calibrated")
    text = " ".join(verdict.in_short)
    assert ("its probabilities separate the classes (AUC 0.80)" in text) == says


def test_class_frequencies_that_are_better_are_a_reason_not_to_use_it(analysis):
    one = other(FREQUENCIES, -0.1, (-0.2, -0.05))
    verdict = decide(analysis.report, one, calibration="calibrated")
    assert (verdict.status, verdict.reason) == ("not usable", "class frequencies are better")
    assert verdict.in_short[-1].startswith("Do not use it: the class frequencies alone")


@pytest.mark.parametrize(
    ("calibration", "both", "gap"),
    [
        ("calibrated", (), 0.1),
        ("underconfident", (), 0.1),
        ("too few cases", ("with care", "evaluate it again when there are more cases"), 0.1),
        ("overconfident", ("to rank cases", "do not rely on single probabilities"), 0.1),
        ("shifted", ("to rank cases", "do not rely on single probabilities"), 0.1),
        ("calibrated", ("with care", "not certain that it does better than guessing"), -0.01),
        ("overconfident", ("with care", "not certain that it does better than guessing"), -0.01),
    ],
)
def test_the_advice_asks_for_the_same_care(analysis, calibration, both, gap):
    guess = other(FREQUENCIES, 0.1, (gap, 0.2), actual_error=0.0)
    verdict = decide(analysis.report, guess, WORSE, calibration=calibration)
    for words in both:
        assert words in verdict.advice
        assert words in verdict.in_short[-1]
    assert verdict.status == ("with care" if both else "usable")
    if not both:
        assert verdict.advice.startswith("Advice: use this model; none of ")
        assert verdict.in_short[-1].startswith("It can be used")


def test_a_better_score_that_may_be_chance_is_no_signal_of_another_method(analysis):
    for interval, text in (((-0.3, 0.1), "may have done better"), ((-0.3, -0.1), "n did better")):
        verdict = decide(analysis.report, other(L2, -0.2, interval), calibration="no signal")
        assert f"{text} on the same cases" in verdict.in_short[-1]


def test_doubts_about_the_table_come_first_and_leave_the_decision_open(analysis):
    verdict = decide(analysis.report, WORSE, calibration="calibrated", doubts=("Rows repeat.",))
    assert (verdict.status, verdict.reason) == ("cannot tell", "doubtful table")
    assert verdict.in_short[0] == "These results may mean nothing. Rows repeat."
    assert "do not use this model until then" in verdict.advice


def test_json_holds_the_decision_and_its_wording(analysis):
    report = analysis.report
    data = report.to_dict(cases=False)
    assert next(iter(data)) == "in_short"
    assert data["in_short"] == report.verdict.in_short
    for name in ("status", "reason", "calibration", "headline", "advice"):
        assert data["verdict"][name] == getattr(report.verdict, name)


def test_it_is_mentioned_where_baselines_were_not_run(analysis):
    verdict = decide(analysis.report, WORSE, calibration="calibrated")
    assert "were not tried" not in verdict.in_short[-1]
    quick = decide(analysis.report, WORSE, calibration="calibrated", compared=False)
    assert "baselines were not run." in quick.in_short[-1]
    assert "Baselines were not run on these folds" in quick.advice


def test_the_page_begins_with_it_and_keeps_the_figures_below(analysis):
    page = render(analysis.report)
    short, figures = page.index('<p class="short">'), page.index('id="verdict-in-figures"')
    assert page.index('id="verdict"') < short < page.index('class="tiles"') < figures
    assert page.index(analysis.report.verdict.headline) > figures
