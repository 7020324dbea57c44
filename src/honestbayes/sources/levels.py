"""Categorical tables: the levels of each column, and codes of their cells.

A level is a text or a whole number from 0 on, or any number where a frame calls the column a
category or the column has two values or fewer. The levels of a column are those that occur in
training, or those that a frame declares. A column with one value has a second level that was never
seen, so every feature has two levels or more, as a constant 0/1 column has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, texts_as_arrays
from honestbayes.files.fields import Known
from honestbayes.sources.columns import (
    Columns,
    as_columns,
    as_texts,
    column_cells,
    distinct,
    is_missing,
)
from honestbayes.types import AnyArray, BoolArray, IntArray

_MOST_LEVELS = 10**9

LARGEST_CODE = 255
"""Whole numbers up to this one are coded by a table, without sorting."""

MISSING = -1


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The levels of some columns.

    Attributes
    ----------
    values : tuple of ndarray
        The levels of each column in order: floats, or an object array of texts. One that was
        never seen is NaN or None.
    """

    values: tuple[AnyArray, ...]

    @property
    def n_levels(self) -> IntArray:
        """Number of levels of each column, two or more."""
        return np.array([values.size for values in self.values], dtype=np.int64)

    def seen(self) -> list[list[Any]]:
        """Return the levels of each column that occurred, whole numbers as such."""
        return [
            [
                v if isinstance(v, str) or v != int(v) else int(v)
                for v in values.tolist()
                if v is not None and v == v
            ]
            for values in self.values
        ]

    def take(self, columns: IntArray) -> Levels:
        """Return the levels of some of the columns."""
        return Levels(tuple(self.values[column] for column in columns))

    def to_plain(self) -> Plain:
        """Return levels column after column: numbers, or texts; a level never seen has neither."""
        values = [value for column in self.values for value in column.tolist()]
        number = [np.nan if value is None or isinstance(value, str) else value for value in values]
        arrays: dict[str, AnyArray] = {
            "n_levels": self.n_levels,
            "text": np.array([column.dtype.kind == "O" for column in self.values], dtype=bool),
            "seen": np.array([not is_missing(value) for value in values], dtype=bool),
            "number": np.array(number, dtype=float),
        }
        texts = [value if isinstance(value, str) else "" for value in values]
        return {}, arrays | texts_as_arrays("word", texts)

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> Levels:
        """Return the levels of ``known["n_columns"]`` columns; refuse what cannot be levels."""
        n_columns = known["n_columns"]
        n_levels = entries.counts("n_levels", (n_columns,), _MOST_LEVELS)
        entries.check(np.all(n_levels >= 2), "n_levels", "is less than two")
        total = sum(n_levels.tolist())
        entries.check(total <= _MOST_LEVELS, "n_levels", "is too large")
        text, seen = entries.mask("text", (n_columns,)), entries.mask("seen", (total,))
        number, words = entries.floats("number", (total,)), entries.texts("word")
        entries.check(len(words) == total, "word", "does not name every level")
        entries.check(
            np.all(np.isfinite(number[seen & ~np.repeat(text, n_levels)])),
            "number",
            "is not finite",
        )
        values: list[AnyArray] = []
        for start, stop, is_text in zip(
            np.cumsum(n_levels) - n_levels, np.cumsum(n_levels), text, strict=True
        ):
            there = seen[start:stop]
            if is_text:
                found = np.array(words[start:stop], dtype=object)
                found[~there] = None
            else:
                found = np.where(there, number[start:stop], np.nan)
            once = len(set(found[there].tolist())) == np.sum(there)
            entries.check(once, "word", "or number names a level twice")
            values.append(found)
        return cls(tuple(values))


@dataclass(frozen=True, slots=True, eq=False)
class CategoryTable:
    """A table of codes: the position of each cell among its column's levels, -1 for missing.

    Attributes
    ----------
    codes : ndarray of int of shape (n, p)
        The cells.
    levels : Levels
        What they stand for.
    feature_names : tuple of str or None
        Names, where the table had them.
    """

    codes: AnyArray
    levels: Levels
    feature_names: tuple[str, ...] | None


def category_table(X: Any) -> CategoryTable:
    """Find the levels of every column, and code its cells."""
    columns = as_columns(X)
    if columns.numbers is not None:
        coded = _code_small_numbers(columns)
        if coded is not None:
            return coded
    codes = np.empty((columns.n_rows, columns.n_columns), dtype=np.int32)
    levels = []
    for j in range(columns.n_columns):
        values, missing = column_cells(columns.get(j), columns.name(j), any_number=True)
        found = distinct(values[~missing])
        if found.size > 2 and not columns.is_category(j):
            column_cells(columns.get(j), columns.name(j), any_number=False)
        declared = columns.declared(j)
        if declared is not None and np.isin(found, declared).all():
            found = declared
        codes[:, j] = positions(values, missing, found)
        if found.size < 2:
            found, shift = _with_a_second(found)
            codes[~missing, j] += shift
        levels.append(found)
    return CategoryTable(codes, Levels(tuple(levels)), columns.feature_names)


