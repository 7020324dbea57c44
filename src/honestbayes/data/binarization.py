"""Binarization of columns, learned on the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from scipy import sparse

from honestbayes.data.source import PackedColumns, Source, dense, whole_columns
from honestbayes.files.fields import Array, Check, Floats
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

BinarizeOption = Literal["auto", "median"] | float | None

_SPARSE_CELLS = 1 << 19
"""Cells of a sparse matrix that are made dense at a time to find medians."""

_SORTED_CELLS = 1 << 16
"""Cells that are copied and sorted at a time to find medians: as many as fit in a cache."""

SMALLEST_SPREAD = 1e-151
"""Columns that spread less have squared deviations without digits."""


@dataclass(frozen=True, slots=True)
class Binarization:
    """Cuts of columns: a value above its cut is 1, any other 0, and NaN is missing.

    Attributes
    ----------
    cut : ndarray of shape (p,)
        The cut of each column.
    high : ndarray of shape (p,)
        For a two-valued column its larger value (the smaller one is the cut); NaN elsewhere.
    """

    cut: Annotated[FloatArray, Floats("n_columns")]
    high: Annotated[FloatArray, Array("n_columns")]

    def check(self, check: Check) -> None:
        """Refuse larger values that are below the cut."""
        good = np.isnan(self.high) | (np.isfinite(self.high) & (self.high > self.cut))
        check(np.all(good), "high", "is not above the cut")

    def take(self, columns: IntArray) -> Binarization:
        """Return the rule for some of the columns."""
        return Binarization(self.cut[columns], self.high[columns])

    def join(self, *others: Binarization) -> Binarization:
        """Append the rules for other columns."""
        parts = (self, *others)
        return Binarization(
            np.concatenate([part.cut for part in parts]),
            np.concatenate([part.high for part in parts]),
        )

    def equals(self, other: Binarization) -> bool:
        """Whether both rules treat every value alike."""
        return np.array_equal(self.cut, other.cut) and np.array_equal(
            self.high, other.high, equal_nan=True
        )

    def apply(self, values: AnyArray, describe: Any) -> tuple[AnyArray, BoolArray | None]:
        """Turn values of shape (n, p) into 0/1 and the mask of missing cells (None: none).

        ``describe(position)`` names a column in an error message.
        """
        values = np.asarray(values)
        if values.dtype.kind == "f":
            check_finite(values, describe)
        self._check_scale(values, describe)
        return self.cut_values(values)

    def cut_values(self, values: AnyArray) -> tuple[AnyArray, BoolArray | None]:
        """Do the same without a check of the values."""
        missing = None
        if values.dtype.kind == "f":
            nan = np.isnan(values)
            missing = nan if nan.any() else None
        with np.errstate(invalid="ignore"):
            ones = above(values, self.cut).view(np.uint8)
        # One layout for every kind of table, so that sums over features have one order.
        return np.ascontiguousarray(ones), missing

    def _check_scale(self, values: AnyArray, describe: Any) -> None:
        """Refuse fractions where training knew two whole numbers: the data were scaled since.

        Another whole number is no surprise: a count, or an answer that nobody had given before.
        """
        if values.dtype.kind != "f":
            return
        whole = (self.cut == np.floor(self.cut)) & (self.high == np.floor(self.high))
        if not whole.any():
            return
        strange = (values != np.floor(values)) & (values == values) & whole
        if strange.any():
            row, column = (int(i) for i in np.argwhere(strange)[0])
            msg = (
                f"{describe(column)} holds {values[row, column]} in row {row}, but was trained on "
                f"the two values {self.cut[column]:g} and {self.high[column]:g}; give the data "
                "on the scale of the training data."
            )
            raise ValueError(msg)


def above(values: AnyArray, cut: FloatArray) -> BoolArray:
    """Compare with the cut in the type of the values, so that integers are not copied to float."""
    if values.dtype.kind == "b":
        result: BoolArray = values if not cut.any() else values & (cut < 1)
        return result | (cut < 0) if (cut < 0).any() else result
    if values.dtype.kind in "iu":
        limits = np.iinfo(values.dtype)
        whole = np.floor(cut)
        if np.all((whole >= limits.min) & (whole < limits.max)):
            return values > whole.astype(values.dtype)
    if values.dtype == np.float32:
        return (
            values > cut.astype(np.float64)
            if np.any(cut != cut.astype(np.float32))
            else (values > cut.astype(np.float32))
        )
    return values > cut


def check_finite(
    values: AnyArray, describe: Any, first_row: int = 0, first_column: int = 0
) -> None:
    """Refuse infinite values, naming the column and the row, counted from those of the table."""
    infinite = np.isinf(values)
    if infinite.any():
        row, column = (int(i) for i in np.argwhere(infinite)[0])
        msg = (
            f"X contains infinity: {describe(first_column + column)} is {values[row, column]} "
            f"(inf) in row {first_row + row}; replace it, or use NaN for a missing value."
        )
        raise ValueError(msg)


def check_spread(
    values: AnyArray, describe: Any, first_column: int = 0, *, large: bool = True
) -> None:
    """Refuse columns of finite numbers whose squared deviations vanish or overflow.

    Parameters
    ----------
    values : ndarray of shape (n, p)
        Cells; NaN is missing.
    describe : callable
        Names a column, by its position, in an error message.
    first_column : int
        Position of the first column.
    large : bool
        Whether columns that spread too far are refused too.
    """
    cells = np.asarray(values, dtype=float)
    present = ~np.isnan(cells)
    low = np.min(cells, axis=0, where=present, initial=np.inf)
    high = np.max(cells, axis=0, where=present, initial=-np.inf)
    check_range(low, high, len(cells) if large else 0, lambda j: describe(first_column + j))


def check_range(low: AnyArray, high: AnyArray, n_rows: int, describe: Any) -> None:
    """Refuse columns as `check_spread` does, by their smallest and largest values, shape (p,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.where(high > low, np.subtract(high, low, dtype=float), 0.0)
        too_large = ~np.isfinite(n_rows * spread**2) & (n_rows > 0)
    too_small = (spread > 0) & (spread < SMALLEST_SPREAD)
    for wrong, size, unit in ((too_large, "large", "larger"), (too_small, "small", "smaller")):
        if wrong.any():
            name = describe(int(np.argmax(wrong)))
            msg = f"{name} holds numbers too {size} to be squared; rescale it to a {unit} unit."
            raise ValueError(msg)


def learn_binarization(source: Source, option: BinarizeOption, describe: Any) -> Binarization:
    """Find the cut of each column.

    A median needs all rows of its column: where the source cuts rows, columns that hold anything
    but 0 and 1 are gathered, a slice at a time.

    Parameters
    ----------
    source : Source
        The training rows.
    option : {"auto", "median"}, float or None
        "auto": two-valued columns as they are, others at their median; "median": all columns at
        their median; a number: all columns there; None: the data must be 0/1.
    describe : callable
        Names a column, by its position, in an error message.
    """
    p = source.shape[1]
    if isinstance(option, int | float | np.number) and not isinstance(option, bool):
        if not np.isfinite(option):
            msg = f"binarize={option} is not finite; give a number, 'auto', 'median' or None."
            raise ValueError(msg)
        return Binarization(np.full(p, float(option)), np.full(p, np.nan))
    if option not in ("auto", "median", None):
        msg = f"binarize={option!r} is not one of 'auto', 'median', a number, None."
        raise ValueError(msg)
    # So are columns of 0 and 1 cut: where the median is 1, so is the maximum.
    cut, high = np.zeros(p), np.full(p, np.nan if option == "median" else 1.0)
    for block in whole_columns(source, is_not_zero_one):
        start = block.columns.start
        called = partial(_described_from, describe, start)
        if sparse.issparse(block.values):
            rule = _learn_sparse(block.values, option, called)
        else:
            rule = _learn_dense(dense(block.values), option, called)
        cut[block.columns], high[block.columns] = rule
    return Binarization(cut, high)


def _described_from(describe: Any, start: int, column: int) -> str:
    """Return the name in messages of a column of a block that starts at a given column."""
    description: str = describe(start + column)
    return description


def is_zero_one(values: Any) -> bool:
    """Whether every value, stored or not, is 0 or 1 and none is missing."""
    if isinstance(values, PackedColumns):
        return True
    data: AnyArray = values.data if hasattr(values, "indptr") else values
    if data.dtype.kind == "b" or data.size == 0:
        return True
    if data.dtype.kind in "iu" and data.dtype.itemsize == 1:
        return bool(data.view(np.uint8).max() <= 1)
    return bool(np.all((data == 0) | (data == 1)))


def is_not_zero_one(values: Any) -> bool:
    """Whether any value is neither 0 nor 1, or missing."""
    return not is_zero_one(values)


def _learn_dense(
    values: AnyArray, option: BinarizeOption, describe: Any
) -> tuple[FloatArray, FloatArray]:
    if values.dtype.kind == "f":
        check_finite(values, describe)
    low, top = _column_range(values)
    zero_one = np.isin(low, (0.0, 1.0)) & np.isin(top, (0.0, 1.0))
    low, top = np.where(zero_one, 0.0, low), np.where(zero_one, 1.0, top)
    two_valued = np.all((values == low) | (values == top) | (values != values), axis=0)
    if option is None and not np.all(two_valued & zero_one):
        _refuse_other_values(values, describe)
    as_they_are = two_valued & (option != "median")
    cut = np.where(as_they_are, low, 0.0)
    others = np.flatnonzero(~(two_valued & (as_they_are | zero_one)))  # 0/1 is cut at 0 anyhow
    width = max(1, _SORTED_CELLS // values.shape[0])
    for start in range(0, others.size, width):
        part = others[start : start + width]
        cut[part] = _median_cuts(values[:, part])
    return cut, np.where(as_they_are & (top > low), top, np.nan)


def _column_range(values: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each column; 0 and 1 for a column that is all missing."""
    low = np.fmin.reduce(values, axis=0).astype(float)
    top = np.fmax.reduce(values, axis=0).astype(float)
    return np.where(np.isnan(low), 0.0, low), np.where(np.isnan(top), 1.0, top)


def _refuse_other_values(values: AnyArray, describe: Any) -> None:
    strange = (values != 0) & (values != 1) & (values == values)
    row, column = (int(i) for i in np.argwhere(strange)[0])
    msg = (
        f"{describe(column)} holds {values[row, column]} in row {row}; with binarize=None every "
        "value must be 0, 1 or missing."
    )
    raise ValueError(msg)


def _learn_sparse(
    matrix: Any, option: BinarizeOption, describe: Any
) -> tuple[FloatArray, FloatArray]:
    """Learn from a few dense columns at a time, and only from those that are not 0/1."""
    columns = matrix.tocsc()
    n, p = columns.shape
    cut, high = np.zeros(p), np.full(p, np.nan if option == "median" else 1.0)
    strange = np.flatnonzero((columns.data != 0) & (columns.data != 1))
    others = np.unique(np.searchsorted(columns.indptr, strange, side="right") - 1)
    width = max(1, _SPARSE_CELLS // n)
    for start in range(0, others.size, width):
        part = others[start : start + width]
        cut[part], high[part] = _learn_dense(
            columns[:, part].toarray(),
            option,
            lambda column, part=part: describe(int(part[column])),
        )
    return cut, high


def _median_cuts(values: AnyArray) -> FloatArray:
    """Return each column's median, or the next smaller value where nothing is above it."""
    ordered = np.sort(np.ascontiguousarray(values.T), axis=1)  # NaN goes to the end
    observed = np.sum(ordered == ordered, axis=1)
    rows = np.arange(ordered.shape[0])

    def at(position: IntArray) -> FloatArray:
        return ordered[rows, np.maximum(position, 0)].astype(float)

    upper = at(np.minimum(observed // 2, ordered.shape[1] - 1))
    median = np.where(observed % 2 == 0, (at(observed // 2 - 1) + upper) / 2, upper)
    for j in np.flatnonzero(median >= at(observed - 1)):
        below = ordered[j][ordered[j] < median[j]]
        if below.size:
            median[j] = below[-1]
    return np.where(observed > 0, median, 0.0)
