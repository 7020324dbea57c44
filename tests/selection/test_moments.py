"""Class means and sums of squares are right in any cut, and merge into those of the whole."""

import math

import numpy as np
import pytest
from cut_source import CONTAINERS, CUTS, CutSource, cuts, grid, real_table
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_screening import class_moments

from honestbayes.data import as_source
from honestbayes.data.source import DescribeColumns, PackedColumns
from honestbayes.selection.moments import Moments, moments_of_values, screen_moments

CLASSES = np.array([0, 1, 2])


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("offset", [0.0, 1e4, -1e8])
def test_moments_are_exact_to_rounding_in_any_cut(cut, missing, offset):
    values, labels = real_table(37, 6, offset, missing, seed=5)
    observed, mean, within = class_moments(values.tolist(), labels.tolist(), 3)
    found = screen_moments(grid(values, *cut), labels, CLASSES)
    assert found.class_counts == tuple(np.bincount(labels))
    assert (found.observed.shape[1] == 1) == (missing == 0)
    np.testing.assert_array_equal(np.broadcast_to(found.observed, (3, 6)), observed)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.within, within, rtol=1e-12)


def test_moments_of_a_long_table_far_from_zero_are_exact_to_rounding():
    values, labels = real_table(3000, 2, 1e8, 0.1, seed=6)
    _, mean, within = class_moments(values.tolist(), labels.tolist(), 3)
    for step in (1, 7, 64):
        found = screen_moments(grid(values, range(step, 3000, step)), labels, CLASSES)
        np.testing.assert_allclose(found.mean, mean, rtol=1e-15)
        np.testing.assert_allclose(found.within, within, rtol=1e-12)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.integers(2, 40),
    st.integers(2, 6),
    st.sampled_from([0.0, 1e8]),
    st.sampled_from([0.0, 0.2]),
    st.data(),
)
def test_the_same_blocks_give_the_same_bits_in_any_order_of_arrival(n, p, offset, missing, data):
    values, labels = real_table(n, p, offset, missing, seed=n)
    cut = data.draw(cuts(n, p))
    first, *others = (
        screen_moments(CutSource(values, *cut, seed), labels, CLASSES) for seed in (None, 0, 1, 2)
    )
    for other in others:
        for name in ("observed", "mean", "within", "rest"):
            np.testing.assert_array_equal(getattr(other, name), getattr(first, name))


@pytest.mark.parametrize("container", ["csr", "csc"])
def test_moments_of_sparse_blocks_are_those_of_dense_ones(container):
    values = np.random.default_rng(0).poisson(0.5, (37, 6)).astype(float)
    labels = np.arange(37) % 3
    sparse_one, dense = (
        screen_moments(grid(CONTAINERS[kind](values), [5, 20], [2]), labels, CLASSES)
        for kind in (container, "dense")
    )
    # Absent cells are not added up one by one, so the last bits may differ.
    np.testing.assert_allclose(sparse_one.mean, dense.mean, rtol=1e-14)
    np.testing.assert_allclose(sparse_one.within, dense.within, rtol=1e-13)


def test_one_block_with_all_rows_is_the_array_itself():
    values, y = real_table(37, 6, 0.0, 0.3, seed=1)
    one, other = (
        screen_moments(source, y, CLASSES) for source in (as_source(values), grid(values, []))
    )
    for name in ("mean", "within", "rest"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_numbers_too_large_to_be_squared_are_refused_in_any_cut():
    values = np.zeros((8, 3))
    values[:, 1] = [1e200, -1e200] * 4
    for cut in ([], [4], range(1, 8)):
        with pytest.raises(ValueError, match="column 1 holds numbers too large"):
            screen_moments(grid(values, cut), np.zeros(8, dtype=int), np.array([0]))


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("names", [None, ("a", "b", "c", "d")])
def test_an_infinite_cell_is_named_by_its_place_in_the_table(container, names):
    values = np.zeros((9, 4))
    values[7, 2] = math.inf
    source = grid(container(values), [3, 6], [1], feature_names=names)
    place = "column 2" if names is None else "column 'c'"
    with pytest.raises(ValueError, match=f"{place} is inf .*in row 7"):
        screen_moments(source, np.zeros(9, dtype=int), np.array([0]))


def moments_of(values, labels):
    return screen_moments(as_source(values), labels, CLASSES[: labels.max() + 1])


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_moments_of_disjoint_rows_merge_into_the_whole(missing):
    values, labels = real_table(30, 5, 1e8, missing, seed=0)
    whole = moments_of(values, labels)
    merged = moments_of(values[:11], labels[:11]).merge_rows(moments_of(values[11:], labels[11:]))
    assert merged.class_counts == whole.class_counts
    np.testing.assert_array_equal(merged.observed, whole.observed)
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-15)
    np.testing.assert_allclose(merged.within, whole.within, rtol=1e-12)


