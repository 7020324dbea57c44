"""A table that would give a wrong conclusion gives none before its user has decided."""

import json

import numpy as np
import pandas as pd
import pytest
from cli_tables import SHORT, patients, report_json, write
from doubtful_tables import REMARKED, STOPPED, plain, visits

from honestbayes.data import open_store
from honestbayes.report.notebook import make_report

TARGET = ("--target", "status", "--model", "mixed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for all tests, with the plain table and its model."""
    return tmp_path_factory.mktemp("doubtful")


@pytest.fixture(scope="module")
def visited(folder):
    """Patients with several rows each."""
    return write(visits(), folder / "visits.csv")


def stopped(ended):
    """The lines of a command that stopped: exit code 3, and nothing written."""
    assert ended.code == 3, ended
    assert ended.out == "", ended
    first, *doubts = ended.err.splitlines()
    assert first.startswith("honestbayes: ")
    assert "may lead to wrong conclusions" in first
    assert all(line.startswith("- ") and line.endswith(".") for line in doubts)
    return doubts


@pytest.mark.slow_cases("fit", "report")
@pytest.mark.parametrize("command", ["report", "fit", "select"])
def test_commands_that_train_stop_with_a_code_of_their_own(run, folder, visited, command):
    before = sorted(folder.iterdir())
    (doubt,) = stopped(run(command, visited.name, *TARGET[:2], cwd=folder))
    assert doubt.startswith("- 'patient' has 25 values, and the class never varies within one: ")
    assert "--groups patient" in doubt
    assert sorted(folder.iterdir()) == before


def test_every_doubt_is_told_at_once(run, folder):
    frame = visits().assign(code=lambda t: t["status"].map({"ill": "A1", "well": "B2"}))
    frame["m0"] = frame["m0"].astype(str)
    frame.loc[3, "m0"] = "<5"
    write(frame, folder / "three.csv")
    doubts = stopped(run("fit", "three.csv", *TARGET, cwd=folder))
    assert [doubt.split()[1] for doubt in doubts] == ["'patient'", "'m0'", "'code'"]


@pytest.mark.slow_cases("--ignore", "--keep")
@pytest.mark.parametrize("word", ["--ignore", "--keep", "--groups"])
def test_each_option_that_is_named_lets_the_report_be_made(run, folder, visited, word):
    out = f"patients{word}"
    words = (word, "patient", *SHORT, "--out", out)
    run("report", visited.name, *TARGET, *words, cwd=folder).done()
    auc = {m["name"]: m["summary"] for m in report_json(folder / out)["methods"]}
    if word == "--groups":
        assert auc[report_json(folder / out)["in_use"]]["auc"]["value"] < 0.7


def test_a_near_copy_of_the_class_stops_as_an_exact_copy_does(run, folder):
    write(STOPPED["a text with 2% noise"][0](), folder / "copied.csv")
    (doubt,) = stopped(run("report", "copied.csv", *TARGET, *SHORT, cwd=folder))
    assert doubt.startswith("- 'code' is a copy of the class in all but 2 of 120 rows: --ignore")
    words = ("--keep", "code", "--out", "copied-kept")
    run("report", "copied.csv", *TARGET, *SHORT, *words, cwd=folder).done()


@pytest.mark.parametrize("command", ["report", "fit", "select"])
def test_doubtful_labels_stop_and_their_options_decide(run, folder, command):
    frame = plain()
    frame.loc[:5, "status"] = frame.loc[:5, "status"].str.upper()
    frame.loc[6:8, "status"] = "unknown"
    write(frame, folder / "labels.csv")
    words = ("labels.csv", *TARGET[:2])
    doubts = stopped(run(command, *words, cwd=folder))
    assert any("--merge-labels to merge them" in doubt for doubt in doubts)
    assert any("--missing-label unknown if the class" in doubt for doubt in doubts)
    words += {"report": SHORT, "fit": TARGET[2:], "select": ()}[command]
    words += ("--merge-labels", "--missing-label", "unknown", "--out", f"labels-{command}", "-q")
    run(command, *words, cwd=folder).done()


def test_doubtful_labels_stop_an_evaluation_and_their_options_decide(run, folder):
    frame = plain()
    write(frame, folder / "known.csv")
    run("fit", "known.csv", *TARGET, "--out", "known.honestbayes", "-q", cwd=folder).done()
    frame.loc[:5, "status"] = frame.loc[:5, "status"].str.upper()
    frame.loc[6:8, "status"] = "unknown"
    write(frame, folder / "spelled.csv")
    words = ("evaluate", "known.honestbayes", "spelled.csv", "--json")
    doubts = stopped(run(*words, cwd=folder))
    assert any("--merge-labels to accept other spellings of these" in doubt for doubt in doubts)
    assert any("--missing-label unknown if the class" in doubt for doubt in doubts)
    decided = ("--merge-labels", "--missing-label", "unknown")
    ended = run(*words, *decided, cwd=folder)
    assert ended.err == "warning: 3 rows have no class and were ignored.\n"
    summary = json.loads(ended.out)["summary"]
    expected = frame.drop(index=range(6, 9))
    expected["status"] = expected["status"].str.lower()
    write(expected, folder / "plain-labels.csv")
    words = ("evaluate", "known.honestbayes", "plain-labels.csv", "--json")
    assert json.loads(run(*words, cwd=folder).done())["summary"] == summary
    # A label that no option explains is refused, with the classes of the model.
    said = run(*words[:2], "spelled.csv", "--keep-labels", cwd=folder).refused()
    assert "but the model was trained on the classes" in said


def test_doubtful_labels_stop_packing_and_their_options_decide(run, folder):
    frame = pd.DataFrame({"a": [0, 1] * 10, "b": [1, 1, 0, 0] * 5, "status": ["no", "yes"] * 10})
    frame.loc[3, "status"] = "Yes"
    write(frame, folder / "bits.csv")
    words = ("bits.csv", "--target", "status")
    (doubt,) = stopped(run("pack", "bits.csv", "store", "--target", "status", cwd=folder))
    assert "--merge-labels to merge them" in doubt
    run("pack", "bits.csv", "store", *words[1:], "--merge-labels", "-q", cwd=folder).done()
    assert set(open_store(folder / "store").labels) == {"no", "yes"}
    frame.loc[4, "status"] = "unknown"
    write(frame, folder / "holes.csv")
    decided = ("--merge-labels", "--missing-label", "unknown")
    said = run("pack", "holes.csv", "other", *words[1:], *decided, cwd=folder).refused()
    assert "column 'status' is missing in" in said


def test_a_remark_that_results_may_mean_nothing_is_in_the_verdict_itself(run, folder):
    name = "categories that nearly determine the class"
    write(REMARKED[name][0](), folder / "near.csv")
    printed = run("report", "near.csv", *TARGET, *SHORT, cwd=folder).done()
    found = report_json(folder / "near-report")
    note = found["data"]["notes"][0]
    assert note.startswith("Column 'odour' alone explains 8")
    assert found["verdict"]["caution"] == f"These results may mean nothing. {note}"
    assert "do not use" in found["verdict"]["advice"]
    printed = " ".join(printed.split())
    assert printed.count(note) == 1
    assert f"These results may mean nothing. {note} Of 100 held-out" in printed
    page = (folder / "near-report" / "report.html").read_text("utf-8")
    assert 'id="verdict" class="verdict cannot-tell"' in page
    assert page.count("Column &#39;odour&#39; alone explains") == 1
    words = ("--keep", "odour", "--out", "near-kept")
    run("report", "near.csv", *TARGET, *SHORT, *words, cwd=folder).done()
    assert report_json(folder / "near-kept")["verdict"]["caution"] == ""


def test_cells_called_missing_are_so_in_training_prediction_and_evaluation(run, folder):
    frame = STOPPED["two words for missing"][0]()
    frame["age"] = np.where(np.arange(120) % 9 == 0, 999, np.arange(120) % 50 + 20)
    write(frame, folder / "words.csv")
    stopped(run("fit", "words.csv", *TARGET, cwd=folder))
    words = ("--missing", "-,n.d.,999", "--out", "words.honestbayes")
    printed = run("fit", "words.csv", *TARGET, *words, cwd=folder).done()
    assert "999" not in printed
    empty = frame.replace({"-": "", "n.d.": ""}).replace({"age": {999: np.nan}})
    write(empty, folder / "empty.csv")
    run("fit", "empty.csv", *TARGET, "--out", "empty.honestbayes", cwd=folder).done()
    predicted = [
        run("predict", f"{model}.honestbayes", table, "--id", "age", cwd=folder).done()
        for model, table in (("words", "words.csv"), ("empty", "empty.csv"))
    ]
    rows = [[line.split(",") for line in text.splitlines()] for text in predicted]
    assert [row[2:] for row in rows[0]] == [row[2:] for row in rows[1]]
    assert "is not a number" in run("predict", "empty.honestbayes", "words.csv", cwd=folder).err
    run("evaluate", "words.honestbayes", "words.csv", cwd=folder).done()


def test_a_word_that_begins_with_a_dash_is_a_word(run, folder):
    frame = plain()
    frame["age"] = np.where(np.arange(120) % 9 == 0, -9, np.arange(120) % 5)
    write(frame, folder / "nine.csv")
    assert "holds -9 in" in run("fit", "nine.csv", *TARGET, cwd=folder).done()
    words = ("--missing", "-9", "--measured", "age")
    assert "Note" not in run("fit", "nine.csv", *TARGET, *words, cwd=folder).done()


@pytest.mark.slow
def test_decimal_commas_are_found_column_by_column(run, folder):
    frame = plain()
    frame["icd"] = np.random.default_rng(0).choice(["12.3", "45.1", "7.8"], 120)
    frame.to_csv(folder / "commas.csv", sep=";", decimal=",", index=False)
    printed = run("report", "commas.csv", *TARGET, *SHORT, cwd=folder).done()
    assert "Decimal commas are read in 'g0'" in printed
    assert report_json(folder / "commas-report")["data"]["n_real"] == 7
    words = ("--decimal", ",", "--out", "asked")
    run("report", "commas.csv", *TARGET, *SHORT, *words, cwd=folder).done()
    found = report_json(folder / "asked")["data"]
    assert (found["n_real"], found["n_categorical"]) == (6, 1)
    run("predict", "asked/model.honestbayes", "commas.csv", "--decimal", ",", cwd=folder).done()


def test_another_encoding_is_recognised_and_may_be_named(run, folder):
    frame = plain().assign(town=lambda t: np.where(np.arange(len(t)) % 3 == 0, "Köln", "Bonn"))
    frame.to_csv(folder / "latin.csv", index=False, encoding="latin-1")
    printed = run("fit", "latin.csv", *TARGET, "--keep", "town", cwd=folder).done()
    assert "latin.csv is not UTF-8; it was read as cp1252 (--encoding decides)." in printed
    words = ("--encoding", "latin-1")
    run("fit", "latin.csv", *TARGET, *words, "--keep", "town", cwd=folder).done()
    shown = run("inspect", "latin.honestbayes", cwd=folder).done()
    assert "Köln" in shown
    run("predict", "latin.honestbayes", "latin.csv", *words, cwd=folder).done()
    assert (
        "no encoding" in run("fit", "latin.csv", *TARGET, "--encoding", "x", cwd=folder).refused()
    )


@pytest.mark.slow
def test_the_kind_of_a_column_can_be_decided_and_is_reported(run, folder):
    rng = np.random.default_rng(0)
    frame = plain().assign(grade=rng.integers(1, 5, 120), centre=rng.integers(1, 3, 120))
    write(frame, folder / "graded.csv")
    printed = run("report", "graded.csv", *TARGET, *SHORT, cwd=folder).done()
    assert "--categorical grade" in " ".join(printed.split())
    read = {c["name"]: c for c in report_json(folder / "graded-report")["data"]["columns"]}
    assert [read[name]["read_as"] for name in ("g0", "grade", "centre")] == [
        "measurement",
        "measurement",
        "flag",
    ]
    words = ("--categorical", "grade", "--measured", "centre", "--keep", "grade", "--out", "said")
    printed = run("report", "graded.csv", *TARGET, *SHORT, *words, cwd=folder).done()
    assert "--categorical grade" not in " ".join(printed.split())
    read = {c["name"]: c for c in report_json(folder / "said")["data"]["columns"]}
    assert [read[name]["read_as"] for name in ("grade", "centre")] == ["category", "measurement"]
    # A number that another program writes with a point is the same level.
    write(frame.astype({"grade": float}), folder / "points.csv")
    for table in ("graded.csv", "points.csv"):
        assert run("predict", "said/model.honestbayes", table, cwd=folder).err == ""


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--flags", "g0"), "'g0' has 1"),
        (("--categorical", "g0", "--measured", "g0"), "is given two kinds"),
        (("--categorical", "status"), "has a kind (--categorical), but is not a feature"),
        (("--measured", "status2"), "no column 'status2'"),
        (("--measured", "town"), "'town' holds 'a' in line 2 of the file, which is not a number"),
    ],
)
def test_a_kind_that_a_column_cannot_have_is_refused(run, folder, more, words):
    if not (folder / "town.csv").exists():
        write(plain().assign(town=["a", "b"] * 60), folder / "town.csv")
    assert words in run("fit", "town.csv", *TARGET, *more, cwd=folder).refused()


