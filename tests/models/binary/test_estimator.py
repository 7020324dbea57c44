"""The estimator inside scikit-learn's machinery, and with every kind of table."""

import json
import pickle
from functools import cache

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from honestbayes import SelectiveBernoulliNB
from honestbayes.data.source import DenseSource

PLAIN = {"recalibrate": None}
"""The layer is the same whatever lies below it, so that not every model has to learn one."""

MODELS = {
    "default": {},
    "learned, none": {"correction": None},
    "uniform, none": {"feature_prior": "uniform", "correction": None, **PLAIN},
    "uniform, selection": {"feature_prior": "uniform", "correction": "selection", **PLAIN},
    "uniform, counts": {"feature_prior": "uniform", "correction": "counts"},
}
every_model = pytest.mark.parametrize("how", MODELS.values(), ids=MODELS.keys())


def data(n=60, p=80, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    rate = rng.random(p)
    shifted = np.where(np.arange(p) < 8, np.clip(rate + 0.4, 0, 1), rate)
    X = (rng.random((n, p)) < np.where(y[:, None] == 1, shifted, rate)).astype(np.int8)
    return X, y


X, Y = data()
X_NEW = data(seed=1)[0]
GIVEN = X


def fitted(X=X, y=Y, **how):
    """A model that tests read and do not change; of the same data it is fitted once."""
    if X is GIVEN and y is Y:
        return of_given(json.dumps(how))
    return new(X, y, **how)


@cache
def of_given(how):
    return new(X, Y, **json.loads(how))


def new(X=X, y=Y, **how):
    return SelectiveBernoulliNB(**{"random_state": 0, **how}).fit(X, y)


@pytest.mark.slow_cases("uniform, counts")
@every_model
def test_pickle_and_joblib_keep_every_bit(how, tmp_path):
    model = fitted(**how, always_keep=[3])
    expected = model.predict_proba(X_NEW)
    joblib.dump(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(copy.predict_proba(X_NEW), expected)
        np.testing.assert_array_equal(
            copy.predict_proba_interval(X_NEW[:3]), model.predict_proba_interval(X_NEW[:3])
        )


@every_model
def test_a_clone_with_the_same_seed_gives_the_same_bits(how):
    model = fitted(**how)
    again = clone(model).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X_NEW), again.predict_proba(X_NEW))
    assert model.selection_ == again.selection_


@every_model
def test_fitting_twice_is_fitting_once(how):
    model = fitted(X[:30], Y[:30], **how).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X_NEW), fitted(**how).predict_proba(X_NEW))


@every_model
def test_the_order_and_the_batches_of_rows_do_not_matter(how):
    model = fitted(**how)
    expected = model.predict_proba(X_NEW)
    order = np.random.default_rng(0).permutation(len(X_NEW))
    np.testing.assert_allclose(model.predict_proba(X_NEW[order]), expected[order], atol=1e-13)
    for size in (1, 7):
        parts = [model.predict_proba(X_NEW[i : i + size]) for i in range(0, len(X_NEW), size)]
        np.testing.assert_allclose(np.concatenate(parts), expected, atol=1e-13)


def test_intervals_do_not_depend_on_the_order_and_the_batches_of_rows():
    model = fitted()
    expected = model.predict_proba_interval(X_NEW)
    order = np.random.default_rng(0).permutation(len(X_NEW))
    np.testing.assert_allclose(
        model.predict_proba_interval(X_NEW[order]), expected[order], atol=1e-10
    )
    single = [model.predict_proba_interval(X_NEW[[i]])[0] for i in range(5)]
    np.testing.assert_allclose(single, expected[:5], atol=1e-10)


def as_frame(kind, values):
    names = [f"gene {j}" for j in range(values.shape[1])]
    return kind(dict(zip(names, np.asarray(values).T, strict=True)))


