"""scikit-learn's naive Bayes on selected features, with three ways to calibrate it.

Features are selected as a user of scikit-learn would do it: columns are cut at the median, or each
kind of column has its own naive Bayes. Calibration is by Platt's sigmoid, by one temperature, or by
cross Venn-Abers prediction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.optimize import isotonic_regression, minimize_scalar
from scipy.special import log_softmax, logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from honestbayes.base.recalibration import number_grid
from honestbayes.data import Binarization, Source, as_source
from honestbayes.data.binarization import learn_binarization
from honestbayes.data.categories import category_table
from honestbayes.data.kinds import Kind, KindsInOrder
from honestbayes.evaluation.baselines.task import InnerFolds, Task
from honestbayes.selection.categories import count_categories
from honestbayes.selection.correlation import strength_of
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

Score = Callable[[AnyArray, AnyArray], tuple[FloatArray, FloatArray]]


def f_values(X: AnyArray, y: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Return F values; 0 where a column is constant and F is undefined."""
    scores, varies = np.zeros(X.shape[1]), np.asarray(X.max(axis=0) > X.min(axis=0))
    if varies.any():
        with np.errstate(divide="ignore", invalid="ignore"):
            values = f_classif(X[:, varies], y)[0]
        scores[varies] = np.nan_to_num(values, posinf=np.finfo(float).max)
    return scores, np.ones(X.shape[1])


