"""How values become 0/1, against the rule in plain words."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from honestbayes.data import Binarization
from honestbayes.selection import screen

NAN = math.nan
LABELS = [0, 1, 0, 1, 1, 0, 1]


def plain_cut(column, option):
    """Cut and larger value of one column, from the documentation."""
    values = [value for value in column if value == value]
    different = sorted(set(values))
    if set(different) <= {0, 1}:
        return 0.0, 1.0 if option == "auto" else NAN
    if option == "auto" and len(different) == 2:
        return different
    if option == "auto" and len(different) == 1:
        return different[0], NAN
    median = statistics.median(values)
    if median >= different[-1] and len(different) > 1:
        return different[-2], NAN
    return median, NAN


def assert_rule(screening, columns, option):
    rule = [plain_cut(column, option) for column in columns]
    np.testing.assert_array_equal(screening.binarization.cut, [cut for cut, _ in rule])
    np.testing.assert_array_equal(screening.binarization.high, [high for _, high in rule])
    for label in (0, 1):
        ones = [
            sum(v > cut for v, c in zip(column, LABELS, strict=True) if c == label)
            for column, (cut, _) in zip(columns, rule, strict=True)
        ]
        assert screening.ones[label].tolist() == ones


CELL = st.sampled_from([0.0, 1.0, 0.0, 1.0, 2.0, -1.0, 0.5, 1e9, NAN])
COLUMN = st.one_of(
    st.lists(CELL, min_size=7, max_size=7),
    st.lists(st.sampled_from([0.0, 1.0]), min_size=7, max_size=7),
    st.lists(st.sampled_from([3.0, 5.0, NAN]), min_size=7, max_size=7),
    st.lists(st.floats(-10, 10, width=32), min_size=7, max_size=7),
)


@settings(deadline=None, derandomize=True)
@given(st.lists(COLUMN, min_size=1, max_size=5), st.sampled_from(["auto", "median"]))
def test_cuts_and_counts_are_those_of_the_plain_rule_for_dense_and_sparse_tables(columns, option):
    table = np.array(columns).T
    assert_rule(screen(table, LABELS, binarize=option), columns, option)
    assert_rule(screen(sparse.csr_array(table), LABELS, binarize=option), columns, option)
    assert_rule(screen(sparse.csc_array(table), LABELS, binarize=option), columns, option)


@settings(deadline=None, derandomize=True)
@given(st.lists(COLUMN, min_size=1, max_size=5))
def test_float32_is_cut_as_the_same_numbers_in_double_precision(columns):
    table = np.array(columns, dtype=np.float32).T
    assert_rule(screen(table, LABELS), table.T.astype(float).tolist(), "auto")


@pytest.mark.parametrize("pair", [(1, 2), (-1, 1), (0, 2), (-0.5, 0.25), (0, 1)])
@pytest.mark.parametrize("option", ["auto", "median"])
def test_two_valued_columns_are_taken_as_they_are(pair, option):
    low, high = pair
    column = [high, low, high, high, low, NAN, high]
    screening = screen(np.array([column]).T, LABELS, binarize=option)
    assert screening.ones.tolist() == [[2], [2]]
    if option == "auto":
        assert screening.binarization.cut.tolist() == [low]
        assert screening.binarization.high.tolist() == [high]


@pytest.mark.parametrize("value", [0, 1, 7, -2, NAN])
@pytest.mark.parametrize("option", ["auto", "median"])
def test_a_column_without_two_values_has_correlation_zero(value, option):
    screening = screen(np.full((7, 1), value, dtype=float), LABELS, binarize=option)
    assert screening.correlation().tolist() == [0.0]


def test_a_median_equal_to_the_maximum_gives_way_to_the_next_smaller_value():
    column = [5.0, 5.0, 5.0, 5.0, 1.0, 2.0, 3.0]
    screening = screen(np.array([column]).T, LABELS)
    assert screening.binarization.cut.tolist() == [3.0]
    assert screening.ones.sum() == 4


def test_medians_do_not_depend_on_missing_cells():
    column = [1.0, 2.0, 3.0, NAN, NAN, 4.0, 9.0]
    assert screen(np.array([column]).T, LABELS).binarization.cut.tolist() == [3.0]


def test_a_negative_number_makes_ones_of_the_zeros_that_a_sparse_table_does_not_store():
    table = sparse.csc_array(np.array([[0, -2], [0, 0], [3, -2], [0, 0]] + [[0, 0]] * 3))
    assert screen(table, LABELS, binarize=-1).ones.tolist() == [[3, 1], [4, 4]]


def test_another_screening_s_cuts_are_used_as_they_are():
    train = np.random.default_rng(0).normal(size=(7, 4))
    rule = screen(train, LABELS).binarization
    other = np.random.default_rng(1).normal(size=(7, 4))
    screening = screen(other, LABELS, binarize=rule)
    assert screening.binarization is rule
    is_one = np.array(LABELS, dtype=bool)
    expected = [(other > rule.cut)[~is_one].sum(axis=0), (other > rule.cut)[is_one].sum(axis=0)]
    np.testing.assert_array_equal(screening.ones, expected)


def test_cuts_of_another_number_of_columns_are_refused():
    rule = Binarization(np.zeros(3), np.ones(3))
    with pytest.raises(ValueError, match="binarize holds 3 columns, but X has 2"):
        screen(np.zeros((7, 2)), LABELS, binarize=rule)


@pytest.mark.parametrize("option", ["mean", True, "Auto", (0, 1)])
def test_an_unknown_word_for_binarize_is_refused(option):
    with pytest.raises(ValueError, match="is not one of 'auto', 'median', a number, None"):
        screen(np.zeros((7, 2)), LABELS, binarize=option)


@pytest.mark.parametrize("option", [math.inf, NAN])
def test_a_cut_that_is_not_finite_is_refused(option):
    with pytest.raises(ValueError, match="is not finite"):
        screen(np.zeros((7, 2)), LABELS, binarize=option)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_values_other_than_zero_and_one_are_named_where_none_may_be(make):
    table = np.zeros((7, 5))
    table[4, 3] = 2
    with pytest.raises(ValueError, match=r"column 3 holds 2\.0 in row 4; with binarize=None"):
        screen(make(table), LABELS, binarize=None)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("option", ["auto", "median", 0.0, None])
@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinite_values_are_named(make, option, value):
    table = np.zeros((7, 5))
    table[2, 1] = value
    with pytest.raises(ValueError, match=r"infinity: column 1 is -?inf .* in row 2"):
        screen(make(table), LABELS, binarize=option)


@pytest.mark.parametrize(
    ("trained", "later"),
    [((0, 1), 0.5), ((0, 1), -0.3), ((0, 1), 1.7), ((1, 2), 1.5), ((-1, 1), 1e-9)],
)
def test_a_fraction_in_a_column_of_two_whole_numbers_is_refused(trained, later):
    rule = screen(np.array([trained]).T, [0, 1]).binarization
    message = rf"column 0 holds {later} in row 1, but was trained on the two values {trained[0]} "
    with pytest.raises(ValueError, match=message):
        rule.apply(np.array([[trained[0]], [later]]), "column {}".format)


@pytest.mark.parametrize(
    ("trained", "later", "one"),
    [
        ((0, 1), 2, 1),  # a word that occurs twice
        ((0, 1), 3.0, 1),
        ((1, 2), 3, 1),  # an answer that nobody gave in training
        ((1, 2), True, 0),
        ((-1, 1), False, 1),
        ((0.25, 0.5), 0.3, 1),
        ((0, 1), NAN, 0),
    ],
)
def test_another_value_of_the_same_kind_is_compared_with_the_cut(trained, later, one):
    rule = screen(np.array([trained]).T, [0, 1]).binarization
    ones, missing = rule.apply(np.array([[later]]), "column {}".format)
    assert ones.tolist() == [[one]]
    assert (missing is not None) == (later != later)
