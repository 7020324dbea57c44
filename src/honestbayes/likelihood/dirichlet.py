"""Marginal likelihood of categorical features given alpha, theta integrated out over the simplex.

In class c the levels of a feature have probabilities phi_c ~ Dirichlet(alpha theta), and theta ~
Dirichlet(base, ..., base). With counts n_cv the integrand is a product over levels of polynomials
in alpha theta_v, whose monomials Dirichlet's formula integrates. So the integral is a polynomial
in alpha whose coefficients come from one convolution over the levels, whatever alpha is (docs,
"Categorical features"). Two levels and two classes, with base 1, are the binary model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from scipy.special import gammaln

from honestbayes.types import FloatArray, IntArray

_CHUNK_TERMS = 1 << 22
_KEPT_TERMS = 1 << 25


class TableLikelihood:
    """P(column | alpha) and E[theta | column, alpha] for tables of counts.

    Parameters
    ----------
    tables : ndarray of int of shape (D, C, V)
        Counts of each class and level.
    base : float, default=1.0
        Parameter of the symmetric Dirichlet prior of theta.
    """

    def __init__(self, tables: IntArray, base: float = 1.0) -> None:
        from honestbayes.likelihood import polynomials

        self._tables = np.ascontiguousarray(tables, dtype=np.int64)
        n_tables, _, n_levels = tables.shape
        totals = self._tables.sum(axis=2)
        self._totals, self._pattern = np.unique(totals, axis=0, return_inverse=True)
        self._pattern = self._pattern.ravel()
        n = int(totals.sum(axis=1).max(initial=0))
        t = np.arange(n + 2)
        self._base = base
        self._rising, self._start = _rising_rows(np.unique(self._tables))
        self._log_gamma = gammaln(base + t) - gammaln(base)
        self._log_total = gammaln(n_levels * base) - gammaln(n_levels * base + t)
        # A polynomial has as many terms as cases, less one for each further cell in use.
        sizes = totals.sum(axis=1) - (self._tables > 0).sum(axis=(1, 2)) + 1
        self._offsets, self._ends = (np.empty(n_tables, dtype=np.int64) for _ in range(2))
        self._terms = np.empty(int(sizes.sum()))
        polynomials.table_terms(
            self._tables,
            self._rising,
            self._start,
            self._log_gamma,
            self._log_total,
            self._offsets,
            self._ends,
            self._terms,
        )

    def log_marginal(self, alpha: FloatArray) -> FloatArray:
        """Return log P(column | alpha), shape (A, D)."""
        from honestbayes.likelihood import polynomials

        log_alpha = np.log(np.asarray(alpha, dtype=float))
        result = np.empty((log_alpha.size, self._ends.size))
        polynomials.evaluate_terms(self._terms, self._offsets, self._ends, log_alpha, result)
        return result - _log_rising_alpha(alpha, self._totals)[:, self._pattern]

    def mean_theta(self, alpha: FloatArray) -> FloatArray:
        """Return E[theta | column, alpha], shape (A, D, V)."""
        from honestbayes.likelihood import polynomials

        log_alpha = np.log(np.asarray(alpha, dtype=float))
        result = np.empty((log_alpha.size, self._tables.shape[0], self._tables.shape[2]))
        polynomials.level_means(
            self._tables,
            self._rising,
            self._start,
            self._log_gamma,
            self._log_total,
            self._base,
            log_alpha,
            result,
        )
        return result


def table_likelihood(tables: IntArray, base: float = 1.0) -> Callable[[FloatArray], FloatArray]:
    """Return log P(column | alpha) as a function of alphas, with values of shape (A, D).

    The polynomials are kept for further calls where they fit into memory.
    """
    if int(tables.sum()) <= _KEPT_TERMS:
        return TableLikelihood(tables, base).log_marginal
    return partial(log_marginal, tables, base=base)


def log_marginal(tables: IntArray, alpha: FloatArray, base: float = 1.0) -> FloatArray:
    """Return log P(column | alpha), shape (A, D), for tables of shape (D, C, V).

    The same as `TableLikelihood`, with the polynomials of a part of the tables at a time.
    """
    result = np.empty((alpha.size, tables.shape[0]))
    cases = int(tables.sum(axis=(1, 2)).max(initial=1))
    step = max(1, _CHUNK_TERMS // max(cases, 1))
    for begin in range(0, tables.shape[0], step):
        part = slice(begin, begin + step)
        result[:, part] = TableLikelihood(tables[part], base).log_marginal(alpha)
    return result


def draw_theta(
    table: IntArray,
    level: int,
    alpha: FloatArray,
    base: float,
    generator: np.random.Generator,
) -> FloatArray:
    """Draw theta of one level given a feature's table, at each of some alphas.

    Given the powers t of alpha theta_v in a monomial of the integrand, theta is Dirichlet with
    parameters base + t_v. So the total T is drawn from the terms of the polynomial in alpha, t_v
    given T from the terms of its convolution, and theta_v from a beta distribution.

    Parameters
    ----------
    table : ndarray of int of shape (C, V)
        Counts.
    level : int
        Which level.
    alpha : ndarray of shape (S,)
        One alpha for each draw.
    base : float
        Parameter of the symmetric Dirichlet prior of theta.
    generator : Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (S,)
    """
    from honestbayes.likelihood import polynomials

    n_levels, cases = table.shape[1], int(table.sum())
    others = np.delete(table, level, axis=1)
    rising, start = _rising_rows(np.unique(table))
    log_gamma = gammaln(base + np.arange(cases + 1)) - gammaln(base)
    own, own_offset = polynomials.level_terms(
        np.ascontiguousarray(table[:, level], dtype=np.int64), rising, start, log_gamma
    )
    rest, rest_offset = np.zeros(1), 0
    for column in others.T:
        terms, offset = polynomials.level_terms(
            np.ascontiguousarray(column, dtype=np.int64), rising, start, log_gamma
        )
        rest, rest_offset = polynomials.log_convolve(rest, terms), rest_offset + offset
    product = polynomials.log_convolve(own, rest)
    totals = own_offset + rest_offset + np.arange(product.size)
    product = product - gammaln(n_levels * base + totals)
    uniform = generator.random(alpha.size)
    total = np.empty(alpha.size, dtype=np.int64)
    for value in np.unique(alpha):
        mine = np.flatnonzero(alpha == value)
        total[mine] = _inverse_cdf(product + np.arange(product.size) * np.log(value), uniform[mine])
    uniform = generator.random(alpha.size)
    power = np.empty(alpha.size, dtype=np.int64)
    for value in np.unique(total).tolist():
        mine = np.flatnonzero(total == value)
        low, high = max(0, value - rest.size + 1), min(own.size - 1, value)
        t = np.arange(low, high + 1)
        power[mine] = low + _inverse_cdf(own[t] + rest[value - t], uniform[mine])
    mine, all_ = own_offset + power, own_offset + rest_offset + total
    drawn: FloatArray = generator.beta(base + mine, (n_levels - 1) * base + all_ - mine)
    return drawn


def _inverse_cdf(log_weight: FloatArray, uniform: FloatArray) -> IntArray:
    """Choose positions with probability proportional to exp(log_weight)."""
    below = np.cumsum(np.exp(log_weight - log_weight.max()))
    index: IntArray = np.searchsorted(below, uniform * below[-1])
    return np.asarray(np.minimum(index, log_weight.size - 1))


def _log_rising_alpha(alpha: FloatArray, totals: IntArray) -> FloatArray:
    """Sum over classes of log(alpha (alpha + 1) ... (alpha + n_c - 1)), shape (A, patterns).

    By sums of log1p, which lose no digits where alpha is large.
    """
    largest = int(totals.max(initial=0))
    steps = np.log1p(np.arange(largest) / np.asarray(alpha, dtype=float)[:, None])
    sums = np.concatenate([np.zeros((len(alpha), 1)), np.cumsum(steps, axis=1)], axis=1)
    cases = totals.sum(axis=1)
    return np.asarray(sums[:, totals].sum(axis=2) + np.log(alpha)[:, None] * cases)


def _rising_rows(counts: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the log coefficients of x(x + 1)...(x + n - 1) / x for some n, one after the other."""
    start = np.zeros(int(counts.max(initial=0)) + 1, dtype=np.int64)
    rows, position = [np.zeros(0)], 0
    for n in counts[counts > 0].tolist():
        start[n] = position
        rows.append(_rising_row(n))
        position += n
    return np.concatenate(rows), start


@lru_cache(maxsize=4096)
def _rising_row(n: int) -> FloatArray:
    from honestbayes.likelihood import polynomials

    row: FloatArray = polynomials.log_rising(1, n)
    return row
