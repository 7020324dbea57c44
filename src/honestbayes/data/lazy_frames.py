"""Lazy frames of polars as sources: Parquet, CSV and others, read a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import Any

import numpy as np

from honestbayes.data.frames import check_names
from honestbayes.data.source import BLOCK_CELLS, Block
from honestbayes.types import AnyArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class LazySource:
    """What a lazy frame will read: numbers and flags; null and NaN are missing.

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
    """Wrap a lazy frame of numbers and flags; its rows are counted first."""
    import polars as pl

    schema = frame.collect_schema()
    names = check_names(schema.names())
    for name, dtype in schema.items():
        if not dtype.is_numeric() and dtype != pl.Boolean:
            msg = (
                f"column {name!r} of the lazy frame is {dtype}, which is not a number; encode it "
                "as 0/1 or numbers, or leave it out."
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
