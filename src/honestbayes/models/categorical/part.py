"""Categorical features as a part of an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import Known
from honestbayes.files.records import Section, record_from_plain, record_to_plain
from honestbayes.models.categorical.blocks import CategoricalFit
from honestbayes.models.categorical.draws import draw_categorical_evidence
from honestbayes.models.categorical.fit import fit_categories
from honestbayes.models.categorical.settings import CategoricalSettings
from honestbayes.models.shared.parts import (
    Describe,
    FittedPart,
    TrainingLabels,
    TrainingPart,
    tie_breaker,
)
from honestbayes.screening.categories import CategoryCounts, count_categories
from honestbayes.selection import Selection
from honestbayes.sources.columns import number_text
from honestbayes.sources.levels import CategoryTable, Levels, encode_columns
from honestbayes.types import BoolArray, FloatArray, IntArray

_Statistic = tuple[CategoryCounts, FloatArray | None]
"""Counts, and strengths by a user's function, where there is one."""

_MANY = 10
"""Fewer values may well be different by chance."""


@dataclass(frozen=True, slots=True)
class CategoricalPart:
    """Fitted categorical features.

    Attributes
    ----------
    fit : CategoricalFit
        The model.
    levels : Levels
        Levels of the kept columns, in the order of ``selection.columns``.
    """

    fit: CategoricalFit
    levels: Levels

    def to_plain(self) -> Plain:
        """Return the fit and the levels as plain data."""
        return joined(record_to_plain(self.fit), levels=self.levels.to_plain())

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> CategoricalPart:
        """Return the part that `to_plain` described."""
        levels = Section(kind=Levels).read(entries, "levels", known)
        known = {**known, "n_levels": levels.n_levels}
        return cls(record_from_plain(CategoricalFit, entries, known), levels)

    @property
    def selection(self) -> Selection:
        """What was kept and discarded."""
        return self.fit.selection

    def read(self, X: Any, describe: Describe) -> IntArray:
        """Return codes of the kept columns; unknown levels are missing, with a warning.

        Of a column whose values are all different nothing else can be expected.
        """
        codes, unknown = encode_columns(X, self.levels, describe)
        tables = [table for block in self.fit.blocks for table in block.tables]
        unknown = [found for found in unknown if not _all_different(tables[found[0]])]
        if unknown:
            position, value, _ = unknown[0]
            total = sum(number for _, _, number in unknown)
            cells = "1 cell is" if total == 1 else f"{total} cells are"
            shown = repr(value) if isinstance(value, str) else number_text(value)
            warnings.warn(
                f"{cells} taken for missing: levels not seen in fit, such as {shown} in "
                f"{describe(position)}.",
                UserWarning,
                stacklevel=5,
            )
        return codes

    def log_likelihood(self, values: IntArray) -> FloatArray:
        """Return log P(x | class), shape (n, C)."""
        return self.fit.log_likelihood(values)

    def rows(self, values: IntArray, rows: slice) -> IntArray:
        """Return some rows of values that were read."""
        return values[rows]

    def draw_evidence(
        self, values: IntArray, n_draws: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw the evidence of each row, for intervals."""
        return draw_categorical_evidence(self.fit, values, n_draws, generator)


def _all_different(tables: IntArray) -> BoolArray:
    """Whether features with these counts, shape (..., C, V), had no value twice in many rows."""
    by_level = tables.sum(axis=-2)
    return np.asarray((by_level.sum(axis=-1) >= _MANY) & (by_level.max(axis=-1) == 1))


@dataclass(frozen=True, slots=True)
class CategoricalTraining(TrainingPart):
    """Categorical features of a training table; levels are those of all its rows."""

    settings: CategoricalSettings
    table: CategoryTable
    labels: TrainingLabels
    random_state: Any

    def _whole(self) -> _Statistic:
        counts = count_categories(self.table, self.labels.codes, self.labels.classes)
        _warn_of_identifiers(counts)
        return counts, self._strength(np.arange(self.labels.codes.size))

    def _without(self, folds: Sequence[IntArray]) -> Iterator[tuple[IntArray, _Statistic]]:
        for rows, others in self.labels.without(folds):
            counts = count_categories(self.table, self.labels.codes, self.labels.classes, others)
            yield rows, (counts, self._strength(others))

    def _fitted(self, statistic: _Statistic, whole: FittedPart | None) -> CategoricalPart:
        counts, strength = statistic
        learned = whole.fit.race.prior if isinstance(whole, CategoricalPart) else None
        fit = fit_categories(
            counts, self.settings, tie_breaker(self.random_state), learned, strength
        )
        columns = np.array(fit.selection.columns, dtype=np.int64)
        return CategoricalPart(fit, self.table.levels.take(columns))

    def _values(self, part: CategoricalPart, rows: IntArray) -> IntArray:
        columns = np.array(part.selection.columns, dtype=np.int64)
        return self.table.codes[np.ix_(rows, columns)]

    def _strength(self, rows: IntArray) -> FloatArray | None:
        """Return the strengths of all features by a user's function, where there is one."""
        criterion = self.settings.criterion
        if criterion is None or criterion.one_column is None:
            return None
        columns = np.asarray(self.table.codes[rows].T, dtype=np.int64)
        return criterion.strengths(columns, self.labels.codes[rows])


def _warn_of_identifiers(counts: CategoryCounts) -> None:
    """Name a column of which no new row can be known."""
    alike = [group.columns[_all_different(group.tables)] for group in counts.groups]
    found = np.sort(np.concatenate(alike)).tolist()
    if found:
        first, names = found[0], counts.feature_names
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        warnings.warn(
            f"column {first if names is None else repr(names[first])}{more} has another value in "
            "each row, as an identifier has: it can tell nothing about new rows; leave it out.",
            UserWarning,
            stacklevel=6,
        )
