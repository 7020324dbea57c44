"""A lookup table of log P(S | labels, alpha) in a two-component mixture.

log(-log P(S) / N) is interpolated between exact values. Over alpha the nodes are equidistant in
x = -log(1 / alpha + 1 / ceiling), which is log(alpha) where it matters and finite for an infinite
alpha. Over a and b all integers are nodes while that is affordable, otherwise integers near those
of Chebyshev. Each value comes from the few nodes around it, so that the steps that P(S) has at
small alpha leave the rest of the table alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from honestbayes.correction.discard import CountRegion, region
from honestbayes.correction.event import Event, event_of
from honestbayes.likelihood.counts import TABLES_UP_TO
from honestbayes.likelihood.quadrature import ThetaRule, theta_rule
from honestbayes.selection import Selection
from honestbayes.threads import one_blas_thread
from honestbayes.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from honestbayes.correction.mixture_kernels import TableArrays


# --------------------------------------------------------------------------------------------------
# P(S | labels, alpha) in a two-component mixture of binary features, exactly
#
# Section 2.4.3 and appendix 2 of the thesis (Li 2007), equations 2.76 to 2.78, by another route:
# the labels matter only through a = #(z=1, y=0) and b = #(z=1, y=1), and
#
#     P(|COR| > gamma | z, y, alpha) = sum over (m0, m1) of D_ab[m0, m1] Q_alpha[m0, m1],
#
# where m0 and m1 are the numbers of ones in the two components. D, from two hypergeometric draws,
# is free of alpha and theta; Q, from two beta-binomials, depends on the labels only through a + b.
# --------------------------------------------------------------------------------------------------


_ANY_FORM = 2.0
"""How many times as long D takes for a region without the form of the correlation's."""

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
    where : MixtureRegion, optional
        The counts beyond the bound of another criterion than the correlation, instead of gamma.
    """

    class_counts: tuple[int, int]
    gamma_squared: Fraction
    interval: tuple[float, float] = (0.0, 1.0)
    where: MixtureRegion | None = None

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
            of_size = self._of_one_size(same[members], alphas, refine)
            beyond[members], tied[members] = of_size
        if self.where is not None:
            # Where nearly all counts attain the bound, the sum may exceed what is left by rounding.
            tied = 1.0 - beyond if self.where.never_below else np.minimum(tied, 1.0 - beyond)
        elif self.gamma_squared == 0:
            tied = 1.0 - beyond
        return beyond[position], tied[position]

    def log_prob(
        self, event: Event, states: IntArray, alphas: FloatArray, *, refine: float = 1.0
    ) -> FloatArray:
        """Return log P(S) of the event, shape (S, A); see :meth:`probabilities`."""
        beyond, tied = self.probabilities(states, alphas, refine=refine)
        columns = [event.log_prob(beyond[:, t, None], tied[:, t, None]) for t in range(alphas.size)]
        return np.stack(columns, axis=1)

    @property
    def cost(self) -> float:
        """How many times as long exact values take as those of the correlation."""
        if self.where is None:
            return 1.0
        n0, n1 = self.class_counts
        more_states = 2.0 if n0 == n1 and not self.where.swaps_classes else 1.0
        return more_states * (_ANY_FORM if self.where.first_beyond is None else 1.0)

    def _check(self, states: IntArray) -> None:
        if np.any(states < 0) or np.any(states > np.array(self.class_counts)):
            msg = "a component has a negative number of cases of a class, or more than there are."
            raise ValueError(msg)

    def _representatives(self, states: IntArray) -> tuple[IntArray, IntArray]:
        """Return one of the states that have the same value for certain, and where each one is.

        The components may swap names, and classes of the same size may too, unless a criterion
        distinguishes them.
        """
        counts = np.array(self.class_counts)
        other = counts - states
        swap = (other.sum(axis=1) < states.sum(axis=1)) | (
            (other.sum(axis=1) == states.sum(axis=1)) & (other[:, 0] < states[:, 0])
        )
        same = np.where(swap[:, None], other, states)
        if counts[0] == counts[1] and (self.where is None or self.where.swaps_classes):
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
        if self.where is not None:
            return self.where.given_ones(a, b)
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

        D is the same when zeros and ones swap, so the integrand is even in theta - 1/2, unless a
        criterion distinguishes zeros and ones.
        """
        rule = theta_rule(sum(self.class_counts), alpha, self.interval, refine=refine)
        even = self.where is None or self.where.swaps_zeros_and_ones
        if self.interval[0] + self.interval[1] != 1.0 or not even:
            return rule
        half = (rule.theta.size + 1) // 2
        weight = 2.0 * rule.weight[:half]
        # The node in the middle is its own mirror image.
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
    # With I1 = i1 the numbers I0 = 0, 1, ..., n_beyond - 1 are beyond, that is s from i1 on. The
    # smallest i1 is written last.
    for i1 in range(n1, -1, -1):
        first[i1 : i1 + n_beyond[i1]] = i1
    return first


