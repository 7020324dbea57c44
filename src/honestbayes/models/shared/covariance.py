"""A covariance matrix shrunk to the identity, and its inverse, however many columns it has.

With residuals R of shape (n, k), in columns of unit variance,

    S = shrinkage I + (1 - shrinkage) R'R / n.

Where k exceeds n nothing of the size k x k is ever formed: by Woodbury's identity

    S^-1 v = (v - a R'(b I + a R R')^-1 R v) / b,    a = (1 - shrinkage) / n,  b = shrinkage.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from honestbayes.files.fields import Flag, Floats, Number
from honestbayes.files.records import Check
from honestbayes.types import BoolArray, FloatArray, IntArray

_SMALLEST = 1e-12
"""Shrinkage that is always there, so that a column that repeats another has an inverse."""


_LARGEST = 1e3
"""Bound of the factor in files: columns are in units of their deviation within classes."""


def ledoit_wolf(residual: FloatArray) -> float:
    """Return the shrinkage of Ledoit and Wolf (2004) towards a multiple of the identity.

    With G = RR' it needs the trace of G, the sum of all squares of G, and that of its diagonal;
    R'R has the same sum of squares, and of the two the smaller one is formed. A factor on all
    residuals does not matter.
    """
    n, k = residual.shape
    if n == 0 or k == 0:
        return 0.0
    product = residual @ residual.T if n <= k else residual.T @ residual
    of_rows = np.einsum("ij,ij->i", residual, residual)
    squares = float(np.sum(product**2)) / n**2
    mean = float(of_rows.sum()) / (n * k)
    apart = (squares - k * mean**2) / k
    noise = (float(np.sum(of_rows**2)) / n - squares) / (n * k)
    if apart <= 0 or noise <= 0:
        return 0.0
    return float(min(noise, apart) / apart)


@dataclass(frozen=True, slots=True, eq=False)
class Covariance:
    """The shrunken covariance of k columns.

    Attributes
    ----------
    shrinkage : float
        Share of the identity.
    dual : bool
        Whether there are more columns than residuals.
    factor : ndarray of shape (m, k)
        R / sqrt(n) where ``dual``, else R'R / n.
    """

    shrinkage: Annotated[float, Number(0.0, 1.0)]
    dual: Annotated[bool, Flag()]
    factor: Annotated[FloatArray, Floats("n_rows", "n_columns", low=-_LARGEST, high=_LARGEST)]

    def check(self, check: Check) -> None:
        """Refuse a matrix that is none of a covariance."""
        if not self.dual:
            rows, columns = self.factor.shape
            good = rows == columns and np.allclose(self.factor, self.factor.T, atol=1e-9)
            check(good, "factor", "is not symmetric")
        try:
            self.solve(np.zeros((self.factor.shape[1], 1)))
        except LinAlgError:
            check(False, "factor", "is not a covariance")

    @classmethod
    def of(cls, residual: FloatArray, shrinkage: float) -> Covariance:
        """Return the covariance of residuals of shape (n, k), each divided by sqrt(n)."""
        n, k = residual.shape
        return cls(shrinkage, k > n, residual if k > n else residual.T @ residual)

    def without(self, missing: BoolArray) -> Covariance:
        """Return the covariance of the columns that are not missing."""
        kept = np.flatnonzero(~missing)
        rows = self.factor if self.dual else self.factor[kept]
        return replace(self, factor=np.ascontiguousarray(rows[:, kept]))

    def solve(self, columns: FloatArray) -> FloatArray:
        """Return S^-1 times columns of shape (k, q)."""
        share = max(self.shrinkage, _SMALLEST)
        rest = 1 - self.shrinkage
        product = self.factor @ self.factor.T if self.dual else self.factor
        matrix = rest * product
        matrix.flat[:: len(matrix) + 1] += share
        root = cho_factor(matrix, lower=True, overwrite_a=True)
        if not self.dual:
            return np.asarray(cho_solve(root, columns))
        inside = cho_solve(root, self.factor @ columns)
        return np.asarray((columns - rest * (self.factor.T @ inside)) / share)

    def condition(
        self, missing: BoolArray, observed: FloatArray, coefficients: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return what normal columns with this covariance and mean 0 are, given some of them.

        Parameters
        ----------
        missing : ndarray of bool of shape (k,)
            Columns that are not known, m of them.
        observed : ndarray of shape (r, k - m)
            Rows of the others.
        coefficients : ndarray of shape (m, q)
            Weights of sums of the missing columns.

        Returns
        -------
        mean : ndarray of shape (r, m)
            Means of the missing columns given each row.
        variance : ndarray of shape (q,)
            Variances of the sums, which are the same for every row.
        """
        share, rest = max(self.shrinkage, _SMALLEST), 1 - self.shrinkage
        gone, there = np.flatnonzero(missing), np.flatnonzero(~missing)
        rows = self.factor if self.dual else self.factor[gone]

        def towards_missing(columns: FloatArray, which: IntArray) -> FloatArray:
            """Return the covariances of the missing columns with some columns, times a matrix."""
            part = rows[:, which] @ columns
            return np.asarray(rest * (rows[:, gone].T @ part if self.dual else part))

        own = towards_missing(coefficients, gone) + share * coefficients
        variance = np.einsum("mq,mq->q", coefficients, own)
        if not there.size:
            return np.zeros((len(observed), gone.size)), variance
        # Covariances of the observed columns with the sums.
        back = self.factor[:, gone] @ coefficients if self.dual else coefficients
        other = self.factor[:, there].T if self.dual else self.factor[np.ix_(there, gone)]
        with_sums = rest * (other @ back)
        solved = self.without(missing).solve(np.hstack([observed.T, with_sums]))
        mean = towards_missing(solved[:, : len(observed)], there).T
        explained = np.einsum("oq,oq->q", with_sums, solved[:, len(observed) :])
        return mean, np.maximum(variance - explained, 0.0)


def patterns_of(missing: BoolArray) -> list[tuple[Any, BoolArray]]:
    """Return the rows that miss the same columns, with these; rows that miss all are left out."""
    if not missing.any():
        return [(np.arange(len(missing)), missing[0])] if missing.size else []
    found, which = np.unique(missing, axis=0, return_inverse=True)
    which = np.ravel(which)
    rows = ((np.flatnonzero(which == place), pattern) for place, pattern in enumerate(found))
    return [(own, pattern) for own, pattern in rows if not pattern.all()]
