"""What ``honestbayes report`` prints."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from rich.table import Table as Grid
from rich.text import Text

from honestbayes.cli.messages import console, say, word
from honestbayes.evaluation.peers import FREQUENCIES
from honestbayes.report.analysis import Analysis
from honestbayes.report.described import races_in_words
from honestbayes.report.in_short import in_short
from honestbayes.report.kept import Average
from honestbayes.report.places import PAGE
from honestbayes.report.record import Report
from honestbayes.report.wording import number, percent


def print_report(analysis: Analysis, folder: Path) -> None:
    """Print the verdict, the comparison and where the files are."""
    found = analysis.report
    data = found.data
    kept = found.race.n_kept + found.race.n_by_design
    by_kind = f" ({races_in_words(found.races)})" if found.races else ""
    factors = f", {found.factors}" if found.factors else ""
    features = f"{data.n_features:,} feature{'' if data.n_features == 1 else 's'}"
    if found.interactions is not None:
        made_of = f"{features}, {found.interactions.in_words()}"
    elif found.average is not None:
        made_of = f"{features}, {average_in_words(found.average)}"
    else:
        made_of = f"{features}, {kept:,} kept{by_kind}{factors}"
    say(f"{word(data.name)}: {cases_in_words(data.labels, data.class_counts)}; {made_of}")
    for note in (*data.notes, *found.warnings):
        if note not in found.verdict.caution:
            say(f"Note: {note}")
    say()
    say(" ".join(in_short(found)))
    say()
    say(replace(found.verdict, caution=""))  # it has just been printed
    say()
    console().print(comparison(found))
    say()
    say(f"Report: {folder / PAGE}", wrap=False)


def average_in_words(average: Average) -> str:
    """Say how many models an average has, how many columns they need, and what fewer cost."""
    models, columns = average.n_models, len(average.columns)
    who = "1 model that needs" if models == 1 else f"{models:,} models that need"
    text = f"average of {who} {columns:,} column{'' if columns == 1 else 's'}"
    cost = average.restriction_cost
    if cost is None:
        return text
    return f"{text}; keeping to these costs {number(max(cost, 0.0), 3)} in held-out log score"


def cases_in_words(labels: tuple[str, ...], counts: tuple[int, ...]) -> str:
    """Say how many cases there are, of which classes, and how to change the positive one.

    >>> cases_in_words(("ALL", "AML"), (27, 11))
    '38 cases, 11 of them AML (the positive class; --positive ALL changes that)'
    >>> cases_in_words(("a", "b", "c"), (3, 4, 5))
    '12 cases (3 a, 4 b, 5 c)'
    """
    total = f"{sum(counts):,} cases"
    if len(labels) == 2:
        other = word(shlex.quote(labels[0]))
        return (
            f"{total}, {counts[1]:,} of them {word(labels[1])} (the positive class; --positive "
            f"{other} changes that)"
        )
    each = (f"{count:,} {word(label)}" for label, count in zip(labels, counts, strict=True))
    return f"{total} ({', '.join(each)})"


def comparison(found: Report) -> Grid:
    """Return the comparison as a grid for the terminal."""
    grid = Grid(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    grid.add_column("on the same folds", no_wrap=True)
    for title in ("log score", "Brier", "expected", "actual", "AUC", "slope"):
        grid.add_column(title, justify="right")
    for method in found.methods:
        summary = method.summary
        alone = method.name == FREQUENCIES
        cells = (
            number(summary.log_score.value, 3),
            number(summary.squared_error.value, 3),
            percent(summary.expected_error),
            percent(summary.actual_error.value),
            "–" if alone else number(summary.auc.value),
            "–" if alone else number(summary.calibration.slope),
        )
        mark = " *" if method.name == found.in_use else ""
        grid.add_row(Text(method.name + mark), *(Text(cell) for cell in cells))
    of = "of one class" if len(found.data.labels) == 2 else "summed over classes"
    grid.caption = (
        "* the model in use; expected and actual are error rates\n"
        f"Brier: the mean of (y - p)^2 {of}, y being 1 or 0"
    )
    grid.caption_justify = "left"
    return grid
