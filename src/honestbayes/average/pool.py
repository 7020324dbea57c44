"""One probability from those of many models: the log-linear pool.

With l0 the log class frequencies and log p_i what model i says,

    log P(class | x) = l0 + sum of w_i (log p_i - l0), up to a constant of each case.

Weights are not negative, and need not sum to 1: models that look at different things add up, models
that repeat each other share. They are those that make held-out cases most probable, each a priori
normal around its share with standard deviation ``_SPREAD``: where the cases cannot tell, the pool
is the plain average over families. The average of probabilities themselves is too timid where
models agree for different reasons, and was worse on all tables that decided (docs, "The average").
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from honestbayes.types import FloatArray, IntArray

_SPREAD = 8**-0.5
"""Settled on the tables colon, lymphoma and words 1; others did not take part."""

_LARGEST = 8.0

NEGLIGIBLE = 1e-3
"""Models of less weight are left out: they would move log-odds by some thousandths."""


def fit_pool(
    log_proba: FloatArray,
    codes: IntArray,
    log_prior: FloatArray,
    shares: FloatArray,
    worth: float,
) -> FloatArray:
    """Return the weights of M models, shape (M,).

    Parameters
    ----------
    log_proba : ndarray of shape (M, N, C)
        What each says of held-out cases.
    codes : ndarray of int of shape (N,)
        Their classes.
    log_prior : ndarray of shape (C,)
        Log class frequencies.
    shares : ndarray of shape (M,)
        A priori weights.
    worth : float
        How much of an independent case each of these is worth.
    """
    cases = np.arange(codes.size)
    evidence = log_proba - log_prior
    more = evidence - evidence[:, cases, codes][:, :, None]
    before = log_prior - log_prior[codes][:, None]

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the log posterior, and its gradient; both are convex in the weights."""
        total = before + np.tensordot(weights, more, 1)
        top = total.max(axis=1, keepdims=True)
        part = np.exp(total - top)
        whole = part.sum(axis=1, keepdims=True)
        apart = weights - shares
        value = worth * float(np.sum(np.log(whole) + top)) + float(apart @ apart) / (2 * _SPREAD**2)
        slope = worth * np.einsum("nc,mnc->m", part / whole, more) + apart / _SPREAD**2
        return value, slope

    found = minimize(
        loss, shares, jac=True, method="L-BFGS-B", bounds=[(0.0, _LARGEST)] * shares.size
    ).x
    return np.where(found < NEGLIGIBLE, 0.0, found)


def pooled(
    log_proba: FloatArray,
    weights: FloatArray,
    log_prior: FloatArray,
    observed: FloatArray | None = None,
) -> FloatArray:
    """Return log P(class | x), shape (n, C), from those of M models, shape (M, n, C).

    Weights that sum to more than 1 count what models see in different cells. Where all see the
    same single cell it must count once, so that the mean of P(class | cell) is the class share:
    the sum of the weights moves to 1 with the share of cells that is missing.

    Parameters
    ----------
    log_proba : ndarray of shape (M, n, C)
        What each model predicts.
    weights : ndarray of shape (M,)
        Their weights.
    log_prior : ndarray of shape (C,)
        Log class frequencies.
    observed : ndarray of shape (n,), optional
        The share of cells of each row that is observed; by default all are.
    """
    evidence = np.tensordot(weights, log_proba - log_prior, 1)
    if observed is not None and weights.sum() > 0:
        once = 1 / float(weights.sum())
        evidence *= (once + observed * (1 - once))[:, None]
    total = log_prior + evidence
    total = total - total.max(axis=1, keepdims=True)
    return np.asarray(total - np.log(np.exp(total).sum(axis=1, keepdims=True)))


def family_shares(families: list[str]) -> FloatArray:
    """Return a priori weights: equal over families, then over the models of each."""
    different = len(set(families))
    return np.array([1 / different / families.count(family) for family in families])
