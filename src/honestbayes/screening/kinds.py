"""The kinds of a table's columns and whether any cell is missing, in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.screening.accumulation import accumulate
from honestbayes.sources.kinds import Kind, named_kinds
from honestbayes.sources.packed import PackedColumns
from honestbayes.sources.source import Source, dense
from honestbayes.types import AnyArray, BoolArray


def kinds_of_source(source: Source, given: Any = None) -> tuple[Kind, ...]:
    """Return the kind of each column of numbers; nothing is read where the user named all of them.

    Columns of two values or fewer are binary, others real.

    Parameters
    ----------
    source : Source of shape (n, p)
        The table.
    given : mapping or sequence, optional
        Kinds that the user has named, as in `honestbayes.sources.kinds.find_kinds`.
    """
    n_columns = source.shape[1]
    named = named_kinds(given, source.feature_names, n_columns)
    if len(named) == n_columns:
        return tuple(named[place] for place in range(n_columns))
    kinds, _ = kinds_and_missing_cells(source)
    return tuple(named.get(place, kind) for place, kind in enumerate(kinds))


def kinds_and_missing_cells(source: Source) -> tuple[tuple[Kind, ...], bool]:
    """Return the kind of each column of numbers, and whether any cell is missing."""
    found = accumulate(source, lambda _rows, _columns: _values_of)
    kinds: list[Kind] = ["binary" if flag else "real" for flag in found.flags.tolist()]
    return tuple(kinds), found.missing


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
    """Look at a block: bits and truth values are flags, whichever they are."""
    if isinstance(block, PackedColumns) or block.dtype.kind == "b":
        width = block.shape[1]
        return _Values(np.zeros(width), np.ones(width), np.ones(width, dtype=bool), missing=False)
    block = dense(block)
    if block.dtype.kind != "f":
        low, high = block.min(axis=0), block.max(axis=0)
        return _Values(low, high, ((block == low) | (block == high)).all(axis=0), missing=False)
    gone = np.isnan(block)
    low = np.where(gone, np.inf, block).min(axis=0)
    high = np.where(gone, -np.inf, block).max(axis=0)
    flags = ((block == low) | (block == high) | gone).all(axis=0)
    return _Values(low, high, flags, bool(gone.any()))
