"""Checks of a table that run before anything is fitted.

Each rule looks at one column, or at the rows, and yields a `Finding`: a sentence, the options that
decide, and whether the report stops until the user has decided. `find_in_columns` and
`find_in_rows` apply all rules. The page docs/checks.rst describes them.
"""

from __future__ import annotations

import hashlib
import math
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.special import gammaln, logsumexp, xlogy
from scipy.stats import binom, chi2

from honestbayes.data.labels import spellings
from honestbayes.tables.columns import (
    FEW_LEVELS,
    IDENTIFIER_FILL,
    IDENTIFIER_ROWS,
    MAX_LEVELS,
    NUMBER_SHARE,
    Column,
    ColumnKind,
    is_identifier_name,
)
from honestbayes.tables.conversion import (
    code_cells,
    floats,
    is_number,
    is_text,
    levels_and_codes,
    number_cells,
    number_text,
)
from honestbayes.tables.errors import MAX_SHOWN, RowLocations, listed, shown
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Findings, and the options that decide
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Remedy:
    """An option that decides.

    Attributes
    ----------
    option : str
        Its name, as in Python; with dashes on the command line.
    value : str
        What it is given; empty for a switch.
    when : str
        In which case it is the right one; empty where that is plain.
    """

    option: str
    value: str
    when: str = ""

    def in_command(self) -> str:
        """Return the option as typed on the command line."""
        text = f"--{self.option.replace('_', '-')}"
        if self.value:
            text += f" {_typed(self.value)}"
        return f"{text} {self.when}" if self.when else text

    def in_python(self) -> str:
        """Return the option as a Python argument."""
        value = shown(self.value)
        if self.option in _KINDS:
            text = f"kinds={{{value}: {_KINDS[self.option]!r}}}"
        elif self.option in ("keep", "ignore"):
            text = f"{self.option}=[{value}]"
        elif self.option == "missing_label":
            text = f"missing_labels=[{value}]"
        elif self.option == "missing":
            text = f"missing={self.value.split(',')!r}"
        else:
            text = f"{self.option}={value if self.value else True}"
        return f"{text} {self.when}" if self.when else text


_KINDS = {"categorical": "categorical", "measured": "real", "flags": "binary"}


@dataclass(frozen=True, slots=True)
class Finding:
    """A doubtful property of a table, with the options that resolve it.

    Attributes
    ----------
    column : str
        Where; empty for the table as a whole.
    rule : str
        Its name on the page of rules.
    sentence : str
        What was found, without a full stop.
    remedies : tuple of Remedy
        Options that decide.
    stops : bool
        Whether no report is made before the user has decided.
    """

    column: str
    rule: str
    sentence: str
    remedies: tuple[Remedy, ...]
    stops: bool

    def in_command(self) -> str:
        """Return the finding for the command line."""
        return f"{self.sentence}: {_either([remedy.in_command() for remedy in self.remedies])}"

    def in_python(self) -> str:
        """Return the finding for Python."""
        return f"{self.sentence}: {_either([remedy.in_python() for remedy in self.remedies])}"

    def note(self) -> str:
        """Return the finding for the notes of a report."""
        text = self.in_command()
        return f"{text[0].upper()}{text[1:]}."


def _either(remedies: list[str]) -> str:
    return remedies[0] if len(remedies) == 1 else f"{', '.join(remedies[:-1])}, or {remedies[-1]}"


def _typed(value: str) -> str:
    return shlex.quote(value) if len(value) <= MAX_SHOWN and value.isprintable() else shown(value)


# --------------------------------------------------------------------------------------------------
# A column as the rules see it: its different values, and the classes of their rows
# --------------------------------------------------------------------------------------------------


LUCK = 1e-4
"""Probability, times the number of columns, below which something is not taken for luck."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnValues:
    """The different values of a column, and the classes of their rows.

    Attributes
    ----------
    column : Column
        What it is used as.
    values : ndarray of shape (L,), or None
        The different numbers, ascending; None for text.
    texts : tuple of str
        The different texts; empty for numbers.
    codes : ndarray of shape (n,)
        Index of each row's value; -1 where it is missing.
    y : ndarray of shape (n,)
        Class of each row.
    table : ndarray of shape (L, C)
        Rows of each value and class.
    class_counts : ndarray of shape (C,)
        Rows of each class in the whole table.
    n_columns : int
        Columns that are looked at: the more there are, the more luck is in the best of them.
    weight : float
        What a row counts where luck is judged: less than 1 where rows belong together.
    """

    column: Column
    values: FloatArray | None
    texts: tuple[str, ...]
    codes: IntArray
    y: IntArray
    table: IntArray
    class_counts: IntArray
    n_columns: int
    weight: float

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name

    @property
    def kind(self) -> ColumnKind:
        """Kind that the column is used as."""
        return self.column.kind

    @property
    def n_values(self) -> int:
        """Number of different values."""
        return int(self.table.shape[0])

    @property
    def n_observed(self) -> int:
        """Number of rows with a value."""
        return int(self.table.sum())

    @property
    def rows(self) -> IntArray:
        """Number of rows of each value, shape (L,)."""
        return np.asarray(self.table.sum(axis=1))

    @property
    def pure(self) -> IntArray:
        """Whether all rows of a value are of one class, shape (L,)."""
        return np.asarray(np.count_nonzero(self.table, axis=1) == 1)

    @property
    def n_mixed(self) -> int:
        """Number of rows whose value occurs in more than one class."""
        return int(self.rows[~self.pure].sum())

    def joined(self, other: ColumnValues) -> ColumnValues:
        """Return the pairs of values of two columns, where both have one."""
        both = (self.codes >= 0) & (other.codes >= 0)
        pairs = np.where(both, self.codes * other.n_values + other.codes, -1)
        different, inverse = np.unique(pairs[both], return_inverse=True)
        codes = np.full(pairs.size, -1, dtype=np.int64)
        codes[both] = inverse
        y, counts = self.y, self.class_counts
        texts = tuple(map(str, different.tolist()))
        return _with_classes(
            self.column, None, texts, codes, y, counts, self.n_columns, self.weight
        )

    @property
    def is_whole(self) -> bool:
        """Whether all are whole numbers."""
        return self.values is not None and bool(np.all(self.values == np.floor(self.values)))

    @property
    def is_even(self) -> bool:
        """Whether the column has cells in more than one class."""
        return int(np.count_nonzero(self.table.sum(axis=0))) > 1

    @property
    def n_changes(self) -> int:
        """Number of times that the most frequent class changes from a number to the next."""
        return int(np.count_nonzero(np.diff(self.table.argmax(axis=1))))

    @property
    def separates(self) -> bool:
        """Whether the numbers, in order, go through the classes one after the other."""
        present = int(np.count_nonzero(self.table.sum(axis=0)))
        return self.is_even and bool(self.pure.all()) and self.n_changes == present - 1

    def is_lucky(self) -> bool:
        """Whether so many values of one class could be luck among all columns.

        The rows of a value of ``m`` rows are of one class with probability sum of ``share ** m``
        over the classes; the values that are mixed could have been any of them.
        """
        shares = np.log(self.class_counts / self.class_counts.sum())
        rows = self.rows
        repeated = rows > 1
        chosen = repeated & self.pure
        apart = np.maximum(1, rows[chosen] * self.weight)
        alike = logsumexp(np.outer(apart, shares), axis=1).sum()
        n, k = int(repeated.sum()), int(chosen.sum())
        log_choices = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        return bool(alike + log_choices + math.log(self.n_columns) > math.log(LUCK))

    def explained(self) -> tuple[float, bool]:
        """Return the share of the class's entropy that the column explains, and if by luck.

        Text by its values; numbers by the best cut, or with more than two classes by twenty bins.
        Rows without a value explain nothing.
        """
        table = self.table
        if self.values is not None and self.n_values > 2:
            table = _cut(table) if table.shape[1] == 2 else _binned(table)
        share, lucky = self.explained_by(table)
        before = _entropy(self.table.sum(axis=0)[None, :])
        return share * before / _entropy(self.class_counts[None, :]), lucky

    def explained_by(self, table: IntArray) -> tuple[float, bool]:
        """Return the share of the class's entropy that a table explains, and if by luck.

        Parameters
        ----------
        table : ndarray of shape (parts, C)
            Rows of each part of the values, by class. Only rows with a value count.
        """
        before = _entropy(self.table.sum(axis=0)[None, :])
        gained = before - _entropy(table)
        lucky = gained * self.weight < math.log(self.n_values * self.n_columns) - math.log(LUCK)
        return gained / before if before > 0 else 0.0, lucky


def _entropy(table: IntArray) -> float:
    """Return the entropy of the class within the rows of a table, times the number of cases."""
    rows = table.sum(axis=1).astype(float)
    return float(np.sum(xlogy(rows, rows)) - np.sum(xlogy(table, table)))


def _cut(table: IntArray) -> IntArray:
    """Return the rows below and above the cut that separates two classes best."""
    below = np.cumsum(table, axis=0)[:-1].astype(float)
    above = table.sum(axis=0) - below
    inside = np.zeros(below.shape[0])
    for part in (below, above):
        inside += xlogy(part.sum(axis=1), part.sum(axis=1)) - xlogy(part, part).sum(axis=1)
    best = int(np.argmin(inside))
    return np.asarray([below[best], above[best]])


def _binned(table: IntArray) -> IntArray:
    """Return the rows of up to twenty bins with about as many rows each."""
    rows = table.sum(axis=1)
    n_bins = int(np.clip(rows.sum() // 10, 2, 20))
    bins = (np.cumsum(rows) - rows) * n_bins // rows.sum()
    result = np.zeros((n_bins, table.shape[1]), dtype=np.int64)
    np.add.at(result, bins, table)
    return result


def column_values(
    table: pa.Table,
    columns: tuple[Column, ...],
    y: IntArray,
    n_classes: int,
    weight: float,
    skip: Collection[str] = (),
) -> Iterator[ColumnValues]:
    """Yield the columns that hold text or numbers, one after the other, without some of them."""
    counts = np.bincount(y, minlength=n_classes)
    for column in columns:
        if column.name in skip:
            continue
        cells = table[column.name]
        if cells.null_count == len(cells):
            continue
        if is_number(cells.type):
            values, codes = _number_values(floats(cells))
            yield _with_classes(column, values, (), codes, y, counts, len(columns), weight)
        elif is_text(cells.type):
            texts, codes = levels_and_codes(cells, column.name)
            known = tuple(texts.to_pylist())
            yield _with_classes(column, None, known, codes, y, counts, len(columns), weight)


def _number_values(numbers: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the different numbers of a column, and the index of each cell's; -1: missing."""
    ones = numbers == 1
    if (ones | (numbers == 0)).all():  # most columns of wide tables; nothing to be sorted
        values = np.array([0.0, 1.0])[[not ones.all(), bool(ones.any())]]
        return values, ones.astype(np.int64) if values.size == 2 else np.zeros(ones.size, np.int64)
    observed = ~np.isnan(numbers)
    values, inverse = np.unique(numbers[observed], return_inverse=True)
    codes = np.full(numbers.size, -1, dtype=np.int64)
    codes[observed] = inverse
    return values, codes


