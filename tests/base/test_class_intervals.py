"""Intervals of the estimators for any number of classes cohere with their probabilities."""

import numpy as np
import pytest

from honestbayes import (
    HonestClassifier,
    SelectiveBernoulliNB,
    SelectiveCategoricalNB,
    SelectiveGaussianNB,
    SelectiveMixedNB,
)
from honestbayes.base.intervals import _around, draw_probabilities, draws_per_class
from honestbayes.likelihood.dirichlet import TableLikelihood, draw_theta


def draw(seed=0, n=30, p=25, n_classes=3):
    generator = np.random.default_rng(seed)
    y = generator.permutation(np.arange(n) % n_classes)
    real = generator.normal(size=(n, p)) + 0.6 * (np.arange(p) < 5) * y[:, None]
    levels = np.clip(np.round(real + 1.5), 0, 3)
    binary = (real > 0.5).astype(float)
    for table in (real, levels, binary):
        table[generator.random((n, p)) < 0.03] = np.nan
    return {"real": real, "categorical": levels, "binary": binary}, y


def mean_of_draws(model, X, n_draws):
    n_rows, values = model._read(X)
    draws = draw_probabilities(
        values, n_rows, model.class_count_ + 1.0, None, model._recalibration, n_draws
    )
    assert np.allclose(draws.weight.sum(axis=1), 1)
    spread = np.einsum("ns,nks->nk", draws.weight, (draws.value - draws.mean()[..., None]) ** 2)
    effective = 1 / np.sum(draws.weight**2, axis=1)
    return draws.mean(), np.sqrt(spread / effective[:, None])


MODELS = [
    ("real", SelectiveGaussianNB, {}, 3),
    ("real", SelectiveGaussianNB, {"feature_prior": "heavy-tailed"}, 3),
    ("real", SelectiveGaussianNB, {"feature_prior": "heavy-tailed", "correction": "selection"}, 2),
    ("categorical", SelectiveCategoricalNB, {}, 3),
    ("categorical", SelectiveCategoricalNB, {"feature_prior": "uniform"}, 3),
    ("categorical", SelectiveCategoricalNB, {"always_keep": [3, 4]}, 2),
    ("binary", SelectiveCategoricalNB, {}, 2),
    ("binary", SelectiveMixedNB, {}, 2),
    ("real", SelectiveMixedNB, {"kinds": {0: "real"}}, 3),
]


@pytest.mark.parametrize(("kind", "estimator", "words", "n_classes"), MODELS)
def test_the_mean_is_the_probability(kind, estimator, words, n_classes):
    tables, y = draw(n_classes=n_classes)
    X = tables[kind]
    model = estimator(n_features_to_select=4, recalibrate=None, **words).fit(X, y)
    found, error = mean_of_draws(model, X[:8], 3000)
    score = (found - model.predict_proba(X[:8])[:, -found.shape[1] :]) / (error + 1e-4)
    assert np.abs(score).max() < 5
    assert error.max() < 0.025


@pytest.mark.parametrize(("kind", "estimator", "words", "n_classes"), MODELS)
def test_with_a_layer_the_mean_is_the_probability_too(kind, estimator, words, n_classes):
    tables, y = draw(n_classes=n_classes)
    X = tables[kind]
    model = estimator(n_features_to_select=4, **words).fit(X, y)
    assert not model._recalibration.is_plugged_in
    found, _ = mean_of_draws(model, X, 300)
    probability = model.predict_proba(X)[:, -found.shape[1] :]
    np.testing.assert_allclose(found, probability, atol=0.005)


def test_two_classes_have_the_shape_and_nearly_the_bounds_of_the_binary_model():
    tables, y = draw(n_classes=2)
    X = tables["binary"]
    words = {"n_features_to_select": 5, "recalibrate": None, "random_state": 0}
    expected = SelectiveBernoulliNB(**words).fit(X, y).predict_proba_interval(X, n_draws=8000)
    for estimator in (SelectiveCategoricalNB, SelectiveMixedNB):
        found = estimator(**words).fit(X, y).predict_proba_interval(X, n_draws=8000)
        assert found.shape == (30, 2)
        np.testing.assert_allclose(found, expected, atol=0.03)


