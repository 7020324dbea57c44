"""Fast leave-one-out: select and fit again without each case, from counts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold

from honestbayes.correction.learned_prior import LearnedPrior
from honestbayes.models.bernoulli_core import BernoulliFit, Settings, fit_screening
from honestbayes.screening import Screening, Source
from honestbayes.screening.binarization import BinarizeOption
from honestbayes.screening.leave_out import leave_out
from honestbayes.screening.sources import RowsOf
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_ENOUGH_CASES = 2000
"""With more cases than this one repetition of cross-validation is enough for the slope."""

EFFECTIVE_SHARE = 0.4
"""Held-out cases share their training sets: the variance of a slope learnt from them was 2.4
times that of independent cases (docs, "The slope")."""


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """The rows behind a fit, for whatever has to be fitted again without some of them.

    Attributes
    ----------
    source : Source of shape (n, p)
        The table.
    is_class_1 : ndarray of bool of shape (n,)
        Classes.
    whole : Screening
        Counts of all rows.
    option : {"auto", "median"}, float or None
        How values become 0/1.
    random_state : int, RandomState or None
        Breaks ties, anew in each fit.
    groups : ndarray of int of shape (n,), or None
        Rows of one group are held out together.
    """

    source: Source
    is_class_1: BoolArray
    whole: Screening
    option: BinarizeOption
    random_state: Any
    groups: IntArray | None = None

    def without(self, folds: list[IntArray]) -> Iterator[tuple[IntArray, Screening]]:
        """Yield the rows of each fold, and the screening of all others."""
        screenings = leave_out(self.source, self.is_class_1, folds, self.whole, self.option)
        for rows, screening in zip(folds, screenings, strict=True):
            _check_both_classes(screening, rows)
            yield rows, screening

    def fit(
        self, screening: Screening, settings: Settings, learned: LearnedPrior | None = None
    ) -> BernoulliFit:
        """Fit some of the rows, ties broken as in a fit of its own."""
        state = self.random_state
        return fit_screening(
            screening, settings, np.random.RandomState(state) if _is_seed(state) else state, learned
        )

    def evidence(self, fit: BernoulliFit, rows: IntArray) -> FloatArray:
        """Return the evidence of some rows under a fit."""
        columns = np.array(fit.selection.columns, dtype=np.int64)
        # Not checked for another scale: a fraction may be in the left-out rows only.
        ones, missing = fit.binarization.cut_values(RowsOf(self.source, rows).take(columns))
        return fit.evidence(ones, missing)


def leave_out_fits(
    training: TrainingRows,
    folds: list[IntArray],
    settings: Settings,
    learned: LearnedPrior | None = None,
) -> Iterator[tuple[IntArray, BernoulliFit, FloatArray]]:
    """Yield, for each fold, its rows, the model fitted without them, and their evidence."""
    for rows, screening in training.without(folds):
        fit = training.fit(screening, settings, learned)
        yield rows, fit, training.evidence(fit, rows)


def learn_slope(
    training: TrainingRows, settings: Settings, fit: BernoulliFit, learned: LearnedPrior | None
) -> float:
    """Learn one factor on the evidence from predictions of held-out cases.

    Held out by stratified five-fold cross-validation, repeated, with selection and cuts learnt
    again each time: leave-one-out was found to be twice as variable, because its n selections are
    all alike (docs, "The slope"). A learned prior is kept as it is, because what thousands of
    features say of their distribution hardly depends on one fold. Cases of one group are held out
    together.
    """
    is_class_1 = training.is_class_1
    folds = held_out_folds(is_class_1, training.groups, slope_repeats(is_class_1.size))
    if not folds:
        warn_of_too_few_groups(training.groups)
        return 1.0
    evidence, labels = [], []
    for rows, _, values in leave_out_fits(training, folds, settings, learned):
        evidence.append(values)
        labels.append(is_class_1[rows])
    return fit_slope(
        np.concatenate(evidence),
        np.concatenate(labels),
        fit.log_prior_odds,
        share=EFFECTIVE_SHARE / slope_repeats(is_class_1.size),
    )


def fit_slope(
    evidence: FloatArray, is_class_1: BoolArray, log_prior_odds: float, share: float = 1.0
) -> float:
    """Estimate b > 0 in prior log-odds + b * evidence, as far as the data ask for one.

    The factor is on the evidence, not on the prior log-odds: evidence that means nothing should
    lead back to the prevalence, not to one half. The prior of log(b) is 0 with probability one
    half, else standard normal; the estimate is the exponential of its posterior mean.

    Parameters
    ----------
    evidence : ndarray of shape (n,)
        Log likelihood ratios of held-out cases.
    is_class_1 : ndarray of bool of shape (n,)
        Their classes.
    log_prior_odds : float
        Log-odds before features are seen.
    share : float, default=1.0
        How much of an independent case each of these is worth.
    """
    joint = np.stack([np.zeros(evidence.size), evidence], axis=1)
    return fit_class_slope(joint, is_class_1.astype(int), np.array([0.0, log_prior_odds]), share)


def fit_class_slope(
    log_likelihood: FloatArray, codes: IntArray, log_prior: FloatArray, share: float = 1.0
) -> float:
    """Do the same for any number of classes: one factor on all log likelihoods.

    Parameters
    ----------
    log_likelihood : ndarray of shape (n, C)
        Log P(x | class) of held-out cases.
    codes : ndarray of int of shape (n,)
        Their classes.
    log_prior : ndarray of shape (C,)
        Log class probabilities before features are seen.
    share : float, default=1.0
        How much of an independent case each of these is worth.
    """
    # How much more each class has than the actual one, in evidence and before it.
    rows = np.arange(codes.size)
    more = log_likelihood - log_likelihood[rows, codes][:, None]
    before = log_prior - log_prior[codes][:, None]

    def loss(slope: float) -> float:
        return float(np.sum(logsumexp(before + slope * more, axis=1)))

    step = 0.05
    log_slope = np.arange(-8.0, 4.0 + step / 2, step)
    losses = np.array([loss(slope) for slope in np.exp(log_slope)])
    log_posterior = share * (loss(1.0) - losses) - log_slope**2 / 2 - np.log(2 * np.pi) / 2
    slab = step * np.exp(log_posterior - max(log_posterior.max(), 0.0))
    spike = np.exp(-max(log_posterior.max(), 0.0))
    return float(np.exp(np.sum(slab * log_slope) / (np.sum(slab) + spike)))


def warn_of_too_few_groups(groups: IntArray | None) -> None:
    """Say that groups are why no slope was learnt; without them a class has a single case."""
    if groups is not None:
        warnings.warn(
            "a slope cannot be learnt: each class needs cases in two groups or more; "
            "probabilities are not recalibrated.",
            UserWarning,
            stacklevel=4,
        )


def slope_repeats(n_cases: int) -> int:
    """How often the folds are drawn from which a slope is learnt."""
    return 4 if n_cases <= _ENOUGH_CASES else 1


def held_out_folds(labels: AnyArray, groups: IntArray | None, repeats: int) -> list[IntArray]:
    """Five stratified folds, repeated; none where a class or the groups are too few to be split."""
    present, counts = np.unique(labels, return_counts=True)
    smallest = int(counts.min())
    if groups is None:
        if smallest < 2:
            return []
        splitter = RepeatedStratifiedKFold(
            n_splits=min(5, smallest), n_repeats=repeats, random_state=0
        )
        return [test for _, test in splitter.split(labels, labels)]
    by_class = [np.unique(groups[labels == label]).size for label in present]
    if min(by_class) < 2:
        return []
    n_splits = min(5, smallest, *by_class)
    splits = [
        split
        for seed in range(repeats)
        for split in StratifiedGroupKFold(n_splits, shuffle=True, random_state=seed).split(
            labels, labels, groups
        )
    ]
    # A large group may hold all that is left of a class; such a fold says nothing.
    return [
        test
        for train, test in splits
        if test.size and np.unique(labels[train]).size == present.size
    ]


def _is_seed(random_state: Any) -> bool:
    return isinstance(random_state, int | np.integer)


def _check_both_classes(screening: Screening, rows: IntArray) -> None:
    for label, count in zip(screening.classes, screening.class_counts, strict=True):
        if count == 0:
            msg = (
                f"without row {int(rows[0])} (and those left out with it) no case of class "
                f"{label!r} is left."
            )
            raise ValueError(msg)
