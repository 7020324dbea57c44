"""A flag for each level of a categorical column, for models that know yes-or-no features only."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from honestbayes.data.kinds import KindsInOrder
from honestbayes.types import AnyArray, FloatArray


class LevelsAsFlags(ClassifierMixin, BaseEstimator):
    """A classifier of binary features that is given a flag for each level of a categorical column.

    Parameters
    ----------
    classifier : estimator
        Fitted to the flags and to all other columns as they are.
    kinds : sequence of {"binary", "categorical", "real"}
        The kind of each column.
    always_keep : list of str, optional
        Columns kept by design, with all their flags; the table must then be a frame.
    """

    def __init__(
        self, classifier: Any, kinds: KindsInOrder, always_keep: list[str] | None = None
    ) -> None:
        self.classifier = classifier
        self.kinds = kinds
        self.always_keep = always_keep

    def fit(self, X: Any, y: Any) -> Self:
        """Find the levels, and fit."""
        table = np.asarray(X, dtype=float)
        self.levels_ = {
            column: np.unique(table[~np.isnan(table[:, column]), column])
            for column in np.flatnonzero(np.array(self.kinds) == "categorical").tolist()
        }
        classifier = clone(self.classifier)
        if self.always_keep is not None:
            kept = np.isin(np.asarray(X.columns, dtype=object), self.always_keep)
            parts = [np.delete(kept, list(self.levels_))]
            parts += [np.full(len(levels), kept[c]) for c, levels in self.levels_.items()]
            classifier.set_params(always_keep=np.concatenate(parts))
        self.classifier_ = classifier.fit(self._flags(table), y)
        self.classes_ = self.classifier_.classes_
        return self

    def _flags(self, table: AnyArray) -> AnyArray:
        parts = [np.delete(table, list(self.levels_), axis=1)]
        for column, levels in self.levels_.items():
            known = np.isin(table[:, column], levels)[:, None]
            parts.append(np.where(known, table[:, [column]] == levels, np.nan))
        return np.concatenate(parts, axis=1)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | x)."""
        check_is_fitted(self)
        result: FloatArray = self.classifier_.predict_proba(self._flags(np.asarray(X, dtype=float)))
        return result
