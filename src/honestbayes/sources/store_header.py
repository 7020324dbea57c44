"""The header of a packed store: what its folder holds, with the checksum of every file."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

from honestbayes.sources.packed import n_words

HEADER = "store.json"
NAMES = "names.json"
LABELS = "labels.bin"
CUTS = "cuts.bin"

FORMAT = "honestbayes packed store"
VERSION = 1
"""Number of the layout. A reader takes its own and older ones."""

PART_BYTES = 16 << 20
"""Bytes of a part: so many that what is done once for each part does not count, and few enough
that threads share the parts, and that little is lost when packing is killed."""

FEWEST_COLUMNS = 16
"""Columns of a part, however long they are: labels are turned into bits once for each part."""

MOST_PARTS = 1 << 16
"""Larger stores have larger parts, so that the header stays small."""

MOST = 1 << 40
"""Rows or columns of a store, and columns of a part: products with bytes stay in 64 bits."""

_LARGEST_HEADER = 16 << 20
_SHAPE = ("rows", "columns", "columns_per_part")
_FIELDS = {"format", "version", "classes", "files", "parts", *_SHAPE}


class StoreError(ValueError):
    """A folder is no packed store, or is a damaged one; the message names the file."""


def checksum(content: Any) -> int:
    """Return the CRC-32 of bytes or of an array in C order.

    It is there to find damage by disks and copies, not by people, and is the quickest that every
    Python has: more than twice as fast as SHA-256.
    """
    return zlib.crc32(content)


def columns_per_part(n_rows: int, n_columns: int) -> int:
    """Return how many columns a part of a store of this shape has."""
    fitting = PART_BYTES // (8 * n_words(n_rows))
    return max(FEWEST_COLUMNS, fitting, -(-n_columns // MOST_PARTS))


def part_name(number: int) -> str:
    """Return the name of the file of a part."""
    return f"part-{number:05}.bits"


@dataclass(frozen=True, slots=True)
class Header:
    """What a store holds.

    Attributes
    ----------
    n_rows, n_columns : int
        Its shape.
    columns_per_part : int
        Columns in each part but the last, which may have fewer.
    classes : tuple or None
        The classes, where the store holds labels.
    files : dict of str to tuple of int
        Size and checksum of what is there beside the parts.
    parts : tuple of int
        Checksum of each part.
    """

    n_rows: int
    n_columns: int
    columns_per_part: int
    classes: tuple[Any, ...] | None
    files: dict[str, tuple[int, int]]
    parts: tuple[int, ...]

    @property
    def n_words(self) -> int:
        """Words of a column."""
        return n_words(self.n_rows)

    @property
    def n_bytes(self) -> int:
        """Bytes of all files but the header."""
        beside = sum(size for size, _ in self.files.values())
        return 8 * self.n_words * self.n_columns + beside

    def columns_of(self, part: int) -> slice:
        """Return the columns of a part."""
        start = part * self.columns_per_part
        return slice(start, min(start + self.columns_per_part, self.n_columns))

    def part_size(self, part: int) -> int:
        """Return the bytes of a part."""
        columns = self.columns_of(part)
        n_columns: int = columns.stop - columns.start
        return 8 * self.n_words * n_columns

    def to_bytes(self) -> bytes:
        """Return the header as JSON, with its own checksum; the same store, the same bytes."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "rows": self.n_rows,
            "columns": self.n_columns,
            "columns_per_part": self.columns_per_part,
            "classes": None if self.classes is None else list(self.classes),
            "files": {name: list(self.files[name]) for name in sorted(self.files)},
            "parts": list(self.parts),
        }
        return _with_checksum(content)


def _with_checksum(content: dict[str, Any]) -> bytes:
    own = checksum(json.dumps(content, sort_keys=True).encode())
    return json.dumps({**content, "checksum": own}, indent=1).encode() + b"\n"


def read_header(folder: Path) -> Header:
    """Read the header of a store, and refuse one that the writer would not have written."""
    path = folder / HEADER
    if not path.is_file():
        _refuse_folder(folder)
    with path.open("rb") as file:
        text = file.read(_LARGEST_HEADER + 1)
    try:
        content = json.loads(text) if len(text) <= _LARGEST_HEADER else None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        msg = f"{folder.name} is no packed store: {HEADER} is not the header of one."
        raise StoreError(msg)
    version = content.get("version")
    if type(version) is int and version > VERSION:
        msg = f"{folder.name} was packed by a newer honestbayes; update honestbayes to read it."
        raise StoreError(msg)
    own = content.pop("checksum", None)
    # Checked first: only what is known to be flat can be written again without fear of its depth.
    problem = _problem(content)
    if type(own) is not int or (problem is None and _with_checksum(content) != text):
        problem = "is not as it was written"
    if problem is not None:
        raise damaged(folder, HEADER, problem)
    classes = content["classes"]
    header = Header(
        content["rows"],
        content["columns"],
        content["columns_per_part"],
        None if classes is None else tuple(classes),
        {name: (size, crc) for name, (size, crc) in content["files"].items()},
        tuple(content["parts"]),
    )
    _check_declared_sizes(folder, header)
    return header


