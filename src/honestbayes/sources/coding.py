"""A table of any kind as codes: real-valued columns in bins, all others by their levels.

The bins of a real-valued column are learned from its training rows, without their classes. There
are at most ``n_bins``, at least two, and no more than one for every 20 rows. A column with no more
values than that has a bin for each; otherwise bins hold about as many rows each. A row of weight 2
counts as two. A value belongs to the first bin whose upper bound it does not exceed, so one beyond
all that training has seen belongs to the first or the last bin. Texts and categories that training
has not seen are missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from honestbayes.files.entries import Entries, Plain, texts_as_arrays
from honestbayes.files.fields import Known
from honestbayes.sources.columns import Columns, as_columns, as_texts, column_cells, distinct
from honestbayes.sources.kinds import KINDS, Kind, kinds_of_columns
from honestbayes.sources.levels import MISSING, positions
from honestbayes.sources.source import SparseSource, as_source
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_MOST_LEVELS = 10**9

ROWS_PER_BIN = 20
"""A bin of a real-valued column should have this many training rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A table of codes.

    Attributes
    ----------
    cells : ndarray of int of shape (n, p)
        The place of each cell among its column's levels, -1 for missing.
    n_levels : ndarray of int of shape (p,)
        Levels of each column, two or more.
    is_open : ndarray of bool of shape (p,)
        Columns whose levels are texts or categories: those that training has not seen say nothing.
    """

    cells: AnyArray
    n_levels: IntArray
    is_open: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class Coding:
    """How the cells of each column become codes.

    Attributes
    ----------
    rules : tuple of ndarray
        Of a column in bins the upper bounds of all bins but the last, floats in ascending order;
        of another its levels, sorted.
    kinds : tuple of {"binary", "categorical", "real"}
        What each column is; only a categorical one has levels.
    """

    rules: tuple[AnyArray, ...]
    kinds: tuple[Kind, ...]

    def to_plain(self) -> Plain:
        """Return rules column after column: those of numbers in one array, texts in another."""
        is_text = np.array([rule.dtype.kind == "O" for rule in self.rules], dtype=bool)
        numbers = [rule for rule in self.rules if rule.dtype.kind != "O"]
        words = [word for rule in self.rules if rule.dtype.kind == "O" for word in rule.tolist()]
        arrays: dict[str, AnyArray] = {
            "kinds": np.array([KINDS.index(kind) for kind in self.kinds], dtype=np.int64),
            "size": np.array([rule.size for rule in self.rules], dtype=np.int64),
            "is_text": is_text,
            "number": np.concatenate([np.zeros(0), *numbers]),
        }
        return {}, arrays | texts_as_arrays("word", words)

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> Coding:
        """Return the coding of ``known["n_features_in"]`` columns; refuse what cannot be one."""
        n_columns = known["n_features_in"]
        codes = entries.counts("kinds", (n_columns,), len(KINDS) - 1)
        size = entries.counts("size", (n_columns,), _MOST_LEVELS)
        is_text = entries.mask("is_text", (n_columns,))
        good = not np.any(is_text & (codes != KINDS.index("categorical")))
        entries.check(good, "is_text", "is said of columns of numbers")
        numbers = entries.finite("number", (int(size[~is_text].sum()),))
        words = np.array(entries.texts("word"), dtype=object)
        entries.check(len(words) == int(size[is_text].sum()), "word", "does not name every level")
        rules: list[AnyArray] = []
        used = {False: 0, True: 0}
        for text, length in zip(is_text.tolist(), size.tolist(), strict=True):
            part = (words if text else numbers)[used[text] : used[text] + length]
            used[text] += length
            ordered = all(a < b for a, b in pairwise(part.tolist()))
            entries.check(ordered, "word" if text else "number", "is not in ascending order")
            rules.append(part.copy())
        return cls(tuple(rules), tuple(KINDS[code] for code in codes.tolist()))

    @property
    def n_levels(self) -> IntArray:
        """Number of codes of each column; a column with one value has a second, never seen."""
        more = [kind != "categorical" for kind in self.kinds]
        sizes = [rule.size + add for rule, add in zip(self.rules, more, strict=True)]
        return np.maximum(np.array(sizes, dtype=np.int64), 2)

    @property
    def is_open(self) -> BoolArray:
        """Which columns have levels rather than bins."""
        return np.array([kind == "categorical" for kind in self.kinds], dtype=bool)

    def take(self, columns: IntArray) -> Coding:
        """Return the coding of some of the columns."""
        chosen = [int(column) for column in columns]
        return Coding(
            tuple(self.rules[column] for column in chosen),
            tuple(self.kinds[column] for column in chosen),
        )

    def encode(self, X: Any) -> Coded:
        """Code a table that has these columns; 0/1 bytes are taken as they are."""
        n_levels = self.n_levels
        if all(_is_zero_one(rule) for rule in self.rules) and _are_zero_one_bytes(X):
            return Coded(X.view(np.int8), n_levels, self.is_open)
        columns = _columns(X)
        dtype = np.min_scalar_type(-int(n_levels.max(initial=2)))
        cells = np.empty((columns.n_rows, columns.n_columns), dtype=dtype, order="F")
        for j, (rule, kind) in enumerate(zip(self.rules, self.kinds, strict=True)):
            cells[:, j] = _codes(columns, j, rule, kind)
        return Coded(cells, n_levels, self.is_open)


def learn_coding(X: Any, weight: FloatArray, *, kinds: Any = None, n_bins: int = 10) -> Coding:
    """Learn bins and levels.

    Parameters
    ----------
    X : table of shape (n, p)
        Array, sparse matrix, pandas or polars frame; NaN and None are missing.
    weight : ndarray of shape (n,)
        How often each row counts; rows of weight 0 do not train.
    kinds : mapping or sequence, optional
        Kinds that the user has named, as in `find_kinds`.
    n_bins : int, default=10
        Bins of a real-valued column, at most.
    """
    if kinds is None and _are_zero_one_bytes(X):
        p = X.shape[1]
        return Coding((np.zeros(1),) * p, ("binary",) * p)
    columns = _columns(X)
    learnt = [
        _learn(columns, j, kind, n_bins, weight)
        for j, kind in enumerate(kinds_of_columns(columns, kinds, constant=False))
    ]
    return Coding(tuple(rule for rule, _ in learnt), tuple(kind for _, kind in learnt))


def _columns(X: Any) -> Columns:
    """Read a table by columns; one column of a sparse matrix is made dense at a time."""
    if not sparse.issparse(X):
        return as_columns(X)
    source = as_source(X)
    assert isinstance(source, SparseSource)
    matrix = source.values.tocsc()

    def column(j: int) -> AnyArray:
        cells = np.zeros(matrix.shape[0], dtype=matrix.dtype)
        stored = slice(matrix.indptr[j], matrix.indptr[j + 1])
        cells[matrix.indices[stored]] = matrix.data[stored]
        return cells

    n, p = matrix.shape
    return Columns(n, p, None, column)


def _is_zero_one(rule: AnyArray) -> bool:
    """Whether 0 and 1 are their own codes."""
    return rule.size == 1 and rule.dtype.kind == "f" and rule[0] == 0


def _are_zero_one_bytes(X: Any) -> bool:
    """Whether a table is an array of bytes that are its codes already."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "biu":
        return False
    if X.dtype.itemsize > 1:
        return False
    return X.dtype.kind == "b" or bool(X.min(initial=0) >= 0 and X.max(initial=1) <= 1)


