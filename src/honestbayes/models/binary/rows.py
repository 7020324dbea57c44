"""Fast leave-one-out: select and fit again without each case, from counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from honestbayes.likelihood.learned_prior import LearnedPrior
from honestbayes.models.binary.fit import BernoulliFit, fit_screening
from honestbayes.models.binary.settings import BernoulliSettings
from honestbayes.models.shared.parts import tie_breaker
from honestbayes.screening import Screening
from honestbayes.screening.counting import screen_source
from honestbayes.screening.leave_out import leave_out
from honestbayes.selection import Selection
from honestbayes.sources import Binarization, Source
from honestbayes.sources.binarization import BinarizeOption
from honestbayes.sources.source import RowsOf
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
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
    def screened(
        cls,
        source: Source,
        labels: tuple[AnyArray, BoolArray],
        option: BinarizeOption,
        random_state: Any,
    ) -> Self:
        """Count all rows of a table; ``labels`` are those of `encode_classes`."""
        classes, is_class_1 = labels
        whole = screen_source(source, classes, is_class_1, option)
        return cls(
            source=source,
            is_class_1=is_class_1,
            whole=whole,
            option=option,
            random_state=random_state,
        )

    def without(self, folds: list[IntArray]) -> Iterator[tuple[IntArray, Screening]]:
        """Yield the rows of each fold, and the screening of all others."""
        screenings = leave_out(self.source, self.is_class_1, folds, self.whole, self.option)
        for rows, screening in zip(folds, screenings, strict=True):
            _check_both_classes(screening, rows)
            yield rows, screening

    def fit(
        self, screening: Screening, settings: BernoulliSettings, learned: LearnedPrior | None = None
    ) -> BernoulliFit:
        """Fit some of the rows, ties broken as in a fit of its own."""
        return fit_screening(screening, settings, tie_breaker(self.random_state), learned)

    def zero_one(
        self, selection: Selection, binarization: Binarization, rows: IntArray
    ) -> tuple[AnyArray, BoolArray | None]:
        """Return the kept columns of some rows as 0/1, and which cells are missing."""
        columns = np.array(selection.columns, dtype=np.int64)
        # Not checked for another scale: a fraction may be in the left-out rows only.
        return binarization.cut_values(RowsOf(self.source, rows).take(columns))


def leave_out_fits(
    training: TrainingRows,
    folds: list[IntArray],
    settings: BernoulliSettings,
    learned: LearnedPrior | None = None,
) -> Iterator[tuple[IntArray, BernoulliFit, FloatArray]]:
    """Yield, for each fold, its rows, the model fitted without them, and their evidence."""
    for rows, screening in training.without(folds):
        fit = training.fit(screening, settings, learned)
        values = training.zero_one(fit.selection, fit.binarization, rows)
        yield rows, fit, fit.evidence(*values)


def _check_both_classes(screening: Screening, rows: IntArray) -> None:
    for label, count in zip(screening.classes, screening.class_counts, strict=True):
        if count == 0:
            msg = (
                f"without row {int(rows[0])} (and those left out with it) no case of class "
                f"{label!r} is left."
            )
            raise ValueError(msg)
