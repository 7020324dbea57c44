"""One temperature for log probabilities, learned from held-out training cases.

What `CalibratedClassifierCV(method="temperature", ensemble=False)` does, with one difference. Where
every held-out case is right, the likelihood has no maximum, and scikit-learn 1.9 may end at either
bound (on the four classes of Khan and others, at probabilities of 1/4 for all). Here one of the
cases that were right, at the lower quartile of how sure they were, is counted once more, as wrong:
where classes overlap that changes next to nothing, and where they do not it stands for what has not
been seen yet.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from honestbayes.types import FloatArray, IntArray

LOG_TEMPERATURES = np.linspace(np.log(0.1), np.log(1e5), 30)
"""Tried before the best is refined; thousands of columns that move together need high ones."""


def best_temperature(scores: FloatArray, codes: IntArray) -> tuple[float, float]:
    """Return the temperature by which scores become the best log probabilities, and the loss.

    Parameters
    ----------
    scores : ndarray, shape (n, C)
        Log probabilities, up to a constant for each case.
    codes : ndarray of int, shape (n,)
        The actual classes.
    """
    scores, codes = _with_a_doubt(scores, codes)
    rows = np.arange(codes.size)

    def loss(log_temperature: float) -> float:
        return -float(log_softmax(scores / np.exp(log_temperature), axis=1)[rows, codes].mean())

    near = int(np.argmin([loss(value) for value in LOG_TEMPERATURES]))
    last = LOG_TEMPERATURES.size - 1
    bounds = LOG_TEMPERATURES[max(0, near - 1)], LOG_TEMPERATURES[min(last, near + 1)]
    found = minimize_scalar(loss, bounds=bounds, method="bounded")
    return float(np.exp(found.x)), float(found.fun)


def _with_a_doubt(scores: FloatArray, codes: IntArray) -> tuple[FloatArray, IntArray]:
    """Count one case that was right, with the lower quartile of margins, as of its second class."""
    order = np.argsort(scores, axis=1, kind="stable")
    rows = np.arange(codes.size)
    margin = scores[rows, order[:, -1]] - scores[rows, order[:, -2]]
    right = np.flatnonzero(order[:, -1] == codes)
    if not right.size:
        return scores, codes
    case = right[np.argsort(margin[right], kind="stable")[(right.size - 1) // 4]]
    return np.concatenate([scores, scores[[case]]]), np.append(codes, order[case, -2])


class Tempered(ClassifierMixin, BaseEstimator):
    """A classifier whose log probabilities are divided by a temperature.

    Parameters
    ----------
    estimator : classifier with ``predict_log_proba``
        Fitted in each fold, and to all training cases.
    cv : int or iterable of splits
        The folds.
    """

    def __init__(self, estimator: Any, *, cv: Any = 5) -> None:
        self.estimator = estimator
        self.cv = cv

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the temperature from held-out cases, and fit to all."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        scores = np.zeros((codes.size, self.classes_.size))
        for train, test in check_cv(self.cv, y, classifier=True).split(X, y):
            model = clone(self.estimator).fit(_safe_indexing(X, train), codes[train])
            scores[test] = model.predict_log_proba(_safe_indexing(X, test))
        self.temperature_ = best_temperature(scores, codes)[0]
        self.estimator_ = clone(self.estimator).fit(X, codes)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | x), shape (n, C)."""
        check_is_fitted(self)
        logs = np.asarray(self.estimator_.predict_log_proba(X), dtype=np.float64)
        return np.asarray(np.exp(log_softmax(logs / self.temperature_, axis=1)))
