"""What `honestbayes report` writes and prints, option by option."""

import json
import math
import os
import shlex

import numpy as np
import pytest
from cli_tables import (
    COMPARED,
    SHORT,
    by_name,
    column,
    patients,
    report_json,
    rows_of,
    strict_json,
    used,
    write,
)
from scipy.special import logit

from honestbayes.cli.options import check_output_file
from honestbayes.report.options import check_folder
from honestbayes.tables.errors import InputError

FILES = {"report.html", "report.json", "predictions.csv", "model.honestbayes"}
TARGET = ("--target", "status", "--model", "mixed")


@pytest.fixture(scope="module")
def base(place):
    return report_json(place / "base")


def test_the_folder_holds_four_files_that_agree_with_the_printed_text(place, base):
    assert {entry.name for entry in (place / "base").iterdir()} == FILES
    printed = (place / "printed.txt").read_text(encoding="utf-8")
    for told in (" ".join(base["in_short"]), base["verdict"]["headline"]):
        assert " ".join(told.split()) in " ".join(printed.split())
    assert (
        "patients.csv: 60 cases, 30 of them ill (the positive class; --positive well changes "
        "that); 61 features, 11 kept (1 of 1 binary, 10 of 60 continuous)"
    ) in " ".join(printed.split())
    for name in by_name(base):
        assert name in printed
    assert "Brier: the mean of (y - p)^2 of one class, y being 1 or 0" in " ".join(printed.split())
    rows = rows_of(place / "base" / "predictions.csv")
    assert [int(row["row"]) for row in rows] == list(range(1, 61))
    held_out = np.clip(base["cases"]["held_out"], 1 / 62, 61 / 62)
    np.testing.assert_allclose(column(rows, "held_out"), held_out, rtol=1e-5)
    assert used(base)["auc"]["interval"][0] > 0.5  # the table has signal


def test_a_column_of_text_identifiers_is_left_out_and_named(place, base):
    left_out = {column["name"]: column["reason"] for column in base["data"]["left_out"]}
    assert left_out == {"patient": "identifier-like: 60 different values in 60 rows"}
    assert "Column 'patient' is left out" in (place / "printed.txt").read_text(encoding="utf-8")


def test_no_identifier_and_no_folder_of_the_machine_is_in_any_file(place):
    texts = [entry.read_bytes() for entry in (place / "base").iterdir()]
    printed = (place / "printed.txt").read_text(encoding="utf-8").splitlines()
    assert printed[-1] == f"Report: {place / 'base' / 'report.html'}"  # to click on, in one line
    for text in (*texts, "\n".join(printed[:-1]).encode()):
        assert b"Secret" not in text
        for part in (place.name, place.parent.name, "hidden-work"):
            assert part.encode() not in text


def test_the_command_in_the_report_repeats_it_bit_for_bit(place, base, run):
    words = shlex.split(base["command"])
    assert words[:3] == ["honestbayes", "report", "patients.csv"]
    before = {name: (place / "base" / name).read_bytes() for name in FILES}
    assert run(*words[1:], "--quiet", cwd=place).done() == ""
    for name in FILES:
        assert (place / "base" / name).read_bytes() == before[name], name


@pytest.mark.slow
def test_another_seed_draws_other_folds(place, base, run):
    run("report", "patients.csv", *TARGET, *SHORT, "--seed", 1, "--out", "s", "-q", cwd=place)
    other = report_json(place / "s")
    assert other["cases"]["held_out"] != base["cases"]["held_out"]
    assert other["cases"]["row"] == base["cases"]["row"]


