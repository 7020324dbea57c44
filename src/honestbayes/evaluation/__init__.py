"""Cross-validation with feature selection inside each fold, and paired comparisons."""

from honestbayes.evaluation.cross_validation import (
    Evaluation,
    PairedDifference,
    compare,
    cross_validate,
)

__all__ = ["Evaluation", "PairedDifference", "compare", "cross_validate"]