@dataclass(frozen=True, slots=True, eq=False)
class MixtureRegion:
    """The counts beyond a bound by any criterion, and those that attain it, by numbers of ones.

    For s ones in all, the values of I1 in a set form runs ``first[r] <= I1 < stop[r]``, r from
    ``run[s]`` to ``run[s + 1]``. The correlation has symmetries that another criterion need not
    have; whether it does is read off the region itself.

    Attributes
    ----------
    class_counts : tuple of int
        n0 and n1.
    beyond, tied : tuple of ndarray of int
        ``run``, of shape (n + 2,), ``first`` and ``stop`` of both sets.
    swaps_zeros_and_ones, swaps_classes : bool
        Whether both sets stay what they are when zeros and ones swap, or the classes (which takes
        classes of the same size).
    never_below : bool
        Whether all counts are beyond the bound or attain it.
    first_beyond : ndarray of shape (n + 1,) or None
        Where the set beyond the bound is I1 >= first_beyond[s] and its mirror image, zeros and ones
        swapped: then the sum of the correlation serves it.
    """

    class_counts: tuple[int, int]
    beyond: tuple[IntArray, IntArray, IntArray]
    tied: tuple[IntArray, IntArray, IntArray]
    swaps_zeros_and_ones: bool
    swaps_classes: bool
    never_below: bool
    first_beyond: IntArray | None

    @classmethod
    def of_counts(cls, where: CountRegion) -> MixtureRegion:
        """Return the form of a region that its masks determine."""
        n0, n1 = (size - 1 for size in where.beyond.shape)
        masks = (where.beyond, where.tied)
        mirrored = all(np.array_equal(mask, mask[::-1, ::-1]) for mask in masks)
        return cls(
            class_counts=(n0, n1),
            beyond=_runs(where.beyond),
            tied=_runs(where.tied),
            swaps_zeros_and_ones=mirrored,
            swaps_classes=n0 == n1 and all(np.array_equal(mask, mask.T) for mask in masks),
            never_below=bool(np.all(where.beyond | where.tied)),
            first_beyond=_first_of_mask(where.beyond) if mirrored else None,
        )

    def given_ones(self, a: int, b: int) -> tuple[FloatArray, FloatArray | None]:
        """Return D_ab: P(beyond) and P(tied), None for 0, given the ones in each component."""
        from honestbayes.correction import mixture_kernels

        n0, n1 = self.class_counts
        beyond = np.empty((n0 + n1 - a - b + 1, a + b + 1))
        if self.first_beyond is None:
            mixture_kernels.region_given_ones(a, b, n0, n1, *self.beyond, beyond)
        else:
            mixture_kernels.beyond_given_ones(a, b, n0, n1, self.first_beyond, beyond)
        if self.tied[1].size == 0 or self.never_below:
            return beyond, None
        tied = np.empty_like(beyond)
        mixture_kernels.region_given_ones(a, b, n0, n1, *self.tied, tied)
        return beyond, tied


