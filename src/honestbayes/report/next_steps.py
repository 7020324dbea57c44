"""What to do next: the commands that suit a report, each with what it is for."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from honestbayes.models.cards import table_cards
from honestbayes.report.advice import MATTERS
from honestbayes.report.places import MODEL
from honestbayes.report.record import Report
from honestbayes.report.remaining import NO_SIGNAL

MANY_COLUMNS = 10
"""An average that needs more columns than this is told of the option to have fewer."""

MOST_SHARES = 4
"""Classes up to which a command with a share for each of them can be read."""

ENDINGS = (".csv", ".tsv", ".parquet", ".npz")
"""How tables of new cases may be called."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command, and what it is for."""

    why: str
    command: str


def next_steps(report: Report) -> list[NextStep]:
    """Return what to do after this report, first what matters most.

    Commands on new cases name the model file as it stands beside the page; those that make another
    report repeat the command of this one with something changed, and are left out where the report
    was made in Python.
    """
    of_signal = report.verdict.remaining not in NO_SIGNAL and not report.verdict.caution
    again = list(_again(report)) if report.command else []
    on_new_cases = [*_predict(report), *_evaluate(report)] if of_signal else []
    whole = list(_whole(report)) if report.command else []
    return [*whole, *on_new_cases, *again]


def new_table(report: Report) -> str:
    """Return a name for a table of new cases, of the kind that this one was."""
    suffix = PurePath(report.data.name.removesuffix(".gz")).suffix.lower()
    return f"new{suffix if suffix in ENDINGS else '.csv'}"


def _predict(report: Report) -> Iterator[NextStep]:
    words = ["honestbayes", "predict", MODEL, new_table(report)]
    columns = "the columns that the model looks at" if _selects(report) else "the same columns"
    yield NextStep(
        f"Predict new cases. Their table needs {columns}, with the same names. "
        "The result has their probabilities, with 90% intervals.",
        shlex.join([*words, "--interval", "0.9", "--out", "predicted.csv"]),
    )
    if report.settings["prevalence"] is None and len(report.data.labels) <= MOST_SHARES:
        two = report.data.positive is not None
        shares = [f"{label}=SHARE" for label in report.data.labels]
        given = ["0.1"] if two else shares
        example = f", for example 10% of {report.data.positive}" if two else ""
        yield NextStep(
            f"Where classes are more or less frequent than here, say how frequent{example}.",
            shlex.join([*words, *(word for one in given for word in ("--prevalence", one))]),
        )


def _selects(report: Report) -> bool:
    """Whether a new case needs fewer columns than the table has."""
    return report.race.n_discarded > 0


def _evaluate(report: Report) -> Iterator[NextStep]:
    words = ["honestbayes", "evaluate", MODEL, new_table(report)]
    words += [] if words[-1].endswith(".npz") else ["--target", report.data.target]
    groups = [] if report.data.n_groups is None else ["--groups", _option(report, "--groups")]
    yield NextStep(
        "Judge the model on cases whose class is known and that are not in this table, best from "
        "another place or time: no cross-validation tells as much.",
        shlex.join([*words, *groups]),
    )


def _whole(report: Report) -> Iterator[NextStep]:
    """Return the report without what was left out of this one."""
    settings = report.settings
    if settings["quick"] or not settings["compare"]:
        yield NextStep(
            "Before anything is decided, make the whole report: folds drawn more often, and "
            "methods of other libraries on the same folds.",
            _changed(report, without=("--quick", "--no-compare")),
        )


def _again(report: Report) -> Iterator[NextStep]:
    """Return other reports that are worth making, each by the command of this one with changes."""
    yield from _other_model(report)
    yield from _other_number(report)
    if report.data.n_groups is None:
        yield NextStep(
            "If several rows are of one patient, family or plate, name the column that says which: "
            "rows of one group then stay together, so that none is predicted by its like.",
            _changed(report, {"--groups": "COLUMN"}, place="grouped"),
        )


def _other_model(report: Report) -> Iterator[NextStep]:
    settings, remaining = report.settings, report.verdict.remaining
    average = next(iter(table_cards()))
    if settings["model"] != average:
        chosen = ("--features",) if settings["n_features"] == "cv" else ()
        yield NextStep(
            "Average all models that suit the columns, instead of this one alone.",
            _changed(
                report,
                {"--model": average},
                without=("--missing-as-level", "--path", "--no-path", "--no-recalibrate"),
                without_values=("--order", "--threshold", *chosen),
                place="average",
            ),
        )
    elif remaining in (*NO_SIGNAL, "overconfident") and settings["effort"] != "thorough":
        yield NextStep(
            "Try models that see what only combinations of columns tell; that takes minutes.",
            _changed(report, {"--effort": "thorough"}, without=("--quick",), place="thorough"),
        )


def _other_number(report: Report) -> Iterator[NextStep]:
    average, path = report.average, report.paths.get(report.in_use)
    if average is not None and report.settings["n_features"] in (None, "all"):
        if len(average.columns) > MANY_COLUMNS and report.verdict.remaining not in NO_SIGNAL:
            yield NextStep(
                f"To measure fewer than {len(average.columns):,} columns of a new case, ask for "
                "one short set; the report then says what that costs.",
                _changed(report, {"--features": f"{MANY_COLUMNS}"}, place="short"),
            )
    elif path is not None and report.settings["threshold"] is None:
        scores = dict(zip(path.n_features.tolist(), path.log_score.tolist(), strict=True))
        best = min(scores, key=lambda number: scores[number])
        if scores.get(report.race.n_kept, scores[best]) - scores[best] >= MATTERS:
            yield NextStep(
                "Keep the number of features that has the best log score here; the best of several "
                "is favoured by chance.",
                _changed(report, {"--features": f"{best}"}, place=f"{best}-features"),
            )


def _option(report: Report, option: str) -> str:
    """Return what was given for an option, or a word that stands for it."""
    words = shlex.split(report.command)
    return words[words.index(option) + 1] if option in words else option.lstrip("-").upper()


def _changed(
    report: Report,
    values: dict[str, str] | None = None,
    *,
    without: tuple[str, ...] = (),
    without_values: tuple[str, ...] = (),
    place: str = "",
) -> str:
    """Return the command of this report with changes.

    Parameters
    ----------
    report : Report
        Whose command is changed.
    values : dict of option to value, optional
        Options to set.
    without, without_values : tuple of str
        Options to leave out: those that stand alone, and those that have a value.
    place : str
        Added to the name of the folder, so that this report is not replaced; by default it is.
    """
    words = [word for word in shlex.split(report.command) if word not in without]
    folder = _option(report, "--out") if "--out" in words else f"{_stem(report)}-report"
    new = {**(values or {}), **({"--out": f"{folder}-{place}"} if place else {})}
    for option in (*without_values, *new):
        if option in words:
            at = words.index(option)
            del words[at : at + 2]
    return shlex.join([*words, *(word for pair in new.items() for word in pair)])


def _stem(report: Report) -> str:
    """Return the name of the table without its endings."""
    return report.data.name.removesuffix(".gz").rsplit(".", 1)[0]
