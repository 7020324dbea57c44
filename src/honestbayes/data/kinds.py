"""The kind of each column of a table: binary, categorical, real-valued or constant.

One rule serves every table. A column with one value, or none, is constant. Texts are categorical,
and so are the categories of a frame; numbers with two values are binary, whatever these are; other
numbers are real. Columns of numbers are judged by their `ValueRange`, which can be merged, so that
a table beyond memory is read once. Files of users have one step before this one: their cells are
texts, and `honestbayes.tables.columns` first decides whether they are numbers at all.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import numpy as np
from scipy import sparse

from honestbayes.data.binarization import check_finite, check_range, check_spread
from honestbayes.data.frames import as_frame, frame_names, one_block
from honestbayes.data.source import (
    DenseSource,
    DescribeColumns,
    PackedColumns,
    PackedGenotypes,
    Source,
    accumulate,
    as_array,
    as_source,
    check_structure,
    dense,
    dense_values,
    is_lazy,
)
from honestbayes.files.fields import Array, Check
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

Kind = Literal["binary", "categorical", "real", "constant", "covariate"]
KINDS: tuple[Kind, ...] = get_args(Kind)[:3]
"""Kinds that a user may name, and that models know."""

ALL_KINDS: tuple[Kind, ...] = get_args(Kind)
"""These, and that of columns with one value, or none, in the training rows."""

KindsInOrder = Sequence[Kind] | AnyArray
"""The kind of each column. Estimators that are cloned for each fold are better given an array: of
a list, scikit-learn clones every entry."""


# --------------------------------------------------------------------------------------------------
# Typed columns of a table: numbers or texts, and which cells are missing
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class TableColumns:
    """A table as a sequence of columns of numbers or texts, of whatever kind it is."""

    n_rows: int
    n_columns: int
    feature_names: tuple[str, ...] | None
    get: Callable[[int], AnyArray]
    numbers: AnyArray | None = None
    declared: Callable[[int], AnyArray | None] = lambda _: None
    is_category: Callable[[int], bool] = lambda _: False

    def name(self, position: int) -> str:
        """Return how messages call a column."""
        if self.feature_names is None:
            return f"column {position}"
        return f"column {self.feature_names[position]!r}"


def is_missing(value: Any) -> bool:
    """NaN is not equal to itself; whether NA is, is not even a yes or no."""
    try:
        return value is None or not bool(value == value)
    except TypeError:
        return True


def as_table(X: Any, *, may_be_empty: bool = False) -> Any:
    """Return a table with a shape; refuse anything else.

    Only a model that kept no feature takes a table without columns.
    """
    X = as_source(X) if is_lazy(X) else as_frame(X)
    module = type(X).__module__.partition(".")[0]
    if module in ("pandas", "polars") and not may_be_empty:
        frame_names(X, module)
    table = X if hasattr(X, "shape") else as_array(X)
    shape = tuple(table.shape)
    if len(shape) != 2:
        msg = (
            f"Expected 2D array, got {len(shape)}D array of shape {shape} instead. Reshape your "
            "data: one row for each case, one column for each feature."
        )
        raise ValueError(msg)
    if shape[0] == 0 or (shape[1] == 0 and not may_be_empty):
        msg = (
            f"Found array with {shape[0]} sample(s) and {shape[1]} feature(s) (shape={shape}) "
            "while a minimum of 1 is required."
        )
        raise ValueError(msg)
    if sparse.issparse(table):
        check_structure(table)
    compressed = getattr(table, "format", None) in ("csr", "csc")
    return table if compressed or not hasattr(table, "tocsc") else table.tocsc()


def as_columns(X: Any) -> TableColumns:
    """Wrap an array of numbers or texts, a sparse matrix, or a frame."""
    if isinstance(X, TableColumns):
        return X
    X = as_frame(X)
    module = type(X).__module__.partition(".")[0]
    if module in ("pandas", "polars"):
        names = frame_names(X, module)
        columns = X.iloc if module == "pandas" else X
        n, p = X.shape
        block = one_block(X) if module == "pandas" else None
        if block is not None:
            return TableColumns(n, p, names, lambda j: block[:, j].astype(float), block)
        return TableColumns(
            n,
            p,
            names,
            lambda j: _frame_column(columns[:, j], module),
            None,
            lambda j: _declared(columns[:, j]),
            lambda j: str(columns[:, j].dtype).lower().startswith(("categor", "enum")),
        )
    if not sparse.issparse(X) and not hasattr(X, "blocks"):
        values = as_array(X)
        if values.dtype.kind in "OUS" and values.ndim == 2 and min(values.shape) > 0:
            return TableColumns(values.shape[0], values.shape[1], None, lambda j: values[:, j])
    source = as_source(X)
    n, p = source.shape
    numbers = source.values if isinstance(source, DenseSource) else dense_values(source)
    return TableColumns(n, p, source.feature_names, lambda j: numbers[:, j], numbers)


def _frame_column(column: Any, module: str) -> AnyArray:
    """Return numbers (NaN: missing) or an object array of texts (None: missing)."""
    kind = str(column.dtype).lower()
    numeric = any(kind.startswith(name) for name in ("int", "uint", "float", "bool"))
    if module == "pandas":
        missing = column.isna().to_numpy()
        if numeric:
            return np.asarray(column.to_numpy(dtype=float, na_value=np.nan))
        values: AnyArray = column.astype(object).to_numpy(dtype=object, copy=True)
        values[missing] = None
        return values
    if numeric or kind.startswith("decimal"):
        return np.asarray(column.cast(float).to_numpy(), dtype=float)
    if not kind.startswith(("string", "utf8", "categorical", "enum", "null")):
        msg = f"column {column.name!r} has dtype {column.dtype}; give texts or numbers."
        raise ValueError(msg)
    return np.array(column.cast(str).to_list(), dtype=object)


def _declared(column: Any) -> AnyArray | None:
    """Return the texts that a frame declares as a column's categories, seen or not."""
    categories = getattr(column.dtype, "categories", None)
    if categories is None or not all(isinstance(value, str) for value in categories):
        return None
    return np.array(sorted(categories), dtype=object)


