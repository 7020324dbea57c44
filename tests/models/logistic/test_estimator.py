"""What SelectiveLogistic promises its user."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit

from honestbayes import SelectiveLogistic, load
from honestbayes.base.intervals import draw_probabilities
from honestbayes.models.logistic import estimator


def table(n=60, p=40, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % classes)
    X = rng.normal(size=(n, p))
    X[:, :3] += y[:, None]
    return X, y


def plain(X, y, **words):
    return SelectiveLogistic(recalibrate=None, **words).fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
def test_without_recalibration_the_probabilities_are_the_regressions_own(classes):
    X, y = table(classes=classes)
    model = plain(X, y)
    (part,) = model._parts
    values = X[:, model.kept_columns()]
    own = np.exp(
        part.posterior.log_proba(*part.posterior.predictor(*part.directions.coordinates(values)))
    )
    assert np.allclose(model.predict_proba(X), own, atol=1e-12, rtol=0)
    assert np.allclose(own.sum(axis=1), 1)


@pytest.mark.parametrize("words", [{}, {"n_features_to_select": "all"}, {"always_keep": [7]}])
def test_units_and_the_order_of_rows_and_columns_do_not_matter(words):
    X, y = table()
    before = plain(X, y, **words).predict_proba(X)
    scaled = X * np.geomspace(1e-6, 1e6, 40) + np.linspace(-50, 50, 40)
    rng = np.random.default_rng(1)
    rows, order = rng.permutation(60), rng.permutation(40)
    moved = dict(words)
    if "always_keep" in words:
        moved["always_keep"] = [int(np.flatnonzero(order == 7)[0])]
    assert np.allclose(plain(scaled, y, **words).predict_proba(scaled), before, atol=1e-6)
    assert np.allclose(plain(X[rows], y[rows], **words).predict_proba(X), before, atol=1e-6)
    swapped = plain(X[:, order], y, **moved).predict_proba(X[:, order])
    assert np.allclose(swapped, before, atol=1e-6)


def test_swapping_the_classes_swaps_the_probabilities():
    X, y = table()
    swapped = plain(X, 1 - y).predict_proba(X)[:, ::-1]
    assert np.allclose(plain(X, y).predict_proba(X), swapped, atol=1e-9)


@pytest.mark.parametrize("recalibrate", [None, "bayes"])
def test_a_sparse_table_gives_what_a_dense_one_does(recalibrate, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = (rng.random((200, 300)) < 0.03 + 0.15 * y[:, None] * (np.arange(300) < 5)).astype(float)
    X *= rng.exponential(size=X.shape)  # flags would be tied, and rounding would choose
    model = SelectiveLogistic(n_features_to_select=50, recalibrate=recalibrate)
    dense = model.fit(X, y).predict_proba(X)
    monkeypatch.setattr(
        "honestbayes.models.logistic.estimator._LARGE", 0
    )  # products of sparse matrices
    found = model.fit(sparse.csr_array(X), y).predict_proba(sparse.csc_array(X))
    assert np.allclose(found, dense, atol=1e-6)


def test_missing_training_cells_do_not_count_in_means():
    X, y = table()
    X[5, 0] = X[7, 1] = np.nan
    model = plain(X, y, n_features_to_select=5)
    (part,) = model._parts
    mean = np.nanmean(X, axis=0)
    assert np.allclose(part.directions.centre, mean[model.kept_columns()])


def test_a_constant_column_says_nothing():
    X, y = table()
    X[:, 9] = 0.1
    model = plain(X, y, n_features_to_select=5, always_keep=[9])
    new = X.copy()
    new[:, 9] = 1e9
    assert np.array_equal(model.predict_proba(new), model.predict_proba(X))
    assert model.feature_table().per_unit[0, -1] == 0


def test_a_covariate_by_design_keeps_a_prior_of_its_own():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 500))
    X[:, 0] += 1.2 * y
    alone = plain(X[:, :1], y, always_keep=[0]).feature_table()
    beside = plain(X, y, always_keep=[0], n_features_to_select=0).feature_table()
    assert beside.by_design.tolist() == [True]
    assert np.allclose(beside.coefficient, alone.coefficient, atol=1e-9)
    assert 0.7 < alone.coefficient[0, 0] < 1.6


def test_columns_that_repeat_each_other_count_once():
    X, y = table(n=80)
    copies = np.repeat(X[:, :1], 10, axis=1)
    new = np.linspace(-3, 3, 13)[:, None]
    one = plain(X[:, :1], y, n_features_to_select="all").predict_proba(new)
    ten = plain(copies, y, n_features_to_select="all").predict_proba(np.repeat(new, 10, axis=1))
    assert np.abs(one - ten).max() < 0.03


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("number", [5, "all"])
def test_a_file_holds_the_model_bit_for_bit(tmp_path, classes, number):
    X, y = table(classes=classes, n=30)
    for scores in (False, True):
        words = {"n_features_to_select": number, "normal_scores": scores, "always_keep": [4]}
        model = SelectiveLogistic(**words).fit(pd.DataFrame(X).add_prefix("gene"), y)
        model.save(tmp_path / "m")
        again, kept = load(tmp_path / "m"), model.on_kept_columns()
        frame = pd.DataFrame(X).add_prefix("gene")
        assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))
        few = frame[list(model.get_feature_names_out())]
        assert np.array_equal(kept.predict_proba(few), model.predict_proba(frame))
        assert str(again.feature_table()) == str(model.feature_table())


@pytest.mark.parametrize("recalibrate", [None, "bayes"])
@pytest.mark.parametrize("number", [5, "all"])
def test_the_mean_of_what_intervals_are_drawn_from_is_the_probability(recalibrate, number):
    X, y = table(n=50)
    new, _ = table(n=40, seed=1)
    model = SelectiveLogistic(n_features_to_select=number, recalibrate=recalibrate).fit(X, y)
    (part,) = model._parts
    values = part.read(new[:, model.kept_columns()], str)
    weights = model._frequency_weights()
    draws = draw_probabilities([(part, values)], 40, weights, None, model._recalibration, 2000)
    assert np.abs(draws.mean()[:, 0] - model.predict_proba(new)[:, 1]).max() < 0.005
    interval = model.predict_proba_interval(new)
    assert np.all(interval[:, 0] < interval[:, 1])
    assert np.allclose(interval[3:5], model.predict_proba_interval(new[3:5]), atol=1e-9)


def test_intervals_of_several_classes_hold_the_probabilities():
    X, y = table(classes=3)
    model = SelectiveLogistic(n_features_to_select=5).fit(X, y)
    interval, proba = model.predict_proba_interval(X), model.predict_proba(X)
    inside = (interval[..., 0] <= proba) & (proba <= interval[..., 1])
    assert inside.mean() > 0.98


def test_the_table_has_coefficients_in_the_users_units():
    X, y = table()
    one = plain(X, y, n_features_to_select=5).feature_table()
    other = plain(X * 10, y, n_features_to_select=5).feature_table()
    assert np.allclose(one.coefficient, other.coefficient, atol=1e-6)
    assert np.allclose(one.per_unit, 10 * other.per_unit, atol=1e-6)
    assert np.allclose(
        one.per_unit * X.std(axis=0)[[int(n[1:]) for n in one.name]], one.coefficient
    )
    assert plain(X, y, normal_scores=True).feature_table().per_unit is None
    assert set(one.to_dict()) >= {"name", "r", "coefficient_1", "sd_1", "per_unit_1", "by_design"}


@pytest.mark.parametrize("number", [5, 100])
def test_coefficients_and_their_errors_are_the_same_by_columns_and_by_cases(number, monkeypatch):
    X, y = table(n=40, p=100)
    one = plain(X, y, n_features_to_select=number).feature_table()
    learn = estimator.Directions.learn
    monkeypatch.setattr(
        estimator.Directions, "learn", lambda values, k: learn(values, k, turned=number == 5)
    )
    other = plain(X, y, n_features_to_select=number).feature_table()
    assert np.allclose(one.coefficient, other.coefficient, atol=1e-8)
    assert np.allclose(one.sd, other.sd, atol=1e-8)


def test_far_away_cases_get_numbers():
    X, y = table()
    model = SelectiveLogistic(n_features_to_select="all").fit(X, y)
    for far in (1e12, 1e200, 1e300):
        new = X * far
        assert np.all(np.isfinite(model.predict_log_proba(new)))
        assert np.all(np.isfinite(model.predict_proba_interval(new[:3])))


def test_many_columns_in_many_cases_are_confined_to_leading_directions(monkeypatch):
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(300, 5))
    X = hidden @ rng.normal(size=(5, 120)) + 0.1 * rng.normal(size=(300, 120))
    y = (rng.random(300) < expit(2 * hidden[:, 0])).astype(int)
    whole = plain(X, y, n_features_to_select="all").predict_proba(X)
    monkeypatch.setattr(estimator, "MANY", 100)
    monkeypatch.setattr(estimator, "MOST_DIRECTIONS", 20)
    few = plain(X, y, n_features_to_select="all")
    assert few.posterior_.mean.shape[2] == 21
    assert np.abs(few.predict_proba(X) - whole).max() < 0.1


def test_the_prevalence_where_the_model_is_used_changes_the_odds_by_bayes_rule():
    X, y = table()
    model = plain(X, y)
    before, after = (
        model.predict_proba(X),
        model.predict_proba(X, class_prior=[0.9, 0.1]),
    )
    ratio = (after[:, 1] / after[:, 0]) / (before[:, 1] / before[:, 0])
    assert np.allclose(ratio, 1 / 9)


@pytest.mark.parametrize("scores", ["yes", None, 2])
def test_normal_scores_are_asked_for_by_true_or_false(scores):
    X, y = table()
    with pytest.raises(ValueError, match="normal_scores"):
        SelectiveLogistic(normal_scores=scores).fit(X, y)
