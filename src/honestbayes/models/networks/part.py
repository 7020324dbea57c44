"""Levels and bins in networks as a part of an estimator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import Floats, Known
from honestbayes.files.records import Section
from honestbayes.models.networks.chains import distinct_graphs, run_networks, warn_of_problems
from honestbayes.models.networks.fit import MOST_AVERAGED, NetworkFit
from honestbayes.models.networks.priors import log_prior_of_arcs
from honestbayes.models.networks.problem import make_problem
from honestbayes.models.networks.settings import (
    EXCHANGE,
    LADDER,
    REVERSAL,
    SCORES,
    NetworkSettings,
)
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
from honestbayes.selection.correlation import Outcome, race, race_by_rank
from honestbayes.selection.measures import mutual_information
from honestbayes.sources.columns import Columns, as_columns
from honestbayes.sources.cuts import Cuts, learn_cuts, measured_columns, measurements
from honestbayes.sources.levels import MISSING, CategoryTable, category_table
from honestbayes.types import FloatArray, IntArray


class _Given(NamedTuple):
    """Rows, their counts, and the codes of all rows with bins that were learned from these."""

    rows: IntArray
    counts: CategoryCounts
    table: CategoryTable
    cuts: Cuts


@dataclass(frozen=True, slots=True, eq=False)
class NetworkPart:
    """Fitted categorical features.

    Attributes
    ----------
    selection : Selection
        Columns that graphs are over.
    codes : Codes
        How they become codes, measurements being cut.
    cuts : Cuts
        How measurements are cut.
    fit : NetworkFit
        Graphs and cases.
    log_prior : ndarray of shape (C,)
        Log class probabilities before features are seen.
    """

    selection: Selection
    codes: Codes
    cuts: Cuts
    fit: NetworkFit
    log_prior: FloatArray

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the chains."""
        return self.fit.interrupted

    def to_plain(self) -> Plain:
        """Return codes and graphs as plain data."""
        arrays = {"prior": self.log_prior}
        return joined(
            ({}, arrays),
            codes=self.codes.to_plain(),
            cuts=self.cuts.to_plain(),
            fit=self.fit.to_plain(),
        )

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> NetworkPart:
        """Return the part that `to_plain` described; refuse what cannot be one."""
        codes = Section(kind=Codes).read(entries, "codes", known)
        cuts = Cuts((None,) * known["n_columns"])
        if entries.has("cuts"):  # older files know no measurements
            cuts = Section(kind=Cuts).read(entries, "cuts", known)
        selection, n_classes = known["selection"], known["n_classes"]
        of_fit = {
            "n_levels": np.concatenate([codes.n_levels, [n_classes]]).astype(np.int64),
            "class_counts": selection.class_counts,
        }
        fit = Section(kind=NetworkFit).read(entries, "fit", of_fit)
        prior = Floats(n_classes, low=-1e6, high=1e-9).read(entries, "prior", known)
        return cls(selection, codes, cuts, fit, prior)

    def read(self, X: Any, describe: Describe) -> IntArray:
        """Return codes of the kept columns; unknown levels are missing, with a warning."""
        return self.codes.read(self.cuts.of(X), describe, TAKEN_FOR_MISSING)

    def log_likelihood(self, values: IntArray) -> FloatArray:
        """Return log P(class | x) - log P(class), which is log P(x | class) up to a constant."""
        return self.fit.log_proba(values) - self.log_prior

    def rows(self, values: IntArray, rows: slice) -> IntArray:
        """Return some rows of values that were read."""
        return values[rows]