def association(X: AnyArray, y: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Return F values with the same p-values as the associations of columns of codes."""
    classes, codes = np.unique(y, return_inverse=True)
    r2 = strength_of(count_categories(category_table(X), codes, classes))[0]
    with np.errstate(divide="ignore"):
        scores = (len(y) - classes.size) / (classes.size - 1) * r2 / (1 - r2)
    return np.minimum(scores, np.finfo(float).max), np.ones(X.shape[1])


class SelectAbove(SelectKBest):
    """Select columns whose absolute correlation with the class is above a bound."""

    def __init__(self, bound: float, score: Score = f_values) -> None:
        super().__init__(score)
        self.bound = bound
        self.score = score

    def fit(self, X: AnyArray, y: AnyArray) -> Self:
        """Count the columns above the bound; one at least is kept."""
        scores = self.score(X, y)[0]
        between = np.unique(y).size - 1
        r2 = between * scores / (between * scores + len(y) - 1 - between)
        self.k = max(1, int(np.sum(np.sqrt(r2) > self.bound)))
        super().fit(X, y)
        return self


class CutAtMedian(TransformerMixin, BaseEstimator):
    """Cut columns into 0/1 as honestbayes does; fill missing cells with the most frequent value."""

    binarization_: Binarization
    usual_: AnyArray

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the cut of each column."""
        del y
        source = as_source(X)
        self.n_features_in_ = source.shape[1]
        self.binarization_ = learn_binarization(source, "auto", _name)
        ones, missing = self._cut(source)
        hidden = np.zeros(ones.shape, dtype=bool) if missing is None else missing
        known = (~hidden).sum(axis=0)
        self.usual_ = (2 * (ones * ~hidden).sum(axis=0) > known).astype(np.uint8)
        return self

    def transform(self, X: Any) -> AnyArray:
        """Cut the columns of new cases."""
        check_is_fitted(self)
        ones, missing = self._cut(as_source(X))
        return ones if missing is None else np.where(missing, self.usual_, ones)

    def _cut(self, source: Source) -> tuple[AnyArray, BoolArray | None]:
        return self.binarization_.cut_values(source.take(np.arange(source.shape[1])))


def _name(position: int) -> str:
    return f"column {position}"


def _numbers(X: Any) -> AnyArray:
    """Return a table as numbers; columns of one byte stay so, which saves most of the time."""
    table = np.asarray(X)
    return table if table.dtype.kind in "bu" or table.dtype == np.int8 else table.astype(float)


def _take(table: AnyArray, columns: AnyArray) -> AnyArray:
    return table if columns.size == table.shape[1] else table[:, columns]


class PerKindNB(ClassifierMixin, BaseEstimator):
    """Gaussian, Bernoulli and categorical naive Bayes, each on its best columns, added up.

    Parameters
    ----------
    kinds : sequence of {"binary", "categorical", "real"}
        The kind of each column.
    k : int or "all", default=10
        How many columns of each kind are kept, or all where a kind has fewer.
    threshold : float, optional
        Instead, a bound on the absolute correlation, or its equivalent.
    """

    def __init__(
        self, kinds: KindsInOrder, *, k: int | str = 10, threshold: float | None = None
    ) -> None:
        self.kinds = kinds
        self.k = k
        self.threshold = threshold

    def fit(self, X: Any, y: Any) -> Self:
        """Select and fit each kind of column by itself."""
        table, kinds = _numbers(X), np.array(self.kinds)
        self.classes_, counts = np.unique(y, return_counts=True)
        self.log_prior_: FloatArray = np.log(counts / counts.sum())
        self.parts_ = []
        for kind in np.unique(kinds):
            columns = np.flatnonzero(kinds == kind)
            steps = self._steps(kind, columns.size).fit(_take(table, columns), y)
            self.parts_.append((columns, steps))
        return self

    def _steps(self, kind: Kind, width: int) -> Any:
        """Return the pipeline of one kind: fill missing cells, select, fit."""
        usual = partial(SimpleImputer, keep_empty_features=True)
        select = self._select(width, association if kind == "categorical" else f_values)
        if kind == "real":
            # Standardised: GaussianNB adds to all variances a share of the largest one.
            return make_pipeline(usual(strategy="median"), StandardScaler(), select, GaussianNB())
        if kind == "binary":
            return make_pipeline(CutAtMedian(), select, BernoulliNB())
        # Categories of the training rows; an unseen one is missing.
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
        return make_pipeline(codes, usual(strategy="most_frequent"), select, CategoricalNB())

    def _select(self, width: int, score: Score) -> SelectKBest:
        if self.threshold is not None:
            return SelectAbove(self.threshold, score)
        # It needs at least one column, even where the other models keep some by design.
        return SelectKBest(
            score, k=self.k if isinstance(self.k, str) else min(max(1, self.k), width)
        )

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | x), shape (n, C)."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return log P(class | x), shape (n, C): log likelihoods of the kinds add up."""
        check_is_fitted(self)
        table = _numbers(X)
        total = np.zeros((table.shape[0], self.classes_.size)) + self.log_prior_
        for columns, steps in self.parts_:
            total += steps.predict_log_proba(_take(table, columns)) - self.log_prior_
        return np.asarray(log_softmax(total, axis=1))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class."""
        result: AnyArray = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return result


# --------------------------------------------------------------------------------------------------
# One temperature for log probabilities, learned from held-out training cases
#
# `CalibratedClassifierCV(method="temperature", ensemble=False)` does the same, with one difference.
# Where every held-out case is right, the likelihood has no maximum, and scikit-learn 1.9 may end at
# either bound (on the four classes of Khan et al., at probabilities of 1/4 for all). Here one case
# that was right, at the lower quartile of the margins, is counted once more, as wrong. That changes
# little where classes overlap; where they do not, it stands for errors not seen yet.
# --------------------------------------------------------------------------------------------------


LOG_TEMPERATURES = np.linspace(np.log(0.1), np.log(1e5), 30)
"""Tried before the best is refined; thousands of correlated columns need high temperatures."""


def best_temperature(scores: FloatArray, codes: IntArray) -> tuple[float, float]:
    """Return the temperature with the lowest log loss, and that loss.

    Parameters
    ----------
    scores : ndarray, shape (n, C)
        Log probabilities, up to a constant for each case.
    codes : ndarray of int, shape (n,)
        The actual classes.
    """
    scores, codes = _with_one_error(scores, codes)
    rows = np.arange(codes.size)

    def loss(log_temperature: float) -> float:
        return -float(log_softmax(scores / np.exp(log_temperature), axis=1)[rows, codes].mean())

    near = int(np.argmin([loss(value) for value in LOG_TEMPERATURES]))
    last = LOG_TEMPERATURES.size - 1
    bounds = LOG_TEMPERATURES[max(0, near - 1)], LOG_TEMPERATURES[min(last, near + 1)]
    best = minimize_scalar(loss, bounds=bounds, method="bounded")
    return float(np.exp(best.x)), float(best.fun)


def _with_one_error(scores: FloatArray, codes: IntArray) -> tuple[FloatArray, IntArray]:
    """Repeat one correct case, at the lower quartile of margins, as of its second class."""
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


# --------------------------------------------------------------------------------------------------
# Cross Venn-Abers prediction (Vovk, Petej and Fedorova, NeurIPS 2015)
#
# For a case with score s, isotonic regression is fitted twice to the held-out cases of a fold and
# this one: first as class 0, then as class 1. Its values p0 and p1 at s bracket the probability.
# The pairs of all folds are merged so that the worst log loss is least: P(class 1) is
# G(p1) / (G(1 - p0) + G(p1)), where G is the geometric mean over folds.
# --------------------------------------------------------------------------------------------------


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
    known, index = np.unique(scores, return_inverse=True)
    cases = np.bincount(index).astype(float)
    ones = np.bincount(index, weights=positive)
    different, which = np.unique(new, return_inverse=True)
    pairs = np.empty((different.size, 2))
    for j, score in enumerate(different):
        at = int(np.searchsorted(known, score))
        tied = at < known.size and known[at] == score
        # The new case joins those of the same score, or stands between two of them.
        n, k = (cases.copy(), ones.copy()) if tied else (np.insert(x, at, 0) for x in (cases, ones))
        n[at] += 1
        for label in (0, 1):
            share = k.copy()
            share[at] += label
            pairs[j, label] = isotonic_regression(share / n, weights=n).x[at]
    return np.asarray(pairs[which])


class CrossVennAbers(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are those of cross Venn-Abers prediction.

    With more than two classes each class is compared with all others, and the probabilities are
    divided by their sum.

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


# --------------------------------------------------------------------------------------------------
# The baselines: naive Bayes on selected features, calibrated on held-out training cases
# --------------------------------------------------------------------------------------------------


def selected_naive_bayes(task: Task) -> Any:
    """Return scikit-learn's naive Bayes after SelectKBest.

    The same cut at the median, and F values, which rank 0/1 features as correlations do; with
    kinds, the same selection of each kind. It has no features kept by design: they are ranked with
    the others.
    """
    k = min(10, task.n_candidates) if task.n_features is None else task.n_features
    naive: Any
    if task.kinds is not None:
        naive = PerKindNB(task.kinds, k=k, threshold=task.threshold)
        return _searched(naive, "k", task.n_candidates) if task.n_features == "cv" else naive
    # It needs at least one column, even where the other models keep some by design.
    select = SelectKBest(f_values, k=k if isinstance(k, str) else max(1, k))
    if task.threshold is not None:
        select = SelectAbove(task.threshold)
    naive = make_pipeline(select, BernoulliNB())
    if task.n_features == "cv":
        naive = _searched(naive, "selectkbest__k", task.n_candidates)
    return make_pipeline(CutAtMedian(), naive)


def _searched(naive: Any, parameter: str, n_candidates: int) -> GridSearchCV:
    grid = np.maximum(1, number_grid(n_candidates)).tolist()
    return GridSearchCV(naive, {parameter: grid}, scoring="neg_log_loss", cv=5)


def sigmoid_naive_bayes(task: Task) -> InnerFolds:
    """Return scikit-learn's naive Bayes, calibrated by Platt's sigmoid.

    One calibrator is fitted to the held-out predictions of all folds (``ensemble=False``): one for
    each fold would have a handful of cases in tables as small as expression data.
    """
    naive = selected_naive_bayes(task)
    model = CalibratedClassifierCV(naive, method="sigmoid", ensemble=False)
    return InnerFolds(model, seed=task.seed)


def temperature_naive_bayes(task: Task) -> InnerFolds:
    """Return scikit-learn's naive Bayes, its log probabilities divided by a temperature."""
    return InnerFolds(Tempered(selected_naive_bayes(task)), seed=task.seed)


def venn_abers_naive_bayes(task: Task) -> InnerFolds:
    """Return scikit-learn's naive Bayes on the selected features, with Venn-Abers probabilities."""
    return InnerFolds(CrossVennAbers(selected_naive_bayes(task)), seed=task.seed)
