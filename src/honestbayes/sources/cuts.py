"""Measurements among columns of levels: cut into bins, whose numbers are their levels.

Bounds are those of `sources.coding`, as `DiscreteNB` has them: learned from training rows without
their classes. A column is a measurement where the user says so, or where it holds numbers that no
level can be, negative ones or fractions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain
from honestbayes.files.fields import Known
from honestbayes.sources.coding import bin_bounds
from honestbayes.sources.columns import Columns, as_columns, column_cells
from honestbayes.sources.kinds import named_kinds
from honestbayes.types import AnyArray, FloatArray, IntArray

_MOST_BOUNDS = 10**6


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """How some columns are cut.

    Attributes
    ----------
    bounds : tuple of ndarray or None
        Of each column the upper bounds of all bins but the last, ascending; None where cells are
        levels as they are.
    """

    bounds: tuple[FloatArray | None, ...]

    def take(self, columns: IntArray) -> Cuts:
        """Return the cuts of some of the columns."""
        return Cuts(tuple(self.bounds[column] for column in columns))

    def of(self, X: Any) -> Any:
        """Return a table with these columns, measurements as the numbers of their bins from 0."""
        if all(bounds is None for bounds in self.bounds):
            return X
        columns = as_columns(X)

        def get(place: int) -> AnyArray:
            bounds = self.bounds[place]
            if bounds is None:
                return columns.get(place)
            values = measurements(columns, place)
            numbers = np.searchsorted(bounds, values, side="left").astype(float)
            numbers[np.isnan(values)] = np.nan
            return numbers

        return replace(columns, get=get, numbers=None)

    def words(self, place: int) -> tuple[str, ...] | None:
        """Return what the bins of a column are called; None where it has none."""
        bounds = self.bounds[place]
        if bounds is None:
            return None
        if bounds.size == 0:
            return ("any value",)
        inner = [f"{low:.4g} to {high:.4g}" for low, high in pairwise(bounds.tolist())]
        return (f"up to {bounds[0]:.4g}", *inner, f"above {bounds[-1]:.4g}")

    def to_plain(self) -> Plain:
        """Return which columns are cut, and the bounds of all of them one after the other."""
        cut = [bounds for bounds in self.bounds if bounds is not None]
        return {}, {
            "is_cut": np.array([bounds is not None for bounds in self.bounds], dtype=bool),
            "size": np.array([bounds.size for bounds in cut], dtype=np.int64),
            "bound": np.concatenate([np.zeros(0), *cut]),
        }

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> Cuts:
        """Return the cuts of ``known["n_columns"]`` columns; refuse what cannot be cuts."""
        is_cut = entries.mask("is_cut", (known["n_columns"],))
        size = entries.counts("size", (int(is_cut.sum()),), _MOST_BOUNDS)
        bound = entries.finite("bound", (int(size.sum()),))
        parts = iter(np.split(bound, np.cumsum(size)[:-1]) if size.size else [])
        bounds = tuple(next(parts).copy() if cut else None for cut in is_cut.tolist())
        good = all(np.all(np.diff(part) > 0) for part in bounds if part is not None)
        entries.check(good, "bound", "is not in ascending order")
        return cls(bounds)


def measured_columns(columns: Columns, kinds: Any = None) -> IntArray:
    """Return which columns are measurements.

    Parameters
    ----------
    columns : Columns
        A training table.
    kinds : mapping or sequence, optional
        Kinds that the user has named, as in `find_kinds`: what is "real" is cut, and what is
        "categorical" is not.
    """
    named = named_kinds(kinds, columns.feature_names, columns.n_columns)
    found = [
        place
        for place in range(columns.n_columns)
        if named.get(place) == "real"
        or (named.get(place) != "categorical" and _holds_no_levels(columns, place))
    ]
    return np.array(found, dtype=np.int64)


def learn_cuts(columns: Columns, measured: IntArray, rows: IntArray, n_bins: int) -> Cuts:
    """Learn the bounds of measurements from some rows; there are at most ``n_bins`` bins."""
    bounds: list[FloatArray | None] = [None] * columns.n_columns
    for place in measured.tolist():
        values = measurements(columns, place)[rows]
        present = values[~np.isnan(values)]
        some = bin_bounds(present, np.ones(present.size), n_bins) if present.size else present
        bounds[place] = some
    return Cuts(tuple(bounds))


def measurements(columns: Columns, place: int) -> FloatArray:
    """Return the numbers of a column, NaN where they are missing; refuse texts."""
    values, missing = column_cells(columns.get(place), columns.name(place), any_number=True)
    if missing.all():
        return np.full(missing.size, np.nan)
    if values.dtype.kind == "O":
        msg = f"{columns.name(place)} holds texts, but is a measurement."
        raise ValueError(msg)
    return values


def _holds_no_levels(columns: Columns, place: int) -> bool:
    """Whether a column holds finite numbers that no level can be, and no frame calls it levels."""
    values = columns.get(place)
    if columns.is_category(place) or values.dtype.kind in "bUS":
        return False
    if values.dtype.kind == "O":
        values, _ = column_cells(values, columns.name(place), any_number=True)
        if values.dtype.kind == "O":
            return False
    with np.errstate(invalid="ignore"):
        odd = (values < 0) | (values != np.rint(values))
    return bool(np.any(odd & np.isfinite(values)))
