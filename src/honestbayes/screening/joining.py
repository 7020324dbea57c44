"""What statistics by class have in common when they are merged: checks, names, observed cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from honestbayes.types import AnyArray, IntArray


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
