"""Tables of every library give every estimator the same numbers, or are refused by column."""

import datetime as dt
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import ConvergenceWarning

import honestbayes
from honestbayes import SubsetSampler
from honestbayes.data import pack_store
from honestbayes.selection import screen

N = 24
Y = np.arange(N) % 2
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "a": (RNG.random(N) < 0.3 + 0.4 * Y).astype(float),
        "b": (RNG.random(N) < 0.5).astype(float),
        "c": (RNG.random(N) < 0.4 + 0.3 * Y).astype(float),
        "d": np.arange(N) % 3 * 1.0,
    }
)
HOLED = FRAME["a"].where(np.arange(N) != 3)
NUMBERS = [None if value != value else int(value) for value in HOLED]
FLAGS = [None if value is None else bool(value) for value in NUMBERS]
DECIMALS = [None if value is None else Decimal(value) for value in NUMBERS]
WORDS = [None if value is None else "xy"[value] for value in NUMBERS]
DATES = [dt.date(2020, 1, 1)] * N
TABLE = pa.Table.from_pandas(FRAME)
POLARS = pl.from_pandas(FRAME)


def with_a(values):
    return FRAME.assign(a=values)


def arrow(values):
    return TABLE.set_column(0, "a", pa.array(values))


def polars(values, dtype=None):
    return POLARS.with_columns(a=pl.Series(values, dtype=dtype))


WHOLE = {
    "pyarrow": TABLE,
    "pyarrow, with an index": pa.Table.from_pandas(FRAME.set_index("d", drop=False)),
    "pyarrow, batch": pa.RecordBatch.from_pandas(FRAME),
    "polars": POLARS,
    "pandas, sparse": FRAME.astype(pd.SparseDtype(float, 0.0)),
    "pandas, sparse with NaN": FRAME.astype(pd.SparseDtype(float, np.nan)),
    "polars, decimals": POLARS.cast(pl.Decimal(10, 2)),
}
MISSING = {
    "pyarrow, null": arrow(NUMBERS),
    "pyarrow, decimals": arrow(DECIMALS),
    "pyarrow, booleans": arrow(FLAGS),
    "pandas, Int64": with_a(pd.array(NUMBERS, dtype="Int64")),
    "pandas, Float64": with_a(pd.array(NUMBERS, dtype="Float64")),
    "pandas, boolean": with_a(pd.array(FLAGS, dtype="boolean")),
    "pandas, pyarrow": with_a(pd.array(NUMBERS, dtype="int64[pyarrow]")),
    "pandas, pyarrow booleans": with_a(pd.array(FLAGS, dtype="bool[pyarrow]")),
    "pandas, pyarrow decimals": with_a(
        pd.array(DECIMALS, dtype=pd.ArrowDtype(pa.decimal128(5, 1)))
    ),
    "pandas, decimals": with_a(pd.Series(DECIMALS, dtype=object)),
    "pandas, objects": with_a(pd.Series(FLAGS, dtype=object)),
    "pandas, NA": with_a(pd.Series([pd.NA if v is None else v for v in NUMBERS], dtype=object)),
    "pandas, categories": with_a(pd.Categorical(NUMBERS)),
    "pandas, sparse": with_a(pd.arrays.SparseArray(HOLED, fill_value=np.nan)),
    "polars, null": polars(NUMBERS),
    "polars, booleans": polars(FLAGS),
    "polars, decimals": polars(DECIMALS),
}
ALL_MISSING = {
    "pandas": FRAME.assign(a=np.nan),
    "pandas, Int64": with_a(pd.array([None] * N, dtype="Int64")),
    "pandas, objects": with_a(pd.Series([None] * N, dtype=object)),
    "polars, Null": polars([None] * N),
    "pyarrow, null": arrow([None] * N),
}
TEXTS = {
    "pandas, string": with_a(pd.array(WORDS, dtype="string")),
    "pandas, str": with_a(pd.Series(WORDS, dtype="str")),
    "pandas, categories": with_a(pd.Categorical(WORDS)),
    "polars, texts": polars(WORDS),
    "polars, Enum": polars(WORDS, pl.Enum(["x", "y"])),
    "pyarrow, texts": arrow(WORDS),
    "pyarrow, dictionary": arrow(pa.array(WORDS).dictionary_encode()),
}
REFUSED = {
    "dates or times": [
        with_a(pd.date_range("2020", periods=N, unit="us")),
        with_a(pd.date_range("2020", periods=N, tz="UTC")),
        with_a(pd.period_range("2020", periods=N)),
        with_a(pd.Categorical(pd.date_range("2020", periods=2)[Y])),
        with_a(pd.array(DATES, dtype=pd.ArrowDtype(pa.date32()))),
        arrow([dt.datetime(2020, 1, 1)] * N),
        polars(DATES),
        polars([dt.time(1)] * N),
    ],
    "durations": [
        with_a(pd.to_timedelta(np.arange(N), unit="D")),
        arrow([dt.timedelta(1)] * N),
        polars([dt.timedelta(1)] * N),
    ],
    "intervals": [with_a(pd.interval_range(0, N)), with_a(pd.cut(np.arange(N), 3))],
    "complex numbers": [
        with_a(FRAME["a"] + 1j),
        FRAME + 1j,
        with_a(pd.arrays.SparseArray(FRAME["a"] + 1j)),
    ],
    "": [  # what a column of objects holds is seen in its cells
        with_a(pd.Series(DATES, dtype=object)),
        with_a(pd.Series([complex(value, 1) for value in FRAME["a"]], dtype=object)),
        arrow(DATES),
        arrow([[1]] * N),
        polars([[1]] * N),
    ],
}

