"""Printed 95% intervals of cross-validated scores hold what their label names."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from honestbayes import SelectiveGaussianNB
from honestbayes.evaluation import cross_validate

pytestmark = pytest.mark.slow

N, P, SETS, NEW = 60, 100, 200, 3000
MODELS = {
    "ours": SelectiveGaussianNB(n_features_to_select=5, recalibrate=None),
    "logistic": make_pipeline(SelectKBest(f_classif, k=5), LogisticRegression()),
}


def draw(rng, n, shift):
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, P)) + np.outer(y - 0.5, np.where(np.arange(P) < 8, shift, 0.0)), y


def losses(model, X, y):
    p = np.clip(model.predict_proba(X)[:, 1], 1e-300, 1 - 1e-16)
    return -np.where(y == 1, np.log(p), np.log1p(-p)), (y - p) ** 2, (p >= 0.5) != y


@pytest.mark.parametrize("shift", [0.8, 1.5])
@pytest.mark.parametrize("name", MODELS)
def test_the_average_score_of_the_models_of_the_folds_is_inside(name, shift):
    rng = np.random.default_rng(0)
    inside, over_cases = [], []
    for _ in range(SETS):
        X, y = draw(rng, N, shift)
        new_X, new_y = draw(rng, NEW, shift)
        folds = list(StratifiedKFold(5).split(X, y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            summary = cross_validate(MODELS[name], X, y, cv=folds, random_state=0).summary()
            fitted = [clone(MODELS[name]).fit(X[train], y[train]) for train, _ in folds]
            true = [[loss.mean() for loss in losses(one, new_X, new_y)] for one in fitted]
        printed = (summary.log_score, summary.squared_error, summary.actual_error)
        row = [
            one.interval[0] <= value <= one.interval[1]
            for one, value in zip(printed, np.mean(true, axis=0), strict=True)
        ]
        inside.append(row)
        half = 2.0 * summary.log_score.standard_error / 1.5
        over_cases.append(abs(summary.log_score.value - np.mean(true, axis=0)[0]) <= half)
    assert np.mean(inside, axis=0).min() >= 0.92
    assert np.mean(over_cases) < 0.9  # the control: over cases alone, they do not hold it
