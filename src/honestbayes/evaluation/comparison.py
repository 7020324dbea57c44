"""Paired differences between estimators that predicted the same cases from the same folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from honestbayes.evaluation.cross_validation import Evaluation
from honestbayes.metrics import Estimate
from honestbayes.metrics.cases import as_predictions, log_loss_per_case, squared_error_per_case
from honestbayes.metrics.estimate import (
    OUT_OF_FOLD,
    check_level,
    group_codes,
    mean_estimate,
)
from honestbayes.types import FloatArray


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Scores of `first` minus scores of `second` on the same cases; below 0, `first` is better.

    Attributes
    ----------
    first, second : str
        Names of the evaluations.
    log_score, squared_error : Estimate
        Mean differences, with intervals over cases (or groups).

    Examples
    --------
    >>> from honestbayes.metrics import Estimate
    >>> log_score = Estimate(-0.05, 0.01, (-0.07, -0.03), 0.95)
    >>> brier = Estimate(-0.02, 0.01, (-0.04, 0.0), 0.95)
    >>> difference = PairedDifference("naive Bayes", "shares", log_score, brier)
    >>> difference.log_score.interval[1] < 0  # naive Bayes is better
    True
    """

    first: str
    second: str
    log_score: Estimate
    squared_error: Estimate

    def __str__(self) -> str:
        return (
            f"{self.first} minus {self.second}: log score {self.log_score}, "
            f"Brier score {self.squared_error}"
        )


def compare(
    evaluations: Mapping[str, Evaluation], *, level: float = 0.95
) -> tuple[PairedDifference, ...]:
    """Compare evaluations on the same folds, each pair of them, case by case.

    Parameters
    ----------
    evaluations : mapping of name to Evaluation
        Two or more; made with the same `cv` and `random_state`.
    level : float
        Coverage of the intervals.

    Returns
    -------
    tuple of PairedDifference
        Means over repeats, with intervals over cases (or groups), as wide as those of
        `Evaluation.summary` are.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.naive_bayes import BernoulliNB
    >>> from honestbayes.datasets import simulate_naive_bayes
    >>> from honestbayes.evaluation import cross_validate
    >>> data = simulate_naive_bayes(100, 0, 20, alpha=1.0, random_state=0)
    >>> models = {"naive Bayes": BernoulliNB(), "shares": DummyClassifier()}
    >>> found = {
    ...     name: cross_validate(model, data.X_train, data.y_train, cv=5, random_state=0)
    ...     for name, model in models.items()
    ... }
    >>> (difference,) = compare(found)
    >>> bool(difference.log_score.interval[1] < 0)  # naive Bayes is better
    True
    """
    if len(evaluations) < 2:
        raise ValueError(f"evaluations holds {len(evaluations)}; give two or more.")
    reference = next(iter(evaluations.values()))
    for name, other in evaluations.items():
        same = np.array_equal(other.y, reference.y) and np.array_equal(other.folds, reference.folds)
        if not same:
            raise ValueError(
                f"evaluations: {name!r} has other cases or folds than the first; use the same y, "
                "cv, n_repeats and random_state."
            )
    codes, level = group_codes(reference.groups, reference.y.size), check_level(level)
    losses = {name: _losses(evaluation) for name, evaluation in evaluations.items()}
    return tuple(
        PairedDifference(
            first,
            second,
            *(
                mean_estimate(a - b, codes, level, widened=OUT_OF_FOLD)
                for a, b in zip(losses[first], losses[second], strict=True)
            ),
        )
        for first, second in combinations(losses, 2)
    )


def _losses(evaluation: Evaluation) -> tuple[FloatArray, FloatArray]:
    """Return log loss and squared error of each case, shape (n_repeats, n_cases)."""
    y, logs = evaluation.y, evaluation.log_proba
    given = as_predictions(y, evaluation.proba, log_proba=logs, repeats=True)
    return log_loss_per_case(y, given.log_proba()), squared_error_per_case(y, given.proba)
