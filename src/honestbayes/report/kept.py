"""What the kept features say, as the report has it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import numpy as np

from honestbayes.average.estimator import MadeOf
from honestbayes.models.interactions.model import Interactions
from honestbayes.models.networks.model import Edges
from honestbayes.tables import Encoding, Feature, TrainingTable
from honestbayes.tables.model import Estimator, TableModel
from honestbayes.types import FloatArray, IntArray


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
    idle : float or None
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
    idle: float | None
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
    weight, slope, lapse : float
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
    lapse: float
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
    found: MadeOf | None,
    table: TrainingTable,
    kept: IntArray,
    frequency: FloatArray | None,
) -> Average | None:
    """Return what an average is made of in the words of the table.

    Parameters
    ----------
    found : MadeOf or None
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
