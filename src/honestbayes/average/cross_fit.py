"""Cross-fitting: candidates predict held-out cases; those with weight are fitted to all cases.

Every candidate predicts the same held-out cases, with selection and tuning repeated in each fold.
From these predictions each candidate's recalibration is learned, and then the weights of the pool.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from honestbayes.average.candidates import Candidate
from honestbayes.average.importance import (
    FeatureImportance,
    FoldModel,
    HeldOutPool,
    cells_of,
    feature_importance,
)
from honestbayes.average.pool import family_shares, fit_pool, pooled
from honestbayes.base.covariates import PriorDraws
from honestbayes.base.estimator import SelectiveClassifier
from honestbayes.base.intervals import ProbabilityDraws, draw_probabilities
from honestbayes.base.part import (
    FittedPart,
    FoldMemo,
    TrainingLabels,
    TrainingPart,
    held_out_evidence,
)
from honestbayes.base.recalibration import (
    EFFECTIVE_SHARE,
    Recalibration,
    fit_recalibration,
    held_out_folds,
    of_class,
)
from honestbayes.data.column_coding import ColumnCoding
from honestbayes.data.kinds import columns_of
from honestbayes.data.source import RowsOf, is_beyond_memory
from honestbayes.files.fields import Array, Check, Floats, Texts
from honestbayes.selection.leave_out import without_shared_rows
from honestbayes.status_line import StatusLine
from honestbayes.tabular import Tabular
from honestbayes.threads import one_blas_thread
from honestbayes.types import AnyArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Progress and warnings
# --------------------------------------------------------------------------------------------------


class FoldProgress:
    """Show how many folds are done and how much time the others need.

    Parameters
    ----------
    n_folds : int
        Number of folds.
    n_first : int
        Number of folds in which all models are fitted; the others take little time beside these.
    n_candidates : int
        Number of candidates, each number of features counted.
    """

    def __init__(self, n_folds: int, n_first: int, n_candidates: int) -> None:
        self._n_folds, self._n_first = n_folds, n_first
        self._what = f"trying {n_candidates} candidate{'' if n_candidates == 1 else 's'}"
        self._begin = time.monotonic()
        self._line = StatusLine()

    def __call__(self, done: int) -> None:
        """Show that so many folds are done, and the remaining time."""
        each = (time.monotonic() - self._begin) / done
        left = max(self._n_first - done, 0) * each
        if self._n_first == self._n_folds or done > self._n_first:
            left = (self._n_folds - done) * each
        text = f"{self._what}: fold {done} of {self._n_folds}"
        text += f", about {left:.0f} s to go" if done < self._n_folds else ""
        self._line.show(text, last=done == self._n_folds)


CapturedWarning = tuple[str, type[Warning]]
"""The text and the category of a warning."""

_OWN_DOING = "X does not have valid feature names"
"""The beginning of a warning that the average causes itself, by passing arrays to its models."""


def capture_warnings(work: Callable[..., Any], *given: Any) -> tuple[Any, list[CapturedWarning]]:
    """Run a function, perhaps in another process; return its result and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = work(*given)
    return result, [(str(each.message), each.category) for each in caught]


def warn_once(captured: Iterable[CapturedWarning], stacklevel: int) -> None:
    """Give each different warning once."""
    for text, kind in dict.fromkeys(captured):
        if not text.startswith(_OWN_DOING):
            warnings.warn(text, kind, stacklevel=stacklevel + 1)


