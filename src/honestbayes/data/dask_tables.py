"""Dask arrays and data frames as sources: blocks are read, counted and merged by Dask's workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from honestbayes.data.frames import check_names
from honestbayes.data.source import Block, Work, dense
from honestbayes.types import AnyArray, IntArray


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
                columns[places] - block.columns.start,
            )
            for some, places, block in wanted
        ]
        result = np.zeros((len(rows), columns.size), dtype=self.array.dtype)
        for (some, places, _), cells in zip(wanted, WORK.results(calls), strict=True):
            result[some, places] = cells
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