def test_moments_of_disjoint_columns_merge_into_the_whole():
    values, labels = real_table(30, 5, 1e8, 0.2, seed=0)
    values[:, 3:] = 1.0  # no cell is missing here
    whole = moments_of(values, labels)
    parts = [moments_of(values[:, columns], labels) for columns in ([0], [1, 2], [3, 4])]
    merged = parts[0].merge_columns(*parts[1:])
    np.testing.assert_array_equal(merged.observed, whole.observed)
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-15)
    np.testing.assert_allclose(merged.mean + merged.rest, whole.mean + whole.rest, rtol=1e-15)
    np.testing.assert_allclose(merged.within, whole.within, rtol=1e-12)
    complete = parts[2].merge_columns(parts[2])
    assert complete.observed.shape == (3, 1)


def test_moments_whose_rest_is_unknown_merge_too():
    values, labels = real_table(30, 5, 0.0, 0.0, seed=0)
    whole = moments_of(values, labels)
    first, second = (moments_of(values[rows], labels[rows]) for rows in (slice(12), slice(12, 30)))
    forgotten = Moments(
        classes=first.classes,
        class_counts=first.class_counts,
        observed=first.observed,
        mean=first.mean,
        within=first.within,
    )
    merged = forgotten.merge_rows(second)
    np.testing.assert_allclose(merged.within, whole.within, rtol=1e-12)
    assert forgotten.take(np.array([1])).rest is None
    assert forgotten.merge_columns(first).rest is None


def test_moments_that_are_no_parts_of_one_table_are_refused():
    values, labels = real_table(30, 5, 1e8, 0.2, seed=0)
    whole = moments_of(values, labels)
    with pytest.raises(ValueError, match="same columns"):
        whole.merge_rows(moments_of(values[:, :2], labels))
    with pytest.raises(ValueError, match="same classes"):
        whole.merge_rows(moments_of(values, labels % 2))
    with pytest.raises(ValueError, match="same numbers of cases per class"):
        whole.merge_columns(moments_of(values[:20], labels[:20]))


@pytest.mark.parametrize("kind", ["bytes", "bools", "bits"])
def test_moments_of_zeros_and_ones_are_found_from_counts(kind):
    generator = np.random.default_rng(8)
    labels = generator.integers(0, 3, 90)
    ones = generator.random((90, 12)) < 0.3 + 0.2 * (labels[:, None] == 1)
    order = np.concatenate([generator.permutation(np.flatnonzero(labels == c)) for c in range(3)])
    ones[np.concatenate([np.flatnonzero(labels == c) for c in range(3)]), 9] = ones[order, 8]
    expected = moments_of(ones.astype(float), labels)
    given = {"bytes": ones.astype(np.int8), "bools": ones, "bits": PackedColumns.pack(ones)}[kind]
    found = moments_of_values(
        given,
        labels=labels,
        classes=np.arange(3),
        first_row=0,
        describe=DescribeColumns(None),
    )
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-14)
    np.testing.assert_allclose(found.within, expected.within, rtol=1e-13)
    # Columns with the same counts have the same strength, whatever the order of their rows.
    assert found.r_squared()[8] == found.r_squared()[9]
