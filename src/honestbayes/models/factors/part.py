"""Real-valued features that move together as a part of an estimator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from scipy.special import log_softmax
from sklearn.utils.parallel import Parallel, delayed

from honestbayes.files.records import INLINE, MaybeSection
from honestbayes.models.factors.estimator import FactorChoice, fold_sampling, warn_of_problems
from honestbayes.models.factors.fit import (
    DRAWS,
    FACTOR_VARIANCE,
    FACTORS,
    FactorDraws,
    FactorSettings,
    class_kernel,
    run_chains,
)
from honestbayes.models.real.blocks import GaussianFit
from honestbayes.models.real.fit import fit_moments
from honestbayes.models.real.part import SCORES, real_values
from honestbayes.models.shared.layer import EFFECTIVE_SHARE, Layer, recalibration
from honestbayes.models.shared.parts import Describe, TrainingLabels, TrainingPart, Whole
from honestbayes.sampling.runs import Sampling
from honestbayes.screening.moments import screen_moments
from honestbayes.selection import Selection
from honestbayes.sources import Source
from honestbayes.sources.normal_scores import NormalScores, Scored
from honestbayes.sources.source import RowsOf
from honestbayes.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class FactorPart:
    """Fitted real-valued features that move together.

    Attributes
    ----------
    fit : GaussianFit
        The selection, and what a model without factors has learned.
    n_factors : int
        Factors.
    drawn : FactorDraws or None
        What the chains have drawn; None where no feature was kept.
    choice : FactorChoice or None
        The numbers of factors that were tried, where the number was to be chosen.
    scores : NormalScores or None
        What makes normal scores of the kept columns, if anything.
    """

    fit: Annotated[GaussianFit, INLINE]
    n_factors: Annotated[int, FACTORS]
    drawn: Annotated[FactorDraws | None, DRAWS]
    choice: Annotated[
        FactorChoice | None, MaybeSection(kind=FactorChoice, stored_as="factor_choice")
    ] = None
    scores: Annotated[NormalScores | None, SCORES] = None

    @property
    def selection(self) -> Selection:
        """What was kept and discarded."""
        return self.fit.selection

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the chains before their end."""
        return self.drawn is not None and self.drawn.interrupted

    def read(self, X: Any, describe: Describe) -> AnyArray:
        """Return the kept columns as numbers or scores; NaN is missing."""
        return self.scored(real_values(X, describe))

    def scored(self, values: AnyArray) -> AnyArray:
        """Return values of the kept columns as the model takes them."""
        return values if self.scores is None else self.scores.apply(values)

    def log_likelihood(self, values: AnyArray) -> FloatArray:
        """Return log P(x | class), shape (n, C)."""
        if self.drawn is None:
            return np.zeros((len(values), len(self.selection.class_counts)))
        return self.drawn.log_likelihood(values)

    def rows(self, values: AnyArray, rows: slice) -> AnyArray:
        """Return some rows of values that were read."""
        part: AnyArray = values[rows]
        return part

    def draw_evidence(
        self,
        values: AnyArray,
        n_draws: int,
        generator: np.random.Generator,  # noqa: ARG002 - the chains have drawn
    ) -> tuple[FloatArray, FloatArray]:
        """Return the evidence of each row under the chains' draws, for intervals.

        Draws given y* too are the same ones, weighted by the density of the row in that class.
        """
        assert self.drawn is not None  # else there are no values
        density, weight = self.drawn.log_density_of_draws(values, n_draws)
        evidence = density[..., 1:] - density[..., :1]
        n_classes = density.shape[2]
        return (
            np.broadcast_to(evidence, (n_classes, *evidence.shape)),
            np.moveaxis(density, 2, 0) + np.log(weight),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorTraining(TrainingPart):
    """Real-valued features of a training table, for a factor model.

    Attributes
    ----------
    source : Source
        The table.
    labels : TrainingLabels
        Classes of its rows.
    settings : FactorSettings
        Selection and priors.
    sampling : Sampling
        How chains are run.
    n_factors : int
        Factors.
    choice : FactorChoice or None
        The numbers of factors that were tried.
    """

    settings: FactorSettings
    source: Source
    labels: TrainingLabels
    sampling: Sampling
    n_factors: int
    choice: FactorChoice | None = None

    def fit(self) -> FactorPart:
        """Fit all rows, and warn where chains are not to be trusted."""
        part = self._fit()
        if part.drawn is not None:
            warn_of_problems(part.drawn, stacklevel=4)
        return part

    def held_out(
        self,
        folds: Sequence[IntArray],
        whole: Whole = None,  # noqa: ARG002 - all is learned again
        numbers: Sequence[int] | None = None,
        shown: Sequence[IntArray] | None = None,
    ) -> Iterator[list[FloatArray]]:
        """Yield for each fold the log likelihoods of its rows; a short chain runs without them."""
        parts = self._with_numbers(numbers)
        splits = zip(folds if shown is None else shown, self.labels.without(folds), strict=True)
        yield from Parallel(n_jobs=self.sampling.n_jobs, prefer="threads")(
            delayed(_fold)(parts, f, rows, others) for f, (rows, (_, others)) in enumerate(splits)
        )

    def _fit(self) -> FactorPart:
        """Select, learn the distribution of ratios and variances, and run the chains."""
        source = Scored(self.source) if self.settings.normal_scores else self.source
        moments = screen_moments(source, self.labels.codes, self.labels.classes)
        fit = fit_moments(moments, self.settings.gaussian())
        if self.n_factors:
            fit = replace(fit, variance_prior=FACTOR_VARIANCE)
        columns = np.array(fit.selection.columns, dtype=np.int64)
        drawn, scores = None, None
        if isinstance(source, Scored):
            scores = source.learned(columns)[0]
        if columns.size:
            values = np.asarray(source.take(columns), dtype=float)
            kernel, standard = class_kernel(
                values, self.labels.codes, fit, self.settings, fit.standard.unit
            )
            drawn = run_chains(kernel, standard, self.n_factors, 1, self.sampling)
        return FactorPart(fit, self.n_factors, drawn, self.choice, scores)


def _fold(
    parts: Sequence[FactorTraining], f: int, rows: IntArray, others: IntArray
) -> list[FloatArray]:
    """Return the log likelihoods of a fold's rows from each part, fitted to the others."""
    found = []
    for part in parts:
        codes = part.labels.codes[others]
        fitted = replace(
            part,
            source=RowsOf(part.source, others),
            labels=replace(part.labels, codes=codes, groups=None),
            sampling=fold_sampling(part.sampling, f, part.n_factors),
        )._fit()
        if fitted.interrupted:
            raise KeyboardInterrupt
        columns = np.array(fitted.selection.columns, dtype=np.int64)
        values = fitted.scored(RowsOf(part.source, rows).take(columns))
        found.append(fitted.log_likelihood(values))
    return found


def choose_factors(
    recalibrate: Any,
    training: FactorTraining,
    folds: Sequence[IntArray],
    numbers: Sequence[int],
) -> tuple[FactorChoice, Layer]:
    """Try numbers of factors on held-out cases; return the choice, and the best one's layer.

    Numbers are judged without a slope: one would make a model that counts what features share many
    times over look as good as a model that knows that they move together.
    """
    rows = np.concatenate(folds)
    codes, log_prior = training.labels.codes[rows], training.labels.log_prior()
    loss, held_out = [], []
    for number in numbers:
        by_fold = replace(training, n_factors=number).held_out(folds)
        evidence = np.concatenate([found[0] for found in by_fold])
        log_proba = log_softmax(log_prior + evidence, axis=1)
        loss.append(-float(log_proba[np.arange(rows.size), codes].mean()))
        held_out.append(evidence)
    best = int(np.argmin(loss))
    layer = recalibration(recalibrate, held_out[best], codes, log_prior, share=EFFECTIVE_SHARE)
    return FactorChoice(np.array(numbers), np.array(loss), numbers[best]), layer
