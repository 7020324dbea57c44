"""Normal scores: the normal quantile of each value's rank among the training rows.

A cell with mid-rank r among n observed cells becomes the quantile of (r - 1/2) / n. Between two
training values scores are interpolated, beyond the ends they stay, so that no single cell can say
more than the outermost training row did. The order of a column's values is all that is left of
them: units, logarithms and outliers do not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.special import ndtri

from honestbayes.data.source import Block, Source, is_beyond_memory, whole_columns
from honestbayes.files.fields import Check, Floats
from honestbayes.types import AnyArray, FloatArray, IntArray

_MOST_KNOTS = 1024
"""Order statistics of a column that are remembered; of more rows, evenly spaced ones."""


_FEW_CELLS = 1 << 16
"""Cells below which it is not worth finding out which columns hold counts."""

_FEW_COMPARISONS = 6000
"""Up to so many in a column, new values are compared with all knots of all columns at once."""


_REMEMBERED_CELLS = 1 << 23
"""Cells of a table up to which sorted columns are remembered."""


def scores_of(values: AnyArray) -> FloatArray:
    """Return the normal scores of the cells of each column among themselves; NaN stays.

    Columns of small whole numbers, such as counts, are not sorted: how often each number occurs
    gives the same ranks.
    """
    if values.dtype.kind == "f" and values.size < _FEW_CELLS:
        return _sorted_scores(np.asarray(values, dtype=float))[2]
    # In the order of columns, which are looked up one by one.
    x = np.asfortranarray(values)
    with np.errstate(invalid="ignore"):  # NaN is no number of this kind
        codes = x.astype(np.uint8)
    counted = (codes == x).all(axis=0)
    scores = np.empty(x.shape, order="F")
    others = np.flatnonzero(~counted)
    if others.size:
        scores[:, others] = _sorted_scores(np.asarray(x[:, others], dtype=float))[2]
    for j in np.flatnonzero(counted).tolist():
        size = np.bincount(codes[:, j])
        ranks = np.cumsum(size) - (size - 1) / 2  # of equal cells, the mean
        scores[:, j] = ndtri((ranks - 0.5) / len(x))[codes[:, j]]
    return scores


def _sorted_scores(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the values of each column in order, their scores, and the scores in place.

    NaN comes last.
    """
    n = max(len(x), 1)
    order = np.argsort(x, axis=0)
    value = np.take_along_axis(x, order, axis=0)
    score = np.empty(x.shape)
    score[:] = ndtri((np.arange(len(x)) + 0.5) / n)[:, None]
    # Where cells are equal or missing, ranks are shared or of fewer cells.
    unlike = np.flatnonzero(
        (value[1:] <= value[:-1]).any(axis=0) | np.isnan(value[-1:]).any(axis=0)
    )
    if unlike.size:
        observed = np.maximum((~np.isnan(value[:, unlike])).sum(axis=0), 1)
        missing = np.isnan(value[:, unlike])
        ranks = _ranks_in_order(value[:, unlike])
        shares = np.where(missing, np.nan, (ranks - 0.5) / observed)
        score[:, unlike] = ndtri(shares)
    in_place = np.empty(x.shape)
    np.put_along_axis(in_place, order, score, axis=0)
    return value, score, in_place


def _ranks_in_order(value: FloatArray) -> FloatArray:
    """Return the ranks of the cells of columns in ascending order; equal cells share the mean."""
    n = len(value)
    index = np.arange(n)[:, None]
    new = np.ones(value.shape, dtype=bool)
    new[1:] = value[1:] != value[:-1]
    first = np.maximum.accumulate(np.where(new, index, 0), axis=0)
    end = np.ones(value.shape, dtype=bool)
    end[:-1] = new[1:]
    last = np.minimum.accumulate(np.where(end, index, n)[::-1], axis=0)[::-1]
    ranks: FloatArray = (first + last) / 2 + 1
    return ranks