def _with_classes(
    column: Column,
    values: FloatArray | None,
    texts: tuple[str, ...],
    codes: IntArray,
    y: IntArray,
    counts: IntArray,
    n_columns: int,
    weight: float,
) -> ColumnValues:
    """Count the rows of each value and class."""
    observed = codes >= 0
    size = len(texts) if values is None else values.size
    pairs = codes[observed] * counts.size + y[observed]
    table = np.bincount(pairs, minlength=size * counts.size).reshape(size, counts.size)
    return ColumnValues(column, values, texts, codes, y, table, counts, n_columns, weight)


# --------------------------------------------------------------------------------------------------
# Rules of cells: text among numbers, numbers that mean "missing"
# --------------------------------------------------------------------------------------------------


NUMBERS = 0.5
"""Share of numbers from which on a text column with few other texts was meant to hold numbers."""

FEW_TEXTS = 10
"""Different texts among the numbers, at most: more of them are codes that may look like numbers."""

ENOUGH_NUMBERS = 5
"""Different numbers, at least: fewer may be the names of categories."""

_SENTINEL = re.compile(r"-?(9{1,6}|8{2,6}|7{2,6})|-1")
"""Numbers by which people write that something is missing: 999, -9, 88."""

_REST = 2
"""Other numbers that a column must have for one to stand apart."""

MOST_UNITS = 5
"""Different units of one column, at most: more are the words of texts that begin with a number."""

_MOST_WORDS = 2_000  # different texts that are looked at one by one

_DRESSED = re.compile(
    r"(?P<before>[$€£¥₹<>~≈≤≥=±+\u2212(-]*|eur|usd|gbp|chf|[cr]s\.?|p(?=\d+[ymwd]$))\s*"
    r"(?P<number>\d{1,3}(?:[.,' \u00a0]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?|[.,]\d+)(?:e[+-]?\d+)?"
    r"(?P<blank>\s*)(?P<after>.*)",
    re.IGNORECASE,
)
"""A number between a sign or currency and a unit. Other letters before a number, as in "stage 2" or
"S001", name a category or a row."""

_NO_UNIT = re.compile(
    r"[-–_:#&;|\\].*|(to|or|and|bis)\b.*|[a-z]\d.*|(st|nd|rd|th)\b.*|.{21,}", re.IGNORECASE
)
"""Text after the first number of a range (10-19), a code (12p13, 17_T), a date or a rank."""


def stray_cells(column: ColumnValues, decimal: str, locations: RowLocations) -> Iterator[Finding]:
    """Find a column that is nearly all numbers, but for some cells."""
    if column.values is not None:
        return
    texts = pa.array(column.texts, pa.string())
    good = np.asarray(number_cells(texts, decimal), dtype=bool)
    codes = np.asarray(code_cells(texts), dtype=bool)
    rows = column.rows
    n_numbers, n_texts = int(good.sum()), int((~good).sum())
    share = rows[good].sum() / max(1, rows.sum())
    meant = n_numbers >= ENOUGH_NUMBERS and (
        n_numbers > FEW_LEVELS or 2 * n_numbers > rows[good].sum()
    )
    other = number_cells(texts, "," if decimal == "." else ".")
    if np.any(np.asarray(other, dtype=bool) & ~good):  # `other_marks` reports it
        return
    if not meant or (codes & good).any() or share < NUMBERS or not 0 < n_texts <= FEW_TEXTS:
        return
    yield _stray(column, ~good, locations)


def _stray(column: ColumnValues, stray: IntArray, locations: RowLocations) -> Finding:
    cells = np.flatnonzero((column.codes >= 0) & stray[column.codes])
    texts = list(dict.fromkeys(column.texts[column.codes[cell]] for cell in cells))
    where = locations.describe(*cells[:3].tolist())
    more = f" and {cells.size - 3:,} more" if cells.size > 3 else ""
    some = [text for text in texts if "," not in text]
    name = column.name
    remedies = [Remedy("missing", ",".join(some), "if they are missing values")] if some else []
    fix = "correct the cells"
    if all(text.startswith(("<", ">", "≤", "≥")) for text in texts):
        fix = "write the limit of detection as a number in these cells"
    return Finding(
        name,
        "stray cells",
        f"{shown(name)} holds numbers, but also {listed(texts)} ({where}{more}); {fix}, or use",
        (*remedies, Remedy("categorical", name), Remedy("ignore", name)),
        stops=True,
    )


