"""SelectiveMixedNB: each kind as its own estimator, all of them together by addition."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from grids import each_once

from honestbayes import (
    SelectiveBernoulliNB,
    SelectiveCategoricalNB,
    SelectiveGaussianNB,
    SelectiveMixedNB,
    load,
)
from honestbayes.likelihood.normal import LARGEST_RATIO, ratio_grid
from honestbayes.models.gaussian.estimator import SMALLEST_SCALE

N = 60


def tables(seed=0, n_classes=2, p=40):
    """Binary, categorical and real columns with some signal and missing cells, and classes."""
    generator = np.random.default_rng(seed)
    y = generator.permutation(np.arange(N) % n_classes)
    real = generator.normal(size=(N, p))
    real[:, :4] += y[:, None] * np.array([0.5, 1.0, 0.3, 0.7])
    binary = (generator.normal(size=(N, p)) + 0.8 * (np.arange(p) < 4) * y[:, None] > 0.3) * 1.0
    levels = generator.integers(0, 4, (N, p)).astype(float)
    levels[:, 0] = np.where(generator.random(N) < 0.5, y, levels[:, 0])
    for table in (real, binary, levels):
        table[generator.random(table.shape) < 0.02] = np.nan
    return {"binary": binary, "categorical": levels, "real": real}, y


ESTIMATORS = {
    "binary": SelectiveBernoulliNB,
    "categorical": SelectiveCategoricalNB,
    "real": SelectiveGaussianNB,
}
WORDS = [
    {},
    {"recalibrate": None},
    {"correction": "selection", "recalibrate": None},
    {"correction": None, "recalibrate": None},
    {"n_features_to_select": "all"},
    {"n_features_to_select": "cv"},
    {"n_features_to_select": None, "threshold": 0.25},
    {"always_keep": [1, 5]},
    {"class_prior": [0.3, 0.7]},
]


@each_once("words, kind", WORDS, list(ESTIMATORS))
def test_one_kind_of_column_is_that_kinds_estimator(words, kind):
    parts, y = tables()
    X = parts[kind]
    words = {"n_features_to_select": 5, **words}
    seed = {} if kind == "real" else {"random_state": 0}
    own = ESTIMATORS[kind](**words, **seed).fit(X, y)
    mixed = SelectiveMixedNB(kinds=[kind] * X.shape[1], random_state=0, **words).fit(X, y)
    assert mixed.selections_ == {kind: own.selection_}
    assert mixed.slope_ == pytest.approx(own.slope_, abs=1e-10)
    np.testing.assert_allclose(
        mixed.predict_log_proba(X), own.predict_log_proba(X), rtol=0, atol=1e-10
    )
    assert mixed.get_feature_names_out().tolist() == own.get_feature_names_out().tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_kinds_add_up_given_the_class(n_classes):
    parts, y = tables(1, n_classes)
    words = {"n_features_to_select": 4, "recalibrate": None}
    table = np.column_stack(list(parts.values()))
    kinds = np.repeat(list(parts), 40)
    mixed = SelectiveMixedNB(kinds=kinds, random_state=0, **words).fit(table, y)
    prior = np.log((np.bincount(y) + 1) / (y.size + n_classes))
    joint = prior.copy()[None] * np.ones((N, 1))
    for kind, X in parts.items():
        estimator = ESTIMATORS[kind]
        if kind == "binary" and n_classes > 2:
            estimator = SelectiveCategoricalNB
        seed = {} if kind == "real" else {"random_state": 0}
        own = estimator(**words, **seed).fit(X, y)
        joint += own.predict_log_proba(X) - prior
    joint -= np.log(np.exp(joint).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(mixed.predict_log_proba(table), joint, atol=1e-10)


def frame():
    parts, y = tables(2)
    table = pd.DataFrame({f"flag{j}": parts["binary"][:, j] for j in range(10)})
    for j in range(10):
        table[f"gene{j}"] = parts["real"][:, j]
    words = np.array(["a", "b", "c", "d", None], dtype=object)
    for j in range(10):
        codes = np.nan_to_num(parts["categorical"][:, j], nan=4).astype(int)
        table[f"site{j}"] = words[codes]
    table["grade"] = pd.Categorical(words[np.arange(N) % 3])
    table["smoker"] = pd.array(np.arange(N) % 4 == 0, dtype="boolean")
    return table, y


def test_kinds_come_from_dtypes_and_values():
    table, y = frame()
    plain = {"recalibrate": None, "random_state": 0}
    expected = ["binary"] * 10 + ["real"] * 10 + ["categorical"] * 11 + ["binary"]
    for other in (table, pl.from_pandas(table)):
        model = SelectiveMixedNB(n_features_to_select=2, **plain).fit(other, y)
        assert list(model.kinds_) == expected
        assert np.isfinite(model.predict_log_proba(other)).all()
    first = SelectiveMixedNB(**plain).fit(table, y).predict_proba(table)
    second = SelectiveMixedNB(**plain).fit(pl.from_pandas(table), y)
    np.testing.assert_allclose(second.predict_proba(pl.from_pandas(table)), first, atol=1e-12)
    objects = table.astype(object).where(table.notna(), None).to_numpy(dtype=object)
    third = SelectiveMixedNB(**plain).fit(objects, y)
    np.testing.assert_allclose(third.predict_proba(objects), first, atol=1e-12)


def test_the_user_may_name_kinds_and_numbers():
    table, y = frame()
    model = SelectiveMixedNB(
        kinds={"gene0": "real", "flag1": "categorical"},
        n_features_to_select={"real": 3, "categorical": 2},
        always_keep=["smoker", "gene9"],
        random_state=0,
    ).fit(table, y)
    assert model.kinds_[1] == "categorical"
    assert len(model.selections_["real"].kept) == 3
    assert len(model.selections_["categorical"].kept) == 2
    assert len(model.selections_["binary"].kept) == 9
    assert {"smoker", "gene9"} <= set(model.get_feature_names_out())
    assert model.get_support().sum() == 16


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"kinds": {"nobody": "real"}}, "'nobody', which is not a column"),
        ({"kinds": {"gene0": "number"}}, "'number', which is not one of"),
        ({"kinds": ["real"]}, "kinds has 1 entries, but X has 32 columns"),
        ({"kinds": "real"}, "neither a mapping"),
        ({"kinds": {"site0": "real"}}, "column 'site0' holds '.', which is not a number"),
        ({"kinds": {"gene0": "categorical"}}, "column 'gene0' holds"),
        ({"n_features_to_select": {"words": 3}}, "'words', which is not one of"),
        ({"n_features_to_select": -1}, "is not a whole number"),
        ({"n_features_to_select": {"real": "cv"}}, "'cv' is for all kinds together"),
        ({"correction": "some"}, "correction='some'"),
    ],
)
def test_what_has_no_meaning_is_refused(words, message):
    table, y = frame()
    with pytest.raises(ValueError, match=message):
        SelectiveMixedNB(**words).fit(table, y)


def test_the_table_of_features_speaks_of_each_kind():
    table, y = frame()
    model = SelectiveMixedNB(n_features_to_select=2, random_state=0).fit(table, y)
    found = model.feature_table()
    assert list(found.parts) == ["binary", "categorical", "real"]
    kept = [name for part in found.to_dict().values() for name in part["name"]]
    assert set(kept) == set(model.get_feature_names_out())
    assert "real features" in str(found)
    own = SelectiveCategoricalNB(n_features_to_select=2, random_state=0)
    sites = table.filter(like="site")
    text = str(own.fit(sites, y).feature_table())
    assert all(name in text for name in own.get_feature_names_out())


def test_columns_of_other_types_are_named():
    table, y = frame()
    table["day"] = pd.date_range("2020-01-01", periods=N)
    with pytest.raises(ValueError, match="column 'day' holds"):
        SelectiveMixedNB().fit(table, y)
    with pytest.raises(ValueError, match="column 'gene0' "):
        SelectiveMixedNB(kinds={"gene0": "binary"}).fit(frame()[0], np.arange(N) % 3)


def test_texts_that_look_like_numbers_stay_texts():
    y = np.arange(N) % 2
    X = np.empty((N, 2), dtype=object)
    X[:, 0] = np.where(y == 1, "01", "x")
    X[:, 1] = np.random.default_rng(0).normal(size=N)
    model = SelectiveMixedNB(random_state=0).fit(X, y)
    whole = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X[1:2]), whole[1:2])
    codes = np.array([["01"], ["1"], ["2"]] * 20, dtype=object)
    assert SelectiveMixedNB(random_state=0).fit(codes, y)._parts[0].levels.n_levels.tolist() == [3]


@pytest.mark.parametrize("dtype", [pl.Date, pl.List(pl.Int64)])
def test_polars_columns_that_are_neither_texts_nor_numbers_are_refused(dtype):
    column = pl.Series("when", [None] * N, dtype=dtype)
    table = pl.DataFrame({"a": np.arange(N)}).with_columns(column)
    with pytest.raises(ValueError, match=r"column 'when' holds (several values|dates or times)"):
        SelectiveMixedNB().fit(table, np.arange(N) % 2)


def test_nullable_columns_may_be_missing():
    table, y = frame()
    table["smoker"] = table["smoker"].mask(np.arange(N) == 3)
    table["visits"] = pd.array(np.arange(N) % 7, dtype="Int64")
    table.loc[5, "visits"] = pd.NA
    model = SelectiveMixedNB(n_features_to_select=2, random_state=0).fit(table, y)
    assert model.kinds_[-2:] == ("binary", "real")
    assert np.isfinite(model.predict_log_proba(table)).all()


def optimism(seed, correction, n=20, p=50, n_test=500):
    """Actual less expected error on data from the priors of both kinds."""
    generator = np.random.default_rng(seed)
    y, new = generator.permutation(np.arange(n) % 2), generator.integers(0, 2, n_test)
    alpha = 5.0 / generator.gamma(0.5)
    theta = generator.random(p)
    phi = generator.beta(
        np.maximum(alpha * theta, 1e-9), np.maximum(alpha * (1 - theta), 1e-9), (2, p)
    )
    low = np.log(ratio_grid(n)[1]) - SMALLEST_SCALE
    scale = np.exp(generator.uniform(low, 0.0))
    ratio = np.minimum(scale * np.tan(np.pi / 2 * generator.random(p)) ** 2, LARGEST_RATIO)
    mu = generator.normal(size=(2, p)) * np.sqrt(ratio)
    X, Z = (
        np.column_stack(
            [generator.random((c.size, p)) < phi[c], mu[c] + generator.normal(size=(c.size, p))]
        )
        for c in (y, new)
    )
    model = SelectiveMixedNB(
        kinds=["binary"] * p + ["real"] * p,
        n_features_to_select=6,
        correction=correction,
        recalibrate=None,
        class_prior=[0.5, 0.5],
        random_state=0,
    ).fit(X, y)
    proba = model.predict_proba(Z)
    return np.mean(proba.argmax(axis=1) != new) - (1 - proba.max(axis=1).mean())


@pytest.mark.slow  # each kind alone is honest, and kinds add up: ordinary tests of both
@pytest.mark.parametrize(("correction", "n_data_sets"), [("selection", 400), (None, 100)])
def test_optimism_over_the_prior(correction, n_data_sets):
    found = [optimism(seed, correction) for seed in range(n_data_sets)]
    mean, error = np.mean(found), np.std(found, ddof=1) / np.sqrt(n_data_sets)
    if correction is None:
        assert mean - 2 * error > 0.05
    else:
        assert abs(mean) + 2 * error < 0.01


def test_a_table_with_other_columns_is_refused():
    table, y = frame()
    model = SelectiveMixedNB(random_state=0).fit(table, y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table.rename(columns={"gene0": "gene_0"}))
    with pytest.raises(ValueError, match="contains infinity: column 'gene"):
        model.predict(table.assign(gene0=np.inf, gene1=np.inf, gene2=np.inf, gene3=np.inf))


# ------------------------------------------------------------------- categories and identifiers


def test_any_numbers_are_levels_where_a_frame_calls_them_categories(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    shift = np.where(rng.random(60) < 0.8, y, 1 - y)
    words = np.array(["low", "none", "high"])[shift + 1 - (rng.random(60) < 0.3)]
    value = pd.Series(words).map({"low": -1.5, "none": 0.0, "high": 2.5})
    rest = pd.DataFrame({f"x{j}": rng.normal(size=60) for j in range(5)})
    numbers = rest.assign(dose=pd.Categorical(value))
    texts = rest.assign(dose=words)
    model = SelectiveMixedNB(random_state=0).fit(numbers, y)
    assert model.kinds_[-1] == "categorical"
    assert model.feature_table().parts["categorical"].levels == (("-1.5", "0", "2.5"),)
    expected = SelectiveMixedNB(random_state=0).fit(texts, y).predict_proba(texts)
    np.testing.assert_allclose(model.predict_proba(numbers), expected, atol=1e-12)
    # At prediction plain numbers will do, and a file keeps the levels.
    np.testing.assert_array_equal(
        model.predict_proba(rest.assign(dose=value)), model.predict_proba(numbers)
    )
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").predict_proba(numbers), model.predict_proba(numbers)
    )
    with pytest.raises(ValueError, match=r"no whole number|negative"):
        SelectiveMixedNB(kinds={"dose": "categorical"}).fit(rest.assign(dose=value), y)
    with pytest.raises(ValueError, match="infinite"):
        SelectiveMixedNB().fit(rest.assign(dose=pd.Categorical(value.replace(0.0, np.inf))), y)


def table_with_identifiers(first, n=60):
    rng = np.random.default_rng(first)
    y = np.arange(n) % 2
    columns = {f"w{j}": rng.choice(["a", "b", "c"], n) for j in range(3)}
    return pd.DataFrame({"case": [f"case {first + i}" for i in range(n)], **columns}), y


@pytest.mark.parametrize("estimator", [SelectiveMixedNB, SelectiveCategoricalNB])
def test_a_column_of_identifiers_is_named_in_fit_and_not_in_each_prediction(estimator):
    X, y = table_with_identifiers(0)
    with pytest.warns(
        UserWarning, match="column 'case' has a different value in each row"
    ) as caught:
        model = estimator(random_state=0).fit(X, y)
    assert len(caught) == 1
    assert "case" in model.get_feature_names_out()
    new, _ = table_with_identifiers(1000)
    hidden = new.assign(case=None)
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(hidden))
    new.loc[:4, "w0"] = "d"
    new.loc[3:4, "w1"] = "e"
    message = (
        r"^7 cells are treated as missing: categories not seen in fit, such as '[de]' in column 'w"
    )
    with pytest.warns(UserWarning, match=message) as caught:
        model.predict_proba(new)
    assert len(caught) == 1


def test_few_values_may_all_differ_without_a_word():
    X, y = table_with_identifiers(0)
    X.loc[5:, "case"] = None
    SelectiveMixedNB(random_state=0).fit(X, y)
