"""Conversion of cells between text and numbers."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from honestbayes.tables.errors import InputError, RowLocations, shown
from honestbayes.types import FloatArray, IntArray

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?", ".", "\\N", "#N/A", "<NA>")
"""Cells that are missing, in text of every format, with or without blanks around them."""

LARGEST = 1e100
"""Largest absolute number: sums of squares, and results of models, stay finite."""

_MISSING_ARRAY = pa.array(MISSING, pa.string())
_POINT_NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$|^(?i)[+-]?(inf|infinity|nan)$"
_COMMA_NUMBER = r"^[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?$|^(?i)[+-]?(inf|infinity|nan)$"
_BOOLEAN = r"^(?i)(true|false)$"
_FIRST_CODE, _AFTER_CODES = pa.scalar("00"), pa.scalar("0:")  # in the order of characters


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds text, in one of pyarrow's ways to store it."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return str(kind) in ("string", "large_string", "string_view")


def is_number(kind: pa.DataType) -> bool:
    """Whether a column holds numbers or booleans."""
    if pa.types.is_dictionary(kind):
        return is_number(kind.value_type)
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    )


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column without a dictionary, and text in pyarrow's ordinary type."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        column = column.cast(kind)
    if is_text(kind) and not pa.types.is_string(kind):
        column = column.cast(pa.string())
    return column


def clean_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Remove blanks around the cells, and make missing ones null."""
    trimmed = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(trimmed, value_set=_MISSING_ARRAY)
    if not pc.any(missing).as_py():
        return trimmed
    return pc.if_else(missing, pa.scalar(None, trimmed.type), trimmed)


def split_mark(mark: str) -> tuple[str, str]:
    """Return the column for which a missing-value text holds, empty for all, and the text.

    >>> split_mark("bmi=0"), split_mark("n.d."), split_mark("<=5")
    (('bmi', '0'), ('', 'n.d.'), ('', '<=5'))
    """
    column, _, text = mark.rpartition("=")
    return (column, text) if any(map(str.isalnum, column)) else ("", mark)


def marks_of(name: str, missing: Collection[str]) -> tuple[str, ...]:
    """Return the user's missing-value texts that hold in a column: all but those of other columns.

    >>> marks_of("bmi", ("-", "bmi=0", "glucose=0"))
    ('-', '0')
    """
    return tuple(text for column, text in map(split_mark, missing) if column in ("", name))


def without(column: pa.ChunkedArray, name: str, missing: Collection[str]) -> pa.ChunkedArray:
    """Replace the user's missing-value texts, and equal numbers, by null."""
    texts = marks_of(name, missing)
    if not texts or pa.types.is_null(column.type):
        return column
    if is_text(column.type):
        text = clean_text(plain(column))
        is_missing = pc.is_in(text, value_set=pa.array(list(texts), pa.string()))
        return pc.if_else(is_missing, pa.scalar(None, text.type), text)
    if not is_number(column.type) or pa.types.is_boolean(plain(column).type):
        return column
    values = floats(column)
    is_missing = np.isin(values, [number for value in texts for number in _number_of(value)])
    if not is_missing.any():
        return column
    return pa.chunked_array([pa.array(np.where(is_missing, np.nan, values), from_pandas=True)])


def _number_of(text: str) -> list[float]:
    """Return the number that a word is; none where it is none."""
    for decimal in (".", ","):
        if number_cells(pa.chunked_array([[text]]), decimal)[0].as_py():
            return [float(text.replace(decimal, "."))]
    return []


def infer(column: pa.ChunkedArray, decimal: str = ".") -> pa.ChunkedArray:
    """Return a text column as numbers or booleans where every cell is one, else as clean text.

    Numbers of which one is a code, such as 01067, are text.
    """
    if decimal == ".":
        try:
            numbers = column.cast(pa.float64())
        except pa.ArrowInvalid:
            pass
        else:  # no cell has blanks around it
            return column if _any(code_cells(column)) else numbers
    text = clean_text(column)
    if text.null_count < len(text):
        if _every(pc.match_substring_regex(text, _BOOLEAN)):
            return pc.equal(pc.ascii_lower(text), "true")
        if not _every(number_cells(text, decimal)) or _any(code_cells(text)):
            return text
    try:
        return _cast(text, decimal)
    except pa.ArrowInvalid:
        return text


def number_cells(text: pa.ChunkedArray, decimal: str = ".") -> pa.ChunkedArray:
    """Whether each cell of a clean text column is a number; null where it is missing."""
    return pc.match_substring_regex(text, _COMMA_NUMBER if decimal == "," else _POINT_NUMBER)


