"""The kind of each column of a file: binary, real, categorical, or left out.

Cells of a file are texts: first it is decided whether they are numbers, codes, dates or
identifiers. Numbers are then judged as everywhere, by `honestbayes.data.kinds.value_range`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from honestbayes.data.kinds import KINDS, Kind, value_range
from honestbayes.tables.conversion import (
    code_cells,
    floats,
    is_number,
    is_text,
    levels_and_codes,
    number_cells,
    to_numbers,
    to_text,
)
from honestbayes.tables.errors import InputError, RowLocations, shown
from honestbayes.types import BoolArray, FloatArray, IntArray

DATE = "date or time"
"""Why a column of dates or times is not used."""

MAX_LEVELS = 100
"""Categories of a text column, at most: a category with few cases has little information."""

FEW_LEVELS = 10
"""Up to so many categories, a text column is never an identifier: a small table has few rows."""

IDENTIFIER_SHARE = 0.5
"""A text column with more different values than this share of its rows names the rows."""

IDENTIFIER_ROWS = 10
"""Fewer whole numbers than this can be all different by chance."""

IDENTIFIER_FILL = 0.9
"""Whole numbers, all different, that fill this share of their range count the rows. Not all of
it: some rows may have been left out."""

NUMBER_SHARE = 0.9
"""A text column with this share of numbers was meant to hold numbers."""

_IDENTIFIER_NAME = re.compile(
    r"(?i:unnamed: ?\d+|__index_level_\d+__|level_\d+|(.*[\W_])?"
    r"(ids?|identifier|index|rows?|rownames?|nr|no|num|number|uid|uuid|phone|telephone|mobile|fax))"
    r"|.*[a-z](ID|Id|Nr|No)"
)
"""Names under which tables keep identifiers: id, patient_id, PatientID, row, nr, Unnamed: 0."""

_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4})([T ].*)?"
    r"|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(\s?[ap]\.?m\.?)?"
    rf"|\d{{1,2}}[-. ]+{_MONTH}[-., ]+\d{{2,4}}|{_MONTH}[. ]+\d{{1,2}},? +\d{{4}}",
    re.IGNORECASE,
)
_WITH_UNIT = r"^[$€£]\s?[\d.,]*\d$|^[+-]?[\d.,]*\d\s?[%$€£]$"
_BLOCK_CELLS = 1 << 24
_WHOLE = 2.0**53  # larger whole numbers run into each other

ColumnKind = Literal["binary", "real", "categorical", "left out"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file, and its use.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"binary", "real", "categorical", "left out"}
        What it is used as.
    reason : str
        Why it is left out, in plain words; for another kind a remark, mostly empty.
    levels : tuple of str
        The texts of a text column that is used, in sorted order; empty for numbers.
    """

    name: str
    kind: ColumnKind
    reason: str = ""
    levels: tuple[str, ...] = ()


def classify_columns(
    table: pa.Table,
    *,
    keep: Collection[str] = (),
    decimal: str | Callable[[str], str] = ".",
    locations: RowLocations = RowLocations(),  # noqa: B008  # frozen
) -> tuple[Column, ...]:
    """Return the kind of each column of a table.

    Parameters
    ----------
    table : pyarrow.Table
        As :meth:`TableFile.read` returns it.
    keep : collection of str
        Columns that are used wherever that is possible, identifiers or not.
    decimal : {".", ","} or callable
        Decimal mark of numbers that are text; or what returns that of a column.
    locations : RowLocations
        Where the rows stand, for messages.
    """
    numbers = [name for name in table.column_names if is_number(table.schema.field(name).type)]
    by_name = dict(_numeric_columns(table, numbers, keep))
    for name in table.column_names:
        if name not in by_name:
            mark = decimal if isinstance(decimal, str) else decimal(name)
            by_name[name] = _other_column(table[name], name, name in keep, mark, locations)
        if name in keep and by_name[name].kind == "left out":
            reason = by_name[name].reason
            msg = (
                f"column {shown(name)} cannot be kept: {reason}; encode it as numbers, or "
                "do not keep it."
            )
            raise InputError(msg)
    return tuple(by_name[name] for name in table.column_names)