def column_cells(values: AnyArray, name: str, any_number: bool) -> tuple[AnyArray, BoolArray]:
    """Return a column as floats or texts, and which cells are missing; refuse anything else."""
    if values.dtype.kind == "b":
        values = values.astype(float)
    if values.dtype.kind in "US":
        values = values.astype(object)
    if values.dtype.kind == "O":
        missing, are_texts = _missing_objects(values, name)
        if are_texts:
            return values, missing
        present = values[~missing]
        numbers = np.full(values.size, np.nan)
        try:
            numbers[~missing] = present.astype(float)
        except (TypeError, ValueError):
            msg = f"{name} holds {present[0]!r}, which is neither text nor a number."
            raise ValueError(msg) from None
        values = numbers
    if values.dtype.kind not in "iuf":
        msg = f"{name} has dtype {values.dtype}; give texts or whole numbers."
        raise ValueError(msg)
    numbers = values.astype(float)
    missing = np.isnan(numbers)
    check_categories(numbers, name, any_number)
    return numbers, missing


def numeric_cells(columns: TableColumns, position: int, kind: Kind) -> FloatArray:
    """Return a column of numbers as floats, NaN where missing; refuse texts in a column so called.

    A column without any cell has no type, so that it may be called anything.
    """
    values, missing = column_cells(columns.get(position), columns.name(position), any_number=True)
    if missing.all():
        return np.full(missing.size, np.nan)
    if values.dtype.kind == "O":
        msg = f"{columns.name(position)} holds texts, but its kind is {kind}."
        raise ValueError(msg)
    return values


def _missing_objects(values: AnyArray, name: str) -> tuple[BoolArray, bool]:
    """Return which of a column of objects are missing, and whether the others are all texts.

    Columns have far fewer different values than cells, so only these are looked at.
    """
    seen = different_objects(values)
    wrong = [v for v in seen if isinstance(v, tuple) or type(v).__hash__ is None]
    if wrong:
        msg = f"{name} holds {wrong[0]!r}, which is neither text nor a number."
        raise ValueError(msg)
    gone = {v: is_missing(v) for v in seen}
    present = [v for v, is_gone in gone.items() if not is_gone]
    are_texts = [isinstance(v, str) for v in present]
    if any(are_texts) and not all(are_texts):
        msg = f"{name} mixes texts and numbers; convert it to one of them."
        raise ValueError(msg)
    missing = np.array([gone[v] for v in values.tolist()], dtype=bool)
    return missing, all(are_texts)


def different_objects(values: AnyArray) -> list[Any]:
    """Return the different values of a column of objects, or all where they have no hash."""
    try:
        return list(dict.fromkeys(values.tolist()))
    except TypeError:
        return list(values.tolist())


