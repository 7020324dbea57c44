"""One small interface between tables of any kind and everything that counts them.

A source hands out blocks of rows, of columns or of both for counting, and dense copies of a few
named columns for prediction. The blocks hold every cell once, in any order; two blocks have the
same columns or none in common. Nobody may rely on more: statistics of blocks are merged by
`honestbayes.screening.accumulation`, and what needs all rows of a column asks
:func:`whole_columns`. To add a kind of table, write a class with these members and name it in
:func:`as_source`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import getitem
from typing import Any, NoReturn, Protocol

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from honestbayes.types import AnyArray, BoolArray, IntArray

BLOCK_CELLS = 1 << 23
"""Cells in one dense block: large enough for speed, small enough not to be noticed in memory."""


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
    """How functions are applied to the values of blocks: at once, or elsewhere and later."""

    def call(self, function: Callable[..., Any], *values: Any) -> Any:
        """Return what a function makes of values, or what stands for it."""

    def results(self, calls: list[Any]) -> list[Any]:
        """Return the results of calls."""


class _Now:
    """Functions are applied at once."""

    def call(self, function: Callable[..., Any], *values: Any) -> Any:
        """Return what a function makes of values."""
        return function(*values)

    def results(self, calls: list[Any]) -> list[Any]:
        """Return them as they are."""
        return calls


NOW: Work = _Now()


def work_of(source: Source) -> Work:
    """Return how functions are applied to a source's blocks: at once, unless it says otherwise."""
    work: Work = getattr(source, "work", NOW)
    return work


def is_beyond_memory(source: Source) -> bool:
    """Whether a source is not to be read again for every fold."""
    return bool(getattr(source, "beyond_memory", False))


class Source(Protocol):
    """What counting and prediction need of a table.

    Where the values of its blocks are not at hand but stand for what others will read, a source
    has one member more, ``work``, by which functions are applied to them. Where reading it again
    is dear, it has ``beyond_memory = True``: then folds are counted in one pass, and columns that
    any of them keeps are read once.
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
        """Whether reading it again is dear."""
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
    """How messages call a column, given its position: by its name where it has one.

    Attributes
    ----------
    names : tuple of str or None
        Names of columns from the position ``first`` on.
    """

    names: tuple[str, ...] | None
    first: int = 0

    def __call__(self, column: int) -> str:
        """Return what messages call a column."""
        return f"column {column}" if self.names is None else f"column {self.name(column)!r}"

    def name(self, column: int) -> str:
        """Return the name of a column."""
        assert self.names is not None
        return self.names[column - self.first]

    def at(self, columns: slice) -> DescribeColumns:
        """Return what calls these columns the same, and knows no others."""
        names = None if self.names is None else self.names[columns]
        return DescribeColumns(names, columns.start)


def is_lazy(X: Any) -> bool:
    """Whether a table is one that others read when it is needed: of Dask, or a lazy frame."""
    kind = type(X)
    return kind.__module__.partition(".")[0] == "dask" or kind.__name__ == "LazyFrame"


def column_slices(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Cut the columns of a table into slices of about ``BLOCK_CELLS`` cells."""
    width = max(1, BLOCK_CELLS // max(n_rows, 1))
    for start in range(0, n_columns, width):
        yield slice(start, min(start + width, n_columns))


def as_source(X: Any) -> Source:
    """Wrap a table: array-like, SciPy sparse, a frame of any library, or a source."""
    if isinstance(X, DenseSource | SparseSource):
        return X
    module = type(X).__module__.partition(".")[0]
    if module == "dask":
        from honestbayes.sources.dask_tables import dask_source

        return dask_source(X)
    if type(X).__name__ == "LazyFrame":
        from honestbayes.sources.lazy_frames import lazy_source

        return lazy_source(X)
    if all(hasattr(X, member) for member in ("blocks", "take", "shape", "feature_names")):
        source: Source = X
        return source
    if sparse.issparse(X):
        return _sparse_source(X)
    if module in ("pandas", "polars", "pyarrow"):
        from honestbayes.sources.frames import as_frame, frame_source

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
    found = np.full(len(values), np.nan)
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
            found[i] = float(value)
        except (TypeError, ValueError):
            if type(value).__name__ == "NAType":
                continue
            msg = (
                f"{name} holds {value!r}, which is not a number (the argument must be a string or "
                "a number); encode it as 0/1 or numbers, or leave it out."
            )
            raise TypeError(msg) from None
    return found


def refuse_complex(dtype: Any, imaginary: BoolArray) -> NoReturn:
    """Refuse complex numbers, by the first column that needs them, or else the first of all.

    Parameters
    ----------
    dtype : dtype
        Type of the table.
    imaginary : ndarray of bool of shape (p,)
        Whether each column has an imaginary part that is not 0.
    """
    # The first words are those that scikit-learn's checks of estimators look for.
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
        msg = f"X is a sparse matrix that is not whole: {problem}; build it anew."
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
