"""What the kept features say, as the report has it."""

from __future__ import annotations

from typing import Any

import numpy as np

from honestbayes.report.record import AnyFeature, CategoricalFeature, KeptFeature, RealFeature
from honestbayes.tables import Encoding, Feature, TrainingTable
from honestbayes.tables.model import Estimator
from honestbayes.types import FloatArray

_RECORDS: dict[str, type[AnyFeature]] = {
    "binary": KeptFeature,
    "categorical": CategoricalFeature,
    "real": RealFeature,
}


def kept_features(
    table: TrainingTable, model: Estimator, frequency: FloatArray | None
) -> tuple[AnyFeature, ...]:
    """Say what each kept feature says, how sure that is, and how often it was selected."""
    columns = model.kept_columns().tolist()
    selected = np.full(table.X.shape[1], np.nan) if frequency is None else frequency
    rows = [(found.kind, row) for found in model.feature_tables().values() for row in found.rows()]
    return tuple(
        _RECORDS[kind](
            name=table.encoding.features[column].name,
            column=table.encoding.features[column].column,
            selected=float(selected[column]),
            **in_words(row, table.encoding.features[column], table.encoding),
        )
        for column, (kind, row) in zip(columns, rows, strict=True)
    )


def in_words(row: dict[str, Any], feature: Feature, encoding: Encoding) -> dict[str, Any]:
    """Return a row of a model's table with the texts of levels, and what a one is."""
    result = dict(row)
    if "cut" in row:
        result["means_one"] = means_one(feature, result.pop("cut"), result.pop("high"))
    if "levels" in row:
        result["levels"] = level_texts(feature, encoding, row["levels"])
    return result


def level_texts(feature: Feature, encoding: Encoding, codes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the texts that codes of levels stand for."""
    known = encoding.levels.get(feature.column, ())
    return tuple(
        known[int(code)] if code.isdecimal() and int(code) < len(known) else code for code in codes
    )


def means_one(feature: Feature, cut: float, high: float) -> str:
    """Say which values of the column count as a one."""
    if feature.level is not None:
        return f"is {feature.level}"
    if np.isfinite(high):
        return f"is {high:g}"
    return f"above {cut:.4g}"
