"""Categories of tables beyond memory: learned from blocks, counted in them, and as 0/1 columns.

`honestbayes.data.categories` codes tables in memory; here the cells stay where they are. The rule
is the same: the categories of a column are the numbers that occur in training, in order, and two
at least. Columns are numbers; texts are refused where a lazy frame or a Dask frame is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from honestbayes.data.categories import LARGEST_CODE, MISSING, Categories
from honestbayes.data.kinds import check_categories
from honestbayes.data.source import (
    Block,
    DescribeColumns,
    PackedColumns,
    PackedGenotypes,
    RowsOf,
    Source,
    Work,
    accumulate,
    dense,
    is_beyond_memory,
    work_of,
)
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# The categories of all columns, one after the other
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class LevelTable:
    """The categories of some columns of numbers, in two arrays.

    Attributes
    ----------
    first : ndarray of int of shape (c + 1,)
        Where the categories of each column begin among all of them.
    value : ndarray of shape (T,)
        The categories, ascending within a column; NaN for one that was never seen.
    """

    first: IntArray
    value: FloatArray

    @property
    def n_levels(self) -> IntArray:
        """Number of categories of each column, two or more."""
        return np.diff(self.first)

    @property
    def column(self) -> IntArray:
        """The column of each category, shape (T,)."""
        return np.repeat(np.arange(self.first.size - 1), self.n_levels)

    def at(self, columns: slice) -> LevelTable:
        """Return the categories of columns that stand together."""
        first = self.first[columns.start : columns.stop + 1]
        return LevelTable(first - first[0], self.value[first[0] : first[-1]])

    def take(self, columns: IntArray) -> LevelTable:
        """Return the categories of some columns."""
        sizes = self.n_levels[columns]
        first = np.concatenate([[0], np.cumsum(sizes)])
        inside = np.arange(first[-1]) - np.repeat(first[:-1], sizes)
        return LevelTable(first, self.value[np.repeat(self.first[columns], sizes) + inside])

    def categories(self) -> Categories:
        """Return them column by column; columns with the same categories share an array."""
        shared: dict[bytes, AnyArray] = {}
        content, size = self.value.tobytes(), self.value.itemsize
        values = []
        for start, stop in pairwise(self.first.tolist()):
            key = content[size * start : size * stop]
            if key not in shared:
                shared[key] = self.value[start:stop].copy()
            values.append(shared[key])
        return Categories(tuple(values))

    def codes(self, values: Any) -> AnyArray:
        """Return the index of each cell among its column's categories, shape (n, c).

        -1 is missing, or not among them. ``values`` is a block of these columns.
        """
        cells = dense(values)
        if cells.dtype.kind == "b":
            cells = cells.view(np.uint8)
        column, known = self.column, self.value == self.value
        rank = np.arange(self.value.size) - self.first[column]
        with np.errstate(invalid="ignore"):
            small = known & (self.value >= 0) & (self.value <= LARGEST_CODE)
            small &= self.value == np.rint(self.value)
        width = int(self.value[small].max(initial=0)) + 1
        # One entry for each number up to the largest, and a last one for all other cells.
        table = np.full((self.first.size - 1, width + 1), MISSING, dtype=np.int32)
        table[column[small], self.value[small].astype(np.int64)] = rank[small]
        index = _whole_or(cells, width)
        codes: AnyArray = np.take_along_axis(table, index.T, axis=1).T
        for j in np.unique(column[known & ~small]).tolist():
            own = self.value[self.first[j] : self.first[j + 1]]
            own = own[own == own]
            at = np.minimum(np.searchsorted(own, cells[:, j]), own.size - 1)
            codes[:, j] = np.where(own[at] == cells[:, j], at, MISSING)
        return codes


def level_table(levels: Categories) -> LevelTable:
    """Return categories that are numbers in two arrays."""
    first = np.concatenate([[0], np.cumsum(levels.n_levels)])
    return LevelTable(first, np.concatenate([np.zeros(0), *levels.values]).astype(float))


def _whole_or(cells: AnyArray, other: int) -> IntArray:
    """Return cells that are whole numbers from 0 to below ``other``, and ``other`` for the rest."""
    with np.errstate(invalid="ignore"):
        good = (cells >= 0) & (cells < other)
        if cells.dtype.kind == "f":
            good &= cells == np.rint(cells)
        return np.where(good, cells, other).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """The numbers that occur in some columns, as a statistic that can be merged.

    Attributes
    ----------
    small : ndarray of bool of shape (c, w)
        Which of the whole numbers from 0 on occur.
    others : dict of int to ndarray
        All numbers of the columns that hold others, ascending.
    """

    small: BoolArray
    others: dict[int, AnyArray]

    def merge_rows(self, other: _Seen) -> _Seen:
        """Return the numbers of both sets of rows."""
        width = max(self.small.shape[1], other.small.shape[1])
        small = _widened(self.small, width) | _widened(other.small, width)
        both = sorted(self.others.keys() | other.others.keys())
        merged = {j: np.union1d(self.numbers(j), other.numbers(j)) for j in both}
        return _Seen(small, merged)

    def merge_columns(self, *others: _Seen) -> _Seen:
        """Return the numbers of all sets of columns, in this order."""
        parts = (self, *others)
        width = max(part.small.shape[1] for part in parts)
        first = 0
        rest: dict[int, AnyArray] = {}
        for part in parts:
            rest |= {first + j: numbers for j, numbers in part.others.items()}
            first += len(part.small)
        return _Seen(np.concatenate([_widened(part.small, width) for part in parts]), rest)

    def numbers(self, column: int) -> AnyArray:
        """Return all numbers of a column."""
        small = np.flatnonzero(self.small[column]).astype(float)
        return np.union1d(small, self.others.get(column, small[:0]))

    def table(self) -> LevelTable:
        """Return the categories; of a column of one value, a second that was never seen."""
        small = _widened(self.small, max(self.small.shape[1], 2)).copy()
        n_seen = small.sum(axis=1)
        # A column of ones is a 0/1 column that happens to be constant.
        small[(n_seen == 1) & small[:, 1], 0] = True
        column, value = np.nonzero(small)
        more = [(j, self.numbers(j)) for j in self.others]
        keep = ~np.isin(column, [j for j, _ in more])
        columns = [column[keep], *(np.full(numbers.size, j) for j, numbers in more)]
        values = [value[keep].astype(float), *(numbers for _, numbers in more)]
        sizes = np.bincount(np.concatenate(columns), minlength=len(small))
        lacking = np.repeat(np.arange(sizes.size), np.maximum(2 - sizes, 0))
        column = np.concatenate([*columns, lacking])
        value = np.concatenate([*values, np.full(lacking.size, np.nan)])
        order = np.lexsort((value, column))  # NaN comes last
        first = np.concatenate([[0], np.cumsum(np.maximum(sizes, 2))])
        return LevelTable(first, np.asarray(value[order], dtype=float))


def _widened(small: BoolArray, width: int) -> BoolArray:
    return np.pad(small, ((0, 0), (0, width - small.shape[1])))


def _seen(values: Any) -> _Seen:
    """Return the numbers that occur in each column of a block; NaN is missing."""
    if isinstance(values, PackedGenotypes):
        counts = values.counts(np.zeros(values.shape[0], dtype=np.int64), 1)
        return _Seen(counts[:, 0, :3] > 0, {})
    cells = dense(values)
    if cells.dtype.kind == "b":
        cells = cells.view(np.uint8)
    n_columns = cells.shape[1]
    with np.errstate(invalid="ignore"):
        # Not Python's 255, which bytes cannot hold: NumPy 2.0 and 2.1 then crash at the "and".
        good = (cells >= 0) & (cells <= np.int16(LARGEST_CODE))
        if cells.dtype.kind == "f":
            good &= cells == np.rint(cells)
    width = int(cells.max(initial=0, where=good)) + 1
    index = np.where(good, cells, width).astype(np.int64) + (width + 1) * np.arange(n_columns)
    small = np.zeros(n_columns * (width + 1), dtype=bool)
    small[index.ravel()] = True
    others = {}
    for j in np.flatnonzero(((cells == cells) & ~good).any(axis=0)).tolist():
        column = cells[:, j]
        others[j] = np.unique(column[column == column]).astype(float)
    return _Seen(small.reshape(n_columns, width + 1)[:, :width], others)


def learn_levels(source: Source, describe: DescribeColumns | None = None) -> LevelTable:
    """Find the categories of all columns of numbers, in one pass.

    Parameters
    ----------
    source : Source of shape (n, p)
        The table, whose columns are categorical or have two values.
    describe : DescribeColumns, optional
        Names its columns in error messages.
    """
    seen = accumulate(source, lambda _rows, _columns: _seen)
    describe = describe or DescribeColumns(source.feature_names)
    for j in seen.others:
        numbers = seen.numbers(j)
        check_categories(numbers, describe(j), any_number=numbers.size <= 2)
    return seen.table()


# --------------------------------------------------------------------------------------------------
# Counts by group and category
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class LevelCounts:
    """Cells of each category in groups of rows: classes, or classes within folds.

    Attributes
    ----------
    cases : ndarray of int of shape (G,)
        Rows in each group.
    cells : ndarray of int of shape (G, T)
        Cells of each category of all columns, one column after the other.
    """

    cases: IntArray
    cells: IntArray

    def merge_rows(self, other: LevelCounts) -> LevelCounts:
        """Return the counts of both sets of rows, which share none."""
        return LevelCounts(self.cases + other.cases, self.cells + other.cells)

    def merge_columns(self, *others: LevelCounts) -> LevelCounts:
        """Return the counts of all sets of columns, in this order."""
        cells = np.concatenate([self.cells, *(other.cells for other in others)], axis=1)
        return LevelCounts(self.cases, cells)


def level_cells(values: Any, levels: LevelTable, groups: AnyArray, n_groups: int) -> IntArray:
    """Count the cells of each category in each group of rows, shape (G, T).

    Genotypes are counted as bits, other blocks are decoded.
    """
    if isinstance(values, PackedGenotypes):
        counts = values.counts(groups, n_groups)
        known = np.flatnonzero(levels.value == levels.value)
        cells: AnyArray = np.zeros((n_groups, levels.value.size), dtype=np.int32)
        number = levels.value[known].astype(np.int64)
        cells[:, known] = counts[levels.column[known], :, np.minimum(number, 2)].T
        cells[:, known[number > 2]] = 0
        return cells
    codes = levels.codes(values)
    total = levels.value.size
    key = groups.astype(np.int64)[:, None] * total + levels.first[:-1] + codes
    found: AnyArray = np.bincount(key[codes != MISSING], minlength=n_groups * total)
    return found.reshape(n_groups, total).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class _CountBlock:
    """A function of the values of a block, without more of the table than it needs."""

    levels: LevelTable
    groups: AnyArray
    n_groups: int

    def __call__(self, values: Any) -> LevelCounts:
        cases = np.bincount(self.groups, minlength=self.n_groups)
        return LevelCounts(cases, level_cells(values, self.levels, self.groups, self.n_groups))


def count_levels(
    source: Source, levels: LevelTable, groups: AnyArray, n_groups: int
) -> LevelCounts:
    """Count the cells of each category in each group of rows, in one pass.

    Parameters
    ----------
    source : Source of shape (n, p)
        The table.
    levels : LevelTable
        Categories of all its columns.
    groups : ndarray of int of shape (n,)
        The group of each row.
    n_groups : int
        How many groups there are.
    """
    return accumulate(
        source, lambda rows, columns: _CountBlock(levels.at(columns), groups[rows], n_groups)
    )


# --------------------------------------------------------------------------------------------------
# Categories as 0/1 columns, which are counted without being made
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Indicators:
    """A block of categorical columns as 0/1 columns, one for each category.

    Attributes
    ----------
    values : ndarray, PackedColumns or PackedGenotypes, of shape (n, c)
        The columns as they are.
    levels : LevelTable
        Their categories.
    """

    values: Any
    levels: LevelTable

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of categories."""
        return self.values.shape[0], self.levels.value.size

    def toarray(self) -> FloatArray:
        """Return zeros and ones, and NaN in all columns of a missing cell; shape (n, T)."""
        return _indicators(self.values, self.levels)

    def __getitem__(self, rows: Any) -> Indicators:
        """Return some rows."""
        return Indicators(self.values[rows], self.levels)

    def counts(self, groups: AnyArray, n_groups: int) -> tuple[IntArray, IntArray]:
        """Return ones and observed cases in each group of rows, each of shape (G, T)."""
        ones = level_cells(self.values, self.levels, groups, n_groups)
        return ones, observed_cells(ones, self.levels)


