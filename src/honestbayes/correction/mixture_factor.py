"""P(S | labels, alpha) in a two-component mixture of binary features, exactly.

Section 2.4.3 and appendix 2 of the thesis (Li 2007), equations 2.76 to 2.78, by another route: the
labels matter only through a = #(z=1, y=0) and b = #(z=1, y=1), and

    P(|COR| > gamma | z, y, alpha) = sum over (m0, m1) of D_ab[m0, m1] Q_alpha[m0, m1],

where m0 and m1 are the numbers of ones in the two components. D, from two hypergeometric draws,
is free of alpha and theta; Q, from two beta-binomials, depends on the labels only through a + b.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from honestbayes.correction.discard import region
from honestbayes.correction.event import Event
from honestbayes.likelihood.counts import TABLES_UP_TO
from honestbayes.likelihood.quadrature import ThetaRule, theta_rule
from honestbayes.types import FloatArray, IntArray

_STACKED = 4_000_000
"""Numbers held at once in a stack of D, or of Q."""


@dataclass(frozen=True, slots=True)
class MixtureFactor:
    """What decides the probability that one feature of the mixture is beyond the bound.

    All discarded features are complete.

    Attributes
    ----------
    class_counts : tuple of int
        Training cases in each class, n0 and n1.
    gamma_squared : Fraction
        The squared bound on the correlation.
    interval : tuple of float
        Bounds of the uniform prior of theta.
    """

    class_counts: tuple[int, int]
    gamma_squared: Fraction
    interval: tuple[float, float] = (0.0, 1.0)

    def probabilities(
        self, states: IntArray, alphas: FloatArray, *, refine: float = 1.0
    ) -> tuple[FloatArray, FloatArray]:
        """Return P(|COR| > gamma) and P(|COR| = gamma) of one feature, each of shape (S, A).

        Parameters
        ----------
        states : ndarray of int of shape (S, 2)
            Pairs (a, b): cases of component 1 in class 0 and in class 1.
        alphas : ndarray of shape (A,)
            Values of alpha.
        refine : float, default=1.0
            Factor on the number of theta nodes where the rule is not exact (n > 400).
        """
        self._check(states)
        same, position = self._representatives(states)
        beyond, tied = np.zeros((2, same.shape[0], alphas.size))
        size = same.sum(axis=1)
        for total in np.unique(size):
            members = np.flatnonzero(size == total)
            found = self._of_one_size(same[members], alphas, refine)
            beyond[members], tied[members] = found
        if self.gamma_squared == 0:
            tied = 1.0 - beyond
        return beyond[position], tied[position]

    def log_prob(
        self, event: Event, states: IntArray, alphas: FloatArray, *, refine: float = 1.0
    ) -> FloatArray:
        """Return log P(S) of the event, shape (S, A); see :meth:`probabilities`."""
        beyond, tied = self.probabilities(states, alphas, refine=refine)
        columns = [event.log_prob(beyond[:, t, None], tied[:, t, None]) for t in range(alphas.size)]
        return np.stack(columns, axis=1)

    def _check(self, states: IntArray) -> None:
        if np.any(states < 0) or np.any(states > np.array(self.class_counts)):
            msg = "a component has a negative number of cases of a class, or more than there are."
            raise ValueError(msg)

    def _representatives(self, states: IntArray) -> tuple[IntArray, IntArray]:
        """Return one of the states that have the same value for certain, and where each one is.

        The components may swap names, and classes of the same size may too.
        """
        counts = np.array(self.class_counts)
        other = counts - states
        swap = (other.sum(axis=1) < states.sum(axis=1)) | (
            (other.sum(axis=1) == states.sum(axis=1)) & (other[:, 0] < states[:, 0])
        )
        same = np.where(swap[:, None], other, states)
        if counts[0] == counts[1]:
            same = np.sort(same, axis=1)
        distinct, position = np.unique(same, axis=0, return_inverse=True)
        return distinct.astype(np.int64), position.ravel()

    def _of_one_size(
        self, states: IntArray, alphas: FloatArray, refine: float
    ) -> tuple[FloatArray, FloatArray]:
        """Do :meth:`probabilities` for states with the same a + b, which share Q."""
        size1 = int(states[0].sum())
        size0 = sum(self.class_counts) - size1
        cells = (size0 + 1) * (size1 + 1)
        beyond, tied = np.zeros((2, states.shape[0], alphas.size))
        for some in _blocks(states.shape[0], cells):
            of_ones = [self._given_ones(a, b) for a, b in states[some].tolist()]
            stack_beyond = np.stack([given[0].ravel() for given in of_ones])
            stack_tied = [given[1].ravel() for given in of_ones if given[1] is not None]
            for part in _blocks(alphas.size, cells):
                q = self._counts_of_ones(size0, size1, alphas[part], refine)
                beyond[some, part] = stack_beyond @ q.T
                if stack_tied:
                    tied[some, part] = np.stack(stack_tied) @ q.T
        return beyond, tied

    def _given_ones(self, a: int, b: int) -> tuple[FloatArray, FloatArray | None]:
        """Return D_ab: P(|COR| > gamma) and P(|COR| = gamma), None for 0, given (m0, m1)."""
        from honestbayes.correction import mixture_kernels

        n0, n1 = self.class_counts
        where = region(n0, n1, self.gamma_squared)
        first = _first_beyond(n0, n1, self.gamma_squared)
        beyond = np.empty((n0 + n1 - a - b + 1, a + b + 1))
        mixture_kernels.beyond_given_ones(a, b, n0, n1, first, beyond)
        if where.tied0.size == 0 or self.gamma_squared == 0:
            return beyond, None
        tied = np.empty_like(beyond)
        mixture_kernels.tied_given_ones(a, b, n0, n1, where.tied0, where.tied1, tied)
        return beyond, tied

    def _counts_of_ones(
        self, size0: int, size1: int, alphas: FloatArray, refine: float
    ) -> FloatArray:
        """Return Q_alpha: P(m0, m1 | alpha), shape (A, (size0 + 1) (size1 + 1))."""
        result = np.empty((alphas.size, (size0 + 1) * (size1 + 1)))
        for t, alpha in enumerate(alphas.tolist()):
            rule = self._folded_rule(alpha, refine)
            table0 = _pmf_table(size0, alpha, rule)
            table1 = table0 if size0 == size1 else _pmf_table(size1, alpha, rule)
            np.matmul(
                table0 * rule.weight,
                table1.T,
                out=result[t].reshape(size0 + 1, size1 + 1),
            )
        return result

    def _folded_rule(self, alpha: float, refine: float) -> ThetaRule:
        """Return a rule over theta; over half of it where theta and 1 - theta are alike.

        D is the same when zeros and ones swap, so the integrand is even in theta - 1/2.
        """
        rule = theta_rule(sum(self.class_counts), alpha, self.interval, refine=refine)
        if self.interval[0] + self.interval[1] != 1.0:
            return rule
        half = (rule.theta.size + 1) // 2
        weight = 2.0 * rule.weight[:half]
        if rule.theta.size % 2:
            weight[-1] /= 2.0
        return ThetaRule(rule.theta[:half], weight)


def _blocks(size: int, cells: int) -> Iterator[slice]:
    """Cut ``size`` tables of so many cells into blocks that fit into memory."""
    step = max(1, _STACKED // cells)
    for start in range(0, size, step):
        yield slice(start, start + step)


@lru_cache(maxsize=64)
def _first_beyond(n0: int, n1: int, gamma_squared: Fraction) -> IntArray:
    """Return, for s ones in all, the smallest I1 with correlation above gamma, shape (n + 1,).

    For given s the correlation rises with I1. Where none is beyond, it is n + 1.
    """
    n_beyond = region(n0, n1, gamma_squared).n_beyond
    first = np.full(n0 + n1 + 1, n0 + n1 + 1, dtype=np.int64)
    for i1 in range(n1, -1, -1):
        first[i1 : i1 + n_beyond[i1]] = i1
    return first


def _pmf_table(n: int, alpha: float, rule: ThetaRule) -> FloatArray:
    """Return P(i ones among n | theta_m, alpha), shape (n + 1, M)."""
    from honestbayes.correction import mixture_kernels
    from honestbayes.likelihood import beta_binomial

    if n > TABLES_UP_TO:
        columns: FloatArray = mixture_kernels.pmf_columns(n, alpha, rule.theta)
        return columns
    total = np.empty(rule.theta.size)
    table: FloatArray = beta_binomial.pmf_table(n, alpha, rule.theta, total)
    return table / total
