"""Strength of the association between a categorical feature and the class.

Features with different numbers of levels run in one race, so their statistics must be comparable:
chi-square of a feature with many levels is large by chance alone. Each is turned into the squared
correlation of a two-level feature that would be as surprising in two classes with as many observed
cases. With two levels and two classes that is the squared correlation itself.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from honestbayes.screening.categories import CategoryCounts
from honestbayes.selection.correlation import squared_correlation
from honestbayes.types import FloatArray, IntArray

_DIGITS = 12
"""Equivalents that agree to so many decimals are equal."""


def phi_squared(tables: IntArray) -> FloatArray:
    """Return chi-square over the number of observed cases, shape (m,), of (m, C, V) tables.

    Classes and levels without cases do not count; a table with one class or level has 0.
    """
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    total = np.maximum(rows.sum(axis=1), 1)
    expected = rows[:, :, None] * columns[:, None, :]
    # Differences of whole numbers, so that independence is exactly 0.
    apart = (total[:, None, None] * tables - expected).astype(float)
    share = np.divide(apart**2, expected, out=np.zeros_like(apart), where=expected > 0)
    return np.asarray(share.sum(axis=(1, 2)) / np.square(total.astype(float)))


def equivalent_r_squared(tables: IntArray) -> FloatArray:
    """Return the squared correlation that would be as surprising, shape (m,).

    Wilson and Hilferty's cube root makes chi-square with d degrees of freedom normal; the same for
    one degree leads back. Degrees are those of the classes and levels that occur.
    """
    observed = tables.sum(axis=(1, 2))
    levels = (tables.sum(axis=1) > 0).sum(axis=1)
    classes = (tables.sum(axis=2) > 0).sum(axis=1)
    degrees = np.maximum((levels - 1) * (classes - 1), 0)
    square = phi_squared(tables)
    more = degrees > 1
    if more.any():
        d, n = degrees[more], observed[more]
        z = (np.cbrt(square[more] * n / d) - (1 - 2 / (9 * d))) / np.sqrt(2 / (9 * d))
        root = np.maximum(1 - 2 / 9 + z * np.sqrt(2 / 9), 0.0)
        square[more] = np.minimum(root**3 / n, 1.0)
    square[degrees == 0] = 0.0
    return np.minimum(square, 1.0)


def strength_of(counts: CategoryCounts) -> tuple[FloatArray, Callable[[int], Fraction]]:
    """Return the equivalent squared correlation of every feature, and a way to have it exactly."""
    strength = np.zeros(counts.n_features)
    place: dict[int, tuple[int, int]] = {}
    for group in counts.groups:
        strength[group.columns] = equivalent_r_squared(group.tables)

    def exact(column: int) -> Fraction:
        if not place:
            for index, group in enumerate(counts.groups):
                place.update({c: (index, i) for i, c in enumerate(group.columns.tolist())})
        index, position = place[column]
        table = counts.groups[index].tables[position]
        if table.shape == (2, 2):
            (_, i0), (_, i1) = table.tolist()
            n0, n1 = table.sum(axis=1).tolist()
            return squared_correlation(i0, i1, n0, n1)
        return Fraction(round(float(strength[column]), _DIGITS))

    return strength, exact
