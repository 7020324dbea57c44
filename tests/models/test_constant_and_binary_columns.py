"""Constant columns change nothing, and any two numbers are a binary feature."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import honestbayes
from honestbayes import (
    HonestClassifier,
    SelectiveBernoulliNB,
    SelectiveCategoricalNB,
    SelectiveDiscriminant,
    SelectiveFactorClassifier,
    SelectiveFactorRegressor,
    SelectiveGaussianNB,
    SelectiveLogistic,
    SelectiveMixedNB,
)

N = 48
SHORT = {"n_factors": 1, "n_chains": 1, "n_draws": 10, "n_warmup": 5, "n_doublings": 0}
SHORT |= {"random_state": 0}
CONTINUOUS = [
    SelectiveGaussianNB(n_features_to_select=4),
    SelectiveGaussianNB(n_features_to_select=4, feature_prior="heavy-tailed"),
    SelectiveGaussianNB(n_features_to_select=4, normal_scores=True),
    SelectiveGaussianNB(threshold=0.2, correction="selection", feature_prior="heavy-tailed"),
    SelectiveDiscriminant(n_features_to_select="all"),
    SelectiveDiscriminant(n_features_to_select=4, normal_scores=True),
    SelectiveLogistic(n_features_to_select=4),
    pytest.param(
        SelectiveFactorClassifier(n_features_to_select=4, recalibrate=None, **SHORT),
        marks=pytest.mark.filterwarnings("ignore"),
    ),
]
CONSTANTS = [1.301, -9.0, 0.0, np.nan]


def measurements(n_classes, missing):
    rng = np.random.default_rng(7)
    y = np.arange(N) % n_classes
    X = rng.normal(size=(N, 9))
    X[:, 2] += y
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def with_constants(X, values=CONSTANTS):
    """Insert constant columns at several positions; return also where the others are."""
    places = np.linspace(0, X.shape[1], len(values)).astype(int)
    wide = np.insert(X, places, np.array(values), axis=1)
    return wide, np.delete(np.arange(wide.shape[1]), places + np.arange(len(values)))


@pytest.mark.parametrize(
    ("n_classes", "missing"),
    [
        (2, True),
        (3, False),
        pytest.param(2, False, marks=pytest.mark.slow),
        pytest.param(3, True, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("model", CONTINUOUS)
def test_constant_continuous_columns_change_no_bit(model, n_classes, missing):
    X, y = measurements(n_classes, missing)
    wide, others = with_constants(X)
    expected = model.fit(X, y).predict_proba(X)
    kept = others[model.kept_columns()]
    np.testing.assert_array_equal(model.fit(wide, y).predict_proba(wide), expected)
    np.testing.assert_array_equal(model.kept_columns(), kept)
    assert model.selection_.n_constant == len(CONSTANTS)


@pytest.mark.filterwarnings("ignore")
def test_constant_columns_do_not_change_the_factor_regression():
    X, y = measurements(2, missing=True)
    response = np.nan_to_num(X[:, 0]) + y
    wide, _ = with_constants(X)
    model = SelectiveFactorRegressor(n_features_to_select=4, **SHORT)
    expected = model.fit(X, response).predict(X)
    np.testing.assert_array_equal(model.fit(wide, response).predict(wide), expected)
    assert model.selection_.n_constant == len(CONSTANTS)


def table_of_all_kinds(n_classes):
    """Texts, measurements and two-valued numbers of every sort."""
    rng = np.random.default_rng(3)
    X, y = measurements(n_classes, missing=False)
    half = rng.random(N) < 0.5
    rare = np.zeros(N)
    rare[[5, 17]] = 0.3
    return (
        pd.DataFrame(
            {
                "a": X[:, 2],
                "b": X[:, 0],
                "dose": np.where(half, 0.5, 1.0),
                "sign": np.where(rng.random(N) < 0.3 + 0.4 * (y == 1), -1, 1),
                "rare": rare,
                "patchy": np.where(rng.random(N) < 0.4, np.nan, np.where(half, 2.5, -4)),
                "sex": np.where(rng.random(N) < 0.5, "m", "f"),
            }
        ),
        y,
    )


COLUMNS = {
    "all kinds": ["a", "b", "dose", "sign", "rare", "patchy", "sex"],
    "text and two numbers": ["sex", "dose"],
    "two numbers only": ["dose", "sign", "rare", "patchy"],
    "measurements and two numbers": ["a", "b", "dose", "sign"],
}


@pytest.mark.slow_cases(
    "average-2-text and two numbers",
    "average-2-two numbers only",
    "average-2-measurements and two numbers",
    "average-3-all kinds",
    "average-3-measurements and two numbers",
    "mixed-2-two numbers only",
    "mixed-3-measurements and two numbers",
)
@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model", [HonestClassifier(effort="quick"), SelectiveMixedNB()], ids=["average", "mixed"]
)
def test_two_valued_numbers_are_binary_and_constants_change_no_bit(
    model, n_classes, columns, tmp_path
):
    table, y = table_of_all_kinds(n_classes)
    table = table[columns]
    expected = model.fit(table, y).predict_proba(table)
    kinds = dict(zip(columns, model.kinds_, strict=True))
    assert all(kinds.get(name, "binary") == "binary" for name in ("dose", "sign", "rare", "patchy"))
    # The two values are names: what stands for them does not matter.
    other = table.assign(**{c: table[c] * 7 - 3 for c in columns if kinds[c] == "binary"})
    np.testing.assert_allclose(model.fit(other, y).predict_proba(other), expected, atol=1e-9)
    wide = table.assign(constant=1.301, same="x", gone=np.nan)[
        ["same", *columns, "constant", "gone"]
    ]
    np.testing.assert_array_equal(model.fit(wide, y).predict_proba(wide), expected)
    assert [model.kinds_[j] for j in (0, -2, -1)] == ["constant"] * 3
    model.save(tmp_path / "model")
    loaded = honestbayes.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(wide), expected)
    small = model.on_kept_columns()
    few = wide.iloc[:, model.kept_columns()]
    np.testing.assert_array_equal(small.predict_proba(few), expected)
    in_polars = pl.from_pandas(wide)
    np.testing.assert_array_equal(model.fit(in_polars, y).predict_proba(in_polars), expected)


def test_constant_columns_of_a_sparse_table_change_no_bit():
    rng = np.random.default_rng(5)
    y = np.arange(N) % 2
    X = (rng.random((N, 40)) < 0.3).astype(float)
    X[:, 0] = y
    wide = np.insert(X, [0, 20, 40], [0.0, 1.0, 0.0], axis=1)
    model = HonestClassifier(effort="quick")
    for form in (sparse.csr_matrix, sparse.csc_matrix):
        expected = model.fit(form(X), y).predict_proba(form(X))
        found = model.fit(form(wide), y).predict_proba(form(wide))
        np.testing.assert_array_equal(found, expected)


def test_constant_features_that_are_declared_binary_or_categorical_are_discarded_ones():
    rng = np.random.default_rng(4)
    y = np.arange(N) % 2
    X = (rng.random((N, 30)) < 0.5).astype(int)
    wide = np.hstack([X, np.zeros((N, 300), dtype=int)])
    for kind in (SelectiveBernoulliNB, SelectiveCategoricalNB):
        model = kind(
            n_features_to_select=5,
            feature_prior="uniform",
            correction="selection",
            recalibrate=None,
        )
        few = model.fit(X, y)
        assert few.selection_.n_discarded == 25
        before = few.predict_proba(X)
        many = model.fit(wide, y)
        assert many.selection_.n_discarded == 325
        assert np.abs(many.predict_proba(wide) - before).max() > 0.01


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", [HonestClassifier(effort="quick"), SelectiveMixedNB()])
def test_a_third_value_counts_as_the_larger_where_it_is_above_the_smaller(model, n_classes):
    table, y = table_of_all_kinds(n_classes)
    model.fit(table, y)
    first = table.iloc[[0, 0]].reset_index(drop=True)
    known = first.assign(dose=[0.5, 1.0])
    for low, high in ((0.1, 0.7), (-5.0, 3.0)):
        strange = first.assign(dose=[low, high])
        with pytest.warns(UserWarning, match="column 'dose' was 0.5 or 1 in all training rows"):
            found = model.predict_proba(strange)
        np.testing.assert_array_equal(found, model.predict_proba(known))


def test_a_third_value_of_a_categorical_model_is_missing_with_a_warning():
    X = np.repeat([[0.5, -1.0], [1.0, 1.0]], 20, axis=0)
    y = np.tile([0, 1], 20)
    model = SelectiveCategoricalNB(recalibrate=None).fit(X, y)
    with pytest.warns(UserWarning, match="treated as missing"):
        found = model.predict_proba([[0.7, 1.0]])
    np.testing.assert_array_equal(found, model.predict_proba([[np.nan, 1.0]]))


@pytest.mark.parametrize("model", [HonestClassifier(), SelectiveMixedNB()])
@pytest.mark.parametrize("as_frame", [False, True])
def test_messages_name_the_right_column(model, as_frame):
    rng = np.random.default_rng(1)
    y = np.arange(N) % 3
    X = np.column_stack([y % 2, rng.normal(size=N), y % 2, rng.normal(size=N)]).astype(float)
    X[4, 3] = np.inf
    table = pd.DataFrame(X, columns=list("abcd")) if as_frame else X
    named = "'d'" if as_frame else "3"
    with pytest.raises(ValueError, match=rf"column {named} is inf \(inf\) in row 4"):
        model.fit(table, y)
    mixed = X.astype(object)
    mixed[:, 3] = "text"
    mixed[2, 3] = 1.5
    table = pd.DataFrame(mixed, columns=list("abcd")) if as_frame else mixed
    with pytest.raises(ValueError, match=f"column {named} mixes texts and numbers"):
        model.fit(table, y)


@pytest.mark.parametrize("model", [HonestClassifier(), SelectiveMixedNB()])
@pytest.mark.parametrize("value", [3.5, "same", np.nan])
def test_a_table_of_constants_predicts_the_class_shares(model, value, tmp_path):
    X = pd.DataFrame({"a": [value] * 10, "b": [1.0] * 10})
    y = np.array([0] * 7 + [1] * 3)
    if isinstance(model, HonestClassifier):
        with pytest.warns(UserWarning, match="every column of X is constant"):
            model.fit(X, y)
    else:
        model.fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), [[8 / 12, 4 / 12]] * 10)
    model.save(tmp_path / "model")
    np.testing.assert_allclose(
        honestbayes.load(tmp_path / "model").predict_proba(X), [[8 / 12, 4 / 12]] * 10
    )
