"""Categories of columns, and codes of their cells.

Three encoders share one rule for a cell, `category_codes` and `bin_codes`: `Categories` with
`category_table` for models of categories, `Codes` where a missing cell may be a category, and
`Coding`, which also cuts real-valued columns into bins. Files of users have a step of their own,
`honestbayes.tables.encoding`: it works on texts and on dictionaries of pyarrow, a batch at a time,
and makes a feature for each category.

A category is a text or a whole number from 0 on, or any number where a frame calls the column a
category or the column has two values or fewer. The categories of a column are those that occur in
training, or those that a frame declares. A column with one value has a second category that was
never seen, so every feature has two categories or more, as a constant 0/1 column has.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from honestbayes.data.kinds import (
    KINDS,
    Kind,
    TableColumns,
    as_columns,
    as_texts,
    column_cells,
    distinct,
    is_missing,
    kinds_of_columns,
    named_kinds,
    number_text,
    numeric_cells,
)
from honestbayes.data.source import SparseSource, as_source
from honestbayes.files.fields import Entries, Flag, Known, Plain, Section, joined, texts_as_arrays
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_MOST_LEVELS = 10**9

LARGEST_CODE = 255
"""Whole numbers up to this one are coded by a table, without sorting."""

MISSING = -1


# --------------------------------------------------------------------------------------------------
# Categories of columns, and tables of codes
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """The categories of some columns.

    Attributes
    ----------
    values : tuple of ndarray
        The categories of each column in order: floats, or an object array of texts. One that was
        never seen is NaN or None.
    """

    values: tuple[AnyArray, ...]

    @property
    def n_levels(self) -> IntArray:
        """Number of categories of each column, two or more."""
        return np.array([values.size for values in self.values], dtype=np.int64)

    def seen(self) -> list[list[Any]]:
        """Return the categories of each column that occurred, whole numbers as such."""
        return [
            [
                v if isinstance(v, str) or v != int(v) else int(v)
                for v in values.tolist()
                if v is not None and v == v
            ]
            for values in self.values
        ]

    def take(self, columns: IntArray) -> Categories:
        """Return the categories of some of the columns."""
        return Categories(tuple(self.values[column] for column in columns))

    def to_plain(self) -> Plain:
        """Return categories by column: numbers, or texts; one that was never seen has neither."""
        values = [value for column in self.values for value in column.tolist()]
        number = [np.nan if value is None or isinstance(value, str) else value for value in values]
        arrays: dict[str, AnyArray] = {
            "n_levels": self.n_levels,
            "text": np.array([column.dtype.kind == "O" for column in self.values], dtype=bool),
            "seen": np.array([not is_missing(value) for value in values], dtype=bool),
            "number": np.array(number, dtype=float),
        }
        texts = [value if isinstance(value, str) else "" for value in values]
        return {}, arrays | texts_as_arrays("word", texts)

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> Categories:
        """Return the categories of ``known["n_columns"]`` columns; refuse impossible ones."""
        n_columns = known["n_columns"]
        n_levels = entries.counts("n_levels", (n_columns,), _MOST_LEVELS)
        entries.check(np.all(n_levels >= 2), "n_levels", "is less than two")
        total = sum(n_levels.tolist())
        entries.check(total <= _MOST_LEVELS, "n_levels", "is too large")
        text, seen = entries.mask("text", (n_columns,)), entries.mask("seen", (total,))
        number, texts = entries.floats("number", (total,)), entries.texts("word")
        entries.check(len(texts) == total, "word", "does not name every category")
        entries.check(
            np.all(np.isfinite(number[seen & ~np.repeat(text, n_levels)])),
            "number",
            "is not finite",
        )
        values: list[AnyArray] = []
        for start, stop, is_text in zip(
            np.cumsum(n_levels) - n_levels, np.cumsum(n_levels), text, strict=True
        ):
            there = seen[start:stop]
            if is_text:
                column = np.array(texts[start:stop], dtype=object)
                column[~there] = None
            else:
                column = np.where(there, number[start:stop], np.nan)
            once = len(set(column[there].tolist())) == np.sum(there)
            entries.check(once, "word", "or number names a category twice")
            values.append(column)
        return cls(tuple(values))


@dataclass(frozen=True, slots=True, eq=False)
class CategoryTable:
    """A table of codes: the position of each cell among its column's categories, -1 for missing.

    Attributes
    ----------
    codes : ndarray of int of shape (n, p)
        The cells.
    levels : Categories
        What they stand for.
    feature_names : tuple of str or None
        Names, where the table had them.
    """

    codes: AnyArray
    levels: Categories
    feature_names: tuple[str, ...] | None


def category_table(X: Any) -> CategoryTable:
    """Find the categories of every column, and code its cells."""
    columns = as_columns(X)
    if columns.numbers is not None:
        coded = _code_small_numbers(columns)
        if coded is not None:
            return coded
    codes = np.empty((columns.n_rows, columns.n_columns), dtype=np.int32)
    levels = []
    for j in range(columns.n_columns):
        values, missing = column_cells(columns.get(j), columns.name(j), any_number=True)
        known = distinct(values[~missing])
        if known.size > 2 and not columns.is_category(j):
            column_cells(columns.get(j), columns.name(j), any_number=False)
        declared = columns.declared(j)
        if declared is not None and np.isin(known, declared).all():
            known = declared
        codes[:, j] = category_codes(values, missing, known)
        if known.size < 2:
            known, shift = _with_a_second(known)
            codes[~missing, j] += shift
        levels.append(known)
    return CategoryTable(codes, Categories(tuple(levels)), columns.feature_names)


def encode_columns(
    X: Any, levels: Categories, describe: Callable[[int], str]
) -> tuple[IntArray, list[tuple[int, Any, int]]]:
    """Code the columns of a table by known categories; unknown ones are missing.

    Parameters
    ----------
    X : table
        Of any kind.
    levels : Categories
        Of its columns.
    describe : callable
        Given a column, how messages call it.

    Returns
    -------
    codes : ndarray of shape (n, k)
        -1 for missing and unknown.
    unknown : list of (column, value, number of cells)
        An unknown value of each column that has any, and how many cells are unknown there.
    """
    columns = as_columns(X)
    codes = np.full((columns.n_rows, columns.n_columns), MISSING, dtype=np.int64)
    unknown = []
    for index, known in enumerate(levels.values):
        any_number = columns.is_category(index) or not _are_whole(known)
        values, missing = column_cells(columns.get(index), describe(index), any_number)
        codes[:, index] = category_codes(values, missing, known)
        strange = ~missing & (codes[:, index] == MISSING)
        if strange.any():
            example = as_texts(values[strange]) if known.dtype.kind == "O" else values[strange]
            unknown.append((index, example[0], int(strange.sum())))
    return codes, unknown


def _are_whole(levels: AnyArray) -> bool:
    """Whether no category is a negative number or a fraction."""
    seen = levels[levels == levels] if levels.dtype.kind == "f" else levels[:0]
    return bool(np.all((seen >= 0) & (seen == np.rint(seen))))


def category_codes(values: AnyArray, missing: BoolArray, known: AnyArray) -> IntArray:
    """Return the index of each cell among sorted categories; -1 for missing and unknown.

    Where one side is texts and the other numbers, both are compared as the texts of a file.
    """
    if (values.dtype.kind == "O") != (known.dtype.kind == "O"):
        values, known = as_texts(values), as_texts(known)
    codes = np.full(values.size, MISSING, dtype=np.int64)
    index = {category: i for i, category in enumerate(known.tolist()) if category is not None}
    present = np.flatnonzero(~missing)
    codes[present] = [index.get(value, MISSING) for value in values[present].tolist()]
    return codes


def _with_a_second(seen: AnyArray) -> tuple[AnyArray, int]:
    """Return two categories where one or none was seen, and how far that shifts the codes.

    A column of ones is a 0/1 column that happens to be constant, so 0 comes first.
    """
    text = seen.dtype.kind == "O"
    unseen: Any = None if text else np.nan
    dtype = object if text else float
    if seen.size == 0:
        return np.array([unseen, unseen], dtype=dtype), 0
    if not text and seen[0] == 1:
        return np.array([0.0, 1.0]), 1
    return np.array([seen[0], unseen], dtype=dtype), 0


def _code_small_numbers(columns: TableColumns) -> CategoryTable | None:
    """Code a table of small whole numbers all at once; None where it is not one."""
    numbers = columns.numbers
    assert numbers is not None
    if numbers.dtype.kind == "b":
        numbers = numbers.astype(np.uint8)
    missing = np.isnan(numbers) if numbers.dtype.kind == "f" else np.zeros((1, 1), dtype=bool)
    any_missing = bool(missing.any())
    filled = np.where(missing, 0, numbers) if any_missing else numbers
    with np.errstate(invalid="ignore"):
        good = filled.min(initial=0) >= 0 and filled.max(initial=0) <= LARGEST_CODE
        if numbers.dtype.kind == "f":
            good = good and bool((filled == np.rint(filled)).all())
    if not good:
        return None
    cells = filled.astype(np.uint8)
    n, p = cells.shape
    width = int(cells.max(initial=0)) + 1
    seen = np.zeros((p, width), dtype=bool)
    column = np.arange(p)
    for row in range(n):
        if any_missing:
            present = ~missing[row]
            seen[column[present], cells[row, present]] = True
        else:
            seen[column, cells[row]] = True
    code_of = np.cumsum(seen, axis=1) - 1
    index, value = np.nonzero(seen)
    ends = np.searchsorted(index, np.arange(1, p))
    levels = np.split(value.astype(float), ends)
    for j in np.flatnonzero(seen.sum(axis=1) < 2).tolist():
        levels[j], shift = _with_a_second(levels[j])
        code_of[j] += shift
    kind = np.int16
    codes = code_of.astype(kind)[column, cells]
    if any_missing:
        codes[missing] = MISSING
    return CategoryTable(codes, Categories(tuple(levels)), columns.feature_names)


# --------------------------------------------------------------------------------------------------
# Codes in which a missing cell may be a category of its own
# --------------------------------------------------------------------------------------------------


Verbs = tuple[str, str]
"""A verb phrase for one cell, and for several."""


TAKEN_FOR_MISSING: Verbs = ("is treated as missing", "are treated as missing")


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """The codes of some columns.

    Attributes
    ----------
    levels : Categories
        Categories of the columns.
    missing_is_level : bool
        Whether a missing cell is a category of its own, the one after all others.
    """

    levels: Categories
    missing_is_level: bool

    @property
    def n_levels(self) -> IntArray:
        """Number of codes of each column."""
        return np.asarray(self.levels.n_levels + self.missing_is_level)

    def of_training(self, codes: AnyArray) -> AnyArray:
        """Return codes of training cells, of which missing ones are -1."""
        if self.missing_is_level:
            return np.where(codes == MISSING, self.levels.n_levels, codes)
        return codes

    def read(self, X: Any, describe: Callable[[int], str], unknown_are: Verbs) -> IntArray:
        """Return codes of a table; unknown categories are -1 as missing cells are, with a warning.

        Parameters
        ----------
        X : table of shape (n, k)
            With these columns.
        describe : callable
            Given an index, the name of the column in messages.
        unknown_are : tuple of str
            What becomes of one such cell, and of several, for the warning.
        """
        codes, unknown = encode_columns(X, self.levels, describe)
        if unknown:
            position, value, _ = unknown[0]
            total = sum(number for _, _, number in unknown)
            cells = f"1 cell {unknown_are[0]}" if total == 1 else f"{total} cells {unknown_are[1]}"
            shown = repr(value) if isinstance(value, str) else number_text(value)
            warnings.warn(
                f"{cells}: categories not seen in fit, such as {shown} in {describe(position)}.",
                UserWarning,
                stacklevel=6,
            )
        if self.missing_is_level:
            is_missing, columns = codes == MISSING, as_columns(X)
            for index, _, _ in unknown:  # a category that fit has not seen is not a missing cell
                cells_of = columns.get(index), columns.name(index)
                is_missing[:, index] &= column_cells(*cells_of, any_number=True)[1]
            codes = np.where(is_missing, self.levels.n_levels, codes)
        return codes

    def without_new_missing(self, codes: AnyArray, seen: BoolArray) -> AnyArray:
        """Return codes in which a missing cell is -1 where its column had none in training.

        Parameters
        ----------
        codes : ndarray of int of shape (n, k)
            From `read` or `of_training`.
        seen : ndarray of bool of shape (sum of n_levels,)
            Whether training rows have each category, those of all columns one after the other.
        """
        if not self.missing_is_level or not self.n_levels.size:
            return codes
        new = ~seen[np.cumsum(self.n_levels) - 1]
        return np.where(new & (codes == self.levels.n_levels), MISSING, codes)

    def to_plain(self) -> Plain:
        """Return categories, and whether a missing cell is one."""
        content = {"missing_is_level": self.missing_is_level}
        return joined((content, {}), levels=self.levels.to_plain())

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> Codes:
        """Return the codes of ``known["n_columns"]`` columns."""
        levels = Section(kind=Categories).read(entries, "levels", known)
        return cls(levels, Flag().read(entries, "missing_is_level", known))


def check_missing(table: CategoryTable, why: str, *, missing_is_level: bool) -> None:
    """Refuse missing training cells, with a reason, unless they are categories."""
    columns = np.flatnonzero(np.any(table.codes == MISSING, axis=0)).tolist()
    if columns and not missing_is_level:
        names = table.feature_names
        shown = ", ".join(str(j) if names is None else repr(names[j]) for j in columns[:5])
        more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
        what = "column" if len(columns) == 1 else "columns"
        msg = (
            f"X contains NaN: cells are missing in {what} {shown}{more}. {why}; fill them in, or "
            "treat missing cells as a category with missing='level'."
        )
        raise ValueError(msg)


# --------------------------------------------------------------------------------------------------
# Codes of columns of any kind: real-valued ones in bins, all others by their categories
#
# The bins of a real-valued column are learned from its training rows, without their classes. There
# are at most ``n_bins``, at least two, and no more than one for every 20 rows. A column with no
# more values than that has a bin for each; otherwise bins hold about as many rows each. A row of
# weight 2 counts as two. A value belongs to the first bin whose upper bound it does not exceed, so
# one beyond the training range belongs to the first or the last bin. Unseen texts and categories
# are missing.
# --------------------------------------------------------------------------------------------------


ROWS_PER_BIN = 20
"""A bin of a real-valued column should have this many training rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A table of codes.

    Attributes
    ----------
    cells : ndarray of int of shape (n, p)
        The index of each cell among its column's categories, -1 for missing.
    n_levels : ndarray of int of shape (p,)
        Categories of each column, two or more.
    is_open : ndarray of bool of shape (p,)
        Columns of texts or categories: a category that training has not seen is missing.
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
        of another its categories, sorted.
    kinds : tuple of {"binary", "categorical", "real"}
        What each column is; only a categorical one has categories.
    """

    rules: tuple[AnyArray, ...]
    kinds: tuple[Kind, ...]

    def to_plain(self) -> Plain:
        """Return rules column after column: those of numbers in one array, texts in another."""
        is_text = np.array([rule.dtype.kind == "O" for rule in self.rules], dtype=bool)
        numbers = [rule for rule in self.rules if rule.dtype.kind != "O"]
        texts = [text for rule in self.rules if rule.dtype.kind == "O" for text in rule.tolist()]
        arrays: dict[str, AnyArray] = {
            "kinds": np.array([KINDS.index(kind) for kind in self.kinds], dtype=np.int64),
            "size": np.array([rule.size for rule in self.rules], dtype=np.int64),
            "is_text": is_text,
            "number": np.concatenate([np.zeros(0), *numbers]),
        }
        return {}, arrays | texts_as_arrays("word", texts)

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> Coding:
        """Return the coding of ``known["n_features_in"]`` columns; refuse what cannot be one."""
        n_columns = known["n_features_in"]
        codes = entries.counts("kinds", (n_columns,), len(KINDS) - 1)
        size = entries.counts("size", (n_columns,), _MOST_LEVELS)
        is_text = entries.mask("is_text", (n_columns,))
        good = not np.any(is_text & (codes != KINDS.index("categorical")))
        entries.check(good, "is_text", "is true of columns of numbers")
        numbers = entries.finite("number", (int(size[~is_text].sum()),))
        texts = np.array(entries.texts("word"), dtype=object)
        entries.check(
            len(texts) == int(size[is_text].sum()), "word", "does not name every category"
        )
        rules: list[AnyArray] = []
        used = {False: 0, True: 0}
        for text, length in zip(is_text.tolist(), size.tolist(), strict=True):
            part = (texts if text else numbers)[used[text] : used[text] + length]
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
        """Which columns have categories rather than bins."""
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
        # Bounds of a single 0: 0 and 1 are their own codes.
        only_zero = all(r.size == 1 and r.dtype.kind == "f" and r[0] == 0 for r in self.rules)
        if only_zero and _are_zero_one_bytes(X):
            return Coded(X.view(np.int8), n_levels, self.is_open)
        columns = _columns(X)
        dtype = np.min_scalar_type(-int(n_levels.max(initial=2)))
        cells = np.empty((columns.n_rows, columns.n_columns), dtype=dtype, order="F")
        for j, (rule, kind) in enumerate(zip(self.rules, self.kinds, strict=True)):
            values, missing = _cells(columns, j, kind)
            is_open = kind == "categorical"
            cells[:, j] = (
                category_codes(values, missing, rule) if is_open else bin_codes(values, rule)
            )
        return Coded(cells, n_levels, self.is_open)


def learn_coding(X: Any, weight: FloatArray, *, kinds: Any = None, n_bins: int = 10) -> Coding:
    """Learn bins and categories.

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


