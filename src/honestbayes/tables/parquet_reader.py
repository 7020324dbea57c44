"""Rows of a Parquet file, some at a time."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from honestbayes.tables.byte_stream import too_large
from honestbayes.tables.conversion import is_text
from honestbayes.tables.csv_header import checked_names
from honestbayes.tables.errors import InputError

_BATCH_CELLS = 1 << 22
_BATCH_ROWS = 1 << 16

# What pyarrow raises for files that are broken on purpose or by accident.
_BROKEN = (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError, LookupError)


@dataclass(frozen=True, slots=True)
class ParquetReader:
    """A Parquet file; text is kept once per level, because a small file may unpack to much."""

    path: Path
    columns: tuple[str, ...]
    text: tuple[str, ...]
    decimal: str = "."

    def batches(
        self, columns: Sequence[str], *, limit: int | None, whole: bool
    ) -> Generator[pa.Table, None, None]:
        """Yield the rows in order; the limit holds for all of them, or for one batch."""
        names = list(columns)
        total = 0
        try:
            with self._open() as file:
                rows = min(_BATCH_ROWS, max(1, _BATCH_CELLS // max(1, len(names))))
                for batch in file.iter_batches(batch_size=rows, columns=names):
                    table = pa.Table.from_batches([batch]).select(names)
                    self._validate(table)
                    total = table.nbytes + (total if whole else 0)
                    if limit is not None and total > limit:
                        raise too_large(self.path.name, limit)
                    yield table
        except InputError:
            raise
        except _BROKEN as error:
            raise _broken(self.path.name, error) from None

    def _open(self) -> Any:
        return pa.parquet.ParquetFile(
            self.path, read_dictionary=list(self.text), memory_map=False, pre_buffer=False
        )

    def _validate(self, table: pa.Table) -> None:
        for name in table.column_names:
            if is_text(table.schema.field(name).type):
                try:
                    table[name].validate(full=True)
                except pa.ArrowInvalid:
                    raise _broken(self.path.name, ValueError("text that is not UTF-8")) from None


def open_parquet(path: Path) -> ParquetReader:
    """Read the schema of a Parquet file."""
    try:
        with pa.parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            names = [str(name) for name in schema.names]
            text = [field.name for field in schema if is_text(field.type)]
    except _BROKEN as error:
        raise _broken(path.name, error) from None
    if not names:
        msg = f"{path.name} has no columns; give a table with a class and features."
        raise InputError(msg)
    return ParquetReader(path, checked_names(names, path.name), tuple(text))


def _broken(name: str, error: BaseException) -> InputError:
    detail = " ".join(str(error).split())[:120]
    if not detail or "/" in detail or "\\" in detail:  # pyarrow may name the folder
        detail = type(error).__name__
    return InputError(f"{name} cannot be read as Parquet ({detail}); write the file again.")
