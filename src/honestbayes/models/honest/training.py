"""From a training table to the models of an average and their weights."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from honestbayes.models.honest.candidates import Candidate
from honestbayes.models.honest.held_out import Ready, held_out_by_all, runs_of_folds
from honestbayes.models.honest.members import Member
from honestbayes.models.honest.pool import family_shares, fit_pool, pooled
from honestbayes.models.honest.progress import FoldProgress
from honestbayes.models.honest.remarks import say_once, with_remarks
from honestbayes.models.honest.tried import FREQUENCIES, ModelTable
from honestbayes.models.shared.estimator import SelectiveClassifier
from honestbayes.models.shared.held_out import held_out_folds, repeats_of_folds
from honestbayes.models.shared.layer import EFFECTIVE_SHARE, Layer, fit_layer
from honestbayes.models.shared.parts import FoldMemo, TrainingLabels
from honestbayes.sources.source import is_beyond_memory
from honestbayes.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Views:
    """A table as it is, and as numbers."""

    plain: Any
    numbers: Any

    def of(self, as_numbers: bool) -> Any:
        """Return one of the two."""
        return self.numbers if as_numbers else self.plain


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """All candidates on the same held-out cases.

    Attributes
    ----------
    candidates : list of (Candidate, int or None)
        Each with one number of features.
    layers : list of Layer
        What was learned for each.
    weights : ndarray of shape (M,)
        Of the pool.
    table : ModelTable
        What is shown of them.
    log_score : float
        Of the pool on the held-out cases.
    interrupted : bool
        Whether the user stopped it before all folds were done.
    """

    candidates: list[tuple[Candidate, int | None]]
    layers: list[Layer]
    weights: FloatArray
    table: ModelTable
    log_score: float
    interrupted: bool = False


def try_candidates(
    candidates: Sequence[Candidate],
    views: Views,
    labels: TrainingLabels,
    n_jobs: int | None,
    *,
    verbose: bool = False,
) -> Tried:
    """Hold cases out, and learn from them the layer of each candidate and the weights of all."""
    repeats = repeats_of_folds(labels.codes.size)
    folds = held_out_folds(labels.codes, labels.groups, repeats, labels.seed)
    single = [(c, k) for c in candidates for k in (c.numbers or (None,))]
    shares = family_shares([candidate.name for candidate, _ in single])
    log_prior = labels.log_prior()
    if not folds:
        return _untried(single, shares)
    first = len(folds) // repeats if labels.groups is None else len(folds)
    plain = replace(labels, memo=FoldMemo())
    numbers = plain if views.plain is views.numbers else replace(labels, memo=FoldMemo())
    ready = [
        Ready.of(c, views.of(c.as_numbers), numbers if c.as_numbers else plain) for c in candidates
    ]
    chains = any(each.runs_chains for each in ready)
    progress = FoldProgress(len(folds), first if chains else len(folds), len(single))
    if is_beyond_memory(views.plain):
        n_jobs = None  # candidates share what is read
    runs = runs_of_folds(views.plain, folds, labels.classes.size)
    found, n_done = held_out_by_all(ready, runs, first, n_jobs, progress if verbose else None)
    rows = np.concatenate(folds[:n_done])
    codes = labels.codes[rows]
    worth = EFFECTIVE_SHARE / repeats * (len(folds) / n_done)
    evidence = [each for several in found for each in several]
    layers = [fit_layer(each, codes, log_prior, worth) for each in evidence]
    said = [layer.log_proba(e, log_prior) for layer, e in zip(layers, evidence, strict=True)]
    everything = np.stack(said)
    weights = fit_pool(everything, codes, log_prior, shares, worth)
    losses = [_loss_by_case(log_proba, rows, codes, labels.codes.size) for log_proba in said]
    frequencies = np.broadcast_to(log_prior, said[0].shape)
    losses.append(_loss_by_case(frequencies, rows, codes, labels.codes.size))
    whole = _loss_by_case(pooled(everything, weights, log_prior), rows, codes, labels.codes.size)
    table = _table(single, weights, layers, losses)
    score = float(np.nanmean(whole))
    return Tried(single, layers, weights, table, score, interrupted=n_done < len(folds))


def _untried(single: list[tuple[Candidate, int | None]], shares: FloatArray) -> Tried:
    """Return the plain average: no case could be held out."""
    warnings.warn(
        "no case could be held out: models are averaged with equal weights and not recalibrated. "
        "Each class needs cases in two groups or more.",
        UserWarning,
        stacklevel=4,
    )
    layers = [Layer.plugged_in(1.0) for _ in single]
    unknown = [np.full(1, np.nan) for _ in range(len(single) + 1)]
    return Tried(single, layers, shares, _table(single, shares, layers, unknown), np.nan)


def class_frequencies_only(labels: TrainingLabels) -> tuple[ModelTable, float]:
    """Return the table and the log score of an average without models: no column varies."""
    warnings.warn(
        "every column of X is constant: all rows are predicted by the class frequencies.",
        UserWarning,
        stacklevel=5,
    )
    loss = -labels.log_prior()[labels.codes]
    return _table([], np.zeros(0), [], [loss]), float(loss.mean())


def _loss_by_case(log_proba: FloatArray, rows: IntArray, codes: IntArray, n: int) -> FloatArray:
    """Return minus the log probability of each case's class, averaged over repeats."""
    loss = -log_proba[np.arange(rows.size), codes]
    times = np.bincount(rows, minlength=n)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(rows, loss, n) / times)