def _columns(X: Any) -> TableColumns:
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
    return TableColumns(n, p, None, column)


def _are_zero_one_bytes(X: Any) -> bool:
    """Whether a table is an array of bytes that are its codes already."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "biu":
        return False
    if X.dtype.itemsize > 1:
        return False
    return X.dtype.kind == "b" or bool(X.min(initial=0) >= 0 and X.max(initial=1) <= 1)


def _learn(
    columns: TableColumns, j: int, kind: Kind, n_bins: int, weight: FloatArray
) -> tuple[AnyArray, Kind]:
    """Return the bounds or the categories of one column; one without any cell has no categories."""
    values, missing = _cells(columns, j, kind)
    present = ~missing & (weight > 0)
    if not present.any():
        return np.zeros(0), "categorical"
    if kind == "categorical":
        return distinct(values[present]), kind
    if kind == "binary" and np.all((values[present] == 0) | (values[present] == 1)):
        return np.zeros(1), kind
    return bin_bounds(values[present], weight[present], n_bins), kind


def _cells(columns: TableColumns, j: int, kind: Kind) -> tuple[AnyArray, BoolArray]:
    """Return a column's cells, numbers unless it is categorical, and which are missing."""
    if kind == "categorical":
        values, missing = column_cells(columns.get(j), columns.name(j), any_number=True)
        return (np.full(missing.size, np.nan) if missing.all() else values), missing
    numbers = numeric_cells(columns, j, kind)
    return numbers, np.isnan(numbers)


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


