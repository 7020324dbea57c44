"""Dask arrays and data frames give what the same numbers in memory give."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

da = pytest.importorskip("dask.array")
import dask  # noqa: E402
import dask.dataframe as dd  # noqa: E402

from honestbayes import SelectiveBernoulliNB, SelectiveGaussianNB  # noqa: E402
from honestbayes.data import as_source  # noqa: E402
from honestbayes.data import source as module  # noqa: E402
from honestbayes.selection import screen  # noqa: E402
from honestbayes.selection.moments import screen_moments  # noqa: E402

CHUNKS = {"columns": (60, 7), "rows": (13, 40), "both": (17, 11), "one": (60, 40)}


def flags(seed=0):
    generator = np.random.default_rng(seed)
    y = np.arange(60) % 2
    return (generator.random((60, 40)) < 0.3 + 0.3 * np.outer(y, np.arange(40) < 4)).astype(
        np.int8
    ), y


def measurements():
    generator = np.random.default_rng(1)
    y = np.arange(60) % 3
    X = generator.normal(size=(60, 40)) + np.outer(y, np.arange(40) < 4)
    X[generator.random(X.shape) < 0.02] = np.nan
    return X, y


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_counts_and_probabilities_are_the_same_to_the_last_bit(chunks):
    X, y = flags()
    lazy = da.from_array(X, chunks=chunks)
    np.testing.assert_array_equal(screen(lazy, y).ones, screen(X, y).ones)
    model = SelectiveBernoulliNB(n_features_to_select=5, random_state=0)
    expected = model.fit(X, y).predict_log_proba(X)
    selection = model.selection_
    model.fit(lazy, y)
    assert model.selection_ == selection
    np.testing.assert_array_equal(model.predict_log_proba(lazy), expected)


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_measurements_cut_at_their_medians_are_the_same_too(chunks):
    X, y = measurements()
    lazy, two = da.from_array(X, chunks=chunks), (y > 0).astype(int)
    model = SelectiveBernoulliNB(n_features_to_select=5, random_state=0)
    expected = model.fit(X, two).predict_log_proba(X)
    np.testing.assert_array_equal(model.fit(lazy, two).predict_log_proba(lazy), expected)


def test_moments_have_the_same_bits_for_the_same_blocks_whoever_finds_them():
    X, y = measurements()
    lazy = as_source(da.from_array(X, chunks=(13, 11)))
    found = []
    for words in (
        {"scheduler": "synchronous"},
        {"scheduler": "threads", "num_workers": 1},
        {"scheduler": "threads", "num_workers": 4},
    ):
        with dask.config.set(**words):
            found.append(screen_moments(lazy, y, np.arange(3)))
    for other in found[1:]:
        for name in ("mean", "within", "rest", "observed"):
            np.testing.assert_array_equal(getattr(other, name), getattr(found[0], name))


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_a_gaussian_model_is_the_same_up_to_rounding(chunks):
    X, y = measurements()
    model = SelectiveGaussianNB(n_features_to_select=5, random_state=0)
    expected = model.fit(X, y).predict_log_proba(X)
    lazy = da.from_array(X, chunks=chunks)
    found = model.fit(lazy, y).predict_log_proba(lazy)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_a_data_frame_keeps_its_names():
    X, y = measurements()
    frame = pd.DataFrame(X, columns=[f"g{i}" for i in range(40)])
    lazy = dd.from_pandas(frame, npartitions=4)
    model = SelectiveGaussianNB(n_features_to_select=5, random_state=0).fit(lazy, y)
    same = SelectiveGaussianNB(n_features_to_select=5, random_state=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    assert model.get_feature_names_out().tolist() == same.get_feature_names_out().tolist()
    np.testing.assert_allclose(
        model.predict_proba(lazy), same.predict_proba(frame), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(model.predict_proba(frame), model.predict_proba(lazy), atol=1e-12)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict_proba(lazy.rename(columns={"g3": "other"}))


def test_chunks_of_sparse_matrices_are_counted_as_they_are():
    X, y = flags()
    whole = sparse.csc_array(X)
    parts = [
        da.from_delayed(dask.delayed(whole[:, j : j + 10]), (60, 10), dtype=X.dtype)
        for j in range(0, 40, 10)
    ]
    lazy = da.concatenate(parts, axis=1)
    np.testing.assert_array_equal(screen(lazy, y).ones, screen(X, y).ones)


def test_rows_are_predicted_some_at_a_time(monkeypatch):
    monkeypatch.setattr(module, "BATCH_ROWS", 25)
    X, y = flags()
    lazy = da.from_array(X, chunks=(20, 40))
    model = SelectiveBernoulliNB(n_features_to_select=5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(lazy), model.predict_proba(X))
    assert model.predict(lazy).tolist() == model.predict(X).tolist()


def test_chunks_of_unknown_length_are_counted_first():
    X, y = flags()
    lazy = da.from_array(X, chunks=(13, 40))
    some = lazy[da.from_array(np.arange(60) >= 0, chunks=13)]
    assert np.isnan(some.shape[0])
    np.testing.assert_array_equal(screen(some, y).ones, screen(X, y).ones)


BAD = {
    "2D array": lambda: da.zeros(5),
    "give integers": lambda: da.from_array(np.array([["a", "b"]])),
    "give an array or a data frame": lambda: dask.delayed(np.zeros)(3),
    "single column": lambda: dd.from_pandas(pd.Series([1.0, 2.0]), npartitions=1),
    "'t' has dtype": lambda: dd.from_pandas(pd.DataFrame({"t": ["a", "b"]}), npartitions=1),
}


@pytest.mark.parametrize("words", BAD)
def test_what_is_no_table_of_numbers_is_refused(words):
    with pytest.raises(ValueError, match=words):
        SelectiveBernoulliNB().fit(BAD[words](), [0, 1])


def test_infinity_is_named_by_its_place_in_the_table():
    X, y = measurements()
    X[31, 23] = np.inf
    with pytest.raises(ValueError, match=r"column 23 is inf .* row 31"):
        SelectiveGaussianNB().fit(da.from_array(X, chunks=(13, 11)), y)
