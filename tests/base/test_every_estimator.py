"""What all estimators of the package have in common."""

import inspect

import numpy as np
import pytest

import honestbayes

ESTIMATORS = [
    value
    for name in honestbayes.__all__
    if inspect.isclass(value := getattr(honestbayes, name)) and hasattr(value, "get_params")
]


def table():
    rng = np.random.default_rng(0)
    X = (rng.random((40, 6)) < 0.4).astype(int)
    return X, np.arange(40) % 2


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_random_state_is_a_parameter(estimator):
    assert estimator(random_state=3).get_params()["random_state"] == 3


@pytest.mark.parametrize(
    "estimator",
    [kind for kind in ESTIMATORS if "n_features_to_select" in inspect.signature(kind).parameters],
)
def test_more_features_than_there_are_is_refused(estimator):
    X, y = table()
    with pytest.raises(ValueError, match=r"=7 is more than the 6 features"):
        estimator(n_features_to_select=7).fit(X, y)


def test_a_kind_of_column_has_no_more_features_than_columns_of_that_kind():
    X, y = table()
    X = np.column_stack([X, np.random.default_rng(1).normal(size=(40, 2))])
    kept = honestbayes.SelectiveMixedNB(n_features_to_select=6).fit(X, y).selections_
    assert [len(kept[kind].kept) for kind in ("binary", "real")] == [6, 2]
    with pytest.raises(ValueError, match="more than the 2 real features to choose"):
        honestbayes.SelectiveMixedNB(n_features_to_select={"real": 3}).fit(X, y)


def test_the_seed_decides_between_measurements_that_are_equally_strong():
    X, y = table()
    same = np.repeat(X[:, :1] + np.linspace(0, 1, 40)[:, None], 12, axis=1)
    fit = honestbayes.SelectiveGaussianNB
    kept = {
        tuple(fit(n_features_to_select=2, random_state=seed).fit(same, y).selection_.kept)
        for seed in (0, 1, 2, 3, 4, 0)
    }
    assert 1 < len(kept) <= 5


COUNTS = ("n_features_to_select", "n_chains", "n_draws", "n_warmup", "n_factors", "n_bins")


@pytest.mark.parametrize("number", [10**30, -(10**30), 10**400, float("inf"), float("nan")])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_numbers_beyond_all_counts_are_refused_as_bad_values(estimator, number):
    X, y = table()
    for name in set(COUNTS) & set(inspect.signature(estimator).parameters):
        with pytest.raises(ValueError, match=name):
            estimator(**{name: number}).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_are_log_odds_or_log_probabilities(n_classes):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % n_classes
    X[:, 0] += y
    model = honestbayes.SelectiveGaussianNB(recalibrate=None).fit(X, y)
    proba = model.predict_proba(X)
    decisions = model.decision_function(X)
    assert np.array_equal(model(X), decisions)
    if n_classes == 2:
        assert np.allclose(decisions, np.log(proba[:, 1] / proba[:, 0]))
        assert np.array_equal(model.predict(X), (decisions > 0).astype(int))
    else:
        assert np.allclose(decisions, np.log(proba))
        assert np.array_equal(model.predict(X), np.argmax(decisions, axis=1))
