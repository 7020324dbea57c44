"""Real-valued features as a part of an estimator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from honestbayes.files.records import INLINE
from honestbayes.models.real.blocks import GaussianFit
from honestbayes.models.real.draws import draw_gaussian_evidence
from honestbayes.models.real.fit import fit_moments
from honestbayes.models.real.settings import GaussianSettings
from honestbayes.models.shared.parts import (
    Describe,
    FittedPart,
    TrainingLabels,
    TrainingPart,
    tie_breaker,
)
from honestbayes.screening.moments import Moments, screen_moments
from honestbayes.selection import Selection
from honestbayes.sources import Source, as_source
from honestbayes.sources.binarization import check_finite
from honestbayes.sources.source import RowsOf, dense_values, whole_columns
from honestbayes.types import AnyArray, FloatArray, IntArray

_Statistic = tuple[Moments, FloatArray | None]
"""Moments, and strengths by the user's criterion, where there is one."""


@dataclass(frozen=True, slots=True)
class GaussianPart:
    """Fitted real-valued features."""

    fit: Annotated[GaussianFit, INLINE]

    @property
    def selection(self) -> Selection:
        """What was kept and discarded."""
        return self.fit.selection

    def read(self, X: Any, describe: Describe) -> AnyArray:
        """Return the kept columns as numbers; NaN is missing."""
        return real_values(X, describe)

    def log_likelihood(self, values: AnyArray) -> FloatArray:
        """Return log P(x | class), shape (n, C)."""
        return self.fit.log_likelihood(values)

    def rows(self, values: AnyArray, rows: slice) -> AnyArray:
        """Return some rows of values that were read."""
        part: AnyArray = values[rows]
        return part

    def draw_evidence(
        self, values: AnyArray, n_draws: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw the evidence of each row, for intervals."""
        return draw_gaussian_evidence(self.fit, values, n_draws, generator)


@dataclass(frozen=True, slots=True)
class GaussianTraining(TrainingPart):
    """Real-valued features of a training table."""

    settings: GaussianSettings
    source: Source
    labels: TrainingLabels
    random_state: Any

    def fit(self) -> GaussianPart:
        """Fit all rows."""
        return self._fitted(self._screened(self.source, self.labels.codes), None)

    def _without(self, folds: Sequence[IntArray]) -> Iterator[tuple[IntArray, _Statistic]]:
        for rows, others in self.labels.without(folds):
            yield rows, self._screened(RowsOf(self.source, others), self.labels.codes[others])

    def _fitted(
        self,
        statistic: _Statistic,
        whole: FittedPart | None,  # noqa: ARG002 - all is learned again, which is quick
    ) -> GaussianPart:
        moments, strength = statistic
        return GaussianPart(
            fit_moments(moments, self.settings, strength, tie_breaker(self.random_state))
        )

    def _values(self, part: GaussianPart, rows: IntArray) -> AnyArray:
        columns = np.array(part.selection.columns, dtype=np.int64)
        return RowsOf(self.source, rows).take(columns)

    def _screened(self, source: Source, codes: IntArray) -> _Statistic:
        moments = screen_moments(source, codes, self.labels.classes)
        return moments, self._strength(source, codes)

    def _strength(self, source: Source, codes: IntArray) -> FloatArray | None:
        """Return the strengths of all features by the user's criterion, where there is one."""
        criterion = self.settings.criterion
        if criterion is None:
            return None
        result = np.empty(source.shape[1])
        for block in whole_columns(source):
            columns = np.asarray(block.dense(), dtype=float).T
            result[block.columns] = criterion.strengths(columns, codes)
        return result


def real_source(X: Any, estimator: str) -> Source:
    """Wrap a dense table of measurements; refuse a sparse one."""
    refuse_sparse(X, estimator)
    return as_source(X)


def real_values(X: Any, describe: Describe) -> AnyArray:
    """Return a table of kept columns as numbers; NaN is missing, infinity refused."""
    values = dense_values(real_source(X, "this model"))
    if values.dtype.kind == "f":
        check_finite(values, describe)
    return values


def refuse_sparse(X: Any, estimator: str) -> None:
    """Say that a sparse table is not one of measurements."""
    if hasattr(X, "indptr") or hasattr(X, "tocsr"):
        msg = (
            f"Sparse input is not supported by {estimator}, whose tables hold measurements: pass a "
            "dense table, or use SelectiveBernoulliNB for words and flags."
        )
        raise TypeError(msg)
