"""Files of the selectors and of their model: whole, exact, and distrusted."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from model_files import changed, mutated
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

import honestbayes
from honestbayes import (
    BoostedProbabilitySelector,
    DiscreteNB,
    ForwardProbabilitySelector,
    ModelFileError,
)

RNG = np.random.default_rng(0)
N = 90
CODES = np.arange(N) % 3
LABELS = np.array(["x", "ü", "z"], dtype=object)[CODES]
FRAME = pd.DataFrame(
    {
        "size": RNG.normal(CODES, 1.0),
        "colour": np.where(RNG.random(N) < 0.5, LABELS, None),
        "größe $": RNG.integers(0, 2, N).astype(float),
        "noise": RNG.normal(size=N),
        "stage": RNG.integers(0, 4, N),
        "nothing": "same",
    }
)
FRAME.loc[3, "size"] = np.nan
ARRAY = RNG.integers(0, 3, (N, 5)).astype(float)
ARRAY[:, 1] = np.where(RNG.random(N) < 0.7, CODES == 0, RNG.integers(0, 2, N))
TWO = CODES == 0
WEIGHT = RNG.integers(1, 4, N) / 3

MODELS = {
    "patience": (ForwardProbabilitySelector(held_out=3, patience=2), FRAME, LABELS),
    "array": (
        ForwardProbabilitySelector(
            n_features_to_select=np.int64(3),
            scoring="log_loss",
            score_on="held_out",
            held_out=0.4,
            smoothing=0.5,
            n_bins=4,
            kinds={0: "categorical"},
            n_jobs=1,
            random_state=7,
        ),
        ARRAY,
        TWO,
    ),
    "all": (
        ForwardProbabilitySelector(
            n_features_to_select="all", kinds=["real"] * 4 + ["categorical"]
        ),
        ARRAY,
        CODES,
    ),
    "boosted": (BoostedProbabilitySelector(n_rounds=6, held_out=3), FRAME, LABELS),
    "boosted array": (BoostedProbabilitySelector(n_rounds=2), ARRAY, TWO),
    "model": (DiscreteNB(kinds={"stage": "categorical"}), FRAME, LABELS),
    "model array": (DiscreteNB(smoothing=2, class_prior=np.array([0.3, 0.7])), ARRAY, TWO),
    "bytes": (DiscreteNB(), (ARRAY > 0).astype(np.int8), CODES),
}
SELECTORS = [name for name in MODELS if "model" not in name and name != "bytes"]


@pytest.fixture(scope="module")
def fitted():
    """Fitted models by name, with weights."""
    return {name: model.fit(table, y, WEIGHT) for name, (model, table, y) in MODELS.items()}


def assert_same(model, other, table):
    assert type(other) is type(model)
    assert other.classes_.dtype == model.classes_.dtype
    assert other.classes_.tolist() == model.classes_.tolist()
    assert other.n_features_in_ == model.n_features_in_
    assert hasattr(other, "feature_names_in_") == hasattr(model, "feature_names_in_")
    if isinstance(model, DiscreteNB):
        np.testing.assert_array_equal(other.predict_proba(table), model.predict_proba(table))
        np.testing.assert_array_equal(other.class_count_, model.class_count_)
        return
    for name in ("feature", "train_score", "held_out_score", "r", "alpha", "entropy"):
        one, two = getattr(model.path_, name), getattr(other.path_, name)
        assert (one is None) == (two is None)
        if one is not None:
            np.testing.assert_array_equal(two, one, strict=True)
    assert other.path_.n_kept == model.path_.n_kept
    assert other.path_.name == model.path_.name
    np.testing.assert_array_equal(other.get_support(), model.get_support())
    assert other.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    pd.testing.assert_frame_equal(
        pd.DataFrame(other.transform(table)), pd.DataFrame(model.transform(table))
    )


@pytest.mark.parametrize("name", list(MODELS))
def test_a_loaded_one_is_the_saved_one_to_the_last_bit(tmp_path, fitted, name):
    model, table = fitted[name], MODELS[name][1]
    model.save(tmp_path / "model")
    loaded = honestbayes.load(tmp_path / "model")
    assert_same(model, loaded, table)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()
    assert_same(model, pickle.loads(pickle.dumps(loaded)), table)
    for word, value in loaded.get_params().items():
        np.testing.assert_array_equal(value, getattr(model, word))
    assert_same(loaded.fit(table, MODELS[name][2], WEIGHT), model, table)


def test_a_loaded_selector_takes_frames_and_refuses_other_columns(tmp_path, fitted):
    fitted["patience"].save(tmp_path / "model")
    loaded = honestbayes.load(tmp_path / "model")
    loaded.set_output(transform="polars")
    kept = loaded.get_feature_names_out().tolist()
    assert loaded.transform(pl.from_pandas(FRAME)).columns == kept
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(FRAME.rename(columns={"size": "length"}))


def test_what_a_file_cannot_hold_is_refused_or_forgotten(tmp_path):
    path = tmp_path / "model"
    few = {"n_features_to_select": 1}
    by_estimator = ForwardProbabilitySelector(LogisticRegression(), **few).fit(ARRAY, TWO)
    with pytest.raises(ValueError, match="estimator is an object, which a file of plain data"):
        by_estimator.save(path)
    by_function = ForwardProbabilitySelector(
        scoring=lambda y, p: float(np.mean((y - p[:, 1]) ** 2)), **few
    ).fit(ARRAY, TWO)
    with pytest.raises(ValueError, match="scoring is a function, which a file of plain data"):
        by_function.save(path)
    assert not path.exists()
    by_folds = ForwardProbabilitySelector(
        held_out=StratifiedKFold(3), patience=1, random_state=np.random.RandomState(0)
    ).fit(ARRAY, TWO)
    by_folds.save(path)
    loaded = honestbayes.load(path)
    assert_same(by_folds, loaded, ARRAY)
    assert loaded.held_out is None
    assert loaded.random_state is None
    with pytest.raises(ValueError, match="give held_out too"):
        loaded.fit(ARRAY, TWO)
    with pytest.raises(ValueError, match="not fitted"):
        ForwardProbabilitySelector().save(path)


@pytest.mark.parametrize(
    ("name", "array", "how", "message"),
    [
        ("patience", "path.feature", lambda a: a * 0, "takes a column twice"),
        ("patience", "path.feature", lambda a: a + 5, "an impossible number"),
        ("patience", "path.feature", lambda a: a[1:], "train_score is an array"),
        ("patience", "path.train_score", lambda a: a * np.inf, "not finite"),
        ("patience", "path.held_out_score", lambda a: np.where(a > a.min(), a, np.nan), "some"),
        ("patience", "feature_names.text", lambda a: a | 255, "not text"),
        ("boosted", "path.r", lambda a: a * 100, "r is not from"),
        ("boosted", "path.alpha", lambda a: a[1:], "alpha is an array"),
        ("model", "slots", lambda a: -a, "slots is not from"),
        ("model", "slots", lambda a: a + 1, "do not sum"),
        ("model", "slots", lambda a: a[1:], "slots is an array"),
        ("model", "class_count", lambda a: a * 0, "is 0 for a class"),
        ("model", "coding.number", lambda a: a[::-1].copy(), "ascending"),
        ("model", "coding.number", lambda a: a * np.nan, "not finite"),
        ("model", "coding.size", lambda a: a + 1, "number is an array"),
        ("model", "coding.kinds", lambda a: a * 0, "is said of columns of numbers"),
        ("model", "coding.is_text", lambda a: ~a, "is said of columns of numbers"),
    ],
)
def test_arrays_with_valid_checksums_and_no_meaning_are_refused(
    tmp_path, fitted, name, array, how, message
):
    fitted[name].save(tmp_path / "good")

    def change(_, arrays):
        arrays[array] = how(arrays[array])

    path = changed(tmp_path / "good", tmp_path / "bad", change)
    with pytest.raises(ModelFileError, match=message):
        honestbayes.load(path)


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("patience", ("path", "n_kept"), 99, "n_kept is not a number from 0"),
        ("patience", ("n_features_in",), 10**400, "n_features_in is not a number"),
        ("patience", ("n_features_in",), 7, "does not name every column"),
        ("patience", ("n_classes",), 1, "n_classes is not a number"),
        ("patience", ("parameters", "patience"), 0, "patience is not a whole number"),
        ("patience", ("parameters", "held_out"), 1, "neither a share nor"),
        ("patience", ("parameters", "held_out"), 1.5, "neither a share nor"),
        ("patience", ("parameters", "scoring"), "accuracy", "scoring is"),
        ("patience", ("parameters", "score_on"), None, "score_on is"),
        ("patience", ("parameters", "n_features_to_select"), "cv", "is not a number of features"),
        ("patience", ("parameters", "n_features_to_select"), 70, "is not a number of features"),
        ("patience", ("parameters", "estimator"), "os.system", "estimator is unknown"),
        ("patience", ("parameters", "n_jobs"), 0, "n_jobs is no number"),
        ("patience", ("parameters", "smoothing"), 0, "smoothing is not a number"),
        ("patience", ("parameters", "kinds"), [["lost", "real"]], "a column that is not there"),
        ("patience", ("parameters", "kinds"), ["real"], "are not those of the columns"),
        ("patience", ("parameters", "kinds"), [[0, {}]], "not pairs"),
        ("boosted", ("parameters", "n_rounds"), 0, "n_rounds is not a whole number"),
        ("boosted", ("parameters", "random_state"), "a", "not a seed"),
        ("model", ("parameters", "class_prior"), [0.5, 0.5], "shares that sum to 1"),
        ("model", ("parameters", "class_prior"), "even", "not a list of shares"),
        ("model", ("parameters", "n_bins"), 1e400, "n_bins"),
        ("model", ("classes", "labels"), ["a", "a", "b"], "different labels"),
    ],
)
def test_a_description_without_meaning_is_refused(tmp_path, fitted, name, place, value, message):
    fitted[name].save(tmp_path / "good")

    def change(document, _):
        *path, last = place
        section = document["content"]
        for key in path:
            section = section[key]
        section[last] = value

    path = changed(tmp_path / "good", tmp_path / "bad", change)
    if value == 1e400:
        message = "Infinity"
    with pytest.raises(ModelFileError, match=message):
        honestbayes.load(path)


def test_a_file_of_one_selector_is_none_of_the_other(tmp_path, fitted):
    fitted["patience"].save(tmp_path / "good")

    def change(document, _):
        document["kind"] = "BoostedProbabilitySelector"

    with pytest.raises(ModelFileError, match="is not a valid model file"):
        honestbayes.load(changed(tmp_path / "good", tmp_path / "bad", change))


@pytest.mark.parametrize("name", ["patience", "array", "boosted", "model", "model array"])
def test_a_mutated_file_loads_as_a_model_or_is_refused(tmp_path, fitted, name):
    model, table = fitted[name], MODELS[name][1]
    model.save(tmp_path / "good")
    loaded = 0
    for seed in range(80):
        mutated(tmp_path / "good", tmp_path / "bad", seed, tmp_path / "mark")
        try:
            other = honestbayes.load(tmp_path / "bad")
        except ModelFileError:
            continue
        loaded += 1
        names = getattr(model, "feature_names_in_", np.zeros(0)).tolist()
        if getattr(other, "feature_names_in_", np.zeros(0)).tolist() != names:
            continue
        if name in SELECTORS:
            assert other.n_features_in_ != table.shape[1] or other.transform(table).shape[0] == N
            assert str(other.path_)
        else:
            assert np.isfinite(other.predict_proba(table)).all()
    assert not (tmp_path / "mark").exists()
    assert loaded < 45


def test_what_cannot_be_read_again_is_not_written(tmp_path, fitted):
    odd = pickle.loads(pickle.dumps(fitted["boosted"]))
    odd.path_.r[:] = np.nan
    with pytest.raises(ValueError, match=r"cannot be saved: .*r holds"):
        odd.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
