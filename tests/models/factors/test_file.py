"""Files of the factor models: whole, exact, and distrusted."""

import pickle

import numpy as np
import pandas as pd
import pytest
from model_files import changed, mutated

import honestbayes
from honestbayes import ModelFileError, SelectiveFactorClassifier, SelectiveFactorRegressor
from honestbayes.models.factors import estimator as factor_estimator

pytestmark = pytest.mark.filterwarnings("ignore:the chains have not converged")

FEW = {"n_chains": 2, "n_warmup": 10, "n_samples": 10, "random_state": 0}

RNG = np.random.default_rng(0)
CODES = np.arange(45) % 3
X = RNG.normal(size=(45, 12)) + RNG.normal(size=(45, 1))
X[:, :2] += CODES[:, None]
X[3, 1] = np.nan
LABELS = np.array(["x", "y", "z"], dtype=object)[CODES]
FRAME = pd.DataFrame(X, columns=[f"gene{j}" for j in range(12)])
TWO = CODES == 0
RESPONSE = np.where(np.isnan(X[:, 0]), 0.0, X[:, 0]) * 5 + 100

MODELS = {
    "chosen": (SelectiveFactorClassifier(n_features_to_select=4, **FEW), FRAME, LABELS),
    "two classes": (
        SelectiveFactorClassifier(
            n_factors=2,
            n_features_to_select=3,
            feature_prior="learned",
            correction="counts",
            always_keep=["gene9"],
            recalibrate=None,
            class_prior=[0.2, 0.8],
            factor_shifts=False,
            **FEW,
        ),
        FRAME,
        TWO,
    ),
    "no factors": (
        SelectiveFactorClassifier(n_factors=0, threshold=0.3, recalibrate=None, **FEW),
        X,
        LABELS,
    ),
    "no features": (
        SelectiveFactorClassifier(
            n_factors=1, n_features_to_select=0, recalibrate=None, class_pseudocounts=[1, 2], **FEW
        ),
        X,
        TWO,
    ),
    "response": (
        SelectiveFactorRegressor(n_features_to_select=4, always_keep=[7], **FEW),
        FRAME,
        RESPONSE,
    ),
    "response, no factors": (
        SelectiveFactorRegressor(n_factors=0, correction=None, threshold=0.4, **FEW),
        X,
        RESPONSE,
    ),
    "response, no features": (
        SelectiveFactorRegressor(n_factors=1, n_features_to_select=0, **FEW),
        X,
        RESPONSE,
    ),
}
CLASSIFIERS = [name for name in MODELS if "response" not in name]


