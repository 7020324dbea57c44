"""The record of a report: everything that the page, the JSON file and the printed verdict hold."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from itertools import groupby
from typing import Any, Literal

import numpy as np

from honestbayes.average.estimator import AverageSummary
from honestbayes.data.kinds import Kind
from honestbayes.metrics import (
    CalibrationTable,
    ConfidentPredictions,
    Estimate,
    ReliabilityCurve,
    Summary,
    ThresholdTable,
)
from honestbayes.models.factors.model import Factors
from honestbayes.models.interactions.model import Interactions
from honestbayes.models.mixture.model import Components
from honestbayes.models.networks.model import Edges
from honestbayes.report.methods import UNCORRECTED, UNCORRECTED_NAIVE
from honestbayes.report.verdict import Verdict
from honestbayes.tables import Encoding, Feature, TrainingTable
from honestbayes.tables.model import Estimator, TableModel
from honestbayes.types import FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# What the kept features say, as the report has it
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFeature:
    """One binary feature of a model of two classes, and what it says.

    Attributes
    ----------
    name, column : str
        The feature, and the column it comes from.
    means_one : str
        What a one is, in words.
    by_design : bool
        Whether the user kept it.
    correlation : float
        With the positive class, on all cases.
    p_negative, p_positive, sd_negative, sd_positive : float
        Probability of a one in each class, and how sure that is.
    evidence_if_one, evidence_if_zero : float
        What a one, or a zero, adds to the log-odds of the positive class.
    selected : float
        Share of the folds that kept it.
    """

    name: str
    column: str
    means_one: str
    by_design: bool
    correlation: float
    p_negative: float
    p_positive: float
    sd_negative: float
    sd_positive: float
    evidence_if_one: float
    evidence_if_zero: float
    selected: float
    kind: Literal["binary"] = "binary"


@dataclass(frozen=True, slots=True, kw_only=True)
class RealFeature:
    """One real-valued feature of the model, and what it says.

    Attributes
    ----------
    name, column : str
        The feature, and the column it comes from.
    by_design : bool
        Whether the user kept it.
    correlation : float
        With the positive class, on all cases; with more than two classes, the multiple
        correlation with them.
    centre : tuple of float
        Where the values of each class lie, shrunk towards each other.
    spread : float
        Typical deviation within a class.
    prob_null : float or None
        Probability that the feature tells nothing; None in models that have no such thing.
    selected : float
        Share of the folds that kept it.
    shared : float or None
        Share of the variance within a class that is due to factors; None in other models.
    coefficient, coefficient_sd : tuple of float, or None
        Posterior means and standard deviations of what a standard deviation of the feature adds to
        the log-odds of the positive class, or of each of more than two; None in other models.
    """

    name: str
    column: str
    by_design: bool
    correlation: float
    centre: tuple[float, ...]
    spread: float
    prob_null: float | None
    selected: float
    shared: float | None = None
    coefficient: tuple[float, ...] | None = None
    coefficient_sd: tuple[float, ...] | None = None
    kind: Literal["real"] = "real"


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoricalFeature:
    """One categorical feature of the model, and what it says.

    With more than two classes, binary features too are of this kind, with two levels.

    Attributes
    ----------
    name, column : str
        The feature, and the column it comes from.
    by_design : bool
        Whether the user kept it.
    correlation : float
        The correlation of a yes-or-no feature that would be as surprising.
    levels : tuple of str
        Its levels, in sorted order.
    probability : tuple of tuple of float
        For each class, the probability of each level.
    evidence : tuple of float
        What each level adds to the log-odds of the positive class; with more than two classes,
        to those of the class that it speaks for most against the one that it speaks against most.
    selected : float
        Share of the folds that kept it.
    """

    name: str
    column: str
    by_design: bool
    correlation: float
    levels: tuple[str, ...]
    probability: tuple[tuple[float, ...], ...]
    evidence: tuple[float, ...]
    selected: float
    kind: Literal["categorical"] = "categorical"

    def strongest_levels(self, most: int = 12) -> list[int]:
        """Return positions of the levels that say most, in their order, for a page."""
        order = sorted(range(len(self.levels)), key=lambda v: -abs(self.evidence[v]))
        return sorted(order[:most])


AnyFeature = KeptFeature | RealFeature | CategoricalFeature

_RECORDS: dict[str, type[AnyFeature]] = {
    "binary": KeptFeature,
    "categorical": CategoricalFeature,
    "real": RealFeature,
}


def kept_features(
    table: TrainingTable, model: Estimator, frequency: FloatArray | None
) -> tuple[AnyFeature, ...]:
    """Say what each kept feature says, how sure that is, and how often it was selected."""
    result = []
    columns = iter(model.kept_columns().tolist())
    for found in model._feature_tables().values():
        # Rows first: where they end, zip has not yet taken a column of the next kind.
        for row, column in zip(found.rows(), columns, strict=False):
            feature = table.encoding.features[column]
            row |= {"name": feature.name, "column": feature.column}
            row["selected"] = float("nan") if frequency is None else float(frequency[column])
            if "levels" in row:
                row["levels"] = level_texts(feature, table.encoding, row["levels"])
            if "cut" in row:
                row["means_one"] = means_one(feature, row.pop("cut"), row.pop("high"))
            result.append(_RECORDS[found.kind](**row))
    return tuple(result)


@dataclass(frozen=True, slots=True, kw_only=True)
class AverageModel:
    """One model of an average.

    Attributes
    ----------
    name, title : str
        What it is called, and what it is.
    n_features : int or None
        How many it keeps; None where it sees to that itself.
    weight, slope, outlier_rate : float
        What its log-odds count for in the average; the factor on its evidence; the share of cases
        of which it is taken to know nothing.
    log_score, error : float
        On held-out training cases, and its standard error.
    """

    name: str
    title: str
    n_features: int | None
    weight: float
    slope: float
    outlier_rate: float
    log_score: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AverageColumn:
    """One column that an average looks at.

    Attributes
    ----------
    column : str
        Its name.
    kind : str
        What it holds.
    use : float
        Share of the weight of all models that those have which look at it.
    models : int
        How many these are.
    by_design : bool
        Whether the user kept it.
    selected : float
        Share of the folds whose average looked at it.
    """

    column: str
    kind: str
    use: float
    models: int
    by_design: bool
    selected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """What an average is made of.

    Attributes
    ----------
    models : tuple of AverageModel
        Those of one kind together, the kind of most weight first; the class frequencies last.
    columns : tuple of AverageColumn
        The columns that predictions need, those first that most of the average looks at.
    n_models : int
        Models with any weight.
    log_score : float
        Of the average on held-out training cases; a little too good.
    restriction_cost : float or None
        What keeping one set of columns costs in that score; None where it was not asked for.
    """

    models: tuple[AverageModel, ...]
    columns: tuple[AverageColumn, ...]
    n_models: int
    log_score: float
    restriction_cost: float | None

    def families(self) -> list[list[AverageModel]]:
        """Return the models of each kind, without the class frequencies."""
        return [list(alike) for _, alike in groupby(self.models[:-1], lambda model: model.name)]


def average_in_words(
    found: AverageSummary | None,
    table: TrainingTable,
    kept: IntArray,
    frequency: FloatArray | None,
) -> Average | None:
    """Return what an average is made of in the words of the table.

    Parameters
    ----------
    found : AverageSummary or None
        From the model.
    table : TrainingTable
        What it was fitted to.
    kept : ndarray of int
        Which features it looks at, in the order of ``found``.
    frequency : ndarray or None
        Share of the folds that looked at each feature of the table.
    """
    if found is None:
        return None
    rest = found.models.to_dict()
    names = rest.pop("model")
    models = [
        AverageModel(
            name=name,
            title=found.titles[place],
            **{word: values[place] for word, values in rest.items()},
        )
        for place, name in enumerate(names)
    ]
    *tried, frequencies = models
    shares: dict[str, float] = dict.fromkeys(names, 0.0)
    for model in tried:
        shares[model.name] += model.weight
    columns = found.columns
    return Average(
        models=(*sorted(tried, key=lambda one: (-shares[one.name], one.name)), frequencies),
        columns=tuple(
            AverageColumn(
                column=table.encoding.features[place].column,
                kind=columns.kind[j],
                use=float(columns.use[j]),
                models=int(columns.models[j]),
                by_design=table.encoding.features[place].name in table.keep,
                selected=float("nan") if frequency is None else float(frequency[place]),
            )
            for j, place in enumerate(kept.tolist())
        ),
        n_models=found.n_models,
        log_score=found.log_score,
        restriction_cost=found.restriction_cost,
    )


def interactions_in_words(
    found: Interactions | None, table: TrainingTable | TableModel
) -> Interactions | None:
    """Return the same patterns in the words of the table: its columns, levels and classes."""
    if found is None:
        return None
    of_name = {feature.name: feature for feature in table.encoding.features}

    def words(name: str, level: str) -> tuple[str, str]:
        feature = of_name[name]
        return feature.column, level_texts(feature, table.encoding, (level,))[0]

    labels = {str(place): label for place, label in enumerate(table.labels)}
    return found.with_cells(words).renamed(str, labels)


def edges_in_words(found: Edges | None, table: TrainingTable | TableModel) -> Edges | None:
    """Return the same arcs between columns and the target, as the table calls them."""
    if found is None:
        return None
    columns = {feature.name: feature.column for feature in table.encoding.features}
    return found.renamed(lambda name: columns.get(name, table.target))


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


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A column that is no feature, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """How a column was read, and what is to be said about it."""

    name: str
    read_as: Literal["flag", "measurement", "category", "left out"]
    remark: str = ""


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
    claims : ConfidentPredictions
        Cases claimed at 95% or more.
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
        Which features ran. The binary model has one race only.
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
        The actual class, as its place among the labels.
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
        In words.
    in_use : str
        The method whose model is saved.
    methods : tuple of Method
        The comparison, on the same folds.
    reliability, calibration : dict of name to record
        Claims and facts of the uncorrected model, where there is one, and of the one in use.
    race : RankingResult
        What was kept and discarded.
    rankings : tuple of RankingResult
        The same for each kind of feature, where the model has kinds.
    features : tuple of KeptFeature, RealFeature or CategoricalFeature
        What the kept features say.
    posterior : Densities or None
        Of log(alpha), with and without the correction, where all features are binary.
    paths : dict of name to NumberPath
        Performance by number of features; empty where it was not asked for.
    groups : Components or None
        The two groups of cases that a mixture found; None for other models.
    factors : Factors or None
        How many factors a factor model has; None for other models.
    interactions : Interactions or None
        The largest coefficients of a model with interactions; None for other models.
    edges : Edges or None
        The arcs of networks with their probabilities; None for other models.
    average : Average or None
        What an average is made of; None for other models.
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
    ranking: RankingResult
    rankings: tuple[RankingResult, ...]
    features: tuple[AnyFeature, ...]
    posterior: Densities | None
    paths: dict[str, NumberPath]
    groups: Components | None
    factors: Factors | None
    interactions: Interactions | None
    edges: Edges | None
    average: Average | None
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
                for place, label in enumerate(self.data.labels):
                    result[f"{name}: {label}"] = values[:, place]
        return result

    def to_dict(self, *, cases: bool = True) -> dict[str, Any]:
        """Return plain data that JSON can hold; NaN becomes None, infinities become text."""
        from honestbayes.report.render import in_short

        data: dict[str, Any] = {"in_short": in_short(self)}
        data |= {field.name: getattr(self, field.name) for field in fields(self)}
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
