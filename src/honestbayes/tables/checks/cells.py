"""Cells that are not what their column is: text among numbers, numbers that mean "missing"."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from honestbayes.tables.checks.finding import Finding, Way
from honestbayes.tables.checks.levels import Levels
from honestbayes.tables.columns import FEW_LEVELS, MAX_LEVELS, NUMBER_SHARE, is_identifier_name
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

MOST_UNITS = 5
"""Different units of one column, at most: more are the words of texts that begin with a number."""

_MOST_WORDS = 2_000  # different texts that are looked at one by one

_DRESSED = re.compile(
    r"(?P<before>[$€£¥₹<>~≈≤≥=±+-]*|eur|usd|gbp|chf|[cr]s\.?)\s*"
    r"(?P<number>\d{1,3}(?:[.,' \u00a0]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?|[.,]\d+)(?:e[+-]?\d+)?"
    r"(?P<blank>\s*)(?P<after>.*)",
    re.IGNORECASE,
)
"""A number between a sign or currency and a unit. Other letters before a number, as in "stage 2" or
"S001", name a category or a row."""

_NO_UNIT = re.compile(
    r"[-–_:#&;|\\].*|(to|or|and|bis)\b.*|[a-z]\d.*|(st|nd|rd|th)\b.*|.{21,}", re.IGNORECASE
)
"""What follows the first number of a range (10-19), a code (12p13, 17_T), a date or a rank."""


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


def numbers_with_units(levels: Levels, decimal: str, places: Places) -> Iterator[Finding]:
    """Find a column of numbers with units, currencies, marks of thousands or a second number.

    There are as many different numbers as measurements have, and few units: texts that begin with
    a number, such as addresses, have as many endings as numbers. Letters before a number, ranges
    and codes are left alone.
    """
    name = levels.name
    if levels.values is not None or is_identifier_name(name):
        return
    texts = levels.words[:_MOST_WORDS]
    words = pa.array(texts, pa.string())
    plain = np.asarray(number_cells(words, decimal), dtype=bool)
    if (np.asarray(code_cells(words), dtype=bool) & plain).any():
        return
    rows = levels.rows[: len(texts)]
    units = [
        None if is_plain else _unit_of(text) for text, is_plain in zip(texts, plain, strict=True)
    ]
    dressed = np.array([unit is not None for unit in units], dtype=bool)
    numbers = plain | dressed
    n_numbers, n_rows = int(numbers.sum()), int(rows[numbers].sum())
    meant = n_numbers >= ENOUGH_NUMBERS and (n_numbers > FEW_LEVELS or 2 * n_numbers > n_rows)
    few_others = int((~numbers).sum()) <= FEW_TEXTS
    if not meant or not dressed.any() or not few_others or n_rows < NUMBERS * rows.sum():
        return
    found = {unit for unit in units if unit is not None}
    letters = [unit for unit in found if len(unit) == 1 and unit.isalpha()]
    if len(found) > MOST_UNITS or (len(letters) > 1 and not any("." in text for text in texts)):
        return  # 12A, 12B and 13A are names
    cell = int(
        np.flatnonzero(
            (levels.codes >= 0) & np.append(dressed, False)[np.minimum(levels.codes, len(texts))]
        )[0]
    )
    what, fix = "numbers with a unit", "write numbers alone, without the unit"
    if found == {""}:
        what, fix = "numbers with marks of thousands", "write them without these marks"
    elif any("#" in unit for unit in found):
        what, fix = "several numbers in a cell", "give each number a column of its own"
    ways = [Way("ignore", name)]
    if levels.n_values <= MAX_LEVELS:
        ways.append(Way("categorical", name, "if these are categories"))
    yield Finding(
        name,
        "numbers with units",
        f"{shown(name)} holds {what}, such as {shown(levels.words[levels.codes[cell]])} in "
        f"{places.named(cell)}, which are not read as numbers; {fix}, or give",
        tuple(ways),
        stops=True,
    )


def _unit_of(text: str) -> str | None:
    """Return what stands around a number, other numbers as #; None where that is no unit.

    >>> _unit_of("28.1 mg"), _unit_of("$1,200"), _unit_of("120/80"), _unit_of("1.234,56")
    ('mg', '$', '/#', '')
    >>> _unit_of("10-19"), _unit_of("stage 2"), _unit_of("S001"), _unit_of("12p13")
    (None, None, None, None)
    """
    match = _DRESSED.fullmatch(text)
    if match is None or match["number"].startswith("00"):
        return None
    after = match["after"]
    if _NO_UNIT.fullmatch(after):
        return None
    unit = re.sub(r"[\d.,]*\d", "#", after)
    sign = match["before"].lstrip("<>~≈≤≥=±+-")
    return f"{sign}{unit}".casefold().rstrip(".")


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
