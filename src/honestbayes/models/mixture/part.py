"""Binary features of a two-component mixture as a part of an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import CLOSE, Floats, Known
from honestbayes.files.records import record_from_plain, record_to_plain
from honestbayes.models.binary.part import ZeroOne
from honestbayes.models.binary.rows import TrainingRows
from honestbayes.models.mixture.fit import (
    MixtureKernel,
    check_draws,
    draw_fields,
    event_table,
    log_class_prior,
    log_joint,
    make_problem,
    missing_share,
    starting_states,
)
from honestbayes.models.mixture.settings import MixtureChoices, MixtureSettings
from honestbayes.models.shared.parts import Describe, FittedPart, TrainingPart, tie_breaker
from honestbayes.sampling.draws import Draws, draws_from_plain
from honestbayes.sampling.runs import Sampling, sample
from honestbayes.screening import Screening
from honestbayes.selection import Selection, select
from honestbayes.sources import Binarization, as_source
from honestbayes.sources.source import dense_values
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_Statistic = tuple[IntArray, Screening]
"""Rows, and their counts."""

MISSING = 2

MANY_MISSING = 0.05
"""Share of missing cells from which on the correction warns that it is too weak."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MixturePart:
    """Fitted binary features of a mixture, of a problem with two classes.

    Attributes
    ----------
    selection : Selection
        What was kept and discarded.
    binarization : Binarization
        How values of the kept columns become 0/1.
    correlation : ndarray of shape (k,)
        Training correlation of each kept column with the class.
    draws : Draws
        Of all chains.
    interrupted : bool
        Whether the user stopped the chains before their end.
    """

    selection: Selection
    binarization: Binarization
    correlation: FloatArray
    draws: Draws
    interrupted: bool = False

    def to_plain(self) -> Plain:
        """Return cuts, correlations and draws as plain data."""
        fields = draw_fields(by_design=bool(self.selection.always_kept))
        draws = {name: self.draws[name] for name in fields}
        return joined(
            record_to_plain(self.binarization), ({}, {**draws, "correlation": self.correlation})
        )

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> MixturePart:
        """Return the part that `to_plain` described; refuse draws that cannot be."""
        entries.check(known["n_classes"] == 2, "selection", "is not one of two classes")
        selection = known["selection"]
        known = {**known, "n_cases": sum(selection.class_counts)}
        binarization = record_from_plain(Binarization, entries, known)
        fields = draw_fields(by_design=bool(selection.always_kept))
        draws = draws_from_plain(fields, entries, known)
        check_draws(draws.values, entries.check)
        field = Floats("n_columns", low=-1 - CLOSE, high=1 + CLOSE)
        correlation = field.read(entries, "correlation", known)
        return cls(
            selection=selection, binarization=binarization, correlation=correlation, draws=draws
        )

    def read(self, X: Any, describe: Describe) -> ZeroOne:
        """Return the kept columns as 0/1."""
        return self.binarization.apply(dense_values(as_source(X)), describe)

    def log_likelihood(self, values: ZeroOne) -> FloatArray:
        """Return log P(x | class), shape (n, 2)."""
        return log_joint(self.draws, *values) - self.log_prior

    def rows(self, values: ZeroOne, rows: slice) -> ZeroOne:
        """Return some rows of values that were read."""
        ones, missing = values
        return ones[rows], None if missing is None else missing[rows]

    @property
    def log_prior(self) -> FloatArray:
        """Log class probabilities before features are seen."""
        return log_class_prior(self.draws)


