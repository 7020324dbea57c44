"""Nothing overflows or turns into NaN, however strange the data and the priors."""

import numpy as np
import pytest
from grids import each_once, few

from honestbayes import SelectiveBernoulliNB

NAN = np.nan
PLAIN = {"recalibrate": None}
"""The layer is the same whatever lies below it, so that not every model has to learn one."""

MODELS = {
    "learned": {},
    "learned, none": {"correction": None},
    "uniform, none": {"feature_prior": "uniform", "correction": None, **PLAIN},
    "uniform, selection": {"feature_prior": "uniform", "correction": "selection", **PLAIN},
    "uniform, counts": {"feature_prior": "uniform", "correction": "counts"},
}
every_model = pytest.mark.parametrize("how", MODELS.values(), ids=MODELS.keys())
some_models = few("how", MODELS, ["learned", "uniform, counts"])
"""Of what takes long, one model of each prior."""


def assert_sound(model, X):
    """Probabilities, logs, intervals, posteriors and explanations are what they should be."""
    probability = model.predict_proba(X)
    assert np.all((probability >= 0) & (probability <= 1))
    np.testing.assert_allclose(probability.sum(axis=1), 1, atol=1e-12)
    assert np.all(np.isfinite(model.predict_log_proba(X)))
    bounds = model.predict_proba_interval(X[:3], n_draws=100)
    assert np.all((bounds >= 0) & (bounds <= 1))
    assert np.all(bounds[:, 0] <= bounds[:, 1])
    for posterior in (model.posterior_, model.always_posterior_):
        if posterior is not None:
            assert np.all(np.isfinite(posterior.weights))
            assert posterior.weights.sum() == pytest.approx(1)
            assert np.isfinite(posterior.mean())
    assert np.isfinite(model.slope_)
    assert model.slope_ > 0
    assert np.all(np.isfinite(model.contributions(X[:3]).values))


def fit(X, y, how, **more):
    return SelectiveBernoulliNB(**{"random_state": 0, **how, **more}).fit(X, y)


def data(n=30, p=25, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    y[:4] = [0, 1, 0, 1]
    X = (rng.random((n, p)) < rng.random(p)).astype(float)
    X[:, 0] = np.where(rng.random(n) < 0.2, 1 - y, y)
    return X, y


@every_model
def test_a_feature_constant_within_a_class(how):
    X, y = data()
    X[y == 1, 1] = 1
    X[y == 0, 2] = 0
    X[:, 3], X[:, 4] = 0, 1
    assert_sound(fit(X, y, how), X)


@each_once("how, p", MODELS, [1, 3])
def test_two_cases(how, p):
    X, y = np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]])[:, :p], [0, 1]
    assert_sound(fit(X, y, how), X)
    assert_sound(fit(X, y, how, n_features_to_select=1), X)


@each_once("how, rare", MODELS, [0, 1])
def test_a_class_of_one_case(how, rare):
    X, y = data()
    y = np.full(len(y), 1 - rare)
    y[5] = rare
    assert_sound(fit(X, y, how), X)


@each_once("how, k", MODELS, [25, "all", 1])
def test_all_features_or_one(how, k):
    X, y = data()
    assert_sound(fit(X, y, how, n_features_to_select=k), X)


@every_model
def test_no_feature_but_those_kept_by_design(how):
    X, y = data()
    assert_sound(fit(X, y, how, n_features_to_select=0, always_keep=[0, 3]), X)


@every_model
def test_every_feature_kept_by_design(how):
    X, y = data()
    assert_sound(fit(X, y, how, always_keep=list(range(25))), X)


@every_model
def test_no_feature_at_all_gives_the_prevalence(how):
    X, y = data()
    model = fit(X, y, how, n_features_to_select=0)
    assert_sound(model, X)
    expected = (np.sum(y) + 1) / (len(y) + 2)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, atol=1e-14)


@every_model
def test_a_threshold_that_nothing_passes(how):
    X, y = data()
    model = fit(X, y, how, n_features_to_select=None, threshold=1.0)
    assert_sound(model, X)
    assert model.selection_.columns == ()


