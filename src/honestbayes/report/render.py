"""The page: one HTML file that loads nothing and runs only its own script."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import math
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup
from scipy.special import expit, logit

from honestbayes.base.spec import ModelSpec
from honestbayes.catalogue import table_specs
from honestbayes.evaluation.baselines import FREQUENCIES
from honestbayes.files import atomic_folder
from honestbayes.metrics import CalibrationFit, Estimate
from honestbayes.models.factors.model import Factors
from honestbayes.report import verdict, wording
from honestbayes.report.analysis import KIND_WORDS, READ_AS, columns_by_kind, others_of
from honestbayes.report.options import JSON, MODEL, PAGE, PREDICTIONS, check_folder
from honestbayes.report.pictures import MOST_DOTS, pictures
from honestbayes.report.record import AnyFeature, DataSummary, Report
from honestbayes.report.verdict import MATTERS, NO_SIGNAL, Other, shift_in_words
from honestbayes.tables.model import TableModel
from honestbayes.tables.target import prevalences
from honestbayes.text import sanitize_text
from honestbayes.types import FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# How near to 0 or 1 a probability is shown: no nearer than the training cases can tell
#
# Of n cases none may have contradicted a claim, and the next one still may: by Laplace's rule of
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


def in_words(bounds: FloatArray, digits: int) -> tuple[str, str]:
    """Say what is beyond the bounds of one class, rounded to their outer sides.

    >>> in_words(np.array([0.0123, 0.9877]), 3)
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
# The verdict in two or three sentences, for a reader who knows nothing of statistics
#
# What the model expected and what was observed, whether its probabilities can be taken as they
# stand, and whether to use it. The figures, with their intervals, are in the verdict itself.
# --------------------------------------------------------------------------------------------------


def in_short(report: Report) -> list[str]:
    """Return the verdict in two or three sentences."""
    if report.verdict.caution:
        return [report.verdict.caution, _errors(report), "Do not use it before this is decided."]
    if report.verdict.remaining in NO_SIGNAL:
        return [_errors(report), _without_signal(report)]
    return [_errors(report), _probabilities(report), _whether_to_use(report)]


def of_100(share: float) -> str:
    """Return a share as a number of cases, of a hundred.

    >>> of_100(0.292), of_100(0.001), of_100(0.0), of_100(1.0)
    ('about 29', 'fewer than 1', 'none', 'all')
    """
    if share in (0, 1):
        return "all" if share else "none"
    if share < 0.005:
        return "fewer than 1"
    return "more than 99" if share > 0.995 else f"about {100 * share:.0f}"


def _errors(report: Report) -> str:
    """Say how many errors were expected and observed, and how many guessing would make."""
    summary = report.method(report.in_use).summary
    text = (
        "Of 100 cases that it had not seen, this model expected to name the wrong class for "
        f"{of_100(summary.expected_error)}, and did so for {of_100(summary.actual_error.value)}"
    )
    guess = _guess(report)
    if guess is None:
        return f"{text}."
    most = "more" if len(report.data.labels) == 2 else "most"
    rate = of_100(guess.actual_error)
    return f"{text}; always naming the {most} frequent class would be wrong for {rate}."


def _without_signal(report: Report) -> str:
    n, labels = report.data.n_cases, report.data.labels
    which = " and ".join(labels) if len(labels) == 2 else "the classes"
    best = _best_other(report)
    what = "more cases, or other columns, are needed"
    if best is not None and best.name != FREQUENCIES:
        used = report.method(report.in_use).summary
        surely = verdict.is_preferred(best, used, report.data.n_features)
        found = "found" if surely else "may have found"
        what = f"{best.name} {found} more on the same cases"
    if report.verdict.remaining == "cannot tell":
        return (
            f"{n:,} cases are too few to tell whether it separates {which}: do not use it; {what}."
        )
    return f"As far as {n:,} cases can tell, it cannot tell {which} apart: do not use it; {what}."