@dataclass(frozen=True, slots=True)
class NetworkTraining(TrainingPart):
    """Features of a training table, for networks.

    Attributes
    ----------
    settings : NetworkSettings
        Selection, graphs and chains.
    columns : Columns
        The table as it was given.
    measured : ndarray of int
        Which of its columns are measurements.
    cuts : Cuts
        Their bins, learned from all rows.
    table : CategoryTable
        Codes of the cells with these bins; missing ones are levels of their own, where that is
        asked for.
    labels : TrainingLabels
        Classes of the rows.
    random_state : object
        Breaks ties.
    sampling : Sampling
        How chains are run.
    """

    settings: NetworkSettings
    columns: Columns
    measured: IntArray
    cuts: Cuts
    table: CategoryTable
    labels: TrainingLabels
    random_state: Any
    sampling: Sampling

    @classmethod
    def of(
        cls,
        settings: NetworkSettings,
        X: Any,
        labels: TrainingLabels,
        random_state: Any,
        sampling: Sampling,
    ) -> NetworkTraining:
        """Cut the measurements of a table, and code all its cells."""
        columns = as_columns(X)
        measured = measured_columns(columns, settings.kinds)
        cuts = learn_cuts(columns, measured, np.arange(columns.n_rows), settings.n_bins)
        table = category_table(cuts.of(X))
        return cls(settings, columns, measured, cuts, table, labels, random_state, sampling)

    def fit(self) -> NetworkPart:
        """Fit all rows, and warn where chains are not to be trusted."""
        everyone = np.arange(self.labels.codes.size)
        counts = count_categories(self.table, self.labels.codes, self.labels.classes)
        part = self._run(_Given(everyone, counts, self.table, self.cuts), self.sampling)
        if not part.interrupted:
            warn_of_problems(part.fit.diagnostics, stacklevel=4)
        return part

    def _without(self, folds: Sequence[IntArray]) -> Iterator[tuple[IntArray, _Given]]:
        for rows, others in self.labels.without(folds):
            table, cuts = self.table, self.cuts
            if self.measured.size:
                cuts = learn_cuts(self.columns, self.measured, others, self.settings.n_bins)
                table = category_table(cuts.of(self.columns))
            counts = count_categories(table, self.labels.codes, self.labels.classes, others)
            yield rows, _Given(others, counts, table, cuts)

    def _fitted(self, statistic: _Given, whole: FittedPart | None) -> NetworkPart:
        """Screen and run chains for some rows, unless the user has interrupted those of all."""
        if isinstance(whole, NetworkPart) and whole.interrupted:
            raise KeyboardInterrupt
        part = self._run(statistic, replace(self.sampling, checkpoint=None, verbose=False))
        if part.interrupted:
            raise KeyboardInterrupt
        return part

    def _values(self, part: NetworkPart, rows: IntArray) -> IntArray:
        columns = np.array(part.selection.columns, dtype=np.int64)
        codes = self.table.codes[np.ix_(rows, columns)]
        for place, bounds in enumerate(part.cuts.bounds):
            if bounds is not None:
                values = measurements(self.columns, int(columns[place]))[rows]
                bins = np.searchsorted(bounds, values, side="left")
                codes[:, place] = np.where(np.isnan(values), MISSING, bins)
        return np.asarray(part.codes.of_training(codes))

    def _run(self, given: _Given, sampling: Sampling) -> NetworkPart:
        """Screen, and run chains, given some rows."""
        settings, labels = self.settings, self.labels
        rows, counts = given.rows, given.counts
        outcome = _screened(counts, settings, tie_breaker(self.random_state))
        selection = outcome.selection(
            counts.class_counts, counts.observed(), counts.feature_names, counts.n_levels()
        )
        columns = np.array(selection.columns, dtype=np.int64)
        kept = Codes(given.table.levels.take(columns), settings.missing == "level")
        cells = kept.of_training(given.table.codes[np.ix_(rows, columns)])
        k, n_classes = columns.size, labels.classes.size
        problem = make_problem(
            cells,
            labels.codes[rows],
            kept.n_levels,
            n_classes,
            log_prior_of_arcs(settings.prior, k, counts.n_features),
            max_parents=min(settings.max_parents, k + 1),
            score=SCORES[settings.table_prior],
            size=settings.equivalent_sample_size,
            reversal=REVERSAL,
            exchange=EXCHANGE,
            heat=LADDER,
            general=settings.general,
        )
        found = run_networks(problem, settings.proposals(k), sampling)
        if found.draws.n_draws == 0:  # interrupted before anything was kept
            raise KeyboardInterrupt
        graphs, weight = distinct_graphs(found, MOST_AVERAGED)
        inclusion, error = found.inclusion()
        seed = np.random.SeedSequence(sampling.seed.entropy, spawn_key=(7,)).generate_state(1)[0]
        names = counts.feature_names or tuple(f"x{j}" for j in range(counts.n_features))
        fit = NetworkFit(
            cells=problem.cells,
            n_levels=problem.n_levels,
            graphs=graphs,
            weight=weight,
            max_parents=problem.max_parents,
            general=settings.general,
            size=settings.size,
            inclusion=inclusion,
            inclusion_error=error,
            edges=found.edges(),
            diagnostics=found.diagnostics(tuple(names[j] for j in columns)),
            draws=found.numbers(),
            seed=int(seed),
            interrupted=found.interrupted,
        )
        cuts = given.cuts.take(columns)
        return NetworkPart(selection, kept, cuts, fit, labels.log_prior(rows))


def _screened(
    counts: CategoryCounts, settings: NetworkSettings, random_state: np.random.RandomState | None
) -> Outcome:
    """Keep all columns, or those with the most mutual information with the class."""
    always = settings.always_keep
    room = settings.max_features - int(always.sum())
    if room < 0:
        msg = (
            f"always_keep names {int(always.sum())} columns, and max_features is "
            f"{settings.max_features}."
        )
        raise ValueError(msg)
    if settings.threshold is not None:
        strength, exact = strength_of(counts)
        above = race(
            strength,
            exact,
            threshold=settings.threshold,
            always_keep=always,
            random_state=random_state,
        )
        if above.kept.size <= room:
            return above
        return race(strength, exact, n_features=room, always_keep=always, random_state=random_state)
    racing = int(np.sum(~always))
    number = racing if settings.n_features is None else settings.n_features
    number = min(number, room)
    if number >= racing:
        return race(*strength_of(counts), always_keep=always, random_state=random_state)
    strength = np.zeros(counts.n_features)
    for group in counts.groups:
        strength[group.columns] = mutual_information(group.tables)
    return race_by_rank(
        strength,
        "mutual_information",
        n_features=number,
        always_keep=always,
        random_state=random_state,
    )
