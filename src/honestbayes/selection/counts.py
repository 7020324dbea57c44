"""Exact counts of ones and of observed cases, per class and feature, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from honestbayes.data.binarization import (
    Binarization,
    BinarizeOption,
    above,
    check_finite,
    is_zero_one,
    learn_binarization,
)
from honestbayes.data.labels import check_as_many, encode_classes
from honestbayes.data.source import (
    DescribeColumns,
    PackedColumns,
    Source,
    accumulate,
    as_source,
    dense,
    is_beyond_memory,
)
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Merging statistics by class: checks, names, observed cases
# --------------------------------------------------------------------------------------------------


class ByClass(Protocol):
    """A statistic of features by class."""

    @property
    def classes(self) -> AnyArray:
        """Class labels, shape (C,)."""

    @property
    def class_counts(self) -> tuple[int, ...]:
        """Rows in each class."""

    @property
    def n_features(self) -> int:
        """Number of features."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names, where the table had them."""


def check_rows(first: ByClass, second: ByClass) -> None:
    """Refuse to merge rows of different columns or classes."""
    _check_classes(first, second, "rows")
    if first.n_features != second.n_features or first.feature_names != second.feature_names:
        msg = "screenings of disjoint rows must have the same columns."
        raise ValueError(msg)


def check_columns(parts: Sequence[ByClass]) -> None:
    """Refuse to merge columns of different rows or classes."""
    for other in parts[1:]:
        _check_classes(parts[0], other, "columns")
        if parts[0].class_counts != other.class_counts:
            msg = "screenings of disjoint columns must have the same numbers of cases per class."
            raise ValueError(msg)


def _check_classes(first: ByClass, second: ByClass, what: str) -> None:
    if not np.array_equal(first.classes, second.classes):
        msg = (
            f"screenings of disjoint {what} must have the same classes; got "
            f"{list(first.classes)} and {list(second.classes)}."
        )
        raise ValueError(msg)


def join_names(parts: Sequence[ByClass]) -> tuple[str, ...] | None:
    """Return the names of all columns, which must be different."""
    known = [part.feature_names for part in parts if part.feature_names is not None]
    if not known:
        return None
    if len(known) < len(parts):
        msg = "either both screenings name their columns or neither does."
        raise ValueError(msg)
    names = tuple(name for some in known for name in some)
    if len(set(names)) < len(names):
        msg = "the two screenings share a column name; the columns must be disjoint."
        raise ValueError(msg)
    return names


def add_class_counts(first: ByClass, second: ByClass, sign: int = 1) -> tuple[int, ...]:
    """Return the rows in each class of both sets of rows, or of the first without the second."""
    both = zip(first.class_counts, second.class_counts, strict=True)
    return tuple(one + sign * other for one, other in both)


def join_observed(parts: Sequence[tuple[IntArray, int]]) -> IntArray:
    """Return the observed cases of all columns.

    Parameters
    ----------
    parts : sequence of (ndarray of shape (C, p) or (C, 1), p)
        Observed cases of some columns, one for all where nothing is missing, and how many columns.

    Returns
    -------
    ndarray of shape (C, sum of p) or (C, 1)
    """
    first = parts[0][0]
    if all(some.shape[1] == 1 and np.array_equal(some, first) for some, _ in parts):
        return first
    full = [np.broadcast_to(some, (some.shape[0], p)) for some, p in parts]
    return np.concatenate(full, axis=1)


