"""Arrays in NumPy's own format, read strictly: plain numbers in C order, nothing else.

NumPy's reader can run code (pickled objects) and allocates what the header asks for. This one
allocates only what the file holds.
"""

from __future__ import annotations

import re
import zlib
from math import prod
from typing import BinaryIO, NoReturn

import numpy as np

from honestbayes.files.errors import ModelFileError
from honestbayes.types import AnyArray

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
        _refuse("is not an array of NumPy's format 1.0")
    length = int.from_bytes(preamble[8:], "little")
    if length > min(_LONGEST_HEADER, size - _PREAMBLE):
        _refuse("has a header that is too long")
    header = file.read(length)
    match = _HEADER.fullmatch(header.decode("latin-1"))
    if match is None:
        _refuse("does not hold plain numbers in C order")
    dtype = np.dtype(match[1])
    shape = tuple(int(part) for part in re.findall(r"\d+", match[2] or ""))
    # An axis of length 0 hides the others' lengths, which NumPy multiplies all the same.
    if len(shape) > MOST_AXES or prod(max(n, 1) for n in shape) > 2**40:
        _refuse("has an impossible shape")
    if prod(shape) * dtype.itemsize != size - _PREAMBLE - length:
        _refuse("is not as long as its shape says")
    array = np.empty(shape, dtype)
    data = array.reshape(-1).view(np.uint8)
    if data.size and file.readinto(data.data) != data.size:  # type: ignore[attr-defined]
        _refuse("is cut off")
    if dtype.kind == "b" and np.any(data > 1):
        _refuse("holds truth values other than 0 and 1")
    return array, zlib.crc32(data.data if data.size else b"", zlib.crc32(preamble + header))


def _refuse(what: str) -> NoReturn:
    msg = f"is damaged: an array {what}"
    raise ModelFileError(msg)
