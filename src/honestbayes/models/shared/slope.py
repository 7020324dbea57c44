"""One factor on the evidence, learned from held-out cases."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import logsumexp
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold

from honestbayes.types import AnyArray, FloatArray, IntArray

_ENOUGH_CASES = 2000
"""With more cases than this one repetition of cross-validation is enough for the slope."""

EFFECTIVE_SHARE = 0.4
"""Held-out cases share their training sets: the variance of a slope learned from them was 2.4
times that of independent cases (docs, "The slope")."""


SLOPES = (1e-6, 1e6)
"""Bounds of slopes in files, far beyond any that can be learned (exp(-8) to exp(4))."""


def fit_slope(
    log_likelihood: FloatArray, codes: IntArray, log_prior: FloatArray, share: float = 1.0
) -> float:
    """Estimate b > 0 in log prior + b * log likelihood, as far as the data ask for one.

    The factor is on the evidence, not on the prior: evidence that means nothing should lead back
    to the prevalence, not to equal shares. The prior of log(b) is 0 with probability one half,
    else standard normal; the estimate is the exponential of its posterior mean.

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
    """Say that groups are why no slope was learned; without them a class has a single case."""
    if groups is not None:
        warnings.warn(
            "a slope cannot be learnt: each class needs cases in two groups or more; "
            "probabilities are not recalibrated.",
            UserWarning,
            stacklevel=4,
        )


def slope_repeats(n_cases: int) -> int:
    """How often the folds are drawn from which a slope is learned."""
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