# --------------------------------------------------------------------------------------------------
# Screening: exact counts of each feature in each class
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Screening:
    """Counts per class of ones and of observed cases, for every feature.

    Additive: screenings of disjoint rows, or of disjoint columns, merge into exactly the
    screening of the whole.

    Attributes
    ----------
    classes : ndarray of shape (2,)
        The two class labels, sorted.
    class_counts : tuple of int
        Rows in class 0 and class 1.
    ones : ndarray of shape (2, p)
        Cases with value 1, per class.
    observed : ndarray of shape (2, p) or (2, 1)
        Cases in which the feature was observed; one column stands for all where nothing is
        missing.
    binarization : Binarization
        How values became 0/1.
    feature_names : tuple of str or None
        Names, where the table had them.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes.selection import screen
    >>> X, y = np.array([[0, 1], [0, 1], [1, 0], [1, 1]]), [0, 1, 0, 1]
    >>> both = screen(X[:2], y[:2]).merge_rows(screen(X[2:], y[2:]))
    >>> both.n_features, both.class_counts, both.correlation().round(2).tolist()
    (2, (2, 2), [0.0, 0.58])
    """

    classes: AnyArray
    class_counts: tuple[int, int]
    ones: IntArray
    observed: IntArray
    binarization: Binarization
    feature_names: tuple[str, ...] | None = None

    @classmethod
    def from_counts(
        cls,
        ones: Any,
        class_counts: Any,
        *,
        classes: Any = (0, 1),
        observed: Any = None,
        feature_names: Any = None,
    ) -> Screening:
        """Return the screening of 0/1 features that were counted elsewhere, as by SQL or Spark.

        Parameters
        ----------
        ones : array-like of int of shape (2, p)
            Cases with value 1, per class and feature.
        class_counts : array-like of int of shape (2,)
            Cases in each class.
        classes : array-like of shape (2,), default=(0, 1)
            The two class labels, sorted.
        observed : array-like of int of shape (2, p), optional
            Cases in which each feature was observed; all, where nothing is missing.
        feature_names : sequence of str, optional
            Names of the features.

        Examples
        --------
        >>> from honestbayes import SelectiveBernoulliNB
        >>> from honestbayes.selection import Screening
        >>> counts = Screening.from_counts([[10, 55], [40, 52]], (100, 100))
        >>> counts.correlation().round(2).tolist()
        [0.35, -0.03]
        >>> model = SelectiveBernoulliNB(n_features_to_select=1, recalibrate=None)
        >>> model.fit_screening(counts).predict_proba([[1, 0]]).round(2).tolist()
        [[0.23, 0.77]]
        """
        labels, cases = np.asarray(classes), _whole("class_counts", class_counts, (2,))
        if labels.shape != (2,) or not labels[0] < labels[1]:
            msg = f"classes={labels.tolist()} are not two labels in ascending order."
            raise ValueError(msg)
        if cases.min() < 1:
            msg = f"class_counts={cases.tolist()} must hold two positive counts."
            raise ValueError(msg)
        counted = _whole("ones", ones, (2, np.shape(ones)[-1] if np.ndim(ones) == 2 else 0))
        seen = cases[:, None]
        if observed is not None:
            seen = _whole("observed", observed, counted.shape)
        _check_counts("observed", seen, cases[:, None])
        _check_counts("ones", counted, seen)
        p = counted.shape[1]
        names = None if feature_names is None else tuple(map(str, feature_names))
        if names is not None and (len(names) != p or len(set(names)) != p):
            msg = f"feature_names must be {p} different names, one for each feature."
            raise ValueError(msg)
        rule = Binarization(np.zeros(p), np.ones(p))
        return cls(labels, (int(cases[0]), int(cases[1])), counted, seen, rule, names)

    @property
    def n_features(self) -> int:
        """Number of screened features."""
        return int(self.ones.shape[1])

    @property
    def complete(self) -> bool:
        """Whether no cell is missing."""
        return bool(np.all(self.observed == np.array(self.class_counts)[:, None]))

    def correlation(self) -> FloatArray:
        """Sample correlation of each feature with the class (equation 30); constant: 0."""
        return correlation(self.ones, self.observed)

    def update(self, X: Any, y: Any) -> Screening:
        """Return the screening of these rows and further, disjoint ones.

        Parameters
        ----------
        X : table of shape (m, p)
            The next rows, of the same columns; cut where the first ones were.
        y : array-like of shape (m,)
            Their classes; a class may be missing among them.

        Examples
        --------
        >>> import numpy as np
        >>> from honestbayes.selection import screen
        >>> chunks = [(np.eye(3, dtype=int), [0, 1, 1]), (np.ones((2, 3), dtype=int), [0, 0])]
        >>> counts = screen(*chunks[0])
        >>> for X, y in chunks[1:]:
        ...     counts = counts.update(X, y)
        >>> counts.class_counts, counts.ones.tolist()
        ((3, 2), [[3, 2, 2], [0, 1, 1]])
        """
        more = screen(X, y, binarize=self.binarization, classes=self.classes)
        return self.merge_rows(more)

    def merge_rows(self, other: Screening) -> Screening:
        """Return the screening of both sets of rows, which must not share any."""
        check_rows(self, other)
        if not self.binarization.equals(other.binarization):
            msg = (
                "the two screenings cut the columns at different values; screen the second one "
                "with binarize=first.binarization."
            )
            raise ValueError(msg)
        return self._with(
            add_class_counts(self, other),
            self.ones + other.ones,
            self.observed + other.observed,
        )

    def merge_columns(self, *others: Screening) -> Screening:
        """Return the screening of all sets of columns, in this order."""
        parts = (self, *others)
        check_columns(parts)
        return Screening(
            self.classes,
            self.class_counts,
            np.concatenate([part.ones for part in parts], axis=1),
            join_observed([(part.observed, part.n_features) for part in parts]),
            self.binarization.join(*(part.binarization for part in others)),
            join_names(parts),
        )

    def take(self, columns: IntArray) -> Screening:
        """Return the screening of some of the features."""
        observed, names = self.observed, self.feature_names
        return Screening(
            self.classes,
            self.class_counts,
            self.ones[:, columns],
            observed if observed.shape[1] == 1 else observed[:, columns],
            self.binarization.take(columns),
            None if names is None else tuple(names[column] for column in columns),
        )

    def observed_full(self) -> IntArray:
        """Observed cases per class and feature, shape (2, p)."""
        return np.broadcast_to(self.observed, self.ones.shape)

    def without(self, part: Screening) -> Screening:
        """Return the screening without some of its rows, whose screening is given."""
        return self._with(
            add_class_counts(self, part, -1),
            self.ones - part.ones,
            self.observed - part.observed,
        )

    def _with(self, counts: tuple[int, ...], ones: IntArray, observed: IntArray) -> Screening:
        return Screening(
            self.classes,
            (counts[0], counts[1]),
            ones,
            observed,
            self.binarization,
            self.feature_names,
        )


