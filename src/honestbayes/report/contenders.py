"""The methods that a report compares on the same folds.

Four are honestbayes itself, with and without the correction and the slope. Two are what a user
would try instead, each tuned inside the folds; one predicts the class frequencies and nothing else,
as the line that any method must pass.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import l1_min_c
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import check_is_fitted

from honestbayes.models.bernoulli_nb import SelectiveBernoulliNB
from honestbayes.models.number import number_grid
from honestbayes.screening import Binarization, Source, as_source
from honestbayes.screening.binarization import learn_binarization
from honestbayes.types import AnyArray, BoolArray, FloatArray

UNCORRECTED = "uncorrected"
UNCORRECTED_SLOPE = "uncorrected, recalibrated"
CORRECTED = "corrected"
CORRECTED_SLOPE = "corrected, recalibrated"
LOGISTIC = "L1 logistic regression"
SCIKIT_NB = "scikit-learn NB, calibrated"
FREQUENCIES = "class frequencies alone"

WEAKER_PENALTIES = np.logspace(0.1, 3, 10)
"""How much weaker than the one that leaves no feature the penalties are that are tried."""


def contenders(
    *,
    n_features: int | str | None,
    threshold: float | None,
    always_keep: list[str] | None,
    n_racing: int,
    seed: int,
) -> dict[str, Any]:
    """Return the estimators by name, in the order of the report.

    Parameters
    ----------
    n_features : int, "all", "cv" or None
        How many features to keep; "cv": chosen inside the folds.
    threshold : float or None
        Instead, a bound on the absolute correlation.
    always_keep : list of str or None
        Features kept by design.
    n_racing : int
        Features in the race, for the numbers that "cv" tries.
    seed : int
        Breaks ties, and draws the inner folds.
    """

    def selective(**words: Any) -> SelectiveBernoulliNB:
        return SelectiveBernoulliNB(
            n_features_to_select=n_features,  # type: ignore[arg-type]  # checked by fit
            threshold=threshold,
            always_keep=always_keep,
            random_state=seed,
            **words,
        )

    without: dict[str, Any] = {"feature_prior": "uniform", "correction": None}
    return {
        UNCORRECTED: selective(recalibrate=None, **without),
        CORRECTED: selective(recalibrate=None),
        CORRECTED_SLOPE: selective(),
        UNCORRECTED_SLOPE: selective(**without),
        LOGISTIC: InnerFolds(L1Logistic(seed=seed), seed=seed),
        SCIKIT_NB: scikit_naive_bayes(n_features, threshold, n_racing, seed),
        FREQUENCIES: DummyClassifier(strategy="prior"),
    }


class L1Logistic(ClassifierMixin, BaseEstimator):
    """L1 logistic regression on standardised columns, its penalty tuned by log score."""

    def __init__(self, *, cv: Any = 5, seed: int = 0) -> None:
        self.cv = cv
        self.seed = seed

    def fit(self, X: Any, y: Any) -> Self:
        """Standardise, and try penalties weaker than the one that leaves no feature."""
        self.classes_ = np.unique(y)
        self.prepare_ = make_pipeline(
            SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
        )
        columns = self.prepare_.fit_transform(X)
        strongest = _strongest_penalty(columns, y)
        self.model_ = LogisticRegressionCV(
            Cs=strongest * WEAKER_PENALTIES,
            cv=self.cv,
            solver="liblinear",
            scoring="neg_log_loss",
            # liblinear penalises the intercept too; scaled up, it hardly does.
            intercept_scaling=10.0,
            tol=1e-3,
            max_iter=300,
            random_state=self.seed,
            **_l1_words(),
        ).fit(columns, y)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | x), shape (n, 2)."""
        result: FloatArray = self.model_.predict_proba(self.prepare_.transform(X))
        return result


def _strongest_penalty(columns: FloatArray, y: AnyArray) -> float:
    """Return the inverse of the least penalty that leaves no feature."""
    try:
        # Columns that rounding alone keeps from being orthogonal to the class would ask for none.
        return min(1e3, float(l1_min_c(columns, y, loss="log")))
    except ValueError:  # none correlates with the class: any penalty leaves no feature
        return 1.0


