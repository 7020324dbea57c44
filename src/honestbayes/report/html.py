"""The page: one HTML file that loads nothing and runs only its own script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from honestbayes.evaluation.peers import FREQUENCIES
from honestbayes.harmless import harmless
from honestbayes.metrics import Estimate
from honestbayes.models.cards import table_cards
from honestbayes.models.factors import Factors
from honestbayes.report import wording
from honestbayes.report.certainty import bounds_of_report, in_words
from honestbayes.report.described import KIND_WORDS
from honestbayes.report.kept import AnyFeature
from honestbayes.report.pictures import MOST_DOTS, pictures
from honestbayes.report.record import DataSummary, Report
from honestbayes.types import FloatArray

MOST_CASES = 20_000
"""Cases in the page's table; more would make it slow to open."""

MOST_FEATURES = 200
"""Kept features in the page's table."""

_SIGN = "\ufffd"
"""Stands for a character of a name that would act instead of being seen."""

FIRST_CASES = 25
"""Cases that stand in the page itself, for readers without a script."""


def render(report: Report) -> str:
    """Return the page of a report."""
    css, js = _asset("report.css"), _asset("report.js")
    columns, rows = _case_table(report)
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
    }
    return environment.get_template("report.html.jinja").render(
        report=report,
        data=report.data,
        verdict=report.verdict,
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
        n_shown=min(MOST_FEATURES, len(report.features)),
        races=report.races or (report.race,),
        kind_words=KIND_WORDS,
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


def limits(report: Report) -> list[str]:
    """Say what the numbers of this report do not tell."""
    data = report.data
    result = []
    result.append(_limit_of_model(report))
    result += _limits_of_mixed(report) if report.races else _limits_of_binary(data)
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
    beyond = " beyond what a few factors explain" if report.factors is not None else ""
    return (
        "The correction removes the luck of selection. It does not cure features that depend on "
        f"each other{beyond}, or signal that only combinations of features show."
    )


def _missing_in_words(report: Report) -> str:
    number = report.data.n_missing
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
    if any(race.kind == "real" for race in report.races):
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
    if len(report.races) > 1:
        result.append(
            "Features of each kind run a race of their own: a number of features to keep is one "
            "for each kind."
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
    if settings["threshold"] is not None:
        rule = f"all with an absolute correlation above {settings['threshold']:g}"
    prevalence = settings["prevalence"]
    model = settings["model"]
    factors = [] if report.factors is None else [("factors", _chosen_in_words(report.factors))]
    return [
        ("model", f"{model}: {table_cards()[model].page}"),
        *factors,
        *_interactions_in_words(report),
        ("features to keep", str(rule)),
        ("cross-validation", folds),
        ("recalibration", "slope" if settings["recalibrate"] else "none"),
        (
            "prevalence of use",
            "as in the table" if prevalence is None else prevalence_in_words(prevalence),
        ),
        ("kept by design", ", ".join(report.data.kept_by_design) or "none"),
        ("seed", str(settings["seed"])),
    ]
