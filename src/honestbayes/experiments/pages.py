"""Pages, tables and figures of an experiment, as Markdown or for the docs."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from honestbayes.experiments.experiment import (
    Cell,
    Experiment,
    ExperimentRun,
    Findings,
    PublishedFigure,
    ResultTable,
    agreement,
    experiments,
)
from honestbayes.experiments.experiment import stored as stored_runs
from honestbayes.plots.drawing import import_pyplot

Markup = Literal["md", "rst"]


def write_folder(
    experiment: Experiment, findings: Findings, runs: Sequence[ExperimentRun], folder: Path
) -> Path:
    """Write tables (CSV and Markdown), figures (PNG and SVG) and the page that holds all.

    Returns
    -------
    Path
        The page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for table in (*_checks(findings.checks), *findings.tables):
        (folder / f"{table.name}.csv").write_text(_as_csv(table), encoding="utf-8")
        (folder / f"{table.name}.md").write_text(_markdown_table(table), encoding="utf-8")
    draw(findings, folder, ("png", "svg"))
    page = folder / "page.md"
    page.write_text(page_of(experiment, findings, runs, "md"), encoding="utf-8")
    return page


def draw(findings: Findings, folder: Path, formats: Sequence[str]) -> None:
    """Draw all figures into a folder."""
    pyplot = import_pyplot()
    for picture in findings.figures:
        figure = picture.draw()
        for kind in formats:
            # The same figure is the same file: no date and no random names in it.
            with pyplot.rc_context({"svg.hashsalt": "honestbayes"}):
                figure.savefig(
                    folder / f"{picture.name}.{kind}",
                    dpi=120,
                    metadata={"Date": None} if kind == "svg" else None,
                )
        pyplot.close(figure)


def write_docs(stored: Path, folder: Path) -> None:
    """Write the pages of the documentation from stored runs, and a table of all of them.

    Parameters
    ----------
    stored : Path
        Folder of the files that :func:`honestbayes.experiments.experiment.store` wrote.
    folder : Path
        Where to write ``NAME.rst``, figures, and ``all.inc``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[Mapping[str, Cell]] = []
    names: list[str] = []
    for one in experiments():
        path = stored / f"{one.name}.json"
        if not path.exists():
            continue
        runs = stored_runs(path, one)
        findings = one.summarize(runs)
        (folder / one.name).mkdir(exist_ok=True)
        draw(findings, folder / one.name, ("png",))
        page = page_of(one, findings, runs, "rst", images=f"{one.name}/")
        (folder / f"{one.name}.rst").write_text(page, encoding="utf-8")
        names.append(one.name)
        rows.append(
            {
                "experiment": f":doc:`{one.title} </generated/results/{one.name}>`",
                "source": one.source,
                "published figures that agree": agreement(findings.checks)
                if findings.checks
                else "",
            }
        )
    table = ResultTable("all", "Experiments, and how many of the published figures agree", rows)
    there = "\n".join(f"   /generated/results/{name}" for name in names)
    tree = f".. toctree::\n   :hidden:\n\n{there}"
    (folder / "all.inc").write_text(f"{_table(table, 'rst')}\n\n{tree}\n", encoding="utf-8")


def page_of(
    experiment: Experiment,
    findings: Findings,
    runs: Sequence[ExperimentRun],
    markup: Markup,
    images: str = "",
) -> str:
    """Return the page of an experiment.

    Parameters
    ----------
    experiment : Experiment
        Which.
    findings : Findings
        Its results.
    runs : sequence of ExperimentRun
        How it was run.
    markup : {"md", "rst"}
        Markdown, or reStructuredText.
    images : str
        What stands before the names of figures.
    """
    blocks = list(_blocks(experiment, findings, runs, markup, images))
    return "\n\n".join(blocks) + "\n"


def _blocks(
    experiment: Experiment,
    findings: Findings,
    runs: Sequence[ExperimentRun],
    markup: Markup,
    images: str,
) -> Iterator[str]:
    yield _heading(experiment.title, markup, 0)
    yield f"*{experiment.source}*"
    yield experiment.question
    yield _heading("Results", markup, 1)
    yield findings.conclusion
    for picture in findings.figures:
        yield _image(f"{images}{picture.name}.png", picture.caption, markup)
    for table in _checks(findings.checks):
        yield _heading("Published and reproduced", markup, 1)
        yield _table(table, markup)
    for number, table in enumerate(findings.tables):
        if number == 0:
            yield _heading("Tables", markup, 1)
        yield _table(table, markup)
    seconds = sum(run.seconds for run in runs)
    code = "`" if markup == "md" else "``"
    yield (
        f"{code}honestbayes reproduce {experiment.name}{code}: {len(runs):,} "
        f"run{'s' * (len(runs) != 1)}, {_duration(seconds)} of processor time in all."
    )


def _checks(checks: Sequence[PublishedFigure]) -> Iterator[ResultTable]:
    if not checks:
        return
    rows: list[Mapping[str, Cell]] = []
    for check in checks:
        low, high = check.interval
        one = len(check.ours) == 1
        rows.append(
            {
                "figure": check.what,
                "published": f"{check.published:.{check.digits}f}",
                "ours": f"{check.mean:.{check.digits}f}",
                "95% of repetitions": ""
                if one
                else f"{low:.{check.digits}f} to {high:.{check.digits}f}",
                "agree": f"no: {check.why}"
                if check.verdict == "no" and check.why
                else check.verdict,
            }
        )
    n = max(len(check.ours) for check in checks)
    basis = f"average of {n} repetitions" if n > 1 else "one repetition"
    yield ResultTable("checks", f"Published figures and ours ({basis})", rows)


def _heading(text: str, markup: Markup, level: int) -> str:
    return f"{'#' * (level + 1)} {text}" if markup == "md" else f"{text}\n{'=-'[level] * len(text)}"


def _image(path: str, caption: str, markup: Markup) -> str:
    if markup == "md":
        return f"![{caption}]({path})\n\n*{caption}*"
    return f".. figure:: {path}\n   :alt: {caption}\n\n   {caption}"


def _table(table: ResultTable, markup: Markup) -> str:
    if markup == "md":
        return f"{table.caption}\n\n{_markdown_table(table).rstrip()}"
    lines = _as_csv(table, shown=True).rstrip().split("\n")
    return "\n".join(
        [
            f".. csv-table:: {table.caption}",
            "   :header-rows: 1",
            "   :class: results",
            "",
            *(f"   {line}" for line in lines),
        ]
    )


def _markdown_table(table: ResultTable) -> str:
    names = list(table.rows[0])
    numeric = [all(not isinstance(row[name], str) for row in table.rows) for name in names]
    lines = [
        "| " + " | ".join(names) + " |",
        "| " + " | ".join("---:" if number else "---" for number in numeric) + " |",
    ]
    lines += [
        "| " + " | ".join(_shown(row[name], table.digits) for name in names) + " |"
        for row in table.rows
    ]
    return "\n".join(lines) + "\n"


def _as_csv(table: ResultTable, *, shown: bool = False) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.rows[0])
    for row in table.rows:
        writer.writerow(_shown(c, table.digits) if shown else c for c in row.values())
    return text.getvalue()


def _shown(cell: Cell, digits: int) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, str):
        return cell
    return f"{cell:,.{digits}f}" if isinstance(cell, float) else f"{cell:,}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
