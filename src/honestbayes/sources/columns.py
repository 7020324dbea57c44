"""Columns of a table of any kind: numbers or texts, and which cells are missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from honestbayes.sources.frames import as_frame, frame_names, one_block
from honestbayes.sources.source import (
    DenseSource,
    as_array,
    as_source,
    check_structure,
    dense_values,
    is_lazy,
)
from honestbayes.types import AnyArray, BoolArray


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
