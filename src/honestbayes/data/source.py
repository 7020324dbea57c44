"""Sources: one interface to tables of any kind.

A source hands out blocks of rows, of columns or of both for counting, and dense copies of a few
named columns for prediction. The blocks hold every cell once, in any order; two blocks have the
same columns or none in common. Nobody may rely on more: statistics of blocks are merged by
:func:`accumulate`, and what needs all rows of a column asks :func:`whole_columns`. To add
a kind of table, write a class with these members and name it in :func:`as_source`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import getitem
from typing import Any, Generic, NoReturn, Protocol, Self, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from honestbayes.types import AnyArray, BoolArray, IntArray

# --------------------------------------------------------------------------------------------------
# Packed columns: eight cases to a byte, column after column
# --------------------------------------------------------------------------------------------------


WORD = 64
"""Cases in one word of bits."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedColumns:
    """Some columns of zeros and ones, none of them missing, as bits.

    Attributes
    ----------
    bits : ndarray of uint64 of shape (c, w)
        The words of each column: case i is bit i % 64, from the lowest, of word i // 64. Bits
        beyond the last case are 0.
    n_rows : int
        How many cases there are.
    """

    bits: AnyArray
    n_rows: int

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.n_rows, self.bits.shape[0]

    @classmethod
    def pack(cls, ones: AnyArray) -> PackedColumns:
        """Pack an array of zeros and ones of shape (n, c)."""
        n, c = ones.shape
        by_column = np.packbits(np.ascontiguousarray(ones.T), axis=1, bitorder="little")
        padded = np.zeros((c, 8 * n_words(n)), dtype=np.uint8)
        padded[:, : by_column.shape[1]] = by_column
        return cls(padded.view("<u8"), n)

    def toarray(self) -> AnyArray:
        """Return zeros and ones of shape (n, c), one byte each."""
        as_bytes = np.ascontiguousarray(self.bits).view(np.uint8)
        by_column = np.unpackbits(as_bytes, axis=1, count=self.n_rows, bitorder="little")
        return np.ascontiguousarray(by_column.T)

    def __getitem__(self, rows: Any) -> AnyArray:
        """Return some rows as zeros and ones, one byte each."""
        return np.ascontiguousarray(self.toarray()[rows])


