"""Real-valued features as a part of an estimator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from honestbayes.files.records import INLINE
from honestbayes.models.real.draws import draw_gaussian_evidence
from honestbayes.models.real.fit import GaussianFit, GaussianSettings, fit_moments
from honestbayes.models.shared.parts import Describe, FittedPart, TrainingLabels, with_numbers
from honestbayes.screening.moments import screen_moments
from honestbayes.selection import Selection
from honestbayes.sources import Source, as_source
from honestbayes.sources.binarization import check_finite
from honestbayes.sources.source import RowsOf, dense_values
from honestbayes.types import AnyArray, FloatArray, IntArray


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
class GaussianTraining:
    """Real-valued features of a training table."""

    source: Source
    labels: TrainingLabels
    settings: GaussianSettings

    @property
    def n_racing(self) -> int:
        """How many features run in the race."""
        return int(np.sum(~self.settings.always_keep))

    def keeping(self, number: int) -> GaussianTraining:
        """Return the same part, of which so many features are kept."""
        return replace(self, settings=replace(self.settings, n_features=number))

    def fit(self) -> GaussianPart:
        """Fit all rows."""
        moments = screen_moments(self.source, self.labels.codes, self.labels.classes)
        strength = self._strength(self.source, self.labels.codes)
        return GaussianPart(fit_moments(moments, self.settings, strength))

    def held_out(
        self,
        folds: Sequence[IntArray],
        whole: FittedPart | None = None,  # noqa: ARG002 - all is learnt again, which is quick
        numbers: Sequence[int] | None = None,
    ) -> Iterator[list[FloatArray]]:
        """Yield for each fold the log likelihoods of its rows."""
        codes, classes = self.labels.codes, self.labels.classes
        for rows in folds:
            others = np.setdiff1d(np.arange(codes.size), rows)
            training = RowsOf(self.source, others)
            moments = screen_moments(training, codes[others], classes)
            strength = self._strength(training, codes[others])
            found = []
            for settings in with_numbers(self.settings, numbers):
                fit = fit_moments(moments, settings, strength)
                columns = np.array(fit.selection.columns, dtype=np.int64)
                found.append(fit.log_likelihood(RowsOf(self.source, rows).take(columns)))
            yield found

    def _strength(self, source: Source, codes: IntArray) -> FloatArray | None:
        """Return the strengths of all features by the user's criterion, where there is one."""
        criterion = self.settings.criterion
        if criterion is None:
            return None
        return np.concatenate(
            [
                criterion.strengths(np.asarray(block.values, dtype=float).T, codes)
                for block in source.blocks()
            ]
        )


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
