"""Files of the selectors and of their model: fitted again, and distrusted."""

import pickle

import numpy as np
import polars as pl
import pytest
from fits import ARRAY, FITS, FRAME, PLAIN, SELECTORS, THREE, WEIGHT, fitted
from model_files import changed
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

import honestbayes
from honestbayes import ForwardProbabilitySelector
from honestbayes.files import ModelFileError


@pytest.mark.parametrize("name", [*SELECTORS, *PLAIN])
def test_a_loaded_one_can_be_fitted_again_to_the_same(tmp_path, name):
    model, fit = fitted(name), FITS[name]
    model.save(tmp_path / "model")
    again = honestbayes.load(tmp_path / "model").fit(fit.X, fit.y, WEIGHT)
    assert again.classes_.dtype == model.classes_.dtype
    if name in PLAIN:
        np.testing.assert_array_equal(again.predict_proba(fit.X), model.predict_proba(fit.X))
    else:
        np.testing.assert_array_equal(again.path_.feature, model.path_.feature)
        np.testing.assert_array_equal(again.path_.train_score, model.path_.train_score)
        np.testing.assert_array_equal(again.get_support(), model.get_support())


def test_a_loaded_selector_takes_frames_and_refuses_other_columns(tmp_path):
    fitted("forward").save(tmp_path / "model")
    loaded = honestbayes.load(tmp_path / "model")
    loaded.set_output(transform="polars")
    kept = loaded.get_feature_names_out().tolist()
    assert loaded.transform(pl.from_pandas(FRAME)).columns == kept
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(FRAME.rename(columns={"size": "length"}))


def test_what_a_file_cannot_hold_is_refused_or_forgotten(tmp_path):
    path = tmp_path / "model"
    few = {"n_features_to_select": 1}
    by_estimator = ForwardProbabilitySelector(LogisticRegression(), **few).fit(ARRAY, THREE == 0)
    with pytest.raises(ValueError, match="estimator is an object, which cannot be saved"):
        by_estimator.save(path)
    by_function = ForwardProbabilitySelector(
        scoring=lambda y, p: float(np.mean((y - p[:, 1]) ** 2)), **few
    ).fit(ARRAY, THREE == 0)
    with pytest.raises(ValueError, match="scoring is a function, which cannot be saved"):
        by_function.save(path)
    assert not path.exists()
    by_folds = ForwardProbabilitySelector(
        held_out=StratifiedKFold(3), patience=1, random_state=np.random.RandomState(0)
    ).fit(ARRAY, THREE == 0)
    by_folds.save(path)
    loaded = honestbayes.load(path)
    assert str(loaded.path_) == str(by_folds.path_)
    np.testing.assert_array_equal(loaded.transform(ARRAY), by_folds.transform(ARRAY))
    assert loaded.held_out is None
    assert loaded.random_state is None
    with pytest.raises(ValueError, match="give held_out"):
        loaded.fit(ARRAY, THREE == 0)
    with pytest.raises(ValueError, match="not fitted"):
        ForwardProbabilitySelector().save(path)


@pytest.mark.parametrize(
    ("name", "array", "how", "message"),
    [
        ("forward", "path.feature", lambda a: a * 0, "takes a column twice"),
        ("forward", "path.feature", lambda a: a + 5, "an impossible number"),
        ("forward", "path.feature", lambda a: a[1:], "train_score is an array"),
        ("forward", "path.train_score", lambda a: a * np.inf, "not finite"),
        ("forward", "path.held_out_score", lambda a: np.where(a > a.min(), a, np.nan), "some"),
        ("forward", "feature_names.text", lambda a: a | 255, "not text"),
        ("boosted", "path.r", lambda a: a * 100, "r is not from"),
        ("boosted", "path.alpha", lambda a: a[1:], "alpha is an array"),
        ("plain", "slots", lambda a: -a, "slots is not from"),
        ("plain", "slots", lambda a: a + 1, "do not sum"),
        ("plain", "slots", lambda a: a[1:], "slots is an array"),
        ("plain", "class_count", lambda a: a * 0, "is 0 for a class"),
        ("plain", "coding.number", lambda a: a[::-1].copy(), "ascending"),
        ("plain", "coding.number", lambda a: a * np.nan, "not finite"),
        ("plain", "coding.size", lambda a: a + 1, "number is an array"),
        ("plain", "coding.kinds", lambda a: a * 0, "is true of columns of numbers"),
        ("plain", "coding.is_text", lambda a: ~a, "is true of columns of numbers"),
    ],
)
def test_arrays_with_valid_checksums_and_no_meaning_are_refused(
    tmp_path, name, array, how, message
):
    fitted(name).save(tmp_path / "good")

    def change(_, arrays):
        arrays[array] = how(arrays[array])

    path = changed(tmp_path / "good", tmp_path / "bad", change)
    with pytest.raises(ModelFileError, match=message):
        honestbayes.load(path)


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("forward", ("path", "n_kept"), 99, "n_kept is not a number from 0"),
        ("forward", ("n_features_in",), 10**400, "n_features_in is not a number"),
        ("forward", ("n_features_in",), 7, "different name for each column"),
        ("forward", ("n_classes",), 1, "n_classes is not a number"),
        ("forward", ("parameters", "patience"), 0, "patience is not a whole number"),
        ("forward", ("parameters", "held_out"), 1, "neither a share nor"),
        ("forward", ("parameters", "held_out"), 1.5, "neither a share nor"),
        ("forward", ("parameters", "scoring"), "accuracy", "scoring is"),
        ("forward", ("parameters", "score_on"), None, "score_on is"),
        ("forward", ("parameters", "n_features_to_select"), "cv", "is not a number of features"),
        ("forward", ("parameters", "n_features_to_select"), 70, "is not a number of features"),
        ("forward", ("parameters", "estimator"), "os.system", "estimator is unknown"),
        ("forward", ("parameters", "n_jobs"), 0, "n_jobs is not a number"),
        ("forward", ("parameters", "smoothing"), 0, "smoothing is not a number"),
        ("forward", ("parameters", "kinds"), [["lost", "real"]], "a column that is not there"),
        ("forward", ("parameters", "kinds"), ["real"], "are not those of the columns"),
        ("forward", ("parameters", "kinds"), [[0, {}]], "not pairs"),
        ("boosted", ("parameters", "n_rounds"), 0, "n_rounds is not a whole number"),
        ("boosted", ("parameters", "random_state"), "a", "not a seed"),
        ("plain", ("parameters", "class_prior"), [0.5, 0.5], "shares that sum to 1"),
        ("plain", ("parameters", "class_prior"), "even", "not a list of shares"),
        ("plain", ("parameters", "n_bins"), 1e400, "n_bins"),
        ("plain", ("classes", "labels"), ["a", "a", "b"], "different labels"),
    ],
)
def test_a_description_without_meaning_is_refused(tmp_path, name, place, value, message):
    fitted(name).save(tmp_path / "good")

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


def test_a_file_of_one_selector_is_none_of_the_other(tmp_path):
    fitted("forward").save(tmp_path / "good")

    def change(document, _):
        document["kind"] = "BoostedProbabilitySelector"

    with pytest.raises(ModelFileError, match="is not a valid model file"):
        honestbayes.load(changed(tmp_path / "good", tmp_path / "bad", change))


def test_what_cannot_be_read_again_is_not_written(tmp_path):
    odd = pickle.loads(pickle.dumps(fitted("boosted")))
    odd.path_.r[:] = np.nan
    with pytest.raises(ValueError, match=r"cannot be saved: .*r holds"):
        odd.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