@pytest.fixture(scope="module")
def fitted():
    """Fitted models by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factor_estimator, "FOLD_WARMUP", 5)
        patch.setattr(factor_estimator, "FOLD_SAMPLES", 5)
        return {name: model.fit(table, y) for name, (model, table, y) in MODELS.items()}


def assert_same(model, other, table):
    assert type(other) is type(model)
    if isinstance(model, SelectiveFactorRegressor):
        np.testing.assert_array_equal(
            other.predict(table, return_std=True), model.predict(table, return_std=True)
        )
        assert other.correction_ == model.correction_
    else:
        np.testing.assert_array_equal(
            other.predict_log_proba(table), model.predict_log_proba(table)
        )
        np.testing.assert_array_equal(
            other.predict_proba_interval(table[:4], n_draws=30),
            model.predict_proba_interval(table[:4], n_draws=30),
        )
        assert other.slope_ == model.slope_
        assert other.classes_.tolist() == model.classes_.tolist()
        np.testing.assert_array_equal(other.posterior_.weights, model.posterior_.weights)
    assert other.selection_ == model.selection_
    assert other.variance_prior_ == model.variance_prior_
    assert other.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    assert other.n_factors_ == model.n_factors_
    assert (other.factor_choice_ is None) == (model.factor_choice_ is None)
    if model.factor_choice_ is not None:
        np.testing.assert_array_equal(
            other.factor_choice_.log_score, model.factor_choice_.log_score
        )
    assert (other.draws_ is None) == (model.draws_ is None)
    if model.draws_ is not None:
        assert set(other.draws_.values) == set(model.draws_.values)
        for name, values in model.draws_.values.items():
            np.testing.assert_array_equal(other.draws_[name], values)
        assert str(other.diagnostics_.to_dict()) == str(model.diagnostics_.to_dict())


@pytest.mark.parametrize("name", list(MODELS))
def test_a_loaded_model_is_the_saved_one_to_the_last_bit(tmp_path, fitted, name):
    model, table = fitted[name], MODELS[name][1]
    model.save(tmp_path / "model")
    loaded = honestbayes.load(tmp_path / "model")
    assert_same(model, loaded, table)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()
    assert str(loaded) == str(model)
    assert_same(model, pickle.loads(pickle.dumps(model)), table)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_model_on_kept_columns_has_the_same_probabilities(tmp_path, fitted, name):
    model, table = fitted[name], MODELS[name][1]
    columns = list(model.selection_.columns)
    kept = table.iloc[:, columns] if hasattr(table, "iloc") else table[:, columns]
    small = model.on_kept_columns()
    np.testing.assert_array_equal(small.predict_log_proba(kept), model.predict_log_proba(table))
    small.save(tmp_path / "small")
    assert_same(small, honestbayes.load(tmp_path / "small"), kept)


@pytest.mark.parametrize(
    ("name", "array", "how", "message"),
    [
        ("chosen", "part0.draws.location", lambda a: a * np.nan, "location holds"),
        ("chosen", "part0.draws.spread", lambda a: -a, "spread is not from"),
        ("two classes", "part0.draws.loadings", lambda a: a * 1e40, "leave next to no noise"),
        ("two classes", "part0.draws.loadings", lambda a: a[..., :1], "loadings is an array"),
        ("chosen", "part0.draws.unit", lambda a: a * 0, "unit is not positive"),
        ("chosen", "part0.factor_choice.n_factors", lambda a: a + 9, "was not tried"),
        ("chosen", "part0.weights", lambda a: a * 2, "weights"),
        ("response", "draws.centre", lambda a: a[1:], "centre is an array"),
        ("response", "selection.kept", lambda a: a * 0, "kept are not columns"),
        ("response", "selection.groups", lambda a: a + 1, "groups"),
    ],
)
def test_a_file_with_valid_checksums_and_no_meaning_is_refused(
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
        ("chosen", ("parameters", "n_factors"), "many", "neither a number nor"),
        ("chosen", ("parameters", "n_chains"), 0, "n_chains=0"),
        ("chosen", ("parameters", "checkpoint"), "/tmp/x", "checkpoint"),
        ("chosen", ("part0", "n_factors"), -1, "not a number of factors"),
        ("chosen", ("feature_prior_",), "uniform", "feature_prior_"),
        ("chosen", ("parts",), ["real"], "parts are not those of Selective"),
        ("response", ("selection", "gamma_squared"), [3, 2], "not a share"),
        ("response", ("selection", "n_cases"), 10**400, "not a possible number"),
        ("response", ("parameters", "correction"), "counts", "correction='counts'"),
        ("response", ("variance_scale",), 0.0, "not positive"),
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
    with pytest.raises(ModelFileError, match=message):
        honestbayes.load(path)


@pytest.mark.parametrize("name", ["chosen", "two classes", "no factors", "response"])
def test_a_mutated_file_loads_as_a_model_or_is_refused(tmp_path, fitted, name):
    model, table = fitted[name], MODELS[name][1]
    model.save(tmp_path / "good")
    loaded = 0
    for seed in range(60):
        mutated(tmp_path / "good", tmp_path / "bad", seed, tmp_path / "mark")
        try:
            other = honestbayes.load(tmp_path / "bad")
        except ModelFileError:
            continue
        loaded += 1
        if other.n_features_in_ == table.shape[1]:
            with np.errstate(all="ignore"):
                found = getattr(other, "predict_proba", other.predict)(table)
            assert np.isfinite(found).all() or name == "response"
    assert not (tmp_path / "mark").exists()
    assert loaded < 30


def test_what_cannot_be_read_again_is_not_written(tmp_path, fitted):
    model = fitted["response"]
    odd = pickle.loads(pickle.dumps(model))
    odd.draws_["spread"][:] = 0.0
    with pytest.raises(ValueError, match=r"cannot be saved: .*spread"):
        odd.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
