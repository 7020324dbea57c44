"""Categorical features with their interactions as a part of an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import Counts, Flag, Floats, Known, Whole
from honestbayes.files.records import Section
from honestbayes.models.interactions.fit import (
    InteractionFit,
    draw_fields,
    find_groups,
    run_chains,
    warn_of_problems,
)
from honestbayes.models.interactions.patterns import TooManyPatternsError
from honestbayes.models.interactions.settings import InteractionSettings
from honestbayes.models.shared.parts import (
    Describe,
    FittedPart,
    TrainingLabels,
    TrainingPart,
    tie_breaker,
)
from honestbayes.sampling.draws import draws_from_plain
from honestbayes.sampling.runs import Sampling
from honestbayes.screening.categories import CategoryCounts, count_categories
from honestbayes.selection import Selection
from honestbayes.selection.association import strength_of
from honestbayes.selection.correlation import race
from honestbayes.sources.columns import number_text
from honestbayes.sources.levels import MISSING, CategoryTable, Levels, encode_columns
from honestbayes.types import AnyArray, FloatArray, IntArray

_Statistic = tuple[IntArray, CategoryCounts]
"""Rows, and their counts."""

MOST_ORDER = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class InteractionPart:
    """Fitted categorical features with interactions.

    Attributes
    ----------
    selection : Selection
        What was kept; usually every column.
    levels : Levels
        Levels of the kept columns.
    missing_is_level : bool
        Whether a missing cell is a level of its own, the one after all others.
    order : int
        The most cells that a pattern fixes.
    suffixes, compressed : bool
        Whether patterns are suffixes of sequences, and share parameters.
    fit : InteractionFit
        The model.
    counts : ndarray of shape (C, V)
        Training cases by class, of the levels of all kept columns one after the other.
    log_prior : ndarray of shape (C,)
        Log class probabilities before features are seen.
    """

    selection: Selection
    levels: Levels
    missing_is_level: bool
    order: int
    suffixes: bool
    compressed: bool
    fit: InteractionFit
    counts: FloatArray
    log_prior: FloatArray

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the chains."""
        return self.fit.interrupted

    # ---------------------------------------------------------------------------- files

    def to_plain(self) -> Plain:
        """Return levels, training rows and draws as plain data: groups are found again."""
        content = {
            "missing_is_level": self.missing_is_level,
            "order": self.order,
            "suffixes": self.suffixes,
            "compressed": self.compressed,
            "is_cauchy": self.fit.is_cauchy,
            "seed": self.fit.seed,
        }
        arrays = {
            "rows": self.fit.rows.astype(np.int64),
            "counts": self.counts,
            "prior": self.log_prior,
        }
        draws = {name: self.fit.draws[name] for name in self._fields()}
        return joined((content, {**arrays, **draws}), levels=self.levels.to_plain())

    def _fields(self) -> dict[str, Any]:
        names = tuple(name for name in self.fit.draws.values if name.startswith("log_sigma_"))
        return draw_fields("K", "G", "orders", names=names, has_noise=False)

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> InteractionPart:
        """Return the part that `to_plain` described; refuse what cannot be one."""
        levels = Section(kind=Levels).read(entries, "levels", known)
        flags = ("missing_is_level", "suffixes", "compressed", "is_cauchy")
        said = {name: Flag().read(entries, name, known) for name in flags}
        order = Whole(0, MOST_ORDER).read(entries, "order", known)
        seed = Whole(0, 2**32 - 1).read(entries, "seed", known)
        most = levels.n_levels + said["missing_is_level"]
        good = not said["suffixes"] or order <= most.size
        entries.check(good, "order", "is more than there are states")
        width = order if said["suffixes"] else most.size
        rows = Counts("n_rows", width).read(entries, "rows", dict(known))
        good = rows.shape[0] >= 1 and bool(np.all(rows < most[most.size - width :]))
        entries.check(good, "rows", "holds a level that is not there")
        try:
            _, groups, which = find_groups(
                rows, order, suffixes=said["suffixes"], compress=said["compressed"]
            )
        except (TooManyPatternsError, MemoryError) as error:
            entries.refuse("order", f"is too high: {error}")
        good = np.array_equal(which, np.arange(rows.shape[0]))
        entries.check(good, "rows", "are not different and in order")
        n_classes = known["n_classes"]
        counts = Floats(n_classes, int(most.sum()), low=0.0).read(entries, "counts", known)
        prior = Floats(n_classes, low=-1e6, high=1e-9).read(entries, "prior", known)
        free = min(3, max(groups.counts.shape[1] - 1, 0))
        fields = draw_fields(
            1 if n_classes == 2 else n_classes,
            int(groups.counts.shape[0]),
            int(groups.counts.shape[1]),
            names=tuple(f"log_sigma_{o}" for o in range(1, free + 1)),
            has_noise=False,
        )
        draws = draws_from_plain(fields, entries, dict(known))
        fit = InteractionFit(rows, groups, draws, said["is_cauchy"], seed)
        return cls(
            selection=known["selection"],
            levels=levels,
            missing_is_level=said["missing_is_level"],
            order=order,
            suffixes=said["suffixes"],
            compressed=said["compressed"],
            fit=fit,
            counts=counts,
            log_prior=prior,
        )

    # ----------------------------------------------------------------------- prediction

    def read(self, X: Any, describe: Describe) -> IntArray:
        """Return codes of the kept columns; unknown levels match no pattern, with a warning."""
        codes, unknown = encode_columns(X, self.levels, describe)
        if unknown:
            position, value, _ = unknown[0]
            total = sum(number for _, _, number in unknown)
            cells = "1 cell matches" if total == 1 else f"{total} cells match"
            shown = repr(value) if isinstance(value, str) else number_text(value)
            warnings.warn(
                f"{cells} no pattern of training: levels not seen in fit, such as {shown} in "
                f"{describe(position)}.",
                UserWarning,
                stacklevel=5,
            )
        if self.missing_is_level:
            # A level that fit has not seen is not a missing cell.
            is_missing = codes == MISSING
            for place, _, _ in unknown:
                is_missing[:, place] &= missing_cells(X, place)
            codes = np.where(is_missing, self.levels.n_levels, codes)
        return codes

    def used(self, values: IntArray) -> AnyArray:
        """Return the columns that patterns are of: the last ones of sequences."""
        return values[:, values.shape[1] - self.order :] if self.suffixes else values

    def log_likelihood(self, values: IntArray) -> FloatArray:
        """Return log P(class | x) - log P(class), which is log P(x | class) up to a constant."""
        return self.fit.log_proba(self.used(values)) - self.log_prior

    def rows(self, values: IntArray, rows: slice) -> IntArray:
        """Return some rows of values that were read."""
        return values[rows]