def _l1_words() -> dict[str, Any]:
    """Ask for the L1 penalty in the words of the installed scikit-learn."""
    if parse_version(sklearn.__version__) < parse_version("1.8"):
        return {"penalty": "l1"}
    return {"l1_ratios": (1.0,), "use_legacy_attributes": False}


def scikit_naive_bayes(
    n_features: int | str | None, threshold: float | None, n_racing: int, seed: int
) -> InnerFolds:
    """scikit-learn's naive Bayes after SelectKBest, calibrated by CalibratedClassifierCV.

    The same cut at the median, and F values, which rank 0/1 features as correlations do. It knows
    no features kept by design: they race with the others. One calibrator is fitted to the
    held-out predictions of all folds (``ensemble=False``): one for each fold would have a handful
    of cases in tables as small as expression data.
    """
    k = min(10, n_racing) if n_features is None else n_features
    # It cannot do without any, where others have those that are kept by design.
    select = SelectKBest(_f_values, k=k if isinstance(k, str) else max(1, k))
    if threshold is not None:
        select = SelectAbove(threshold)
    naive: Any = make_pipeline(select, BernoulliNB())
    if n_features == "cv":
        grid = {"selectkbest__k": np.maximum(1, number_grid(n_racing)).tolist()}
        naive = GridSearchCV(naive, grid, scoring="neg_log_loss", cv=5)
    naive = make_pipeline(CutAtMedian(), naive)
    return InnerFolds(CalibratedClassifierCV(naive, method="sigmoid", ensemble=False), seed=seed)


def _f_values(X: AnyArray, y: AnyArray) -> tuple[FloatArray, FloatArray]:
    """F values, 0 where a column is constant and F is undefined."""
    scores, varies = np.zeros(X.shape[1]), _varies(X)
    if varies.any():
        with np.errstate(divide="ignore", invalid="ignore"):
            values = f_classif(X[:, varies], y)[0]
        scores[varies] = np.nan_to_num(values, posinf=np.finfo(float).max)
    return scores, np.ones(X.shape[1])


def _varies(X: AnyArray) -> AnyArray:
    return np.asarray(X.max(axis=0) > X.min(axis=0))


class SelectAbove(SelectKBest):
    """Select 0/1 columns whose absolute correlation with the class is above a bound."""

    def __init__(self, bound: float) -> None:
        super().__init__(_f_values)
        self.bound = bound

    def fit(self, X: AnyArray, y: AnyArray) -> Self:
        """Count the columns above the bound; one at least is kept."""
        scores = _f_values(X, y)[0]
        r2 = scores / (scores + len(y) - 2)
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
        """Draw the folds and fit; class frequencies, where no folds keep both classes in."""
        labels = np.asarray(y)
        self.classes_ = np.unique(labels)
        folds = self._folds(labels, groups)
        if folds is None:
            self.estimator_ = DummyClassifier(strategy="prior").fit(X, labels)
        else:
            self.estimator_ = clone(self.estimator).set_params(cv=folds).fit(X, labels)
        return self

    def _folds(self, labels: AnyArray, groups: Any) -> list[tuple[AnyArray, AnyArray]] | None:
        """Return as many folds as possible, up to ``n_folds``, with both classes outside each."""
        smallest = int(np.unique(labels, return_counts=True)[1].min())
        kind: Any = StratifiedKFold
        if groups is not None:
            kind, smallest = StratifiedGroupKFold, min(smallest, np.unique(groups).size)
        for n_folds in range(min(self.n_folds, smallest), 1, -1):
            splitter = kind(n_folds, shuffle=True, random_state=self.seed)
            splits = list(splitter.split(np.zeros(labels.size), labels, groups))
            if all(test.size and np.unique(labels[train]).size == 2 for train, test in splits):
                return splits
        return None

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the fitted estimator's probabilities."""
        check_is_fitted(self)
        result: FloatArray = self.estimator_.predict_proba(X)
        return result

    def predict(self, X: Any) -> AnyArray:
        """Return the more probable class."""
        result: AnyArray = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return result
