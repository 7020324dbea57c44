"""The table, the race between features, and what the kept ones say, as the report has them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from honestbayes.models.bernoulli_nb import SelectiveBernoulliNB
from honestbayes.report.record import DataSummary, KeptFeature, LeftOut, Race
from honestbayes.screening import screen
from honestbayes.tables import Feature, TrainingTable
from honestbayes.types import FloatArray

N_JUST_MISSED = 10


def data_summary(table: TrainingTable, name: str) -> DataSummary:
    """Put the table into numbers."""

    def kinds(kind: Literal["binary", "real", "categorical"]) -> int:
        return sum(column.kind == kind for column in table.columns)

    return DataSummary(
        name=name,
        target=table.target,
        negative=table.labels[0],
        positive=table.labels[1],
        n_cases=int(table.y.size),
        n_events=int(table.y.sum()),
        n_groups=None if table.groups is None else int(np.unique(table.groups).size),
        n_binary=kinds("binary"),
        n_real=kinds("real"),
        n_categorical=kinds("categorical"),
        n_features=int(table.X.shape[1]),
        n_missing=int(table.X.isna().to_numpy().sum()),
        kept_by_design=tuple(
            dict.fromkeys(
                feature.column for feature in table.encoding.features if feature.name in table.keep
            )
        ),
        ignored=table.ignored,
        left_out=tuple(
            LeftOut(column.name, column.reason)
            for column in table.columns
            if column.kind == "left out"
        ),
        notes=table.notes,
    )


def race(table: TrainingTable, model: SelectiveBernoulliNB) -> Race:
    """Say what selection kept and what it threw away."""
    selection = model.selection_
    screening = screen(table.X, table.y)
    correlation = screening.correlation()
    order = np.argsort(-np.abs(correlation), kind="stable")
    discarded = order[~selection.support()[order]][:N_JUST_MISSED]
    ones, observed = screening.ones.sum(axis=0), screening.observed_full().sum(axis=0)
    constant = (ones == 0) | (ones == observed)
    return Race(
        rule=_rule_in_words(model),
        bound=selection.gamma,
        n_kept=len(selection.kept),
        n_by_design=len(selection.always_kept),
        n_discarded=selection.n_discarded,
        n_constant=int(np.sum(constant & ~selection.support())),
        n_tied_kept=selection.n_tied_kept,
        n_tied_discarded=selection.n_tied_discarded or 0,
        just_missed=tuple((str(table.X.columns[j]), float(correlation[j])) for j in discarded),
        slope=float(model.slope_),
    )


def _rule_in_words(model: SelectiveBernoulliNB) -> str:
    selection = model.selection_
    if selection.rule == "all":
        return "all features are kept"
    if selection.rule == "threshold":
        return f"features with an absolute correlation above {selection.gamma:g} are kept"
    chosen = ", a number chosen by cross-validation," if model.number_choice_ else ""
    return f"the {len(selection.kept):,} features{chosen} that correlate best are kept"


def kept_features(
    table: TrainingTable, model: SelectiveBernoulliNB, frequency: FloatArray | None
) -> tuple[KeptFeature, ...]:
    """Say what each kept feature says, how sure that is, and how often it was selected."""
    rows = model.feature_table()
    binarization = model.kept_binarization()
    result = []
    for position, column in enumerate(model.selection_.columns):
        feature = table.encoding.features[column]
        cut, high = float(binarization.cut[position]), float(binarization.high[position])
        result.append(
            KeptFeature(
                name=feature.name,
                column=feature.column,
                means_one=means_one(feature, cut, high),
                by_design=bool(rows.by_design[position]),
                correlation=float(rows.correlation[position]),
                p_negative=float(rows.probability[0, position]),
                p_positive=float(rows.probability[1, position]),
                sd_negative=float(rows.sd[0, position]),
                sd_positive=float(rows.sd[1, position]),
                evidence_if_one=float(rows.evidence_if_one[position]),
                evidence_if_zero=float(rows.evidence_if_zero[position]),
                selected=float("nan") if frequency is None else float(frequency[column]),
            )
        )
    return tuple(result)


def means_one(feature: Feature, cut: float, high: float) -> str:
    """Say which values of the column count as a one."""
    if feature.level is not None:
        return f"is {feature.level}"
    if np.isfinite(high):
        return f"is {high:g}"
    return f"above {cut:.4g}"