def missing_cells(X: Any, place: int) -> Any:
    """Return which cells of a column are missing."""
    from honestbayes.sources.columns import as_columns, column_cells

    columns = as_columns(X)
    return column_cells(columns.get(place), columns.name(place), any_number=True)[1]


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
        return self._cells(rows, np.array(part.selection.columns, dtype=np.int64))

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
        cells = self._cells(rows, columns)
        codes, n_classes = labels.codes[rows], labels.classes.size
        order = settings.model.order
        used = cells[:, cells.shape[1] - order :] if self.suffixes else cells
        fit = run_chains(used, codes, n_classes, settings.model, sampling, suffixes=self.suffixes)
        levels = self.table.levels.take(columns)
        most = levels.n_levels + (settings.missing == "level")
        by_level = np.zeros((n_classes, int(most.sum())))
        np.add.at(by_level, (codes[:, None], cells + (np.cumsum(most) - most)), 1.0)
        return InteractionPart(
            selection=selection,
            levels=levels,
            missing_is_level=settings.missing == "level",
            order=order,
            suffixes=self.suffixes,
            compressed=settings.model.compress,
            fit=fit,
            counts=by_level,
            log_prior=labels.log_prior(rows),
        )

    def _cells(self, rows: IntArray, columns: IntArray) -> AnyArray:
        """Return codes of some cells; a missing one is the level after all others, or refused."""
        cells = self.table.codes[np.ix_(rows, columns)]
        if self.settings.missing == "level":
            return np.where(cells == MISSING, self.table.levels.n_levels[columns], cells)
        return cells
