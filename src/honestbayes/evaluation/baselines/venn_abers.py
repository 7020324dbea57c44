"""Venn-Abers probabilities from the held-out scores of folds.

For a case with score s, isotonic regression is fitted twice to the held-out cases of a fold and
this one, first as of class 0, then as of class 1; its values p0 and p1 at s bracket the
probability. The pairs of all folds are merged so that the worst log loss is least: P(class 1) is
G(p1) / (G(1 - p0) + G(p1)), where G is the geometric mean over folds.

References
----------
Vovk, V., Petej, I. and Fedorova, V. (2015). Large-scale probabilistic predictors with and without
guarantees of validity. NeurIPS 28.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from honestbayes.evaluation.baselines.naive_bayes import selected_naive_bayes
from honestbayes.evaluation.baselines.task import InnerFolds, Task
from honestbayes.types import BoolArray, FloatArray


def venn_abers_naive_bayes(task: Task) -> InnerFolds:
    """Return scikit-learn's naive Bayes on the selected features, with Venn-Abers probabilities."""
    return InnerFolds(CrossVennAbers(selected_naive_bayes(task)), seed=task.seed)


def brackets(scores: FloatArray, positive: BoolArray, new: FloatArray) -> FloatArray:
    """Return p0 and p1 of new scores, shape (m, 2).

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Scores of cases that took no part in the fit.
    positive : ndarray of shape (n,)
        Whether each is of class 1.
    new : ndarray of shape (m,)
        Scores of new cases.
    """
    levels, place = np.unique(scores, return_inverse=True)
    cases = np.bincount(place).astype(float)
    ones = np.bincount(place, weights=positive)
    different, which = np.unique(new, return_inverse=True)
    found = np.empty((different.size, 2))
    for j, score in enumerate(different):
        at = int(np.searchsorted(levels, score))
        tied = at < levels.size and levels[at] == score
        # The new case joins those of the same score, or stands between two of them.
        n, k = (cases.copy(), ones.copy()) if tied else (np.insert(x, at, 0) for x in (cases, ones))
        n[at] += 1
        for label in (0, 1):
            share = k.copy()
            share[at] += label
            found[j, label] = isotonic_regression(share / n, weights=n).x[at]
    return np.asarray(found[which])


class CrossVennAbers(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are those of cross Venn-Abers prediction.

    With more than two classes each is told from all others, and the probabilities are divided by
    their sum.

    Parameters
    ----------
    estimator : classifier with ``predict_log_proba``
        Fitted in each fold.
    cv : int or iterable of splits
        The folds.
    """

    def __init__(self, estimator: Any, *, cv: Any = 5) -> None:
        self.estimator = estimator
        self.cv = cv

    def fit(self, X: Any, y: Any) -> Self:
        """Fit in each fold, and keep the scores of the cases held out."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.folds_ = []
        for train, test in check_cv(self.cv, y, classifier=True).split(X, y):
            model = clone(self.estimator).fit(_safe_indexing(X, train), codes[train])
            scores = _log_odds(model.predict_log_proba(_safe_indexing(X, test)))
            self.folds_.append((model, scores, codes[test]))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | x), shape (n, C)."""
        check_is_fitted(self)
        several = range(1 if self.classes_.size == 2 else 0, self.classes_.size)
        pairs = []
        for model, scores, codes in self.folds_:
            new = _log_odds(model.predict_log_proba(X))
            pairs.append([brackets(scores[:, c], codes == c, new[:, c]) for c in several])
        p0, p1 = np.moveaxis(np.array(pairs), -1, 0)  # each (folds, classes, n)
        with np.errstate(divide="ignore"):
            no, yes = np.log1p(-p0).mean(axis=0), np.log(p1).mean(axis=0)
        proba = np.exp(yes - logsumexp([no, yes], axis=0)).T
        if self.classes_.size == 2:
            return np.hstack([1 - proba, proba])
        return np.asarray(proba / proba.sum(axis=1, keepdims=True))


def _log_odds(log_proba: Any) -> FloatArray:
    """Return the log-odds of each class against all others, shape (n, C)."""
    logs = np.asarray(log_proba, dtype=np.float64)
    n_classes = logs.shape[1]
    others = [np.delete(np.arange(n_classes), c) for c in range(n_classes)]
    rest = np.stack([logsumexp(logs[:, other], axis=1) for other in others], axis=1)
    return np.asarray(np.clip(logs - rest, -1e6, 1e6))
