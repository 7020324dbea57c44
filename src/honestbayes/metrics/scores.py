"""Error rates, proper scores, confident predictions, their summary, and decision thresholds.

The paper is Li, Zhang and Neal (2008), section 4.

Every function takes P(class 1) of two classes, or a column of probabilities for each class.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from honestbayes.metrics.calibration import CalibrationFit, fit_calibration
from honestbayes.metrics.cases import (
    ClassArray,
    PerClass,
    as_predictions,
    as_probabilities,
    error_per_case,
    expected_error_per_case,
    log_loss_per_case,
    log_odds_against_first,
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
    wilson_interval,
)
from honestbayes.metrics.reliability import BrierDecomposition, decompose
from honestbayes.types import FloatArray


def expected_error(p: ArrayLike) -> float:
    """Return the error rate that the probabilities imply.

    (1/N) sum of p I(p < 0.5) + (1 - p) I(p >= 0.5) (the paper, section 4): the mean of 1 minus the
    largest probability, with any number of classes.

    Parameters
    ----------
    p : array-like, shape (n_cases,) or (n_cases, n_classes)
        P(class 1), or a column for each class.

    Examples
    --------
    >>> expected_error([0.125, 0.75])
    0.1875
    >>> expected_error([[0.125, 0.125, 0.75], [0.5, 0.25, 0.25]])
    0.375
    """
    return float(expected_error_per_case(as_probabilities(p)).mean())


def actual_error(
    y_true: ArrayLike, p: ArrayLike, *, pos_label: Any = None, classes: ArrayLike | None = None
) -> float:
    """Return the fraction of cases whose most probable class is not the actual one.

    With two classes, p = 0.5 predicts class 1; with more, the first of the largest is predicted.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Labels.
    p : array-like, shape (n_cases,) or (n_cases, n_classes)
        P(class 1), or a column for each class.
    pos_label : label, optional
        With two classes, the label of class 1; by default 1, or the second label in sorted order.
    classes : array-like, shape (n_classes,), optional
        The labels in the order of the columns; by default in sorted order, where all occur.

    Examples
    --------
    >>> actual_error([0, 1, 1, 0], [0.1, 0.9, 0.2, 0.3])
    0.25
    """
    given = as_predictions(y_true, p, pos_label=pos_label, classes=classes)
    return float(error_per_case(given.y, given.proba).mean())


def optimism(
    y_true: ArrayLike,
    p: ArrayLike,
    *,
    pos_label: Any = None,
    classes: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """Return the actual minus the expected error rate, with an interval.

    Above 0, the probabilities are overconfident. The standard error is paired: that of
    the mean over cases of (wrong or not) minus (predicted probability of being wrong).

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Labels.
    p : array-like, shape (n_cases,) or (n_cases, n_classes)
        P(class 1), or a column for each class.
    pos_label : label, optional
        With two classes, the label of class 1; by default 1, or the second label in sorted order.
    classes : array-like, shape (n_classes,), optional
        The labels in the order of the columns; by default in sorted order, where all occur.
    groups : array-like, shape (n_cases,), optional
        Cases of one group may depend on each other; the standard error is then over groups.
    level : float
        Coverage of the interval.

    Examples
    --------
    >>> print(optimism([0, 1, 1, 0], [0.1, 0.9, 0.2, 0.8]))
    0.350 (-0.477 to 1.177)
    """
    given = as_predictions(y_true, p, pos_label=pos_label, classes=classes)
    difference = error_per_case(given.y, given.proba) - expected_error_per_case(given.proba)
    return mean_estimate(difference, group_codes(groups, given.y.size), check_level(level))


def log_score(
    y_true: ArrayLike,
    p: ArrayLike | None = None,
    *,
    log_proba: ArrayLike | None = None,
    pos_label: Any = None,
    classes: ArrayLike | None = None,
) -> float:
    """Return the mean of minus the log probability of the actual class (natural logarithm).

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Labels.
    p : array-like, shape (n_cases,) or (n_cases, n_classes), optional
        P(class 1), or a column for each class. A probability of 0 for the actual class counts as
        the smallest normal double.
    log_proba : array-like, shape (n_cases, n_classes), optional
        ``predict_log_proba(X)``, instead of `p`: exact where probabilities round to 0 or 1.
    pos_label : label, optional
        With two classes, the label of class 1; by default 1, or the second label in sorted order.
    classes : array-like, shape (n_classes,), optional
        The labels in the order of the columns; by default in sorted order, where all occur.

    Examples
    --------
    >>> round(log_score([0, 1, 1, 0], [0.1, 0.9, 0.2, 0.3]), 3)
    0.544
    """
    if (p is None) == (log_proba is None):
        raise ValueError("give exactly one of p and log_proba.")
    given = as_predictions(y_true, p, log_proba=log_proba, pos_label=pos_label, classes=classes)
    return float(log_loss_per_case(given.y, given.log_proba()).mean())


def brier_score(
    y_true: ArrayLike, p: ArrayLike, *, pos_label: Any = None, classes: ArrayLike | None = None
) -> float:
    """Return the Brier score: for two classes the average of (y - p)^2 (the paper, section 4).

    For more than two classes, the average of the sum over classes of (1 or 0 - p)^2, which Brier
    (1950) defined. For two classes that sum is twice the value that is returned.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Labels.
    p : array-like, shape (n_cases,) or (n_cases, n_classes)
        P(class 1), or a column for each class.
    pos_label : label, optional
        With two classes, the label of class 1; by default 1, or the second label in sorted order.
    classes : array-like, shape (n_classes,), optional
        The labels in the order of the columns; by default in sorted order, where all occur.

    Examples
    --------
    >>> round(brier_score([0, 1, 1, 0], [0.1, 0.9, 0.2, 0.3]), 4)
    0.1875
    """
    given = as_predictions(y_true, p, pos_label=pos_label, classes=classes)
    return float(squared_error_per_case(given.y, given.proba).mean())


def auc(
    y_true: ArrayLike, p: ArrayLike, *, pos_label: Any = None, classes: ArrayLike | None = None
) -> float:
    """Return P(a case of class 1 has the higher p), ties counting one half.

    For more than two classes, the mean over ordered pairs of classes (c, d) of P(a case of c has
    the higher probability of c than a case of d), which is M of Hand and Till (Machine Learning 45,
    2001, 171-186). NaN where a class has no case.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Labels.
    p : array-like, shape (n_cases,) or (n_cases, n_classes)
        P(class 1), or a column for each class.
    pos_label : label, optional
        With two classes, the label of class 1; by default 1, or the second label in sorted order.
    classes : array-like, shape (n_classes,), optional
        The labels in the order of the columns; by default in sorted order, where all occur.

    Examples
    --------
    >>> auc([0, 1, 1, 0], [0.1, 0.9, 0.2, 0.3])
    0.75
    """
    given = as_predictions(y_true, p, pos_label=pos_label, classes=classes)
    if np.bincount(given.y, minlength=given.n_classes).min() == 0:
        return float("nan")
    return _auc_and_influence(given.y, given.proba[0])[0]


def auc_estimate(
    y: ClassArray,
    scores: FloatArray,
    codes: NDArray[np.intp],
    level: float,
    widened: float = 1.0,
) -> Estimate:
    """Return the AUC, averaged over repeats, with an interval as wide as that of one.

    The standard error is that of DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988, 837-845),
    for the mean over pairs of classes where there are more than two, summed over groups; the
    interval has Wilson's form, for the sample size that the error amounts to. That size is at most
    the one of :func:`_auc_sample_size`, which depends on the numbers of cases and hardly on the
    AUC: near an AUC of 1 hardly a case is out of order, and DeLong's error then tends to 0.

    Parameters
    ----------
    y : ndarray of int, shape (n_cases,)
        Classes.
    scores : ndarray, shape (n_repeats, n_cases, n_classes)
        Anything that rises with the probability of each class.
    codes : ndarray of int, shape (n_cases,)
        Group of each case.
    level : float
        Coverage.
    widened : float
        A factor on the standard error.
    """
    counts = np.bincount(y, minlength=scores.shape[-1])
    if counts.min() == 0:
        return Estimate(np.nan, np.inf, (0.0, 1.0), level)
    by_repeat = [_auc_and_influence(y, row) for row in scores]
    value = float(np.mean([one for one, _ in by_repeat]))
    if counts.min() == 1:
        return Estimate(value, np.inf, (0.0, 1.0), level)
    # n / (n - 1) within each class makes the sum DeLong's variance.
    scale = np.sqrt(1 / (counts * (counts - 1)))[y]
    n_groups = int(codes.max()) + 1
    squares = [clustered_error(influence * scale, codes) ** 2 for _, influence in by_repeat]
    error = widened * np.sqrt(np.mean(squares) * (n_groups - 1) / n_groups)
    units = counts
    if n_groups < y.size:  # cases of one group count as one
        units = np.bincount(np.unique(codes * counts.size + y) % counts.size)
    most = _auc_sample_size(value, units) / widened**2
    return fraction_estimate(value, float(error), most, level, most=most)


def _auc_sample_size(value: float, counts: NDArray[np.intp]) -> float:
    """Return n such that value (1 - value) / n is the variance of an AUC under a usual model.

    That of Newcombe (Statistics in Medicine 25, 2006, 559-573, method 5): Hanley and McNeil's
    variance (Radiology 143, 1982, 29-36) with the two class sizes replaced by their mean where
    they stand alone. For more than two classes, that of the mean over their pairs, where a case is
    taken to be equally well placed in all pairs that it belongs to.

    Parameters
    ----------
    value : float
        The AUC.
    counts : ndarray of int, shape (n_classes,)
        Independent cases of each class.
    """
    n_classes = counts.size
    shares = 1 / counts
    # Of all unordered pairs of different classes, the mean of 1 / (n_c n_d).
    both = (shares.sum() ** 2 - np.sum(shares**2)) / (n_classes * (n_classes - 1))
    alone = 2 / n_classes**2 * shares.sum() - both
    factor = (1 - value) / (2 - value) + value / (1 + value)
    return float(1 / (factor * alone + both))


def _auc_and_influence(y: ClassArray, scores: FloatArray) -> tuple[float, FloatArray]:
    """Return the AUC, and the contribution of each case: its placements less their means.

    With two classes one ordered pair is enough: the other gives the same value.
    """
    n_classes = scores.shape[1]
    pairs = [(1, 0)] if n_classes == 2 else list(permutations(range(n_classes), 2))
    total, influence = 0.0, np.zeros(y.size)
    for one, zero in pairs:
        chosen = (y == one) | (y == zero)
        is_one = y[chosen] == one
        placements = _placements(is_one, scores[chosen, one])
        value = float(placements[is_one].mean())
        total += value
        influence[chosen] += placements - value
    return total / len(pairs), influence / len(pairs)


def _placements(is_one: NDArray[np.bool_], scores: FloatArray) -> FloatArray:
    """Return the fraction of the other class on the right side of each case, ties one half."""
    ones, zeros = np.sort(scores[is_one]), np.sort(scores[~is_one])
    below = (np.searchsorted(zeros, scores) + np.searchsorted(zeros, scores, "right")) / 2
    above = ones.size - (np.searchsorted(ones, scores) + np.searchsorted(ones, scores, "right")) / 2
    return np.asarray(np.where(is_one, below / zeros.size, above / ones.size))


# --------------------------------------------------------------------------------------------------
# Confident predictions: how many there are, and how many were wrong
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidentPredictions:
    """Cases whose most probable class has at least a given probability.

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
        How many would be wrong if the probabilities were calibrated.
    wrong : Estimate
        n_wrong / n_confident, with Clopper and Pearson's interval for as many cases as the standard
        error amounts to; NaN without such cases.
    implied : float
        n_implied / n_confident; NaN without such cases.

    Examples
    --------
    >>> y, p = [0, 0, 1, 1, 1], [0.01, 0.97, 0.99, 0.98, 0.6]
    >>> counted = confident_predictions(y, p, at_least=0.95)
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
        """Whether the interval of the error rate is above the implied error rate."""
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
    """Count confident predictions and the errors among them.

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
    >>> counted = confident_predictions([0, 0, 1, 1, 1], [0.01, 0.97, 0.99, 0.98, 0.6])
    >>> counted.n_confident, counted.n_wrong, round(counted.n_implied, 2)
    (4.0, 1.0, 0.07)
    """
    if not 0.5 < at_least < 1:
        raise ValueError(f"at_least is {at_least}; give a probability between 0.5 and 1.")
    given = as_predictions(y_true, p, pos_label=pos_label, classes=classes, repeats=True)
    y = given.y
    codes, level = group_codes(groups, y.size), check_level(level)
    risk = expected_error_per_case(given.proba)
    # 1 - 0.95 is a little above 0.05 in doubles; a probability of exactly 0.95 counts.
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
        # A case that is wrong in half of the repeats does not add information on the rate.
        wrong=fraction_estimate(rate, error, n_units, level, most=n_confident, exact=True),
        implied=n_implied / n_confident,
    )