def numbers_with_units(
    column: ColumnValues, decimal: str, locations: RowLocations
) -> Iterator[Finding]:
    """Find a column of numbers with units, currencies, marks of thousands or a second number.

    There are as many different numbers as continuous features have, and few units: texts that begin
    with a number, such as addresses, have as many endings as numbers. Letters before a number,
    ranges and codes are left alone.
    """
    name = column.name
    if column.values is not None or is_identifier_name(name):
        return
    texts = column.texts[:_MOST_WORDS]
    words = pa.array(texts, pa.string())
    plain = np.asarray(number_cells(words, decimal), dtype=bool)
    if (np.asarray(code_cells(words), dtype=bool) & plain).any():
        return
    rows = column.rows[: len(texts)]
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
    different = {unit for unit in units if unit is not None}
    letters = [unit for unit in different if len(unit) == 1 and unit.isalpha()]
    if len(different) > MOST_UNITS or (len(letters) > 1 and not any("." in text for text in texts)):
        return  # 12A, 12B and 13A are names
    cell = int(
        np.flatnonzero(
            (column.codes >= 0) & np.append(dressed, False)[np.minimum(column.codes, len(texts))]
        )[0]
    )
    what, fix = "numbers with a unit", "write the numbers without the unit"
    if different == {""} and not any(text.startswith("\u2212") for text in texts):
        what, fix = "numbers with thousands separators", "write them without separators"
    elif any(text.startswith(("(", "\u2212")) for text in texts) and different <= {"", ")", "()"}:
        what, fix = "negative numbers in another form", "write them with a hyphen as minus sign"
    elif any("#" in unit for unit in different):
        what, fix = "several numbers in a cell", "give each number a column of its own"
    remedies = [Remedy("ignore", name)]
    if column.n_values <= MAX_LEVELS:
        remedies.append(Remedy("categorical", name, "if these are categories"))
    yield Finding(
        name,
        "numbers with units",
        f"{shown(name)} holds {what}, such as {shown(column.texts[column.codes[cell]])} in "
        f"{locations.describe(cell)}, which are not read as numbers; {fix}, or use",
        tuple(remedies),
        stops=True,
    )


