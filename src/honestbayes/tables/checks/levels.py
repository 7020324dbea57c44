"""A column as the checks see it: its different values, and the classes of the rows of each."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.special import gammaln, logsumexp, xlogy

from honestbayes.tables.columns import Column
from honestbayes.tables.conversion import floats, is_number, is_text, levels_and_codes
from honestbayes.types import FloatArray, IntArray

LUCK = 1e-4
"""Probability, times the number of columns, below which something is not taken for luck."""


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The different values of a column.

    Attributes
    ----------
    column : Column
        What it is used as.
    values : ndarray of shape (L,), or None
        The different numbers, ascending; None for text.
    words : tuple of str
        The different texts; empty for numbers.
    codes : ndarray of shape (n,)
        Place of each row's value; -1 where it is missing.
    y : ndarray of shape (n,)
        Class of each row.
    table : ndarray of shape (L, C)
        Rows of each value and class.
    class_counts : ndarray of shape (C,)
        Rows of each class in the whole table.
    n_columns : int
        Columns that are looked at: the more there are, the more luck is in the best of them.
    weight : float
        What a row counts where luck is judged: less than 1 where rows belong together.
    """

    column: Column
    values: FloatArray | None
    words: tuple[str, ...]
    codes: IntArray
    y: IntArray
    table: IntArray
    class_counts: IntArray
    n_columns: int
    weight: float

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name

    @property
    def n_values(self) -> int:
        """Number of different values."""
        return int(self.table.shape[0])

    @property
    def n_observed(self) -> int:
        """Number of rows with a value."""
        return int(self.table.sum())

    @property
    def rows(self) -> IntArray:
        """Number of rows of each value, shape (L,)."""
        return np.asarray(self.table.sum(axis=1))

    @property
    def pure(self) -> IntArray:
        """Whether all rows of a value are of one class, shape (L,)."""
        return np.asarray(np.count_nonzero(self.table, axis=1) == 1)

    @property
    def n_mixed(self) -> int:
        """Number of rows whose value occurs in more than one class."""
        return int(self.rows[~self.pure].sum())

    def joined(self, other: Levels) -> Levels:
        """Return the pairs of values of two columns, where both have one."""
        both = (self.codes >= 0) & (other.codes >= 0)
        pairs = np.where(both, self.codes * other.n_values + other.codes, -1)
        found, places = np.unique(pairs[both], return_inverse=True)
        codes = np.full(pairs.size, -1, dtype=np.int64)
        codes[both] = places
        y, counts = self.y, self.class_counts
        words = tuple(map(str, found.tolist()))
        return _levels(self.column, None, words, codes, y, counts, self.n_columns, self.weight)

    @property
    def is_whole(self) -> bool:
        """Whether all are whole numbers."""
        return self.values is not None and bool(np.all(self.values == np.floor(self.values)))

    @property
    def is_even(self) -> bool:
        """Whether the column tells more than one class apart at all."""
        return int(np.count_nonzero(self.table.sum(axis=0))) > 1

    @property
    def n_changes(self) -> int:
        """Number of times that the most frequent class changes from a number to the next."""
        return int(np.count_nonzero(np.diff(self.table.argmax(axis=1))))

    @property
    def separates(self) -> bool:
        """Whether the numbers, in order, go through the classes one after the other."""
        present = int(np.count_nonzero(self.table.sum(axis=0)))
        return self.is_even and bool(self.pure.all()) and self.n_changes == present - 1

    def is_lucky(self) -> bool:
        """Whether so many values of one class could be luck among all columns.

        The rows of a value of ``m`` rows are of one class with probability sum of ``share ** m``
        over the classes; the values that are mixed could have been any of them.
        """
        shares = np.log(self.class_counts / self.class_counts.sum())
        rows = self.rows
        repeated = rows > 1
        chosen = repeated & self.pure
        apart = np.maximum(1, rows[chosen] * self.weight)
        alike = logsumexp(np.outer(apart, shares), axis=1).sum()
        n, k = int(repeated.sum()), int(chosen.sum())
        ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        return bool(alike + ways + math.log(self.n_columns) > math.log(LUCK))

    def explained(self) -> tuple[float, bool]:
        """Return the share of the class's entropy that the column explains, and if by luck.

        Text by its levels; numbers by the best cut, or with more than two classes by twenty bins.
        Rows without a value explain nothing.
        """
        table = self.table
        if self.values is not None and self.n_values > 2:
            table = _cut(table) if table.shape[1] == 2 else _binned(table)
        share, lucky = self.explained_by(table)
        before = _entropy(self.table.sum(axis=0)[None, :])
        return share * before / _entropy(self.class_counts[None, :]), lucky

    def explained_by(self, table: IntArray) -> tuple[float, bool]:
        """Return the share of the class's entropy that a table explains, and if by luck.

        Parameters
        ----------
        table : ndarray of shape (parts, C)
            Rows of each part of the values, by class. Only rows with a value count.
        """
        before = _entropy(self.table.sum(axis=0)[None, :])
        gained = before - _entropy(table)
        lucky = gained * self.weight < math.log(self.n_values * self.n_columns) - math.log(LUCK)
        return gained / before if before > 0 else 0.0, lucky


