"""Class means and sums of squares of every real-valued feature, in one pass over the columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from honestbayes.sources.binarization import check_finite
from honestbayes.sources.source import Source
from honestbayes.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """What selection and the Gaussian model need to know of each feature.

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
    """

    classes: AnyArray
    class_counts: tuple[int, ...]
    observed: IntArray
    mean: FloatArray
    within: FloatArray
    feature_names: tuple[str, ...] | None = None

    @property
    def n_features(self) -> int:
        """Number of screened features."""
        return int(self.within.size)

    def r_squared(self) -> FloatArray:
        """Share of each feature's sum of squares between classes; 0 where it cannot be judged.

        For two classes the squared correlation with the class; the F statistic is
        (n - C) / (C - 1) r2 / (1 - r2).
        """
        # In units of the column itself, so that squares neither overflow nor vanish.
        unit = np.maximum(np.abs(self.mean).max(axis=0), np.sqrt(self.within))
        unit = np.where(unit > 0, unit, 1.0)
        total = self.observed.sum(axis=0)
        mean = self.mean / unit
        centre = (self.observed * mean).sum(axis=0) / np.maximum(total, 1)
        between = (self.observed * (mean - centre) ** 2).sum(axis=0)
        within = (np.sqrt(self.within) / unit) ** 2
        # What rounding leaves of a constant column is no signal; nor is what differs between
        # classes of a feature with no more cases than classes, which leaves nothing within.
        present = (self.observed > 0).sum(axis=0)
        real = (between + within > 1e-24 * total) & (present >= 2) & (total > present)
        return np.where(real, between / np.where(real, between + within, 1.0), 0.0)

    def take(self, columns: IntArray) -> Moments:
        """Return the moments of some of the features."""
        single = self.observed.shape[1] == 1
        names = self.feature_names
        return Moments(
            self.classes,
            self.class_counts,
            self.observed if single else np.ascontiguousarray(self.observed[:, columns]),
            np.ascontiguousarray(self.mean[:, columns]),
            self.within[columns],
            None if names is None else tuple(names[column] for column in columns),
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
    n, p = source.shape
    n_classes = len(classes)
    counts = np.bincount(codes, minlength=n_classes)
    rows = [np.flatnonzero(codes == label) for label in range(n_classes)]
    mean, within = np.empty((n_classes, p)), np.zeros(p)
    observed = np.repeat(counts[:, None], p, axis=1)
    names = source.feature_names

    def describe(position: int) -> str:
        return f"column {position}" if names is None else f"column {names[position]!r}"

    for block in source.blocks():
        if block.values.shape[0] != n:
            values = source.take(np.arange(block.columns.start, block.columns.stop))
        else:
            values = block.values.toarray() if hasattr(block.values, "indptr") else block.values
        if values.dtype.kind == "f":
            start = block.columns.start
            check_finite(values, lambda column, start=start: describe(start + column))
        for label in range(n_classes):
            part = np.asarray(values[rows[label]], dtype=np.float64)
            known = part == part
            if known.all():
                centre = part.mean(axis=0) if part.size else np.zeros(part.shape[1])
                part -= centre
            else:
                cases = known.sum(axis=0)
                centre = np.where(known, part, 0.0).sum(axis=0) / np.maximum(cases, 1)
                part = np.where(known, part - centre, 0.0)
                observed[label, block.columns] = cases
            mean[label, block.columns] = centre
            within[block.columns] += np.einsum("ij,ij->j", part, part)
    check_squares(within, describe)
    complete = bool(np.all(observed == counts[:, None]))
    return Moments(
        classes,
        tuple(int(count) for count in counts),
        counts[:, None] if complete else observed,
        mean,
        within,
        names,
    )
