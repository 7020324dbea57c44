"""Intervals for probabilities that cohere with the probabilities.

The distribution is that of P(class | x*, parameters) given the training data and x* itself: draw y*
from the predictive distribution, then the parameters given (x*, y*). Its mean is the predictive
probability. Slope and lapse rate are drawn from the layer's posterior, and the evidence of a row is
shifted by a constant per class so that the mean stays what `predict_proba` says. Random numbers are
common to all rows, so that no row's interval depends on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit, softmax

from honestbayes.base.part import DrawnPart
from honestbayes.base.recalibration import Recalibration
from honestbayes.threads import one_blas_thread
from honestbayes.types import FloatArray, IntArray

SEED = 2008

_MOST_STEPS = 40
_LONGEST_STEP = 4.0
"""Steps towards the mean that is wanted, and the longest one, in logs of probabilities."""

_CLOSE_TO_MEAN = 1e-4
_CLOSE_TO_TARGET = 1e-3
_SMALL = 1e-3
"""How close to it is close enough: this much, or a share of the probability and a little more."""

_LEAST_TILTED = 50.0
"""Effective draws that are left by other weights."""

_FARTHEST = 1e4
"""Log-odds beyond it stay there."""

_RESOLUTION = 1e-6
"""No training table tells smaller probabilities apart."""

_SMALLEST = 1e-12

_DRAWN_CELLS = 1 << 22
"""Cells of the draws that are held at a time."""

_LEAST_DRAWS = 100
"""Draws for each class where there are many."""


def draws_per_class(n_draws: int, n_classes: int) -> int:
    """Return how many parameters are drawn for each class that a row may be of.

    As many in all as for two classes, because every draw costs as much as there are classes.
    """
    return max(2 * n_draws // n_classes, min(n_draws, _LEAST_DRAWS))


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
        """Return the quantiles that hold ``level`` between them, shape (n, K, 2).

        A lower bound below `_RESOLUTION` is 0, an upper one above 1 less that is 1.
        """
        order = np.argsort(self.value, axis=2)
        value = np.take_along_axis(self.value, order, axis=2)
        weight = np.broadcast_to(self.weight[:, None], order.shape)
        below = np.cumsum(np.take_along_axis(weight, order, axis=2), axis=2)
        ends = [
            np.argmax(below >= share * below[..., -1:], axis=2)
            for share in ((1 - level) / 2, (1 + level) / 2)
        ]
        bounds = np.take_along_axis(value, np.stack(ends, axis=2), axis=2)
        bounds[..., 0][bounds[..., 0] < _RESOLUTION] = 0.0
        bounds[..., 1][bounds[..., 1] > 1 - _RESOLUTION] = 1.0
        return np.asarray(bounds)


def probability_intervals(
    parts: Sequence[tuple[DrawnPart, Any]],
    n_rows: int,
    class_weights: FloatArray,
    given: FloatArray | None,
    recalibration: Recalibration,
    n_draws: int,
    level: float,
) -> FloatArray:
    """Return lower and upper bounds, shape (n, K, 2), a batch of rows at a time.

    Other parameters are those of `draw_probabilities`.
    """
    n_classes = class_weights.size
    n_draws = draws_per_class(n_draws, n_classes)
    step = max(1, _DRAWN_CELLS // (n_draws * n_classes * (n_classes - 1)))
    result = []
    for first in range(0, n_rows, step):
        rows = slice(first, min(first + step, n_rows))
        batch = [(part, part.rows(values, rows)) for part, values in parts]
        size = rows.stop - rows.start
        draws = draw_probabilities(batch, size, class_weights, given, recalibration, n_draws)
        result.append(draws.interval(level))
    return np.concatenate(result)


def draw_probabilities(
    parts: Sequence[tuple[DrawnPart, Any]],
    n_rows: int,
    class_weights: FloatArray,
    given: FloatArray | None,
    recalibration: Recalibration,
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
    given : ndarray of shape (C,) or None
        Logs of the prevalences where the model is used, in the place of drawn frequencies.
    layer : Recalibration
        How evidence becomes a probability.
    n_draws : int
        Draws for each y*.
    """
    generator = np.random.default_rng(SEED)
    n_classes = class_weights.size
    evidence = np.zeros((n_classes, n_rows, n_draws, n_classes - 1))
    log_weight = np.zeros((n_classes, n_rows, n_draws))
    total = np.zeros((n_rows, n_classes))
    for part, values in parts:
        more, weight = part.draw_evidence(values, n_draws, generator)
        evidence += more
        log_weight += weight
        total += part.log_likelihood(values)
    if recalibration.is_plugged_in:
        before = np.log(class_weights) if given is None else given
        target = softmax(before + total, axis=1)
        odds = [before[1:] - before[0]] * n_classes
        if given is None:
            odds = _draw_log_odds(class_weights, n_draws, generator)
        drawn = [
            _probabilities(o + recalibration.slope[0] * e)
            for o, e in zip(odds, evidence, strict=True)
        ]
        return ProbabilityDraws(np.concatenate(drawn, axis=2), _weights(target, log_weight))
    prior = class_weights / class_weights.sum()
    target = np.exp(recalibration.log_proba(total, np.log(prior), given))
    odds = _draw_log_odds(class_weights, n_draws, generator)
    slope, outlier_rate = recalibration.draw(n_draws, generator)
    # Features that repeat each other repeat their errors too: where a slope below 1 says that k of
    # them are worth s k, the error of their sum has variance 1 / s times that of independent ones.
    inflation = 1 / np.sqrt(np.minimum(slope, 1.0))[:, None]
    share = softmax(log_weight, axis=2)
    centre = np.einsum("lns,lnsc->lnc", share, evidence)[:, :, None]
    evidence = centre + inflation * (evidence - centre)
    log_odds = [o + slope[:, None] * e for o, e in zip(odds, evidence, strict=True)]
    factor = np.ones(n_classes) if given is None else np.exp(given) / prior
    return _around(target, log_odds, outlier_rate, prior, factor, _weights(target, log_weight))


