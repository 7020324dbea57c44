"""Scorers of candidates by naive Bayes, on training rows or held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from joblib import effective_n_jobs
from scipy.special import log_softmax
from sklearn.utils.parallel import Parallel, delayed

from honestbayes.data.categories import Coded
from honestbayes.models.discrete.estimator import LevelCounts, count_levels
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

Scoring = Literal["squared_error", "log_loss"] | Callable[..., float]

FARTHEST = 150.0
"""Categories that change log-odds by more are not turned into factors."""

NO_ROWS = "a class has no training rows left; hold out fewer rows."

FEW_CELLS = 10_000_000
"""Cells that one thread is done with before others would have started."""

CHUNK = 1 << 13
"""Rows at once where one feature is looked at."""


class Scorer(Protocol):
    """Scores the features so far, and each candidate added to them."""

    def loss(self) -> float:
        """Return the loss with the features so far."""

    def losses(self, candidates: IntArray) -> FloatArray:
        """Return the loss with each candidate added, shape (m,)."""

    def add(self, column: int) -> None:
        """Add a feature for good."""


@dataclass(frozen=True, slots=True, eq=False)
class CodedCases:
    """Rows and their classes.

    Attributes
    ----------
    coded : Coded
        Their cells.
    labels : ndarray of int8 or int16 of shape (n,)
        Class of each row.
    classes : ndarray of shape (C,)
        What the labels stand for.
    weight : ndarray of shape (n,)
        What each row counts.
    """

    coded: Coded
    labels: AnyArray
    classes: AnyArray
    weight: FloatArray

    def with_weight(self, weight: FloatArray) -> CodedCases:
        """Return the same rows, weighted otherwise."""
        return CodedCases(self.coded, self.labels, self.classes, weight)

    def only(self, rows: BoolArray) -> CodedCases:
        """Return the same rows, of which only some have any weight."""
        return self if rows.all() else self.with_weight(np.where(rows, self.weight, 0.0))

    def counts(self, n_jobs: int | None = None) -> LevelCounts:
        """Count all columns by class."""
        return count_levels(self.coded, self.labels, self.weight, self.classes.size, n_jobs)


def counts_by_fold(cases: CodedCases, fold: AnyArray, n_jobs: int | None) -> list[LevelCounts]:
    """Return the counts without each fold; rows of no fold (-1) count in all.

    All folds are counted in one pass, as if each had classes of its own.
    """
    n_classes, n_folds = cases.classes.size, int(fold.max()) + 1
    joint = (fold.astype(np.int64) + 1) * n_classes + cases.labels
    counts = count_levels(cases.coded, joint, cases.weight, (n_folds + 1) * n_classes, n_jobs)
    slots = counts.slots.reshape(-1, n_folds + 1, n_classes)
    classes = counts.classes.reshape(n_folds + 1, n_classes)
    result = []
    for held_out in range(1, n_folds + 1):
        others = [f for f in range(n_folds + 1) if f != held_out]
        result.append(
            LevelCounts(
                first=counts.first,
                n_levels=counts.n_levels,
                is_open=counts.is_open,
                slots=slots[:, others].sum(axis=1),
                classes=classes[others].sum(axis=0),
            )
        )
    return result


class ScorerFactory(Protocol):
    """Makes scorers: on the rows they are trained on, or on others."""

    def on_training(self, rows: BoolArray) -> Scorer:
        """Return a scorer of the rows that it is trained on."""

    def on_others(self, training: BoolArray, judged: BoolArray) -> Scorer:
        """Return a scorer that is trained on some rows and scores others."""

    def by_fold(self, fold: AnyArray) -> Scorer:
        """Return a scorer of all rows that have a fold, each by the rows of no or other folds."""


@dataclass(frozen=True, slots=True, eq=False)
class NaiveBayesScorers:
    """Naive Bayes on codes.

    Attributes
    ----------
    cases : CodedCases
        All rows.
    smoothing, scoring, n_jobs
        As in `NaiveBayesScorer`.
    """

    cases: CodedCases
    smoothing: float
    scoring: Scoring
    n_jobs: int | None

    def on_training(self, rows: BoolArray) -> Scorer:
        """Return a scorer of the rows that it is trained on."""
        return self.on_others(rows, rows)

    def on_others(self, training: BoolArray, judged: BoolArray) -> Scorer:
        """Return a scorer that is trained on some rows and scores others."""
        counts = self.cases.only(training).counts(self.n_jobs)
        fold = np.zeros(self.cases.labels.size, dtype=np.int32)
        return self._scorer(self.cases.only(judged), [counts], fold)

    def by_fold(self, fold: AnyArray) -> Scorer:
        """Return a scorer of all rows that have a fold, each by the rows of no or other folds."""
        judged = self.cases.only(fold >= 0)
        counts = counts_by_fold(self.cases, fold, self.n_jobs)
        return self._scorer(judged, counts, np.maximum(fold, 0))

    def _scorer(self, judged: CodedCases, counts: list[LevelCounts], fold: AnyArray) -> Scorer:
        for one in counts:
            if not np.all(one.classes > 0):
                raise ValueError(NO_ROWS)
        return NaiveBayesScorer(judged, counts, fold, self.smoothing, self.scoring, self.n_jobs)


class NaiveBayesScorer:
    """Naive Bayes on codes; a candidate costs one pass over its cells, not a fit.

    Parameters
    ----------
    cases : CodedCases
        The rows that are judged, with their weights; those of weight 0 are skipped.
    counts : sequence of LevelCounts
        Counts of the training rows, for each fold.
    fold : ndarray of int of shape (n,)
        Which of these holds for each row.
    smoothing : float
        Pseudocount of each category.
    scoring : {"squared_error", "log_loss"} or callable
        The loss.
    n_jobs : int, optional
        Number of threads.
    """

    def __init__(
        self,
        cases: CodedCases,
        counts: list[LevelCounts],
        fold: AnyArray,
        smoothing: float,
        scoring: Scoring,
        n_jobs: int | None,
    ) -> None:
        self._cases, self._fold = cases, fold
        self._scoring, self._n_jobs = scoring, n_jobs
        self._first = counts[0].first
        self._log_ratio = np.stack([_ratios(one.log_likelihood(smoothing)) for one in counts])
        self._ratio = np.zeros((0, 0, 0, 0))
        if np.abs(self._log_ratio).max() <= FARTHEST:
            self._ratio = np.exp(self._log_ratio)
        prior = np.stack([_ratios(one.log_prior()[None])[..., 0] for one in counts])
        self._margin = prior[fold, cases.labels]
        self._total = float(cases.weight.sum())

    def add(self, column: int) -> None:
        """Add a feature for good."""
        for rows in self._chunks():
            self._margin[rows] += self._evidence(column, rows)

    def loss(self) -> float:
        """Return the loss with the features so far."""
        if callable(self._scoring):
            return self._user_loss(self._scoring, self._margin)
        weight = self._cases.weight
        sums = [weight[rows] @ _loss(self._margin[rows], self._scoring) for rows in self._chunks()]
        return float(sum(sums)) / self._total

    def losses(self, candidates: IntArray) -> FloatArray:
        """Return the loss with each candidate added, shape (m,)."""
        if callable(self._scoring):
            everything = slice(None)
            margins = (self._margin + self._evidence(j, everything) for j in candidates.tolist())
            return np.array([self._user_loss(self._scoring, margin) for margin in margins])
        if candidates.size * self._cases.labels.size < FEW_CELLS:
            return self._sums(candidates) / self._total
        parts = np.array_split(candidates, effective_n_jobs(self._n_jobs))
        sums = Parallel(n_jobs=self._n_jobs, prefer="threads")(
            delayed(self._sums)(part) for part in parts
        )
        return np.concatenate(sums) / self._total

    def _sums(self, columns: IntArray) -> FloatArray:
        from honestbayes.search.losses import LOG, SQUARED, add_losses

        cases = self._cases
        out = np.zeros(columns.size)
        loss = SQUARED if self._scoring == "squared_error" else LOG
        add_losses(
            cases.coded.cells,
            self._first,
            columns,
            self._log_ratio,
            self._ratio,
            self._fold,
            cases.labels,
            self._margin,
            cases.weight,
            loss,
            out,
        )
        return out

    def _chunks(self) -> Iterator[slice]:
        """Yield all rows, some at a time, so that little memory is needed."""
        n = self._cases.labels.size
        return (slice(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK))

    def _evidence(self, column: int, rows: slice) -> FloatArray:
        """Return a column's contributions to the log-odds of other classes, shape (n, C - 1)."""
        slot = self._first[column] + 1 + self._cases.coded.cells[rows, column].astype(np.int64)
        return np.asarray(self._log_ratio[self._fold[rows], self._cases.labels[rows], :, slot])

    def _user_loss(self, scoring: Callable[..., float], margin: FloatArray) -> float:
        """Return the user's loss on the rows that have weight."""
        cases = self._cases
        used = cases.weight > 0
        log_proba, labels = _log_proba(margin[used]), cases.labels[used]
        proba = np.empty(log_proba.shape)
        is_own = np.arange(cases.classes.size) == labels[:, None]
        proba[is_own] = np.exp(log_proba[:, 0])
        proba[~is_own] = np.exp(log_proba[:, 1:]).ravel()
        return user_loss(scoring, cases.classes[labels], proba, cases.weight[used])


