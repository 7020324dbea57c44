"""Opening a table of any format, turned around and joined with a phenotype file where asked."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from honestbayes.tables.csv_reader import ByteStream, TextForm, open_csv
from honestbayes.tables.errors import InputError, listed
from honestbayes.tables.expression import SAMPLE, joined, open_gct, open_series_matrix, transposed
from honestbayes.tables.files import DEFAULT_MAX_BYTES, TableFile, open_parquet
from honestbayes.tables.formats import recognise
from honestbayes.tables.npz_reader import open_npz


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
    max_bytes: int | None = DEFAULT_MAX_BYTES,
) -> TableFile:
    """Open a table: CSV, TSV (both also compressed), Parquet, a NumPy archive, GEO or GCT.

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
    form = TextForm(delimiter, decimal, encoding)
    file = _opened(Path(path), form, words)
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


def _opened(path: Path, form: TextForm, words: dict[str, Any]) -> TableFile:
    """Open a file as its format asks."""
    kind, max_bytes = recognise(path), words["max_bytes"]
    if kind == "parquet":
        parquet = open_parquet(path)
        return TableFile(path.name, "parquet", parquet.columns, parquet, **words)
    if kind == "npz":
        npz = open_npz(path, max_bytes)
        notes: tuple[str, ...] = ()
        if npz.unused:
            notes = (f"Arrays other than X, y and names are not used: {listed(npz.unused)}.",)
        return TableFile(path.name, "npz", npz.columns, npz, notes=notes, **words)
    if kind in ("series matrix", "gct"):
        read = open_gct if kind == "gct" else open_series_matrix
        with ByteStream(path, max_bytes, form.encoding) as stream:
            return read(path.name, stream.text_lines(), words)
    csv = open_csv(path, form, max_bytes, kind == "packed csv")
    return TableFile(
        path.name, "csv", csv.columns, csv, marks=csv.header.marks, line_of=csv.line_of, **words
    )
