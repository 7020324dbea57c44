"""Moments of all rows but those of each fold, for a table that is not to be read for every fold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import itemgetter
from typing import Any

import numpy as np

from honestbayes.screening.accumulation import accumulate
from honestbayes.screening.leave_out import without_shared_rows
from honestbayes.screening.moments import (
    MOST_CODES,
    Moments,
    are_flags,
    check_squares,
    moments_of_values,
    ones_by_group,
)
from honestbayes.sources.normal_scores import scores_of
from honestbayes.sources.source import DescribeColumns, Source, whole_columns
from honestbayes.types import AnyArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class FoldMoments:
    """Moments of the rows of each fold, and of those in none."""

    parts: tuple[Moments, ...]

    def merge_rows(self, other: FoldMoments) -> FoldMoments:
        """Return the moments of both sets of rows, which share none."""
        pairs = zip(self.parts, other.parts, strict=True)
        return FoldMoments(tuple(one.merge_rows(two) for one, two in pairs))

    def merge_columns(self, *others: FoldMoments) -> FoldMoments:
        """Return the moments of all sets of columns, in this order."""
        by_fold = zip(*(each.parts for each in (self, *others)), strict=True)
        return FoldMoments(tuple(first.merge_columns(*more) for first, *more in by_fold))

    def without(self, fold: int) -> Moments:
        """Return the moments of all rows but those of a fold."""
        others = [part for number, part in enumerate(self.parts) if number != fold]
        return reduce(Moments.merge_rows, others)


def moments_without(
    source: Source, codes: IntArray, classes: AnyArray, folds: list[IntArray]
) -> Iterator[Moments]:
    """Yield the moments of all rows but those of each fold.

    Folds that have no row in common are found in one pass. Parameters are those of
    `honestbayes.screening.moments.screen_moments`, and the folds.
    """
    describe = DescribeColumns(source.feature_names)
    for together in without_shared_rows(folds, source.shape[1] * classes.size):
        fold_of = np.full(codes.size, len(together), dtype=np.uint8)
        for number, rows in enumerate(together):
            fold_of[rows] = number

        def of_block(
            rows: slice, columns: slice, fold_of: AnyArray = fold_of, n: int = len(together)
        ) -> Callable[[Any], FoldMoments]:
            return partial(
                _moments_of_folds,
                fold_of=fold_of[rows],
                n_folds=n,
                labels=codes[rows],
                classes=classes,
                first_row=rows.start,
                describe=describe.at(columns),
            )

        found = accumulate(source, of_block)
        for number in range(len(together)):
            moments = found.without(number)
            check_squares(moments.within, describe)
            yield replace(moments, feature_names=source.feature_names)


def _moments_of_folds(
    values: Any,
    *,
    fold_of: AnyArray,
    n_folds: int,
    labels: IntArray,
    classes: AnyArray,
    **more: Any,
) -> FoldMoments:
    """Return the moments of a block, by fold; the last one is of the rows that are in none."""
    n_groups = (n_folds + 1) * len(classes)
    if n_groups <= MOST_CODES and not hasattr(values, "indptr") and are_flags(values):
        groups = (fold_of * np.int64(len(classes)) + labels).astype(np.uint8)
        counts = np.bincount(groups, minlength=n_groups).reshape(n_folds + 1, -1).tolist()
        ones = ones_by_group(values, groups, n_groups).reshape(n_folds + 1, len(classes), -1)
        pairs = zip(counts, ones, strict=True)
        return FoldMoments(tuple(Moments.of_ones(classes, tuple(n), some) for n, some in pairs))
    parts = []
    for number in range(n_folds + 1):
        rows = np.flatnonzero(fold_of == number)
        some = moments_of_values(values[rows], labels=labels[rows], classes=classes, **more)
        parts.append(some)
    return FoldMoments(tuple(parts))


def scored_moments_without(
    source: Source, codes: IntArray, classes: AnyArray, folds: list[IntArray]
) -> Iterator[Moments]:
    """Do the same for normal scores, which are learned anew without each fold.

    A slice of columns is read with all its rows, and every fold is left out of it, as many folds
    at a time as `moments_without` takes.
    """
    everyone = np.arange(codes.size)
    for together in without_shared_rows(folds, source.shape[1] * classes.size):
        parts = []
        for block in whole_columns(source):
            values = block.dense()
            by_fold = []
            for rows in together:
                others = np.setdiff1d(everyone, rows)
                found = moments_of_values(
                    scores_of(values[others]),
                    labels=codes[others],
                    classes=classes,
                    first_row=0,
                    describe=DescribeColumns(source.feature_names).at(block.columns),
                )
                by_fold.append(found)
            parts.append((block.columns.start, by_fold))
        in_order = [by_fold for _, by_fold in sorted(parts, key=itemgetter(0))]
        for first, *more in zip(*in_order, strict=True):
            moments = first.merge_columns(*more)
            yield replace(moments, feature_names=source.feature_names)