def bin_codes(values: FloatArray, bounds: FloatArray) -> IntArray:
    """Return the bin of each number, -1 for NaN."""
    codes = np.searchsorted(bounds, values, side="left")
    codes[np.isnan(values)] = MISSING
    return codes


# --------------------------------------------------------------------------------------------------
# Continuous columns among categorical ones: cut into bins, whose numbers are categories
#
# Bounds are those of `Coding`. A column is continuous where the user says so, or where it holds
# numbers that cannot be categories: negative ones or fractions.
# --------------------------------------------------------------------------------------------------


_MOST_BOUNDS = 10**6


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """How some columns are cut.

    Attributes
    ----------
    bounds : tuple of ndarray or None
        Of each column the upper bounds of all bins but the last, ascending; None where cells are
        categories as they are.
    """

    bounds: tuple[FloatArray | None, ...]

    def take(self, columns: IntArray) -> Cuts:
        """Return the cuts of some of the columns."""
        return Cuts(tuple(self.bounds[column] for column in columns))

    def of(self, X: Any) -> Any:
        """Return a table with these columns, continuous ones as the numbers of their bins."""
        if all(bounds is None for bounds in self.bounds):
            return X
        columns = as_columns(X)

        def get(position: int) -> AnyArray:
            bounds = self.bounds[position]
            if bounds is None:
                return columns.get(position)
            codes = bin_codes(numeric_cells(columns, position, "real"), bounds)
            return np.where(codes == MISSING, np.nan, codes)

        return replace(columns, get=get, numbers=None)

    def labels(self, index: int) -> tuple[str, ...] | None:
        """Return the labels of a column's bins; None where it has none."""
        bounds = self.bounds[index]
        if bounds is None:
            return None
        if bounds.size == 0:
            return ("any value",)
        inner = [f"{low:.4g} to {high:.4g}" for low, high in pairwise(bounds.tolist())]
        return (f"up to {bounds[0]:.4g}", *inner, f"above {bounds[-1]:.4g}")

    def to_plain(self) -> Plain:
        """Return which columns are cut, and the bounds of all of them one after the other."""
        cut = [bounds for bounds in self.bounds if bounds is not None]
        return {}, {
            "is_cut": np.array([bounds is not None for bounds in self.bounds], dtype=bool),
            "size": np.array([bounds.size for bounds in cut], dtype=np.int64),
            "bound": np.concatenate([np.zeros(0), *cut]),
        }

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> Cuts:
        """Return the cuts of ``known["n_columns"]`` columns; refuse what cannot be cuts."""
        is_cut = entries.mask("is_cut", (known["n_columns"],))
        size = entries.counts("size", (int(is_cut.sum()),), _MOST_BOUNDS)
        bound = entries.finite("bound", (int(size.sum()),))
        parts = iter(np.split(bound, np.cumsum(size)[:-1]) if size.size else [])
        bounds = tuple(next(parts).copy() if cut else None for cut in is_cut.tolist())
        good = all(np.all(np.diff(part) > 0) for part in bounds if part is not None)
        entries.check(good, "bound", "is not in ascending order")
        return cls(bounds)


