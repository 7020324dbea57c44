"""How many features to keep, by cross-validation inside `fit`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from honestbayes.files.fields import Array, Counts, Whole
from honestbayes.files.records import Check
from honestbayes.types import FloatArray, IntArray

MOST = 1000
"""No larger number is tried, unless the features in the race are fewer."""


@dataclass(frozen=True, slots=True)
class NumberChoice:
    """Numbers of features that were tried, and how well each did.

    Attributes
    ----------
    n_features : ndarray of shape (g,)
        Numbers tried.
    log_score : ndarray of shape (g,)
        Average minus log probability of the actual class of held-out cases.
    chosen : int
        The smallest number that is worse than the best one by no more than the standard error of
        their difference over cases.
    """

    n_features: Annotated[IntArray, Counts("tried")]
    log_score: Annotated[FloatArray, Array("tried")]
    chosen: Annotated[int, Whole(what="is not one of the numbers that were tried")]

    def check(self, check: Check) -> None:
        """Refuse a number that was not tried."""
        check(not np.isinf(self.log_score).any(), "log_score", "is infinite")
        tried = self.chosen in self.n_features.tolist()
        check(tried, "chosen", "is not one of the numbers that were tried")


def number_grid(n_racing: int) -> IntArray:
    """Return 1, 2, 5, 10, 20, 50, ... up to ``MOST``, or to all features where they are fewer.

    >>> number_grid(300).tolist()
    [1, 2, 5, 10, 20, 50, 100, 200, 300]
    """
    steps = np.outer(10 ** np.arange(7), [1, 2, 5]).ravel()
    return np.unique(np.append(steps[steps <= min(n_racing, MOST)], min(n_racing, MOST)))


def choose_by_loss(grid: IntArray, loss: FloatArray) -> NumberChoice:
    """Choose from the losses of each number and held-out case, shape (g, n)."""
    return NumberChoice(grid, loss.mean(axis=1), int(grid[_smallest_good(loss)]))


def _smallest_good(loss: FloatArray) -> int:
    """Position of the first row that is within one standard error of the best."""
    excess = loss - loss[np.argmin(loss.mean(axis=1))]
    error = excess.std(axis=1, ddof=1) / np.sqrt(loss.shape[1])
    return int(np.argmax(excess.mean(axis=1) <= error))
