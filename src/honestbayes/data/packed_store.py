"""Packed stores: folders of binary columns as bits, with a header and checksums."""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from joblib import cpu_count

from honestbayes.data.binarization import Binarization
from honestbayes.data.source import (
    Block,
    DescribeColumns,
    PackedColumns,
    Work,
    as_source,
    dense_values,
    n_words,
)
from honestbayes.types import AnyArray, IntArray

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
    """A folder is not a packed store, or is damaged; the message names the file."""


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
class StoreHeader:
    """Description of a store.

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
        """Return the header as JSON with its own checksum; equal stores give equal bytes."""
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


def read_header(folder: Path) -> StoreHeader:
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
        msg = f"{folder.name} is not a packed store: {HEADER} is not a valid header."
        raise StoreError(msg)
    version = content.get("version")
    if type(version) is int and version > VERSION:
        msg = f"{folder.name} was packed by a newer honestbayes; update honestbayes to read it."
        raise StoreError(msg)
    own = content.pop("checksum", None)
    # Checked first: only what is known to be flat can be written again without fear of its depth.
    problem = _problem(content)
    if type(own) is not int or (problem is None and _with_checksum(content) != text):
        problem = "was changed after it was written"
    if problem is not None:
        raise damaged(folder, HEADER, problem)
    classes = content["classes"]
    header = StoreHeader(
        content["rows"],
        content["columns"],
        content["columns_per_part"],
        None if classes is None else tuple(classes),
        {name: (size, crc) for name, (size, crc) in content["files"].items()},
        tuple(content["parts"]),
    )
    _check_declared_sizes(folder, header)
    return header


def _check_declared_sizes(folder: Path, header: StoreHeader) -> None:
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
            f"{folder.name} is incomplete: packing was interrupted; pack the same table again "
            "to resume."
        )
        raise StoreError(msg)
    if not folder.is_dir():
        msg = f"there is no folder {folder.name}; check its name, or pack a table into it."
        raise StoreError(msg)
    msg = f"{folder.name} is not a packed store: it has no {HEADER}."
    raise StoreError(msg)


def _problem(content: dict[str, Any]) -> str | None:
    """Return what is wrong with a header, or None; a checksum does not show who wrote it."""
    if set(content) != _FIELDS or type(content["version"]) is not int or content["version"] < 1:
        return "was changed after it was written"
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
    """Return the error of a file that was changed after it was written."""
    msg = (
        f"{folder.name} is damaged: {name} {what}; copy the store again, or remove it and pack "
        "the table again."
    )
    return StoreError(msg)


def check_sizes(folder: Path, header: StoreHeader) -> None:
    """Refuse a store of which a file is missing or of another size, naming it."""
    expected = {name: size for name, (size, _) in header.files.items()}
    expected |= {part_name(part): header.part_size(part) for part in range(len(header.parts))}
    for name, size in expected.items():
        path = folder / name
        if not path.is_file():
            raise damaged(folder, name, "is missing")
        n_bytes = path.stat().st_size
        if n_bytes != size:
            raise damaged(folder, name, f"has {n_bytes:,} bytes instead of {size:,}")


# --------------------------------------------------------------------------------------------------
# Deferred work on blocks, by a few threads of this process
# --------------------------------------------------------------------------------------------------


_MOST_THREADS = 4
"""Counting bits takes as long as reading them from memory, which few threads keep busy."""


@dataclass(frozen=True, slots=True, eq=False)
class Deferred:
    """A function that will be applied to values, some of which may be deferred themselves."""

    function: Callable[..., Any]
    values: tuple[Any, ...] = ()

    def result(self) -> Any:
        """Apply the function, in the thread that asks."""
        values = (value.result() if isinstance(value, Deferred) else value for value in self.values)
        return self.function(*values)


class ThreadWork:
    """Functions are applied by threads, and release their data when they are done.

    Results do not depend on the number of threads.
    """

    def call(self, function: Callable[..., Any], *values: Any) -> Deferred:
        """Return a handle to the result."""
        return Deferred(function, values)

    def results(self, calls: list[Any]) -> list[Any]:
        """Apply the functions, and wait for them."""
        n_threads = min(len(calls), cpu_count(), _MOST_THREADS)
        if n_threads <= 1:
            return [call.result() for call in calls]
        with ThreadPoolExecutor(n_threads, thread_name_prefix="honestbayes") as pool:
            return list(pool.map(Deferred.result, calls))


THREADS: Work = ThreadWork()


# --------------------------------------------------------------------------------------------------
# The store as a source: columns of bits on disk, screened without memory
# --------------------------------------------------------------------------------------------------


_LARGE_PAGES: int | None = getattr(mmap, "MADV_HUGEPAGE", None)
"""Advice to the system to read a file in large pages: mapping it later takes no time then, and
several times as long as counting its bits otherwise."""


@dataclass(frozen=True, eq=False, repr=False)
class PackedStore:
    """A packed store that is open; `open_store` and `pack_store` return one.

    A store is a table for every method that takes one: ``fit``, ``predict_proba``, ``screen``.
    Its parts are mapped into memory while they are counted, by two threads or more where there
    are as many processors. The files must stay as they are while it is open.

    Attributes
    ----------
    folder : Path
        Where it is.
    header : StoreHeader
        What it holds.
    verify_reads : bool
        Whether the checksum of each part is compared when it is first read.
    """

    folder: Path
    header: StoreHeader
    verify_reads: bool = True
    _verified: set[int] = field(default_factory=set)

    beyond_memory = True
    work = THREADS

    def __repr__(self) -> str:
        n, p = self.shape
        return f"PackedStore({self.folder.name!r}, {n} rows, {p} columns)"

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.header.n_rows, self.header.n_columns

    @property
    def n_bytes(self) -> int:
        """Bytes on disk, but for the header."""
        return self.header.n_bytes

    @cached_property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, where the table had them."""
        if NAMES not in self.header.files:
            return None
        names = read_names(self._beside(NAMES), self.header.n_columns)
        if names is None:
            raise damaged(self.folder, NAMES, "does not hold a different text for each column")
        return names

    @cached_property
    def labels(self) -> AnyArray | None:
        """Class of each row, where they were packed with the table."""
        if self.header.classes is None:
            return None
        codes = np.frombuffer(self._beside(LABELS), dtype="<i4")
        classes = np.array(self.header.classes)
        if not np.all((codes >= 0) & (codes < classes.size)):
            raise damaged(self.folder, LABELS, "does not hold the class of each row")
        labels: AnyArray = classes[codes]
        return labels

    @cached_property
    def binarization(self) -> Binarization | None:
        """The cuts of continuous features; None where the table was 0/1."""
        if CUTS not in self.header.files:
            return None
        cut, high = np.frombuffer(self._beside(CUTS), dtype="<f8").reshape(2, -1)
        sound = np.isfinite(cut) & (np.isnan(high) | (np.isfinite(high) & (high > cut)))
        if not sound.all():
            what = f"does not hold a cut of column {int(np.argmin(sound))}"
            raise damaged(self.folder, CUTS, what)
        return Binarization(cut, high)

    def zero_one(self, X: Any) -> AnyArray:
        """Cut the continuous features of new rows in the same way as the store.

        Parameters
        ----------
        X : table of shape (m, p)
            Rows to predict, for example; NaN stays missing.

        Returns
        -------
        ndarray of shape (m, p)
        """
        source = as_source(X)
        if source.shape[1] != self.header.n_columns:
            msg = f"X has {source.shape[1]} columns, but the store has {self.header.n_columns}."
            raise ValueError(msg)
        values = dense_values(source)
        if self.binarization is None:
            return values
        ones, missing = self.binarization.apply(values, DescribeColumns(self.feature_names))
        return ones if missing is None else np.where(missing, np.nan, ones)

    def blocks(self) -> Iterator[Block]:
        """Yield the parts; their values are read by the threads that count them."""
        rows = slice(0, self.header.n_rows)
        for part in range(len(self.header.parts)):
            yield Block(rows, self.header.columns_of(part), Deferred(self.read_part, (part,)))

    def take(self, columns: IntArray) -> AnyArray:
        """Read the named columns of all rows, as bytes of 0 and 1."""
        return PackedColumns(self._bits(columns), self.header.n_rows).toarray()

    def take_rows(self, rows: IntArray, columns: IntArray) -> AnyArray:
        """Read some rows of the named columns."""
        rows = np.asarray(rows, dtype=np.int64)
        in_bytes = self._bits(columns).view(np.uint8)
        by_column = (in_bytes[:, rows >> 3] >> (rows & 7).astype(np.uint8)) & np.uint8(1)
        return np.ascontiguousarray(by_column.T)

    def read_part(self, part: int) -> PackedColumns:
        """Map a part into memory; its checksum is compared when it is first read."""
        name = part_name(part)
        try:
            bits = _mapped(self.folder / name).reshape(-1, self.header.n_words)
        except (OSError, ValueError):
            raise damaged(self.folder, name, "is missing or too short") from None
        if bits.nbytes != self.header.part_size(part):
            raise damaged(self.folder, name, "is of another size")
        if self.verify_reads and part not in self._verified:
            self._compare(name, checksum(bits), self.header.parts[part])
            self._verified.add(part)
        return PackedColumns(bits, self.header.n_rows)

    def verify(self) -> None:
        """Verify the checksums of all files; raise an error that names a damaged one.

        Raises
        ------
        ValueError
            If a file was changed after it was written, or holds invalid names, labels or cuts.
        """
        check_sizes(self.folder, self.header)
        fresh = PackedStore(self.folder, self.header)  # which remembers nothing
        for read in ("feature_names", "labels", "binarization"):
            getattr(fresh, read)
        parts = range(len(self.header.parts))
        THREADS.results([Deferred(_read, (fresh, part)) for part in parts])
        self._verified.update(parts)

    def _bits(self, columns: IntArray) -> AnyArray:
        """Return the words of some columns, in memory."""
        columns = np.asarray(columns, dtype=np.int64)
        bits = np.empty((columns.size, self.header.n_words), dtype="<u8")
        parts = columns // self.header.columns_per_part
        for part in np.unique(parts).tolist():
            inside = np.flatnonzero(parts == part)
            first = self.header.columns_of(part).start
            bits[inside] = self.read_part(part).bits[columns[inside] - first]
        return bits

    def _beside(self, name: str) -> bytes:
        """Read a file that is no part; its size, which the header bounds, before its bytes."""
        size, expected = self.header.files[name]
        path = self.folder / name
        try:
            n_bytes = path.stat().st_size
            content = path.read_bytes() if n_bytes == size else b""
        except OSError:
            raise damaged(self.folder, name, "cannot be read") from None
        if len(content) != size:
            raise damaged(self.folder, name, f"has {n_bytes:,} bytes instead of {size:,}")
        self._compare(name, checksum(content), expected)
        return content

    def _compare(self, name: str, actual: int, expected: int) -> None:
        if actual != expected:
            raise damaged(self.folder, name, "does not have the checksum that was written")


