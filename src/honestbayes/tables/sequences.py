"""Sequences of symbols from the characters or lines of a text, or a column of a table."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from honestbayes.tables.csv_reader import ByteStream
from honestbayes.tables.errors import InputError, shown
from honestbayes.tables.files import TableFile
from honestbayes.tables.formats import recognise

VOWELS = frozenset("aeiou")

_TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".npz")


def read_characters(
    path: Path, *, max_bytes: int | None, encoding: str | None, lines: bool = False
) -> Sequence[str]:
    """Return the characters of a text file, or its lines; line ends at its end are no symbols.

    Parameters
    ----------
    path : Path
        The file, which may be gzipped.
    max_bytes : int or None
        Largest size.
    encoding : str or None
        Its encoding; UTF-8 by default.
    lines : bool, default=False
        Whether each line is a symbol; empty ones are not.

    Raises
    ------
    InputError
        Where the file cannot be used.
    """
    if path.is_file() and path.stat().st_size == 0:
        raise _empty(path)
    if recognise(path) not in ("csv", "packed csv") or path.name.lower().endswith(_TABLES):
        msg = f"{path.name} is a table; name the column of its symbols with --column."
        raise InputError(msg)
    with closing(ByteStream(path, max_bytes, encoding)) as stream:
        text = stream.read().decode().replace("\r\n", "\n").rstrip("\r\n")
    symbols: Sequence[str] = text
    if lines:
        symbols = [line.strip() for line in text.split("\n") if line.strip()]
    if not symbols:
        raise _empty(path)
    return symbols


def _empty(path: Path) -> InputError:
    return InputError(f"{path.name} is empty; give a file that holds symbols.")


def read_column(file: TableFile, name: str) -> list[str]:
    """Return the cells of a column in the order of the rows; refuse missing ones."""
    file.require((name,))
    cells: list[str | None] = file.read([name], text={name})[name].to_pylist()
    symbols = [cell for cell in cells if cell is not None]
    if len(symbols) < len(cells):
        where = file.locations().describe(cells.index(None))
        msg = f"column {shown(name)} has no symbol in {where}; fill it in, or leave the row out."
        raise InputError(msg)
    return symbols


def vowels_and_consonants(text: str) -> str:
    """Return V for vowels, C for other letters, and one _ for any run of other characters.

    Thesis, section 3.4.5. An accent changes nothing; y is a consonant.

    >>> vowels_and_consonants("Why, an été!")
    'CCC_VC_VCV_'
    """
    letters = unicodedata.normalize("NFD", text.lower())
    marks = (c for c in letters if not unicodedata.combining(c))
    return re.sub("_+", "_", "".join(map(_state, marks)))


def _state(letter: str) -> str:
    if letter in VOWELS:
        return "V"
    return "C" if letter.isalpha() else "_"
