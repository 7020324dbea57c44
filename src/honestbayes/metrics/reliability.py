"""Predicted probabilities and observed frequencies, by first decimal and in bins.

And what follows from bins: how much of the squared error is calibration, how much refinement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from honestbayes.metrics.cases import ClassArray, as_predictions, top_class
from honestbayes.metrics.estimate import check_level, exact_interval, wilson_interval
from honestbayes.types import FloatArray

CountArray = NDArray[np.int64]

FEWEST_IN_BIN = 3
"""Cases of a bin from which on it is drawn: the fraction of one or two cases shows nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationTable:
    """Predicted and observed frequencies by the first decimal of P(class 1) (the paper, Table 1).

    With more than two classes, of the probability of the most probable class: "in class 1" then
    reads "in the class that was most probable".

    Attributes
    ----------
    category : ndarray of int, shape (10,)
        The first decimal; probability 1 belongs to 9.
    n : ndarray, shape (10,)
        Cases in the category; with several predictions of each case, their average number.
    predicted : ndarray of float, shape (10,)
        Their average probability of class 1; NaN without cases.
    actual : ndarray of float, shape (10,)
        The fraction of them in class 1; NaN without cases.

    Examples
    --------
    >>> table = calibration_table([0, 0, 1, 1], [0.12, 0.18, 0.14, 0.95])
    >>> table.n.tolist()
    [0, 3, 0, 0, 0, 0, 0, 0, 0, 1]
    >>> table.predicted.round(3).tolist()[1], table.actual.round(3).tolist()[1]
    (0.147, 0.333)
    """

    category: CountArray
    n: CountArray | FloatArray
    predicted: FloatArray
    actual: FloatArray

    def to_dict(self) -> dict[str, list[int] | list[float | None]]:
        """Return plain lists, None where there are no cases, ready for JSON or a data frame."""
        return {
            "category": self.category.tolist(),
            "n": self.n.tolist(),
            "predicted": _without_nan(self.predicted),
            "actual": _without_nan(self.actual),
        }

    def __str__(self) -> str:
        lines = ["C      #   Pred  Actual"]
        for category, n, predicted, actual in zip(
            self.category, self.n, self.predicted, self.actual, strict=True
        ):
            cells = (f"{predicted:.3f}", f"{actual:.3f}") if n else ("—", "—")
            lines.append(f"{category} {n:6g}  {cells[0]:>5}   {cells[1]:>5}")
        return "\n".join(lines)


