"""`fit`, `predict`, `evaluate` and `inspect` on model files."""

import os
import re
import sys

import numpy as np
import pandas as pd
import pytest
from cli_tables import MIXED, column, patients, rows_of, strict_json, write
from commands import run_alone
from scipy.special import logit

import honestbayes
from honestbayes import SelectiveBernoulliNB

MEASURED = """
import atexit, pathlib
atexit.register(lambda: print(pathlib.Path("/proc/self/status").read_text()))
from honestbayes.__main__ import main
main()
"""
"""The command, which tells at its end how much memory it had: what the system tells of a child
counts that of the process that started it, too."""


@pytest.fixture(scope="module")
def new():
    """Other patients: columns in another order, one more, and levels that nobody has seen."""
    table = patients(50, 60, seed=9)
    table["sex"] = ["m", "f", "?", "x", "=y"] * 10
    table["more"] = "whatever"
    return table[table.columns[::-1]]


@pytest.fixture(scope="module")
def folder(new, tmp_path_factory):
    place = tmp_path_factory.mktemp("new")
    write(new, place / "new.csv")
    return place


def known(table):
    """The table as the model sees it: unknown levels are missing."""
    return table.assign(sex=table["sex"].where(table["sex"].isin(["m", "f"])))


def test_predict_gives_the_numbers_of_the_estimator(model, new, folder, run):
    expected = honestbayes.load(model).predict_proba(known(new))[:, 1]
    ended = run("predict", model, "new.csv", "--exact", cwd=folder)
    assert ended.code == 0
    assert ended.err == (
        "warning: column 'sex' has categories that were not in training, treated as missing: "
        "'=y', 'x'.\n"
    )
    rows = rows_of(ended.out)
    assert [row["probability: ill"] for row in rows] == [f"{p:.12g}" for p in expected]
    assert [row["predicted"] for row in rows] == np.where(expected >= 0.5, "ill", "well").tolist()
    assert [row["row"] for row in rows] == [str(i) for i in range(1, 51)]
    # The same rows as Parquet; into a file; at another prevalence, with intervals and names.
    new.to_parquet(folder / "new.parquet")
    assert run("predict", model, "new.parquet", "-q", "--exact", cwd=folder).done() == ended.out
    more = ("--out", "p.csv", "--prevalence", "0.1", "--interval", "0.9", "--id", "sex", "--exact")
    told = run("predict", model, "new.csv", *more, cwd=folder)
    assert (told.code, told.out) == (0, "")
    assert told.err.endswith("50 rows.\n")
    rows = rows_of(folder / "p.csv")
    assert [row["identifier"] for row in rows[:5]] == ["m", "f", "", "x", "'=y"]
    moved = logit(column(rows, "probability: ill")) - logit(expected)
    np.testing.assert_allclose(moved, logit(0.1), atol=1e-4)
    assert np.all(column(rows, "low: ill") < column(rows, "probability: ill"))
    assert np.all(column(rows, "high: ill") > column(rows, "probability: ill"))


def test_the_model_of_fit_is_that_of_report(place, run):
    run("fit", "patients.csv", "--target", "status", *MIXED, "-q", "--out", "m", cwd=place).done()
    assert (place / "m").read_bytes() == (place / "base" / "model.honestbayes").read_bytes()
    # A model may replace a model.
    run("fit", "patients.csv", "--target", "status", *MIXED, "-q", "--out", "m", cwd=place).done()
    (place / "m").unlink()


