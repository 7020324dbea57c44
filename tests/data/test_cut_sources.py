"""What reads a source is right for any cut into blocks."""

import math

import numpy as np
import pytest
from cut_source import CONTAINERS, CutSource, cuts, grid
from hypothesis import given, settings
from hypothesis import strategies as st

from honestbayes.data import source as module
from honestbayes.data.binarization import learn_binarization
from honestbayes.data.source import RowsOf, as_source, whole_columns

NAN = math.nan


def cells_of(source):
    """All cells that the blocks hold, and how often each was held."""
    values, times = np.full(source.shape, np.inf), np.zeros(source.shape, dtype=int)
    for block in source.blocks():
        values[block.rows, block.columns] = block.dense()
        times[block.rows, block.columns] += 1
    return values, times


@settings(deadline=None, derandomize=True)
@given(st.data(), st.sampled_from(sorted(CONTAINERS)))
def test_some_rows_of_a_cut_table_are_handed_out_once_each(data, container):
    n, p = 9, 4
    values = np.arange(n * p, dtype=float).reshape(n, p)
    source = CutSource(CONTAINERS[container](values), *data.draw(cuts(n, p)), seed=0)
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=12)), dtype=np.int64)
    part = RowsOf(source, rows)
    found, times = cells_of(part)
    np.testing.assert_array_equal(found, values[rows])
    assert np.all(times == 1)
    np.testing.assert_array_equal(part.take(np.array([3, 0])), values[rows][:, [3, 0]])


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("limit", [1 << 23, 20])
def test_whole_columns_are_gathered_once_each(monkeypatch, container, limit):
    monkeypatch.setattr(module, "BLOCK_CELLS", limit)
    values = np.arange(60.0).reshape(10, 6)
    source = CutSource(container(values), [[4], [], [1, 2]], [3, 4], seed=1)
    found, times = np.zeros((10, 6)), np.zeros(6, dtype=int)
    for block in whole_columns(source):
        assert (block.rows.start, block.rows.stop) == (0, 10)
        found[:, block.columns] = block.dense()
        times[block.columns] += 1
    np.testing.assert_array_equal(found, values)
    assert times.tolist() == [1] * 6


def test_cut_columns_of_zeros_and_ones_are_not_gathered():
    values = np.zeros((10, 4))
    values[9, 3] = 5.0

    class Watched(CutSource):
        def take(self, columns):
            taken.append(columns.tolist())
            return super().take(columns)

    taken = []
    rule = learn_binarization(Watched(values, [[5], [5]], [2]), "auto", str)
    assert taken == [[2, 3]]
    assert rule.high.tolist() == [1, 1, 1, 5]


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("option", ["auto", "median"])
def test_cuts_are_learnt_from_all_rows_of_a_cut_table(container, option):
    generator = np.random.default_rng(0)
    values = np.where(generator.random((31, 9)) < 0.5, 0.0, generator.integers(-2, 4, (31, 9)))
    values[:, :3] = generator.integers(0, 2, (31, 3))
    values[generator.random(values.shape) < 0.1] = NAN
    values[:, 8], values[:, 7] = NAN, 3.0
    whole = learn_binarization(as_source(container(values)), option, str)
    for rows, columns in (([10, 20], []), (range(1, 31), [1, 2, 5]), ([1], [8])):
        found = learn_binarization(grid(container(values), rows, columns), option, str)
        assert found.equals(whole)


def test_a_value_that_is_not_zero_or_one_is_named_by_its_row_in_the_table():
    values = np.zeros((9, 4))
    values[7, 2] = 3.0
    source = grid(values, [3, 6], [1])
    with pytest.raises(ValueError, match=r"column 2 holds 3\.0 in row 7"):
        learn_binarization(source, None, lambda column: f"column {column}")