@contextmanager
def warnings_once() -> Iterator[None]:
    """Give each different warning of many models once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    warn_once([(str(each.message), each.category) for each in caught], stacklevel=4)


# --------------------------------------------------------------------------------------------------
# The table of candidates
# --------------------------------------------------------------------------------------------------


FREQUENCIES = "class frequencies"
"""Name of the last row of the table: the class frequencies without any model."""

COVARIATES = "covariates"
"""The same where there are covariates: P(class | covariates) without any model."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ModelTable(Tabular):
    """The candidates of an average, in the order in which they were tried.

    Attributes
    ----------
    name : tuple of str
        Candidates; the last is the class frequencies alone.
    n_features : ndarray of shape (M,)
        Number of features; NaN where the candidate chooses it.
    weight : ndarray of shape (M,)
        Weights in the pool. They need not sum to 1; the class frequencies have the remainder.
    slope, outlier_rate : ndarray of shape (M,)
        Posterior means of each candidate's recalibration.
    log_score, error : ndarray of shape (M,)
        Average minus log probability of the observed class of held-out cases, after
        recalibration, and its standard error over cases.
    """

    name: Annotated[tuple[str, ...], Texts()]
    n_features: Annotated[FloatArray, Array("tried")]
    weight: Annotated[FloatArray, Floats("tried", low=0.0, high=100.0)]
    slope: Annotated[FloatArray, Floats("tried", low=0.0, high=1e6)]
    outlier_rate: Annotated[FloatArray, Floats("tried", low=0.0, high=1.0)]
    log_score: Annotated[FloatArray, Array("tried")]
    error: Annotated[FloatArray, Array("tried")]

    def check(self, check: Check) -> None:
        """Refuse columns that are not of one length."""
        check(len(self.name) == self.weight.size, "name", "has another length")

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        numbers = [None if np.isnan(k) else int(k) for k in self.n_features]
        rest = ("weight", "slope", "outlier_rate", "log_score", "error")
        return {
            "model": list(self.name),
            "n_features": numbers,
            **{name: getattr(self, name).tolist() for name in rest},
        }

    def __str__(self) -> str:
        """Return an aligned table."""
        rows = [("model", "features", "weight", "slope", "outlier rate", "log score", "error")]
        for i, name in enumerate(self.name):
            k = self.n_features[i]
            rows.append(
                (
                    name,
                    "" if np.isnan(k) else f"{k:.0f}",
                    f"{self.weight[i]:.3f}",
                    f"{self.slope[i]:.2f}",
                    f"{self.outlier_rate[i]:.3f}",
                    f"{self.log_score[i]:.3f}",
                    f"{self.error[i]:.3f}",
                )
            )
        first, *sizes = (max(map(len, column)) for column in zip(*rows, strict=True))
        return "\n".join(
            "  ".join(
                (f"{name:<{first}}", *(f"{c:>{s}}" for c, s in zip(cells, sizes, strict=True)))
            )
            for name, *cells in rows
        )


