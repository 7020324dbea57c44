"""The page: one HTML file that loads nothing and runs only its own script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from honestbayes.evaluation.peers import FREQUENCIES
from honestbayes.metrics import Estimate
from honestbayes.models.cards import table_cards
from honestbayes.models.factors.model import Factors
from honestbayes.report import wording
from honestbayes.report.certainty import bounds_of_report, in_words
from honestbayes.report.described import KIND_WORDS, READ_AS, columns_by_kind
from honestbayes.report.drawings import MOST_DOTS
from honestbayes.report.in_short import in_short
from honestbayes.report.kept import AnyFeature
from honestbayes.report.limits import limits, prevalence_in_words
from honestbayes.report.next_steps import new_table, next_steps
from honestbayes.report.pictures import pictures
from honestbayes.report.record import Report
from honestbayes.text import harmless
from honestbayes.types import FloatArray

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
        columns_by_kind=columns_by_kind(report.data, table_cards()[report.settings["model"]]),
        limits=limits(report),
        pictures=pictures(report),
        many_dots=report.data.n_cases > MOST_DOTS,
        two=report.data.positive is not None,
        corrected=report.cases.held_out_uncorrected is not None,
        claimed_of=report.data.positive or "the most probable class",
        repeats=report.settings["n_repeats"],
        frequencies=FREQUENCIES,
        kept_by_kind=_by_kind(report.features[:MOST_FEATURES]),
        has_binary=any(race.kind == "binary" for race in report.races),
        first_columns=FIRST_COLUMNS,
        n_shown=min(MOST_FEATURES, len(report.features)),
        races=report.races or (report.race,),
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
    return harmless(value, _SIGN) if is_text else value


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
    if len(report.races) > 1:
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
        ("model", f"{model}: {table_cards()[model].page}"),
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
