"""A million cases and a hundred thousand kept features, with every prior and correction."""

import numpy as np
import pytest

from honestbayes import SelectiveBernoulliNB

MODELS = {
    "learned": {},
    "learned, none": {"correction": None},
    "uniform, none": {"feature_prior": "uniform", "correction": None},
    "uniform, selection": {"feature_prior": "uniform", "correction": "selection"},
    "uniform, counts": {"feature_prior": "uniform", "correction": "counts"},
}
every_model = pytest.mark.parametrize("how", MODELS.values(), ids=MODELS.keys())


def assert_sound(model, X):
    probability = model.predict_proba(X)
    assert np.all((probability >= 0) & (probability <= 1))
    assert np.all(np.isfinite(model.predict_log_proba(X)))
    bounds = model.predict_proba_interval(X[:2], n_draws=20)
    assert np.all((bounds >= 0) & (bounds <= 1))
    assert np.all(bounds[:, 0] <= bounds[:, 1])


@every_model
def test_a_million_cases(how):
    rng = np.random.default_rng(0)
    n = 1_000_000
    y = rng.integers(0, 2, n)
    X = (rng.random((n, 6)) < 0.3 + 0.01 * y[:, None] * (np.arange(6) < 2)).astype(np.int8)
    model = SelectiveBernoulliNB(n_features_to_select=3, recalibrate=None, random_state=0, **how)
    assert_sound(model.fit(X, y), X[:1000])


@every_model
def test_a_hundred_thousand_kept_features(how):
    rng = np.random.default_rng(0)
    y = np.array([0, 1] * 20)
    X = (rng.random((40, 100_000)) < 0.5).astype(np.int8)
    X[:, :2000] = np.where(rng.random((40, 2000)) < 0.3, 1 - y[:, None], y[:, None])
    model = SelectiveBernoulliNB(
        n_features_to_select=100_000, recalibrate=None, random_state=0, **how
    )
    assert_sound(model.fit(X, y), X)
