"""Decisions at a threshold: sensitivity, specificity and net benefit.

References
----------
Vickers, A. J. and Elkin, E. B. (2006). Decision curve analysis: a novel method for evaluating
prediction models. Medical Decision Making 26, 565-574.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from honestbayes.metrics.cases import as_predictions, log_odds_against_first
from honestbayes.metrics.estimate import check_level, wilson_interval
from honestbayes.types import FloatArray

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
        raise ValueError("p has more than two columns; thresholds are for two classes.")
    y, probabilities = given.y, given.proba[..., 1]
    cut = np.asarray(thresholds, dtype=np.float64)
    if cut.ndim != 1 or not np.all((cut > 0) & (cut < 1)):
        raise ValueError("thresholds: give numbers between 0 and 1.")
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
