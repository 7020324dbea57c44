"""P(S | alpha): the probability that the discarded binary features were discarded.

Equations 27 to 43 of Li, Zhang and Neal (2008), with three changes: the region is found in exact
integer arithmetic, ties at gamma are told apart from features below it, and features with
missing cells form groups by their numbers of observed cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy.special import logsumexp

from honestbayes.likelihood.counts import TABLES_UP_TO, class_tables
from honestbayes.likelihood.quadrature import ThetaRule
from honestbayes.selection import DiscardedGroup, squared_correlation
from honestbayes.selection.criteria import Criterion, compare, table_strengths
from honestbayes.types import BoolArray, FloatArray, IntArray

Ties = Literal["known", "unknown", "at_most"]
"""What is known of discarded features at gamma: how many, nothing, or (fixed threshold) that all
discarded ones have a correlation of at most gamma."""

_NEAR_AN_INTEGER = 1e-3


@dataclass(frozen=True, slots=True)
class Region:
    """The pairs (I0, I1) whose correlation is beyond gamma, or exactly gamma.

    Attributes
    ----------
    n_beyond : ndarray of shape (n1 + 1,)
        For each I1, the number of I0 = 0, 1, ... with correlation above gamma (r + 1 in eq. 41).
    tied0, tied1 : ndarray of shape (t,)
        The pairs with correlation exactly +gamma. Those at -gamma are their mirror images.
    """

    n_beyond: IntArray
    tied0: IntArray
    tied1: IntArray


@lru_cache(maxsize=256)
def region(n0: int, n1: int, gamma_squared: Fraction) -> Region:
    """Find the pairs that would be kept, as in Figure 2, without listing all pairs.

    For a given I1 the correlation decreases in I0, so the region ends at the smaller root of a
    quadratic. Roots close to an integer are decided exactly.
    """
    n_beyond = np.zeros(n1 + 1, dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    if n0 == 0 or n1 == 0 or gamma_squared > 1:
        return Region(n_beyond, none, none)
    g2 = float(gamma_squared)
    i1 = np.arange(1, n1 + 1, dtype=float)
    n, scale = n0 + n1, g2 * n0 * n1
    # (n0 I1 - n1 I0)^2 = gamma^2 n0 n1 (I0 + I1)(n - I0 - I1), a I0^2 - b I0 + c = 0.
    a = n1 * n1 + scale
    b = 2.0 * n0 * n1 * i1 + scale * (n - 2 * i1)
    c = (n0 * i1) ** 2 - scale * i1 * (n - i1)
    larger = (b + np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))) / (2 * a)
    # The product of both roots is c / a: the smaller one without the cancellation of b - sqrt(...).
    root = c / (a * larger)
    n_beyond[1:] = np.clip(np.ceil(root), 0, n0 + 1)
    tied: list[tuple[int, int]] = []
    near = np.rint(root)
    doubtful = (np.abs(root - near) < _NEAR_AN_INTEGER) & (near >= 0) & (near <= n0)
    # Rounding could put a pair on the wrong side of gamma, and a tie would never be seen.
    for index in np.flatnonzero(doubtful):
        i0, ones = int(near[index]), int(index) + 1
        excess = squared_correlation(i0, ones, n0, n1) - gamma_squared
        positive = n0 * ones > n1 * i0
        n_beyond[ones] = i0 + (positive and excess > 0)
        if positive and excess == 0:
            tied.append((i0, ones))
    pairs = np.array(tied, dtype=np.int64).reshape(-1, 2)
    return Region(n_beyond, pairs[:, 0].copy(), pairs[:, 1].copy())


def probabilities(
    alpha: float, observed: tuple[int, ...], gamma_squared: Fraction, rule: ThetaRule
) -> tuple[float, float]:
    """Return P(|COR| > gamma | alpha) and P(|COR| = gamma | alpha) of one feature (equation 38)."""
    from honestbayes.likelihood import beta_binomial

    n0, n1 = observed
    where = region(n0, n1, gamma_squared)
    if max(n0, n1) <= TABLES_UP_TO:
        table0, table1, weight = class_tables(alpha, rule, n0, n1)
        beyond, tied = beta_binomial.region_from_tables(
            table0, table1, weight, where.n_beyond, where.tied0, where.tied1
        )
    else:
        beyond, tied = beta_binomial.region_probabilities(
            alpha, rule.theta, rule.weight, n0, n1, where.n_beyond, where.tied0, where.tied1
        )
    # No absolute correlation is below 0: all that is not beyond it is tied. The region lists ties
    # by their positive side, and has none at 0.
    if gamma_squared == 0:
        tied = 1.0 - beyond
    return float(beyond), float(tied)


@dataclass(frozen=True, slots=True)
class CountRegion:
    """The pairs (I0, I1) beyond a bound by any criterion of counts, and those that attain it.

    Attributes
    ----------
    beyond, tied : ndarray of bool of shape (n0 + 1, n1 + 1)
        Masks of the pairs.
    """

    beyond: BoolArray
    tied: BoolArray


def region_by_criterion(n0: int, n1: int, criterion: Criterion, bound: float) -> CountRegion:
    """Find the pairs that would be kept by listing all of them.

    A criterion sees a binary column only through its counts, because it must not depend on the
    order of the cases.
    """
    i0, i1 = (
        part.ravel() for part in np.meshgrid(*map(np.arange, (n0 + 1, n1 + 1)), indexing="ij")
    )
    tables = np.stack([np.stack([n0 - i0, i0], axis=1), np.stack([n1 - i1, i1], axis=1)], axis=1)
    sign = compare(table_strengths(criterion, tables), bound).reshape(n0 + 1, n1 + 1)
    return CountRegion(sign > 0, sign == 0)


def region_probabilities(alpha: float, where: CountRegion, rule: ThetaRule) -> tuple[float, float]:
    """Return the probabilities, given alpha, that a feature is beyond the bound and attains it."""
    n0, n1 = (size - 1 for size in where.beyond.shape)
    table0, table1, weight = class_tables(alpha, rule, n0, n1)
    pairs = (table0 * weight) @ table1.T
    return float(pairs[where.beyond].sum()), float(pairs[where.tied].sum())


def group_probabilities(
    alpha: float,
    groups: Sequence[DiscardedGroup],
    gamma_squared: Sequence[Fraction],
    rule: Callable[[int, float], ThetaRule],
) -> list[tuple[float, float]]:
    """Return what `probabilities` says of one feature in each group of discarded ones.

    Parameters
    ----------
    alpha : float
        The common alpha.
    groups : sequence of DiscardedGroup
        Groups by numbers of observed cases.
    gamma_squared : sequence of Fraction
        The bound in each group; below 0 every feature is beyond it.
    rule : callable
        Given the number of cases and alpha, the rule over theta.
    """
    return [
        (1.0, 0.0)
        if bound < 0
        else probabilities(alpha, group.observed, bound, rule(sum(group.observed), alpha))
        for group, bound in zip(groups, gamma_squared, strict=True)
    ]


def log_prob_selection(
    beyond: FloatArray,
    tied: FloatArray,
    groups: Sequence[DiscardedGroup],
    *,
    ties: Ties,
    n_tied_kept: int,
) -> FloatArray:
    """Return log P(S | alpha), equation 28, from the probabilities of one feature in each group.

    Parameters
    ----------
    beyond, tied : ndarray of shape (..., G)
        P(|COR| > gamma) and P(|COR| = gamma) in each group, for each of any number of alphas.
    groups : sequence of DiscardedGroup
        How many features were discarded in each group.
    ties : {"known", "unknown", "at_most"}
        "known": with T of N discarded features tied, T log q_eq + (N - T) log q_lt.
        "unknown": m times the integral over v of (1 - v)^(m - 1) (q_lt + v q_eq)^N, because the
        last kept one of m tied features won a random draw. "at_most": N log(q_lt + q_eq), for a
        fixed threshold, and in the published rule.
    n_tied_kept : int
        m, the number of kept features whose correlation is exactly gamma.
    """
    count = np.array([group.n_discarded for group in groups], dtype=float)
    with np.errstate(divide="ignore"):
        if ties == "at_most":
            return np.asarray(_log_complement(beyond) @ count)
        if ties == "known":
            n_tied = np.array([group.n_tied for group in groups], dtype=float)
            return _times_log(n_tied, np.log(tied)) + _times_log(
                count - n_tied, _log_complement(beyond + tied)
            )
        return _log_prob_unknown_ties(beyond, tied, count, max(n_tied_kept, 1))


def _log_prob_unknown_ties(
    beyond: FloatArray, tied: FloatArray, count: FloatArray, m: int
) -> FloatArray:
    """Integrate over u = 1 - v = 1 / (1 + exp(-z)) by the trapezoidal rule in z."""
    # An analytic integrand that falls exponentially on both sides: the trapezoidal rule converges
    # exponentially. For m tied features it is about 1 / sqrt(m) wide. To the left it falls as
    # exp(m z), from where N q_eq u is about 1 on.
    step = min(0.1, 0.5 / np.sqrt(m))
    low = -40.0 / m - np.log1p(np.max(count * tied, initial=0.0)) - 5.0
    z = np.arange(low, 40.0, step)
    log_u, log_v = -np.logaddexp(0.0, -z), -np.logaddexp(0.0, z)
    log_kept = _log_complement(beyond[..., None, :] + np.exp(log_u)[:, None] * tied[..., None, :])
    # q_lt + v q_eq = 1 - (q_gt + u q_eq), and dv = -u v dz: hence m, not m - 1, times log u.
    terms = np.log(m) + m * log_u + log_v + log_kept @ count
    return np.asarray(logsumexp(terms, axis=-1) + np.log(step))


def _log_complement(p: FloatArray) -> FloatArray:
    result: FloatArray = np.log1p(-np.minimum(p, 1.0))
    return result


def _times_log(count: FloatArray, log_p: FloatArray) -> FloatArray:
    """Sum count * log_p over groups with 0 * -inf = 0."""
    used = count > 0
    return np.asarray(log_p[..., used] @ count[used])
