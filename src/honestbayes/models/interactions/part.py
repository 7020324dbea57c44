"""Categorical features with their interactions as a part of an estimator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import Floats, Known
from honestbayes.files.records import Section
from honestbayes.models.interactions.chains import run_chains, warn_of_problems
from honestbayes.models.interactions.fit import InteractionFit
from honestbayes.models.interactions.settings import InteractionSettings
from honestbayes.models.shared.codes import TAKEN_FOR_MISSING, Codes
from honestbayes.models.shared.parts import (
    Describe,
    FittedPart,
    TrainingLabels,
    TrainingPart,
    tie_breaker,
)
from honestbayes.sampling.runs import Sampling
from honestbayes.screening.categories import CategoryCounts, count_categories
from honestbayes.selection import Selection
from honestbayes.selection.association import strength_of
from honestbayes.selection.correlation import race
from honestbayes.sources.levels import CategoryTable
from honestbayes.types import AnyArray, FloatArray, IntArray

_Statistic = tuple[IntArray, CategoryCounts]
"""Rows, and their counts."""


@dataclass(frozen=True, slots=True, eq=False)
class InteractionPart:
    """Fitted categorical features with interactions.

    Attributes
    ----------
    selection : Selection
        What was kept; usually every column.
    codes : Codes
        How the kept columns become codes.
    fit : InteractionFit
        The model.
    counts : ndarray of shape (C, V)
        Training cases by class, of the levels of all kept columns one after the other.
    log_prior : ndarray of shape (C,)
        Log class probabilities before features are seen.
    """

    selection: Selection
    codes: Codes
    fit: InteractionFit
    counts: FloatArray
    log_prior: FloatArray

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the chains."""
        return self.fit.interrupted

    def to_plain(self) -> Plain:
        """Return codes, model and counts as plain data."""
        arrays = {"counts": self.counts, "prior": self.log_prior}
        return joined(({}, arrays), codes=self.codes.to_plain(), fit=self.fit.to_plain())

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> InteractionPart:
        """Return the part that `to_plain` described; refuse what cannot be one."""
        codes = Section(kind=Codes).read(entries, "codes", known)
        n_classes, n_levels = known["n_classes"], codes.n_levels
        of_fit = {"n_levels": n_levels, "n_predictors": 1 if n_classes == 2 else n_classes}
        fit = Section(kind=InteractionFit).read(entries, "fit", of_fit)
        counts = Floats(n_classes, int(n_levels.sum()), low=0.0).read(entries, "counts", known)
        prior = Floats(n_classes, low=-1e6, high=1e-9).read(entries, "prior", known)
        return cls(known["selection"], codes, fit, counts, prior)

    def read(self, X: Any, describe: Describe) -> IntArray:
        """Return codes of the kept columns; unknown levels are missing, with a warning."""
        return self.codes.read(X, describe, TAKEN_FOR_MISSING)

    def cells(self, values: IntArray) -> AnyArray:
        """Return the codes that the model takes, of values that were read; -1 is missing."""
        return self.fit.used(self.codes.without_new_missing(values, self.counts.sum(axis=0) > 0))

    def log_likelihood(self, values: IntArray) -> FloatArray:
        """Return log P(class | x) - log P(class), which is log P(x | class) up to a constant."""
        cells = self.cells(values)
        return self.fit.log_proba(cells, np.exp(self.log_prior)) - self.baseline(cells)

    def baseline(self, cells: AnyArray) -> FloatArray:
        """Return the log class probabilities that evidence is relative to, shape (n, C).

        They are the class frequencies with pseudocounts for a complete row. For a row without any
        cell they are what the model predicts for it, the mean over the training cases, so that
        such a row has no evidence: the two differ a little by their priors. In between the
        logarithms move with the share of missing cells.
        """
        result = np.repeat(self.log_prior[None], len(cells), axis=0)
        missing = cells < 0
        if missing.any():
            nothing = np.full((1, cells.shape[1]), -1)
            own = self.fit.log_proba(nothing, np.exp(self.log_prior))[0]
            result += missing.mean(axis=1)[:, None] * (own - self.log_prior)
        return np.asarray(result)

    def rows(self, values: IntArray, rows: slice) -> IntArray:
        """Return some rows of values that were read."""
        return values[rows]


@dataclass(frozen=True, slots=True)
class InteractionTraining(TrainingPart):
    """Categorical features of a training table, for a model with interactions.

    Attributes
    ----------
    settings : InteractionSettings
        Selection, model and chains.
    table : CategoryTable
        Codes of the cells; missing ones are levels of their own, where that is asked for.
    labels : TrainingLabels
        Classes of the rows.
    random_state : object
        Breaks ties.
    sampling : Sampling
        How chains are run.
    suffixes : bool
        Whether patterns are suffixes of sequences.
    """

    settings: InteractionSettings
    table: CategoryTable
    labels: TrainingLabels
    random_state: Any
    sampling: Sampling
    suffixes: bool

    def fit(self) -> InteractionPart:
        """Fit all rows, and warn where chains are not to be trusted."""
        everyone = np.arange(self.labels.codes.size)
        counts = count_categories(self.table, self.labels.codes, self.labels.classes)
        part = self._run(everyone, counts, self.sampling)
        if part.fit.draws.n_draws:
            warn_of_problems(part.fit, stacklevel=4)
        return part

    def _without(self, folds: Sequence[IntArray]) -> Iterator[tuple[IntArray, _Statistic]]:
        for rows, others in self.labels.without(folds):
            counts = count_categories(self.table, self.labels.codes, self.labels.classes, others)
            yield rows, (others, counts)

    def _fitted(self, statistic: _Statistic, whole: FittedPart | None) -> InteractionPart:
        """Run chains for some rows, unless the user has interrupted those of all."""
        if isinstance(whole, InteractionPart) and whole.interrupted:
            raise KeyboardInterrupt
        part = self._run(*statistic, replace(self.sampling, checkpoint=None, verbose=False))
        if part.interrupted:
            raise KeyboardInterrupt
        return part

    def _values(self, part: InteractionPart, rows: IntArray) -> IntArray:
        columns = np.array(part.selection.columns, dtype=np.int64)
        return part.codes.of_training(self.table.codes[np.ix_(rows, columns)])

    def _run(self, rows: IntArray, counts: CategoryCounts, sampling: Sampling) -> InteractionPart:
        """Select, and run chains, given some rows."""
        settings, labels = self.settings, self.labels
        outcome = race(
            *strength_of(counts),
            n_features=settings.n_features,
            threshold=settings.threshold,
            always_keep=settings.always_keep,
            random_state=tie_breaker(self.random_state),
        )
        selection = outcome.selection(
            counts.class_counts, counts.observed(), counts.feature_names, counts.n_levels()
        )
        columns = np.array(selection.columns, dtype=np.int64)
        kept = Codes(self.table.levels.take(columns), settings.missing == "level")
        cells = kept.of_training(self.table.codes[np.ix_(rows, columns)])
        codes, n_classes = labels.codes[rows], labels.classes.size
        order = settings.model.order
        used = cells[:, cells.shape[1] - order :] if self.suffixes else cells
        fit = run_chains(used, codes, n_classes, settings.model, sampling, suffixes=self.suffixes)
        by_level = np.zeros((n_classes, int(kept.n_levels.sum())))
        first = np.cumsum(kept.n_levels) - kept.n_levels
        np.add.at(by_level, (codes[:, None], cells + first), 1.0)
        return InteractionPart(selection, kept, fit, by_level, labels.log_prior(rows))
