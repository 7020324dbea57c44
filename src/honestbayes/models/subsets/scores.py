"""Scores of subsets: what naive Bayes on some of the features is worth.

Sums over features, so that a step costs an addition:

* ``"marginal_likelihood"``: log Bayes factor of the subset, parameters integrated out. A feature
  inside has a distribution of its own in each class, one outside the same in all: what is summed is
  log P(column | class by class) - log P(column | classes together), so that subsets of all sizes
  speak of the same data.
* ``"bhattacharyya"``: the distance between two classes, which is a sum where features are
  independent in each; with more classes the mean over pairs.

Scores that look at all cases, so that a step costs a pass over one column or two:

* ``"conditional_likelihood"``: sum of log P(class | features in the subset);
* ``"accuracy"``: 1 - error rate, the paper's; ``"brier"``: 1 - half the mean squared error,
  summed over classes; of two classes 1 - the Brier score.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from scipy.special import gammaln

from honestbayes.models.plain.counts import LevelCounts
from honestbayes.models.subsets.problem import (
    ACCURACY,
    BRIER,
    DISTANCE,
    LIKELIHOOD,
    LOG,
    SHARE,
    Rows,
)
from honestbayes.sources.coding import Coded
from honestbayes.types import AnyArray, FloatArray, IntArray

Score = Literal[
    "marginal_likelihood", "conditional_likelihood", "accuracy", "brier", "bhattacharyya"
]

SUMS = ("marginal_likelihood", "bhattacharyya")
OF_ROWS = {"conditional_likelihood": LIKELIHOOD, "accuracy": ACCURACY, "brier": BRIER}
KINDS = {
    "marginal_likelihood": LOG,
    "conditional_likelihood": LOG,
    "accuracy": SHARE,
    "brier": SHARE,
    "bhattacharyya": DISTANCE,
}

_LARGEST = 75.0
"""What a level may add to log-odds for factors to be multiplied, two at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class SubsetScore:
    """How subsets are scored.

    Attributes
    ----------
    name : str
        Which score it is.
    kind : int
        What kind of number (`problem.LOG`, ...).
    values : ndarray of shape (p,), optional
        Of each feature, where the score is a sum.
    rows : Rows, optional
        Cases, where the score looks at them.
    function : callable, optional
        Of the user: given the columns of a subset, its score.
    base : float
        Score of the empty subset, where the score is a sum.
    """

    name: str
    kind: int
    values: FloatArray | None = None
    rows: Rows | None = None
    function: Any = None
    base: float = 0.0

    def of(self, columns: IntArray) -> float:
        """Return the score of one subset, directly."""
        from honestbayes.models.subsets.kernels import _change, score_of_rows

        if self.function is not None:
            return float(self.function(columns))
        if self.values is not None:
            return self.base + float(np.sum(self.values[columns]))
        assert self.rows is not None
        margin = self.rows.margin.copy()
        for j in columns:
            _change(self.rows, margin, int(j), 1.0, margin)
        return float(score_of_rows(margin, self.rows.score))


def log_bayes_factors(counts: LevelCounts, smoothing: float) -> FloatArray:
    """Return how much likelier each column is with a distribution for each class, in logs.

    Each level has a Dirichlet parameter of ``smoothing``; of a column of texts the levels are those
    that training has seen. Missing cells are left out.
    """
    observed = counts.slots.copy()
    observed[counts.first] = 0.0
    seen = np.add.reduceat(observed.any(axis=1).astype(np.int64), counts.first)
    n_levels = np.where(counts.is_open, np.maximum(seen, 2), counts.n_levels)

    def log_marginal(table: FloatArray) -> FloatArray:
        """Sum over classes of the Dirichlet-multinomial log probability of each column."""
        cells = np.add.reduceat(gammaln(table + smoothing) - gammaln(smoothing), counts.first)
        whole = smoothing * n_levels
        sums = np.add.reduceat(table, counts.first)
        return np.asarray((cells + gammaln(whole)[:, None] - gammaln(sums + whole[:, None])).sum(1))

    return log_marginal(observed) - log_marginal(observed.sum(axis=1, keepdims=True))


def bhattacharyya(counts: LevelCounts, smoothing: float) -> FloatArray:
    """Return the distance between classes that each column adds, the mean over pairs of classes."""
    log_p = counts.log_likelihood(smoothing)
    is_level = np.ones(log_p.shape[0], dtype=bool)
    is_level[counts.first] = False
    total = np.zeros(counts.first.size)
    pairs = list(combinations(range(log_p.shape[1]), 2))
    for a, b in pairs:
        overlap = np.where(is_level, np.exp(0.5 * (log_p[:, a] + log_p[:, b])), 0.0)
        total -= np.log(np.minimum(np.add.reduceat(overlap, counts.first), 1.0))
    return total / len(pairs)


def rows_of(
    coded: Coded,
    labels: AnyArray,
    fold: IntArray,
    counts: list[LevelCounts],
    smoothing: float,
    score: int,
) -> Rows:
    """Return cases as the conditional scores look at them.

    Parameters
    ----------
    coded : Coded
        Cells of the rows that are judged.
    labels : ndarray of int of shape (n,)
        Their classes.
    fold : ndarray of int of shape (n,)
        Which of the counts are the row's: those that have not seen it, where folds are held out.
    counts : list of LevelCounts
        What parameters are learned from.
    smoothing : float
        What each level is given more.
    score : int
        Which score.
    """
    n_classes = counts[0].classes.size
    by_class = np.stack([one.log_likelihood(smoothing) for one in counts])
    priors = np.stack([one.log_prior() for one in counts])
    others = [[c for c in range(n_classes) if c != own] for own in range(n_classes)]
    gains = [
        [by_class[:, :, c] - by_class[:, :, own] for c in others[own]] for own in range(n_classes)
    ]
    log_table = np.ascontiguousarray(np.moveaxis(np.array(gains), 2, 0))
    prior = np.array(
        [[priors[:, c] - priors[:, own] for c in others[own]] for own in range(n_classes)]
    )
    margin = np.ascontiguousarray(np.moveaxis(prior, 2, 0)[fold, labels])
    near = n_classes == 2 and float(np.max(np.abs(log_table), initial=0.0)) <= _LARGEST
    nothing = np.empty((0, 0, 0, 0))
    return Rows(
        cells=np.asfortranarray(coded.cells),
        first=counts[0].first,
        log_table=log_table,
        table=np.exp(log_table) if near else nothing,
        inverse=np.exp(-log_table) if near else nothing,
        fold=np.asarray(fold, dtype=np.int64),
        labels=np.asarray(labels, dtype=np.int64),
        margin=margin,
        score=score,
    )