# --------------------------------------------------------------------------------------------------
# All scores of one set of predictions
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All scores of a set of predicted probabilities.

    Attributes
    ----------
    n_cases : int
        Cases.
    n_positive : int, or tuple of int
        Cases of class 1; with more than two classes, of each class.
    mean_probability : float, or tuple of float
        Average P(class 1): the predicted share of class 1. With more than two classes, of each
        class.
    expected_error : float
        The error rate that the probabilities predict.
    actual_error : Estimate
        The error rate of the most probable class; with two classes, at threshold 1/2.
    optimism : Estimate
        Actual minus expected error.
    log_score : Estimate
        Average minus log probability of the actual class.
    squared_error : Estimate
        Average of (y - p)^2; with more than two classes, summed over them.
    squared_error_parts : BrierDecomposition
        Its calibration and refinement, in ten bins with about equal numbers of cases.
    auc : Estimate
        With more than two classes, the mean over pairs of them. NaN where a class has no case.
    calibration : CalibrationFit
        Slope and intercept of the log-odds.

    Examples
    --------
    >>> summary = summarise([0, 0, 1, 0, 1, 1], [0.01, 0.1, 0.2, 0.8, 0.9, 0.99])
    >>> round(summary.expected_error, 3), round(summary.actual_error.value, 3)
    (0.103, 0.333)
    >>> print(summary.auc)
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
    squared_error_parts: BrierDecomposition
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
        squared_error_parts=decompose(y, proba, np.full(y.size, 1 / y.size)),
        auc=auc_estimate(y, log_odds_against_rest(logs), codes, level, wide),
        calibration=fit_calibration(y, logs, level),
    )


