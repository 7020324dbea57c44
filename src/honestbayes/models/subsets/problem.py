"""Arguments of the kernels: proposals, scores, priors and cases."""

from __future__ import annotations

from typing import NamedTuple

from honestbayes.types import AnyArray, FloatArray, IntArray

UNIFORM, TWO_STEP = 0, 1
"""Proposals: uniform over the neighbours (scheme 1 of the paper), and adding or deleting with
probability 1/2 each (scheme 2)."""

LOG, SHARE, DISTANCE = 0, 1, 2
"""What a score is: a log likelihood; a share from 0 to 1; a distance B between classes, for which
1 - exp(-B) / 2 bounds the share of cases that are classified right."""

LIKELIHOOD, ACCURACY, BRIER = 0, 1, 2
"""Scores that look at rows."""


class Moves(NamedTuple):
    """What is proposed, and the prior.

    Attributes
    ----------
    log_prior : ndarray of shape (most + 1,)
        Of one subset of each size.
    scheme : int
        ``UNIFORM`` or ``TWO_STEP``.
    swap : float
        Share of proposals that exchange a feature inside for one outside.
    kind : int
        ``LOG``, ``SHARE`` or ``DISTANCE``.
    temperature : float
        Divides the log of the target's score.
    base : float
        Score of the empty subset, where scores are sums.
    """

    log_prior: FloatArray
    scheme: int
    swap: float
    kind: int
    temperature: float
    base: float = 0.0


class ScoredRows(NamedTuple):
    """Cases as the conditional scores look at them.

    Attributes
    ----------
    cells : ndarray of int of shape (n, p)
        Codes, column after column.
    first : ndarray of int of shape (p,)
        Slot of each column's missing cells.
    log_table : ndarray of shape (F, C, C - 1, L)
        By fold, actual class, other class and slot: what a level adds to the log-odds of the other
        class against the actual one.
    table, inverse : ndarray of the same shape, or (0, 0, 0, 0)
        Its exponential, and one over that; empty where these would be too large.
    fold, labels : ndarray of int of shape (n,)
        Which table holds for each row, and its actual class.
    margin : ndarray of shape (n, C - 1)
        Log-odds without any feature.
    score : int
        ``LIKELIHOOD``, ``ACCURACY`` or ``BRIER``.
    """

    cells: AnyArray
    first: IntArray
    log_table: FloatArray
    table: FloatArray
    inverse: FloatArray
    fold: IntArray
    labels: IntArray
    margin: FloatArray
    score: int
