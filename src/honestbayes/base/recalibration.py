"""Recalibration: from evidence to a probability, learned from held-out cases.

With log prior l0 and evidence l = log P(x | class),

    P(class | x) = E[(1 - e) softmax(l0 + b l) + e softmax(l0)]

over the posterior of the slope b and the outlier rate e. A slope below 1 corrects features that
repeat each other, whose evidence naive Bayes counts several times. An outlier is a case that the
features say nothing about; its class has the prior's probabilities. Without an outlier rate, one
confidently wrong held-out case would pull the slope of all others towards 0.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated, Any, cast

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold, check_cv

from honestbayes.files.fields import CLOSE, Array, Check, Counts, Floats, Whole
from honestbayes.types import AnyArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Folds
# --------------------------------------------------------------------------------------------------


_ENOUGH_CASES = 2000
"""Number of cases above which folds are not repeated: the recalibration is precise enough."""

_MANY_CASES = 1_000_000
"""Number of cases above which folds are drawn in a way that needs less memory."""


def warn_of_too_few_groups(groups: IntArray | None) -> None:
    """Warn that groups are too few to learn a recalibration."""
    if groups is not None:
        warnings.warn(
            "probabilities are not recalibrated: each class needs cases in two groups or more.",
            UserWarning,
            stacklevel=4,
        )


def repeats_of_folds(n_cases: int) -> int:
    """Return how often the folds of a recalibration are drawn."""
    return 4 if n_cases <= _ENOUGH_CASES else 1


def seed_of_folds(random_state: Any) -> int:
    """Return the seed of the folds: a given integer, else 0, so that `fit` is reproducible."""
    return int(random_state) if isinstance(random_state, int | np.integer) else 0


def held_out_folds(
    labels: AnyArray, groups: IntArray | None, repeats: int, seed: int = 0
) -> list[IntArray]:
    """Return five stratified folds, repeated; none where a class or the groups cannot be split.

    Folds depend on the order of the rows and on the seed, not on the values.
    """
    if groups is None and labels.size > _MANY_CASES:
        return _folds_of_many(labels, repeats, seed)
    present, counts = np.unique(labels, return_counts=True)
    smallest = int(counts.min())
    if groups is None:
        if smallest < 2:
            return []
        splitter = RepeatedStratifiedKFold(
            n_splits=min(5, smallest), n_repeats=repeats, random_state=seed
        )
        return [test for _, test in splitter.split(labels, labels)]
    by_class = [np.unique(groups[labels == label]).size for label in present]
    if min(by_class) < 2:
        return []
    n_splits = min(5, smallest, *by_class)
    splits = [
        split
        for repeat in range(repeats)
        for split in StratifiedGroupKFold(n_splits, shuffle=True, random_state=seed + repeat).split(
            labels, labels, groups
        )
    ]
    # A large group may hold all cases of a class, which could then not be learned: no such fold.
    return [
        test
        for train, test in splits
        if test.size and np.unique(labels[train]).size == present.size
    ]


def folds_of(held_out: Any, labels: AnyArray, groups: Any = None) -> AnyArray:
    """Return the fold of each row, -1 for rows that are never held out.

    Parameters
    ----------
    held_out : int or splitter
        Folds, which are stratified, or scikit-learn's splitter of rows.
    labels : ndarray of int of shape (n,)
        Class of each row.
    groups : array-like of shape (n,), optional
        Rows of one group are held out together.
    """
    if isinstance(held_out, int | np.integer) and groups is not None:
        held_out = StratifiedGroupKFold(int(held_out))
    fold: AnyArray = np.full(labels.size, -1, dtype=np.int32)
    folds = check_cv(held_out, labels, classifier=True)
    for f, (train, rows) in enumerate(folds.split(np.zeros((labels.size, 1)), labels, groups)):
        if np.any(fold[rows] >= 0):
            msg = "held_out holds a row out twice; give folds that do not overlap."
            raise ValueError(msg)
        fold[rows] = f
        if np.union1d(train, rows).size < labels.size:
            msg = (
                "held_out leaves some rows neither in training nor held out; give folds that "
                "train on all other rows."
            )
            raise ValueError(msg)
    return fold


def _folds_of_many(labels: AnyArray, repeats: int, seed: int) -> list[IntArray]:
    """Return such folds with little memory: each class is dealt out to the folds at random."""
    generator = np.random.default_rng(seed)
    classes = np.unique(labels)
    result = []
    for _ in range(repeats):
        fold_of = np.zeros(labels.size, dtype=np.uint8)
        for label in classes:
            rows = np.flatnonzero(labels == label)
            if rows.size < 2:
                return []
            fold_of[rows] = generator.permutation(
                np.resize(np.arange(5, dtype=np.uint8), rows.size)
            )
        # Half the size of NumPy's default integers.
        small = np.uint32 if labels.size < 1 << 32 else np.int64
        result += [cast(IntArray, np.flatnonzero(fold_of == f).astype(small)) for f in range(5)]
    return result


# --------------------------------------------------------------------------------------------------
# The number of features, by cross-validation inside `fit`
# --------------------------------------------------------------------------------------------------


MOST = 1000
"""Largest number of features that is tried."""


@dataclass(frozen=True, slots=True)
class NumberChoice:
    """Numbers of features that were tried, and how well each did.

    Attributes
    ----------
    n_features : ndarray of shape (g,)
        Numbers tried.
    log_score : ndarray of shape (g,)
        Average minus log probability of the observed class of held-out cases.
    chosen : int
        The smallest number whose score differs from the best one by at most the standard error of
        the difference over cases.
    """

    n_features: Annotated[IntArray, Counts("tried")]
    log_score: Annotated[FloatArray, Array("tried")]
    chosen: Annotated[int, Whole(what="is not one of the numbers that were tried")]

    def check(self, check: Check) -> None:
        """Refuse a number that was not tried."""
        check(not np.isinf(self.log_score).any(), "log_score", "is infinite")
        tried = self.chosen in self.n_features.tolist()
        check(tried, "chosen", "is not one of the numbers that were tried")


def number_grid(n_candidates: int) -> IntArray:
    """Return 1, 2, 5, 10, 20, 50, ... up to ``MOST``, or to all features where they are fewer.

    >>> number_grid(300).tolist()
    [1, 2, 5, 10, 20, 50, 100, 200, 300]
    """
    steps = np.outer(10 ** np.arange(7), [1, 2, 5]).ravel()
    return np.unique(np.append(steps[steps <= min(n_candidates, MOST)], min(n_candidates, MOST)))


def choose_by_loss(grid: IntArray, loss: FloatArray) -> NumberChoice:
    """Choose from the losses of each number and held-out case, shape (g, n)."""
    return NumberChoice(grid, loss.mean(axis=1), int(grid[_smallest_good(loss)]))


def _smallest_good(loss: FloatArray) -> int:
    """Return the index of the first row that is within one standard error of the best."""
    excess = loss - loss[np.argmin(loss.mean(axis=1))]
    error = excess.std(axis=1, ddof=1) / np.sqrt(loss.shape[1])
    return int(np.argmax(excess.mean(axis=1) <= error))


# --------------------------------------------------------------------------------------------------
# Recalibration
# --------------------------------------------------------------------------------------------------


EFFECTIVE_SHARE = 0.4
"""Number of independent cases that a held-out case is worth. Held-out cases share their training
sets: the variance of a slope learned from them was 2.4 times that of independent cases (docs, "The
slope"), so their log likelihood is multiplied by 1 / 2.4."""

SLOPES = (1e-6, 1e6)
"""Bounds of slopes in files, far beyond any that can be learned (exp(-8) to exp(4))."""

_LOG_SLOPES = (-8.0, 4.0)
"""Range of log(slope); at -8 evidence of 1000 is worth 0.3, at 4 evidence of 0.1 is worth 5."""

_NODES = 41
"""Number of nodes of log(slope), beside the one at 0."""

_NEGLIGIBLE = 18.0
"""Nodes whose log density is below the highest by more than this (1.5e-8 of it) are dropped."""

OUTLIER_RATES = np.concatenate([[0.0], np.geomspace(0.003, 0.3, 7)])
"""Grid of the outlier rate: none, or any order of magnitude from 0.3% to 30%."""

_NO_OUTLIERS = 0.8
"""Prior probability that the outlier rate is 0."""

_MOST_MOVES = 8
"""Largest number of times that the nodes move; each move leaves at most 0.7 of their range."""

_NOTHING = 1e-9
"""Evidence of a row below which its contributions are scaled by the mean slope."""

_FEW_CLASSES = 7
"""Number of classes up to which NumPy adds terms one after the other, as loops here do."""

_CELLS = 1_000_000
"""Largest number of held-out cases x classes from which a recalibration is learned."""


@dataclass(frozen=True, slots=True, eq=False)
class Recalibration:
    """The posterior of slope and outlier rate, on a grid; one node where they are plugged in.

    Attributes
    ----------
    slope : ndarray of shape (S,)
        Nodes of the slope.
    outlier_rate : ndarray of shape (E,)
        Nodes of the outlier rate.
    weight : ndarray of shape (S, E)
        Posterior probabilities of the pairs.
    """

    slope: Annotated[FloatArray, Floats("slopes", low=SLOPES[0], high=SLOPES[1])]
    outlier_rate: Annotated[FloatArray, Floats("outlier_rates", low=0.0, high=1.0)]
    weight: Annotated[FloatArray, Floats("slopes", "outlier_rates", low=0.0, high=1.0 + CLOSE)]

    def check(self, check: Check) -> None:
        """Refuse weights that are not those of a posterior."""
        check(abs(self.weight.sum() - 1) <= CLOSE, "weight", "does not sum to 1")

    @classmethod
    def plugged_in(cls, slope: float) -> Recalibration:
        """Return the recalibration by one known slope, without outliers."""
        return cls(np.array([slope]), np.zeros(1), np.ones((1, 1)))

    @property
    def is_plugged_in(self) -> bool:
        """Whether there is one slope, and no outliers."""
        return self.weight.size == 1 and self.outlier_rate[0] == 0

    def mean_slope(self) -> float:
        """Return the posterior mean of the slope."""
        return float(self.weight.sum(axis=1) @ self.slope)

    def mean_outlier_rate(self) -> float:
        """Return the posterior mean of the outlier rate."""
        return float(self.weight.sum(axis=0) @ self.outlier_rate)

    def log_proba(
        self, evidence: FloatArray, log_prior: FloatArray, given: FloatArray | None = None
    ) -> FloatArray:
        """Return log P(class | x), shape (n, C).

        Parameters
        ----------
        evidence : ndarray of shape (n, C)
            Log P(x | class).
        log_prior : ndarray of shape (C,), or (n, C) where cases have covariates
            Log class probabilities before features are seen, of the training data.
        given : ndarray of the shape of ``log_prior``, optional
            Logs of the prevalences where the model is used. By Bayes' rule they change the odds of
            the classes by one factor for every x. They act on the averaged probabilities: inside
            the average, the weights of slopes and outliers would no longer be those that fit the
            training prevalences.
        """
        if self.is_plugged_in:
            before = log_prior if given is None else given
            return np.asarray(log_softmax(before + self.slope[0] * evidence, axis=1))
        log_prior = log_softmax(log_prior, axis=-1)
        # The outlier rate enters linearly, so that its mean and, for each slope, the mean of one
        # less the rate are all that is needed of it: one softmax for each slope, not each pair.
        with np.errstate(divide="ignore"):
            result = np.full(evidence.shape, np.log(self.mean_outlier_rate())) + log_prior
            log_weights = np.log(self.weight @ (1 - self.outlier_rate))
        for slope, log_weight in zip(self.slope, log_weights, strict=True):
            part = _log_softmax(log_prior + slope * evidence)
            np.logaddexp(result, log_weight + part, out=result)
        return np.asarray(log_softmax(result if given is None else result + given - log_prior, 1))

    def share_out(self, evidence: FloatArray, log_prior: FloatArray) -> FloatArray:
        """Return the contribution of each feature to the log-odds of two classes, shape (n, k).

        In proportion to the evidence of each, of the same shape, so that rows sum to the log-odds
        less those of the prior.
        """
        if self.is_plugged_in:
            return np.asarray(self.slope[0] * evidence)
        total = evidence.sum(axis=1)
        both = np.stack([np.zeros(total.size), total], axis=1)
        gained = np.diff(self.log_proba(both, log_prior) - log_prior, axis=1)[:, 0]
        some = np.abs(total) > _NOTHING
        factor = np.where(some, gained / np.where(some, total, 1.0), self.mean_slope())
        return np.asarray(factor[:, None] * evidence)

    def draw(self, n_draws: int, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw slopes and outlier rates, each of shape (S,)."""
        chosen = generator.choice(self.weight.size, n_draws, p=self.weight.ravel())
        return self.slope[chosen // self.outlier_rate.size], self.outlier_rate[
            chosen % self.outlier_rate.size
        ]


def learn_recalibration(
    kind: Any, evidence: FloatArray, codes: IntArray, log_prior: FloatArray, share: float
) -> Recalibration:
    """Learn the recalibration that the parameter ``recalibrate`` asks for.

    Parameters
    ----------
    kind : {"bayes", "slope"} or None
        Average over slope and outlier rate, plug one slope in, or take the evidence as it is.
    evidence : ndarray of shape (n, C)
        Log P(x | class) of held-out cases.
    codes : ndarray of int of shape (n,)
        Their classes.
    log_prior : ndarray of shape (C,), or (n, C) where cases have covariates
        Log class probabilities before features are seen.
    share : float
        Number of independent cases that each of these is worth.
    """
    if kind is None:
        return Recalibration.plugged_in(1.0)
    if kind == "slope":
        return Recalibration.plugged_in(fit_slope(evidence, codes, log_prior, share))
    return fit_recalibration(evidence, codes, log_prior, share)


def fit_slope(
    evidence: FloatArray, codes: IntArray, log_prior: FloatArray, share: float = 1.0
) -> float:
    """Estimate the slope b > 0 in log prior + b x evidence.

    The factor is on the evidence, not on the log-odds: as b goes to 0, probabilities go to the
    prevalences, not to equal shares. The prior of log(b) is 0 with probability one half (the slope
    is 1 unless the cases say otherwise), else standard normal; the estimate is the exponential of
    its posterior mean. Parameters are those of `learn_recalibration`.
    """
    more, before = _margins(evidence, codes, log_prior)

    def loss(slope: float) -> float:
        return float(np.sum(_log_sum(before + slope * more)))

    step = 0.05
    log_slope = np.arange(_LOG_SLOPES[0], _LOG_SLOPES[1] + step / 2, step)
    losses = np.array([loss(slope) for slope in np.exp(log_slope)])
    log_posterior = share * (loss(1.0) - losses) - log_slope**2 / 2 - np.log(2 * np.pi) / 2
    slab = step * np.exp(log_posterior - max(log_posterior.max(), 0.0))
    spike = np.exp(-max(log_posterior.max(), 0.0))
    return float(np.exp(np.sum(slab * log_slope) / (np.sum(slab) + spike)))


def fit_recalibration(
    evidence: FloatArray, codes: IntArray, log_prior: FloatArray, share: float = 1.0
) -> Recalibration:
    """Return the posterior of slope and outlier rate, as `recalibration_and_evidence` does."""
    return recalibration_and_evidence(evidence, codes, log_prior, share)[0]


def recalibration_and_evidence(
    evidence: FloatArray, codes: IntArray, log_prior: FloatArray, share: float = 1.0
) -> tuple[Recalibration, float]:
    """Return the posterior of slope and outlier rate, and its normalising constant.

    The second is the log of the average, over the prior, of the held-out cases' probability to the
    power ``share``.

    The prior of log(slope) is that of `fit_slope`; the prior of the rate is on ``OUTLIER_RATES``.
    For a smooth density that vanishes at both ends, the error of the trapezoidal rule falls faster
    than any power of the step; for a normal one it is below 1e-33 at half a standard deviation
    (2 exp(-2 pi^2 / h^2) with h = 0.5). So the nodes move to where the posterior is, until they
    cover it with at most 30% to spare. Parameters are those of `learn_recalibration`.
    """
    some, share = enough_cases(codes.size, log_prior.shape[-1], share)
    if some is not None:
        evidence, codes = evidence[some], codes[some]
        log_prior = log_prior if log_prior.ndim == 1 else log_prior[some]
    # P(observed class) = 1 / sum over classes of exp(before + slope x more): the log likelihoods
    # of different slopes differ only through `more`, which is 0 for the observed class.
    more, before = _margins(evidence, codes, log_prior)
    outlier_rates = OUTLIER_RATES[1:, None] * of_class(softmax(log_prior, axis=-1), codes)
    log_rate = np.log(np.append(_NO_OUTLIERS, np.full(outlier_rates.shape[0], 1 - _NO_OUTLIERS)))
    log_rate[1:] -= np.log(outlier_rates.shape[0])

    def log_posterior(slope: float) -> FloatArray:
        """Return the log posterior of a slope with each rate, without the prior of the slope."""
        log_proba = -_log_sum(before + slope * more)
        with_outliers = np.log(
            (1 - OUTLIER_RATES[1:, None]) * np.exp(log_proba) + outlier_rates
        ).sum(axis=1)
        return np.asarray(share * np.append(log_proba.sum(), with_outliers) + log_rate)

    low, high = _LOG_SLOPES
    for _ in range(_MOST_MOVES):
        t = np.linspace(low, high, _NODES)
        slab = np.stack([log_posterior(slope) for slope in np.exp(t)])
        slab += (-(t**2) / 2 - np.log(2 * np.pi) / 2 + np.log(t[1] - t[0]))[:, None]
        height = slab.max(axis=1)
        # The range shrinks to the nodes that matter and one more at each end, where the density is
        # negligible: a range that cuts the density off would spoil the trapezoidal rule.
        used = np.flatnonzero(height > height.max() - _NEGLIGIBLE)
        first, last = t[max(used[0] - 1, 0)], t[min(used[-1] + 1, _NODES - 1)]
        if last - first > 0.7 * (high - low):
            break
        low, high = first, last
    log_weight = np.vstack([log_posterior(1.0), slab])
    top = log_weight.max()
    weight = np.exp(log_weight - top)
    total = weight.sum()
    # Spike and slab have a prior probability of one half each, which cancels in the weights.
    log_evidence = float(top + np.log(total) - np.log(2))
    return Recalibration(np.exp(np.append(0.0, t)), OUTLIER_RATES, weight / total), log_evidence


def enough_cases(n_cases: int, n_classes: int, share: float) -> tuple[IntArray | None, float]:
    """Return indices of held-out cases that suffice, and what each is worth; None for all."""
    most = max(_CELLS // n_classes, 100)
    if n_cases <= most:
        return None, share
    # Each case stands for several, but is not worth more than a case that was held out once.
    worth = min(share * n_cases / most, max(share, EFFECTIVE_SHARE))
    return np.linspace(0, n_cases - 1, most).astype(np.int64), worth


def _margins(
    evidence: FloatArray, codes: IntArray, log_prior: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return evidence and log prior of each class, less those of the observed class, (n, C)."""
    more = evidence - evidence[np.arange(codes.size), codes][:, None]
    return more, log_prior - of_class(log_prior, codes)[:, None]


def of_class(values: FloatArray, codes: IntArray) -> FloatArray:
    """Return the value of each case's class, shape (n,), of values of shape (C,) or (n, C)."""
    return values[codes] if values.ndim == 1 else values[np.arange(codes.size), codes]


def _log_softmax(values: FloatArray) -> FloatArray:
    """Return SciPy's `log_softmax` over classes, several times faster for few classes."""
    left = values - _over_classes(np.maximum, values)[:, None]
    return np.asarray(left - np.log(_over_classes(np.add, np.exp(left)))[:, None])


def _log_sum(values: FloatArray) -> FloatArray:
    """Return the log-sum-exp of each row, shape (n,)."""
    top = _over_classes(np.maximum, values)
    return np.asarray(top + np.log(_over_classes(np.add, np.exp(values - top[:, None]))))


def _over_classes(function: np.ufunc, values: FloatArray) -> FloatArray:
    """Reduce over classes; for few classes column by column.

    NumPy adds up to seven terms one after the other, so that the result has the same bits.
    """
    if values.shape[1] > _FEW_CLASSES:
        return np.asarray(function.reduce(values, axis=1))
    result = values[:, 0]
    for column in values.T[1:]:
        result = function(result, column)
    return result
