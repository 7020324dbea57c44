"""The page: one HTML file that loads nothing and runs only its own script."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import math
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from jinja2 import (
    ChoiceLoader,
    Environment,
    FunctionLoader,
    PackageLoader,
    StrictUndefined,
    Template,
)
from markupsafe import Markup

from honestbayes.base.explanation import FeatureRows, TableColumn
from honestbayes.base.spec import ModelSpec
from honestbayes.catalogue import table_specs
from honestbayes.evaluation.baselines import FREQUENCIES
from honestbayes.files import atomic_folder
from honestbayes.metrics import Estimate
from honestbayes.report import wording
from honestbayes.report.analysis import KIND_WORDS, READ_AS, columns_by_kind
from honestbayes.report.options import JSON, MODEL, PAGE, PREDICTIONS, check_folder
from honestbayes.report.pictures import MOST_DOTS, pictures
from honestbayes.report.record import DataSummary, Report
from honestbayes.report.verdict import MATTERS, NO_SIGNAL
from honestbayes.tables.model import TableModel
from honestbayes.tables.target import prevalences
from honestbayes.text import sanitize_text
from honestbayes.types import FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# How near to 0 or 1 a probability is shown: no nearer than the training cases can tell
#
# Even if none of n cases contradicted a prediction, the next one may: by Laplace's rule of
# succession with probability 1 / (n + 2). What people read stops there. ``predict_proba`` and
# ``report.json`` are as computed.
# --------------------------------------------------------------------------------------------------


def bounds_of_report(report: Report) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of held-out and of fitted probabilities.

    Those of held-out cases are at the prevalence of the table, those of the fitted model where it
    is used.
    """
    data = report.data
    prior = prevalences(report.settings["prevalence"], data.labels)
    return shown_bounds(data.class_counts), shown_bounds(data.class_counts, prior)


def as_shown(proba: FloatArray, bounds: FloatArray) -> FloatArray:
    """Move probabilities to their bounds, where they are beyond them.

    Parameters
    ----------
    proba : ndarray of shape (n,) or (n, C)
        Probabilities of the positive class of two, or of each class.
    bounds : ndarray of shape (C, 2)
        From :func:`shown_bounds`.
    """
    low, high = (bounds[1] if proba.ndim == 1 else bounds).T
    return np.clip(proba, low, high)


def shown_bounds(
    class_counts: Sequence[int] | IntArray, prior: Sequence[float] | None = None
) -> FloatArray:
    """Return the least and the largest probability of each class that is shown, shape (C, 2).

    Parameters
    ----------
    class_counts : array-like of int
        Training cases of each class, n in all.
    prior : sequence of float, optional
        Prevalences where the model is used, if not those of the training cases. Odds then change
        by the same factor for all that is said, and so do the bounds: a rare class may be rarer
        than 1 / (n + 2).

    Examples
    --------
    >>> shown_bounds([50, 48])
    array([[0.01, 0.99],
           [0.01, 0.99]])
    >>> low, high = shown_bounds([50, 48], [0.99, 0.01])[1]
    >>> round(float(low), 5), round(float(high), 2)
    (0.00011, 0.51)
    """
    counts = np.asarray(class_counts, dtype=float)
    n = counts.sum()
    odds = np.array([1 / (n + 1), n + 1])
    if prior is None:
        return np.tile(odds / (1 + odds), (counts.size, 1))
    shares = np.asarray(prior, dtype=float)
    factor = shares / (1 - shares) * (n - counts) / counts
    moved = odds * factor[:, None]
    return np.asarray(moved / (1 + moved))


def format_bounds(bounds: FloatArray, digits: int) -> tuple[str, str]:
    """Say what is beyond the bounds of one class, rounded to their outer sides.

    >>> format_bounds(np.array([0.0123, 0.9877]), 3)
    ('< 0.013', '> 0.987')
    """
    low, high = (float(bound) for bound in bounds)
    while low < 10.0**-digits and digits < 12:  # a rare class, as rare as it may be
        digits += 1
    unit = 10**digits
    return (
        f"< {math.ceil(low * unit) / unit:.{digits}f}",
        f"> {math.floor(high * unit) / unit:.{digits}f}",
    )


