"""Distinct count pairs, and their marginal likelihood given alpha.

Features with the same counts share everything, so all work is done over distinct pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from honestbayes.likelihood.quadrature import ThetaRule, theta_rule
from honestbayes.types import FloatArray, IntArray

TABLES_UP_TO = 500
"""In larger classes no tables over all counts are made, only the pairs that occur."""

NEGLIGIBLE_SHARE = 1e-8
"""Bound on the share of a likelihood in large classes that the nodes which are left out have, and
on the error of a coarser rule for theta. 0: the rule is used as it is, with all of its nodes."""

_UNDERFLOW = 1e-250


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctCounts:
    """Distinct counts of features, and how often each occurs.

    Attributes
    ----------
    ones, observed : ndarray of shape (2, D)
        Cases with value 1, and observed cases, per class.
    multiplicity : ndarray of shape (D,)
        Number of features with these counts.
    inverse : ndarray of shape (k,)
        For each feature the position of its counts.
    baselines : ndarray of shape (D,) or None
        How many distinct counts had the same numbers of observed cases before some were left
        out; None where none were. The choice between tables and pairs looks at it, so that
        leaving out changes no digit of what remains.
    """

    ones: IntArray
    observed: IntArray
    multiplicity: IntArray
    inverse: IntArray
    baselines: IntArray | None = None

    def group_sizes(self) -> IntArray:
        """How many distinct counts have the same numbers of observed cases, shape (D,)."""
        if self.baselines is not None:
            return self.baselines
        n0, n1 = self.observed
        key = n0 * (int(n1.max(initial=0)) + 1) + n1
        _, group, size = np.unique(key, return_inverse=True, return_counts=True)
        result: IntArray = size[group].astype(np.int64)
        return result

    def only(self, used: IntArray, inverse: IntArray) -> DistinctCounts:
        """Return some of the counts; ``inverse`` are the remaining features' positions there."""
        return DistinctCounts(
            ones=np.ascontiguousarray(self.ones[:, used]),
            observed=np.ascontiguousarray(self.observed[:, used]),
            multiplicity=self.multiplicity[used],
            inverse=inverse,
            baselines=self.group_sizes()[used],
        )


def distinct_counts(ones: IntArray, observed: IntArray) -> DistinctCounts:
    """Find the distinct columns of counts of shape (2, k); ``observed`` may be of shape (2, 1)."""
    k = ones.shape[1]
    group = np.zeros(k, dtype=np.int64)
    if observed.shape[1] != 1 and k:
        _, group = np.unique(
            observed[0] * (int(observed[1].max()) + 1) + observed[1], return_inverse=True
        )
    width = int(observed.max(initial=0)) + 1
    key = (group * width + ones[0]) * width + ones[1]
    n_keys = (int(group.max(initial=0)) + 1) * width * width
    if n_keys <= max(4 * k, 1 << 16):  # counting beats sorting
        occurs = np.bincount(key, minlength=n_keys)
        values = np.flatnonzero(occurs)
        position = np.empty(n_keys, dtype=np.int64)
        position[values] = np.arange(values.size)
        inverse, multiplicity = position[key], occurs[values]
    else:
        values, inverse, multiplicity = np.unique(key, return_inverse=True, return_counts=True)
    first = np.empty(values.size, dtype=np.int64)
    first[inverse[::-1]] = np.arange(k - 1, -1, -1)
    full = np.broadcast_to(observed, ones.shape)
    return DistinctCounts(
        ones=np.ascontiguousarray(ones[:, first]),
        observed=np.ascontiguousarray(full[:, first]),
        multiplicity=multiplicity.astype(np.int64),
        inverse=inverse.ravel(),
    )


