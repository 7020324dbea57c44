"""Exact counts of ones and of observed cases, per class and feature, in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from honestbayes.screening.accumulation import accumulate
from honestbayes.screening.counts import Screening
from honestbayes.screening.joining import join_observed
from honestbayes.sources.binarization import (
    Binarization,
    BinarizeOption,
    above,
    check_finite,
    is_zero_one,
    learn_binarization,
)
from honestbayes.sources.labels import check_as_many, encode_classes
from honestbayes.sources.packed import PackedColumns
from honestbayes.sources.source import DescribeColumns, Source, as_source, dense, is_beyond_memory
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_ROWS_PER_BYTE = 255
"""A sum of this many zeros and ones still fits in a byte."""

_ROWS_PER_WORD = 1 << 31
"""A sum of this many fits in four bytes."""

_MANY_ROWS = 10_000
"""Rows from which compiled sums of whole columns are worth their import."""


def screen(
    X: Any,
    y: Any,
    *,
    binarize: BinarizeOption | Binarization = "auto",
    classes: Any = None,
) -> Screening:
    """Count, for every feature and class, the ones and the observed cases.

    Parameters
    ----------
    X : array, SciPy sparse, pandas or polars frame, or Source, of shape (n, p)
        Integers, booleans or floats; NaN is missing.
    y : array-like of shape (n,)
        Class labels of two kinds.
    binarize : {"auto", "median"}, float, None or Binarization, default="auto"
        How values become 0/1: two-valued columns as they are and others at their median; all at
        the median; all at a number; not at all (the data must be 0/1); as another screening did.
    classes : array-like of shape (2,), optional
        The labels, for a part of the rows that may lack one of them.

    Returns
    -------
    Screening

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import screen
    >>> X = np.array([[0, 1], [0, 1], [1, 0], [1, 1]])
    >>> screen(X, ["a", "a", "b", "b"]).ones
    array([[0, 2],
           [2, 1]])
    """
    labels, is_class_1 = encode_classes(y, classes)
    return screen_source(as_source(X), labels, is_class_1, binarize)


def screen_source(
    source: Source,
    classes: AnyArray,
    is_class_1: BoolArray,
    binarize: BinarizeOption | Binarization,
) -> Screening:
    """Count as `screen` does, for labels that are coded already."""
    n, p = source.shape
    check_as_many(n, is_class_1.size)
    codes, names = is_class_1.astype(np.uint8), source.feature_names
    if isinstance(binarize, Binarization):
        rule = binarize
        if rule.cut.size != p:
            msg = f"binarize holds {rule.cut.size} columns, but X has {p}."
            raise ValueError(msg)
    else:
        if is_beyond_memory(source) and binarize in ("auto", None):
            # Most such tables hold zeros and ones: one pass counts them, and sees that it is so.
            rule = Binarization(np.zeros(p), np.ones(p))
            counts = count_source(source, codes, 2, rule, may_differ=True)
            if counts.zero_one:
                return counts.screening(classes, rule, names)
        rule = learn_binarization(source, binarize, DescribeColumns(names))
    return count_source(source, codes, 2, rule).screening(classes, rule, names)


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Counts of ones and of observed cases in groups of rows: classes, or classes within folds.

    Attributes
    ----------
    cases : ndarray of int of shape (G,)
        Rows in each group.
    ones : ndarray of int of shape (G, p)
        Cases with value 1.
    observed : ndarray of int of shape (G, p) or (G, 1)
        Cases in which the feature was observed; one column stands for all where nothing is missing.
    zero_one : bool
        Whether no cell was found that is neither 0 nor 1.
    """

    cases: IntArray
    ones: IntArray
    observed: IntArray
    zero_one: bool = True

    def merge_rows(self, other: Counts) -> Counts:
        """Return the counts of both sets of rows, which share none."""
        return Counts(
            self.cases + other.cases,
            self.ones + other.ones,
            self.observed + other.observed,
            self.zero_one and other.zero_one,
        )

    def merge_columns(self, *others: Counts) -> Counts:
        """Return the counts of all sets of columns, in this order."""
        parts = (self, *others)
        return Counts(
            self.cases,
            np.concatenate([part.ones for part in parts], axis=1),
            join_observed([(part.observed, part.ones.shape[1]) for part in parts]),
            all(part.zero_one for part in parts),
        )

    def screening(
        self,
        classes: AnyArray,
        rule: Binarization,
        names: tuple[str, ...] | None,
        first: int = 0,
    ) -> Screening:
        """Return the screening of two groups, of which the first is given, as of two classes."""
        both = slice(first, first + 2)
        cases = self.cases[both].tolist()
        return Screening(
            classes, (cases[0], cases[1]), self.ones[both], self.observed[both], rule, names
        )


def count_source(
    source: Source,
    codes: AnyArray,
    n_groups: int,
    rule: Binarization,
    *,
    may_differ: bool = False,
) -> Counts:
    """Count the ones of all columns in each group of rows, in one pass.

    Parameters
    ----------
    source : Source of shape (n, p)
        The table.
    codes : ndarray of uint8 of shape (n,)
        The group of each row.
    n_groups : int
        How many groups there are.
    rule : Binarization
        How values of each column become 0/1.
    may_differ : bool, default=False
        Whether to look for cells that are neither 0 nor 1. Where there are some, what is counted
        means nothing.
    """
    describe = DescribeColumns(source.feature_names)

    def of_block(rows: slice, columns: slice) -> Callable[[Any], Counts]:
        return partial(
            count_values,
            codes=codes[rows],
            n_groups=n_groups,
            cut=rule.cut[columns],
            first_row=rows.start,
            describe=describe.at(columns),
            may_differ=may_differ,
        )

    return accumulate(source, of_block)


