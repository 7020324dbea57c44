"""What every classifier says once it knows log probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from honestbayes.models.shared.parameters import check_prevalences
from honestbayes.types import AnyArray, FloatArray


class FromLogProbabilities:
    """Base of classifiers that have `predict_log_proba`."""

    classes_: AnyArray
    class_prior: Any

    def predict_log_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return log P(class | x), shape (n, n_classes)."""
        raise NotImplementedError

    def predict_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return P(class | x), shape (n, n_classes)."""
        log_proba = self.predict_log_proba(X, class_prior=class_prior)
        return np.asarray(np.exp(log_proba, out=log_proba))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each row."""
        log_proba = self.predict_log_proba(X)
        result: AnyArray = self.classes_[np.argmax(log_proba, axis=1)]
        return result

    def _given_log_prior(self, class_prior: Any) -> FloatArray | None:
        """Return the logs of given prevalences, or None where the training data's hold."""
        given = self.class_prior if class_prior is None else class_prior
        return check_prevalences(given, self.classes_.size)