CONTAINERS = {
    "list": lambda v: v.tolist(),
    "bool": lambda v: v.astype(bool),
    "float32": lambda v: v.astype(np.float32),
    "fortran": np.asfortranarray,
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_array,
    "lil": sparse.lil_matrix,
    "pandas": lambda v: as_frame(pd.DataFrame, v),
    "pandas nullable": lambda v: as_frame(pd.DataFrame, v).astype("Int64"),
    "polars": lambda v: as_frame(pl.DataFrame, v),
    "polars booleans": lambda v: as_frame(pl.DataFrame, v.astype(bool)),
    "source": DenseSource,
}


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_every_kind_of_table_gives_the_same_probabilities(make):
    model = fitted(make(X))
    np.testing.assert_array_equal(model.predict_proba(make(X_NEW)), fitted().predict_proba(X_NEW))


@pytest.mark.slow_cases("polars")
@pytest.mark.parametrize("kind", ["csr", "pandas", "polars", "float32"])
def test_every_kind_of_table_gives_the_same_probabilities_with_medians_and_missing_cells(kind):
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=X.shape) + X, 1).astype(np.float32).astype(float)
    values[rng.random(X.shape) < 0.05] = np.nan
    make = CONTAINERS[kind] if kind != "float32" else (lambda v: v.astype(np.float32))
    np.testing.assert_array_equal(
        fitted(make(values)).predict_proba(make(values)), fitted(values).predict_proba(values)
    )


def test_names_of_a_pandas_frame_are_kept():
    frame = as_frame(pd.DataFrame, X)
    model = fitted(frame, always_keep=["gene 7"], n_features_to_select=3)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    kept = model.selection_.columns
    assert model.get_feature_names_out().tolist() == [f"gene {j}" for j in kept]
    assert model.selection_.always_kept_names == ("gene 7",)
    assert model.get_support(indices=True).tolist() == sorted(kept)
    assert model.get_support().sum() == 4


def test_names_of_a_polars_frame_are_kept():
    model = fitted(as_frame(pl.DataFrame, X), always_keep=["gene 7"], n_features_to_select=3)
    assert model.get_feature_names_out().tolist() == [f"gene {j}" for j in model.selection_.columns]


def test_cross_val_predict_works_on_frames_and_arrays():
    model = SelectiveBernoulliNB(random_state=0)
    how = {"cv": 5, "method": "predict_proba"}
    expected = cross_val_predict(model, X, Y, **how)
    assert expected.shape == (60, 2)
    for frame in (as_frame(pd.DataFrame, X), as_frame(pl.DataFrame, X), sparse.csr_array(X)):
        np.testing.assert_array_equal(cross_val_predict(model, frame, Y, **how), expected)


def test_a_grid_search_chooses_a_number_of_features():
    search = GridSearchCV(
        SelectiveBernoulliNB(random_state=0),
        {"n_features_to_select": [1, 5, "all"]},
        scoring="neg_log_loss",
        cv=3,
    ).fit(X, Y)
    assert search.best_params_["n_features_to_select"] in (1, 5, "all")
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_a_pipeline_ends_in_the_estimator():
    pipeline = make_pipeline(
        FunctionTransformer(lambda values: values > 0.5), SelectiveBernoulliNB(random_state=0)
    )
    probability = pipeline.fit(X.astype(float), Y).predict_proba(X_NEW.astype(float))
    np.testing.assert_array_equal(probability, fitted().predict_proba(X_NEW))


@pytest.mark.parametrize(
    "labels", [["well", "ill"], [-1, 1], [True, False], [2.0, 1.0], [np.str_("b"), np.str_("a")]]
)
def test_any_two_labels_will_do(labels):
    y = np.array(labels)[Y]
    model = fitted(y=y)
    assert model.classes_.tolist() == sorted(labels)
    assert set(model.predict(X_NEW).tolist()) <= set(labels)
    flipped = sorted(labels) != labels
    expected = fitted().predict_proba(X_NEW)
    np.testing.assert_allclose(
        model.predict_proba(X_NEW), expected[:, ::-1] if flipped else expected, atol=1e-8
    )


@pytest.mark.parametrize(
    "make", [list, pd.Series, pl.Series, lambda y: pd.Series(y, dtype="category")]
)
def test_labels_come_in_any_container(make):
    names = ["ill" if label else "well" for label in Y]
    np.testing.assert_array_equal(
        fitted(y=make(names)).predict(X_NEW), fitted(y=np.array(names)).predict(X_NEW)
    )


