"""Screenings with some rows left out, from the counts of all rows.

Leaving out a row changes each count by at most one, so that n screenings of 0/1 columns cost
O(n p) in all. Medians are learned again without the row: it decides between two or three cuts per
column, and the counts at each of these are made once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from honestbayes.data.binarization import Binarization, BinarizeOption, above, learn_binarization
from honestbayes.data.source import (
    DenseSource,
    RowsOf,
    Source,
    SparseSource,
    is_beyond_memory,
    whole_columns,
)
from honestbayes.selection.counts import Screening, count_source, screen_source, sum_by_group
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_MOST_FOLDS = 100
"""Folds that are counted at a time: the number of a group is a byte."""

_MOST_COUNTS = 1 << 25
"""Counts that are held at a time."""


def leave_out(
    source: Source,
    is_class_1: BoolArray,
    folds: Iterable[IntArray],
    whole: Screening,
    option: BinarizeOption,
) -> Iterator[Screening]:
    """Yield the screening of all rows but those of each fold.

    Parameters
    ----------
    source : Source of shape (n, p)
        What ``whole`` was made from.
    is_class_1 : ndarray of bool of shape (n,)
        The class of each row.
    folds : iterable of ndarray
        Rows to leave out, each time.
    whole : Screening
        The screening of all rows.
    option : {"auto", "median"}, float or None
        How values become 0/1; learned again without the rows where it is learned.
    """
    if is_beyond_memory(source):
        yield from _in_one_pass(source, is_class_1, list(folds), whole, option)
        return
    learnt = isinstance(option, str)
    if isinstance(source, SparseSource):  # rows are what is taken from it
        source = SparseSource(source.values.tocsr(), source.feature_names)
    zero_one = _stay_zero_one(whole, option)
    medians: _Medians | None = None
    for rows in folds:
        if not learnt or zero_one.all():
            yield _subtract(source, is_class_1, rows, whole)
        elif rows.size == 1 and isinstance(source, DenseSource):
            medians = medians or _Medians(source.values, is_class_1, whole, zero_one, option)
            yield medians.without(int(rows[0]))
        else:
            yield _from_scratch(source, is_class_1, rows, whole, option)


def _stay_zero_one(whole: Screening, option: BinarizeOption) -> BoolArray:
    """Return which columns are cut alike whichever rows are left out."""
    if option == "median":
        return np.zeros(whole.n_features, dtype=bool)
    return np.asarray((whole.binarization.cut == 0) & (whole.binarization.high == 1))


def _in_one_pass(
    source: Source,
    is_class_1: BoolArray,
    folds: list[IntArray],
    whole: Screening,
    option: BinarizeOption,
) -> Iterator[Screening]:
    """Do the same for a table that is not to be read for every fold.

    Where cuts stay, classes are counted within the folds, as many folds at a time as share no row.
    Elsewhere a slice of columns is read with all its rows, and every fold is left out of it.
    """
    if not isinstance(option, str) or _stay_zero_one(whole, option).all():
        for together in without_shared_rows(folds, whole.n_features):
            codes = np.full(is_class_1.size, 2 * len(together), dtype=np.uint8)
            for number, rows in enumerate(together):
                codes[rows] = 2 * number + is_class_1[rows]
            counts = count_source(source, codes, 2 * len(together) + 1, whole.binarization)
            for number in range(len(together)):
                names = whole.classes, whole.binarization, whole.feature_names
                yield whole.without(counts.screening(*names, first=2 * number))
        return
    parts = []
    for block in whole_columns(source):
        own = whole.take(np.arange(block.columns.start, block.columns.stop))
        values = DenseSource(block.dense(), own.feature_names)
        statistics = leave_out(values, is_class_1, folds, own, option)
        parts.append((block.columns.start, list(statistics)))
    by_fold = zip(*(screenings for _, screenings in sorted(parts, key=itemgetter(0))), strict=True)
    for screenings in by_fold:
        yield screenings[0].merge_columns(*screenings[1:])


def without_shared_rows(folds: list[IntArray], n_features: int) -> Iterator[list[IntArray]]:
    """Yield runs of folds that share no row, few enough for their counts to fit in memory."""
    most = int(np.clip(_MOST_COUNTS // max(n_features, 1) // 2, 1, _MOST_FOLDS))
    run: list[IntArray] = []
    seen = np.zeros(1 + max((int(rows.max(initial=0)) for rows in folds), default=0), dtype=bool)
    for rows in folds:
        if len(run) == most or seen[rows].any():
            yield run
            run = []
            seen[:] = False
        run.append(rows)
        seen[rows] = True
    if run:
        yield run


def _from_scratch(
    source: Source, is_class_1: BoolArray, rows: IntArray, whole: Screening, option: BinarizeOption
) -> Screening:
    """Screen the other rows: the reference for the fast methods."""
    others = np.setdiff1d(np.arange(is_class_1.size), rows)
    return screen_source(RowsOf(source, others), whole.classes, is_class_1[others], option)


def _subtract(source: Source, is_class_1: BoolArray, rows: IntArray, whole: Screening) -> Screening:
    """Take the rows' own counts away; the cuts do not depend on them."""
    part = RowsOf(source, rows)
    return whole.without(screen_source(part, whole.classes, is_class_1[rows], whole.binarization))