def test_the_rows_of_the_training_are_recognised_in_any_order(run, folder):
    frame = plain()
    write(frame, folder / "known.csv")
    run("fit", "known.csv", *TARGET, cwd=folder).done()
    write(frame.sample(frac=1, random_state=1), folder / "shuffled.csv")
    for table in ("known.csv", "shuffled.csv"):
        printed = run("evaluate", "known.honestbayes", table, cwd=folder).done()
        assert printed.startswith("These are the rows that the model was trained on")
        assert "honest probabilities" not in printed
    told = json.loads(
        run("evaluate", "known.honestbayes", "known.csv", "--json", cwd=folder).done()
    )
    assert told["training_rows"] is True
    write(plain(seed=9), folder / "other.csv")
    printed = run("evaluate", "known.honestbayes", "other.csv", cwd=folder).done()
    assert printed.startswith("other.csv; class 1 is 'ill'")


def test_eight_cases_have_as_many_folds_as_there_is_room_for(run, folder):
    write(plain(8, 3), folder / "eight.csv")
    printed = run("report", "eight.csv", *TARGET, *SHORT[2:], cwd=folder).done()
    assert "There are 4 folds instead of 5: class 'well' has 4 cases." in printed
    assert report_json(folder / "eight-report")["settings"]["n_folds"] == 4
    assert (
        "--folds 5 is too many"
        in run("report", "eight.csv", *TARGET, "--folds", 5, cwd=folder).refused()
    )


