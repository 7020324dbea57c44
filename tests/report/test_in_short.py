"""The verdict in two or three sentences."""

from dataclasses import replace

import pytest

from honestbayes.evaluation.baselines import FREQUENCIES
from honestbayes.report import verdict
from honestbayes.report.analysis import others_of
from honestbayes.report.render import in_short, render


def judged(report, remaining, **changes):
    """The same report with another judgement, and the model in use changed by it."""
    methods = tuple(
        replace(method, **changes) if method.name == report.in_use else method
        for method in report.methods
    )
    verdict = replace(report.verdict, remaining=remaining)
    return replace(report, verdict=verdict, methods=methods)


def differing(report, name, value, interval):
    """The same report, one of whose methods differs from the one in use by so much."""

    def changed(method):
        difference = method.log_score_difference
        if difference is None:
            return method
        if method.name != name:
            value_here, bounds = 0.1, (0.01, 0.2)
        else:
            value_here, bounds = value, interval
        return replace(
            method, log_score_difference=replace(difference, value=value_here, interval=bounds)
        )

    return replace(report, methods=tuple(map(changed, report.methods)))


def test_errors_are_told_as_cases_of_a_hundred(analysis):
    summary = analysis.report.method(analysis.report.in_use).summary
    guess = analysis.report.method(FREQUENCIES).summary
    first = in_short(analysis.report)[0]
    assert f"to name the wrong class for about {100 * summary.expected_error:.0f}," in first
    assert f"did so for about {100 * summary.actual_error.value:.0f};" in first
    assert first.endswith(f"would be wrong for about {100 * guess.actual_error.value:.0f}.")


@pytest.mark.parametrize(
    ("remaining", "says"),
    [
        ("honest", "agree with what was observed"),
        ("overconfident", "too sure: where it says 90%, about "),
        ("underconfident", "too careful"),
        ("too few cases", "60 cases are too few to tell whether its probabilities are right"),
    ],
)
def test_the_second_sentence_says_whether_probabilities_can_be_taken_as_they_stand(
    analysis, remaining, says
):
    sentences = in_short(judged(analysis.report, remaining))
    assert len(sentences) == 3
    assert says in sentences[1]


def test_without_signal_it_says_not_to_use_the_model(analysis):
    alone = differing(judged(analysis.report, "nothing"), None, 0.1, (0.01, 0.2))
    sentences = in_short(alone)
    assert len(sentences) == 2
    assert "do not use it; more cases, or other columns, are needed." in sentences[1]
    for label in alone.data.labels:
        assert label in sentences[1]


@pytest.mark.parametrize(
    ("value", "interval", "says"),
    [
        (-0.1, (-0.2, -0.05), "Use L2 logistic regression instead"),
        (-0.1, (-0.3, 0.1), "L2 logistic regression did better, but that may be chance"),
        (0.1, (0.05, 0.2), "It can be used for new cases"),
    ],
)
def test_the_last_sentence_names_what_the_advice_names(analysis, value, interval, says):
    report = differing(judged(analysis.report, "honest"), "L2 logistic regression", value, interval)
    assert says in in_short(report)[-1]


def test_class_frequencies_that_may_do_as_well_are_a_reason_for_care(analysis):
    report = differing(judged(analysis.report, "honest"), FREQUENCIES, 0.1, (-0.1, 0.3))
    error = report.method(report.in_use).summary.actual_error
    methods = tuple(
        replace(m, summary=replace(m.summary, actual_error=error)) for m in report.methods
    )
    assert (
        "not certain that it does better than guessing"
        in in_short(replace(report, methods=methods))[-1]
    )
    better = differing(report, FREQUENCIES, -0.1, (-0.2, -0.05))
    assert in_short(better)[-1].startswith("Do not use it: the class frequencies alone")


@pytest.mark.parametrize(
    ("remaining", "both", "gap"),
    [
        ("honest", (), 0.1),
        ("underconfident", (), 0.1),
        ("too few cases", ("with care", "judge it again when there are more cases"), 0.1),
        ("overconfident", ("to rank cases", "do not take a single probability"), 0.1),
        ("shifted", ("to rank cases", "do not take a single probability"), 0.1),
        ("honest", ("with care", "not certain that it does better than guessing"), -0.01),
        ("overconfident", ("with care", "not certain that it does better than guessing"), -0.01),
    ],
)
def test_the_advice_asks_for_the_same_care(analysis, remaining, both, gap):
    report = differing(judged(analysis.report, remaining), FREQUENCIES, 0.1, (gap, 0.2))
    used = report.method(report.in_use).summary
    methods = tuple(
        replace(m, summary=replace(m.summary, actual_error=used.actual_error))
        for m in report.methods
    )
    others = others_of(methods, report.settings["model"])
    told = verdict.no_better(len(others), verdict.care_of(remaining, others, used))
    short = in_short(replace(report, methods=methods))[-1]
    for words in both:
        assert words in told
        assert words in short
    if not both:
        assert told.startswith("use this model; none of ")
        assert short.startswith("It can be used")


def test_what_may_be_chance_is_no_finding_of_another_method(analysis):
    nothing = judged(analysis.report, "nothing")
    for interval, says in (((-0.3, 0.1), "may have found more"), ((-0.3, -0.1), "n found more")):
        report = differing(nothing, "L2 logistic regression", -0.2, interval)
        assert f"{says} on the same cases" in in_short(report)[-1]


def test_it_stands_in_the_json_too(analysis):
    report = analysis.report
    assert report.to_dict()["in_short"] == in_short(report)
    assert next(iter(report.to_dict(cases=False))) == "in_short"


def test_it_says_so_where_methods_of_others_were_not_tried(analysis):
    report = judged(differing(analysis.report, None, 0.1, (0.01, 0.2)), "honest")
    settings = report.settings | {"compare": False}
    assert "were not tried" not in in_short(report)[-1]
    assert (
        "methods of other libraries were not tried."
        in in_short(replace(report, settings=settings))[-1]
    )


def test_the_page_begins_with_it_and_keeps_the_figures_below(analysis):
    page = render(analysis.report)
    short, figures = page.index('<p class="short">'), page.index('id="verdict-in-figures"')
    assert page.index('id="verdict"') < short < page.index('class="tiles"') < figures
    assert page.index(analysis.report.verdict.headline) > figures
