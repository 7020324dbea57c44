"""Opening a table of any format, turned around and joined with a phenotype file where asked."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from honestbayes.tables.anndata import open_h5ad
from honestbayes.tables.csv_reader import (
    MAX_HEADER_ROW,
    ByteStream,
    TextForm,
    detect_encoding,
    open_csv,
    read_blank_separated,
)
from honestbayes.tables.errors import InputError, listed
from honestbayes.tables.expression import SAMPLE, joined, open_gct, open_series_matrix, transposed
from honestbayes.tables.files import (
    DEFAULT_MAX_BYTES,
    MemoryReader,
    TableFile,
    open_parquet,
    open_plink_table,
    open_store_table,
    open_whole,
)
from honestbayes.tables.formats import recognise
from honestbayes.tables.npz_reader import open_npz
from honestbayes.tables.spreadsheet import open_spreadsheet


def open_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Collection[str] = (),
    transpose: bool = False,
    phenotype: str | os.PathLike[str] | None = None,
    sample_id: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    layer: str | None = None,
    max_bytes: int | None = DEFAULT_MAX_BYTES,
) -> TableFile:
    """Open a table of any format that is read (see the page on tables).

    Parameters
    ----------
    path : path
        The file; its format is recognised from its content.
    delimiter : str, optional
        What stands between the cells of a CSV file; found from its header when not given.
    decimal : {".", ","}, optional
        Decimal mark of a CSV file; found column by column when not given.
    encoding : str, optional
        Encoding of a CSV file, such as "latin-1"; UTF-8 when not given.
    missing : collection of str
        Cells that are missing, beside those that always are.
    transpose : bool, default=False
        Whether features are in rows: the first column holds their names, the header the samples.
    phenotype : path, optional
        A second table with the class of each sample and what else is known of it, joined by the
        samples' identifiers. Its columns are features only where they are named.
    sample_id : str, optional
        Column of ``phenotype`` that identifies samples; by default its first.
    sheet : str, optional
        Sheet of a spreadsheet, by its name or number; needed where several hold cells.
    header_row : int, optional
        Line of a CSV file, or row of a sheet, that names the columns, counted from 1; by default
        the first line that is no comment, or the first row of a sheet below its titles.
    layer : str, optional
        Layer of an .h5ad file whose numbers are read instead of X.
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
    words: dict[str, Any] = {"missing": tuple(missing), "max_bytes": max_bytes}
    if header_row is not None and not 1 <= header_row <= MAX_HEADER_ROW:
        msg = f"header_row is {header_row:,}; give a number from 1 to {MAX_HEADER_ROW:,}."
        raise InputError(msg)
    form = TextForm(delimiter, decimal, encoding, header_row)
    file = _opened(Path(path), form, words, sheet=sheet, layer=layer)
    if transpose:
        if SAMPLE in file.apart:
            msg = f"{file.name} has its samples in rows already; leave out --transpose."
            raise InputError(msg)
        file = transposed(file)
    if phenotype is not None:
        # What holds for the cells of the table need not hold for another program's file.
        file = joined(file, _opened(Path(phenotype), TextForm(), words), sample_id)
    elif sample_id is not None:
        msg = "--sample-id names a column of a phenotype file; give the file with --phenotype."
        raise InputError(msg)
    return file


def _opened(
    path: Path,
    form: TextForm,
    words: dict[str, Any],
    *,
    sheet: str | None = None,
    layer: str | None = None,
) -> TableFile:
    """Open a file as its format asks."""
    kind, max_bytes = recognise(path), words["max_bytes"]
    notes: tuple[str, ...] = ()
    if kind == "parquet":
        parquet = open_parquet(path)
        return TableFile(path.name, "parquet", parquet.columns, parquet, **words)
    if kind == "npz":
        npz = open_npz(path, max_bytes)
        if npz.unused:
            notes = (f"Arrays other than X, y and names are not used: {listed(npz.unused)}.",)
        return TableFile(path.name, "npz", npz.columns, npz, notes=notes, **words)
    if kind in ("series matrix", "gct"):
        read = open_gct if kind == "gct" else open_series_matrix
        with ByteStream(path, max_bytes, form.encoding) as stream:
            return read(path.name, stream.text_lines(), words)
    if kind == "spreadsheet":
        return open_spreadsheet(path, sheet, form.header_row, words)
    if layer is not None and kind != "h5ad":
        msg = f"{path.name} is no .h5ad file, and has no layers; leave out --layer."
        raise InputError(msg)
    if kind == "store":
        return open_store_table(path, words)
    if kind == "plink":
        return open_plink_table(path, words)
    if kind == "h5ad":
        return open_h5ad(path, layer, words)
    if kind in ("arrow", "json lines"):
        return open_whole(path, kind, words)
    if form.encoding is None:
        encoding = detect_encoding(path)
        if encoding is not None:
            form = replace(form, encoding=encoding)
            notes = (f"{path.name} is not UTF-8; it was read as {encoding} (--encoding decides).",)
    csv = open_csv(path, form, max_bytes, kind == "packed csv")
    if len(csv.columns) == 1 and form.delimiter is None:
        found = read_blank_separated(path, form, max_bytes)
        if found is not None:
            header, rows = found
            cells = {name: [row[j] for row in rows] for j, name in enumerate(header.names)}
            reader = MemoryReader(pa.table(cells), header.decimal)
            notes = (*notes, *header.notes)
            marks = header.marks
            return TableFile(
                path.name, "csv", header.names, reader, marks=marks, notes=notes, **words
            )
    n_comments = csv.header.n_comments
    if n_comments:
        lines = "1 comment line" if n_comments == 1 else f"{n_comments:,} comment lines"
        notes = (*notes, f"The header of {path.name} stands below {lines}.")
    notes = (*notes, *csv.header.notes)
    return TableFile(
        path.name,
        "csv",
        csv.columns,
        csv,
        marks=csv.header.marks,
        line_of=csv.line_of,
        notes=notes,
        **words,
    )
