"""The methods that a report compares on the same folds.

Four are honestbayes itself, with and without the correction and the slope; where there are not too
many cases, so is a mixture that knows of hidden groups. Where the model in use is that mixture, or
one with latent factors, naive Bayes is compared with it. Two are what a user would try instead,
each tuned inside the folds; one predicts the class frequencies and nothing else, as the line that
any method must pass. Where columns are of several kinds, `PerKindNB` in ``report/per_kind.py`` is
what scikit-learn has for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import l1_min_c
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import check_is_fitted

from honestbayes.models.cards import table_cards
from honestbayes.models.shared.card import Card
from honestbayes.models.shared.number import number_grid
from honestbayes.report.per_kind import (
    CutAtMedian,
    LevelsAsFlags,
    PerKindNB,
    SelectAbove,
    f_values,
)
from honestbayes.sources.kinds import Kind
from honestbayes.types import AnyArray, FloatArray

UNCORRECTED = "uncorrected"
UNCORRECTED_SLOPE = "uncorrected, recalibrated"
CORRECTED = "corrected"
CORRECTED_SLOPE = "corrected, recalibrated"
LOGISTIC = "L1 logistic regression"
SCIKIT_NB = "scikit-learn NB, calibrated"
FREQUENCIES = "class frequencies alone"
MIXTURE = "two-component mixture"
NAIVE_BAYES = "naive Bayes, recalibrated"

MOST_FOR_MIXTURE = 400
"""Cases up to which the mixture's correction is quick to prepare, so that it is always compared."""

WEAKER_PENALTIES = np.logspace(0.1, 3, 10)
"""How much weaker than the one that leaves no feature the penalties are that are tried."""


def contenders(
    card: Card,
    *,
    n_features: int | str | None,
    threshold: float | None,
    always_keep: list[str] | None,
    n_racing: int,
    seed: int,
    kinds: Sequence[Kind] | None = None,
    mixture: bool = False,
) -> dict[str, Any]:
    """Return the estimators by name, in the order of the report.

    Parameters
    ----------
    card : Card
        The model that the report is about.
    n_features : int, "all", "cv" or None
        How many features to keep, of each kind where there are kinds; "cv": chosen inside the
        folds.
    threshold : float or None
        Instead, a bound on the absolute correlation.
    always_keep : list of str or None
        Features kept by design.
    n_racing : int
        Features in the largest race, for the numbers that "cv" tries.
    seed : int
        Breaks ties, and draws the inner folds.
    kinds : sequence of {"binary", "categorical", "real"}, optional
        The kind of each column, where columns are features as they are; without it all are turned
        into 0/1.
    mixture : bool, default=False
        Whether the two-component mixture is compared with a naive Bayes.
    """
    words = {
        "n_features_to_select": n_features,
        "threshold": threshold,
        "always_keep": always_keep,
        "random_state": seed,
    }
    ours = {
        UNCORRECTED: card.make(words, kinds, recalibrate=None, **card.uncorrected),
        CORRECTED: card.make(words, kinds, recalibrate=None),
    }
    naive = card.beyond is None
    if card.has_slope:
        ours[CORRECTED_SLOPE] = card.make(words, kinds, recalibrate="slope")
    if card.has_slope and naive:
        ours[UNCORRECTED_SLOPE] = card.make(words, kinds, recalibrate="slope", **card.uncorrected)
    if not naive:
        ours[NAIVE_BAYES] = naive_bayes(kinds).make(words, kinds)
    elif mixture:
        ours[MIXTURE] = mixture_of(words, kinds)
    return ours | {
        LOGISTIC: InnerFolds(L1Logistic(seed=seed, kinds=kinds), seed=seed),
        SCIKIT_NB: scikit_naive_bayes(n_features, threshold, n_racing, seed, kinds),
        FREQUENCIES: DummyClassifier(strategy="prior"),
    }


def naive_bayes(kinds: Sequence[Kind] | None) -> Card:
    """Return the card of the naive Bayes of columns as they are, or of yes-or-no features."""
    return table_cards()["binary" if kinds is None else "mixed"]


