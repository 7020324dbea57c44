"""Files of the real-valued, categorical and mixed models: whole, exact, and distrusted."""

import pickle

import numpy as np
import pandas as pd
import pytest
from model_files import changed, mutated

import honestbayes
from honestbayes import (
    ModelFileError,
    SelectiveCategoricalNB,
    SelectiveGaussianNB,
    SelectiveMixedNB,
)


def frame(seed=0, n=45):
    generator = np.random.default_rng(seed)
    y = np.arange(n) % 3
    table = pd.DataFrame({f"gene{j}": generator.normal(size=n) + (j < 2) * y for j in range(8)})
    for j in range(6):
        table[f"flag{j}"] = (generator.random(n) < 0.2 + 0.2 * (j == 0) * y).astype(float)
        words = np.array(["a", "b", "c,\n=1+1", "é"], dtype=object)[generator.integers(0, 4, n)]
        words[generator.random(n) < 0.05] = None
        table[f"site{j}"] = words
    table.iloc[3, 1] = np.nan
    return table, np.array(["x", "y", "z"], dtype=object)[y]


TABLE, LABELS = frame()
TWO = np.where(LABELS == "x", 0, 1)
REAL = TABLE.filter(like="gene")
WORDS = TABLE.filter(like="site")
KINDS = {f"flag{j}": "categorical" for j in range(2)}
MODELS = {
    "real": (SelectiveGaussianNB(n_features_to_select=3), REAL, LABELS),
    "real, heavy tails": (
        SelectiveGaussianNB(n_features_to_select=3, correction="selection", always_keep=["gene5"]),
        REAL,
        TWO,
    ),
    "real, array": (
        SelectiveGaussianNB(n_features_to_select="cv", class_prior=[0.2, 0.3, 0.5]),
        REAL.to_numpy(),
        LABELS,
    ),
    "real, none": (SelectiveGaussianNB(n_features_to_select=0), REAL, LABELS),
    "categorical": (SelectiveCategoricalNB(n_features_to_select=3, random_state=1), WORDS, LABELS),
    "categorical, uniform": (
        SelectiveCategoricalNB(
            n_features_to_select=2,
            feature_prior="uniform",
            always_keep=[0],
            class_pseudocounts=[1.0, 2.0, 3.0],
            alpha_prior=(1, 4),
        ),
        WORDS,
        LABELS,
    ),
    "zeros and ones": (
        SelectiveCategoricalNB(n_features_to_select=2, threshold=None, random_state=0),
        TABLE.filter(like="flag"),
        TWO,
    ),
    "mixed": (SelectiveMixedNB(n_features_to_select=2, random_state=0), TABLE, LABELS),
    "mixed, two classes": (
        SelectiveMixedNB(
            kinds=KINDS,
            n_features_to_select={"real": 3, "binary": 1, "categorical": "all"},
            always_keep=["flag3", "gene7"],
            random_state=0,
        ),
        TABLE,
        TWO,
    ),
    "mixed, more than there are": (
        SelectiveMixedNB(n_features_to_select={"real": 100, "binary": 50}, random_state=0),
        TABLE,
        TWO,
    ),
    "mixed, none": (SelectiveMixedNB(threshold=0.99, random_state=0), TABLE, TWO),
    "mixed, by a bound": (SelectiveMixedNB(threshold=0.6, random_state=0), TABLE, TWO),
}


def fitted(name):
    model, X, y = MODELS[name]
    return model.fit(X, y), X


def assert_same(model, other, X):
    assert type(other) is type(model)
    np.testing.assert_array_equal(other.predict_log_proba(X), model.predict_log_proba(X))
    np.testing.assert_array_equal(
        other.predict_proba_interval(X[:4], n_draws=50),
        model.predict_proba_interval(X[:4], n_draws=50),
    )
    assert other.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    assert other.classes_.tolist() == model.classes_.tolist()
    assert other.slope_ == model.slope_
    assert (other.number_choice_ is None) == (model.number_choice_ is None)
    if model.number_choice_ is not None:
        assert other.number_choice_.chosen == model.number_choice_.chosen


