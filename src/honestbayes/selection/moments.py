"""Class means and sums of squares of every real-valued feature, in one pass over a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial, reduce
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from honestbayes.data.binarization import SMALLEST_SPREAD, check_finite, check_spread, is_zero_one
from honestbayes.data.level_blocks import Indicators, LevelTable, observed_cells
from honestbayes.data.normal_scores import scores_of
from honestbayes.data.source import (
    DescribeColumns,
    PackedColumns,
    PackedGenotypes,
    Source,
    accumulate,
    dense,
    whole_columns,
)
from honestbayes.selection.categories import LevelsByFold
from honestbayes.selection.counts import (
    add_class_counts,
    check_columns,
    check_rows,
    count_packed,
    join_names,
    join_observed,
    sum_by_group,
)
from honestbayes.selection.leave_out import without_shared_rows
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

MOST_CODES = 256
"""Groups whose number is a byte."""

ROUNDING = 1e-24
"""Relative sums of squares per case up to which a column is constant but for rounding."""

_SLICE = 1 << 16
"""Columns of which relative squares are computed at a time."""

_SMALLEST = SMALLEST_SPREAD**2
"""Sums of squares below this have lost their digits."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Moments:
    """Moments of each feature by class, for selection and the Gaussian model.

    Attributes
    ----------
    classes : ndarray of shape (C,)
        Class labels, sorted.
    class_counts : tuple of int
        Rows in each class.
    observed : ndarray of shape (C, p) or (C, 1)
        Observed cases; one column stands for all where nothing is missing.
    mean : ndarray of shape (C, p)
        Class means; 0 where no case of the class was observed.
    within : ndarray of shape (p,)
        Sum of squares around the class means.
    feature_names : tuple of str or None
        Names, where the table had them.
    rest : ndarray of shape (C, p) or None
        What rounding left out of the means: of numbers far from 0 it is not small beside the
        difference of two means. None: unknown.
    ones : ndarray of int of shape (C, p) or None
        Cases with value 1, where all cells are 0, 1 or missing: then moments of more rows are
        found from counts, with the same bits however the rows were cut.
    """

    classes: AnyArray
    class_counts: tuple[int, ...]
    observed: IntArray
    mean: FloatArray
    within: FloatArray
    feature_names: tuple[str, ...] | None = None
    rest: FloatArray | None = None
    ones: IntArray | None = None

    @classmethod
    def of_ones(
        cls,
        classes: AnyArray,
        class_counts: tuple[int, ...],
        ones: IntArray,
        observed: IntArray | None = None,
    ) -> Moments:
        """Return the moments of zeros and ones: columns with equal counts have equal moments.

        ``observed`` are the observed cases, shape (C, p) or (C, 1); by default all.
        """
        cases = np.array(class_counts)[:, None]
        if observed is None or np.all(observed == cases):
            observed = cases  # so that a complete table has the same bits in every form
        mean = ones / np.maximum(observed, 1)
        return cls(
            classes=classes,
            class_counts=class_counts,
            observed=observed,
            mean=mean,
            within=(ones * (1 - mean)).sum(axis=0),
            ones=ones,
        )

    @property
    def n_features(self) -> int:
        """Number of screened features."""
        return int(self.within.size)

    def r_squared(self) -> FloatArray:
        """Share of each feature's sum of squares between classes; 0 where it cannot be judged.

        For two classes the squared correlation with the class; the F statistic is
        (n - C) / (C - 1) r2 / (1 - r2).
        """
        between, squares = self._relative_squares()
        total = self.observed.sum(axis=0)
        # What differs between classes of a feature with no more cases than classes leaves nothing
        # within them: it is no signal.
        present = (self.observed > 0).sum(axis=0)
        real = self.varies() & (present >= 2) & (total > present)
        return np.where(real, between / np.where(real, squares, 1.0), 0.0)

    def varies(self) -> BoolArray:
        """Return which features have two different values, shape (p,).

        A sum of squares that rounding explains is that of a constant; a feature without any
        observed case is constant too.
        """
        _, squares = self._relative_squares()
        return np.asarray(squares > ROUNDING * self.observed.sum(axis=0))

    def varying(self) -> Moments:
        """Return the moments of the features that vary: as if the others had not been screened."""
        varies = self.varies()
        if varies.all():
            return self
        return self.take(np.flatnonzero(varies))

    def _relative_squares(self) -> tuple[FloatArray, FloatArray]:
        """Return sums of squares between classes and in all, in units of each feature's size.

        In these units squares neither overflow nor vanish.
        """
        p = self.n_features
        between, squares = np.empty(p), np.empty(p)
        # In slices, because each of the intermediate results is as large as the means.
        ends = np.linspace(0, p, 1 + -(-p // _SLICE)).astype(np.int64).tolist()
        for some in (slice(*pair) for pair in pairwise(ends)):
            mean, within = self.mean[:, some], np.sqrt(self.within[some])
            observed = self.observed if self.observed.shape[1] == 1 else self.observed[:, some]
            unit = np.maximum(np.abs(mean).max(axis=0), within)
            unit = np.where(unit > 0, unit, 1.0)
            mean = mean / unit
            total = np.maximum(observed.sum(axis=0), 1)
            centre = (observed * mean).sum(axis=0) / total
            between[some] = (observed * (mean - centre) ** 2).sum(axis=0)
            squares[some] = between[some] + (within / unit) ** 2
        return between, squares

    def standardised(self) -> tuple[Moments, FloatArray, FloatArray]:
        """Return the moments of (x - centre) / unit, the centres and the units, shape (p,).

        The centre is the mean of all observed cases, the unit their standard deviation; 1 for a
        column that never varies. A column times a power of two has the same bits afterwards.
        """
        total = np.maximum(self.observed.sum(axis=0), 1)
        # What is to be squared is near 1.
        largest = np.abs(self.mean).max(axis=0)
        largest = np.where(largest > 0, largest, 1.0)
        centre = (self.observed * (self.mean / largest)).sum(axis=0) / total * largest
        apart = np.where(self.observed > 0, self.mean - centre, 0.0)
        rough = np.maximum(np.abs(apart).max(axis=0), np.sqrt(self.within))
        rough = np.where(rough > 0, rough, 1.0)
        between = (self.observed * (apart / rough) ** 2).sum(axis=0)
        variance = (between + (np.sqrt(self.within) / rough) ** 2) / np.maximum(total - 1, 1)
        unit = np.where(variance > 0, np.sqrt(variance), 1.0) * rough
        moments = replace(
            self, mean=apart / unit, within=(np.sqrt(self.within) / unit) ** 2, rest=None, ones=None
        )
        return moments, centre, unit

    def take(self, columns: IntArray) -> Moments:
        """Return the moments of some of the features."""
        observed, counts = self.observed, np.array(self.class_counts)[:, None]
        if observed.shape[1] > 1:
            observed = np.ascontiguousarray(observed[:, columns])
            # One column stands for all, so that what other features miss changes no bit here.
            observed = counts if np.all(observed == counts) else observed
        names = self.feature_names
        return Moments(
            classes=self.classes,
            class_counts=self.class_counts,
            observed=observed,
            mean=np.ascontiguousarray(self.mean[:, columns]),
            within=self.within[columns],
            feature_names=None if names is None else tuple(names[column] for column in columns),
            rest=None if self.rest is None else self.rest[:, columns],
            ones=None if self.ones is None else self.ones[:, columns],
        )

    def merge_rows(self, other: Moments) -> Moments:
        """Return the moments of both sets of rows, which must not share any.

        Of each class, squares = squares_1 + squares_2 + n_1 n_2 / n (mean_1 - mean_2)^2 (Chan,
        Golub and LeVeque, 1979, Stanford report CS-79-773), with means of twice the precision.
        """
        check_rows(self, other)
        if self.ones is not None and other.ones is not None:
            counts = add_class_counts(self, other)
            ones, observed = self.ones + other.ones, self.observed + other.observed
            mergeds = Moments.of_ones(self.classes, counts, ones, observed)
            return replace(mergeds, feature_names=self.feature_names)
        observed = self.observed + other.observed
        share = other.observed / np.maximum(observed, 1)
        mean, rest = self._precise_mean()
        other_mean, other_rest = other._precise_mean()
        # A class that only the other rows have must not be reached from a mean of 0.
        mean = np.where(self.observed > 0, mean, other_mean)
        rest = np.where(self.observed > 0, rest, other_rest)
        with np.errstate(over="ignore", invalid="ignore"):  # refused by `check_squares`
            apart = (other_mean - mean) + (other_rest - rest)
            step = rest + share * apart
            merged = mean + step
            between = (self.observed * share * apart**2).sum(axis=0)
            return Moments(
                classes=self.classes,
                class_counts=add_class_counts(self, other),
                observed=observed,
                mean=merged,
                within=self.within + other.within + between,
                feature_names=self.feature_names,
                rest=step - (merged - mean),
            )

    def _precise_mean(self) -> tuple[FloatArray, FloatArray]:
        """Return the means, and corrections to be added to them."""
        return self.mean, np.zeros_like(self.mean) if self.rest is None else self.rest

    @property
    def _is_precise(self) -> bool:
        return self.rest is not None or self.ones is not None

    def merge_columns(self, *others: Moments) -> Moments:
        """Return the moments of all sets of columns, in this order."""
        parts = (self, *others)
        check_columns(parts)
        ones = [part.ones for part in parts if part.ones is not None]
        flags = len(ones) == len(parts)
        rests = [part._precise_mean()[1] for part in parts if part._is_precise]
        return Moments(
            classes=self.classes,
            class_counts=self.class_counts,
            observed=join_observed([(part.observed, part.n_features) for part in parts]),
            mean=np.concatenate([part.mean for part in parts], axis=1),
            within=np.concatenate([part.within for part in parts]),
            feature_names=join_names(parts),
            rest=np.concatenate(rests, axis=1) if len(rests) == len(parts) and not flags else None,
            ones=np.concatenate(ones, axis=1) if flags else None,
        )


def check_squares(squares: FloatArray, describe: Callable[[int], str]) -> None:
    """Refuse columns whose sums of squares are beyond all numbers."""
    if not np.isfinite(squares).all():
        column = int(np.flatnonzero(~np.isfinite(squares))[0])
        msg = f"{describe(column)} holds numbers too large to be squared: give it in a larger unit."
        raise ValueError(msg)


def screen_moments(source: Source, codes: IntArray, classes: AnyArray) -> Moments:
    """Find the class means and sums of squares of all columns.

    Parameters
    ----------
    source : Source of shape (n, p)
        The table; NaN is missing.
    codes : ndarray of int of shape (n,)
        Class of each row, as a position in ``classes``.
    classes : ndarray of shape (C,)
        Class labels.
    """
    describe = DescribeColumns(source.feature_names)

    def of_block(rows: slice, columns: slice) -> Callable[[Any], Moments]:
        return partial(
            moments_of_values,
            labels=codes[rows],
            classes=classes,
            first_row=rows.start,
            describe=describe.at(columns),
        )

    moments = accumulate(source, of_block)
    check_squares(moments.within, describe)
    return replace(moments, feature_names=source.feature_names)


def moments_of_values(
    values: Any, *, labels: IntArray, classes: AnyArray, first_row: int, describe: DescribeColumns
) -> Moments:
    """Return the moments of a block, without names.

    Parameters
    ----------
    values : ndarray or sparse matrix of shape (m, c)
        Its cells.
    labels : ndarray of int of shape (m,)
        Class of each row, as a position in ``classes``.
    classes : ndarray of shape (C,)
        Class labels.
    first_row : int
        Where it begins in the table.
    describe : DescribeColumns
        Names its columns in error messages.
    """
    if hasattr(values, "indptr") and np.isfinite(values.data).all():
        tiny = (values.data != 0) & (np.abs(values.data) < SMALLEST_SPREAD)
        if tiny.any():
            check_spread(dense(values), describe, describe.first, large=False)
        return _moments_of_sparse(values, labels, classes)
    if len(classes) <= MOST_CODES and are_flags(values):
        return _moments_of_flags(values, labels, classes)
    values = dense(values)
    n_classes, width = len(classes), values.shape[1]
    counts = np.bincount(labels, minlength=n_classes)
    observed = np.repeat(counts[:, None], width, axis=1)
    mean, rest = np.zeros((n_classes, width)), np.zeros((n_classes, width))
    within = np.zeros(width)
    for label in np.flatnonzero(counts).tolist():
        # No name for the copy of the rows: it is gone before the next class is copied.
        of_class = _moments_of_rows(np.asarray(values[labels == label], dtype=np.float64))
        if not np.isfinite(of_class[1]).all():
            check_finite(values, describe, first_row, describe.first)
        if (of_class[2] < _SMALLEST).any():
            check_spread(values, describe, describe.first, large=False)
        observed[label], mean[label], squares, rest[label] = of_class
        within += squares
    complete = bool(np.all(observed == counts[:, None]))
    return Moments(
        classes=classes,
        class_counts=tuple(counts.tolist()),
        observed=counts[:, None] if complete else observed,
        mean=mean,
        within=within,
        rest=rest,
    )


def _moments_of_flags(values: Any, labels: IntArray, classes: AnyArray) -> Moments:
    """Return the moments of zeros and ones, from counts: columns with equal counts are equal."""
    counts = np.bincount(labels, minlength=len(classes))
    ones, observed = ones_by_group(values, labels.astype(np.uint8), len(classes))
    return Moments.of_ones(classes, tuple(counts.tolist()), ones, observed)


def are_flags(values: Any) -> bool:
    """Whether a block holds zeros, ones and missing cells only, which are counted.

    Of whatever type they are: columns with equal counts tie exactly, where sums of squares of
    floats would differ by rounding, and the ranking with them.
    """
    if isinstance(values, PackedColumns | Indicators):
        return True
    if isinstance(values, PackedGenotypes):
        return False
    cells = dense(values)
    # One row is enough to know most blocks of continuous features.
    return _zero_one_or_missing(cells[:1]) and _zero_one_or_missing(cells)


def _zero_one_or_missing(cells: AnyArray) -> bool:
    if cells.dtype.kind != "f":
        return is_zero_one(cells)
    return bool(np.all((cells == 0) | (cells == 1) | (cells != cells)))


def ones_by_group(values: Any, codes: AnyArray, n_groups: int) -> tuple[IntArray, IntArray | None]:
    """Count the ones and the observed cells of binary features in each group, shape (G, c).

    None for the observed cells where none is missing.
    """
    if isinstance(values, PackedColumns):
        return count_packed(values, codes, n_groups), None
    if isinstance(values, Indicators):
        return values.counts(codes, n_groups)
    cells = dense(values)
    if cells.dtype.itemsize == 1:
        return sum_by_group(cells.view(np.uint8), codes, n_groups), None
    ones, observed = sum_by_group((cells == 1).view(np.uint8), codes, n_groups), None
    seen = cells == cells
    if not seen.all():
        observed = sum_by_group(seen.view(np.uint8), codes, n_groups)
    return ones, observed


def _moments_of_sparse(values: Any, labels: IntArray, classes: AnyArray) -> Moments:
    """Return the moments of a sparse block, all of whose cells are finite; absent cells are 0."""
    shape = len(classes), values.shape[1]
    counts = np.bincount(labels, minlength=shape[0])
    cells = values.tocoo()
    row, column, value = labels[cells.row], cells.col, cells.data.astype(float)
    cell = np.ravel_multi_index((row, column), shape)
    present = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    sums = np.bincount(cell, value, shape[0] * shape[1]).reshape(shape)
    if is_zero_one(values):  # counted, as in a dense block
        return Moments.of_ones(classes, tuple(counts.tolist()), np.rint(sums).astype(np.int64))
    mean = sums / np.maximum(counts, 1)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):  # refused by `check_squares`
        around = np.bincount(column, (value - mean[row, column]) ** 2, shape[1])
        within = around + ((counts[:, None] - present) * mean**2).sum(axis=0)
    full = (present.sum(axis=0) == len(labels)) & np.isfinite(mean).all(axis=0)
    for j in np.flatnonzero(full & ~np.isfinite(within)).tolist():
        if np.ptp(value[column == j] / 2) == 0:  # a constant, and the rounding of its mean
            within[j] = 0.0
    return Moments(
        classes=classes,
        class_counts=tuple(counts.tolist()),
        observed=counts[:, None],
        mean=mean,
        within=within,
        rest=np.zeros_like(mean),
    )


def _moments_of_rows(
    rows: FloatArray,
) -> tuple[IntArray | int, FloatArray, FloatArray, FloatArray]:
    """Return cases, means, sums of squares around these, and their rounding errors.

    Parameters
    ----------
    rows : ndarray of shape (m, c)
        Values; NaN is missing. Overwritten.
    """
    cases: IntArray | int = len(rows)
    missing: BoolArray | None = None
    # Infinity is refused by the caller, squares that overflow by `check_squares`.
    with np.errstate(invalid="ignore", over="ignore"):
        mean = rows.mean(axis=0)
        if np.isnan(mean).any():
            missing = np.isnan(rows)
            cases = len(rows) - missing.sum(axis=0)
            np.copyto(rows, 0.0, where=missing)
            mean = rows.sum(axis=0) / np.maximum(cases, 1)
        rows -= mean
        if missing is not None:
            np.copyto(rows, 0.0, where=missing)
        squares = np.einsum("ij,ij->j", rows, rows)
        for j in np.flatnonzero(~np.isfinite(squares)).tolist():
            seen = rows[:, j] if missing is None else rows[~missing[:, j], j]
            if np.isfinite(mean[j]) and np.all(
                seen == seen[:1]
            ):  # a constant, and the rounding of its mean
                squares[j] = 0.0
        return cases, mean, squares, rows.sum(axis=0) / np.maximum(cases, 1)


# --------------------------------------------------------------------------------------------------
# Moments without each fold, for tables that are not read once per fold
# --------------------------------------------------------------------------------------------------


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
    `honestbayes.selection.moments.screen_moments`, and the folds.
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

        of_all = accumulate(source, of_block)
        for number in range(len(together)):
            moments = of_all.without(number)
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
        ones, observed = ones_by_group(values, groups, n_groups)
        shape = n_folds + 1, len(classes), -1
        seen = np.array(counts) if observed is None else observed
        by_fold = zip(counts, ones.reshape(shape), seen.reshape(shape), strict=True)
        return FoldMoments(tuple(Moments.of_ones(classes, tuple(n), *some) for n, *some in by_fold))
    parts = []
    for number in range(n_folds + 1):
        rows = np.flatnonzero(fold_of == number)
        some = moments_of_values(values[rows], labels=labels[rows], classes=classes, **more)
        parts.append(some)
    return FoldMoments(tuple(parts))


def indicator_moments_without(
    by_fold: LevelsByFold, levels: LevelTable, classes: AnyArray
) -> Iterator[Moments]:
    """Yield the moments of indicators of categories, of all rows but those of each fold.

    Each is made from counts when it is asked for: moments of millions of columns would not all
    fit in memory, and their counts do.
    """
    for cases, cells in by_fold.without():
        observed = observed_cells(cells, levels)
        yield Moments.of_ones(classes, tuple(cases.tolist()), cells, observed)


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
                part = moments_of_values(
                    scores_of(values[others]),
                    labels=codes[others],
                    classes=classes,
                    first_row=0,
                    describe=DescribeColumns(source.feature_names).at(block.columns),
                )
                by_fold.append(part)
            parts.append((block.columns.start, by_fold))
        in_order = [by_fold for _, by_fold in sorted(parts, key=itemgetter(0))]
        for first, *more in zip(*in_order, strict=True):
            moments = first.merge_columns(*more)
            yield replace(moments, feature_names=source.feature_names)


# --------------------------------------------------------------------------------------------------
# Moments with a real response, in one pass
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ResponseMoments:
    """Moments of each feature and of the response over the cases in which it was observed.

    Features are in units of their own, so that squares neither overflow nor vanish. All arrays
    have the shape (p,).

    Attributes
    ----------
    n_observed : ndarray of int
        Observed cells.
    largest : ndarray
        The largest absolute value, which is the unit; 0 where all are 0, and the unit is 1.
    mean : ndarray
        Means, in these units; 0 where no cell was observed.
    squares : ndarray
        Sums of squares around the means, in these units.
    response_mean, response_squares : ndarray
        The same of the response.
    products : ndarray
        Sums of products of both, around their means.
    """

    n_observed: IntArray
    largest: FloatArray
    mean: FloatArray
    squares: FloatArray
    response_mean: FloatArray
    response_squares: FloatArray
    products: FloatArray

    def r_squared(self) -> FloatArray:
        """Squared correlation of each feature with the response; 0 where it has none."""
        number, of_x, of_y = self.n_observed, self.squares, self.response_squares
        real = self.varies() & (of_y > 1e-12) & (number > 2)
        ratio = self.products**2 / np.where(real, of_x * of_y, 1.0)
        return np.where(real, np.minimum(ratio, 1.0), 0.0)

    def varies(self) -> BoolArray:
        """Return which features have two different values, as `Moments.varies`."""
        return np.asarray(self.squares > ROUNDING * self.n_observed)

    def square(self) -> FloatArray:
        """Sum of squares of each feature around its mean; infinite where it is too large."""
        with np.errstate(over="ignore"):
            return np.asarray((np.sqrt(self.squares) * _unit(self.largest)) ** 2)

    def merge_rows(self, other: ResponseMoments) -> ResponseMoments:
        """Return the moments of both sets of rows, which must not share any.

        As in `honestbayes.selection.moments.Moments.merge_rows`, and the same for products. Values
        are rounded when they are brought to their unit, so means far from 0 beside the spread cost
        digits, in one block as in many.
        """
        largest = np.maximum(self.largest, other.largest)
        scale, other_scale = (part.largest / _unit(largest) for part in (self, other))
        number = self.n_observed + other.n_observed
        share = other.n_observed / np.maximum(number, 1)
        mean = scale * self.mean
        apart = other_scale * other.mean - mean
        response_apart = other.response_mean - self.response_mean
        weight = self.n_observed * share
        squares = scale**2 * self.squares + other_scale**2 * other.squares
        products = scale * self.products + other_scale * other.products
        return ResponseMoments(
            n_observed=number,
            largest=largest,
            mean=mean + share * apart,
            squares=squares + weight * apart**2,
            response_mean=self.response_mean + share * response_apart,
            response_squares=self.response_squares
            + other.response_squares
            + weight * response_apart**2,
            products=products + weight * apart * response_apart,
        )

    def merge_columns(self, *others: ResponseMoments) -> ResponseMoments:
        """Return the moments of all sets of columns, in this order."""
        parts = (self, *others)
        names = [field.name for field in fields(self)]
        return ResponseMoments(
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        )


def _unit(largest: FloatArray) -> FloatArray:
    return np.where(largest > 0, largest, 1.0)


def screen_response(source: Source, y: FloatArray) -> ResponseMoments:
    """Find the moments of every column with the response, in one pass.

    Parameters
    ----------
    source : Source of shape (n, p)
        The table; NaN is missing.
    y : ndarray of shape (n,)
        The response, around 0 and in units of its own.
    """
    describe = DescribeColumns(source.feature_names)

    def of_block(rows: slice, columns: slice) -> Callable[[Any], ResponseMoments]:
        return partial(
            response_of_values, y=y[rows], first_row=rows.start, describe=describe.at(columns)
        )

    moments = accumulate(source, of_block)
    check_squares(moments.square(), describe)
    return moments


def response_of_values(
    values: Any, *, y: FloatArray, first_row: int, describe: DescribeColumns
) -> ResponseMoments:
    """Return the moments of a block.

    Parameters
    ----------
    values : ndarray or sparse matrix of shape (m, c)
        Its cells.
    y : ndarray of shape (m,)
        The response of each row.
    first_row : int
        Where it begins in the table.
    describe : DescribeColumns
        Names its columns in error messages.
    """
    values = np.asarray(dense(values), dtype=float)
    check_finite(values, describe, first_row, describe.first)
    seen = ~np.isnan(values)
    number = seen.sum(axis=0)
    largest = np.abs(np.where(seen, values, 0.0)).max(axis=0, initial=0.0)
    x = np.where(seen, values / _unit(largest), 0.0)
    mean = x.sum(axis=0) / np.maximum(number, 1)
    x = np.where(seen, x - mean, 0.0)
    response_mean = (y @ seen) / np.maximum(number, 1)
    return ResponseMoments(
        n_observed=number,
        largest=largest,
        mean=mean,
        squares=np.einsum("ij,ij->j", x, x),
        response_mean=response_mean,
        response_squares=(y**2) @ seen - number * response_mean**2,
        products=y @ x,
    )