def _probabilities(report: Report) -> str:
    """Say whether the probabilities can be taken as they stand."""
    method, n = report.method(report.in_use), report.data.n_cases
    fit = method.summary.calibration
    match report.verdict.remaining:
        case "overconfident":
            return f"Its probabilities are too sure{_example(fit)}."
        case "underconfident":
            return f"Its probabilities are too careful{_example(fit)}."
        case "shifted":
            shift = shift_in_words(method.summary, report.data.labels)
            return f"Its {shift}."
        case "honest":
            text = f"Its probabilities agree with what was observed, as far as {n:,} cases can tell"
        case _:
            text = f"{n:,} cases are too few to tell whether its probabilities are right"
    if method.confident.broken:
        return f"{text}; but where it was almost certain, it was wrong more often than it claimed."
    return f"{text}."


def _example(fit: CalibrationFit, said: float = 0.9) -> str:
    """Give what the fitted line makes of a probability, where there is one line for it."""
    if isinstance(fit.intercept, tuple) or not math.isfinite(fit.slope + fit.intercept):
        return ""
    found = float(expit(fit.intercept + fit.slope * logit(said)))
    return f": where it says {said:.0%}, about {found:.0%} fits what was observed"


def _whether_to_use(report: Report) -> str:
    best = _best_other(report)
    if best is not None:
        return _prefer(best, report)
    used = report.method(report.in_use).summary
    match verdict.care_of(report.verdict.remaining, _others(report), used):
        case "may be a guess":
            text = "Use it with care: it is not certain that it does better than guessing"
        case "single probabilities":
            text = "Use it to rank cases, but do not take a single probability as it stands"
        case "few cases":
            text = "Use it with care, and judge it again when there are more cases"
        case _:
            text = "It can be used for new cases that come from where these came from"
    tried = "" if compared(report) else "; methods of other libraries were not tried"
    return f"{text}{tried}."


def _guess(report: Report) -> Other | None:
    """Return the class frequencies alone, where they were compared."""
    return next((o for o in _others(report) if o.name == FREQUENCIES), None)


def _prefer(best: Other, report: Report) -> str:
    """Name the other method that the advice names."""
    if best.name == FREQUENCIES:
        return "Do not use it: the class frequencies alone have the better log score."
    used = report.method(report.in_use)
    if verdict.is_preferred(best, used.summary, report.data.n_features):
        return f"Use {best.title} instead, which did better on the same cases."
    broken = used.confident.broken or report.verdict.remaining in ("overconfident", "shifted")
    what = "prefer that one" if broken else "until more cases tell, either can be used"
    return f"On the same cases {best.title} did better, but that may be chance: {what}."


def _others(report: Report) -> tuple[Other, ...]:
    return others_of(report.methods, report.settings["model"])


def _best_other(report: Report) -> Other | None:
    summary = report.method(report.in_use).summary
    return verdict.best_other(_others(report), summary, report.data.n_features)


def compared(report: Report) -> bool:
    """Whether methods of others were run on the same folds."""
    return bool(report.settings["compare"]) and not report.settings["quick"]


# --------------------------------------------------------------------------------------------------
# What the numbers of a report do not tell, in words
# --------------------------------------------------------------------------------------------------


def limits(report: Report) -> list[str]:
    """Say what the numbers of this report do not tell."""
    data = report.data
    result = []
    result.append(_limit_of_model(report))
    if report.average is None:
        result += _limits_of_mixed(report) if report.rankings else _limits_of_binary(data)
    if data.n_missing:
        result.append(_missing_in_words(report))
    result.append(
        "Intervals of scores are for the average over the models of the folds, on new cases; the "
        "final model has seen more cases, and may be better or worse than that."
        + (
            " The intervals of slopes, and of sensitivity and specificity, do not know of groups."
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
            f"Fitted probabilities and the saved model are at {prevalence_in_words(prevalence)}."
            if prevalence is not None
            else "Where the model will be used at another prevalence, say so with --prevalence."
        )
    )
    result.append(
        f"{data.n_cases:,} cases cannot tell a probability below {1 / (data.n_cases + 2):.2g} from "
        "0: none is shown nearer to 0 or 1 than that. report.json holds them as computed."
    )
    result.append(
        "All of this holds for cases that come from where these came from, measured the same way."
    )
    return result


