"""scikit-learn's naive Bayes on the features that correlate best, kind by kind.

What a user of scikit-learn would put together: columns cut at the median, or each kind of column
with the naive Bayes that is made for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from honestbayes.base.recalibration import number_grid
from honestbayes.data import Binarization, Source, as_source
from honestbayes.data.binarization import learn_binarization
from honestbayes.data.categories import category_table
from honestbayes.data.kinds import Kind, KindsInOrder
from honestbayes.evaluation.baselines.task import InnerFolds, Task
from honestbayes.evaluation.baselines.temperature import Tempered
from honestbayes.selection.categories import count_categories
from honestbayes.selection.correlation import strength_of
from honestbayes.types import AnyArray, BoolArray, FloatArray

Score = Callable[[AnyArray, AnyArray], tuple[FloatArray, FloatArray]]


def f_values(X: AnyArray, y: AnyArray) -> tuple[FloatArray, FloatArray]:
    """F values, 0 where a column is constant and F is undefined."""
    scores, varies = np.zeros(X.shape[1]), np.asarray(X.max(axis=0) > X.min(axis=0))
    if varies.any():
        with np.errstate(divide="ignore", invalid="ignore"):
            values = f_classif(X[:, varies], y)[0]
        scores[varies] = np.nan_to_num(values, posinf=np.finfo(float).max)
    return scores, np.ones(X.shape[1])


def association(X: AnyArray, y: AnyArray) -> tuple[FloatArray, FloatArray]:
    """F values that would be as surprising as the association of a column of codes."""
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
    """Turn columns into 0/1 as the models of honestbayes do; a missing cell is the usual value."""

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
        """Cut."""
        check_is_fitted(self)
        ones, missing = self._cut(as_source(X))
        return ones if missing is None else np.where(missing, self.usual_, ones)

    def _cut(self, source: Source) -> tuple[AnyArray, BoolArray | None]:
        return self.binarization_.cut_values(source.take(np.arange(source.shape[1])))


def _name(position: int) -> str:
    return f"column {position}"


def _numbers(X: Any) -> AnyArray:
    """Return a table as numbers; flags of one byte stay so, which saves most of the time."""
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
        # Levels of the training rows; another one is missing.
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
        return make_pipeline(codes, usual(strategy="most_frequent"), select, CategoricalNB())

    def _select(self, width: int, score: Score) -> SelectKBest:
        if self.threshold is not None:
            return SelectAbove(self.threshold, score)
        # It cannot do without any, where others have those that are kept by design.
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
# scikit-learn's naive Bayes on the selected features, calibrated on held-out training cases
# --------------------------------------------------------------------------------------------------


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


def selected_naive_bayes(task: Task) -> Any:
    """Return scikit-learn's naive Bayes after SelectKBest.

    The same cut at the median, and F values, which rank 0/1 features as correlations do; with
    kinds, the same selection of each kind. It knows no features kept by design: they race with the
    others.
    """
    k = min(10, task.n_candidates) if task.n_features is None else task.n_features
    naive: Any
    if task.kinds is not None:
        naive = PerKindNB(task.kinds, k=k, threshold=task.threshold)
        return _searched(naive, "k", task.n_candidates) if task.n_features == "cv" else naive
    # It cannot do without any, where others have those that are kept by design.
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
