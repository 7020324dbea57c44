"""The record of a report: everything that the page, the JSON file and the printed verdict hold."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

import numpy as np

from honestbayes.base.explanation import FeatureRows, ReportSection, TableNames
from honestbayes.data.kinds import Kind
from honestbayes.metrics import (
    CalibrationTable,
    ConfidentPredictions,
    Estimate,
    ReliabilityCurve,
    SmoothCalibration,
    Summary,
    ThresholdTable,
)
from honestbayes.report.methods import UNCORRECTED, UNCORRECTED_NAIVE
from honestbayes.report.verdict import Verdict
from honestbayes.tables import TrainingTable
from honestbayes.tables.model import TableModel
from honestbayes.types import FloatArray, IntArray


def table_names(
    table: TrainingTable | TableModel, frequency: FloatArray | None = None
) -> TableNames:
    """Return the names that a table uses.

    Parameters
    ----------
    table : TrainingTable or TableModel
        The table that a model was fitted to, or the model with its encoding.
    frequency : ndarray, optional
        Share of the folds that kept each feature.
    """
    features, encoding = table.encoding.features, table.encoding
    names = [feature.name for feature in features]
    return TableNames(
        target=table.target,
        classes=table.labels,
        columns={feature.name: feature.column for feature in features},
        levels=encoding.levels,
        indicators={f.name: f.level for f in features if f.level is not None},
        by_design=frozenset(getattr(table, "keep", ())),
        selected={} if frequency is None else dict(zip(names, frequency.tolist(), strict=True)),
    )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A column that is no feature, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """How a column was read, and an overview of its values.

    Attributes
    ----------
    name : str
        Its name.
    read_as : str
        Its kind.
    remark : str
        A note; mostly empty.
    n_missing, n_distinct : int or None
        Missing cells and distinct values; None where the column is left out.
    values : str
        Range and median of numbers, shares of the most frequent categories.
    histogram : tuple of int
        Cases in bins of equal width from the least to the largest number; empty for others.
    """

    name: str
    read_as: Literal["binary", "continuous", "categorical", "left out"]
    remark: str = ""
    n_missing: int | None = None
    n_distinct: int | None = None
    values: str = ""
    histogram: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSummary:
    """The table in numbers.

    Attributes
    ----------
    name : str
        Name of the file, without its folder.
    target : str
        The column of the class.
    labels : tuple of str
        The classes; of two, the negative and the positive one.
    n_cases : int
        Cases.
    class_counts : tuple of int
        Cases of each class.
    n_groups : int or None
        Groups of cases that stay together.
    n_binary, n_real, n_categorical : int
        Columns of each kind that became features.
    n_features : int
        Features: in the binary model a categorical column becomes one for each level.
    n_missing : int
        Missing cells among the features.
    kept_by_design, ignored : tuple of str
        Columns that the user named.
    left_out : tuple of LeftOut
        Columns that cannot be features.
    n_columns : int
        Columns beside the target, the groups, the identifiers and those to be ignored.
    columns : tuple of ReadColumn
        How each of them was read; of wide tables only those about which there is something to say.
    notes : tuple of str
        What else a reader should know.
    """

    name: str
    target: str
    labels: tuple[str, ...]
    n_cases: int
    class_counts: tuple[int, ...]
    n_groups: int | None
    n_binary: int
    n_real: int
    n_categorical: int
    n_features: int
    n_missing: int
    kept_by_design: tuple[str, ...]
    ignored: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    n_columns: int
    columns: tuple[ReadColumn, ...]
    notes: tuple[str, ...]

    @property
    def positive(self) -> str | None:
        """The positive class, where there are two."""
        return self.labels[1] if len(self.labels) == 2 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method of the comparison.

    Attributes
    ----------
    name : str
        What it is called.
    summary : Summary
        Its scores on held-out cases.
    confident : ConfidentPredictions
        Predictions with a probability of 95% or more.
    log_score_difference, squared_error_difference : Estimate or None
        Its score minus that of the model in use, case by case; None for that model itself.
    """

    name: str
    summary: Summary
    confident: ConfidentPredictions
    log_score_difference: Estimate | None
    squared_error_difference: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingResult:
    """What selection kept and what it threw away, of one kind of feature or of all.

    Attributes
    ----------
    rule : str
        In words.
    bound : float
        Absolute correlation below which features were discarded; NaN for several kinds, each of
        which has its own.
    n_kept, n_by_design, n_discarded, n_constant : int
        Features kept, kept by design, discarded, and, among these, constant.
    n_tied_kept, n_tied_discarded : int
        Kept and discarded features whose correlation is exactly the bound.
    just_missed : tuple of (str, float)
        The strongest discarded features and their correlations.
    slope : float
        The factor on the evidence; NaN in an average, whose models have one each.
    kind : {"binary", "categorical", "real", "all"}
        Which features were ranked. The binary model has one ranking only.
    """

    rule: str
    bound: float
    n_kept: int
    n_by_design: int
    n_discarded: int
    n_constant: int
    n_tied_kept: int
    n_tied_discarded: int
    just_missed: tuple[tuple[str, float], ...]
    slope: float
    kind: Kind | Literal["all"] = "binary"


