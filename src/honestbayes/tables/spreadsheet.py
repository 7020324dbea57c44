"""Spreadsheets: .xlsx, .xlsb, .xls and .ods, read by python-calamine.

Sheets of people have titles above the table, cells that were merged, and empty columns. The header
is the first row that names nearly every column of what stands below it.
"""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from honestbayes.tables.conversion import number_text
from honestbayes.tables.csv_reader import checked_names, too_large
from honestbayes.tables.errors import InputError, listed, shown
from honestbayes.tables.files import MemoryReader, TableFile

Row = list[Any]

_HEADER_SHARE = 0.8
"""Share of the columns that a header names, at least; titles stand in one or two cells."""

_SEARCHED_ROWS = 50
"""Rows among which the header is looked for."""


def open_spreadsheet(
    path: Path, sheet: str | None, header_row: int | None, words: dict[str, Any]
) -> TableFile:
    """Read a sheet as a whole.

    Parameters
    ----------
    path : Path
        The file.
    sheet : str or None
        Name or number (from 1) of the sheet; None: the only one with cells.
    header_row : int or None
        The row that names the columns, counted from 1; None: it is looked for.
    words : dict
        What else the table has: ``max_bytes``, ``missing``.
    """
    sheets = _sheets(path, words["max_bytes"])
    name, rows = _chosen(path.name, sheets, sheet)
    notes = [] if len(sheets) == 1 else [f"Sheet {shown(name)} of {path.name} was read."]
    if header_row is None:
        first = _header_of(rows)
        if first:
            notes.append(
                f"The header of {path.name} is row {first + 1}; --header-row names another."
            )
    else:
        first = header_row - 1
        if first >= len(rows) or not any(map(_is_filled, rows[first])):
            msg = f"row {header_row} of {path.name} is empty; give another --header-row."
            raise InputError(msg)
    header, below = rows[first], [row for row in rows[first + 1 :] if any(map(_is_filled, row))]
    if not below:
        msg = f"{path.name} has no rows below its header; give a table with a header and rows."
        raise InputError(msg)
    # A column without a name and without cells is the margin of the sheet.
    used = [
        j
        for j, title in enumerate(header)
        if _is_filled(title) or any(_is_filled(row[j]) for row in below)
    ]
    gap = next((k for k in range(1, len(used)) if used[k] > used[k - 1] + 1), None)
    if gap is not None:
        right = listed([_text(header[j]) or "" for j in used[gap:]])
        notes.append(
            f"An empty column separates {right} from the columns to the left; if they are another "
            "table, leave them out with --ignore."
        )
    names = [_text(header[j]) or "" for j in used]
    if names and not names[0]:
        names[0] = "Unnamed: 0"
    columns = checked_names(names, path.name)
    table = pa.table(
        {name: _column([row[j] for row in below]) for name, j in zip(columns, used, strict=True)}
    )
    return TableFile(path.name, "csv", columns, MemoryReader(table), notes=tuple(notes), **words)


def _sheets(path: Path, limit: int | None) -> dict[str, list[Row]]:
    """Return the sheets that hold cells, all rows of one length."""
    try:
        import python_calamine
    except ImportError:
        msg = (
            f"{path.name} is a spreadsheet, which needs python-calamine: "
            'pip install "honestbayes[cli]", or save the sheet as CSV.'
        )
        raise InputError(msg) from None
    if limit is not None and zipfile.is_zipfile(path):  # a small file can hold much
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > limit:
                raise too_large(path.name, limit)
    try:
        with python_calamine.CalamineWorkbook.from_path(path) as book:
            read = {
                name: book.get_sheet_by_name(name).to_python(skip_empty_area=False)
                for name in book.sheet_names
            }
    except python_calamine.PasswordError:
        msg = f"{path.name} is protected by a password; save it without one."
        raise InputError(msg) from None
    except (python_calamine.CalamineError, OSError, ValueError, OverflowError) as error:
        detail = " ".join(str(error).split())[:120] or type(error).__name__
        msg = f"{path.name} cannot be read as a spreadsheet ({detail}); save it again, or as CSV."
        raise InputError(msg) from None
    return {name: rows for name, rows in read.items() if any(any(map(_is_filled, r)) for r in rows)}


def _chosen(file: str, sheets: dict[str, list[Row]], sheet: str | None) -> tuple[str, list[Row]]:
    if not sheets:
        msg = f"{file} is empty; give a table with a header and rows."
        raise InputError(msg)
    names = list(sheets)
    if sheet is None:
        if len(names) > 1:
            msg = f"{file} has the sheets {listed(names)}; choose one with --sheet."
            raise InputError(msg)
        return names[0], sheets[names[0]]
    if sheet in sheets:
        return sheet, sheets[sheet]
    if sheet.isdecimal() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1], sheets[names[int(sheet) - 1]]
    msg = f"{file} has no sheet {shown(sheet)} with cells; its sheets are {listed(names)}."
    raise InputError(msg)


def _header_of(rows: Sequence[Row]) -> int:
    """Return the position of the first row that names nearly all columns below it.

    All of its cells are texts, and no two are the same: rows of numbers do not name columns. Where
    there is none, the first row with cells is the header.
    """
    filled = [j for j in range(len(rows[0])) if any(_is_filled(row[j]) for row in rows)]
    for position, row in enumerate(rows[:_SEARCHED_ROWS]):
        names = [row[j] for j in filled if _is_filled(row[j])]
        texts = [name for name in names if isinstance(name, str)]
        enough = len(texts) >= max(2, _HEADER_SHARE * len(filled)) or len(filled) == 1
        if texts and enough and len(set(texts)) == len(texts) == len(names):
            return position
    return next(i for i, row in enumerate(rows) if any(map(_is_filled, row)))


def _is_filled(cell: Any) -> bool:
    return cell is not None and not (isinstance(cell, str) and not cell.strip())


def _text(cell: Any) -> str | None:
    """Return a cell as text: whole numbers without a decimal point, dates in their ISO form."""
    if not _is_filled(cell):
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return number_text(cell)
    return cell.strip() if isinstance(cell, str) else str(cell)


def _column(cells: Sequence[Any]) -> pa.Array:
    """Return cells as numbers, booleans or times where all of them are such, else as text."""
    cells = [cell if _is_filled(cell) else None for cell in cells]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds and kinds <= {float, int}:
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    if kinds == {bool}:
        return pa.array(cells, pa.bool_())
    if kinds and kinds <= {dt.date, dt.datetime}:
        return pa.array([None if cell is None else _moment(cell) for cell in cells])
    return pa.array([_text(cell) for cell in cells], pa.string())


def _moment(cell: dt.date) -> dt.datetime:
    if isinstance(cell, dt.datetime):
        return cell
    return dt.datetime(cell.year, cell.month, cell.day)  # sheets have none