# --------------------------------------------------------------------------------------------------
# Decisions at a threshold
#
# Vickers, A. J. and Elkin, E. B. (2006). Decision curve analysis: a novel method for evaluating
# prediction models. Medical Decision Making 26, 565-574.
# --------------------------------------------------------------------------------------------------


DEFAULT_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ThresholdTable:
    """Results of acting on all cases with P(class 1) at or above a threshold.

    Attributes
    ----------
    threshold : ndarray of shape (t,)
        Thresholds.
    acted_on : ndarray of shape (t,)
        Share of the cases at or above the threshold, at the given prevalence.
    sensitivity, specificity : ndarray of shape (t,)
        Share of class 1 acted on, and share of class 0 left alone.
    sensitivity_interval, specificity_interval : ndarray of shape (t, 2)
        Wilson intervals.
    net_benefit, net_benefit_all : ndarray of shape (t,)
        Of the model, and of acting on every case: true positives less false positives times
        t / (1 - t), per case. Of acting on none it is 0.
    prevalence : float
        Share of class 1 that was assumed.
    level : float
        Coverage of the intervals.

    Examples
    --------
    >>> table = threshold_table([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.9], thresholds=[0.2, 0.5])
    >>> table.net_benefit.round(3).tolist(), table.net_benefit_all.round(3).tolist()
    ([0.438, 0.25], [0.375, 0.0])
    """

    threshold: FloatArray
    acted_on: FloatArray
    sensitivity: FloatArray
    sensitivity_interval: FloatArray
    specificity: FloatArray
    specificity_interval: FloatArray
    net_benefit: FloatArray
    net_benefit_all: FloatArray
    prevalence: float
    level: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in values.items()
        }


