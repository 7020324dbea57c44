"""The average of a table beyond memory is that of the same table in memory."""

from dataclasses import dataclass
from functools import cache

import dask.array as da
import numpy as np
import polars as pl
import pytest
from cut_source import CutSource
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import honestbayes
from honestbayes import HonestClassifier, SelectiveCategoricalNB, SelectiveMixedNB
from honestbayes.average.candidates import TableInfo, candidates_for, left_out_beyond_memory
from honestbayes.base import recalibration
from honestbayes.data import pack_store
from honestbayes.data.kinds import kinds_and_missing_cells, kinds_of_source
from honestbayes.data.source import Block, PackedColumns

QUICK = {"effort": "quick", "random_state": 0}
SHAPE = (60, 400)


@dataclass
class Wide(CutSource):
    """A table of which no more than some columns are handed out, and passes are counted."""

    beyond_memory = True
    most: int = SHAPE[1]
    passes: int = 0
    reads: int = 0

    def blocks(self):
        self.passes += 1
        yield from super().blocks()

    def take(self, columns):
        self.reads += 1
        assert len(columns) <= self.most, f"{len(columns)} columns were read at once"
        return super().take(columns)


@dataclass
class Packed(Wide):
    """Its columns are bits."""

    def blocks(self):
        for block in super().blocks():
            yield Block(block.rows, block.columns, PackedColumns.pack(block.values))


@pytest.fixture(autouse=True)
def one_drawing(monkeypatch):
    """Five folds instead of twenty, for the sake of time."""
    monkeypatch.setattr(recalibration, "_ENOUGH_CASES", 0)


def flags(n_classes=2, shape=SHAPE):
    generator = np.random.default_rng(0)
    y = np.arange(shape[0]) % n_classes
    tells = np.arange(shape[1]) < 6
    X = generator.random(shape) < 0.2 + 0.5 / n_classes * np.outer(y, tells)
    return X.astype(np.int8), y


def measurements(shape=SHAPE):
    generator = np.random.default_rng(1)
    y = np.arange(shape[0]) % 2
    X = generator.normal(size=shape) + np.outer(y, np.arange(shape[1]) < 6)
    X[generator.random(shape) < 0.01] = np.nan
    return X, y


def cut(values, kind=Wide, **words):
    rows = [[13, 40]] * 3 if kind is Wide else [[]] * 3
    return kind(values, rows, [90, 250], seed=1, **words)


NAMES = [f"gene{j}" for j in range(SHAPE[1])]


def tables(X, folder):
    """Return the same zeros and ones in every form that is beyond memory."""
    pl.DataFrame(X, schema=NAMES).write_parquet(folder / "x.parquet")
    return {
        "a packed store": pack_store(X, folder / "store"),
        "a Dask array in chunks of columns": da.from_array(X, chunks=(60, 90)),
        "a Dask array in chunks of rows": da.from_array(X, chunks=(17, 400)),
        "a lazy frame": pl.scan_parquet(folder / "x.parquet"),
        "packed columns": cut(X, Packed),
        "a grid": cut(X),
    }


def test_flags_in_every_form_give_the_same_bits(tmp_path):
    X, y = flags()
    expected = HonestClassifier(**QUICK).fit(X, y)
    proba = expected.predict_proba(X)
    intervals = expected.predict_proba_interval(X[:10])
    for form, table in tables(X, tmp_path).items():
        model = HonestClassifier(**QUICK).fit(table, y)
        assert model.left_out_ == ()
        assert model.kinds_ == expected.kinds_, form
        np.testing.assert_array_equal(
            model.model_table_.weight, expected.model_table_.weight, err_msg=form
        )
        np.testing.assert_array_equal(model.predict_proba(table), proba, err_msg=form)
        if form != "a lazy frame":
            few = da.from_array(X[:10], chunks=(3, 200))
            np.testing.assert_array_equal(model.predict_proba_interval(few), intervals)
        else:
            np.testing.assert_array_equal(model.feature_names_in_, NAMES)
            few = pl.LazyFrame(X[:10], schema=NAMES)
            np.testing.assert_array_equal(model.predict_proba_interval(few), intervals)


def test_a_memory_map_gives_the_same_bits(tmp_path):
    X, y = flags()
    np.save(tmp_path / "x.npy", np.asfortranarray(X))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    expected = HonestClassifier(**QUICK).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(
        HonestClassifier(**QUICK).fit(mapped, y).predict_proba(mapped), expected
    )


@pytest.mark.parametrize("kind", [Wide, Packed])
def test_the_table_is_never_read_as_a_whole(kind):
    X, y = flags()
    source = cut(X, kind, most=SHAPE[1] - 1)
    model = HonestClassifier(random_state=0)
    sentence = "not tried: discriminant with 400 features"
    with pytest.warns(UserWarning, match=sentence):
        model.fit(source, y)
    assert source.passes > 0
    # Weights differ a little from those in memory: models of all columns have none.
    assert model.predict_proba(source).shape == (60, 2)
    assert model.predict_proba_interval(source).shape == (60, 2)


