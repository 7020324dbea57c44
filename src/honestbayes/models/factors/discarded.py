"""What selection threw away, and how likely that is given the scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.correction.factor_contour import prob_kept
from honestbayes.correction.factor_event import log_discarded, project
from honestbayes.types import BoolArray, FloatArray


class FactorEvent(NamedTuple):
    """What selection threw away.

    Attributes
    ----------
    basis : ndarray of shape (n, B)
        What features were correlated with (`correction.factor_event.Contrasts`).
    signal : ndarray of shape (B,)
        The same.
    gamma_squared : float
        Bound on r squared.
    n_cases : ndarray of shape (D,)
        Observed cases of each group of discarded features.
    n_discarded : ndarray of shape (D,)
        How many there are; no groups: nothing is conditioned on.
    used : ndarray of bool of shape (T, A)
        Ratios that matter to P(S) at each node.
    kept_share : ndarray of shape (R,)
        How much of its deviation from the mean each proposal of scores keeps, from 0 to 1.
    has_shifts : bool
        Whether classes may differ in the factors.
    """

    basis: FloatArray
    signal: FloatArray
    gamma_squared: float
    n_cases: FloatArray
    n_discarded: FloatArray
    used: BoolArray
    kept_share: FloatArray
    has_shifts: bool


@kernel()
def log_selection(event, ratio, weights, used, along, rest, loading):  # type: ignore[no-untyped-def]
    """Return log P(S | Z, w_lambda) at each node, shape (T,), by the ratios that are used.

    Of the scores it takes what `project` returns. A feature with fewer observed cases than all is
    taken to have seen a fair sample of them.
    """
    result = np.zeros(weights.shape[0])
    if event.n_discarded.size == 0:
        return result
    few = ratio[used]
    for g in range(event.n_discarded.size):
        kept = _prob_kept(event, along, rest, few, loading, event.n_cases[g] / event.basis.shape[0])
        for t in range(weights.shape[0]):
            total = 0.0
            position = 0
            for a in range(ratio.size):
                if used[a]:
                    total += weights[t, a] * kept[position]
                    position += 1
            result[t] += event.n_discarded[g] * np.log1p(-min(total, 1.0))
    return result


@kernel(inline="always")
def _prob_kept(event, along, rest, ratio, loading, share):  # type: ignore[no-untyped-def]
    """Return P(kept) at each ratio of a feature that has seen this share of the cases."""
    n_cases = np.round(share * event.basis.shape[0])
    along, rest, signal = np.sqrt(share) * along, share * rest, share * event.signal
    if signal.size == 1:
        return prob_kept(along, rest, signal[0], ratio, loading, event.gamma_squared, n_cases)
    return -np.expm1(
        log_discarded(along, rest, signal, ratio, loading, event.gamma_squared, n_cases)
    )


@kernel(inline="always")
def log_selection_of(event, design, node, along, rest, loading):  # type: ignore[no-untyped-def]
    """Return log P(S | Z, w_lambda) at one node, of what `project` returns."""
    if event.n_discarded.size == 0:
        return 0.0
    one = design.weights[node : node + 1, 0]
    return log_selection(event, design.ratio, one, event.used[node], along, rest, loading)[0]


@kernel(inline="always")
def log_selection_at(event, design, node, scores, loading):  # type: ignore[no-untyped-def]
    """Return log P(S | Z, w_lambda) at one node."""
    if event.n_discarded.size == 0:
        return 0.0
    along, rest = project(scores, event.basis)
    return log_selection_of(event, design, node, along, rest, loading)
