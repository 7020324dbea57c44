"""Write folders and models in children that are killed at random, and see what is left.

Run as a program, in a process of its own: it forks. Its arguments are the folder to work in, and
how often to kill. Prints one JSON line of counts.
"""

import json
import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from cli_tables import patients, rows_of, write
from commands import call, leave, warmed

import honestbayes

TARGET = ("--target", "status", "--model", "mixed")


def killed(work, seconds):
    """Do work in a child, and kill it after a while."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        leave(call(work))
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def folder_state(folder):
    """Return which run a folder is of; fail where its files are not all of one run."""
    names = {entry.name for entry in folder.iterdir()}
    assert names == {"report.html", "report.json", "predictions.csv", "model.honestbayes"}, names
    report = json.loads((folder / "report.json").read_text())
    positive = report["data"]["labels"][1]
    classes = {row["class"] for row in rows_of(folder / "predictions.csv")}
    model = honestbayes.load(folder / "model.honestbayes")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert classes == {"ill", positive}, (classes, positive)
    assert model.labels == ("ill", positive), (model.labels, positive)
    assert f"<p>{positive}</p>" in page or f"P({positive})" in page
    assert page.endswith("</html>")
    return positive


def model_state(path):
    return honestbayes.load(path).labels[1]


def alternate(folder):
    """Write the folder and the model again and again, of one run and of another in turn."""
    import honestbayes.report.render as folders
    from honestbayes.report.analysis import analyse
    from honestbayes.report.options import Options
    from honestbayes.tables import read_training
    from honestbayes.tables.files import frame_table
    from honestbayes.tables.model import TableModel

    table = read_training(frame_table(patients(12, 4), "t"), target="status")
    found = analyse(table, Options(n_folds=2, n_repeats=1, path=False, model="mixed"), name="t")
    model = TableModel.of_training(found.model, table)
    runs = []
    for label in ("well", "wild"):
        report = replace(found.report, data=replace(found.report.data, labels=("ill", label)))
        runs.append((report, replace(model, labels=("ill", label))))
    # Pictures take a second to draw, in which nothing is written; as long as before, but quick.
    folders.render = lambda report: f"<p>{report.data.positive}</p>{' ' * 600_000}</html>"

    def write_all():
        for report, fitted in runs:
            folders.write_folder(report, fitted, folder)
            fitted.save(folder.with_name("model"))

    def work():
        while True:
            write_all()

    before = time.monotonic()
    write_all()
    return work, time.monotonic() - before


def main():
    """Kill many writers, some fits and some reports."""
    os.chdir(sys.argv[1])
    often = int(sys.argv[2])
    program = warmed()
    draw = random.Random(0)
    here = Path.cwd()
    counts = {"states": [], "left over": 0}

    work, seconds = alternate(here / "folder")
    for _ in range(40 * often):
        # As long as a machine that has other things to do needs for two rounds.
        killed(work, draw.uniform(0.0, 2 * seconds))
        counts["states"].append(folder_state(here / "folder"))
        assert model_state(here / "model") in ("well", "wild")

    table = patients(12, 4)
    write(table, here / "a.csv")
    write(table.replace({"status": {"well": "wild"}}), here / "b.csv")
    for command, place, state, times, longest in (
        (("fit",), here / "m", model_state, 8 * often, 0.3),
        (
            ("report", "--folds", "2", "--repeats", "1", "--no-path"),
            here / "r",
            folder_state,
            1 + 2 * often,
            2.0,
        ),
    ):
        for position in range(times):
            words = (f"{'ab'[position % 2]}.csv", *TARGET, "-q", "--out", place.name)
            sys.argv = ["honestbayes", command[0], *words, *command[1:]]
            if position == 0:
                child = os.fork()
                if child == 0:
                    leave(call(program))
                assert os.waitpid(child, 0)[1] == 0
            else:
                killed(program, draw.uniform(0.2, 1) * longest)
            assert state(place) in ("wild", "well")
    names = {entry.name for entry in here.iterdir()}
    hidden = {name for name in names if ".honestbayes-" in name and name.startswith(".")}
    assert names - hidden == {"a.csv", "b.csv", "folder", "model", "m", "r"}, names
    counts["left over"] = len(hidden)
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main()