def correlation(ones: IntArray, observed: IntArray) -> FloatArray:
    """Sample correlation with the class from counts of shape (2, p); 0 for a constant feature."""
    i0, i1 = ones[0].astype(float), ones[1].astype(float)
    n0, n1 = observed[0].astype(float), observed[1].astype(float)
    s = i0 + i1
    spread = n0 * n1 * s * (n0 + n1 - s)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (n0 * i1 - n1 * i0) / np.sqrt(spread)
    return np.where(spread > 0, r, 0.0)


def _whole(name: str, values: Any, shape: tuple[int, ...]) -> IntArray:
    """Return counts as integers; refuse fractions, negative numbers and other shapes."""
    counts = np.asarray(values)
    if counts.shape != shape:
        msg = f"{name} has shape {counts.shape}; give whole numbers of shape {shape}."
        raise ValueError(msg)
    good = counts.dtype.kind in "iuf" and np.isfinite(counts).all() and (counts >= 0).all()
    if not good or (counts != np.floor(counts)).any():
        msg = f"{name} must hold whole numbers of 0 or more."
        raise ValueError(msg)
    return counts.astype(np.int64)


def _check_counts(name: str, counts: IntArray, most: IntArray) -> None:
    """Refuse counts that are larger than they can be, naming the first."""
    wrong = counts > most
    if wrong.any():
        label, column = (int(i) for i in np.argwhere(wrong)[0])
        largest = np.broadcast_to(most, counts.shape)[label, column]
        msg = (
            f"{name} counts {counts[label, column]} cases of class {label} for feature {column}, "
            f"where there are {largest}."
        )
        raise ValueError(msg)


# --------------------------------------------------------------------------------------------------
# Counting in one pass
# --------------------------------------------------------------------------------------------------


_ROWS_PER_BYTE = 255
"""A sum of this many zeros and ones still fits in a byte."""

_ROWS_PER_WORD = 1 << 31
"""A sum of this many fits in four bytes."""

_MANY_ROWS = 10_000
"""Rows from which compiled sums of whole columns are worth their import."""


def screen(
    X: Any,
    y: Any,
    *,
    binarize: BinarizeOption | Binarization = "auto",
    classes: Any = None,
) -> Screening:
    """Count the ones and the observed cases of every feature and class.

    Parameters
    ----------
    X : array, SciPy sparse, pandas or polars frame, or Source, of shape (n, p)
        Integers, booleans or floats; NaN is missing.
    y : array-like of shape (n,)
        Class labels of two kinds.
    binarize : {"auto", "median"}, float, None or Binarization, default="auto"
        How values become 0/1: two-valued columns as they are and others at their median; all at
        the median; all at a number; not at all (the data must be 0/1); as another screening did.
    classes : array-like of shape (2,), optional
        The labels, for a part of the rows that may lack one of them.

    Returns
    -------
    Screening

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes.selection import screen
    >>> X = np.array([[0, 1], [0, 1], [1, 0], [1, 1]])
    >>> screen(X, ["a", "a", "b", "b"]).ones
    array([[0, 2],
           [2, 1]])
    """
    labels, is_class_1 = encode_classes(y, classes)
    return screen_source(as_source(X), labels, is_class_1, binarize)


