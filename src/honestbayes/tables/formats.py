"""The format of a file, recognised by its first bytes, and how packed files are unpacked.

Nothing heavy is imported here: commands look at a file before they load what reads it.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import stat
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any, Literal

from honestbayes.tables.errors import InputError

Kind = Literal[
    "csv",
    "packed csv",
    "parquet",
    "npz",
    "spreadsheet",
    "arrow",
    "json lines",
    "series matrix",
    "gct",
    "h5ad",
    "store",
    "plink",
]

PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
"""First bytes of packed texts, and what packed them. A zip archive of one file is one too."""

DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile)
"""What is raised for packed data that are broken or end early."""

_PARQUET_MAGIC = b"PAR1"
_ARROW_MAGIC = b"ARROW1"
_HDF_MAGIC = b"\x89HDF"
_PLINK_MAGIC = b"\x6c\x1b"
_ZIP_MAGIC = b"PK\x03\x04"
_OLD_SPREADSHEET_MAGIC = b"\xd0\xcf\x11\xe0"
_TAR_MAGIC = (257, b"ustar")
_LONGEST = 512
_LONGEST_JSON = 1 << 24

_SUPPORTED = "give CSV, a spreadsheet, Parquet or .npz"
_AS_TABLE = "write the table as Parquet or CSV"
_SAVE_AGAIN = "open it in a spreadsheet program, and save it as .xlsx or CSV"
_FOREIGN = (
    (b"\x93NUMPY", "a single NumPy array", "save X and y with numpy.savez"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd", "unpack it, or pack it with gzip"),
    (b"%PDF", "a PDF document", _SUPPORTED),
    (b"$FL2@(#)", "an SPSS file", _AS_TABLE),
    (b"$FL3@(#)", "an SPSS file", _AS_TABLE),
    (b"<stata_dta>", "a Stata file", _AS_TABLE),
    (b"\x72\x02\x01\x00", "a Stata file", _AS_TABLE),
    (b"X\n\0\0\0", "an R file", _AS_TABLE),
    (b"RDX2\n", "an R file", _AS_TABLE),
    (b"RDX3\n", "an R file", _AS_TABLE),
    (b"SQLite format 3", "an SQLite database", _AS_TABLE),
    (b"MATLAB 5.0 MAT", "a MATLAB file", _AS_TABLE),
    (b"\x80\x02", "a Python pickle", _AS_TABLE),
    (b"\x80\x03", "a Python pickle", _AS_TABLE),
    (b"\x80\x04\x95", "a Python pickle", _AS_TABLE),
    (b"\x80\x05\x95", "a Python pickle", _AS_TABLE),
)
_MARKUP = (
    (
        re.compile(rb'(\xef\xbb\xbf)?\s*(\{\s*["}]|\[\s*[\[{"\]])'),
        "JSON",
        "write one object on each line (JSON lines), or CSV",
    ),
    (
        re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype html|html|head|body|table|meta)", re.IGNORECASE),
        "a web page",
        _SAVE_AGAIN,
    ),
    (re.compile(rb"(\xef\xbb\xbf)?\s*<\?xml", re.IGNORECASE), "XML", _SAVE_AGAIN),
)
"""How texts begin that are no tables of rows and columns, and what to do. Many programs write a web
page, or XML, and call it .xls."""

_JSON_LINE = re.compile(rb'(\xef\xbb\xbf)?\{\s*"')
_URL = re.compile(r"([a-z][a-z0-9+.-]+):/+", re.IGNORECASE)
_INSIDE_PACKED = (
    (_PARQUET_MAGIC, "a Parquet file", "unpack it first"),
    (_ARROW_MAGIC, "an Arrow file", "unpack it first"),
    (_ZIP_MAGIC, "an archive or a spreadsheet", "unpack it first"),
    (_OLD_SPREADSHEET_MAGIC, "a spreadsheet", "unpack it first"),
    *((magic, "packed twice", "unpack it once") for magic in PACKED),
)
_NEITHER = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".npz": "a NumPy archive",
    ".xlsx": "a spreadsheet",
    ".xls": "a spreadsheet",
    ".ods": "a spreadsheet",
}


def recognise(path: Path) -> Kind:
    """Return the format of a file, or raise InputError where it is not there or is no table."""
    name = path.name or "."
    if _is_store(path):
        return "store"
    start = _first_bytes(path, name)
    if not start:
        msg = f"{name} is empty; give a table with a header and rows."
        raise InputError(msg)
    if start.startswith(_PARQUET_MAGIC):
        return "parquet"
    if start.startswith(_ARROW_MAGIC):
        return "arrow"
    if start.startswith(_OLD_SPREADSHEET_MAGIC):
        return "spreadsheet"
    if start.startswith(_HDF_MAGIC):
        return "h5ad"
    if start.startswith(_PLINK_MAGIC):
        return "plink"
    if start.startswith(_ZIP_MAGIC):
        kind = _of_archive(path, name)
        if kind is not None:
            return kind
    if start.startswith((_ZIP_MAGIC, *PACKED)):
        inside = _unpacked_start(path, name)
        _refuse(name, inside, ", once unpacked,", (*_FOREIGN, *_INSIDE_PACKED))
        return _of_expression(inside) or "packed csv"
    if _JSON_LINE.match(start) and _has_json_lines(path):
        return "json lines"
    _refuse(name, start, "", _FOREIGN)
    promised = _NEITHER.get(path.suffix.lower())
    if promised is not None and b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff")):
        msg = f"{name} is not {promised}, despite its name, and not text either; write it again."
        raise InputError(msg)
    return _of_expression(start) or "csv"


def open_unpacked(path: Path) -> tuple[IO[bytes], IO[bytes]]:
    """Open a file for reading; unpack it where it is packed.

    Returns
    -------
    raw, unpacked : binary files
        The file, which the caller closes, and its contents. They are one where it is not packed.
    """
    raw = path.open("rb")
    start = raw.read(6)
    raw.seek(0)
    unpacked: Any = raw
    if start.startswith(_ZIP_MAGIC):
        archive = zipfile.ZipFile(raw)
        unpacked = archive.open(_members(archive)[0])
    elif start.startswith(b"\x1f\x8b"):
        unpacked = gzip.GzipFile(fileobj=raw)
    elif start.startswith(b"BZh"):
        unpacked = bz2.BZ2File(raw)
    elif start.startswith(b"\xfd7zXZ"):
        unpacked = lzma.LZMAFile(raw)  # noqa: SIM115  # the caller closes it
    return raw, unpacked


def damaged(name: str) -> InputError:
    """Return the error of a packed file that is broken."""
    return InputError(f"{name} is damaged: its packed data are broken or end early; copy it again.")


def _of_expression(start: bytes) -> Literal["series matrix", "gct"] | None:
    """Return the format of expression data with their phenotypes, if a text is in one."""
    if start.startswith((b"!Series_", b"!Sample_", b'"!Series_', b'"!Sample_')):
        return "series matrix"
    return "gct" if start.startswith((b"#1.2", b"#1.3")) else None


def _has_json_lines(path: Path) -> bool:
    """Whether the first line is a JSON object, and a second one follows."""
    with path.open("rb") as file:
        first, second = file.readline(_LONGEST_JSON), file.readline(_LONGEST)
    try:
        return isinstance(json.loads(first), dict) and second.lstrip().startswith(b"{")
    except ValueError:
        return False


def _is_store(path: Path) -> bool:
    try:
        return (path / "store.json").is_file()
    except (OSError, ValueError):  # a name that cannot be used
        return False


def _first_bytes(path: Path, name: str) -> bytes:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
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
        raw, unpacked = open_unpacked(path)
        with raw, unpacked:
            return unpacked.read(_LONGEST)
    except RuntimeError:  # what zipfile raises for a password
        msg = f"{name} is protected by a password; unpack it first."
        raise InputError(msg) from None
    except (*DAMAGED, OSError, NotImplementedError):
        raise damaged(name) from None


def _refuse(
    name: str, start: bytes, when: str, foreign: tuple[tuple[bytes, str, str], ...]
) -> None:
    for magic, what, fix in foreign:
        if start.startswith(magic):
            msg = f"{name} is{when} {what}, which is not read; {fix}."
            raise InputError(msg)
    for pattern, what, fix in _MARKUP:
        if pattern.match(start):
            msg = f"{name} is{when} {what}, which is not read; {fix}."
            raise InputError(msg)
    index, magic = _TAR_MAGIC
    if start[index : index + len(magic)] == magic:
        msg = f"{name} is{when} a tar archive, which is not read; unpack it first."
        raise InputError(msg)


def _of_archive(path: Path, name: str) -> Literal["spreadsheet", "npz"] | None:
    """Return the format of a zip archive; None where it holds one file to be unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
            files = _members(archive)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, LookupError):
        msg = f"{name} is a damaged archive; write it again."
        raise InputError(msg) from None
    if any(member.startswith("xl/") or member == "content.xml" for member in members):
        return "spreadsheet"
    if any(member.endswith(".npy") for member in members):
        return "npz"
    if len(files) != 1:
        msg = f"{name} is an archive of {len(files):,} files; unpack it and give the table inside."
        raise InputError(msg)
    return None


def _members(archive: zipfile.ZipFile) -> list[str]:
    """Return the files of an archive, without folders and what macOS adds."""
    return [
        member
        for member in archive.namelist()
        if not member.endswith("/") and not member.startswith("__MACOSX/")
    ]