def measured_columns(columns: TableColumns, kinds: Any = None) -> IntArray:
    """Return which columns are continuous features.

    Parameters
    ----------
    columns : TableColumns
        A training table.
    kinds : mapping or sequence, optional
        Kinds that the user has named, as in `find_kinds`: what is "real" is cut, and what is
        "categorical" is not.
    """
    named = named_kinds(kinds, columns.feature_names, columns.n_columns)
    measured = [
        index
        for index in range(columns.n_columns)
        if named.get(index) == "real"
        or (named.get(index) != "categorical" and _holds_no_levels(columns, index))
    ]
    return np.array(measured, dtype=np.int64)


def learn_cuts(columns: TableColumns, measured: IntArray, rows: IntArray, n_bins: int) -> Cuts:
    """Learn the bounds of continuous features from some rows; there are at most ``n_bins`` bins."""
    bounds: list[FloatArray | None] = [None] * columns.n_columns
    for index in measured.tolist():
        values = numeric_cells(columns, index, "real")[rows]
        present = values[~np.isnan(values)]
        some = bin_bounds(present, np.ones(present.size), n_bins) if present.size else present
        bounds[index] = some
    return Cuts(tuple(bounds))


@dataclass(frozen=True, slots=True, eq=False)
class CutTable:
    """A training table as codes, its measurements in bins.

    Attributes
    ----------
    table : CategoryTable
        Codes of all cells, with bins that were learned from all rows.
    cuts : Cuts
        These bins.
    columns : TableColumns or None
        The table as it was given, where it has measurements.
    measured : ndarray of int
        Which of its columns are measurements.
    n_bins : int
        The most bins of a column.
    """

    table: CategoryTable
    cuts: Cuts
    columns: TableColumns | None
    measured: IntArray
    n_bins: int

    @classmethod
    def of(cls, X: Any, kinds: Any, n_bins: int) -> CutTable:
        """Cut the measurements of a table, and code all its cells."""
        if sparse.issparse(X):
            return cls.uncut(X)
        columns = as_columns(X)
        measured = measured_columns(columns, kinds)
        if not measured.size:
            return cls.uncut(X)
        cuts = learn_cuts(columns, measured, np.arange(columns.n_rows), n_bins)
        return cls(category_table(cuts.of(X)), cuts, columns, measured, n_bins)

    @classmethod
    def uncut(cls, X: Any) -> CutTable:
        """Code the cells of a table without measurements."""
        table = category_table(X)
        cuts = Cuts((None,) * table.codes.shape[1])
        return cls(table, cuts, None, np.zeros(0, dtype=np.int64), 0)

    def given(self, rows: IntArray) -> CutTable:
        """Return the codes of all cells with bins that were learned from some rows."""
        if self.columns is None:
            return self
        cuts = learn_cuts(self.columns, self.measured, rows, self.n_bins)
        return replace(self, table=category_table(cuts.of(self.columns)), cuts=cuts)

    def codes(self, rows: IntArray, columns: IntArray, cuts: Cuts) -> IntArray:
        """Return codes of some rows and columns, with the bins of another training set."""
        codes = np.array(self.table.codes[np.ix_(rows, columns)])
        for index, bounds in enumerate(cuts.bounds):
            if bounds is not None:
                assert self.columns is not None
                values = numeric_cells(self.columns, int(columns[index]), "real")[rows]
                codes[:, index] = bin_codes(values, bounds)
        return codes


def _holds_no_levels(columns: TableColumns, index: int) -> bool:
    """Whether a column holds numbers that cannot be categories, and no frame declares it one."""
    values = columns.get(index)
    if columns.is_category(index) or values.dtype.kind in "bUS":
        return False
    if values.dtype.kind == "O":
        values, _ = column_cells(values, columns.name(index), any_number=True)
        if values.dtype.kind == "O":
            return False
    with np.errstate(invalid="ignore"):
        odd = (values < 0) | (values != np.rint(values))
    return bool(np.any(odd & np.isfinite(values)))