def observed_cells(cells: IntArray, levels: LevelTable) -> IntArray:
    """Return, for each category, the observed cells of its column, shape (G, T)."""
    by_column = np.add.reduceat(cells, levels.first[:-1], axis=1)
    return np.asarray(np.repeat(by_column, levels.n_levels, axis=1))


def _indicators(values: Any, levels: LevelTable) -> FloatArray:
    codes = np.repeat(levels.codes(values), levels.n_levels, axis=1)
    rank = np.arange(levels.value.size) - levels.first[levels.column]
    result: FloatArray = (codes == rank).astype(float)
    result[codes == MISSING] = np.nan
    return result


@dataclass(frozen=True, eq=False)
class IndicatorSource:
    """A table as numbers: its categorical columns as a 0/1 column for each category.

    Attributes
    ----------
    source : Source of shape (n, p)
        The table.
    categorical : ndarray of bool of shape (p,)
        Which of its columns are categorical.
    levels : LevelTable
        The categories of these, in their order.
    """

    source: Source
    categorical: BoolArray
    levels: LevelTable

    feature_names = None

    @cached_property
    def _first(self) -> IntArray:
        """Where the numbers of each column begin, shape (p + 1,)."""
        widths = np.ones(self.categorical.size, dtype=np.int64)
        widths[self.categorical] = self.levels.n_levels
        return np.concatenate([[0], np.cumsum(widths)])

    @cached_property
    def _index(self) -> IntArray:
        """Number of categorical columns before each one, shape (p + 1,)."""
        return np.concatenate([[0], np.cumsum(self.categorical)])

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows, and of columns of numbers."""
        return self.source.shape[0], int(self._first[-1])

    @property
    def work(self) -> Work:
        """How functions are applied to blocks."""
        return work_of(self.source)

    @property
    def beyond_memory(self) -> bool:
        """Whether reading it again is expensive."""
        return is_beyond_memory(self.source)

    @property
    def all_levels(self) -> LevelTable | None:
        """The categories of all columns; None where any of them is not categorical."""
        return self.levels if self.categorical.all() else None

    def blocks(self) -> Iterator[Block]:
        """Yield each block of the table, cut where categorical columns begin or end."""
        for block in self.source.blocks():
            start, stop = block.columns.start, block.columns.stop
            here = self.categorical[start:stop]
            ends = [0, *(np.flatnonzero(np.diff(here)) + 1).tolist(), here.size]
            for first, end in pairwise(ends):
                values = block.values
                if end - first < here.size:
                    values = self.work.call(_columns, values, slice(first, end))
                if here[first]:
                    own = slice(self._index[start + first], self._index[start + end])
                    values = self.work.call(Indicators, values, self.levels.at(own))
                columns = slice(int(self._first[start + first]), int(self._first[start + end]))
                yield Block(block.rows, columns, values)

    def take(self, columns: IntArray) -> FloatArray:
        """Return the named columns of numbers."""
        return self._of(columns, self.source.take)

    def take_rows(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return some rows of the named columns of numbers."""
        return self._of(columns, RowsOf(self.source, rows).take)

    def _of(self, columns: IntArray, read: Any) -> FloatArray:
        columns = np.asarray(columns, dtype=np.int64)
        own, index = np.unique(
            np.searchsorted(self._first, columns, side="right") - 1, return_inverse=True
        )
        cells = read(own)
        result = np.array(cells[:, index], dtype=float)
        some = np.flatnonzero(self.categorical[own])
        levels = self.levels.take(self._index[own[some]])
        codes = np.full(cells.shape, MISSING, dtype=np.int64)
        codes[:, some] = levels.codes(cells[:, some])
        chosen = np.flatnonzero(self.categorical[own[index]])
        found = codes[:, index[chosen]]
        indicators = (found == columns[chosen] - self._first[own[index[chosen]]]).astype(float)
        indicators[found == MISSING] = np.nan
        result[:, chosen] = indicators
        return result


def _columns(values: Any, columns: slice) -> Any:
    """Return columns of a block that stand together."""
    if isinstance(values, PackedColumns):
        return PackedColumns(values.bits[columns], values.n_rows)
    if isinstance(values, PackedGenotypes):
        return values.columns(columns)
    return values[:, columns]
