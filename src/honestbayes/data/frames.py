"""pandas, polars and pyarrow frames as sources, converted a slice of columns at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.data.source import Block, DenseSource, Source, column_slices
from honestbayes.types import AnyArray, IntArray


@dataclass(frozen=True, slots=True)
class FrameSource:
    """A frame whose columns have different types; null and NaN are missing."""

    frame: Any
    kind: str
    feature_names: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.frame.shape[0], self.frame.shape[1]

    def blocks(self) -> Iterator[Block]:
        """Yield slices of columns, each converted for itself."""
        n, p = self.shape
        for columns in column_slices(n, p):
            positions = np.arange(columns.start, columns.stop)
            yield Block(slice(0, n), columns, self.take(positions))

    def take(self, columns: IntArray) -> AnyArray:
        """Return the named columns; floats where any of them is missing a value."""
        if len(columns) == 0:
            return np.zeros((self.shape[0], 0))
        if self.kind == "polars":
            part = self.frame[:, columns.tolist()]
            if (
                len(set(part.dtypes)) == 1
                and part.dtypes[0].is_integer()
                and not any(part.null_count().row(0))
            ):
                values: AnyArray = part.to_numpy()
                return values
        return np.column_stack([self._column(int(position)) for position in columns])

    def _column(self, position: int) -> AnyArray:
        if self.kind == "pandas":
            column = self.frame.iloc[:, position]
            name = column.name
            missing = column.isna().to_numpy()
            if missing.any():
                values = np.full(missing.size, np.nan)
                values[~missing] = self._numbers(column[~missing].to_numpy(), str(name))
                return values
            values = column.to_numpy()
        else:
            column = self.frame[:, position]
            name = column.name
            numeric = column.dtype.is_numeric() or str(column.dtype) == "Boolean"
            if column.null_count() and numeric:
                column = column.cast(float)
            values = column.to_numpy()
        if values.dtype.kind not in "buif":
            values = self._numbers(values, str(name))
        return values

    @staticmethod
    def _numbers(values: AnyArray, name: str) -> AnyArray:
        try:
            if values.dtype.kind in "mMc" or any(isinstance(v, str) for v in values):
                raise TypeError
            return values.astype(float)
        except (TypeError, ValueError):
            example = next((v for v in values if isinstance(v, str)), values[0])
            msg = (
                f"column {name!r} holds {example!r}, which is not a number; "
                "encode it as 0/1 or numbers, or leave it out."
            )
            raise ValueError(msg) from None


def as_frame(X: Any) -> Any:
    """Return a table or batch of pyarrow as a pandas frame, and anything else as it is.

    Columns that were the index of a frame are its index again: they name rows.
    """
    if type(X).__module__.partition(".")[0] == "pyarrow" and hasattr(X, "num_columns"):
        return X.to_pandas()
    return X


_NOT_NUMBERS = {
    "dates or times": ("datetime", "date", "timestamp", "time", "period"),
    "durations": ("timedelta", "duration"),
    "intervals": ("interval",),
    "complex numbers": ("complex",),
    "several values in each cell": ("list", "array", "struct"),
}
_FIXES = {
    "dates or times": "turn it into a number, such as days since a date, or drop it",
    "durations": "turn it into a number, such as days, or drop it",
    "intervals": "turn it into a text or a number, or drop it",
    "complex numbers": "give its real and imaginary parts as two columns, or drop it",
    "several values in each cell": "give each value a column of its own, or drop it",
}


def _check_types(frame: Any) -> None:
    """Refuse columns that are neither numbers nor texts by their type, naming the first."""
    contents = {dtype: _what_it_holds(dtype) for dtype in set(frame.dtypes)}
    if not any(contents.values()):
        return
    name, dtype = next(
        pair for pair in zip(frame.columns, frame.dtypes, strict=True) if contents[pair[1]]
    )
    what = contents[dtype]
    assert what is not None
    msg = f"column {str(name)!r} holds {what} ({dtype}); {_FIXES[what]}."
    raise ValueError(msg)


def _what_it_holds(dtype: Any) -> str | None:
    """Return the contents of a column that is neither numbers nor texts, by its type; else None."""
    inner = getattr(dtype, "subtype", None) if str(dtype).startswith("Sparse") else None
    categories = getattr(dtype, "categories", None)
    inner = getattr(categories, "dtype", inner)
    # "timedelta" begins as "time" does.
    start = re.split(r"[^a-z]", str(dtype if inner is None else inner).lower(), maxsplit=1)[0]
    return next((what for what, starts in _NOT_NUMBERS.items() if start in starts), None)


def frame_source(frame: Any, kind: str) -> Source:
    """Wrap a frame; one that is a single NumPy block is used without a copy."""
    names = frame_names(frame, kind)
    block = one_block(frame) if kind == "pandas" else None
    return FrameSource(frame, kind, names) if block is None else DenseSource(block, names)


def one_block(frame: Any) -> AnyArray | None:
    """Return the numbers of a pandas frame whose columns are all of one type of NumPy's."""
    types = set(frame.dtypes)
    if len(types) != 1 or not isinstance(next(iter(types)), np.dtype):
        return None
    values: AnyArray = frame.to_numpy()
    return values if values.dtype.kind in "buif" else None


def frame_names(frame: Any, kind: str) -> tuple[str, ...]:
    """Return the names of a frame's columns; refuse a frame without."""
    if frame.ndim != 2 if kind == "pandas" else not hasattr(frame, "columns"):
        msg = (
            "Expected 2D array, got a single column. Reshape your data: give X as a frame or a "
            "table."
        )
        raise ValueError(msg)
    names = check_names(frame.columns)
    _check_types(frame)
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        msg = (
            f"Found array with {frame.shape[0]} sample(s) and {frame.shape[1]} feature(s) while a "
            "minimum of 1 is required."
        )
        raise ValueError(msg)
    return names


def check_names(columns: Any) -> tuple[str, ...]:
    """Return the names of columns as texts; refuse one that occurs twice."""
    names = tuple(map(str, list(columns)))
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        msg = f"column name {twice!r} occurs twice; rename one of them."
        raise ValueError(msg)
    return names
