"""Intervals for probabilities that cohere with the probabilities.

The distribution is that of P(class | x*, parameters) given the training data and x* itself: draw y*
from the predictive distribution, then the parameters given (x*, y*). Its mean is the predictive
probability. Random numbers are common to all rows, so that no row's interval depends on the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from honestbayes.models.shared.parts import DrawnPart
from honestbayes.types import FloatArray, IntArray

SEED = 2008

_DRAWN_CELLS = 1 << 22
"""Cells of the draws that are held at a time."""


@dataclass(frozen=True, slots=True)
class ProbabilityDraws:
    """Draws of P(class | x, parameters) for each row.

    Attributes
    ----------
    value : ndarray of shape (n, K, C S)
        Draws, S for each of C classes that y* may be: of all K = C classes, or of the second of
        two (K = 1).
    weight : ndarray of shape (n, C S)
        Their weights.
    """

    value: FloatArray
    weight: FloatArray

    def mean(self) -> FloatArray:
        """Mean of each row, shape (n, K): the predictive probability, up to Monte Carlo error."""
        return np.asarray(np.einsum("ns,nks->nk", self.weight, self.value))

    def interval(self, level: float) -> FloatArray:
        """Return the quantiles that hold ``level`` between them, shape (n, K, 2)."""
        order = np.argsort(self.value, axis=2)
        value = np.take_along_axis(self.value, order, axis=2)
        weight = np.broadcast_to(self.weight[:, None], order.shape)
        below = np.cumsum(np.take_along_axis(weight, order, axis=2), axis=2)
        ends = [
            np.argmax(below >= share * below[..., -1:], axis=2)
            for share in ((1 - level) / 2, (1 + level) / 2)
        ]
        return np.asarray(np.take_along_axis(value, np.stack(ends, axis=2), axis=2))


def probability_intervals(
    parts: Sequence[tuple[DrawnPart, Any]],
    n_rows: int,
    class_weights: FloatArray,
    log_prior: FloatArray | None,
    slope: float,
    n_draws: int,
    level: float,
) -> FloatArray:
    """Return lower and upper bounds, shape (n, K, 2), a batch of rows at a time.

    Other parameters are those of `draw_probabilities`.
    """
    n_classes = class_weights.size
    step = max(1, _DRAWN_CELLS // (n_draws * n_classes * (n_classes - 1)))
    result = []
    for first in range(0, n_rows, step):
        rows = slice(first, min(first + step, n_rows))
        batch = [(part, part.rows(values, rows)) for part, values in parts]
        size = rows.stop - rows.start
        draws = draw_probabilities(batch, size, class_weights, log_prior, slope, n_draws)
        result.append(draws.interval(level))
    return np.concatenate(result)


def draw_probabilities(
    parts: Sequence[tuple[DrawnPart, Any]],
    n_rows: int,
    class_weights: FloatArray,
    log_prior: FloatArray | None,
    slope: float,
    n_draws: int,
) -> ProbabilityDraws:
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
    evidence = np.zeros((n_classes, n_rows, n_draws, n_classes - 1))
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
        odds = before[1:] - before[0]
        if log_prior is None:
            odds = _draw_log_odds(
                class_weights + (np.arange(n_classes) == label), n_draws, generator
            )
        value.append(_probabilities(odds + slope * evidence[label]))
        weights.append(probability[:, label, None] * softmax(log_weight[label], axis=1))
    return ProbabilityDraws(np.concatenate(value, axis=2), np.concatenate(weights, axis=1))


def _draw_log_odds(counts: FloatArray, n_draws: int, generator: np.random.Generator) -> FloatArray:
    """Draw class frequencies; return the log of each over the first, shape (S, C - 1)."""
    # The last class first: two classes are then drawn as a beta variable is.
    share = generator.dirichlet(counts[::-1], n_draws)[:, ::-1]
    log_share = np.log(np.maximum(share, 1e-300))
    return np.asarray(log_share[:, 1:] - log_share[:, :1])


def _probabilities(log_odds: FloatArray) -> FloatArray:
    """Return P(class), shape (n, K, S), from log-odds against the first class, (n, S, C - 1)."""
    if log_odds.shape[2] == 1:
        return np.asarray(expit(log_odds[:, None, :, 0]))
    first = np.zeros((*log_odds.shape[:2], 1))
    return np.asarray(np.moveaxis(softmax(np.concatenate([first, log_odds], 2), axis=2), 2, 1))


def systematic(generator: np.random.Generator, weights: FloatArray, n_draws: int) -> IntArray:
    """Draw nodes with probabilities ``weights``, evenly, in random order."""
    places = (np.arange(n_draws) + generator.random()) / n_draws
    nodes = np.minimum(np.searchsorted(np.cumsum(weights), places), weights.size - 1)
    return generator.permutation(nodes)
