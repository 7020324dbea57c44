"""The factor model through all commands: from a CSV file to a report, predictions and refusals."""

import numpy as np
import pytest
from cli_tables import SHORT, column, report_json, rows_of, strict_json, write
from factor_tables import genes, short_chains
from typer.testing import CliRunner

import honestbayes
from honestbayes import SelectiveFactorClassifier
from honestbayes.cli import app

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning"),
]

GIVEN = ("--target", "state", "--model", "factors", "-k", "3")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with a table and new rows, where commands run in this process, on short chains."""
    folder = tmp_path_factory.mktemp("genes")
    write(genes(40, 6), folder / "genes.csv")
    write(genes(30, 6, seed=1), folder / "new.csv")
    with pytest.MonkeyPatch.context() as patch, short_chains():
        patch.chdir(folder)
        yield folder


def call(*words):
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return result


def called(*words):
    return call(*words).stdout


@pytest.fixture(scope="module")
def printed(here):
    return called(
        "report", here / "genes.csv", *GIVEN, *SHORT[:2], "--no-compare", "--out", "report"
    )


def test_the_report_prints_the_number_of_factors_and_repeats_itself(here, printed):
    found = report_json(here / "report")
    number = found["sections"]["factors"]["record"]["n_factors"]
    words = "no factors" if number == 0 else f"{number} factor{'s' if number > 1 else ''}"
    assert f"6 features, 3 kept (3 of 6 continuous), {words}" in " ".join(printed.split())
    assert "naive Bayes, recalibrated" in printed
    assert "--model factors" in found["command"]


def test_fit_gives_the_model_of_the_report(here, printed):
    assert "Report: report/report.html" in printed
    result = call("fit", "genes.csv", *GIVEN, "--out", "model")
    assert "3 of 6 features kept; slope" in " ".join(result.stdout.split())
    assert "factor" in result.stdout
    assert result.stderr.startswith("warning: the chains have not converged")
    saved = (here / "report" / "model.honestbayes").read_bytes()
    assert (here / "model").read_bytes() == saved


@pytest.mark.usefixtures("printed")
def test_predictions_are_those_of_the_loaded_model_also_of_missing_cells(here):
    model = honestbayes.load(here / "report" / "model.honestbayes")
    assert isinstance(model.estimator, SelectiveFactorClassifier)
    rows = rows_of(
        called("predict", "report/model.honestbayes", "new.csv", "--interval", 0.9, "--exact")
    )
    expected = model.predict_proba(genes(30, 6, seed=1))[:, 1]
    np.testing.assert_allclose(column(rows, "probability: ill"), expected, rtol=1e-9)
    assert np.all(column(rows, "low: ill") <= column(rows, "high: ill"))


@pytest.mark.usefixtures("printed")
def test_it_is_inspected_and_judged_on_new_cases():
    shown = called("inspect", "report/model.honestbayes")
    for words in ("factor model after selection", "features            3 of 6\n", "shared"):
        assert words in shown
    found = strict_json(called("inspect", "report/model.honestbayes", "--json"))
    factors = found["sections"]["factors"]["record"]["n_factors"]
    assert f"factors             {factors}, chosen from " in shown
    assert all(0 <= share <= 1 for share in found["features"]["shared"])
    assert all(800 < centre < 1200 for centre in found["features"]["centre_1"])
    assert "30 cases" in called("evaluate", "report/model.honestbayes", "new.csv")


def test_text_columns_are_refused_in_one_line(run, tmp_path):
    write(genes().assign(sex=15 * ["m", "f", "f"]), tmp_path / "t.csv")
    for command in ("report", "fit"):
        assert "has a text column: 'sex'; leave it out with --ignore" in (
            run(command, "t.csv", *GIVEN, cwd=tmp_path).refused()
        )


def test_the_number_of_features_is_not_chosen(run, tmp_path):
    write(genes(), tmp_path / "t.csv")
    ended = run("report", "t.csv", *GIVEN[:4], "--features", "cv", cwd=tmp_path)
    assert ended.code == 2
    assert "the factor model does not choose the number" in " ".join(ended.err.split())