def distinct(values: AnyArray) -> AnyArray:
    """Return the different values of a column's cells, sorted."""
    if values.dtype.kind != "O":
        return np.unique(values)
    return np.array(sorted(set(values.tolist())), dtype=object)


def check_categories(numbers: AnyArray, name: str, any_number: bool) -> None:
    """Refuse numbers that are no categories: negative, fractions (unless any are), infinite.

    NaN is missing.
    """
    missing = np.isnan(numbers)
    with np.errstate(invalid="ignore"):
        good = any_number | ((numbers >= 0) & (numbers == np.rint(numbers)))
        wrong = ~missing & ~(good & np.isfinite(numbers))
    if wrong.any():
        value = numbers[wrong][0]
        if np.isinf(value):
            msg = f"{name} holds {value:g}, which is infinite (inf); give finite numbers."
            raise ValueError(msg)
        kind = "negative" if value < 0 else "no whole number"
        msg = (
            f"{name} holds {value:g}, which is {kind}: Negative values in data and fractions are "
            "not categories. Give texts or whole numbers from 0; for continuous features use "
            "SelectiveGaussianNB, or for the real columns of SelectiveMixedNB."
        )
        raise ValueError(msg)


def as_texts(values: AnyArray) -> AnyArray:
    """Return numbers as the texts that a file would hold; texts as they are."""
    if values.dtype.kind == "O":
        return values
    return np.array([None if v != v else number_text(v) for v in values.tolist()], dtype=object)


def number_text(value: float) -> str:
    """Return a category that is a number as text, whole numbers without a point."""
    return f"{value:.0f}" if value == np.rint(value) else repr(float(value))


# --------------------------------------------------------------------------------------------------
# Detection of kinds
# --------------------------------------------------------------------------------------------------


def find_kinds(X: Any, given: Any = None) -> tuple[Kind, ...]:
    """Return the kind of each column of a table in memory.

    Parameters
    ----------
    X : table
        Array, sparse matrix, pandas or polars frame.
    given : mapping or sequence, optional
        Kinds that the user has named: for some columns by name or index, or for all in order.
    """
    columns = as_columns(X)
    kinds = kinds_of_columns(columns, given)
    if hasattr(X, "indptr") and columns.numbers is not None:
        # Binary columns of sparse tables are screened as they are, not as 0 and 1.
        check_spread(columns.numbers, columns.name)
    return kinds


def kinds_of_columns(
    columns: TableColumns, given: Any = None, *, constant: bool = True
) -> tuple[Kind, ...]:
    """Return the kind of each column; those that the user named are not looked at.

    Where ``constant`` is false, a column with one value is categorical or binary, as its value is
    a text or a number.
    """
    named = named_kinds(given, columns.feature_names, columns.n_columns)
    return tuple(
        named.get(position) or _kind(columns, position, constant)
        for position in range(columns.n_columns)
    )


def kinds_and_missing(X: Any, given: Any = None) -> tuple[tuple[Kind, ...], bool]:
    """Return the kind of each column of any table or source, and whether any cell is missing.

    Arrays of numbers are looked at as a whole, sources block by block in one pass. A sparse matrix
    differs from `find_kinds`: it stays sparse, and its columns are binary where all of its cells
    are 0 or 1, else real.
    """
    if hasattr(X, "indptr"):
        named, kinds = named_kinds(given, None, X.shape[1]), _kinds_of_sparse(X)
        missing = bool(np.isnan(X.data).any())
        return tuple(named.get(position) or kind for position, kind in enumerate(kinds)), missing
    source = X if hasattr(X, "blocks") else None
    if source is None:
        columns = as_columns(X)
        if columns.numbers is None:
            cells = (columns.get(position) for position in range(columns.n_columns))
            return kinds_of_columns(columns, given), any(map(_any_missing, cells))
        source = DenseSource(columns.numbers, columns.feature_names)
    of_source, missing = kinds_and_missing_cells(source)
    named = named_kinds(given, source.feature_names, source.shape[1])
    return tuple(named.get(position) or kind for position, kind in enumerate(of_source)), missing


def kinds_of_source(source: Source, given: Any = None) -> tuple[Kind, ...]:
    """Return the kind of each column of numbers; nothing is read where the user named all of them.

    Parameters
    ----------
    source : Source of shape (n, p)
        The table.
    given : mapping or sequence, optional
        Kinds that the user has named, as in `find_kinds`.
    """
    named = named_kinds(given, source.feature_names, source.shape[1])
    if len(named) == source.shape[1]:
        return tuple(named[position] for position in range(len(named)))
    return kinds_and_missing(source, given)[0]