def threshold_table(
    y_true: ArrayLike,
    p: ArrayLike,
    *,
    thresholds: ArrayLike = DEFAULT_THRESHOLDS,
    prevalence: float | None = None,
    pos_label: Any = None,
    level: float = 0.95,
) -> ThresholdTable:
    """Tabulate sensitivity, specificity and net benefit by decision threshold.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Two labels, both present.
    p : array-like, shape (n_cases,) or (n_repeats, n_cases), or with a last axis for both classes
        P(class 1) at the prevalence among the cases; several predictions of a case share its
        weight.
    thresholds : array-like, shape (t,)
        Between 0 and 1.
    prevalence : float, optional
        Share of class 1 where the decisions are made; by default that of the cases. Probabilities
        are moved to it by an offset of the log-odds.
    pos_label : label, optional
        The label of class 1; by default 1, or the second label in sorted order.
    level : float
        Coverage of the intervals, which take cases as independent.

    Examples
    --------
    >>> table = threshold_table([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.9], thresholds=[0.2, 0.5])
    >>> table.sensitivity.tolist(), table.specificity.tolist()
    ([1.0, 0.5], [0.5, 1.0])
    """
    given = as_predictions(y_true, p, pos_label=pos_label, repeats=True)
    if given.n_classes > 2:
        raise ValueError("p has more than two columns, but thresholds need two classes.")
    y, probabilities = given.y, given.proba[..., 1]
    cut = np.asarray(thresholds, dtype=np.float64)
    if cut.ndim != 1 or not np.all((cut > 0) & (cut < 1)):
        raise ValueError("thresholds must be numbers between 0 and 1.")
    n_1, n_0 = int(y.sum()), int(np.sum(1 - y))
    if not n_1 or not n_0:
        raise ValueError("y_true holds one class only; sensitivity and specificity need both.")
    share = n_1 / y.size
    if prevalence is not None:
        if not 0 < prevalence < 1:
            raise ValueError(f"prevalence is {prevalence}; give a number between 0 and 1.")
        log_odds = log_odds_against_first(given.log_proba())[..., 1]
        moved = log_odds + logit(prevalence) - logit(share)
        probabilities, share = expit(moved), prevalence
    positive = probabilities[None, :, :] >= cut[:, None, None]
    hits = positive[:, :, y == 1].mean(axis=1).sum(axis=1)
    alarms = positive[:, :, y == 0].mean(axis=1).sum(axis=1)
    sensitivity, specificity = hits / n_1, 1 - alarms / n_0
    odds = cut / (1 - cut)
    check_level(level)
    return ThresholdTable(
        threshold=cut,
        acted_on=share * sensitivity + (1 - share) * (1 - specificity),
        sensitivity=sensitivity,
        sensitivity_interval=np.stack(wilson_interval(hits, n_1, level), axis=1),
        specificity=specificity,
        specificity_interval=np.stack(wilson_interval(n_0 - alarms, n_0, level), axis=1),
        net_benefit=share * sensitivity - (1 - share) * (1 - specificity) * odds,
        net_benefit_all=share - (1 - share) * odds,
        prevalence=share,
        level=level,
    )
