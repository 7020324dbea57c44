"""Folds inside the training cases, on which a peer tunes itself, with groups kept together."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from honestbayes.types import AnyArray, FloatArray


def as_array(X: Any) -> Any:
    """Return a frame as an array: scikit-learn looks at each of thousands of columns anew."""
    return X.to_numpy() if hasattr(X, "to_numpy") else X


class InnerFolds(ClassifierMixin, BaseEstimator):
    """Fit an estimator that tunes itself on folds, with folds that keep groups together.

    scikit-learn's searches take groups only by metadata routing; here they are given the splits
    themselves, as their parameter ``cv``.
    """

    def __init__(self, estimator: Any, *, n_folds: int = 5, seed: int = 0) -> None:
        self.estimator = estimator
        self.n_folds = n_folds
        self.seed = seed

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Draw the folds and fit; class frequencies, where no folds keep all classes in."""
        X, labels = as_array(X), np.asarray(y)
        self.classes_ = np.unique(labels)
        folds = self._folds(labels, groups)
        if folds is None:
            self.estimator_ = DummyClassifier(strategy="prior").fit(X, labels)
        else:
            self.estimator_ = clone(self.estimator).set_params(cv=folds).fit(X, labels)
        return self

    def _folds(self, labels: AnyArray, groups: Any) -> list[tuple[AnyArray, AnyArray]] | None:
        """Return as many folds as possible, up to ``n_folds``, with all classes outside each."""
        smallest = int(np.unique(labels, return_counts=True)[1].min())
        kind: Any = StratifiedKFold
        if groups is not None:
            kind, smallest = StratifiedGroupKFold, min(smallest, np.unique(groups).size)
        for n_folds in range(min(self.n_folds, smallest), 1, -1):
            splitter = kind(n_folds, shuffle=True, random_state=self.seed)
            splits = list(splitter.split(np.zeros(labels.size), labels, groups))
            if all(
                test.size and np.unique(labels[train]).size == self.classes_.size
                for train, test in splits
            ):
                return splits
        return None

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the fitted estimator's probabilities."""
        check_is_fitted(self)
        result: FloatArray = self.estimator_.predict_proba(as_array(X))
        return result

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class."""
        result: AnyArray = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return result
