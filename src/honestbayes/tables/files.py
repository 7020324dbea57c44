"""A table in a file, read whole or in batches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet

from honestbayes.tables.conversion import infer, is_text, to_numbers, to_text, without
from honestbayes.tables.csv_reader import checked_names, too_large
from honestbayes.tables.errors import InputError, RowLocations, shown, suggestion
from honestbayes.types import AnyArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Parquet files, some rows at a time
# --------------------------------------------------------------------------------------------------


_BATCH_CELLS = 1 << 22
_BATCH_ROWS = 1 << 16

# What pyarrow raises for files that are broken on purpose or by accident.
_BROKEN = (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError, LookupError)


@dataclass(frozen=True, slots=True)
class ParquetReader:
    """A Parquet file; text is kept once per category, because a small file may unpack to much."""

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


def _broken(name: str, error: BaseException, form: str = "Parquet") -> InputError:
    detail = " ".join(str(error).split())[:120]
    if not detail or "/" in detail or "\\" in detail:  # pyarrow may name the folder
        detail = type(error).__name__
    return InputError(f"{name} cannot be read as {form} ({detail}); write the file again.")


DEFAULT_MAX_BYTES = 4 << 30
"""Unpacked bytes of a table that are read unless the user asks for more: a small packed file can
hold more than a machine has memory."""

Format = Literal["csv", "parquet", "npz"]


class Reader(Protocol):
    """Interface of a reader of one format."""

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
        The user's texts for missing cells, besides the usual ones.
    line_of : callable or None
        Of a CSV file: returns the line on which a row begins, or None where that cannot be told.
    row_numbers : ndarray of int, or None
        Numbers of the rows in the file, counted from 1, where only some of them are read.
    apart : frozenset of str
        Columns that are features only where the user names them: identifiers of samples, and
        columns of a phenotype file.
    counts : frozenset of str
        Columns of small whole numbers that are no codes: copies of an allele.
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
    apart: frozenset[str] = frozenset()
    counts: frozenset[str] = frozenset()

    @property
    def decimal(self) -> str:
        """Decimal mark of columns that show none: "," in files of spreadsheets that write it so."""
        return self.reader.decimal

    def decimal_of(self, name: str) -> str:
        """Return the decimal mark of a column."""
        return self.marks.get(name, self.decimal)

    def locations(self, numbers: IntArray | None = None, *, first: int = 1) -> RowLocations:
        """Return where rows stand, for messages: by their numbers, or one after another."""
        return RowLocations(numbers, first, self.line_of)

    def with_missing(self, texts: Collection[str]) -> Self:
        """Return the file with cells that are called missing."""
        return replace(self, missing=tuple(texts))

    def read(self, columns: Sequence[str] | None = None, *, text: Collection[str] = ()) -> pa.Table:
        """Read all rows.

        Parameters
        ----------
        columns : sequence of str, optional
            Which columns, in this order; all of them when not given.
        text : collection of str
            Columns that stay text even where every cell is a number, such as identifiers; the
            user's texts for missing cells do not apply to them.

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
                column = without(column, name, self.missing)
                # Elsewhere text is text, but for numbers that only such cells made text.
                typed = not is_text(column.type)
                if not typed and (self.format == "csv" or column.null_count > before):
                    column = infer(column, self.decimal_of(name))
                    column = without(column, name, self.missing)
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
                locations = self.locations(first=row)
                for name in wanted:
                    column = batch[name]
                    if name not in names:
                        column = without(column, name, self.missing)
                    if name in text or name in names:
                        arrays[name] = to_text(column, name)
                    else:
                        mark = self.decimal_of(name)
                        values = to_numbers(column, name, decimal=mark, locations=locations)
                        numbers = pa.chunked_array([pa.array(values, from_pandas=True)])
                        arrays[name] = without(numbers, name, self.missing)
                yield pa.table(arrays)
                row += batch.num_rows

    def require(self, columns: Sequence[str]) -> None:
        """Raise InputError if a column is missing, and suggest similar names."""
        known = set(self.columns)
        for name in columns:
            if name not in known:
                msg = f"{self.name} has no column {shown(name)}{suggestion(name, self.columns)}"
                if len(known) == 1:
                    fix = (
                        "if titles stand above the header, give its line with --header-row, else "
                        "name what separates the cells with --delimiter"
                    )
                    if any(mark in self.columns[0] for mark in ",;\t|"):
                        fix = "remove the quotes around each line"
                    one = shown(self.columns[0])
                    msg = f"{self.name} was read as one column, {one}; {fix}."
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


# --------------------------------------------------------------------------------------------------
# Tables in memory, read like files
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MemoryReader:
    """A reader of the columns of an Arrow table in memory."""

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


# --------------------------------------------------------------------------------------------------
# Matrices with named columns: AnnData, packed stores
# --------------------------------------------------------------------------------------------------


_BLOCK_CELLS = 1 << 24

