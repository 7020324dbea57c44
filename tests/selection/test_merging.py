"""Screenings of parts merge into exactly the screening of the whole."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestbayes.selection import screen

NAN = math.nan
CLASSES = ["a", "b"]


@st.composite
def tables(draw):
    n, p = draw(st.integers(2, 12)), draw(st.integers(2, 6))
    cell = draw(
        st.sampled_from(
            [
                st.sampled_from([0, 1]),
                st.sampled_from([0.0, 1.0, NAN]),
                st.sampled_from([0.0, 1.0, 2.5, NAN]),
            ]
        )
    )
    values = draw(st.lists(st.lists(cell, min_size=p, max_size=p), min_size=n, max_size=n))
    labels = draw(st.lists(st.sampled_from(CLASSES), min_size=n, max_size=n))
    return np.array(values), labels


def assert_same(first, second):
    assert first.classes.tolist() == second.classes.tolist()
    assert first.class_counts == second.class_counts
    np.testing.assert_array_equal(first.ones, second.ones)
    np.testing.assert_array_equal(first.observed_full(), second.observed_full())
    assert first.binarization.equals(second.binarization)
    assert first.feature_names == second.feature_names
    np.testing.assert_array_equal(first.correlation(), second.correlation())


@settings(deadline=None, derandomize=True)
@given(tables(), st.sampled_from(["auto", "median", 0.5]), st.data())
def test_disjoint_columns_merge_into_the_whole(table, option, data):
    values, labels = table
    cut = data.draw(st.integers(1, values.shape[1] - 1))
    parts = [
        screen(part, labels, binarize=option, classes=CLASSES)
        for part in (values[:, :cut], values[:, cut:])
    ]
    whole = screen(values, labels, binarize=option, classes=CLASSES)
    assert_same(parts[0].merge_columns(parts[1]), whole)


@settings(deadline=None, derandomize=True)
@given(tables(), st.sampled_from(["auto", "median", 0.5]), st.data())
def test_disjoint_rows_merge_into_the_whole(table, option, data):
    values, labels = table
    rule = screen(values, labels, binarize=option, classes=CLASSES).binarization
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(labels), max_size=len(labels))))
    if mask.all() or not mask.any():
        return
    names = np.array(labels)
    parts = [
        screen(values[rows], names[rows], binarize=rule, classes=CLASSES) for rows in (mask, ~mask)
    ]
    whole = screen(values, labels, binarize=option, classes=CLASSES)
    assert_same(parts[0].merge_rows(parts[1]), whole)
    assert_same(parts[1].merge_rows(parts[0]), whole)


def test_rows_that_were_cut_elsewhere_are_refused():
    rng = np.random.default_rng(0)
    first, second = (screen(rng.normal(size=(6, 2)), CLASSES * 3) for _ in range(2))
    with pytest.raises(ValueError, match=r"binarize=first\.binarization"):
        first.merge_rows(second)


def test_rows_of_other_columns_or_classes_are_refused():
    table = np.array([[0, 1], [1, 0]])
    first = screen(table, CLASSES)
    with pytest.raises(ValueError, match="same columns"):
        first.merge_rows(screen(table[:, :1], CLASSES))
    with pytest.raises(ValueError, match="same classes"):
        first.merge_rows(screen(table, ["a", "c"]))


def test_columns_of_other_cases_are_refused():
    table = np.array([[0, 1], [1, 0], [1, 1]])
    with pytest.raises(ValueError, match="same numbers of cases per class"):
        screen(table, ["a", "a", "b"]).merge_columns(screen(table, ["a", "b", "b"]))


def test_columns_that_share_a_name_are_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"u": [0, 1], "v": [1, 0]})
    screening = screen(frame, CLASSES)
    with pytest.raises(ValueError, match="share a column name"):
        screening.merge_columns(screening)
    with pytest.raises(ValueError, match="both screenings name their columns or neither"):
        screening.merge_columns(screen(frame.to_numpy(), CLASSES))
    merged = screen(frame[["v"]], CLASSES).merge_columns(screen(frame[["u"]], CLASSES))
    assert merged.feature_names == ("v", "u")


def test_correlations_are_those_of_numpy():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, (40, 30))
    labels = rng.integers(0, 2, 40)
    expected = [np.corrcoef(column, labels)[0, 1] for column in table.T]
    np.testing.assert_allclose(screen(table, labels).correlation(), expected, atol=1e-14)
