"""Any classifier as a scorer of candidates: it is fitted for each, which is slow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from honestbayes.data.kinds import columns_of
from honestbayes.search.scorers import NO_ROWS, Scorer, Scoring, user_loss
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_SMALLEST = np.finfo(float).tiny


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EstimatorScorers:
    """A classifier of the user's, and the rows.

    Attributes
    ----------
    estimator : classifier
        With ``fit`` and ``predict_proba``; it is cloned.
    X : table of shape (n, p)
        All columns.
    labels : ndarray of int of shape (n,)
        Class of each row.
    classes : ndarray of shape (C,)
        What these stand for.
    weight : ndarray of shape (n,) or None
        What each row counts in training and in the loss.
    scoring : {"squared_error", "log_loss"} or callable
        The loss.
    n_jobs : int, optional
        Candidates at work at once.
    """

    estimator: Any
    X: Any
    labels: AnyArray
    classes: AnyArray
    weight: FloatArray | None
    scoring: Scoring
    n_jobs: int | None

    def __post_init__(self) -> None:
        name = type(self.estimator).__name__
        if not hasattr(self.estimator, "predict_proba"):
            msg = f"estimator={name} has no predict_proba, so its probabilities cannot be judged."
            raise ValueError(msg)
        if self.weight is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            msg = f"estimator={name} does not take sample_weight."
            raise ValueError(msg)

    def on_training(self, rows: BoolArray) -> Scorer:
        """Return a scorer of the rows that it is trained on."""
        return self.on_others(rows, rows)

    def on_others(self, training: BoolArray, judged: BoolArray) -> Scorer:
        """Return a scorer that is trained on some rows and scores others."""
        return EstimatorScorer(self, [(np.flatnonzero(training), np.flatnonzero(judged))])

    def by_fold(self, fold: AnyArray) -> Scorer:
        """Return a scorer of all rows that have a fold, each by the rows of no or other folds."""
        folds = range(int(fold.max()) + 1)
        splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in folds]
        return EstimatorScorer(self, splits)


class EstimatorScorer:
    """A classifier, fitted to the features so far and each candidate.

    Parameters
    ----------
    scorers : EstimatorScorers
        The classifier and the rows.
    splits : sequence of (train, judged)
        Rows for training, and rows whose probabilities are judged.
    """

    def __init__(
        self, scorers: EstimatorScorers, splits: Sequence[tuple[IntArray, IntArray]]
    ) -> None:
        for train, _ in splits:
            if not np.all(np.bincount(scorers.labels[train], minlength=scorers.classes.size) > 0):
                raise ValueError(NO_ROWS)
        self._scorers, self._splits = scorers, splits
        self._features: list[int] = []

    def add(self, column: int) -> None:
        """Add a feature for good."""
        self._features.append(column)

    def loss(self) -> float:
        """Return the loss with the features so far."""
        return self._loss_with(self._features)

    def losses(self, candidates: IntArray) -> FloatArray:
        """Return the loss with each candidate added, shape (m,)."""
        found = Parallel(n_jobs=self._scorers.n_jobs)(
            delayed(self._loss_with)([*self._features, j]) for j in candidates.tolist()
        )
        return np.array(found)

    def _loss_with(self, features: list[int]) -> float:
        scorers = self._scorers
        rows = np.concatenate([judged for _, judged in self._splits])
        proba = np.concatenate([self._proba(features, *split) for split in self._splits])
        weight = np.ones(rows.size) if scorers.weight is None else scorers.weight[rows]
        if callable(scorers.scoring):
            return user_loss(scorers.scoring, scorers.classes[scorers.labels[rows]], proba, weight)
        actual = np.arange(scorers.classes.size) == scorers.labels[rows][:, None]
        if scorers.scoring == "squared_error":
            loss = ((actual - proba) ** 2).sum(axis=1)
        else:
            loss = -xlogy(actual, np.maximum(proba, _SMALLEST)).sum(axis=1)
        return float(np.average(loss, weights=weight))

    def _proba(self, features: list[int], train: IntArray, judged: IntArray) -> FloatArray:
        """Return probabilities of the judged rows; without features the class shares."""
        scorers = self._scorers
        weight = None if scorers.weight is None else scorers.weight[train]
        if not features:
            share = np.bincount(scorers.labels[train], weight, minlength=scorers.classes.size)
            return np.tile(share / share.sum(), (judged.size, 1))
        part = columns_of(scorers.X, np.array(features))
        words = {} if weight is None else {"sample_weight": weight}
        y = scorers.classes[scorers.labels[train]]
        model = clone(scorers.estimator).fit(rows_of(part, train), y, **words)
        proba: FloatArray = model.predict_proba(rows_of(part, judged))
        return proba


def rows_of(X: Any, rows: IntArray) -> Any:
    """Return some rows of a table, as a table of the same sort."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
