"""Columns whose kind the user has named: read as that, or refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np
import pyarrow as pa

from honestbayes.data.kinds import KINDS, Kind
from honestbayes.tables.columns import MAX_LEVELS, Column
from honestbayes.tables.conversion import floats, is_number, levels_and_codes, to_numbers, to_text
from honestbayes.tables.errors import InputError, shown
from honestbayes.tables.places import Places

OPTIONS = {"categorical": "--categorical", "real": "--measured", "binary": "--flags"}
"""The option that names each kind."""


def check_kinds(
    kinds: Mapping[str, Kind], columns: Collection[str], taken: Collection[str]
) -> None:
    """Refuse kinds that are none, or of columns that are not features."""
    for name, kind in kinds.items():
        if kind not in KINDS:
            msg = f"kinds holds {kind!r} for column {shown(name)}; give one of {KINDS}."
            raise InputError(msg)
        if name in taken:
            msg = (
                f"column {shown(name)} is given a kind ({OPTIONS[kind]}), but is no feature: it is "
                "the target, ignored, or names groups or rows; choose one."
            )
            raise InputError(msg)
        if name not in columns:
            msg = f"there is no column {shown(name)} to be given a kind with {OPTIONS[kind]}."
            raise InputError(msg)


def decided_table(
    table: pa.Table,
    kinds: Mapping[str, Kind],
    decimal_of: Callable[[str], str],
    places: Places,
) -> pa.Table:
    """Return the table with measurements as numbers and categories as text."""
    for name, kind in kinds.items():
        place = table.column_names.index(name)
        column = table[name]
        if kind == "categorical":
            changed = to_text(column, name)
        elif kind == "real":
            values = to_numbers(column, name, decimal=decimal_of(name), places=places)
            changed = pa.chunked_array([pa.array(values, from_pandas=True)])
        else:
            changed = column
        table = table.set_column(place, name, changed)
    return table


def decided_column(column: pa.ChunkedArray, name: str, kind: Kind) -> Column:
    """Return what a column is that the user has decided on; refuse what it cannot be."""
    if column.null_count == len(column):
        return Column(name, "left out", "no values")
    if kind == "real":
        return Column(name, "real")
    most = 2 if kind == "binary" else MAX_LEVELS
    if is_number(column.type):  # flags
        values = floats(column)
        n_levels = np.unique(values[~np.isnan(values)]).size
        levels: tuple[str, ...] = ()
    else:
        words, _ = levels_and_codes(column, name)
        n_levels, levels = len(words), tuple(sorted(words.to_pylist()))
    if n_levels > most:
        what = "a flag" if kind == "binary" else "a category"
        msg = (
            f"column {shown(name)} has {n_levels:,} different values, and {what} has {most} at "
            f"most; give no {OPTIONS[kind]} for it, or merge some."
        )
        raise InputError(msg)
    if levels and n_levels == 1:
        return Column(name, "left out", f"one value only: {shown(levels[0])}")
    return Column(name, "binary" if n_levels <= 2 else "categorical", levels=levels)
