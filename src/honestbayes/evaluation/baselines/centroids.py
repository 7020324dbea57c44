"""Nearest shrunken centroids, with shrinkage and temperature tuned by log score."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.neighbors import NearestCentroid

from honestbayes.data.kinds import KindsInOrder
from honestbayes.evaluation.baselines.naive_bayes import best_temperature
from honestbayes.evaluation.baselines.task import InnerFolds, Task, standardised
from honestbayes.types import AnyArray, FloatArray, IntArray

SHARES = np.linspace(0.0, 0.9, 8)
"""Thresholds that are tried, as shares of the one that shrinks all centroids into one."""


def shrunken_centroids(task: Task) -> InnerFolds:
    """Return the nearest shrunken centroids for a task."""
    return InnerFolds(ShrunkenCentroids(kinds=task.kinds), seed=task.seed)


class ShrunkenCentroids(ClassifierMixin, BaseEstimator):
    """scikit-learn's `NearestCentroid`, with calibrated probabilities.

    Its discriminant scores are minus squared distances plus twice the log prior, which softmax
    takes for log probabilities (half of them would be), and hundreds of columns that depend on each
    other make them larger still. So the scores are divided by one temperature, learned with the
    threshold from the same held-out training cases.
    """

    def __init__(self, *, cv: Any = 5, kinds: KindsInOrder | None = None) -> None:
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
        tried = _tempered(columns, codes, splits, thresholds)
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


def shrunken_scores(
    train: FloatArray, codes: IntArray, test: FloatArray, thresholds: FloatArray
) -> Iterator[FloatArray | None]:
    """Yield the scores of test rows at each threshold, up to a constant for each row.

    What `NearestCentroid` gives when it is fitted with each: only the shrinkage of the centroids
    differs, so all else is found once. None where distances cannot be measured.
    """
    varies = np.ptp(train, axis=0) > 0
    model = _fitted(train[:, varies], codes, 0.0) if varies.any() else None
    if model is None:
        yield from (None for _ in thresholds)
        return
    spread, counts = model.within_class_std_dev_, np.bincount(codes)
    unit = np.where(spread != 0, spread, 1.0)
    rows, centre = test[:, varies] / unit, train[:, varies].mean(axis=0)
    step = np.sqrt(1 / counts - 1 / codes.size)[:, None] * (spread + np.median(spread))
    for threshold in thresholds:
        centroids = model.centroids_
        if threshold:
            left = np.maximum(np.abs(model.deviations_) - threshold, 0.0)
            centroids = centre + step * left * np.sign(model.deviations_)
        scaled = centroids / unit
        # Minus half the squared distance, less the part that is the same for all classes.
        scores = rows @ scaled.T - (scaled**2).sum(axis=1) / 2 + np.log(model.class_prior_)
        yield scores if np.isfinite(scores).all() else None


def _tempered(
    columns: FloatArray,
    codes: IntArray,
    splits: list[tuple[AnyArray, AnyArray]],
    thresholds: FloatArray,
) -> list[tuple[float, float]]:
    """Return for each threshold the best temperature of held-out cases, and their mean log loss."""
    by_split = [
        list(shrunken_scores(columns[train], codes[train], columns[test], thresholds))
        for train, test in splits
    ]
    tried = []
    for index in range(thresholds.size):
        known = [
            (scores[index], codes[test])
            for scores, (_, test) in zip(by_split, splits, strict=True)
            if scores[index] is not None
        ]
        if not known:
            tried.append((1.0, np.inf))
            continue
        scores, actual = (np.concatenate(parts) for parts in zip(*known, strict=True))
        tried.append(best_temperature(scores, actual))
    return tried
