"""Tables beyond memory as sources: lazy frames of polars, and arrays and frames of Dask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import Any

import numpy as np

from honestbayes.data.frames import check_names
from honestbayes.data.source import BLOCK_CELLS, Block, Work, dense
from honestbayes.types import AnyArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class LazySource:
    """A lazy frame of numbers and booleans; null and NaN are missing.

    Attributes
    ----------
    frame : polars.LazyFrame
        The query.
    shape : tuple of int
        Numbers of rows and columns.
    feature_names : tuple of str
        Names of the columns.
    runs : tuple of slice
        Columns of one type that stand together; each is a block of its own.
    """

    frame: Any
    shape: tuple[int, int]
    feature_names: tuple[str, ...]
    runs: tuple[slice, ...]

    beyond_memory = True

    def blocks(self) -> Iterator[Block]:
        """Yield batches of rows, from top to bottom, in one pass over the file."""
        first = 0
        for batch in self._batches(self.frame):
            rows = slice(first, first + batch.height)
            for columns in self.runs:
                yield Block(rows, columns, _numbers(batch[:, columns]))
            first = rows.stop
        if first != self.shape[0]:
            msg = f"X had {self.shape[0]} rows, and {first} when it was read again."
            raise ValueError(msg)

    def take(self, columns: IntArray) -> AnyArray:
        """Read the named columns of all rows."""
        if len(columns) == 0:
            return np.zeros((self.shape[0], 0))
        return _numbers(self._select(columns).collect(engine="streaming"))

    def take_rows(self, rows: IntArray, columns: IntArray) -> AnyArray:
        """Read some rows, in ascending order, of the named columns."""
        if len(columns) == 0 or len(rows) == 0:
            return np.zeros((len(rows), len(columns)))
        frame = self._select(columns)
        if rows[-1] - rows[0] + 1 == len(rows):
            return _numbers(frame.slice(int(rows[0]), len(rows)).collect(engine="streaming"))
        parts, first = [], 0
        for batch in self._batches(frame):
            ends = np.searchsorted(rows, [first, first + batch.height])
            parts.append(_numbers(batch[rows[slice(*ends)] - first]))
            first += batch.height
        return np.concatenate(parts)

    def _select(self, columns: IntArray) -> Any:
        return self.frame.select([self.feature_names[column] for column in columns])

    def _batches(self, frame: Any) -> Iterator[Any]:
        size = max(1, BLOCK_CELLS // self.shape[1])
        return iter(frame.collect_batches(chunk_size=size, maintain_order=True))


def lazy_source(frame: Any) -> LazySource:
    """Wrap a lazy frame of numbers and booleans; its rows are counted first."""
    import polars as pl

    schema = frame.collect_schema()
    names = check_names(schema.names())
    for name, dtype in schema.items():
        if not dtype.is_numeric() and dtype != pl.Boolean:
            msg = (
                f"column {name!r} of the lazy frame is {dtype}, which is not a number; encode it "
                "as 0/1 or numbers (categories by .cast(pl.Enum([...])).to_physical(), and name "
                "the column in kinds), or leave it out."
            )
            raise ValueError(msg)
    n_rows = frame.select(pl.len()).collect(engine="streaming").item()
    sizes = [len(list(alike)) for _, alike in groupby(schema.dtypes())]
    ends = pairwise(accumulate(sizes, initial=0))
    return LazySource(frame, (n_rows, len(names)), names, tuple(slice(*run) for run in ends))


def _numbers(batch: Any) -> AnyArray:
    """Return a frame as an array, column after column; NaN where a cell is null."""
    types = set(batch.dtypes)
    alike = len(types) == 1 and not next(iter(types)).is_decimal()
    if alike and not any(batch.null_count().row(0)):
        values: AnyArray = batch.to_numpy(order="fortran")
        return values
    return np.asarray(batch.cast(float).to_numpy(order="fortran"), dtype=float)


# --------------------------------------------------------------------------------------------------
# Dask arrays and data frames: Dask's workers read, count and merge the blocks
# --------------------------------------------------------------------------------------------------


class DaskWork:
    """Functions are applied by Dask's workers, when results are asked for.

    Which workers: those of the client that is active, else threads of this process.
    """

    def call(self, function: Callable[..., Any], *values: Any) -> Any:
        """Return a task."""
        from dask import delayed

        return delayed(function, pure=False)(*values)

    def results(self, calls: list[Any]) -> list[Any]:
        """Run tasks, and wait for them."""
        from dask import compute

        return list(compute(*calls))


WORK: Work = DaskWork()


@dataclass(frozen=True, slots=True, eq=False)
class DaskSource:
    """A Dask array of numbers, in chunks of rows, of columns or of both.

    Attributes
    ----------
    array : dask.array.Array of shape (n, p)
        The table.
    feature_names : tuple of str or None
        Names of the columns, where it was a data frame.
    """

    array: Any
    feature_names: tuple[str, ...] | None = None

    beyond_memory = True
    work = WORK

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return int(self.array.shape[0]), int(self.array.shape[1])

    def blocks(self) -> Iterator[Block]:
        """Yield the chunks, column after column; their values are tasks that read them."""
        rows, columns = ([slice(*ends) for ends in _ends(sizes)] for sizes in self.array.chunks)
        tasks = self.array.to_delayed(optimize_graph=True)
        for j, some_columns in enumerate(columns):
            for i, some_rows in enumerate(rows):
                yield Block(some_rows, some_columns, tasks[i, j])

    def take(self, columns: IntArray) -> AnyArray:
        """Read the named columns of all rows."""
        return self.take_rows(np.arange(self.shape[0]), columns)

    def take_rows(self, rows: IntArray, columns: IntArray) -> AnyArray:
        """Read some rows, in ascending order, of the named columns.

        Workers copy what is wanted out of each chunk, so that no more than that stays in memory.
        """
        columns = np.asarray(columns, dtype=np.int64)
        wanted = []
        for block in self.blocks():
            inside = (columns >= block.columns.start) & (columns < block.columns.stop)
            ends = np.searchsorted(rows, (block.rows.start, block.rows.stop))
            if inside.any() and ends[1] > ends[0]:
                wanted.append((slice(*ends), np.flatnonzero(inside), block))
        calls = [
            WORK.call(
                _cells,
                block.values,
                np.asarray(rows[some], dtype=np.int64) - block.rows.start,
                columns[indices] - block.columns.start,
            )
            for some, indices, block in wanted
        ]
        result = np.zeros((len(rows), columns.size), dtype=self.array.dtype)
        for (some, indices, _), cells in zip(wanted, WORK.results(calls), strict=True):
            result[some, indices] = cells
        return result


def _cells(values: Any, rows: IntArray, columns: IntArray) -> AnyArray:
    """Return a copy of some cells of a chunk."""
    return np.array(dense(values[:, columns])[rows])


def _ends(sizes: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield where each chunk begins and ends."""
    return pairwise(accumulate(sizes, initial=0))