def test_in_python_a_doubtful_table_warns_in_words_of_python():
    words = {"n_folds": 2, "quick": True, "model": "mixed"}
    with pytest.warns(UserWarning, match=r"groups='patient' if its rows belong together") as told:
        report = make_report(visits(), "status", **words)
    assert len(told) == 1
    assert report.data.notes[0].startswith("'patient' has 25 values")
    frame = plain(8, 3).assign(grade=[1, 2, 3, 1, 2, 3, 9, 9])
    report = make_report(
        frame,
        "status",
        kinds={"grade": "categorical"},
        missing=["9"],
        quick=True,
        model="mixed",
    )
    assert report.settings["n_folds"] == 4
    assert report.data.n_missing == 2
    assert [c.read_as for c in report.data.columns] == ["continuous"] * 3 + ["categorical"]


def test_rows_that_are_there_twice_are_one_finding_and_not_one_for_every_column(tmp_path, run):
    half = patients(40, 60, informative=0, seed=3)
    write(half.loc[half.index.repeat(2)], tmp_path / "twins.csv")
    ended = run("fit", "twins.csv", *TARGET, "--out", "m", cwd=tmp_path)
    assert ended.code == 3
    assert "resolve this doubt" in ended.err
    assert "40 of 80 rows repeat another row exactly" in ended.err
    words = (*TARGET, "--keep-duplicates", "-q", "--out", "m")
    run("fit", "twins.csv", *words, cwd=tmp_path).done()


