"""Which kind of feature each column of a table is: binary, categorical or real-valued."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import numpy as np
from scipy import sparse

from honestbayes.data.binarization import check_finite, check_spread
from honestbayes.data.frames import as_frame, frame_names, one_block
from honestbayes.data.source import (
    DenseSource,
    as_array,
    as_source,
    check_structure,
    dense_values,
    is_lazy,
)
from honestbayes.files.fields import Array, Check
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Columns of a table of any kind: numbers or texts, and which cells are missing
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
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
    """Return a table that knows its shape, or say that it is none.

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


def as_columns(X: Any) -> Columns:
    """Wrap an array of numbers or texts, a sparse matrix, or a frame."""
    if isinstance(X, Columns):
        return X
    X = as_frame(X)
    module = type(X).__module__.partition(".")[0]
    if module in ("pandas", "polars"):
        names = frame_names(X, module)
        columns = X.iloc if module == "pandas" else X
        n, p = X.shape
        block = one_block(X) if module == "pandas" else None
        if block is not None:
            return Columns(n, p, names, lambda j: block[:, j].astype(float), block)
        return Columns(
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
            return Columns(values.shape[0], values.shape[1], None, lambda j: values[:, j])
    source = as_source(X)
    n, p = source.shape
    numbers = source.values if isinstance(source, DenseSource) else dense_values(source)
    return Columns(n, p, source.feature_names, lambda j: numbers[:, j], numbers)


def _frame_column(column: Any, module: str) -> AnyArray:
    """Return numbers (NaN: missing) or an object array of texts (None: missing)."""
    kind = str(column.dtype).lower()
    numeric = any(kind.startswith(word) for word in ("int", "uint", "float", "bool"))
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
            msg = f"{name} holds {present[0]!r}, which is neither a text nor a number."
            raise ValueError(msg) from None
        values = numbers
    if values.dtype.kind not in "iuf":
        msg = f"{name} has dtype {values.dtype}; give texts or whole numbers."
        raise ValueError(msg)
    numbers = values.astype(float)
    missing = np.isnan(numbers)
    _check_numbers(numbers, missing, name, any_number)
    return numbers, missing


def _missing_objects(values: AnyArray, name: str) -> tuple[BoolArray, bool]:
    """Return which of a column of objects are missing, and whether the others are all texts.

    Columns have far fewer different values than cells, so only these are looked at.
    """
    seen = different_objects(values)
    wrong = [v for v in seen if isinstance(v, tuple) or type(v).__hash__ is None]
    if wrong:
        msg = f"{name} holds {wrong[0]!r}, which is neither a text nor a number."
        raise ValueError(msg)
    gone = {v: is_missing(v) for v in seen}
    present = [v for v, is_gone in gone.items() if not is_gone]
    are_texts = [isinstance(v, str) for v in present]
    if any(are_texts) and not all(are_texts):
        msg = f"{name} mixes texts and numbers; make it one or the other."
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


def _check_numbers(numbers: AnyArray, missing: BoolArray, name: str, any_number: bool) -> None:
    """Refuse numbers that are no levels: negative ones and fractions, unless any are; infinity."""
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
            "not categories. Give texts or whole numbers from 0; measurements are for "
            "SelectiveGaussianNB, or for the real columns of SelectiveMixedNB."
        )
        raise ValueError(msg)


def as_texts(values: AnyArray) -> AnyArray:
    """Return numbers as the texts that a file would hold; texts as they are."""
    if values.dtype.kind == "O":
        return values
    return np.array([None if v != v else number_text(v) for v in values.tolist()], dtype=object)


def number_text(value: float) -> str:
    """Return a level that is a number as text, whole numbers without a point."""
    return f"{value:.0f}" if value == np.rint(value) else repr(float(value))


Kind = Literal["binary", "categorical", "real", "constant"]
KINDS: tuple[Kind, ...] = get_args(Kind)[:3]
"""Kinds that a user may name, and that models know."""

ALL_KINDS: tuple[Kind, ...] = get_args(Kind)
"""These, and that of columns with one value, or none, in the training rows."""

KindsInOrder = Sequence[Kind] | AnyArray
"""The kind of each column. Estimators that are cloned for each fold are better given an array: of
a list, scikit-learn clones every entry."""


def find_kinds(X: Any, given: Any = None) -> tuple[Kind, ...]:
    """Return the kind of each column.

    A column with one value, or none, is constant. Texts are categorical, and so are a frame's
    categories; numbers with two values are binary, whatever these are; other numbers are real.

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
    columns: Columns, given: Any = None, *, constant: bool = True
) -> tuple[Kind, ...]:
    """Return the kind of each column of a table that is read as such; as `find_kinds`.

    Where ``constant`` is false, a column with one value is categorical or binary, as its value is
    a text or a number.
    """
    named = named_kinds(given, columns.feature_names, columns.n_columns)
    return tuple(
        named.get(position) or _kind(columns, position, constant)
        for position in range(columns.n_columns)
    )


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


def _kind(columns: Columns, position: int, constant: bool) -> Kind:
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
    n_values = np.unique(values).size
    if constant and n_values <= 1:
        return "constant"
    if category and n_values > 2:
        return "categorical"
    if n_values <= 2:
        return "binary"
    if constant:  # else it is cut into bins, and never squared
        check_spread(values[:, None], lambda _: name)
    return "real"


def named_kinds(given: Any, names: tuple[str, ...] | None, n_columns: int) -> dict[int, Kind]:
    """Return the kinds that the user named, by position."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        place = {name: position for position, name in enumerate(names or ())}
        found: dict[int, Kind] = {}
        for key, kind in given.items():
            position = place.get(key, key)
            if not isinstance(position, int | np.integer) or not 0 <= position < n_columns:
                msg = f"kinds names {key!r}, which is not a column of X."
                raise ValueError(msg)
            found[int(position)] = _checked(kind)
        return found
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
        if hasattr(X, "blocks") or hasattr(X, "indptr"):  # flags, or screened as they are
            return cls(low, high)
        columns = as_columns(X)
        if columns.numbers is not None:  # wide tables of 0 and 1 are looked at as a whole
            cells = columns.numbers[:, binary]
            plain = np.all((cells == 0) | (cells == 1) | (cells != cells), axis=0)
            low[binary[plain]], high[binary[plain]] = 0.0, 1.0
            binary = binary[~plain]
        for j in binary.tolist():
            values = np.unique(_numbers(columns, j))
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
            values = np.column_stack([_numbers(columns, j) for j in coded.tolist()])
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


def _numbers(columns: Columns, position: int) -> FloatArray:
    """Return a column of numbers as floats; NaN is missing."""
    values, missing = column_cells(columns.get(position), columns.name(position), any_number=True)
    if values.dtype.kind == "O" and not missing.all():
        msg = f"{columns.name(position)} holds texts, but is called binary."
        raise ValueError(msg)
    return np.where(missing, np.nan, 0.0 if missing.all() else values)


def _with_columns(X: Any, columns: IntArray, values: FloatArray) -> Any:
    """Return a copy of a table with other values in some columns."""
    module = type(X).__module__.partition(".")[0]
    if module == "pandas":
        X = X.copy(deep=False)
        for place, column in enumerate(columns.tolist()):
            X.isetitem(column, values[:, place])
        return X
    if module == "polars":
        new = [X[:, column] for column in columns.tolist()]
        return X.with_columns(
            [type(old)(old.name, values[:, place]) for place, old in enumerate(new)]
        )
    X = np.array(X, dtype=object if np.asarray(X).dtype.kind in "OUS" else float)
    X[:, columns] = values
    return X