# --------------------------------------------------------------------------------------------------
# Predictions of held-out cases
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PreparedCandidate:
    """A candidate and its training table, ready to predict held-out cases.

    Attributes
    ----------
    candidate : Candidate
        The model.
    table : table
        The table in the form that the model takes.
    labels : TrainingLabels
        Classes of its rows.
    parts, whole : list, or None
        The training parts, and these fitted to all rows with each number of features; for models
        of several numbers of features, which share a screening. Where a fit takes long, ``whole``
        is None.
    """

    candidate: Candidate
    table: Any
    labels: TrainingLabels
    parts: list[TrainingPart] | None
    whole: list[list[FittedPart]] | None

    @classmethod
    def of(
        cls, candidate: Candidate, table: Any, labels: TrainingLabels, memo: FoldMemo
    ) -> PreparedCandidate:
        """Prepare a candidate; ``memo`` is shared by all candidates of the same table."""
        model = candidate.estimator
        if candidate.numbers is None or not isinstance(model, SelectiveClassifier):
            return cls(candidate, table, labels, None, None)
        parts = list(model._training_parts(table, labels))
        prepared = cls(candidate, table, labels, parts, None)
        prepared.read_ahead([], memo)
        if candidate.held_out_once:
            return prepared
        # One fit to all rows for each number of features: what it learns, such as the length of a
        # kernel, would be wrong for another number.
        numbers = [[min(k, part.n_candidates) for k in candidate.numbers] for part in parts]
        whole = [part.fit_numbers(own, memo) for part, own in zip(parts, numbers, strict=True)]
        return replace(prepared, whole=whole)

    @property
    def held_out_once(self) -> bool:
        """Whether a fit takes long, so that every case is held out only once."""
        chains = "n_chains" in self.candidate.estimator.get_params()
        return chains or self.candidate.held_out_once

    def read_ahead(self, folds: Sequence[IntArray], memo: FoldMemo) -> None:
        """Read in one pass the columns that are kept without each fold, or by all rows."""
        for part in self.parts or ():
            number = min(max(self.candidate.numbers or (0,)), part.n_candidates)
            part.read_ahead(folds, number, memo)

    def evidence(
        self, folds: Sequence[IntArray], memo: FoldMemo, fitted: list[Any] | None = None
    ) -> FloatArray:
        """Return log P(x | class) of the cases of some folds, shape (g, m, C).

        ``fitted``, an empty list, is given what was fitted: the parts by part, fold and number of
        features, or a classifier for each fold.
        """
        if self.parts is not None:
            numbers = self.candidate.numbers
            return held_out_evidence(self.parts, folds, self.whole, numbers, None, memo, fitted)
        evidence = []
        for rows, others in self.labels.without(folds):
            labels = self.labels.classes[self.labels.codes[others]]
            model = clone(self.candidate.estimator).fit(rows_of(self.table, others), labels)
            log_prior = self.labels.log_prior(others)
            new = rows_of(self.table, rows)
            evidence.append(model_evidence(model, new, log_prior, others.size))
            if fitted is not None:
                fitted.append(model)
        return np.concatenate(evidence)[None]

    def fold_model(
        self, fitted: list[Any], fold: int, number: int, rows: IntArray, sources: IntArray
    ) -> FoldModel:
        """Return one of the models that `evidence` fitted, for cells of any cases of its fold.

        Parameters
        ----------
        fitted : list
            What `evidence` gave.
        fold, number : int
            Which of the folds, and of the numbers of features.
        rows : ndarray of int
            Rows of the fold.
        sources : ndarray of int
            Column that each column of the table comes from.
        """
        if self.parts is None:
            model = fitted[fold]
            columns = np.arange(self.table.shape[1])
            if isinstance(model, SelectiveClassifier):
                columns, model = model.kept_columns(), model.on_kept_columns()
            others = np.setdiff1d(np.arange(self.labels.codes.size), rows)
            log_prior = self.labels.log_prior(others)
            table = columns_of(rows_of(self.table, rows), columns)

            def evaluate(cells: IntArray) -> FloatArray:
                return model_evidence(model, cells_of(table, cells), log_prior, others.size)

            return FoldModel(sources[columns], evaluate)
        self.candidate.estimator.n_features_in_ = self.table.shape[1]
        by_part = [
            (one, own[np.array(one.selection.columns, dtype=np.int64)], part._values(one, rows))
            for part, own, one in zip(
                self.parts,
                self.candidate.estimator._part_columns(),
                [of_part[fold][number] for of_part in fitted],
                strict=True,
            )
        ]
        ends = np.cumsum([columns.size for _, columns, _ in by_part])[:-1]
        # Evidence that adds up over columns is computed once for each cell of the fold.
        tables = [
            one.cell_evidence(values) if hasattr(one, "cell_evidence") else None
            for one, _, values in by_part
        ]

        def add_up(cells: IntArray) -> FloatArray:
            total = np.zeros((len(cells), self.labels.classes.size))
            split = np.split(cells, ends, axis=1)
            for (one, _, values), table, own in zip(by_part, tables, split, strict=True):
                if table is None:
                    total += one.log_likelihood(cells_of(values, own))
                else:
                    total += table[own, :, np.arange(own.shape[1])].sum(axis=1)
            return total

        return FoldModel(sources[np.concatenate([columns for _, columns, _ in by_part])], add_up)


@one_blas_thread()
def evidence_of_run(
    prepared: Sequence[PreparedCandidate], folds: Sequence[IntArray], first: bool, keep: bool
) -> tuple[list[Any], list[list[Any]]]:
    """Return each candidate's evidence on some folds; None where it has held out all cases once.

    Also returns what was fitted, if that is to be kept; see `PreparedCandidate.evidence`.
    """
    fitted: list[list[Any]] = [[] for _ in prepared]
    # Candidates share what they compute of the same rows: its keys name the columns, which those
    # of a table as it is and as numbers have in common only where they are the same.
    memo = FoldMemo()
    for each in prepared:
        each.read_ahead(folds, memo)
    evidence = [
        each.evidence(folds, memo, models if keep else None)
        if first or not each.held_out_once
        else None
        for each, models in zip(prepared, fitted, strict=True)
    ]
    return evidence, fitted


def runs_of_folds(table: Any, folds: Sequence[IntArray], n_classes: int) -> list[list[IntArray]]:
    """Return the folds in groups that share one pass over the table, if it is beyond memory."""
    if not is_beyond_memory(table):
        return [[fold] for fold in folds]
    return list(without_shared_rows(list(folds), table.shape[1] * n_classes))


