"""Marginal likelihood of categorical features given alpha, theta integrated out over the simplex.

In class c the levels of a feature have probabilities phi_c ~ Dirichlet(alpha theta), and theta ~
Dirichlet(base, ..., base). With counts n_cv the integrand is a product over levels of polynomials
in alpha theta_v, whose monomials Dirichlet's formula integrates. So the integral is a polynomial
in alpha whose coefficients come from one convolution over the levels, whatever alpha is (docs,
"Categorical features"). Two levels and two classes, with base 1, are the binary model.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from honestbayes.types import FloatArray, IntArray

_CHUNK_TERMS = 1 << 22


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
        from honestbayes.correction import polynomials

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
        from honestbayes.correction import polynomials

        log_alpha = np.log(np.asarray(alpha, dtype=float))
        result = np.empty((log_alpha.size, self._ends.size))
        polynomials.evaluate_terms(self._terms, self._offsets, self._ends, log_alpha, result)
        return result - _log_rising_alpha(alpha, self._totals)[:, self._pattern]

    def mean_theta(self, alpha: FloatArray) -> FloatArray:
        """Return E[theta | column, alpha], shape (A, D, V)."""
        from honestbayes.correction import polynomials

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
    from honestbayes.correction import polynomials

    row: FloatArray = polynomials.log_rising(1, n)
    return row
