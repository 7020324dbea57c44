"""Some columns of a source, and columns that were read ahead, are those of the table."""

import numpy as np
import pytest
from cut_source import CUTS, CutSource
from scipy import sparse

from honestbayes.data import as_source
from honestbayes.data.source import (
    Block,
    ColumnsOf,
    PackedColumns,
    ReadAhead,
    RowsOf,
    is_beyond_memory,
)
from honestbayes.selection.moments import screen_moments


def values(p=6):
    return np.random.default_rng(0).integers(0, 2, (37, p)).astype(np.uint8)


def cut_source(how, table):
    rows, columns = CUTS[how]
    names = tuple("abcdef")
    return CutSource(table, [rows] * (len(columns) + 1), columns, 1, names)


class Packed(CutSource):
    """Its columns are bits."""

    def blocks(self):
        for block in super().blocks():
            yield Block(block.rows, block.columns, PackedColumns.pack(block.values))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("how", CUTS)
def test_some_columns_are_a_source(how, container):
    table, chosen = values(), np.array([0, 3, 5])
    source = ColumnsOf(cut_source(how, container(table)), chosen)
    assert source.shape == (37, 3)
    assert source.feature_names == ("a", "d", "f")
    assert not is_beyond_memory(source)
    np.testing.assert_array_equal(source.take(np.array([2, 0])), table[:, [5, 0]])
    rows = np.array([1, 30])
    expected = table[np.ix_(rows, [3])]
    np.testing.assert_array_equal(RowsOf(source, rows).take(np.array([1])), expected)
    seen = np.full((37, 3), 9)
    for block in source.blocks():
        seen[block.rows, block.columns] = block.dense()
    np.testing.assert_array_equal(seen, table[:, chosen])


def test_some_columns_of_bits_are_bits():
    table, codes = values(), np.arange(37) % 2
    source = ColumnsOf(Packed(table, [[], []], [2]), np.array([1, 2, 5]))
    assert all(isinstance(block.values, PackedColumns) for block in source.blocks())
    found = screen_moments(source, codes, np.arange(2))
    expected = screen_moments(as_source(table[:, [1, 2, 5]]), codes, np.arange(2))
    np.testing.assert_array_equal(found.within, expected.within)


class Counted(CutSource):
    """Remembers which columns were read."""

    def take(self, columns):
        self.taken = [*getattr(self, "taken", []), np.asarray(columns).tolist()]
        return super().take(columns)


@pytest.mark.parametrize("dtype", [np.uint8, float])
def test_what_was_read_ahead_is_not_read_again_and_the_rest_is(dtype):
    table = (np.arange(37 * 6).reshape(37, 6) % 251).astype(dtype)
    source = Counted(table, [[5]], [])
    ahead = ReadAhead(source)
    assert is_beyond_memory(ahead)
    np.testing.assert_array_equal(ahead.take(np.array([4])), table[:, [4]])
    ahead.read_ahead(np.array([5, 1]))
    ahead.read_ahead(np.array([1, 0]))
    assert source.taken == [[4], [1, 5], [0]]
    np.testing.assert_array_equal(ahead.take(np.array([0, 5, 1])), table[:, [0, 5, 1]])
    rows = np.array([3, 20, 36])
    found = ahead.take_rows(rows, np.array([5, 0]))
    np.testing.assert_array_equal(found, table[np.ix_(rows, [5, 0])])
    assert found.flags.c_contiguous
    assert len(source.taken) == 3
    mixed = np.array([4, 1, 3, 0])
    np.testing.assert_array_equal(ahead.take(mixed), table[:, mixed])
    np.testing.assert_array_equal(ahead.take_rows(rows, mixed), table[np.ix_(rows, mixed)])
    assert source.taken[3:] == [[4, 3], [4, 3]]