def intervals_of_mixture(
    draws: Callable[[slice], Sequence[tuple[float, ProbabilityDraws]]],
    target: FloatArray,
    prior: FloatArray,
    given: FloatArray | None,
    n_draws: int,
    level: float,
) -> FloatArray:
    """Return lower and upper bounds, shape (n, K, 2), of a pool of models.

    The errors of the models go together: they saw the same cases. So a draw of the pool is a draw
    of one model, chosen by its weight.

    Parameters
    ----------
    draws : callable
        Given some rows, the share of each model in the weights and its draws of probabilities.
    target : ndarray of shape (n, C)
        What the mean is to be.
    prior : ndarray of shape (C,)
        Class frequencies of the training data.
    given : ndarray of shape (C,), or None
        Prevalences where the models are used.
    n_draws : int
        Draws of all models for each class.
    level : float
        Probability that an interval holds.
    """
    n_classes = prior.size
    factor = np.ones(n_classes) if given is None else given / prior
    n_draws = draws_per_class(n_draws, n_classes)
    step = max(1, _DRAWN_CELLS // (n_draws * n_classes * n_classes))
    result = []
    for first in range(0, len(target), step):
        rows = slice(first, min(first + step, len(target)))
        by_label: list[list[FloatArray]] = [[] for _ in range(n_classes)]
        weights: list[list[FloatArray]] = [[] for _ in range(n_classes)]
        for share, drawn in draws(rows):
            odds = np.split(_log_odds(drawn.value), n_classes, axis=1)
            parts = np.split(share * drawn.weight, n_classes, axis=1)
            for label in range(n_classes):
                by_label[label].append(odds[label])
                weights[label].append(parts[label])
        log_odds = [np.concatenate(each, axis=1) for each in by_label]
        weight = np.concatenate([np.concatenate(each, axis=1) for each in weights], axis=1)
        if n_classes > 2:  # for two classes a shift alone covers as well (docs, "Intervals")
            weight = _tilted(np.concatenate(log_odds, axis=1), factor, weight, target[rows])
        no_outliers = np.zeros(log_odds[0].shape[1])
        around = _around(target[rows], log_odds, no_outliers, prior, factor, weight)
        result.append(around.interval(level))
    return np.concatenate(result)


def _log_odds(value: FloatArray) -> FloatArray:
    """Return log-odds against the first class, shape (n, S, C - 1), of draws of shape (n, K, S)."""
    proba = np.clip(value, _SMALLEST, 1 - _SMALLEST)
    if value.shape[1] == 1:
        return np.asarray(np.moveaxis(logit(proba), 1, 2))
    return np.asarray(np.moveaxis(np.log(proba[:, 1:]) - np.log(proba[:, :1]), 1, 2))


def _around(
    target: FloatArray,
    log_odds: Sequence[FloatArray],
    outlier_rate: FloatArray,
    prior: FloatArray,
    factor: FloatArray,
    weight: FloatArray,
) -> ProbabilityDraws:
    """Return draws whose mean is ``target``, shape (n, C): log-odds are shifted until it is.

    Parameters
    ----------
    target : ndarray of shape (n, C)
        What `predict_proba` says.
    log_odds : sequence of C ndarrays of shape (n, S, C - 1)
        Drawn for each y*, against the first class.
    outlier_rate : ndarray of shape (S,)
        Drawn rates of lapses.
    prior, factor : ndarray of shape (C,)
        Class frequencies of the training data, and by how much those where the model is used
        differ.
    weight : ndarray of shape (n, C S)
        Weights of the draws.
    """
    outlier_rates = np.tile(outlier_rate, prior.size)
    drawn = np.concatenate(log_odds, axis=1)
    value = _shifted(target, drawn, outlier_rates, prior, factor, weight)
    return ProbabilityDraws(value[:, 1:] if prior.size == 2 else value, weight)


@one_blas_thread()
def _shifted(
    target: FloatArray,
    log_odds: FloatArray,
    outlier_rate: FloatArray,
    prior: FloatArray,
    factor: FloatArray,
    weight: FloatArray,
) -> FloatArray:
    """Shift the log probabilities of the classes, each row until its mean is right.

    A step adds log(target) - log(mean): the contraction of Berry, Levinsohn and Pakes (1995),
    Econometrica 63, 841, which converges from anywhere, because the mean of a softmax is the
    gradient of a convex function of the shift. Near the end it is slow, so Newton's step is taken
    instead wherever the last one brought the mean closer.
    """
    n_classes = prior.size
    # Classes come before draws: sums over few classes are then sums of long rows.
    log_scores = np.zeros((len(target), n_classes, log_odds.shape[1]))
    # Beyond these, all but one class have probability 0; infinite ones would have none at all.
    np.clip(np.moveaxis(log_odds, 2, 1), -_FARTHEST, _FARTHEST, out=log_scores[:, 1:])
    wanted = np.maximum(target, _SMALLEST)
    result = np.empty(log_scores.shape)
    shift, rows = np.zeros((len(target), n_classes)), np.arange(len(target))
    before = np.full(len(target), np.inf)
    diagonal = np.arange(n_classes)
    for _ in range(_MOST_STEPS):
        softened = _softmax(log_scores[rows] + shift[rows, :, None])
        mixed = (1 - outlier_rate) * softened + np.outer(prior, outlier_rate)
        value = mixed * factor[:, None]
        value /= value.sum(axis=1, keepdims=True)
        result[rows] = value
        own = weight[rows]
        mean = np.maximum(np.matmul(value, own[..., None])[..., 0], _SMALLEST)
        close = np.minimum(_CLOSE_TO_TARGET * (wanted[rows] + _SMALL), _CLOSE_TO_MEAN)
        far = (np.abs(mean - wanted[rows]) / close).max(axis=1)
        goes_on = far > 1
        if not goes_on.any():
            break
        step = np.clip(np.log(wanted[rows] / mean), -_LONGEST_STEP, _LONGEST_STEP)
        # How the mean answers a shift: sum of w (1 - e) dv/du du/ds, with u = (1 - e) s + e prior
        # and v = u f / sum(u f); without lapses sum of w (diag(v) - v v').
        ratio = value * softened / np.maximum(mixed, 1e-300)  # 0 where both underflow
        moving = (own * (1 - outlier_rate))[:, None]
        pulled = moving * (value * ratio.sum(axis=1, keepdims=True) - ratio)
        answer = np.matmul(pulled, np.moveaxis(softened, 1, 2))
        answer -= np.matmul(moving * value, np.moveaxis(ratio, 1, 2))
        answer[:, diagonal, diagonal] += (moving * ratio).sum(axis=2)
        # Shifting all classes alike changes nothing: that direction is filled in.
        scale = np.maximum(np.trace(answer, axis1=1, axis2=2) / n_classes, 1e-300)[:, None]
        filled = answer + scale[..., None] / n_classes
        filled[:, diagonal, diagonal] += 1e-9 * scale
        direct = np.linalg.solve(filled, (wanted[rows] - mean)[..., None])[..., 0]
        good = (far < before[rows]) & (np.abs(direct).max(axis=1) < _LONGEST_STEP)
        step[good] = direct[good]
        before[rows] = far
        shift[rows] += np.where(goes_on[:, None], step, 0.0)
        rows = rows[goes_on]
    return result


def _softmax(log_scores: FloatArray) -> FloatArray:
    """Return the softmax over axis 1, in place."""
    log_scores -= log_scores.max(axis=1, keepdims=True)
    np.exp(log_scores, out=log_scores)
    log_scores /= log_scores.sum(axis=1, keepdims=True)
    return log_scores


@one_blas_thread()
def _tilted(
    log_odds: FloatArray, factor: FloatArray, weight: FloatArray, target: FloatArray
) -> FloatArray:
    """Return weights of the draws, shape (n, D), with which their mean is the target, if possible.

    Of all such weights those nearest to the given ones (in relative entropy): w exp(l' p), with l
    found by Newton's method on a convex function. The mean of draws that are nearly all 0 hangs on
    a few large ones, which lose or gain weight; shifting all draws to the same end would move the
    others by many powers of ten, away from the truth.
    """
    n_classes = factor.size
    scores = np.concatenate([np.zeros((*log_odds.shape[:2], 1)), log_odds], axis=2)
    value = softmax(scores + np.log(factor), axis=2)[..., 1:]
    wanted, identity = target[:, 1:], np.eye(n_classes - 1)
    slope = np.zeros((len(target), n_classes - 1))
    with np.errstate(divide="ignore"):
        log_weight = np.log(weight)
    best, nearest = weight, np.full(len(target), np.inf)
    for _ in range(_MOST_STEPS):
        tilted = softmax(log_weight + np.einsum("nsc,nc->ns", value, slope), axis=1)
        apart = value - wanted[:, None]
        gap = np.einsum("ns,nsc->nc", tilted, apart)
        far = np.abs(gap).max(axis=1)
        enough = 1 / np.square(tilted).sum(axis=1) >= _LEAST_TILTED
        better = enough & (far < nearest)
        best = np.where(better[:, None], tilted, best)
        nearest = np.where(better, far, nearest)
        centred = apart - gap[:, None]
        spread = np.matmul(np.moveaxis(tilted[..., None] * centred, 2, 1), centred)
        step = np.linalg.solve(spread + 1e-12 * identity, -gap[..., None])[..., 0]
        # No draw's weight changes by more than a factor e^4 in a step: the range of p is 1.
        length = np.abs(step).max(axis=1, keepdims=True)
        slope += step * np.minimum(1.0, _LONGEST_STEP / np.maximum(length, 1e-300))
    return best


def _weights(target: FloatArray, log_weight: FloatArray) -> FloatArray:
    """Return the weights of the draws for each y*, shape (n, C S): as probable as y* is."""
    share = softmax(log_weight, axis=2)
    return np.concatenate([p[:, None] * s for p, s in zip(target.T, share, strict=True)], axis=1)


def _draw_log_odds(
    counts: FloatArray, n_draws: int, generator: np.random.Generator
) -> list[FloatArray]:
    """Draw class frequencies given each y*; the log of each over the first, shape (S, C - 1)."""
    result = []
    for more in np.eye(counts.size):
        # The last class first: two classes are then drawn as a beta variable is.
        share = generator.dirichlet((counts + more)[::-1], n_draws)[:, ::-1]
        log_share = np.log(np.maximum(share, 1e-300))
        result.append(log_share[:, 1:] - log_share[:, :1])
    return result


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
