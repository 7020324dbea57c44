"""Codes of categorical columns: categories, and the role of missing cells."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.base.part import Describe
from honestbayes.data.categories import MISSING, CategoryTable, Levels, encode_columns
from honestbayes.data.kinds import as_columns, column_cells, number_text
from honestbayes.files.fields import Entries, Flag, Known, Plain, Section, joined
from honestbayes.types import AnyArray, BoolArray, IntArray

Verbs = tuple[str, str]
"""What a message says of one cell, and of several."""

TAKEN_FOR_MISSING: Verbs = ("is taken for missing", "are taken for missing")


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """The coding of some columns.

    Attributes
    ----------
    levels : Levels
        Categories of the columns.
    missing_is_level : bool
        Whether a missing cell is a category of its own, after all others.
    """

    levels: Levels
    missing_is_level: bool

    @property
    def n_levels(self) -> IntArray:
        """Number of codes of each column."""
        return np.asarray(self.levels.n_levels + self.missing_is_level)

    def of_training(self, codes: AnyArray) -> AnyArray:
        """Return the codes of training cells, where missing ones are -1."""
        if self.missing_is_level:
            return np.where(codes == MISSING, self.levels.n_levels, codes)
        return codes

    def read(self, X: Any, describe: Describe, unknown_are: Verbs) -> IntArray:
        """Return the codes of a table; unknown categories are -1, as missing cells, with a warning.

        Parameters
        ----------
        X : table of shape (n, k)
            With these columns.
        describe : callable
            Given an index, the name of the column.
        unknown_are : tuple of str
            What the warning says of one such cell, and of several.
        """
        codes, unknown = encode_columns(X, self.levels, describe)
        if unknown:
            position, value, _ = unknown[0]
            total = sum(number for _, _, number in unknown)
            cells = f"1 cell {unknown_are[0]}" if total == 1 else f"{total} cells {unknown_are[1]}"
            shown = repr(value) if isinstance(value, str) else number_text(value)
            warnings.warn(
                f"{cells}: levels not seen in fit, such as {shown} in {describe(position)}.",
                UserWarning,
                stacklevel=6,
            )
        if self.missing_is_level:
            is_missing, columns = codes == MISSING, as_columns(X)
            for index, _, _ in unknown:  # an unknown category is not a missing cell
                cells_of = columns.get(index), columns.name(index)
                is_missing[:, index] &= column_cells(*cells_of, any_number=True)[1]
            codes = np.where(is_missing, self.levels.n_levels, codes)
        return codes

    def without_new_missing(self, codes: AnyArray, seen: BoolArray) -> AnyArray:
        """Return codes in which a missing cell is -1 where its column had none in training.

        Parameters
        ----------
        codes : ndarray of int of shape (n, k)
            From `read` or `of_training`.
        seen : ndarray of bool of shape (sum of n_levels,)
            Whether training rows have each level, those of all columns one after the other.
        """
        if not self.missing_is_level or not self.n_levels.size:
            return codes
        new = ~seen[np.cumsum(self.n_levels) - 1]
        return np.where(new & (codes == self.levels.n_levels), MISSING, codes)

    def to_plain(self) -> Plain:
        """Return levels, and what a missing cell is."""
        content = {"missing_is_level": self.missing_is_level}
        return joined((content, {}), levels=self.levels.to_plain())

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> Codes:
        """Return the codes of ``known["n_columns"]`` columns."""
        levels = Section(kind=Levels).read(entries, "levels", known)
        return cls(levels, Flag().read(entries, "missing_is_level", known))


def check_missing(table: CategoryTable, why: str, *, missing_is_level: bool) -> None:
    """Refuse missing training cells, unless they are a category; the message says why."""
    columns = np.flatnonzero(np.any(table.codes == MISSING, axis=0)).tolist()
    if columns and not missing_is_level:
        names = table.feature_names
        shown = ", ".join(str(j) if names is None else repr(names[j]) for j in columns[:5])
        more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
        what = "column" if len(columns) == 1 else "columns"
        msg = (
            f"X contains NaN: cells are missing in {what} {shown}{more}. {why}; fill them in, or "
            "make missing a level of its own by missing='level'."
        )
        raise ValueError(msg)
