"""What a training table holds, found quickly however wide it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from honestbayes.screening.kinds import kinds_and_missing_cells, kinds_of_source
from honestbayes.sources.columns import as_columns
from honestbayes.sources.kinds import Kind, find_kinds, kinds_of_columns
from honestbayes.sources.source import DenseSource
from honestbayes.types import AnyArray


def kinds_and_missing(X: Any, given: Any) -> tuple[tuple[Kind, ...], bool]:
    """Return the kind of each column, and whether any cell is missing.

    As `find_kinds`; wide arrays of numbers are looked at as a whole, sources block by block in one
    pass, and the columns of a sparse matrix are flags where all of its cells are 0 or 1, else
    measurements.
    """
    if hasattr(X, "indptr"):
        flags = bool(np.isin(X.data, (0, 1)).all())
        kinds: tuple[Kind, ...] = ("binary" if flags else "real",) * X.shape[1]
        return (kinds if given is None else find_kinds(X, given)), bool(np.isnan(X.data).any())
    if hasattr(X, "blocks"):
        kinds, missing = kinds_and_missing_cells(X)
        return (kinds if given is None else kinds_of_source(X, given)), missing
    columns = as_columns(X)
    if columns.numbers is not None and given is None:
        return kinds_and_missing_cells(DenseSource(columns.numbers))
    found = kinds_of_columns(columns, given)
    if columns.numbers is not None:
        return found, _misses(columns.numbers)
    cells = (columns.get(place) for place in range(columns.n_columns))
    return found, any(_misses(values) for values in cells)


def _misses(values: AnyArray) -> bool:
    if values.dtype.kind in "OUS":
        return any(value is None or value != value for value in values.tolist())
    return values.dtype.kind == "f" and bool(np.isnan(values).any())
