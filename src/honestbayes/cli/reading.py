"""Options that say how a table is to be read, and what in it is meant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from honestbayes.tables.errors import InputError, shown
from honestbayes.tables.formats import recognise

if TYPE_CHECKING:
    from honestbayes.data.kinds import Kind
    from honestbayes.tables import TableFile

GIGABYTE = 1 << 30


class Mark(StrEnum):
    """Decimal marks."""

    point = "."
    comma = ","


Delimiter = Annotated[
    str | None, typer.Option(help="What separates cells of a CSV file; found by itself.")
]
Decimal = Annotated[
    Mark | None,
    typer.Option(help="Decimal mark of a CSV file; found by itself, column by column."),
]
FileEncoding = Annotated[
    str | None, typer.Option("--encoding", help="Alphabet of a CSV file, such as latin-1.")
]
Missing = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        help='Cells that are missing in every column, such as "-,n.d.,999"; empty ones, NA, NaN, '
        "NULL, ? and . always are.",
    ),
]
MissingAsLevel = Annotated[
    bool,
    typer.Option(
        "--missing-as-level",
        help="--model interactions: a missing cell is a level of its own; else it is refused.",
    ),
]
Categorical = Annotated[
    list[str] | None, typer.Option(help="Column of codes or texts, not numbers; repeatable.")
]
Measured = Annotated[list[str] | None, typer.Option(help="Column of measurements; repeatable.")]
Flags = Annotated[list[str] | None, typer.Option(help="Column of two values; repeatable.")]
KeepDuplicates = Annotated[
    bool,
    typer.Option("--keep-duplicates", help="Rows that repeat another exactly are other cases."),
]


MergeLabels = Annotated[
    bool,
    typer.Option(
        "--merge-labels", help="Labels that differ in case, blanks or hyphens only are one class."
    ),
]
MissingLabel = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="Label that means that the class is missing; repeatable."),
]
KeepLabels = Annotated[
    bool, typer.Option("--keep-labels", help="All labels are classes, doubtful or not.")
]


def opened(
    path: Path,
    delimiter: str | None,
    max_size: float,
    decimal: Mark | None = None,
    encoding: str | None = None,
    missing: str | None = None,
) -> TableFile:
    """Open a table with the limits of the user."""
    recognise(path)  # what is wrong with a file is said before what takes long to import
    from honestbayes.tables import open_table

    return open_table(
        path,
        delimiter=delimiter,
        decimal=None if decimal is None else decimal.value,
        encoding=encoding,
        missing=missing_words(missing),
        max_bytes=size_limit(max_size),
    )


def size_limit(max_size: float) -> int | None:
    """Return what --max-size asks for, in bytes; None: no limit."""
    return int(max_size * GIGABYTE) if 0 < max_size < math.inf else None


def missing_words(text: str | None) -> tuple[str, ...]:
    """Return what --missing asks for.

    >>> missing_words("-, n.d.,999")
    ('-', 'n.d.', '999')
    """
    words = [] if text is None else [word.strip() for word in text.split(",")]
    return tuple(dict.fromkeys(word for word in words if word))


def kinds_of(
    categorical: Sequence[str] | None, measured: Sequence[str] | None, flags: Sequence[str] | None
) -> dict[str, Kind]:
    """Return the kinds that options name; refuse a column that is given two."""
    kinds: dict[str, Kind] = {}
    named: tuple[tuple[Kind, Sequence[str] | None], ...] = (
        ("categorical", categorical),
        ("real", measured),
        ("binary", flags),
    )
    for kind, names in named:
        for name in names or ():
            if kinds.setdefault(name, kind) != kind:
                msg = (
                    f"column {shown(name)} is given two kinds; choose one of --categorical, "
                    "--measured and --flags."
                )
                raise InputError(msg)
    return kinds
