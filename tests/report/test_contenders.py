"""The compared methods do what their names say, and tune inside the folds."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import _SigmoidCalibration
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from honestbayes.evaluation.baselines import BASELINES, FREQUENCIES, InnerFolds, Task
from honestbayes.evaluation.baselines.naive_bayes import (
    CutAtMedian,
    PerKindNB,
    SelectAbove,
    f_values,
    sigmoid_naive_bayes,
)
from honestbayes.report import methods as module
from honestbayes.report.methods import compared_methods, naive_bayes

SCIKIT_NB = "scikit-learn NB, calibrated"


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(0)
    y = generator.permutation(np.arange(80) % 2)
    X = generator.normal(size=(80, 30))
    X[:, :4] += y[:, None]
    return X, y


def words(**changed):
    return {
        "spec": naive_bayes(changed.get("kinds")),
        "n_features": 5,
        "threshold": None,
        "always_keep": None,
        "n_candidates": 30,
        "seed": 0,
    } | changed


def test_all_methods_fit_and_predict_and_beat_or_equal_the_frequencies(data):
    X, y = data
    loss = {}
    for name, estimator in compared_methods(**words()).items():
        p = clone(estimator).fit(X[:60], y[:60]).predict_proba(X[60:])
        assert p.shape == (20, 2)
        assert p.sum(axis=1) == pytest.approx(np.ones(20))
        loss[name] = -np.log(p[np.arange(20), y[60:]]).mean()
    assert len(loss) == 4 + len(BASELINES)
    assert all(value < loss[FREQUENCIES] for name, value in loss.items() if "freq" not in name)


def test_the_uncorrected_model_is_the_plain_one_and_the_model_in_use_the_default():
    found = compared_methods(**words())
    assert found[module.UNCORRECTED].correction is None
    assert found[module.UNCORRECTED].recalibrate is None
    assert found[module.CORRECTED_SLOPE].get_params() == (
        type(found[module.CORRECTED_SLOPE])(n_features_to_select=5, random_state=0).get_params()
    )


def _above(cut, X):
    return (cut < X).astype(int)


def test_scikit_naive_bayes_equals_the_same_pipeline_by_hand(data):
    X, y = data
    ours = sigmoid_naive_bayes(Task(n_features=5, n_candidates=30)).fit(X, y)

    def fitted(rows):
        cut = FunctionTransformer(partial(_above, np.median(X[rows], axis=0)))
        steps = make_pipeline(cut, SelectKBest(f_classif, k=5), BernoulliNB())
        return steps.fit(X[rows], y[rows])

    held_out = np.empty(80)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        held_out[test] = fitted(train).predict_proba(X[test])[:, 1]
    sigmoid = _SigmoidCalibration().fit(held_out, y)
    expected = sigmoid.predict(fitted(np.arange(80)).predict_proba(X)[:, 1])
    assert ours.predict_proba(X)[:, 1] == pytest.approx(expected, abs=1e-9)


def test_a_missing_cell_is_the_usual_value():
    X = np.array([[0, 1.0], [1, 2.0], [1, 3.0], [np.nan, np.nan]])
    assert CutAtMedian().fit(X).transform(X)[3].tolist() == [1, 0]


def test_inner_folds_keep_groups_together(data):
    X, y = data
    groups = np.arange(80) // 4
    seen = []

    class Watch(BernoulliNB):
        def __init__(self, cv=None):
            super().__init__()
            self.cv = cv

        def fit(self, X, y):
            seen.extend(self.cv)
            return super().fit(X > 0, y)

    InnerFolds(Watch()).fit(X, y, groups=groups)
    assert len(seen) == 5
    for train, test in seen:
        assert not set(groups[train]) & set(groups[test])


def test_a_bound_on_the_correlation_selects_by_it(data):
    X, y = data
    ones = (X > 0).astype(int)
    r = [abs(np.corrcoef(column, y)[0, 1]) for column in ones.T]
    chosen = SelectAbove(0.2).fit(ones, y).get_support()
    assert chosen.tolist() == [value > 0.2 for value in r]


def test_constant_columns_never_win(data):
    X, y = data
    ones = np.column_stack([np.ones(80), np.zeros(80), X[:, 0] > 0]).astype(int)
    support = SelectKBest(f_values, k=1).fit(ones, y).get_support()
    assert support.tolist() == [False, False, True]


def test_the_number_of_features_is_searched_where_asked(data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(30)])
    found = compared_methods(**words(n_features="cv"))
    fitted = clone(found[module.CORRECTED_SLOPE]).fit(frame, y)
    assert fitted.number_choice_.chosen == len(fitted.selection_.kept)
    baseline = clone(found[SCIKIT_NB]).fit(frame, y)
    searches = [one.estimator[-1] for one in baseline.estimator_.calibrated_classifiers_]
    assert all(search.best_params_["selectkbest__k"] >= 1 for search in searches)


def test_a_table_of_constants_is_no_reason_to_fail():
    y = np.arange(30) % 2
    for estimator in compared_methods(**words(n_features=2, n_candidates=3)).values():
        p = clone(estimator).fit(np.ones((30, 3)), y).predict_proba(np.ones((2, 3)))
        assert p == pytest.approx(np.full((2, 2), 0.5), abs=0.02)


def mixed_data(n=90, seed=0):
    """Two columns of each kind, the first of which tells the class, with missing cells."""
    generator = np.random.default_rng(seed)
    y = generator.permutation(np.arange(n) % 2)
    X = np.column_stack(
        [
            generator.normal(size=n) + y,
            generator.normal(size=n) * 1e6,
            generator.random(n) < 0.3 + 0.4 * y,
            generator.integers(0, 2, n),
            np.where(generator.random(n) < 0.5, 3 * y, generator.integers(0, 4, n)),
            generator.integers(0, 3, n),
        ]
    ).astype(float)
    X[generator.random(X.shape) < 0.05] = np.nan
    return X, y


KINDS = ("real", "real", "binary", "binary", "categorical", "categorical")


def test_with_kinds_too_all_methods_fit_and_predict():
    X, y = mixed_data()
    X[-1, 4] = 9  # a level that training has not seen
    found = compared_methods(**words(n_features=1, n_candidates=2, kinds=KINDS))
    assert len(found) == 4 + len(BASELINES)
    loss = {}
    for name, estimator in found.items():
        fitted = clone(estimator).fit(X[:60], y[:60])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            p = fitted.predict_proba(X[60:])
        assert p.sum(axis=1) == pytest.approx(np.ones(30)), name
        loss[name] = -np.log(p[np.arange(30), y[60:]]).mean()
    assert all(value < loss[FREQUENCIES] for name, value in loss.items() if "freq" not in name)


def test_naive_bayes_of_each_kind_adds_up():
    X, y = mixed_data()
    X = np.nan_to_num(X)
    found = PerKindNB(KINDS, k=1).fit(X, y).predict_proba(X)
    scaled = (X[:, :1] - X[:, 0].mean()) / X[:, 0].std()
    parts = (
        GaussianNB().fit(scaled, y).predict_log_proba(scaled),
        BernoulliNB().fit(X[:, 2:3], y).predict_log_proba(X[:, 2:3]),
        CategoricalNB().fit(X[:, 4:5], y).predict_log_proba(X[:, 4:5]),
    )
    log_odds = sum(part[:, 1] - part[:, 0] for part in parts)  # half of the cases are of class 1
    assert found[:, 1] == pytest.approx(expit(log_odds))


def test_the_bound_holds_for_each_kind():
    X, y = mixed_data()
    parts = PerKindNB(KINDS, threshold=0.2).fit(X, y).parts_
    kept = [columns[steps[-2].get_support()].tolist() for columns, steps in parts]
    assert sorted(column for part in kept for column in part) == [0, 2, 4]


def test_the_number_of_features_of_each_kind_is_searched_where_asked():
    X, y = mixed_data()
    baseline = compared_methods(**words(n_features="cv", n_candidates=2, kinds=KINDS))[
        SCIKIT_NB
    ].fit(X, y)
    searches = [one.estimator for one in baseline.estimator_.calibrated_classifiers_]
    assert all(search.best_params_["k"] in (1, 2) for search in searches)
