"""The discriminant as a part of an estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from honestbayes.files.records import INLINE
from honestbayes.models.discriminant.fit import DiscriminantFit, fit_discriminant
from honestbayes.models.discriminant.settings import DiscriminantSettings
from honestbayes.models.real.blocks import RatioPosterior
from honestbayes.models.real.fit import learned_from_all
from honestbayes.models.shared.numeric import NumericTraining, Screened, numeric_values
from honestbayes.models.shared.parts import Describe, FittedPart
from honestbayes.selection import Selection
from honestbayes.sources.normal_scores import NormalScores
from honestbayes.types import FloatArray


@dataclass(frozen=True, slots=True)
class DiscriminantPart:
    """Fitted columns of numbers; ``posterior`` is how signal is distributed over all of them."""

    fit: Annotated[DiscriminantFit, INLINE]
    posterior: RatioPosterior | None

    @property
    def selection(self) -> Selection:
        """What was kept and discarded."""
        return self.fit.selection

    @property
    def scores(self) -> NormalScores | None:
        """What makes normal scores of the kept columns."""
        return self.fit.scores

    def read(self, X: Any, describe: Describe) -> FloatArray:
        """Return the kept columns as numbers or scores; NaN is missing."""
        return numeric_values(X, self.scores, describe)

    def log_likelihood(self, values: FloatArray) -> FloatArray:
        """Return log P(x | class), shape (n, C)."""
        return self.fit.log_likelihood(values)

    def rows(self, values: FloatArray, rows: slice) -> FloatArray:
        """Return some rows of values that were read."""
        return values[rows]

    def draw_evidence(
        self, values: FloatArray, n_draws: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw the evidence of each row given the data, x and each y*, for intervals.

        The covariance is taken as known, and the error of a class mean as N(0, v S): then the
        squared distance of x from a drawn mean is (d - sqrt(v) z)^2 + v chi2 with k - 1 degrees
        of freedom, d being its distance from the posterior mean. That x is one more case of class
        y* moves that mean towards x by the share v / (1 + v).
        """
        squares, width = self.fit.distances(values)
        n_classes = squares.shape[1]
        z = generator.normal(size=(n_classes, n_draws))
        # Wilson and Hilferty's approximation, from common random numbers for rows of any width.
        other = generator.normal(size=(n_classes, n_draws))
        result = np.empty((n_classes, len(squares), n_draws, n_classes - 1))
        degrees = np.maximum(width - 1, 1)[:, None]
        for label in range(n_classes):
            drawn = np.empty((n_classes, len(squares), n_draws))
            for c in range(n_classes):
                v, d = self.fit.variance_of_mean[c], np.sqrt(squares[:, c])[:, None]
                if c == label:
                    v, d = v / (1 + v), d / (1 + v)
                third = 2 / (9 * degrees)
                chi2 = degrees * np.maximum(1 - third + np.sqrt(third) * other[c], 0.0) ** 3
                chi2 = np.where(width[:, None] > 1, chi2, 0.0)
                drawn[c] = -((d - np.sqrt(v) * z[c]) ** 2 + v * chi2) / 2
            result[label] = np.moveaxis(drawn[1:] - drawn[:1], 0, 2)
        return result, np.zeros(result.shape[:3])


@dataclass(frozen=True, slots=True)
class DiscriminantTraining(NumericTraining):
    """Columns of numbers of a training table."""

    settings: DiscriminantSettings

    def _fitted(self, statistic: Screened, whole: FittedPart | None) -> DiscriminantPart:
        learned = None
        if isinstance(whole, DiscriminantPart):
            learned = whole.posterior
        elif self.settings.feature_prior == "learned":
            learned = learned_from_all(statistic.moments, self.settings.gaussian())
        selection = self._selected(statistic)
        return DiscriminantPart(
            fit_discriminant(statistic, selection, self.settings, learned), learned
        )