@dataclass(frozen=True, slots=True)
class MixtureTraining(TrainingPart):
    """Binary features of a training table, for a mixture.

    Attributes
    ----------
    settings : MixtureChoices
        Selection, priors, and sweeps of each step.
    rows : TrainingRows
        The table.
    sampling : Sampling
        How chains are run.
    labels_are_fixed : bool, default=False
        Whether labels stay what the classes are: the naive Bayes model.
    """

    settings: MixtureChoices
    rows: TrainingRows
    sampling: Sampling
    labels_are_fixed: bool = False

    def fit(self) -> MixturePart:
        """Fit all rows, and warn where chains are not to be trusted."""
        part = self._run(np.arange(self.rows.is_class_1.size), self.rows.whole, self.sampling)
        missing = missing_share(part.selection)
        if self.settings.model.correct and missing > MANY_MISSING:
            warnings.warn(
                f"{missing:.0%} of the cells of discarded features are missing; the correction "
                "takes these features for complete ones, and is weaker than it should be.",
                UserWarning,
                stacklevel=4,
            )
        problems = part.draws.diagnostics().problems() if part.draws.n_draws else []
        if problems and not part.interrupted:
            warnings.warn(
                f"{'; '.join(problems)}. Probabilities may be off: raise n_warmup or n_samples.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return part

    def _without(self, folds: Sequence[IntArray]) -> Iterator[tuple[IntArray, _Statistic]]:
        everyone = np.arange(self.rows.is_class_1.size)
        for rows, screening in self.rows.without(list(folds)):
            yield rows, (np.setdiff1d(everyone, rows), screening)

    def _fitted(self, statistic: _Statistic, whole: FittedPart | None) -> MixturePart:
        """Run chains for some rows, unless the user has interrupted those of all."""
        if isinstance(whole, MixturePart) and whole.interrupted:
            raise KeyboardInterrupt
        part = self._run(*statistic, replace(self.sampling, checkpoint=None, verbose=False))
        if part.interrupted:
            raise KeyboardInterrupt
        return part

    def _values(self, part: MixturePart, rows: IntArray) -> ZeroOne:
        return self.rows.zero_one(part.selection, part.binarization, rows)

    def _run(self, rows: IntArray, screening: Screening, sampling: Sampling) -> MixturePart:
        """Select, and run chains, given the counts of some rows."""
        settings = self.settings
        selection = select(
            screening,
            n_features=settings.n_features,
            threshold=settings.threshold,
            always_keep=settings.always_keep,
            random_state=tie_breaker(self.rows.random_state),
        )
        columns = np.array(selection.columns, dtype=np.int64)
        binarization = screening.binarization.take(columns)
        cells = as_cells(
            self.rows.is_class_1[rows], *self.rows.zero_one(selection, binarization, rows)
        )
        draws, interrupted = run_mixture(
            cells,
            selection,
            settings.model,
            sampling,
            settings.thin,
            labels_are_fixed=self.labels_are_fixed,
        )
        correlation = screening.correlation()[columns]
        return MixturePart(
            selection=selection,
            binarization=binarization,
            correlation=correlation,
            draws=draws,
            interrupted=interrupted,
        )


def as_cells(is_class_1: BoolArray, ones: AnyArray, missing: BoolArray | None) -> AnyArray:
    """Join the response and the kept features into one table of cells."""
    features = np.asarray(ones, dtype=np.int8)
    if missing is not None:
        features = np.where(missing, np.int8(MISSING), features)
    return np.column_stack([is_class_1.astype(np.int8), features])


def run_mixture(
    cells: AnyArray,
    selection: Selection,
    settings: MixtureSettings,
    sampling: Sampling,
    thin: int,
    *,
    labels_are_fixed: bool = False,
) -> tuple[Draws, bool]:
    """Run chains, each step of which is ``thin`` sweeps; return draws and whether interrupted."""
    table = event_table(selection, settings)
    problem = make_problem(cells, selection, settings, table, labels_are_fixed=labels_are_fixed)
    draws, interrupted = sample(
        MixtureKernel(problem, thin),
        lambda seed: starting_states(problem, sampling.n_chains, np.random.default_rng(seed)),
        sampling,
        cells,
        selection.to_dict(),
        settings,
        thin,
        labels_are_fixed,
    )
    if draws.n_draws:
        table.warn_if_visited(np.exp(draws.pooled("log_alpha")))
    return draws, interrupted
