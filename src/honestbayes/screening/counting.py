"""Exact counts of ones and of observed cases, per class and feature, in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from honestbayes.screening.binarization import above, check_finite, is_zero_one
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_ROWS_PER_BYTE = 255
"""A sum of this many zeros and ones still fits in a byte."""


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