def screen_source(
    source: Source,
    classes: AnyArray,
    is_class_1: BoolArray,
    binarize: BinarizeOption | Binarization,
) -> Screening:
    """Count as `screen` does, for labels that are coded already."""
    n, p = source.shape
    check_as_many(n, is_class_1.size)
    codes, names = is_class_1.astype(np.uint8), source.feature_names
    if isinstance(binarize, Binarization):
        rule = binarize
        if rule.cut.size != p:
            msg = f"binarize holds {rule.cut.size} columns, but X has {p}."
            raise ValueError(msg)
    else:
        if is_beyond_memory(source) and binarize in ("auto", None):
            # Most such tables hold zeros and ones: one pass counts them, and sees that it is so.
            rule = Binarization(np.zeros(p), np.ones(p))
            counts = count_source(source, codes, 2, rule, may_differ=True)
            if counts.zero_one:
                return counts.screening(classes, rule, names)
        rule = learn_binarization(source, binarize, DescribeColumns(names))
    return count_source(source, codes, 2, rule).screening(classes, rule, names)


@dataclass(frozen=True, slots=True, eq=False)
class GroupCounts:
    """Counts of ones and of observed cases in groups of rows: classes, or classes within folds.

    Attributes
    ----------
    cases : ndarray of int of shape (G,)
        Rows in each group.
    ones : ndarray of int of shape (G, p)
        Cases with value 1.
    observed : ndarray of int of shape (G, p) or (G, 1)
        Cases in which the feature was observed; one column stands for all where nothing is missing.
    zero_one : bool
        Whether no cell was found that is neither 0 nor 1.
    """

    cases: IntArray
    ones: IntArray
    observed: IntArray
    zero_one: bool = True

    def merge_rows(self, other: GroupCounts) -> GroupCounts:
        """Return the counts of both sets of rows, which share none."""
        return GroupCounts(
            self.cases + other.cases,
            self.ones + other.ones,
            self.observed + other.observed,
            self.zero_one and other.zero_one,
        )

    def merge_columns(self, *others: GroupCounts) -> GroupCounts:
        """Return the counts of all sets of columns, in this order."""
        parts = (self, *others)
        return GroupCounts(
            self.cases,
            np.concatenate([part.ones for part in parts], axis=1),
            join_observed([(part.observed, part.ones.shape[1]) for part in parts]),
            all(part.zero_one for part in parts),
        )

    def screening(
        self,
        classes: AnyArray,
        rule: Binarization,
        names: tuple[str, ...] | None,
        first: int = 0,
    ) -> Screening:
        """Return the screening of two groups, of which the first is given, as of two classes."""
        both = slice(first, first + 2)
        cases = self.cases[both].tolist()
        return Screening(
            classes, (cases[0], cases[1]), self.ones[both], self.observed[both], rule, names
        )


def count_source(
    source: Source,
    codes: AnyArray,
    n_groups: int,
    rule: Binarization,
    *,
    may_differ: bool = False,
) -> GroupCounts:
    """Count the ones of all columns in each group of rows, in one pass.

    Parameters
    ----------
    source : Source of shape (n, p)
        The table.
    codes : ndarray of uint8 of shape (n,)
        The group of each row.
    n_groups : int
        How many groups there are.
    rule : Binarization
        How values of each column become 0/1.
    may_differ : bool, default=False
        Whether to look for cells that are neither 0 nor 1. Where there are some, what is counted
        means nothing.
    """
    describe = DescribeColumns(source.feature_names)

    def of_block(rows: slice, columns: slice) -> Callable[[Any], GroupCounts]:
        return partial(
            count_values,
            codes=codes[rows],
            n_groups=n_groups,
            cut=rule.cut[columns],
            first_row=rows.start,
            describe=describe.at(columns),
            may_differ=may_differ,
        )

    return accumulate(source, of_block)