# --------------------------------------------------------------------------------------------------
# What the numbers of a report do not tell, in words
# --------------------------------------------------------------------------------------------------


def limits(report: Report) -> list[str]:
    """Say what the numbers of this report do not tell."""
    data = report.data
    result = [limit for section in report.sections for limit in section.limits]
    result = result or [_limit_of_model(_spec(report))]
    if not _spec(report).is_average:
        result += _limits_of_mixed(report) if report.rankings else _limits_of_binary(data)
    if data.n_missing:
        result.append(_describe_missing(report))
    result.append(
        "Intervals of scores are for the average over the models of the folds, on new cases. The "
        "final model was fitted to more cases and may be better or worse."
        + (
            " The intervals of slopes, sensitivity and specificity do not account for groups."
            if data.n_groups is not None
            else ""
        )
    )
    prevalence = report.settings["prevalence"]
    shares = [count / data.n_cases for count in data.class_counts]
    here = wording.percent(shares[1]) if len(shares) == 2 else _shares(data.labels, shares)
    result.append(
        f"Held-out probabilities and scores are at the prevalence of this table ({here}). "
        + (
            f"Fitted probabilities and the saved model are at {describe_prevalence(prevalence)}."
            if prevalence is not None
            else "If the model will be used at another prevalence, set it with --prevalence."
        )
    )
    result.append(
        f"With {data.n_cases:,} cases, probabilities below {1 / (data.n_cases + 2):.2g} cannot be "
        "distinguished from 0: none is shown nearer to 0 or 1. report.json has them as computed."
    )
    result.append(
        "All of this holds for new cases from the same population, measured in the same way."
    )
    return result


def _spec(report: Report) -> ModelSpec:
    return table_specs()[report.settings["model"]]


def _limit_of_model(spec: ModelSpec) -> str:
    if not spec.corrects:
        return (
            "The log-odds are a sum over columns. The model misses signal that only combinations "
            "of features show, and effects that are not monotone."
        )
    beyond = "" if spec.dependence is None else f" beyond what is explained by {spec.dependence}"
    return (
        "The correction removes the bias of selection. It does not account for features that "
        f"depend on each other{beyond}, or for signal that only combinations of features show."
    )


def _describe_missing(report: Report) -> str:
    number = report.data.n_missing
    if _spec(report).is_average:
        return (
            f"{number:,} missing cells were integrated out by models of how features are "
            "distributed in each class, and filled with the mean of their column by the others."
        )
    if not _spec(report).generative and not report.settings.get("missing_as_level"):
        return (
            f"{number:,} missing cells were filled with the mean of their column over the training "
            "rows."
        )
    if report.settings.get("missing_as_level"):
        cells = "1 missing cell is" if number == 1 else f"{number:,} missing cells are"
        return f"{cells} taken for a category of its own: missingness may depend on the class."
    return (
        f"{number:,} missing cells were integrated out, as if they were missing for reasons "
        "unrelated to their values."
    )


def _limits_of_binary(data: DataSummary) -> list[str]:
    cut = []
    if data.n_real:
        cut.append(f"{_columns(data.n_real, 'continuous')} cut at the median")
    if data.n_categorical:
        cut.append(
            f"{_columns(data.n_categorical, 'categorical')} turned into a binary feature for "
            "each category"
        )
    if not cut:
        return []
    lost = "this model takes only binary features, and some information is lost."
    return [f"{' and '.join(cut)}: {lost}"]


def _limits_of_mixed(report: Report) -> list[str]:
    result = []
    if _spec(report).generative and any(ranking.kind == "real" for ranking in report.rankings):
        result.append(
            "In each class a continuous feature is taken as normal around the mean of that class, "
            "with one variance for all classes. A class that differs in its variance alone is "
            "missed; continuous columns with a long tail may do better as logarithms."
        )
    spec = _spec(report)
    if spec.generative and "categorical" not in spec.input.kinds and report.data.n_binary:
        result.append(
            f"{_columns(report.data.n_binary, 'binary')} taken as continuous; the mixed "
            "model has binary features."
        )
    if len(report.rankings) > 1:
        result.append(
            "Features of each kind are ranked among themselves: the number of features to keep "
            "holds for each kind."
        )
    return result


