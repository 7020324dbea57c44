"""How many features to keep, by cross-validation inside `fit`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from honestbayes.models.bernoulli_core import Settings
from honestbayes.models.leave_one_out import TrainingRows, fit_slope, held_out_folds
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

    n_features: IntArray
    log_score: FloatArray
    chosen: int


def number_grid(n_racing: int) -> IntArray:
    """Return 1, 2, 5, 10, 20, 50, ... up to ``MOST``, or to all features where they are fewer.

    >>> number_grid(300).tolist()
    [1, 2, 5, 10, 20, 50, 100, 200, 300]
    """
    steps = np.outer(10 ** np.arange(7), [1, 2, 5]).ravel()
    return np.unique(np.append(steps[steps <= min(n_racing, MOST)], min(n_racing, MOST)))


def choose_number(training: TrainingRows, settings: Settings, *, recalibrate: bool) -> NumberChoice:
    """Try numbers of features on held-out cases: five stratified folds, screened once each.

    Where the model will be recalibrated each number is judged with the best slope for it;
    otherwise dependence between features would speak for few.
    """
    grid = number_grid(training.whole.n_features - int(np.sum(settings.always_keep)))
    folds = held_out_folds(training.is_class_1, training.groups, repeats=1)
    if not folds:
        chosen = min(10, int(grid[-1]))
        return NumberChoice(np.array([chosen]), np.array([np.nan]), chosen)
    evidence: list[list[FloatArray]] = [[] for _ in grid]
    prior, labels = [], []
    for rows, screening in training.without(folds):
        for position, number in enumerate(grid):
            fit = training.fit(screening, replace(settings, n_features=int(number)))
            evidence[position].append(training.evidence(fit, rows))
        prior.append(np.full(rows.size, fit.log_prior_odds))
        labels.append(training.is_class_1[rows])
    sign = np.where(np.concatenate(labels), 1.0, -1.0)
    loss = np.stack(
        [
            _losses(np.concatenate(parts), np.concatenate(prior), sign, recalibrate=recalibrate)
            for parts in evidence
        ]
    )
    return NumberChoice(grid, loss.mean(axis=1), int(grid[_smallest_good(loss)]))


def _losses(
    evidence: FloatArray, prior: FloatArray, sign: FloatArray, *, recalibrate: bool
) -> FloatArray:
    """Minus log probability of the actual class of each held-out case."""
    slope = fit_slope(evidence, sign > 0, float(prior.mean())) if recalibrate else 1.0
    return np.logaddexp(0.0, -sign * (prior + slope * evidence))


def _smallest_good(loss: FloatArray) -> int:
    """Position of the first row that is within one standard error of the best."""
    excess = loss - loss[np.argmin(loss.mean(axis=1))]
    error = excess.std(axis=1, ddof=1) / np.sqrt(loss.shape[1])
    return int(np.argmax(excess.mean(axis=1) <= error))