def _unit_of(text: str) -> str | None:
    """Return the text around a number, other numbers as #; None where that is no unit.

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
    sign = match["before"].lstrip("<>~≈≤≥=±+-\u2212(")
    return f"{sign}{unit}".casefold().rstrip(".")


def other_marks(column: ColumnValues, decimal: str, locations: RowLocations) -> Iterator[Finding]:
    """Find numbers with the other decimal mark, such as 1,234 in a file with points."""
    if column.values is not None:
        return
    texts = pa.array(column.texts, pa.string())
    other = "," if decimal == "." else "."
    own = np.asarray(number_cells(texts, decimal), dtype=bool)
    strange = np.asarray(number_cells(texts, other), dtype=bool) & ~own
    rows = column.rows
    n_numbers = int((own | strange).sum())
    if n_numbers < ENOUGH_NUMBERS or rows[own | strange].sum() < NUMBER_SHARE * rows.sum():
        return
    cells = np.flatnonzero((column.codes >= 0) & strange[column.codes])
    if cells.size == 0:
        return
    name, text = column.name, column.texts[column.codes[cells[0]]]
    yield Finding(
        name,
        "decimal marks",
        f"{shown(name)} holds {shown(text)} in {locations.describe(int(cells[0]))}, which is a "
        f"number only if {shown(other)} is a decimal mark; write thousands without separators, "
        "or use",
        (Remedy("decimal", other, "if it is"), Remedy("categorical", name), Remedy("ignore", name)),
        stops=True,
    )


def sentinels(column: ColumnValues) -> Iterator[Finding]:
    """Find a number such as 999 that is repeated and stands apart from the rest."""
    values = column.values
    if values is None or values.size <= _REST:
        return
    for end, rest in ((-1, values[:-1]), (0, values[1:])):
        value = float(values[end])
        gap = abs(value - float(rest[end]))
        n_rows = int(column.rows[end])
        if n_rows < 2 or gap <= np.ptp(rest) or not _SENTINEL.fullmatch(number_text(value)):
            continue
        text, name = number_text(value), column.name
        yield Finding(
            name,
            "sentinels",
            f"column {shown(name)} holds {text} in {n_rows:,} rows, far from its other values "
            f"({number_text(float(rest[0]))} to {number_text(float(rest[-1]))}); if it marks "
            "missing values, use",
            (Remedy("missing", text, "(in all columns)"),),
            stops=False,
        )


ZEROS = "zeros"

_LOWEST = 10
"""Numbers above 0, from the smallest on, whose usual distance is compared with that from 0."""

_APART = 5.0
_FROM_MEDIAN = 0.1
"""A zero stands apart where the next number is at least 5 of their usual distances away, and at
least a tenth of the median of the numbers above 0."""

FEW_FEATURES = 100
"""Continuous features up to which zeros, and columns in the same order, are looked at."""


def zeros(column: ColumnValues) -> Iterator[Finding]:
    """Find zeros that stand apart below all other numbers: a body mass index of 0."""
    values, rows = column.values, column.rows
    if column.kind != "real" or values is None or values.size <= _LOWEST or values[0] != 0:
        return
    above, n_zeros = values[1:], int(rows[0])
    median = float(above[np.searchsorted(np.cumsum(rows[1:]), rows[1:].sum() / 2)])
    usual = float(np.median(np.diff(above[: _LOWEST + 1])))
    if n_zeros < 2 or above[0] < max(_APART * usual, _FROM_MEDIAN * median):
        return
    name = column.name
    yield Finding(
        name,
        ZEROS,
        f"column {shown(name)} holds 0 in {n_zeros:,} rows, and its other values begin at "
        f"{number_text(float(above[0]))}; if 0 marks missing values, use",
        (Remedy("missing", f"{name}=0"),),
        stops=False,
    )


_SEPARATORS = (";", "|", ",")
_LISTS = 0.2
"""Share of the cells with a separator from which on a column may hold lists."""


def lists_in_cells(column: ColumnValues) -> Iterator[Finding]:
    """Find categories that are lists of fewer items: a, a;b and b;c."""
    rows = column.rows
    for separator in _SEPARATORS if 1 < len(column.texts) <= MAX_LEVELS else ():
        inside = np.array([separator in text for text in column.texts])
        if rows[inside].sum() < _LISTS * column.n_observed:
            continue
        lists = [text.split(separator) for text in np.array(column.texts, dtype=object)[inside]]
        items = {item.strip() for items in lists for item in items} - {""}
        if len(items) >= len(lists):  # parts of names and intervals do not recur
            continue
        yield Finding(
            column.name,
            "lists in cells",
            f"column {shown(column.name)} holds lists of {len(items)} items in its cells "
            f"({shown(separator.join(lists[0]))}), each of which is a category of its own; make a "
            "column of yes and no for each item, or use",
            (
                Remedy("categorical", column.name, "if each list is a category"),
                Remedy("ignore", column.name),
            ),
            stops=False,
        )
        return


def spelled_categories(column: ColumnValues) -> Iterator[Finding]:
    """Find categories that differ only in case, blanks or hyphens: yes and Yes."""
    several = spellings(column.texts) if 1 < len(column.texts) <= MAX_LEVELS else []
    if several:
        name = column.name
        yield Finding(
            name,
            "spellings of a category",
            f"column {shown(name)} spells one category in several ways "
            f"({'; '.join(listed(same) for same in several[:3])}), each of which is a category of "
            "its own; write them in one way, or use",
            (Remedy("categorical", name, "if they are different"), Remedy("ignore", name)),
            stops=False,
        )


_DATE_NAME = re.compile(
    r"(?i:(.*[\W_])?(date|datum|fecha|dob|visit|admission)([\W_].*)?)|.*[a-z]Date"
)
_SERIAL = (20_000, 60_000)
"""Days since 1900, as spreadsheets count them, from 1954 to 2064."""


def date_numbers(column: ColumnValues) -> Iterator[Finding]:
    """Find dates that are numbers: 45123 as in spreadsheets, or 20240131."""
    values = column.values
    if column.kind != "real" or values is None or not column.is_whole or values.size < _REST:
        return
    serial = _SERIAL[0] <= values[0] and values[-1] <= _SERIAL[1]
    month, day = values // 100 % 100, values % 100
    written = values[0] >= 19_000_101 and values[-1] <= 21_001_231
    written = written and bool(np.all((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)))
    if not written and not (serial and _DATE_NAME.fullmatch(column.name.strip())):
        return
    name = column.name
    yield Finding(
        name,
        "dates as numbers",
        f"column {shown(name)} holds numbers that look like dates ({number_text(float(values[0]))} "
        f"to {number_text(float(values[-1]))}); when a case was seen may not predict anything in "
        "new data",
        (Remedy("ignore", name), Remedy("measured", name, "if it is meant")),
        stops=False,
    )


_SUMMARY = re.compile(
    r"(grand[\W_]?|sub[\W_]?)?totals?|sum|summe|gesamt|insgesamt|mean|average|median|mittelwert|"
    r"moyenne|somme|suma|totale?",
    re.IGNORECASE,
)


def summary_row(table: pa.Table, locations: RowLocations) -> Iterator[Finding]:
    """Find a last row that sums up the others: "Total" stands in it, and nowhere else."""
    last = table.num_rows - 1
    for name in table.column_names:
        if last < 1 or not is_text(table[name].type):
            continue
        text = table[name][last].as_py()
        if not text or not _SUMMARY.fullmatch(text.strip(" :")):
            continue
        texts, codes = levels_and_codes(table[name], name)
        if int(np.sum(codes == codes[last])) == 1 and len(texts) > 2:
            yield Finding(
                name,
                "summary row",
                f"{locations.describe(last)}, the last one, holds {shown(text)} in {shown(name)}, "
                "as a row does that sums up the others; delete it, or use",
                (Remedy("ignore", name, "if it is a case like the others"),),
                stops=True,
            )
            return


# --------------------------------------------------------------------------------------------------
# Rules of columns that predict the class too well: copies of it, and sorted identifiers
# --------------------------------------------------------------------------------------------------


COPY = 0.85
"""Share of the class's entropy from which on a column with as many values as classes is a copy of
the class with mistakes: of two classes of the same size, some 2 errors in 100. Legitimate columns
of real tables stay below: the best vote of the US Congress table explains 0.79."""

APART = 3.0
"""Numbers form clusters where each gap is more than so many times as wide as the widest cluster.
A gene that separates the classes leaves a gap no wider than a class."""

NEARLY = 0.8
"""Share of the class's entropy from which on a column with few values is nearly a copy: of two
classes of the same size, some 3 errors in 100."""

NEARLY_BY_NUMBERS = 0.95
"""The same for a continuous feature, which may predict the class well: some 1 error in 200."""

OTHERS = 0.6
"""Share that the next best column may explain at most for a continuous feature to stand out."""

NEARLY_A_COPY = "nearly a copy"
"""Name of the rule of columns that stand out: results that hang on one are in doubt."""

MOST_STANDING_OUT = 3
"""Columns that can stand out: where more do, the classes are easy to separate."""


@dataclass(frozen=True, slots=True)
class Strength:
    """How well a column predicts the class.

    Attributes
    ----------
    share : float
        Share of the class's entropy that it explains.
    lucky : bool
        Whether that could be luck.
    few : bool
        Whether it has few values.
    """

    share: float
    lucky: bool
    few: bool

    @property
    def nearly(self) -> bool:
        """Whether the column nearly determines the class."""
        return not self.lucky and self.share >= (NEARLY if self.few else NEARLY_BY_NUMBERS)


MISSING_MORE = 0.2
"""Difference between the shares of missing cells, from class to class, that is worth a remark."""

MISSING_ONLY = 0.05
"""Share of missing cells in one class that is worth a remark where no other class has any."""


def copy_in(column: ColumnValues) -> Iterator[Finding]:
    """Find a column that is the class under another name, with or without mistakes.

    Each of a few values occurs in one class only; or there are as many values, or clusters of
    numbers, as classes, and they determine the class in nearly all rows.
    """
    if column.kind == "left out" or not column.is_even:
        return
    present = int(np.count_nonzero(column.table.sum(axis=0)))
    if _is_discrete(column) and column.pure.all():
        what = "is a copy of the class" if column.n_values == present else "determines the class"
        what += f" (each of its {column.n_values:,} values occurs in one class only)"
        lucky = column.is_lucky()
    else:
        table = _by_cluster(column, present)
        if table is None:
            return
        share, lucky = column.explained_by(table)
        if share < COPY:
            return
        n_wrong = int(column.n_observed - table.max(axis=1).sum())
        but = f"all but {n_wrong:,} of {column.n_observed:,} rows" if n_wrong else "every row"
        what = f"is a copy of the class in {but}"
        if column.n_values > present:
            what += f" (its numbers fall into {present} clusters far apart, one for each class)"
    if lucky:
        return
    name = column.name
    yield Finding(
        name,
        "copy of the class",
        f"{shown(name)} {what}",
        (Remedy("ignore", name), Remedy("keep", name, "if it is known before the class")),
        stops=True,
    )


def label_columns(
    columns: Mapping[int, ColumnValues], labels: tuple[str, ...]
) -> Iterator[Finding]:
    """Find a copy of the class in several columns, each of which is one of its labels or not.

    Parameters
    ----------
    columns : mapping of int to ColumnValues
        Of each class, a column that :func:`label_in` returned it for.
    labels : tuple of str
        The classes, three or more.
    """
    if len(columns) < max(2, len(labels) - 1):
        return
    for label, column in columns.items():
        name = column.name
        yield Finding(
            name,
            "copy of the class",
            f"{shown(name)} is one of {len(columns)} columns that are a copy of the class "
            f"together: it separates {shown(labels[label])} from the others in every row",
            (Remedy("ignore", name), Remedy("keep", name, "if it is known before the class")),
            stops=True,
        )


def label_in(column: ColumnValues) -> int | None:
    """Return the class, of three or more, that a column separates from all others."""
    if column.kind == "left out" or column.n_values != 2 or column.class_counts.size < 3:
        return None
    for own, other in (column.table, column.table[::-1]):
        present = np.flatnonzero(own)
        if present.size == 1 and other[present[0]] == 0 and not column.explained()[1]:
            return int(present[0])
    return None


KEPT_COPY = "copy of the class, kept"
CONDITIONS = (
    KEPT_COPY,
    "one column alone",
    "known too late",
    "rows in sequence",
    "rows that agree",
)
"""Rules of what only the user knows: results hold on one condition, which the verdict names."""


def kept_copies(
    table: pa.Table,
    columns: tuple[Column, ...],
    y: IntArray,
    n_classes: int,
    keep: Collection[str],
) -> Iterator[Finding]:
    """Find copies of the class among the columns that the user keeps by design.

    Parameters
    ----------
    table, columns, y
        As in :func:`find_in_columns`.
    n_classes : int
        Number of classes.
    keep : collection of str
        Columns that the user keeps by design, or names as covariates.
    """
    kept = tuple(column for column in columns if column.name in keep)
    for values_of in column_values(table, kept, y, n_classes, 1.0, set()):
        for finding in copy_in(values_of):
            yield Finding(
                finding.column,
                KEPT_COPY,
                f"{finding.sentence} and is kept on request; the results hold only if it is known "
                "before the class is",
                (Remedy("ignore", finding.column, "if it is not"),),
                stops=False,
            )


def _by_cluster(column: ColumnValues, n_clusters: int) -> IntArray | None:
    """Return the rows of each cluster of values by class; None where the clusters are not plain.

    With as many values as clusters each value is one. Other numbers are cut at their widest gaps.
    """
    if column.n_values == n_clusters:
        return column.table
    if column.values is None or column.n_values < n_clusters:
        return None
    gaps = np.diff(column.values)
    last = np.sort(np.argsort(gaps)[gaps.size - n_clusters + 1 :])  # where a cluster ends
    first = np.append(0, last + 1)
    widths = column.values[np.append(last, -1)] - column.values[first]
    if gaps[last].min() <= APART * widths.max():
        return None
    return np.asarray(np.add.reduceat(column.table, first, axis=0))


def _is_discrete(column: ColumnValues) -> bool:
    if column.kind == "left out" or column.n_values > FEW_LEVELS:
        return False
    return column.values is None or column.is_whole or column.n_values == 2


def sorted_identifiers(columns: Sequence[ColumnValues]) -> Iterator[Finding]:
    """Find whole numbers, all different, that go through the classes one after the other.

    Parameters
    ----------
    columns : sequence of ColumnValues
        Those of which :func:`may_be_sorted` is true.
    """
    if len(columns) > MOST_STANDING_OUT:
        return
    for column in columns:
        name = column.name
        yield Finding(
            name,
            "sorted identifiers",
            f"{shown(name)} has {column.n_values:,} different whole numbers whose order "
            "separates the classes, like identifiers in a file that was sorted by class",
            (Remedy("ignore", name), Remedy("keep", name, "if it is a measured quantity")),
            stops=True,
        )


def may_be_sorted(column: ColumnValues) -> bool:
    """Whether whole numbers, all different, separate the classes by more than luck."""
    if column.kind == "left out" or column.values is None:
        return False
    n = column.n_values
    if n < IDENTIFIER_ROWS or n < column.n_observed or not column.is_whole or not column.separates:
        return False
    counts = column.table.sum(axis=0)
    orders = gammaln(n + 1) - gammaln(counts + 1).sum() - gammaln(counts.size + 1)
    return bool(np.log(column.n_columns) - orders < np.log(LUCK))


def standing_out(strengths: Mapping[str, Strength]) -> Iterator[Finding]:
    """Find columns that nearly determine the class, where hardly any other does.

    Parameters
    ----------
    strengths : mapping
        How well each column predicts the class; those that stop the report are not among them.
    """
    strong = [name for name, strength in strengths.items() if strength.nearly]
    yield from _alone(strengths)
    yield from _late(strengths)
    rest = max((s.share for name, s in strengths.items() if not s.nearly), default=0.0)
    alone = len(strong) <= MOST_STANDING_OUT and rest <= OTHERS
    strong.sort(key=lambda name: -strengths[name].share)
    for name in strong[:MOST_STANDING_OUT]:
        share = strengths[name].share
        if not (strengths[name].few or alone):
            continue
        how = "all" if share > 1 - 1e-9 else f"{int(100 * share)}%"
        others = f", the other columns {int(100 * rest)}% at most" if alone and rest else ""
        yield Finding(
            name,
            NEARLY_A_COPY,
            f"column {shown(name)} alone explains {how} of the class{others}; if it is "
            "known only after the class, the results are meaningless",
            (Remedy("ignore", name), Remedy("keep", name, "if it is known before the class")),
            stops=False,
        )


ALONE = 0.5
"""Share of the class's entropy from which on a column with few values is worth a remark, where no
other column explains half as much: a copy of the class with one error in 20 explains 0.7."""


def _alone(strengths: Mapping[str, Strength]) -> Iterator[Finding]:
    """Find a column with few values that explains much of the class, and others little."""
    ordered = sorted(strengths, key=lambda name: -strengths[name].share)
    if not ordered:
        return
    name, best = ordered[0], strengths[ordered[0]]
    rest = max((strengths[other].share for other in ordered[1:]), default=0.0)
    if best.nearly or best.lucky or not best.few or best.share < max(ALONE, 2 * rest):
        return
    yield Finding(
        name,
        "one column alone",
        f"column {shown(name)} alone explains {int(100 * best.share)}% of the class, the other "
        f"columns {int(100 * rest)}% at most; if it is known only after the class, the results "
        "are meaningless",
        (Remedy("ignore", name), Remedy("keep", name, "if it is known before the class")),
        stops=False,
    )


_LATE = re.compile(
    r"(?i:(.*[\W_])?(survival|follow[\W_]?up|death|died|deceased|discharged?|relapsed?|recurrence|"
    r"progression|length[\W_]of[\W_]stay|(time|days|months|years)[\W_]to[\W_]\w+|predict(ed|ions?))"
    r"([\W_](in[\W_])?(days?|months?|years?|time|status|date|score|class|prob(ability)?))?)"
)
"""Names of what is usually known after the class."""


def _late(strengths: Mapping[str, Strength]) -> Iterator[Finding]:
    """Find columns that predict the class and have names of what is known later."""
    names = [name for name, s in strengths.items() if not s.lucky and _LATE.fullmatch(name)]
    for name in names[:MOST_STANDING_OUT]:
        if not strengths[name].nearly:
            yield Finding(
                name,
                "known too late",
                f"column {shown(name)} predicts the class and is named like something that is "
                "known only after it; if so, the results are meaningless",
                (Remedy("ignore", name), Remedy("keep", name, "if it is known before the class")),
                stops=False,
            )


def missing_by_class(column: ColumnValues, labels: tuple[str, ...]) -> Iterator[Finding]:
    """Find a column whose cells are missing in one class only, or much more often."""
    missing = column.class_counts - column.table.sum(axis=0)
    shares = missing / column.class_counts
    only = np.count_nonzero(missing) == 1 and shares.max() >= MISSING_ONLY
    if not (only or np.ptp(shares) >= MISSING_MORE) or _missing_by_luck(column):
        return
    most, least = int(shares.argmax()), int(shares.argmin())
    name = column.name
    yield Finding(
        name,
        "missing by class",
        f"column {shown(name)} is missing in {100 * shares[most]:.0f}% of the cases of class "
        f"{shown(labels[most])} and in {100 * shares[least]:.0f}% of {shown(labels[least])}; "
        "if the class decides whether it is measured, the results are meaningless",
        (Remedy("ignore", name), Remedy("keep", name, "if it should be used")),
        stops=False,
    )


def _missing_by_luck(column: ColumnValues) -> bool:
    there = column.table.sum(axis=0)
    table = np.array([there, column.class_counts - there], dtype=float)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    seen = table > 0
    statistic = 2 * np.sum(table[seen] * np.log(table[seen] / expected[seen]))
    luck = chi2.sf(statistic, table.shape[1] - 1)
    return bool(luck * column.n_columns > LUCK)


# --------------------------------------------------------------------------------------------------
# Whole numbers that may be codes, though they are read as continuous features
# --------------------------------------------------------------------------------------------------


_NAMES = re.compile(
    r"(?i:(.*[\W_])?(zip|zipcode|plz|postcode|postal|code|codes|centre|center|site|hospital|ward|"
    r"region|district|country|state|type|category|batch|plate|chip|department|icd|icd10)"
    r"([\W_]?(code|no|nr|num|id))?)|.*[a-z](Code|Type|Site|Centre|Center|Zip)"
)
"""Names under which tables keep codes."""


def may_be_code(column: ColumnValues) -> bool:
    """Whether whole numbers, read as a continuous feature, are few or named like codes."""
    if column.kind != "real" or not column.is_whole or column.n_values < 3:
        return False
    return column.n_values <= FEW_LEVELS or _NAMES.fullmatch(column.name.strip()) is not None


def codes_among(columns: Sequence[tuple[str, int]]) -> Iterator[Finding]:
    """Gather the columns that may be codes, with their numbers of values, in one remark."""
    if not columns:
        return
    names = [name for name, _ in columns]
    if len(columns) == 1:
        what = f"column {listed(names)} ({columns[0][1]:,} different whole numbers) is read as a"
        what += " continuous feature; if its numbers are codes, use"
    else:
        what = f"{len(columns):,} columns of whole numbers ({listed(names)}) are read as"
        what += " continuous features; if their numbers are codes, use"
    yield Finding(
        names[0],
        "codes",
        what,
        (Remedy("categorical", names[0] if len(names) == 1 else "NAME"),),
        stops=False,
    )


# --------------------------------------------------------------------------------------------------
# Binary columns to which no rule applies: wide tables are full of them
# --------------------------------------------------------------------------------------------------


_BLOCK_CELLS = 1 << 23


def ordinary_binary_columns(
    values: AnyArray, y: IntArray, n_classes: int, among: BoolArray
) -> BoolArray:
    """Return which binary columns need not be checked one by one.

    A column that is 0 or 1 in every row has two values, no cell that is missing and no order. So
    the rules ask only how much of the class it explains, and of those that explain less than
    what stands out, only for the best.

    Parameters
    ----------
    values : ndarray of shape (n, p)
        Features; NaN is missing.
    y : ndarray of shape (n,)
        Classes.
    n_classes : int
        Their number.
    among : ndarray of shape (p,)
        Columns that are looked at.

    Returns
    -------
    ndarray of shape (p,)
        True for those 0/1 columns among them that explain less than :data:`NEARLY` of the class's
        entropy, but for the best two of them, and those that are 1 or 0 in one class only.
    """
    n, p = values.shape
    inside = np.full(p, np.inf)
    width = max(1, _BLOCK_CELLS // max(1, n))
    for start in range(0, p, width):
        block = slice(start, start + width)
        inside[block] = _entropy_within(values[:, block], y, n_classes)
        if n_classes > 2:
            inside[block][_are_labels(values[:, block], y, n_classes)] = np.inf
    counts = np.bincount(y, minlength=n_classes)
    of_class = xlogy(n, n) - xlogy(counts, counts).sum()
    weak: BoolArray = among & np.isfinite(inside) & (of_class - inside < NEARLY * of_class)
    if weak.any():
        weak[np.argsort(np.where(weak, inside, np.inf))[:2]] = False
    return weak


def _are_labels(values: AnyArray, y: IntArray, n_classes: int) -> BoolArray:
    """Return which 0/1 columns have one value in all rows of one class, the other elsewhere."""
    means = np.array([values[y == c].mean(axis=0, dtype=float) for c in range(n_classes)])
    total = means.sum(axis=0)
    pure = np.all((means == 0) | (means == 1), axis=0)
    return np.asarray(pure & ((total == 1) | (total == n_classes - 1)))


def _entropy_within(values: AnyArray, y: IntArray, n_classes: int) -> FloatArray:
    """Return the entropy of the class within 0 and 1, times n; infinite for other columns."""
    result = np.full(values.shape[1], np.inf)
    flags = np.all((values == 0) | (values == 1), axis=0)
    if not flags.all():
        values = values[:, flags]
    totals = np.bincount(y, minlength=n_classes).astype(float)[:, None]
    ones = np.array([values[y == c].sum(axis=0, dtype=float) for c in range(n_classes)])
    result[flags] = 0
    for part in (ones, totals - ones):
        rows = part.sum(axis=0)
        result[flags] += xlogy(rows, rows) - xlogy(part, part).sum(axis=0)
    return result


# --------------------------------------------------------------------------------------------------
# Rules of rows: columns that name groups, and repeated rows
# --------------------------------------------------------------------------------------------------


ROWS_PER_GROUP = 2
"""Rows of a value, on average, from which on a column may name groups."""

MIXED = 0.05
"""Share of the rows whose value occurs in more than one class, up to which the class hardly
varies within a value: a few rows may be mistakes."""

REPEATED = 0.05
"""Share of rows that repeat another one from which on a table is doubtful: a pair of equal cases
happens, and one case in twenty that stands in two folds changes what is concluded."""

_ORDERLY = 0.2
"""Share of the changes of class that chance would give, from one number to the next, below which
the order of the numbers explains the classes: a continuous feature does that."""

_COINCIDENCES = 0.1
"""Pairs of equal rows expected by chance up to which equal rows are no coincidence."""


_SAME_VALUES = 3
_SAME_ROWS = 20
"""Different values, and rows with a value, from which on two columns are not alike by chance."""

_MOST_ALIKE = 0.5
"""Share of the most frequent value up to which they are compared: many genes are at the lowest
value in all samples but a few."""


class RepeatedColumns:
    """Columns that put the rows in the same order, or in the same categories, as an earlier one."""

    def __init__(self, *, exactly: bool) -> None:
        self._first: dict[bytes, ColumnValues] = {}
        self._exactly = exactly

    def find(self, column: ColumnValues) -> Iterator[Finding]:
        """Compare a column with those before it."""
        if column.n_values < _SAME_VALUES or column.n_observed < _SAME_ROWS:
            return
        if column.rows.max() > _MOST_ALIKE * column.n_observed:
            return
        codes = hashlib.blake2b(column.codes.tobytes(), digest_size=16)
        codes.update(b"text" if column.values is None else b"number")
        first = self._first.setdefault(codes.digest(), column)
        if first is column or first.texts != column.texts:
            return
        if first.values is None or column.values is None:
            same = True
        else:
            same = np.array_equal(first.values, column.values)
        if self._exactly and not same:
            return
        how = "the same values" if same else "other values that order the rows in the same way"
        yield Finding(
            column.name,
            "same column twice",
            f"column {shown(column.name)} holds {how} as column {shown(first.name)}; if one was "
            "copied or computed from the other, use",
            (Remedy("ignore", column.name),),
            stops=False,
        )


def groups_in(column: ColumnValues) -> Iterator[Finding]:
    """Find a column that names groups: many values that repeat, each of one class."""
    if not _are_groups(column) or (_is_orderly(column) and not _is_enumeration(column)):
        return
    name = column.name
    mixed = column.n_mixed
    varies = "never varies" if mixed == 0 else f"varies only in {mixed:,} rows"
    yield Finding(
        name,
        "groups",
        f"{shown(name)} has {column.n_values:,} values, and the class {varies} within one",
        (
            Remedy("groups", name, "if its rows belong together"),
            Remedy("ignore", name),
            Remedy("keep", name, "if it is a measured quantity"),
        ),
        stops=True,
    )


def _are_groups(column: ColumnValues) -> bool:
    """Whether there are many values, with rows that repeat them, and hardly any in two classes."""
    repeats = column.n_observed >= ROWS_PER_GROUP * column.n_values
    if column.n_values <= FEW_LEVELS or not repeats or not column.is_even:
        return False
    return column.n_mixed <= MIXED * column.n_observed and not column.is_lucky()


def joint_groups(columns: Sequence[ColumnValues]) -> Iterator[Finding]:
    """Find two columns that name groups together, such as a hospital and a number in it.

    Parameters
    ----------
    columns : sequence of ColumnValues
        Columns with values that repeat. One of the two must be named like an identifier: many
        pairs of other columns may tell the class.
    """
    named = [column for column in columns if is_identifier_name(column.name)]
    for column in named:
        for other in columns:
            if other is column or not _are_groups(column.joined(other)):
                continue
            yield Finding(
                column.name,
                "groups",
                f"{shown(other.name)} and {shown(column.name)} together have "
                f"{column.joined(other).n_values:,} values, and the class hardly varies within "
                "a pair; if they name groups, join them in one column and use",
                (
                    Remedy("groups", "NAME"),
                    Remedy("ignore", column.name, "if they do not name groups"),
                    Remedy("keep", column.name, "if it is a measured quantity"),
                ),
                stops=True,
            )
            break


def _is_orderly(column: ColumnValues) -> bool:
    """Whether small numbers are of one class and large ones of another."""
    if column.values is None:
        return False
    shares = column.class_counts / column.class_counts.sum()
    by_chance = column.n_values * (1 - float(shares @ shares))
    return column.n_changes <= max(column.class_counts.size - 1, _ORDERLY * by_chance)


def _is_enumeration(column: ColumnValues) -> bool:
    """Whether whole numbers count something, or are named like that."""
    if column.values is None or not column.is_whole:
        return False
    width = float(column.values[-1] - column.values[0]) + 1
    fills = column.n_values >= IDENTIFIER_FILL * width
    return is_identifier_name(column.name) or (fills and bool(np.ptp(column.rows) <= 2))


def repeated_rows(
    values: AnyArray, y: IntArray, measured: BoolArray, locations: RowLocations
) -> Iterator[Finding]:
    """Find rows that are there more than once, where that is no coincidence.

    Parameters
    ----------
    values : ndarray of shape (n, p)
        Features.
    y : ndarray of shape (n,)
        Classes.
    measured : ndarray of shape (p,)
        Which features are continuous features: the others repeat by nature.
    locations : RowLocations
        Where the rows stand.
    """
    n = y.size
    if not measured.any():
        return
    seen: dict[bytes, int] = {}
    pairs = [
        (seen[digest], row)
        for row, digest in enumerate(row_digests(values, y))
        if seen.setdefault(digest, row) != row
    ]
    if len(pairs) < max(2, REPEATED * n) or _coincidences(values[:, measured]) > _COINCIDENCES:
        return
    yield Finding(
        "",
        "repeated rows",
        f"{len(pairs):,} of {n:,} rows repeat another row exactly, class included (for "
        f"example {locations.describe(*pairs[0])})",
        (
            Remedy("groups", "NAME", "if a column names groups of rows"),
            Remedy("keep_duplicates", "", "if they are different cases"),
        ),
        stops=True,
    )


def row_digests(values: AnyArray, y: IntArray) -> Iterator[bytes]:
    """Yield a digest of each row; missing values are equal, and so are 0 and -0."""
    n, p = values.shape
    step = max(1, (1 << 20) // max(1, p))
    for start in range(0, n, step):
        with np.errstate(invalid="ignore"):  # a damaged file may hold NaN of any bits
            part = np.ascontiguousarray(values[start : start + step], dtype=np.float64) + 0.0
        part[np.isnan(part)] = np.nan
        for row, label in zip(part, y[start : start + step].tolist(), strict=True):
            yield hashlib.blake2b(row.tobytes() + b"%d" % label, digest_size=16).digest()


def _coincidences(values: AnyArray) -> float:
    """Return how many pairs of rows would agree by chance in the continuous features.

    Continuous features depend on each other, so that only half of them, in the sense of logarithms,
    are counted; and no more than it takes to be sure.
    """
    n = values.shape[0]
    together = np.log(n * (n - 1) / 2)
    for column in values.T:
        _, counts = np.unique(column, return_counts=True)
        together += 0.5 * np.log(np.sum((counts / n) ** 2))
        if together < np.log(_COINCIDENCES):
            break
    return float(np.exp(together))


# --------------------------------------------------------------------------------------------------
# Neighbouring rows that resemble each other, as rows of one patient do
# --------------------------------------------------------------------------------------------------


FEWEST_ROWS = 20
"""Rows from which on neighbours are compared."""

FEWEST_COLUMNS = 4
"""Continuous features needed to tell rows apart: a file may be sorted by one of them."""

MOST_ROWS = 2000
MOST_COLUMNS = 500
"""Rows from the start of the file, and columns spread over it, that are looked at."""

BESIDE = 0.2
"""Share of the rows whose nearest row stands beside them in the file that is worth a remark."""


CLOSE = 0.5
"""Distance to the nearest row, as a share of that between any two, up to which rows are alike:
tissues that were measured one after the other are at 0.6 and more."""


def alike_in_sequence(values: AnyArray, measured: BoolArray) -> Iterator[Finding]:
    """Find rows whose most similar row stands beside them in the file.

    Parameters
    ----------
    values : ndarray of shape (n, p)
        Features, in the order of the file.
    measured : ndarray of shape (p,)
        Which of them are continuous features.
    """
    columns = np.flatnonzero(measured)
    columns = columns[:: max(1, columns.size // MOST_COLUMNS)]
    rows = np.asarray(values[:MOST_ROWS][:, columns], dtype=np.float64)
    n = rows.shape[0]
    if n < FEWEST_ROWS or columns.size < FEWEST_COLUMNS:
        return
    nearest, closeness = _nearest(rows)
    beside = int(np.sum(np.abs(nearest - np.arange(n)) == 1))
    if beside < BESIDE * n or closeness > CLOSE or binom.sf(beside - 1, n, 2 / (n - 1)) > LUCK:
        return
    yield Finding(
        "",
        "rows in sequence",
        f"for {beside:,} of {n:,} rows the most similar row is the one before or after; if "
        "successive rows belong to one patient or sample, folds must keep them together",
        (Remedy("groups", "NAME", "with a column that names the groups"),),
        stops=False,
    )


MOST_AGREEING = 50
"""Continuous features with values that repeat which are compared two by two."""

_MOST_OF_ONE = 0.2
"""Share of the rows that one value, as one patient, has at most."""

_FEWER = 0.5
"""Two columns agree on rows that belong together where they have so few pairs of values, relative
to those that they have if one of them is shuffled."""

_UNRELATED = 0.8
"""Rank correlation up to which two columns do not have few pairs because one follows the other."""


def agreeing_rows(values: AnyArray, measured: BoolArray, names: Sequence[str]) -> Iterator[Finding]:
    """Find continuous features whose values repeat together, as a patient's age and height do.

    Parameters
    ----------
    values : ndarray of shape (n, p)
        Features.
    measured : ndarray of shape (p,)
        Which of them are continuous features.
    names : sequence of str
        Names of all features.
    """
    rows = values[:MOST_ROWS]
    n = rows.shape[0]
    if n < FEWEST_ROWS:
        return
    repeating: list[tuple[int, IntArray, int]] = []
    for column in np.flatnonzero(measured).tolist():
        cells = np.asarray(rows[:, column], dtype=np.float64)
        if np.isnan(cells).any():
            continue
        different, codes = np.unique(cells, return_inverse=True)
        if np.bincount(codes).max() > _MOST_OF_ONE * n:
            continue
        if FEW_LEVELS < different.size <= n / ROWS_PER_GROUP:
            repeating.append((column, codes, different.size))
        if len(repeating) == MOST_AGREEING:
            break
    shuffled = np.random.default_rng(0).permutation(n)
    pairs = []
    for index, (_, codes, size) in enumerate(repeating):
        for other in range(index):
            _, earlier, earlier_size = repeating[other]
            both = np.unique(codes * earlier_size + earlier).size
            # A column that follows from the other one, as a square does, has fewer values.
            follows = both == max(size, earlier_size) != min(size, earlier_size)
            if follows or both > n / ROWS_PER_GROUP:
                continue
            by_chance = np.unique(codes[shuffled] * earlier_size + earlier).size
            related = abs(float(np.corrcoef(codes, earlier)[0, 1]))
            if both <= _FEWER * by_chance and related <= _UNRELATED:
                pairs.append((both, other, index))
    if not pairs:
        return
    # Of several columns of a patient those with most pairs tell patients apart best.
    both, *pair = max(pairs)
    first, second = (shown(names[repeating[index][0]]) for index in pair)
    yield Finding(
        "",
        "rows that agree",
        f"{n:,} rows have {both:,} different pairs of {first} and {second}, far fewer than by "
        "chance; if rows that agree belong to one patient or sample, folds must keep them together",
        (Remedy("groups", "NAME", "with a column that names the groups"),),
        stops=False,
    )


def _nearest(rows: FloatArray) -> tuple[IntArray, float]:
    """Return the nearest other row of each, and how near that is among all distances.

    Distances are in units of each column's spread; both are medians.
    """
    there = ~np.isnan(rows)
    counts = np.maximum(1, there.sum(axis=0))
    moved = np.where(there, rows - np.nansum(rows, axis=0) / counts, 0.0)  # missing: the average
    spread = np.sqrt(np.sum(moved**2, axis=0) / counts)
    scaled = moved / np.where(spread > 0, spread, 1.0)
    squares = np.sum(scaled**2, axis=1)
    distances = squares[:, None] + squares[None, :] - 2 * (scaled @ scaled.T)
    usual = float(np.median(distances))
    np.fill_diagonal(distances, np.inf)
    near = float(np.median(distances.min(axis=1)))
    return distances.argmin(axis=1), float(np.sqrt(max(near, 0.0) / usual)) if usual > 0 else 1.0


# --------------------------------------------------------------------------------------------------
# All rules together
# --------------------------------------------------------------------------------------------------


MOST_JOINED = 50
"""Columns that are looked at two by two."""

OF_CELLS = ("stray cells", "decimal marks", "numbers with units")
"""Rules of columns that are not read as numbers because of their cells."""

MOST_OF_A_RULE = 5
"""Findings of one rule that are listed; more are counted."""


def find_in_columns(
    table: pa.Table,
    columns: tuple[Column, ...],
    y: IntArray,
    labels: tuple[str, ...],
    *,
    keep: Collection[str] = (),
    decided: Collection[str] = (),
    groups: AnyArray | None = None,
    ordinary: Sequence[str] = (),
    decimal_of: Callable[[str], str] = lambda _: ".",
    locations: RowLocations,
) -> tuple[Finding, ...]:
    """Apply the rules of columns to every possible feature.

    Parameters
    ----------
    table : pyarrow.Table
        The rows that have a class.
    columns : tuple of Column
        What each column is used as.
    y : ndarray of shape (n,)
        Classes.
    labels : tuple of str
        Their names.
    keep : collection of str
        Columns that the user has confirmed: nothing is doubtful in them.
    decided : collection of str
        Columns whose kind the user has named: their cells are as they are meant.
    groups : ndarray of shape (n,), or None
        Groups that the user has named.
    ordinary : sequence of str
        Columns that :func:`ordinary_binary_columns` returned: no rule applies to them.
    decimal_of : callable
        Returns the decimal mark of a column.
    locations : RowLocations
        Where the rows stand.

    Returns
    -------
    tuple of Finding
        Those that stop the report first.
    """
    wanted = tuple(column for column in columns if column.name not in keep)
    findings: list[Finding] = []
    strengths: dict[str, Strength] = {}
    in_order: list[ColumnValues] = []
    coded: list[tuple[str, int]] = []
    repeating: list[ColumnValues] = []
    of_labels: dict[int, ColumnValues] = {}
    # In a wide table some stand apart, or order the rows alike, by luck.
    is_wide = sum(column.kind == "real" for column in wanted) > FEW_FEATURES
    repeated = RepeatedColumns(exactly=is_wide)
    named = any(is_identifier_name(column.name) for column in wanted)
    weight = 1.0 if groups is None else np.unique(groups).size / y.size
    skip = set(ordinary[MOST_JOINED:] if named and groups is None else ordinary)
    for values_of in column_values(table, wanted, y, len(labels), weight, skip):
        decimal = decimal_of(values_of.name)
        of_cells = [] if values_of.name in decided else list(_cells(values_of, decimal, locations))
        of_class = list(_classes(values_of, groups is not None, labels))
        label = label_in(values_of)
        if label is not None:
            of_labels.setdefault(label, values_of)
        findings += of_cells + of_class
        if may_be_sorted(values_of):
            in_order.append(values_of)
        elif values_of.kind != "left out" and not any(f.stops for f in of_class):
            findings += repeated.find(values_of)
            strengths[values_of.name] = Strength(
                *values_of.explained(), values_of.n_values <= FEW_LEVELS
            )
        if named and groups is None and 1 < values_of.n_values <= MAX_LEVELS:
            repeating = [*repeating, values_of][:MOST_JOINED]
        if values_of.name not in decided and may_be_code(values_of):
            coded.append((values_of.name, values_of.n_values))
    findings += [*joint_groups(repeating), *sorted_identifiers(in_order)]
    findings += label_columns(of_labels, labels)
    if is_wide:
        findings = [f for f in findings if f.rule != ZEROS]
    findings += [*standing_out(strengths), *codes_among(coded)]
    return tuple(sorted(findings, key=lambda f: 0 if f.stops else 1 + _ORDER.index(f.rule)))


def find_in_rows(
    of_columns: tuple[Finding, ...],
    values: AnyArray,
    y: IntArray,
    measured: BoolArray,
    real: Collection[str],
    *,
    names: Sequence[str],
    keep_duplicates: bool,
    locations: RowLocations,
) -> tuple[Finding, ...]:
    """Apply the rules of rows: repeats, and neighbours that resemble each other.

    Parameters
    ----------
    of_columns : tuple of Finding
        From :func:`find_in_columns`.
    values : ndarray of shape (n, p)
        Features.
    y : ndarray of shape (n,)
        Classes.
    measured : ndarray of shape (p,)
        Which features are continuous features.
    real : collection of str
        Columns of continuous features.
    names : sequence of str
        Names of the features.
    keep_duplicates : bool
        Whether rows that repeat another one are meant.
    locations : RowLocations
        Where the rows stand.
    """
    repeats = tuple(repeated_rows(values, y, measured, locations))
    findings = of_columns
    if repeats:  # every continuous feature then names the rows that it is in
        findings = tuple(f for f in findings if f.rule != "groups" or f.column not in real)
    if keep_duplicates:
        return findings
    alike: tuple[Finding, ...] = ()
    if not any(finding.rule == "groups" for finding in findings):
        alike = tuple(alike_in_sequence(values, measured))
        alike = alike or tuple(agreeing_rows(values, measured, names))
    return (*repeats, *alike, *findings)


def _cells(column: ColumnValues, decimal: str, locations: RowLocations) -> Iterator[Finding]:
    of_numbers = [
        *stray_cells(column, decimal, locations),
        *other_marks(column, decimal, locations),
    ]
    yield from of_numbers or numbers_with_units(column, decimal, locations)
    if column.kind != "left out":
        yield from sentinels(column)
        yield from zeros(column)
        yield from lists_in_cells(column)
        yield from spelled_categories(column)
        yield from date_numbers(column)


def _classes(column: ColumnValues, grouped: bool, labels: tuple[str, ...]) -> Iterator[Finding]:
    if not grouped:
        yield from groups_in(column)
    yield from copy_in(column)
    if column.kind != "left out":
        yield from missing_by_class(column, labels)


_ORDER = (
    KEPT_COPY,
    "nearly a copy",
    "one column alone",
    "known too late",
    "missing by class",
    "sentinels",
    ZEROS,
    "lists in cells",
    "same column twice",
    "spellings of a category",
    "dates as numbers",
    "codes",
)


def gathered(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return a few findings of every rule, those that stop first; the rest are summed up."""
    return tuple(sorted(_few_of_each(findings), key=lambda finding: not finding.stops))


def _few_of_each(findings: Sequence[Finding]) -> Iterator[Finding]:
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        same = by_rule.setdefault(finding.rule, [])
        same.append(finding)
        if len(same) <= MOST_OF_A_RULE:
            yield finding
    for rule, same in by_rule.items():
        more = same[MOST_OF_A_RULE:]
        if more:
            names = listed(finding.column for finding in more)
            what = "doubtful" if more[0].stops else "suspicious"
            yield Finding(
                "",
                rule,
                f"{len(more):,} more columns are {what} in the same way ({rule}): {names}",
                (
                    Remedy("ignore", "NAME", "for each that should not be used"),
                    Remedy("keep", "NAME", "for each that should"),
                ),
                stops=more[0].stops,
            )
