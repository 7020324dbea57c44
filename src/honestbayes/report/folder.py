"""The folder of a report: page, JSON, predictions and model, written together or not at all."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from honestbayes.files import whole_folder
from honestbayes.report.certainty import as_shown, bounds_of_report
from honestbayes.report.html import render
from honestbayes.report.places import JSON, MODEL, PAGE, PREDICTIONS, check_folder
from honestbayes.report.record import Report
from honestbayes.tables.model import TableModel
from honestbayes.text import harmless

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
"""First characters at which a spreadsheet may take a cell for a formula."""


def write_folder(
    report: Report,
    model: TableModel,
    folder: str | os.PathLike[str],
    more: Mapping[str, str] | None = None,
) -> None:
    """Write all files of a report; an earlier report in this place is replaced as a whole.

    Parameters
    ----------
    report, model
        What to write.
    folder : path-like
        Where.
    more : mapping of name to text, optional
        Other files to put beside them.
    """
    others = {} if more is None else dict(more)
    check_folder(Path(folder), frozenset(others))
    with whole_folder(folder) as place:
        (place / PAGE).write_text(render(report), encoding="utf-8")
        text = json.dumps(report.to_dict(), allow_nan=False, indent=1)
        (place / JSON).write_text(text + "\n", encoding="utf-8")
        write_predictions(report, place / PREDICTIONS)
        model.save(place / MODEL)
        for name, content in others.items():
            (place / name).write_text(content, encoding="utf-8")


def write_predictions(report: Report, path: Path) -> None:
    """Write the predictions of all cases, held out and fitted apart, as CSV.

    Probabilities of the positive class; with more than two classes a column for each of them. Of
    a mixture, also the probability that the case is of the second group. None is nearer to 0 or 1
    than the cases can tell (``report/certainty.py``).
    """
    cases, labels = report.cases, report.data.labels
    here, in_use = bounds_of_report(report)
    every = {
        "held_out": cases.held_out,
        "held_out_low": cases.held_out_low,
        "held_out_high": cases.held_out_high,
        "held_out_uncorrected": cases.held_out_uncorrected,
        "fitted": cases.fitted,
        "fitted_low": cases.fitted_low,
        "fitted_high": cases.fitted_high,
    }
    numbers = {
        name: as_shown(column, in_use if name.startswith("fitted") else here)
        for name, column in every.items()
        if column is not None
    }
    if len(labels) > 2:
        numbers = {
            safe_cell(f"{name}: {label}"): column[:, c]
            for name, column in numbers.items()
            for c, label in enumerate(labels)
        }
    if report.groups is not None:
        numbers["second_group"] = as_shown(report.groups.in_second, here)
    names = [] if cases.identifier is None else ["identifier"]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["row", *names, "class", *numbers])
        for i in range(cases.row.size):
            identifier = [] if cases.identifier is None else [safe_cell(cases.identifier[i])]
            label = safe_cell(labels[cases.actual[i]])
            values = [f"{float(column[i]):.12g}" for column in numbers.values()]
            writer.writerow([int(cases.row[i]), *identifier, label, *values])


def safe_cell(text: Any) -> str:
    """Return text from data that no spreadsheet takes for a formula, and no terminal for an order.

    A number stays as it is; otherwise an apostrophe in front makes it text. Characters that act
    instead of being seen become question marks (`harmless`).

    >>> safe_cell("=cmd()"), safe_cell("-1.5"), safe_cell("AML")
    ("'=cmd()", '-1.5', 'AML')
    """
    word = harmless(str(text))
    if not word.startswith(_FORMULA_STARTS):
        return word
    try:
        float(word)
    except ValueError:
        return f"'{word}"
    return word