def _log_proba(margin: FloatArray) -> FloatArray:
    """Return log probabilities, of the actual class first, from the others' log-odds."""
    whole = np.concatenate([np.zeros((margin.shape[0], 1)), margin], axis=1)
    return np.asarray(log_softmax(whole, axis=1))


def _loss(margin: FloatArray, scoring: str) -> FloatArray:
    """Return the loss of each row from the log-odds of the other classes."""
    log_proba = _log_proba(margin)
    if scoring == "log_loss":
        return -log_proba[:, 0]
    proba = np.exp(log_proba)
    return np.asarray((1 - proba[:, 0]) ** 2 + (proba[:, 1:] ** 2).sum(axis=1))


def user_loss(scoring: Any, y: AnyArray, proba: FloatArray, weight: FloatArray) -> float:
    """Return the loss of a user's function, which gets weights where they differ."""
    weights = {} if np.all(weight == weight[0]) else {"sample_weight": weight}
    value = float(scoring(y, proba, **weights))
    if not np.isfinite(value):
        msg = f"scoring returned {value}, which cannot be compared."
        raise ValueError(msg)
    return value


def _ratios(log_value: FloatArray) -> FloatArray:
    """Return by actual class, other class and slot how much larger the other's log value is."""
    n_classes = log_value.shape[1]
    others = [[c for c in range(n_classes) if c != own] for own in range(n_classes)]
    return np.stack(
        [(log_value[:, others[own]] - log_value[:, [own]]).T for own in range(n_classes)]
    )
