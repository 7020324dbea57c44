"""Exact counts of ones and of observed cases, per class and feature, in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from honestbayes.screening.accumulation import accumulate
from honestbayes.screening.counts import Screening
from honestbayes.sources.binarization import (
    Binarization,
    BinarizeOption,
    above,
    check_finite,
    is_zero_one,
    learn_binarization,
)
from honestbayes.sources.labels import check_as_many, encode_classes
from honestbayes.sources.source import Block, Source, as_source, describe_columns
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_ROWS_PER_BYTE = 255
"""A sum of this many zeros and ones still fits in a byte."""


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
    describe = describe_columns(source.feature_names)
    if isinstance(binarize, Binarization):
        rule = binarize
        if rule.cut.size != p:
            msg = f"binarize holds {rule.cut.size} columns, but X has {p}."
            raise ValueError(msg)
    else:
        rule = learn_binarization(source, binarize, describe)
    found = accumulate(
        source, lambda block: count_block(block, is_class_1, classes, rule, describe)
    )
    return replace(found, binarization=rule, feature_names=source.feature_names)


def count_block(
    block: Block,
    is_class_1: BoolArray,
    classes: AnyArray,
    rule: Binarization,
    describe: Callable[[int], str],
) -> Screening:
    """Return the screening of a block, without names.

    Parameters
    ----------
    block : Block
        Some of the cells.
    is_class_1 : ndarray of bool of shape (n,)
        The class of each row of the table.
    classes : ndarray of shape (2,)
        Class labels.
    rule : Binarization
        How values of each column of the table become 0/1.
    describe : callable
        Names a column of the table, by its position, in an error message.
    """
    own, cut = is_class_1[block.rows], rule.cut[block.columns]
    cases = np.array([np.sum(~own), np.sum(own)], dtype=np.int64)
    count = _count_sparse if sparse.issparse(block.values) else _count_dense
    ones, missing = count(block, own, cut, describe)
    return Screening(
        classes,
        (int(cases[0]), int(cases[1])),
        ones,
        cases[:, None] if missing is None else cases[:, None] - missing,
        Binarization(cut, rule.high[block.columns]),
    )


def _count_dense(
    block: Block, is_class_1: BoolArray, cut: FloatArray, describe: Callable[[int], str]
) -> tuple[IntArray, IntArray | None]:
    """Return counts of ones (2, c) and of missing cells (2, c), or None where none is missing."""
    values: AnyArray = block.values
    if values.dtype.itemsize == 1 and not cut.any() and is_zero_one(values):
        return sum_by_class(values.view(np.uint8), is_class_1), None
    missing = None
    if values.dtype.kind == "f":
        check_finite(values, describe, block.rows.start, block.columns.start)
        nan = np.isnan(values)
        if nan.any():
            missing = sum_by_class(nan.view(np.uint8), is_class_1)
    with np.errstate(invalid="ignore"):
        ones = above(values, cut)
    return sum_by_class(ones.view(np.uint8), is_class_1), missing


def sum_by_class(ones: AnyArray, is_class_1: BoolArray) -> IntArray:
    """Sum 0/1 bytes of shape (n, c) over the rows of each class, exactly."""
    totals = np.zeros((2, ones.shape[1]), dtype=np.int64)
    for label in (0, 1):
        rows = np.flatnonzero(is_class_1 == bool(label))
        for start in range(0, rows.size, _ROWS_PER_BYTE):
            part = ones[rows[start : start + _ROWS_PER_BYTE]]
            totals[label] += np.add.reduce(part, axis=0, dtype=np.uint8)
    return totals


def _count_sparse(
    block: Block, is_class_1: BoolArray, cut: FloatArray, describe: Callable[[int], str]
) -> tuple[IntArray, IntArray | None]:
    """Do the same."""
    from honestbayes.screening import sparse_kernels

    matrix = block.values
    label = is_class_1.astype(np.uint8)
    ones = np.zeros((2, matrix.shape[1]), dtype=np.int64)
    if matrix.format == "csc" and not cut.any() and is_zero_one(matrix):
        sparse_kernels.count_csc_zero_one(matrix.indptr, matrix.indices, matrix.data, label, ones)
        return ones, None
    missing = np.zeros_like(ones)
    stored = np.zeros_like(ones)
    count = sparse_kernels.count_csc if matrix.format == "csc" else sparse_kernels.count_csr
    infinite = count(matrix.indptr, matrix.indices, matrix.data, label, cut, ones, stored, missing)
    if infinite >= 0:
        column = int(infinite)
        check_finite(
            matrix[:, [column]].toarray(), describe, block.rows.start, block.columns.start + column
        )
    rows = np.array([[np.sum(~is_class_1)], [np.sum(is_class_1)]])
    ones += np.where(cut < 0, rows - stored, 0)
    return ones, (missing if missing.any() else None)
