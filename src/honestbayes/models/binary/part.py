"""Binary features as a part of an estimator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import Known
from honestbayes.files.records import record_from_plain, record_to_plain
from honestbayes.models.binary.draws import draw_binary_evidence
from honestbayes.models.binary.fit import BernoulliFit
from honestbayes.models.binary.learned import LearnedFit
from honestbayes.models.binary.rows import TrainingRows
from honestbayes.models.binary.settings import BernoulliSettings
from honestbayes.models.shared.parts import Describe, FittedPart, TrainingPart
from honestbayes.screening import Screening
from honestbayes.selection import Selection
from honestbayes.sources import Source, as_source
from honestbayes.sources.some_rows import Remembered
from honestbayes.sources.source import dense_values
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

ZeroOne = tuple[AnyArray, BoolArray | None]
"""Kept columns as 0/1, and which cells are missing."""


@dataclass(frozen=True, slots=True)
class BernoulliPart:
    """Fitted binary features, of a problem with two classes."""

    fit: BernoulliFit

    def to_plain(self) -> Plain:
        """Return the fit, and which of its two kinds it is, as plain data."""
        learned = isinstance(self.fit.race, LearnedFit)
        return joined(({"learned": learned}, {}), record_to_plain(self.fit))

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> BernoulliPart:
        """Return the part that `to_plain` described."""
        entries.check(known["n_classes"] == 2, "selection", "is not one of two classes")
        known = {**known, "learned": entries.flag("learned")}
        return cls(record_from_plain(BernoulliFit, entries, known))

    @property
    def selection(self) -> Selection:
        """What was kept and discarded."""
        return self.fit.selection

    def read(self, X: Any, describe: Describe) -> ZeroOne:
        """Return the kept columns as 0/1."""
        return self.fit.binarization.apply(dense_values(as_source(X)), describe)

    def log_likelihood(self, values: ZeroOne) -> FloatArray:
        """Return log P(x | class) up to a constant of each row, shape (n, 2)."""
        evidence = self.fit.evidence(*values)
        return np.stack([np.zeros(evidence.size), evidence], axis=1)

    def rows(self, values: ZeroOne, rows: slice) -> ZeroOne:
        """Return some rows of values that were read."""
        ones, missing = values
        return ones[rows], None if missing is None else missing[rows]

    def draw_evidence(
        self, values: ZeroOne, n_draws: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw the evidence of each row, for intervals."""
        ratio, log_weight = draw_binary_evidence(self.fit, *values, n_draws, generator)
        return ratio[..., None], log_weight


@dataclass(frozen=True, slots=True)
class BernoulliTraining(TrainingPart):
    """Binary features of a training table."""

    settings: BernoulliSettings
    rows: TrainingRows

    def _whole(self) -> Screening:
        return self.rows.whole

    def _without(self, folds: Sequence[IntArray]) -> Iterator[tuple[IntArray, Screening]]:
        """Yield the rows of each fold, and the counts of the others; cuts are learned again."""
        return self.rows.without(list(folds))

    def _fitted(self, statistic: Screening, whole: FittedPart | None) -> BernoulliPart:
        learned = None
        if isinstance(whole, BernoulliPart) and isinstance(whole.fit.race, LearnedFit):
            learned = whole.fit.race.prior
        return BernoulliPart(self.rows.fit(statistic, self.settings, learned))

    @property
    def _source(self) -> Source:
        return self.rows.source

    def _reading_from(self, source: Remembered) -> Self:
        return replace(self, rows=replace(self.rows, source=source))

    def _values(self, part: BernoulliPart, rows: IntArray) -> ZeroOne:
        return self.rows.zero_one(part.selection, part.fit.binarization, rows)
