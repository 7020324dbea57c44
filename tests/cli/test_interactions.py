"""The model with interactions through all commands, and every message about it."""

import numpy as np
import pytest
from cli_tables import column, report_json, rows_of, strict_json, write
from interaction_tables import NAME, short_chains, weather
from typer.testing import CliRunner

import honestbayes
from honestbayes import InteractionClassifier
from honestbayes.cli import app

pytestmark = pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")

GIVEN = ("--target", "play", "--model", "interactions", "--keep-duplicates")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with a table and new rows, where commands run in this process, on short chains."""
    folder = tmp_path_factory.mktemp("weather")
    write(weather(60), folder / "weather.csv")
    new = weather(30, seed=1)
    new.loc[4, "sex"] = None
    new.loc[5, NAME] = "hail"
    write(new, folder / "new.csv")
    with pytest.MonkeyPatch.context() as patch, short_chains():
        patch.chdir(folder)
        yield folder


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "80"})


def called(*words):
    result = call(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*words):
    result = call(*words)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    return " ".join(result.stderr.split())


@pytest.fixture(scope="module")
def printed(here):
    return called(
        "report", here / "weather.csv", *GIVEN, "--folds", 2, "--no-compare", "--out", "report"
    )


def test_the_report_speaks_of_patterns_and_of_no_correction(here, printed):
    words = " ".join(printed.split())
    assert "4 features, 40 patterns of up to 2 cells (the empty one included), 40 of them" in words
    assert "model with interactions *" in printed
    assert "The model expected an error rate of" in printed
    assert "correct" not in printed
    found = report_json(here / "report")
    assert found["sections"]["interactions"]["record"]["n_groups"] == 40
    assert "--model interactions" in found["command"]


@pytest.mark.usefixtures("printed")
def test_fit_gives_the_model_of_the_report(here):
    result = called("fit", "weather.csv", *GIVEN, "--out", "model")
    assert "4 columns; 40 patterns of up to 2 cells (the empty one" in " ".join(result.split())
    assert "slope" not in result
    assert (here / "model").read_bytes() == (here / "report" / "model.honestbayes").read_bytes()


@pytest.mark.usefixtures("printed")
def test_predictions_are_those_of_the_loaded_model_also_of_missing_cells(here):
    model = honestbayes.load(here / "report" / "model.honestbayes")
    assert isinstance(model.estimator, InteractionClassifier)
    result = call("predict", "report/model.honestbayes", "new.csv", "--interval", 0.9, "--exact")
    assert "has categories that were not in training, treated as missing: 'hail'" in result.stderr
    rows = rows_of(result.stdout)
    new = weather(30, seed=1)
    new.loc[[4], "sex"], new.loc[[5], NAME] = None, None
    np.testing.assert_allclose(
        column(rows, "probability: yes"), model.predict_proba(new)[:, 1], rtol=1e-9
    )
    assert np.all(column(rows, "low: yes") <= column(rows, "high: yes"))


@pytest.mark.usefixtures("printed")
def test_it_is_inspected_and_judged_on_new_cases():
    shown = called("inspect", "report/model.honestbayes")
    for words in (
        "P(play = yes), model with interactions\n",
        "features            4 of 4\n",
        "order               2\n",
        "The largest interactions",
        "40 parameters instead of 40",
    ):
        assert words in shown
    assert "correction" not in shown
    assert " & wind=" in shown
    found = strict_json(called("inspect", "report/model.honestbayes", "--json"))
    assert found["sections"]["interactions"]["record"]["towards"] == 20 * ["yes"]
    assert "30 cases" in called("evaluate", "report/model.honestbayes", "new.csv")


def test_the_order_is_given_or_chosen_and_missing_cells_are_a_level_where_asked(here):
    frame = weather(40, seed=2)
    frame.loc[[3, 4], "sex"] = None
    write(frame, here / "holes.csv")
    words = ("holes.csv", *GIVEN, "--missing-as-level", "--order", 1, "--out", "holes")
    assert "11 patterns of one cell" in called("fit", *words)
    assert "sex=(missing)" in called("inspect", "holes")
    model = honestbayes.load(here / "holes").estimator
    assert (model.order_, model.missing) == (1, "level")
    assert "in column 'sex'; treat missing cells as a category with --missing-as-level" in (
        refused("fit", "holes.csv", *GIVEN)
    )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--features", 3), "--features: the model with interactions keeps all columns"),
        (("--features", "cv"), "--features: the model with interactions does not choose"),
        (("--threshold", 0.2), "--threshold: the model with interactions keeps all columns"),
        (("--path",), "--path: the model with interactions keeps all columns"),
        (("--order", "none"), "--order: 'none' is not a positive number of columns or 'cv'."),
        (("--order", 0), "--order: '0' is not a positive number of columns or 'cv'."),
        (
            ("--model", "mixed", "--order", 2),
            "--order: the mixed model does not have this option; leave",
        ),
        (
            ("--model", "factors", "--missing-as-level"),
            "--missing-as-level: the factors model does not have this option; leave it out, or use",
        ),
    ],
)
@pytest.mark.usefixtures("here")
def test_options_that_the_model_does_not_have_are_refused(words, complaint):
    assert complaint in refused("report", "weather.csv", *GIVEN, *words)


def test_measurements_are_cut_into_bins(here, run):
    write(weather(30).assign(height=np.arange(30) / 7), here / "measured.csv")
    run("fit", "measured.csv", *GIVEN, "--out", "bins", cwd=here)
    shown = run("inspect", "bins", cwd=here).done()
    assert "height" in shown
    assert "up to " in shown