def kinds_and_missing_cells(source: Source) -> tuple[tuple[Kind, ...], bool]:
    """Return the kind of each column of numbers, and whether any cell is missing."""
    values = accumulate(source, lambda _rows, _columns: value_range)
    describe = DescribeColumns(source.feature_names)
    infinite = np.flatnonzero((values.low == -np.inf) | (values.high == np.inf))
    if infinite.size:
        first = int(infinite[0])
        check_finite(source.take(infinite[:1]), lambda _: describe(first))
    kinds = values.kinds()
    # The names of columns are right here; later they may be those of some columns only.
    real = np.array(kinds) == "real"
    low, high = np.where(real, values.low, 0), np.where(real, values.high, 0)
    check_range(low, high, source.shape[0], describe)
    return tuple(kinds), bool(values.n_missing.any())


@dataclass(frozen=True, slots=True, eq=False)
class ValueRange:
    """The smallest and largest numbers of some columns, as a statistic that can be merged.

    Attributes
    ----------
    low, high : ndarray of shape (c,)
        The smallest and the largest; where all are missing, infinity and minus infinity.
    two_valued : ndarray of bool of shape (c,)
        Whether there are no others.
    n_missing : ndarray of int of shape (c,)
        Number of missing cells.
    categories : ndarray of bool of shape (c,)
        Whether the table itself calls a column categorical.
    """

    low: AnyArray
    high: AnyArray
    two_valued: BoolArray
    n_missing: IntArray
    categories: BoolArray

    def kinds(self) -> list[Kind]:
        """Return the kind of each column."""
        several: list[tuple[Kind, BoolArray]] = [
            ("binary", self.two_valued),
            ("categorical", self.categories),
            ("constant", ~(self.low < self.high)),
        ]
        kinds = np.full(self.low.size, "real", dtype=object)
        for kind, which in several:  # what comes later overrides
            kinds[which] = kind
        return kinds.tolist()

    def merge_rows(self, other: ValueRange) -> ValueRange:
        """Return the range over both sets of rows."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        two_valued = self.two_valued & other.two_valued
        for part in (self, other):
            seen = part.low <= part.high
            for value in (part.low, part.high):
                two_valued = two_valued & (~seen | (value == low) | (value == high))
        return ValueRange(low, high, two_valued, self.n_missing + other.n_missing, self.categories)

    def merge_columns(self, *others: ValueRange) -> ValueRange:
        """Return the ranges of all sets of columns, in this order."""
        parts = (self, *others)
        return ValueRange(
            np.concatenate([part.low for part in parts]),
            np.concatenate([part.high for part in parts]),
            np.concatenate([part.two_valued for part in parts]),
            np.concatenate([part.n_missing for part in parts]),
            np.concatenate([part.categories for part in parts]),
        )


def value_range(block: Any) -> ValueRange:
    """Return the range of each column of a block, shape (n, c) with n > 0; NaN is missing."""
    none_missing = np.zeros(block.shape[1], dtype=np.int64)
    none = np.zeros(block.shape[1], dtype=bool)
    if isinstance(block, PackedGenotypes):
        counts = block.counts(np.zeros(block.shape[0], dtype=np.int64), 1)[:, 0]
        seen = counts[:, :3] > 0
        low = np.where(seen.any(axis=1), np.argmax(seen, axis=1), np.inf)
        high = np.where(seen.any(axis=1), 2 - np.argmax(seen[:, ::-1], axis=1), -np.inf)
        return ValueRange(low, high, seen.sum(axis=1) <= 2, counts[:, 3], ~none)
    if isinstance(block, PackedColumns):
        all_ones = PackedColumns.pack(np.ones((block.n_rows, 1), dtype=np.uint8)).bits
        low = (block.bits == all_ones).all(axis=1) * 1.0
        high = np.asarray(block.bits.any(axis=1) * 1.0)
        return ValueRange(low, high, np.ones(low.size, dtype=bool), none_missing, none)
    values = dense(block)
    if values.dtype.kind == "b":
        values = values.view(np.uint8)
    if values.dtype.kind != "f":
        low, high = values.min(axis=0), values.max(axis=0)
        two_valued = ((values == low) | (values == high)).all(axis=0)
        return ValueRange(low, high, two_valued, none_missing, none)
    missing = np.isnan(values)
    low = np.where(missing, np.inf, values).min(axis=0)
    high = np.where(missing, -np.inf, values).max(axis=0)
    two_valued = ((values == low) | (values == high) | missing).all(axis=0)
    return ValueRange(low, high, two_valued, missing.sum(axis=0), none)


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


def _any_missing(values: AnyArray) -> bool:
    """Whether any cell of a column is missing."""
    if values.dtype.kind in "OUS":
        return any(value is None or value != value for value in values.tolist())
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def _kind(columns: TableColumns, position: int, constant: bool) -> Kind:
    values, name = columns.get(position), columns.name(position)
    category = columns.is_category(position)
    if values.dtype.kind in "OUS":
        # The name of the column is right here; later it may be one of some columns only.
        column_cells(values, name, any_number=True)
        present = [v for v in different_objects(values) if not is_missing(v)]
        if constant and len(present) <= 1:
            return "constant"
        if category or any(isinstance(v, str) for v in present):
            return "categorical"
        values = np.array([float(v) for v in present])
    if values.dtype.kind not in "biuf":
        msg = f"{name} has dtype {values.dtype}; give texts or numbers."
        raise ValueError(msg)
    if values.dtype.kind == "f":
        check_finite(values[:, None], lambda _: name)
        values = values[~np.isnan(values)]
    kind = value_range(values[:, None]).kinds()[0] if values.size else "constant"
    if kind == "constant" and not constant:
        kind = "binary"
    if kind == "real" and category:
        return "categorical"
    if kind == "real" and constant:  # else it is cut into bins, and never squared
        check_spread(values[:, None], lambda _: name)
    return kind


def named_kinds(given: Any, names: tuple[str, ...] | None, n_columns: int) -> dict[int, Kind]:
    """Return the kinds that the user named, by position."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        index = {name: position for position, name in enumerate(names or ())}
        kinds: dict[int, Kind] = {}
        for key, kind in given.items():
            position = index.get(key, key)
            if not isinstance(position, int | np.integer) or not 0 <= position < n_columns:
                msg = f"kinds names {key!r}, which is not a column of X."
                raise ValueError(msg)
            kinds[int(position)] = _checked(kind)
        return kinds
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        msg = f"kinds={given!r} is neither a mapping from columns to kinds nor a list of kinds."
        raise ValueError(msg)
    if len(given) != n_columns:
        msg = f"kinds has {len(given)} entries, but X has {n_columns} columns."
        raise ValueError(msg)
    return {position: _checked(kind) for position, kind in enumerate(given)}