def _by_ones(mask: BoolArray) -> tuple[BoolArray, IntArray, IntArray]:
    """Return a mask of counts by s = I0 + I1 and I1, and the range of I1 for each s."""
    n0, n1 = (size - 1 for size in mask.shape)
    s, i1 = np.arange(n0 + n1 + 1)[:, None], np.arange(n1 + 1)
    i0 = np.clip(s - i1, 0, n0)
    possible = i0 == s - i1
    return mask[i0, i1] & possible, np.maximum(s[:, 0] - n0, 0), np.minimum(s[:, 0], n1)


def _runs(mask: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the runs of I1 that a mask has for each s."""
    inside, _, _ = _by_ones(mask)
    padded = np.pad(inside, ((0, 0), (1, 1))).astype(np.int64)
    step = np.diff(padded, axis=1)
    of_s, first = np.nonzero(step == 1)
    stop = np.nonzero(step == -1)[1]
    run = np.searchsorted(of_s, np.arange(inside.shape[0] + 1))
    return run.astype(np.int64), first.astype(np.int64), stop.astype(np.int64)


def _first_of_mask(mask: BoolArray) -> IntArray | None:
    """Return what `_first_beyond` does, or None where a mask has another form.

    The mask is its own mirror image. Its half in which ones go with class 1 must be what is from
    some I1 on, and it has nothing between both halves.
    """
    n0, n1 = (size - 1 for size in mask.shape)
    inside, low, high = _by_ones(mask)
    s, i1 = np.arange(n0 + n1 + 1)[:, None], np.arange(n1 + 1)
    excess = (n0 + n1) * i1 - n1 * s
    if np.any(inside & (excess == 0)):
        return None
    upper = inside & (excess > 0)
    first = np.where(upper.any(axis=1), upper.argmax(axis=1), n0 + n1 + 1)
    expected = (i1 >= first[:, None]) & (i1 >= low[:, None]) & (i1 <= high[:, None])
    return first.astype(np.int64) if np.array_equal(upper, expected) else None


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


TOLERANCE = 1e-3
"""Largest error of log P(S) at states that matter."""

MATTERS = 50.0
"""A state matters at an alpha if its log P(S) is below the largest one by at most this much."""

_SMALLEST_ALPHA = 0.05
_CEILING = 4.0  # times the number of cases
_INFINITE = 1e15
_STEP = 0.2
_STATE_POINTS = 8
_FEWEST_NODES = 20
_NO_COST = -1e6  # exp(-1e6) is 0

_SMALLEST_COST = 1e-13
"""Added to -log P(S), so that it has a logarithm."""

_ACCURATE_FROM = 5.0
"""Nodes are added until the table is accurate from this alpha on, or they get too many."""

_NODES_NEEDED = 9.0
"""Times sqrt(n / alpha): nodes of a, and of b, for a table that is accurate at alpha."""

_MORE_NODES = 1.5
_CHEAP = 12.0
"""If it takes at most so many seconds (`_seconds`), all integers are nodes."""

_AFFORDABLE = 45.0
"""No nodes are added beyond so many seconds."""

_CHECKED_SIZES = 24
_CHECKED_STATES = 10
_MISSED = 2.0
"""Errors at states that were not checked may be larger than those found by this factor."""

_FINER_THETA = 1.5


@dataclass(frozen=True, kw_only=True)
class MixtureTable:
    """Interpolated log P(S), shared by all chains.

    Attributes
    ----------
    factor : MixtureFactor
        What the exact values are made by.
    event : Event
        What is known of the discarded features.
    nodes0, nodes1 : ndarray of int of shape (K0,), (K1,)
        Nodes of a and of b.
    alphas : ndarray of shape (A,)
        Nodes of alpha; the last one stands for infinity.
    log_cost : ndarray of shape (K0, K1, A)
        log(-log P(S) / N) at the nodes.
    checked_alphas, errors : ndarray of shape (A - 1,)
        Alphas half way between nodes, and the largest error of log P(S) found there, among the
        checked states that matter (`MATTERS`).
    """

    factor: MixtureFactor
    event: Event
    nodes0: IntArray
    nodes1: IntArray
    alphas: FloatArray
    log_cost: FloatArray
    checked_alphas: FloatArray
    errors: FloatArray

    @property
    def max_error(self) -> float:
        """Largest error of log P(S) found, at any alpha of the table."""
        return float(self.errors.max(initial=0.0))

    def accurate_from(self, tol: float = TOLERANCE) -> float:
        """Return the smallest alpha from which on errors are within the tolerance.

        Half of it must hold at the states that were checked, because others may be worse.
        """
        wrong = np.flatnonzero(_MISSED * self.errors > tol)
        return float(self.alphas[wrong[-1] + 1 if wrong.size else 0])

    def warn_if_visited(self, alphas: FloatArray, tol: float = TOLERANCE) -> None:
        """Warn if a chain visited alphas where the table is not known to be accurate."""
        bound = self.accurate_from(tol)
        below = int(np.count_nonzero(alphas < bound))
        if below and bound > self.alphas[0]:
            warnings.warn(
                f"{below} of {alphas.size} draws of alpha are below {bound:.3g}, where log P(S) is "
                f"interpolated with errors of up to {self.max_error:.2g}, not {tol:g}.",
                stacklevel=2,
            )

    @cached_property
    def arrays(self) -> TableArrays:
        """What kernels take."""
        from honestbayes.correction.mixture_kernels import TableArrays

        n0, n1 = self.factor.class_counts
        x, ceiling = _alpha_line(n0 + n1)
        return TableArrays(
            float(_n_discarded(self.event)),
            float(x[0]),
            _STEP,
            1.0 / ceiling,
            self.log_cost,
            _stencils(n0, self.nodes0),
            _stencils(n1, self.nodes1),
        )

    def log_prob(self, states: IntArray, alphas: FloatArray) -> FloatArray:
        """Return log P(S) at states (a, b), shape (S, 2), and at alphas: shape (S, A)."""
        from honestbayes.correction.mixture_kernels import log_selections

        result = np.empty((states.shape[0], alphas.size))
        log_selections(self.arrays, states, np.log(alphas), result)
        return result


def mixture_table(
    selection: Selection,
    interval: tuple[float, float] = (0.0, 1.0),
    where: MixtureRegion | None = None,
) -> MixtureTable:
    """Return the table for a selection of complete binary features.

    They were selected by their correlation, or by another criterion: ``where`` is its region.
    """
    counts = selection.class_counts
    if len(counts) != 2 or any(group.observed != counts for group in selection.groups):
        msg = "the mixture needs two classes and discarded features without missing cells."
        raise ValueError(msg)
    factor = MixtureFactor((counts[0], counts[1]), selection.gamma_squared, interval, where)
    return build_table(factor, event_of(selection, selection.gamma))


def build_table(factor: MixtureFactor, event: Event) -> MixtureTable:
    """Compute exact values at nodes, check between them, and add nodes where it is needed."""
    n0, n1 = factor.class_counts
    if _n_discarded(event) == 0:
        return _certain(factor, event)
    size = _first_size(n0, n1, factor.cost)
    with one_blas_thread():
        exact = _ExactValues(factor, event)
        while True:
            table = exact.table(_nodes(n0, size), _nodes(n1, size))
            larger = int(np.ceil(_MORE_NODES * size))
            enough = table.accurate_from() <= _ACCURATE_FROM or size > max(n0, n1)
            if enough or factor.cost * _seconds(n0, n1, larger) > _AFFORDABLE:
                return table
            size = larger


class _ExactValues:
    """Exact values that were computed so far, and those against which tables are checked."""

    def __init__(self, factor: MixtureFactor, event: Event) -> None:
        self.factor, self.event = factor, event
        n = sum(factor.class_counts)
        x, ceiling = _alpha_line(n)
        self.alphas = _to_alpha(x, ceiling)
        self.checked_alphas = _to_alpha(x[:-1] + _STEP / 2, ceiling)
        self.checked_states = _states_to_check(*factor.class_counts)
        self.checked = factor.log_prob(
            event, self.checked_states, self.checked_alphas, refine=_FINER_THETA
        )
        self._known: dict[tuple[int, int], FloatArray] = {}

    def table(self, nodes0: IntArray, nodes1: IntArray) -> MixtureTable:
        """Return a table on these nodes, with its errors."""
        states = np.stack(np.meshgrid(nodes0, nodes1, indexing="ij"), axis=-1).reshape(-1, 2)
        log_prob = self._at(states)
        if not np.all(np.isfinite(log_prob)):
            msg = "the selection has probability 0, so no feature can be discarded by it."
            raise ValueError(msg)
        if np.all(log_prob == 0.0):
            return _certain(self.factor, self.event)
        # N does not matter to the shape: -log P(S) is N times a smooth function of the state.
        # At a large alpha P(S) may be 1 to rounding; what is added is as much for all states.
        log_cost = np.log((_SMALLEST_COST - log_prob) / _n_discarded(self.event))
        shape = (nodes0.size, nodes1.size, self.alphas.size)
        unchecked = MixtureTable(
            factor=self.factor,
            event=self.event,
            nodes0=nodes0,
            nodes1=nodes1,
            alphas=self.alphas,
            log_cost=log_cost.reshape(shape),
            checked_alphas=self.checked_alphas,
            errors=np.zeros(self.checked_alphas.size),
        )
        errors = self._errors(unchecked, log_prob.max(axis=0))
        return replace(unchecked, errors=errors)

    def _at(self, states: IntArray) -> FloatArray:
        """Return log P(S) at states and all nodes of alpha, computing only what is new."""
        keys = [(a, b) for a, b in states.tolist()]
        new = [key for key in keys if key not in self._known]
        if new:
            values = self.factor.log_prob(self.event, np.array(new, dtype=np.int64), self.alphas)
            self._known.update(zip(new, values, strict=True))
        return np.array([self._known[key] for key in keys])

    def _errors(self, table: MixtureTable, highest: FloatArray) -> FloatArray:
        """Return the largest error at each checked alpha, among states that matter."""
        got = table.log_prob(self.checked_states, self.checked_alphas)
        top = np.maximum(self.checked.max(axis=0), np.minimum(highest[1:], highest[:-1]))
        error = np.where(self.checked > top - MATTERS, np.abs(got - self.checked), 0.0)
        return np.asarray(error.max(axis=0))


def _n_discarded(event: Event) -> int:
    return sum(group.n_discarded for group in event.groups)


def _certain(factor: MixtureFactor, event: Event) -> MixtureTable:
    """Return the table of an event that is certain: log P(S) = 0."""
    x, ceiling = _alpha_line(sum(factor.class_counts))
    return MixtureTable(
        factor=factor,
        event=event,
        nodes0=np.array([0], dtype=np.int64),
        nodes1=np.array([0], dtype=np.int64),
        alphas=_to_alpha(x, ceiling),
        log_cost=np.full((1, 1, x.size), _NO_COST),
        checked_alphas=np.zeros(0),
        errors=np.zeros(0),
    )


# ------------------------------------------------------------------------------------------- nodes


def _alpha_line(n: int) -> tuple[FloatArray, float]:
    """Return equidistant nodes of x = -log(1 / alpha + 1 / ceiling), and the ceiling.

    The ceiling is moved such that the last node, x = log(ceiling), is an infinite alpha.
    """
    first = np.log(_SMALLEST_ALPHA)
    number = int(np.ceil((np.log(_CEILING * max(n, 10)) - first) / _STEP))
    x = first + _STEP * np.arange(number + 1)
    return x, float(np.exp(x[-1]))


def _to_alpha(x: FloatArray, ceiling: float) -> FloatArray:
    return np.asarray(1.0 / np.maximum(np.exp(-x) - 1.0 / ceiling, 1.0 / _INFINITE))


def _seconds(n0: int, n1: int, size: int) -> float:
    """Return about how long the exact values take with so many nodes in each class.

    Fitted to times on one core; only the powers of n follow from what is computed.
    """
    n = float(n0 + n1)
    alike = 4.0 if n0 == n1 else 2.0
    states = min(size, n0 + 1) * min(size, n1 + 1) / alike
    return states * (1e-4 + 5.5e-12 * n**3) + min(states, n / 2) * 4.3e-8 * n**2


def _first_size(n0: int, n1: int, cost: float = 1.0) -> int:
    """Return the number of nodes in each class: all integers, what is needed, or affordable."""
    everything = max(n0, n1) + 1
    if cost * _seconds(n0, n1, everything) <= _CHEAP:
        return everything
    size = int(_NODES_NEEDED * np.sqrt((n0 + n1) / _ACCURATE_FROM))
    while size > _FEWEST_NODES and cost * _seconds(n0, n1, size) > _AFFORDABLE:
        size -= 1
    return size


def _nodes(n: int, size: int) -> IntArray:
    """Return integers near the Chebyshev points of 0..n, the same seen from both ends."""
    if size > n:
        return np.arange(n + 1, dtype=np.int64)
    lower = np.rint(n * (1.0 - np.cos(np.pi * np.arange(size // 2) / (size - 1))) / 2)
    # Where points are closer than integers, the next integers.
    steps = np.maximum(np.diff(lower), 1.0)
    lower = np.concatenate([[0.0], np.cumsum(steps)]).astype(np.int64)
    lower = lower[lower <= n // 2]
    return np.unique(np.concatenate([lower, n - lower]))


def _stencils(n: int, nodes: IntArray) -> FloatArray:
    """Return for each integer 0..n the first of the nodes around it, then their weights."""
    if nodes.size == 1:
        return np.stack([np.zeros(n + 1), np.ones(n + 1)], axis=1)
    if nodes.size == n + 1:
        return np.stack([nodes.astype(float), np.ones(n + 1)], axis=1)
    points = min(_STATE_POINTS, nodes.size)
    start = np.searchsorted(nodes, np.arange(n + 1)) - points // 2
    start = np.clip(start, 0, nodes.size - points)
    result = np.empty((n + 1, 1 + points))
    result[:, 0] = start
    for value in range(n + 1):
        around = nodes[start[value] : start[value] + points].astype(float)
        gap = value - around
        if np.any(gap == 0.0):
            result[value, 1:] = gap == 0.0
        else:
            terms = _barycentric(around) / gap
            result[value, 1:] = terms / terms.sum()
    return result


def _barycentric(points: FloatArray) -> FloatArray:
    """Return the barycentric weights of a few points, up to a factor."""
    gap = points[:, None] - points
    np.fill_diagonal(gap, 1.0)
    return np.asarray(1.0 / gap.prod(axis=1))


def _states_to_check(n0: int, n1: int) -> IntArray:
    """Draw states of a few sizes a + b, which share work: half of them with labels at random."""
    rng = np.random.default_rng(0)
    states = []
    for size in rng.integers(1, n0 + n1, _CHECKED_SIZES).tolist():
        low, high = max(0, size - n1), min(n0, size)
        near = rng.hypergeometric(n0, n1, size, _CHECKED_STATES // 2)
        a = np.concatenate([near, rng.integers(low, high + 1, _CHECKED_STATES // 2)])
        states.append(np.stack([a, size - a], axis=1))
    return np.concatenate(states).astype(np.int64)
