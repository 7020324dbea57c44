"""Log-linear pool: one probability from those of many models.

With l0 the log class frequencies and log p_i the log probabilities of model i,

    log P(class | x) = l0 + sum over i of w_i (log p_i - l0), up to a constant of each case.

This is the logarithmic opinion pool (Genest and Zidek 1986, Statistical Science 1, 114-135), of
likelihoods instead of posteriors: log p_i - l0 is model i's evidence, so that the prior counts
once, whatever the weights sum to. Weights are not negative and need not sum to 1. If two models use
conditionally independent columns, Bayes' rule multiplies their likelihoods: weights of 1 each. If
they repeat each other, their evidence must be shared: weights that sum to 1. The held-out cases
decide between the two.

The weights are the posterior mode, given held-out cases, under independent normal priors around
equal shares, with standard deviation ``_SPREAD``. Where the cases cannot decide, the pool is the
plain average over families. The linear pool (the average of probabilities) is underconfident where
models agree for different reasons, and was worse on all tables that decided (docs, "The average").
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from honestbayes.base.recalibration import of_class
from honestbayes.types import FloatArray, IntArray

_SPREAD = 8**-0.5
"""Prior standard deviation of a weight; chosen on the tables colon, lymphoma and words 1 only."""

_LARGEST = 8.0
"""Upper bound of a weight in the optimisation; the prior keeps weights far below it."""

NEGLIGIBLE = 1e-3
"""Weight below which a model is left out: it would move log-odds by some thousandths."""


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
        Log probabilities of held-out cases.
    codes : ndarray of int of shape (N,)
        Their classes.
    log_prior : ndarray of shape (C,), or (N, C) where cases have covariates
        Log class probabilities before features are seen.
    shares : ndarray of shape (M,)
        Prior means of the weights.
    worth : float
        Number of independent cases that each of these is worth: held-out predictions share their
        training sets, so their log likelihood is raised to this power.
    """
    cases = np.arange(codes.size)
    evidence = log_proba - log_prior
    # Everything relative to the observed class, whose own terms are then 0: the loss of a case is
    # the log of the sum of exp(total) over classes. No normalisation of `evidence` is needed.
    more = evidence - evidence[:, cases, codes][:, :, None]
    before = log_prior - of_class(log_prior, codes)[:, None]

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the log posterior, and its gradient.

        It is convex, a sum of log-sum-exp of linear functions and a quadratic, so that the mode
        within the bounds is unique and L-BFGS-B cannot stop at another one.
        """
        total = before + np.tensordot(weights, more, 1)
        top = total.max(axis=1, keepdims=True)
        part = np.exp(total - top)
        whole = part.sum(axis=1, keepdims=True)
        apart = weights - shares
        value = worth * float(np.sum(np.log(whole) + top)) + float(apart @ apart) / (2 * _SPREAD**2)
        gradient = worth * np.einsum("nc,mnc->m", part / whole, more) + apart / _SPREAD**2
        return value, gradient

    weights = minimize(
        loss, shares, jac=True, method="L-BFGS-B", bounds=[(0.0, _LARGEST)] * shares.size
    ).x
    return np.where(weights < NEGLIGIBLE, 0.0, weights)


def pooled(
    log_proba: FloatArray,
    weights: FloatArray,
    log_prior: FloatArray,
    observed: FloatArray | None = None,
) -> FloatArray:
    """Return log P(class | x), shape (n, C), from those of M models, shape (M, n, C).

    Weights that sum to more than 1 are right where models use different cells. Where all models
    see the same single cell, it must count once: otherwise P(class | cell) is overconfident, and
    its mean is not the class frequency. So the sum of the weights is interpolated linearly between
    1 (no cell observed) and its own value (all cells observed).

    Parameters
    ----------
    log_proba : ndarray of shape (M, n, C)
        Log probabilities of each model.
    weights : ndarray of shape (M,)
        Weights.
    log_prior : ndarray of shape (C,), or (n, C) where cases have covariates
        Log class probabilities before features are seen.
    observed : ndarray of shape (n,), optional
        Share of the cells of each row that is observed; by default all are.
    """
    evidence = np.tensordot(weights, log_proba - log_prior, 1)
    if observed is not None and weights.sum() > 0:
        once = 1 / float(weights.sum())
        evidence *= (once + observed * (1 - once))[:, None]
    total = log_prior + evidence
    total = total - total.max(axis=1, keepdims=True)
    return np.asarray(total - np.log(np.exp(total).sum(axis=1, keepdims=True)))


def family_shares(families: list[str]) -> FloatArray:
    """Return prior means of the weights: equal over families, then over the models of each.

    A family that is tried with many numbers of features must not count more for that.
    """
    n_families = len(set(families))
    return np.array([1 / n_families / families.count(family) for family in families])