def _checked(kind: Any) -> Kind:
    for known in KINDS:
        if kind == known:
            return known
    msg = f"kinds holds {kind!r}, which is not one of {KINDS}."
    raise ValueError(msg)


def columns_of(X: Any, columns: IntArray) -> Any:
    """Return some columns of a table, as a table of the same sort."""
    module = type(X).__module__.partition(".")[0]
    if module == "pandas":
        return X.iloc[:, columns]
    if module == "polars":
        return X[:, columns.tolist()]
    if hasattr(X, "blocks"):
        return X.take(columns)
    part = X[:, columns]
    return _numbers_where_possible(part) if part.dtype.kind == "O" else part


def _numbers_where_possible(values: AnyArray) -> AnyArray:
    """Return objects that are all numbers or missing as floats, others as they are.

    A text that looks like a number stays a text.
    """
    if any(isinstance(value, str) for value in values.ravel()):
        return values
    try:
        return np.array([[np.nan if is_missing(v) else float(v) for v in row] for row in values])
    except (TypeError, ValueError):
        return values


# --------------------------------------------------------------------------------------------------
# Binary columns as 0 and 1
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class TwoValues:
    """The two values of each binary column; models are given 0 and 1 for them.

    A third value at prediction is 1 where it is above the smaller of the two, and 0 elsewhere,
    with a warning.

    Attributes
    ----------
    low, high : ndarray of shape (p,)
        The values, NaN for columns that are not coded. A column with one value in training has
        no larger one, unless it is 0 or 1.
    """

    low: Annotated[FloatArray, Array("n_features_in")]
    high: Annotated[FloatArray, Array("n_features_in")]

    def check(self, check: Check) -> None:
        """Refuse values that cannot be those of training columns."""
        known = ~np.isnan(self.low)
        check(np.all(np.isfinite(self.low[known])), "low", "is not finite")
        two = known & ~np.isnan(self.high)
        check(np.all(np.isnan(self.high) | known), "high", "has no smaller value")
        good = np.isfinite(self.high[two]) & (self.high[two] > self.low[two])
        check(np.all(good), "high", "is not above the smaller value")

    @classmethod
    def learn(cls, X: Any, kinds: Sequence[Kind]) -> TwoValues:
        """Find the two values of each binary column; one with more is left as it is."""
        low, high = np.full(len(kinds), np.nan), np.full(len(kinds), np.nan)
        binary = np.flatnonzero(np.array(kinds) == "binary")
        if hasattr(X, "blocks") or hasattr(X, "indptr"):  # binary features, or screened as they are
            return cls(low, high)
        columns = as_columns(X)
        if columns.numbers is not None:  # wide tables of 0 and 1 are looked at as a whole
            cells = columns.numbers[:, binary]
            plain = np.all((cells == 0) | (cells == 1) | (cells != cells), axis=0)
            low[binary[plain]], high[binary[plain]] = 0.0, 1.0
            binary = binary[~plain]
        for j in binary.tolist():
            values = np.unique(numeric_cells(columns, j, "binary"))
            values = values[~np.isnan(values)]
            if np.isin(values, (0.0, 1.0)).all():
                low[j], high[j] = 0.0, 1.0
            elif values.size <= 2:
                low[j] = values[0]
                high[j] = values[1] if values.size == 2 else np.nan
        return cls(low, high)

    def take(self, columns: IntArray) -> TwoValues:
        """Return the values of some columns."""
        return TwoValues(self.low[columns], self.high[columns])

    def texts(self) -> list[tuple[str, ...]]:
        """Return the two values of each column as texts; none where a column is not coded."""
        return [
            ()
            if low != low
            else (number_text(low), "none other" if high != high else number_text(high))
            for low, high in zip(self.low.tolist(), self.high.tolist(), strict=True)
        ]

    def apply(self, X: Any, describe: Callable[[int], str]) -> Any:
        """Return a table whose binary columns hold 0 and 1, of the same sort as the one given."""
        coded = np.flatnonzero(~np.isnan(self.low))
        if not coded.size or hasattr(X, "blocks") or hasattr(X, "indptr"):
            return X
        columns = as_columns(X)
        if columns.numbers is not None:
            values = columns.numbers[:, coded]
            # Of 1 and 2, some rows may hold only 1, which is the smaller one and not a 1.
            are_zero_one = bool(np.all((self.low[coded] == 0) & (self.high[coded] == 1)))
            if are_zero_one and _are_zero_one(values):
                return X
            values = values.astype(float)
        else:
            values = np.column_stack([numeric_cells(columns, j, "binary") for j in coded.tolist()])
        low, high = self.low[coded], self.high[coded]
        missing = np.isnan(values)
        third = ~missing & (values != low) & (values != high)
        if third.any():
            row, j = (int(i) for i in np.argwhere(third)[0])
            known = " or ".join(number_text(v) for v in (low[j], high[j]) if v == v)
            warnings.warn(
                f"{describe(int(coded[j]))} was {known} in all training rows and holds "
                f"{number_text(values[row, j])} now: binary columns are 1 where they are above "
                "the smaller value, else 0.",
                UserWarning,
                stacklevel=6,
            )
        codes = np.where(missing, np.nan, values > low)
        return _with_columns(X, coded, codes)


def _are_zero_one(values: AnyArray) -> bool:
    """Whether all cells are 0, 1 or missing."""
    if values.dtype.kind == "b":
        return True
    return bool(np.all((values == 0) | (values == 1) | (values != values)))


def _with_columns(X: Any, columns: IntArray, values: FloatArray) -> Any:
    """Return a copy of a table with other values in some columns."""
    module = type(X).__module__.partition(".")[0]
    if module == "pandas":
        X = X.copy(deep=False)
        for index, column in enumerate(columns.tolist()):
            X.isetitem(column, values[:, index])
        return X
    if module == "polars":
        new = [X[:, column] for column in columns.tolist()]
        return X.with_columns(
            [type(old)(old.name, values[:, index]) for index, old in enumerate(new)]
        )
    X = np.array(X, dtype=object if np.asarray(X).dtype.kind in "OUS" else float)
    X[:, columns] = values
    return X