def calibration_table(
    y_true: ArrayLike, p: ArrayLike, *, pos_label: Any = None, classes: ArrayLike | None = None
) -> CalibrationTable:
    """Group cases by the first decimal of P(class 1) (the paper, Table 1).

    With more than two classes, by that of the most probable class, beside how often it was right.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Labels.
    p : array-like, shape (n_cases,) or (n_repeats, n_cases), or with a last axis for the classes
        P(class 1), or a column for each class; several predictions of a case share its weight.
    pos_label : label, optional
        With two classes, the label of class 1; by default 1, or the second label in sorted order.
    classes : array-like, shape (n_classes,), optional
        The labels in the order of the columns; by default in sorted order, where all occur.

    Examples
    --------
    >>> print(calibration_table([0, 0, 1, 1], [0.12, 0.18, 0.14, 0.95]))
    C      #   Pred  Actual
    0      0      —       —
    1      3  0.147   0.333
    2      0      —       —
    3      0      —       —
    4      0      —       —
    5      0      —       —
    6      0      —       —
    7      0      —       —
    8      0      —       —
    9      1  0.950   1.000
    """
    observed, probabilities, n_repeats = _events(y_true, p, pos_label, classes)
    category = np.minimum(np.floor(probabilities * 10), 9).astype(np.int64)
    n = np.bincount(category, minlength=10)
    return CalibrationTable(
        category=np.arange(10),
        n=_per_repeat(n, n_repeats),
        predicted=_mean_in_bins(probabilities, category, n),
        actual=_mean_in_bins(observed.astype(np.float64), category, n),
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ReliabilityCurve:
    """Predicted and observed frequencies in bins of P(class 1); empty bins are left out.

    With more than two classes, of the probability of the most probable class: "in class 1" then
    reads "in the class that was most probable".

    Attributes
    ----------
    lower_edge, upper_edge : ndarray, shape (n_bins,)
        Bounds of each bin; the upper one belongs to the last bin only.
    n : ndarray, shape (n_bins,)
        Cases in the bin; with several predictions of each case, their average number.
    predicted, actual : ndarray, shape (n_bins,)
        Average probability of class 1, and the fraction of cases in class 1.
    lower, upper : ndarray, shape (n_bins,)
        Binomial interval for the fraction.
    level : float
        Coverage of each interval, one bin at a time.

    Examples
    --------
    >>> curve = reliability([0, 0, 1, 1], [0.12, 0.18, 0.14, 0.95], n_bins=2)
    >>> curve.lower.round(2).tolist(), curve.upper.round(2).tolist()
    ([0.06, 0.21], [0.79, 1.0])
    """

    lower_edge: FloatArray
    upper_edge: FloatArray
    n: CountArray | FloatArray
    predicted: FloatArray
    actual: FloatArray
    lower: FloatArray
    upper: FloatArray
    level: float

    @property
    def is_drawn(self) -> NDArray[np.bool_]:
        """Which bins have enough cases to be plotted, shape (n_bins,)."""
        return np.asarray(self.n >= FEWEST_IN_BIN)


def reliability(
    y_true: ArrayLike,
    p: ArrayLike,
    *,
    n_bins: int = 10,
    strategy: Literal["uniform", "quantile"] = "uniform",
    interval: Literal["wilson", "exact"] = "wilson",
    level: float = 0.95,
    pos_label: Any = None,
    classes: ArrayLike | None = None,
) -> ReliabilityCurve:
    """Group cases into bins of P(class 1), with a binomial interval for each.

    With more than two classes, into bins of the probability of the most probable class, beside how
    often it was right.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Labels.
    p : array-like, shape (n_cases,) or (n_repeats, n_cases), or with a last axis for the classes
        P(class 1), or a column for each class; several predictions of a case share its weight, so
        that repeats do not narrow the intervals.
    n_bins : int
        Number of bins.
    strategy : {"uniform", "quantile"}
        Bins of equal width, or with about equal numbers of cases (fewer where values tie).
    interval : {"wilson", "exact"}
        Wilson's score interval, or Clopper and Pearson's, which covers at least `level`.
    level : float
        Coverage of the intervals.
    pos_label : label, optional
        With two classes, the label of class 1; by default 1, or the second label in sorted order.
    classes : array-like, shape (n_classes,), optional
        The labels in the order of the columns; by default in sorted order, where all occur.

    Examples
    --------
    >>> curve = reliability([0, 0, 1, 1], [0.12, 0.18, 0.14, 0.95], n_bins=2)
    >>> curve.n.tolist(), curve.predicted.round(3).tolist(), curve.actual.round(3).tolist()
    ([3, 1], [0.147, 0.95], [0.333, 1.0])
    """
    observed, probabilities, n_repeats = _events(y_true, p, pos_label, classes)
    edges = _edges(probabilities, n_bins, strategy)
    bins = np.searchsorted(edges[1:-1], probabilities, side="right")
    n = np.bincount(bins, minlength=edges.size - 1)
    ones = np.bincount(bins[observed == 1], minlength=edges.size - 1)
    used = n > 0
    intervals = {"wilson": wilson_interval, "exact": exact_interval}
    if interval not in intervals:
        raise ValueError(f"interval is {interval!r}; give 'wilson' or 'exact'.")
    lower, upper = intervals[interval](
        ones[used] / n_repeats, n[used] / n_repeats, check_level(level)
    )
    return ReliabilityCurve(
        lower_edge=edges[:-1][used],
        upper_edge=edges[1:][used],
        n=_per_repeat(n[used], n_repeats),
        predicted=_mean_in_bins(probabilities, bins, n)[used],
        actual=ones[used] / n[used],
        lower=lower,
        upper=upper,
        level=level,
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SmoothCalibration:
    """Observed frequency as a smooth function of P(class 1), with a pointwise interval.

    With more than two classes, of the probability of the most probable class.

    Attributes
    ----------
    predicted : ndarray, shape (n_points,)
        Weighted average probability around each point, in ascending order; NaN where too few cases
        are near.
    observed, lower, upper : ndarray, shape (n_points,)
        Weighted fraction of the same cases in class 1, and its interval.
    level : float
        Coverage of the interval, one point at a time.
    bandwidth : float
        Standard deviation of the Gaussian weights, on the scale of probabilities.

    Examples
    --------
    >>> curve = smooth_calibration([0, 0, 1, 1] * 5, [0.2, 0.3, 0.4, 0.9] * 5)
    >>> float(curve.predicted[40].round(2)), float(curve.observed[40].round(2))
    (0.34, 0.51)
    """

    predicted: FloatArray
    observed: FloatArray
    lower: FloatArray
    upper: FloatArray
    level: float
    bandwidth: float


def smooth_calibration(
    y_true: ArrayLike,
    p: ArrayLike,
    *,
    bandwidth: float | None = None,
    level: float = 0.95,
    n_points: int = 101,
    pos_label: Any = None,
    classes: ArrayLike | None = None,
) -> SmoothCalibration:
    """Estimate the observed frequency as a smooth function of the predicted probability.

    A bin that slides: around each point g of a grid on [0, 1], cases have the weight
    w = exp(-((p - g) / h)^2 / 2). The curve goes through the weighted averages of p and of y. Both
    are averages over the same cases, so that calibrated probabilities lie on the diagonal whatever
    their distribution; a smoother of y at g itself would be biased near 0 and 1. The interval is
    Wilson's with (sum w)^2 / sum w^2 cases.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Labels.
    p : array-like, shape (n_cases,) or (n_repeats, n_cases), or with a last axis for the classes
        P(class 1), or a column for each class; several predictions of a case share its weight, so
        that repeats do not narrow the interval.
    bandwidth : float, optional
        h; by default 0.3 n^(-1/4), between 0.03 and 0.12.
    level : float
        Coverage of the interval.
    n_points : int
        Points of the grid.
    pos_label : label, optional
        With two classes, the label of class 1; by default 1, or the second label in sorted order.
    classes : array-like, shape (n_classes,), optional
        The labels in the order of the columns; by default in sorted order, where all occur.

    Examples
    --------
    >>> y, p = [0, 0, 1, 0, 1, 1] * 10, [0.1, 0.2, 0.3, 0.7, 0.8, 0.9] * 10
    >>> curve = smooth_calibration(y, p, n_points=3)
    >>> curve.predicted.round(2).tolist(), curve.observed.round(2).tolist()
    ([0.13, 0.5, 0.87], [0.02, 0.5, 0.98])
    """
    flat_observed, flat_p, n_repeats = _events(y_true, p, pos_label, classes)
    observed, probabilities = flat_observed.reshape(n_repeats, -1), flat_p.reshape(n_repeats, -1)
    n = observed.shape[1]
    h = float(np.clip(0.3 * n**-0.25, 0.03, 0.12)) if bandwidth is None else float(bandwidth)
    if not 0 < h < np.inf:
        raise ValueError(f"bandwidth is {h}; give a number above 0, such as 0.1.")
    if n_points < 2:
        raise ValueError(f"n_points is {n_points}; give 2 or more.")
    curve = np.full((4, n_points), np.nan)
    for index, point in enumerate(np.linspace(0, 1, n_points)):
        w = np.exp(-0.5 * ((probabilities - point) / h) ** 2) / n_repeats
        total, of_case = w.sum(), w.sum(axis=0)
        # The largest weight is 1, so that this is at most the effective number below.
        if total < FEWEST_IN_BIN:
            continue
        n_effective = total**2 / (of_case @ of_case)
        share = min(float((w * observed).sum() / total), 1.0)
        low, high = wilson_interval(share * n_effective, n_effective, check_level(level))
        curve[:, index] = (w * probabilities).sum() / total, share, float(low), float(high)
    return SmoothCalibration(
        predicted=curve[0],
        observed=curve[1],
        lower=curve[2],
        upper=curve[3],
        level=level,
        bandwidth=h,
    )


# --------------------------------------------------------------------------------------------------
# Calibration and refinement: the two parts of the squared error
#
# DeGroot, M. H. and Fienberg, S. E. (1983). The comparison and evaluation of forecasters. The
# Statistician 32, 12-22. Gidofalvi and Zadrozny, section 3.1, select features by their sum.
# Stephenson, D. B., Coelho, C. A. S. and Jolliffe, I. T. (2008). Two extra components in the Brier
# score decomposition. Weather and Forecasting 23, 752-757.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BrierDecomposition:
    """The Brier score as a sum of calibration, refinement, and a remainder within bins.

    With more than two classes, sums over the classes, as the score is.

    Attributes
    ----------
    calibration : float
        Average over bins of (predicted - observed frequency)^2; 0 where all bins are calibrated.
    refinement : float
        Average over bins of f (1 - f), f being the observed frequency of the class: the squared
        error that is left when each bin predicts what was observed in it. The lower, the more the
        probabilities tell cases apart; 0 where each bin holds one class only.
    within_bins : float
        Variance of the probabilities within bins less twice their covariance with the class: 0
        where a bin holds one probability only, negative where differences within bins are of use.
    expected_calibration : float
        What ``calibration`` would be on average if the probabilities were calibrated: the observed
        frequency of a bin with few cases is off by chance.
    uncertainty : float
        Squared error of the class frequencies, predicted for every case.

    Examples
    --------
    >>> parts = brier_decomposition([0, 0, 1, 1], [0.2, 0.2, 0.2, 0.9], n_bins=None)
    >>> round(parts.calibration, 4), round(parts.refinement, 4), round(parts.within_bins, 4)
    (0.0158, 0.1667, 0.0)
    """

    calibration: float
    refinement: float
    within_bins: float
    expected_calibration: float
    uncertainty: float

    @property
    def squared_error(self) -> float:
        """The Brier score, which is the sum of the first three."""
        return self.calibration + self.refinement + self.within_bins

    @property
    def resolution(self) -> float:
        """Resolution: uncertainty minus refinement."""
        return self.uncertainty - self.refinement


def brier_decomposition(
    y_true: ArrayLike,
    p: ArrayLike,
    *,
    n_bins: int | None = 10,
    strategy: Literal["uniform", "quantile"] = "quantile",
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    classes: ArrayLike | None = None,
) -> BrierDecomposition:
    """Split the Brier score into calibration and refinement (DeGroot and Fienberg, 1983).

    Cases are put into bins of similar probability of a class. With s the average probability of a
    bin, f the frequency of the class in it, and averages over cases,

        (y - p)^2 = (s - f)^2 + f (1 - f) + var(p) - 2 cov(p, y),

    calibration, refinement, and two terms within bins (Stephenson, Coelho and Jolliffe, 2008) that
    vanish where a bin holds a single probability, which DeGroot and Fienberg presume.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Labels.
    p : array-like, shape (n_cases,) or (n_repeats, n_cases), or with a last axis for the classes
        P(class 1), or a column for each class, which is then decomposed by bins of its own;
        several predictions of a case share its weight.
    n_bins : int or None
        Number of bins; None: one for each different probability, for models that give few of them.
    strategy : {"uniform", "quantile"}
        Bins of equal width, or with about equal numbers of cases (fewer where values tie).
    sample_weight : array-like, shape (n_cases,), optional
        What each case counts.
    pos_label : label, optional
        With two classes, the label of class 1; by default 1, or the second label in sorted order.
    classes : array-like, shape (n_classes,), optional
        The labels in the order of the columns; by default in sorted order, where all occur.

    Examples
    --------
    >>> y, p = [0, 0, 1, 1, 0, 1], [0.1, 0.3, 0.3, 0.9, 0.6, 0.8]
    >>> parts = brier_decomposition(y, p, n_bins=2)
    >>> round(parts.calibration, 4), round(parts.refinement, 4), round(parts.squared_error, 4)
    (0.01, 0.2222, 0.1667)
    """
    given = as_predictions(y_true, p, pos_label=pos_label, classes=classes, repeats=True)
    weight = np.ones(given.y.size) if sample_weight is None else np.asarray(sample_weight, float)
    if weight.shape != given.y.shape:
        raise ValueError(
            f"sample_weight has the shape {weight.shape}; give one number for each of the "
            f"{given.y.size} cases."
        )
    if not (np.all(weight >= 0) and 0 < weight.sum() < np.inf):
        raise ValueError("sample_weight must be finite numbers of 0 or more, not all of them 0.")
    return decompose(given.y, given.proba, weight / weight.sum(), n_bins, strategy)


def decompose(
    y: ClassArray,
    proba: FloatArray,
    weight: FloatArray,
    n_bins: int | None = 10,
    strategy: str = "quantile",
) -> BrierDecomposition:
    """Return the decomposition of probabilities (n_repeats, n, C), for weights that sum to 1."""
    n_repeats, _, n_classes = proba.shape
    used = weight > 0
    share = np.tile(weight[used], n_repeats) / n_repeats
    total = np.zeros(5)
    for c in (1,) if n_classes == 2 else range(n_classes):
        observed = np.tile(y[used] == c, n_repeats).astype(np.float64)
        p = proba[:, used, c].ravel()
        if n_bins is None:
            bins = np.unique(p, return_inverse=True)[1]
        else:
            bins = np.searchsorted(_edges(p, n_bins, strategy)[1:-1], p, side="right")
        bins = np.unique(bins, return_inverse=True)[1]  # without those that are empty
        size = np.bincount(bins, share)
        predicted = np.bincount(bins, share * p) / size
        actual = np.bincount(bins, share * observed) / size
        away = p - predicted[bins]
        # Repeats of a case are of one class: their frequency in a bin is as uncertain as with one.
        chance = n_repeats * np.bincount(bins, share**2 * p * (1 - p)) / size
        frequency = share @ observed
        total += (
            size @ (predicted - actual) ** 2,
            size @ (actual * (1 - actual)),
            share @ (away * (away - 2 * (observed - actual[bins]))),
            chance.sum(),
            frequency * (1 - frequency),
        )
    calibration, refinement, within, expected, uncertainty = total.tolist()
    return BrierDecomposition(
        calibration=calibration,
        refinement=refinement,
        within_bins=within,
        expected_calibration=expected,
        uncertainty=uncertainty,
    )


def _events(
    y_true: ArrayLike, p: ArrayLike, pos_label: Any, classes: ArrayLike | None
) -> tuple[ClassArray, FloatArray, int]:
    """Return whether the predicted event occurred, its probability, and predictions per case.

    With two classes, the event is class 1; with more, the most probable class. The first array is 1
    where the event was observed.
    """
    given = as_predictions(y_true, p, pos_label=pos_label, classes=classes, repeats=True)
    predicted = (
        top_class(given.proba) if given.n_classes > 2 else np.ones(given.proba.shape[:2], int)
    )
    observed = (predicted == given.y).astype(np.int64)
    probabilities = np.take_along_axis(given.proba, predicted[..., None], axis=-1)
    return observed.ravel(), probabilities.ravel(), given.proba.shape[0]


def _per_repeat(n: CountArray, n_repeats: int) -> CountArray | FloatArray:
    return n if n_repeats == 1 else n / n_repeats


def _edges(p: FloatArray, n_bins: int, strategy: str) -> FloatArray:
    if n_bins < 1:
        raise ValueError(f"n_bins is {n_bins}; give 1 or more.")
    if strategy == "uniform":
        # Division keeps 0.3, 0.6 and so on exactly on the edge, which linspace does not.
        return np.arange(n_bins + 1) / n_bins
    if strategy != "quantile":
        raise ValueError(f"strategy is {strategy!r}; give 'uniform' or 'quantile'.")
    edges: FloatArray = np.unique(np.quantile(p, np.arange(n_bins + 1) / n_bins))
    return edges if edges.size > 1 else np.repeat(edges, 2)


def _mean_in_bins(values: FloatArray, bins: NDArray[np.int64], n: CountArray) -> FloatArray:
    totals = np.bincount(bins, weights=values, minlength=n.size)
    means = np.full(n.size, np.nan)
    np.divide(totals, n, out=means, where=n > 0)
    return means


def _without_nan(values: FloatArray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