def _entropy(table: IntArray) -> float:
    """Return the entropy of the class within the rows of a table, times the number of cases."""
    rows = table.sum(axis=1).astype(float)
    return float(np.sum(xlogy(rows, rows)) - np.sum(xlogy(table, table)))


def _cut(table: IntArray) -> IntArray:
    """Return the rows below and above the cut that tells two classes apart best."""
    below = np.cumsum(table, axis=0)[:-1].astype(float)
    above = table.sum(axis=0) - below
    inside = np.zeros(below.shape[0])
    for part in (below, above):
        inside += xlogy(part.sum(axis=1), part.sum(axis=1)) - xlogy(part, part).sum(axis=1)
    best = int(np.argmin(inside))
    return np.asarray([below[best], above[best]])


def _binned(table: IntArray) -> IntArray:
    """Return the rows of up to twenty bins with about as many rows each."""
    rows = table.sum(axis=1)
    n_bins = int(np.clip(rows.sum() // 10, 2, 20))
    bins = (np.cumsum(rows) - rows) * n_bins // rows.sum()
    result = np.zeros((n_bins, table.shape[1]), dtype=np.int64)
    np.add.at(result, bins, table)
    return result


def levels_of(
    table: pa.Table,
    columns: tuple[Column, ...],
    y: IntArray,
    n_classes: int,
    weight: float,
    skip: Collection[str] = (),
) -> Iterator[Levels]:
    """Yield the columns that hold text or numbers, one after the other, without some of them."""
    counts = np.bincount(y, minlength=n_classes)
    for column in columns:
        if column.name in skip:
            continue
        cells = table[column.name]
        if cells.null_count == len(cells):
            continue
        if is_number(cells.type):
            values, codes = _number_levels(floats(cells))
            yield _levels(column, values, (), codes, y, counts, len(columns), weight)
        elif is_text(cells.type):
            words, codes = levels_and_codes(cells, column.name)
            texts = tuple(words.to_pylist())
            yield _levels(column, None, texts, codes, y, counts, len(columns), weight)


def _number_levels(numbers: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the different numbers of a column, and the place of each cell's; -1: missing."""
    ones = numbers == 1
    if (ones | (numbers == 0)).all():  # most columns of wide tables; nothing to be sorted
        values = np.array([0.0, 1.0])[[not ones.all(), bool(ones.any())]]
        return values, ones.astype(np.int64) if values.size == 2 else np.zeros(ones.size, np.int64)
    observed = ~np.isnan(numbers)
    values, places = np.unique(numbers[observed], return_inverse=True)
    codes = np.full(numbers.size, -1, dtype=np.int64)
    codes[observed] = places
    return values, codes


def _levels(
    column: Column,
    values: FloatArray | None,
    words: tuple[str, ...],
    codes: IntArray,
    y: IntArray,
    counts: IntArray,
    n_columns: int,
    weight: float,
) -> Levels:
    observed = codes >= 0
    size = len(words) if values is None else values.size
    pairs = codes[observed] * counts.size + y[observed]
    table = np.bincount(pairs, minlength=size * counts.size).reshape(size, counts.size)
    return Levels(column, values, words, codes, y, table, counts, n_columns, weight)