def dask_source(table: Any) -> DaskSource:
    """Wrap a Dask array or data frame of numbers; where row counts are unknown, rows are counted.

    A table of texts is refused.
    """
    if type(table).__name__ == "Delayed":  # which claims to have every attribute
        msg = "X is a Dask Delayed; give an array or a data frame."
        raise ValueError(msg)
    names = None
    if hasattr(table, "to_dask_array"):
        if table.ndim != 2:
            msg = "Expected 2D array, got a single column. Give X as a data frame."
            raise ValueError(msg)
        names = check_names(table.columns)
        wrong = [name for name, dtype in table.dtypes.items() if dtype.kind not in "buif"]
        if wrong:
            msg = (
                f"column {wrong[0]!r} has dtype {table.dtypes[wrong[0]]}; give integers, booleans "
                "or floats."
            )
            raise ValueError(msg)
        table = table.to_dask_array(lengths=True)
    if not hasattr(table, "chunks"):
        msg = f"X is a Dask {type(table).__name__}; give an array or a data frame."
        raise ValueError(msg)
    if table.ndim != 2:
        msg = (
            f"Expected 2D array, got {table.ndim}D array instead. Reshape your data: one row for "
            "each case, one column for each feature."
        )
        raise ValueError(msg)
    if table.dtype.kind not in "buif":
        msg = f"X has dtype {table.dtype}; give integers, booleans or floats."
        raise ValueError(msg)
    if any(np.isnan(size) for sizes in table.chunks for size in sizes):
        table = table.compute_chunk_sizes()
    return DaskSource(table, names)