def _learn(
    columns: Columns, j: int, kind: Kind, n_bins: int, weight: FloatArray
) -> tuple[AnyArray, Kind]:
    """Return the bounds or the levels of one column; one without any cell has no levels."""
    values, missing = _cells(columns, j, kind)
    present = ~missing & (weight > 0)
    if not present.any():
        return np.zeros(0), "categorical"
    if kind == "categorical":
        return distinct(values[present]), kind
    if kind == "binary" and np.all((values[present] == 0) | (values[present] == 1)):
        return np.zeros(1), kind
    return bin_bounds(values[present], weight[present], n_bins), kind


def _cells(columns: Columns, j: int, kind: Kind) -> tuple[AnyArray, BoolArray]:
    """Return a column's cells, numbers unless it is categorical, and which are missing."""
    values, missing = column_cells(columns.get(j), columns.name(j), any_number=True)
    if missing.all():
        return np.full(missing.size, np.nan), missing
    if kind != "categorical" and values.dtype.kind == "O":
        msg = f"{columns.name(j)} holds texts, but is called {kind}."
        raise ValueError(msg)
    return values, missing


def bin_bounds(values: FloatArray, weight: FloatArray, n_bins: int) -> FloatArray:
    """Return the upper bounds of all bins but the last."""
    distinct = np.unique(values)
    number = int(np.clip(weight.sum() // ROWS_PER_BIN, 2, n_bins))
    if distinct.size <= number:
        return distinct[:-1]
    shares = np.arange(1, number) / number
    bounds = np.unique(np.quantile(values, shares, method="inverted_cdf", weights=weight))
    below: FloatArray = bounds[bounds < distinct[-1]]
    return below


def _codes(columns: Columns, j: int, rule: AnyArray, kind: Kind) -> IntArray:
    """Code one column."""
    values, missing = _cells(columns, j, kind)
    if kind == "categorical":
        if (values.dtype.kind == "O") != (rule.dtype.kind == "O"):
            values, rule = as_texts(values), as_texts(rule)
        return positions(values, missing, rule)
    codes = np.searchsorted(rule, values, side="left")
    codes[missing] = MISSING
    return codes
