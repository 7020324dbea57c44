"""Cross Venn-Abers prediction, against its definition."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from honestbayes.evaluation.baselines import FURTHER_BASELINES, Task
from honestbayes.evaluation.baselines.naive_bayes import CrossVennAbers, brackets
from honestbayes.types import FloatArray


def isotonic_at(scores: FloatArray, labels: FloatArray, where: float) -> float:
    """Return isotonic regression at a score: the largest mean from below of the smallest above."""
    levels = np.unique(scores)
    at = int(np.searchsorted(levels, where))

    def mean(low: int, high: int) -> float:
        inside = (scores >= levels[low]) & (scores <= levels[high])
        return float(labels[inside].mean())

    return max(min(mean(low, high) for high in range(at, levels.size)) for low in range(at + 1))


@pytest.mark.parametrize("ties", [False, True])
def test_brackets_are_isotonic_regressions_with_the_new_case_in_either_class(ties: bool) -> None:
    rng = np.random.default_rng(int(ties))
    scores = rng.normal(size=30).round(0 if ties else 9)
    positive = rng.random(30) < 1 / (1 + np.exp(-scores))
    new = np.concatenate([rng.normal(size=8).round(0 if ties else 9), scores[:4], [-9.0, 9.0]])
    found = brackets(scores, positive, new)
    for score, pair in zip(new, found, strict=True):
        for label in (0.0, 1.0):
            joined = np.append(scores, score), np.append(positive, label)
            assert pair[int(label)] == pytest.approx(isotonic_at(*joined, score), abs=1e-12)
    assert np.all(found[:, 0] <= found[:, 1] + 1e-12)


def test_folds_are_merged_by_geometric_means() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[50:, :2], y[50:]
    folds = list(StratifiedKFold(3).split(X, y))
    model = CrossVennAbers(GaussianNB(), cv=folds).fit(X, y)
    low, high = [], []
    for train, test in folds:
        inner = clone(GaussianNB()).fit(X[train], y[train])
        scores = [np.subtract(*inner.predict_log_proba(Z).T[::-1]) for Z in (X[test], X)]
        pair = brackets(scores[0], y[test] == 2, scores[1])
        low.append(pair[:, 0])
        high.append(pair[:, 1])
    up, down = np.prod(high, axis=0) ** (1 / 3), np.prod(1 - np.array(low), axis=0) ** (1 / 3)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], up / (up + down), atol=1e-12)


def test_three_classes_and_constant_columns_have_probabilities() -> None:
    X, y = load_iris(return_X_y=True)
    (baseline,) = FURTHER_BASELINES
    proba = baseline.make(Task(n_candidates=4, kinds=("real",) * 4)).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.mean(proba.argmax(axis=1) == y) > 0.9
    same = baseline.make(Task(n_candidates=4)).fit(0 * X, y).predict_proba(0 * X[:2])
    np.testing.assert_allclose(same, 1 / 3, atol=0.02)
