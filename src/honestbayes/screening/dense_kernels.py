"""Compiled sums of bytes, column after column. Import where it runs: it imports numba."""

from __future__ import annotations

import numpy as np

from honestbayes.compiled import kernel


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