def _mapped(path: Path) -> AnyArray:
    """Map a file of words; a tenth of the time that ``numpy.memmap`` takes to do the same."""
    with path.open("rb", buffering=0) as file:
        words = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if _LARGE_PAGES is not None:
        with suppress(OSError):  # a system without them
            words.madvise(_LARGE_PAGES)
    return np.frombuffer(words, dtype="<u8")


def _read(store: PackedStore, part: int) -> None:
    """Read a part for its checksum alone."""
    store.read_part(part)


def open_store(path: str | os.PathLike[str], *, verify_reads: bool = True) -> PackedStore:
    """Open a packed store: a folder that `pack_store` or ``honestbayes pack`` wrote.

    Nothing but the header is read; a store that is not complete, or of which a file is missing or
    of another size, is refused.

    Parameters
    ----------
    path : path-like
        The folder.
    verify_reads : bool, default=True
        Compare the checksum of each part when it is first read, which takes some times as long as
        counting its bits, and less time than a disk needs to read it.

    Returns
    -------
    PackedStore
        A table for ``fit``, ``predict_proba`` and ``screen``. ``labels`` holds the classes that
        were packed with it; ``verify()`` compares all checksums.

    Raises
    ------
    ValueError
        If it is no store, or a damaged one; the message names the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from honestbayes.data import open_store, pack_store
    >>> from honestbayes.selection import screen
    >>> X = np.array([[0, 1], [0, 1], [1, 0], [1, 1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pack_store(X, Path(folder) / "flags", labels=["a", "a", "b", "b"])
    ...     store = open_store(Path(folder) / "flags")
    ...     print(store.shape, store.labels)
    ...     print(screen(store, store.labels).ones)
    (4, 2) ['a' 'a' 'b' 'b']
    [[0 2]
     [2 1]]
    """
    folder = Path(os.path.realpath(path))
    header = read_header(folder)
    check_sizes(folder, header)
    return PackedStore(folder, header, verify_reads)
