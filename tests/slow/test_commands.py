"""Commands that take long: several processes, the choice of a number, and many kills."""

import json
import os
import shlex
from pathlib import Path

import pytest
from cli_tables import SHORT, patients, report_json, write
from commands import run_alone

WRITER = Path(__file__).resolve().parents[1] / "killed_writer.py"
TARGET = ("--target", "status", "--model", "mixed")


def test_two_processes_give_the_report_of_one(tmp_path):
    write(patients(), tmp_path / "t.csv")
    run_alone("report", "t.csv", *TARGET, *SHORT, "-q", cwd=tmp_path).done()
    folder = tmp_path / "t-report"
    before = {entry.name: entry.read_bytes() for entry in folder.iterdir()}
    assert len(before) == 4
    words = shlex.split(report_json(folder)["command"])[1:]
    run_alone(*words, "--jobs", 2, "-q", cwd=tmp_path).done()
    assert {entry.name: entry.read_bytes() for entry in folder.iterdir()} == before


def test_the_number_of_features_is_chosen_where_asked(tmp_path):
    write(patients(), tmp_path / "t.csv")
    run_alone("report", "t.csv", *TARGET, *SHORT, "-k", "cv", "-q", cwd=tmp_path).done()
    report = report_json(tmp_path / "t-report")
    assert "chosen by cross-validation" in report["ranked"]["rule"]
    assert "--features cv" in report["command"]
    run_alone("fit", "t.csv", *TARGET, "-k", "cv", "-q", cwd=tmp_path).done()
    fitted = (tmp_path / "t.honestbayes").read_bytes()
    assert (tmp_path / "t-report" / "model.honestbayes").read_bytes() == fitted


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the test forks")
def test_many_killed_processes_leave_the_old_or_the_new(tmp_path):
    counts = json.loads(run_alone(tmp_path, 8, cwd=tmp_path, start=(WRITER,)).done())
    assert set(counts["states"]) == {"well", "wild"}
    assert len(counts["states"]) > 200
    assert counts["left over"] > 50
