"""What every candidate says of the same held-out cases, selection and tuning repeated each time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from honestbayes.models.honest.candidates import Candidate
from honestbayes.models.honest.remarks import Remark, say_once, with_remarks
from honestbayes.models.shared.estimator import SelectiveClassifier
from honestbayes.models.shared.parts import (
    FittedPart,
    TrainingLabels,
    TrainingPart,
    held_out_evidence,
)
from honestbayes.screening.leave_out import without_shared_rows
from honestbayes.sources.source import RowsOf, is_beyond_memory
from honestbayes.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Ready:
    """A candidate that is ready to predict held-out cases of a training table.

    Attributes
    ----------
    candidate : Candidate
        The model.
    table : table
        As the model takes it.
    labels : TrainingLabels
        Classes of its rows.
    parts, whole : list, or None
        Of a model whose numbers of features share a screening: its parts, and these fitted to all
        rows.
    """

    candidate: Candidate
    table: Any
    labels: TrainingLabels
    parts: list[TrainingPart] | None
    whole: list[FittedPart] | None

    @classmethod
    def of(cls, candidate: Candidate, table: Any, labels: TrainingLabels) -> Ready:
        """Prepare a candidate."""
        model = candidate.estimator
        if candidate.numbers is None or not isinstance(model, SelectiveClassifier):
            return cls(candidate, table, labels, None, None)
        parts = list(model._training_parts(table, labels))
        screened = cls(candidate, table, labels, parts, None)
        screened.read_ahead([])
        return replace(screened, whole=[part.fit() for part in parts])

    @property
    def runs_chains(self) -> bool:
        """Whether a fit takes long, so that every case is held out only once."""
        return "n_chains" in self.candidate.estimator.get_params()

    def read_ahead(self, folds: Sequence[IntArray]) -> None:
        """Read at once what is kept without each fold, or, without folds, of all rows."""
        for part in self.parts or ():
            part.read_ahead(folds, min(max(self.candidate.numbers or (0,)), part.n_racing))

    def evidence(self, folds: Sequence[IntArray]) -> FloatArray:
        """Return log P(x | class) of the cases of some folds, shape (g, m, C)."""
        if self.parts is not None:
            return held_out_evidence(self.parts, folds, self.whole, self.candidate.numbers)
        said = []
        for rows, others in self.labels.without(folds):
            labels = self.labels.classes[self.labels.codes[others]]
            fitted = clone(self.candidate.estimator).fit(rows_of(self.table, others), labels)
            log_prior = self.labels.log_prior(others)
            new = rows_of(self.table, rows)
            said.append(model_evidence(fitted, new, log_prior, others.size))
        return np.concatenate(said)[None]


def evidence_of_run(ready: Sequence[Ready], folds: Sequence[IntArray], first: bool) -> list[Any]:
    """Return what each candidate says of some folds; None where it was asked already."""
    for each in ready:
        each.read_ahead(folds)
    return [each.evidence(folds) if first or not each.runs_chains else None for each in ready]


def runs_of_folds(table: Any, folds: Sequence[IntArray], n_classes: int) -> list[list[IntArray]]:
    """Return which folds are looked at together: of a table beyond memory, those of one pass."""
    if not is_beyond_memory(table):
        return [[fold] for fold in folds]
    return list(without_shared_rows(list(folds), table.shape[1] * n_classes))


def held_out_by_all(
    ready: Sequence[Ready],
    runs: Sequence[Sequence[IntArray]],
    n_first: int,
    n_jobs: int | None,
    watch: Callable[[int], None] | None = None,
) -> tuple[list[FloatArray], int]:
    """Return log P(x | class) of held-out cases, each of shape (g, N, C), fold after fold.

    Candidates go through the runs of folds together, so that they share what they find of the same
    rows. Those that run chains do so only in the first ``n_first`` folds, which hold out every
    case once; what they say of a case is then repeated. ``watch`` is told how many folds are done.

    Also returns how many folds there are results of: fewer than all where the user stops it
    (Ctrl-C) after the first ``n_first``.
    """
    ends = list(accumulate(map(len, runs)))
    results = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(with_remarks)(evidence_of_run, ready, run, end <= n_first)
        for run, end in zip(runs, ends, strict=True)
    )
    found: list[list[Any]] = []
    remarks: list[Remark] = []
    try:
        for by_fold, more in results:
            found.append(by_fold)
            remarks += more
            if watch is not None:
                watch(ends[len(found) - 1])
    except KeyboardInterrupt:
        if not found or ends[len(found) - 1] < n_first:
            raise
    say_once(remarks, stacklevel=6)
    folds = [fold for run in runs[: len(found)] for fold in run]
    result = []
    for place in range(len(ready)):
        said = np.concatenate(
            [by_fold[place] for by_fold in found if by_fold[place] is not None], 1
        )
        rows = np.concatenate(folds)
        if said.shape[1] < rows.size:
            where = np.empty(rows.max() + 1, dtype=np.int64)
            where[np.concatenate(folds[:n_first])] = np.arange(said.shape[1])
            said = said[:, where[rows]]
        result.append(said)
    return result, len(folds)


def model_evidence(model: Any, table: Any, log_prior: FloatArray, n_cases: int) -> FloatArray:
    """Return what a fitted classifier adds to the log class frequencies, shape (n, C).

    Probabilities of classifiers that are not ours are kept away from 0 and 1 by half a case of
    the training: what they never saw is not impossible. A decision function is evidence as it is;
    its scale is for the layer to learn.
    """
    if isinstance(model, SelectiveClassifier):
        # Its own class frequencies, whose pseudocounts need not be those of the average.
        return np.asarray(model.predict_log_proba(table) - model._log_prior)
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