@lru_cache(maxsize=1)
def class_tables(
    alpha: float, rule: ThetaRule, n0: int, n1: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return beta-binomial tables of both classes and the rule's weights, normalised for them.

    The last ones are kept, because the likelihood and the probability of selection use the same.
    """
    from honestbayes.likelihood import beta_binomial

    total0 = np.empty(rule.theta.size)
    table0 = beta_binomial.pmf_table(n0, alpha, rule.theta, total0)
    if n0 == n1:
        return table0, table0, rule.weight / total0 / total0
    total1 = np.empty(rule.theta.size)
    table1 = beta_binomial.pmf_table(n1, alpha, rule.theta, total1)
    return table0, table1, rule.weight / total0 / total1


CoarserRule = Callable[[float, tuple[int, ...], float], ThetaRule]
"""Given alpha, the classes' observed cases and a bound on the error, a rule with fewer nodes."""


class CountLikelihood:
    """P(column of a feature | alpha), theta integrated out, for distinct counts.

    Equations 18 and 24 of the 2008 paper. The groups are sets of pairs with the same numbers of
    observed cases; small ones and large classes go pair by pair in logarithms, the others
    through tables of beta-binomial probabilities. In large classes the logarithms are taken only
    at nodes near the mode of each pair, and at those of a coarser rule where ``coarser`` has one.
    """

    def __init__(
        self,
        counts: DistinctCounts,
        interval: tuple[float, float],
        rule: ThetaRule | None = None,
        refine: float = 1.0,
        coarser: CoarserRule | None = None,
    ) -> None:
        self.counts = counts
        self._coarser = coarser
        self._interval = interval
        self._rule = rule
        self._refine = refine
        ones, observed = counts.ones, counts.observed
        self.log_ways = np.sum(
            gammaln(observed + 1) - gammaln(ones + 1) - gammaln(observed - ones + 1), axis=0
        )
        self._groups: list[tuple[int, int, IntArray]] = []
        if ones.shape[1] and np.all(observed == observed[:, :1]):
            n0, n1 = observed[:, 0].tolist()
            self._groups.append((n0, n1, np.arange(ones.shape[1])))
        elif ones.shape[1]:
            sizes, group = np.unique(observed, axis=1, return_inverse=True)
            for g, (n0, n1) in enumerate(sizes.T.tolist()):
                self._groups.append((n0, n1, np.flatnonzero(group.ravel() == g)))
        large = [group for group in self._groups if max(group[:2]) > TABLES_UP_TO]
        if coarser is not None and len(large) > 1:
            # With missing cells nearly every feature is a group. One rule serves all large ones:
            # that of the most cases, which has the most nodes.
            most0, most1, members = zip(*large, strict=True)
            self._groups = [group for group in self._groups if max(group[:2]) <= TABLES_UP_TO]
            self._groups.append((max(most0), max(most1), np.concatenate(members)))

    def __call__(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return log P(column | alpha) and E[theta | column, alpha], each of shape (D,)."""
        size = self.counts.ones.shape[1]
        log_likelihood, mean_theta = np.empty(size), np.empty(size)
        for n0, n1, members in self._groups:
            n = n0 + n1
            rule = self._rule or theta_rule(n, alpha, self._interval, refine=self._refine)
            baselines = self.counts.baselines
            size = members.size if baselines is None else int(baselines[members[0]])
            if max(n0, n1) <= TABLES_UP_TO and size > n // 32:
                part = self._by_table(alpha, rule, n0, n1, members)
            else:
                part = self._by_pair(alpha, self._coarsened(rule, alpha, n0, n1), members)
            log_likelihood[members], mean_theta[members] = part
        return log_likelihood, mean_theta

    def _coarsened(self, rule: ThetaRule, alpha: float, n0: int, n1: int) -> ThetaRule:
        """Return a rule of fewer nodes for large classes, where there is one."""
        if self._coarser is None or not NEGLIGIBLE_SHARE or max(n0, n1) <= TABLES_UP_TO:
            return rule
        return self._coarser(alpha, (n0, n1), NEGLIGIBLE_SHARE)

    def by_cell(self, alpha: float, rule: ThetaRule, n_cells: int) -> FloatArray:
        """Return log P(column | alpha, theta in cell), shape (D, n_cells).

        The rule has the same number of nodes in each cell, with weights that sum to 1 there.
        """
        from honestbayes.likelihood import beta_binomial

        result = np.empty((self.counts.ones.shape[1], n_cells))
        for n0, n1, members in self._groups:
            if max(n0, n1) <= TABLES_UP_TO:
                table0, table1, weight = class_tables(alpha, rule, n0, n1)
                likelihood = np.empty((members.size, n_cells))
                i0, i1 = self.counts.ones[:, members]
                beta_binomial.cell_integrals(table0, table1, weight, i0, i1, likelihood)
                ways = self.log_ways[members][:, None]
                result[members] = np.log(np.maximum(likelihood, 1e-300)) - ways
            elif NEGLIGIBLE_SHARE:
                log_likelihood = np.empty((members.size, n_cells))
                coarse = self._coarsened(rule, alpha, n0, n1)
                beta_binomial.log_cell_integrals_near_modes(
                    alpha,
                    coarse.theta,
                    coarse.weight,
                    *self.counts.observed[:, members],
                    *self.counts.ones[:, members],
                    self.log_ways[members],
                    NEGLIGIBLE_SHARE,
                    log_likelihood,
                )
                result[members] = log_likelihood
            else:
                theta, weight = (part.reshape(n_cells, -1) for part in (rule.theta, rule.weight))
                for cell in range(n_cells):
                    part = ThetaRule(theta[cell], weight[cell])
                    result[members, cell], _ = self._by_pair(alpha, part, members)
        return result

    def _by_table(
        self, alpha: float, rule: ThetaRule, n0: int, n1: int, members: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        from honestbayes.likelihood import beta_binomial

        table0, table1, weight = class_tables(alpha, rule, n0, n1)
        likelihood, mean_theta = np.empty(members.size), np.empty(members.size)
        i0, i1 = self.counts.ones[:, members]
        beta_binomial.pair_integrals(
            table0 * weight, table1, rule.theta, i0, i1, likelihood, mean_theta
        )
        with np.errstate(divide="ignore"):
            log_likelihood = np.log(likelihood) - self.log_ways[members]
        tiny = likelihood < _UNDERFLOW
        if tiny.any():
            log_likelihood[tiny], mean_theta[tiny] = self._by_pair(alpha, rule, members[tiny])
        return log_likelihood, mean_theta

    def _by_pair(
        self, alpha: float, rule: ThetaRule, members: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        from honestbayes.likelihood import beta_binomial

        log_likelihood, mean_theta = np.empty(members.size), np.empty(members.size)
        i0, i1 = self.counts.ones[:, members]
        n0, n1 = self.counts.observed[:, members]
        # Simpson's rule has nodes at 0 and 1, where logarithms are infinite.
        inside = alpha * rule.theta[0] > 0 and rule.theta[-1] < 1
        if NEGLIGIBLE_SHARE and inside and _are_large(n0, n1):
            # The quadrature over a common alpha promises 1e-9 for the sum over features.
            share = NEGLIGIBLE_SHARE ** (1 if self._coarser is not None else 2)
            beta_binomial.log_pair_integrals_near_modes(
                alpha,
                rule.theta,
                rule.weight,
                n0,
                n1,
                i0,
                i1,
                self.log_ways[members],
                share,
                log_likelihood,
                mean_theta,
            )
            return log_likelihood, mean_theta
        beta_binomial.log_pair_integrals(
            alpha, rule.theta, rule.weight, n0, n1, i0, i1, log_likelihood, mean_theta
        )
        return log_likelihood, mean_theta


def _are_large(n0: IntArray, n1: IntArray) -> bool:
    """Whether a class has too many observed cases for tables."""
    return bool(max(n0.max(initial=0), n1.max(initial=0)) > TABLES_UP_TO)


def margins_are_fixed(counts: DistinctCounts) -> bool:
    """Whether most features are one in half of their cases, as columns cut at the median are."""
    halves = np.abs(2 * counts.ones.sum(axis=0) - counts.observed.sum(axis=0)) <= 1
    return bool(2 * (halves @ counts.multiplicity) > counts.multiplicity.sum())


class GivenMargin:
    """P(column of a feature | alpha, its number of ones), for columns cut at the median.

    There the number of ones is fixed by the cut and says nothing of alpha; left in the likelihood
    it would speak against small alphas, under which it would vary.
    """

    def __init__(
        self,
        counts: DistinctCounts,
        interval: tuple[float, float],
        rule: ThetaRule,
        coarser: CoarserRule | None = None,
    ) -> None:
        self._plain = CountLikelihood(counts, interval, rule, coarser=coarser)
        self._rule = rule
        self._coarser = coarser
        self._log_margin: dict[float, FloatArray] = {}
        key = np.concatenate([counts.observed, counts.ones.sum(axis=0)[None]])
        self._margins, self._margin = np.unique(key, axis=1, return_inverse=True)

    def __call__(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return log P(column | alpha, ones) and E[theta | column, alpha], each of shape (D,)."""
        log_likelihood, mean_theta = self._plain(alpha)
        return log_likelihood - self.log_margin(alpha), mean_theta

    def log_margin(self, alpha: float) -> FloatArray:
        """Return the log probability of each feature's number of ones, shape (D,)."""
        from honestbayes.likelihood import beta_binomial

        if self._margin.size == 0:
            return np.zeros(0)
        # Fits ask twice: for the likelihood, and for the weights of the atoms.
        if alpha not in self._log_margin:
            n0, n1, ones = self._margins
            margin = np.empty(ones.size)
            rule = self._rule
            if self._coarser is not None and NEGLIGIBLE_SHARE and _are_large(n0, n1):
                rule = self._coarser(alpha, (int(n0.max()), int(n1.max())), NEGLIGIBLE_SHARE)
            beta_binomial.margin_probabilities(alpha, rule.theta, rule.weight, n0, n1, ones, margin)
            self._log_margin[alpha] = np.log(margin)
        return self._log_margin[alpha][self._margin.ravel()]
