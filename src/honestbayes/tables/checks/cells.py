"""Cells that are not what their column is: text among numbers, numbers that mean "missing"."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from honestbayes.tables.checks.finding import Finding, Way
from honestbayes.tables.checks.levels import Levels
from honestbayes.tables.columns import FEW_LEVELS, NUMBER_SHARE
from honestbayes.tables.conversion import code_cells, number_cells, number_text
from honestbayes.tables.errors import listed, shown
from honestbayes.tables.places import Places
from honestbayes.types import IntArray

NUMBERS = 0.5
"""Share of numbers from which on a text column with few other texts was meant to hold numbers."""

FEW_TEXTS = 10
"""Different texts among the numbers, at most: more of them are codes that may look like numbers."""

ENOUGH_NUMBERS = 5
"""Different numbers, at least: fewer may be the names of categories."""

_SENTINEL = re.compile(r"-?(9{1,6}|8{2,6}|7{2,6})|-1")
"""Numbers by which people write that something is missing: 999, -9, 88."""

_REST = 3
"""Other numbers that a column must have for one to stand apart."""


def stray_cells(levels: Levels, decimal: str, places: Places) -> Iterator[Finding]:
    """Find a column that is nearly all numbers, but for some cells."""
    if levels.values is not None:
        return
    words = pa.array(levels.words, pa.string())
    good = np.asarray(number_cells(words, decimal), dtype=bool)
    codes = np.asarray(code_cells(words), dtype=bool)
    rows = levels.rows
    n_numbers, n_texts = int(good.sum()), int((~good).sum())
    share = rows[good].sum() / max(1, rows.sum())
    meant = n_numbers >= ENOUGH_NUMBERS and (
        n_numbers > FEW_LEVELS or 2 * n_numbers > rows[good].sum()
    )
    other = number_cells(words, "," if decimal == "." else ".")
    if np.any(np.asarray(other, dtype=bool) & ~good):  # said by `other_marks`
        return
    if not meant or (codes & good).any() or share < NUMBERS or not 0 < n_texts <= FEW_TEXTS:
        return
    yield _stray(levels, ~good, places)


def _stray(levels: Levels, stray: IntArray, places: Places) -> Finding:
    cells = np.flatnonzero((levels.codes >= 0) & stray[levels.codes])
    texts = list(dict.fromkeys(levels.words[levels.codes[cell]] for cell in cells))
    where = places.named(*cells[:3].tolist())
    more = f" and {cells.size - 3:,} more" if cells.size > 3 else ""
    some = [text for text in texts if "," not in text]
    name = levels.name
    ways = [Way("missing", ",".join(some), "if they are missing values")] if some else []
    return Finding(
        name,
        "stray cells",
        f"{shown(name)} holds numbers, but also {listed(texts)} ({where}{more}); "
        "correct the cells, or give",
        (*ways, Way("categorical", name), Way("ignore", name)),
        stops=True,
    )


def other_marks(levels: Levels, decimal: str, places: Places) -> Iterator[Finding]:
    """Find a column of numbers with the mark that is none here: 1,234 in a file with points."""
    if levels.values is not None:
        return
    words = pa.array(levels.words, pa.string())
    other = "," if decimal == "." else "."
    own = np.asarray(number_cells(words, decimal), dtype=bool)
    strange = np.asarray(number_cells(words, other), dtype=bool) & ~own
    rows = levels.rows
    n_numbers = int((own | strange).sum())
    if n_numbers < ENOUGH_NUMBERS or rows[own | strange].sum() < NUMBER_SHARE * rows.sum():
        return
    cells = np.flatnonzero((levels.codes >= 0) & strange[levels.codes])
    if cells.size == 0:
        return
    name, text = levels.name, levels.words[levels.codes[cells[0]]]
    yield Finding(
        name,
        "decimal marks",
        f"{shown(name)} holds {shown(text)} in {places.named(int(cells[0]))}, which is a number "
        f"only if {shown(other)} is a decimal mark there; write thousands without a mark, or give",
        (Way("decimal", other, "if it is"), Way("categorical", name), Way("ignore", name)),
        stops=True,
    )


def sentinels(levels: Levels) -> Iterator[Finding]:
    """Find a number such as 999 that is repeated and stands apart from the rest."""
    values = levels.values
    if values is None or values.size <= _REST:
        return
    for end, rest in ((-1, values[:-1]), (0, values[1:])):
        value = float(values[end])
        gap = abs(value - float(rest[end]))
        n_rows = int(levels.rows[end])
        if n_rows < 2 or gap <= np.ptp(rest) or not _SENTINEL.fullmatch(number_text(value)):
            continue
        word, name = number_text(value), levels.name
        yield Finding(
            name,
            "sentinels",
            f"column {shown(name)} holds {word} in {n_rows:,} rows, far from its other values "
            f"({number_text(float(rest[0]))} to {number_text(float(rest[-1]))}); if that stands "
            "for a missing value, give",
            (Way("missing", word),),
            stops=False,
        )
