"""Lazy frames give what the same numbers in memory give, and are read in one pass for all folds."""

import numpy as np
import polars as pl
import pytest

from honestbayes import (
    HonestClassifier,
    SelectiveBernoulliNB,
    SelectiveGaussianNB,
    SelectiveMixedNB,
)
from honestbayes.data import as_source, beyond_memory
from honestbayes.selection import counts, screen

N = 500


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(beyond_memory, "BLOCK_CELLS", 12 * 37)
    monkeypatch.setattr(counts, "_MANY_ROWS", 20)


def frame(seed=0):
    generator = np.random.default_rng(seed)
    y = np.arange(N) % 2
    ones = generator.random((N, 6)) < 0.3 + 0.2 * np.outer(y, np.arange(6) < 2)
    real = generator.normal(size=(N, 3)) + 0.3 * y[:, None]
    columns = {f"flag{j}": ones[:, j] for j in range(2)}
    columns |= {f"byte{j}": ones[:, j + 2].astype(np.int8) for j in range(2)}
    columns |= {f"real{j}": real[:, j] for j in range(3)}
    columns |= {f"later{j}": ones[:, j + 4].astype(np.int64) for j in range(2)}
    gone = generator.random(N) < 0.1
    columns["gap"] = [None if g else int(v) for g, v in zip(gone, ones[:, 0], strict=True)]
    columns["short"] = real[:, 0].astype(np.float32)
    columns["nan"] = np.where(gone, np.nan, real[:, 1])
    return pl.DataFrame(columns), y


@pytest.fixture(params=["parquet", "csv", "memory"])
def table(request, tmp_path):
    whole, y = frame()
    if request.param == "memory":
        return whole.lazy(), whole, y
    path = tmp_path / f"table.{request.param}"
    if request.param == "parquet":
        whole.write_parquet(path, row_group_size=130)
        return pl.scan_parquet(path), whole, y
    whole = whole.drop("short").with_columns(pl.col("flag0", "flag1").cast(pl.Int8))
    whole.write_csv(path)
    return pl.scan_csv(path), whole, y


def test_blocks_hold_every_cell_once_and_in_order(table):
    lazy, whole, _ = table
    source = as_source(lazy)
    assert source.shape == whole.shape
    assert source.feature_names == tuple(whole.columns)
    found, times = np.full(whole.shape, np.inf), np.zeros(whole.shape, dtype=int)
    for block in source.blocks():
        found[block.rows, block.columns] = block.values
        times[block.rows, block.columns] += 1
        assert block.values.size <= 12 * 37
    assert np.all(times == 1)
    np.testing.assert_array_equal(found, whole.cast(float).to_numpy())
    rows, columns = np.array([3, 70, 71, 499]), np.array([6, 0, 2])
    expected = whole.cast(float).to_numpy()[np.ix_(rows, columns)]
    np.testing.assert_array_equal(source.take_rows(rows, columns), expected)
    near = np.arange(120, 200)
    expected = whole.cast(float).to_numpy()[np.ix_(near, columns)]
    np.testing.assert_array_equal(source.take_rows(near, columns), expected)


def test_counts_and_probabilities_are_the_same_to_the_last_bit(table):
    lazy, whole, y = table
    lazily, at_once = screen(lazy, y), screen(whole, y)
    np.testing.assert_array_equal(lazily.ones, at_once.ones)
    np.testing.assert_array_equal(lazily.observed_full(), at_once.observed_full())
    assert lazily.binarization.equals(at_once.binarization)
    model = SelectiveBernoulliNB(n_features_to_select=4, random_state=0)
    expected = model.fit(whole, y).predict_log_proba(whole)
    selection = model.selection_
    model.fit(lazy, y)
    assert model.selection_ == selection
    np.testing.assert_array_equal(model.predict_log_proba(lazy), expected)
    assert model.feature_names_in_.tolist() == whole.columns


@pytest.mark.parametrize("estimator", [SelectiveGaussianNB, SelectiveMixedNB])
def test_measurements_are_the_same_up_to_rounding(table, estimator):
    lazy, whole, y = table
    model = estimator(random_state=0)
    expected = model.fit(whole, y).predict_log_proba(whole)
    found = model.fit(lazy, y).predict_log_proba(lazy)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_the_average_of_models_takes_it_too():
    whole, y = frame()
    some = whole.select("flag0", "flag1", "real0", "real1").head(80)
    model = HonestClassifier(random_state=0).fit(some.lazy(), y[:80])
    same = HonestClassifier(random_state=0).fit(some, y[:80])
    np.testing.assert_allclose(
        model.predict_proba(some.lazy()), same.predict_proba(some), rtol=0, atol=1e-6
    )


def test_a_column_of_texts_is_refused_by_its_name():
    lazy = pl.LazyFrame({"a": [1, 2], "word": ["x", "y"]})
    with pytest.raises(ValueError, match="column 'word' of the lazy frame is String"):
        SelectiveBernoulliNB().fit(lazy, [0, 1])


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    whole, y = frame()
    path = tmp_path / "table.csv"
    whole.write_csv(path)
    source = as_source(pl.scan_csv(path))
    whole.head(300).write_csv(path)
    with pytest.raises(ValueError, match="had 500 rows, and 300 when it was read again"):
        SelectiveGaussianNB().fit(source, y)