@pytest.mark.slow
def test_positive_and_prevalence_turn_and_shift_the_probabilities(place, base, run):
    more = ("--positive", "well", "--prevalence", "0.2", "--id", "patient", "--out", "turned")
    printed = run("report", "patients.csv", *TARGET, *SHORT, *more, "--json", cwd=place).done()
    turned = report_json(place / "turned")
    assert turned["data"]["labels"] == ["ill", "well"]
    held_out = np.array(turned["cases"]["held_out"])
    np.testing.assert_allclose(held_out, 1 - np.array(base["cases"]["held_out"]), atol=1e-9)
    # Half of the table is well: the log-odds of all fitted probabilities move by logit(0.2).
    moved = logit(turned["cases"]["fitted"]) + logit(base["cases"]["fitted"])
    np.testing.assert_allclose(moved, logit(0.2), atol=1e-9)
    # Identifiers are there on request.
    rows = rows_of(place / "turned" / "predictions.csv")
    assert [row["identifier"] for row in rows] == [f"Secret{i:03}" for i in range(60)]
    # The printed JSON is that of the file, without the cases.
    found = strict_json(printed)
    del turned["cases"]
    assert found == turned


@pytest.mark.slow
def test_threshold_no_recalibrate_keep_and_ignore(place, run):
    more = ("--threshold", "0.3", "--no-recalibrate", "--keep", "g50", "--keep", "sex")
    more += ("--ignore", "g0", "--ignore", "g3", "--out", "chosen", "--quiet")
    assert run("report", "patients.csv", *TARGET, *SHORT, *more, cwd=place).done() == ""
    found = report_json(place / "chosen")
    assert found["in_use"] == "corrected"
    assert found["ranking"]["slope"] == 1
    assert found["data"]["kept_by_design"] == ["g50", "sex"]
    assert found["data"]["ignored"] == ["g0", "g3"]
    by_design = {f["column"] for f in found["features"] if f["by_design"]}
    assert by_design == {"g50", "sex"}
    ranked = [f for f in found["features"] if not f["by_design"]]
    assert ranked
    assert all(abs(f["correlation"]) > 0.3 for f in ranked)
    assert not {"g0", "g3"} & {f["column"] for f in found["features"]}


@pytest.mark.slow
def test_numbers_of_features_the_path_and_leave_one_out(tmp_path, run):
    cases = {
        "all": (6, "-k", "all", "--leave-one-out", "--no-compare"),
        "2": (10, "-k", 2, "--path", "--folds", 2, "--repeats", 2, "--no-compare"),
    }
    found = {}
    for name, (n, *more) in cases.items():
        write(patients(n, 6), tmp_path / "t.csv")
        run("report", "t.csv", *TARGET, *more, "--out", name, "-q", cwd=tmp_path).done()
        found[name] = report_json(tmp_path / name)
    assert len(found["all"]["features"]) == 6
    assert found["all"]["settings"]["n_folds"] == "loo"
    assert found["all"]["paths"] == {}
    assert len(found["2"]["features"]) == 2
    assert found["2"]["settings"]["n_repeats"] == 2
    path = found["2"]["paths"][found["2"]["in_use"]]
    assert path["n_features"] == [1, 2, 5, 6]


@pytest.mark.slow  # report/test_analysis.py: groups reach every method
def test_patients_stay_together_so_that_twins_do_not_leak(tmp_path, run):
    """Each row twice, features noise, class by a coin: only a leak can predict it."""
    half = patients(40, 60, informative=0, seed=3)
    half["patient"] = [f"p{i}" for i in range(40)]
    twins = half.loc[half.index.repeat(2)].reset_index(drop=True)
    write(twins, tmp_path / "twins.csv")
    aucs = {}
    apart = ("--keep-duplicates", "--ignore")
    for name, role in {"apart": apart, "together": ("--groups",)}.items():
        # Cut columns: with ten measurements of noise, twins are not found again.
        more = (*role, "patient", *SHORT, "--folds", 4, "--out", name, "-q", "--model", "binary")
        run("report", "twins.csv", *TARGET, *more, cwd=tmp_path).done()
        report = report_json(tmp_path / name)
        aucs[name] = {m["name"]: m["summary"]["auc"]["interval"] for m in report["methods"]}
        if name == "together":
            assert report["data"]["n_groups"] == 40
            assert report["verdict"]["calibration"] == "no signal"
    for name, (low, high) in aucs["together"].items():
        assert low < 0.5 < high
        # A leak: chance is excluded.
        assert (aucs["apart"][name][0] > 0.5) == (name != "class frequencies alone")


