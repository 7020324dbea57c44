"""Every experiment at toy size, and what all of them share."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from typer.testing import CliRunner

from honestbayes.cli import app
from honestbayes.experiments.experiment import (
    EXPERIMENTS,
    Experiment,
    ExperimentRun,
    Findings,
    PublishedFigure,
    Settings,
    Size,
    agreement,
    experiment,
    experiments,
    missing_files,
    perform,
    rounded,
    store,
    stored,
)
from honestbayes.experiments.pages import page_of, write_folder


@pytest.mark.slow_cases(
    "real-tables",
    "simulated-tables",
    "compressed-cauchy",
    "compressed-text",
    "colon",
    "naive-bayes",
)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_runs_at_toy_size(name: str, tmp_path: Path) -> None:
    one = experiment(name)
    if missing_files(one):
        pytest.skip(f"HONESTBAYES_DATA does not name a folder with {', '.join(one.needs)}")
    assert one.name == name
    runs = perform(one, "toy", tmp_path / "runs")
    findings = one.summarize(runs)
    write_folder(one, findings, runs, tmp_path)
    page = (tmp_path / "page.md").read_text()
    assert findings.conclusion in page
    assert findings.tables
    assert not re.search(r"\bnan\b", page)
    for table in findings.tables:
        with (tmp_path / f"{table.name}.csv").open() as file:
            assert len(list(csv.DictReader(file))) == len(table.rows) > 0
        assert len({tuple(row) for row in table.rows}) == 1
    for picture in findings.figures:
        assert (tmp_path / f"{picture.name}.png").stat().st_size > 2000
        assert (tmp_path / f"{picture.name}.svg").stat().st_size > 2000
    # What is kept gives the same page, without another run.
    kept = perform(replace(one, run=_refused), "toy", tmp_path / "runs")
    assert page_of(one, one.summarize(kept), kept, "md") == page
    store(tmp_path / "stored.json", one, runs)
    assert page_of(one, one.summarize(stored(tmp_path / "stored.json", one)), runs, "md") == page


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_settings_of_runs_are_json_and_differ(name: str) -> None:
    sizes: tuple[Size, ...] = ("toy", "quick", "full")
    for size in sizes:
        texts = [json.dumps(settings, sort_keys=True) for settings in experiment(name).runs(size)]
        assert len(set(texts)) == len(texts) > 0
        assert [json.loads(text) for text in texts] == experiment(name).runs(size)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_stored_runs_are_those_of_the_code(name: str) -> None:
    one = experiment(name)
    path = Path(__file__).parents[2] / "docs" / "results" / f"{name}.json"
    runs = stored(path, one)
    assert [run.settings for run in runs] == one.runs("full")
    page = page_of(one, one.summarize(runs), runs, "rst")
    assert not re.search(r"\bnan\b", page)
    assert path.stat().st_size < 400_000


def test_names_and_titles_differ() -> None:
    found = list(experiments())
    assert len({one.name for one in found}) == len({one.title for one in found}) == len(EXPERIMENTS)


def _refused(**_: Any) -> dict[str, Any]:
    msg = "this run is kept."
    raise AssertionError(msg)


CALLS: list[int] = []


def _numbered(number: int) -> dict[str, Any]:
    CALLS.append(number)
    if number == 3 and len(CALLS) < 5:
        raise KeyboardInterrupt
    return {"square": number**2 + 1e-9}


def _three(size: Size) -> list[Settings]:
    return [{"number": number} for number in range(1, {"toy": 2, "quick": 5, "full": 9}[size])]


def _sum(runs: Any) -> Findings:
    return Findings(conclusion=str(sum(run.results["square"] for run in runs)))


SQUARES = Experiment(
    name="squares",
    title="Squares",
    source="A book",
    question="How large?",
    runs=_three,
    run=_numbered,
    summarize=_sum,
)


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    CALLS.clear()
    with pytest.raises(KeyboardInterrupt):
        perform(SQUARES, "quick", tmp_path, n_jobs=1)
    assert CALLS == [1, 2, 3]
    damaged = next(tmp_path.glob("*.json"))
    number = json.loads(damaged.read_text())["settings"]["number"]
    damaged.write_text(damaged.read_text()[:20])  # as another program might leave it
    CALLS[:] = [0] * 5
    runs = perform(SQUARES, "quick", tmp_path, n_jobs=1)
    assert sorted(CALLS[5:]) == sorted([number, 3, 4])
    assert [run.results["square"] for run in runs] == [1, 4, 9, 16]


def test_another_version_or_again_runs_anew(tmp_path: Path) -> None:
    CALLS[:] = [0] * 5
    perform(SQUARES, "quick", tmp_path, n_jobs=1)
    perform(SQUARES, "full", tmp_path, n_jobs=1)
    assert CALLS[5:] == [1, 2, 3, 4, 5, 6, 7, 8]
    perform(replace(SQUARES, version=2), "toy", tmp_path, n_jobs=1)
    perform(SQUARES, "toy", tmp_path, n_jobs=1, again=True)
    assert CALLS[13:] == [1, 1]
    store(tmp_path / "all.json", SQUARES, perform(SQUARES, "toy", tmp_path))
    with pytest.raises(ValueError, match="squares, version 1"):
        stored(tmp_path / "all.json", replace(SQUARES, version=2))


def test_a_check_agrees_where_one_more_repetition_could_be_the_published_one() -> None:
    rng = np.random.default_rng(0)
    inside = [
        PublishedFigure(what="", published=float(values[0]), ours=values[1:], digits=9).holds
        for values in rng.normal(size=(4000, 6))
    ]
    assert abs(np.mean(inside) - 0.95) < 0.012
    assert PublishedFigure(what="", published=0.25, ours=[0.2548], digits=2).holds
    assert not PublishedFigure(what="", published=0.25, ours=[0.2552], digits=2).holds


@pytest.mark.parametrize(
    ("published", "ours", "verdict"),
    [
        (0.5, [0.45, 0.5, 0.55], "yes"),
        (0.9, [0.45, 0.5, 0.55], "no"),
        # Such ranges hold 0 and twice the published figure.
        (63.0, [10.0, 130.0, 250.0, 96.0], "too wide to tell"),
        (0.12, [0.05, 0.25, 0.12, 0.14], "too wide to tell"),
        # As wide, but what was published is not in it: that can be told.
        (1000.0, [10.0, 130.0, 250.0, 96.0], "no"),
        (-1.77, [-2.5, -0.4, -5.0, -2.0], "too wide to tell"),
        (5.0, [5.0], "yes"),
    ],
)
def test_an_interval_that_excludes_next_to_nothing_is_no_agreement(
    published: float, ours: list[float], verdict: str
) -> None:
    check = PublishedFigure(what="a", published=published, ours=ours, digits=2)
    assert check.verdict == verdict
    low, high = check.interval
    if verdict == "too wide to tell":
        half = (high - low) / 2
        assert min(0.0, 2 * published) >= published - half
        assert max(0.0, 2 * published) <= published + half
    page = page_of(SQUARES, Findings(conclusion="So.", checks=(check,)), [], "md")
    assert f"| {verdict} |" in page
    assert agreement([check]) == f"{int(verdict == 'yes')} of 1" + (
        ", 1 too wide to tell" if verdict == "too wide to tell" else ""
    )


def test_the_two_signs_that_were_put_back_are_named_and_are_those_of_direct_sums() -> None:
    one = experiment("correlations")
    runs = [ExperimentRun(settings, one.run(**settings), 0.0) for settings in one.runs("full")]
    assert "-0.04 (10 ones in class 1" in one.summarize(runs).conclusion
    assert "-0.11 (9 ones in class 1" in one.summarize(runs).conclusion
    y = np.repeat([0, 1], [8, 14])
    for ones, printed in ((10, -0.04), (9, -0.11), (11, 0.04), (8, -0.18)):
        x = np.concatenate([np.arange(8) < 6, np.arange(14) < ones])
        assert np.corrcoef(x, y)[0, 1] == pytest.approx(printed, abs=0.005)


def test_numbers_are_kept_with_a_few_digits() -> None:
    found = rounded({"a": np.array([1 / 3, 2e10 / 3]), 1: (np.int64(7), "x", None, True)})
    assert found == {"a": [0.333333, 6666670000.0], "1": [7, "x", None, True]}
    assert json.loads(json.dumps(found)) == found


def test_a_page_says_where_figures_differ_and_why() -> None:
    checks = (
        PublishedFigure(what="a", published=0.5, ours=[0.4, 0.6], digits=2),
        PublishedFigure(what="b", published=5.0, ours=[0.4, 0.41], digits=1, why="other data"),
    )
    findings = Findings(conclusion="So it is.", checks=checks)
    page = page_of(SQUARES, findings, [ExperimentRun({}, {}, 3.0)], "md")
    assert "| b | 5.0 | 0.4 | 0.2 to 0.6 | no: other data |" in page
    assert "| a | 0.50 | 0.50 |" in page
    assert "`honestbayes reproduce squares`: 1 run, 3 seconds of processor time in all." in page
    for_docs = page_of(SQUARES, findings, [], "rst")
    assert ".. csv-table:: Published figures and ours (average of 2 repetitions)" in for_docs


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HONESTBAYES_DATA", raising=False)


def test_the_command_lists_runs_and_refuses(tmp_path: Path) -> None:
    runner = CliRunner()
    listed = runner.invoke(app, ["reproduce"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in EXPERIMENTS)
    done = runner.invoke(app, ["reproduce", "correlations", "-o", str(tmp_path), "--jobs", "1"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "correlations" / "page.md").exists()
    for words, told in (
        (["corelations"], "did you mean 'correlations'"),
        (["correlations", "--all"], "give either names or --all"),
        (["correlations", "--jobs", "0"], "--jobs is 0"),
    ):
        refused = runner.invoke(app, ["reproduce", *words, "-o", str(tmp_path)])
        assert refused.exit_code == 2
        assert told in refused.output
    file = tmp_path / "results.txt"
    file.touch()
    refused = runner.invoke(app, ["reproduce", "correlations", "-o", str(file)])
    assert (refused.exit_code, "results.txt is a file" in refused.output) == (2, True)


@pytest.mark.usefixtures("no_data")
def test_an_experiment_without_its_data_is_skipped_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needy = replace(experiment("correlations"), needs=("colon_alon.npz",))
    monkeypatch.setattr("honestbayes.experiments.experiment.experiment", lambda _: needy)
    done = CliRunner().invoke(app, ["reproduce", "correlations", "-o", str(tmp_path)])
    assert done.exit_code == 0
    assert "skipped, because it needs 'colon_alon.npz'" in done.output
    assert not list(tmp_path.iterdir())


def test_a_dask_backend_takes_the_runs(tmp_path: Path) -> None:
    distributed = pytest.importorskip("dask.distributed")
    CALLS[:] = [0] * 5
    client = distributed.Client(processes=False, n_workers=1, dashboard_address=None)
    with client, joblib.parallel_config(backend="dask"):
        runs = perform(SQUARES, "quick", tmp_path)
    assert [run.results["square"] for run in runs] == [1, 4, 9, 16]
    assert len(list(tmp_path.glob("*.json"))) == 4
