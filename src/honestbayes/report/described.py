"""The table and the races between its features, as the report has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from honestbayes.base.spec import Card
from honestbayes.data import as_source
from honestbayes.data.categories import category_table, learn_cuts, measured_columns
from honestbayes.data.kinds import Kind, as_columns
from honestbayes.models.cards import card_of
from honestbayes.models.gaussian.model import correlation_with
from honestbayes.report.record import DataSummary, LeftOut, Race, ReadColumn
from honestbayes.selection.categories import count_categories
from honestbayes.selection.correlation import strength_of
from honestbayes.selection.counts import screen
from honestbayes.selection.moments import screen_moments
from honestbayes.tables import TrainingTable
from honestbayes.tables.columns import ColumnKind
from honestbayes.tables.model import Estimator
from honestbayes.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

N_JUST_MISSED = 10

N_BINS = 10
"""Bins of a measurement, where a model has categories only."""

MOST_NAMES = 12
"""Columns of each kind that are named on one line."""

MOST_COLUMNS = 100
"""Columns of a table up to which the report says how each one was read."""

READ_AS: dict[ColumnKind, Literal["flag", "measurement", "category", "left out"]] = {
    "binary": "flag",
    "real": "measurement",
    "categorical": "category",
    "left out": "left out",
}
"""What columns of each kind are called."""

KIND_WORDS = {"binary": "binary", "categorical": "categorical", "real": "real-valued"}
"""What features of each kind are called."""


def data_summary(table: TrainingTable, name: str, more: tuple[str, ...] = ()) -> DataSummary:
    """Put the table into numbers; ``more`` are further notes."""

    def kinds(kind: Literal["binary", "real", "categorical"]) -> int:
        return sum(column.kind == kind for column in table.columns)

    return DataSummary(
        name=name,
        target=table.target,
        labels=table.labels,
        n_cases=int(table.y.size),
        class_counts=tuple(table.class_counts()),
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
        n_columns=len(table.columns),
        columns=_columns_read(table),
        notes=(*table.notes, *more),
    )


def _columns_read(table: TrainingTable) -> tuple[ReadColumn, ...]:
    """Say how each column was read; of wide tables those about which there is something to say."""
    decided = dict.fromkeys(table.decided, "as was asked for")
    doubtful = {finding.column: finding.rule for finding in reversed(table.findings)}
    every = tuple(
        ReadColumn(
            column.name,
            READ_AS[column.kind],
            column.reason or decided.get(column.name) or doubtful.get(column.name, ""),
        )
        for column in table.columns
    )
    if len(every) <= MOST_COLUMNS:
        return every
    return tuple(column for column in every if column.remark)


@dataclass(frozen=True, slots=True)
class ColumnsOfKind:
    """The columns that were read as one kind.

    Attributes
    ----------
    name : str
        What they were read as.
    number : int
        How many they are.
    names : tuple of str
        The first of them, where they are known.
    meaning : str
        What the model does with them.
    """

    name: str
    number: int
    names: tuple[str, ...]
    meaning: str

    @property
    def unnamed(self) -> int:
        """How many more there are."""
        return self.number - len(self.names)


def columns_by_kind(data: DataSummary, card: Card) -> list[ColumnsOfKind]:
    """Return what the columns were read as, kinds that the table has."""
    measured = "numbers, taken as they are"
    if card.cuts or not card.coded:
        measured = f"numbers, cut {'into bins' if card.cuts else 'at their median'}"
    levels = "texts or codes, levels without an order"
    kinds = {
        "measurement": (data.n_real, measured),
        "flag": (data.n_binary, "yes or no: 0 and 1, or two texts"),
        "category": (
            data.n_categorical,
            levels if card.coded else f"{levels}: a yes-or-no feature for each",
        ),
        "left out": (len(data.left_out), "not looked at, for the reasons below"),
    }
    return [
        ColumnsOfKind(name, number, _names_read_as(name, data), meaning)
        for name, (number, meaning) in kinds.items()
        if number
    ]


def _names_read_as(kind: str, data: DataSummary) -> tuple[str, ...]:
    """Return the first columns of a kind; of wide tables the record does not hold all of them."""
    if kind == "left out":
        return tuple(column.name for column in data.left_out[:MOST_NAMES])
    if len(data.columns) < data.n_columns:
        return ()
    return tuple(c.name for c in data.columns if c.read_as == kind)[:MOST_NAMES]


def races(table: TrainingTable, model: Estimator) -> tuple[Race, ...]:
    """Say what selection kept and threw away, for each kind of feature that the model knows."""
    result = []
    for kind, selection in model._selections().items():
        columns = np.flatnonzero(np.array(table.kinds) == kind)
        part = table.X.iloc[:, columns] if card_of(model).by_kind else table.X
        cut = _cut(part, table.kinds) if card_of(model).cuts else part
        strength, constant = _screened(part, table.y, len(table.labels), kind, cut)
        order = np.argsort(-np.abs(strength), kind="stable")
        discarded = order[~selection.support()[order]][:N_JUST_MISSED]
        kept = len(selection.kept)
        result.append(
            Race(
                rule=f"{kept:,} of {kept + selection.n_discarded:,} {KIND_WORDS[kind]}",
                bound=selection.gamma,
                n_kept=kept,
                n_by_design=len(selection.always_kept),
                n_discarded=selection.n_discarded,
                n_constant=int(np.sum(constant & ~selection.support())),
                n_tied_kept=selection.n_tied_kept,
                n_tied_discarded=selection.n_tied_discarded or 0,
                just_missed=tuple((str(part.columns[j]), float(strength[j])) for j in discarded),
                slope=float(model.slope_),
                kind=kind,
            )
        )
    return tuple(result)


def _cut(part: pd.DataFrame, kinds: Sequence[Kind]) -> Any:
    """Return a table with its measurements in bins."""
    columns = as_columns(part)
    measured = measured_columns(columns, list(kinds))
    return learn_cuts(columns, measured, np.arange(columns.n_rows), N_BINS).of(columns)


def _screened(
    part: pd.DataFrame, y: IntArray, n_classes: int, kind: Kind, cut: Any
) -> tuple[FloatArray, BoolArray]:
    """Return the correlation of each feature with the class, and whether the feature is constant.

    The correlation has no sign for categories, and where there are more than two classes. That of
    categories is of the table ``cut``, in which measurements are bins where a model has them so.
    """
    if kind == "binary" and n_classes == 2:
        counts = screen(part, y)
        ones, observed = counts.ones.sum(axis=0), counts.observed_full().sum(axis=0)
        return counts.correlation(), (ones == 0) | (ones == observed)
    values = part.to_numpy()
    constant = ~(np.fmin.reduce(values, axis=0) < np.fmax.reduce(values, axis=0))
    if kind == "real":
        moments = screen_moments(as_source(part), y, np.arange(n_classes))
        return correlation_with(moments), constant
    categories = count_categories(category_table(cut), y, np.arange(n_classes))
    return np.asarray(np.sqrt(strength_of(categories)[0])), constant


def all_races(model: Estimator, by_kind: tuple[Race, ...]) -> Race:
    """Add up the races of all kinds."""
    if not by_kind:
        return _looked_at(model)
    rule = _kinds_in_words if card_of(model).coded else _rule_in_words
    several = {} if len(by_kind) == 1 else _added_up(by_kind)
    return replace(by_kind[0], rule=rule(model, by_kind), **several)


def _looked_at(model: Estimator) -> Race:
    """Say which columns a model looks at that has no ranking of its own."""
    kept, total = model.kept_columns().size, int(model.n_features_in_)
    by_design = 0 if model.always_keep is None else len(model.always_keep)
    one_set = model.get_params(deep=False)["n_features_to_select"] is not None
    rule = f"{kept:,} of {total:,} columns are looked at"
    if kept == total:
        rule = (
            "the one column is looked at" if total == 1 else f"all {total:,} columns are looked at"
        )
    return Race(
        rule=f"{rule}, the same by all models" if one_set else rule,
        bound=float("nan"),
        n_kept=kept - by_design,
        n_by_design=by_design,
        n_discarded=total - kept,
        n_constant=0,
        n_tied_kept=0,
        n_tied_discarded=0,
        just_missed=(),
        slope=float("nan"),
        kind="all",
    )


def _added_up(by_kind: tuple[Race, ...]) -> dict[str, Any]:
    counts = [field.name for field in fields(Race) if field.name.startswith("n_")]
    sums = {name: sum(getattr(race, name) for race in by_kind) for name in counts}
    return {**sums, "bound": float("nan"), "just_missed": (), "kind": "all"}


def races_in_words(by_kind: tuple[Race, ...]) -> str:
    """Say how many features of each kind were kept, and how many by design."""
    words = [race.rule for race in by_kind if race.n_kept + race.n_discarded]
    by_design = sum(race.n_by_design for race in by_kind)
    if by_design:
        words.append(f"{by_design:,} by design")
    return ", ".join(words)


def _rule_in_words(model: Estimator, by_kind: tuple[Race, ...]) -> str:
    """Say by which rule features were kept, where all are of one kind."""
    (race,), (selection,) = by_kind, model._selections().values()
    if selection.rule == "all":
        return "all features are kept"
    if selection.rule == "threshold":
        return f"features with an absolute correlation above {race.bound:g} are kept"
    chosen = ", a number chosen by cross-validation," if model.number_choice_ else ""
    return f"the {race.n_kept:,} features{chosen} that correlate best are kept"


def _kinds_in_words(model: Estimator, by_kind: tuple[Race, ...]) -> str:
    """Say the same where there may be several kinds, and how many of each were kept."""
    if not card_of(model).selects:
        number = sum(race.n_kept + race.n_by_design for race in by_kind)
        return "the one column is kept" if number == 1 else f"all {number:,} columns are kept"
    counts = races_in_words(by_kind)
    if model.threshold is not None:
        return (
            "features with an absolute correlation, or what is as surprising for categories, above "
            f"{model.threshold:g} are kept: {counts}"
        )
    if not any(race.n_discarded for race in by_kind):
        return f"all features are kept: {counts}"
    chosen = ""
    if model.number_choice_ is not None:
        chosen = f", {model.number_choice_.chosen:,} (a number chosen by cross-validation),"
    if len(by_kind) == 1:
        return f"the features{chosen} that correlate best are kept: {counts}"
    return f"of each kind the features{chosen} that correlate best are kept: {counts}"
