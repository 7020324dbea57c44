"""A table with measurements, categories and flags, through all commands."""

import numpy as np
import pytest
from cli_tables import SHORT, column, report_json, rows_of, strict_json, write
from mixed_table import clinic

import honestbayes
from honestbayes import SelectiveBernoulliNB, SelectiveMixedNB

TARGET = ("--target", "state", "--model", "mixed")


@pytest.fixture(scope="module")
def place(run, tmp_path_factory):
    """A folder with the table, its report, and new rows with levels that nobody has seen."""
    folder = tmp_path_factory.mktemp("clinic")
    write(clinic(), folder / "clinic.csv")
    new = clinic(30, seed=1).drop(columns="state")
    new.loc[0, ["stage", "smoker"]] = ["V", "sometimes"]
    new.loc[1, ["lab0", "stage", "ward", "flag"]] = [np.nan, None, None, np.nan]
    write(new.iloc[:, ::-1], folder / "new.csv")
    more = (*SHORT, "--features", 4, "--out", "report")
    printed = run("report", "clinic.csv", *TARGET, *more, cwd=folder).done()
    (folder / "printed.txt").write_text(printed, encoding="utf-8")
    return folder


def test_the_report_counts_features_of_each_kind(place):
    printed = " ".join((place / "printed.txt").read_text(encoding="utf-8").split())
    assert "17 features, 9 kept (3 of 3 binary, 2 of 2 categorical, 4 of 12 continuous)" in printed
    assert "median" not in printed
    found = report_json(place / "report")
    assert found["settings"]["model"] == "mixed"
    assert "--model mixed" in found["command"]
    assert [ranking["kind"] for ranking in found["rankings"]] == ["binary", "categorical", "real"]


def test_new_rows_with_unknown_levels_and_missing_cells_are_predicted(place, run):
    ended = run(
        "predict", "report/model.honestbayes", "new.csv", "--interval", 0.9, "--exact", cwd=place
    )
    assert ended.code == 0
    assert "column 'stage' has categories that were not in training" in ended.err
    assert "'V'" in ended.err
    rows = rows_of(ended.out)
    model = honestbayes.load(place / "report" / "model.honestbayes")
    assert isinstance(model.estimator, SelectiveMixedNB)
    new = clinic(30, seed=1)
    new.loc[0, ["stage", "smoker"]] = None
    new.loc[1, ["lab0", "stage", "ward", "flag"]] = [np.nan, None, None, np.nan]
    expected = model.predict_proba(new)[:, 1]
    assert [row["probability: ill"] for row in rows] == [f"{p:.12g}" for p in expected]
    assert np.all(column(rows, "low: ill") < column(rows, "high: ill"))


def test_the_model_of_fit_is_that_of_report(place, run):
    run("fit", "clinic.csv", *TARGET, "-k", 4, "-q", "--out", "m", cwd=place).done()
    assert (place / "m").read_bytes() == (place / "report" / "model.honestbayes").read_bytes()


def test_inspect_shows_levels_by_their_names_and_judges_by_evaluate(place, run):
    printed = run("inspect", "report/model.honestbayes", cwd=place).done()
    for words in (
        "features            3 of 3 binary",
        "features            4 of 12 continuous",
        "a one: smoker is yes",
        "a one: answer is 2",
        "III",
        "north",
        "spread",
    ):
        assert words in printed
    found = strict_json(run("inspect", "report/model.honestbayes", "--json", cwd=place).done())
    assert sorted(found["features"]) == ["binary", "categorical", "real"]
    levels = dict(
        zip(
            found["features"]["categorical"]["name"],
            found["features"]["categorical"]["levels"],
            strict=True,
        )
    )
    assert levels == {"stage": ["I", "II", "III", "IV"], "ward": ["east", "north", "south"]}
    assert sorted(found["selection"]) == ["binary", "categorical", "real"]
    write(clinic(200, seed=2), place / "other.csv")
    ended = run("evaluate", "report/model.honestbayes", "other.csv", "--json", cwd=place)
    assert strict_json(ended.out)["summary"]["auc"]["value"] > 0.75


@pytest.mark.slow
def test_the_old_model_is_there_on_request(place, run):
    more = (*SHORT, "-k", 4, "--model", "binary", "--out", "old", "-q")
    run("report", "clinic.csv", *TARGET, *more, cwd=place).done()
    found = report_json(place / "old")
    assert "--model binary" in found["command"]
    assert found["data"]["n_features"] == 22
    assert {feature["kind"] for feature in found["features"]} == {"binary"}
    assert len(found["features"]) == 4
    assert found["rankings"] == []
    assert found["posterior"] is not None
    assert "cut at the median" in (place / "old" / "report.html").read_text(encoding="utf-8")
    model = honestbayes.load(place / "old" / "model.honestbayes")
    assert isinstance(model.estimator, SelectiveBernoulliNB)
    ended = run("report", "clinic.csv", *TARGET, "--model", "real", cwd=place)
    assert ended.code == 2
    assert "mixed" in ended.err


def test_more_features_than_any_kind_has_are_refused(place, run):
    words = run("report", "clinic.csv", *TARGET, "-k", 13, cwd=place).refused()
    assert words == (
        "--features 13 is more than the 12 candidate features of any kind; give 12 or fewer, "
        "or 'all'."
    )
    run("fit", "clinic.csv", *TARGET, "-k", 12, "-q", "--out", "twelve", cwd=place).done()
    model = honestbayes.load(place / "twelve")
    kept = {kind: len(found.kept) for kind, found in model.estimator.selections_.items()}
    assert kept == {"binary": 3, "categorical": 2, "real": 12}


def test_one_feature_alone_is_counted_as_one(place, run):
    kept = [word for j in range(1, 12) for word in ("--keep", f"lab{j}")]
    others = ("stage", "ward", "smoker", "flag", "answer")
    ignored = [word for name in others for word in ("--ignore", name)]
    words = run("fit", "clinic.csv", *TARGET, *kept, *ignored, "-k", 2, cwd=place).refused()
    assert words == "--features 2 is more than the 1 candidate feature; give 1, or 'all'."
