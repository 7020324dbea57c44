"""Features of one kind: fitting, reading and held-out cases.

A training part holds its columns of a training table and can be fitted to all rows or to those
outside a fold. A fitted part knows which columns it kept, reads them from a table, and returns the
log likelihood of each row in each class. An estimator adds up the log likelihoods of its parts,
because naive Bayes takes them as independent given the class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from sklearn.utils import check_random_state

from honestbayes.base.covariates import (
    CovariateCoding,
    CovariateModel,
    CovariateRegression,
    log_prior_of,
)
from honestbayes.base.recalibration import (
    EFFECTIVE_SHARE,
    NumberChoice,
    Recalibration,
    choose_by_loss,
    enough_cases,
    held_out_folds,
    learn_recalibration,
    number_grid,
    repeats_of_folds,
    warn_of_too_few_groups,
)
from honestbayes.data.source import Remembered, is_beyond_memory
from honestbayes.selection import Selection
from honestbayes.types import FloatArray, IntArray

Describe = Callable[[int], str]
"""Given a position among the columns that are read, the column's name in messages."""


# --------------------------------------------------------------------------------------------------
# Labels of the training rows
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TrainingLabels:
    """Classes and groups of the training rows.

    Attributes
    ----------
    classes : ndarray of shape (C,)
        Labels.
    codes : ndarray of int of shape (n,)
        Class of each row.
    groups : ndarray of int of shape (n,), or None
        Rows of one group are held out together.
    pseudocounts : ndarray of shape (C,)
        Dirichlet prior of the class frequencies.
    seed : int
        Seed of the folds in which rows are held out.
    covariates : CovariateCoding, or None
        Covariates, which set the prior of each case.
    design : ndarray of shape (n, d), or None
        Their values in the rows.
    """

    classes: Any
    codes: IntArray
    groups: IntArray | None
    pseudocounts: FloatArray
    seed: int = 0
    covariates: CovariateCoding | None = None
    design: FloatArray | None = None

    def without(self, folds: Sequence[IntArray]) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the rows of each fold, and all other rows."""
        everyone = np.arange(self.codes.size)
        for rows in folds:
            yield rows, np.setdiff1d(everyone, rows)

    def log_prior(self, rows: IntArray | None = None) -> FloatArray:
        """Return the posterior mean of the class probabilities, in logs, shape (C,).

        Equation 17 of Li, Zhang and Neal (2008), from all rows or some of them.
        """
        codes = self.codes if rows is None else self.codes[rows]
        counts = np.bincount(codes, minlength=self.classes.size) + self.pseudocounts
        return np.asarray(np.log(counts) - np.log(counts.sum()))

    def regression(self, rows: IntArray | None = None) -> CovariateRegression:
        """Return P(class | covariates), from all rows or some of them."""
        assert self.design is not None
        some: Any = slice(None) if rows is None else rows
        return CovariateRegression.fit(self.design[some], self.codes[some], self.log_prior(rows))

    def covariate_model(self) -> CovariateModel | None:
        """Return the prior of new cases, where cases have covariates."""
        if self.covariates is None:
            return None
        return CovariateModel(self.covariates, self.regression(), self.log_prior())

    def held_out_log_prior(self, folds: Sequence[IntArray]) -> FloatArray:
        """Return the log prior of the cases of some folds, fold after fold.

        Without covariates the class frequencies of all rows, shape (C,). With covariates log
        P(class | covariates), shape (N, C), from the rows outside each fold: fitted to the cases
        themselves it would leave too little for the features to explain.
        """
        if self.design is None:
            return self.log_prior()
        return np.concatenate(
            [
                log_prior_of(self.regression(others), self.design[rows], self.log_prior(others))
                for rows, others in self.without(folds)
            ]
        )


def tie_breaker(random_state: Any) -> np.random.RandomState | None:
    """Return the generator that breaks ties between equally strong features.

    A seed makes a new generator, so that all folds break ties alike; a generator is used as it is.
    """
    if isinstance(random_state, int | np.integer):
        return np.random.RandomState(random_state)
    return None if random_state is None else check_random_state(random_state)


# --------------------------------------------------------------------------------------------------
# Fitted parts
# --------------------------------------------------------------------------------------------------


class FittedPart(Protocol):
    """Fitted features of one kind."""

    @property
    def selection(self) -> Selection:
        """What was kept and discarded, in numbers of the part's own columns."""

    def read(self, X: Any, describe: Describe) -> Any:
        """Return the values of a table of the kept columns, in the order of the selection."""

    def log_likelihood(self, values: Any) -> FloatArray:
        """Return log P(x | class), shape (n, C), up to a constant of each row."""

    def rows(self, values: Any, rows: slice) -> Any:
        """Return some rows of values that were read."""


