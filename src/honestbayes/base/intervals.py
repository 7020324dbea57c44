"""Intervals for P(class | x) whose mean is the predicted probability.

The distribution is that of P(class | x*, parameters) given the training data D and x* itself. Its
mean is the predictive probability: by the tower rule E[P(c | x*, w) | D, x*] = P(c | x*, D), which
fails if the parameters w are drawn given D alone. Draws are made in two steps: y* from the
predictive distribution, then w given D and the case (x*, y*); this is P(w | D, x*), the sum over y*
of P(y* | x*, D) P(w | D, x*, y*).

Slope and outlier rate are drawn from the posterior of the recalibration. They are learned
separately, so that the tower rule does not cover them: the evidence of a row is shifted by a
constant for each class until the mean is `predict_proba` again. Random numbers are common to all
rows, so that no row's interval depends on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_softmax, logit, softmax

from honestbayes.base.covariates import PriorDraws
from honestbayes.base.part import DrawnPart
from honestbayes.base.recalibration import Recalibration
from honestbayes.threads import one_blas_thread
from honestbayes.types import FloatArray, IntArray

SEED = 2008
"""Seed of all draws: the same row always has the same interval."""

_MOST_STEPS = 40
"""Largest number of steps of the solvers."""

_LONGEST_STEP = 4.0
"""Longest step, in log probabilities."""

_CLOSE_TO_MEAN = 1e-4
"""Largest difference between the mean of the draws and the predicted probability p."""

_CLOSE_TO_TARGET = 1e-3
_SMALL = 1e-3
"""The difference must also be below `_CLOSE_TO_TARGET` (p + `_SMALL`)."""

_LEAST_TILTED = 50.0
"""Smallest effective number of draws that new weights may leave."""

_FARTHEST = 1e4
"""Bound of drawn log-odds; beyond it a probability is 0 or 1 in floating point."""

_RESOLUTION = 1e-6
"""Probability below which a bound is 0: no training table resolves smaller ones."""

_SMALLEST = 1e-12
"""Bound that keeps probabilities away from 0 before logs are taken."""

_DRAWN_CELLS = 1 << 22
"""Number of cells of the draws that are in memory at a time."""

_LEAST_DRAWS = 100
"""Smallest number of draws for each class where there are many."""


def draws_per_class(n_draws: int, n_classes: int) -> int:
    """Return the number of draws for each class that y* may be.

    As many in all as for two classes, because the cost of a draw grows with the classes.
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
    prior: Callable[[slice], PriorDraws] | None = None,
) -> FloatArray:
    """Return lower and upper bounds, shape (n, K, 2), a batch of rows at a time.

    Other parameters are those of `draw_probabilities`; ``prior`` is called with some rows.
    """
    n_classes = class_weights.size
    n_draws = draws_per_class(n_draws, n_classes)
    step = max(1, _DRAWN_CELLS // (n_draws * n_classes * (n_classes - 1)))
    result = []
    for first in range(0, n_rows, step):
        rows = slice(first, min(first + step, n_rows))
        batch = [(part, part.rows(values, rows)) for part, values in parts]
        size = rows.stop - rows.start
        own = None if prior is None else prior(rows)
        draws = draw_probabilities(batch, size, class_weights, given, recalibration, n_draws, own)
        result.append(draws.interval(level))
    return np.concatenate(result)


def draw_probabilities(
    parts: Sequence[tuple[DrawnPart, Any]],
    n_rows: int,
    class_weights: FloatArray,
    given: FloatArray | None,
    recalibration: Recalibration,
    n_draws: int,
    prior_draws: PriorDraws | None = None,
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
        Logs of the prevalences where the model is used, instead of drawn frequencies.
    recalibration : Recalibration
        How evidence becomes a probability.
    n_draws : int
        Draws for each y*.
    prior_draws : PriorDraws, optional
        Where cases have covariates: the prior of each row, instead of class frequencies.
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
    if prior_draws is not None:
        return _around_prior(
            evidence, log_weight, total, class_weights, given, recalibration, prior_draws, generator
        )
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
    evidence = _inflated(evidence, log_weight, slope)
    log_odds = [o + slope[:, None] * e for o, e in zip(odds, evidence, strict=True)]
    factor = np.ones(n_classes) if given is None else np.exp(given) / prior
    return _around(target, log_odds, outlier_rate, prior, factor, _weights(target, log_weight))


def _inflated(evidence: FloatArray, log_weight: FloatArray, slope: FloatArray) -> FloatArray:
    """Widen drawn evidence around its mean where features repeat each other.

    Such features repeat their errors too. The draws take the k errors as independent, so their sum
    has variance k v. If a slope s < 1 says that k features are worth s k independent ones, each of
    these stands for 1 / s features with one common error: the variance is s k (v / s^2) = k v / s.
    Without the factor, intervals would be too narrow.
    """
    inflation = 1 / np.sqrt(np.minimum(slope, 1.0))[:, None]
    share = softmax(log_weight, axis=2)
    centre = np.einsum("lns,lnsc->lnc", share, evidence)[:, :, None]
    return np.asarray(centre + inflation * (evidence - centre))


def _around_prior(
    evidence: FloatArray,
    log_weight: FloatArray,
    total: FloatArray,
    class_weights: FloatArray,
    given: FloatArray | None,
    recalibration: Recalibration,
    prior: PriorDraws,
    generator: np.random.Generator,
) -> ProbabilityDraws:
    """Return draws of cases whose prior comes from covariates.

    The coefficients of the covariates are drawn given the training data alone. One more case hardly
    moves them, and the shift to the predicted probability takes care of the mean.
    """
    n_classes, _, n_draws, _ = evidence.shape
    share = np.log(class_weights / class_weights.sum())
    log_factor = np.zeros(n_classes) if given is None else given - share
    elsewhere = None if given is None else log_softmax(prior.log_prior + log_factor, axis=1)
    target = np.exp(recalibration.log_proba(total, prior.log_prior, elsewhere))
    slope, outlier_rate = recalibration.draw(n_draws, generator)
    if not recalibration.is_plugged_in:
        evidence = _inflated(evidence, log_weight, slope)
    log_odds = [prior.log_odds + slope[:, None] * each for each in evidence]
    weight = _weights(target, log_weight)
    own, factor = np.exp(prior.log_prior), np.exp(log_factor)
    return _around(target, log_odds, outlier_rate, own, factor, weight)


def intervals_of_mixture(
    draws: Callable[[slice], Sequence[tuple[float, ProbabilityDraws]]],
    target: FloatArray,
    prior: FloatArray,
    given: FloatArray | None,
    n_draws: int,
    level: float,
) -> FloatArray:
    """Return lower and upper bounds, shape (n, K, 2), of a pool of models.

    The errors of the models are dependent, because they saw the same cases. Averaging independent
    draws of all models would cancel these errors, so a draw of the pool is a draw of one model,
    chosen by its weight.

    Parameters
    ----------
    draws : callable
        Given some rows, the share of each model in the weights and its draws of probabilities.
    target : ndarray of shape (n, C)
        Predicted probabilities: the mean that the draws must have.
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
        if n_classes > 2:  # for two classes a shift alone has the same coverage (docs, "Intervals")
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
        Predicted probabilities.
    log_odds : sequence of C ndarrays of shape (n, S, C - 1)
        Drawn for each y*, against the first class.
    outlier_rate : ndarray of shape (S,)
        Drawn outlier rates.
    prior : ndarray of shape (C,), or (n, C) where cases have covariates
        Class probabilities of outliers: the frequencies of the training data, or each row's own.
    factor : ndarray of shape (C,)
        By how much the class frequencies where the model is used differ.
    weight : ndarray of shape (n, C S)
        Weights of the draws.
    """
    outlier_rates = np.tile(outlier_rate, factor.size)
    drawn = np.concatenate(log_odds, axis=1)
    value = _shifted(target, drawn, outlier_rates, prior, factor, weight)
    return ProbabilityDraws(value[:, 1:] if factor.size == 2 else value, weight)


@one_blas_thread()
def _shifted(
    target: FloatArray,
    log_odds: FloatArray,
    outlier_rate: FloatArray,
    prior: FloatArray,
    factor: FloatArray,
    weight: FloatArray,
) -> FloatArray:
    """Shift the log probabilities of the classes of each row until its mean is the target.

    A step adds log(target) - log(mean): the contraction of Berry, Levinsohn and Pakes (1995),
    Econometrica 63, 841, which converges from anywhere, because the mean of a softmax is the
    gradient of a convex function of the shift. Near the end it is slow, so Newton's step is taken
    instead wherever the last step brought the mean closer.
    """
    n_classes = factor.size
    # Classes come before draws, so that sums over few classes are vectorised over draws.
    log_scores = np.zeros((len(target), n_classes, log_odds.shape[1]))
    # Beyond the bound all but one class have probability 0; infinite log-odds would give NaN.
    np.clip(np.moveaxis(log_odds, 2, 1), -_FARTHEST, _FARTHEST, out=log_scores[:, 1:])
    wanted = np.maximum(target, _SMALLEST)
    result = np.empty(log_scores.shape)
    shift, rows = np.zeros((len(target), n_classes)), np.arange(len(target))
    before = np.full(len(target), np.inf)
    diagonal = np.arange(n_classes)
    for _ in range(_MOST_STEPS):
        softened = _softmax(log_scores[rows] + shift[rows, :, None])
        own_prior = prior if prior.ndim == 1 else prior[rows]
        mixed = (1 - outlier_rate) * softened + own_prior[..., None] * outlier_rate
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
        # The Jacobian of the mean with respect to the shift d. With s = softmax(l + d),
        # u = (1 - e) s + e prior and v = u f / sum(u f), it is the sum over draws of w dv/dd:
        # ds_j/dd_k = s_j (1{j=k} - s_k), and dv_i = v_i (du_i/u_i - sum_j v_j du_j/u_j). `ratio` is
        # v s / u. Without outliers and factor (u = v = s) this is the sum of w (diag(v) - v v').
        ratio = value * softened / np.maximum(mixed, 1e-300)  # 0 where both underflow
        moving = (own * (1 - outlier_rate))[:, None]
        pulled = moving * (value * ratio.sum(axis=1, keepdims=True) - ratio)
        answer = np.matmul(pulled, np.moveaxis(softened, 1, 2))
        answer -= np.matmul(moving * value, np.moveaxis(ratio, 1, 2))
        answer[:, diagonal, diagonal] += (moving * ratio).sum(axis=2)
        # A shift of all classes alike changes nothing, so that the Jacobian is singular in this
        # direction; a constant matrix makes it regular and leaves the other directions as they are.
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
    """Return weights of the draws, shape (n, D), for which their mean is the target, if possible.

    Of all such weights those nearest to the given ones in relative entropy: w exp(l' p), with l
    found by Newton's method on a convex function. Where nearly all draws are close to 0, the mean
    depends on a few large ones, which lose or gain weight; a shift with the same effect on the mean
    would move all other draws by many powers of ten.
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
    """Return the weights of the draws, shape (n, C S): those of each y* sum to P(y* | x*)."""
    share = softmax(log_weight, axis=2)
    return np.concatenate([p[:, None] * s for p, s in zip(target.T, share, strict=True)], axis=1)


def _draw_log_odds(
    counts: FloatArray, n_draws: int, generator: np.random.Generator
) -> list[FloatArray]:
    """Draw class frequencies given each y*; return log ratios to the first, each (S, C - 1)."""
    result = []
    for more in np.eye(counts.size):
        # In reversed order: two classes are then drawn as a beta variable is.
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
    """Draw nodes with given probabilities by systematic sampling, in random order.

    Each node is drawn n p times, rounded up or down, which has less variance than independent
    draws. The order is random, because draws of other quantities are paired with it.
    """
    points = (np.arange(n_draws) + generator.random()) / n_draws
    nodes = np.minimum(np.searchsorted(np.cumsum(weights), points), weights.size - 1)
    return generator.permutation(nodes)
