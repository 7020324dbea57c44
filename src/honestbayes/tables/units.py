"""Cells that hold a number and more: a unit, a currency, thousands separators, a second number.

A column is read as numbers where all of its cells are written in one form that leaves no doubt:
"28.1 mg", "5 %", "$1,200", "1.234,56", "120/80" (which becomes two columns). The model keeps the
form, and reads new cells by it; another unit is an error. What is in doubt stays text, and stops a
report (`honestbayes.tables.checks.numbers_with_units`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from honestbayes.tables.columns import FEW_LEVELS, is_identifier_name
from honestbayes.tables.conversion import is_number, is_text, levels_and_codes, number_cells
from honestbayes.tables.errors import InputError, RowLocations, shown
from honestbayes.types import FloatArray

FEWEST_NUMBERS = 5
"""Different numbers that such a column has at least: fewer may be categories."""

MOST_TEXTS = 20_000
"""Different cells up to which a column is looked at."""

LONGEST_UNIT = 20

_CURRENCY = r"[$€£¥₹]|eur|usd|gbp|chf"
_CELL = re.compile(
    rf"(?P<before>(?:{_CURRENCY})?)\s*(?P<first>[+-]?[\d.,][\d.,' \u00a0]*?)"
    r"(?:\s*(?P<separator>/)\s*(?P<second>\d+(?:[.,]\d+)?))?\s*(?P<unit>[^\d\s+.,'-].*)?",
    re.IGNORECASE,
)
_NO_UNIT = re.compile(
    r"[-–_:#&;|\\,./<>=()\[\]].*|(to|or|and|bis)\b.*|[a-z]\d.*|(st|nd|rd|th)\b.*", re.IGNORECASE
)
"""Text after a number that makes it a range, a code, a date or a rank."""

_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " "})
_CONVENTIONS = (
    *((".", ""), (",", "")),
    *((".", ","), (",", "."), (".", "'"), (".", " "), (",", " ")),
)
"""Decimal mark and thousands separator of numbers, those without a separator first."""

_LAST_DAY = 31
"""Largest number of a date such as 12/05."""


@dataclass(frozen=True, slots=True)
class CellForm:
    """The form of the cells of a column.

    Attributes
    ----------
    column : str
        Name of the column.
    unit : str
        What stands after each number, or before it in the case of a currency; may be empty.
    decimal : {".", ","}
        Decimal mark.
    thousands : {"", ",", ".", "'", " "}
        Thousands separator.
    pairs : bool
        Whether a cell holds two numbers, with a slash between them.
    """

    column: str
    unit: str
    decimal: str
    thousands: str
    pairs: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of numbers."""
        return tuple(f"{self.column} ({k})" for k in (1, 2)) if self.pairs else (self.column,)

    def parse(self, text: str) -> tuple[float, ...] | None:
        """Return the numbers of a cell; None where it is written in another form.

        A cell may lack the unit.
        """
        parts = _parts(text)
        if parts is None or (parts[0] and parts[0] != self.unit):
            return None
        if len(parts[1]) != 1 + self.pairs:
            return None
        values = [_value(number, self.decimal, self.thousands) for number in parts[1]]
        return None if None in values else tuple(v for v in values if v is not None)

    def describe(self) -> str:
        """Return the note of a report."""
        what = "numbers"
        if self.pairs:
            what = f"two columns of numbers, {shown(self.names[0])} and {shown(self.names[1])}"
        unit = f" in {shown(self.unit)}" if self.unit else ""
        marks = ""
        if self.thousands:
            marks = f" with {shown(self.thousands)} between thousands"
        elif self.decimal == ",":
            marks = " with decimal commas"
        option = shown(self.column)
        return (
            f"Column {shown(self.column)} is read as {what}{unit}{marks}; --categorical {option} "
            "keeps its cells as categories."
        )


def find_forms(
    table: pa.Table, *, without: Collection[str] = (), commas: bool = False
) -> tuple[CellForm, ...]:
    """Return the forms of columns whose cells hold a number and more.

    Parameters
    ----------
    table : pyarrow.Table
        Columns that may be features.
    without : collection of str
        Columns that stay as they are.
    commas : bool, default=False
        Whether other columns of the file have decimal commas: "1,234" is then not read.
    """
    result = []
    for name in table.column_names:
        column = table[name]
        if name in without or not is_text(column.type) or is_identifier_name(name):
            continue
        texts, codes = levels_and_codes(column, name)
        if FEWEST_NUMBERS <= len(texts) <= MOST_TEXTS:
            form = _form_of(name, texts.to_pylist(), int(np.sum(codes >= 0)), commas)
            if form is not None and not set(form.names) - {name} & set(table.column_names):
                result.append(form)
    return tuple(result)


