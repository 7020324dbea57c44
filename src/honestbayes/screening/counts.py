"""The record of a screening: exact counts of each feature in each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.screening.joining import (
    add_class_counts,
    check_columns,
    check_rows,
    join_names,
    join_observed,
)
from honestbayes.sources.binarization import Binarization
from honestbayes.types import AnyArray, FloatArray, IntArray


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
    >>> from honestbayes import screen
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
        """Return the screening of 0/1 features that were counted elsewhere, by SQL or Spark, say.

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
        >>> from honestbayes import Screening, SelectiveBernoulliNB
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
            msg = f"class_counts={cases.tolist()} must be of two classes with a case each."
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
        """Return the screening of these rows and more, which must not be among them.

        Parameters
        ----------
        X : table of shape (m, p)
            The next rows, of the same columns; cut where the first ones were.
        y : array-like of shape (m,)
            Their classes; a class may be missing among them.

        Examples
        --------
        >>> import numpy as np
        >>> from honestbayes import screen
        >>> chunks = [(np.eye(3, dtype=int), [0, 1, 1]), (np.ones((2, 3), dtype=int), [0, 0])]
        >>> counts = screen(*chunks[0])
        >>> for X, y in chunks[1:]:
        ...     counts = counts.update(X, y)
        >>> counts.class_counts, counts.ones.tolist()
        ((3, 2), [[3, 2, 2], [0, 1, 1]])
        """
        from honestbayes.screening.counting import screen

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
    found = np.asarray(values)
    if found.shape != shape:
        msg = f"{name} has shape {found.shape}; give whole numbers of shape {shape}."
        raise ValueError(msg)
    good = found.dtype.kind in "iuf" and np.isfinite(found).all() and (found >= 0).all()
    if not good or (found != np.floor(found)).any():
        msg = f"{name} must hold whole numbers from 0 on."
        raise ValueError(msg)
    return found.astype(np.int64)


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
