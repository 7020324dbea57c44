"""The kinds of a table's columns and whether any cell is missing, in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.data.binarization import check_finite, check_range
from honestbayes.data.kinds import Kind, as_columns, kinds_of_columns, named_kinds
from honestbayes.data.source import DenseSource, DescribeColumns, PackedColumns, Source, dense
from honestbayes.selection.counts import accumulate, count_packed
from honestbayes.types import AnyArray, BoolArray


def kinds_and_missing(X: Any, given: Any = None) -> tuple[tuple[Kind, ...], bool]:
    """Return the kind of each column, and whether any cell is missing.

    As `honestbayes.data.kinds.find_kinds`, for every sort of table: arrays of numbers are looked
    at as a whole, sources block by block in one pass. The columns of a sparse matrix are binary
    where all of its cells are 0 or 1, else real.
    """
    if hasattr(X, "indptr"):
        named, found = named_kinds(given, None, X.shape[1]), _kinds_of_sparse(X)
        missing = bool(np.isnan(X.data).any())
        return tuple(named.get(position) or kind for position, kind in enumerate(found)), missing
    source = X if hasattr(X, "blocks") else None
    if source is None:
        columns = as_columns(X)
        if columns.numbers is None:
            cells = (columns.get(position) for position in range(columns.n_columns))
            return kinds_of_columns(columns, given), any(map(_misses, cells))
        source = DenseSource(columns.numbers, columns.feature_names)
    kinds, missing = kinds_and_missing_cells(source)
    named = named_kinds(given, source.feature_names, source.shape[1])
    return tuple(named.get(position) or kind for position, kind in enumerate(kinds)), missing


def kinds_of_source(source: Source, given: Any = None) -> tuple[Kind, ...]:
    """Return the kind of each column of numbers; nothing is read where the user named all of them.

    Parameters
    ----------
    source : Source of shape (n, p)
        The table.
    given : mapping or sequence, optional
        Kinds that the user has named, as in `honestbayes.data.kinds.find_kinds`.
    """
    named = named_kinds(given, source.feature_names, source.shape[1])
    if len(named) == source.shape[1]:
        return tuple(named[position] for position in range(len(named)))
    return kinds_and_missing(source, given)[0]


def kinds_and_missing_cells(source: Source) -> tuple[tuple[Kind, ...], bool]:
    """Return the kind of each column of numbers, and whether any cell is missing."""
    found = accumulate(source, lambda _rows, _columns: _values_of)
    describe = DescribeColumns(source.feature_names)
    infinite = np.flatnonzero((found.low == -np.inf) | (found.high == np.inf))
    if infinite.size:
        first = int(infinite[0])
        check_finite(source.take(infinite[:1]), lambda _: describe(first))
    kinds: list[Kind] = [
        "constant" if single else "binary" if two else "real"
        for single, two in zip((~(found.low < found.high)).tolist(), found.flags, strict=True)
    ]
    # The names of columns are right here; later they may be those of some columns only.
    real = np.array(kinds) == "real"
    low, high = np.where(real, found.low, 0), np.where(real, found.high, 0)
    check_range(low, high, source.shape[0], describe)
    return tuple(kinds), found.missing


def _kinds_of_sparse(X: Any) -> list[Kind]:
    """Return the kinds of the columns of a sparse matrix, whose absent cells are 0."""
    matrix = X.tocsc()
    kind: Kind = "binary" if np.isin(matrix.data, (0, 1)).all() else "real"
    # A column varies unless all of its cells, stored or not, are equal or missing.
    low, high = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    stored = np.diff(matrix.indptr)
    some = np.flatnonzero(stored)
    if some.size:
        data = matrix.data.astype(float)
        low[some] = np.fmin.reduceat(data, matrix.indptr[some])
        high[some] = np.fmax.reduceat(data, matrix.indptr[some])
    partly = stored < X.shape[0]
    low, high = np.where(partly, np.fmin(low, 0), low), np.where(partly, np.fmax(high, 0), high)
    check_range(low, high, X.shape[0], DescribeColumns(None))
    return [kind if varies else "constant" for varies in (low < high).tolist()]


def _misses(values: AnyArray) -> bool:
    """Whether any cell of a column is missing."""
    if values.dtype.kind in "OUS":
        return any(value is None or value != value for value in values.tolist())
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """What is known of the values of some columns.

    Attributes
    ----------
    low, high : ndarray of shape (c,)
        The smallest and the largest; where all are missing, infinity and minus infinity.
    flags : ndarray of bool of shape (c,)
        Whether there are no others.
    missing : bool
        Whether any cell is missing.
    """

    low: AnyArray
    high: AnyArray
    flags: BoolArray
    missing: bool

    def merge_rows(self, other: _Values) -> _Values:
        """Return what is known of both sets of rows."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        flags = self.flags & other.flags
        for part in (self, other):
            seen = part.low <= part.high
            for value in (part.low, part.high):
                flags = flags & (~seen | (value == low) | (value == high))
        return _Values(low, high, flags, self.missing or other.missing)

    def merge_columns(self, *others: _Values) -> _Values:
        """Return what is known of all sets of columns, in this order."""
        parts = (self, *others)
        return _Values(
            np.concatenate([part.low for part in parts]),
            np.concatenate([part.high for part in parts]),
            np.concatenate([part.flags for part in parts]),
            any(part.missing for part in parts),
        )


def _values_of(block: Any) -> _Values:
    """Look at a block."""
    if isinstance(block, PackedColumns):
        ones = count_packed(block, np.zeros(block.n_rows, dtype=np.uint8), 1)[0]
        low, high = (ones == block.n_rows) * 1.0, (ones > 0) * 1.0
        return _Values(low, high, np.ones(ones.size, dtype=bool), missing=False)
    block = dense(block)
    if block.dtype.kind == "b":
        block = block.view(np.uint8)
    if block.dtype.kind != "f":
        low, high = block.min(axis=0), block.max(axis=0)
        return _Values(low, high, ((block == low) | (block == high)).all(axis=0), missing=False)
    gone = np.isnan(block)
    low = np.where(gone, np.inf, block).min(axis=0)
    high = np.where(gone, -np.inf, block).max(axis=0)
    flags = ((block == low) | (block == high) | gone).all(axis=0)
    return _Values(low, high, flags, bool(gone.any()))