Rows = Callable[[int, int], Any]
"""Returns rows of a matrix, from one number to before another: an array or a CSR matrix."""


@dataclass(frozen=True, slots=True, eq=False)
class MatrixReader:
    """A reader of a matrix with named columns, beside a table of what is known of its rows.

    Attributes
    ----------
    name : str
        What messages call it.
    obs : pyarrow.Table
        The columns beside the matrix, in memory.
    features : tuple of str
        Names of the columns of the matrix.
    n_rows : int
        How many rows there are.
    rows : callable
        Reads rows of the matrix.
    dtype : dtype
        Type of its cells.
    """

    name: str
    obs: pa.Table
    features: tuple[str, ...]
    n_rows: int
    rows: Rows
    dtype: np.dtype[Any]
    decimal: str = "."

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns: those of obs, then the features."""
        return (*self.obs.column_names, *self.features)

    def batches(
        self, columns: Sequence[str], *, limit: int | None, whole: bool
    ) -> Generator[pa.Table, None, None]:
        """Yield the rows in order; the matrix is read in blocks in either case."""
        at = {name: j for j, name in enumerate(self.features)}
        index = np.array([at[name] for name in columns if name in at], dtype=np.int64)
        step = self.n_rows if whole else max(1, _BATCH_CELLS // max(1, index.size))
        size = min(step, self.n_rows) * index.size * np.dtype(float).itemsize  # as features are
        if limit is not None and size > limit:
            raise too_large(self.name, limit)
        for start in range(0, self.n_rows, max(1, step)):
            stop = min(start + step, self.n_rows)
            values = iter(self._dense(start, stop, index).T)
            yield pa.table(
                {
                    name: pa.array(next(values))
                    if name in at
                    else self.obs[name].slice(start, stop - start)
                    for name in columns
                }
            )

    def _dense(self, start: int, stop: int, index: AnyArray) -> AnyArray:
        """Return some columns of some rows as an array whose columns are contiguous."""
        values = np.empty((stop - start, index.size), dtype=self.dtype, order="F")
        if index.size == 0:
            return values
        everything = np.array_equal(index, np.arange(len(self.features)))
        step = max(1, _BLOCK_CELLS // len(self.features))
        for first in range(start, stop, step):
            block = self.rows(first, min(first + step, stop))
            part: Any = block if everything else block[:, index]
            dense = part.toarray() if hasattr(part, "toarray") else part
            values[first - start : first - start + dense.shape[0]] = dense
        return values


def open_store_table(path: Path, words: Mapping[str, Any]) -> TableFile:
    """Open a packed store; its classes, if it has any, become the column y."""
    from honestbayes.data.packed_store import StoreError, open_store

    try:
        store = open_store(path)
        labels = store.labels
    except StoreError as error:
        raise InputError(str(error)) from None
    n_rows, n_columns = store.shape
    features = store.feature_names or tuple(f"x{j}" for j in range(n_columns))
    every = np.arange(n_columns)

    def rows(start: int, stop: int) -> Any:
        return store.take_rows(np.arange(start, stop), every)

    classes = {}
    if labels is not None:
        classes["y"] = pa.array([str(label) for label in labels.tolist()], pa.string())
    reader = MatrixReader(
        path.name,
        pa.table(classes),
        checked_names(list(features), path.name),
        n_rows,
        rows,
        np.dtype(np.int8),
    )
    return TableFile(path.name, "npz", reader.columns, reader, **words)


def open_plink_table(path: Path, words: Mapping[str, Any]) -> TableFile:
    """Open genotypes of PLINK files, with the identifiers and phenotypes of the .fam file.

    A column is named as by ``plink --recode A``, by the variant and the allele that is counted: a
    model then refuses files in which PLINK has swapped the alleles.
    """
    from honestbayes.data.plink import PlinkError, counted_alleles, open_plink

    try:
        source = open_plink(path)
        alleles = counted_alleles(path)
    except PlinkError as error:
        raise InputError(f"{str(error).rstrip('.')}.") from None
    notes: tuple[str, ...] = ()
    try:
        phenotype = source.phenotype
    except PlinkError:
        phenotype = None
        fam = path.with_suffix(".fam").name
        notes = (f"The phenotype of {fam} is not 1 or 2; give the classes with --phenotype FILE.",)
    names = [f"{name}_{a1}" for name, a1 in zip(source.feature_names, alleles, strict=True)]
    obs = {"sample": pa.array(source.sample_ids.tolist(), pa.string())}
    if phenotype is not None:
        codes = np.asarray(phenotype, dtype=float)
        known = [None if np.isnan(code) else str(int(code)) for code in codes]
        obs["phenotype"] = pa.array(known, pa.string())
    every = np.arange(source.shape[1])

    def rows(start: int, stop: int) -> Any:
        return source.take_rows(np.arange(start, stop), every)

    features = checked_names(names, path.name)
    dtype = np.dtype(np.float32)  # a missing cell is NaN
    reader = MatrixReader(path.name, pa.table(obs), features, source.shape[0], rows, dtype)
    note = (
        f"Features are numbers of copies (0, 1, 2) of one allele of {len(features):,} variants; "
        "the allele follows the variant's name."
    )
    return TableFile(
        path.name,
        "npz",
        reader.columns,
        reader,
        notes=(note, *notes),
        apart=frozenset(obs),
        counts=frozenset(features),
        **words,
    )


def open_whole(
    path: Path, kind: Literal["arrow", "json lines"], words: Mapping[str, Any]
) -> TableFile:
    """Read a file of Arrow (Feather) or of JSON lines as a whole."""
    limit = words["max_bytes"]
    try:
        if kind == "arrow":
            with pa.memory_map(str(path)) as source:
                table = pa.ipc.open_file(source).read_all()
        else:
            if limit is not None and path.stat().st_size > limit:
                raise too_large(path.name, limit)
            table = pyarrow.json.read_json(path)
    except InputError:
        raise
    except _BROKEN as error:
        raise _broken(path.name, error, "Arrow" if kind == "arrow" else "JSON lines") from None
    if limit is not None and table.nbytes > limit:
        raise too_large(path.name, limit)
    names = checked_names([str(name) for name in table.column_names], path.name)
    reader = MemoryReader(table.rename_columns(list(names)))
    return TableFile(path.name, "parquet", names, reader, **words)


def frame_table(frame: Any, name: str) -> TableFile:
    """Return a frame, or an AnnData object, as a table that :func:`read_training` takes.

    Parameters
    ----------
    frame : pandas or polars frame, or AnnData
        With the class in one of its columns; AnnData has it in ``obs``.
    name : str
        What the table is called in messages and in a report.
    """
    if hasattr(frame, "obs") and hasattr(frame, "var_names"):
        from honestbayes.tables.anndata import anndata_table  # which imports this module

        return anndata_table(frame, name)
    if type(frame).__module__.split(".")[0] == "polars":
        table = frame.to_arrow()
    else:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    reader = MemoryReader(table)
    return TableFile(name, "parquet", reader.columns, reader, None)


# --------------------------------------------------------------------------------------------------
# A random sample of the rows of a large table, in one pass
# --------------------------------------------------------------------------------------------------


def sampled(file: TableFile, n_rows: int, seed: int) -> TableFile:
    """Return a table of rows drawn at random, each set of so many rows as probable as any other.

    Every row is given a random number, and those with the smallest are kept, in the order of the
    file. A table with no more rows is returned whole.

    Parameters
    ----------
    file : TableFile
        The table.
    n_rows : int
        How many rows are kept.
    seed : int
        Draws them.
    """
    known = getattr(file.reader, "n_rows", None)
    if known is not None and known <= n_rows:
        return file
    generator = np.random.default_rng(seed)
    parts: list[pa.Table] = []
    numbers: list[IntArray] = []
    lots: list[FloatArray] = []
    bound, total, waiting = np.inf, 0, 0
    for batch in file.reader.batches(file.columns, limit=file.max_bytes, whole=False):
        lot = generator.random(batch.num_rows)
        chosen = np.flatnonzero(lot < bound)
        # A batch may hold on to the memory of all its rows; what is taken does not.
        parts.append(batch.take(pa.array(chosen)))
        numbers.append(total + chosen + 1)
        lots.append(lot[chosen])
        total += batch.num_rows
        waiting += chosen.size
        if waiting > 2 * n_rows:
            parts, numbers, lots = _smallest(parts, numbers, lots, n_rows)
            bound, waiting = float(lots[0].max()), n_rows
    if total <= n_rows:
        table = pa.concat_tables(parts, promote_options="permissive") if parts else None
        return file if table is None else replace(file, reader=_in_memory(file, table))
    parts, numbers, lots = _smallest(parts, numbers, lots, n_rows)
    note = (
        f"The report uses {n_rows:,} of {total:,} rows, drawn at random (seed {seed}); --rows sets "
        "the number."
    )
    return replace(
        file,
        reader=_in_memory(file, parts[0]),
        notes=(*file.notes, note),
        row_numbers=numbers[0],
    )


def _smallest(
    parts: list[pa.Table], numbers: list[IntArray], lots: list[FloatArray], n_rows: int
) -> tuple[list[pa.Table], list[IntArray], list[FloatArray]]:
    """Keep the rows with the smallest random numbers, in their order."""
    lot = np.concatenate(lots)
    kept = np.sort(np.argpartition(lot, n_rows - 1)[:n_rows])
    table = pa.concat_tables(parts, promote_options="permissive").take(pa.array(kept))
    return [table.combine_chunks()], [np.concatenate(numbers)[kept]], [lot[kept]]


def _in_memory(file: TableFile, table: pa.Table) -> MemoryReader:
    return MemoryReader(table, file.decimal)