@each_once("how, perfect", MODELS, [3, 12])
def test_correlations_of_one(how, perfect):
    X, y = data()
    X[:, :perfect] = y[:, None]
    X[:, 1] = 1 - y
    model = fit(X, y, how, n_features_to_select=3)
    assert model.selection_.gamma == 1.0
    assert_sound(model, X)


@each_once("how, alpha_prior", MODELS, [(50, 1e9), (50, 1e-3), (0.01, 0.01), (50, 50), (0.5, 1e-6)])
def test_an_alpha_prior_far_from_the_data(how, alpha_prior):
    X, y = data()
    assert_sound(fit(X, y, how, alpha_prior=alpha_prior, always_keep=[3]), X)


@each_once("how, theta_prior", MODELS, [(0.4, 0.6), (0.0, 0.01), (0.999, 1.0)])
def test_a_theta_prior_far_from_the_data(how, theta_prior):
    X, y = data()
    assert_sound(fit(X, y, how, theta_prior=theta_prior), X)


@every_model
def test_a_row_with_every_cell_missing_gets_the_prevalence(how):
    X, y = data()
    model = fit(X, y, how)
    hidden = np.full((2, X.shape[1]), NAN)
    assert_sound(model, hidden)
    expected = (np.sum(y) + 1) / (len(y) + 2)
    np.testing.assert_allclose(model.predict_proba(hidden)[:, 1], expected, atol=1e-12)


@some_models
def test_features_without_any_observed_cell(how):
    how = MODELS[how]
    X, y = data()
    X[:, 5:8] = NAN
    X[y == 1, 8] = NAN
    X[y == 0, 9] = NAN
    X[1:, 10] = NAN
    assert_sound(fit(X, y, how), X)
    assert_sound(fit(X, y, how, n_features_to_select="all"), X)
    assert_sound(fit(X, y, how, always_keep=[5, 8, 0]), X)


@every_model
def test_a_table_without_any_observed_cell(how):
    _, y = data()
    X = np.full((len(y), 4), NAN)
    model = fit(X, y, how, n_features_to_select=2)
    assert_sound(model, X)


@each_once("how, column", MODELS, [0, 1])
def test_one_feature(how, column):
    X, y = data()
    assert_sound(fit(X[:, [column]], y, how), X[:, [column]])


@every_model
def test_features_that_never_vary(how):
    _, y = data()
    X = np.zeros((len(y), 5))
    assert_sound(fit(X, y, how, n_features_to_select=2), X)


@some_models
def test_fifty_thousand_cases(how):
    how = MODELS[how]
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 50_000)
    X = (rng.random((50_000, 6)) < 0.3 + 0.1 * y[:, None] * (np.arange(6) < 2)).astype(np.int8)
    assert_sound(fit(X, y, how, n_features_to_select=3, recalibrate=None), X)


@pytest.mark.parametrize(
    "how", [MODELS["learned"], MODELS["learned, none"]], ids=["counts", "none"]
)
def test_a_hundred_thousand_kept_features(how):
    rng = np.random.default_rng(0)
    y = np.array([0, 1] * 20)
    X = (rng.random((40, 100_000)) < 0.5).astype(np.int8)
    X[:, :2000] = np.where(rng.random((40, 2000)) < 0.3, 1 - y[:, None], y[:, None])
    model = fit(X, y, how, n_features_to_select=100_000, recalibrate=None)
    probability = model.predict_proba(X)
    assert np.all((probability >= 0) & (probability <= 1))
    assert np.all(np.isfinite(model.predict_log_proba(X)))


@pytest.mark.slow_cases("uniform, counts")
@some_models
def test_a_thousand_kept_features(how):
    how = MODELS[how]
    rng = np.random.default_rng(0)
    y = np.array([0, 1] * 10)
    X = (rng.random((20, 1000)) < 0.5).astype(np.int8)
    X[:, :100] = np.where(rng.random((20, 100)) < 0.3, 1 - y[:, None], y[:, None])
    assert_sound(fit(X, y, how, n_features_to_select=1000, recalibrate=None), X)