def test_passes_and_reads_are_few(monkeypatch):
    monkeypatch.setattr(recalibration, "_ENOUGH_CASES", 2000)
    X, y = flags(shape=(60, 1500))
    source = cut(X)
    model = HonestClassifier(**QUICK).fit(source, y)
    expected = HonestClassifier(**QUICK).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    # Kinds, counts and moments; counts and moments of each of two drawings; those of all rows for
    # the final models.
    assert source.passes == 3 + 2 * 2 + 2
    # What is kept of all rows; what each drawing keeps beside that.
    assert source.reads == 1 + 2


def test_each_prediction_reads_once(monkeypatch):
    X, y = flags()
    model = HonestClassifier(**QUICK).fit(X, y)
    expected = model.predict_proba(X), model.predict_proba_interval(X)
    source = cut(X)
    np.testing.assert_array_equal(model.predict_proba(source), expected[0])
    assert source.reads == 1
    np.testing.assert_array_equal(model.predict_proba_interval(source), expected[1])
    assert source.reads == 2
    monkeypatch.setattr("honestbayes.data.source.BATCH_ROWS", 25)
    # Matrices of other sizes are multiplied with other rounding.
    np.testing.assert_allclose(model.predict_proba(source), expected[0], rtol=0, atol=1e-12)
    found = model.predict_proba_interval(source)
    np.testing.assert_allclose(found, expected[1], rtol=0, atol=1e-12)
    assert source.reads == 2 + 2 * 3


def test_measurements_are_scored_without_each_fold_in_one_pass():
    X, y = measurements()
    expected = HonestClassifier(**QUICK).fit(X, y)
    source = cut(X)
    found = HonestClassifier(**QUICK).fit(source, y)
    assert found.model_table_.name == expected.model_table_.name
    assert "gaussian" in found.model_table_.name
    # Sums are rounded in another order.
    np.testing.assert_allclose(
        found.predict_proba(source), expected.predict_proba(X), rtol=0, atol=1e-8
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_flags_beside_measurements(n_classes):
    X, _ = measurements()
    ones, y = flags(n_classes)
    X[:, ::2] = ones[:, ::2]
    source = cut(X)
    model = HonestClassifier(**QUICK).fit(source, y)
    expected = HonestClassifier(**QUICK).fit(X, y)
    np.testing.assert_allclose(
        model.predict_proba(source), expected.predict_proba(X), rtol=0, atol=1e-8
    )
    assert "mixed" in model.model_table_.name
    assert model.kinds_[:4] == ("binary", "real", "binary", "real")


def test_a_mixed_model_reads_no_more_than_it_keeps():
    X, y = measurements()
    ones, _ = flags()
    X[:, ::2] = ones[:, ::2]
    model = SelectiveMixedNB(n_features_to_select=4, random_state=0)
    expected = model.fit(X, y).predict_proba(X)
    source = cut(X, most=150)
    found = model.fit(source, y).predict_proba(source)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_what_is_left_out_is_named_and_saved(tmp_path):
    X, y = flags(3)
    sentence = "X is beyond memory, .* are not tried: discriminant with 400 features"
    model = HonestClassifier(random_state=0)
    with pytest.warns(UserWarning, match=sentence):
        model.fit(cut(X), y)
    assert model.left_out_ == ("discriminant with 400 features",)
    tried = {"categorical", "discriminant", "logistic", "forest", "kernel", "class frequencies"}
    assert set(model.model_table_.name) == tried
    assert model.on_kept_columns().left_out_ == model.left_out_
    model.save(tmp_path / "model.honestbayes")
    assert honestbayes.load(tmp_path / "model.honestbayes").left_out_ == model.left_out_
    assert HonestClassifier(**QUICK).fit(X, y).left_out_ == ()


def test_only_what_was_asked_for_is_said_to_be_left_out():
    X, y = flags()
    model = HonestClassifier(random_state=0, candidates=["binary", "networks"])
    with pytest.warns(UserWarning, match=r"not tried: networks\. "):
        model.fit(cut(X), y)
    with pytest.raises(ValueError, match="suits this table, which is beyond memory; those that"):
        HonestClassifier(candidates=["networks"]).fit(cut(X[:, :9]), y)


@pytest.mark.slow
def test_chains_run_in_the_folds_of_a_table_beyond_memory():
    X, y = flags(shape=(30, 25))
    words = {"random_state": 0, "candidates": ["mixture"]}
    expected = HonestClassifier(**words).fit(X, y).predict_proba(X)
    found = HonestClassifier(**words).fit(Wide(X, [[9]] * 2, [20], most=10), y).predict_proba(X)
    np.testing.assert_array_equal(found, expected)


def test_what_needs_all_columns_is_refused():
    X, y = flags()
    source = cut(X, most=0)
    with pytest.raises(ValueError, match="classifiers, which see all columns, but X is"):
        HonestClassifier(candidates=[LogisticRegression()]).fit(source, y)


def categories(n_classes=2, shape=SHAPE):
    """Codes of 0 to 3 and larger ones, some missing, and classes."""
    generator = np.random.default_rng(4)
    y = np.arange(shape[0]) % n_classes
    X = generator.integers(0, 4, shape).astype(float)
    X[:, :5] = np.where(generator.random((shape[0], 5)) < 0.5, y[:, None], X[:, :5])
    X[:, 7] = X[:, 7] * 1000  # beyond a byte
    X[:, 8] = X[:, 9]  # ties
    X[generator.random(shape) < 0.02] = np.nan
    return X, y


@cache
def learned_from_categories(n_classes):
    """Models that learn from `categories`, unfitted, and what they predict of it in memory."""
    X, y = categories(n_classes)
    kinds = ["categorical"] * X.shape[1]
    models = (
        SelectiveCategoricalNB(random_state=0),
        SelectiveMixedNB(kinds=kinds, random_state=0),
        HonestClassifier(kinds=kinds, **QUICK),
    )
    return [(model, clone(model).fit(X, y).predict_proba(X)) for model in models]


@pytest.mark.slow_cases("dask-2", "lazy-3")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", ["cut", "dask", "lazy"])
def test_categories_are_learned_and_counted_in_chunks(form, n_classes):
    X, y = categories(n_classes)
    tables = {
        "cut": lambda: cut(X),
        "dask": lambda: da.from_array(X, chunks=(23, 150)),
        "lazy": lambda: pl.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])]).lazy(),
    }
    table = tables[form]()
    for estimator, expected in learned_from_categories(n_classes):
        found = clone(estimator).fit(table, y).predict_proba(table)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_categories_beside_measurements():
    X, y = categories()
    X[:, 200:] = measurements()[0][:, :200]
    kinds = dict.fromkeys(range(200), "categorical")
    model = HonestClassifier(kinds=kinds, **QUICK)
    source = cut(X)
    found = model.fit(source, y).predict_proba(source)
    expected = model.fit(X, y).predict_proba(X)
    # Moments of columns that stand together are rounded in another order.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


