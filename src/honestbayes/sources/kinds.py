"""Which kind of feature each column of a table is: binary, categorical or real-valued."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from honestbayes.sources.columns import Columns, as_columns, different_objects, is_missing
from honestbayes.types import AnyArray, IntArray

Kind = Literal["binary", "categorical", "real"]
KINDS: tuple[Kind, ...] = get_args(Kind)
KindsInOrder = Sequence[Kind] | AnyArray
"""The kind of each column. Estimators that are cloned for each fold are better given an array: of
a list, scikit-learn clones every entry."""


def find_kinds(X: Any, given: Any = None) -> tuple[Kind, ...]:
    """Return the kind of each column.

    Texts are categorical, and so are a frame's categories; numbers with two values or fewer are
    binary; other numbers are real.

    Parameters
    ----------
    X : table
        Array, sparse matrix, pandas or polars frame.
    given : mapping or sequence, optional
        Kinds that the user has named: for some columns by name or index, or for all in order.
    """
    return kinds_of_columns(as_columns(X), given)


def kinds_of_columns(columns: Columns, given: Any = None) -> tuple[Kind, ...]:
    """Return the kind of each column of a table that is read as such; as `find_kinds`."""
    named = named_kinds(given, columns.feature_names, columns.n_columns)
    return tuple(
        named.get(position)
        or _kind(columns.get(position), columns.is_category(position), columns.name(position))
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


def _kind(values: AnyArray, category: bool, name: str) -> Kind:
    if values.dtype.kind in "OUS":
        present = [v for v in different_objects(values) if not is_missing(v)]
        if category or any(isinstance(v, str) for v in present):
            return "categorical"
        try:
            values = np.array([float(v) for v in present])
        except (TypeError, ValueError):
            msg = f"{name} holds {present[0]!r}, which is neither a text nor a number."
            raise ValueError(msg) from None
    if values.dtype.kind not in "biuf":
        msg = f"{name} has dtype {values.dtype}; give texts or numbers."
        raise ValueError(msg)
    if values.dtype.kind == "b":
        return "binary"
    distinct = np.unique(values[~np.isnan(values)] if values.dtype.kind == "f" else values)
    if category and distinct.size > 2:
        return "categorical"
    return "binary" if distinct.size <= 2 else "real"


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
