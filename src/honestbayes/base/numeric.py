"""Base of the models of numeric columns: covariances, screening, training parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from honestbayes.base.parameters import SelectionSettings, selection_rule, true_or_false
from honestbayes.base.part import Describe, FoldMemo, TrainingLabels, TrainingPart, tie_breaker
from honestbayes.data import Source, as_source
from honestbayes.data.binarization import check_finite
from honestbayes.data.level_blocks import IndicatorSource, LevelTable
from honestbayes.data.normal_scores import NormalScores, NormalScoresSource
from honestbayes.data.source import (
    DescribeColumns,
    ReadAhead,
    Remembered,
    RowsOf,
    SparseSource,
    dense_values,
    is_beyond_memory,
)
from honestbayes.files.fields import CLOSE, Check, Flag, Floats, Number
from honestbayes.selection import Selection
from honestbayes.selection.categories import LevelsByFold
from honestbayes.selection.correlation import rank_features
from honestbayes.selection.moments import (
    Moments,
    indicator_moments_without,
    moments_of_values,
    moments_without,
    scored_moments_without,
    screen_moments,
)
from honestbayes.types import BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# A covariance matrix shrunk to the identity, and its inverse, for any number of columns
#
# With residuals R of shape (n, k), in columns of unit variance,
#
#     S = shrinkage I + (1 - shrinkage) R'R / n.
#
# Where k exceeds n nothing of the size k x k is ever formed: by Woodbury's identity
#
#     S^-1 v = (v - a R'(b I + a R R')^-1 R v) / b,    a = (1 - shrinkage) / n,  b = shrinkage.
# --------------------------------------------------------------------------------------------------


_SMALLEST = 1e-12
"""Least shrinkage, so that the matrix is regular where a column repeats another."""

_LARGEST = 1e3
"""Bound of the factor in files: columns are in units of their deviation within classes."""


def ledoit_wolf(residual: FloatArray) -> float:
    """Return the shrinkage of Ledoit and Wolf (2004) towards a multiple of the identity.

    It needs the trace of G = RR', the sum of the squares of its elements, and that of its diagonal.
    R'R has the same sum of squares (both are the trace of (RR')^2), so the smaller matrix is
    formed. The result does not depend on the scale of the residuals.
    """
    n, k = residual.shape
    if n == 0 or k == 0:
        return 0.0
    product = residual @ residual.T if n <= k else residual.T @ residual
    of_rows = np.einsum("ij,ij->i", residual, residual)
    squares = float(np.sum(product**2)) / n**2
    mean = float(of_rows.sum()) / (n * k)
    apart = (squares - k * mean**2) / k
    noise = (float(np.sum(of_rows**2)) / n - squares) / (n * k)
    if apart <= 0 or noise <= 0:
        return 0.0
    return float(min(noise, apart) / apart)


@dataclass(frozen=True, slots=True, eq=False)
class Covariance:
    """The shrunken covariance of k columns.

    Attributes
    ----------
    shrinkage : float
        Share of the identity.
    dual : bool
        Whether there are more columns than residuals.
    factor : ndarray of shape (m, k)
        R / sqrt(n) where ``dual``, else R'R / n.
    """

    shrinkage: Annotated[float, Number(0.0, 1.0)]
    dual: Annotated[bool, Flag()]
    factor: Annotated[FloatArray, Floats("n_rows", "n_columns", low=-_LARGEST, high=_LARGEST)]

    def check(self, check: Check) -> None:
        """Refuse a matrix that is not a covariance."""
        if not self.dual:
            rows, columns = self.factor.shape
            good = rows == columns and np.allclose(self.factor, self.factor.T, atol=1e-9)
            check(good, "factor", "is not symmetric")
        try:
            self.solve(np.zeros((self.factor.shape[1], 1)))
        except LinAlgError:
            check(False, "factor", "is not a covariance")

    @classmethod
    def of(cls, residual: FloatArray, shrinkage: float) -> Covariance:
        """Return the covariance of residuals of shape (n, k), each divided by sqrt(n)."""
        n, k = residual.shape
        return cls(shrinkage, k > n, residual if k > n else residual.T @ residual)

    def without(self, missing: BoolArray) -> Covariance:
        """Return the covariance of the columns that are not missing."""
        kept = np.flatnonzero(~missing)
        rows = self.factor if self.dual else self.factor[kept]
        return replace(self, factor=np.ascontiguousarray(rows[:, kept]))

    def solve(self, columns: FloatArray) -> FloatArray:
        """Return S^-1 times columns of shape (k, q)."""
        share = max(self.shrinkage, _SMALLEST)
        rest = 1 - self.shrinkage
        product = self.factor @ self.factor.T if self.dual else self.factor
        matrix = rest * product
        matrix.flat[:: len(matrix) + 1] += share
        root = cho_factor(matrix, lower=True, overwrite_a=True)
        if not self.dual:
            return np.asarray(cho_solve(root, columns))
        inside = cho_solve(root, self.factor @ columns)
        return np.asarray((columns - rest * (self.factor.T @ inside)) / share)

    def condition(
        self, missing: BoolArray, observed: FloatArray, coefficients: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the conditional distribution of some normal columns, given the others.

        The columns have this covariance and mean 0.

        Parameters
        ----------
        missing : ndarray of bool of shape (k,)
            Columns that are not observed, m of them.
        observed : ndarray of shape (r, k - m)
            Rows of the others.
        coefficients : ndarray of shape (m, q)
            Weights of sums of the missing columns.

        Returns
        -------
        mean : ndarray of shape (r, m)
            Means of the missing columns given each row.
        variance : ndarray of shape (q,)
            Variances of the sums, which are the same for every row.
        """
        share, rest = max(self.shrinkage, _SMALLEST), 1 - self.shrinkage
        gone, there = np.flatnonzero(missing), np.flatnonzero(~missing)
        rows = self.factor if self.dual else self.factor[gone]

        def towards_missing(columns: FloatArray, which: IntArray) -> FloatArray:
            """Return the covariances of the missing columns with some columns, times a matrix."""
            part = rows[:, which] @ columns
            return np.asarray(rest * (rows[:, gone].T @ part if self.dual else part))

        own = towards_missing(coefficients, gone) + share * coefficients
        variance = np.einsum("mq,mq->q", coefficients, own)
        if not there.size:
            return np.zeros((len(observed), gone.size)), variance
        # Covariances of the observed columns with the sums: Schur's complement needs no more.
        back = self.factor[:, gone] @ coefficients if self.dual else coefficients
        other = self.factor[:, there].T if self.dual else self.factor[np.ix_(there, gone)]
        with_sums = rest * (other @ back)
        solved = self.without(missing).solve(np.hstack([observed.T, with_sums]))
        mean = towards_missing(solved[:, : len(observed)], there).T
        explained = np.einsum("oq,oq->q", with_sums, solved[:, len(observed) :])
        return mean, np.maximum(variance - explained, 0.0)


