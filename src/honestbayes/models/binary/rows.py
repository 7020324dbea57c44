"""Fast leave-one-out: select and fit again without each case, from counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from honestbayes.likelihood.learned_prior import LearnedPrior
from honestbayes.models.binary.fit import BernoulliFit, Settings, fit_screening
from honestbayes.screening import Screening, screen
from honestbayes.screening.leave_out import leave_out
from honestbayes.sources import Source, as_source, encode_classes
from honestbayes.sources.binarization import BinarizeOption
from honestbayes.sources.source import RowsOf
from honestbayes.types import BoolArray, FloatArray, IntArray


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
    """

    source: Source
    is_class_1: BoolArray
    whole: Screening
    option: BinarizeOption
    random_state: Any

    @classmethod
    def screened(cls, X: Any, y: Any, option: BinarizeOption, random_state: Any) -> Self:
        """Count all rows of a table."""
        source = as_source(X)
        whole = screen(source, y, binarize=option)
        return cls(source, encode_classes(y)[1], whole, option, random_state)

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
        return fit_screening(screening, settings, tie_breaker(self.random_state), learned)

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


def tie_breaker(random_state: Any) -> np.random.RandomState | None:
    """Return a generator that breaks ties alike in every fit; one that was given goes on."""
    if isinstance(random_state, int | np.integer):
        return np.random.RandomState(random_state)
    return None if random_state is None else check_random_state(random_state)


def _check_both_classes(screening: Screening, rows: IntArray) -> None:
    for label, count in zip(screening.classes, screening.class_counts, strict=True):
        if count == 0:
            msg = (
                f"without row {int(rows[0])} (and those left out with it) no case of class "
                f"{label!r} is left."
            )
            raise ValueError(msg)