def _check_declared_sizes(folder: Path, header: Header) -> None:
    """Refuse files beside the parts that are not as long as the shape of the store asks for.

    They are read whole, so nobody may make them longer than they have to be.
    """
    exact = {LABELS: 4 * header.n_rows, CUTS: 16 * header.n_columns}
    for name, (size, _) in header.files.items():
        if name in exact and size != exact[name]:
            raise damaged(folder, name, f"has {size:,} bytes instead of {exact[name]:,}")
        if name == NAMES and size > most_name_bytes(header.n_columns):
            what = f"has {size:,} bytes, which {header.n_columns:,} names do not need"
            raise damaged(folder, name, what)


def most_name_bytes(n_columns: int) -> int:
    """Return the bytes that the names of so many columns may take."""
    return (16 << 20) + 1024 * n_columns


def _refuse_folder(folder: Path) -> None:
    if not folder.exists() and folder.with_name(f"{folder.name}.partial").is_dir():
        msg = (
            f"{folder.name} is not complete: packing stopped before its end; pack the same table "
            "again, which goes on where it stopped."
        )
        raise StoreError(msg)
    if not folder.is_dir():
        msg = f"there is no folder {folder.name}; check its name, or pack a table into it."
        raise StoreError(msg)
    msg = f"{folder.name} is no packed store: it holds no {HEADER}."
    raise StoreError(msg)


def _problem(content: dict[str, Any]) -> str | None:
    """Return what in a header cannot be, or None; a checksum alone does not show who wrote it."""
    if set(content) != _FIELDS or type(content["version"]) is not int or content["version"] < 1:
        return "is not as it was written"
    for name in _SHAPE:
        if type(content[name]) is not int or not 1 <= content[name] <= MOST:
            return f"holds a number of {name} that is not from 1 to {MOST:,}"
    files, parts, classes = content["files"], content["parts"], content["classes"]
    if not isinstance(files, dict) or not set(files) <= {NAMES, LABELS, CUTS}:
        return "names files that are not those of a store"
    entries = [*files.values(), parts]
    lists = all(isinstance(entry, list) for entry in entries)
    if not lists or not all(len(entry) == 2 for entry in files.values()):
        return "does not hold a size and a checksum for each file"
    numbers = [number for entry in entries for number in entry]
    if not all(type(number) is int and 0 <= number < 1 << 63 for number in numbers):
        return "holds sizes or checksums that are not numbers"
    if len(parts) != -(-content["columns"] // content["columns_per_part"]):
        return "does not hold one checksum for each part"
    if (classes is None) != (LABELS not in files):
        return f"does not hold both {LABELS} and its classes"
    wrong = None if classes is None else wrong_classes(classes)
    return None if wrong is None else f"holds {wrong}"


def wrong_classes(classes: Any) -> str | None:
    """Return what is wrong with the classes of a store, or None where nothing is.

    They are two or more, all texts, all whole numbers, all finite numbers or all truth values,
    different and sorted.
    """
    kinds = {type(label) for label in classes} if isinstance(classes, list | tuple) else set()
    if len(kinds) != 1 or not kinds <= {str, bool, int, float}:
        return "classes that are not all texts, all numbers or all truth values"
    if kinds == {float} and not all(map(isfinite, classes)):
        return "a class that is not a finite number"
    if kinds == {int} and not all(-(1 << 63) <= label < 1 << 63 for label in classes):
        return "a class that is a number beyond 64 bits"
    if len(classes) < 2 or any(a >= b for a, b in pairwise(classes)):
        return "classes that are not different and sorted"
    return None


def read_names(content: bytes, n_columns: int) -> tuple[str, ...] | None:
    """Return the names of so many columns from their JSON, or None where it does not hold them."""
    try:
        names = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names) if len(names) == len(set(names)) == n_columns else None


def damaged(folder: Path, name: str, what: str) -> StoreError:
    """Return the error of a file that is not as it was written."""
    msg = (
        f"{folder.name} is damaged: {name} {what}; copy the store again, or remove it and pack "
        "the table again."
    )
    return StoreError(msg)


def check_sizes(folder: Path, header: Header) -> None:
    """Refuse a store of which a file is missing or of another size, naming it."""
    expected = {name: size for name, (size, _) in header.files.items()}
    expected |= {part_name(part): header.part_size(part) for part in range(len(header.parts))}
    for name, size in expected.items():
        path = folder / name
        if not path.is_file():
            raise damaged(folder, name, "is missing")
        found = path.stat().st_size
        if found != size:
            raise damaged(folder, name, f"has {found:,} bytes instead of {size:,}")
