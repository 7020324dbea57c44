"""Draws of the evidence of binary features, for intervals.

Given x*_j and y* = c, feature j has one more case in class c, so there are four kinds of posterior
per feature; draws of all four are made once and serve every row.
"""

from __future__ import annotations

import numpy as np

from honestbayes.likelihood.quadrature import theta_rule
from honestbayes.models.binary.common_alpha import CommonAlphaFit
from honestbayes.models.binary.fit import BernoulliFit
from honestbayes.models.binary.learned import LearnedFit
from honestbayes.models.shared.intervals import systematic
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_FEATURES = 250


def draw_binary_evidence(
    fit: BernoulliFit,
    ones: AnyArray,
    missing: BoolArray | None,
    n_draws: int,
    generator: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Draw the evidence of each row given the training data, the row, and y* = 0 or 1.

    Returns
    -------
    evidence, log_weight : ndarray of shape (2, n, S)
        Log likelihood ratios of class 1 and 0 for y* = 0 and 1, and log weights of the draws.
    """
    n = ones.shape[0]
    observed = np.ones(ones.shape) if missing is None else (~missing).astype(float)
    x = ones * observed
    evidence = np.zeros((2, n, n_draws))
    log_weight = np.zeros((2, n, n_draws))
    for block, columns in zip(fit.blocks, fit.column_slices(), strict=True):
        # What the features share is drawn first: alpha, or the shape of its distribution. Each row
        # then weighs the draws by its own probability, because it is conditioned on too.
        node = np.zeros(n_draws, dtype=np.int64)
        if isinstance(block, CommonAlphaFit) or block.prior.shape_weights.size > 1:
            node = systematic(generator, np.exp(block.table.log_weight), n_draws)
            absent = None if missing is None else missing[:, columns]
            by_node = block.table.node_log_likelihood(ones[:, columns], absent)
            log_weight += by_node[:, :, node]
        _add_evidence(generator, block, node, x[:, columns], observed[:, columns], evidence)
    return evidence, log_weight


def _add_evidence(
    generator: np.random.Generator,
    block: CommonAlphaFit | LearnedFit,
    node: IntArray,
    x: FloatArray,
    observed: FloatArray,
    evidence: FloatArray,
) -> None:
    """Add the block's evidence, shape (2, n, S): for y* = 0 and 1, each row and draw."""
    ones = block.block.counts.ones[:, block.block.kept]
    cases = block.block.counts.observed[:, block.block.kept]
    for start in range(0, ones.shape[1], _FEATURES):
        part = slice(start, start + _FEATURES)
        for label in (0, 1):
            ratio = []
            for value in (0, 1):
                more = np.zeros((2, 1), dtype=np.int64)
                more[label] = 1
                i, n = ones[:, part] + value * more, cases[:, part] + more
                alpha, theta = draw_alpha_theta(generator, block, node, part, i, n)
                ratio.append(_log_ratio(generator, alpha, theta, i, n, value))
            zero, one = ratio
            evidence[label] += x[:, part] @ (one - zero) + observed[:, part] @ zero


def _log_ratio(
    generator: np.random.Generator,
    alpha: FloatArray,
    theta: FloatArray,
    ones: IntArray,
    cases: IntArray,
    value: int,
) -> FloatArray:
    """Draw phi in both classes and return the log likelihood ratio of ``value``, shape (k, S)."""
    logs = []
    for label in (0, 1):
        i, o = ones[label][:, None], (cases[label] - ones[label])[:, None]
        phi = generator.beta(alpha * theta + i, alpha * (1 - theta) + o)
        phi = np.clip(phi, 1e-300, 1 - 1e-16)
        logs.append(np.log(phi) if value else np.log1p(-phi))
    ratio: FloatArray = logs[1] - logs[0]
    return ratio


def draw_alpha_theta(
    generator: np.random.Generator,
    block: CommonAlphaFit | LearnedFit,
    node: IntArray,
    part: slice,
    ones: IntArray,
    cases: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Draw alpha and theta of each feature given its counts and the nodes, each of shape (k, S)."""
    k, n_draws = ones.shape[1], node.size
    alpha, theta = np.empty((k, n_draws)), np.empty((k, n_draws))
    uniform = generator.random((k, n_draws))
    if isinstance(block, LearnedFit):
        prior, kept = block.prior, block.block.kept[part]
        used = np.flatnonzero(prior.alpha_weights > 1e-9)
        nodes = prior.rule.theta
        by_atom = {
            atom: _theta_log_weights(
                float(prior.alpha[atom]), nodes, prior.rule.weight, ones, cases
            )
            for atom in used.tolist()
        }
        for shape in np.unique(node).tolist():
            draws = np.flatnonzero(node == shape)
            own = used[prior.shapes[shape, used] > 1e-9]
            atom_weight = block.log_atom_weight_given(shape, own)[:, kept]
            log_weight = np.concatenate(
                [
                    by_atom[atom] + log_w[:, None]
                    for atom, log_w in zip(own.tolist(), atom_weight, strict=True)
                ],
                axis=1,
            )
            chosen = _inverse_cdf(log_weight, uniform[:, draws])
            alpha[:, draws] = prior.alpha[own][chosen // nodes.size]
            theta[:, draws] = nodes[chosen % nodes.size]
        return alpha, theta
    n = int(cases.sum(axis=0).max(initial=0))
    for position in np.unique(node):
        draws = np.flatnonzero(node == position)
        a = float(block.posterior.alpha[position])
        rule = theta_rule(n, a, block.interval)
        log_weight = _theta_log_weights(a, rule.theta, rule.weight, ones, cases)
        alpha[:, draws] = a
        theta[:, draws] = rule.theta[_inverse_cdf(log_weight, uniform[:, draws])]
    return alpha, theta


def _theta_log_weights(
    alpha: float, theta: FloatArray, weight: FloatArray, ones: IntArray, cases: IntArray
) -> FloatArray:
    from honestbayes.likelihood import beta_binomial

    result = np.empty((ones.shape[1], theta.size))
    n0, n1, i0, i1 = cases[0], cases[1], ones[0], ones[1]
    beta_binomial.theta_log_weights(alpha, theta, weight, n0, n1, i0, i1, result)
    return result


def _inverse_cdf(log_weight: FloatArray, uniform: FloatArray) -> IntArray:
    """Choose a column of each row with probability proportional to exp(log_weight)."""
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    cumulative = np.cumsum(weight, axis=1)
    chosen = np.empty(uniform.shape, dtype=np.int64)
    for row in range(uniform.shape[0]):
        chosen[row] = np.searchsorted(cumulative[row], uniform[row] * cumulative[row, -1])
    return np.asarray(np.minimum(chosen, log_weight.shape[1] - 1))