@pytest.mark.slow  # report/test_analysis.py has the same of the report itself
def test_of_a_class_drawn_at_random_every_method_says_that_nothing_is_known(tmp_path, run):
    write(patients(100, 60, informative=0, seed=5), tmp_path / "noise.csv")
    printed = run("report", "noise.csv", *TARGET, *COMPARED, cwd=tmp_path).done()
    assert "Nothing can be predicted" in printed
    report = report_json(tmp_path / "noise-report")
    assert report["verdict"]["calibration"] == "no signal"
    methods = by_name(report)
    del methods["class frequencies alone"]
    assert len(methods) == 10
    for method in methods.values():
        low, high = method["summary"]["auc"]["interval"]
        assert low < 0.5 < high
        # Half of the cases are ill: who knows nothing else scores log 2.
        assert method["summary"]["log_score"]["interval"][1] > math.log(2) - 1e-9


def test_a_folder_with_other_files_is_refused_and_untouched(place, run, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    (tmp_path / "file").write_text("not a folder")
    for out, words in {
        "thesis": "holds 'chapter.txt', which is not part of a report",
        "file": "is not a folder",
        "no/where": "does not exist; create it",
    }.items():
        ended = run("report", place / "patients.csv", *TARGET, "--out", out, cwd=tmp_path)
        assert words in ended.refused()
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "thesis"]


def test_a_place_that_may_not_be_written_to_is_refused_before_the_work(tmp_path, monkeypatch):
    # The superuser, as whom tests may run, may write everywhere.
    monkeypatch.setattr(os, "access", lambda *_: False)
    for check in (check_folder, check_output_file):
        with pytest.raises(InputError, match=r"the folder for new is not writable; choose"):
            check(tmp_path / "new")


def test_what_a_table_is_too_small_for_is_said_in_words_of_the_options(run, tmp_path):
    small = patients(8, 3)
    write(small.assign(one="same"), tmp_path / "small.csv")
    write(small.assign(status=["ill"] * 2 + ["well"] * 6), tmp_path / "two.csv")
    for table, more, words in (
        (
            "small.csv",
            ("--folds", 5),
            "--folds 5 is too many: class 'well' has 4 cases; give --folds from 2 to",
        ),
        (
            "two.csv",
            ("--folds", 5),
            "--folds 5 is too many: class 'ill' has 2 cases; give --folds 2.",
        ),
        ("small.csv", ("-k", 4), "--features 4 is more than the 3 candidate features"),
        ("small.csv", ("-k", 0), "--features 0 leaves no feature"),
        ("small.csv", ("-k", "cv"), "--features cv needs a class with 20 cases"),
        ("small.csv", ("--groups", "one"), "all rows belong to one group"),
        ("small.csv", ("--positive", "dead"), "no class 'dead'; its classes are 'ill', 'well'"),
        ("small.csv", ("--keep", "g0", "--ignore", "g0"), "'g0' is given as"),
        ("small.csv", ("--keep", "Stetus"), "no column 'Stetus'; did you mean 'status'?"),
    ):
        assert words in run("report", table, *TARGET, *more, cwd=tmp_path).refused()
    # Two cases of a class, one feature that is kept by design, no race: still a report.
    more = (*SHORT, "-k", 0, "--keep", "g0", "--out", "r", "--json")
    printed = run("report", "two.csv", *TARGET, *more, cwd=tmp_path).done()
    assert [f["name"] for f in json.loads(printed)["features"]] == ["g0"]


def test_features_that_never_vary_predict_nothing(tmp_path, run):
    frame = patients(20, 4)
    frame.loc[:, "g0":] = 3.5
    write(frame, tmp_path / "same.csv")
    more = (*SHORT, "--json")
    printed = run("report", "same.csv", *TARGET, *more, cwd=tmp_path).done()
    assert json.loads(printed)["verdict"]["calibration"] == "no signal"