FEW = {"n_chains": 1, "n_doublings": 0, "n_warmup": 2, "n_draws": 4, "random_state": 0}
CODED = {**FEW, "missing": "level"}
ESTIMATORS = {
    "SelectiveBernoulliNB": {"recalibrate": None},
    "SelectiveCategoricalNB": {"recalibrate": None},
    "SelectiveGaussianNB": {"recalibrate": None},
    "SelectiveDiscriminant": {"recalibrate": None},
    "SelectiveLogistic": {"recalibrate": None},
    "SelectiveMixedNB": {"recalibrate": None},
    "DiscreteNB": {},
    "ForwardProbabilitySelector": {"n_features_to_select": 1},
    "BoostedProbabilitySelector": {"n_rounds": 1},
    "SelectiveMixture": {**FEW, "thin": 1, "recalibrate": None},
    "SelectiveFactorClassifier": {**FEW, "n_factors": 1, "recalibrate": None},
    "SelectiveFactorRegressor": {**FEW, "n_factors": 1},
    "InteractionClassifier": {**CODED, "order": 1},
    "InteractionRegressor": {**CODED, "order": 1},
    "SequenceClassifier": {**FEW, "order": 1},
    "AveragedNetworkClassifier": CODED,
    "AveragedNB": FEW,
    "SubsetSampler": FEW,
    "HonestClassifier": {"effort": "quick", "random_state": 0},
}
QUICK = ("SelectiveBernoulliNB", "SelectiveLogistic", "DiscreteNB", "AveragedNB", "SubsetSampler")
EACH = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in ESTIMATORS
]


TAKE_MISSING = [name for name in EACH if "SequenceClassifier" not in str(name)]
"""Symbols of a sequence are all there."""


def test_every_estimator_that_takes_tables_is_here():
    public = (getattr(honestbayes, name) for name in honestbayes.__all__)
    assert {kind.__name__ for kind in public if hasattr(kind, "save")} == set(ESTIMATORS)


def fitted(name, X):
    """A model of a table, whatever its short chains warn of."""
    model = getattr(honestbayes, name)(**ESTIMATORS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "No features were selected")
        return model.fit(X, Y.astype(float) if name.endswith("Regressor") else Y)


