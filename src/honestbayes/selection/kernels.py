"""Compiled counting of bytes, bits, and CSR and CSC matrices. It imports numba: import it late.

Indices are cast to unsigned integers, which spares the test for negative ones: four times faster.
"""

from __future__ import annotations

import math

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.data.kernels import popcount

# --------------------------------------------------------------------------------------------------
# Sums of bytes, column after column
# --------------------------------------------------------------------------------------------------


@kernel()
def sum_by_two(columns, codes, totals):
    """Sum columns of zeros and ones, shape (c, m), over the rows of groups 0 and 1."""
    for j in range(columns.shape[0]):
        total = np.uint32(0)
        in_group_1 = np.uint32(0)
        for i in range(columns.shape[1]):
            total += columns[j, i]
            in_group_1 += columns[j, i] & codes[i]
        totals[0, j] += total - in_group_1
        totals[1, j] += in_group_1


@kernel()
def sum_by_many(columns, codes, totals):
    """Do the same for any number of groups."""
    for j in range(columns.shape[0]):
        for i in range(columns.shape[1]):
            totals[codes[i], j] += columns[j, i]


# --------------------------------------------------------------------------------------------------
# Counting of bits
# --------------------------------------------------------------------------------------------------


@kernel()
def count_bits(bits, masks, ones):
    """Count the ones of each column that are in each mask.

    ``bits`` (c, w) and ``masks`` (G, w) are words, ``ones`` (G, c) is written.
    """
    n_columns, n_words = bits.shape
    for j in range(n_columns):
        for g in range(masks.shape[0]):
            total = np.uint64(0)
            for t in range(n_words):
                total += popcount(bits[j, t] & masks[g, t])
            ones[g, j] = total


@kernel()
def count_csc_zero_one(indptr, indices, data, label, ones):
    """Count the ones of each column by class where every stored cell is 0 or 1."""
    for j in range(indptr.size - 1):
        total = np.uint32(0)
        in_class_1 = np.uint32(0)
        for t in range(np.uintp(indptr[j]), np.uintp(indptr[j + 1])):
            one = np.uint32(data[t] != 0)
            total += one
            in_class_1 += one & label[np.uintp(indices[t])]
        ones[0, j] = total - in_class_1
        ones[1, j] = in_class_1


@kernel()
def count_csc(indptr, indices, data, label, cut, ones, stored, missing):
    """Count each column's stored cells by class; return a column with an infinite cell or -1."""
    for j in range(indptr.size - 1):
        bound = cut[j]
        for t in range(np.uintp(indptr[j]), np.uintp(indptr[j + 1])):
            c = np.uintp(label[np.uintp(indices[t])])
            stored[c, j] += 1
            if math.isinf(data[t]):
                return j
            if data[t] > bound:
                ones[c, j] += 1
            elif math.isnan(data[t]):
                missing[c, j] += 1
    return -1


@kernel()
def count_csr(indptr, indices, data, label, cut, ones, stored, missing):
    """Do the same row by row."""
    for i in range(indptr.size - 1):
        c = np.uintp(label[i])
        for t in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
            j = np.uintp(indices[t])
            stored[c, j] += 1
            if math.isinf(data[t]):
                return np.intp(j)
            if data[t] > cut[j]:
                ones[c, j] += 1
            elif math.isnan(data[t]):
                missing[c, j] += 1
    return np.intp(-1)