def _spec(report: Report) -> ModelSpec:
    return table_specs()[report.settings["model"]]


def _limit_of_model(report: Report) -> str:
    if report.interactions is not None:
        most = report.interactions.order
        cells = "one column" if most == 1 else f"up to {most} columns"
        return (
            f"The model looks at patterns of {cells}: what only more columns together would tell "
            "is not seen."
        )
    if report.edges is not None:
        return (
            "The graphs hold a few parents of each column only; what many columns together would "
            "tell is not seen."
        )
    if report.average is not None:
        return (
            "The average is as good as its models. Most of them add up over columns: signal that "
            "only combinations of columns show may not be seen; --effort thorough tries models "
            "that look for it."
        )
    if not _spec(report).corrects:
        return (
            "The log-odds are a sum over columns. Signal that only combinations of features show "
            "is not seen, nor is what is neither more nor less along a column."
        )
    beyond = " beyond what a few factors explain" if report.factors is not None else ""
    return (
        "The correction removes the luck of selection. It does not cure features that depend on "
        f"each other{beyond}, or signal that only combinations of features show."
    )


def _missing_in_words(report: Report) -> str:
    number = report.data.n_missing
    if report.average is not None:
        return (
            f"{number:,} missing cells were integrated out by models of how features are "
            "distributed in each class, and filled with the mean of their column by the others."
        )
    if not _spec(report).joint and not report.settings.get("missing_as_level"):
        return (
            f"{number:,} missing cells were filled with the mean of their column over the training "
            "rows."
        )
    if report.settings.get("missing_as_level"):
        cells = "1 missing cell is" if number == 1 else f"{number:,} missing cells are"
        return f"{cells} taken for a level: that a cell is missing may tell of the class."
    return (
        f"{number:,} missing cells were integrated out, as if missing for reasons that have "
        "nothing to do with their values."
    )


def _limits_of_binary(data: DataSummary) -> list[str]:
    cut = []
    if data.n_real:
        cut.append(f"{_columns(data.n_real, 'real-valued')} cut at the median")
    if data.n_categorical:
        cut.append(
            f"{_columns(data.n_categorical, 'categorical')} turned into a yes-or-no feature for "
            "each level"
        )
    if not cut:
        return []
    lost = "this model knows only yes-or-no features, and some information is lost."
    return [f"{' and '.join(cut)}: {lost}"]


def _limits_of_mixed(report: Report) -> list[str]:
    result = []
    if _spec(report).joint and any(ranking.kind == "real" for ranking in report.rankings):
        result.append(
            "In each class the values of a real-valued feature are taken for normally distributed "
            "around a centre of that class, with one spread for all. A class that differs in its "
            "spread alone is not seen; measurements with a long tail may do better as logarithms."
        )
    if report.factors is not None and report.data.n_binary:
        result.append(
            f"{_columns(report.data.n_binary, 'yes-or-no')} taken for numbers, as if measured; the "
            "mixed model knows such columns."
        )
    if len(report.rankings) > 1:
        result.append(
            "Features of each kind are ranked among themselves: a number of features to keep is "
            "one for each kind."
        )
    return result


def prevalence_in_words(prevalence: float | Mapping[str, float]) -> str:
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
    return report.ranking.n_discarded > 0


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
        if scores.get(report.ranking.n_kept, scores[best]) - scores[best] >= MATTERS:
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


MOST_CASES = 20_000
"""Cases in the page's table; more would make it slow to open."""

