"""Coding of columns of any kind as numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.data import as_source
from honestbayes.data.categories import Categories, category_table, encode_columns
from honestbayes.data.kinds import ALL_KINDS, Kind, TwoValues, columns_of
from honestbayes.data.level_blocks import IndicatorSource, learn_levels, level_table
from honestbayes.data.source import ColumnsOf, dense_values, is_beyond_memory
from honestbayes.files.fields import Entries, Known, Plain, Section, joined, record_to_plain
from honestbayes.types import FloatArray, IntArray

_APART = ("constant", "covariate")
"""Kinds of columns that models do not see."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnCoding:
    """Coding of the columns of a table.

    Constant columns and covariates are dropped before anything else, so that a table gives the same
    numbers with and without constant ones.

    Attributes
    ----------
    kinds : tuple of {"binary", "categorical", "real", "constant", "covariate"}
        The kind of each column.
    two_values : TwoValues
        Of the binary columns.
    levels : Categories
        Of the categorical columns, in their order.
    """

    kinds: tuple[Kind, ...]
    two_values: TwoValues
    levels: Categories

    @classmethod
    def learn(cls, X: Any, kinds: tuple[Kind, ...]) -> ColumnCoding:
        """Learn the values of a training table's columns; classes do not matter."""
        two_values = TwoValues.learn(X, kinds)
        columns = np.flatnonzero(np.array(kinds) == "categorical")
        if not columns.size:
            return cls(kinds, two_values, Categories(()))
        if hasattr(X, "blocks") and is_beyond_memory(X):
            return cls(kinds, two_values, learn_levels(ColumnsOf(X, columns)).categories())
        return cls(kinds, two_values, category_table(columns_of(X, columns)).levels)

    def varying(self) -> IntArray:
        """Return the columns that are neither constant nor covariates."""
        return np.flatnonzero(~np.isin(self.kinds, _APART))

    def varying_kinds(self) -> tuple[Kind, ...]:
        """Return the kinds of these columns."""
        return tuple(kind for kind in self.kinds if kind not in _APART)

    def sources(self) -> IntArray:
        """Return, for each column of numbers, the varying column that it comes from."""
        kinds = np.array(self.varying_kinds())
        widths = np.ones(kinds.size, dtype=np.int64)
        widths[kinds == "categorical"] = self.levels.n_levels
        return np.repeat(np.arange(kinds.size), widths)

    def take(self, columns: IntArray) -> tuple[ColumnCoding, IntArray]:
        """Return the coding of some varying columns, in any order.

        Also returns the new index of each old column of numbers, or -1.
        """
        varying = self.varying()
        kinds = np.array(self.kinds)
        categorical = np.flatnonzero(kinds == "categorical")
        levels = np.searchsorted(categorical, columns[np.isin(columns, categorical)])
        kept = ColumnCoding(
            tuple(self.kinds[column] for column in columns),
            self.two_values.take(columns),
            self.levels.take(levels),
        )
        sources = varying[self.sources()] if varying.size else np.zeros(0, dtype=np.int64)
        index = np.full(sources.size, -1)
        old = [np.flatnonzero(sources == column) for column in columns]
        if old:
            index[np.concatenate(old)] = np.arange(sum(map(len, old)))
        return kept, index

    def plain(self, X: Any, describe: Callable[[int], str]) -> Any:
        """Return the varying columns of a table, the binary ones as 0 and 1."""
        varying = self.varying()
        X = self.two_values.apply(X, describe)
        if varying.size == len(self.kinds):
            return X
        return ColumnsOf(X, varying) if hasattr(X, "blocks") else columns_of(X, varying)

    def as_numbers(self, plain: Any, describe: Callable[[int], str]) -> Any:
        """Return the varying columns as numbers, with a 0/1 column for each category.

        A missing or unknown category is NaN in all of its columns.

        Parameters
        ----------
        plain : table
            The result of `plain`.
        describe : callable
            Given a column of the whole table, its name in messages.
        """
        if not self.levels.values:
            return plain
        numbers = all(values.dtype.kind == "f" for values in self.levels.values)
        if numbers and hasattr(plain, "blocks") and is_beyond_memory(plain):
            categorical = np.array(self.varying_kinds()) == "categorical"
            return IndicatorSource(plain, categorical, level_table(self.levels))
        kinds, varying = np.array(self.varying_kinds()), self.varying()
        categorical = np.flatnonzero(kinds == "categorical")
        codes, _ = encode_columns(
            columns_of(plain, categorical),
            self.levels,
            lambda index: describe(int(varying[categorical[index]])),
        )
        parts: dict[int, FloatArray] = {}
        others = np.flatnonzero(kinds != "categorical")
        if others.size:
            values = np.asarray(dense_values(as_source(columns_of(plain, others))), dtype=float)
            parts = {int(column): values[:, [j]] for j, column in enumerate(others)}
        for j, column in enumerate(categorical.tolist()):
            indicators = (codes[:, [j]] == np.arange(self.levels.n_levels[j])).astype(float)
            indicators[codes[:, j] < 0] = np.nan
            parts[column] = indicators
        return np.concatenate([parts[column] for column in range(kinds.size)], axis=1)

    def to_plain(self) -> Plain:
        """Return kinds, values and levels as plain data."""
        codes = np.array([ALL_KINDS.index(kind) for kind in self.kinds], dtype=np.int64)
        return joined(
            ({}, {"kinds": codes}),
            two_values=record_to_plain(self.two_values),
            levels=self.levels.to_plain(),
        )

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> ColumnCoding:
        """Return what `to_plain` described."""
        codes = entries.counts("kinds", (known["n_features_in"],), len(ALL_KINDS) - 1)
        kinds = tuple(ALL_KINDS[code] for code in codes.tolist())
        two_values = Section(kind=TwoValues).read(entries, "two_values", dict(known))
        coded = np.flatnonzero(~np.isnan(two_values.low))
        good = all(kinds[column] == "binary" for column in coded.tolist())
        entries.check(good, "two_values", "are not those of binary columns")
        sizes = {"n_columns": kinds.count("categorical")}
        return cls(kinds, two_values, Section(kind=Categories).read(entries, "levels", sizes))