def test_bounds_are_in_order_and_rows_do_not_matter():
    tables, y = draw()
    model = SelectiveGaussianNB(n_features_to_select=4).fit(tables["real"], y)
    wide = model.predict_proba_interval(tables["real"], level=0.95)
    narrow = model.predict_proba_interval(tables["real"], level=0.5)
    assert wide.shape == (30, 3, 2)
    assert (wide[..., 0] <= narrow[..., 0]).all()
    assert (narrow[..., 1] <= wide[..., 1]).all()
    assert (narrow[..., 0] < narrow[..., 1]).all()


@pytest.mark.parametrize(("kind", "estimator", "words", "n_classes"), MODELS)
def test_an_interval_does_not_depend_on_the_other_rows(kind, estimator, words, n_classes):
    tables, y = draw(n_classes=n_classes)
    X = tables[kind]
    model = estimator(n_features_to_select=4, **words).fit(X, y)
    together = model.predict_proba_interval(X, n_draws=50)
    for rows in ([7], [20, 3, 11]):
        alone = model.predict_proba_interval(X[rows], n_draws=50)
        np.testing.assert_allclose(alone, together[rows], atol=1e-12)


def test_meaningless_levels_are_refused():
    tables, y = draw()
    model = SelectiveGaussianNB(n_features_to_select=4).fit(tables["real"], y)
    with pytest.raises(ValueError, match="level=1 is not between"):
        model.predict_proba_interval(tables["real"], level=1)
    with pytest.raises(ValueError, match="n_draws=0"):
        model.predict_proba_interval(tables["real"], n_draws=0)


@pytest.mark.parametrize("base", [0.4, 1.0])
@pytest.mark.parametrize("alpha", [0.5, 20.0, 1e4])
def test_drawn_levels_have_the_exact_mean(alpha, base):
    table = np.array([[5, 2, 0], [1, 2, 4], [0, 0, 3]])
    generator = np.random.default_rng(0)
    expected = TableLikelihood(table[None], base).mean_theta(np.array([alpha]))[0, 0]
    for level in range(3):
        drawn = draw_theta(table, level, np.full(20_000, alpha), base, generator)
        assert drawn.mean() == pytest.approx(expected[level], abs=5 * drawn.std() / 140)


@pytest.mark.slow
def test_coverage_over_the_prior():
    """Of data from the Gaussian model itself: nine of ten true probabilities are inside."""
    generator = np.random.default_rng(1)
    inside = []
    for _ in range(30):
        y = np.arange(24) % 2
        sd = np.sqrt(1 / generator.gamma(4, 1 / 4, 60))
        ratio = np.where(generator.random(60) < 0.3, 1.0, 0.0)
        mu = generator.normal(size=(2, 60)) * np.sqrt(ratio) * sd
        X = mu[y] + sd * generator.normal(size=(24, 60))
        Z = mu[generator.integers(0, 2, 5)] + sd * generator.normal(size=(5, 60))
        model = SelectiveGaussianNB(n_features_to_select="all", recalibrate=None)
        model.fit(X, y)
        low, high = model.predict_proba_interval(Z, class_prior=[0.5, 0.5], n_draws=400).T
        log_odds = np.sum(((Z - mu[0]) ** 2 - (Z - mu[1]) ** 2) / (2 * sd**2), axis=1)
        truth = 1 / (1 + np.exp(-log_odds))
        inside.append(((low <= truth) & (truth <= high)).mean())
    assert 0.8 < np.mean(inside) < 0.98


