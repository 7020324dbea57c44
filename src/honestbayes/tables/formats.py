"""The format of a file, recognised by its first bytes.

Nothing heavy is imported here: commands look at a file before they load what reads it.
"""

from __future__ import annotations

import gzip
import re
import stat
import zipfile
import zlib
from pathlib import Path
from typing import Literal

from honestbayes.tables.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"

_PARQUET_MAGIC = b"PAR1"
_ZIP_MAGIC = b"PK\x03\x04"
_TAR_MAGIC = (257, b"ustar")
_LONGEST = 512

_SUPPORTED = "give CSV, TSV, Parquet or .npz"
_AS_TABLE = "write the table as Parquet or CSV"
_FOREIGN = (
    (b"\xff\xfe", "UTF-16 text", 'save it as "CSV UTF-8"'),
    (b"\xfe\xff", "UTF-16 text", 'save it as "CSV UTF-8"'),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet", "save its sheet as CSV"),
    (b"\x93NUMPY", "a single NumPy array", "save X and y with numpy.savez"),
    (b"\x89HDF", "an HDF5 file", "write the table as Parquet or CSV"),
    (b"ARROW1", "an Arrow or Feather file", "write the table as Parquet or CSV"),
    (b"BZh", "packed with bzip2", "unpack it, or pack it with gzip"),
    (b"\xfd7zXZ", "packed with xz", "unpack it, or pack it with gzip"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd", "unpack it, or pack it with gzip"),
    (b"%PDF", "a PDF document", _SUPPORTED),
    (b"\x80\x02", "a Python pickle", _AS_TABLE),
    (b"\x80\x03", "a Python pickle", _AS_TABLE),
    (b"\x80\x04\x95", "a Python pickle", _AS_TABLE),
    (b"\x80\x05\x95", "a Python pickle", _AS_TABLE),
)
_MARKUP = (
    (re.compile(rb'(\xef\xbb\xbf)?\s*(\{\s*["}]|\[\s*[\[{"\]])'), "JSON"),
    (re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype html|html)", re.IGNORECASE), "a web page"),
    (re.compile(rb"(\xef\xbb\xbf)?\s*<\?xml", re.IGNORECASE), "XML"),
)
"""How texts begin that are no tables of rows and columns."""

_URL = re.compile(r"([a-z][a-z0-9+.-]+):/+", re.IGNORECASE)
_INSIDE_GZIP = (
    (_PARQUET_MAGIC, "a Parquet file", "unpack it first"),
    (_ZIP_MAGIC, "an archive", "unpack it first"),
    (GZIP_MAGIC, "packed twice", "unpack it once"),
)
_NEITHER = {".parquet": "Parquet", ".pq": "Parquet", ".npz": "a NumPy archive"}


Kind = Literal["csv", "packed csv", "parquet", "npz", "series matrix", "gct"]


def recognise(path: Path) -> Kind:
    """Return the format of a file, or raise InputError where it is not there or is no table."""
    name = path.name or "."
    start = _first_bytes(path, name)
    if not start:
        msg = f"{name} is empty; give a table with a header and rows."
        raise InputError(msg)
    if start.startswith(_PARQUET_MAGIC):
        return "parquet"
    if start.startswith(_ZIP_MAGIC):
        _check_archive(path, name)
        return "npz"
    if start.startswith(GZIP_MAGIC):
        inside = _unpacked_start(path, name)
        _refuse(name, inside, ", once unpacked,", (*_FOREIGN, *_INSIDE_GZIP))
        return _of_expression(inside) or "packed csv"
    _refuse(name, start, "", _FOREIGN)
    expression = _of_expression(start)
    if expression is not None:
        return expression
    promised = _NEITHER.get(path.suffix.lower())
    if promised is not None and b"\0" in start:
        msg = f"{name} is not {promised}, despite its name, and not text either; write it again."
        raise InputError(msg)
    return "csv"


def _of_expression(start: bytes) -> Literal["series matrix", "gct"] | None:
    """Return the format of expression data with their phenotypes, if a text is in one."""
    if start.startswith((b"!Series_", b"!Sample_", b'"!Series_', b'"!Sample_')):
        return "series matrix"
    return "gct" if start.startswith((b"#1.2", b"#1.3")) else None


def _first_bytes(path: Path, name: str) -> bytes:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            if (path / "store.json").is_file():
                msg = (
                    f"{name} is a packed store, which is read in Python: "
                    "SelectiveBernoulliNB().fit(honestbayes.data.open_store(path), y); for this "
                    "command give the file that it was packed from."
                )
                raise InputError(msg)
            msg = f"{name} is a folder; give the file of the table."
            raise InputError(msg)
        if not stat.S_ISREG(mode):
            msg = f"{name} is not a regular file; write the table to a file first."
            raise InputError(msg)
        with path.open("rb") as file:
            return file.read(_LONGEST)
    except FileNotFoundError:
        url = _URL.match(path.as_posix())
        if url is not None:  # a drive of Windows has one letter
            msg = f"{name} is an address ({url[1]}); download it, and give the file."
            raise InputError(msg) from None
        msg = f"there is no file {name}; check its name and folder."
        raise InputError(msg) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or "its name cannot be used"
        msg = f"{name} cannot be read: {reason}."
        raise InputError(msg) from None


def _unpacked_start(path: Path, name: str) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read(_LONGEST)
    except (EOFError, zlib.error, OSError):
        msg = f"{name} is damaged: its gzip data are broken or end early; copy it again."
        raise InputError(msg) from None


def _refuse(
    name: str, start: bytes, when: str, foreign: tuple[tuple[bytes, str, str], ...]
) -> None:
    for magic, what, fix in foreign:
        if start.startswith(magic):
            msg = f"{name} is{when} {what}, which is not read; {fix}."
            raise InputError(msg)
    for pattern, what in _MARKUP:
        if pattern.match(start):
            msg = f"{name} is{when} {what}, which is not read; {_AS_TABLE}."
            raise InputError(msg)
    index, magic = _TAR_MAGIC
    if start[index : index + len(magic)] == magic:
        msg = f"{name} is{when} a tar archive, which is not read; unpack it first."
        raise InputError(msg)


def _check_archive(path: Path, name: str) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, LookupError):
        msg = f"{name} is a damaged archive; write it again."
        raise InputError(msg) from None
    if any(member.startswith("xl/") or member == "content.xml" for member in members):
        msg = f"{name} is a spreadsheet, which is not read; save its sheet as CSV."
        raise InputError(msg)
    if not any(member.endswith(".npy") for member in members):
        msg = f"{name} is an archive without NumPy arrays; unpack it and give the table inside."
        raise InputError(msg)
