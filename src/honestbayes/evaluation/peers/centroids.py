"""Nearest shrunken centroids, the shrinkage and one temperature tuned together by log score."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.neighbors import NearestCentroid

from honestbayes.evaluation.peers.columns import standardised
from honestbayes.evaluation.peers.inner_folds import InnerFolds
from honestbayes.evaluation.peers.task import Task
from honestbayes.evaluation.peers.temperature import best_temperature
from honestbayes.sources.kinds import Kind
from honestbayes.types import AnyArray, FloatArray, IntArray

SHARES = np.linspace(0.0, 0.9, 8)
"""Thresholds that are tried, as shares of the one that shrinks all centroids into one."""


def shrunken_centroids(task: Task) -> InnerFolds:
    """Return the nearest shrunken centroids for a task."""
    return InnerFolds(ShrunkenCentroids(kinds=task.kinds), seed=task.seed)


class ShrunkenCentroids(ClassifierMixin, BaseEstimator):
    """scikit-learn's `NearestCentroid`, with probabilities that are fair to it.

    Its discriminant scores are minus squared distances plus twice the log prior, which softmax
    takes for log probabilities (half of them would be), and hundreds of columns that depend on each
    other make them larger still. So the scores are divided by one temperature, learned with the
    threshold from the same held-out training cases.
    """

    def __init__(self, *, cv: Any = 5, kinds: Sequence[Kind] | None = None) -> None:
        self.cv = cv
        self.kinds = kinds

    def fit(self, X: Any, y: Any) -> Self:
        """Try thresholds on held-out cases, each with the temperature that suits it."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.prepare_ = standardised(X, self.kinds)
        columns = np.asarray(self.prepare_.fit_transform(X))
        self.varies_ = np.ptp(columns, axis=0) > 0
        columns = columns[:, self.varies_]
        self.model_, self.temperature_ = None, 1.0
        self.log_shares_: FloatArray = np.log(np.bincount(codes) / codes.size)
        if not columns.shape[1]:
            return self
        splits = list(check_cv(self.cv, y, classifier=True).split(columns, y))
        thresholds = SHARES * _largest_deviation(columns, codes)
        tried = [_tempered(columns, codes, splits, value) for value in thresholds]
        best = int(np.argmin([loss for _, loss in tried]))
        self.temperature_ = tried[best][0]
        self.model_ = _fitted(columns, codes, float(thresholds[best]))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | x), shape (n, C)."""
        columns = np.asarray(self.prepare_.transform(X))[:, self.varies_]
        if self.model_ is None:
            scores = np.tile(self.log_shares_, (columns.shape[0], 1))
        else:
            scores = _scores(self.model_, columns)
        return np.asarray(np.exp(log_softmax(scores / self.temperature_, axis=1)))


def _fitted(columns: FloatArray, codes: IntArray, threshold: float) -> NearestCentroid | None:
    """Return the model; None where classes have no spread to measure distances by."""
    model = NearestCentroid(shrink_threshold=threshold or None, priors="empirical")
    with warnings.catch_warnings():  # of columns that do not vary within the classes
        warnings.simplefilter("ignore")
        model.fit(columns, codes)
    known = np.isfinite(model.centroids_).all() and np.isfinite(model.within_class_std_dev_).all()
    return model if known else None


def _largest_deviation(columns: FloatArray, codes: IntArray) -> float:
    model = _fitted(columns, codes, 0.0)
    if model is None:
        return 0.0
    deviations = np.abs(model.deviations_)
    return float(np.max(deviations[np.isfinite(deviations)], initial=0.0))


def _scores(model: NearestCentroid, columns: FloatArray) -> FloatArray:
    """Return half of the discriminant scores, which are log probabilities up to a constant."""
    scores = np.asarray(model.decision_function(columns), dtype=np.float64) / 2
    return scores if scores.ndim == 2 else np.stack([np.zeros_like(scores), scores], axis=1)


def _tempered(
    columns: FloatArray,
    codes: IntArray,
    splits: list[tuple[AnyArray, AnyArray]],
    threshold: float,
) -> tuple[float, float]:
    """Return the best temperature of held-out cases, and their mean log loss at it."""
    scores, actual = [], []
    for train, test in splits:
        varies = np.ptp(columns[train], axis=0) > 0
        if not varies.any():
            continue
        model = _fitted(columns[train][:, varies], codes[train], threshold)
        if model is None:
            continue
        scores.append(_scores(model, columns[test][:, varies]))
        actual.append(codes[test])
    if not scores:
        return 1.0, np.inf
    return best_temperature(np.concatenate(scores), np.concatenate(actual))