def n_words(n_rows: int) -> int:
    """Return how many words hold the bits of so many cases."""
    return -(-n_rows // WORD)


# --------------------------------------------------------------------------------------------------
# Packed genotypes: four cases to a byte, variant after variant
# --------------------------------------------------------------------------------------------------


A1_COUNTS = np.array([2, -1, 1, 0], dtype=np.int8)
"""Count of the first allele (A1) for each pair of bits in a PLINK file; -1 is missing."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedGenotypes:
    """Some variants as two bits for each case: counts 0, 1 and 2 of an allele, or missing.

    Attributes
    ----------
    packed : ndarray of uint8 of shape (c, b)
        The bytes of each variant: case i is the bits 2 (i % 4) and 2 (i % 4) + 1, from the
        lowest, of byte i // 4. Bits beyond the last case mean nothing.
    n_cases : int
        How many cases the bytes hold.
    rows : ndarray of int of shape (m,), or None
        Which of these cases are the block's rows; None: all, in order.
    """

    packed: AnyArray
    n_cases: int
    rows: IntArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.n_cases if self.rows is None else self.rows.size, self.packed.shape[0]

    def toarray(self) -> AnyArray:
        """Return counts of the first allele, shape (n, c): bytes, or floats where NaN is needed."""
        if self.rows is None:
            pairs = _PAIRS[self.packed].reshape(len(self.packed), -1)[:, : self.n_cases]
        else:
            shift = (2 * (self.rows & 3)).astype(np.uint8)
            pairs = A1_COUNTS[(self.packed[:, self.rows >> 2] >> shift) & np.uint8(3)]
        counts = np.ascontiguousarray(pairs).T
        if counts.min(initial=0) >= 0:
            return counts
        return np.where(counts < 0, np.float32(np.nan), counts).astype(np.float32)

    def counts(self, groups: AnyArray, n_groups: int) -> IntArray:
        """Count genotypes in groups of rows, from the bytes as they are.

        Parameters
        ----------
        groups : ndarray of int of shape (n,)
            The group of each row.
        n_groups : int
            How many groups there are.

        Returns
        -------
        ndarray of int of shape (c, G, 4)
            Cells with 0, 1 and 2 first alleles, and missing ones.
        """
        from honestbayes.data.kernels import count_genotypes

        # Rows that were not chosen are in no group, so that a part of the cases costs no copy.
        in_group = np.zeros((n_groups, WORD * n_words(2 * self.n_cases)), dtype=np.uint8)
        own = np.arange(self.n_cases) if self.rows is None else self.rows
        in_group[groups, 2 * own] = 1
        masks = np.packbits(in_group, axis=1, bitorder="little").view("<u8")
        counts: AnyArray = np.zeros((len(self.packed), n_groups, 4), dtype=np.int32)
        count_genotypes(self.packed, masks, counts)
        return counts

    def __getitem__(self, rows: Any) -> PackedGenotypes:
        """Return some rows, none of them twice; no byte is copied."""
        own = np.arange(self.n_cases) if self.rows is None else self.rows
        return PackedGenotypes(self.packed, self.n_cases, own[rows])

    def columns(self, columns: IntArray | slice) -> PackedGenotypes:
        """Return some columns."""
        return PackedGenotypes(self.packed[columns], self.n_cases, self.rows)


_PAIRS = A1_COUNTS[(np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3]
"""The four genotypes of each byte."""


# --------------------------------------------------------------------------------------------------
# Blocks of a table, and how functions are applied to them
# --------------------------------------------------------------------------------------------------


BLOCK_CELLS = 1 << 23
"""Cells in one dense block: large enough for speed, small enough not to be noticed in memory."""

SLICE_CELLS = 1 << 19
"""Cells in a slice of the columns of a table in memory: copies of it stay in the processor's cache,
and their memory is used again instead of being asked for anew."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a table.

    Attributes
    ----------
    rows, columns : slice
        Which rows and columns of the table, with a start and a stop and no step.
    values : ndarray or SciPy CSR or CSC matrix in canonical format, of shape (rows, columns)
        The cells; NaN is missing.
    """

    rows: slice
    columns: slice
    values: Any

    def dense(self) -> AnyArray:
        """Return the values as an array."""
        return dense(self.values)


def dense(values: Any) -> AnyArray:
    """Return the values of a block as an array."""
    result: AnyArray = values.toarray() if hasattr(values, "toarray") else values
    return result


class Work(Protocol):
    """How functions are applied to the values of blocks: at once, or deferred."""

    def call(self, function: Callable[..., Any], *values: Any) -> Any:
        """Return the result of a function, or a deferred handle to it."""

    def results(self, calls: list[Any]) -> list[Any]:
        """Return the results of calls."""


class _Now:
    """Functions are applied at once."""

    def call(self, function: Callable[..., Any], *values: Any) -> Any:
        """Return the result of a function."""
        return function(*values)

    def results(self, calls: list[Any]) -> list[Any]:
        """Return them as they are."""
        return calls


NOW: Work = _Now()


def work_of(source: Source) -> Work:
    """Return how functions are applied to a source's blocks: at once by default."""
    work: Work = getattr(source, "work", NOW)
    return work


def is_beyond_memory(source: Source) -> bool:
    """Whether a source is too expensive to read again for every fold."""
    return bool(getattr(source, "beyond_memory", False))


# --------------------------------------------------------------------------------------------------
# Sources, and sources in memory
# --------------------------------------------------------------------------------------------------


class Source(Protocol):
    """Interface of tables for counting and prediction.

    Where the values of its blocks are deferred handles, a source has one member more, ``work``, by
    which functions are applied to them. Where reading it again is expensive, it has
    ``beyond_memory = True``: then folds are counted in one pass, and columns that any of them keeps
    are read once.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, where the table has them."""

    def blocks(self) -> Iterator[Block]:
        """Yield every cell once, in any order; two blocks share all their columns or none."""

    def take(self, columns: IntArray) -> AnyArray:
        """Return the named columns as a dense array of shape (n, len(columns))."""


@dataclass(frozen=True, slots=True)
class DenseSource:
    """A NumPy array of integers, booleans or floats, in any memory layout."""

    values: AnyArray
    feature_names: tuple[str, ...] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.values.shape[0], self.values.shape[1]

    def blocks(self) -> Iterator[Block]:
        """Yield slices of columns; nothing is copied."""
        n, p = self.shape
        for columns in column_slices(n, p):
            yield Block(slice(0, n), columns, self.values[:, columns])

    def take(self, columns: IntArray) -> AnyArray:
        """Return a copy of the named columns."""
        return np.take(self.values, columns, axis=1)


@dataclass(frozen=True, slots=True)
class SparseSource:
    """A SciPy CSR or CSC matrix or array in canonical format; absent cells are zeros."""

    values: Any
    feature_names: tuple[str, ...] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.values.shape[0], self.values.shape[1]

    def blocks(self) -> Iterator[Block]:
        """Yield the whole matrix as it is."""
        n, p = self.shape
        yield Block(slice(0, n), slice(0, p), self.values)

    def take(self, columns: IntArray) -> AnyArray:
        """Return the named columns as a dense array."""
        dense: AnyArray = self.values[:, columns].toarray()
        return dense


@dataclass(frozen=True, slots=True)
class RowsOf:
    """Some rows of a source of any kind, for training without the others."""

    source: Source
    rows: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return int(self.rows.size), self.source.shape[1]

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, where the table has them."""
        return self.source.feature_names

    @property
    def work(self) -> Work:
        """How functions are applied to blocks."""
        return work_of(self.source)

    @property
    def beyond_memory(self) -> bool:
        """Whether reading it again is expensive."""
        return is_beyond_memory(self.source)

    def blocks(self) -> Iterator[Block]:
        """Yield the rows of each of the source's blocks."""
        if self.rows.size == 0:
            p = self.shape[1]
            yield Block(slice(0, 0), slice(0, p), np.zeros((0, p)))
            return
        for block in self.source.blocks():
            first, end = block.rows.start, block.rows.stop
            inside = np.flatnonzero((self.rows >= first) & (self.rows < end))
            # One run unless the source cuts rows and these are not in its order.
            ends = [*(np.flatnonzero(np.diff(inside) > 1) + 1).tolist(), inside.size]
            for start, stop in pairwise([0, *ends]):
                if stop > start:
                    rows = slice(int(inside[start]), int(inside[stop - 1]) + 1)
                    values = self.work.call(getitem, block.values, self.rows[rows] - first)
                    yield Block(rows, block.columns, values)

    def take(self, columns: IntArray) -> AnyArray:
        """Return the rows of the named columns, rows first where that is cheap."""
        if isinstance(self.source, DenseSource):
            values = self.source.values
            if 4 * len(columns) < values.shape[1]:
                return np.ascontiguousarray(values[np.ix_(self.rows, columns)])
            return np.take(values[self.rows], columns, axis=1)
        if isinstance(self.source, SparseSource):
            dense: AnyArray = self.source.values[self.rows][:, columns].toarray()
            return dense
        if hasattr(self.source, "take_rows"):
            part: AnyArray = self.source.take_rows(self.rows, columns)
            return part
        return self.source.take(columns)[self.rows]


def dense_values(source: Source) -> AnyArray:
    """Return all columns of a small source as a dense array."""
    return source.take(np.arange(source.shape[1]))


def whole_columns(
    source: Source, wanted: Callable[[Any], bool] = lambda _: True
) -> Iterator[Block]:
    """Yield blocks that hold all rows of their columns, however the source cuts them.

    Columns that come in blocks of rows, or that are read elsewhere, are gathered by ``take``, a
    slice at a time.

    Parameters
    ----------
    source : Source of shape (n, p)
        The table.
    wanted : callable
        Columns are left out where it is false for the values of all blocks that hold them.
    """
    n, work = source.shape[0], work_of(source)
    gathered = set()
    blocks = source.blocks()
    if work is not NOW:
        some = list(blocks)
        flags = work.results([work.call(wanted, block.values) for block in some])
        blocks = (block for block, flag in zip(some, flags, strict=True) if flag)
    for block in blocks:
        first, end = block.columns.start, block.columns.stop
        if first in gathered or (work is NOW and not wanted(block.values)):
            continue
        if work is NOW and (block.rows.start, block.rows.stop) == (0, n):
            yield block
            continue
        gathered.add(first)
        for part in column_slices(n, end - first):
            columns = slice(first + part.start, first + part.stop)
            values = source.take(np.arange(columns.start, columns.stop))
            yield Block(slice(0, n), columns, values)


@dataclass(frozen=True, slots=True)
class DescribeColumns:
    """Names of columns in messages: by name, else by position.

    Attributes
    ----------
    names : tuple of str or None
        Names of columns from the position ``first`` on.
    """

    names: tuple[str, ...] | None
    first: int = 0

    def __call__(self, column: int) -> str:
        """Return the name of a column in messages."""
        return f"column {column}" if self.names is None else f"column {self.name(column)!r}"

    def name(self, column: int) -> str:
        """Return the name of a column."""
        assert self.names is not None
        return self.names[column - self.first]

    def at(self, columns: slice) -> DescribeColumns:
        """Return the description of these columns alone."""
        names = None if self.names is None else self.names[columns]
        return DescribeColumns(names, columns.start)


# --------------------------------------------------------------------------------------------------
# From tables to sources
# --------------------------------------------------------------------------------------------------


def is_lazy(X: Any) -> bool:
    """Whether a table is deferred: of Dask, or a lazy frame."""
    kind = type(X)
    return kind.__module__.partition(".")[0] == "dask" or kind.__name__ == "LazyFrame"


def column_slices(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Cut the columns of a table into slices of about ``SLICE_CELLS`` cells."""
    width = max(1, SLICE_CELLS // max(n_rows, 1))
    for start in range(0, n_columns, width):
        yield slice(start, min(start + width, n_columns))


def as_source(X: Any) -> Source:
    """Wrap a table: array-like, SciPy sparse, a frame of any library, or a source."""
    if isinstance(X, DenseSource | SparseSource):
        return X
    module = type(X).__module__.partition(".")[0]
    if module == "dask":
        from honestbayes.data.beyond_memory import dask_source

        return dask_source(X)
    if type(X).__name__ == "LazyFrame":
        from honestbayes.data.beyond_memory import lazy_source

        return lazy_source(X)
    if all(hasattr(X, member) for member in ("blocks", "take", "shape", "feature_names")):
        source: Source = X
        return source
    if sparse.issparse(X):
        return _sparse_source(X)
    if module in ("pandas", "polars", "pyarrow"):
        from honestbayes.data.frames import as_frame, frame_source

        return frame_source(as_frame(X), "polars" if module == "polars" else "pandas")
    X = as_array(X)
    if X.dtype.kind in "OUS" and X.ndim == 2 and X.size:
        columns = [numbers_of(X[:, j], f"column {j}") for j in range(X.shape[1])]
        return DenseSource(np.column_stack(columns))
    if X.dtype.kind == "c" and X.ndim == 2 and X.shape[1]:
        refuse_complex(X.dtype, np.any(X.imag != 0, axis=0))
    values = check_array(
        X, dtype="numeric", ensure_all_finite=False, estimator="honestbayes", input_name="X"
    )
    if values.dtype.kind not in "buif":
        msg = f"X has dtype {values.dtype}; give integers, booleans or floats."
        raise ValueError(msg)
    return DenseSource(values)


def as_array(X: Any) -> Any:
    """Return a list of rows as an array in which numbers stay numbers, and arrays as they are.

    NumPy makes texts of numbers that stand beside texts, and complex numbers of all.
    """
    if not isinstance(X, list | tuple):
        return np.asarray(X)
    try:
        values = np.asarray(X)
    except ValueError:  # cells that hold several values
        values = None
    if values is not None and (values.ndim != 2 or values.dtype.kind in "buif"):
        return values
    rows = [row if isinstance(row, list | tuple) else list(row) for row in X]
    width = len(rows[0])
    wrong = next((i for i, row in enumerate(rows) if len(row) != width), None)
    if wrong is not None:
        msg = f"row {wrong} of X has {len(rows[wrong])} cells, but row 0 has {width}."
        raise ValueError(msg)
    cells = np.empty((len(rows), width), dtype=object)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            cells[i, j] = cell
    return cells


def numbers_of(values: AnyArray, name: str) -> AnyArray:
    """Return the cells of a column of objects as floats, NaN where they are missing.

    A text is not a number, even if it looks like one.
    """
    numbers = np.full(len(values), np.nan)
    for i, value in enumerate(values.tolist()):
        if value is None or (isinstance(value, float) and value != value):
            continue
        if isinstance(value, str | bytes):
            msg = (
                f"{name} holds {value!r}, which is not a number; encode it as 0/1 or numbers, or "
                "leave it out."
            )
            raise ValueError(msg)
        try:
            numbers[i] = float(value)
        except (TypeError, ValueError):
            if type(value).__name__ == "NAType":
                continue
            msg = (
                f"{name} holds {value!r}, which is not a number (the argument must be a string or "
                "a number); encode it as 0/1 or numbers, or leave it out."
            )
            raise TypeError(msg) from None
    return numbers


def refuse_complex(dtype: Any, imaginary: BoolArray) -> NoReturn:
    """Refuse complex numbers; name the first column with an imaginary part, else column 0.

    Parameters
    ----------
    dtype : dtype
        Type of the table.
    imaginary : ndarray of bool of shape (p,)
        Whether each column has an imaginary part that is not 0.
    """
    # The message begins as scikit-learn's checks of estimators expect.
    msg = (
        f"Complex data not supported: column {int(np.argmax(imaginary))} holds complex numbers "
        f"({dtype}); give its real and imaginary parts as two columns, or drop it."
    )
    if not imaginary.any():
        msg = (
            f"Complex data not supported: column 0 holds complex numbers ({dtype}), as all "
            "columns do, without any imaginary part; give X.real."
        )
    raise ValueError(msg)


def check_structure(X: Any) -> None:
    """Refuse a sparse matrix whose indices point outside of it: compiled code would follow them."""
    problem = ""
    if hasattr(X, "check_format"):
        try:
            X.check_format(full_check=True)
        except (IndexError, ValueError) as error:
            problem = str(error).rstrip(".")
    elif X.format == "coo":
        for size, index in zip(X.shape, (X.row, X.col), strict=True):
            if index.size and not 0 <= index.min() <= index.max() < size:
                problem = f"an index is not from 0 to {size - 1}"
    if problem:
        msg = f"X is not a valid sparse matrix: {problem}; rebuild it."
        raise ValueError(msg)


def _sparse_source(X: Any) -> SparseSource:
    if X.ndim != 2:
        msg = "Expected 2D array, got a sparse array of another dimension. Give X as a table."
        raise ValueError(msg)
    check_structure(X)
    if X.format not in ("csr", "csc"):
        X = X.tocsr()
    if np.dtype(X.dtype).kind == "c":
        imaginary = np.zeros(X.shape[1], dtype=bool)
        cells = X.tocoo()
        imaginary[cells.col[cells.data.imag != 0]] = True
        refuse_complex(X.dtype, imaginary)
    if X.shape[0] < 1 or X.shape[1] < 1:
        check_array(X, accept_sparse=True)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return SparseSource(X)


# --------------------------------------------------------------------------------------------------
# Some columns of a source
# --------------------------------------------------------------------------------------------------


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
        """Whether reading it again is expensive."""
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


def _columns_of_block(values: Any, columns: IntArray | slice) -> Any:
    if isinstance(values, PackedColumns):
        return PackedColumns(values.bits[columns], values.n_rows)
    if isinstance(values, PackedGenotypes):
        return values.columns(columns)
    return values[:, columns]


# --------------------------------------------------------------------------------------------------
# Several sources as one
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JoinedColumns:
    """Sources of the same rows, side by side.

    Attributes
    ----------
    sources : tuple of Source
        The parts, in order.
    feature_names : tuple of str or None
        Names of the columns, where all parts have them.
    """

    sources: tuple[Source, ...]
    feature_names: tuple[str, ...] | None

    @cached_property
    def _first(self) -> IntArray:
        """Where the columns of each part begin, and their number."""
        return np.cumsum([0, *(source.shape[1] for source in self.sources)])

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.sources[0].shape[0], int(self._first[-1])

    @property
    def beyond_memory(self) -> bool:
        """Whether reading it again is expensive."""
        return any(map(is_beyond_memory, self.sources))

    @property
    def work(self) -> Work:
        """How functions are applied to blocks: as by the parts where these agree, else at once."""
        return _common_work(self.sources)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of each part."""
        for source, first in zip(self.sources, self._first.tolist(), strict=False):
            for block in _worked(source, self.work):
                columns = slice(block.columns.start + first, block.columns.stop + first)
                yield Block(block.rows, columns, block.values)

    def take(self, columns: IntArray) -> AnyArray:
        """Return the named columns of all rows; each part reads its own."""
        return self._taken(columns, [source.take for source in self.sources])

    def take_rows(self, rows: IntArray, columns: IntArray) -> AnyArray:
        """Return some rows of the named columns."""
        return self._taken(columns, [RowsOf(source, rows).take for source in self.sources])

    def _taken(self, columns: IntArray, read: Sequence[Callable[[IntArray], AnyArray]]) -> AnyArray:
        columns = np.asarray(columns, dtype=np.int64)
        part_of = np.searchsorted(self._first, columns, side="right") - 1
        order = np.argsort(part_of, kind="stable")
        parts = [
            read[part](columns[part_of == part] - self._first[part])
            for part in (np.unique(part_of).tolist() or [0])
        ]
        return np.take(np.concatenate(parts, axis=1), np.argsort(order), axis=1)


def _itself(values: Any) -> Any:
    return values


def join_columns(sources: Sequence[Any]) -> Source:
    """Return tables of the same rows side by side, as one table that is read part by part.

    Parameters
    ----------
    sources : sequence of tables
        For example one set of PLINK files for each chromosome, or several packed stores. Rows are
        matched by their order; names of columns must differ.

    Returns
    -------
    Source
        A table for every method that takes one.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes.data import join_columns
    >>> table = join_columns([np.zeros((3, 2)), np.ones((3, 1))])
    >>> table.shape, table.take(np.array([2, 0])).tolist()
    ((3, 3), [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    """
    parts = tuple(as_source(source) for source in sources)
    if not parts:
        msg = "join_columns needs one table or more."
        raise ValueError(msg)
    rows = [part.shape[0] for part in parts]
    if len(set(rows)) > 1:
        msg = f"join_columns needs tables of the same rows; these have {rows} rows."
        raise ValueError(msg)
    ids = [getattr(part, "sample_ids", None) for part in parts]
    known = [own for own in ids if own is not None]
    if any(not np.array_equal(own, known[0]) for own in known):
        msg = "the tables name other samples, or in another order; bring them into one order."
        raise ValueError(msg)
    names = [part.feature_names for part in parts]
    together = None
    if all(own is not None for own in names):
        together = tuple(name for own in names if own is not None for name in own)
        if len(set(together)) < len(together):
            (twice, _), *_ = Counter(together).most_common(1)
            msg = f"two of the tables name a column {twice!r}; names must differ."
            raise ValueError(msg)
    return JoinedColumns(parts, together)


@dataclass(frozen=True, eq=False)
class JoinedRows:
    """Sources of the same columns, one below the other.

    Attributes
    ----------
    sources : tuple of Source
        The parts, in order.
    feature_names : tuple of str or None
        Names of the columns, where a part has them.
    """

    sources: tuple[Source, ...]
    feature_names: tuple[str, ...] | None

    @cached_property
    def _first(self) -> IntArray:
        """Where the rows of each part begin, and their number."""
        return np.cumsum([0, *(source.shape[0] for source in self.sources)])

    @cached_property
    def _edges(self) -> list[int]:
        """Columns at which a block of any part begins or ends.

        Parts cut their columns differently, and two blocks must have the same columns or none.
        """
        blocks = (block for source in self.sources for block in source.blocks())
        return sorted({edge for b in blocks for edge in (b.columns.start, b.columns.stop)})

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return int(self._first[-1]), self.sources[0].shape[1]

    @property
    def beyond_memory(self) -> bool:
        """Whether reading it again is expensive."""
        return any(map(is_beyond_memory, self.sources))

    @property
    def work(self) -> Work:
        """How functions are applied to blocks: as by the parts where these agree, else at once."""
        return _common_work(self.sources)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of each part, cut where those of another part end."""
        for source, first in zip(self.sources, self._first.tolist(), strict=False):
            for block in _worked(source, self.work):
                rows = slice(block.rows.start + first, block.rows.stop + first)
                start, stop = block.columns.start, block.columns.stop
                inside = [edge for edge in self._edges if start <= edge <= stop]
                if len(inside) <= 2:
                    yield Block(rows, block.columns, block.values)
                    continue
                for left, right in pairwise(inside):
                    own = slice(left - start, right - start)
                    values = self.work.call(_columns_of_block, block.values, own)
                    yield Block(rows, slice(left, right), values)

    def take(self, columns: IntArray) -> AnyArray:
        """Return the named columns of all rows."""
        return np.concatenate([source.take(columns) for source in self.sources])

    def take_rows(self, rows: IntArray, columns: IntArray) -> AnyArray:
        """Return some rows of the named columns; each part reads its own."""
        rows = np.asarray(rows, dtype=np.int64)
        part_of = np.searchsorted(self._first, rows, side="right") - 1
        order = np.argsort(part_of, kind="stable")
        parts = [
            RowsOf(self.sources[part], rows[part_of == part] - self._first[part]).take(columns)
            for part in (np.unique(part_of).tolist() or [0])
        ]
        return np.take(np.concatenate(parts), np.argsort(order), axis=0)


def _common_work(sources: Sequence[Source]) -> Work:
    """Return how functions are applied: as by all sources where these agree, else at once."""
    first = work_of(sources[0])
    return first if all(work_of(source) is first for source in sources) else NOW


def _worked(source: Source, work: Work) -> Iterator[Block]:
    """Yield the blocks of a source, whose values are at hand where work is done at once."""
    own = work_of(source)
    for block in source.blocks():
        values = block.values
        if own is not work:
            (values,) = own.results([own.call(_itself, values)])
        yield Block(block.rows, block.columns, values)


def join_rows(sources: Sequence[Any]) -> Source:
    """Return tables of the same columns one below the other, as one table.

    Parameters
    ----------
    sources : sequence of tables
        For example one packed store for each cohort. Columns must have the same order and, where
        tables name them, the same names.

    Returns
    -------
    Source
        A table for every method that takes one; its rows are those of the first table, then those
        of the second.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes.data import join_rows
    >>> table = join_rows([np.zeros((2, 2)), np.ones((1, 2))])
    >>> table.shape, table.take(np.array([1])).tolist()
    ((3, 2), [[0.0], [0.0], [1.0]])
    """
    parts = tuple(as_source(source) for source in sources)
    if not parts:
        msg = "join_rows needs one table or more."
        raise ValueError(msg)
    columns = [part.shape[1] for part in parts]
    if len(set(columns)) > 1:
        msg = f"join_rows needs tables of the same columns; these have {columns} columns."
        raise ValueError(msg)
    names = [part.feature_names for part in parts if part.feature_names is not None]
    for own in names[1:]:
        if own != names[0]:
            place = next(
                j for j, both in enumerate(zip(own, names[0], strict=True)) if len({*both}) > 1
            )
            msg = (
                f"column {place} is {names[0][place]!r} in one table and {own[place]!r} in "
                "another; bring the columns into one order."
            )
            raise ValueError(msg)
    return JoinedRows(parts, names[0] if names else None)


# --------------------------------------------------------------------------------------------------
# Statistics of a table, merged from the statistics of its blocks
#
# Blocks of the same columns are merged along a tree that their row numbers alone determine, so that
# the same blocks give the same bits in whatever order they arrive. Rows have ranks: the more often
# a row number can be halved the higher, then the larger the higher; the ends of the table come
# first. Two neighbours are merged when the row at which they meet ranks below both ends of their
# union: then the tree has nothing left to merge inside either of them. Of blocks of one length that
# arrive from top to bottom, about log2 of their number wait at any time.
# --------------------------------------------------------------------------------------------------


class Statistic(Protocol):
    """A statistic of some rows and columns that can be merged with others."""

    def merge_rows(self, other: Self, /) -> Self:
        """Return the statistic of both sets of rows, which share none."""

    def merge_columns(self, *others: Self) -> Self:
        """Return the statistic of all sets of columns, in this order."""


S = TypeVar("S", bound=Statistic)


@dataclass(frozen=True, slots=True)
class _MergedRows(Generic[S]):
    """The statistic of the rows from ``start`` to before ``stop``."""

    start: int
    stop: int
    statistic: S


OfBlock = Callable[[slice, slice], Callable[[Any], S]]
"""Takes the rows and columns of a block; returns a function of its values. That function may be
sent to another machine, so it should hold no more than this block needs."""


def accumulate(source: Source, of_block: OfBlock[S]) -> S:
    """Return the statistic of all cells of a table.

    Where the source's values are read elsewhere, statistics are made and merged there, along the
    same tree.

    Parameters
    ----------
    source : Source of shape (n, p)
        The table.
    of_block : callable
        What makes the statistic of one block.
    """
    (n, p), work = source.shape, work_of(source)
    by_columns: dict[tuple[int, int], list[_MergedRows[Any]]] = {}
    for block in source.blocks():
        runs = by_columns.setdefault((block.columns.start, block.columns.stop), [])
        statistic = work.call(of_block(block.rows, block.columns), block.values)
        _insert(runs, _MergedRows(block.rows.start, block.rows.stop, statistic), n, work)
    first = 0
    for (start, stop), runs in sorted(by_columns.items()):
        if start != first or [(run.start, run.stop) for run in runs] != [(0, n)]:
            _refuse_blocks(source, min(start, first), stop)
        first = stop
    if first != p:
        _refuse_blocks(source, first, p)
    parts: list[S] = work.results([runs[0].statistic for _, runs in sorted(by_columns.items())])
    return parts[0].merge_columns(*parts[1:]) if len(parts) > 1 else parts[0]


def _insert(runs: list[_MergedRows[Any]], new: _MergedRows[Any], n: int, work: Work) -> None:
    """Insert a run in order, and merge neighbours as far as the tree allows."""
    index = bisect_left(runs, new.start, key=lambda run: run.start)
    runs.insert(index, new)
    while True:
        ready = [i for i in (index - 1, index) if _can_be_merged(runs, i, n)]
        if not ready:
            return
        index = ready[0]
        left, right = runs[index : index + 2]
        merged = work.call(_merge_rows, left.statistic, right.statistic)
        runs[index : index + 2] = [_MergedRows(left.start, right.stop, merged)]


def _merge_rows(first: S, second: S) -> S:
    return first.merge_rows(second)


def _can_be_merged(runs: list[_MergedRows[Any]], index: int, n: int) -> bool:
    """Whether a run and the next one meet, at a row that both of their other ends outrank."""
    if index < 0 or index + 1 >= len(runs):
        return False
    left, right = runs[index], runs[index + 1]
    middle = _rank(right.start, n)
    return (
        left.stop == right.start and middle < _rank(left.start, n) and middle < _rank(right.stop, n)
    )


def _rank(row: int, n: int) -> tuple[int, int]:
    """Return the largest power of two that divides a row number, and the number."""
    return (n if row in (0, n) else row & -row, row)


def _refuse_blocks(source: Source, start: int, stop: int) -> None:
    """Raise an error: blocks overlap, leave a gap, or are cut at different columns."""
    msg = (
        f"the blocks of {type(source).__name__} do not hold every cell of columns {start} to "
        f"{stop - 1} once; a source must yield each cell in one block, and two blocks must have "
        "the "
        "same columns or none in common."
    )
    raise ValueError(msg)


# --------------------------------------------------------------------------------------------------
# Tables beyond memory: remembered cells, columns read ahead, batches of rows
# --------------------------------------------------------------------------------------------------


BATCH_ROWS = 1 << 18
"""Rows of a table beyond memory that are predicted at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Remembered:
    """Some columns of a source that was read, at some of its rows.

    Attributes
    ----------
    source : Source of shape (n, p)
        The table.
    rows : ndarray of int of shape (m,)
        Rows that are remembered, in ascending order.
    columns : ndarray of int of shape (u,)
        Columns that are remembered, in ascending order.
    values : ndarray of shape (m, u)
        Their cells.
    """

    source: Source
    rows: IntArray
    columns: IntArray
    values: AnyArray

    @classmethod
    def read(cls, source: Source, rows: IntArray, columns: IntArray) -> Remembered:
        """Read some columns of some rows, in one pass."""
        return cls(source, rows, columns, RowsOf(source, rows).take(columns))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the table."""
        return self.source.shape

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, where the table has them."""
        return self.source.feature_names

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the table."""
        return self.source.blocks()

    def take(self, columns: IntArray) -> AnyArray:
        """Return the named columns of all rows."""
        return self.source.take(columns)

    def take_rows(self, rows: IntArray, columns: IntArray) -> AnyArray:
        """Return some of the remembered rows of some of the remembered columns."""
        indices = np.searchsorted(self.rows, rows), np.searchsorted(self.columns, columns)
        part: AnyArray = self.values[np.ix_(*indices)]
        return part


class ReadAhead:
    """A source beyond memory with some columns read ahead.

    Parameters
    ----------
    source : Source of shape (n, p)
        The table.
    """

    beyond_memory = True

    def __init__(self, source: Source) -> None:
        self.source = source
        self._columns: IntArray = np.zeros(0, dtype=np.int64)
        self._values: AnyArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.source.shape

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, where the table has them."""
        return self.source.feature_names

    @property
    def work(self) -> Work:
        """How functions are applied to blocks."""
        return work_of(self.source)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the table."""
        return self.source.blocks()

    @property
    def all_levels(self) -> Any:
        """The categories of which all columns are indicators, if they are."""
        return getattr(self.source, "all_levels", None)

    def read_ahead(self, columns: IntArray) -> None:
        """Read those of some columns that are not remembered yet, at once, and remember them."""
        new = np.setdiff1d(columns, self._columns)
        if new.size:
            more = np.asfortranarray(self.source.take(new))
            known = [] if self._values is None else [self._values.T]
            self._values = np.concatenate([*known, more.T]).T
            self._columns = np.concatenate([self._columns, new])

    def take(self, columns: IntArray) -> AnyArray:
        """Return the named columns of all rows."""
        return self._taken(columns, slice(None), self.source.take)

    def take_rows(self, rows: IntArray, columns: IntArray) -> AnyArray:
        """Return some rows of the named columns."""
        return self._taken(columns, rows, RowsOf(self.source, rows).take)

    def _taken(
        self, columns: IntArray, rows: IntArray | slice, read: Callable[[IntArray], AnyArray]
    ) -> AnyArray:
        """Return remembered columns, and read the others without remembering them."""
        columns = np.asarray(columns, dtype=np.int64)
        known = np.isin(columns, self._columns)
        if self._values is None or not known.any():
            return read(columns)
        order = np.argsort(self._columns)
        indices = order[np.searchsorted(self._columns, columns[known], sorter=order)]
        part = self._values.T[indices][:, rows].T
        if not known.all():
            part = np.concatenate([part, read(columns[~known])], axis=1)
            part = part[:, np.argsort(np.argsort(~known, kind="stable"))]
        return np.ascontiguousarray(part)


def row_batches(X: Any) -> Iterator[Any]:
    """Yield a table as it is, or rows of a source beyond memory, some at a time."""
    source = as_source(X) if is_lazy(X) else X
    if not is_beyond_memory(source) or source.shape[0] <= BATCH_ROWS:
        yield source
        return
    n = source.shape[0]
    for start in range(0, n, BATCH_ROWS):
        yield RowsOf(source, np.arange(start, min(start + BATCH_ROWS, n)))