def describe_prevalence(prevalence: float | Mapping[str, float]) -> str:
    """Return the shares of classes where the model will be used."""
    if isinstance(prevalence, Mapping):
        return _shares(prevalence.keys(), prevalence.values())
    return wording.percent(prevalence)


def _shares(labels: Iterable[str], shares: Iterable[float]) -> str:
    pairs = zip(labels, shares, strict=True)
    return ", ".join(f"{label} {wording.percent(share)}" for label, share in pairs)


def _columns(number: int, kind: str) -> str:
    return f"1 {kind} column was" if number == 1 else f"{number:,} {kind} columns were"


# --------------------------------------------------------------------------------------------------
# What to do next: the commands that suit a report, each with what it is for
# --------------------------------------------------------------------------------------------------


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
    of_signal = report.verdict.has_signal and not report.verdict.cautions
    again = list(_again(report)) if report.command else []
    on_new_cases = [*_predict(report), *_evaluate(report)] if of_signal else []
    whole = list(_whole(report)) if report.command else []
    return [*whole, *on_new_cases, *again]


def new_table(report: Report) -> str:
    """Return a name for a table of new cases, of the kind that this one was."""
    suffix = PurePath(report.data.name.removesuffix(".gz")).suffix.lower()
    return f"new{suffix if suffix in ENDINGS else '.csv'}"


def _predict(report: Report) -> Iterator[NextStep]:
    arguments = ["honestbayes", "predict", MODEL, new_table(report)]
    columns = "the columns that the model uses" if _selects(report) else "the same columns"
    yield NextStep(
        f"Predict new cases. Their table needs {columns}, with the same names. "
        "The result has their probabilities, with 90% intervals.",
        shlex.join([*arguments, "--interval", "0.9", "--out", "predicted.csv"]),
    )
    if report.settings["prevalence"] is None and len(report.data.labels) <= MOST_SHARES:
        two = report.data.positive is not None
        shares = [f"{label}=SHARE" for label in report.data.labels]
        given = ["0.1"] if two else shares
        example = f", for example 10% of {report.data.positive}" if two else ""
        yield NextStep(
            f"If classes are more or less frequent where you use it, set the prevalence{example}.",
            shlex.join([*arguments, *(word for one in given for word in ("--prevalence", one))]),
        )


def _selects(report: Report) -> bool:
    """Whether a new case needs fewer columns than the table has."""
    return report.ranking.n_discarded > 0


def _evaluate(report: Report) -> Iterator[NextStep]:
    arguments = ["honestbayes", "evaluate", MODEL, new_table(report)]
    arguments += [] if arguments[-1].endswith(".npz") else ["--target", report.data.target]
    groups = [] if report.data.n_groups is None else ["--groups", _option(report, "--groups")]
    yield NextStep(
        "Validate the model on cases with a known class that are not in this table, best from "
        "another place or time. That is stronger evidence than cross-validation.",
        shlex.join([*arguments, *groups]),
    )


def _whole(report: Report) -> Iterator[NextStep]:
    """Return the report without what was left out of this one."""
    settings = report.settings
    if settings["quick"] or not settings["compare"]:
        yield NextStep(
            "Before you decide, make the full report: folds are drawn more often, and baselines "
            "are run on the same folds.",
            _changed(report, without=("--quick", "--no-compare")),
        )


def _again(report: Report) -> Iterator[NextStep]:
    """Return other reports that are worth making, each by the command of this one with changes."""
    yield from _other_model(report)
    yield from _other_number(report)
    if report.data.n_groups is None:
        yield NextStep(
            "If several rows belong to one patient, family or plate, name the column that "
            "identifies them. Rows of one group then stay in one fold, so that none is predicted "
            "from its own group.",
            _changed(report, {"--groups": "COLUMN"}, suffix="grouped"),
        )


