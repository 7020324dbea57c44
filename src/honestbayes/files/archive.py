"""A container of plain data: one JSON entry and named arrays, in one file.

The file is a ZIP archive without compression that holds ``model.json`` and one ``.npy`` file per
array, so that unzip and NumPy alone can open it. It is written by the standard library, and read
by a few lines that know only this layout: every byte of the file is accounted for before anything
is allocated, so what is allocated is bounded by the size of the file. Nothing in it is code.
"""

from __future__ import annotations

import io
import json
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from math import isfinite, prod
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from honestbayes.files.atomic import atomic_write
from honestbayes.files.errors import ModelFileError
from honestbayes.types import AnyArray

# --------------------------------------------------------------------------------------------------
# Arrays in NumPy's own format, read strictly: plain numbers in C order, nothing else. The reader of
# NumPy can run code (pickled objects) and allocates what the header asks for; this one allocates
# only what the file holds.
# --------------------------------------------------------------------------------------------------

MOST_AXES = 4
_LONGEST_HEADER = 512
_PREAMBLE = 10
_HEADER = re.compile(
    r"\{'descr': '(<f8|<i8|\|b1|\|u1)', 'fortran_order': False, "
    r"'shape': \(((?:\d{1,10}, )*\d{1,10}|\d{1,10},)?\), \} *\n"
)
_NAME = re.compile(r"[a-z][a-z0-9_.]{0,99}")


def array_name_is_good(name: str) -> bool:
    """Whether an array may have this name: the name of a file everywhere, and never a path."""
    return _NAME.fullmatch(name) is not None


def read_npy(file: BinaryIO, start: int, size: int) -> tuple[AnyArray, int]:
    """Read an array from ``size`` bytes at ``start``.

    Returns
    -------
    array : ndarray
        In C order, in memory of its own.
    checksum : int
        CRC-32 of all bytes.

    Raises
    ------
    ModelFileError
        If the bytes are not an array of plain numbers that fills them.
    """
    file.seek(start)
    preamble = file.read(min(size, _PREAMBLE))
    if len(preamble) < _PREAMBLE or preamble[:8] != b"\x93NUMPY\x01\x00":
        _refuse_array("is not an array of NumPy's format 1.0")
    length = int.from_bytes(preamble[8:], "little")
    if length > min(_LONGEST_HEADER, size - _PREAMBLE):
        _refuse_array("has a header that is too long")
    header = file.read(length)
    match = _HEADER.fullmatch(header.decode("latin-1"))
    if match is None:
        _refuse_array("does not hold plain numbers in C order")
    dtype = np.dtype(match[1])
    shape = tuple(int(part) for part in re.findall(r"\d+", match[2] or ""))
    # An axis of length 0 hides the others' lengths, which NumPy multiplies all the same.
    if len(shape) > MOST_AXES or prod(max(n, 1) for n in shape) > 2**40:
        _refuse_array("has an impossible shape")
    if prod(shape) * dtype.itemsize != size - _PREAMBLE - length:
        _refuse_array("is not as long as its shape says")
    array = np.empty(shape, dtype)
    data = array.reshape(-1).view(np.uint8)
    if data.size and file.readinto(data.data) != data.size:  # type: ignore[attr-defined]
        _refuse_array("is truncated")
    if dtype.kind == "b" and np.any(data > 1):
        _refuse_array("holds truth values other than 0 and 1")
    return array, zlib.crc32(data.data if data.size else b"", zlib.crc32(preamble + header))


def _refuse_array(what: str) -> NoReturn:
    msg = f"is damaged: an array {what}"
    raise ModelFileError(msg)


# --------------------------------------------------------------------------------------------------
# The description: strict JSON in a fixed frame
# --------------------------------------------------------------------------------------------------


FORMAT = "honestbayes"
SCHEMA = 1
"""Number of the layout, frozen; see `base.persistence` for how fields are added. A reader takes its
own and older ones."""

LARGEST_JSON = 16 * 2**20
"""Largest size of ``model.json`` in bytes. What grows with the number of features is in arrays."""

