"""Draws of the evidence of categorical features, for intervals."""

from __future__ import annotations

import numpy as np

from honestbayes.likelihood.dirichlet import draw_theta, log_marginal
from honestbayes.likelihood.learned_categories import LearnedCategories, is_binary
from honestbayes.models.binary.common_alpha import feature_block
from honestbayes.models.binary.draws import draw_alpha_theta
from honestbayes.models.binary.learned import fit_learned
from honestbayes.models.categorical.blocks import (
    CategoricalBlock,
    CategoricalFit,
    node_log_likelihood,
)
from honestbayes.models.shared.intervals import systematic
from honestbayes.types import AnyArray, FloatArray, IntArray


def draw_categorical_evidence(
    fit: CategoricalFit, codes: AnyArray, n_draws: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw log P(x | class, parameters) given the training data, x, and each y*.

    With x_j as one more case of class y*, the table of a feature has one of C V forms; draws for
    each are made once and serve every row. Each form has its own random numbers, because only
    those that occur are drawn.

    Returns
    -------
    evidence : ndarray of shape (C, n, S, C - 1)
    log_weight : ndarray of shape (C, n, S)
    """
    n_classes = len(fit.selection.class_counts)
    evidence = np.zeros((n_classes, codes.shape[0], n_draws, n_classes - 1))
    log_weight = np.zeros((n_classes, codes.shape[0], n_draws))
    seed = int(generator.integers(1 << 32))
    first = 0
    for block in fit.blocks:
        if not block.tables:
            continue
        columns = codes[:, first : first + len(block.tables)]
        # The common alpha, or the shape of its distribution over features.
        node = np.zeros(n_draws, dtype=np.int64)
        if block.prior is None or block.log_weight.size > 1:
            node = systematic(generator, np.exp(block.log_weight), n_draws)
            by_node = node_log_likelihood(block.log_prob, columns)
            log_weight += np.moveaxis(by_node[node], 0, 2)
        for j, table in enumerate(block.tables):
            for level in np.unique(columns[columns[:, j] >= 0, j]).tolist():
                rows = np.flatnonzero(columns[:, j] == level)
                for label in range(n_classes):
                    more = table.copy()
                    more[label, level] += 1
                    own = np.random.default_rng((seed, first + j, level, label))
                    drawn = _draw_log_phi(block, table, more, level, node, own)
                    evidence[label, rows] += drawn[:, 1:] - drawn[:, :1]
        first += len(block.tables)
    return evidence, log_weight


def _draw_log_phi(
    block: CategoricalBlock,
    table: IntArray,
    more: IntArray,
    level: int,
    node: IntArray,
    generator: np.random.Generator,
) -> FloatArray:
    """Draw the log probability of a level in each class, shape (S, C), given counts ``more``.

    ``node``, of shape (S,), is the common alpha of each draw, or the shape of its distribution.
    """
    prior = block.prior
    if prior is not None and prior.binary is not None and is_binary(table[None]):
        alpha, theta = _draw_binary(prior, table, more, node, generator)
        theta = theta if level == 1 else 1 - theta
    else:
        base = 1.0 if prior is None else prior.base
        if prior is None:
            alpha = block.posterior.alpha[node]
        else:
            alpha = np.empty(node.size)
            log_likelihood = log_marginal(more[None], prior.learned.alpha, base)[:, 0]
            for index in np.unique(node).tolist():
                draws = np.flatnonzero(node == index)
                shape = prior.learned.shape.shapes[index]
                own = log_likelihood - log_likelihood[shape > 0].max()
                share = np.where(shape > 0, np.exp(np.minimum(own, 0.0)), 0.0) * shape
                chosen = systematic(generator, share / share.sum(), draws.size)
                alpha[draws] = prior.learned.alpha[chosen]
        theta = draw_theta(more, level, alpha, base, generator)
    a = alpha[:, None] * theta[:, None] + more[:, level]
    b = alpha[:, None] * (1 - theta[:, None]) + more.sum(axis=1) - more[:, level]
    phi = generator.beta(np.maximum(a, 1e-300), np.maximum(b, 1e-300))
    return np.asarray(np.log(np.maximum(phi, 1e-300)))


def _draw_binary(
    prior: LearnedCategories,
    table: IntArray,
    more: IntArray,
    node: IntArray,
    generator: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Draw alpha and P(level 1) of a two-level feature in two classes, as the binary model does."""
    assert prior.binary is not None
    ones, cases = table[:, 1][:, None], table.sum(axis=1)[:, None]
    fit = fit_learned(feature_block(ones, cases, np.arange(1)), prior.binary)
    counts = more[:, 1][:, None], more.sum(axis=1)[:, None]
    alpha, theta = draw_alpha_theta(generator, fit, node, slice(0, 1), *counts)
    return alpha[0], theta[0]
