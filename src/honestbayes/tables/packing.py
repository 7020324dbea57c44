"""Files as sources of packed stores, read a part at a time where possible."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from honestbayes.data.source import BLOCK_CELLS, Block, DenseSource, Source, as_source
from honestbayes.tables.conversion import is_number
from honestbayes.tables.csv_reader import BLOCK_BYTES, CsvReader, too_large
from honestbayes.tables.errors import DoubtfulTable, InputError, RowLocations, shown
from honestbayes.tables.files import TableFile
from honestbayes.tables.npz_reader import NpzReader
from honestbayes.tables.target import read_target
from honestbayes.types import AnyArray, IntArray

_NPY_MAGIC = b"\x93NUMPY"
_ZIP_MAGIC = b"PK\x03\x04"
_SPARSE = {"format.npy", "shape.npy", "data.npy"}
"""What ``scipy.sparse.save_npz`` writes, whatever the format."""

_ROWS_OF_A_BLOCK, _LARGEST_BLOCK = 200, 1 << 23
"""Rows of a wide CSV file, of two bytes a cell, that are parsed at a time; and bytes at most."""


@dataclass(frozen=True, slots=True)
class ToPack:
    """A table to be packed.

    Attributes
    ----------
    source : Source of shape (n, p)
        The columns.
    labels : ndarray of shape (n,), or None
        Class of each row.
    locations : RowLocations
        Where rows stand, for messages.
    """

    source: Source
    labels: AnyArray | None
    locations: RowLocations


@dataclass(frozen=True, slots=True, eq=False)
class FileSource:
    """Some columns of a file of numbers, read a batch of rows at a time; null is missing."""

    file: TableFile
    shape: tuple[int, int]
    feature_names: tuple[str, ...]

    beyond_memory = True

    def blocks(self) -> Iterator[Block]:
        """Yield batches of rows, from top to bottom, in one pass over the file."""
        first, columns = 0, slice(0, self.shape[1])
        for values in self._batches(self.feature_names):
            rows = slice(first, first + len(values))
            yield Block(rows, columns, values)
            first = rows.stop

    def take(self, columns: IntArray) -> AnyArray:
        """Read the named columns of all rows."""
        return self.take_rows(np.arange(self.shape[0]), columns)

    def take_rows(self, rows: IntArray, columns: IntArray) -> AnyArray:
        """Read some rows, in ascending order, of the named columns."""
        names = [self.feature_names[column] for column in columns]
        parts, first = [np.zeros((0, len(names)))], 0
        with closing(self._batches(names)) as batches:
            for values in batches if len(rows) else ():
                ends = np.searchsorted(rows, [first, first + len(values)])
                parts.append(values[rows[slice(*ends)] - first])
                first += len(values)
                if first > rows[-1]:
                    break
        return np.concatenate(parts)

    def _batches(self, names: Collection[str]) -> Generator[AnyArray, None, None]:
        fewest = max(1, BLOCK_CELLS // self.shape[1])
        with closing(self.file.batches(tuple(names), fewest=fewest)) as batches:
            for batch in batches:
                yield np.column_stack([batch[name].to_numpy() for name in names])


def array_to_pack(path: Path, limit: int | None) -> ToPack | None:
    """Open an array that NumPy saved, or a matrix that SciPy did; None where a file is neither.

    Parameters
    ----------
    path : Path
        The file; it exists.
    limit : int or None
        Largest size of a matrix in bytes, once unpacked. An array is not read but mapped.
    """
    with path.open("rb") as file:
        start = file.read(len(_NPY_MAGIC))
    try:
        if start == _NPY_MAGIC:
            return ToPack(as_source(np.load(path, mmap_mode="r")), None, RowLocations())
        if start.startswith(_ZIP_MAGIC):
            with zipfile.ZipFile(path) as archive:
                entries = {info.filename: info.file_size for info in archive.infolist()}
            if set(entries) >= _SPARSE:
                if limit is not None and sum(entries.values()) > limit:
                    raise too_large(path.name, limit)
                return ToPack(as_source(sparse.load_npz(path)), None, RowLocations())
    except InputError:
        raise
    except (ValueError, OSError, EOFError, LookupError, zipfile.BadZipFile, zlib.error) as error:
        detail = " ".join(str(error).split())[:120].rstrip(".") or type(error).__name__
        msg = f"{path.name} cannot be packed ({detail}); write it again."
        raise InputError(msg) from None
    return None


def file_to_pack(
    file: TableFile, target: str | None, ignore: Collection[str], **labels_are: Any
) -> ToPack:
    """Return the columns of a table to be packed, and its classes.

    Parameters
    ----------
    file : TableFile
        The table.
    target : str or None
        Column of the class; it is kept beside the others.
    ignore : collection of str
        Columns to leave out.
    **labels_are
        ``merge``, ``missing`` and ``keep`` of :func:`honestbayes.tables.target.read_target`.
    """
    file.require([*ignore, *(() if target is None else (target,))])
    left_out = {*ignore, target}
    names = tuple(name for name in file.columns if name not in left_out)
    if not names:
        msg = f"{file.name} has no columns left to pack; ignore fewer with --ignore."
        raise InputError(msg)
    labels = None if target is None else _labels(file, target, labels_are)
    if isinstance(file.reader, NpzReader):
        return ToPack(_columns_of(file, file.reader, names), labels, file.locations())
    if labels is not None:
        n_rows = labels.size
    else:
        with closing(file.batches(())) as batches:
            n_rows = sum(batch.num_rows for batch in batches)
    if n_rows == 0:
        msg = f"{file.name} has no rows; give a table with rows below its header."
        raise InputError(msg)
    if isinstance(file.reader, CsvReader):
        block = min(max(_ROWS_OF_A_BLOCK * 2 * len(file.columns), BLOCK_BYTES), _LARGEST_BLOCK)
        file = replace(file, reader=replace(file.reader, block_bytes=block))
    return ToPack(FileSource(file, (n_rows, len(names)), names), labels, file.locations())


def _columns_of(file: TableFile, reader: NpzReader, names: tuple[str, ...]) -> Source:
    """Return columns of an archive as they are in it; y is one, where it is not the target."""
    X, y = reader.arrays(file.max_bytes)
    positions = {name: j for j, name in enumerate(reader.columns[: reader.n_features])}
    if y is not None and any(name not in positions for name in names):
        msg = f"y in {file.name} is not a feature; use --target y, or leave it out with --ignore y."
        raise InputError(msg)
    kept = [positions[name] for name in names]
    values = X if len(kept) == X.shape[1] else X[:, kept]
    return DenseSource(values, names)


def _labels(file: TableFile, target: str, labels_are: Mapping[str, Any]) -> AnyArray:
    """Return the class of each row: numbers where the column holds numbers, else texts."""
    column: pa.ChunkedArray = file.read([target])[target]
    target_column = read_target(column, target, None, table=file.name, **labels_are)
    doubts = [finding.in_command() for finding in target_column.findings]
    if doubts:
        raise DoubtfulTable(file.name, doubts)
    if not target_column.has_class.all():
        where = file.locations().describe(int(np.argmin(target_column.has_class)))
        msg = f"column {shown(target)} is missing in {where}; fill it in, or leave the row out."
        raise InputError(msg)
    classes: AnyArray = np.array(target_column.labels)
    if is_number(column.type) and not pa.types.is_boolean(column.type):
        numbers = classes.astype(float)
        whole = np.all(numbers == np.rint(numbers))
        classes = numbers.astype(np.int64) if whole else numbers
    labels: AnyArray = classes[target_column.codes]
    return labels
