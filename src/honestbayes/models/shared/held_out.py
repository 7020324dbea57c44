"""Folds of training cases that are held out inside `fit`."""

from __future__ import annotations

import warnings
from typing import Any, cast

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold

from honestbayes.types import AnyArray, IntArray

_ENOUGH_CASES = 2000
"""With more cases than this one repetition of the folds is enough for the layer."""

_MANY_CASES = 1_000_000
"""With more cases than this folds are drawn in another way, for the sake of memory."""


def warn_of_too_few_groups(groups: IntArray | None) -> None:
    """Say that groups are why no slope was learned; without them a class has a single case."""
    if groups is not None:
        warnings.warn(
            "a slope cannot be learnt: each class needs cases in two groups or more; "
            "probabilities are not recalibrated.",
            UserWarning,
            stacklevel=4,
        )


def repeats_of_folds(n_cases: int) -> int:
    """How often the folds are drawn from which a layer is learned."""
    return 4 if n_cases <= _ENOUGH_CASES else 1


def seed_of_folds(random_state: Any) -> int:
    """Return the seed of the folds: a given whole number, else 0, so that `fit` repeats itself."""
    return int(random_state) if isinstance(random_state, int | np.integer) else 0


def held_out_folds(
    labels: AnyArray, groups: IntArray | None, repeats: int, seed: int = 0
) -> list[IntArray]:
    """Five stratified folds, repeated; none where a class or the groups are too few to be split.

    They follow the order of the rows and the seed, never the values.
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
    # A large group may hold all that is left of a class; such a fold says nothing.
    return [
        test
        for train, test in splits
        if test.size and np.unique(labels[train]).size == present.size
    ]


def _folds_of_many(labels: AnyArray, repeats: int, seed: int) -> list[IntArray]:
    """Do the same in little memory: each class is dealt out to the folds in random order."""
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
        # Half as large as NumPy's own numbers of rows.
        small = np.uint32 if labels.size < 1 << 32 else np.int64
        result += [cast(IntArray, np.flatnonzero(fold_of == f).astype(small)) for f in range(5)]
    return result