@dataclass(frozen=True, slots=True, eq=False)
class NumberPath:
    """Performance on held-out cases by number of features, one entry of each array a number."""

    n_features: IntArray
    expected_error: FloatArray
    actual_error: FloatArray
    log_score: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Densities:
    """Posterior densities of log(alpha), on a grid."""

    log_alpha: FloatArray
    by_method: dict[str, FloatArray]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Cases:
    """Predictions, one entry of each array a case.

    Probabilities are those of the positive class, shape (n,); with more than two classes, of each
    class, shape (n, C).

    Attributes
    ----------
    row : ndarray of int
        Number of the data row, from 1.
    identifier : tuple of str or None
        Only where the user asked for it.
    actual : ndarray of int
        The actual class, as its index among the labels.
    held_out, held_out_low, held_out_high : ndarray
        By models that had not seen the case: mean, least and largest over repeats.
    held_out_uncorrected : ndarray or None
        The same without the correction: mean over repeats; None where the model has no correction.
    fitted, fitted_low, fitted_high : ndarray
        By the final model, which has seen the case, at the prevalence of use, with its 90%
        interval.
    """

    row: IntArray
    identifier: tuple[str, ...] | None
    actual: IntArray
    held_out: FloatArray
    held_out_low: FloatArray
    held_out_high: FloatArray
    held_out_uncorrected: FloatArray | None
    fitted: FloatArray
    fitted_low: FloatArray
    fitted_high: FloatArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Report:
    """Everything that a report says.

    Attributes
    ----------
    data : DataSummary
        The table.
    verdict : Verdict
        The decision about the model in use.
    in_use : str
        The method whose model is saved.
    methods : tuple of Method
        The comparison, on the same folds.
    reliability, calibration : dict of name to record
        Predicted and observed frequencies of the uncorrected model, where there is one, and of
        the one in use.
    smooth : dict of name to SmoothCalibration
        The same as smooth curves.
    ranking : RankingResult
        What was kept and discarded.
    rankings : tuple of RankingResult
        The same for each kind of feature, where the model has kinds.
    features : tuple of FeatureRows
        The kept features of each kind, with the titles of their columns.
    posterior : Densities or None
        Of log(alpha), with and without the correction, where all features are binary.
    paths : dict of name to NumberPath
        Performance by number of features; empty where it was not asked for.
    sections : tuple of ReportSection
        The sections that the model adds.
    thresholds : ThresholdTable or None
        What follows from acting above a threshold; None with more than two classes.
    confusion : ndarray of shape (C, C), or None
        Held-out cases by actual (rows) and most probable class (columns), the average over
        repeats; None with two classes.
    cases : Cases
        The predictions.
    settings, versions : dict
        What was asked for, and what computed it.
    command : str
        Repeats the report.
    warnings : tuple of str
        What went less than well.
    """

    data: DataSummary
    verdict: Verdict
    in_use: str
    methods: tuple[Method, ...]
    reliability: dict[str, ReliabilityCurve]
    calibration: dict[str, CalibrationTable]
    smooth: dict[str, SmoothCalibration]
    ranking: RankingResult
    rankings: tuple[RankingResult, ...]
    features: tuple[FeatureRows, ...]
    posterior: Densities | None
    paths: dict[str, NumberPath]
    sections: tuple[ReportSection, ...]
    thresholds: ThresholdTable | None
    confusion: FloatArray | None
    cases: Cases
    settings: dict[str, Any]
    versions: dict[str, str]
    command: str
    warnings: tuple[str, ...]

    @property
    def uncorrected(self) -> str | None:
        """The method of the comparison that has no correction, where there is one."""
        names = [method.name for method in self.methods]
        return next((n for n in (UNCORRECTED, UNCORRECTED_NAIVE) if n in names), None)

    def method(self, name: str) -> Method:
        """Return the method with this name."""
        return next(method for method in self.methods if method.name == name)

    def section(self, name: str) -> ReportSection:
        """Return the section with this name."""
        return next(section for section in self.sections if section.name == name)

    def feature_rows(self) -> list[dict[str, Any]]:
        """Return the kept features of all kinds, one mapping for each."""
        return [row for table in self.features for row in table.rows]

    def _repr_html_(self) -> str:
        """Return the whole page in a frame, as a notebook shows it."""
        from html import escape

        from honestbayes.report.render import render

        return (
            f'<iframe srcdoc="{escape(render(self))}" title="report" '
            'style="width: 100%; height: 80vh; border: 1px solid #bbb"></iframe>'
        )

    def to_pandas(self) -> Any:
        """Return what was predicted of each case as a pandas frame."""
        import pandas as pd

        columns = {f.name: getattr(self.cases, f.name) for f in fields(self.cases)}
        flat = {n: v for n, v in columns.items() if v is not None and np.ndim(v) == 1}
        result = pd.DataFrame(flat)
        result["actual"] = [self.data.labels[label] for label in self.cases.actual]
        for name, values in columns.items():
            if values is not None and np.ndim(values) == 2:
                for index, label in enumerate(self.data.labels):
                    result[f"{name}: {label}"] = values[:, index]
        return result

    def to_dict(self, *, cases: bool = True) -> dict[str, Any]:
        """Return plain data that JSON can hold; NaN becomes None, infinities become text."""
        data: dict[str, Any] = {"in_short": self.verdict.in_short}
        data |= {field.name: getattr(self, field.name) for field in fields(self)}
        data["verdict"] = self.verdict.to_dict()
        data["features"] = self.feature_rows()
        data["sections"] = {section.name: section.to_dict() for section in self.sections}
        if not cases:
            del data["cases"]
        result: dict[str, Any] = plain_data(data)
        return result


def plain_data(value: Any) -> Any:
    """Turn records, arrays and numbers into what JSON can hold."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain_data(value.tolist())
    if isinstance(value, np.generic):
        return plain_data(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value