@pytest.mark.parametrize("name", list(MODELS))
def test_a_loaded_model_is_the_saved_one_to_the_last_bit(tmp_path, name):
    model, X = fitted(name)
    model.save(tmp_path / "model.honestbayes")
    loaded = honestbayes.load(tmp_path / "model.honestbayes")
    assert_same(model, loaded, X)
    loaded.save(tmp_path / "again.honestbayes")
    first, second = (tmp_path / f"{n}.honestbayes" for n in ("model", "again"))
    assert first.read_bytes() == second.read_bytes()
    assert str(loaded) == str(model)
    assert_same(model, pickle.loads(pickle.dumps(model)), X)


@pytest.mark.parametrize("name", list(MODELS))
def test_a_model_on_kept_columns_has_the_same_probabilities(tmp_path, name):
    model, X = fitted(name)
    columns = np.concatenate(model._kept_columns())
    kept = X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns]
    small = model.on_kept_columns()
    assert small.n_features_in_ == columns.size
    np.testing.assert_array_equal(small.predict_log_proba(kept), model.predict_log_proba(X))
    small.save(tmp_path / "small.honestbayes")
    loaded = honestbayes.load(tmp_path / "small.honestbayes")
    assert_same(small, loaded, kept)
    assert_same(small, small.on_kept_columns(), kept)
    if isinstance(model, SelectiveMixedNB):
        assert len(loaded.kinds_) == columns.size


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("real", {"part0.mean": lambda a: a * np.nan}, "mean"),
        ("real", {"part0.within": lambda a: -1 - a}, "within"),
        ("real", {"part0.weights": lambda a: a * 2}, "weights"),
        ("real", {"part0.ratio": lambda a: a[::-1]}, "ratio"),
        ("real", {"log_prior": lambda a: a - 1}, "log_prior does not sum to 1"),
        ("categorical", {"part0.race.log_prob": lambda a: a / 2}, "no probability"),
        ("categorical", {"part0.race.counts": lambda a: a + 100}, "more than the cases"),
        ("categorical", {"part0.levels.n_levels": lambda a: a * 0}, "less than two"),
        ("mixed", {"kinds": lambda a: a * 0}, "kinds"),
    ],
)
def test_a_file_with_valid_checksums_and_no_meaning_is_refused(tmp_path, name, change, message):
    model, _ = fitted(name)
    model.save(tmp_path / "good.honestbayes")

    def apply(_, arrays):
        for array, how in change.items():
            arrays[array] = how(arrays[array])

    path = changed(tmp_path / "good.honestbayes", tmp_path / "bad.honestbayes", apply)
    with pytest.raises(ModelFileError, match=message):
        honestbayes.load(path)


@pytest.mark.parametrize("name", ["real", "categorical", "mixed", "mixed, two classes"])
def test_a_mutated_file_loads_as_a_model_or_is_refused(tmp_path, name):
    model, X = fitted(name)
    model.save(tmp_path / "good.honestbayes")
    loaded = 0
    for seed in range(60):
        mutated(tmp_path / "good.honestbayes", tmp_path / "bad", seed, tmp_path / "mark")
        try:
            other = honestbayes.load(tmp_path / "bad")
        except ModelFileError:
            continue
        loaded += 1
        with np.errstate(all="ignore"):
            proba = other.predict_proba(X) if other.n_features_in_ == X.shape[1] else None
        assert proba is None or np.isfinite(proba).all()
    assert not (tmp_path / "mark").exists()
    assert loaded < 30


def test_what_is_stored_is_plain():
    model, _ = fitted("mixed")
    content, arrays = model._to_plain()
    assert all(a.dtype.kind in "iufb" for a in arrays.values())
    assert set(content["parameters"]) == set(model.get_params())
