"""Commands replace what they wrote, and nothing else."""

import stat
import sys

import pytest
from cli_tables import SHORT, patients, write

TARGET = ("--target", "status", "--model", "mixed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, run):
    place = tmp_path_factory.mktemp("lost")
    write(patients(20, 4), place / "t.csv")
    run("fit", "t.csv", *TARGET, "-q", "--out", "m", cwd=place).done()
    return place


@pytest.mark.parametrize(
    "content",
    [
        "row,price,sold\n1,2,3\n",
        "row,predicted\n1,a\n",
        "row,predicted,probability_of_rain\n1,a,0.5\n",
        "row,predicted,probability: well\nmine,a,0.5\n",
    ],
)
def test_a_table_of_the_users_is_not_replaced_by_predictions(folder, run, content):
    (folder / "p.csv").write_text(content)
    ended = run("predict", "m", "t.csv", "--out", "p.csv", cwd=folder)
    assert ended.code == 2
    assert "p.csv exists and does not hold predictions" in ended.err
    assert (folder / "p.csv").read_text() == content


@pytest.mark.parametrize("words", [(), ("--interval", "0.9"), ("--id", "g0")])
def test_predictions_are_replaced_by_predictions(folder, run, words):
    (folder / "again.csv").unlink(missing_ok=True)
    for _ in range(2):
        run("predict", "m", "t.csv", "-q", *words, "--out", "again.csv", cwd=folder).done()
    (folder / "again.csv").write_text("row,predicted,probability\n1,well,0.5\n")  # of version 0.1
    run("predict", "m", "t.csv", "-q", "--out", "again.csv", cwd=folder).done()


@pytest.mark.skipif(sys.platform == "win32", reason="modes are those of Unix")
def test_the_mode_of_a_file_stays_and_a_file_to_read_only_is_refused(folder, run):
    words = ("predict", "m", "t.csv", "-q", "--out", "private.csv")
    run(*words, cwd=folder).done()
    private = folder / "private.csv"
    private.chmod(0o600)
    run(*words, cwd=folder).done()
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    private.chmod(0o444)
    before = private.read_bytes()
    ended = run(*words, cwd=folder)
    assert ended.code == 2
    assert "no permission to open private.csv" in ended.err
    assert private.read_bytes() == before
    assert list(folder.glob(".private*")) == []


def test_a_folder_of_the_users_inside_a_report_s_is_not_deleted(folder, run):
    words = ("report", "t.csv", *TARGET, *SHORT, "-q")
    run(*words, "--out", "r", cwd=folder).done()
    (folder / "r" / "report.html").unlink()
    (folder / "r" / "report.html").mkdir()
    (folder / "r" / "report.html" / "thesis.txt").write_text("mine")
    ended = run(*words, "--out", "r", cwd=folder)
    assert ended.code == 2
    assert "holds 'report.html', which is not part of a report" in ended.err
    assert (folder / "r" / "report.html" / "thesis.txt").read_text() == "mine"


def test_nor_inside_a_selection_s(folder, run):
    words = ("select", "t.csv", *TARGET[:2], "-q", "--out", "s")
    run(*words, cwd=folder).done()
    (folder / "s" / "path.csv").unlink()
    (folder / "s" / "path.csv").mkdir()
    ended = run(*words, cwd=folder)
    assert ended.code == 2
    assert "holds 'path.csv', which is not part of a selection" in ended.err
    assert (folder / "s" / "path.csv").is_dir()