def _without(
    whole: Screening,
    ones: IntArray,
    missing: BoolArray | None,
    labels: BoolArray,
    binarization: Binarization,
    base: IntArray | None = None,
) -> Screening:
    counts = np.array([np.sum(~labels), np.sum(labels)])
    observed = counts[:, None]
    if missing is not None and not whole.complete:
        observed = observed - sum_by_group(missing.view(np.uint8), labels)
    return Screening(
        whole.classes,
        (int(whole.class_counts[0] - counts[0]), int(whole.class_counts[1] - counts[1])),
        (whole.ones if base is None else base) - ones,
        whole.observed - observed,
        binarization,
        whole.feature_names,
    )


@dataclass(frozen=True, slots=True)
class _Case:
    """One of the cuts that a column can have when a row is left out, and the counts there."""

    cut: FloatArray
    ones: IntArray


class _Medians:
    """Leave-one-out screenings of dense columns, some of them cut at their median."""

    def __init__(
        self,
        values: AnyArray,
        is_class_1: BoolArray,
        whole: Screening,
        zero_one: BoolArray,
        option: BinarizeOption,
    ) -> None:
        self._values = values
        self._is_class_1 = is_class_1
        self._whole = whole
        self._option = option
        self._middle, cuts, simple = _order_statistics(values)
        simple &= ~zero_one
        self._simple = simple
        self._awkward = np.flatnonzero(~simple & ~zero_one)
        self._cases = []
        for cut in cuts:
            cut = np.where(simple, cut, whole.binarization.cut)
            with np.errstate(invalid="ignore"):
                ones = sum_by_group(above(values, cut).view(np.uint8), is_class_1)
            self._cases.append(_Case(cut, ones))

    def without(self, row: int) -> Screening:
        """Screen all rows but one."""
        value = self._values[row].astype(float)
        if len(self._cases) == 2:
            which = (value >= self._middle).astype(int)
        else:
            which = 1 + np.sign(value - self._middle, where=self._simple, out=np.zeros_like(value))
        which = np.where(self._simple, which, 0).astype(int)
        cut, base = self._cases[0].cut.copy(), self._cases[0].ones.copy()
        for number, case in enumerate(self._cases[1:], start=1):
            chosen = which == number
            cut[chosen] = case.cut[chosen]
            base[:, chosen] = case.ones[:, chosen]
        high = np.where(self._simple, np.nan, self._whole.binarization.high)
        labels = self._is_class_1[[row]]
        left = self._values[[row]]
        with np.errstate(invalid="ignore"):
            ones = sum_by_group(above(left, cut).view(np.uint8), labels)
        missing = np.isnan(left) if left.dtype.kind == "f" else None
        result = _without(self._whole, ones, missing, labels, Binarization(cut, high), base)
        return self._with_awkward(result, row) if self._awkward.size else result

    def _with_awkward(self, result: Screening, row: int) -> Screening:
        """Learn again the columns whose median or whose number of values may change oddly."""
        others = np.delete(self._values[:, self._awkward], row, axis=0)
        rule = learn_binarization(DenseSource(others), self._option, str)
        cut, high = result.binarization.cut.copy(), result.binarization.high.copy()
        cut[self._awkward], high[self._awkward] = rule.cut, rule.high
        ones = result.ones.copy()
        with np.errstate(invalid="ignore"):
            ones[:, self._awkward] = sum_by_group(
                above(others, rule.cut).view(np.uint8), np.delete(self._is_class_1, row)
            )
        return Screening(
            result.classes,
            result.class_counts,
            ones,
            result.observed,
            Binarization(cut, high),
            result.feature_names,
        )


def _order_statistics(values: AnyArray) -> tuple[FloatArray, list[FloatArray], BoolArray]:
    """Return the middle value, the possible cuts, and which columns have no surprises.

    A column is simple when whichever row is left out, its median is below its maximum and it
    keeps three different values.
    """
    n = values.shape[0]
    if n < 8:
        nothing = np.zeros(values.shape[1])
        return nothing, [nothing, nothing], np.zeros(values.shape[1], dtype=bool)
    h = n // 2
    ranks = sorted({1, h - 1, h, h + 1, n - 2})
    ordered = np.partition(values, ranks, axis=0)
    second, below, middle, over, last = (
        ordered[rank].astype(float) for rank in (1, h - 1, h, h + 1, n - 2)
    )
    cuts = (
        [middle, below]
        if n % 2 == 0
        else [(middle + over) / 2, (below + over) / 2, (below + middle) / 2]
    )
    simple = (second < below) & (over < last)
    if values.dtype.kind == "f":
        simple &= ~np.isnan(values).any(axis=0)
    return middle, cuts, simple
