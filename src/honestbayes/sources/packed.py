"""Binary columns as bits: eight cases to a byte, column after column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.types import AnyArray

WORD = 64
"""Cases in one word of bits."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedColumns:
    """Some columns of zeros and ones, none of them missing, as bits.

    Attributes
    ----------
    bits : ndarray of uint64 of shape (c, w)
        The words of each column: case i is bit i % 64, from the lowest, of word i // 64. Bits
        beyond the last case are 0.
    n_rows : int
        How many cases there are.
    """

    bits: AnyArray
    n_rows: int

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.n_rows, self.bits.shape[0]

    @classmethod
    def pack(cls, ones: AnyArray) -> PackedColumns:
        """Pack an array of zeros and ones of shape (n, c)."""
        n, c = ones.shape
        by_column = np.packbits(np.ascontiguousarray(ones.T), axis=1, bitorder="little")
        padded = np.zeros((c, 8 * n_words(n)), dtype=np.uint8)
        padded[:, : by_column.shape[1]] = by_column
        return cls(padded.view("<u8"), n)

    def toarray(self) -> AnyArray:
        """Return zeros and ones of shape (n, c), one byte each."""
        as_bytes = np.ascontiguousarray(self.bits).view(np.uint8)
        by_column = np.unpackbits(as_bytes, axis=1, count=self.n_rows, bitorder="little")
        return np.ascontiguousarray(by_column.T)

    def __getitem__(self, rows: Any) -> AnyArray:
        """Return some rows as zeros and ones, one byte each."""
        return np.ascontiguousarray(self.toarray()[rows])


def n_words(n_rows: int) -> int:
    """Return how many words hold the bits of so many cases."""
    return -(-n_rows // WORD)