def code_cells(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether each cell of a clean text column begins with 0 and a digit; null where missing."""
    return pc.and_(pc.greater_equal(text, _FIRST_CODE), pc.less(text, _AFTER_CODES))


def to_numbers(
    column: pa.ChunkedArray,
    name: str,
    *,
    decimal: str = ".",
    locations: RowLocations = RowLocations(),  # noqa: B008  # frozen
) -> FloatArray:
    """Return a column as floats, NaN where missing.

    Text is read as numbers where it is one, and "true" and "false" as 1 and 0.

    Raises
    ------
    InputError
        Where a cell is no number, infinite or too large; the message names the column, the cell
        and its place.
    """
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if is_text(column.type):
        values = _numbers_of_text(plain(column), name, decimal, locations)
    elif is_number(column.type):
        values = floats(column)
    else:
        msg = (
            f"column {shown(name)} holds values of type {shown(str(column.type))}, but numbers "
            "are needed; store it as numbers."
        )
        raise InputError(msg)
    large = np.abs(values) > LARGEST
    if large.any():
        position = int(np.argmax(large))
        value = values[position]
        what = f"{value:.3g}, which is too large," if np.isfinite(value) else "an infinite value"
        msg = (
            f"column {shown(name)} holds {what} in {locations.describe(position)}; replace it, or "
            "leave the cell empty."
        )
        raise InputError(msg)
    return values


def floats(column: pa.ChunkedArray) -> FloatArray:
    """Return a column of numbers or booleans as floats, NaN where missing."""
    column = plain(column)
    if not pa.types.is_float64(column.type):
        column = column.cast(pa.float64(), safe=False)
    values: FloatArray = column.to_numpy()
    return values


def _numbers_of_text(
    column: pa.ChunkedArray, name: str, decimal: str, locations: RowLocations
) -> FloatArray:
    if decimal == ".":
        try:
            return floats(column.cast(pa.float64()))
        except pa.ArrowInvalid:
            pass
    text = clean_text(column)
    lower = pc.ascii_lower(text)
    text = pc.if_else(pc.equal(lower, "true"), "1", text)
    text = pc.if_else(pc.equal(lower, "false"), "0", text)
    good = number_cells(text, decimal)
    if _every(good):
        try:
            return floats(_cast(text, decimal))
        except pa.ArrowInvalid:  # the cast and the pattern differ: believe the cast
            good = pa.chunked_array([[_is_castable(cell, decimal) for cell in text]], pa.bool_())
    position = pc.index(good, False).as_py()
    where = locations.describe(position)
    msg = (
        f"column {shown(name)} holds {shown(text[position].as_py())} in {where}, "
        "which is not a number; correct it, or leave the cell empty."
    )
    raise InputError(msg)


def _is_castable(cell: pa.Scalar, decimal: str) -> bool:
    try:
        _cast(pa.chunked_array([[cell.as_py()]], pa.string()), decimal)
    except pa.ArrowInvalid:
        return False
    return True


def _cast(text: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    """Turn text into floats; the decimal mark has been checked."""
    if decimal == ",":
        text = pc.replace_substring(text, ",", ".")
    return text.cast(pa.float64())


def _every(mask: pa.ChunkedArray) -> bool:
    """Whether all values are true; missing ones do not count."""
    return bool(pc.all(mask, min_count=0).as_py())


def _any(mask: pa.ChunkedArray) -> bool:
    """Whether some value is true."""
    return bool(pc.any(mask, min_count=0).as_py())


def to_text(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column as clean text: 1.0 as "1", booleans as "true" and "false"."""
    if is_text(column.type):
        return clean_text(plain(column))
    column = plain(column)
    kind = column.type
    if pa.types.is_null(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return column.cast(pa.string())
    if is_number(kind):
        values = floats(column)
        levels, codes = np.unique(values, return_inverse=True)
        texts = [None if level != level else number_text(level) for level in levels.tolist()]
        return pa.chunked_array([pa.array(texts, pa.string()).take(pa.array(codes))])
    if pa.types.is_temporal(kind):
        return column.cast(pa.string())
    msg = f"column {shown(name)} holds values of type {shown(str(kind))}; store it as text."
    raise InputError(msg)


def number_text(value: float) -> str:
    """Write a number as short as possible.

    Examples
    --------
    >>> number_text(1.0), number_text(-0.5)
    ('1', '-0.5')
    """
    return str(int(value)) if value == int_or_nan(value) and abs(value) < 1e15 else repr(value)


def int_or_nan(value: float) -> float:
    """Return the whole part; NaN where there is none."""
    return float(int(value)) if np.isfinite(value) else float("nan")


def levels_and_codes(column: pa.ChunkedArray, name: str) -> tuple[pa.Array, IntArray]:
    """Return the different texts of a column, and the position of each cell's text (-1: missing).

    Text that is stored once per category stays so: a small file may hold a long text many times.
    """
    if not is_text(column.type):
        column = to_text(column, name)
    if not pa.types.is_dictionary(column.type):
        column = clean_text(plain(column)).dictionary_encode()
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return pa.array([], pa.string()), np.zeros(0, dtype=np.int64)
    texts = clean_text(pa.chunked_array([column.chunk(0).dictionary]).cast(pa.string()))
    encoded = texts.dictionary_encode().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    merged = np.asarray(encoded.indices.fill_null(-1)).astype(np.int64)
    merged = np.append(merged, -1)  # what a missing cell points to
    parts = [np.asarray(chunk.indices.fill_null(-1)).astype(np.int64) for chunk in column.chunks]
    codes = merged[np.concatenate(parts)]
    return encoded.dictionary, codes