def _table(
    single: list[tuple[Candidate, int | None]],
    weights: FloatArray,
    layers: list[Layer],
    losses: list[FloatArray],
) -> ModelTable:
    seen = [loss[~np.isnan(loss)] for loss in losses]
    spread = [loss.std(ddof=1) / np.sqrt(loss.size) if loss.size > 1 else np.nan for loss in seen]
    return ModelTable(
        name=(*(candidate.name for candidate, _ in single), FREQUENCIES),
        n_features=np.array([np.nan if k is None else k for _, k in single] + [0.0]),
        weight=np.append(weights, max(0.0, 1 - weights.sum())),
        slope=np.array([layer.mean_slope() for layer in layers] + [1.0]),
        lapse=np.array([layer.mean_lapse() for layer in layers] + [0.0]),
        log_score=np.array([loss.mean() if loss.size else np.nan for loss in seen]),
        error=np.array(spread),
    )


def fit_members(
    tried: Tried, views: Views, labels: TrainingLabels, n_jobs: int | None
) -> list[Member]:
    """Fit the candidates that have any weight to all cases."""
    used = np.flatnonzero(tried.weights > 0).tolist()
    if is_beyond_memory(views.plain):
        found, remarks = with_remarks(_members_beyond_memory, tried, used, views, labels)
        say_once(remarks, stacklevel=4)
        return list(found)
    found = Parallel(n_jobs=n_jobs)(
        delayed(with_remarks)(
            _fit_member,
            *tried.candidates[i],
            views,
            labels,
            tried.layers[i],
            tried.weights[i],
        )
        for i in used
    )
    say_once([remark for _, remarks in found for remark in remarks], stacklevel=4)
    return [member for member, _ in found]


def _fit_member(
    candidate: Candidate,
    number: int | None,
    views: Views,
    labels: TrainingLabels,
    layer: Layer,
    weight: float,
) -> Member:
    table = views.of(candidate.as_numbers)
    model = clone(candidate.estimator)
    if number is not None:
        model.set_params(n_features_to_select=number)
    model.fit(table, labels.classes[labels.codes])
    return _member(candidate, model, table.shape[1], layer, weight)


def _members_beyond_memory(
    tried: Tried, used: list[int], views: Views, labels: TrainingLabels
) -> list[Member]:
    """Do the same, the table screened once for all numbers of features of a candidate."""
    members = []
    for _, alike in groupby(used, lambda place: tried.candidates[place][0].name):
        places = list(alike)
        candidate = tried.candidates[places[0]][0]
        table, classes = views.of(candidate.as_numbers), labels.classes[labels.codes]
        numbers = [k for k in (tried.candidates[place][1] for place in places) if k is not None]
        model = clone(candidate.estimator)
        if numbers:
            models = model._fit_numbers(table, classes, numbers)
        else:
            models = [model.fit(table, classes)]
        members += [
            _member(candidate, one, table.shape[1], tried.layers[place], tried.weights[place])
            for place, one in zip(places, models, strict=True)
        ]
    return members


def _member(
    candidate: Candidate, model: Any, n_columns: int, layer: Layer, weight: float
) -> Member:
    columns = np.arange(n_columns)
    if isinstance(model, SelectiveClassifier):
        columns, model = model.kept_columns(), model.on_kept_columns()
    return Member(candidate.name, model, columns, candidate.as_numbers, layer, float(weight))
