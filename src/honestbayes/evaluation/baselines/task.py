"""Task of a baseline: its columns as numbers, and the inner folds that tune it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from honestbayes.data.kinds import KindsInOrder
from honestbayes.types import AnyArray, FloatArray

# --------------------------------------------------------------------------------------------------
# The task of a baseline
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The table and the options that a baseline is made for.

    Attributes
    ----------
    n_features : int, "all", "cv" or None
        How many features are kept, of each kind where there are kinds, by baselines that select;
        None: 10, or all where there are fewer; "cv": chosen inside the folds.
    threshold : float or None
        Instead, a bound on the absolute correlation.
    n_candidates : int
        Candidates of the largest ranking, for the numbers of features that "cv" tries.
    seed : int
        Draws the inner folds, and breaks ties.
    kinds : sequence of {"binary", "categorical", "real"}, optional
        The kind of each column, where columns are features as they are; without it, baselines
        that select cut columns at their median.
    sparse : bool, default=False
        Whether the table is a sparse matrix of binary features.
    """

    n_features: int | str | None = None
    threshold: float | None = None
    n_candidates: int
    seed: int = 0
    kinds: KindsInOrder | None = None
    sparse: bool = False


# --------------------------------------------------------------------------------------------------
# Columns as numbers: filled, categories one-hot encoded, standardised
# --------------------------------------------------------------------------------------------------


def standardised(X: Any, kinds: KindsInOrder | None) -> Any:
    """Return a transformer, not fitted, of a table's columns to standardised numbers.

    A sparse matrix of binary features stays as it is: standardised it would be dense, and its
    rarest features would count most.
    """
    if issparse(X):
        return FunctionTransformer()
    dtype = getattr(X, "dtype", None)  # whole numbers are never missing
    whole = str(getattr(dtype, "kind", "O")) in "biu"
    return make_pipeline(_as_numbers(kinds, whole=whole), StandardScaler())


def _as_numbers(kinds: KindsInOrder | None, *, whole: bool) -> Any:
    """Return a transformer that fills missing cells and one-hot encodes categories.

    Columns that cannot have missing cells are left as they are: medians of 100,000 columns
    take longer than all else.
    """
    numbers: Any = FunctionTransformer()
    if not whole:
        numbers = SimpleImputer(strategy="median", keep_empty_features=True)
    is_code = np.array(kinds if kinds is not None else ()) == "categorical"
    if not is_code.any():
        return numbers
    spread = make_pipeline(
        SimpleImputer(strategy="most_frequent", keep_empty_features=True),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    return make_column_transformer(
        (numbers, np.flatnonzero(~is_code)), (spread, np.flatnonzero(is_code))
    )


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
