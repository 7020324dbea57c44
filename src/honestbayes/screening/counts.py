"""The record of a screening: exact counts of each feature in each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    """

    classes: AnyArray
    class_counts: tuple[int, int]
    ones: IntArray
    observed: IntArray
    binarization: Binarization
    feature_names: tuple[str, ...] | None = None

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

    def merge_rows(self, other: Screening) -> Screening:
        """Return the screening of both sets of rows, which must not share any."""
        self._check_same(other, "rows")
        if self.n_features != other.n_features or self.feature_names != other.feature_names:
            msg = "screenings of disjoint rows must have the same columns."
            raise ValueError(msg)
        if not self.binarization.equals(other.binarization):
            msg = (
                "the two screenings cut the columns at different values; screen the second one "
                "with binarize=first.binarization."
            )
            raise ValueError(msg)
        return self._with(
            counts=(
                self.class_counts[0] + other.class_counts[0],
                self.class_counts[1] + other.class_counts[1],
            ),
            ones=self.ones + other.ones,
            observed=self.observed + other.observed,
        )

    def merge_columns(self, other: Screening) -> Screening:
        """Return the screening of both sets of columns, in this order."""
        self._check_same(other, "columns")
        if self.class_counts != other.class_counts:
            msg = "screenings of disjoint columns must have the same numbers of cases per class."
            raise ValueError(msg)
        if (self.feature_names is None) != (other.feature_names is None):
            msg = "either both screenings name their columns or neither does."
            raise ValueError(msg)
        names = None
        if self.feature_names is not None and other.feature_names is not None:
            names = self.feature_names + other.feature_names
            if len(set(names)) < len(names):
                msg = "the two screenings share a column name; the columns must be disjoint."
                raise ValueError(msg)
        both_single = self.observed.shape[1] == other.observed.shape[1] == 1
        single = both_single and np.array_equal(self.observed, other.observed)
        return Screening(
            self.classes,
            self.class_counts,
            np.concatenate([self.ones, other.ones], axis=1),
            self.observed
            if single
            else np.concatenate([self.observed_full(), other.observed_full()], axis=1),
            self.binarization.join(other.binarization),
            names,
        )

    def observed_full(self) -> IntArray:
        """Observed cases per class and feature, shape (2, p)."""
        return np.broadcast_to(self.observed, self.ones.shape)

    def without(self, part: Screening) -> Screening:
        """Return the screening without some of its rows, whose screening is given."""
        return self._with(
            counts=(
                self.class_counts[0] - part.class_counts[0],
                self.class_counts[1] - part.class_counts[1],
            ),
            ones=self.ones - part.ones,
            observed=self.observed - part.observed,
        )

    def _with(self, counts: tuple[int, int], ones: IntArray, observed: IntArray) -> Screening:
        return Screening(
            self.classes, counts, ones, observed, self.binarization, self.feature_names
        )

    def _check_same(self, other: Screening, what: str) -> None:
        if not np.array_equal(self.classes, other.classes):
            msg = (
                f"screenings of disjoint {what} must have the same classes; got "
                f"{list(self.classes)} and {list(other.classes)}."
            )
            raise ValueError(msg)


def correlation(ones: IntArray, observed: IntArray) -> FloatArray:
    """Sample correlation with the class from counts of shape (2, p); 0 for a constant feature."""
    i0, i1 = ones[0].astype(float), ones[1].astype(float)
    n0, n1 = observed[0].astype(float), observed[1].astype(float)
    s = i0 + i1
    spread = n0 * n1 * s * (n0 + n1 - s)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (n0 * i1 - n1 * i0) / np.sqrt(spread)
    return np.where(spread > 0, r, 0.0)
