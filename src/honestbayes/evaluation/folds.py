"""Which cases are trained on and which are predicted, in every fold of every repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    LeaveOneGroupOut,
    LeaveOneOut,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)

IndexArray = NDArray[np.intp]
Split = tuple[IndexArray, IndexArray]


def make_splits(
    cv: Any,
    n_repeats: int,
    y: NDArray[Any],
    groups: NDArray[Any] | None,
    seeds: np.random.SeedSequence,
) -> list[Split]:
    """Return the (train, test) indices of all folds of all repeats."""
    if n_repeats < 1:
        raise ValueError(f"n_repeats is {n_repeats}; give 1 or more.")
    if isinstance(cv, str) and cv != "loo":
        raise ValueError(f"cv is {cv!r}; give a number of folds, 'loo' or a splitter.")
    blank = np.zeros(y.size)
    if isinstance(cv, int | np.integer):
        _check_fold_count(int(cv), y, groups)
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        states = [int(state) for state in seeds.generate_state(n_repeats)]
        return [
            split
            for state in states
            for split in kind(int(cv), shuffle=True, random_state=state).split(blank, y, groups)
        ]
    if n_repeats > 1:
        raise ValueError("n_repeats needs a number of folds as cv; a splitter repeats by itself.")
    if isinstance(cv, str):
        splitter: Any = LeaveOneOut() if groups is None else LeaveOneGroupOut()
    else:
        splitter = check_cv(cv, y, classifier=True)
    return [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(blank, y, groups)]


def _check_fold_count(n_folds: int, y: NDArray[Any], groups: NDArray[Any] | None) -> None:
    most = int(np.bincount(y).min())
    if groups is not None:
        most = min(most, np.unique(groups).size)
    if most < 2:
        raise ValueError("y has a class (or groups a count) below 2; give more cases or groups.")
    if not 2 <= n_folds <= most:
        raise ValueError(
            f"cv is {n_folds}; give from 2 to {most} folds (the size of the smallest class, or "
            "the number of groups), or 'loo'."
        )


def check_training_classes(splits: list[Split], y: NDArray[Any], classes: NDArray[Any]) -> None:
    """Refuse folds whose training cases lack a class."""
    for number, (train, _) in enumerate(splits):
        counts = np.bincount(y[train], minlength=classes.size)
        if counts.min() == 0:
            lacking = f"lack class {classes[counts.argmin()]!s}"
            raise ValueError(
                f"cv: the training cases of fold {number} "
                f"{'are of one class' if np.count_nonzero(counts) == 1 else lacking}; use folds "
                "that keep every class."
            )


def place_folds(
    tests: list[IndexArray], n_cases: int
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return the fold of each case in each repeat, and the repeat of each tested case."""
    times = np.zeros(n_cases, dtype=np.int64)
    repeat_of = []
    for test in tests:
        if np.unique(test).size < test.size:
            raise ValueError("cv tests a case twice in one fold; use another splitter.")
        repeat_of.append(times[test])
        times[test] += 1
    if times.min() != times.max() or times.min() == 0:
        raise ValueError(
            "cv does not test every case equally often; use a splitter that partitions the cases, "
            "such as StratifiedKFold."
        )
    folds = np.empty((int(times[0]), n_cases), dtype=np.int64)
    for number, (test, where) in enumerate(zip(tests, repeat_of, strict=True)):
        folds[where, test] = number
    return folds, repeat_of
