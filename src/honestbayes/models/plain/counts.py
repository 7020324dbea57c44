"""Naive Bayes on codes: weighted counts of levels, and what each level says of the classes.

All columns have their levels in one flat table. Column j has the slots ``first[j]`` (missing) to
``first[j] + n_levels[j]``, so that a cell's slot is ``first[j] + 1 + code``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from honestbayes.files.entries import Entries
from honestbayes.files.fields import Known
from honestbayes.sources.coding import Coded
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_LARGEST = 1e100
_ROUNDING = 1e-6
"""Of weights in files: their largest, and how far sums may be off."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LevelCounts:
    """Weights of training rows by level and class.

    Attributes
    ----------
    first : ndarray of int of shape (p,)
        Slot of each column's missing cells.
    n_levels : ndarray of int of shape (p,)
        Levels of each column.
    is_open : ndarray of bool of shape (p,)
        Columns whose levels are those that training has seen: others say nothing.
    slots : ndarray of shape (L, C)
        Weight of each slot and class.
    classes : ndarray of shape (C,)
        Weight of each class.
    """

    first: IntArray
    n_levels: IntArray
    is_open: BoolArray
    slots: FloatArray
    classes: FloatArray

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> LevelCounts:
        """Return the weights in a file, of the levels of ``known["coding"]``."""
        coding, n_classes = known["coding"], known["n_classes"]
        n_levels = coding.n_levels
        first = slots_of(n_levels)
        n_slots = int(np.sum(n_levels + 1))
        slots = entries.finite("slots", (n_slots, n_classes), 0.0, _LARGEST)
        classes = entries.finite("class_count", (n_classes,), 0.0, _LARGEST)
        entries.check(np.all(classes > 0), "class_count", "is 0 for a class")
        with np.errstate(divide="ignore"):
            shares = np.log(classes / classes.sum())
        entries.check(np.all(np.isfinite(shares)), "class_count", "is next to nothing for a class")
        off = np.abs(np.add.reduceat(slots, first) - classes) > _ROUNDING * classes
        entries.check(not np.any(off), "slots", "do not sum to the weight of each class")
        return cls(
            first=first, n_levels=n_levels, is_open=coding.is_open, slots=slots, classes=classes
        )

    def log_prior(self) -> FloatArray:
        """Return the log share of each class, shape (C,)."""
        return np.asarray(np.log(self.classes / self.classes.sum()))

    def log_likelihood(self, smoothing: float) -> FloatArray:
        """Return log P(level | class) of each slot, shape (L, C); missing cells say nothing.

        Each level of a column is given ``smoothing`` more in each class.
        """
        column = np.repeat(np.arange(self.first.size), self.n_levels + 1)
        observed = self.slots.copy()
        observed[self.first] = 0.0
        seen = observed.any(axis=1)
        n_seen = np.maximum(np.add.reduceat(seen.astype(np.int64), self.first), 2)
        n_levels = np.where(self.is_open, n_seen, self.n_levels)
        whole = np.add.reduceat(observed, self.first) + smoothing * n_levels[:, None]
        result = np.log(observed + smoothing) - np.log(whole)[column]
        result[self.first] = 0.0
        result[self.is_open[column] & ~seen] = 0.0
        return np.asarray(result)

    def drawn(self, rng: np.random.Generator, columns: IntArray, smoothing: float) -> FloatArray:
        """Return a draw of log P(level | class) of some columns, shape (L, C).

        Each column has its Dirichlet distribution given the training rows; slots of other columns,
        of missing cells and of levels that training has not seen say nothing.
        """
        result = np.zeros_like(self.slots)
        for j in columns:
            own = slice(self.first[j] + 1, self.first[j] + 1 + self.n_levels[j])
            seen = self.slots[own].any(axis=1) | (not self.is_open[j])
            if not seen.any():  # all cells of training are missing
                continue
            log_gamma = np.log(rng.standard_gamma(self.slots[own][seen] + smoothing))
            top = log_gamma.max(axis=0)
            whole = top + np.log(np.exp(log_gamma - top).sum(axis=0))
            result[own][seen] = log_gamma - whole
        return result


def slots_of(n_levels: IntArray) -> IntArray:
    """Return the slot of each column's missing cells."""
    return np.concatenate([[0], np.cumsum(n_levels + 1)[:-1]]).astype(np.int64)


def count_levels(
    coded: Coded,
    labels: AnyArray,
    weight: FloatArray,
    n_classes: int,
    n_jobs: int | None = None,
) -> LevelCounts:
    """Count all columns.

    Parameters
    ----------
    coded : Coded
        The cells.
    labels : ndarray of int of shape (n,)
        Class of each row.
    weight : ndarray of shape (n,)
        What each row counts.
    n_classes : int
        Number of classes.
    n_jobs : int, optional
        Threads.
    """
    from honestbayes.models.plain.kernels import add_counts

    first = slots_of(coded.n_levels)
    slots = np.zeros((int(np.sum(coded.n_levels + 1)), n_classes))
    bounds = np.linspace(0, first.size, effective_n_jobs(n_jobs) + 1).astype(np.int64)
    Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(add_counts)(coded.cells, first, labels, weight, slots, *part)
        for part in pairwise(bounds)
    )
    classes = np.bincount(labels, weight, minlength=n_classes).astype(float)
    return LevelCounts(
        first=first, n_levels=coded.n_levels, is_open=coded.is_open, slots=slots, classes=classes
    )


def log_likelihood_of(coded: Coded, counts: LevelCounts, smoothing: float) -> AnyArray:
    """Return log P(row | class) of a coded table, shape (n, C)."""
    from honestbayes.models.plain.kernels import add_evidence

    total = np.zeros((coded.cells.shape[0], counts.classes.size))
    add_evidence(coded.cells, counts.first, counts.log_likelihood(smoothing), total)
    return total
