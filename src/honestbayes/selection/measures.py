"""Measures of association between a column and the class, of many columns at once.

Tables are counts by class and level, of shape (m, C, V). Moments are the numbers of cases, of shape
(C, m) or (C, 1), class means, of shape (C, m), and sums of squares around them, of shape (m,).
Classes without cases do not count.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from honestbayes.selection.association import phi_squared
from honestbayes.types import FloatArray, IntArray

_ROUNDING = 1e-13
"""A share of a sum of squares, or an information, below this is 0."""


def level_tables(columns: IntArray, codes: IntArray, n_classes: int, n_levels: int) -> IntArray:
    """Count cases by class and level, shape (m, C, V), in columns of codes of shape (m, n)."""
    m = columns.shape[0]
    cell = (np.arange(m)[:, None] * n_classes + codes) * n_levels + columns
    counts = np.bincount(cell[columns >= 0], minlength=m * n_classes * n_levels)
    return counts.reshape(m, n_classes, n_levels)


def class_moments(
    columns: FloatArray, codes: IntArray, n_classes: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return cases and means by class, shape (C, m), and the sums of squares within, shape (m,)."""
    m = columns.shape[0]
    observed, mean = np.zeros((n_classes, m), dtype=np.int64), np.zeros((n_classes, m))
    within = np.zeros(m)
    for label in range(n_classes):
        part = columns[:, codes == label]
        known = ~np.isnan(part)
        observed[label] = known.sum(axis=1)
        filled = np.where(known, part, 0.0)
        mean[label] = filled.sum(axis=1) / np.maximum(observed[label], 1)
        apart = np.where(known, part - mean[label][:, None], 0.0)
        within += np.einsum("ij,ij->i", apart, apart)
    return observed, mean, within


def chi_square(tables: IntArray) -> FloatArray:
    """Pearson's chi-square of class by level tables, shape (m,)."""
    return np.asarray(phi_squared(tables) * tables.sum(axis=(1, 2)))


def mutual_information(tables: IntArray) -> FloatArray:
    """Mutual information of class and level in each table, in nats, shape (m,)."""
    total, expected = _expected(tables)
    ratio = np.where(tables > 0, tables / np.where(expected > 0, expected, 1.0), 1.0)
    value = xlogy(tables, ratio).sum(axis=(1, 2)) / np.maximum(total, 1.0)
    return np.where(value > _ROUNDING, value, 0.0)


def cramer(tables: IntArray) -> FloatArray:
    """Cramer's V, shape (m,): the absolute correlation where a table is 2 by 2.

    The square root of chi-square over n and over the smaller of both numbers of categories that
    occur, less one.
    """
    classes = (tables.sum(axis=2) > 0).sum(axis=1)
    levels = (tables.sum(axis=1) > 0).sum(axis=1)
    most = np.maximum(np.minimum(classes, levels) - 1, 1)
    return np.asarray(np.sqrt(phi_squared(tables) / most))


def _expected(tables: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the number of cases, shape (m,), and expected counts, shape (m, C, V)."""
    rows, columns = tables.sum(axis=2).astype(float), tables.sum(axis=1).astype(float)
    total = rows.sum(axis=1)
    return total, rows[:, :, None] * columns[:, None, :] / np.maximum(total, 1.0)[:, None, None]


def binary_moments(tables: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return moments of the 0s and 1s in tables of two levels."""
    ones, observed = tables[:, :, 1].T, tables.sum(axis=2).T
    mean = ones / np.maximum(observed, 1)
    return observed, mean, (observed * mean * (1.0 - mean)).sum(axis=0)


def _shares(
    observed: IntArray, mean: FloatArray, within: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Return SSB / SST, SSW / SST, cases and classes that occur; (0, 1) if it cannot be judged."""
    n, present = observed.sum(axis=0), (observed > 0).sum(axis=0)
    unit = np.maximum(np.abs(mean).max(axis=0), np.sqrt(within))
    unit = np.where(unit > 0, unit, 1.0)
    scaled = mean / unit
    centre = (observed * scaled).sum(axis=0) / np.maximum(n, 1)
    between = (observed * (scaled - centre) ** 2).sum(axis=0)
    inside = (np.sqrt(within) / unit) ** 2
    total = between + inside
    judged = (present >= 2) & (n > present) & (total > 1e-24 * n)
    total = np.where(judged, total, 1.0)
    share = np.where(judged, between / total, 0.0)
    share = np.where(share > _ROUNDING, share, 0.0)
    return share, np.where(judged, inside / total, 1.0), n, present


def correlation_ratio(observed: IntArray, mean: FloatArray, within: FloatArray) -> FloatArray:
    """Square root of SSB / SST, shape (m,): the absolute correlation for two classes."""
    return np.asarray(np.sqrt(_shares(observed, mean, within)[0]))


def f_statistic(observed: IntArray, mean: FloatArray, within: FloatArray) -> FloatArray:
    """F statistic of the class means, shape (m,); inf where classes differ and cases do not."""
    between, inside, n, present = _shares(observed, mean, within)
    degrees = np.maximum(n - present, 0) / np.maximum(present - 1, 1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(between > 0, degrees * (between / inside), 0.0))


def t_statistic(observed: IntArray, mean: FloatArray, within: FloatArray) -> FloatArray:
    """Absolute t statistic of the difference of two class means, shape (m,)."""
    return np.asarray(np.sqrt(f_statistic(observed, mean, within)))