def held_out_by_all(
    prepared: Sequence[PreparedCandidate],
    runs: Sequence[Sequence[IntArray]],
    n_first: int,
    n_jobs: int | None,
    watch: Callable[[int], None] | None = None,
    keep: bool = False,
) -> tuple[list[FloatArray], int, list[list[list[Any]]]]:
    """Return log P(x | class) of held-out cases, each of shape (g, N, C), fold after fold.

    Candidates go through the runs of folds together, so that they share statistics of the same
    rows. Those whose fits take long are fitted only in the first ``n_first`` folds, which hold out
    every case once; in the other repeats their predictions of these folds are used again. ``watch``
    is called with the number of folds that are done.

    Also returns the number of folds with results: fewer than all where the user stops the run
    (Ctrl-C) after the first ``n_first``; and, with ``keep``, what each candidate fitted in each of
    the first runs.
    """
    ends = list(accumulate(map(len, runs)))
    results = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(capture_warnings)(
            evidence_of_run, prepared, run, end <= n_first, keep and end <= n_first
        )
        for run, end in zip(runs, ends, strict=True)
    )
    by_run: list[list[Any]] = []
    fitted: list[list[list[Any]]] = []
    captured: list[CapturedWarning] = []
    try:
        for (by_candidate, models), more in results:
            by_run.append(by_candidate)
            if keep and ends[len(by_run) - 1] <= n_first:
                fitted.append(models)
            captured += more
            if watch is not None:
                watch(ends[len(by_run) - 1])
    except KeyboardInterrupt:
        if not by_run or ends[len(by_run) - 1] < n_first:
            raise
    warn_once(captured, stacklevel=6)
    folds = [fold for run in runs[: len(by_run)] for fold in run]
    rows = np.concatenate(folds)
    result = []
    for index in range(len(prepared)):
        own = [by_candidate[index] for by_candidate in by_run if by_candidate[index] is not None]
        evidence = np.concatenate(own, 1)
        if evidence.shape[1] < rows.size:  # fitted in the first folds only
            position = np.empty(rows.max() + 1, dtype=np.int64)
            position[np.concatenate(folds[:n_first])] = np.arange(evidence.shape[1])
            evidence = evidence[:, position[rows]]
        result.append(evidence)
    return result, len(folds), fitted


def model_evidence(model: Any, table: Any, log_prior: FloatArray, n_cases: int) -> FloatArray:
    """Return the evidence log P(x | class) of a fitted classifier, shape (n, C).

    Up to a constant of each row, which no step after it depends on. Probabilities of classifiers
    of the user are kept away from 0 and 1 by half a training case: what they never saw is not
    impossible, and one probability of 0 would make the pool's log score infinite. A decision
    function is taken as evidence; the recalibration learns its scale.
    """
    if isinstance(model, SelectiveClassifier):
        return model._log_evidence(table)
    if hasattr(model, "predict_proba"):
        least = 1 / (2 * max(n_cases, 1))
        proba = np.clip(np.asarray(model.predict_proba(table), dtype=float), least, 1 - least)
        return np.asarray(np.log(proba) - log_prior)
    decision = np.asarray(model.decision_function(table), dtype=float)
    if decision.ndim == 1:
        return np.stack([np.zeros(decision.size), decision], axis=1)
    return decision


def rows_of(table: Any, rows: AnyArray | slice) -> Any:
    """Return some rows of a table of any kind."""
    if hasattr(table, "blocks"):
        return RowsOf(table, np.arange(table.shape[0])[rows])
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    if hasattr(table, "tocsr") and table.format != "csr":
        table = table.tocsr()
    return table[rows]


# --------------------------------------------------------------------------------------------------
# Members of the average
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class AverageMember:
    """A fitted model of the average.

    Attributes
    ----------
    name : str
        Name of the candidate.
    model : estimator
        Fitted without recalibration; one of this package takes its kept columns only.
    columns : ndarray of int of shape (k,)
        These columns in the table, or in the table as numbers.
    as_numbers : bool
        Which of the two tables it takes.
    recalibration : Recalibration
        How its evidence becomes a probability.
    weight : float
        Weight in the log-linear pool.
    """

    name: str
    model: Any
    columns: IntArray
    as_numbers: bool
    recalibration: Recalibration
    weight: float

    def evidence(self, table: Any, log_prior: FloatArray, n_cases: int) -> FloatArray:
        """Return log P(x | class) up to a constant of each row, shape (n, C)."""
        return model_evidence(self.model, columns_of(table, self.columns), log_prior, n_cases)

    def draws(
        self,
        table: Any,
        class_weights: FloatArray,
        n_cases: int,
        n_draws: int,
        prior: PriorDraws | None = None,
    ) -> ProbabilityDraws:
        """Draw P(class | x) from the posterior of the model, its slope and its outlier rate.

        A model without posterior draws is taken as it is: only slope and outlier rate vary.
        """
        columns = columns_of(table, self.columns)
        parts: list[Any]
        if isinstance(self.model, SelectiveClassifier):
            _, parts = self.model._read(columns)
            drawn = all(hasattr(part, "draw_evidence") for part, _ in parts)
        if not isinstance(self.model, SelectiveClassifier) or not drawn:
            log_prior = np.log(class_weights / class_weights.sum())
            parts = [(_FixedEvidence(), model_evidence(self.model, columns, log_prior, n_cases))]
        return draw_probabilities(
            parts, table.shape[0], class_weights, None, self.recalibration, n_draws, prior
        )


