"""All scores of one set of predictions in one record."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from honestbayes.metrics.calibration import CalibrationFit, fit_calibration
from honestbayes.metrics.cases import (
    PerClass,
    as_predictions,
    error_per_case,
    expected_error_per_case,
    log_loss_per_case,
    log_odds_against_rest,
    squared_error_per_case,
)
from honestbayes.metrics.estimate import (
    OUT_OF_FOLD,
    Estimate,
    check_level,
    clustered_error,
    fraction_estimate,
    group_codes,
    mean_estimate,
)
from honestbayes.metrics.scores import auc_estimate

# --------------------------------------------------------------------------------------------------
# What happened to the cases of which the model claimed to be nearly sure
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidentPredictions:
    """Cases whose most probable class was claimed with at least a given probability.

    Attributes
    ----------
    at_least : float
        The probability from which a case counts.
    n_cases : int
        All cases.
    n_confident, n_wrong : float
        Such cases, and those of them that were of another class; with several predictions of
        each case, their average numbers.
    n_implied : float
        How many would have been wrong, had the claims been honest.
    wrong : Estimate
        n_wrong / n_claimed, with Clopper and Pearson's interval for as many cases as the standard
        error amounts to; NaN without such cases.
    implied : float
        n_implied / n_claimed; NaN without such cases.

    Examples
    --------
    >>> counted = claims([0, 0, 1, 1, 1], [0.01, 0.97, 0.99, 0.98, 0.6], at_least=0.95)
    >>> print(counted.wrong)
    0.250 (0.006 to 0.806)
    >>> counted.broken
    False
    """

    at_least: float
    n_cases: int
    n_confident: float
    n_wrong: float
    n_implied: float
    wrong: Estimate
    implied: float

    @property
    def broken(self) -> bool:
        """Whether more went wrong than the claims allow: the interval is above what they imply."""
        return self.wrong.interval[0] > self.implied

    def to_dict(self) -> dict[str, Any]:
        """Return nested dictionaries of numbers."""
        return asdict(self)


def confident_predictions(
    y_true: ArrayLike,
    p: ArrayLike,
    *,
    at_least: float = 0.95,
    pos_label: Any = None,
    classes: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
) -> ConfidentPredictions:
    """Count the cases claimed with at least some probability, and those of them that were wrong.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Labels.
    p : array-like, shape (n_cases,) or (n_repeats, n_cases), or with a last axis for the classes
        P(class 1), or a column for each class.
    at_least : float, default=0.95
        Probability of the most probable class from which a case counts.
    pos_label : label, optional
        With two classes, the label of class 1; by default 1, or the second label in sorted order.
    classes : array-like, shape (n_classes,), optional
        The labels in the order of the columns; by default in sorted order, where all occur.
    groups : array-like, shape (n_cases,), optional
        Cases of one group may depend on each other: the standard error is then over groups.
    level : float
        Coverage of the interval.

    Examples
    --------
    >>> counted = claims([0, 0, 1, 1, 1], [0.01, 0.97, 0.99, 0.98, 0.6])
    >>> counted.n_claimed, counted.n_wrong, round(counted.n_implied, 2)
    (4.0, 1.0, 0.07)
    """
    if not 0.5 < at_least < 1:
        raise ValueError(f"at_least is {at_least}; give a probability between 0.5 and 1.")
    given = as_predictions(y_true, p, pos_label=pos_label, classes=classes, repeats=True)
    y = given.y
    codes, level = group_codes(groups, y.size), check_level(level)
    risk = expected_error_per_case(given.proba)
    # 1 - 0.95 is a little above 0.05 in doubles; a claim of exactly 0.95 counts.
    sure = risk <= 1 - at_least
    predicted = sure.mean(axis=0)
    wrong = (sure * error_per_case(y, given.proba)).mean(axis=0)
    n_confident, n_wrong = float(predicted.sum()), float(wrong.sum())
    n_implied = float((sure * risk).mean(axis=0).sum())
    if n_confident == 0:
        nothing = Estimate(np.nan, np.inf, (0.0, 1.0), level)
        return ConfidentPredictions(
            at_least=at_least,
            n_cases=y.size,
            n_confident=0.0,
            n_wrong=0.0,
            n_implied=0.0,
            wrong=nothing,
            implied=np.nan,
        )
    rate = n_wrong / n_confident
    error = clustered_error((wrong - rate * predicted) / n_confident, codes)
    n_units = (
        n_confident if groups is None else min(n_confident, np.unique(codes[predicted > 0]).size)
    )
    return ConfidentPredictions(
        at_least=at_least,
        n_cases=y.size,
        n_confident=n_confident,
        n_wrong=n_wrong,
        n_implied=n_implied,
        # One case that is wrong in half of the repeats does not make the claims better known.
        wrong=fraction_estimate(rate, error, n_units, level, most=n_confident, exact=True),
        implied=n_implied / n_confident,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """How good and how honest the probabilities are.

    Attributes
    ----------
    n_cases : int
        Cases.
    n_positive : int, or tuple of int
        Cases of class 1; with more than two classes, of each class.
    mean_probability : float, or tuple of float
        Average P(class 1): the share of class 1 that the probabilities claim. With more than two
        classes, of each class.
    expected_error : float
        The error rate that the probabilities claim.
    actual_error : Estimate
        The error rate of the most probable class; with two classes, at threshold 1/2.
    optimism : Estimate
        Actual minus expected error.
    log_score : Estimate
        Average minus log probability of the actual class.
    squared_error : Estimate
        Average of (y - p)^2; with more than two classes, summed over them.
    auc : Estimate
        With more than two classes, the mean over pairs of them. NaN where a class has no case.
    calibration : CalibrationFit
        Slope and intercept of the log-odds.

    Examples
    --------
    >>> found = summarise([0, 0, 1, 0, 1, 1], [0.01, 0.1, 0.2, 0.8, 0.9, 0.99])
    >>> round(found.expected_error, 3), round(found.actual_error.value, 3)
    (0.103, 0.333)
    >>> print(found.auc)
    0.889 (0.417 to 0.989)
    """

    n_cases: int
    n_positive: PerClass
    mean_probability: PerClass
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
        classes, summed = f"{self.n_positive} of class 1", ""
        if isinstance(self.n_positive, tuple):
            classes = f"{' + '.join(str(n) for n in self.n_positive)} of the classes"
            summed = ", summed over the classes"
        return "\n".join(
            [
                f"{self.n_cases} cases, {classes} (intervals: {level})",
                f"expected error     {self.expected_error:.3f}",
                f"actual error       {self.actual_error}",
                f"optimism           {self.optimism}",
                f"log score          {self.log_score}",
                f"Brier score        {self.squared_error}{summed}",
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
    classes: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    out_of_fold: bool = False,
) -> Summary:
    """Return all scores, with intervals.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Labels.
    p : array-like, shape (n_cases,) or (n_repeats, n_cases), or with a last axis for the classes
        P(class 1), or a column for each class. Repeats of cross-validation steady the estimates but
        do not narrow the intervals: standard errors are those of one repeat. A table with as many
        columns as cases is read as P(class 1) by repeats, unless there are more than two labels or
        `classes` says otherwise.
    log_proba : array-like, shape (n_cases, n_classes) or (n_repeats, n_cases, n_classes), optional
        ``predict_log_proba(X)``, beside `p`: used for the log score and the slope, exact where
        probabilities round to 0 or 1.
    pos_label : label, optional
        With two classes, the label of class 1; by default 1, or the second label in sorted order.
    classes : array-like, shape (n_classes,), optional
        The labels in the order of the columns; by default in sorted order, where all occur.
    groups : array-like, shape (n_cases,), optional
        Cases of one group may depend on each other: standard errors are then over groups. The
        intervals of the calibration slope take cases as independent nevertheless.
    level : float
        Coverage of the intervals.
    out_of_fold : bool, default=False
        Whether the cases were predicted by cross-validation. The intervals are then for the
        average score of the models of the folds on new cases, and wider than for one model by
        half. The interval of the calibration slope is that of one model nevertheless.

    Examples
    --------
    >>> y = [0, 0, 1, 0, 1, 1, 1, 0]
    >>> print(summarise(y, [0.01, 0.1, 0.2, 0.8, 0.9, 0.99, 0.6, 0.3]))
    8 cases, 4 of class 1 (intervals: 95%)
    expected error     0.165
    actual error       0.250 (0.071 to 0.591)
    optimism           0.085 (-0.301 to 0.471)
    log score          0.540 (0.187 to 1.554)
    Brier score        0.194 (0.058 to 0.651)
    AUC                0.812 (0.408 to 0.965)
    calibration        slope 0.61 (-0.06 to 1.89), intercept 0.05 (-1.78 to 1.94)
    """
    given = as_predictions(
        y_true, p, log_proba=log_proba, pos_label=pos_label, classes=classes, repeats=True
    )
    y, proba, logs = given.y, given.proba, given.log_proba()
    codes, level = group_codes(groups, y.size), check_level(level)
    error, predicted = error_per_case(y, proba), expected_error_per_case(proba)
    wide = OUT_OF_FOLD if out_of_fold else 1.0
    plain_error = mean_estimate(error, codes, level, widened=wide)
    counts = np.bincount(y, minlength=given.n_classes)
    shares = [float(proba[..., c].mean()) for c in range(given.n_classes)]
    two = given.n_classes == 2
    return Summary(
        n_cases=y.size,
        n_positive=int(counts[1]) if two else tuple(counts.tolist()),
        mean_probability=shares[1] if two else tuple(shares),
        expected_error=float(predicted.mean()),
        actual_error=fraction_estimate(
            plain_error.value,
            plain_error.standard_error,
            (int(codes.max()) + 1) / wide**2,
            level,
            most=y.size / wide**2,
        ),
        optimism=mean_estimate(error - predicted, codes, level, widened=wide),
        log_score=mean_estimate(
            log_loss_per_case(y, logs), codes, level, positive=True, widened=wide
        ),
        squared_error=mean_estimate(
            squared_error_per_case(y, proba), codes, level, positive=True, widened=wide
        ),
        auc=auc_estimate(y, log_odds_against_rest(logs), codes, level, wide),
        calibration=fit_calibration(y, logs, level),
    )