def encode_columns(
    X: Any, levels: Levels, describe: Callable[[int], str]
) -> tuple[IntArray, list[tuple[int, Any, int]]]:
    """Code the columns of a table by known levels; what is unknown is missing.

    Parameters
    ----------
    X : table
        Of any kind.
    levels : Levels
        Of its columns.
    describe : callable
        Given a column, how messages call it.

    Returns
    -------
    codes : ndarray of shape (n, k)
        -1 for missing and unknown.
    unknown : list of (place, value, number of cells)
        An unknown value of each column that has any, and how many cells are unknown there.
    """
    columns = as_columns(X)
    codes = np.full((columns.n_rows, columns.n_columns), MISSING, dtype=np.int64)
    unknown = []
    for place, known in enumerate(levels.values):
        any_number = columns.is_category(place) or not _are_whole(known)
        values, missing = column_cells(columns.get(place), describe(place), any_number)
        if (values.dtype.kind == "O") != (known.dtype.kind == "O"):
            values, known = as_texts(values), as_texts(known)
        codes[:, place] = positions(values, missing, known)
        strange = ~missing & (codes[:, place] == MISSING)
        if strange.any():
            unknown.append((place, values[strange][0], int(strange.sum())))
    return codes, unknown


def _are_whole(levels: AnyArray) -> bool:
    """Whether no level is a negative number or a fraction."""
    seen = levels[levels == levels] if levels.dtype.kind == "f" else levels[:0]
    return bool(np.all((seen >= 0) & (seen == np.rint(seen))))


def positions(values: AnyArray, missing: BoolArray, known: AnyArray) -> IntArray:
    """Place of each value among sorted levels; -1 for missing and unknown."""
    codes = np.full(values.size, MISSING, dtype=np.int64)
    place = {level: index for index, level in enumerate(known.tolist()) if level is not None}
    present = np.flatnonzero(~missing)
    codes[present] = [place.get(value, MISSING) for value in values[present].tolist()]
    return codes


def _with_a_second(found: AnyArray) -> tuple[AnyArray, int]:
    """Return two levels where one or none was seen, and how far that shifts the codes.

    A column of ones is a 0/1 column that happens to be constant, so 0 comes first.
    """
    text = found.dtype.kind == "O"
    unseen: Any = None if text else np.nan
    dtype = object if text else float
    if found.size == 0:
        return np.array([unseen, unseen], dtype=dtype), 0
    if not text and found[0] == 1:
        return np.array([0.0, 1.0]), 1
    return np.array([found[0], unseen], dtype=dtype), 0


def _code_small_numbers(columns: Columns) -> CategoryTable | None:
    """Code a table of small whole numbers all at once; None where it is not one."""
    numbers = columns.numbers
    assert numbers is not None
    if numbers.dtype.kind == "b":
        numbers = numbers.astype(np.uint8)
    missing = np.isnan(numbers) if numbers.dtype.kind == "f" else np.zeros((1, 1), dtype=bool)
    any_missing = bool(missing.any())
    filled = np.where(missing, 0, numbers) if any_missing else numbers
    with np.errstate(invalid="ignore"):
        good = filled.min(initial=0) >= 0 and filled.max(initial=0) <= LARGEST_CODE
        if numbers.dtype.kind == "f":
            good = good and bool((filled == np.rint(filled)).all())
    if not good:
        return None
    cells = filled.astype(np.uint8)
    n, p = cells.shape
    width = int(cells.max(initial=0)) + 1
    seen = np.zeros((p, width), dtype=bool)
    column = np.arange(p)
    for row in range(n):
        if any_missing:
            present = ~missing[row]
            seen[column[present], cells[row, present]] = True
        else:
            seen[column, cells[row]] = True
    code_of = np.cumsum(seen, axis=1) - 1
    place, value = np.nonzero(seen)
    ends = np.searchsorted(place, np.arange(1, p))
    levels = np.split(value.astype(float), ends)
    for j in np.flatnonzero(seen.sum(axis=1) < 2).tolist():
        levels[j], shift = _with_a_second(levels[j])
        code_of[j] += shift
    kind = np.int16
    codes = code_of.astype(kind)[column, cells]
    if any_missing:
        codes[missing] = MISSING
    return CategoryTable(codes, Levels(tuple(levels)), columns.feature_names)