class _FixedEvidence:
    """A part whose evidence is known and does not vary, for `draw_probabilities`."""

    def log_likelihood(self, evidence: FloatArray) -> FloatArray:
        return evidence

    def draw_evidence(
        self, evidence: FloatArray, n_draws: int, _: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        n, n_classes = evidence.shape
        shape = (n_classes, n, n_draws)
        more = (evidence[:, 1:] - evidence[:, :1])[None, :, None]
        return np.broadcast_to(more, (*shape, n_classes - 1)), np.zeros(shape)


@dataclass(frozen=True, slots=True)
class TableViews:
    """A table as it is, and as numbers; and its covariates, if there are any."""

    plain: Any
    numbers: Any
    design: Any = None

    def of(self, as_numbers: bool) -> Any:
        """Return one of the two."""
        return self.numbers if as_numbers else self.plain


@dataclass(frozen=True, slots=True, eq=False)
class CandidateResults:
    """Results of all candidates on the same held-out cases.

    Attributes
    ----------
    candidates : list of (Candidate, int or None)
        Each with one number of features.
    recalibrations : list of Recalibration
        The recalibration of each.
    weights : ndarray of shape (M,)
        Weights in the pool.
    table : ModelTable
        The table that users see.
    log_score : float
        Log score of the pool on the held-out cases.
    interrupted : bool
        Whether the user stopped it before all folds were done.
    importance : FeatureImportance or None
        Of the columns, if it was measured.
    """

    candidates: list[tuple[Candidate, int | None]]
    recalibrations: list[Recalibration]
    weights: FloatArray
    table: ModelTable
    log_score: float
    interrupted: bool = False
    importance: FeatureImportance | None = None


_REPEATS = ((100, 4), (500, 2))
"""Numbers of times that folds are drawn for so many cases at most, then once. With half as many the
log score rose by 0.008 on the only one of eleven tables that had fewer than 100 cases, and by
0.0000 on the others on average; with one instead of four by 0.0010 on those of 120 to 350 cases and
0.0003 on those of 450 and more."""


def repeats_of_average(n_cases: int, *, quick: bool = False) -> int:
    """Return how often the folds of an average are drawn; half as often for a first answer."""
    repeats = next((repeats for most, repeats in _REPEATS if n_cases <= most), 1)
    return -(-repeats // 2) if quick else repeats


def try_candidates(
    candidates: Sequence[Candidate],
    views: TableViews,
    labels: TrainingLabels,
    n_jobs: int | None,
    *,
    verbose: bool = False,
    quick: bool = False,
    coding: ColumnCoding | None = None,
) -> CandidateResults:
    """Learn the recalibration and the weight of each candidate from held-out cases.

    With ``coding``, that of the table's columns, feature importance is measured; not on tables
    beyond memory.
    """
    repeats = repeats_of_average(labels.codes.size, quick=quick)
    folds = held_out_folds(labels.codes, labels.groups, repeats, labels.seed)
    single = [(c, k) for c in candidates for k in (c.numbers or (None,))]
    shares = family_shares([candidate.family or candidate.name for candidate, _ in single])
    if not folds:
        return _equal_weights(single, shares)
    first = len(folds) // repeats if labels.groups is None else len(folds)
    memos = {id(view): FoldMemo() for view in (views.plain, views.numbers)}
    tables = [views.of(candidate.as_numbers) for candidate in candidates]
    prepared = [
        PreparedCandidate.of(candidate, table, labels, memos[id(table)])
        for candidate, table in zip(candidates, tables, strict=True)
    ]
    del memos  # statistics of all rows, which the folds do not need
    slow = any(each.held_out_once for each in prepared)
    progress = FoldProgress(len(folds), first if slow else len(folds), len(single))
    if is_beyond_memory(views.plain):
        n_jobs = None  # candidates share the columns that were read
    runs = runs_of_folds(views.plain, folds, labels.classes.size)
    if is_beyond_memory(views.plain):
        coding = None
    held_out, n_done, fitted = held_out_by_all(
        prepared, runs, first, n_jobs, progress if verbose else None, keep=coding is not None
    )
    rows = np.concatenate(folds[:n_done])
    codes = labels.codes[rows]
    # With covariates, each case's own held-out prior, which no slope multiplies.
    log_prior = labels.held_out_log_prior(folds[:n_done])
    # What a held-out prediction is worth: repeats predict the same cases, so that all repeats
    # together are worth one; after an interruption fewer predictions share the same worth.
    worth = EFFECTIVE_SHARE / repeats * (len(folds) / n_done)
    evidence = [each for several in held_out for each in several]
    recalibrations = [fit_recalibration(each, codes, log_prior, worth) for each in evidence]
    # The pool's weights are learned after recalibration, from the same predictions: a candidate
    # that is only overconfident must not lose its weight for that.
    log_proba = np.stack(
        [
            recalibration.log_proba(e, log_prior)
            for recalibration, e in zip(recalibrations, evidence, strict=True)
        ]
    )
    weights = fit_pool(log_proba, codes, log_prior, shares, worth)
    frequencies = np.broadcast_to(log_prior, log_proba[0].shape)
    losses = [
        _loss_by_case(each, rows, codes, labels.codes.size) for each in (*log_proba, frequencies)
    ]
    pool = _loss_by_case(pooled(log_proba, weights, log_prior), rows, codes, labels.codes.size)
    importance = None
    if coding is not None:
        n_first = sum(fold.size for fold in folds[:first])
        used = np.flatnonzero(weights > 0)
        held_out_pool = HeldOutPool(
            folds[:first],
            _fold_models(prepared, fitted, folds[:first], used, coding),
            log_proba[used, :n_first],
            log_prior[:n_first] if log_prior.ndim == 2 else log_prior,
            weights[used],
            [recalibrations[index] for index in used],
        )
        with warnings.catch_warnings():  # the same as of the folds themselves
            warnings.simplefilter("ignore")
            importance = feature_importance(held_out_pool, views.numbers, coding, labels)
    return CandidateResults(
        single,
        recalibrations,
        weights,
        _table(single, weights, recalibrations, losses, covariates=labels.design is not None),
        float(np.nanmean(pool)),
        interrupted=n_done < len(folds),
        importance=importance,
    )


def _fold_models(
    prepared: Sequence[PreparedCandidate],
    fitted: Sequence[Sequence[list[Any]]],
    folds: Sequence[IntArray],
    used: IntArray,
    coding: ColumnCoding,
) -> list[list[FoldModel]]:
    """Return the models of each fold whose indices among all candidates are ``used``."""
    single = [
        (index, number)
        for index, each in enumerate(prepared)
        for number in range(len(each.candidate.numbers or (None,)))
    ]
    plain, numbers = np.arange(coding.varying().size), coding.sources()
    return [
        [
            prepared[index].fold_model(
                fitted[fold][index],
                0,  # runs of tables in memory have one fold
                number,
                rows,
                numbers if prepared[index].candidate.as_numbers else plain,
            )
            for index, number in (single[one] for one in used)
        ]
        for fold, rows in enumerate(folds)
    ]


def _equal_weights(
    single: list[tuple[Candidate, int | None]], shares: FloatArray
) -> CandidateResults:
    """Return the plain average, where no case can be held out."""
    warnings.warn(
        "no cases could be held out, so models are averaged with equal weights and not "
        "recalibrated. "
        "Each class needs cases in two groups or more.",
        UserWarning,
        stacklevel=4,
    )
    recalibrations = [Recalibration.plugged_in(1.0) for _ in single]
    unknown = [np.full(1, np.nan) for _ in range(len(single) + 1)]
    return CandidateResults(
        single, recalibrations, shares, _table(single, shares, recalibrations, unknown), np.nan
    )


def class_frequencies_only(labels: TrainingLabels) -> tuple[ModelTable, float]:
    """Return the table and the log score of an average without models: no column varies."""
    warnings.warn(
        "every column of X is constant: all rows are predicted by the class frequencies."
        if labels.design is None
        else "no feature of X varies: all rows are predicted by their covariates.",
        UserWarning,
        stacklevel=5,
    )
    covariates, codes, rows = labels.design is not None, labels.codes, np.arange(labels.codes.size)
    folds = held_out_folds(codes, labels.groups, 1, labels.seed) if covariates else []
    if folds:
        rows = np.concatenate(folds)
    log_prior = labels.held_out_log_prior(folds) if folds else labels.log_prior()
    loss = -of_class(log_prior, codes[rows])
    return _table([], np.zeros(0), [], [loss], covariates=bool(folds)), float(loss.mean())


def _loss_by_case(log_proba: FloatArray, rows: IntArray, codes: IntArray, n: int) -> FloatArray:
    """Return minus the log probability of each case's class, averaged over repeats."""
    loss = -log_proba[np.arange(rows.size), codes]
    times = np.bincount(rows, minlength=n)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(rows, loss, n) / times)


def _table(
    single: list[tuple[Candidate, int | None]],
    weights: FloatArray,
    recalibrations: list[Recalibration],
    losses: list[FloatArray],
    *,
    covariates: bool = False,
) -> ModelTable:
    seen = [loss[~np.isnan(loss)] for loss in losses]
    spread = [loss.std(ddof=1) / np.sqrt(loss.size) if loss.size > 1 else np.nan for loss in seen]
    return ModelTable(
        name=(
            *(candidate.name for candidate, _ in single),
            COVARIATES if covariates else FREQUENCIES,
        ),
        n_features=np.array([np.nan if k is None else k for _, k in single] + [0.0]),
        weight=np.append(weights, max(0.0, 1 - weights.sum())),
        slope=np.array([recalibration.mean_slope() for recalibration in recalibrations] + [1.0]),
        outlier_rate=np.array(
            [recalibration.mean_outlier_rate() for recalibration in recalibrations] + [0.0]
        ),
        log_score=np.array([loss.mean() if loss.size else np.nan for loss in seen]),
        error=np.array(spread),
    )


def fit_members(
    results: CandidateResults, views: TableViews, labels: TrainingLabels, n_jobs: int | None
) -> list[AverageMember]:
    """Fit the candidates that have any weight to all cases.

    The table is screened once for all that rank its columns alike, unless they are fitted in
    several processes.
    """
    used = np.flatnonzero(results.weights > 0).tolist()
    families = [list(alike) for _, alike in groupby(used, lambda i: results.candidates[i][0].name)]
    if is_beyond_memory(views.plain):
        n_jobs = None
    memos = {id(view): FoldMemo() for view in (views.plain, views.numbers)}
    fitted = Parallel(n_jobs=n_jobs)(
        delayed(capture_warnings)(_fit_candidate, results, indices, views, labels, memos)
        for indices in families
    )
    warn_once([warning for _, captured in fitted for warning in captured], stacklevel=4)
    return [member for members, _ in fitted for member in members]


@one_blas_thread()
def _fit_candidate(
    results: CandidateResults,
    indices: list[int],
    views: TableViews,
    labels: TrainingLabels,
    memos: dict[int, FoldMemo],
) -> list[AverageMember]:
    """Fit a candidate with each number of features that has any weight."""
    candidate = results.candidates[indices[0]][0]
    table, classes = views.of(candidate.as_numbers), labels.classes[labels.codes]
    numbers = [k for k in (results.candidates[i][1] for i in indices) if k is not None]
    model = clone(candidate.estimator)
    if numbers:
        # Beside other processes the memo has arrived under another identity: without it, then.
        models = model._fit_numbers(table, classes, numbers, memo=memos.get(id(table)))
    else:
        models = [model.fit(table, classes)]
    return [
        _member(candidate, one, table.shape[1], results.recalibrations[i], results.weights[i])
        for i, one in zip(indices, models, strict=True)
    ]


def _member(
    candidate: Candidate, model: Any, n_columns: int, recalibration: Recalibration, weight: float
) -> AverageMember:
    columns = np.arange(n_columns)
    if isinstance(model, SelectiveClassifier):
        columns, model = model.kept_columns(), model.on_kept_columns()
    return AverageMember(
        candidate.name, model, columns, candidate.as_numbers, recalibration, float(weight)
    )
