"""Binary features of a two-component mixture as a part of an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import CLOSE, Bits, Field, Floats, Known, Weights
from honestbayes.files.records import record_from_plain, record_to_plain
from honestbayes.models.binary.part import ZeroOne
from honestbayes.models.binary.rows import TrainingRows, tie_breaker
from honestbayes.models.mixture.fit import (
    BY_DESIGN,
    NUMBERS,
    MixtureKernel,
    MixtureSettings,
    event_table,
    log_class_prior,
    log_joint,
    make_problem,
    missing_share,
    starting_states,
)
from honestbayes.models.shared.parts import Describe, FittedPart, with_numbers
from honestbayes.sampling.draws import Draws, draws_from_plain
from honestbayes.sampling.runs import Sampling, sample
from honestbayes.screening import Screening
from honestbayes.selection import Selection, select
from honestbayes.sources import Binarization, as_source
from honestbayes.sources.source import RowsOf, Source, dense_values
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

MISSING = 2

_LARGEST = 1e12
"""Of logarithms in files: far beyond any that chains draw."""

MANY_MISSING = 0.05
"""Share of missing cells from which on the correction warns that it is too weak."""


@dataclass(frozen=True, slots=True)
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
        draws = {name: self.draws[name] for name in _draw_fields(self.selection)}
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
        draws = draws_from_plain(_draw_fields(selection), entries, known)
        within = np.all((draws["phi"] > 0) & (draws["phi"] < 1))
        entries.check(within, "phi", "is not strictly between 0 and 1")
        field = Floats("n_columns", low=-1 - CLOSE, high=1 + CLOSE)
        correlation = field.read(entries, "correlation", known)
        return cls(selection, binarization, correlation, draws)

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


def _draw_fields(selection: Selection) -> dict[str, Field]:
    """Return how draws stand in files; what features kept by design add is there with them."""
    numbers = (*NUMBERS, BY_DESIGN) if selection.always_kept else NUMBERS
    shape = ("n_chains", "n_draws")
    return {
        "psi": Weights(*shape, 2),
        "phi": Floats(*shape, 2, "n_columns+1", low=0.0, high=1.0),
        "z": Bits(*shape, "n_cases"),
        **{name: Floats(*shape, low=-_LARGEST, high=_LARGEST) for name in numbers},
    }


@dataclass(frozen=True, slots=True)
class MixtureTraining:
    """Binary features of a training table, for a mixture.

    Attributes
    ----------
    rows : TrainingRows
        The table.
    n_features, threshold : int or None, float or None
        How many features are kept, or above which correlation; both None: all.
    always_keep : ndarray of bool of shape (p,)
        Features kept by design.
    settings : MixtureSettings
        Priors.
    sampling : Sampling
        How chains are run.
    thin : int
        Sweeps of each step.
    labels_are_fixed : bool, default=False
        Whether labels stay what the classes are: the naive Bayes model.
    """

    rows: TrainingRows
    n_features: int | None
    threshold: float | None
    always_keep: BoolArray
    settings: MixtureSettings
    sampling: Sampling
    thin: int
    labels_are_fixed: bool = False

    @property
    def n_racing(self) -> int:
        """How many features run in the race."""
        return int(np.sum(~self.always_keep))

    def keeping(self, number: int) -> MixtureTraining:
        """Return the same part, of which so many features are kept."""
        return replace(self, n_features=number)

    def fit(self) -> MixturePart:
        """Fit all rows, and warn where chains are not to be trusted."""
        rows = self.rows
        part = self._fit(rows.source, rows.is_class_1, rows.whole, self.sampling)
        hidden = missing_share(part.selection)
        if self.settings.correct and hidden > MANY_MISSING:
            warnings.warn(
                f"{hidden:.0%} of the cells of discarded features are missing; the correction "
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

    def held_out(
        self,
        folds: Sequence[IntArray],
        whole: FittedPart | None = None,
        numbers: Sequence[int] | None = None,
    ) -> Iterator[list[FloatArray]]:
        """Yield for each fold the log likelihoods of its rows; chains run again without them."""
        if isinstance(whole, MixturePart) and whole.interrupted:
            raise KeyboardInterrupt
        everyone = np.arange(self.rows.is_class_1.size)
        sampling = replace(self.sampling, checkpoint=None, verbose=False)
        for fold, screening in self.rows.without(list(folds)):
            others = np.setdiff1d(everyone, fold)
            source = RowsOf(self.rows.source, others)
            found = []
            for training in with_numbers(self, numbers):
                part = training._fit(source, self.rows.is_class_1[others], screening, sampling)
                if part.interrupted:
                    raise KeyboardInterrupt
                columns = np.array(part.selection.columns, dtype=np.int64)
                # Not checked for another scale: a fraction may be in the left-out rows only.
                values = part.binarization.cut_values(RowsOf(self.rows.source, fold).take(columns))
                found.append(part.log_likelihood(values))
            yield found

    def _fit(
        self, source: Source, is_class_1: BoolArray, screening: Screening, sampling: Sampling
    ) -> MixturePart:
        selection = select(
            screening,
            n_features=self.n_features,
            threshold=self.threshold,
            always_keep=self.always_keep,
            random_state=tie_breaker(self.rows.random_state),
        )
        columns = np.array(selection.columns, dtype=np.int64)
        binarization = screening.binarization.take(columns)
        values = binarization.cut_values(source.take(columns))
        cells = as_cells(is_class_1, *values)
        draws, interrupted = run_mixture(
            cells,
            selection,
            self.settings,
            sampling,
            self.thin,
            labels_are_fixed=self.labels_are_fixed,
        )
        correlation = screening.correlation()[columns]
        return MixturePart(selection, binarization, correlation, draws, interrupted)


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