def mixture_of(words: dict[str, Any], kinds: Sequence[Kind] | None) -> Any:
    """Return the two-component mixture, with a flag for each level of a categorical column.

    Where the number of features is to be chosen it keeps ten: chains for each number in each fold
    would take too long.
    """
    if words["n_features_to_select"] == "cv":
        words = words | {"n_features_to_select": None}
    model = table_cards()["mixture"].make(words, kinds)
    if kinds is None or "categorical" not in kinds:
        return model
    return LevelsAsFlags(model.set_params(always_keep=None), kinds, words["always_keep"])


class L1Logistic(ClassifierMixin, BaseEstimator):
    """L1 logistic regression on standardised columns, its penalty tuned by log score.

    A categorical column becomes one column for each level. More than two classes have a model each,
    of that class against the others, whose probabilities are made to sum to 1.
    """

    def __init__(self, *, cv: Any = 5, seed: int = 0, kinds: Sequence[Kind] | None = None) -> None:
        self.cv = cv
        self.seed = seed
        self.kinds = kinds

    def fit(self, X: Any, y: Any) -> Self:
        """Standardise, and try penalties weaker than the one that leaves no feature."""
        self.classes_ = np.unique(y)
        self.prepare_ = make_pipeline(self._as_numbers(), StandardScaler())
        columns = self.prepare_.fit_transform(X)
        strongest = _strongest_penalty(columns, y)
        model = LogisticRegressionCV(
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
        )
        if self.classes_.size > 2:  # what liblinear fits is of two classes
            model = OneVsRestClassifier(model)
        self.model_ = model.fit(columns, y)
        return self

    def _as_numbers(self) -> Any:
        """Return what fills missing cells, and spreads categories over columns."""
        numbers = SimpleImputer(strategy="median", keep_empty_features=True)
        is_code = np.array(self.kinds if self.kinds is not None else ()) == "categorical"
        if not is_code.any():
            return numbers
        spread = make_pipeline(
            SimpleImputer(strategy="most_frequent", keep_empty_features=True),
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        )
        return make_column_transformer(
            (numbers, np.flatnonzero(~is_code)), (spread, np.flatnonzero(is_code))
        )

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | x), shape (n, C)."""
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
    n_features: int | str | None,
    threshold: float | None,
    n_racing: int,
    seed: int,
    kinds: Sequence[Kind] | None = None,
) -> InnerFolds:
    """scikit-learn's naive Bayes after SelectKBest, calibrated by CalibratedClassifierCV.

    The same cut at the median, and F values, which rank 0/1 features as correlations do; with
    kinds, the same selection of each kind. It knows no features kept by design: they race with the
    others. One calibrator is fitted to the held-out predictions of all folds (``ensemble=False``):
    one for each fold would have a handful of cases in tables as small as expression data.
    """
    k = min(10, n_racing) if n_features is None else n_features
    naive: Any
    if kinds is not None:
        naive = PerKindNB(kinds, k=k, threshold=threshold)
        if n_features == "cv":
            naive = _searched(naive, "k", n_racing)
        return _calibrated(naive, seed)
    # It cannot do without any, where others have those that are kept by design.
    select = SelectKBest(f_values, k=k if isinstance(k, str) else max(1, k))
    if threshold is not None:
        select = SelectAbove(threshold)
    naive = make_pipeline(select, BernoulliNB())
    if n_features == "cv":
        naive = _searched(naive, "selectkbest__k", n_racing)
    return _calibrated(make_pipeline(CutAtMedian(), naive), seed)


def _searched(naive: Any, parameter: str, n_racing: int) -> GridSearchCV:
    grid = np.maximum(1, number_grid(n_racing)).tolist()
    return GridSearchCV(naive, {parameter: grid}, scoring="neg_log_loss", cv=5)


def _calibrated(naive: Any, seed: int) -> InnerFolds:
    return InnerFolds(CalibratedClassifierCV(naive, method="sigmoid", ensemble=False), seed=seed)


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
        labels = np.asarray(y)
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
        result: FloatArray = self.estimator_.predict_proba(X)
        return result

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class."""
        result: AnyArray = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return result
