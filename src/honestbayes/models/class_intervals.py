"""Intervals for the probabilities of any number of classes, from draws of each part's evidence.

The distribution is that of P(class | x*, parameters) given the training data and x* itself: draw y*
from the predictive distribution, then the parameters given (x*, y*). Its mean is the predictive
probability (see `intervals` for binary features).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from honestbayes.models.parts import FittedPart
from honestbayes.types import FloatArray

SEED = 2008


@dataclass(frozen=True, slots=True)
class ClassProbabilityDraws:
    """Draws of P(class | x, parameters), shape (n, C S, C), and weights, shape (n, C S)."""

    value: FloatArray
    weight: FloatArray

    def mean(self) -> FloatArray:
        """Mean of each row, shape (n, C)."""
        return np.asarray(np.einsum("ns,nsc->nc", self.weight, self.value))

    def quantile(self, probability: float) -> FloatArray:
        """Quantile of each row and class, shape (n, C)."""
        order = np.argsort(self.value, axis=1)
        value = np.take_along_axis(self.value, order, axis=1)
        weight = np.take_along_axis(np.broadcast_to(self.weight[..., None], order.shape), order, 1)
        below = np.cumsum(weight, axis=1)
        position = np.argmax(below >= probability * below[:, -1:], axis=1)
        return np.asarray(np.take_along_axis(value, position[:, None], axis=1)[:, 0])


def draw_class_probabilities(
    parts: Sequence[tuple[FittedPart, Any]],
    n_rows: int,
    class_weights: FloatArray,
    log_prior: FloatArray | None,
    slope: float,
    n_draws: int,
) -> ClassProbabilityDraws:
    """Draw the probabilities of each row.

    Parameters
    ----------
    parts : sequence of (part, values)
        Fitted parts and the values of their columns.
    n_rows : int
        How many rows these have.
    class_weights : ndarray of shape (C,)
        Parameters of the Dirichlet posterior of the class frequencies.
    log_prior : ndarray of shape (C,) or None
        Given prevalences, in the place of drawn frequencies.
    slope : float
        Factor on the evidence of each draw.
    n_draws : int
        Draws for each y*.
    """
    generator = np.random.default_rng(SEED)
    n_classes = class_weights.size
    evidence = np.zeros((n_classes, n_rows, n_draws, n_classes))
    log_weight = np.zeros((n_classes, n_rows, n_draws))
    before = np.log(class_weights) if log_prior is None else log_prior
    predictive = np.tile(before, (n_rows, 1))
    for part, values in parts:
        more, weight = part.draw_evidence(values, n_draws, generator)
        evidence += more
        log_weight += weight
        predictive += part.log_likelihood(values)
    probability = softmax(predictive, axis=1)
    value, weights = [], []
    for label in range(n_classes):
        log_share: FloatArray = before
        if log_prior is None:
            counts = class_weights + (np.arange(n_classes) == label)
            log_share = np.log(np.maximum(generator.dirichlet(counts, n_draws), 1e-300))
        value.append(softmax(log_share + slope * evidence[label], axis=2))
        weights.append(probability[:, label, None] * softmax(log_weight[label], axis=1))
    return ClassProbabilityDraws(np.concatenate(value, axis=1), np.concatenate(weights, axis=1))
