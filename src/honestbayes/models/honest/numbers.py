"""A table as numbers: a flag for each level of a categorical column, other columns as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import Known
from honestbayes.files.records import Section
from honestbayes.sources import as_source
from honestbayes.sources.kinds import KINDS, Kind, columns_of
from honestbayes.sources.levels import Levels, category_table, encode_columns
from honestbayes.sources.source import dense_values
from honestbayes.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """How the columns of a table become numbers.

    Attributes
    ----------
    kinds : tuple of {"binary", "categorical", "real"}
        The kind of each column.
    levels : Levels
        Of the categorical columns, in their order.
    """

    kinds: tuple[Kind, ...]
    levels: Levels

    @classmethod
    def learn(cls, X: Any, kinds: tuple[Kind, ...]) -> Numbers:
        """Learn the levels of a training table's categorical columns; classes do not matter."""
        columns = np.flatnonzero(np.array(kinds) == "categorical")
        if not columns.size:
            return cls(kinds, Levels(()))
        return cls(kinds, category_table(columns_of(X, columns)).levels)

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers already."""
        return not self.levels.values

    def sources(self) -> IntArray:
        """Return from which column of the table each column of numbers comes."""
        widths = np.ones(len(self.kinds), dtype=np.int64)
        widths[self._categorical()] = self.levels.n_levels
        return np.repeat(np.arange(len(self.kinds)), widths)

    def _categorical(self) -> IntArray:
        return np.flatnonzero(np.array(self.kinds) == "categorical")

    def take(self, columns: IntArray) -> tuple[Numbers, IntArray]:
        """Return the same for some columns; and where each old column of numbers stands, or -1."""
        categorical = self._categorical()
        levels = np.searchsorted(categorical, columns[np.isin(columns, categorical)])
        kept = Numbers(tuple(self.kinds[column] for column in columns), self.levels.take(levels))
        sources = self.sources()
        place = np.full(sources.size, -1)
        old = [np.flatnonzero(sources == column) for column in columns]
        if old:
            place[np.concatenate(old)] = np.arange(sum(map(len, old)))
        return kept, place

    def apply(self, X: Any, describe: Callable[[int], str]) -> Any:
        """Return the table as numbers; what is missing or unknown is NaN in all of its flags."""
        if self.is_plain:
            return X
        categorical = self._categorical()
        codes, _ = encode_columns(
            columns_of(X, categorical), self.levels, lambda place: describe(int(categorical[place]))
        )
        parts: dict[int, FloatArray] = {}
        others = np.flatnonzero(np.array(self.kinds) != "categorical")
        if others.size:
            values = np.asarray(dense_values(as_source(columns_of(X, others))), dtype=float)
            parts = {int(column): values[:, [j]] for j, column in enumerate(others)}
        for j, column in enumerate(categorical.tolist()):
            flags = (codes[:, [j]] == np.arange(self.levels.n_levels[j])).astype(float)
            flags[codes[:, j] < 0] = np.nan
            parts[column] = flags
        return np.concatenate([parts[column] for column in range(len(self.kinds))], axis=1)

    def to_plain(self) -> Plain:
        """Return kinds and levels as plain data."""
        codes = np.array([KINDS.index(kind) for kind in self.kinds], dtype=np.int64)
        return joined(({}, {"kinds": codes}), levels=self.levels.to_plain())

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> Numbers:
        """Return what `to_plain` described."""
        codes = entries.counts("kinds", (known["n_features_in"],), len(KINDS) - 1)
        kinds = tuple(KINDS[code] for code in codes.tolist())
        sizes = {"n_columns": kinds.count("categorical")}
        return cls(kinds, Section(kind=Levels).read(entries, "levels", sizes))