DEEPEST_JSON = 16
LONGEST_NUMBER = 1000
"""Bounds of nesting, and of the digits of a number: the exact bound of a selection may have a few
hundred."""


def write_document(kind: str, content: Mapping[str, Any], names: list[str]) -> bytes:
    """Return the description of a container as JSON, in ASCII.

    Parameters
    ----------
    kind : str
        What the content describes.
    content : mapping
        Plain data that JSON can hold, without NaN and infinity.
    names : list of str
        Names of the arrays beside it.
    """
    document = {
        "format": FORMAT,
        "schema": SCHEMA,
        "kind": kind,
        "written_by": f"honestbayes {_package_version()}",
        "arrays": names,
        "content": content,
    }
    try:
        text = json.dumps(document, allow_nan=False, indent=1).encode("ascii")
    except (TypeError, ValueError) as error:
        msg = f"the model cannot be stored as plain data: {error}."
        raise ValueError(msg) from None
    if len(text) > LARGEST_JSON:
        msg = (
            f"the model's description has {len(text)} bytes, more than the {LARGEST_JSON} allowed."
        )
        raise ValueError(msg)
    return text


def _package_version() -> str:
    try:
        return version("honestbayes")
    except PackageNotFoundError:  # a source tree that was not installed
        return "0+unknown"


def read_document(text: bytes) -> dict[str, Any]:
    """Parse the description, and refuse what `write_document` would not have written.

    Raises
    ------
    ModelFileError
        Without the name of the file.
    """
    try:
        document: Any = json.loads(
            text.decode("utf-8"),
            parse_constant=_refuse_number,
            parse_float=_float,
            parse_int=_int,
            object_pairs_hook=_object,
        )
    except ModelFileError:
        raise
    except (ValueError, RecursionError):
        _refuse_document("is damaged: its description is not JSON, or too deep")
    _check_depth(document)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        _refuse_document("is not a model file of honestbayes")
    schema = document.get("schema")
    if type(schema) is not int or schema < 1:
        _refuse_document("is damaged: it names no schema")
    if schema > SCHEMA:
        _refuse_document(
            f"has schema {str(schema)[:20]}, but this version of honestbayes reads up to {SCHEMA}: "
            "a newer honestbayes is needed to read it"
        )
    if set(document) != {"format", "schema", "kind", "written_by", "arrays", "content"}:
        _refuse_document("is damaged: its description has missing or unknown entries")
    names = document["arrays"]
    good = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not good or len(set(names)) != len(names) or not all(map(array_name_is_good, names)):
        _refuse_document("is damaged: the names of its arrays are not valid")
    if not isinstance(document["kind"], str) or not isinstance(document["content"], dict):
        _refuse_document("is damaged: it does not name its contents")
    if not isinstance(document["written_by"], str):
        _refuse_document("is damaged: it does not name its writer")
    result: dict[str, Any] = document
    return result


def _check_depth(document: Any) -> None:
    level = [document]
    for _ in range(DEEPEST_JSON):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner.extend(value.values())
            elif isinstance(value, list):
                inner.extend(value)
        if not inner:
            return
        level = inner
    _refuse_document("is damaged: its description is too deep")


def _float(text: str) -> float:
    value = float(text) if len(text) <= LONGEST_NUMBER else float("inf")
    if not isfinite(value):
        _refuse_number(text)
    return value


