"""``honestbayes inspect``: what a model file holds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import typer

from honestbayes.cli import options as given
from honestbayes.cli.messages import one_line_errors, say, word
from honestbayes.cli.models import loaded
from honestbayes.models.binary.estimator import SelectiveBernoulliNB
from honestbayes.models.binary.part import BernoulliPart
from honestbayes.models.categorical.explain import CategoricalFeatureTable
from honestbayes.models.factors.classifier import SelectiveFactorClassifier
from honestbayes.models.factors.explain import FactorFeatureTable, factors
from honestbayes.models.mixed.estimator import SelectiveMixedNB
from honestbayes.models.mixed.explain import MixedFeatureTable
from honestbayes.report.described import KIND_WORDS
from honestbayes.report.fitting import model_name
from honestbayes.report.kept import level_texts, means_one, mixed_feature_table
from honestbayes.report.record import plain_data
from honestbayes.selection import Selection
from honestbayes.sources import Binarization
from honestbayes.tables import Feature
from honestbayes.tables.model import Estimator, TableModel
from honestbayes.types import FloatArray

MOST_LEVELS = 12
"""Levels of a feature that are printed, as on the page of a report; JSON holds all."""

_MODELS = {"mixture": "mixture", "factors": "factor model"}
"""Models that are no naive Bayes."""

_CORRECTIONS = {
    "counts": "counts of all features",
    "selection": "event of the selection",
    None: "none",
}


@one_line_errors
def inspect(model: given.Model, as_json: given.AsJson = False) -> None:
    """Show what a model file holds."""
    fitted = loaded(model)
    if as_json:
        typer.echo(json.dumps(plain_data(_contents(fitted)), allow_nan=False, indent=1))
        return
    labels = tuple(word(label) for label in fitted.labels)
    ones = _ones(fitted)
    for line in (*_summary(fitted, labels), "", *ones, *([""] if ones else [])):
        say(line, wrap=False)
    say(_printable_table(fitted, labels), wrap=False)


def _selections(fitted: TableModel) -> dict[str, Selection]:
    """Return what each race kept."""
    estimator = fitted.estimator
    if isinstance(estimator, SelectiveMixedNB):
        return estimator.selections_
    kind = "real" if isinstance(estimator, SelectiveFactorClassifier) else "binary"
    return {kind: estimator.selection_}


def _contents(fitted: TableModel) -> dict[str, Any]:
    """Return all that is shown, and more, as plain data."""
    estimator = fitted.estimator
    chosen = {kind: selection.to_dict() for kind, selection in _selections(fitted).items()}
    by_kind = isinstance(estimator, SelectiveMixedNB)
    table = _mixed_table(fitted) if by_kind else estimator.feature_table()
    two = len(fitted.labels) == 2
    return {
        "target": fitted.target,
        "labels": fitted.labels,
        **(dict(zip(("negative", "positive"), fitted.labels, strict=True)) if two else {}),
        "columns": fitted.columns,
        "features": table.to_dict(),
        "selection": chosen if by_kind else next(iter(chosen.values())),
        **_factors(estimator),
        "slope": estimator.slope_,
        "parameters": estimator.get_params(),
    }


def _factors(estimator: Estimator) -> dict[str, Any]:
    """Return how many factors a factor model has."""
    if not isinstance(estimator, SelectiveFactorClassifier):
        return {}
    return {"factors": factors(estimator.n_factors_, estimator.factor_choice_)}


def _summary(fitted: TableModel, labels: tuple[str, ...]) -> list[str]:
    estimator = fitted.estimator
    selections = _selections(fitted)
    counts = next(iter(selections.values())).class_counts
    target = word(fitted.target)
    if len(labels) == 2:
        title, cases = f"P({target} = {labels[1]})", f", {counts[1]:,} of them {labels[1]}"
    else:
        title, cases = f"P({target}), {len(labels):,} classes", f": {_by_class(labels, counts)}"
    model = _MODELS.get(model_name(estimator), "naive Bayes")
    lines = [
        f"{title}, {model} after selection",
        f"trained on          {sum(counts):,} cases{cases}",
    ]
    by_kind = isinstance(estimator, SelectiveMixedNB)
    for kind, selection in selections.items():
        of_kind = f" {KIND_WORDS[kind]}" if by_kind else ""
        n_kept = len(selection.columns)
        lines.append(f"features            {n_kept:,} of {selection.n_features_in:,}{of_kind}")
    lines.append(f"correction          {_CORRECTIONS[_correction(estimator)]}")
    if isinstance(estimator, SelectiveFactorClassifier):
        lines.append(f"factors             {estimator.n_factors_}")
    if isinstance(estimator, SelectiveBernoulliNB | SelectiveFactorClassifier):
        lines.append(f"prior of features   {estimator.feature_prior_}")
    lines.append(f"slope               {estimator.slope_:.3f}")
    prior = estimator.class_prior
    if prior is not None:
        shares = f"{prior[1]:g}" if len(labels) == 2 else _by_class(labels, prior)
        lines.append(f"prevalence of use   {shares}")
    return lines


def _by_class(labels: tuple[str, ...], values: Iterable[float]) -> str:
    return ", ".join(f"{label} {value:,.10g}" for label, value in zip(labels, values, strict=True))


def _correction(estimator: Estimator) -> str | None:
    """Return the correction in use."""
    if not isinstance(estimator, SelectiveMixedNB):
        return estimator.correction_
    # What the estimators of one kind make of it, whose other words a mixed model leaves alone.
    return "counts" if estimator.correction == "auto" else estimator.correction


def _ones(fitted: TableModel) -> list[str]:
    """Say of each binary feature what a one is."""
    estimator = fitted.estimator
    if isinstance(estimator, SelectiveFactorClassifier):
        return []
    if not isinstance(estimator, SelectiveMixedNB):
        return _ones_of(fitted.encoding.features, estimator.kept_binarization())
    lines, first = [], 0
    for part in estimator._parts:
        features = fitted.encoding.features[first : first + len(part.selection.columns)]
        if isinstance(part, BernoulliPart):
            lines += _ones_of(features, part.fit.binarization)
        first += len(features)
    return lines


def _ones_of(features: tuple[Feature, ...], cuts: Binarization) -> list[str]:
    return [
        f"a one: {word(feature.column)} "
        f"{word(means_one(feature, float(cuts.cut[position]), float(cuts.high[position])))}"
        for position, feature in enumerate(features)
    ]


def _mixed_table(fitted: TableModel) -> MixedFeatureTable:
    """Return the table of the kept features, with the texts of levels."""
    assert isinstance(fitted.estimator, SelectiveMixedNB)
    table = mixed_feature_table(fitted.estimator)
    of_name = {feature.name: feature for feature in fitted.encoding.features}
    parts = dict(table.parts)
    for kind, part in parts.items():
        if isinstance(part, CategoricalFeatureTable):
            levels = tuple(
                level_texts(of_name[name], fitted.encoding, codes)
                for name, codes in zip(part.name, part.levels, strict=True)
            )
            parts[kind] = replace(part, levels=levels)
    return MixedFeatureTable(parts)


def _printable_table(fitted: TableModel, labels: tuple[str, ...]) -> Any:
    """Return the table of the kept features without anything that a terminal might obey."""
    if not isinstance(fitted.estimator, SelectiveMixedNB):
        rows = fitted.estimator.feature_table()
        names = tuple(word(name) for name in rows.name)
        if isinstance(rows, FactorFeatureTable):
            return replace(rows, name=names, classes=labels)
        return replace(rows, name=names, classes=(labels[0], labels[1]))
    parts: dict[str, Any] = {}
    for kind, part in _mixed_table(fitted).parts.items():
        words: dict[str, Any] = {
            "name": tuple(word(name) for name in part.name),
            "classes": labels,
        }
        if isinstance(part, CategoricalFeatureTable):
            pairs = zip(part.levels, part.probability, strict=True)
            levels, probability = zip(*(_strongest(*pair) for pair in pairs), strict=True)
            words |= {"levels": levels, "probability": probability}
        parts[kind] = replace(part, **words)
    return MixedFeatureTable(parts)


def _strongest(
    levels: tuple[str, ...], probability: FloatArray
) -> tuple[tuple[str, ...], FloatArray]:
    """Return the levels that say most, in their order, and the others as one."""
    words = tuple(word(level) for level in levels)
    if len(words) <= MOST_LEVELS:
        return words, probability
    says = np.ptp(np.log(probability), axis=0)
    shown = np.sort(np.argsort(-says, kind="stable")[:MOST_LEVELS])
    rest = np.delete(probability, shown, axis=1).sum(axis=1, keepdims=True)
    others = f"({len(words) - MOST_LEVELS:,} more)"
    return (*(words[v] for v in shown), others), np.hstack([probability[:, shown], rest])
