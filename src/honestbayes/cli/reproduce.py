"""``honestbayes reproduce``: reproduce published tables and figures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from honestbayes.cli.output import one_line_errors, print_remark, progress, say
from honestbayes.tables.errors import InputError, listed, suggestion

if TYPE_CHECKING:
    from honestbayes.experiments.experiment import Experiment, Size
    from honestbayes.report.analysis import Progress


@one_line_errors
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="EXPERIMENT", help="Experiments to run; without any, list them."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Run all experiments.")] = False,
    full: Annotated[
        bool,
        typer.Option("--full/--quick", help="Use as many repetitions as the docs, or a few."),
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the results.", readable=False)
    ] = Path("honestbayes-results"),
    jobs: Annotated[int, typer.Option(help="Number of processes; -1 for one per processor.")] = -1,
    again: Annotated[
        bool, typer.Option("--again", help="Repeat experiments that already have results.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress bars.")] = False,
) -> None:
    """Reproduce published tables and figures, and compare them with ours.

    Each experiment has a folder with page.md, its tables (CSV, Markdown) and figures (PNG, SVG).
    Results are kept there, so an interrupted call can be resumed.
    """
    from honestbayes.experiments.experiment import (
        EXPERIMENTS,
        experiment,
        experiments,
        missing_files,
    )

    _refuse(names or [], every, out, jobs)
    if not names and not every:
        width = max(map(len, EXPERIMENTS)) + 1
        for one in experiments():
            say(f"{one.name:<{width}} {one.title}\n{'':<{width}} {one.source}", wrap=False)
        say("\nGive names, or --all for all of them; --full repeats each as often as the docs do.")
        return
    skipped = []
    with progress(quiet=quiet) as bars:
        for name in names or EXPERIMENTS:
            one = experiment(name)
            lacking = missing_files(one)
            if lacking:
                skipped.append(name)
                where = "in the folder that HONESTBAYES_DATA names"
                print_remark(f"{name}: skipped, because it needs {listed(lacking)} {where}.")
                continue
            _reproduce(one, full, out / name, jobs, again, bars)
    if skipped:
        say(f"Skipped, because their data are not there: {', '.join(skipped)}.")


def _refuse(names: list[str], every: bool, out: Path, jobs: int) -> None:
    """Validate the arguments."""
    from honestbayes.experiments.experiment import EXPERIMENTS

    if jobs == 0:
        msg = "--jobs is 0; give 1 or more, or -1 for all processors."
        raise InputError(msg)
    for name in names:
        if name not in EXPERIMENTS:
            msg = f"no experiment is called {name!r}{suggestion(name, tuple(EXPERIMENTS), 'there')}"
            raise InputError(msg)
    if out.exists() and not out.is_dir():
        msg = f"{out.name} is a file; give a folder for the results with --out."
        raise InputError(msg)
    if names and every:
        msg = "give either names or --all."
        raise InputError(msg)


def _reproduce(
    one: Experiment, full: bool, folder: Path, jobs: int, again: bool, bars: Progress
) -> None:
    """Run one experiment, write its folder and say where it is."""
    from honestbayes.experiments.experiment import agreement, perform
    from honestbayes.experiments.pages import write_folder

    size: Size = "full" if full else "quick"
    began = time.perf_counter()
    done = bars(one.title, len(one.runs(size)))
    runs = perform(one, size, folder / "runs", n_jobs=jobs, again=again, done=done)
    findings = one.summarize(runs)
    page = write_folder(one, findings, runs, folder)
    agree = ""
    if findings.checks:
        agree = f"; published figures that agree: {agreement(findings.checks)}"
    say(f"{one.name}: {page}{agree} ({time.perf_counter() - began:.0f} s)", wrap=False)
