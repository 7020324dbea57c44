"""Statistics of blocks add up to that of the table, along a tree that the rows alone determine."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from cut_source import CutSource, grid

from honestbayes.data.source import Block, accumulate


@dataclass(frozen=True)
class Merges:
    """A statistic that tells how it was put together."""

    text: str

    def merge_rows(self, other):
        return Merges(f"({self.text} {other.text})")

    def merge_columns(self, *others):
        return Merges(" | ".join(part.text for part in (self, *others)))


def told(rows, _):
    return lambda _: Merges(f"{rows.start}")


def merged(blocks, shape):
    return accumulate(Given(blocks, shape), told).text


@dataclass
class Given:
    """Blocks as they are given."""

    given: list
    shape: tuple

    def blocks(self):
        yield from self.given


def rows_cut_at(*cuts):
    places = itertools.pairwise(cuts)
    return [Block(slice(*rows), slice(0, 1), np.zeros((1, 1))) for rows in places]


@pytest.mark.parametrize(
    "cuts", [(0, 1, 2, 3, 4, 5), (0, 3, 5, 7, 9, 11), (0, 4, 8, 12, 16, 20), (0, 1, 8, 9, 10, 12)]
)
def test_every_order_of_arrival_merges_along_the_same_tree(cuts):
    orders = itertools.permutations(rows_cut_at(*cuts))
    assert len({merged(list(order), (cuts[-1], 1)) for order in orders}) == 1


def test_blocks_of_one_length_are_merged_in_pairs():
    assert merged(rows_cut_at(0, 5, 10, 15, 20), (20, 1)) == "((0 5) (10 15))"


def test_columns_are_put_in_their_order():
    found = accumulate(CutSource(np.zeros((4, 5)), [[2], [], [1, 3]], [1, 3], seed=3), told)
    assert found.text == "(0 2) | 0 | ((0 1) 3)"


def test_few_statistics_wait_when_blocks_arrive_from_top_to_bottom():
    alive, most = set(), 0

    class Counted(Merges):
        def merge_rows(self, other):
            alive.difference_update({self.text, other.text})
            return seen(f"{self.text}+")

    def seen(text):
        nonlocal most
        alive.add(text)
        most = max(most, len(alive))
        return Counted(text)

    accumulate(
        grid(np.zeros((3000, 1)), range(3, 3000, 3), seed=None),
        lambda rows, _: lambda _: seen(str(rows.start)),
    )
    assert most <= 12


BAD = {
    "a gap of rows": [Block(slice(0, 2), slice(0, 3), None), Block(slice(3, 4), slice(0, 3), None)],
    "rows twice": [Block(slice(0, 3), slice(0, 3), None), Block(slice(2, 4), slice(0, 3), None)],
    "a block twice": [Block(slice(0, 4), slice(0, 3), None)] * 2,
    "a gap of columns": [Block(slice(0, 4), slice(0, 1), None)],
    "columns twice": [Block(slice(0, 4), slice(0, 2), None), Block(slice(0, 4), slice(1, 3), None)],
    "other columns in other rows": [
        Block(slice(0, 2), slice(0, 3), None),
        Block(slice(2, 4), slice(0, 2), None),
        Block(slice(2, 4), slice(2, 3), None),
    ],
    "nothing": [],
}


@pytest.mark.parametrize("blocks", BAD.values(), ids=BAD)
def test_blocks_that_do_not_hold_every_cell_once_are_refused(blocks):
    with pytest.raises(ValueError, match=r"blocks of Given do not hold every cell of columns"):
        merged(blocks, (4, 3))
