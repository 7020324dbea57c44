"""Real-valued features as a part of an estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from honestbayes.files.fields import Known
from honestbayes.files.records import INLINE, MaybeSection
from honestbayes.models.real.blocks import GaussianFit, RatioPosterior
from honestbayes.models.real.draws import draw_gaussian_evidence
from honestbayes.models.real.fit import fit_moments, learned_from_all
from honestbayes.models.real.settings import GaussianSettings
from honestbayes.models.shared.numeric import NumericTraining, Screened
from honestbayes.models.shared.parts import Describe, FittedPart, tie_breaker
from honestbayes.selection import Selection
from honestbayes.sources import Source, as_source
from honestbayes.sources.binarization import check_finite
from honestbayes.sources.normal_scores import NormalScores
from honestbayes.sources.source import RowsOf, dense_values, whole_columns
from honestbayes.types import AnyArray, FloatArray, IntArray

_Statistic = tuple[Screened, FloatArray | None, RatioPosterior | None]
"""Rows and their moments; strengths by the user's criterion, where there is one; the distribution
of ratios, where it does not depend on how many are kept."""


def _width(known: Known) -> Known:
    return {"n_columns": len(known["selection"].columns)}


SCORES = MaybeSection(kind=NormalScores, absent=None, sizes=_width)
"""What makes normal scores of the kept columns, in files; older ones have none."""


@dataclass(frozen=True, slots=True)
class GaussianPart:
    """Fitted real-valued features; ``scores`` is what makes normal scores of them, if anything."""

    fit: Annotated[GaussianFit, INLINE]
    scores: Annotated[NormalScores | None, SCORES] = None

    @property
    def selection(self) -> Selection:
        """What was kept and discarded."""
        return self.fit.selection

    def read(self, X: Any, describe: Describe) -> AnyArray:
        """Return the kept columns as numbers or scores; NaN is missing."""
        values = real_values(X, describe)
        return values if self.scores is None else self.scores.apply(values)

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
class GaussianTraining(NumericTraining):
    """Real-valued features of a training table."""

    settings: GaussianSettings

    def _fitted(
        self,
        statistic: _Statistic,
        whole: FittedPart | None,  # noqa: ARG002 - all is learned again, which is quick
    ) -> GaussianPart:
        screened, strength, posterior = statistic
        ties = tie_breaker(self.random_state)
        fit = fit_moments(screened.moments, self.settings, strength, ties, posterior)
        scores = screened.kept(fit.selection)[1] if self.settings.normal_scores else None
        return GaussianPart(fit, scores)

    def _values(self, part: GaussianPart, rows: IntArray) -> AnyArray:
        columns = np.array(part.selection.columns, dtype=np.int64)
        values = RowsOf(self.source, rows).take(columns)
        return values if part.scores is None else part.scores.apply(values)

    def _known(self, screened: Screened) -> _Statistic:
        learned = learned_from_all(screened.moments, self.settings)
        return screened, self._strength(screened.source, screened.codes), learned

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