@dataclass(frozen=True, slots=True, eq=False)
class NormalScores:
    """A transformation of the values of some columns to normal scores.

    Attributes
    ----------
    value : ndarray of shape (m, k)
        Values of the training rows, in ascending order.
    score : ndarray of shape (m, k)
        Their scores.
    """

    value: Annotated[FloatArray, Floats("n_knots", "n_columns")]
    score: Annotated[FloatArray, Floats("n_knots", "n_columns", low=-10.0, high=10.0)]

    def check(self, check: Check) -> None:
        """Refuse scores that no column can have."""
        check(self.value.shape[0] >= 1, "value", "is empty")
        # Not by differences, which overflow between the largest numbers.
        check(np.all(self.value[1:] >= self.value[:-1]), "value", "does not ascend")
        check(np.all(np.diff(self.score, axis=0) >= 0), "score", "does not ascend")

    @classmethod
    def learn(cls, values: AnyArray) -> tuple[NormalScores, FloatArray]:
        """Learn from the columns of training rows, shape (n, k); return also their own scores.

        NaN is missing.
        """
        value, score, own = _sorted_scores(np.asarray(values, dtype=float))
        if np.isnan(value[-1:]).any():
            last = np.maximum((~np.isnan(value)).sum(axis=0) - 1, 0)
            rows = np.minimum(np.arange(len(value))[:, None], last)
            value = np.nan_to_num(np.take_along_axis(value, rows, axis=0))
            score = np.nan_to_num(np.take_along_axis(score, rows, axis=0))
        if len(value) > _MOST_KNOTS:
            some = np.linspace(0, len(value) - 1, _MOST_KNOTS).astype(np.int64)
            value, score = value[some], score[some]
        return cls(value, score), own

    def take(self, columns: IntArray) -> NormalScores:
        """Return the same for some of the columns."""
        return NormalScores(np.take(self.value, columns, 1), np.take(self.score, columns, 1))

    def apply(self, values: AnyArray) -> FloatArray:
        """Return the scores of values of the same columns, shape (n, k); NaN stays."""
        x = np.asarray(values, dtype=float)
        n_knots, k = self.value.shape
        if len(x) * n_knots > _FEW_COMPARISONS or k <= n_knots:
            result = np.empty(x.shape)
            for j in range(k):  # of equal knots, the last one below a value counts
                result[:, j] = np.interp(x[:, j], self.value[:, j], self.score[:, j])
            return np.clip(result, self.score[0], self.score[-1])
        # The same, bit for bit, for many columns at once.
        below = np.zeros(x.shape, dtype=np.int64)
        for knot in self.value:
            below += knot <= x
        low = np.clip(below - 1, 0, n_knots - 1)
        high = np.clip(below, 0, n_knots - 1)
        column = np.arange(k)
        x0, y0 = self.value[low, column], self.score[low, column]
        rise = self.score[high, column] - y0
        inside = (low < high) & (below > 0) & (x > x0)
        # Distances of the largest numbers overflow, slopes between the smallest do.
        with np.errstate(over="ignore", invalid="ignore"):
            apart = self.value[high, column] - x0
            slope = np.where(inside, rise / np.where(apart > 0, apart, 1.0), 0.0)
            score = np.where(inside, slope * (x - x0) + y0, y0)
        score = np.clip(score, self.score[0], self.score[-1])
        return np.where(np.isnan(x), np.nan, score)

    def invert(self, scores: FloatArray) -> FloatArray:
        """Return values with these scores, shape (..., k), in the units of the table."""
        result = np.empty(scores.shape)
        for j in range(scores.shape[-1]):
            result[..., j] = np.interp(scores[..., j], self.score[:, j], self.value[:, j])
        return result


class NormalScoresSource:
    """A source of training rows, seen as normal scores among these rows.

    Of a table in memory that is not too large the sorted columns are remembered, for all who ask.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._remembered: tuple[NormalScores, FloatArray] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.source.shape

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, where the table has them."""
        return self.source.feature_names

    def blocks(self) -> Iterator[Block]:
        """Yield blocks of all rows, because ranks need them all."""
        n, p = self.shape
        if self._is_small:
            yield Block(slice(0, n), slice(0, p), self._whole()[1])
            return
        for block in whole_columns(self.source):
            yield Block(block.rows, block.columns, scores_of(block.dense()))

    def take(self, columns: IntArray) -> FloatArray:
        """Return the scores of the named columns."""
        return self.learned(columns)[1]

    def learned(self, columns: IntArray) -> tuple[NormalScores, FloatArray]:
        """Return the transformation of the named columns, and their own scores."""
        if not self._is_small:
            return NormalScores.learn(self.source.take(columns))
        scores, own = self._whole()
        return scores.take(columns), np.take(own, columns, axis=1)

    @property
    def _is_small(self) -> bool:
        n, p = self.shape
        return n * p <= _REMEMBERED_CELLS and not is_beyond_memory(self.source)

    def _whole(self) -> tuple[NormalScores, FloatArray]:
        if self._remembered is None:
            everything = self.source.take(np.arange(self.shape[1]))
            self._remembered = NormalScores.learn(everything)
        return self._remembered
