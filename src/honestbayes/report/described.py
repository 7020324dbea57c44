"""The table and the races between its features, as the report has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from honestbayes.models.binary.estimator import SelectiveBernoulliNB
from honestbayes.models.factors.classifier import SelectiveFactorClassifier
from honestbayes.models.mixed.estimator import SelectiveMixedNB
from honestbayes.models.mixture.estimator import SelectiveMixture
from honestbayes.report.record import DataSummary, LeftOut, Race
from honestbayes.screening import screen
from honestbayes.screening.categories import count_categories
from honestbayes.screening.moments import Moments, screen_moments
from honestbayes.selection import Selection
from honestbayes.selection.association import strength_of
from honestbayes.sources import as_source
from honestbayes.sources.levels import category_table
from honestbayes.tables import TrainingTable
from honestbayes.tables.model import Estimator
from honestbayes.types import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

N_JUST_MISSED = 10

KIND_WORDS = {"binary": "binary", "categorical": "categorical", "real": "real-valued"}
"""What features of each kind are called."""


def data_summary(table: TrainingTable, name: str) -> DataSummary:
    """Put the table into numbers."""

    def kinds(kind: Literal["binary", "real", "categorical"]) -> int:
        return sum(column.kind == kind for column in table.columns)

    return DataSummary(
        name=name,
        target=table.target,
        labels=table.labels,
        n_cases=int(table.y.size),
        class_counts=tuple(np.bincount(table.y, minlength=len(table.labels)).tolist()),
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


def race(table: TrainingTable, model: Estimator, by_kind: tuple[Race, ...] = ()) -> Race:
    """Say what selection kept and what it threw away.

    Parameters
    ----------
    table : TrainingTable
        The data.
    model : estimator
        Fitted to all rows.
    by_kind : tuple of Race
        The races of a model with kinds of features, to be added up.
    """
    if isinstance(model, SelectiveMixedNB | SelectiveFactorClassifier):
        return _all_races(model, by_kind)
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


def _rule_in_words(model: SelectiveBernoulliNB | SelectiveMixture) -> str:
    selection = model.selection_
    if selection.rule == "all":
        return "all features are kept"
    if selection.rule == "threshold":
        return f"features with an absolute correlation above {selection.gamma:g} are kept"
    chosen = ", a number chosen by cross-validation," if model.number_choice_ else ""
    return f"the {len(selection.kept):,} features{chosen} that correlate best are kept"


def races(table: TrainingTable, model: Estimator) -> tuple[Race, ...]:
    """Say the same of each kind of feature, where the model has kinds; all are real for factors."""
    if isinstance(model, SelectiveFactorClassifier):
        return (_race_of_kind(table.X, table, model.selection_, "real", model.slope_),)
    if not isinstance(model, SelectiveMixedNB):
        return ()
    result = []
    for kind, selection in model.selections_.items():
        columns = np.flatnonzero(np.array(table.kinds) == kind)
        part = table.X.iloc[:, columns]
        result.append(_race_of_kind(part, table, selection, kind, model.slope_))
    return tuple(result)


def _race_of_kind(
    part: pd.DataFrame, table: TrainingTable, selection: Selection, kind: str, slope: float
) -> Race:
    strength = _strength(part, table.y, len(table.labels), kind)
    order = np.argsort(-np.abs(strength), kind="stable")
    discarded = order[~selection.support()[order]][:N_JUST_MISSED]
    values = part.to_numpy()
    constant = ~(np.fmin.reduce(values, axis=0) < np.fmax.reduce(values, axis=0))
    return Race(
        rule=_kind_in_words(kind, len(selection.kept), selection.n_discarded),
        bound=selection.gamma,
        n_kept=len(selection.kept),
        n_by_design=len(selection.always_kept),
        n_discarded=selection.n_discarded,
        n_constant=int(np.sum(constant & ~selection.support())),
        n_tied_kept=selection.n_tied_kept,
        n_tied_discarded=selection.n_tied_discarded or 0,
        just_missed=tuple((str(part.columns[j]), float(strength[j])) for j in discarded),
        slope=float(slope),
        kind=kind,  # type: ignore[arg-type]  # one of the kinds
    )


def _strength(part: pd.DataFrame, y: IntArray, n_classes: int, kind: str) -> FloatArray:
    """Return the correlation of each feature with the class.

    It has no sign for categories, and where there are more than two classes.
    """
    if kind == "binary" and n_classes == 2:
        return screen(part, y).correlation()
    if kind == "real":
        return correlation_with(screen_moments(as_source(part), y, np.arange(n_classes)))
    counts = count_categories(category_table(part), y, np.arange(n_classes))
    return np.asarray(np.sqrt(strength_of(counts)[0]))


def correlation_with(moments: Moments) -> FloatArray:
    """Return the correlation of real-valued features with the class; its sign, of two classes."""
    size = np.sqrt(moments.r_squared())
    if moments.mean.shape[0] > 2:
        return np.asarray(size)
    return np.asarray(np.sign(moments.mean[1] - moments.mean[0]) * size)


def _kind_in_words(kind: str, kept: int, discarded: int) -> str:
    return f"{kept:,} of {kept + discarded:,} {KIND_WORDS[kind]}"


def _all_races(
    model: SelectiveMixedNB | SelectiveFactorClassifier, by_kind: tuple[Race, ...]
) -> Race:
    """Add up the races of all kinds."""
    one = by_kind[0] if len(by_kind) == 1 else None
    return Race(
        rule=_mixed_rule_in_words(model, by_kind),
        bound=float("nan") if one is None else one.bound,
        n_kept=sum(race.n_kept for race in by_kind),
        n_by_design=sum(race.n_by_design for race in by_kind),
        n_discarded=sum(race.n_discarded for race in by_kind),
        n_constant=sum(race.n_constant for race in by_kind),
        n_tied_kept=sum(race.n_tied_kept for race in by_kind),
        n_tied_discarded=sum(race.n_tied_discarded for race in by_kind),
        just_missed=() if one is None else one.just_missed,
        slope=float(model.slope_),
        kind="all" if one is None else one.kind,
    )


def races_in_words(by_kind: tuple[Race, ...]) -> str:
    """Say how many features of each kind were kept, and how many by design."""
    words = [race.rule for race in by_kind if race.n_kept + race.n_discarded]
    by_design = sum(race.n_by_design for race in by_kind)
    if by_design:
        words.append(f"{by_design:,} by design")
    return ", ".join(words)


def _mixed_rule_in_words(
    model: SelectiveMixedNB | SelectiveFactorClassifier, by_kind: tuple[Race, ...]
) -> str:
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