def is_identifier_name(name: str) -> bool:
    """Whether tables keep identifiers under such a name."""
    return _IDENTIFIER_NAME.fullmatch(name.strip()) is not None


def _numeric_columns(
    table: pa.Table, names: list[str], keep: Collection[str]
) -> Iterator[tuple[str, Column]]:
    """Look at the columns of numbers, many at a time."""
    n = table.num_rows
    width = max(1, _BLOCK_CELLS // max(1, n))
    for start in range(0, len(names), width):
        part = names[start : start + width]
        values = np.empty((n, len(part)), order="F")
        for j, name in enumerate(part):
            values[:, j] = floats(table[name])
        yield from _numeric_block(values, part, keep)


def _numeric_block(
    values: FloatArray, names: list[str], keep: Collection[str]
) -> Iterator[tuple[str, Column]]:
    if values.shape[0] == 0:
        yield from ((name, Column(name, "left out", "no values")) for name in names)
        return
    of_values = value_range(values)
    low, high = of_values.low, of_values.high
    observed = values.shape[0] - of_values.n_missing
    with np.errstate(invalid="ignore"):
        may_count = (
            (observed >= IDENTIFIER_ROWS)
            & (high - low >= observed - 1)  # else two of them are equal
            & (low == np.floor(low))
        )
        blurred = np.maximum(-low, high) >= _WHOLE
    for j, name in enumerate(names):
        if observed[j] == 0:
            yield name, Column(name, "left out", "no values")
        elif blurred[j] and name not in keep and is_identifier_name(name):
            yield name, Column(name, "left out", "identifier-like: numbers with 16 digits or more")
        elif of_values.two_valued[j]:
            yield name, Column(name, "binary")
        elif may_count[j] and name not in keep and _counts_rows(values[:, j], name):
            reason = f"identifier-like: {observed[j]:,} different whole numbers in as many rows"
            yield name, Column(name, "left out", reason)
        else:
            yield name, Column(name, "real")


def _counts_rows(values: FloatArray, name: str) -> bool:
    """Whether whole numbers that are all different count the rows, or are named like that."""
    values = values[~np.isnan(values)]
    fills = values.size >= IDENTIFIER_FILL * (values.max() - values.min() + 1)
    if not fills and not is_identifier_name(name):
        return False
    ordered = np.sort(values)
    whole = bool(np.all(ordered == np.floor(ordered)))
    return whole and bool(np.all(np.diff(ordered) > 0))


def _other_column(
    column: pa.ChunkedArray,
    name: str,
    kept: bool,
    decimal: str,
    locations: RowLocations,
) -> Column:
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if column.null_count == len(column):
        result = Column(name, "left out", "no values")
    elif pa.types.is_temporal(kind):
        result = Column(name, "left out", DATE)
    elif is_text(column.type):
        result = _text_column(column, name, kept, decimal, locations)
    else:
        result = Column(name, "left out", f"values of type {shown(str(kind))} cannot be used")
    return result


def _text_column(
    column: pa.ChunkedArray,
    name: str,
    kept: bool,
    decimal: str,
    locations: RowLocations,
) -> Column:
    texts, codes = levels_and_codes(column, name)
    n_levels = len(texts)
    observed = int(np.sum(codes >= 0))
    if n_levels == 0:
        return Column(name, "left out", "no values")
    if n_levels == 1:
        return Column(name, "left out", f"one value only: {shown(texts[0].as_py())}")
    code, stray = _look_like_numbers(texts, codes, decimal, locations)
    if n_levels <= FEW_LEVELS or (kept and n_levels <= MAX_LEVELS):
        if not kept and _are_dates(texts):
            return Column(name, "left out", DATE)
        levels = tuple(sorted(texts.to_pylist()))
        return Column(name, "binary" if n_levels == 2 else "categorical", code or stray, levels)
    if stray:
        return Column(name, "left out", stray)
    if _are_dates(texts):
        return Column(name, "left out", DATE)
    why = f"; {code}" if code else ""
    if n_levels > IDENTIFIER_SHARE * observed:
        reason = f"identifier-like: {n_levels:,} different values in {observed:,} rows{why}"
        return Column(name, "left out", reason)
    if n_levels > MAX_LEVELS:
        return Column(name, "left out", f"text with {n_levels:,} different values{why}")
    return Column(name, "categorical", code, tuple(sorted(texts.to_pylist())))


def _look_like_numbers(
    texts: pa.Array, codes: IntArray, decimal: str, locations: RowLocations
) -> tuple[str, str]:
    """Say why numbers are text: a code such as 01067, or a cell that is none.

    Returns
    -------
    code : str
        Names the first code; empty where there is none, or where few cells are numbers.
    stray : str
        Else names the first cell that is no number; empty for columns that hold few numbers.
    """
    observed = codes >= 0

    def cells(of_word: pa.Array) -> BoolArray:
        result: BoolArray = np.append(np.asarray(of_word, dtype=bool), False)[codes]
        return result

    def first(chosen: BoolArray) -> str:
        position = int(np.argmax(chosen))
        return f"{locations.describe(position)} holds {shown(texts[int(codes[position])].as_py())}"

    # A decimal comma where the file has points, or 5%: no number here, but meant as one.
    good = cells(number_cells(texts, decimal))
    other = cells(number_cells(texts, "," if decimal == "." else "."))
    other |= cells(pc.match_substring_regex(texts, _WITH_UNIT))
    if (good | other).sum() < NUMBER_SHARE * observed.sum():
        return "", ""
    coded = cells(code_cells(texts)) & good
    if coded.any():
        return f"{first(coded)}, a code with a leading zero", ""
    if good.sum() == observed.sum():
        return "", "numbers stored as text; store them as numbers"
    return "", f"mostly numbers, but {first(observed & ~good)}, which is not a number"


def _are_dates(texts: pa.Array) -> bool:
    """Whether every text is a date or a time of day."""
    sample = texts.slice(0, 1000).to_pylist()
    return all(_DATE.fullmatch(text) for text in sample)


# --------------------------------------------------------------------------------------------------
# Columns whose kind the user has named
# --------------------------------------------------------------------------------------------------


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
                f"column {shown(name)} has a kind ({OPTIONS[kind]}), but is not a feature: it is "
                "the target, ignored, or names groups or rows; choose one."
            )
            raise InputError(msg)
        if name not in columns:
            msg = f"there is no column {shown(name)}; correct the name after {OPTIONS[kind]}."
            raise InputError(msg)


