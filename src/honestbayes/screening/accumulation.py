"""The statistic of a table from the statistics of its blocks, however it is cut.

Blocks of the same columns are merged along a tree that their row numbers alone determine, so that
the same blocks give the same bits in whatever order they arrive. Rows have ranks: the more often a
row number can be halved the higher, then the larger the higher; the ends of the table come first.
Two neighbours are merged when the row at which they meet ranks below both ends of their union: then
the tree has nothing left to merge inside either of them. Of blocks of one length that arrive from
top to bottom, about log2 of their number wait at any time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

from honestbayes.sources.source import Source, Work, work_of


class Statistic(Protocol):
    """What is known of some rows and columns, and can be put together."""

    def merge_rows(self, other: Self, /) -> Self:
        """Return the statistic of both sets of rows, which share none."""

    def merge_columns(self, *others: Self) -> Self:
        """Return the statistic of all sets of columns, in this order."""


S = TypeVar("S", bound=Statistic)


@dataclass(frozen=True, slots=True)
class _Run(Generic[S]):
    """The statistic of the rows from ``start`` to before ``stop``."""

    start: int
    stop: int
    statistic: S


OfBlock = Callable[[slice, slice], Callable[[Any], S]]
"""Takes the rows and the columns of a block; returns what makes the statistic of its values. What
it returns may be sent to another machine, so it should hold no more than this block needs."""


def accumulate(source: Source, of_block: OfBlock[S]) -> S:
    """Return the statistic of all cells of a table.

    Where the source's values are read elsewhere, statistics are made and merged there, along the
    same tree.

    Parameters
    ----------
    source : Source of shape (n, p)
        The table.
    of_block : callable
        What makes the statistic of one block.
    """
    (n, p), work = source.shape, work_of(source)
    by_columns: dict[tuple[int, int], list[_Run[Any]]] = {}
    for block in source.blocks():
        runs = by_columns.setdefault((block.columns.start, block.columns.stop), [])
        found = work.call(of_block(block.rows, block.columns), block.values)
        _insert(runs, _Run(block.rows.start, block.rows.stop, found), n, work)
    first = 0
    for (start, stop), runs in sorted(by_columns.items()):
        if start != first or [(run.start, run.stop) for run in runs] != [(0, n)]:
            _refuse(source, min(start, first), stop)
        first = stop
    if first != p:
        _refuse(source, first, p)
    parts: list[S] = work.results([runs[0].statistic for _, runs in sorted(by_columns.items())])
    return parts[0].merge_columns(*parts[1:]) if len(parts) > 1 else parts[0]


def _insert(runs: list[_Run[Any]], new: _Run[Any], n: int, work: Work) -> None:
    """Put a run in its place among those that wait, and merge what can be merged."""
    place = bisect_left(runs, new.start, key=lambda run: run.start)
    runs.insert(place, new)
    while True:
        found = [i for i in (place - 1, place) if _can_be_merged(runs, i, n)]
        if not found:
            return
        place = found[0]
        left, right = runs[place : place + 2]
        merged = work.call(_merge_rows, left.statistic, right.statistic)
        runs[place : place + 2] = [_Run(left.start, right.stop, merged)]


def _merge_rows(first: S, second: S) -> S:
    return first.merge_rows(second)


def _can_be_merged(runs: list[_Run[Any]], place: int, n: int) -> bool:
    """Whether a run and the next one meet, at a row that both of their other ends outrank."""
    if place < 0 or place + 1 >= len(runs):
        return False
    left, right = runs[place], runs[place + 1]
    middle = _rank(right.start, n)
    return (
        left.stop == right.start and middle < _rank(left.start, n) and middle < _rank(right.stop, n)
    )


def _rank(row: int, n: int) -> tuple[int, int]:
    """Return the largest power of two that divides a row number, and the number."""
    return (n if row in (0, n) else row & -row, row)


def _refuse(source: Source, start: int, stop: int) -> None:
    """Say that blocks overlap, leave a gap, or are cut at different columns."""
    msg = (
        f"the blocks of {type(source).__name__} do not hold every cell of columns {start} to "
        f"{stop - 1} once; a source yields each cell in one block, and two blocks must have the "
        "same columns or none in common."
    )
    raise ValueError(msg)
