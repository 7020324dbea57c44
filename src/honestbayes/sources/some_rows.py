"""Tables beyond memory: cells that were read and are remembered, or some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.sources.source import (
    Block,
    RowsOf,
    Source,
    Work,
    as_source,
    is_beyond_memory,
    is_lazy,
    work_of,
)
from honestbayes.types import AnyArray, IntArray

BATCH_ROWS = 1 << 18
"""Rows of a table beyond memory that are predicted at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Remembered:
    """Some columns of a source that was read, at some of its rows.

    Attributes
    ----------
    source : Source of shape (n, p)
        The table.
    rows : ndarray of int of shape (m,)
        Rows that are remembered, in ascending order.
    columns : ndarray of int of shape (u,)
        Columns that are remembered, in ascending order.
    values : ndarray of shape (m, u)
        Their cells.
    """

    source: Source
    rows: IntArray
    columns: IntArray
    values: AnyArray

    @classmethod
    def read(cls, source: Source, rows: IntArray, columns: IntArray) -> Remembered:
        """Read some columns of some rows, in one pass."""
        return cls(source, rows, columns, RowsOf(source, rows).take(columns))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the table."""
        return self.source.shape

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, where the table has them."""
        return self.source.feature_names

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the table."""
        return self.source.blocks()

    def take(self, columns: IntArray) -> AnyArray:
        """Return the named columns of all rows."""
        return self.source.take(columns)

    def take_rows(self, rows: IntArray, columns: IntArray) -> AnyArray:
        """Return some of the remembered rows of some of the remembered columns."""
        places = np.searchsorted(self.rows, rows), np.searchsorted(self.columns, columns)
        part: AnyArray = self.values[np.ix_(*places)]
        return part


class ReadAhead:
    """A source beyond memory of which some columns are read ahead, for several who will ask.

    Parameters
    ----------
    source : Source of shape (n, p)
        The table.
    """

    beyond_memory = True

    def __init__(self, source: Source) -> None:
        self.source = source
        self._columns: IntArray = np.zeros(0, dtype=np.int64)
        self._values: AnyArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.source.shape

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, where the table has them."""
        return self.source.feature_names

    @property
    def work(self) -> Work:
        """How functions are applied to blocks."""
        return work_of(self.source)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the table."""
        return self.source.blocks()

    def read_ahead(self, columns: IntArray) -> None:
        """Read those of some columns that are not remembered yet, at once, and remember them."""
        new = np.setdiff1d(columns, self._columns)
        if new.size:
            more = np.asfortranarray(self.source.take(new))
            known = [] if self._values is None else [self._values.T]
            self._values = np.concatenate([*known, more.T]).T
            self._columns = np.concatenate([self._columns, new])

    def take(self, columns: IntArray) -> AnyArray:
        """Return the named columns of all rows."""
        return self._taken(columns, slice(None), self.source.take)

    def take_rows(self, rows: IntArray, columns: IntArray) -> AnyArray:
        """Return some rows of the named columns."""
        return self._taken(columns, rows, RowsOf(self.source, rows).take)

    def _taken(
        self, columns: IntArray, rows: IntArray | slice, read: Callable[[IntArray], AnyArray]
    ) -> AnyArray:
        """Return what is remembered, and read the rest without remembering it."""
        columns = np.asarray(columns, dtype=np.int64)
        known = np.isin(columns, self._columns)
        if self._values is None or not known.any():
            return read(columns)
        order = np.argsort(self._columns)
        places = order[np.searchsorted(self._columns, columns[known], sorter=order)]
        part = self._values.T[places][:, rows].T
        if not known.all():
            part = np.concatenate([part, read(columns[~known])], axis=1)
            part = part[:, np.argsort(np.argsort(~known, kind="stable"))]
        return np.ascontiguousarray(part)


def row_batches(X: Any) -> Iterator[Any]:
    """Yield a table as it is, or rows of a source beyond memory, some at a time."""
    source = as_source(X) if is_lazy(X) else X
    if not is_beyond_memory(source) or source.shape[0] <= BATCH_ROWS:
        yield source
        return
    n = source.shape[0]
    for start in range(0, n, BATCH_ROWS):
        yield RowsOf(source, np.arange(start, min(start + BATCH_ROWS, n)))