def _other_model(report: Report) -> Iterator[NextStep]:
    settings, calibration = report.settings, report.verdict.calibration
    average = next(iter(table_specs()))
    if settings["model"] != average:
        chosen = ("--features",) if settings["n_features"] == "cv" else ()
        yield NextStep(
            "Average all models that suit the columns, instead of this one alone.",
            _changed(
                report,
                {"--model": average},
                without=("--missing-as-level", "--path", "--no-path", "--no-recalibrate"),
                without_values=("--order", "--threshold", *chosen),
                suffix="average",
            ),
        )
    elif calibration in (*NO_SIGNAL, "overconfident") and settings["effort"] != "thorough":
        yield NextStep(
            "Try models with interactions between columns, which take minutes.",
            _changed(report, {"--effort": "thorough"}, without=("--quick",), suffix="thorough"),
        )


def _other_number(report: Report) -> Iterator[NextStep]:
    path = report.paths.get(report.in_use)
    if _spec(report).is_average and report.settings["n_features"] in (None, "all"):
        n_columns = report.ranking.n_kept + report.ranking.n_by_design
        if n_columns > MANY_COLUMNS and report.verdict.has_signal:
            yield NextStep(
                f"To measure fewer than {n_columns:,} columns of a new case, keep one short set; "
                "the report then shows what that costs.",
                _changed(report, {"--features": f"{MANY_COLUMNS}"}, suffix="short"),
            )
    elif path is not None and report.settings["threshold"] is None:
        scores = dict(zip(path.n_features.tolist(), path.log_score.tolist(), strict=True))
        best = min(scores, key=lambda number: scores[number])
        if scores.get(report.ranking.n_kept, scores[best]) - scores[best] >= MATTERS:
            yield NextStep(
                "Keep the number of features with the best log score here. As the best of several, "
                "its lead is probably overstated.",
                _changed(report, {"--features": f"{best}"}, suffix=f"{best}-features"),
            )


def _option(report: Report, option: str) -> str:
    """Return what was given for an option, or a word that stands for it."""
    arguments = shlex.split(report.command)
    return (
        arguments[arguments.index(option) + 1]
        if option in arguments
        else option.lstrip("-").upper()
    )


def _changed(
    report: Report,
    values: dict[str, str] | None = None,
    *,
    without: tuple[str, ...] = (),
    without_values: tuple[str, ...] = (),
    suffix: str = "",
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
    arguments = [word for word in shlex.split(report.command) if word not in without]
    folder = _option(report, "--out") if "--out" in arguments else f"{_stem(report)}-report"
    new = {**(values or {}), **({"--out": f"{folder}-{suffix}"} if suffix else {})}
    for option in (*without_values, *new):
        if option in arguments:
            at = arguments.index(option)
            del arguments[at : at + 2]
    return shlex.join([*arguments, *(word for pair in new.items() for word in pair)])


def _stem(report: Report) -> str:
    """Return the name of the table without its endings."""
    return report.data.name.removesuffix(".gz").rsplit(".", 1)[0]


MOST_CASES = 20_000
"""Cases in the page's table; more would make it slow to open."""

MOST_FEATURES = 200
"""Kept features in the page's table."""

MOST_LEVELS = 12
"""Levels of a feature in the page's table."""

_SIGN = "\ufffd"
"""Stands for a character of a name that would act instead of being seen."""

FIRST_COLUMNS = 20
"""Columns that an average looks at, in the page's table."""

FIRST_CASES = 25
"""Cases that stand in the page itself, for readers without a script."""


@cache
def _template() -> Template:
    """Return the page's template, compiled once for all reports."""
    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader("honestbayes.report", "page"), FunctionLoader(_load_from_package)]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_readable,
        trim_blocks=True,
    )
    environment.filters |= {
        "percent": wording.percent,
        "number": wording.number,
        "count": wording.count,
        "interval": wording.interval,
        "with_interval": wording.with_interval,
        "percent_with_interval": wording.percent_with_interval,
        "signed": _signed,
        "plus": _plus,
        "short": _short,
        "prevalence": describe_prevalence,
        "plural": _plural,
        "bars": _bars,
    }
    return environment.get_template("report.html.jinja")


