"""Moments with a response are right in any cut, and merge into those of the whole."""

import math

import numpy as np
import pytest
from cut_source import CONTAINERS, CUTS, CutSource, cuts, grid, real_table
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_screening import response_moments

from honestbayes.data import as_source
from honestbayes.selection.moments import screen_response


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("unit", [1.0, 1e-200, 1e150])
def test_moments_with_a_response_are_exact_to_rounding_in_any_cut(cut, missing, unit):
    values, _ = real_table(37, 6, 2.0, missing, seed=8)
    values[:20, 3] = 0.0  # blocks without a unit of their own
    y = np.random.default_rng(9).normal(size=37)
    y = (y - y.mean()) / y.std()
    number, squares, r_squared = response_moments(values.tolist(), y.tolist())
    found = screen_response(grid(values * unit, *cut), y)
    assert found.n_observed.tolist() == number
    np.testing.assert_allclose(found.square(), np.array(squares) * unit**2, rtol=1e-12)
    np.testing.assert_allclose(found.r_squared(), r_squared, rtol=1e-12, atol=1e-15)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.integers(2, 40), st.integers(2, 6), st.sampled_from([0.0, 0.2]), st.data())
def test_the_same_blocks_give_the_same_bits_in_any_order_of_arrival(n, p, missing, data):
    values, _ = real_table(n, p, 1.0, missing, seed=n)
    cut, y = data.draw(cuts(n, p)), np.sin(np.arange(n))
    first, *others = (screen_response(CutSource(values, *cut, seed), y) for seed in (None, 0, 1, 2))
    for other in others:
        np.testing.assert_array_equal(other.r_squared(), first.r_squared())
        np.testing.assert_array_equal(other.square(), first.square())


def test_numbers_too_large_to_be_squared_are_refused_in_any_cut():
    values = np.zeros((8, 3))
    values[:, 1] = [1e200, -1e200] * 4
    for cut in ([], [4], range(1, 8)):
        with pytest.raises(ValueError, match="column 1 holds numbers too large"):
            screen_response(grid(values, cut), np.arange(8.0))


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("names", [None, ("a", "b", "c", "d")])
def test_an_infinite_cell_is_named_by_its_place_in_the_table(container, names):
    values = np.zeros((9, 4))
    values[7, 2] = math.inf
    source = grid(container(values), [3, 6], [1], feature_names=names)
    place = "column 2" if names is None else "column 'c'"
    with pytest.raises(ValueError, match=f"{place} is inf .*in row 7"):
        screen_response(source, np.arange(9.0))


def test_moments_with_a_response_of_disjoint_columns_merge_into_the_whole():
    values = real_table(30, 5, 2.0, 0.2, seed=0)[0]
    y = np.sin(np.arange(30.0))
    parts = [screen_response(as_source(values[:, c]), y) for c in ([0, 1], [2], [3, 4])]
    merged = parts[0].merge_columns(*parts[1:])
    whole = screen_response(as_source(values), y)
    np.testing.assert_allclose(merged.r_squared(), whole.r_squared(), rtol=1e-12)
    assert merged.n_observed.tolist() == whole.n_observed.tolist()
