"""Missing cells of new cases, filled in from similar training rows.

The model is one of the class given the features, so the distribution of missing cells comes from
the training rows. A row x has the density (a kernel estimate: Aitchison and Aitken 1976, Biometrika
63, but mismatches are spread over the levels of a column by their shares q instead of evenly)

    f(x) = sum_r n_r / N  prod_j K_j(x_j | r_j),   K_j(v | u) = (1 - e) [v = u] + e q_j(v)

where r are the different training rows and n_r counts them. Given the observed cells, row r is the
donor of the missing ones with probability proportional to n_r prod_{j observed} K_j(x_j | r_j).
Rows that agree on every observed cell have the largest weights, and there are donors where none
agrees. Without any observed cell all training cases count alike. The mismatch rate e is learned by
the likelihood of each training case given all others: where columns are independent it is 1, and
the observed cells tell nothing of the missing ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import logsumexp

from honestbayes.types import AnyArray, FloatArray, IntArray

MISMATCHES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Mismatch rates that are tried."""

MOST_COMPLETIONS = 100
"""Completed rows for one case; of more, so many are sampled evenly."""

_MOST_JUDGED = 500
_MOST_DONORS = 2000
"""Different rows by which the mismatch rate is learned, and of which density."""

_MOST_WEIGHTS = 1 << 21
"""Weights that are held at a time."""


def learn_mismatch(rows: AnyArray, counts: IntArray) -> float:
    """Return the mismatch rate with the highest leave-one-out likelihood.

    Parameters
    ----------
    rows : ndarray of int of shape (m, p)
        Different training rows, as codes.
    counts : ndarray of int of shape (m,)
        Training cases with each.
    """
    donors = _spread(len(rows), _MOST_DONORS)
    judged = donors[_spread(len(donors), _MOST_JUDGED)]
    rows_of, counts_of = rows[donors], counts[donors].astype(float)
    if counts_of.sum() <= 1 or rows.shape[1] == 0:
        return 1.0
    at = np.searchsorted(donors, judged)
    # One case less of the row that is judged.
    others = np.repeat(counts_of[None], judged.size, axis=0)
    others[np.arange(judged.size), at] -= 1
    with np.errstate(divide="ignore"):
        log_others = np.log(others)
    scores = []
    for mismatch in MISMATCHES:
        log_density = log_others.copy()
        for column, mine in zip(rows_of.T, rows[judged].T, strict=True):
            share = _shares(column, counts_of)
            same = np.log(1 - mismatch + mismatch * share[mine])
            log_density += np.where(
                mine[:, None] == column, same[:, None], np.log(mismatch * share[mine])[:, None]
            )
        scores.append(float(counts[judged] @ logsumexp(log_density, axis=1)))
    return MISMATCHES[int(np.argmax(scores))]


def completions(
    cells: AnyArray,
    rows: AnyArray,
    counts: IntArray,
    mismatch: float,
    predict: Callable[[], FloatArray],
) -> Iterator[tuple[int, AnyArray, FloatArray]]:
    """Yield the number of each case, its completed rows and their probabilities.

    Parameters
    ----------
    cells : ndarray of int of shape (n, p)
        Codes; -1 is missing.
    rows, counts : ndarray of int of shape (m, p), (m,)
        Different training rows, and how many cases have each.
    mismatch : float
        The mismatch rate, above 0.
    predict : callable
        What is predicted for the training rows, shape (m,): a number for each.

    Notes
    -----
    Donors with the same cells in the missing columns are one. Where more than `MOST_COMPLETIONS`
    remain they are sampled systematically in the order of what is predicted for their rows, so
    that the sample has nearly the same mean prediction as all of them.
    """
    predicted: FloatArray | None = None
    missing = cells < 0
    patterns, which = np.unique(missing, axis=0, return_inverse=True)
    gains = [_gains(column, counts, mismatch) for column in rows.T]
    step = max(1, _MOST_WEIGHTS // len(rows))
    for number, pattern in enumerate(patterns):
        own = np.flatnonzero(which.reshape(-1) == number)
        donated, donation = np.unique(rows[:, pattern], axis=0, return_inverse=True)
        donation = donation.reshape(-1)
        if len(donated) > MOST_COMPLETIONS:
            predicted = predict() if predicted is None else predicted
        for first in range(0, own.size, step):
            some = own[first : first + step]
            log_weight = np.repeat(np.log(counts)[None], some.size, axis=0)
            for j in np.flatnonzero(~pattern).tolist():
                mine, gain = cells[some, j], gains[j]
                # A level that these training rows lack tells nothing of the other columns.
                worth = np.where(mine < gain.size, gain[np.minimum(mine, gain.size - 1)], 0.0)
                log_weight += worth[:, None] * (mine[:, None] == rows[:, j])
            weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
            for case, of_rows in zip(some.tolist(), weight, strict=True):
                share = np.bincount(donation, of_rows / of_rows.sum()).astype(np.float64)
                chosen = np.arange(share.size)
                if share.size > MOST_COMPLETIONS:
                    assert predicted is not None
                    total = np.bincount(donation, of_rows * predicted)
                    mean = total / np.maximum(np.bincount(donation, of_rows), 1e-300)
                    chosen, share = _thinned(share, np.argsort(mean, kind="stable"))
                filled = np.repeat(cells[case][None], chosen.size, axis=0)
                filled[:, pattern] = donated[chosen]
                yield case, filled, share


def _shares(column: AnyArray, counts: AnyArray) -> FloatArray:
    """Return the share of each code of a column."""
    share = np.bincount(column, counts)
    return np.asarray(share / share.sum())


def _gains(column: AnyArray, counts: IntArray, mismatch: float) -> FloatArray:
    """Return log K(v | v) - log K(v | u) for each code v of a column; 0 where nobody has it."""
    share = mismatch * _shares(column, counts)
    odds = np.divide(1 - mismatch, share, out=np.zeros(share.size), where=share > 0)
    return np.asarray(np.log1p(odds))


def _spread(size: int, most: int) -> IntArray:
    """Return numbers below a size, at most so many, evenly spread."""
    if size <= most:
        return np.arange(size)
    return np.asarray((np.arange(most) * size) // most)


def _thinned(share: FloatArray, order: IntArray) -> tuple[IntArray, FloatArray]:
    """Return an even sample of completions in some order, and their probabilities."""
    points = (np.arange(MOST_COMPLETIONS) + 0.5) / MOST_COMPLETIONS
    chosen = np.searchsorted(np.cumsum(share[order]), points).clip(max=share.size - 1)
    which, number = np.unique(chosen, return_counts=True)
    return order[which], number / MOST_COMPLETIONS
