"""Rows of a table beyond memory: those that were read and are remembered, or some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.sources.source import (
    Block,
    RowsOf,
    Source,
    as_source,
    is_beyond_memory,
    is_lazy,
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


def row_batches(X: Any) -> Iterator[Any]:
    """Yield a table as it is, or rows of a source beyond memory, some at a time."""
    source = as_source(X) if is_lazy(X) else X
    if not is_beyond_memory(source) or source.shape[0] <= BATCH_ROWS:
        yield source
        return
    n = source.shape[0]
    for start in range(0, n, BATCH_ROWS):
        yield RowsOf(source, np.arange(start, min(start + BATCH_ROWS, n)))