@pytest.mark.slow
def test_tables_that_do_not_fit_the_model_are_refused(model, new, folder, run):
    write(new.drop(columns=["g0", "g1"]), folder / "lack.csv")
    stray = new.astype({"g0": object})
    stray.loc[17, "g0"] = "abc"
    write(stray, folder / "stray.csv")
    many = pd.concat([new] * 600 + [stray], ignore_index=True)  # more than one part
    write(many, folder / "many.csv")
    before = {entry.name for entry in folder.iterdir()}
    for table, words in {
        "lack.csv": "lack.csv lacks 2 columns that the model needs: ",
        "stray.csv": "column 'g0' holds 'abc' in line 19 of the file, which is not a number",
        "many.csv": "column 'g0' holds 'abc' in line 30,019 of the file, which is",
        "nowhere.csv": "there is no file nowhere.csv",
    }.items():
        for command in (("predict", "--out", "out.csv"), ("evaluate",)):
            ended = run(command[0], model, table, *command[1:], cwd=folder)
            assert words in ended.refused()
    assert "'nobody'" in run("predict", model, "new.csv", "--id", "nobody", cwd=folder).refused()
    assert {entry.name for entry in folder.iterdir()} == before


def test_files_that_are_no_model_are_refused(model, frame, new, run, tmp_path):
    X, y = frame[["g0", "g1"]].to_numpy(), frame["status"]
    SelectiveBernoulliNB().fit(X, y).save(tmp_path / "estimator")
    content = model.read_bytes()
    (tmp_path / "cut").write_bytes(content[:-100])
    (tmp_path / "flipped").write_bytes(content[:500] + bytes([content[500] ^ 1]) + content[501:])
    (tmp_path / "text").write_text("status,g0\n")
    table = write(new, tmp_path / "new.csv")
    for name, words in {
        "estimator": "holds an estimator without its table",
        "cut": "'cut' is damaged",
        "flipped": "'flipped' is damaged",
        "text": "'text' is not a model file",
        "nowhere": "there is no file nowhere",
        ".": "is a folder; give a model file",
    }.items():
        for command in (("predict", name, table), ("evaluate", name, table), ("inspect", name)):
            assert words in run(*command, cwd=tmp_path).refused()


def test_nothing_of_the_user_is_replaced(model, new, place, run, tmp_path):
    write(new, tmp_path / "new.csv")
    (tmp_path / "model").write_bytes(model.read_bytes())
    (tmp_path / "link").symlink_to("new.csv")
    (tmp_path / "folder").mkdir()
    fit = ("fit", place / "patients.csv", "--target", "status", "--out")
    predict = ("predict", "model", "new.csv", "--out")
    for command, words in (
        ((*fit, "new.csv"), "new.csv exists and is not a model file"),
        ((*fit, "folder"), "folder is a folder"),
        ((*fit, "no/where"), "the folder for where does not exist"),
        ((*predict, "new.csv"), "--out new.csv would overwrite an input file"),
        ((*predict, "model"), "--out model would overwrite an input file"),
        ((*predict, "link"), "--out link would overwrite an input file"),
        ((*predict, "folder"), "folder is a folder"),
        ((*predict, "no/where"), "the folder for where does not exist"),
        ((*predict, os.devnull), "is not a regular file"),
    ):
        assert words in run(*command, cwd=tmp_path).refused()
    assert (tmp_path / "new.csv").read_text() == new.to_csv(index=False)
    assert (tmp_path / "model").read_bytes() == model.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "link", "model", "new.csv"]


def test_evaluate_judges_by_the_rows_that_have_a_class(model, new, folder, run):
    p = honestbayes.load(model).predict_proba(known(new))[:, 1]
    labels = new["status"].copy()
    labels[5:12] = ""
    write(new.assign(status=labels), folder / "some.csv")
    ended = run("evaluate", model, "some.csv", "--json", cwd=folder)
    assert "warning: 7 rows have no class and were ignored.\n" in ended.err
    found = strict_json(ended.out)
    kept = (labels != "").to_numpy()
    wrong = (p >= 0.5) != (labels == "ill")
    assert found["summary"]["n_cases"] == 43
    assert found["summary"]["actual_error"]["value"] == pytest.approx(wrong[kept].mean())
    assert found["labels"] == ["well", "ill"]
    printed = run("evaluate", model, "some.csv", cwd=folder).out
    assert "some.csv; class 1 is 'ill'" in printed
    assert "On this table, the model predicted a class with 95% or more" in printed
    # Groups: one must be known of each row that takes part, and no other.
    groups = pd.Series([f"p{i // 2}" for i in range(50)])
    groups[5:12] = ""
    write(new.assign(status=labels, who=groups), folder / "groups.csv")
    ended = run("evaluate", model, "groups.csv", "--json", "--groups", "who", cwd=folder)
    assert strict_json(ended.out)["summary"]["n_cases"] == 43
    write(new.assign(who=groups), folder / "groups.csv")
    ended = run("evaluate", model, "groups.csv", "--groups", "who", cwd=folder)
    assert "the group column 'who' has no value in line 7 of the file" in ended.refused()