MOST_FEATURES = 200
"""Kept features in the page's table."""

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
        loader=PackageLoader("honestbayes.report", "page"),
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
        "prevalence": prevalence_in_words,
        "plural": _plural,
    }
    return environment.get_template("report.html.jinja")


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
        in_short=in_short(report),
        steps=next_steps(report),
        new_table=new_table(report),
        columns_by_kind=columns_by_kind(report.data, table_specs()[report.settings["model"]]),
        limits=limits(report),
        pictures=pictures(report),
        many_dots=report.data.n_cases > MOST_DOTS,
        two=report.data.positive is not None,
        corrected=report.cases.held_out_uncorrected is not None,
        predicted_of=report.data.positive or "the most probable class",
        repeats=report.settings["n_repeats"],
        frequencies=FREQUENCIES,
        kept_by_kind=_by_kind(report.features[:MOST_FEATURES]),
        has_binary=any(ranking.kind == "binary" for ranking in report.rankings),
        first_columns=FIRST_COLUMNS,
        n_shown=min(MOST_FEATURES, len(report.features)),
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
        settings_in_words=settings_in_words(report),
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


def _short(value: float) -> str:
    """Write a measurement with the digits that matter, in whatever unit it is."""
    return f"{value:.4g}"


def _by_kind(features: tuple[AnyFeature, ...]) -> dict[str, list[AnyFeature]]:
    """Return the features of each kind."""
    result: dict[str, list[AnyFeature]] = {kind: [] for kind in KIND_WORDS}
    for feature in features:
        result[feature.kind].append(feature)
    return result


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
            ("P(actual class), held out", held_out[every, actual], here),
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
    words = [[_readable(value) for value in values] for _, values in texts]
    return titles, list(zip(*words, *columns, strict=True))


def _as_number(bounds: FloatArray, digits: int = 3) -> dict[str, Any]:
    """Say how the probabilities of a column are written, and what is beyond their bounds."""
    low, high = (round(float(bound), 6) for bound in bounds)
    below, above = in_words(bounds, digits)
    return {"digits": digits, "low": low, "high": high, "below": below, "above": above}


def _cell(value: Any, column: dict[str, Any]) -> str:
    digits = column["digits"]
    if digits is None:
        return str(value)
    if value <= column["low"]:
        return str(column["below"])
    return str(column["above"]) if value >= column["high"] else f"{value:.{digits}f}"


def _chosen_in_words(factors: Factors) -> str:
    if not factors.tried:
        return f"{factors.n_factors}"
    return (
        f"{factors.n_factors}, chosen from {factors.tried[0]} to {factors.tried[-1]} on held-out "
        "training cases"
    )


def _interactions_in_words(report: Report) -> list[tuple[str, str]]:
    if report.interactions is None:
        return []
    chosen = ", chosen on held-out training cases" if report.settings["order"] == "cv" else ""
    missing = "a level of their own" if report.settings["missing_as_level"] else "refused"
    return [("order", f"{report.interactions.order}{chosen}"), ("missing cells", missing)]


def _effort_in_words(report: Report) -> list[tuple[str, str]]:
    if report.average is None:
        return []
    by_default = "quick" if report.settings["quick"] else "normal"
    return [("effort", report.settings["effort"] or by_default)]


def _recalibration_in_words(report: Report) -> str:
    if report.average is not None:
        return "a slope and lapses for each model"
    return "slope" if report.settings["recalibrate"] else "none"


def settings_in_words(report: Report) -> list[tuple[str, str]]:
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
    if report.interactions is not None or report.edges is not None:
        rule = "all"
    if report.average is not None:
        one_set = settings["n_features"] not in (None, "all")
        rule = f"{rule}, the same for all models" if one_set else "as many as each model asks for"
    if settings["threshold"] is not None:
        rule = f"all with an absolute correlation above {settings['threshold']:g}"
    prevalence = settings["prevalence"]
    model = settings["model"]
    factors = [] if report.factors is None else [("factors", _chosen_in_words(report.factors))]
    return [
        ("model", f"{model}: {table_specs()[model].page}"),
        *factors,
        *_interactions_in_words(report),
        *_effort_in_words(report),
        ("features to keep", str(rule)),
        ("cross-validation", folds),
        ("recalibration", _recalibration_in_words(report)),
        (
            "prevalence of use",
            "as in the table" if prevalence is None else prevalence_in_words(prevalence),
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
    with atomic_folder(folder) as place:
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
    than the cases can tell (``report/render.py``).
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
