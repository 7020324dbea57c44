"""Columns of numbers in a logistic regression as a part of an estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy.special import log_expit, ndtri

from honestbayes.files.fields import CLOSE, Floats, Known, LogProbabilities
from honestbayes.files.records import GIVEN, Check
from honestbayes.models.logistic.columns import Directions
from honestbayes.models.logistic.scales import LogisticPosterior, fit_scales
from honestbayes.models.shared.intervals import systematic
from honestbayes.models.shared.numeric import NumericTraining, Screened, numeric_values
from honestbayes.models.shared.parts import Describe, FittedPart
from honestbayes.screening.moments import Moments
from honestbayes.selection import Selection
from honestbayes.sources.normal_scores import NormalScores
from honestbayes.threads import one_blas_thread
from honestbayes.types import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """What the training rows say of each kept column alone, in the user's units.

    Attributes
    ----------
    centre : ndarray of shape (C, k)
        Mean in each class.
    spread : ndarray of shape (k,)
        Standard deviation within a class.
    r : ndarray of shape (k,)
        Correlation with the class; for more than two classes the root of the share of the sum of
        squares between them.
    """

    centre: Annotated[FloatArray, Floats("n_classes", "n_columns")]
    spread: Annotated[FloatArray, Floats("n_columns", low=0.0)]
    r: Annotated[FloatArray, Floats("n_columns", low=-1.0 - CLOSE, high=1.0 + CLOSE)]

    @classmethod
    def of(cls, moments: Moments, scores: NormalScores | None) -> Described:
        """Describe columns by their moments, which may be those of scores."""
        r = np.sqrt(moments.r_squared())
        if moments.mean.shape[0] == 2:
            r = np.sign(moments.mean[1] - moments.mean[0]) * r
        observed = np.broadcast_to(moments.observed, moments.mean.shape)
        total = observed.sum(axis=0)
        spread = np.sqrt(moments.within / np.maximum(total - len(moments.classes), 1))
        if scores is None:
            return cls(moments.mean, spread, r)
        middle = (observed * moments.mean).sum(axis=0) / np.maximum(total, 1)
        ends = scores.invert(np.stack([middle - spread, middle + spread]))
        return cls(scores.invert(moments.mean), (ends[1] - ends[0]) / 2, r)


@dataclass(frozen=True, slots=True)
class LogisticPart:
    """Fitted columns.

    Attributes
    ----------
    selection : Selection
        What was kept and discarded.
    log_prior : ndarray of shape (C,)
        Log class frequencies, which evidence does not contain.
    scores : NormalScores or None
        What makes normal scores of values, where the model is one of these.
    directions : Directions
        From values to what coefficients are multiplied by.
    posterior : LogisticPosterior
        Of the coefficients.
    described : Described
        The columns one by one.
    """

    selection: Annotated[Selection, GIVEN]
    log_prior: Annotated[FloatArray, LogProbabilities("n_classes")]
    scores: NormalScores | None
    directions: Directions
    posterior: LogisticPosterior
    described: Described

    def check_against(self, known: Known, check: Check) -> None:
        """Refuse what does not fit the selection and the classes."""
        n_selected, n_classes = len(self.selection.kept), known["n_classes"]
        turn = self.directions.turn
        check(turn is None or len(turn) == n_selected, "directions", "are of other columns")
        n_directions = n_selected if turn is None else turn.shape[1]
        width = 1 + n_directions + len(self.selection.always_kept)
        fits = 1 if n_classes == 2 else n_classes
        good = self.posterior.mean.shape[1:] == (fits, width)
        check(good, "posterior", "has other coefficients")
        check(np.array_equal(self.log_prior, known["log_prior"]), "log_prior", "is another one")

    def read(self, X: Any, describe: Describe) -> FloatArray:
        """Return the kept columns as numbers or scores; NaN is missing."""
        return numeric_values(X, self.scores, describe)

    def rows(self, values: FloatArray, rows: slice) -> FloatArray:
        """Return some rows of values that were read."""
        return values[rows]

    def log_likelihood(self, values: FloatArray) -> FloatArray:
        """Return the evidence, shape (n, C): log P(class | x) less the log prior of the class."""
        log_proba = self.posterior.log_proba(*self.directions.coordinates(values))
        return np.asarray(log_proba - self.log_prior)

    def draw_evidence(
        self, values: FloatArray, n_draws: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw the evidence of each row, for intervals.

        The linear predictor is drawn from its posterior; a draw counts for a class y* in proportion
        to the probability that it gives to y*.
        """
        mean, variance = self.posterior.predictor(*self.directions.coordinates(values))
        node = systematic(generator, self.posterior.weight, n_draws)
        places = (np.arange(n_draws) + 0.5) / n_draws
        normal = np.stack([ndtri(generator.permutation(places)) for _ in range(mean.shape[1])])
        drawn = mean[node] + np.sqrt(variance[node]) * normal.T[..., None]
        predictor = np.moveaxis(drawn, 2, 0)  # (n, S, F)
        log_proba = log_expit(predictor)
        if mean.shape[1] == 1:
            log_proba = np.concatenate([log_expit(-predictor), log_proba], axis=2)
        log_proba -= np.logaddexp.reduce(log_proba, axis=2, keepdims=True)
        found = log_proba - self.log_prior
        evidence = found[..., 1:] - found[..., :1]
        shape = (self.log_prior.size, *evidence.shape)
        return np.broadcast_to(evidence, shape), np.moveaxis(log_proba, 2, 0)


@dataclass(frozen=True, slots=True)
class LogisticTraining(NumericTraining):
    """Columns of numbers of a training table."""

    @one_blas_thread()
    def _fitted(self, statistic: Screened, whole: FittedPart | None) -> LogisticPart:
        selection = self._selected(statistic)
        values, scores = statistic.kept(selection)
        n_selected = len(selection.kept)
        directions = Directions.learn(values, n_selected)
        log_prior = self.labels.log_prior()
        first = None
        if isinstance(whole, LogisticPart):  # a fold's best scale is near that of all rows
            first = float(whole.posterior.scale[whole.posterior.weight.argmax()])
        codes = statistic.codes
        posterior = fit_scales(directions, values, codes, log_prior, n_selected, first)
        columns = np.array(selection.columns, dtype=np.int64)
        described = Described.of(statistic.moments.take(columns), scores)
        return LogisticPart(selection, log_prior, scores, directions, posterior, described)
