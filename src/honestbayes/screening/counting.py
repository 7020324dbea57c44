"""Exact counts of ones and of observed cases, per class and feature, in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

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
from honestbayes.sources.source import as_source
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
    source = as_source(X)
    labels, is_class_1 = encode_classes(y, classes)
    n, p = source.shape
    check_as_many(n, is_class_1.size)

    def describe(column: int) -> str:
        names = source.feature_names
        return f"column {column}" if names is None else f"column {names[column]!r}"

    if isinstance(binarize, Binarization):
        rule = binarize
        if rule.cut.size != p:
            msg = f"binarize holds {rule.cut.size} columns, but X has {p}."
            raise ValueError(msg)
    else:
        rule = learn_binarization(source, binarize, describe)
    ones = np.zeros((2, p), dtype=np.int64)
    counts = np.array([np.sum(~is_class_1), np.sum(is_class_1)], dtype=np.int64)
    observed: AnyArray | None = None
    for block in source.blocks():
        start = block.columns.start
        block_ones, block_observed = count_block(
            block.values,
            is_class_1[block.rows],
            rule.cut[block.columns],
            lambda column, start=start: describe(start + column),
        )
        ones[:, block.columns] += block_ones
        if block_observed is not None:
            if observed is None:
                observed = np.repeat(counts[:, None], p, axis=1)
            observed[:, block.columns] = block_observed
    return Screening(
        classes=labels,
        class_counts=(int(counts[0]), int(counts[1])),
        ones=ones,
        observed=counts[:, None] if observed is None else observed,
        binarization=rule,
        feature_names=source.feature_names,
    )


def count_block(
    values: Any, is_class_1: BoolArray, cut: FloatArray, describe: Any
) -> tuple[IntArray, IntArray | None]:
    """Return counts of ones (2, c) and of observed cases (2, c), or None where none is missing."""
    if sparse.issparse(values):
        return _count_sparse(values, is_class_1, cut, describe)
    return _count_dense(values, is_class_1, cut, describe)


def _count_dense(
    values: AnyArray, is_class_1: BoolArray, cut: FloatArray, describe: Any
) -> tuple[IntArray, IntArray | None]:
    if values.dtype.itemsize == 1 and not cut.any() and is_zero_one(values):
        return sum_by_class(values.view(np.uint8), is_class_1), None
    observed = None
    if values.dtype.kind == "f":
        check_finite(values, describe)
        missing = np.isnan(values)
        if missing.any():
            observed = sum_by_class((~missing).view(np.uint8), is_class_1)
    with np.errstate(invalid="ignore"):
        ones = above(values, cut)
    return sum_by_class(ones.view(np.uint8), is_class_1), observed


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
    matrix: Any, is_class_1: BoolArray, cut: FloatArray, describe: Any
) -> tuple[IntArray, IntArray | None]:
    from honestbayes.screening import sparse_kernels

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
        check_finite(matrix[:, [column]].toarray(), lambda _: describe(column))
    rows = np.array([[np.sum(~is_class_1)], [np.sum(is_class_1)]])
    ones += np.where(cut < 0, rows - stored, 0)
    return ones, (rows - missing if missing.any() else None)
