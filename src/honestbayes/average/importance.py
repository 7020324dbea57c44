"""Feature importance: what the average's held-out log score loses when a column is permuted.

The models of the folds predict the cases that they have not seen, once as these are and once with
the cells of a column exchanged between the cases (Breiman 2001; Fisher, Rudin and Dominici 2019).
Nothing is fitted again. The difference of the log score is what the average gets out of the column:
on a column without any relation to the class it is 0 on average, however strongly the models rely
on it, because cases that a model has not seen cannot tell such a column from a permuted one.

Columns that repeat each other are permuted together: with one of them gone, the others would stand
in for it, and each alone would seem to be unimportant.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.special import logsumexp
from scipy.stats import rankdata, t

from honestbayes.base.part import TrainingLabels
from honestbayes.base.recalibration import Recalibration
from honestbayes.data import as_source
from honestbayes.data.column_coding import ColumnCoding
from honestbayes.data.kinds import columns_of
from honestbayes.data.source import dense_values
from honestbayes.files.fields import Array, Check, Counts, Floats
from honestbayes.selection.moments import screen_moments
from honestbayes.threads import one_blas_thread
from honestbayes.types import FloatArray, IntArray

LEVEL = 0.95
"""Nominal coverage of intervals."""

_ALL_COLUMNS = 64
"""Columns up to which all are measured."""

_MOST_COLUMNS = 40
"""Columns that are measured of wider tables: those that the models of the folds use most."""

_FEWEST_COLUMNS = 20
"""The same where models keep so many columns that each measurement takes long."""

_CELLS = 1 << 21
"""Cells that one model of a fold predicts for this purpose; bounds the time."""

_BATCH = 1 << 22
"""Cells of a batch; bounds the memory."""

_PREDICTIONS = 30
"""Permuted predictions of a fold that are wanted for each column: a fold of fewer cases is permuted
several times."""

_MOST_CASES = 80
"""Cases of a fold that are measured, or a fifth of them where that is more."""

_FEWEST_CASES = 30
"""The same where models keep very many columns."""

_ALIKE = 0.7
"""Average correlation within classes, between the columns of two groups, from which they are one.
Of 50 independent columns and 40 cases hardly any two reach it by chance (4 standard errors)."""

Evaluate = Callable[[IntArray], FloatArray]
"""Given for each row and each kept column the row from which the cell is taken, shape (M, k): the
evidence log P(x | class) of the M rows that are made of these cells, shape (M, C)."""


@dataclass(frozen=True, slots=True, eq=False)
class FoldModel:
    """A model that was fitted without the cases of a fold.

    Attributes
    ----------
    columns : ndarray of int of shape (k,)
        The varying columns of the table from which its kept columns come.
    evaluate : callable
        Its evidence on rows whose cells are taken from any cases of the fold.
    """

    columns: IntArray
    evaluate: Evaluate


@dataclass(frozen=True, slots=True, eq=False)
class FeatureImportance:
    """What the held-out log score loses without each of the measured columns.

    Attributes
    ----------
    column : ndarray of int of shape (q,)
        Columns of the table.
    group : ndarray of int of shape (q,)
        Columns of one group repeat each other and were permuted together; 0 is the group whose
        loss is largest.
    loss : ndarray of shape (q,)
        Increase of the average minus log probability of the observed class.
    lower, upper : ndarray of shape (q,)
        95% interval of it, over the cases.
    direction : ndarray of shape (q,)
        Correlation between the sign of the change of a cell and the change of the log-odds of the
        second class that it makes: positive where larger values favour that class. NaN for
        categories and for more than two classes.
    selected : ndarray of shape (q,)
        Share of the weight of the models of the folds that keep the column.
    """

    column: Annotated[IntArray, Counts("n_measured")]
    group: Annotated[IntArray, Counts("n_measured")]
    loss: Annotated[FloatArray, Floats("n_measured")]
    lower: Annotated[FloatArray, Floats("n_measured")]
    upper: Annotated[FloatArray, Floats("n_measured")]
    direction: Annotated[FloatArray, Array("n_measured")]
    selected: Annotated[FloatArray, Floats("n_measured", low=0.0, high=1.0 + 1e-9)]

    def check_against(self, known: dict[str, Any], check: Check) -> None:
        """Refuse columns that the table does not have."""
        inside = np.all(self.column < known["n_features_in"])
        check(inside and np.unique(self.column).size == self.column.size, "column", "is wrong")
        check(not np.isinf(self.direction).any(), "direction", "is infinite")

    def take(self, columns: IntArray) -> Self:
        """Return the records of some columns, renumbered 0, 1, 2, ..."""
        place = {int(column): index for index, column in enumerate(columns)}
        kept = np.array([int(column) in place for column in self.column], dtype=bool)
        some = replace(self, **{name: getattr(self, name)[kept] for name in self.__slots__})
        return replace(some, column=np.array([place[int(c)] for c in some.column], dtype=np.int64))


# --------------------------------------------------------------------------------------------------
# Models of folds
# --------------------------------------------------------------------------------------------------


def cells_of(values: Any, rows: IntArray) -> Any:
    """Return rows made of any cells of each column: ``rows`` has where each is taken from, (M, k).

    ``values`` is what a part has read, one or several arrays of shape (m, k), or a table.
    """
    if values is None:
        return None
    if isinstance(values, tuple):
        return tuple(cells_of(each, rows) for each in values)
    if hasattr(values, "iloc"):
        import pandas as pd

        taken = [values.iloc[:, j].take(rows[:, j]) for j in range(rows.shape[1])]
        return pd.concat([one.reset_index(drop=True) for one in taken], axis=1)
    if type(values).__module__.startswith("polars"):
        return values.select(
            column.gather(rows[:, j]) for j, column in enumerate(values.get_columns())
        )
    dense = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
    return np.take_along_axis(dense, rows, axis=0)


# --------------------------------------------------------------------------------------------------
# What is measured
# --------------------------------------------------------------------------------------------------


def measured_columns(
    models: Sequence[Sequence[FoldModel]],
    weights: FloatArray,
    strength: FloatArray,
    most: int,
) -> tuple[IntArray, FloatArray]:
    """Return the columns that models of the folds use most, and the share of the weight, (p,).

    Parameters
    ----------
    models : sequence over folds of sequences over the M models
        Models of the folds.
    weights : ndarray of shape (M,)
        Their weights in the average.
    strength : ndarray of shape (p,)
        Decides between columns that are used alike.
    most : int
        Number of columns.
    """
    use = np.zeros(strength.size)
    for of_fold in models:
        for model, weight in zip(of_fold, weights, strict=True):
            use[np.unique(model.columns)] += weight
    use /= max(weights.sum() * len(models), 1e-300)
    order = np.lexsort((-strength, -np.round(use, 9)))
    return order[: min(most, int(np.sum(use > 0)))], use


def groups_of_columns(values: FloatArray, sources: IntArray, codes: IntArray) -> IntArray:
    """Return the group of each column, numbered from 0: columns of one group repeat each other.

    Parameters
    ----------
    values : ndarray of shape (n, w)
        Columns as numbers, one or more of each column of the table; NaN is missing.
    sources : ndarray of int of shape (w,)
        Which of the q columns each comes from.
    codes : ndarray of int of shape (n,)
        Classes. Columns are compared within classes: two strong signals that are otherwise
        unrelated are correlated through the class.
    """
    q = int(sources.max()) + 1
    if q == 1:
        return np.zeros(1, dtype=np.int64)
    scores = np.where(np.isnan(values), np.nan, rankdata(values, axis=0, nan_policy="omit"))
    for label in np.unique(codes):
        rows = codes == label
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a class in which a column is all missing
            scores[rows] -= np.nanmean(scores[rows], axis=0)
    scores = np.nan_to_num(scores)
    size = np.sqrt(np.einsum("ij,ij->j", scores, scores))
    scores /= np.where(size > 0, size, 1.0)
    between = np.abs(scores.T @ scores)
    # Of two columns with several numbers each, the most alike count.
    alike = np.zeros((q, q))
    np.maximum.at(alike, (sources[:, None], sources[None, :]), between)
    distance = np.clip(1 - alike, 0.0, 1.0)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average")
    return np.asarray(fcluster(tree, 1 - _ALIKE, "distance") - 1, dtype=np.int64)


def permutations_of(n: int, n_wanted: int, generator: np.random.Generator) -> list[IntArray]:
    """Return permutations of n rows without fixed points: shifts of one random circle.

    A single row stays where it is.
    """
    circle = generator.permutation(n)
    result = []
    for shift in range(1, min(n_wanted, max(n - 1, 1)) + 1):
        rows = np.empty(n, dtype=np.int64)
        rows[circle] = np.roll(circle, shift)
        result.append(rows)
    return result


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutPool:
    """The average on held-out cases, fold after fold, with the models of each fold.

    Attributes
    ----------
    folds : sequence of ndarray of int
        Rows of each fold.
    models : sequence over folds of sequences over the M models
        Models of each fold.
    log_proba : ndarray of shape (M, N, C)
        Their log probabilities of the held-out cases.
    log_prior : ndarray of shape (C,) or (N, C)
        Log class probabilities before features are seen.
    weights : ndarray of shape (M,)
        Their weights.
    recalibrations : sequence of Recalibration
        Their recalibrations.
    """

    folds: Sequence[IntArray]
    models: Sequence[Sequence[FoldModel]]
    log_proba: FloatArray
    log_prior: FloatArray
    weights: FloatArray
    recalibrations: Sequence[Recalibration]


@one_blas_thread()
def feature_importance(
    pool: HeldOutPool, numbers: Any, coding: ColumnCoding, labels: TrainingLabels
) -> FeatureImportance:
    """Measure what the held-out log score of the average loses when columns are permuted.

    Parameters
    ----------
    pool : HeldOutPool
        The average on held-out cases.
    numbers : table of shape (n, w)
        The varying columns as numbers.
    coding : ColumnCoding
        Of the columns.
    labels : TrainingLabels
        Classes of the rows, and the seed of the permutations.
    """
    codes, sources = labels.codes, coding.sources()
    numeric = np.array(coding.varying_kinds()) != "categorical"
    strength = np.zeros(numeric.size)
    r_squared = screen_moments(as_source(numbers), codes, labels.classes).r_squared()
    np.maximum.at(strength, sources, np.nan_to_num(r_squared))
    generator = np.random.default_rng(labels.seed)
    fold_size = max(fold.size for fold in pool.folds)
    widest = max((m.columns.size for of_fold in pool.models for m in of_fold), default=1)
    most = _ALL_COLUMNS if strength.size <= _ALL_COLUMNS else _MOST_COLUMNS
    most = int(np.clip(_CELLS // max(fold_size * widest, 1), _FEWEST_COLUMNS, most))
    columns, use = measured_columns(pool.models, pool.weights, strength, most)
    if not columns.size:
        none = np.zeros(0)
        whole = np.zeros(0, dtype=np.int64)
        return FeatureImportance(whole, whole, none, none, none, none, none)
    index = np.full(strength.size, -1)
    index[columns] = np.arange(columns.size)
    chosen = np.flatnonzero(index[sources] >= 0)
    values = np.asarray(dense_values(as_source(columns_of(numbers, chosen))), dtype=float)
    group_of = groups_of_columns(values, index[sources[chosen]], codes)
    # The numbers whose change is compared with that of the log-odds.
    own = np.array([np.flatnonzero(sources[chosen] == column)[0] for column in columns])
    group = np.full(strength.size, -1)
    group[columns] = group_of
    n_groups, n_classes = int(group_of.max()) + 1, pool.log_proba.shape[2]
    by_fold = []
    moments = np.zeros((3, columns.size))
    start = 0
    for rows, models in zip(pool.folds, pool.models, strict=True):
        # Some cases of large folds, and several permutations of small ones.
        budget = _CELLS // (n_groups * widest)
        n_cases = int(min(max(_MOST_CASES, rows.size // 5), max(budget, _FEWEST_CASES), rows.size))
        some = np.sort(generator.permutation(rows.size)[:n_cases])
        n_permutations = max(min(-(-_PREDICTIONS // n_cases), budget // n_cases), 1)
        permuted = [some[each] for each in permutations_of(n_cases, n_permutations, generator)]
        prior = pool.log_prior[start + some] if pool.log_prior.ndim == 2 else pool.log_prior
        log_proba, y = pool.log_proba[:, start + some], codes[rows[some]]
        change = np.zeros((n_groups, len(permuted), n_cases, n_classes))
        for model, weight, recalibration, before in zip(
            models, pool.weights, pool.recalibrations, log_proba, strict=True
        ):
            for block, evidence in _permuted_evidence(model, group, some, permuted):
                own_prior = prior if prior.ndim == 1 else np.tile(prior, (len(block), 1))
                after = recalibration.log_proba(evidence, own_prior)
                change[tuple(block.T)] += weight * (after.reshape(-1, *before.shape) - before)
        total = prior + np.tensordot(pool.weights, log_proba - prior, 1)
        base = _loss(total, y)
        increase = np.zeros((n_cases, n_groups))
        for s, order in enumerate(permuted):
            increase += (_loss(total + change[:, s], y) - base).T / len(permuted)
            if n_classes == 2:
                # Signs of differences: units and outliers do not matter.
                cells = values[rows][:, own]
                moved = np.sign(cells[order] - cells[some])
                odds = (change[:, s, :, 1] - change[:, s, :, 0]).T[:, group_of]
                odds, moved = np.where(np.isnan(moved), 0.0, odds), np.nan_to_num(moved)
                moments += np.stack([moved * odds, moved**2, odds**2]).sum(axis=1)
        by_fold.append(increase)
        start += rows.size
    increase = np.concatenate(by_fold)
    n = increase.shape[0]
    loss = increase.mean(axis=0)
    half = t.ppf((1 + LEVEL) / 2, max(n - 1, 1)) * increase.std(axis=0, ddof=1) / np.sqrt(n)
    size = np.sqrt(moments[1] * moments[2])
    slope = np.where(size > 0, moments[0] / np.where(size > 0, size, 1.0), np.nan)
    order = np.argsort(-loss, kind="stable")
    rank = np.argsort(order, kind="stable")
    direction = np.where(numeric[columns] & (n_classes == 2), slope, np.nan)
    by_rank = np.lexsort((np.arange(columns.size), rank[group_of]))
    g = group_of[by_rank]
    return FeatureImportance(
        column=np.asarray(coding.varying()[columns[by_rank]], dtype=np.int64),
        group=rank[g],
        loss=loss[g],
        lower=(loss - half)[g],
        upper=(loss + half)[g],
        direction=direction[by_rank],
        selected=use[columns][by_rank],
    )


def _permuted_evidence(
    model: FoldModel, group: IntArray, some: IntArray, permuted: Sequence[IntArray]
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield pairs (group, permutation), shape (b, 2), and the evidence with these cells exchanged.

    The evidence of a block has shape (b m, C), for the m cases ``some`` of the fold. Groups of
    which the model has no column are left out.
    """
    own, m = group[model.columns], some.size
    touched = np.unique(own[own >= 0])
    pairs = np.array([(g, s) for g in touched for s in range(len(permuted))], dtype=np.int64)
    size = max(_BATCH // max(m * own.size, 1), 1)
    for start in range(0, len(pairs), size):
        block = pairs[start : start + size]
        rows = np.empty((len(block), m, own.size), dtype=np.int64)
        rows[:] = some[:, None]
        for of_pair, (g, s) in zip(rows, block, strict=True):
            of_pair[:, own == g] = permuted[s][:, None]
        yield block, model.evaluate(rows.reshape(-1, own.size))


def _loss(total: FloatArray, codes: IntArray) -> FloatArray:
    """Return minus the log probability of each case's class; logs of unnormalised probabilities."""
    observed = total[..., np.arange(codes.size), codes]
    return np.asarray(logsumexp(total, axis=-1) - observed)
