"""Covariates on the command line: report, fit, predict and inspect."""

import numpy as np
import pandas as pd
import pytest
from cli_tables import column, report_json, rows_of

import honestbayes

COVARIATES = ("--covariates", "age", "--covariates", "centre")


@pytest.fixture(scope="module")
def place(run, tmp_path_factory):
    """A folder with a table and its report."""
    folder = tmp_path_factory.mktemp("covariates")
    rng = np.random.default_rng(0)
    n = 60
    table = pd.DataFrame({"age": rng.normal(60, 10, n).round(1)})
    table["centre"] = rng.choice(["north", "south", "west"], n)
    odds = (table["age"] - 60) / 10 + (table["centre"] == "west")
    ill = rng.random(n) < 1 / (1 + np.exp(-odds))
    for j in range(8):
        table[f"g{j}"] = (rng.normal(size=n) + (j < 2) * ill).round(3)
    table["status"] = np.where(ill, "ill", "well")
    table.to_csv(folder / "t.csv", index=False)
    few = ("--target", "status", "--folds", 2, "--quick", "--out", "report")
    printed = run("report", "t.csv", *COVARIATES, *few, cwd=folder).done()
    (folder / "printed.txt").write_text(printed, encoding="utf-8")
    return folder


def test_the_report_says_which_columns_are_covariates(place):
    printed = " ".join((place / "printed.txt").read_text("utf-8").split())
    assert "'age', 'centre' are covariates: they set the prior probability of each case" in printed
    assert "that need 8 columns and 2 covariates" in printed
    assert "--covariates" in report_json(place / "report")["command"]


def test_the_model_of_the_report_is_that_of_python_and_predicts(place, run):
    table = pd.read_csv(place / "t.csv")
    y = (table.pop("status") == "ill").astype(int)
    model = honestbayes.HonestClassifier(
        effort="quick", covariates=["age", "centre"], random_state=0
    ).fit(table, y)
    told = run("predict", "report/model.honestbayes", "t.csv", cwd=place).done()
    proba = column(rows_of(told), "probability: ill")
    np.testing.assert_allclose(proba, model.predict_proba(table)[:, 1], atol=1e-6)
    shown = run("inspect", "report/model.honestbayes", cwd=place).done()
    assert "covariates          age, centre\n" in shown


def test_models_without_covariates_refuse_them(place, run):
    given = ("--target", "status", "--covariates", "age")
    ended = run("fit", "t.csv", *given, "--model", "binary", cwd=place)
    assert ended.code == 2
    assert "--covariates" in ended.err
    assert "use --model honest or mixed" in " ".join(ended.err.split())
    told = run("fit", "t.csv", *given, "--keep", "age", cwd=place).refused()
    assert "'age' is given as a column to keep and as a covariate" in told
    assert "covariate" in run("fit", "t.csv", *given, "--model", "mixed", cwd=place).done()
