"""Boosted selection by confidence: table 2 of the paper, one pass over all columns a round.

References
----------
Gidofalvi, G. and Zadrozny, B. Feature selection for class probability estimation, table 2.
Schapire, R. E. and Singer, Y. (1998). Improved boosting algorithms using confidence-rated
predictions. Computational Learning Theory, 80-91.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import entr, softmax

from honestbayes.models.discrete.estimator import LevelCounts
from honestbayes.search.scorers import CodedCases
from honestbayes.types import FloatArray

LARGEST_R = 1.0 - 1e-12
"""A feature that tells the classes apart without fail would have an infinite alpha."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round.

    Attributes
    ----------
    feature : int
        The column with the largest r.
    r : float
        Weighted average of the confidence in the actual class, 2 P(actual class | x) - 1; in the
        paper's words sum_i w_i y_i h(x_i). Of C classes (C P - 1) / (C - 1), which is ours.
    alpha : float
        log((1 + r) / (1 - r)) / 2.
    entropy : float
        Of the weights after the round, as a share of its largest value.
    """

    feature: int
    r: float
    alpha: float
    entropy: float


def boost(
    cases: CodedCases, smoothing: float, n_rounds: int, n_jobs: int | None = None
) -> list[Round]:
    """Run the rounds; the weights start as those of the cases.

    Smoothing is of counts, so it is as if weights always summed to what they do at the start.
    """
    n, total = np.count_nonzero(cases.weight), cases.weight.sum()
    weight = cases.weight / total
    current = cases.with_weight(weight)
    rounds = []
    for _ in range(n_rounds):
        counts = current.counts(n_jobs)
        h = confidence(counts, smoothing / total)
        r = np.add.reduceat((counts.slots * h).sum(axis=1), counts.first)
        best = int(np.argmax(r))
        alpha = float(np.arctanh(np.clip(r[best], -LARGEST_R, LARGEST_R)))
        slot = counts.first[best] + 1 + cases.coded.cells[:, best].astype(np.int32)
        weight *= np.exp(-alpha * h)[slot, cases.labels]
        weight /= weight.sum()
        rounds.append(Round(best, float(r[best]), alpha, float(entr(weight).sum() / np.log(n))))
    return rounds


def confidence(counts: LevelCounts, smoothing: float) -> FloatArray:
    """Return the confidence in each class at each slot, by naive Bayes on its column alone."""
    n_classes = counts.classes.size
    proba = softmax(counts.log_prior() + counts.log_likelihood(smoothing), axis=1)
    return np.asarray((n_classes * proba - 1.0) / (n_classes - 1.0))
