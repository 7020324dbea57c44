"""Compute the golden record: python tests/golden/record.py OUT_FOLDER [--cases NAME ...].

Writes ``figures.npz``, ``models/``, ``reports/`` and ``help/``. With ``--stored`` in the form that
is kept beside this file: long arrays as summaries, and one compressed archive of models.
"""

import argparse
import json
import os
import re
import shutil
import sys
import tarfile
from collections.abc import Collection, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# Before NumPy is imported: sums have one order, and pictures need no screen.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["MPLBACKEND"] = "Agg"
# Run as a program, this file finds its neighbours as the tests do.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from golden import cases, figures
from golden.commands_run import folder_of_files, run

STORED = Path(__file__).resolve().parent / "stored"
SUFFIX = ".honestbayes"
ARCHIVE = "models.tar.xz"

SHORT = ("--folds", "2", "--repeats", "1")
FEW = (*SHORT, "--features", "3")
MIXED = ("--model", "mixed")
REPORTS = {
    "messy": ("messy", "--target", "outcome", *FEW, "--no-path", *MIXED),
    "wide": ("wide", "--target", "status", *FEW, "--no-path", "--keep", "g7", *MIXED),
}
"""Reports that the stored record has: table and options."""

MORE_REPORTS = {
    "three": ("three", "--target", "kind", *FEW, "--path", *MIXED),
    "binary": ("messy", "--target", "outcome", *SHORT, "--model", "binary", "--features", "cv"),
    "factors": ("wide", "--target", "status", *FEW, "--model", "factors"),
}
"""Reports that take longer, for `compare.py` alone."""

ALL_REPORTS = REPORTS | MORE_REPORTS

VARYING = ("versions",)
"""Parts of a report that another environment may change."""

COMMANDS = ("report", "fit", "predict", "evaluate", "inspect", "select", "pack", "sequence", "demo")


def all_names() -> list[str]:
    """What can be asked for by name."""
    return [*cases.MODELS, *cases.TOOLS, *(f"report_{name}" for name in ALL_REPORTS), "help"]


def figures_of(name: str) -> figures.Figures:
    """All figures of one case, under its name."""
    if name in cases.TOOLS:
        return dict(figures.flat(name, cases.TOOLS[name]()))
    return dict(figures.flat(name, cases.model_figures(name)))


def report_of(name: str, folder: Path) -> dict[str, str]:
    """The files of one report, and what the command prints."""
    table, *words = ALL_REPORTS[name]
    out = f"{name}-report"
    told = run("report", f"{table}.csv", *words, "--out", out, folder=folder)
    place = folder / out
    return {
        f"{name}.json": normalised((place / "report.json").read_text("ascii")),
        f"{name}.txt": told,
        f"{name}.csv": (place / "predictions.csv").read_text("utf-8"),
        f"{name}.html": (place / "report.html").read_text("utf-8"),
    }


def normalised(text: str) -> str:
    """A report without what may vary, one line a number."""
    report = json.loads(text)
    for word in VARYING:
        report.pop(word, None)
    return json.dumps(report, indent=0) + "\n"