@every_model
def test_a_class_prior_is_an_exact_offset_of_the_log_odds(how):
    model = fitted(**how)
    base = logit(model.predict_proba(X_NEW)[:, 1])
    n0, n1 = model.class_count_
    learnt = np.log((n1 + 1) / (n0 + 1))
    for prior in ([0.9, 0.1], [0.5, 0.5], (0.001, 0.999)):
        offset = np.log(prior[1] / prior[0]) - learnt
        at_prediction = model.predict_proba(X_NEW, class_prior=prior)[:, 1]
        np.testing.assert_allclose(at_prediction, expit(base + offset), atol=1e-12)
        np.testing.assert_array_equal(
            fitted(**how, class_prior=prior).predict_proba(X_NEW)[:, 1], at_prediction
        )


def test_the_class_prior_given_at_prediction_comes_before_that_of_the_constructor():
    model = fitted(class_prior=[0.9, 0.1])
    np.testing.assert_array_equal(
        model.predict_proba(X_NEW, class_prior=[0.5, 0.5]),
        fitted(class_prior=[0.5, 0.5]).predict_proba(X_NEW),
    )


@every_model
def test_log_probabilities_are_logs_of_probabilities(how):
    model = fitted(**how)
    probability = model.predict_proba(X_NEW)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X_NEW)), probability, rtol=1e-12)
    np.testing.assert_allclose(probability.sum(axis=1), 1, atol=1e-15)
    np.testing.assert_array_equal(
        model.predict(X_NEW), model.classes_[(probability[:, 1] >= 0.5).astype(int)]
    )


@every_model
def test_log_probabilities_are_finite_where_probabilities_underflow(how):
    y = np.array([0, 1] * 100)
    perfect = np.repeat(y[:, None], 400, axis=1).astype(np.int8)
    model = fitted(perfect, y, **{**how, "n_features_to_select": "all", **PLAIN})
    log_probability = model.predict_log_proba(perfect)
    assert model.predict_proba(perfect).min() == 0.0
    assert np.all(np.isfinite(log_probability))
    assert log_probability.min() < -800


def test_the_slope_multiplies_the_evidence_and_nothing_else():
    plain, sloped = fitted(recalibrate=None), fitted(recalibrate="slope")
    assert plain.slope_ == 1.0
    assert sloped.slope_ != 1.0
    offset = np.log(np.divide(*(plain.class_count_[::-1] + 1.0)))
    evidence = logit(plain.predict_proba(X_NEW)[:, 1]) - offset
    np.testing.assert_allclose(
        logit(sloped.predict_proba(X_NEW)[:, 1]), offset + sloped.slope_ * evidence, atol=1e-9
    )


def test_more_pseudocounts_move_the_prior_log_odds():
    hidden = np.full((1, X.shape[1]), np.nan)
    model = fitted(class_pseudocounts=(3.0, 0.5))
    n0, n1 = model.class_count_
    expected = (n1 + 0.5) / (n0 + n1 + 3.5)
    assert model.predict_proba(hidden)[0, 1] == pytest.approx(expected, abs=1e-14)


def test_auto_becomes_what_the_documentation_says():
    assert (fitted().feature_prior_, fitted().correction_) == ("learned", "counts")
    published = fitted(quadrature="paper")
    assert (published.feature_prior_, published.correction_) == ("uniform", "selection")
    event = fitted(correction="selection")
    assert (event.feature_prior_, event.correction_) == ("uniform", "selection")


def test_features_kept_by_design_have_an_alpha_of_their_own():
    model = fitted(always_keep=[0, 1], **MODELS["uniform, selection"])
    assert model.always_posterior_ is not None
    assert model.always_posterior_.mean() != model.posterior_.mean()
    assert fitted().always_posterior_ is None


def test_ten_features_or_all_are_the_default():
    assert len(fitted().selection_.kept) == 10
    assert len(fitted(X[:, :7]).selection_.kept) == 7
    assert len(fitted(X[:, :7], always_keep=[1]).selection_.kept) == 6