def count_values(
    values: Any,
    *,
    codes: AnyArray,
    n_groups: int,
    cut: FloatArray,
    first_row: int,
    describe: DescribeColumns,
    may_differ: bool = False,
) -> Counts:
    """Return the counts of a block.

    Parameters
    ----------
    values : ndarray, sparse matrix or PackedColumns, of shape (m, c)
        Its cells.
    codes : ndarray of uint8 of shape (m,)
        The group of each row.
    n_groups : int
        How many groups there are.
    cut : ndarray of shape (c,)
        Values above it are ones.
    first_row : int
        Where the block begins in the table.
    describe : DescribeColumns
        Names its columns in error messages.
    may_differ : bool, default=False
        Whether to look for cells that are neither 0 nor 1.
    """
    cases = np.bincount(codes, minlength=n_groups)[:, None]
    if may_differ and not is_zero_one(values):
        ones = np.zeros((n_groups, values.shape[1]), dtype=np.int64)
        return Counts(cases[:, 0], ones, cases, zero_one=False)
    place = (first_row, describe)
    if isinstance(values, PackedColumns) and not cut.any():
        ones, missing = count_packed(values, codes, n_groups), None
    elif sparse.issparse(values):
        ones, missing = _count_sparse(values, codes, n_groups, cut, *place)
    else:
        ones, missing = _count_dense(dense(values), codes, n_groups, cut, *place)
    return Counts(cases[:, 0], ones, cases if missing is None else cases - missing)


def count_packed(values: PackedColumns, codes: AnyArray, n_groups: int) -> IntArray:
    """Count the ones of packed columns in each group of rows, shape (G, c)."""
    from honestbayes.screening.packed_kernels import count_bits

    in_group = codes[:, None] == np.arange(n_groups)
    masks = PackedColumns.pack(in_group.view(np.uint8)).bits
    ones = np.zeros((n_groups, values.bits.shape[0]), dtype=np.int64)
    count_bits(values.bits, masks, ones)
    return ones


def _count_dense(
    values: AnyArray,
    codes: AnyArray,
    n_groups: int,
    cut: FloatArray,
    first_row: int,
    describe: DescribeColumns,
) -> tuple[IntArray, IntArray | None]:
    """Return counts of ones (G, c) and of missing cells (G, c), or None where none is missing."""
    if values.dtype.itemsize == 1 and not cut.any() and is_zero_one(values):
        return sum_by_group(values.view(np.uint8), codes, n_groups), None
    missing = None
    if values.dtype.kind == "f":
        check_finite(values, describe, first_row, describe.first)
        nan = np.isnan(values)
        if nan.any():
            missing = sum_by_group(nan.view(np.uint8), codes, n_groups)
    with np.errstate(invalid="ignore"):
        ones = above(values, cut)
    return sum_by_group(ones.view(np.uint8), codes, n_groups), missing


def sum_by_group(ones: AnyArray, codes: AnyArray, n_groups: int = 2) -> IntArray:
    """Sum 0/1 bytes of shape (n, c) over the rows of each group, exactly."""
    totals = np.zeros((n_groups, ones.shape[1]), dtype=np.int64)
    if ones.shape[0] >= _MANY_ROWS and ones.flags.f_contiguous and codes.dtype == np.uint8:
        from honestbayes.screening import dense_kernels

        add = dense_kernels.sum_by_two if n_groups == 2 else dense_kernels.sum_by_many
        for start in range(0, ones.shape[0], _ROWS_PER_WORD):
            some = slice(start, start + _ROWS_PER_WORD)
            add(ones[some].T, codes[some], totals)
        return totals
    for group in range(n_groups):
        rows = np.flatnonzero(codes == group)
        for start in range(0, rows.size, _ROWS_PER_BYTE):
            part = ones[rows[start : start + _ROWS_PER_BYTE]]
            totals[group] += np.add.reduce(part, axis=0, dtype=np.uint8)
    return totals


def _count_sparse(
    matrix: Any,
    codes: AnyArray,
    n_groups: int,
    cut: FloatArray,
    first_row: int,
    describe: DescribeColumns,
) -> tuple[IntArray, IntArray | None]:
    """Do the same."""
    from honestbayes.screening import sparse_kernels

    ones = np.zeros((n_groups, matrix.shape[1]), dtype=np.int64)
    if matrix.format == "csc" and n_groups == 2 and not cut.any() and is_zero_one(matrix):
        sparse_kernels.count_csc_zero_one(matrix.indptr, matrix.indices, matrix.data, codes, ones)
        return ones, None
    missing = np.zeros_like(ones)
    stored = np.zeros_like(ones)
    count = sparse_kernels.count_csc if matrix.format == "csc" else sparse_kernels.count_csr
    infinite = count(matrix.indptr, matrix.indices, matrix.data, codes, cut, ones, stored, missing)
    if infinite >= 0:
        column = int(infinite)
        check_finite(matrix[:, [column]].toarray(), describe, first_row, describe.first + column)
    rows = np.bincount(codes, minlength=n_groups)[:, None]
    ones += np.where(cut < 0, rows - stored, 0)
    return ones, (missing if missing.any() else None)
