"""``honestbayes inspect``: what a model file holds."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import typer

from honestbayes.cli import options as given
from honestbayes.cli.messages import one_line_errors, say, word
from honestbayes.cli.models import loaded
from honestbayes.models.bernoulli_nb import SelectiveBernoulliNB
from honestbayes.models.bernoulli_part import BernoulliPart
from honestbayes.models.categorical_explain import CategoricalFeatureTable
from honestbayes.models.mixed_explain import MixedFeatureTable
from honestbayes.models.mixed_nb import SelectiveMixedNB
from honestbayes.report.described import KIND_WORDS
from honestbayes.report.kept import level_texts, means_one, mixed_feature_table
from honestbayes.report.record import plain_data
from honestbayes.screening import Binarization
from honestbayes.tables import Feature
from honestbayes.tables.model import TableModel


@one_line_errors
def inspect(model: given.Model, as_json: given.AsJson = False) -> None:
    """Show what a model file holds."""
    fitted = loaded(model)
    estimator = fitted.estimator
    binary = isinstance(estimator, SelectiveBernoulliNB)
    selections = {"binary": estimator.selection_} if binary else estimator.selections_
    if as_json:
        chosen = {kind: selection.to_dict() for kind, selection in selections.items()}
        result = {
            "target": fitted.target,
            "negative": fitted.labels[0],
            "positive": fitted.labels[1],
            "columns": fitted.columns,
            "features": (estimator.feature_table() if binary else _mixed_table(fitted)).to_dict(),
            "selection": chosen["binary"] if binary else chosen,
            "slope": estimator.slope_,
            "parameters": estimator.get_params(),
        }
        typer.echo(json.dumps(plain_data(result), allow_nan=False, indent=1))
        return
    counts = next(iter(selections.values())).class_counts
    labels = (word(fitted.labels[0]), word(fitted.labels[1]))
    say(f"P({word(fitted.target)} = {labels[1]}), naive Bayes after selection", wrap=False)
    say(f"trained on          {sum(counts):,} cases, {counts[1]:,} of them {labels[1]}")
    for kind, selection in selections.items():
        of_kind = "" if binary else f" {KIND_WORDS[kind]}"
        n_kept = len(selection.columns)
        say(f"features            {n_kept:,} of {selection.n_features_in:,}{of_kind}")
    if isinstance(estimator, SelectiveBernoulliNB):
        say(f"correction          {estimator.correction_ or 'none'}")
        say(f"prior of features   {estimator.feature_prior_}")
    else:
        say(f"correction          {estimator.correction or 'none'}")
    say(f"slope               {estimator.slope_:.3f}")
    if estimator.class_prior is not None:
        say(f"prevalence of use   {estimator.class_prior[1]:g}")
    say()
    ones = _ones(fitted)
    for line in ones:
        say(line, wrap=False)
    if ones:
        say()
    say(_printable_table(fitted, labels), wrap=False)


def _ones(fitted: TableModel) -> list[str]:
    """Say of each binary feature what a one is."""
    estimator = fitted.estimator
    if isinstance(estimator, SelectiveBernoulliNB):
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


def _printable_table(fitted: TableModel, labels: tuple[str, str]) -> Any:
    """Return the table of the kept features without anything that a terminal might obey."""
    if isinstance(fitted.estimator, SelectiveBernoulliNB):
        rows = fitted.estimator.feature_table()
        return replace(rows, name=tuple(word(name) for name in rows.name), classes=labels)
    parts: dict[str, Any] = {}
    for kind, part in _mixed_table(fitted).parts.items():
        names = tuple(word(name) for name in part.name)
        parts[kind] = replace(part, name=names, classes=labels)
        if isinstance(part, CategoricalFeatureTable):
            levels = tuple(tuple(word(level) for level in each) for each in part.levels)
            parts[kind] = replace(parts[kind], levels=levels)
    return MixedFeatureTable(parts)
