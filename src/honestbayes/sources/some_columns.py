"""Some columns of a source, as a source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from honestbayes.sources.packed import PackedColumns
from honestbayes.sources.source import Block, RowsOf, Source, Work, is_beyond_memory, work_of
from honestbayes.types import AnyArray, IntArray


@dataclass(frozen=True, eq=False)
class ColumnsOf:
    """Some columns of a source of any kind, for a model of these alone.

    Attributes
    ----------
    source : Source of shape (n, p)
        The table.
    columns : ndarray of int of shape (k,)
        Which of its columns, in ascending order.
    """

    source: Source
    columns: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.source.shape[0], int(self.columns.size)

    @cached_property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, where the table has them."""
        names = self.source.feature_names
        return None if names is None else tuple(names[column] for column in self.columns)

    @property
    def work(self) -> Work:
        """How functions are applied to blocks."""
        return work_of(self.source)

    @property
    def beyond_memory(self) -> bool:
        """Whether reading it again is dear."""
        return is_beyond_memory(self.source)

    def blocks(self) -> Iterator[Block]:
        """Yield the columns of each of the source's blocks that has any."""
        for block in self.source.blocks():
            first, end = block.columns.start, block.columns.stop
            start, stop = np.searchsorted(self.columns, (first, end)).tolist()
            if stop > start:
                inside = self.columns[start:stop] - first
                values = self.work.call(_columns_of_block, block.values, inside)
                yield Block(block.rows, slice(start, stop), values)

    def take(self, columns: IntArray) -> AnyArray:
        """Return the named columns as a dense array."""
        return self.source.take(self.columns[columns])

    def take_rows(self, rows: IntArray, columns: IntArray) -> AnyArray:
        """Return some rows of the named columns."""
        return RowsOf(self.source, rows).take(self.columns[columns])


def _columns_of_block(values: Any, columns: IntArray) -> Any:
    if isinstance(values, PackedColumns):
        return PackedColumns(values.bits[columns], values.n_rows)
    return values[:, columns]
