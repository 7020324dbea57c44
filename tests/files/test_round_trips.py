"""Models of every kind come back from their files to the last bit."""

import pickle

import numpy as np
import pandas as pd
import pytest
from fits import FITS, PLAIN, SELECTORS, TABLES, fitted
from golden import compare, figures

import honestbayes
from honestbayes.tables.model import TableModel

ESTIMATORS = [name for name in FITS if name not in TABLES]
NOT_NARROWED = ("binary, kept", "response", "plain", "subsets", *SELECTORS)
NARROWED = [name for name in ESTIMATORS if not name.startswith(NOT_NARROWED)]
"""Models of classes, which can be cut down to the kept columns."""


def said(model, X):
    """All that a model says in public, of itself and of rows."""
    estimator = model.estimator if isinstance(model, TableModel) else model
    result = {word: value for word, value in vars(estimator).items() if word.endswith("_")}
    result["labels"] = getattr(model, "labels", None)
    result["columns"] = getattr(model, "columns", None)
    if hasattr(model, "path_"):
        reduced = pd.DataFrame(model.transform(X))
        return result | {"path": str(model.path_), "reduced": reduced.to_csv()}
    if not hasattr(model, "predict"):
        return result | {"reduced": pd.DataFrame(model.transform(X)).to_csv()}
    if hasattr(model, "predict_quantiles"):
        result["prediction"] = model.predict(X)
        if hasattr(model, "selection_"):
            result["mean and sd"] = model.predict(X, return_std=True)
        return result | {"quantiles": model.predict_quantiles(X, [0.1, 0.9])}
    result |= {"predict": model.predict(X), "proba": model.predict_proba(X)}
    words = {"n_draws": 50} if hasattr(model, "slope_") else {}
    for word, given in {
        "predict_log_proba": (X,),
        "contributions": (X,),
        "feature_table": (),
        "components": (),
        "get_support": (),
        "get_feature_names_out": (),
    }.items():
        if hasattr(model, word):
            result[word] = getattr(model, word)(*given)
    if hasattr(model, "predict_proba_interval"):
        result["interval"] = model.predict_proba_interval(X[:4], **words)
    return result


def assert_same(model, other, X):
    assert type(other) is type(model)
    pair = (dict(figures.flat("model", said(one, X))) for one in (model, other))
    assert list(compare.array_differences(*pair)) == []


def rows_of(name):
    """The rows that the model of a name takes."""
    model, X = fitted(name), FITS[name].X
    return X[:, list(model.selection_.columns)] if name == "binary, kept" else X


@pytest.mark.parametrize("name", FITS)
def test_a_loaded_model_is_the_saved_one_to_the_last_bit(name, tmp_path):
    model, X = fitted(name), rows_of(name)
    model.save(tmp_path / "model")
    loaded = honestbayes.load(tmp_path / "model")
    assert_same(model, loaded, X)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()
    assert_same(model, pickle.loads(pickle.dumps(loaded)), X)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parameters_come_back(name, tmp_path):
    model = fitted(name)
    model.save(tmp_path / "model")
    loaded = honestbayes.load(tmp_path / "model")
    assert name in SELECTORS | PLAIN or str(loaded) == str(model)
    for word, value in model.get_params().items():
        np.testing.assert_array_equal(getattr(loaded, word), value)


@pytest.mark.slow_cases("honest")
@pytest.mark.parametrize("name", NARROWED)
def test_a_model_on_kept_columns_has_the_same_probabilities(name, tmp_path):
    model, X = fitted(name), FITS[name].X
    names = model.get_feature_names_out()
    rows = X[names] if hasattr(X, "columns") else X[:, [int(name[1:]) for name in names]]
    small = model.on_kept_columns()
    assert small.n_features_in_ == names.size
    np.testing.assert_array_equal(small.predict_log_proba(rows), model.predict_log_proba(X))
    small.save(tmp_path / "small")
    assert_same(small, honestbayes.load(tmp_path / "small"), rows)
    assert_same(small, small.on_kept_columns(), rows)


def test_a_file_that_holds_another_model_than_asked_for_is_refused(tmp_path):
    name = next(name for name in ESTIMATORS if name not in SELECTORS)
    model = fitted(name)
    model.save(tmp_path / "model")
    same = honestbayes.load(tmp_path / "model", type(model))
    assert type(same) is type(model)
    other = honestbayes.DiscreteNB if type(model) is not honestbayes.DiscreteNB else TableModel
    words = f"it holds a {type(model).__name__}, not a {other.__name__}"
    with pytest.raises(honestbayes.files.ModelFileError, match=words):
        honestbayes.load(tmp_path / "model", other)
