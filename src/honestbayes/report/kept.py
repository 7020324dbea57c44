"""What the kept features say, as the report has it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from honestbayes.models.binary.explain import FeatureTable
from honestbayes.models.binary.part import BernoulliPart
from honestbayes.models.categorical.explain import CategoricalFeatureTable
from honestbayes.models.factors.classifier import SelectiveFactorClassifier
from honestbayes.models.factors.explain import FactorFeatureTable
from honestbayes.models.factors.part import FactorPart
from honestbayes.models.mixed.estimator import SelectiveMixedNB
from honestbayes.models.mixed.explain import MixedFeatureTable, feature_table
from honestbayes.models.real.explain import GaussianFeatureTable
from honestbayes.models.real.part import GaussianPart
from honestbayes.report.described import correlation_with
from honestbayes.report.record import AnyFeature, CategoricalFeature, KeptFeature, RealFeature
from honestbayes.sources import Binarization
from honestbayes.tables import Encoding, Feature, TrainingTable
from honestbayes.tables.model import Estimator
from honestbayes.types import FloatArray


def kept_features(
    table: TrainingTable, model: Estimator, frequency: FloatArray | None
) -> tuple[AnyFeature, ...]:
    """Say what each kept feature says, how sure that is, and how often it was selected."""

    def selected(column: int) -> float:
        return float("nan") if frequency is None else float(frequency[column])

    if isinstance(model, SelectiveFactorClassifier):
        (fitted,) = model._parts
        assert isinstance(fitted, FactorPart)
        columns, correlation = model.selection_.columns, correlation_with(fitted.fit.moments)
        return _real(table, columns, model.feature_table(), correlation, selected)
    if not isinstance(model, SelectiveMixedNB):
        columns = model.selection_.columns
        return _binary(table, columns, model.feature_table(), model.kept_binarization(), selected)
    result: list[AnyFeature] = []
    rows = mixed_feature_table(model).parts
    for kind, part, places in zip(
        model.selections_, model._parts, model._kept_columns(), strict=True
    ):
        columns = tuple(places.tolist())
        if not columns:
            continue
        found = rows[kind]
        if isinstance(part, BernoulliPart) and isinstance(found, FeatureTable):
            result += _binary(table, columns, found, part.fit.binarization, selected)
        elif isinstance(part, GaussianPart) and isinstance(found, GaussianFeatureTable):
            result += _real(table, columns, found, correlation_with(part.fit.moments), selected)
        elif isinstance(found, CategoricalFeatureTable):
            result += _categorical(table, columns, found, model.slope_, selected)
    return tuple(result)


def mixed_feature_table(model: SelectiveMixedNB) -> MixedFeatureTable:
    """Return what each kept feature of a mixed model says."""
    return feature_table(
        dict(zip(model.selections_, model._parts, strict=True)),
        tuple(str(name) for name in model.get_feature_names_out()),
        tuple(str(label) for label in model.classes_),
        model.slope_,
    )


def _binary(
    table: TrainingTable,
    columns: tuple[int, ...],
    rows: FeatureTable,
    binarization: Binarization,
    selected: Callable[[int], float],
) -> tuple[KeptFeature, ...]:
    result = []
    for position, column in enumerate(columns):
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
                selected=selected(column),
            )
        )
    return tuple(result)


def _real(
    table: TrainingTable,
    columns: tuple[int, ...],
    rows: GaussianFeatureTable | FactorFeatureTable,
    correlation: FloatArray,
    selected: Callable[[int], float],
) -> tuple[RealFeature, ...]:
    return tuple(
        RealFeature(
            name=table.encoding.features[column].name,
            column=table.encoding.features[column].column,
            by_design=bool(rows.by_design[position]),
            correlation=float(correlation[position]),
            centre=tuple(rows.centre[:, position].tolist()),
            spread=float(rows.spread[position]),
            idle=float(rows.idle[position]) if isinstance(rows, GaussianFeatureTable) else None,
            selected=selected(column),
            shared=float(rows.shared[position]) if isinstance(rows, FactorFeatureTable) else None,
        )
        for position, column in enumerate(columns)
    )


def _categorical(
    table: TrainingTable,
    columns: tuple[int, ...],
    rows: CategoricalFeatureTable,
    slope: float,
    selected: Callable[[int], float],
) -> tuple[CategoricalFeature, ...]:
    result = []
    for position, column in enumerate(columns):
        feature = table.encoding.features[column]
        probability = rows.probability[position]
        result.append(
            CategoricalFeature(
                name=feature.name,
                column=feature.column,
                by_design=bool(rows.by_design[position]),
                correlation=float(rows.r[position]),
                levels=level_texts(feature, table.encoding, rows.levels[position]),
                probability=tuple(tuple(of_class) for of_class in probability.tolist()),
                evidence=tuple((slope * _evidence(probability)).tolist()),
                selected=selected(column),
            )
        )
    return tuple(result)


def _evidence(probability: FloatArray) -> FloatArray:
    """Return what each level says: of two classes for the second, else between the extremes."""
    logs = np.log(probability)
    return np.asarray(logs[1] - logs[0] if len(logs) == 2 else np.ptp(logs, axis=0))


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
