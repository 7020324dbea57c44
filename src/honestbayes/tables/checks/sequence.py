"""Rows that follow each other in the file and resemble each other, as rows of one patient do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.stats import binom

from honestbayes.tables.checks.finding import Finding, Way
from honestbayes.tables.checks.levels import LUCK
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

FEWEST_ROWS = 20
"""Rows from which on neighbours are looked at."""

FEWEST_COLUMNS = 4
"""Measurements from which on rows can be told apart: a file may be sorted by one of them."""

MOST_ROWS = 2000
MOST_COLUMNS = 500
"""Rows from the start of the file, and columns spread over it, that are looked at."""

BESIDE = 0.2
"""Share of the rows whose nearest row stands beside them in the file that is worth a remark."""


CLOSE = 0.5
"""Distance to the nearest row, as a share of that between any two, up to which rows are alike:
tissues that were measured one after the other are at 0.6 and more."""


def alike_in_sequence(values: AnyArray, measured: BoolArray) -> Iterator[Finding]:
    """Find rows whose most similar row stands beside them in the file.

    Parameters
    ----------
    values : ndarray of shape (n, p)
        Features, in the order of the file.
    measured : ndarray of shape (p,)
        Which of them are measurements.
    """
    columns = np.flatnonzero(measured)
    columns = columns[:: max(1, columns.size // MOST_COLUMNS)]
    rows = np.asarray(values[:MOST_ROWS][:, columns], dtype=np.float64)
    n = rows.shape[0]
    if n < FEWEST_ROWS or columns.size < FEWEST_COLUMNS:
        return
    nearest, closeness = _nearest(rows)
    beside = int(np.sum(np.abs(nearest - np.arange(n)) == 1))
    if beside < BESIDE * n or closeness > CLOSE or binom.sf(beside - 1, n, 2 / (n - 1)) > LUCK:
        return
    yield Finding(
        "",
        "rows in sequence",
        f"the row most similar to a row stands right beside it for {beside:,} of {n:,} rows; if "
        "rows that follow each other are of one patient or sample, folds must keep them together",
        (Way("groups", "NAME", "with a column that says which rows belong together"),),
        stops=False,
    )


def _nearest(rows: FloatArray) -> tuple[IntArray, float]:
    """Return the nearest other row of each, and how near that is among all distances.

    Distances are in units of each column's spread; both are medians.
    """
    there = ~np.isnan(rows)
    counts = np.maximum(1, there.sum(axis=0))
    moved = np.where(there, rows - np.nansum(rows, axis=0) / counts, 0.0)  # missing: the average
    spread = np.sqrt(np.sum(moved**2, axis=0) / counts)
    scaled = moved / np.where(spread > 0, spread, 1.0)
    squares = np.sum(scaled**2, axis=1)
    distances = squares[:, None] + squares[None, :] - 2 * (scaled @ scaled.T)
    usual = float(np.median(distances))
    np.fill_diagonal(distances, np.inf)
    near = float(np.median(distances.min(axis=1)))
    return distances.argmin(axis=1), float(np.sqrt(max(near, 0.0) / usual)) if usual > 0 else 1.0