def test_only_kept_categories_are_read():
    X, y = categories()
    source = cut(X, most=60)
    SelectiveCategoricalNB(n_features_to_select=5, random_state=0).fit(source, y)


def test_numbers_that_are_no_categories_are_refused():
    X, y = categories()
    X[:, 3] = np.linspace(-1, 1, len(X))
    with pytest.raises(ValueError, match=r"column 3 holds -1, which is negative"):
        SelectiveCategoricalNB().fit(cut(X), y)


def test_a_class_of_a_single_case_is_left_out_of_the_folds():
    X, y = flags()
    labels = np.where(np.arange(60) == 7, 2, y)
    with pytest.warns(UserWarning, match="class 2"):
        expected = HonestClassifier(**QUICK).fit(X, labels).predict_proba(X)
    with pytest.warns(UserWarning, match="class 2"):
        found = HonestClassifier(**QUICK).fit(cut(X, Packed), labels)
    np.testing.assert_array_equal(found.predict_proba(X), expected)


def test_groups_and_one_set_of_columns():
    X, y = flags()
    groups = np.arange(60) // 4
    words = {"n_features_to_select": 12, **QUICK}
    expected = HonestClassifier(**words).fit(X, y, groups=groups)
    found = HonestClassifier(**words).fit(cut(X), y, groups=groups)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    assert found.restriction_cost_ == expected.restriction_cost_


@pytest.mark.parametrize("rows", [[], [7], [20], [1, 30, 36]])
def test_kinds_are_those_of_whole_columns_however_rows_are_cut(rows):
    generator = np.random.default_rng(2)
    values = generator.integers(0, 2, (37, 6)).astype(float)
    values[:, 1] = np.where(np.arange(37) < 20, 0, np.where(np.arange(37) < 30, 1, 2))
    values[:, 2] = np.nan
    values[:20, 3] = np.nan
    values[:, 4] = np.where(np.arange(37) < 7, 5, -1)
    values[0, 5] = 0.5
    source = CutSource(values, [rows] * 2, [3], seed=0)
    kinds, missing = kinds_and_missing_cells(source)
    assert kinds == ("binary", "real", "constant", "binary", "binary", "real")
    assert missing
    assert kinds_of_source(source, {0: "real"})[0] == "real"
    assert not kinds_and_missing_cells(CutSource(values[:, :2], [rows], [], seed=0))[1]
    values[30:, :2] = np.nan  # of some blocks only
    assert kinds_and_missing_cells(CutSource(values[:, :2], [rows], [], seed=0))[1]


def test_many_cases_keep_fewer_columns():
    table_info = TableInfo(
        kinds=("binary",) * 5000,
        n_cases=500_000,
        n_classes=2,
        n_candidates=5000,
        n_numeric_candidates=5000,
        max_candidates=5000,
        sparse=False,
        missing=False,
        in_memory=False,
    )
    numbers = {c.name: c.numbers for c in candidates_for(table_info, "normal")}
    assert numbers == {"binary": (10, 50), "discriminant": (10, 50), "logistic": (50,)}
    assert left_out_beyond_memory(table_info, "normal") == (
        "binary with 200 features",
        "discriminant with 200 and 1,000 features",
        "logistic with 200 features",
    )