def decided_table(
    table: pa.Table,
    kinds: Mapping[str, Kind],
    decimal_of: Callable[[str], str],
    locations: RowLocations,
) -> pa.Table:
    """Return the table with continuous features as numbers and categories as text."""
    for name, kind in kinds.items():
        index = table.column_names.index(name)
        column = table[name]
        if kind == "categorical":
            changed = to_text(column, name)
        elif kind == "real":
            values = to_numbers(column, name, decimal=decimal_of(name), locations=locations)
            changed = pa.chunked_array([pa.array(values, from_pandas=True)])
        else:
            changed = column
        table = table.set_column(index, name, changed)
    return table


def decided_column(column: pa.ChunkedArray, name: str, kind: Kind) -> Column:
    """Return a column of a kind that the user has named; refuse an impossible kind."""
    if column.null_count == len(column):
        return Column(name, "left out", "no values")
    if kind == "real":
        return Column(name, "real")
    most = 2 if kind == "binary" else MAX_LEVELS
    if is_number(column.type):  # binary features
        values = floats(column)
        n_levels = np.unique(values[~np.isnan(values)]).size
        levels: tuple[str, ...] = ()
    else:
        texts, _ = levels_and_codes(column, name)
        n_levels, levels = len(texts), tuple(sorted(texts.to_pylist()))
    if n_levels > most:
        what = "a binary feature" if kind == "binary" else "a category"
        msg = (
            f"column {shown(name)} has {n_levels:,} different values, and {what} has {most} at "
            f"most; give no {OPTIONS[kind]} for it, or merge some."
        )
        raise InputError(msg)
    if levels and n_levels == 1:
        return Column(name, "left out", f"one value only: {shown(levels[0])}")
    return Column(name, "binary" if n_levels <= 2 else "categorical", levels=levels)