def count_values(
    values: Any,
    *,
    codes: AnyArray,
    n_groups: int,
    cut: FloatArray,
    first_row: int,
    describe: DescribeColumns,
    may_differ: bool = False,
) -> GroupCounts:
    """Return the counts of a block.

    Parameters
    ----------
    values : ndarray, sparse matrix or PackedColumns, of shape (m, c)
        Its cells.
    codes : ndarray of uint8 of shape (m,)
        The group of each row.
    n_groups : int
        How many groups there are.
    cut : ndarray of shape (c,)
        Values above it are ones.
    first_row : int
        Where the block begins in the table.
    describe : DescribeColumns
        Names its columns in error messages.
    may_differ : bool, default=False
        Whether to look for cells that are neither 0 nor 1.
    """
    cases = np.bincount(codes, minlength=n_groups)[:, None]
    if may_differ and not is_zero_one(values):
        ones = np.zeros((n_groups, values.shape[1]), dtype=np.int64)
        return GroupCounts(cases[:, 0], ones, cases, zero_one=False)
    where = (first_row, describe)
    if isinstance(values, PackedColumns) and not cut.any():
        ones, missing = count_packed(values, codes, n_groups), None
    elif sparse.issparse(values):
        ones, missing = _count_sparse(values, codes, n_groups, cut, *where)
    else:
        ones, missing = _count_dense(dense(values), codes, n_groups, cut, *where)
    return GroupCounts(cases[:, 0], ones, cases if missing is None else cases - missing)


def count_packed(values: PackedColumns, codes: AnyArray, n_groups: int) -> IntArray:
    """Count the ones of packed columns in each group of rows, shape (G, c)."""
    from honestbayes.selection.kernels import count_bits

    in_group = codes[:, None] == np.arange(n_groups)
    masks = PackedColumns.pack(in_group.view(np.uint8)).bits
    ones = np.zeros((n_groups, values.bits.shape[0]), dtype=np.int64)
    count_bits(values.bits, masks, ones)
    return ones


def _count_dense(
    values: AnyArray,
    codes: AnyArray,
    n_groups: int,
    cut: FloatArray,
    first_row: int,
    describe: DescribeColumns,
) -> tuple[IntArray, IntArray | None]:
    """Return counts of ones (G, c) and of missing cells (G, c), or None where none is missing."""
    if values.dtype.itemsize == 1 and not cut.any() and is_zero_one(values):
        return sum_by_group(values.view(np.uint8), codes, n_groups), None
    missing = None
    if values.dtype.kind == "f":
        check_finite(values, describe, first_row, describe.first)
        nan = np.isnan(values)
        if nan.any():
            missing = sum_by_group(nan.view(np.uint8), codes, n_groups)
    with np.errstate(invalid="ignore"):
        ones = above(values, cut)
    return sum_by_group(ones.view(np.uint8), codes, n_groups), missing


def sum_by_group(ones: AnyArray, codes: AnyArray, n_groups: int = 2) -> IntArray:
    """Sum 0/1 bytes of shape (n, c) over the rows of each group, exactly."""
    totals = np.zeros((n_groups, ones.shape[1]), dtype=np.int64)
    if ones.shape[0] >= _MANY_ROWS and ones.flags.f_contiguous and codes.dtype == np.uint8:
        from honestbayes.selection import kernels

        add = kernels.sum_by_two if n_groups == 2 else kernels.sum_by_many
        for start in range(0, ones.shape[0], _ROWS_PER_WORD):
            some = slice(start, start + _ROWS_PER_WORD)
            add(ones[some].T, codes[some], totals)
        return totals
    for group in range(n_groups):
        rows = np.flatnonzero(codes == group)
        for start in range(0, rows.size, _ROWS_PER_BYTE):
            part = ones[rows[start : start + _ROWS_PER_BYTE]]
            totals[group] += np.add.reduce(part, axis=0, dtype=np.uint8)
    return totals


def _count_sparse(
    matrix: Any,
    codes: AnyArray,
    n_groups: int,
    cut: FloatArray,
    first_row: int,
    describe: DescribeColumns,
) -> tuple[IntArray, IntArray | None]:
    """Do the same."""
    from honestbayes.selection import kernels

    ones = np.zeros((n_groups, matrix.shape[1]), dtype=np.int64)
    if matrix.format == "csc" and n_groups == 2 and not cut.any() and is_zero_one(matrix):
        kernels.count_csc_zero_one(matrix.indptr, matrix.indices, matrix.data, codes, ones)
        return ones, None
    missing = np.zeros_like(ones)
    stored = np.zeros_like(ones)
    count = kernels.count_csc if matrix.format == "csc" else kernels.count_csr
    infinite = count(matrix.indptr, matrix.indices, matrix.data, codes, cut, ones, stored, missing)
    if infinite >= 0:
        column = int(infinite)
        check_finite(matrix[:, [column]].toarray(), describe, first_row, describe.first + column)
    rows = np.bincount(codes, minlength=n_groups)[:, None]
    ones += np.where(cut < 0, rows - stored, 0)
    return ones, (missing if missing.any() else None)
