"""Flags that no rule has anything to say of: wide tables are full of them."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from honestbayes.tables.checks.classes import NEARLY
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_BLOCK_CELLS = 1 << 23


def ordinary_flags(values: AnyArray, y: IntArray, n_classes: int, among: BoolArray) -> BoolArray:
    """Return which columns need not be looked at one by one.

    A column that is 0 or 1 in every row has two values, no cell that is missing and no order. So
    the rules ask only how much of the class it explains, and of those that explain less than
    what stands out, only for the best.

    Parameters
    ----------
    values : ndarray of shape (n, p)
        Features; NaN is missing.
    y : ndarray of shape (n,)
        Classes.
    n_classes : int
        Their number.
    among : ndarray of shape (p,)
        Columns that are looked at.

    Returns
    -------
    ndarray of shape (p,)
        True for those 0/1 columns among them that explain less than :data:`NEARLY` of the class's
        entropy, but for the best of them.
    """
    n, p = values.shape
    inside = np.full(p, np.inf)
    width = max(1, _BLOCK_CELLS // max(1, n))
    for start in range(0, p, width):
        block = slice(start, start + width)
        inside[block] = _entropy_within(values[:, block], y, n_classes)
    counts = np.bincount(y, minlength=n_classes)
    of_class = xlogy(n, n) - xlogy(counts, counts).sum()
    weak: BoolArray = among & np.isfinite(inside) & (of_class - inside < NEARLY * of_class)
    if weak.any():
        weak[np.argmin(np.where(weak, inside, np.inf))] = False
    return weak


def _entropy_within(values: AnyArray, y: IntArray, n_classes: int) -> FloatArray:
    """Return the entropy of the class within 0 and within 1, times n; infinite for no flags."""
    result = np.full(values.shape[1], np.inf)
    flags = np.all((values == 0) | (values == 1), axis=0)
    if not flags.all():
        values = values[:, flags]
    totals = np.bincount(y, minlength=n_classes).astype(float)[:, None]
    ones = np.array([values[y == c].sum(axis=0, dtype=float) for c in range(n_classes)])
    result[flags] = 0
    for part in (ones, totals - ones):
        rows = part.sum(axis=0)
        result[flags] += xlogy(rows, rows) - xlogy(part, part).sum(axis=0)
    return result
