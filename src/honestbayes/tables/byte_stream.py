"""Bytes of a text file as they are read: unpacked, counted, and checked to be text."""

from __future__ import annotations

import codecs
import gzip
import zlib
from pathlib import Path
from typing import IO, Any

from honestbayes.tables.errors import InputError, shown

GZIP_MAGIC = b"\x1f\x8b"
_BOM = codecs.BOM_UTF8


class ByteStream:
    """A readable stream for pyarrow and for the header, with its checks.

    Every byte of the file passes through here once, whichever columns are asked for, so that a
    file is refused or accepted for the same reasons in every kind of read.

    Parameters
    ----------
    path : Path
        The file.
    limit : int or None
        Number of unpacked bytes after which reading stops with an error.
    encoding : str or None
        Alphabet of the file; what is read is UTF-8 all the same.
    """

    def __init__(self, path: Path, limit: int | None = None, encoding: str | None = None) -> None:
        self._name = path.name
        self._limit = limit
        self._recoder = None if encoding is None else _recoder(encoding)
        self._recoded = b""
        self._raw: IO[bytes] = path.open("rb")
        self._file: Any = self._raw
        if self._raw.read(2) == GZIP_MAGIC:
            self._raw.seek(0)
            self._file = gzip.GzipFile(fileobj=self._raw)
        self._raw.seek(0)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._waiting = b""
        self._count = 0
        self.lines = 0
        self.quotes = 0
        self.closed = False
        try:
            start = self._unpack(len(_BOM))
            if start != _BOM:
                self._check(start)
                self._waiting = start
        except InputError:
            self.close()
            raise

    def read(self, size: int = -1) -> bytes:
        r"""Return up to ``size`` bytes; none at the end of the file.

        No part ends between ``\r`` and ``\n``: pyarrow would drop the ``\n``, even in quotes.
        """
        data = self._waiting if size < 0 else self._waiting[:size]
        self._waiting = self._waiting[len(data) :]
        if size < 0 or len(data) < size:
            more = self._unpack(size if size < 0 else size - len(data))
            self._check(more)
            data += more
        if len(data) > 1 and data.endswith(b"\r"):
            self._waiting = b"\r" + self._waiting
            data = data[:-1]
        return data

    def skip(self, size: int) -> None:
        """Read so many bytes and forget them."""
        while size > 0:
            part = self.read(min(size, 1 << 20))
            if not part:
                return
            size -= len(part)

    def push_back(self, data: bytes) -> None:
        """Return bytes that were read too far."""
        self._waiting = data + self._waiting

    def _unpack(self, size: int) -> bytes:
        """Return the next bytes, as UTF-8."""
        if self._recoder is None:
            return self._raw_bytes(size)
        while size < 0 or len(self._recoded) < size:
            part = self._raw_bytes(size)
            try:
                self._recoded += self._recoder.decode(part, final=not part).encode()
            except UnicodeError:
                msg = (
                    f"{self._name} is not in the alphabet that --encoding names; name another, "
                    'or save the table again as "CSV UTF-8".'
                )
                raise InputError(msg) from None
            if not part or size < 0:
                break
        data = self._recoded if size < 0 else self._recoded[:size]
        self._recoded = self._recoded[len(data) :]
        return data

    def _raw_bytes(self, size: int) -> bytes:
        try:
            data: bytes = self._file.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            msg = f"{self._name} is damaged: its gzip data are broken or end early; copy it again."
            raise InputError(msg) from None
        except OSError as error:
            msg = f"{self._name} cannot be read: {error.strerror or 'unknown error'}."
            raise InputError(msg) from None
        self._count += len(data)
        if self._limit is not None and self._count > self._limit:
            raise too_large(self._name, self._limit)
        return data

    def _check(self, data: bytes) -> None:
        if b"\0" in data:
            msg = (
                f"{self._name} is no text table: it holds NUL bytes in line "
                f"{self._line(data, data.index(0)):,}; give CSV, TSV, Parquet or .npz."
            )
            raise InputError(msg)
        try:
            self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            place = max(0, error.start - (len(error.object) - len(data)))
            msg = (
                f"{self._name} is not UTF-8 text: line {self._line(data, place):,} holds other "
                'bytes; save the table again as "CSV UTF-8", or name its alphabet, such as '
                "--encoding latin-1."
            )
            raise InputError(msg) from None
        self.lines += data.count(b"\n")
        self.quotes += data.count(b'"')

    def _line(self, data: bytes, place: int) -> int:
        return self.lines + data.count(b"\n", 0, place) + 1

    # What pyarrow asks of a Python file.

    def readable(self) -> bool:
        """Return True."""
        return True

    def writable(self) -> bool:
        """Return False."""
        return False

    def seekable(self) -> bool:
        """Return False: a packed file is read once, forwards."""
        return False

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        self._raw.close()

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _recoder(encoding: str) -> codecs.IncrementalDecoder:
    try:
        "".encode(encoding)  # refuses codecs that are not of text
        return codecs.getincrementaldecoder(encoding)()
    except (LookupError, ValueError):
        msg = f"there is no alphabet {shown(encoding)}; give for example --encoding latin-1."
        raise InputError(msg) from None


def too_large(name: str, limit: int) -> InputError:
    """Return the error of a table that holds more than the limit."""
    return InputError(
        f"{name} holds more than {size_text(limit)} once unpacked; "
        "raise the limit with --max-size if you trust the file."
    )


def size_text(size: int) -> str:
    """Write a number of bytes for people.

    Examples
    --------
    >>> size_text(4 << 30), size_text(1000)
    ('4 GiB', '1000 bytes')
    """
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"
