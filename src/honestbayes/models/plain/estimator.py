"""Naive Bayes for columns of any kind, by counting: fast, and without a correction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import Field, Known, Seed
from honestbayes.files.records import Section
from honestbayes.models.plain.counts import LevelCounts
from honestbayes.models.plain.fields import (
    KindsInTable,
    KnowsTable,
    Shares,
    Smoothing,
    WholeParameter,
)
from honestbayes.models.shared.parameters import (
    check_prevalences,
    check_weights,
    positive_number,
    whole_number,
)
from honestbayes.sources import check_as_many, encode_labels
from honestbayes.sources.coding import Coding, learn_coding
from honestbayes.sources.columns import as_table
from honestbayes.types import AnyArray, FloatArray


class DiscreteNB(ClassifierMixin, KnowsTable):
    """Naive Bayes on levels and bins, for columns of any kind.

    The plain model on which `ForwardProbabilitySelector` and `BoostedProbabilitySelector` build. It
    takes all columns that it is given and does not know of any selection: for features that were
    selected use the Selective models.

    Parameters
    ----------
    smoothing : float, default=1.0
        What each level of a feature is given more in each class.
    n_bins : int, default=10
        Bins of a real-valued column, at most; fewer where there would be less than 20 rows in each.
    kinds : mapping or sequence, optional
        Kinds of columns ("binary", "categorical", "real") that are not what they look like.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    random_state : int, RandomState or None, default=None
        Every estimator has it; nothing is drawn at random here.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the training cases of each class.
    coding_ : Coding
        The bins and levels of each column.
    counts_ : LevelCounts
        Weight of the training cases by level and class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    Notes
    -----
    Missing cells, and texts that training has not seen, say nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes.models.plain.estimator import DiscreteNB
    >>> X = np.array([["red", 1.5], ["red", 0.2], ["blue", 1.1], ["blue", None]], dtype=object)
    >>> model = DiscreteNB().fit(X, [0, 0, 1, 1])
    >>> model.predict_proba(X[:1]).round(2)
    array([[0.82, 0.18]])
    """

    _kind: ClassVar[str] = "DiscreteNB"
    _parameter_fields: ClassVar[Mapping[str, Field]] = {
        "smoothing": Smoothing(),
        "n_bins": WholeParameter(least=2),
        "kinds": KindsInTable(),
        "class_prior": Shares(),
        "random_state": Seed(),
    }
    _absent_parameters: ClassVar[Mapping[str, Any]] = {"random_state": None}

    def __init__(
        self,
        *,
        smoothing: float = 1.0,
        n_bins: int = 10,
        kinds: Any = None,
        class_prior: Any = None,
        random_state: Any = None,
    ) -> None:
        self.smoothing = smoothing
        self.n_bins = n_bins
        self.kinds = kinds
        self.class_prior = class_prior
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn bins and count.

        Parameters
        ----------
        X : table of shape (n, p)
            Array, sparse matrix, pandas or polars frame; NaN and None are missing.
        y : array-like of shape (n,)
            Class labels of two or more kinds.
        sample_weight : array-like of shape (n,), optional
            What each row counts.
        """
        from honestbayes.models.plain.counts import count_levels

        params = self.get_params(deep=False)
        positive_number(params, "smoothing")
        n_bins = whole_number(params, "n_bins", 2)
        X = as_table(X)
        self.classes_, codes = encode_labels(y)
        check_as_many(X.shape[0], codes.size)
        check_prevalences(self.class_prior, self.classes_.size)
        validate_data(self, X, skip_check_array=True)
        weight = check_weights(sample_weight, codes, self.classes_)
        self.coding_: Coding = learn_coding(X, weight, kinds=self.kinds, n_bins=n_bins)
        self.counts_ = count_levels(self.coding_.encode(X), codes, weight, self.classes_.size)
        self.class_count_ = self.counts_.classes
        return self

    def predict_log_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return log P(class | x), shape (n, n_classes).

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        class_prior : array-like of shape (n_classes,), optional
            Prevalences where the model is used.
        """
        from honestbayes.models.plain.counts import log_likelihood_of

        check_is_fitted(self)
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        given = self.class_prior if class_prior is None else class_prior
        log_prior = check_prevalences(given, self.classes_.size)
        if log_prior is None:
            log_prior = self.counts_.log_prior()
        evidence = log_likelihood_of(self.coding_.encode(X), self.counts_, float(self.smoothing))
        return np.asarray(log_softmax(log_prior + evidence, axis=1))

    def predict_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return P(class | x), shape (n, n_classes)."""
        return np.asarray(np.exp(self.predict_log_proba(X, class_prior=class_prior)))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each row."""
        log_proba = self.predict_log_proba(X)
        result: AnyArray = self.classes_[np.argmax(log_proba, axis=1)]
        return result

    # ------------------------------------------------------------------------------- files

    def _found_to_plain(self) -> Plain:
        arrays = {"slots": self.counts_.slots, "class_count": self.counts_.classes}
        return joined(({}, arrays), coding=self.coding_.to_plain())

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        known = super()._fitted_from_plain(entries)
        known["coding"] = Section(kind=Coding).read(entries, "coding", known)
        known["counts"] = LevelCounts.from_plain(entries, known)
        return known

    def _load_fitted(self, fitted: Known) -> Self:
        super()._load_fitted(fitted)
        self.coding_, self.counts_ = fitted["coding"], fitted["counts"]
        self.class_count_ = self.counts_.classes
        return self
