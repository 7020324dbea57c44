"""Bayesian logistic regression by brute force: long chains, direct integrals, Laplace's method.

Nothing of the package is used. Columns are standardised by mean and standard deviation (divisor n),
the intercept is normal around the log-odds of the class frequencies with standard deviation 2,
coefficients of k selected columns are normal with standard deviation s / sqrt(k), those kept by
design with 1, and s is even on the nodes that are given.
"""

import itertools
import math

import numpy as np
from scipy.special import expit

INTERCEPT_SD = 2.0


def standardise(X, new):
    """Both tables in units of the first one's columns; a constant column becomes 0."""
    mean, sd = X.mean(axis=0), X.std(axis=0)
    sd = np.where(sd > 0, sd, np.inf)
    return (X - mean) / sd, (new - mean) / sd


def log_likelihood(f, y):
    """Sum over the last axis of log P(y | f)."""
    return -np.logaddexp(0.0, np.where(y == 1, -f, f)).sum(axis=-1)


def chain_probabilities(
    X, y, new, scales, prevalence, *, n_designed=0, n_chains=16, n_steps=800, n_warmup=200, seed=0
):
    """P(y = 1) of new rows, averaged over chains with Polya-Gamma variables.

    Given these (Polson, Scott and Windle, 2013) the classes are normal observations of the linear
    predictor, so that the scale is drawn with the coefficients integrated out, and then these.
    """
    rng = np.random.default_rng(seed)
    z, z_new = standardise(X, new)
    n, k = z.shape
    n_selected = k - n_designed
    offset = math.log(prevalence / (1 - prevalence))
    design, design_new = (np.hstack([np.ones((len(t), 1)), t]) for t in (z, z_new))
    sd = np.ones((len(scales), k + 1))
    sd[:, 0] = INTERCEPT_SD
    sd[:, 1 : 1 + n_selected] = np.array(scales)[:, None] / math.sqrt(max(n_selected, 1))
    kernel = np.einsum("ij,gj,lj->gil", design, sd**2, design)
    f = offset + INTERCEPT_SD * rng.normal(size=(n_chains, 1)) + rng.normal(size=(n_chains, n))
    total = np.zeros(len(new))
    for step in range(n_steps + n_warmup):
        omega = _polya_gamma(rng, f)
        seen = (y - 0.5) / omega - offset
        noise = np.eye(n) / omega[:, None, :]
        triangle = np.linalg.cholesky(kernel + noise[:, None])
        white = np.linalg.solve(triangle, np.repeat(seen[:, None, :, None], len(scales), 1))
        log_determinant = np.log(np.diagonal(triangle, axis1=2, axis2=3)).sum(axis=2)
        node = _choose(rng, -0.5 * (white[..., 0] ** 2).sum(axis=2) - log_determinant)
        # A draw from the prior, moved by what the observations say of its error.
        w = sd[node] * rng.normal(size=(n_chains, k + 1))
        error = seen - w @ design.T - rng.normal(size=omega.shape) / np.sqrt(omega)
        solved = np.linalg.solve(kernel[node] + noise, error[..., None])[..., 0]
        w += sd[node] ** 2 * (solved @ design)
        f = offset + w @ design.T
        if step >= n_warmup:
            total += expit(offset + w @ design_new.T).mean(axis=0)
    return total / n_steps


def _choose(rng, log_weight):
    """One position for each row, with probabilities in proportion to exp(log_weight)."""
    gumbel = -np.log(-np.log(rng.random(log_weight.shape)))
    return np.argmax(log_weight + gumbel, axis=1)


def _polya_gamma(rng, f, n_terms=100):
    """Draw PG(1, f): a series of exponential variables, its rest replaced by the rest's mean."""
    place = (np.arange(n_terms) + 0.5) ** 2
    below = place + (f[..., None] / (2 * math.pi)) ** 2
    draws = (rng.exponential(size=below.shape) / below).sum(axis=-1)
    half = np.maximum(np.abs(f) / 2, 1e-6)
    rest = math.pi**2 * np.tanh(half) / (2 * half) - (1 / below).sum(axis=-1)
    return (draws + rest) / (2 * math.pi**2)


def log_evidence_by_quadrature(X, y, scale, prevalence, new=None):
    """Log P(all y) at one scale, and P(y = 1) of new rows: a grid over the coefficients."""
    z, z_new = standardise(X, X if new is None else new)
    k = z.shape[1]
    nodes = np.linspace(-8.0, 8.0, 161 if k == 1 else 81)
    log_one = -0.5 * nodes**2 - 0.5 * math.log(2 * math.pi) + math.log(nodes[1] - nodes[0])
    grid = np.array(list(itertools.product(range(nodes.size), repeat=k + 1)))
    theta = nodes[grid]
    offset = math.log(prevalence / (1 - prevalence))
    beta = theta[:, 1:] * scale / math.sqrt(k)
    intercept = offset + INTERCEPT_SD * theta[:, :1]
    log_joint = log_one[grid].sum(axis=1) + log_likelihood(intercept + beta @ z.T, y)
    log_evidence = float(np.logaddexp.reduce(log_joint))
    weight = np.exp(log_joint - log_evidence)
    proba = expit(intercept + beta @ z_new.T)
    return log_evidence, weight @ proba


def laplace_probabilities(X, y, new, scales, prevalence):
    """The same P(y = 1) by Laplace's method, for a comparison: mode and curvature at each scale."""
    z, z_new = standardise(X, new)
    k = z.shape[1]
    design = np.hstack([np.ones((len(z), 1)), z])
    design_new = np.hstack([np.ones((len(z_new), 1)), z_new])
    offset = math.log(prevalence / (1 - prevalence))
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    weights = weights / weights.sum()
    log_evidence, probabilities = [], []
    for scale in scales:
        precision = np.append(1 / INTERCEPT_SD**2, np.full(k, k / scale**2))

        def objective(w, precision=precision):
            return log_likelihood(offset + design @ w, y) - 0.5 * precision @ w**2

        w = np.zeros(k + 1)
        for _ in range(500):
            p = expit(offset + design @ w)
            hessian = (design.T * (p * (1 - p))) @ design + np.diag(precision)
            step = np.linalg.solve(hessian, design.T @ (y - p) - precision * w)
            size = 1.0
            while objective(w + size * step) < objective(w) and size > 1e-8:
                size /= 2
            w = w + size * step
            if np.abs(size * step).max() < 1e-9:
                break
        log_determinant = np.linalg.slogdet(hessian)[1] - np.log(precision).sum()
        log_evidence.append(objective(w) - 0.5 * log_determinant)
        mean = offset + design_new @ w
        spread = np.sqrt(
            np.einsum("ij,ij->i", design_new, np.linalg.solve(hessian, design_new.T).T)
        )
        f = mean[:, None] + spread[:, None] * nodes
        probabilities.append(expit(f) @ weights)
    share = np.exp(np.array(log_evidence) - max(log_evidence))
    return share / share.sum() @ np.array(probabilities)
