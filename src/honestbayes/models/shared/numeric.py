"""Tables of numbers, measurements and flags, for models that look at the kept columns together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np

from honestbayes.models.shared.parameters import SelectionSettings, selection_rule, true_or_false
from honestbayes.models.shared.parts import (
    Describe,
    TrainingLabels,
    TrainingPart,
    tie_breaker,
)
from honestbayes.screening.fold_moments import moments_without, scored_moments_without
from honestbayes.screening.moments import Moments, screen_moments
from honestbayes.selection import Selection
from honestbayes.selection.correlation import race
from honestbayes.sources import Source, as_source
from honestbayes.sources.binarization import check_finite
from honestbayes.sources.normal_scores import NormalScores, Scored
from honestbayes.sources.some_rows import ReadAhead, Remembered
from honestbayes.sources.source import (
    DescribeColumns,
    RowsOf,
    SparseSource,
    dense_values,
    is_beyond_memory,
)
from honestbayes.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericSettings(SelectionSettings):
    """Which features are kept, and whether measurements become normal scores first."""

    normal_scores: bool = False


def numeric_choices(params: Mapping[str, Any], always_keep: BoolArray) -> dict[str, Any]:
    """Return the fields of `NumericSettings`, or say what is wrong with the parameters."""
    n_features, threshold = selection_rule(params, int(np.sum(~always_keep)))
    return {
        "n_features": n_features,
        "threshold": threshold,
        "always_keep": always_keep,
        "normal_scores": true_or_false(params, "normal_scores"),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Screened:
    """Some rows of a table, as they are or as normal scores, and the moments of all columns."""

    source: Source
    codes: IntArray
    moments: Moments

    def kept(self, selection: Selection) -> tuple[FloatArray, NormalScores | None]:
        """Return the kept columns, shape (n, k), and what makes scores of new values."""
        columns = np.array(selection.columns, dtype=np.int64)
        if isinstance(self.source, Scored):
            scores, own = self.source.learned(columns)
            return own, scores
        return np.array(self.source.take(columns), dtype=float), None


def screen_rows(
    source: Source, rows: IntArray, labels: TrainingLabels, normal_scores: bool
) -> Screened:
    """Screen some rows of a training table; who asks next for the same rows gets the same."""

    def make() -> Screened:
        chosen = source if rows.size == labels.codes.size else RowsOf(source, rows)
        # Sparse tables hold flags or counts; as scores they would no longer be sparse.
        if normal_scores and not isinstance(source, SparseSource):
            chosen = Scored(chosen)
        codes = labels.codes[rows]
        return Screened(chosen, codes, screen_moments(chosen, codes, labels.classes))

    return make() if labels.memo is None else labels.memo.get(rows, normal_scores, make)


@dataclass(frozen=True, slots=True)
class NumericTraining(TrainingPart):
    """Columns of numbers of a training table; a subclass fits what was screened (`_fitted`)."""

    settings: Any
    source: Source
    labels: TrainingLabels
    random_state: Any

    def _whole(self) -> Any:
        return self._screened(np.arange(self.labels.codes.size))

    def _without(self, folds: Sequence[IntArray]) -> Iterator[tuple[IntArray, Any]]:
        if is_beyond_memory(self.source):
            yield from self._without_in_one_pass(folds)
            return
        for rows, others in self.labels.without(folds):
            yield rows, self._screened(others)

    def _without_in_one_pass(self, folds: Sequence[IntArray]) -> Iterator[tuple[IntArray, Any]]:
        labels, found = self.labels, self._moments_without(folds)
        for (rows, others), moments in zip(labels.without(folds), found, strict=True):
            chosen: Source = RowsOf(self.source, others)
            chosen = Scored(chosen) if self.settings.normal_scores else chosen
            yield rows, self._known(Screened(chosen, labels.codes[others], moments))

    def _moments_without(self, folds: Sequence[IntArray]) -> Iterable[Moments]:
        """Return the moments of all rows but those of each fold, found once for all who ask."""
        labels, normal_scores = self.labels, self.settings.normal_scores
        find = scored_moments_without if normal_scores else moments_without
        found = find(self.source, labels.codes, labels.classes, list(folds))
        if labels.memo is None:
            return found
        key = ("without folds", normal_scores)
        remembered: list[Moments] = labels.memo.get(np.concatenate(folds), key, lambda: list(found))
        return remembered

    def read_ahead(self, folds: Sequence[IntArray], number: int) -> None:
        """Read at once what fits of so many features to all rows, or without each fold, keep."""
        if not isinstance(self.source, ReadAhead):
            return
        settings, everyone = self.keeping(number).settings, np.arange(self.labels.codes.size)
        if folds:
            found = self._moments_without(folds)
        else:
            normal_scores = settings.normal_scores
            found = [screen_rows(self.source, everyone, self.labels, normal_scores).moments]
        kept = [
            select_by_r_squared(moments, settings, tie_breaker(self.random_state)).columns
            for moments in found
        ]
        self.source.read_ahead(np.unique(np.concatenate(kept).astype(np.int64)))

    @property
    def _source(self) -> Source:
        return self.source

    def _reading_from(self, source: Remembered) -> Self:
        return replace(self, source=source)

    def _screened(self, rows: IntArray) -> Any:
        normal_scores = self.settings.normal_scores
        return self._known(screen_rows(self.source, rows, self.labels, normal_scores))

    def _known(self, screened: Screened) -> Any:
        """Return what is to be known of rows that were screened; by default no more."""
        return screened

    def _selected(self, screened: Screened) -> Selection:
        """Keep the columns with the largest r squared."""
        return select_by_r_squared(screened.moments, self.settings, tie_breaker(self.random_state))

    def _values(self, part: Any, rows: IntArray) -> FloatArray:
        columns = np.array(part.selection.columns, dtype=np.int64)
        if not columns.size:
            return np.zeros((rows.size, 0))
        describe = DescribeColumns(self.source.feature_names)
        return numeric_values(
            RowsOf(self.source, rows).take(columns),
            part.scores,
            lambda place: describe(int(columns[place])),
        )


def numeric_values(X: Any, scores: NormalScores | None, describe: Describe) -> FloatArray:
    """Return a table of kept columns as numbers or scores; NaN is missing, infinity refused."""
    values = np.asarray(dense_values(as_source(X)), dtype=float)
    check_finite(values, describe)
    return values if scores is None else scores.apply(values)


def select_by_r_squared(
    moments: Moments,
    settings: SelectionSettings,
    random_state: np.random.RandomState | None = None,
) -> Selection:
    """Keep the features with the largest r squared, which is to say the largest F.

    Constant columns are left out: they are neither kept nor discarded.
    """
    strength = moments.r_squared()
    outcome = race(
        strength,
        lambda column: Fraction(float(strength[column])),
        n_features=settings.n_features,
        threshold=settings.threshold,
        always_keep=settings.always_keep,
        varies=moments.varies(),
        random_state=random_state,
    )
    return outcome.selection(
        moments.class_counts, moments.observed, moments.feature_names, n_levels=0
    )