def patterns_of(missing: BoolArray) -> list[tuple[Any, BoolArray]]:
    """Return groups of rows with the same missing columns; rows that miss all are left out."""
    if not missing.any():
        return [(np.arange(len(missing)), missing[0])] if missing.size else []
    patterns, which = np.unique(missing, axis=0, return_inverse=True)
    which = np.ravel(which)
    rows = ((np.flatnonzero(which == index), pattern) for index, pattern in enumerate(patterns))
    return [(own, pattern) for own, pattern in rows if not pattern.all()]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericSettings(SelectionSettings):
    """Which features are kept, and whether columns are transformed to normal scores first."""

    normal_scores: bool | Literal["ranking"] = False


def numeric_choices(
    params: Mapping[str, Any], always_keep: BoolArray, *, may_rank: bool = False
) -> dict[str, Any]:
    """Return the fields of `NumericSettings`; raise an error where parameters are wrong.

    ``may_rank``: whether ``normal_scores="ranking"`` is one of the choices.
    """
    n_features, threshold = selection_rule(params, int(np.sum(~always_keep)))
    ranking = may_rank and isinstance(params["normal_scores"], str)
    if ranking and params["normal_scores"] != "ranking":
        msg = f"normal_scores={params['normal_scores']!r} is not True, False or 'ranking'."
        raise ValueError(msg)
    return {
        "n_features": n_features,
        "threshold": threshold,
        "always_keep": always_keep,
        "normal_scores": "ranking" if ranking else true_or_false(params, "normal_scores"),
    }


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSummary:
    """Class means, spread and correlation of each kept column alone, in the units of the table.

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
    def of(cls, moments: Moments, scores: NormalScores | None) -> ColumnSummary:
        """Summarise columns by their moments, which may be those of normal scores."""
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


@dataclass(frozen=True, slots=True, eq=False)
class Screened:
    """Some rows of a table, as they are or as normal scores, and the moments of all columns.

    ``as_they_are``: columns were ranked by normal scores, but models use their values.
    """

    source: Source
    codes: IntArray
    moments: Moments
    as_they_are: bool = False

    def kept(self, selection: Selection) -> tuple[FloatArray, NormalScores | None]:
        """Return the kept columns, shape (n, k), and their transformation to normal scores."""
        columns = np.array(selection.columns, dtype=np.int64)
        source = self.source
        if isinstance(source, NormalScoresSource):
            if not self.as_they_are:
                scores, own = source.learned(columns)
                return own, scores
            source = source.source
        return np.array(source.take(columns), dtype=float), None

    def summary(
        self, selection: Selection, values: FloatArray, scores: NormalScores | None
    ) -> ColumnSummary:
        """Summarise the kept columns, given what `kept` returned."""
        columns = np.array(selection.columns, dtype=np.int64)
        if not (self.as_they_are and isinstance(self.source, NormalScoresSource)):
            return ColumnSummary.of(self.moments.take(columns), scores)
        moments = moments_of_values(
            values,
            labels=self.codes,
            classes=self.moments.classes,
            first_row=0,
            describe=DescribeColumns(self.moments.take(columns).feature_names),
        )
        return ColumnSummary.of(moments, None)


def screen_rows(
    source: Source,
    rows: IntArray,
    labels: TrainingLabels,
    normal_scores: bool | Literal["ranking"],
    memo: FoldMemo | None,
) -> Screened:
    """Screen some rows of a training table, once for all models that share a memo."""
    scored = bool(normal_scores)

    def make() -> Screened:
        chosen = source if rows.size == labels.codes.size else RowsOf(source, rows)
        # Sparse tables hold counts or binary features; as scores they would not be sparse.
        if scored and not isinstance(source, SparseSource):
            chosen = NormalScoresSource(chosen)
        codes = labels.codes[rows]
        return Screened(chosen, codes, screen_moments(chosen, codes, labels.classes))

    # A part of a mixed table shares the memo, and has fewer columns than the table itself.
    key = (scored, source.shape[1])
    screened: Screened = make() if memo is None else memo.get(rows, key, make)
    return replace(screened, as_they_are=True) if normal_scores == "ranking" else screened


@dataclass(frozen=True, slots=True)
class NumericTraining(TrainingPart):
    """Numeric columns of a training table; a subclass fits the screened rows (`_fitted`)."""

    settings: Any
    source: Source
    labels: TrainingLabels
    random_state: Any

    def _whole(self, memo: FoldMemo | None) -> Any:
        return self._statistic(self._screened(np.arange(self.labels.codes.size), memo))

    def _without(
        self, folds: Sequence[IntArray], memo: FoldMemo | None
    ) -> Iterator[tuple[IntArray, Any]]:
        if not is_beyond_memory(self.source):
            for rows, others in self.labels.without(folds):
                yield rows, self._statistic(self._screened(others, memo))
            return
        # One pass over the table serves all folds.
        labels, by_fold = self.labels, self._moments_without(folds, memo)
        for (rows, others), moments in zip(labels.without(folds), by_fold, strict=True):
            chosen: Source = RowsOf(self.source, others)
            chosen = NormalScoresSource(chosen) if self.settings.normal_scores else chosen
            as_they_are = self.settings.normal_scores == "ranking"
            yield (
                rows,
                self._statistic(Screened(chosen, labels.codes[others], moments, as_they_are)),
            )

    def _screened(self, rows: IntArray, memo: FoldMemo | None) -> Screened:
        return screen_rows(self.source, rows, self.labels, self.settings.normal_scores, memo)

    def _moments_without(
        self, folds: Sequence[IntArray], memo: FoldMemo | None
    ) -> Iterable[Moments]:
        """Return the moments of all rows but those of each fold."""
        labels, normal_scores = self.labels, bool(self.settings.normal_scores)
        levels: LevelTable | None = getattr(self.source, "all_levels", None)
        if levels is not None and not normal_scores:
            return indicator_moments_without(
                self._cells_by_fold(levels, folds, memo), levels, labels.classes
            )
        find = scored_moments_without if normal_scores else moments_without
        by_fold = find(self.source, labels.codes, labels.classes, list(folds))
        if memo is None:
            return by_fold
        key = ("without folds", normal_scores, self.source.shape[1])
        shared: list[Moments] = memo.get(np.concatenate(folds), key, lambda: list(by_fold))
        return shared

    def _cells_by_fold(
        self, levels: LevelTable, folds: Sequence[IntArray], memo: FoldMemo | None
    ) -> LevelsByFold:
        """Count the categories of which all columns are indicators."""
        labels = self.labels

        def make() -> LevelsByFold:
            source: Any = self.source
            while isinstance(source, ReadAhead | IndicatorSource):
                source = source.source
            return LevelsByFold.count(source, levels, labels.codes, labels.classes.size, folds)

        key = ("cells by fold", self.source.shape[1])
        counts: LevelsByFold = (
            make() if memo is None else memo.get(np.concatenate(folds), key, make)
        )
        return counts

    def read_ahead(self, folds: Sequence[IntArray], number: int, memo: FoldMemo | None) -> None:
        """Read in one pass the columns that fits of so many features will keep."""
        if not isinstance(self.source, ReadAhead):
            return
        settings = self.keeping(number).settings
        moments = (
            self._moments_without(folds, memo)
            if folds
            else [self._screened(np.arange(self.labels.codes.size), memo).moments]
        )
        kept = [
            select_by_r_squared(each, settings, tie_breaker(self.random_state)).columns
            for each in moments
        ]
        self.source.read_ahead(np.unique(np.concatenate(kept).astype(np.int64)))

    @property
    def _source(self) -> Source:
        return self.source

    def _reading_from(self, source: Remembered) -> Self:
        return replace(self, source=source)

    def _statistic(self, screened: Screened) -> Any:
        """Return what a model is fitted from, given screened rows; by default just these."""
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
            lambda index: describe(int(columns[index])),
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
    """Keep the features with the largest r squared (equivalently, the largest F statistic).

    Constant columns are neither kept nor discarded.
    """
    strength = moments.r_squared()
    outcome = rank_features(
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
