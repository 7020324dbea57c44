"""The commands that a report ends with."""

import shlex
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from honestbayes.cli import app
from honestbayes.report.record import NumberPath
from honestbayes.report.render import next_steps, render


def told(report, command="honestbayes report t.csv --target state --seed 0", **settings):
    """The same report, made by this command with these settings."""
    data = replace(report.data, name="t.csv", target="state")
    return replace(report, command=command, data=data, settings=report.settings | settings)


def commands(report):
    return [shlex.split(step.command) for step in next_steps(report)]


def signal(report, calibration="calibrated"):
    return replace(report, verdict=replace(report.verdict, calibration=calibration))


def test_new_cases_are_predicted_and_judged_by_the_model_beside_the_page(mixed):
    found = commands(told(signal(mixed.report)))
    assert found[0][:4] == ["honestbayes", "predict", "model.honestbayes", "new.csv"]
    assert [*found[2]] == shlex.split(
        "honestbayes evaluate model.honestbayes new.csv --target state"
    )


def test_a_model_without_signal_is_not_to_predict_with(mixed):
    found = commands(told(signal(mixed.report, "no signal")))
    assert found
    assert {words[1] for words in found} == {"report"}


def test_a_first_answer_is_followed_by_the_whole_report_in_the_same_place(mixed):
    quick = "honestbayes report t.csv --target state --quick --seed 0 --out r"
    found = commands(told(signal(mixed.report), quick, quick=True))
    assert found[0] == shlex.split(quick.replace("--quick ", ""))


def test_other_reports_do_not_replace_this_one(mixed):
    for command, folder in (
        ("honestbayes report t.csv --target state --model mixed --seed 0", "t-report-grouped"),
        ("honestbayes report t.csv --target state --seed 0 --out 'my r'", "my r-grouped"),
    ):
        words = commands(told(signal(mixed.report), command))[-1]
        assert words[words.index("--groups") + 1] == "COLUMN"
        assert words[words.index("--out") + 1] == folder
        assert words.count("--out") == 1


def test_groups_that_were_given_are_not_asked_for_and_are_judged_by(mixed):
    command = "honestbayes report t.csv --target state --groups 'the ward' --seed 0"
    report = told(signal(mixed.report), command)
    report = replace(report, data=replace(report.data, n_groups=7))
    found = commands(report)
    assert found[2][-2:] == ["--groups", "the ward"]
    assert not any("COLUMN" in words for words in found)


def test_a_number_of_features_is_proposed_where_its_log_score_is_better(mixed):
    kept = mixed.report.ranking.n_kept
    numbers = np.array([1, kept])
    for scores, proposed in (((0.4, 0.5), True), ((0.495, 0.5), False), ((0.5, 0.4), False)):
        path = NumberPath(numbers, np.zeros(2), np.zeros(2), np.array(scores))
        report = replace(told(signal(mixed.report)), paths={mixed.report.in_use: path})
        found = [words for words in commands(report) if "--features" in words]
        assert [words[words.index("--features") + 1] for words in found] == ["1"] * proposed


def test_the_average_is_proposed_without_options_that_it_refuses(mixed):
    command = (
        "honestbayes report t.csv --target state --model mixed --features cv --no-path "
        "--no-recalibrate --seed 0"
    )
    report = told(signal(mixed.report), command, n_features="cv")
    (words,) = [words for words in commands(report) if "honest" in words]
    assert words == shlex.split(
        "honestbayes report t.csv --target state --seed 0 --model honest --out t-report-average"
    )


def test_a_report_made_in_python_repeats_no_command(mixed):
    found = commands(told(signal(mixed.report), ""))
    assert {words[1] for words in found} == {"predict", "evaluate"}


@pytest.mark.parametrize("calibration", ["calibrated", "no signal", "overconfident"])
def test_every_option_that_is_named_exists(mixed, calibration):
    for words in commands(told(signal(mixed.report, calibration), quick=True)):
        helped = CliRunner().invoke(app, [words[1], "--help"], env={"COLUMNS": "200"})
        for word in words[2:]:
            if word.startswith("--"):
                assert word in helped.stdout, (words[1], word)


def test_names_in_commands_are_quoted_for_the_shell_and_harmless_on_the_page(analysis):
    target = "'; rm -rf ~ <script>"
    report = signal(analysis.report)
    report = replace(report, data=replace(report.data, target=target, name="x.<b>"))
    evaluate = next(words for words in commands(report) if words[1] == "evaluate")
    assert evaluate[evaluate.index("--target") + 1] == target
    assert evaluate[3] == "new.csv"
    page = render(report)
    assert "<script>'" not in page
    assert "rm -rf ~ <script>" not in page