def results(name, X):
    """All that a model gives for a table that it was fitted to."""
    model = fitted(name, X)
    assert list(model.feature_names_in_) == list("abcd")
    if not hasattr(model, "predict"):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "No features were selected")
            kept = model.transform(X)
        # As scikit-learn's own selectors: an array from pandas, unless set_output says otherwise.
        assert type(kept) is (np.ndarray if isinstance(X, pd.DataFrame) else type(X))
        return [model.get_support().astype(float)]
    found = [model.predict(X)]
    if hasattr(model, "predict_proba"):
        found.append(model.predict_proba(X))
    if hasattr(model, "predict_proba_interval"):
        found.append(model.predict_proba_interval(X))
    return found


def assert_same(name, tables, reference):
    expected = results(name, reference)
    for what, X in tables.items():
        for one, other in zip(results(name, X), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, err_msg=what)


@pytest.mark.parametrize("name", EACH)
def test_a_table_of_any_library_gives_the_same_results(name):
    assert_same(name, WHOLE, FRAME)


@pytest.mark.parametrize("name", TAKE_MISSING)
def test_missing_cells_of_any_type_are_missing(name):
    tables = MISSING
    if name in ("SelectiveMixedNB", "HonestClassifier"):  # which take a frame's categories as such
        tables = {what: X for what, X in MISSING.items() if what != "pandas, categories"}
    assert_same(name, tables, with_a(HOLED))


@pytest.mark.parametrize("name", TAKE_MISSING)
def test_a_column_without_any_value_does_not_stop_predictions_or_intervals(name):
    for what, X in ALL_MISSING.items():
        for found in results(name, X):
            assert np.all(np.isfinite(found)), what


@pytest.mark.parametrize("name", EACH)
def test_texts_are_used_alike_or_refused_by_the_name_of_their_column(name):
    endings = {}
    for what, X in TEXTS.items():
        try:
            results(name, X)
        except ValueError as error:
            endings[what] = "column 'a'" in str(error)
        else:
            endings[what] = "used"
    assert set(endings.values()) in ({"used"}, {True}), endings


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("what", REFUSED)
def test_what_is_neither_number_nor_text_is_refused_by_the_name_of_its_column(name, what):
    for X in REFUSED[what]:
        with pytest.raises(ValueError, match=rf"column 'a'.*{what}") as error:
            fitted(name, X)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", EACH)
def test_a_complex_array_is_refused(name):
    with pytest.raises(ValueError, match=r"(?i)complex"):
        fitted(name, FRAME.to_numpy() + 1j)


@pytest.mark.parametrize("name", ["SelectiveLogistic", "SelectiveDiscriminant"])
def test_a_complex_column_keeps_no_model_from_refusing_it(name):
    message = (
        "column 'a' holds complex numbers (complex128); give its real and imaginary parts as two "
        "columns, or drop it."
    )
    with pytest.raises(ValueError, match="complex numbers") as error:
        fitted(name, with_a(FRAME["a"] + 1j))
    assert str(error.value) == message


def test_dates_are_refused_with_what_to_do():
    with pytest.raises(ValueError, match="dates") as error:
        fitted("SelectiveBernoulliNB", with_a(pd.date_range("2020", periods=N, unit="us")))
    assert str(error.value) == (
        "column 'a' holds dates or times (datetime64[us]); turn it into a number, such as days "
        "since a date, or drop it."
    )


def test_a_model_of_a_frame_predicts_a_pyarrow_table_and_knows_its_names():
    model = fitted("SelectiveBernoulliNB", FRAME)
    np.testing.assert_array_equal(model.predict_proba(TABLE), model.predict_proba(FRAME))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict_proba(TABLE.rename_columns(list("abdc")))


def test_a_pyarrow_table_is_screened_packed_and_its_column_is_a_target(tmp_path):
    np.testing.assert_array_equal(
        screen(TABLE.select(["a", "b", "c"]), pa.array(Y)).ones,
        screen(FRAME[["a", "b", "c"]], Y).ones,
    )
    store = pack_store(TABLE.select(["a", "b", "c"]), tmp_path / "s")
    assert store.feature_names == ("a", "b", "c")


def test_a_sampler_of_subsets_is_asked_for_a_number_of_features():
    with pytest.raises(ValueError, match="n_features_to_select='all' is not a whole number"):
        SubsetSampler(n_features_to_select="all", **FEW).fit(FRAME, Y)