def test_many_columns_with_one_fault_are_told_in_a_few_lines(tmp_path, run):
    table = patients(60, 3)
    for j in range(20):
        table[f"copy{j}"] = np.where(table["status"] == "ill", "a", "b")
    write(table, tmp_path / "copies.csv")
    ended = run("fit", "copies.csv", *TARGET, "--out", "m", cwd=tmp_path)
    assert ended.code == 3
    assert ended.err.count("\n") == 7
    assert "15 more columns are doubtful in the same way" in ended.err


def test_numbers_with_units_stop_the_command_and_ignoring_them_is_possible(tmp_path, run):
    write(STOPPED["numbers such as 28.1 mg"][0](), tmp_path / "doses.csv")
    (doubt,) = stopped(run("report", "doses.csv", *TARGET, *SHORT, cwd=tmp_path))
    assert "'dose' holds numbers with a unit, such as '" in doubt
    assert doubt.endswith(" or use: --ignore dose.")
    run("fit", "doses.csv", *TARGET, "--ignore", "dose", "-q", cwd=tmp_path).done()


def test_a_column_that_may_be_known_too_late_is_a_condition_of_the_verdict(run, folder):
    make, rule, column = REMARKED["a copy of the class with an error in 20"]
    write(make(), folder / "late.csv")
    printed = run("report", "late.csv", *TARGET, *SHORT, "--out", "late", cwd=folder).done()
    verdict = report_json(folder / "late")["verdict"]
    assert (rule, verdict["status"]) == ("one column alone", "with care")
    sentence = f"Column '{column}' alone explains"
    assert " ".join(printed.split()).count(sentence) == 2  # in the notes, and in the verdict