def _int(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        _refuse_number(text)
    return int(text)


def _refuse_number(text: str) -> NoReturn:
    _refuse_document(f"is damaged: its description holds the number {text[:20]}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        _refuse_document("is damaged: its description names something twice")
    return result


def _refuse_document(what: str) -> NoReturn:
    raise ModelFileError(what)


LARGEST_FILE = 2**31 - 1
"""Bytes. Beyond this ZIP needs its 64-bit extension, which the reader does not know."""

MOST_ENTRIES = 1000
DTYPES = ("<f8", "<i8", "|b1", "|u1")

_JSON_NAME = "model.json"
_END = struct.Struct("<4s4H2LH")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")


@dataclass(frozen=True, slots=True)
class Archive:
    """What a file holds.

    Attributes
    ----------
    kind : str
        What the content describes.
    content : dict
        Plain data from JSON.
    arrays : dict of str to ndarray
        Arrays of float64, int64, bool or uint8, in C order.
    """

    kind: str
    content: dict[str, Any]
    arrays: dict[str, AnyArray]


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where an entry's bytes are, and their checksum."""

    name: str
    start: int
    size: int
    checksum: int


# ---------------------------------------------------------------------------- writing


def write_archive(
    path: str | os.PathLike[str],
    kind: str,
    content: Mapping[str, Any],
    arrays: Mapping[str, AnyArray],
) -> None:
    """Write a container, whole or not at all; the same data make the same bytes.

    Parameters
    ----------
    path : path-like
        The file, with any suffix.
    kind : str
        What the content describes.
    content : mapping
        Plain data that JSON can hold.
    arrays : mapping of str to ndarray
        Arrays of float64, int64, bool or uint8.

    Raises
    ------
    ValueError
        If the data cannot be stored, or the reader would refuse them.
    """
    size = sum(array.nbytes for array in arrays.values())
    if size > LARGEST_FILE - 2 * LARGEST_JSON:
        msg = f"{size} bytes of arrays are more than one file may hold."
        raise ValueError(msg)
    if len(arrays) >= MOST_ENTRIES:
        msg = f"{len(arrays)} arrays are more than one file may hold."
        raise ValueError(msg)
    text = write_document(kind, content, sorted(arrays))
    with (
        atomic_write(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED, allowZip64=False) as file,
    ):
        file.writestr(_entry_info(_JSON_NAME), text)
        for name in sorted(arrays):
            file.writestr(_entry_info(f"{name}.npy"), _npy_bytes(name, arrays[name]))


def _entry_info(name: str) -> zipfile.ZipInfo:
    """Describe an entry, with a fixed date: when a model was saved is nobody's business."""
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    return info


def _npy_bytes(name: str, array: AnyArray) -> memoryview:
    if not array_name_is_good(name) or array.dtype.str not in DTYPES:
        msg = f"the array {name!r} of type {array.dtype} cannot be stored."
        raise ValueError(msg)
    buffer = io.BytesIO()
    np.lib.format.write_array(
        buffer, np.ascontiguousarray(array).reshape(array.shape), version=(1, 0)
    )
    return buffer.getbuffer()


# ---------------------------------------------------------------------------- reading


def read_archive(path: str | os.PathLike[str], *, largest: int = LARGEST_FILE) -> Archive:
    """Read a container, and refuse anything that `write_archive` would not have written.

    Parameters
    ----------
    path : path-like
        The file.
    largest : int, default=LARGEST_FILE
        A larger file is refused before it is read.

    Returns
    -------
    Archive

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, or needs a newer honestbayes.
    FileNotFoundError, IsADirectoryError, PermissionError
        As from ``open``.
    """
    source = Path(path)
    try:
        if not source.is_dir() and not stat.S_ISREG(source.stat().st_mode):
            _refuse("is not a regular file")  # opening a pipe would wait for ever
        with source.open("rb") as file:
            return _read(file, largest)
    except ModelFileError as error:
        msg = f"{source.name!r} {error}."
        raise ModelFileError(msg) from None


def _read(file: BinaryIO, largest: int) -> Archive:
    size = os.fstat(file.fileno()).st_size
    if size > largest:
        _refuse(f"has {size} bytes, more than the {largest} allowed")
    entries = _entries(file, size)
    if _JSON_NAME not in entries:
        _refuse(f"is not a model file: it holds no {_JSON_NAME}")
    document = _document(file, entries.pop(_JSON_NAME))
    declared = {f"{name}.npy": name for name in document["arrays"]}
    if set(entries) != set(declared):
        strange = min(set(entries) ^ set(declared))
        _refuse(f"is damaged: its entries are not those that it declares ({strange!r})")
    arrays = {}
    for entry in entries.values():
        array, checksum = read_npy(file, entry.start, entry.size)
        if checksum != entry.checksum:
            _refuse(f"is damaged: the checksum of {entry.name!r} is wrong")
        arrays[declared[entry.name]] = array
    return Archive(document["kind"], document["content"], arrays)


def _entries(file: BinaryIO, size: int) -> dict[str, _Entry]:
    """Read the directory, and check that its entries fill the file without gap or overlap."""
    if size < _END.size or _exactly(file, 0, 4) != b"PK\x03\x04":
        _refuse("is not a model file")
    end = _END.unpack(_exactly(file, size - _END.size, _END.size))
    signature, disk, first_disk, here, count, length, offset, comment = end
    if signature != b"PK\x05\x06":
        _refuse("is damaged: it has no directory at its end, as if it were truncated")
    if disk or first_disk or comment or here != count or not 1 <= count <= MOST_ENTRIES:
        _refuse("is damaged: its directory is not one of a model file")
    if offset + length + _END.size != size or length > count * (_CENTRAL.size + 255):
        _refuse("is damaged: its directory is not where it should be")
    directory = _exactly(file, offset, length)
    entries: dict[str, _Entry] = {}
    position = begin = 0
    for _ in range(count):
        entry, position, begin = _entry(file, directory, position, begin, offset)
        if entry.name in entries:
            _refuse(f"is damaged: it holds {entry.name!r} twice")
        entries[entry.name] = entry
    if position != length or begin != offset:
        _refuse("is damaged: its entries do not fill it")
    return entries


def _entry(
    file: BinaryIO, directory: bytes, position: int, begin: int, limit: int
) -> tuple[_Entry, int, int]:
    """Read one line of the directory, whose entry must begin where the one before it ended."""
    if position + _CENTRAL.size > len(directory):
        _refuse("is damaged: its directory is too short")
    fields = _CENTRAL.unpack_from(directory, position)
    signature, _made_by, needs, flags, method, time, date, checksum = fields[:8]
    packed, size, name_length, extra, comment, disk, _internal, _external, offset = fields[8:]
    if signature != b"PK\x01\x02" or extra or comment or disk or offset != begin:
        _refuse("is damaged: its directory is not one of a model file")
    if flags or method or packed != size:
        _refuse("holds a compressed or encrypted entry, which no model file does")
    position += _CENTRAL.size
    raw = directory[position : position + name_length]
    start = begin + _LOCAL.size + name_length
    if start + size > limit or len(raw) != name_length:
        _refuse("is damaged: an entry is longer than the file")
    header = (b"PK\x03\x04", needs, 0, 0, time, date, checksum, size, size, name_length, 0)
    if _exactly(file, begin, _LOCAL.size + name_length) != _LOCAL.pack(*header) + raw:
        _refuse("is damaged: an entry and its line in the directory differ")
    if not raw.isascii():
        _refuse("is damaged: the name of an entry is not one of a model file")
    return _Entry(raw.decode("ascii"), start, size, checksum), position + name_length, start + size


def _document(file: BinaryIO, entry: _Entry) -> dict[str, Any]:
    if entry.size > LARGEST_JSON:
        _refuse(f"has a description of {entry.size} bytes, more than the {LARGEST_JSON} allowed")
    text = _exactly(file, entry.start, entry.size)
    if zlib.crc32(text) != entry.checksum:
        _refuse(f"is damaged: the checksum of {_JSON_NAME!r} is wrong")
    return read_document(text)


def _exactly(file: BinaryIO, start: int, size: int) -> bytes:
    file.seek(start)
    data = file.read(size)
    if len(data) != size:
        _refuse("is damaged: it is shorter than its header states")
    return data


def _refuse(what: str) -> NoReturn:
    """Raise an error that lacks the name of the file, which `read_archive` puts before it."""
    raise ModelFileError(what)