class DrawnPart(FittedPart, Protocol):
    """Fitted features whose evidence can be drawn from its posterior, for intervals."""

    def draw_evidence(
        self, values: Any, n_draws: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw log P(x | class, parameters) given the training data, x, and each y*.

        Returns
        -------
        evidence : ndarray of shape (C, n, S, C - 1)
            For each y*, row and draw: the log likelihood of each class less that of the first. No
            row's draws may depend on the other rows.
        log_weight : ndarray of shape (C, n, S)
            Log weights of the draws.
        """


FittedToAll = FittedPart | list[FittedPart] | None
"""A part fitted to all rows, or one for each number of features."""


# --------------------------------------------------------------------------------------------------
# Training parts
# --------------------------------------------------------------------------------------------------


class FoldMemo:
    """Statistics of the training rows outside a fold, shared by models of the same table.

    Only those of the last rows are kept: models go through the folds together.
    """

    def __init__(self) -> None:
        self._rows: IntArray | None = None
        self._results: dict[Any, Any] = {}

    def get(self, rows: IntArray, key: Any, make: Callable[[], Any]) -> Any:
        """Return the result of ``make`` for these rows and this key, made once."""
        if self._rows is None or not np.array_equal(self._rows, rows):
            self._rows, self._results = rows, {}
        if key not in self._results:
            self._results[key] = make()
        return self._results[key]


@dataclass(frozen=True, slots=True)
class TrainingPart:
    """Features of one kind in a training table: fitted to all rows, or to those outside a fold.

    A subclass defines the statistic of all rows (`_whole`) and of those outside a fold
    (`_without`), how a statistic is fitted (`_fitted`), and what the model reads from the fold's
    own rows (`_values`).
    """

    settings: Any

    @property
    def n_candidates(self) -> int:
        """Number of features that are ranked: all but those kept by design."""
        return int(np.sum(~self.settings.always_keep))

    def keeping(self, number: int) -> Self:
        """Return the same part with another number of features to keep."""
        return replace(self, settings=replace(self.settings, n_features=number))

    def fit(self) -> FittedPart:
        """Fit all rows."""
        return self._fitted(self._whole(None), None)

    def fit_numbers(self, numbers: Sequence[int], memo: FoldMemo | None = None) -> list[FittedPart]:
        """Fit all rows, once for each number of features to keep."""
        statistic = self._whole(memo)
        return [part._fitted(statistic, None) for part in self._with_numbers(numbers)]

    def held_out(
        self,
        folds: Sequence[IntArray],
        whole: FittedToAll = None,
        numbers: Sequence[int] | None = None,
        shown: Sequence[IntArray] | None = None,
        memo: FoldMemo | None = None,
    ) -> Iterator[tuple[list[FittedPart], list[FloatArray]]]:
        """Yield for each fold the models fitted to the other rows, and their log likelihoods.

        Parameters
        ----------
        folds : sequence of ndarray of int
            Rows of each fold.
        whole : FittedPart or list of FittedPart, optional
            The model of all rows, or of each number. The distribution of features that it has
            learned may be used in the folds: it rests on all screened features, and hardly depends
            on one fold. Selection and the kept features' own counts are always those of the fold.
        numbers : sequence of int, optional
            Numbers of features to keep, one model for each; by default what the part keeps.
        shown : sequence of ndarray of int, optional
            The rows of each fold that are predicted; by default all of them.
        memo : FoldMemo, optional
            Statistics that other models of the same table have computed.

        Yields
        ------
        models : list of FittedPart
            One for each number of features.
        log_likelihoods : list of ndarray of shape (m, C)
            Those of the m rows of the fold, from each model.
        """
        parts = self._with_numbers(numbers)
        wholes = whole if isinstance(whole, list) else [whole] * len(parts)
        fitted = (
            [part._fitted(statistic, one) for part, one in zip(parts, wholes, strict=True)]
            for _, statistic in self._without(folds, memo)
        )
        rows = folds if shown is None else shown
        for reader, (some, models) in self._reading(zip(rows, fitted, strict=True)):
            yield models, [part.log_likelihood(reader._values(part, some)) for part in models]

    def _with_numbers(self, numbers: Sequence[int] | None) -> list[Self]:
        """Return parts that keep each number of features; without numbers, the part itself."""
        return [self] if numbers is None else [self.keeping(number) for number in numbers]

    def _reading(
        self, fitted: Iterable[tuple[IntArray, list[FittedPart]]]
    ) -> Iterator[tuple[Self, tuple[IntArray, list[FittedPart]]]]:
        """Yield rows and models together with the part that reads the kept columns.

        Columns of a table beyond memory are read once, after all models are fitted.
        """
        if not is_beyond_memory(self._source):
            yield from ((self, each) for each in fitted)
            return
        pairs = list(fitted)
        rows = np.unique(np.concatenate([some for some, _ in pairs]))
        kept = [part.selection.columns for _, models in pairs for part in models]
        columns = np.unique(np.concatenate([np.array(some, dtype=np.int64) for some in kept]))
        reader = self._reading_from(Remembered.read(self._source, rows, columns))
        yield from ((reader, each) for each in pairs)

    @property
    def _source(self) -> Any:
        """The table; None where it is in memory in another form."""
        return None

    def _reading_from(self, source: Remembered) -> Self:
        """Return the same part, reading from another source."""
        raise NotImplementedError

    def read_ahead(self, folds: Sequence[IntArray], number: int, memo: FoldMemo | None) -> None:
        """Read in one pass the columns that fits of so many features will keep.

        Fits without each fold, or without folds the fit to all rows. Does nothing for a table in
        memory.
        """

    def _whole(self, memo: FoldMemo | None) -> Any:
        """Return the statistic of all rows."""
        raise NotImplementedError

    def _without(
        self, folds: Sequence[IntArray], memo: FoldMemo | None
    ) -> Iterator[tuple[IntArray, Any]]:
        """Yield the rows of each fold, and the statistic of all other rows."""
        raise NotImplementedError

    def _fitted(self, statistic: Any, whole: FittedPart | None) -> FittedPart:
        """Fit the statistic of some rows."""
        raise NotImplementedError

    def _values(self, part: Any, rows: IntArray) -> Any:
        """Return what a fitted part reads from some rows of the training table."""
        raise NotImplementedError


# --------------------------------------------------------------------------------------------------
# What is learned from held-out cases: recalibration, and the number of features
# --------------------------------------------------------------------------------------------------


def held_out_evidence(
    parts: Sequence[TrainingPart],
    folds: Sequence[IntArray],
    fitted: Sequence[FittedToAll] | None = None,
    numbers: Sequence[int] | None = None,
    shown: Sequence[IntArray] | None = None,
    memo: FoldMemo | None = None,
    models: list[list[list[FittedPart]]] | None = None,
) -> FloatArray:
    """Return log P(x | class) of held-out cases, shape (g, N, C), fold after fold.

    For each of g numbers of features that every part keeps, or all where it has fewer; without
    numbers for what the parts keep (g = 1). Other parameters are those of `TrainingPart.held_out`;
    ``models``, an empty list, is given the fitted parts by part, fold and number.
    """
    total: FloatArray | None = None
    for index, part in enumerate(parts):
        own = None if numbers is None else [min(number, part.n_candidates) for number in numbers]
        whole = None if fitted is None else fitted[index]
        by_fold, fitted_by_fold = [], []
        for of_fold, log_likelihoods in part.held_out(folds, whole, own, shown, memo):
            by_fold.append(np.stack(log_likelihoods))
            if models is not None:
                fitted_by_fold.append(of_fold)
        if models is not None:
            models.append(fitted_by_fold)
        evidence = np.concatenate(by_fold, axis=1)
        total = evidence if total is None else total + evidence
    assert total is not None
    return total


def learn_recalibrations(
    recalibrate: Any,
    parts: Sequence[TrainingPart],
    fitted: Sequence[FittedToAll],
    labels: TrainingLabels,
    numbers: Sequence[int] | None = None,
) -> list[Recalibration]:
    """Learn from predictions of held-out cases how evidence becomes a probability.

    Returns one recalibration for each number of features, or one for what the parts keep.

    Cases are held out by stratified five-fold cross-validation, repeated, and features are selected
    again each time. Leave-one-out was twice as variable, because its n selections are all alike
    (docs, "The slope"). Cases of one group are held out together.
    """
    n_recalibrations = 1 if numbers is None else len(numbers)
    if recalibrate is None:
        return [Recalibration.plugged_in(1.0)] * n_recalibrations
    repeats = repeats_of_folds(labels.codes.size)
    folds = held_out_folds(labels.codes, labels.groups, repeats, labels.seed)
    if not folds:
        warn_of_too_few_groups(labels.groups)
        return [Recalibration.plugged_in(1.0)] * n_recalibrations
    n_cases = sum(fold.size for fold in folds)
    # Repeats hold the same cases out again: all of them together are worth one pass.
    some, share = enough_cases(n_cases, labels.classes.size, EFFECTIVE_SHARE / repeats)
    shown = folds if some is None else _rows_at(folds, some)
    codes, log_prior = labels.codes[np.concatenate(shown)], labels.held_out_log_prior(folds)
    if some is not None and log_prior.ndim == 2:
        log_prior = log_prior[some]
    return [
        learn_recalibration(recalibrate, evidence, codes, log_prior, share)
        for evidence in held_out_evidence(parts, folds, fitted, numbers, shown)
    ]


def _rows_at(folds: Sequence[IntArray], positions: IntArray) -> list[IntArray]:
    """Return, by fold, the rows at increasing positions in the concatenation of all folds."""
    ends = np.cumsum([0, *(fold.size for fold in folds)])
    bounds = np.searchsorted(positions, ends)
    return [
        fold[positions[start:stop] - first]
        for fold, first, start, stop in zip(folds, ends, bounds, bounds[1:], strict=False)
    ]


def choose_number(
    recalibrate: Any, parts: Sequence[TrainingPart], labels: TrainingLabels
) -> NumberChoice:
    """Choose the number of features by the log score in five stratified folds.

    Each part keeps as many, or all of its features where it has fewer. Each number is judged with
    its own recalibration, where the model will be recalibrated: otherwise dependent features, which
    make larger models overconfident, would always favour few features.
    """
    grid = number_grid(max(part.n_candidates for part in parts))
    folds = held_out_folds(labels.codes, labels.groups, repeats=1, seed=labels.seed)
    if not folds:
        chosen = min(10, int(grid[-1]))
        return NumberChoice(np.array([chosen]), np.array([np.nan]), chosen)
    rows = np.concatenate(folds)
    codes, log_prior = labels.codes[rows], labels.held_out_log_prior(folds)
    loss = []
    for evidence in held_out_evidence(parts, folds, None, grid.tolist()):
        recalibration = learn_recalibration(
            recalibrate, evidence, codes, log_prior, share=EFFECTIVE_SHARE
        )
        loss.append(-recalibration.log_proba(evidence, log_prior)[np.arange(rows.size), codes])
    return choose_by_loss(grid, np.stack(loss))
