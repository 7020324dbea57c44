"""What the models of binary features in two classes share."""

from __future__ import annotations

from typing import Any

import numpy as np

from honestbayes.models.shared.estimator import SelectiveNaiveBayes
from honestbayes.sources import encode_classes
from honestbayes.types import AnyArray, IntArray


class TwoClassNaiveBayes(SelectiveNaiveBayes):
    """Base of estimators of binary features in two classes."""

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        return tags

    def _encode(self, y: Any) -> tuple[AnyArray, IntArray]:
        classes, is_class_1 = encode_classes(y)
        return classes, is_class_1.astype(np.int64)

    def predict(self, X: Any) -> AnyArray:
        """Return the more probable class of each row, the second where both are."""
        log_proba = self.predict_log_proba(X)
        result: AnyArray = self.classes_[(log_proba[:, 1] >= log_proba[:, 0]).astype(int)]
        return result
