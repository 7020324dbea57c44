"""The number of features chosen inside `fit` is the one that a plain search chooses."""

import numpy as np
import pytest
from sklearn.model_selection import RepeatedStratifiedKFold

from honestbayes import SelectiveBernoulliNB
from honestbayes.datasets import simulate_naive_bayes


@pytest.fixture(scope="module")
def data():
    return simulate_naive_bayes(80, 0, 60, alpha=30.0, random_state=5)


@pytest.mark.parametrize("correction", [{}, {"feature_prior": "uniform", "correction": None}])
def test_the_choice_equals_a_plain_search_over_the_same_folds(data, correction):
    X, y = data.X_train, data.y_train
    model = SelectiveBernoulliNB(
        n_features_to_select="cv", recalibrate=None, random_state=0, **correction
    ).fit(X, y)
    grid = [1, 2, 5, 10, 20, 50, 60]
    folds = list(RepeatedStratifiedKFold(n_splits=5, n_repeats=1, random_state=0).split(X, y == 1))
    loss = np.empty((len(grid), y.size))
    for position, number in enumerate(grid):
        for train, test in folds:
            one = SelectiveBernoulliNB(
                n_features_to_select=number, recalibrate=None, random_state=0, **correction
            ).fit(X[train], y[train])
            loss[position, test] = -one.predict_log_proba(X[test])[np.arange(test.size), y[test]]
    assert model.number_choice_.n_features.tolist() == grid
    assert model.number_choice_.log_score == pytest.approx(loss.mean(axis=1), abs=1e-9)
    best = int(np.argmin(loss.mean(axis=1)))
    good = [
        position
        for position in range(len(grid))
        if (loss[position] - loss[best]).mean()
        <= (loss[position] - loss[best]).std(ddof=1) / np.sqrt(y.size)
    ]
    assert model.number_choice_.chosen == grid[good[0]]
    assert len(model.selection_.kept) == grid[good[0]]


def test_more_features_are_chosen_where_more_of_them_tell_something():
    few = simulate_naive_bayes(200, 0, 100, alpha=2000.0, random_state=1)
    many = simulate_naive_bayes(200, 0, 100, alpha=10.0, random_state=1)
    chosen = [
        SelectiveBernoulliNB(n_features_to_select="cv", random_state=0)
        .fit(data.X_train, data.y_train)
        .number_choice_.chosen
        for data in (few, many)
    ]
    assert chosen[0] < chosen[1]


def test_two_cases_of_a_class_are_enough_to_fall_back_on_the_default(data):
    X, y = data.X_train[:12], np.array([1] + [0] * 11)
    model = SelectiveBernoulliNB(n_features_to_select="cv", random_state=0).fit(X, y)
    assert model.number_choice_.chosen == 10


def test_counts_alone_cannot_choose(data):
    model = SelectiveBernoulliNB(n_features_to_select="cv")
    with pytest.raises(ValueError, match="leave_one_out cannot choose the number of features"):
        model.leave_one_out(data.X_train, data.y_train)
