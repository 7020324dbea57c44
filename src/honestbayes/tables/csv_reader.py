"""Rows of a CSV file as text, block by block."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from honestbayes.tables.byte_stream import ByteStream, too_large
from honestbayes.tables.conversion import MISSING
from honestbayes.tables.csv_header import Header, TextForm, read_header
from honestbayes.tables.csv_lines import line_of_row
from honestbayes.tables.errors import InputError

BLOCK_BYTES = 1 << 19
"""Bytes that are parsed at a time while streaming; pyarrow reads up to 32 such blocks ahead."""

WHOLE_BLOCK_BYTES = 1 << 24
"""Bytes that are parsed at a time for a whole table: wide tables are faster in large blocks."""

MAX_RECORD_BYTES = 1 << 30
"""Longest record: pyarrow's text arrays hold less than 2 GiB."""


@dataclass(frozen=True, slots=True)
class CsvReader:
    """A CSV file whose header was read; every cell is text, or null where it is missing."""

    path: Path
    header: Header
    packed: bool
    block_bytes: int = BLOCK_BYTES
    encoding: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.header.names

    @property
    def decimal(self) -> str:
        """The decimal mark of columns that show none."""
        return self.header.decimal

    def line_of(self, row: int) -> int | None:
        """Return the line of the file on which a row begins; None where it cannot be told."""
        return line_of_row(
            self.path,
            row,
            header_bytes=self.header.size,
            delimiter=self.header.delimiter,
            encoding=self.encoding,
        )

    def batches(
        self, columns: Sequence[str], *, limit: int | None, whole: bool
    ) -> Generator[pa.Table, None, None]:
        """Yield the rows in order; a record longer than a block starts over with larger ones.

        The limit holds for all bytes, or for one record where a file that is not packed is
        streamed: such a file holds no more than there is on the disk.
        """
        total = limit if whole or self.packed else None
        block = max(WHOLE_BLOCK_BYTES if whole else self.block_bytes, self.header.size)
        done = 0
        most = MAX_RECORD_BYTES if limit is None else min(limit, MAX_RECORD_BYTES)
        while True:
            try:
                skip = done
                for table in self._pass(columns, total, min(block, MAX_RECORD_BYTES)):
                    if table.num_rows <= skip:
                        skip -= table.num_rows
                        continue
                    rest = table.slice(skip)
                    skip = 0
                    done += rest.num_rows
                    yield rest
            except pa.ArrowInvalid as error:
                if "straddling" not in str(error):
                    raise self._refused(str(error), done) from None
                if block >= most:
                    raise too_large(f"one record of {self.path.name}", most) from None
                block *= 4
            else:
                return

    def _pass(
        self, columns: Sequence[str], limit: int | None, block: int
    ) -> Generator[pa.Table, None, None]:
        names = list(self.columns)
        # A quote that is never closed swallows the rest of the file into the last column.
        wanted = list(dict.fromkeys([*columns, names[-1]]))
        bad: list[Any] = []

        def remember(row: Any) -> str:
            bad.append(row)
            return "error"

        with ByteStream(self.path, limit, self.encoding) as stream:
            stream.skip(self.header.size)
            first = stream.read(1)
            if not first:
                return
            stream.push_back(first)
            last = None
            try:
                opened = pa.csv.open_csv(
                    pa.PythonFile(stream, mode="r"),
                    read_options=pa.csv.ReadOptions(
                        # One thread: pyarrow numbers the rows in its errors, and is no slower.
                        use_threads=False,
                        block_size=block,
                        column_names=names,
                    ),
                    parse_options=pa.csv.ParseOptions(
                        delimiter=self.header.delimiter,
                        newlines_in_values=True,
                        invalid_row_handler=remember,
                    ),
                    convert_options=pa.csv.ConvertOptions(
                        check_utf8=False,  # ByteStream has done this for every column
                        column_types=dict.fromkeys(wanted, pa.string()),
                        include_columns=wanted,
                        null_values=MISSING,
                        strings_can_be_null=True,
                    ),
                )
                # Closed here, not at the interpreter's end, while pyarrow may still read ahead.
                with opened as reader:
                    for batch in reader:
                        last = batch if batch.num_rows else last
                        yield pa.Table.from_batches([batch]).select(list(columns))
            except pa.ArrowInvalid as error:
                if bad:
                    raise self._ragged(bad[0]) from None
                if "Empty CSV" in str(error):  # blank lines only
                    return
                raise
            if stream.quotes % 2 and last is not None:
                self._check_last(last)

    def _check_last(self, batch: Any) -> None:
        cell = batch.column(batch.num_columns - 1)[batch.num_rows - 1]
        if cell.is_valid and ("\n" in cell.as_py() or "\r" in cell.as_py()):
            msg = (
                f'a quote (") is opened and never closed in the last record of {self.path.name}; '
                "close it, or double it where it is part of the text."
            )
            raise InputError(msg)

    def _ragged(self, row: Any) -> InputError:
        hint = "add or remove cells so that every row has one cell per column"
        if row.actual_columns == row.expected_columns + 1 and row.number == 1:
            hint = "name the column of row names in the header, or leave them out"
        line = None if row.number is None else self.line_of(row.number)
        where = "a row" if line is None else f"line {line:,}"
        cells = "cell" if row.actual_columns == 1 else "cells"
        return InputError(
            f"{where} of {self.path.name} has {row.actual_columns:,} {cells}, but the header "
            f"names {row.expected_columns:,} columns; {hint}."
        )

    def _refused(self, text: str, rows: int) -> InputError:
        return InputError(
            f"{self.path.name} cannot be read as CSV after {rows:,} rows: {text[:200]}; correct it."
        )


def open_csv(path: Path, form: TextForm, limit: int | None, packed: bool) -> CsvReader:
    """Read the header of a CSV file."""
    with ByteStream(path, limit, form.encoding) as stream:
        header = read_header(stream, path.name, form)
    return CsvReader(path, header, packed, encoding=form.encoding)
