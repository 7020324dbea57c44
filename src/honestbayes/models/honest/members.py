"""The models of an average: each fitted, on its own columns, with its own layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.models.honest.held_out import model_evidence
from honestbayes.models.shared.estimator import SelectiveClassifier
from honestbayes.models.shared.intervals import ProbabilityDraws, draw_probabilities
from honestbayes.models.shared.layer import Layer
from honestbayes.sources.kinds import columns_of
from honestbayes.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A fitted model of the average.

    Attributes
    ----------
    name : str
        The candidate's.
    model : estimator
        Fitted without recalibration; one of ours takes its kept columns only.
    columns : ndarray of int of shape (k,)
        Where these stand in the table, or in the table as numbers.
    as_numbers : bool
        In which of the two.
    layer : Layer
        How its evidence becomes a probability.
    weight : float
        Of the log-linear pool.
    """

    name: str
    model: Any
    columns: IntArray
    as_numbers: bool
    layer: Layer
    weight: float

    def evidence(self, table: Any, log_prior: FloatArray, n_cases: int) -> FloatArray:
        """Return log P(x | class) up to a constant of each row, shape (n, C)."""
        return model_evidence(self.model, columns_of(table, self.columns), log_prior, n_cases)

    def draws(
        self, table: Any, class_weights: FloatArray, n_cases: int, n_draws: int
    ) -> ProbabilityDraws:
        """Draw P(class | x) over what the model, its slope and its lapses may be.

        Of a model that cannot say how sure it is, over slope and lapses alone.
        """
        columns = columns_of(table, self.columns)
        parts: list[Any]
        if isinstance(self.model, SelectiveClassifier):
            _, parts = self.model._read(columns)
            drawn = all(hasattr(part, "draw_evidence") for part, _ in parts)
        if not isinstance(self.model, SelectiveClassifier) or not drawn:
            log_prior = np.log(class_weights / class_weights.sum())
            parts = [(_Said(), model_evidence(self.model, columns, log_prior, n_cases))]
        return draw_probabilities(parts, table.shape[0], class_weights, None, self.layer, n_draws)


class _Said:
    """Evidence that is taken as it is."""

    def log_likelihood(self, evidence: FloatArray) -> FloatArray:
        return evidence

    def draw_evidence(
        self, evidence: FloatArray, n_draws: int, _: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        n, n_classes = evidence.shape
        shape = (n_classes, n, n_draws)
        more = (evidence[:, 1:] - evidence[:, :1])[None, :, None]
        return np.broadcast_to(more, (*shape, n_classes - 1)), np.zeros(shape)