def help_texts() -> dict[str, str]:
    """What ``--help`` says, of the program and of each command."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        found = {"honestbayes": run("--help", folder=folder)}
        found |= {word: run(word, "--help", folder=folder) for word in COMMANDS}
    return found


def words_of(text: str) -> list[str]:
    """Words of a help text: versions of typer differ in frames and in where lines break."""
    return re.sub(r"[─│╭╮╰╯┌┐└┘|*-]*[─│╭╮╰╯┌┐└┘|*]", " ", text).split()


# ------------------------------------------------------------------------------------ writing


def write(out: Path, chosen: Collection[str], *, stored: bool = False) -> None:
    """Compute what was asked for, and write it; a stored record keeps its other cases."""
    for place in ("models", "reports", "help"):
        (out / place).mkdir(parents=True, exist_ok=True)
    found: figures.Figures = {}
    for name in chosen:
        if name in cases.MODELS or name in cases.TOOLS:
            found |= figures_of(name)
        if name in cases.MODELS and cases.MODELS[name].saved:
            cases.fitted(name).save(out / "models" / f"{name}{SUFFIX}")
    if stored:
        replace_figures(out / "figures.npz", chosen, figures.condensed(found))
    else:
        figures.save(found, out / "figures.npz")
    _write_reports(out, chosen, stored=stored)
    if "help" in chosen:
        for name, text in help_texts().items():
            (out / "help" / f"{name}.txt").write_text(text, encoding="utf-8")
    if stored:
        _pack_models(out)


def replace_figures(path: Path, names: Collection[str], found: figures.Figures) -> None:
    """Replace the figures of some cases in a file, which may not be there yet."""
    old = figures.load(path) if path.exists() else {}
    kept = {word: value for word, value in old.items() if word.partition(".")[0] not in names}
    figures.save(dict(sorted((kept | found).items())), path)


def _write_reports(out: Path, chosen: Collection[str], *, stored: bool) -> None:
    with folder_of_files() as folder:
        for report in REPORTS if stored else ALL_REPORTS:
            if f"report_{report}" not in chosen:
                continue
            for name, text in report_of(report, folder).items():
                if not stored or name.endswith(".json"):
                    (out / "reports" / name).write_text(text, encoding="utf-8")
            model = folder / f"{report}-report" / "model.honestbayes"
            shutil.move(model, out / "models" / f"report_{report}{SUFFIX}")


def _pack_models(out: Path) -> None:
    """Put the model files of the stored cases into one archive, always with the same bytes.

    Beside it stands what the new ones predict; those of other cases stay as they are.
    """
    new = [path.stem for path in (out / "models").iterdir()]
    found: figures.Figures = {}
    for name, model in _loaded(out / "models", [name for name in new if name in cases.MODELS]):
        found |= dict(figures.flat(name, cases.predictions(name, model)))
    replace_figures(out / "files.npz", new, figures.condensed(found))
    if (out / ARCHIVE).exists():
        with tarfile.open(out / ARCHIVE) as file:
            old = [info for info in file if Path(info.name).stem not in new]
            file.extractall(out / "models", old, filter="data")
    with tarfile.open(out / ARCHIVE, "w:xz") as file:
        for path in sorted((out / "models").iterdir()):
            if path.stem in cases.MODELS and cases.MODELS[path.stem].stored:
                info = tarfile.TarInfo(path.name)
                info.size = path.stat().st_size
                with path.open("rb") as stream:
                    file.addfile(info, stream)
            path.unlink()
    (out / "models").rmdir()


def write_loaded(models: Path, out: Path, chosen: Collection[str]) -> None:
    """Write what models say of new rows that were fitted elsewhere and are only loaded here."""
    found: figures.Figures = {}
    for name, model in _loaded(models, chosen):
        found |= dict(figures.flat(name, cases.predictions(name, model)))
    out.mkdir(parents=True, exist_ok=True)
    figures.save(found, out / "loaded.npz")


def _loaded(models: Path, chosen: Collection[str]) -> Iterator[tuple[str, Any]]:
    import honestbayes

    for name in chosen:
        if name in cases.MODELS and cases.MODELS[name].saved:
            yield name, honestbayes.load(models / f"{name}{SUFFIX}")


def main() -> None:
    """Read the command line and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cases", nargs="+", choices=all_names(), default=all_names())
    parser.add_argument("--stored", action="store_true", help="in the form that is kept")
    parser.add_argument("--load", type=Path, help="only load the models of this folder")
    given = parser.parse_args()
    if given.load is not None:
        write_loaded(given.load, given.out, given.cases)
    else:
        write(given.out, given.cases, stored=given.stored)


if __name__ == "__main__":
    main()