def _load_from_package(name: str) -> str:
    """Return the template ``"package/file"`` of a section."""
    package, _, file = name.partition("/")
    return resources.files(package).joinpath(file).read_text("utf-8")


def render(report: Report) -> str:
    """Return the page of a report."""
    css, js = _asset("report.css"), _asset("report.js")
    columns, rows = _case_table(report)
    return _template().render(
        report=report,
        data=report.data,
        verdict=report.verdict,
        notes=[note for note in report.data.notes if note not in report.verdict.caution],
        contents=[],  # filled by the headings
        steps=next_steps(report),
        new_table=new_table(report),
        columns_by_kind=columns_by_kind(report.data, _spec(report)),
        limits=limits(report),
        pictures=pictures(report),
        many_dots=report.data.n_cases > MOST_DOTS,
        two=report.data.positive is not None,
        corrected=report.cases.held_out_uncorrected is not None,
        predicted_of=report.data.positive or "the most probable class",
        repeats=report.settings["n_repeats"],
        frequencies=FREQUENCIES,
        infinity=math.inf,
        spec=_spec(report),
        one_set=report.settings["n_features"] not in (None, "all"),
        facts=[fact for section in report.sections for fact in section.facts],
        feature_tables=feature_tables(report),
        n_features_kept=len(report.feature_rows()),
        first_columns=FIRST_COLUMNS,
        most_features=MOST_FEATURES,
        rankings=report.rankings or (report.ranking,),
        kind_words=KIND_WORDS,
        read_as=READ_AS,
        naive_number=_kept_by_naive(report),
        case_columns=columns,
        case_data={"columns": columns, "rows": rows},
        first_cases=[
            [_cell(value, column) for value, column in zip(row, columns, strict=True)]
            for row in rows[:FIRST_CASES]
        ],
        n_cases_left_out=report.data.n_cases - len(rows),
        settings=describe_settings(report),
        policy=_policy(css, js),
        # Our own files, written for this place: no text from data is in them.
        css=Markup(css),
        js=Markup(js),
    )


def _readable(value: Any) -> Any:
    """Return text without characters that act; what is markup is made of such text already."""
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return sanitize_text(value, _SIGN) if is_text else value


def _asset(name: str) -> str:
    return resources.files("honestbayes.report").joinpath("page", name).read_text("utf-8")