def _form_of(name: str, texts: Sequence[str], n_cells: int, commas: bool) -> CellForm | None:
    """Return the form in which all of some texts are written; None where there is doubt."""
    if np.all(number_cells(pa.chunked_array([pa.array(texts, pa.string())]))):
        return None
    found: list[tuple[str, tuple[str, ...]]] = []
    for text in texts:  # most columns of text end at their first cell
        parts = _parts(text)
        if parts is None:
            return None
        found.append(parts)
    if len({(unit, len(numbers)) for unit, numbers in found}) > 1:
        return None
    unit, pairs = found[0][0], len(found[0][1]) == 2
    numbers = [number for _, both in found for number in both]
    if any(number.lstrip("+-").startswith("00") for number in numbers):
        return None
    # Where another reading gives other numbers, there is doubt.
    readings: dict[tuple[float | None, ...], tuple[str, str]] = {}
    for decimal, thousands in _CONVENTIONS:
        read = tuple(_value(number, decimal, thousands) for number in numbers)
        if None not in read:
            readings.setdefault(read, (decimal, thousands))
    if commas:
        readings = {v: marks for v, marks in readings.items() if marks[0] == ","} or readings
    if len(readings) > 1 and re.fullmatch(_CURRENCY, unit, re.IGNORECASE):
        # No price has three decimals.
        readings = {values: marks for values, marks in readings.items() if marks[1]}
    if len(readings) != 1:
        return None
    ((values, (decimal, thousands)),) = readings.items()
    if pairs and max(value for value in values if value is not None) <= _LAST_DAY:
        return None
    if not unit and not pairs and not thousands:
        return None  # numbers with decimal commas, which --decimal decides
    n_numbers = len(set(values))
    if n_numbers < FEWEST_NUMBERS or (n_numbers <= FEW_LEVELS and 2 * n_numbers <= n_cells):
        return None
    return CellForm(name, unit, decimal, thousands, pairs)


def _parts(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the unit and the numbers of a cell, as texts; None where it is no such cell.

    >>> _parts("28.1 mg"), _parts("$1,200"), _parts("120/80"), _parts("stage 2"), _parts("3rd")
    (('mg', ('28.1',)), ('$', ('1,200',)), ('', ('120', '80')), None, None)
    """
    match = _CELL.fullmatch(text.strip().translate(_SPACES))
    if match is None:
        return None
    before, after = match["before"], (match["unit"] or "").strip()
    if len(after) > LONGEST_UNIT or (after and (before or _NO_UNIT.fullmatch(after))):
        return None
    numbers = [match["first"].strip()]
    if match["separator"]:
        numbers.append(match["second"])
    return before or after, tuple(numbers)


def _value(number: str, decimal: str, thousands: str) -> float | None:
    """Return a number that is written with these marks; None where it is not.

    >>> _value("1.234,56", ",", "."), _value("1,234", ".", ","), _value("12,34", ".", ",")
    (1234.56, 1234.0, None)
    """
    mark = re.escape(decimal)
    whole = rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})*" if thousands else r"\d+"
    if not re.fullmatch(rf"[+-]?(?:{whole}(?:{mark}\d*)?|{mark}\d+)", number):
        return None
    digits = number.replace(thousands, "") if thousands else number
    return float(digits.replace(decimal, "."))


def with_numbers(
    table: pa.Table,
    forms: Iterable[CellForm],
    *,
    locations: RowLocations = RowLocations(),  # noqa: B008  # frozen
) -> pa.Table:
    """Return a table with the numbers of columns that have a form.

    Raises
    ------
    InputError
        Where a cell is written in another form, such as with another unit.
    """
    for form in forms:
        if form.column not in table.column_names:
            continue
        index = table.column_names.index(form.column)
        column = table[form.column]
        if is_number(column.type) and not form.pairs:
            continue  # somebody has removed the unit
        texts, codes = levels_and_codes(column, form.column)
        parsed = [form.parse(text) for text in texts.to_pylist()]
        if None in parsed:
            wrong = parsed.index(None)
            where = locations.describe(int(np.argmax(codes == wrong)))
            unit = f" in {shown(form.unit)}" if form.unit else ""
            msg = (
                f"column {shown(form.column)} holds {shown(texts[wrong].as_py())} in {where}, "
                f"where the others hold numbers{unit}; write it in the same form."
            )
            raise InputError(msg)
        values = np.array([*parsed, (np.nan,) * len(form.names)], dtype=float)[codes]
        table = table.remove_column(index)
        for k, name in enumerate(form.names):
            new = pa.chunked_array([pa.array(_column(values, k), from_pandas=True)])
            table = table.add_column(index + k, name, new)
    return table


def _column(values: FloatArray, k: int) -> FloatArray:
    return np.ascontiguousarray(values.reshape(len(values), -1)[:, k])


def forms_to_plain(forms: Iterable[CellForm]) -> list[dict[str, Any]]:
    """Return plain data for a file."""
    return [asdict(form) for form in forms]


def forms_from_plain(data: Any) -> Iterator[CellForm]:
    """Yield the forms that plain data describe; ValueError where they are odd."""
    fields = {"column", "unit", "decimal", "thousands", "pairs"}
    if not isinstance(data, list):
        msg = "must be a list"
        raise ValueError(msg)
    seen = set()
    for one in data:
        good = isinstance(one, dict) and set(one) == fields
        if good:
            good = all(isinstance(one[name], str) for name in fields - {"pairs"})
            good = good and isinstance(one["pairs"], bool) and one["column"] not in seen
            good = good and (one["decimal"], one["thousands"]) in _CONVENTIONS
            good = good and len(one["unit"]) <= LONGEST_UNIT
        if not good:
            msg = "must hold a column, a unit, both marks and whether cells hold pairs"
            raise ValueError(msg)
        seen.add(one["column"])
        yield CellForm(**one)
