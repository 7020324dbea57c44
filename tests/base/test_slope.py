"""The slope repairs what the correction cannot, and stays out of the way where nothing is wrong."""

import numpy as np
import pytest
from calibration import slope_of
from grids import each_once
from scipy.special import expit

from honestbayes import SelectiveBernoulliNB
from honestbayes.base.recalibration import Recalibration, held_out_folds
from honestbayes.datasets import simulate_naive_bayes


def draw(n, factor, seed=0, prior=0.0):
    """Evidence that is ``factor`` times what it should be, and the classes that go with it."""
    rng = np.random.default_rng(seed)
    honest = rng.normal(0, 2, n)
    labels = rng.random(n) < expit(prior + honest)
    return factor * honest, labels


@each_once("factor, prior", [0.5, 1.0, 3.0, 20.0], [0.0, -2.0])
def test_much_evidence_gives_the_factor_back(factor, prior):
    evidence, labels = draw(20_000, factor, prior=prior)
    assert slope_of(evidence, labels, prior) == pytest.approx(1 / factor, rel=0.05)


def test_little_evidence_leaves_the_slope_near_one():
    slopes = [slope_of(*draw(12, 1.0, seed), 0.0, share=0.4) for seed in range(50)]
    assert 0.8 < np.exp(np.mean(np.log(slopes))) < 1.1


def test_no_evidence_and_separated_classes_give_finite_slopes():
    labels = np.array([False, True] * 10)
    assert slope_of(np.zeros(20), labels, 0.0) == pytest.approx(1.0, abs=0.01)
    assert 1 < slope_of(np.where(labels, 3.0, -3.0), labels, 0.0) < 5
    assert 0 < slope_of(np.where(labels, -300.0, 300.0), labels, 0.0) < 0.01


def test_repeated_features_are_found_out():
    # Each feature stands there eight times: naive Bayes counts the same news eight times.
    data = simulate_naive_bayes(120, 4000, n_features=400, alpha=20.0, random_state=3)
    X, X_test = np.repeat(data.X_train, 8, axis=1), np.repeat(data.X_test, 8, axis=1)
    errors = {}
    for recalibrate in (None, "slope", "bayes"):
        model = SelectiveBernoulliNB(
            n_features_to_select=40, recalibrate=recalibrate, random_state=0
        ).fit(X, data.y_train)
        p = model.predict_proba(X_test)[:, 1]
        errors[recalibrate] = np.mean((p >= 0.5) != data.y_test) - np.mean(np.minimum(p, 1 - p))
    assert model.slope_ < 0.5
    assert errors[None] > 0.1
    assert abs(errors["slope"]) < 0.5 * errors[None]
    assert abs(errors["bayes"]) < 0.5 * errors[None]


def test_a_class_of_one_case_has_no_slope():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (20, 30))
    model = SelectiveBernoulliNB(n_features_to_select=3, random_state=0)
    assert model.fit(X, np.arange(20) == 7).slope_ == 1.0


def test_a_slope_of_zero_evidence_leads_back_to_the_prevalence():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 200))
    y = np.arange(60) < 15
    model = SelectiveBernoulliNB(n_features_to_select=5, random_state=0).fit(X, y)
    model._recalibration = Recalibration.plugged_in(0.0)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 16 / 62)


def test_cases_of_one_group_are_held_out_together_where_the_slope_is_learnt() -> None:
    generator = np.random.default_rng(1)
    groups = np.repeat(np.arange(30), 2)
    is_class_1 = generator.random(60) < 0.4
    folds = held_out_folds(is_class_1, groups, 4)
    assert len(folds) == 20
    for rows in folds:
        outside = np.setdiff1d(np.arange(60), rows)
        assert not set(groups[rows]) & set(groups[outside])


@pytest.mark.parametrize("seed", range(4))
def test_twins_make_the_slope_too_large_unless_they_are_groups(seed) -> None:
    # Every case occurs twice, and nothing predicts the class: held-out cases are then found
    # again among the training cases, and the evidence seems to be worth something.
    generator = np.random.default_rng(seed)
    X = np.repeat(generator.integers(0, 2, (60, 400)), 2, axis=0)
    y = np.repeat(generator.permutation([0, 1] * 30), 2)
    groups = np.repeat(np.arange(60), 2)
    model = SelectiveBernoulliNB(n_features_to_select=20, random_state=0)
    blind = model.fit(X, y).slope_
    assert model.fit(X, y, groups=groups).slope_ < blind / 2


def test_groups_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="groups has 3 entries, but X has 4 rows"):
        SelectiveBernoulliNB().fit([[0], [1], [0], [1]], [0, 1, 0, 1], groups=[1, 2, 3])
