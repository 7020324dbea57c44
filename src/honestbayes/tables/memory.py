"""A table in memory, read as one in a file is."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from honestbayes.tables.files import TableFile


@dataclass(frozen=True, slots=True)
class MemoryReader:
    """Hands over the columns of an Arrow table."""

    table: pa.Table
    decimal: str = "."

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.table.column_names)

    def batches(
        self, columns: Sequence[str], *, limit: int | None, whole: bool
    ) -> Generator[pa.Table, None, None]:
        """Yield the rows, all at once: they are in memory already."""
        del limit, whole
        yield self.table.select(list(columns))


def frame_table(frame: Any, name: str) -> TableFile:
    """Return a pandas or polars frame as a table that :func:`read_training` takes.

    Parameters
    ----------
    frame : pandas or polars frame
        With the class in one of its columns.
    name : str
        What the table is called in messages and in a report.
    """
    if type(frame).__module__.split(".")[0] == "polars":
        table = frame.to_arrow()
    else:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    reader = MemoryReader(table)
    return TableFile(name, "parquet", reader.columns, reader, None)
