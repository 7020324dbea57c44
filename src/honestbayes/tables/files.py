"""A table in a file: its format recognised, its columns named, its rows read whole or streamed."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol, Self

import pyarrow as pa

from honestbayes.tables.conversion import infer, is_text, to_numbers, to_text, without
from honestbayes.tables.csv_header import TextForm
from honestbayes.tables.csv_reader import open_csv
from honestbayes.tables.errors import InputError, listed, shown, suggestion
from honestbayes.tables.formats import recognise
from honestbayes.tables.npz_reader import open_npz
from honestbayes.tables.parquet_reader import open_parquet
from honestbayes.tables.places import Places
from honestbayes.types import IntArray

DEFAULT_MAX_BYTES = 4 << 30
"""Unpacked bytes of a table that are read unless the user asks for more: a small packed file can
hold more than a machine has memory."""

Format = Literal["csv", "parquet", "npz"]


class Reader(Protocol):
    """What each format offers."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""

    @property
    def decimal(self) -> str:
        """Decimal mark of numbers that are text."""

    def batches(
        self, columns: Sequence[str], *, limit: int | None, whole: bool
    ) -> Generator[pa.Table, None, None]:
        """Yield the rows in order."""


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table in a file, opened: nothing but its header has been read.

    Attributes
    ----------
    name : str
        Name of the file, without its folder.
    format : {"csv", "parquet", "npz"}
        TSV and packed CSV count as "csv".
    columns : tuple of str
        Names of the columns.
    reader : object
        What reads the rows.
    max_bytes : int or None
        Limit on the unpacked bytes.
    notes : tuple of str
        What of the file is not used, one plain sentence each.
    marks : mapping of str to str
        Decimal marks of the columns that show one in the first rows of a CSV file.
    missing : tuple of str
        Cells that the user calls missing, beside those that always are.
    line_of : callable or None
        Of a CSV file: returns the line on which a row begins, or None where that cannot be told.
    row_numbers : ndarray of int, or None
        Numbers of the rows in the file, counted from 1, where only some of them are read.
    """

    name: str
    format: Format
    columns: tuple[str, ...]
    reader: Reader
    max_bytes: int | None
    notes: tuple[str, ...] = ()
    marks: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    line_of: Callable[[int], int | None] | None = None
    row_numbers: IntArray | None = None

    @property
    def decimal(self) -> str:
        """Decimal mark of columns that show none: "," in files of spreadsheets that write it so."""
        return self.reader.decimal

    def decimal_of(self, name: str) -> str:
        """Return the decimal mark of a column."""
        return self.marks.get(name, self.decimal)

    def places(self, numbers: IntArray | None = None, *, first: int = 1) -> Places:
        """Return where rows stand, for messages: by their numbers, or one after another."""
        return Places(numbers, first, self.line_of)

    def with_missing(self, words: Collection[str]) -> Self:
        """Return the file with cells that are called missing."""
        return replace(self, missing=tuple(words))

    def read(self, columns: Sequence[str] | None = None, *, text: Collection[str] = ()) -> pa.Table:
        """Read all rows.

        Parameters
        ----------
        columns : sequence of str, optional
            Which columns, in this order; all of them when not given.
        text : collection of str
            Columns that stay text even where every cell is a number, such as identifiers; what
            the user calls missing is not missing there.

        Returns
        -------
        pyarrow.Table
            Numbers as float64 and true/false as bool where every cell of a column is one and none
            a code such as 007 (CSV), or as the file stores them (Parquet, npz); text without blanks
            around it; null where missing.
        """
        wanted = self.columns if columns is None else tuple(columns)
        self.require(wanted)
        if not wanted:
            return pa.table({})
        parts = list(self.reader.batches(wanted, limit=self.max_bytes, whole=True))
        if not parts:
            return pa.table({name: pa.array([], pa.float64()) for name in wanted})
        table = pa.concat_tables(parts, promote_options="permissive")
        del parts
        arrays = {}
        for name in wanted:
            column = table[name]
            if name in text:
                column = to_text(column, name)
            else:
                before = column.null_count
                column = without(column, self.missing)
                # Elsewhere text is text, but for numbers that only such cells made text.
                if self.format == "csv" or (is_text(column.type) and column.null_count > before):
                    column = without(infer(column, self.decimal_of(name)), self.missing)
            arrays[name] = column
        return pa.table(arrays)

    def batches(
        self,
        columns: Sequence[str],
        text: Collection[str] = (),
        names: Collection[str] = (),
        *,
        fewest: int = 1,
    ) -> Generator[pa.Table, None, None]:
        """Read the rows in order, some at a time, with bounded memory.

        Parameters
        ----------
        columns : sequence of str
            Which columns. Where there are none, the first one is read as text, so that the rows
            can be counted.
        text : collection of str
            Columns that are text; all others must hold numbers.
        names : collection of str
            Columns of text in which nothing is missing but what always is, such as identifiers.
        fewest : int
            Rows that are converted at a time, but for the last: of many columns, few rows take
            almost as long as many.

        Yields
        ------
        pyarrow.Table
            Columns of type string and float64; null where missing.
        """
        wanted = tuple(columns)
        self.require(wanted)
        if not wanted:
            wanted = self.columns[:1]
            text = {*text, *wanted}
        row = 1
        # Closed at once where a cell is refused: pyarrow may be reading ahead in a thread.
        with closing(self.reader.batches(wanted, limit=self.max_bytes, whole=False)) as batches:
            for batch in _joined(batches, fewest):
                arrays = {}
                places = self.places(first=row)
                for name in wanted:
                    column = batch[name]
                    if name not in names:
                        column = without(column, self.missing)
                    if name in text or name in names:
                        arrays[name] = to_text(column, name)
                    else:
                        mark = self.decimal_of(name)
                        values = to_numbers(column, name, decimal=mark, places=places)
                        arrays[name] = without(
                            pa.chunked_array([pa.array(values, from_pandas=True)]), self.missing
                        )
                yield pa.table(arrays)
                row += batch.num_rows

    def require(self, columns: Sequence[str]) -> None:
        """Raise InputError where a column is not there, with names that are close."""
        known = set(self.columns)
        for name in columns:
            if name not in known:
                msg = f"{self.name} has no column {shown(name)}{suggestion(name, self.columns)}"
                raise InputError(msg)


def _joined(batches: Iterator[pa.Table], fewest: int) -> Iterator[pa.Table]:
    """Put batches together until they have so many rows."""
    waiting: list[pa.Table] = []
    n_rows = 0
    for batch in batches:
        waiting.append(batch)
        n_rows += batch.num_rows
        if n_rows >= fewest:
            yield pa.concat_tables(waiting) if len(waiting) > 1 else waiting[0]
            waiting, n_rows = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def open_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Collection[str] = (),
    max_bytes: int | None = DEFAULT_MAX_BYTES,
) -> TableFile:
    """Open a table: CSV, TSV (both also packed with gzip), Parquet or a NumPy archive.

    Parameters
    ----------
    path : path
        The file. Its content says what it is.
    delimiter : str, optional
        What stands between the cells of a CSV file; found from its header when not given.
    decimal : {".", ","}, optional
        Decimal mark of a CSV file; found column by column when not given.
    encoding : str, optional
        Alphabet of a CSV file, such as "latin-1"; UTF-8 when not given.
    missing : collection of str
        Cells that are missing, beside those that always are.
    max_bytes : int or None, default=4 GiB
        Limit on the unpacked bytes: of the whole table when it is read whole; of the whole file,
        if it is packed, or of one part when it is streamed. None lifts it.

    Returns
    -------
    TableFile

    Raises
    ------
    InputError
        Where the file is not there, is no table, or its header cannot be used.
    """
    file = Path(path)
    words = tuple(missing)
    found = recognise(file)
    if found == "parquet":
        parquet = open_parquet(file)
        return TableFile(file.name, "parquet", parquet.columns, parquet, max_bytes, missing=words)
    if found == "npz":
        npz = open_npz(file, max_bytes)
        notes: tuple[str, ...] = ()
        if npz.unused:
            notes = (f"Arrays beside X, y and names are not used: {listed(npz.unused)}.",)
        return TableFile(file.name, "npz", npz.columns, npz, max_bytes, notes, missing=words)
    form = TextForm(delimiter, decimal, encoding)
    csv = open_csv(file, form, max_bytes, found == "packed csv")
    return TableFile(
        file.name,
        "csv",
        csv.columns,
        csv,
        max_bytes,
        marks=csv.header.marks,
        missing=words,
        line_of=csv.line_of,
    )
