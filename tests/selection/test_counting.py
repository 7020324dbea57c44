"""A table gives the same counts however it is cut, and in whatever order its blocks arrive."""

import math

import numpy as np
import pytest
from cut_source import CONTAINERS, CutSource, cuts, grid
from grids import each_once
from hypothesis import given, settings
from hypothesis import strategies as st

from honestbayes.selection import screen

NAN = math.nan

CELLS = {
    "int8": (st.sampled_from([0, 1]), np.int8),
    "counts": (st.integers(-2, 3), np.int64),
    "missing": (st.sampled_from([0.0, 1.0, NAN]), np.float64),
    "numbers": (st.sampled_from([0.0, 0.0, 1.0, 2.5, -1.0, NAN]), np.float32),
}


@st.composite
def cut_tables(draw, cells):
    """A table, its container, and two orders of the same blocks."""
    n, p = draw(st.integers(2, 14)), draw(st.integers(1, 6))
    cell, dtype = cells
    rows = draw(st.lists(st.lists(cell, min_size=p, max_size=p), min_size=n, max_size=n))
    values = np.array(rows, dtype=dtype)
    container = CONTAINERS[draw(st.sampled_from(sorted(CONTAINERS)))]
    row_cuts, column_cuts = draw(cuts(n, p))
    sources = [CutSource(container(values), row_cuts, column_cuts, seed) for seed in (0, 1)]
    return values, container(values), sources


def assert_same_counts(first, second):
    assert first.class_counts == second.class_counts
    np.testing.assert_array_equal(first.ones, second.ones)
    np.testing.assert_array_equal(first.observed, second.observed)
    assert first.binarization.equals(second.binarization)


@pytest.mark.slow_cases("counts-median", "missing-0.5")
@each_once("cells, option", CELLS, ["auto", "median", 0.5, -0.5])
def test_counts_have_the_same_bits_in_any_cut(cells, option):
    @settings(deadline=None, derandomize=True, max_examples=40)
    @given(cut_tables(cells), st.data())
    def check(table, data):
        values, whole, sources = table
        n = values.shape[0]
        labels = data.draw(st.lists(st.sampled_from("ab"), min_size=n, max_size=n))
        expected = screen(whole, labels, binarize=option, classes=["a", "b"])
        for source in sources:
            found = screen(source, labels, binarize=option, classes=["a", "b"])
            assert_same_counts(found, expected)
        cut = expected.binarization.cut
        for j, c in np.ndindex(values.shape[1], 2):
            own = [v for v, label in zip(values[:, j], labels, strict=True) if label == "ab"[c]]
            assert expected.ones[c, j] == sum(v > cut[j] for v in own)
            assert expected.observed_full()[c, j] == sum(v == v for v in own)

    check()


def test_observed_cases_of_blocks_of_rows_are_added():
    values = np.zeros((8, 2))
    values[7, 1] = NAN
    found = screen(grid(values, [2, 4, 6]), [0] * 8, classes=[0, 1])
    assert found.observed.tolist() == [[8, 7], [0, 0]]


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("names", [None, ("a", "b", "c", "d")])
def test_an_infinite_cell_is_named_by_its_place_in_the_table(container, names):
    values = np.zeros((9, 4))
    values[7, 2] = math.inf
    source = grid(container(values), [3, 6], [1], feature_names=names)
    place = "column 2" if names is None else "column 'c'"
    with pytest.raises(ValueError, match=f"{place} is inf .*in row 7"):
        screen(source, [0, 1, 0] * 3, binarize=0.5)