def test_evaluate_with_other_classes_with_one_and_with_none(model, new, folder, run):
    write(new.replace({"status": {"ill": "dead"}}), folder / "dead.csv")
    write(new.assign(status=""), folder / "none.csv")
    write(new[new["status"] == "well"], folder / "well.csv")
    write(new.rename(columns={"status": "State"}), folder / "State.csv")
    for name, words in {
        "dead.csv": "holds 'dead', but the model was trained on the classes 'well', 'ill'",
        "none.csv": "none.csv has no row with a class in column 'status'",
        "State.csv": "has no column 'status'; did you mean 'State'?",
    }.items():
        assert words in run("evaluate", model, name, cwd=folder).refused()
    assert run("evaluate", model, "State.csv", "--target", "State", cwd=folder).code == 0
    ended = run("evaluate", model, "well.csv", cwd=folder)
    assert ended.code == 0
    assert "all cases belong to class 'well'; AUC and calibration need cases" in ended.err
    assert "actual error" in ended.out
    assert "nan" not in ended.out
    assert "inf" not in ended.out
    strict_json(run("evaluate", model, "well.csv", "--json", cwd=folder).out)


def test_inspect_says_what_the_model_holds(model, folder, run):
    printed = run("inspect", model, cwd=folder).done()
    loaded = honestbayes.load(model)
    assert "P(status = ill), naive Bayes after selection" in printed
    assert "trained on          60 cases, 30 of them ill" in printed
    assert "a one: sex is m" in printed
    for feature in loaded.encoding.features:
        assert feature.name in printed
    found = strict_json(run("inspect", model, "--json", cwd=folder).done())
    assert found["columns"] == list(loaded.columns)
    assert found["positive"] == "ill"
    assert found["slope"] == loaded.estimator.slope_


@pytest.mark.slow  # tables/test_csv_reader.py: streaming takes little memory
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux tells it")
def test_200_megabytes_pass_through_predict_in_bounded_memory(model, new, tmp_path):
    expected = honestbayes.load(model).predict_proba(known(new))[:, 1]
    header, block = new.to_csv(index=False).split("\n", 1)
    times = 200_000_000 // len(block) + 1
    with (tmp_path / "large.csv").open("w") as stream:
        stream.write(header + "\n")
        for _ in range(times // 100 + 1):
            stream.write(block * 100)
    n_rows = 50 * 100 * (times // 100 + 1)
    words = ("predict", model, "large.csv", "--exact", "--out", "p.csv")
    ended = run_alone(*words, cwd=tmp_path, start=("-c", MEASURED))
    assert ended.code == 0
    assert f"{n_rows:,} rows" in ended.err
    size = (tmp_path / "large.csv").stat().st_size
    (tmp_path / "large.csv").unlink()
    assert size > 200_000_000
    # Importing the package takes 250 MB of it.
    kilobytes = int(re.search(r"VmHWM:\s*(\d+) kB", ended.out)[1])
    assert kilobytes * 1024 < 400e6
    wanted = [f"{p:.12g}" for p in expected]
    with (tmp_path / "p.csv").open() as stream:
        next(stream)
        for position, line in enumerate(stream):
            row, _, probability = line.rstrip("\n").split(",")
            assert int(row) == position + 1
            assert probability == wanted[position % 50]
    assert position + 1 == n_rows