def _policy(css: str, js: str) -> str:
    """Allow the page's own style and script, by their hashes, pictures inside it, and no more."""
    return (
        f"default-src 'none'; img-src data:; style-src {_hash(css)}; script-src {_hash(js)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _signed(estimate: Estimate) -> str:
    return f"{_plus(estimate.value, 3)} ({wording.interval(estimate.interval, 3)})"


def _plus(value: float, digits: int = 2) -> str:
    text = wording.number(value, digits)
    return f"+{text}" if value > 0 and text.strip("0.") else text


def _kept_by_naive(report: Report) -> str:
    """Say how many features naive Bayes keeps beside an average of models."""
    asked, data = report.settings["n_features"], report.data
    if isinstance(asked, str):
        return "all of them" if asked == "all" else "as many as cross-validation chose"
    kinds = sum(n > 0 for n in (data.n_binary, data.n_real, data.n_categorical))
    return f"{10 if asked is None else asked:,}{' of each kind' if kinds > 1 else ''}"


def _plural(number: int, word: str) -> str:
    """Write a number with its word."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _bars(counts: Sequence[int]) -> str:
    """Return a histogram as a line of bars; a bin without cases has no bar.

    >>> _bars([0, 1, 4, 8])
    '\u2007▁▄█'
    """
    largest = max(counts)
    return "".join("▁▂▃▄▅▆▇█"[math.ceil(8 * n / largest) - 1] if n else "\u2007" for n in counts)


def _short(value: float) -> str:
    """Write a measurement with the digits that matter, in whatever unit it is."""
    return f"{value:.4g}"


@dataclass(frozen=True, slots=True)
class PageRow:
    """One feature in the page's table.

    Attributes
    ----------
    row : dict
        What is known of it.
    lines : list of list of str
        The cells, a list for each line: one, or one for each level that is shown.
    n_hidden : int
        Levels that are not shown.
    """

    row: dict[str, Any]
    lines: list[list[str]]
    n_hidden: int


@dataclass(frozen=True, slots=True)
class PageTable:
    """The page's table of the kept features of one kind."""

    title: str
    features: FeatureRows
    rows: list[PageRow]


def feature_tables(report: Report) -> list[PageTable]:
    """Return the page's tables of kept features, continuous ones first."""
    order = ("real", "categorical", "binary")
    tables, left = [], MOST_FEATURES
    for features in sorted(report.features, key=lambda features: order.index(features.kind)):
        rows = [_page_row(row, features.columns) for row in features.rows[:left]]
        left -= len(rows)
        if rows:
            title = KIND_WORDS[features.kind]
            tables.append(PageTable(f"{title[0].upper()}{title[1:]}", features, rows))
    return tables


def _page_row(row: dict[str, Any], columns: tuple[TableColumn, ...]) -> PageRow:
    levels = row.get("levels")
    if levels is None:
        return PageRow(row, [[_feature_cell(row, column) for column in columns]], 0)
    # The levels with the most evidence, in their own order.
    strongest = sorted(range(len(levels)), key=lambda v: -abs(row["evidence"][v]))[:MOST_LEVELS]
    lines = [
        [
            _feature_cell(row, column, level) if column.by_level or line == 0 else ""
            for column in columns
        ]
        for line, level in enumerate(sorted(strongest))
    ]
    return PageRow(row, lines, len(levels) - len(lines))


def _feature_cell(row: dict[str, Any], column: TableColumn, level: int | None = None) -> str:
    def value(key: str) -> Any:
        entry = row[key] if column.index is None else row[key][column.index]
        return entry[level] if column.by_level else entry

    text = _STYLES[column.style](value(column.key))
    return f"{text} ± {wording.number(value(column.error))}" if column.error else text


_STYLES: dict[str, Callable[[Any], str]] = {
    "signed": _plus,
    "number": wording.number,
    "percent": wording.percent,
    "short": _short,
    "text": str,
}


def _case_table(report: Report) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    """Return the columns of the page's table of cases, and its rows."""
    cases, data = report.cases, report.data
    shown = slice(min(cases.row.size, MOST_CASES))
    actual, held_out = cases.actual[shown], cases.held_out[shown]
    others = () if cases.held_out_uncorrected is None else (cases.held_out_uncorrected[shown],)
    # Pairs, because a class may be called as a column is.
    texts: list[tuple[str, Iterable[Any]]] = [("row", cases.row[shown].tolist())]
    if cases.identifier is not None:
        texts.append(("identifier", cases.identifier[shown]))
    texts.append((data.target, [data.labels[c] for c in actual]))
    here, in_use = (bounds[-1] for bounds in bounds_of_report(report))
    if data.positive is None:
        every, top = np.arange(actual.size), held_out.argmax(axis=1)
        texts.append(("most probable, held out", [data.labels[c] for c in top]))
        numbers = [
            ("its probability", held_out[every, top], here),
            ("P(observed class), held out", held_out[every, actual], here),
            *(("the same, uncorrected", proba[every, actual], here) for proba in others),
            *(
                (f"P({label}), held out", held_out[:, c], here)
                for c, label in enumerate(data.labels)
            ),
        ]
    else:
        numbers = [
            (f"P({data.positive}), held out", held_out, here),
            *(("uncorrected, held out", proba, here) for proba in others),
            (f"P({data.positive}), fitted", cases.fitted[shown], in_use),
            ("fitted, low", cases.fitted_low[shown], in_use),
            ("fitted, high", cases.fitted_high[shown], in_use),
        ]
    titles: list[dict[str, Any]] = [
        {"title": _readable(title), "digits": None} for title, _ in texts
    ]
    columns = []
    for title, values, bounds in numbers:
        titles.append({"title": _readable(title), **_as_number(bounds)})
        columns.append([round(p, 6) for p in np.clip(values, *bounds).tolist()])
    cells = [[_readable(value) for value in values] for _, values in texts]
    return titles, list(zip(*cells, *columns, strict=True))


def _as_number(bounds: FloatArray, digits: int = 3) -> dict[str, Any]:
    """Say how the probabilities of a column are written, and what is beyond their bounds."""
    low, high = (round(float(bound), 6) for bound in bounds)
    below, above = format_bounds(bounds, digits)
    return {"digits": digits, "low": low, "high": high, "below": below, "above": above}


def _cell(value: Any, column: dict[str, Any]) -> str:
    digits = column["digits"]
    if digits is None:
        return str(value)
    if value <= column["low"]:
        return str(column["below"])
    return str(column["above"]) if value >= column["high"] else f"{value:.{digits}f}"


def describe_settings(report: Report) -> list[tuple[str, str]]:
    """Return the settings as pairs of words."""
    settings = report.settings
    number = {None: "10, or all where there are fewer", "cv": "chosen by nested cross-validation"}
    folds = "one case at a time"
    if report.data.n_groups is not None:
        folds = "one group at a time"
    if settings["n_folds"] != "loo":
        times = settings["n_repeats"]
        folds = f"{settings['n_folds']} folds, drawn {'once' if times == 1 else f'{times} times'}"
    rule = number.get(settings["n_features"], settings["n_features"])
    if len(report.rankings) > 1:
        rule = f"{rule}, of each kind of column"
    spec = _spec(report)
    if not spec.selects:
        rule = "all"
    if spec.is_average:
        one_set = settings["n_features"] not in (None, "all")
        rule = f"{rule}, the same for all models" if one_set else "as many as each model asks for"
    if settings["threshold"] is not None:
        rule = f"all with an absolute correlation above {settings['threshold']:g}"
    prevalence = settings["prevalence"]
    model = settings["model"]
    recalibration = "slope" if settings["recalibrate"] else "none"
    if spec.is_average:
        recalibration = "a slope and an outlier rate for each model"
    return [
        ("model", f"{model}: {spec.description}"),
        *(setting for section in report.sections for setting in section.settings),
        ("features to keep", str(rule)),
        ("cross-validation", folds),
        ("recalibration", recalibration),
        (
            "prevalence of use",
            "as in the table" if prevalence is None else describe_prevalence(prevalence),
        ),
        ("kept by design", ", ".join(report.data.kept_by_design) or "none"),
        ("seed", str(settings["seed"])),
    ]


# --------------------------------------------------------------------------------------------------
# The folder of a report: page, JSON, predictions and model, written together or not at all
# --------------------------------------------------------------------------------------------------


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
    with atomic_folder(folder) as target:
        (target / PAGE).write_text(render(report), encoding="utf-8")
        text = json.dumps(report.to_dict(), allow_nan=False, indent=1)
        (target / JSON).write_text(text + "\n", encoding="utf-8")
        write_predictions(report, target / PREDICTIONS)
        model.save(target / MODEL)
        for name, content in others.items():
            (target / name).write_text(content, encoding="utf-8")


def write_predictions(report: Report, path: Path) -> None:
    """Write the predictions of all cases, held out and fitted apart, as CSV.

    Probabilities of the positive class; with more than two classes a column for each of them. The
    sections of a model may add columns. No probability is nearer to 0 or 1 than `shown_bounds`.
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
    for section in report.sections:
        for name, proba in section.case_columns.items():
            numbers[name] = as_shown(proba, here)
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
    instead of being seen become question marks (`sanitize_text`).

    >>> safe_cell("=cmd()"), safe_cell("-1.5"), safe_cell("AML")
    ("'=cmd()", '-1.5', 'AML')
    """
    word = sanitize_text(str(text))
    if not word.startswith(_FORMULA_STARTS):
        return word
    try:
        float(word)
    except ValueError:
        return f"'{word}"
    return word
