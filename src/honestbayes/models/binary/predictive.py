"""Predictive probabilities of binary features, given the nodes of a posterior.

P(y*=c, x* | data) = psi_c * sum over alpha of w_alpha * prod_j P(x*_j | c, alpha) (equations 19 to
22 of the 2008 paper): one matrix product and one logsumexp per class. Averaging class probabilities
with the weights is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.special import logsumexp

from honestbayes.files.fields import CLOSE, LogProbabilities, LogWeights
from honestbayes.files.records import Check
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_CHUNK_CELLS = 1 << 19
_CHUNK_ROWS = 256


@dataclass(frozen=True, slots=True)
class PredictiveTable:
    """P(x_j = 1 | class, node, data) of each feature of a block.

    Attributes
    ----------
    log_weight : ndarray of shape (A,)
        Log posterior weights of the nodes.
    log_one, log_zero : ndarray of shape (2, A, k)
        Log probabilities of a one and of a zero, per class and node.
    """

    log_weight: Annotated[FloatArray, LogWeights("nodes")]
    log_one: Annotated[FloatArray, LogProbabilities(2, "nodes", "n_kept")]
    log_zero: Annotated[FloatArray, LogProbabilities(2, "nodes", "n_kept")]

    def check(self, check: Check) -> None:
        """Refuse what are no probabilities of a one and of a zero."""
        both = np.exp(self.log_one) + np.exp(self.log_zero)
        good = np.all(np.abs(both - 1) <= CLOSE)
        check(good, "log_one", "and log_zero are not probabilities")

    @classmethod
    def of_columns(
        cls, log_weight: FloatArray, log_one: FloatArray, log_zero: FloatArray, columns: IntArray
    ) -> PredictiveTable:
        """Spread tables of distinct counts over features.

        In C order, so that sums have one order, also after the table was stored and loaded.
        """
        return cls(
            log_weight,
            np.ascontiguousarray(log_one[..., columns]),
            np.ascontiguousarray(log_zero[..., columns]),
        )

    def log_likelihood(self, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
        """Return log P(x | class c, data), shape (n, 2), for 0/1 data of shape (n, k)."""
        n, k = ones.shape
        result = np.empty((n, 2))
        step = max(_CHUNK_ROWS, _CHUNK_CELLS // max(k, 1))
        flat = self._flat()
        for start in range(0, n, step):
            rows = slice(start, start + step)
            absent = None if missing is None else missing[rows]
            terms = self._node_terms(ones[rows], absent, *flat) + self.log_weight
            top = terms.max(axis=2, keepdims=True)
            result[rows] = (top[:, :, 0] + np.log(np.exp(terms - top).sum(axis=2))).T
        return result

    def node_log_likelihood(self, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
        """Return log P(x | class, node), shape (2, n, A), without the nodes' weights."""
        return self._node_terms(ones, missing, *self._flat())

    def _flat(self) -> tuple[FloatArray, FloatArray]:
        """Return what a one adds to a zero, and the zeros, with classes and nodes in one axis."""
        shape = (2 * self.log_weight.size, self.log_one.shape[2])
        zero = self.log_zero.reshape(shape)
        return self.log_one.reshape(shape) - zero, zero

    def _node_terms(
        self, ones: AnyArray, missing: BoolArray | None, gain: FloatArray, zero: FloatArray
    ) -> FloatArray:
        x = ones.astype(float)
        if missing is None:
            terms = x @ gain.T + zero.sum(axis=1)
        else:
            observed = (~missing).astype(float)
            terms = (x * observed) @ gain.T + observed @ zero.T
        return np.asarray(terms.reshape(-1, 2, self.log_weight.size).transpose(1, 0, 2))

    def cumulative_log_odds(self, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
        """Return the evidence from the first 0, 1, ..., k features, shape (n, k + 1).

        Evidence is the log of P(x_1..x_m | class 1) / P(x_1..x_m | class 0).
        """
        n, k = ones.shape
        result = np.zeros((n, k + 1))
        for row in range(n):
            x = ones[row].astype(bool)
            terms = np.where(x, self.log_one, self.log_zero)
            if missing is not None:
                terms = np.where(missing[row], 0.0, terms)
            sums = np.cumsum(terms, axis=2) + self.log_weight[:, None]
            by_class = logsumexp(sums, axis=1)
            result[row, 1:] = by_class[1] - by_class[0]
        return result


def beta_binomial_table(
    log_weight: FloatArray,
    alpha: FloatArray,
    mean_theta: FloatArray,
    ones: IntArray,
    observed: IntArray,
    inverse: IntArray,
) -> PredictiveTable:
    """P(x*=1 | c, data, alpha) = (alpha E[theta] + I_c) / (alpha + N_c).

    Parameters
    ----------
    log_weight, alpha : ndarray of shape (A,)
        Posterior nodes.
    mean_theta : ndarray of shape (A, D)
        E[theta | counts, alpha] of distinct counts.
    ones, observed : ndarray of shape (2, D)
        Distinct counts.
    inverse : ndarray of shape (k,)
        Position of each feature's counts.
    """
    a = alpha[:, None]
    total = np.log(a + observed[:, None, :])
    log_one = np.log(a * mean_theta + ones[:, None, :]) - total
    log_zero = np.log(a * (1.0 - mean_theta) + (observed - ones)[:, None, :]) - total
    return PredictiveTable.of_columns(log_weight, log_one, log_zero, inverse)
