"""A table of zeros and ones on disk, as bits, column after column: screened without memory."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from honestbayes.sources.binarization import Binarization
from honestbayes.sources.packed import PackedColumns
from honestbayes.sources.source import Block, DescribeColumns, as_source, dense_values
from honestbayes.sources.store_header import (
    CUTS,
    LABELS,
    NAMES,
    Header,
    check_sizes,
    checksum,
    damaged,
    part_name,
    read_header,
    read_names,
)
from honestbayes.sources.thread_work import THREADS, Deferred
from honestbayes.types import AnyArray, IntArray

_LARGE_PAGES: int | None = getattr(mmap, "MADV_HUGEPAGE", None)
"""What tells the system to read a file in large pages: mapping it later takes no time then, and
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
    header : Header
        What it holds.
    verify_reads : bool
        Whether the checksum of each part is compared when it is first read.
    """

    folder: Path
    header: Header
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
        """The cuts at which measurements became 0 and 1; None where the table was 0/1."""
        if CUTS not in self.header.files:
            return None
        cut, high = np.frombuffer(self._beside(CUTS), dtype="<f8").reshape(2, -1)
        sound = np.isfinite(cut) & (np.isnan(high) | (np.isfinite(high) & (high > cut)))
        if not sound.all():
            what = f"does not hold a cut of column {int(np.argmin(sound))}"
            raise damaged(self.folder, CUTS, what)
        return Binarization(cut, high)

    def zero_one(self, X: Any) -> AnyArray:
        """Return measurements of all columns as 0 and 1, cut as those in the store were.

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
        """Compare the checksums of all files, and refuse a damaged one, naming it.

        Raises
        ------
        ValueError
            If a file is not as it was written, or holds what cannot be names, labels or cuts.
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
            found = path.stat().st_size
            content = path.read_bytes() if found == size else b""
        except OSError:
            raise damaged(self.folder, name, "cannot be read") from None
        if len(content) != size:
            raise damaged(self.folder, name, f"has {found:,} bytes instead of {size:,}")
        self._compare(name, checksum(content), expected)
        return content

    def _compare(self, name: str, found: int, expected: int) -> None:
        if found != expected:
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
    >>> from honestbayes import open_store, pack_store, screen
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