def test_a_case_far_out_widens_its_own_posterior():
    """With few cases x* itself says much of the variance: the mean shows whether it counted."""
    generator = np.random.default_rng(2)
    y = np.arange(8) % 2
    scale = np.exp(1.5 * generator.normal(size=60))  # so that the prior of variances is wide
    X = scale * (generator.normal(size=(8, 60)) + y[:, None])
    model = SelectiveGaussianNB(n_features_to_select=3, recalibrate=None).fit(X, y)
    assert model.variance_prior_.shape < 2
    kept = list(model.selection_.kept)
    new = np.full((4, 60), np.nan)
    new[:, kept] = X[:4, kept] + scale[kept] * np.array([[3.0], [-3.0], [1.5], [-1.5]])
    found, error = mean_of_draws(model, new, 40_000)
    score = (found[:, 0] - model.predict_proba(new)[:, 1]) / error[:, 0]
    assert np.abs(score).max() < 4


@pytest.mark.parametrize("n_classes", [2, 3, 4, 8])
@pytest.mark.parametrize("rates", [(0.0,), (0.0, 0.01, 0.1)])
@pytest.mark.parametrize("given", [False, True])
def test_draws_are_shifted_until_their_mean_is_the_target(n_classes, rates, given):
    """Also where draws are nearly certain, and certain of another class than the target."""
    rng = np.random.default_rng(n_classes)
    n_rows, n_draws = 12, 60
    log_odds = [
        rng.normal(scale=6, size=(n_rows, n_draws, n_classes - 1))
        + rng.normal(scale=8, size=(n_rows, 1, n_classes - 1))
        for _ in range(n_classes)
    ]
    outlier_rate = rng.choice(rates, n_draws)
    prior = rng.dirichlet(np.full(n_classes, 5.0))
    factor = rng.dirichlet(np.full(n_classes, 5.0)) / prior if given else np.ones(n_classes)
    weight = rng.dirichlet(np.ones(n_classes * n_draws), n_rows)
    target = 0.8 * rng.dirichlet(np.full(n_classes, 0.3), n_rows) + 0.2 / n_classes
    found = _around(target, log_odds, outlier_rate, prior, factor, weight)
    # With lapses, which other prevalences may make larger, not every mean can be reached.
    reachable = not given or len(rates) == 1
    if n_classes == 2:
        target = target[:, 1:]
    np.testing.assert_allclose(found.mean(), target, atol=0.005 if reachable else 0.01)
    if n_classes > 2:
        np.testing.assert_allclose(found.value.sum(axis=1), 1)


def test_intervals_of_nearly_certain_rows_hold_the_probability():
    rng = np.random.default_rng(0)
    centre = rng.normal(scale=3, size=(4, 5))
    y = rng.permutation(np.arange(60) % 4)
    X = rng.normal(size=(60, 5)) + centre[y]
    model = HonestClassifier(effort="quick").fit(X, y)
    low, high = np.moveaxis(model.predict_proba_interval(X), 2, 0)
    probability = model.predict_proba(X)
    inside = (low <= probability) & (probability <= high)
    certain = probability.max(axis=1) > 0.9
    assert certain.mean() > 0.8
    # A mean may lie outside of quantiles of a distribution with a long tail, but not often.
    assert inside[certain].mean() > 0.9


def test_as_many_parameters_are_drawn_for_many_classes_as_for_two():
    assert draws_per_class(2000, 2) == 2000
    assert draws_per_class(2000, 4) == 1000
    assert draws_per_class(2000, 50) == 100
    assert draws_per_class(30, 50) == 30


def test_probabilities_that_underflow_are_shifted_without_a_warning():
    log_odds = [np.full((1, 20, 2), odds) + np.arange(20)[:, None] for odds in (-900.0, 5.0, 3.0)]
    weight = np.full((1, 60), 1 / 60)
    target = np.array([[0.5, 0.3, 0.2]])
    ones = np.ones(3)
    found = _around(target, log_odds, np.zeros(20), ones / 3, ones, weight)
    np.testing.assert_allclose(found.mean(), target, atol=0.005)
