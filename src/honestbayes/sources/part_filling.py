"""The parts of a packed store, filled from blocks of any shape in as few passes as fit in memory.

A part is begun when its first block arrives, if there is room for its bits, and handed over when
all its cells were seen. Parts that found no room wait for the next pass: none where blocks hold
whole columns, one for each 256 MiB of bits where they hold rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from honestbayes.sources.binarization import Binarization, above, check_finite, is_zero_one
from honestbayes.sources.source import (
    BLOCK_CELLS,
    Block,
    DescribeColumns,
    Source,
    column_slices,
    dense,
    work_of,
)
from honestbayes.sources.store_header import Header, StoreError
from honestbayes.types import AnyArray, FloatArray

ROOM = 256 << 20
"""Bytes of unfinished parts that are held at a time."""

_BLOCKS_AT_A_TIME = 8
"""Blocks that others may read together."""


class CellError(StoreError):
    """A cell that a store cannot hold.

    Attributes
    ----------
    row : int
        Where it is, counted from 0.
    what, fix : str
        What is wrong with it, and what to do.
    """

    def __init__(self, what: str, row: int, fix: str) -> None:
        self.what, self.row, self.fix = what, row, fix
        super().__init__(what, row, fix)  # from which a copy can be made in another process

    def __str__(self) -> str:
        return f"{self.what} in row {self.row}; {self.fix}."


def filled_parts(
    source: Source,
    header: Header,
    rule: Binarization | None,
    describe: DescribeColumns,
    done: set[int],
) -> Iterator[tuple[int, AnyArray]]:
    """Yield each part that is not done, with its words of shape (columns, words).

    Parameters
    ----------
    source : Source of shape (n, p)
        The table.
    header : Header
        The shape of the store and its parts.
    rule : Binarization or None
        How values become 0/1; None: they must be.
    describe : DescribeColumns
        Names columns in error messages.
    done : set of int
        Parts to leave out; those that are yielded join them.
    """
    n_parts = -(-header.n_columns // header.columns_per_part)
    while len(done) < n_parts:
        before = len(done)
        for part, bits in _one_pass(source, header, rule, describe, done):
            yield part, bits
            done.add(part)
        if len(done) == before:
            msg = f"the blocks of {type(source).__name__} do not hold every cell once."
            raise ValueError(msg)


class _Open:
    """A part that is being filled."""

    def __init__(self, header: Header, part: int) -> None:
        columns = header.columns_of(part)
        shape = columns.stop - columns.start, header.n_words
        self.columns = columns
        self.bits = np.zeros(shape, dtype="<u8")
        self.left = header.n_rows * shape[0]

    def add(self, rows: slice, columns: slice, packed: AnyArray) -> None:
        """Add bytes of bits that begin at the byte of the first row, zeros before it."""
        first, end = (
            max(columns.start, self.columns.start),
            min(columns.stop, self.columns.stop),
        )
        inside = slice(first - self.columns.start, end - self.columns.start)
        start = rows.start // 8
        place = self.bits.view(np.uint8)[inside, start : start + packed.shape[1]]
        place |= packed[first - columns.start : end - columns.start]
        self.left -= (rows.stop - rows.start) * (end - first)


def _one_pass(
    source: Source,
    header: Header,
    rule: Binarization | None,
    describe: DescribeColumns,
    done: set[int],
) -> Iterator[tuple[int, AnyArray]]:
    """Yield the parts for which there is room, in one pass over the table."""
    work = work_of(source)
    waiting: list[tuple[slice, slice, Any]] = []
    parts: dict[int, _Open] = {}
    missed: set[int] = set()
    held = 0

    def finished() -> Iterator[tuple[int, AnyArray]]:
        packed = work.results([call for _, _, call in waiting])
        for (rows, columns, _), some in zip(waiting, packed, strict=True):
            for part in _parts_of(header, columns):
                if part in parts:
                    parts[part].add(rows, columns, some)
                    if parts[part].left == 0:
                        yield part, parts.pop(part).bits
        waiting.clear()

    for block in _narrow_blocks(source):
        if len(waiting) == _BLOCKS_AT_A_TIME:
            yield from finished()
            held = sum(part.bits.nbytes for part in parts.values())
        wanted = []
        for part in _parts_of(header, block.columns):
            if part in done or part in missed:
                continue
            if part not in parts:
                if parts and held + header.part_size(part) > ROOM:
                    missed.add(part)
                    continue
                parts[part] = _Open(header, part)
                held += header.part_size(part)
            wanted.append(part)
        if not wanted:
            continue
        first = max(block.columns.start, header.columns_of(wanted[0]).start)
        end = min(block.columns.stop, header.columns_of(wanted[-1]).stop)
        columns = slice(first, end)
        function = partial(
            packed_bytes,
            columns=slice(first - block.columns.start, end - block.columns.start),
            cut=None if rule is None else rule.cut[columns],
            first_row=block.rows.start,
            describe=describe.at(columns),
        )
        waiting.append((block.rows, columns, work.call(function, block.values)))
    yield from finished()


def _parts_of(header: Header, columns: slice) -> range:
    width = header.columns_per_part
    return range(columns.start // width, -(-columns.stop // width))


def _narrow_blocks(source: Source) -> Iterator[Block]:
    """Yield blocks; those that are sparse and at hand, some columns at a time."""
    for block in source.blocks():
        if not sparse.issparse(block.values):
            yield block
            continue
        matrix: Any = block.values
        matrix = matrix.tocsc()
        for some in column_slices(*matrix.shape):
            first = block.columns.start
            columns = slice(first + some.start, first + some.stop)
            yield Block(block.rows, columns, matrix[:, some])


def packed_bytes(
    values: Any,
    *,
    columns: slice,
    cut: FloatArray | None,
    first_row: int,
    describe: DescribeColumns,
) -> AnyArray:
    """Return the bits of some columns of a block, as bytes of shape (columns, bytes).

    The first byte is that which holds the block's first row in the table; bits before it are 0.

    Parameters
    ----------
    values : ndarray, sparse matrix or PackedColumns, of shape (m, c)
        The cells of the block.
    columns : slice
        Which columns of it.
    cut : ndarray of shape (columns,) or None
        Values above it are ones; None: values must be 0 or 1.
    first_row : int
        Where the block begins in the table.
    describe : DescribeColumns
        Names the columns in error messages, from the first of them on.
    """
    before = first_row % 8
    cells: Any = values if sparse.issparse(values) else dense(values)
    cells = cells[:, columns]
    n, c = cells.shape
    packed = np.zeros((c, -(-(before + n) // 8)), dtype=np.uint8)
    width = max(1, BLOCK_CELLS // max(n, 1))
    for start in range(0, c, width):
        some = slice(start, min(start + width, c))
        part = dense(cells[:, some])
        ones = _ones(part, None if cut is None else cut[some], first_row, describe, some.start)
        by_column = abs(ones.strides[0]) < abs(ones.strides[1])
        packed[some] = (_bits_by_column if by_column else _bits_by_row)(ones, before)
    return packed


def _bits_by_column(ones: AnyArray, before: int) -> AnyArray:
    """Return the bytes of columns whose cells stand together."""
    n, c = ones.shape
    cells = np.zeros((c, before + n), dtype=np.uint8)
    cells[:, before:] = ones.T
    return np.packbits(cells, axis=1, bitorder="little")


def _bits_by_row(ones: AnyArray, before: int) -> AnyArray:
    """Return the bytes of rows whose cells stand together: every eighth row is the same bit.

    To turn bytes takes an eighth of the time that turning cells would take.
    """
    n, c = ones.shape
    packed = np.zeros((-(-(before + n) // 8), c), dtype=np.uint8)
    for bit in range(8):
        first = (bit - before) % 8
        rows = ones[first::8].astype(np.uint8, copy=False)
        start = (before + first) // 8
        packed[start : start + len(rows)] |= rows << np.uint8(bit)
    return packed.T


def _ones(
    values: AnyArray,
    cut: FloatArray | None,
    first_row: int,
    describe: DescribeColumns,
    offset: int,
) -> AnyArray:
    """Return 0 and 1, or refuse what is neither, naming column and row."""
    if is_zero_one(values) and (cut is None or not cut.any()):
        return values
    first = describe.first + offset
    missing = values != values
    if missing.any():
        row, column = np.argwhere(missing)[0].tolist()
        fix = "a packed store has no missing cells: fill them in, or leave out the column or row"
        what = f"{describe(first + column)} is missing"
        raise CellError(what, first_row + row, fix)
    if cut is not None:
        if values.dtype.kind == "f":
            check_finite(values, describe, first_row, first)
        return above(values, cut)
    row, column = np.argwhere((values != 0) & (values != 1))[0].tolist()
    fix = "a packed store holds 0 and 1: cut measurements (binarize='auto', or --cut auto)"
    what = f"{describe(first + column)} holds {values[row, column]}"
    raise CellError(what, first_row + row, fix)
