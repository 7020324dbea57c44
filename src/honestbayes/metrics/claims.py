"""What happened to the cases of which the model claimed to be nearly sure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from honestbayes.metrics.cases import as_predictions
from honestbayes.metrics.estimate import (
    Estimate,
    check_level,
    clustered_error,
    fraction_estimate,
    group_codes,
)
from honestbayes.metrics.per_case import claimed_error_per_case, error_per_case


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Cases whose most probable class was claimed with at least a given probability.

    Attributes
    ----------
    at_least : float
        The probability from which a case counts.
    n_cases : int
        All cases.
    n_claimed, n_wrong : float
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
    n_claimed: float
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


def claims(
    y_true: ArrayLike,
    p: ArrayLike,
    *,
    at_least: float = 0.95,
    pos_label: Any = None,
    classes: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
) -> Claims:
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
    risk = claimed_error_per_case(given.proba)
    # 1 - 0.95 is a little above 0.05 in doubles; a claim of exactly 0.95 counts.
    sure = risk <= 1 - at_least
    claimed = sure.mean(axis=0)
    wrong = (sure * error_per_case(y, given.proba)).mean(axis=0)
    n_claimed, n_wrong = float(claimed.sum()), float(wrong.sum())
    n_implied = float((sure * risk).mean(axis=0).sum())
    if n_claimed == 0:
        nothing = Estimate(np.nan, np.inf, (0.0, 1.0), level)
        return Claims(
            at_least=at_least,
            n_cases=y.size,
            n_claimed=0.0,
            n_wrong=0.0,
            n_implied=0.0,
            wrong=nothing,
            implied=np.nan,
        )
    rate = n_wrong / n_claimed
    error = clustered_error((wrong - rate * claimed) / n_claimed, codes)
    n_units = n_claimed if groups is None else min(n_claimed, np.unique(codes[claimed > 0]).size)
    return Claims(
        at_least=at_least,
        n_cases=y.size,
        n_claimed=n_claimed,
        n_wrong=n_wrong,
        n_implied=n_implied,
        # One case that is wrong in half of the repeats does not make the claims better known.
        wrong=fraction_estimate(rate, error, n_units, level, most=n_claimed, exact=True),
        implied=n_implied / n_claimed,
    )
