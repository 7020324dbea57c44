"""A table in a file: its format recognised, its columns named, its rows read whole or streamed."""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import pyarrow as pa

from honestbayes.tables.conversion import infer, to_numbers, to_text
from honestbayes.tables.csv_reader import open_csv
from honestbayes.tables.errors import InputError, listed, shown, suggestion
from honestbayes.tables.formats import recognise
from honestbayes.tables.npz_reader import open_npz
from honestbayes.tables.parquet_reader import open_parquet

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
    """

    name: str
    format: Format
    columns: tuple[str, ...]
    reader: Reader
    max_bytes: int | None
    notes: tuple[str, ...] = ()

    @property
    def decimal(self) -> str:
        """Decimal mark of the numbers: "," in files of spreadsheets that write it so."""
        return self.reader.decimal

    def read(self, columns: Sequence[str] | None = None, *, text: Collection[str] = ()) -> pa.Table:
        """Read all rows.

        Parameters
        ----------
        columns : sequence of str, optional
            Which columns, in this order; all of them when not given.
        text : collection of str
            Columns that stay text even where every cell is a number, such as identifiers.

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
            elif self.format == "csv":
                column = infer(column, self.decimal)
            arrays[name] = column
        return pa.table(arrays)

    def batches(
        self, columns: Sequence[str], text: Collection[str] = ()
    ) -> Generator[pa.Table, None, None]:
        """Read the rows in order, some at a time, with bounded memory.

        Parameters
        ----------
        columns : sequence of str
            Which columns. Where there are none, the first one is read as text, so that the rows
            can be counted.
        text : collection of str
            Columns that are text; all others must hold numbers.

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
            for batch in batches:
                arrays = {}
                for name in wanted:
                    if name in text:
                        arrays[name] = to_text(batch[name], name)
                    else:
                        values = to_numbers(batch[name], name, decimal=self.decimal, first_row=row)
                        arrays[name] = pa.array(values, from_pandas=True)
                yield pa.table(arrays)
                row += batch.num_rows

    def require(self, columns: Sequence[str]) -> None:
        """Raise InputError where a column is not there, with names that are close."""
        known = set(self.columns)
        for name in columns:
            if name not in known:
                msg = f"{self.name} has no column {shown(name)}{suggestion(name, self.columns)}"
                raise InputError(msg)


def open_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    max_bytes: int | None = DEFAULT_MAX_BYTES,
) -> TableFile:
    """Open a table: CSV, TSV (both also packed with gzip), Parquet or a NumPy archive.

    Parameters
    ----------
    path : path
        The file. Its content says what it is.
    delimiter : str, optional
        What stands between the cells of a CSV file; found from its header when not given.
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
    found = recognise(file)
    if found == "parquet":
        parquet = open_parquet(file)
        return TableFile(file.name, "parquet", parquet.columns, parquet, max_bytes)
    if found == "npz":
        npz = open_npz(file, max_bytes)
        notes: tuple[str, ...] = ()
        if npz.unused:
            notes = (f"Arrays beside X, y and names are not used: {listed(npz.unused)}.",)
        return TableFile(file.name, "npz", npz.columns, npz, max_bytes, notes)
    csv = open_csv(file, delimiter, max_bytes, found == "packed csv")
    return TableFile(file.name, "csv", csv.columns, csv, max_bytes)
