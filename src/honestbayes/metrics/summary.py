"""All scores of one set of predictions in one record."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from honestbayes.metrics.calibration import CalibrationFit, fit_calibration
from honestbayes.metrics.cases import (
    as_classes,
    as_log_probabilities,
    as_probabilities,
    log_loss_per_case,
    log_odds_of,
)
from honestbayes.metrics.estimate import (
    Estimate,
    check_level,
    fraction_estimate,
    group_codes,
    mean_estimate,
)
from honestbayes.metrics.scores import (
    auc_estimate,
    claimed_error_per_case,
    error_per_case,
    squared_error_per_case,
)
from honestbayes.types import FloatArray


@dataclass(frozen=True, slots=True)
class Summary:
    """How good and how honest the probabilities are.

    Attributes
    ----------
    n_cases, n_positive : int
        Cases, and cases of class 1.
    mean_probability : float
        Average P(class 1): the share of class 1 that the probabilities claim.
    expected_error : float
        The error rate that the probabilities claim.
    actual_error : Estimate
        The error rate at threshold 1/2.
    optimism : Estimate
        Actual minus expected error.
    log_score : Estimate
        Average minus log probability of the actual class.
    squared_error : Estimate
        Average of (y - p)^2.
    auc : Estimate
        NaN where only one class is present.
    calibration : CalibrationFit
        Slope and intercept of the log-odds.
    """

    n_cases: int
    n_positive: int
    mean_probability: float
    expected_error: float
    actual_error: Estimate
    optimism: Estimate
    log_score: Estimate
    squared_error: Estimate
    auc: Estimate
    calibration: CalibrationFit

    def to_dict(self) -> dict[str, Any]:
        """Return nested dictionaries of numbers."""
        return asdict(self)

    def __str__(self) -> str:
        level = f"{100 * self.optimism.level:g}%"
        return "\n".join(
            [
                f"{self.n_cases} cases, {self.n_positive} of class 1 (intervals: {level})",
                f"expected error     {self.expected_error:.3f}",
                f"actual error       {self.actual_error}",
                f"optimism           {self.optimism}",
                f"log score          {self.log_score}",
                f"squared error      {self.squared_error}",
                f"AUC                {self.auc}",
                f"calibration        {self.calibration}",
            ]
        )


def summarise(
    y_true: ArrayLike,
    p: ArrayLike,
    *,
    log_proba: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
) -> Summary:
    """Return all scores, with intervals.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Two labels.
    p : array-like, shape (n_cases,) or (n_repeats, n_cases)
        P(class 1). Repeats of cross-validation steady the estimates but do not narrow the
        intervals: standard errors are those of one repeat.
    log_proba : array-like, shape (n_cases, 2) or (n_repeats, n_cases, 2), optional
        ``predict_log_proba(X)``, beside `p`: used for the log score and the slope, exact where
        probabilities round to 0 or 1.
    pos_label : label, optional
        The label of class 1; by default 1, or the second label in sorted order.
    groups : array-like, shape (n_cases,), optional
        Cases of one group may depend on each other: standard errors are then over groups. The
        intervals of the calibration slope take cases as independent nevertheless.
    level : float
        Coverage of the intervals.

    Examples
    --------
    >>> y = [0, 0, 1, 0, 1, 1, 1, 0]
    >>> print(summarise(y, [0.01, 0.1, 0.2, 0.8, 0.9, 0.99, 0.6, 0.3]))
    8 cases, 4 of class 1 (intervals: 95%)
    expected error     0.165
    actual error       0.250 (0.071 to 0.591)
    optimism           0.085 (-0.301 to 0.471)
    log score          0.540 (0.000 to 1.110)
    squared error      0.194 (0.000 to 0.429)
    AUC                0.812 (0.427 to 0.962)
    calibration        slope 0.61 (-0.06 to 1.89), intercept 0.05 (-1.78 to 1.94)
    """
    y = as_classes(y_true, pos_label)
    probabilities = np.atleast_2d(as_probabilities(p, y.size, repeats=True))
    logs = None if log_proba is None else _logs_beside(log_proba, probabilities)
    codes, level = group_codes(groups, y.size), check_level(level)
    error = error_per_case(y, probabilities)
    claimed = claimed_error_per_case(probabilities)
    plain_error = mean_estimate(error, codes, level)
    log_odds = log_odds_of(probabilities, logs)
    return Summary(
        n_cases=y.size,
        n_positive=int(y.sum()),
        mean_probability=float(probabilities.mean()),
        expected_error=float(claimed.mean()),
        actual_error=fraction_estimate(
            plain_error.value,
            plain_error.standard_error,
            int(codes.max()) + 1,
            level,
            most=y.size,
        ),
        optimism=mean_estimate(error - claimed, codes, level),
        log_score=mean_estimate(
            log_loss_per_case(y, probabilities, logs), codes, level, lowest=0.0
        ),
        squared_error=mean_estimate(
            squared_error_per_case(y, probabilities), codes, level, lowest=0.0
        ),
        auc=auc_estimate(y, log_odds, codes, level),
        calibration=fit_calibration(y, log_odds, level),
    )


def _logs_beside(log_proba: ArrayLike, p: FloatArray) -> FloatArray:
    logs = as_log_probabilities(log_proba, p.shape[1])
    logs = logs[None] if logs.ndim == 2 else logs
    if logs.shape[:2] != p.shape:
        raise ValueError("log_proba and p hold different numbers of repeats; give the same.")
    return logs
