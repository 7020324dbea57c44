"""The commands without ``--model``: the average of models."""

import pytest
from cli_tables import column, report_json, rows_of, strict_json, write
from mixed_table import clinic

TARGET = ("--target", "state")
QUICK = ("--effort", "quick")


@pytest.fixture(scope="module")
def place(run, tmp_path_factory):
    """A folder with a table and its report."""
    folder = tmp_path_factory.mktemp("honest")
    write(clinic(40), folder / "clinic.csv")
    few = ("--folds", 2, "--quick", "--out", "report")
    printed = run("report", "clinic.csv", *TARGET, *few, cwd=folder).done()
    (folder / "printed.txt").write_text(printed, encoding="utf-8")
    return folder


def test_the_report_is_about_the_average_of_models(place):
    printed = (place / "printed.txt").read_text("utf-8")
    found = report_json(place / "report")
    assert found["settings"]["model"] == "honest"
    n_models = found["sections"]["average"]["record"]["n_models"]
    n_columns = len(found["sections"]["kept"]["record"]["columns"])
    line = " ".join(printed.splitlines()[:2])
    assert f"average of {n_models} models that need {n_columns} columns" in line
    assert "The average of models expected an error rate of" in " ".join(printed.split())
    assert "\naverage of models *" in printed
    assert "\nnaive Bayes, uncorrected " in printed
    assert "--quick" in found["command"]
    assert found["settings"]["n_repeats"] == 1
    left_out = "folds were drawn once, the average tried few numbers of features, baselines"
    assert left_out in " ".join(printed.split())
    assert any(left_out in note for note in found["data"]["notes"])
    assert "--model" not in found["command"]


def test_fit_makes_the_model_of_the_report_which_predicts_and_is_judged(place, run):
    told = run("fit", "clinic.csv", *TARGET, *QUICK, "--out", "m", cwd=place).done()
    assert "17 columns; average of " in told
    assert (place / "m").read_bytes() == (place / "report" / "model.honestbayes").read_bytes()
    rows = rows_of(run("predict", "m", "clinic.csv", "--interval", 0.9, cwd=place).done())
    proba = column(rows, "probability: ill")
    assert ((column(rows, "low: ill") <= proba) & (proba <= column(rows, "high: ill"))).all()
    fitted = column(rows_of(place / "report" / "predictions.csv"), "fitted")
    assert proba == pytest.approx(fitted, abs=1e-9)
    judged = run("evaluate", "m", "clinic.csv", "--prevalence", 0.3, cwd=place).done()
    assert "the rows that the model was trained on" in " ".join(judged.split())


def test_inspect_shows_models_and_columns(place, run):
    shown = run("inspect", "report/model.honestbayes", cwd=place).done()
    assert shown.startswith("P(state = ill), average of models\n")
    assert "trained on          40 cases, 20 of them ill\n" in shown
    assert "effort              quick\n" in shown
    assert "\nmodel " in shown
    assert "class frequencies" in shown
    assert "\nslope" not in shown
    found = strict_json(run("inspect", "report/model.honestbayes", "--json", cwd=place).done())
    sections = report_json(place / "report")["sections"]
    columns = sections["kept"]["record"]["columns"]
    assert set(found["columns"]) == {one["column"] for one in columns}
    assert found["features"]["use"] == pytest.approx([one["use"] for one in columns])
    assert found["sections"]["average"] == sections["average"]
    assert found["slope"] is None
    assert found["parameters"]["effort"] == "quick"


def test_one_set_of_columns_and_its_cost_are_told(place, run):
    few = ("-k", 2, "--keep", "stage", "--out", "two")
    told = run("fit", "clinic.csv", *TARGET, *QUICK, *few, cwd=place).done()
    assert "that need 3 columns; keeping to these costs " in " ".join(told.split())
    shown = run("inspect", "two", cwd=place).done()
    assert "columns needed      3\n" in shown
    assert "cost of one set of columns: " in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--threshold", "0.2"), "does not take a threshold"),
        (("--features", "cv"), "chooses numbers of features itself"),
        (("--order", "2"), "the honest model does not have this option"),
        (("--model", "mixed", "--effort", "quick"), "use --model honest"),
    ],
)
def test_options_that_are_not_for_the_model_are_refused(place, run, words, message):
    ended = run("fit", "clinic.csv", *TARGET, *words, cwd=place)
    assert ended.code == 2
    assert message in " ".join(ended.err.replace("│", " ").split())
