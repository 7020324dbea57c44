"""Tables of any kind as codes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from honestbayes.data.categories import learn_coding


def code(X, **words):
    weight = words.pop("weight", np.ones(len(X) if not sparse.issparse(X) else X.shape[0]))
    coding = learn_coding(X, weight, **words)
    return coding, coding.encode(X).cells


def test_bins_hold_about_as_many_rows_each():
    values = np.random.default_rng(0).lognormal(size=(1000, 1))
    coding, cells = code(values)
    assert coding.n_levels.tolist() == [10]
    assert np.bincount(cells[:, 0]).tolist() == [100] * 10
    order = np.argsort(values[:, 0])
    assert np.all(np.diff(cells[order, 0]) >= 0)


@pytest.mark.parametrize(
    ("n", "n_bins", "expected"), [(40, 10, 2), (100, 10, 5), (500, 4, 4), (9, 10, 2)]
)
def test_there_are_twenty_rows_for_each_bin_and_two_bins_at_least(n, n_bins, expected):
    coding, _ = code(np.arange(n, dtype=float)[:, None], n_bins=n_bins)
    assert coding.n_levels.tolist() == [expected]


def test_few_values_have_a_bin_each():
    values = np.repeat([-2.5, 0.0, 7.0], [50, 10, 40])[:, None]
    coding, cells = code(values)
    assert coding.rules[0].tolist() == [-2.5, 0.0]
    assert np.bincount(cells[:, 0]).tolist() == [50, 10, 40]


def test_a_bound_belongs_below_and_new_values_to_the_nearest_bin():
    coding, _ = code(np.repeat([1.0, 2.0, 3.0], 20)[:, None])
    new = np.array([-9.0, 1.0, 1.5, 2.0, 2.1, 99.0, np.nan])[:, None]
    assert coding.encode(new).cells[:, 0].tolist() == [0, 0, 1, 1, 2, 2, -1]


def test_a_row_of_weight_two_counts_twice_and_one_of_weight_zero_not_at_all():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(200, 2))
    times = rng.integers(0, 4, 200)
    weighted = learn_coding(values, times.astype(float))
    repeated = np.repeat(values, times, axis=0)
    plain = learn_coding(repeated, np.ones(len(repeated)))
    for one, other in zip(weighted.rules, plain.rules, strict=True):
        np.testing.assert_array_equal(one, other)
    texts = np.array([["a"], ["b"], ["c"]], dtype=object)
    assert learn_coding(texts, np.array([1.0, 0.0, 1.0])).rules[0].tolist() == ["a", "c"]


def test_texts_and_categories_are_levels_and_unknown_ones_missing():
    frame = pd.DataFrame(
        {
            "shade": ["red", None, "blue", "red"],
            "grade": pd.Categorical([3.5, 1.0, 3.5, 7.0]),
            "flag": [True, False, True, True],
        }
    )
    coding, cells = code(frame)
    assert coding.kinds == ("categorical", "categorical", "binary")
    assert cells.tolist() == [[1, 1, 1], [-1, 0, 0], [0, 1, 1], [1, 2, 1]]
    new = pd.DataFrame({"shade": ["green", "blue"], "grade": [9.0, 1.0], "flag": [True, False]})
    assert coding.encode(new).cells.tolist() == [[-1, -1, 1], [0, 0, 0]]
    polars = coding.encode(pl.from_pandas(new))
    assert polars.cells.tolist() == [[-1, -1, 1], [0, 0, 0]]


def test_zero_one_bytes_are_taken_as_they_are():
    X = np.random.default_rng(2).integers(0, 2, (30, 5)).astype(np.int8)
    coding, cells = code(X)
    assert np.shares_memory(cells, X)
    for same in (X.astype(bool), X.astype(np.uint8), X.astype(float), sparse.csr_array(X)):
        other, codes = code(same)
        np.testing.assert_array_equal(codes, X)
        assert other.n_levels.tolist() == coding.n_levels.tolist()


def test_bytes_are_coded_by_what_was_learnt():
    X = np.repeat(np.array([[1], [2]], dtype=np.int8), 20, axis=0)
    coding, _ = code(X)
    ones = np.ones((3, 1), dtype=np.int8)
    assert coding.encode(ones).cells.tolist() == coding.encode(ones.astype(float)).cells.tolist()


def test_a_column_of_objects_without_values_says_nothing():
    X = np.array([[None, "a"], [None, "b"], [None, "a"]], dtype=object)
    coding, cells = code(X)
    assert cells.tolist() == [[-1, 0], [-1, 1], [-1, 0]]
    assert coding.n_levels.tolist() == [2, 2]


def test_the_text_na_is_a_text_and_pandas_na_is_missing():
    X = np.array([["<NA>"], [pd.NA], ["b"]], dtype=object)
    coding, cells = code(X)
    assert coding.rules[0].tolist() == ["<NA>", "b"]
    assert cells.tolist() == [[0], [-1], [1]]


def test_a_column_with_one_value_or_none_has_two_levels():
    X = np.column_stack([np.ones(30), np.full(30, np.nan), np.arange(30) % 2])
    coding, cells = code(X)
    assert coding.n_levels.tolist() == [2, 2, 2]
    assert (cells[:, 1] == -1).all()


def test_many_levels_need_wider_codes():
    texts = np.array([f"id {i:04d}" for i in range(300)], dtype=object)[:, None]
    coding, cells = code(texts)
    assert cells.dtype == np.int16
    assert np.sort(cells[:, 0]).tolist() == list(range(300))
    assert coding.take(np.array([0])).n_levels.tolist() == [300]


@pytest.mark.parametrize(
    ("X", "words", "message"),
    [
        (np.array([[np.inf], [1.0], [2.0]]), {}, "X contains infinity: column 0 is inf"),
        (np.array([["a"], [1.0]], dtype=object), {}, "column 0 mixes texts and numbers"),
        (
            np.array([["a"], ["b"]], dtype=object),
            {"kinds": ["real"]},
            "holds texts, but its kind is real",
        ),
        (np.array([[[1]], ["b"]], dtype=object), {}, r"holds \[1\], which is neither text"),
    ],
)
def test_what_cannot_be_coded_is_refused(X, words, message):
    with pytest.raises(ValueError, match=message):
        code(X, **words)
