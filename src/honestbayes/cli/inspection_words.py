"""What ``honestbayes inspect`` prints."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import typer

from honestbayes.base.explanation import KeptTable
from honestbayes.base.spec import Card
from honestbayes.cli.messages import say, word
from honestbayes.models.cards import card_of
from honestbayes.models.interactions.model import Interactions
from honestbayes.report.described import KIND_WORDS
from honestbayes.report.kept import interactions_in_words, level_texts, means_one
from honestbayes.report.record import plain_data
from honestbayes.tables.model import TableModel

MOST_LEVELS = 12
"""Levels of a feature that are printed, as on the page of a report; JSON holds all."""

_OPTIONAL = {
    "factors": "n_factors_",
    "prior of features": "feature_prior_",
    "order": "order_",
    "effort": "effort",
    "held-out log score": "held_out_log_score_",
    "cost of one set": "restriction_cost_",
}
"""What some estimators know, and others do not."""

_CORRECTIONS = {
    "counts": "counts of all features",
    "selection": "event of the selection",
    None: "none",
}


def show(fitted: TableModel, *, as_json: bool) -> None:
    """Print what a model file holds."""
    if as_json:
        typer.echo(json.dumps(plain_data(_contents(fitted)), allow_nan=False, indent=1))
        return
    labels = tuple(word(label) for label in fitted.labels)
    ones = _ones(fitted)
    for line in (*_summary(fitted, labels), "", *ones, *([""] if ones else [])):
        say(line, wrap=False)
    say(_printable_table(fitted, labels), wrap=False)
    average = fitted.estimator._sections().get("average")
    if average is not None:
        say("\nthe models of the average, and how each did on held-out training cases")
        say(average.models, wrap=False)
    found = _interactions(fitted)
    if found is not None:
        say("\nthe largest interactions, and what each adds to the log-odds of its class")
        shown = found.with_cells(lambda column, level: (word(column), word(level)))
        say(shown.renamed(str, {label: word(label) for label in fitted.labels}), wrap=False)


def _interactions(fitted: TableModel) -> Interactions | None:
    return interactions_in_words(fitted.estimator._sections().get("interactions"), fitted)


def _contents(fitted: TableModel) -> dict[str, Any]:
    """Return all that is shown, and more, as plain data."""
    estimator = fitted.estimator
    chosen = {kind: selection.to_dict() for kind, selection in estimator._selections().items()}
    by_kind = card_of(estimator).by_kind
    factors, interactions = estimator._sections().get("factors"), _interactions(fitted)
    average = estimator._sections().get("average")
    two = len(fitted.labels) == 2
    return {
        "target": fitted.target,
        "labels": fitted.labels,
        **(dict(zip(("negative", "positive"), fitted.labels, strict=True)) if two else {}),
        "columns": fitted.columns,
        "features": _feature_table(fitted).to_dict(),
        "selection": chosen if by_kind or not chosen else next(iter(chosen.values())),
        **({"factors": factors} if factors else {}),
        **({"interactions": interactions} if interactions else {}),
        **({"models": average.models.to_dict()} if average else {}),
        "slope": getattr(estimator, "slope_", None),
        "parameters": estimator.get_params(),
    }


def _summary(fitted: TableModel, labels: tuple[str, ...]) -> list[str]:
    estimator = fitted.estimator
    selections, card = estimator._selections(), card_of(estimator)
    counts = estimator.class_count_.tolist()
    target = word(fitted.target)
    if len(labels) == 2:
        title, cases = f"P({target} = {labels[1]})", f", {counts[1]:,} of them {labels[1]}"
    else:
        title, cases = f"P({target}), {len(labels):,} classes", f": {_by_class(labels, counts)}"
    lines = [
        f"{title}, {card.title}{_after_selection(card)}",
        f"trained on          {sum(counts):,} cases{cases}",
    ]
    for kind, selection in selections.items():
        of_kind = f" {KIND_WORDS[kind]}" if card.by_kind else ""
        n_kept = len(selection.columns)
        lines.append(f"features            {n_kept:,} of {selection.n_features_in:,}{of_kind}")
    if card.of_models:
        lines.append(f"columns             {len(fitted.columns):,}")
    if card.corrects:
        lines.append(f"correction          {_CORRECTIONS[estimator.correction_]}")
    for what, attribute in _OPTIONAL.items():
        value = getattr(estimator, attribute, None)
        if value is not None:
            lines.append(f"{what:<20}{f'{value:.3f}' if isinstance(value, float) else value}")
    if not card.of_models:
        lines.append(f"slope               {estimator.slope_:.3f}")
    prior = estimator.class_prior
    if prior is not None:
        shares = f"{prior[1]:g}" if len(labels) == 2 else _by_class(labels, prior)
        lines.append(f"prevalence of use   {shares}")
    return lines


def _after_selection(card: Card) -> str:
    return " after selection" if card.selects and not card.of_models else ""


def _by_class(labels: tuple[str, ...], values: Iterable[float]) -> str:
    return ", ".join(f"{label} {value:,.10g}" for label, value in zip(labels, values, strict=True))


def _ones(fitted: TableModel) -> list[str]:
    """Say of each binary feature what a one is."""
    tables = fitted.estimator._feature_tables().values()
    rows = [row for table in tables for row in table.rows()]
    if not rows:
        return []
    return [
        f"a one: {word(feature.column)} {word(means_one(feature, row['cut'], row['high']))}"
        for feature, row in zip(fitted.encoding.features, rows, strict=True)
        if "cut" in row
    ]


def _feature_table(fitted: TableModel) -> Any:
    """Return the table of the kept features, with the texts of levels."""
    of_name = {feature.name: feature for feature in fitted.encoding.features}

    def texts(name: str, codes: tuple[str, ...]) -> tuple[str, ...]:
        return level_texts(of_name[name], fitted.encoding, codes)

    return fitted.estimator.feature_table().changed(lambda table: table.with_levels(texts))


def _printable_table(fitted: TableModel, labels: tuple[str, ...]) -> Any:
    """Return the same without anything that a terminal might obey, and not too long."""

    def printable(table: KeptTable) -> KeptTable:
        shown = table.with_levels(lambda _, levels: tuple(map(word, levels)))
        return shown.shortened(MOST_LEVELS).renamed(word, labels)

    return _feature_table(fitted).changed(printable)
