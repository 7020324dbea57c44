"""Counts and log likelihoods of categories over all cells of a coded table."""

from __future__ import annotations

from honestbayes.compiled import kernel

_COLUMNS = 128
"""Columns that are counted at once: their slots stay in the cache, and no two cells in a row add to
the same one."""


@kernel()
def add_counts(cells, first, labels, weight, slots, start, stop):  # type: ignore[no-untyped-def]
    """Add each row's weight to the slots of its cells in the columns from start to stop."""
    for some in range(start, stop, _COLUMNS):
        for i in range(cells.shape[0]):
            for j in range(some, min(some + _COLUMNS, stop)):
                slots[first[j] + 1 + cells[i, j], labels[i]] += weight[i]


@kernel()
def add_evidence(cells, first, log_likelihood, total):  # type: ignore[no-untyped-def]
    """Add the log likelihood of all columns to each row and class, shape (n, C)."""
    n, p = cells.shape
    for i in range(n):
        for j in range(p):
            slot = first[j] + 1 + cells[i, j]
            for c in range(total.shape[1]):
                total[i, c] += log_likelihood[slot, c]
