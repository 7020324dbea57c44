"""Greedy forward selection of the features that give the best probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import xlogy
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from honestbayes.base.parameters import whole_number
from honestbayes.data.kinds import columns_of
from honestbayes.files.fields import Choice, Entries, Field, Given, Known, Plain
from honestbayes.models.discrete.estimator import WholeParameter
from honestbayes.search.scorers import (
    NO_ROWS,
    NaiveBayesScorers,
    Scorer,
    ScorerFactory,
    Scoring,
    user_loss,
)
from honestbayes.search.selector import (
    HeldOut,
    NumberOfFeatures,
    ProbabilitySelector,
    SelectionPath,
    number_of_features,
)
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Any classifier as a scorer of candidates: it is fitted for each, which is slow
# --------------------------------------------------------------------------------------------------


_SMALLEST = np.finfo(float).tiny


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EstimatorScorers:
    """A classifier of the user's, and the rows.

    Attributes
    ----------
    estimator : classifier
        With ``fit`` and ``predict_proba``; it is cloned.
    X : table of shape (n, p)
        All columns.
    labels : ndarray of int of shape (n,)
        Class of each row.
    classes : ndarray of shape (C,)
        What these stand for.
    weight : ndarray of shape (n,) or None
        What each row counts in training and in the loss.
    scoring : {"squared_error", "log_loss"} or callable
        The loss.
    n_jobs : int, optional
        Candidates at work at once.
    """

    estimator: Any
    X: Any
    labels: AnyArray
    classes: AnyArray
    weight: FloatArray | None
    scoring: Scoring
    n_jobs: int | None

    def __post_init__(self) -> None:
        name = type(self.estimator).__name__
        if not hasattr(self.estimator, "predict_proba"):
            msg = (
                f"estimator={name} has no predict_proba; give a classifier that predicts "
                "probabilities."
            )
            raise ValueError(msg)
        if self.weight is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            msg = f"estimator={name} does not take sample_weight."
            raise ValueError(msg)

    def on_training(self, rows: BoolArray) -> Scorer:
        """Return a scorer of the rows that it is trained on."""
        return self.on_others(rows, rows)

    def on_others(self, training: BoolArray, judged: BoolArray) -> Scorer:
        """Return a scorer that is trained on some rows and scores others."""
        return EstimatorScorer(self, [(np.flatnonzero(training), np.flatnonzero(judged))])

    def by_fold(self, fold: AnyArray) -> Scorer:
        """Return a scorer of all rows that have a fold, each by the rows of no or other folds."""
        folds = range(int(fold.max()) + 1)
        splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in folds]
        return EstimatorScorer(self, splits)


class EstimatorScorer:
    """A classifier, fitted to the features so far and each candidate.

    Parameters
    ----------
    scorers : EstimatorScorers
        The classifier and the rows.
    splits : sequence of (train, judged)
        Rows for training, and rows whose probabilities are judged.
    """

    def __init__(
        self, scorers: EstimatorScorers, splits: Sequence[tuple[IntArray, IntArray]]
    ) -> None:
        for train, _ in splits:
            if not np.all(np.bincount(scorers.labels[train], minlength=scorers.classes.size) > 0):
                raise ValueError(NO_ROWS)
        self._scorers, self._splits = scorers, splits
        self._features: list[int] = []

    def add(self, column: int) -> None:
        """Add a feature for good."""
        self._features.append(column)

    def loss(self) -> float:
        """Return the loss with the features so far."""
        return self._loss_with(self._features)

    def losses(self, candidates: IntArray) -> FloatArray:
        """Return the loss with each candidate added, shape (m,)."""
        results = Parallel(n_jobs=self._scorers.n_jobs)(
            delayed(self._loss_with)([*self._features, j]) for j in candidates.tolist()
        )
        return np.array(results)

    def _loss_with(self, features: list[int]) -> float:
        scorers = self._scorers
        rows = np.concatenate([judged for _, judged in self._splits])
        proba = np.concatenate([self._proba(features, *split) for split in self._splits])
        weight = np.ones(rows.size) if scorers.weight is None else scorers.weight[rows]
        if callable(scorers.scoring):
            return user_loss(scorers.scoring, scorers.classes[scorers.labels[rows]], proba, weight)
        actual = np.arange(scorers.classes.size) == scorers.labels[rows][:, None]
        if scorers.scoring == "squared_error":
            loss = ((actual - proba) ** 2).sum(axis=1)
        else:
            loss = -xlogy(actual, np.maximum(proba, _SMALLEST)).sum(axis=1)
        return float(np.average(loss, weights=weight))

    def _proba(self, features: list[int], train: IntArray, judged: IntArray) -> FloatArray:
        """Return probabilities of the judged rows; without features the class shares."""
        scorers = self._scorers
        weight = None if scorers.weight is None else scorers.weight[train]
        if not features:
            share = np.bincount(scorers.labels[train], weight, minlength=scorers.classes.size)
            return np.tile(share / share.sum(), (judged.size, 1))
        part = columns_of(scorers.X, np.array(features))
        fit_params = {} if weight is None else {"sample_weight": weight}
        y = scorers.classes[scorers.labels[train]]
        model = clone(scorers.estimator).fit(rows_of(part, train), y, **fit_params)
        proba: FloatArray = model.predict_proba(rows_of(part, judged))
        return proba


def rows_of(X: Any, rows: IntArray) -> Any:
    """Return some rows of a table, as a table of the same sort."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


# --------------------------------------------------------------------------------------------------
# Parameters in files
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NoObject(Given):
    """An estimator, which a file of plain data cannot hold."""

    def write(self, name: str, value: Any) -> Plain:
        """Refuse an object."""
        if value is not None:
            msg = f"{name} is an object, which cannot be saved in a file of plain data."
            raise ValueError(msg)
        return {}, {}

    def read(self, entries: Entries, name: str, known: Known) -> None:
        """Return None."""


class LossByName(Choice):
    """A loss by its name."""

    __slots__ = ()

    def write(self, name: str, value: Any) -> Plain:
        """Return the name; refuse a function."""
        if callable(value):
            msg = f"{name} is a function, which cannot be saved in a file of plain data."
            raise ValueError(msg)
        return {name: value}, {}


# --------------------------------------------------------------------------------------------------
# The selector
# --------------------------------------------------------------------------------------------------


_ROUNDING = 1e-12


class ForwardProbabilitySelector(ProbabilitySelector):
    """Adds, one at a time, the feature that improves the probabilities most.

    Naive Bayes counts what two features share twice, so that probabilities get worse with many
    features though the order of cases does not. Starting with none, each step tries every remaining
    feature and takes the one with the lowest loss; exact ties go to the first column.

    Parameters
    ----------
    estimator : classifier, optional
        Classifier whose probabilities are scored. It needs ``fit`` and ``predict_proba``, and is
        fitted for each candidate, which is slow. None: naive Bayes on codes, `DiscreteNB`, for
        which a candidate costs one pass over its cells.
    n_features_to_select : int, "all" or None, default=None
        How many features to take. None: 10, or all when there are fewer; with ``patience`` as
        many as it lets.
    scoring : {"squared_error", "log_loss"} or callable, default="squared_error"
        The loss, averaged over cases. "squared_error" sums over classes, as in the paper: it is
        twice the Brier score of one of two classes. A function of yours has the arguments labels
        and probabilities (n, n_classes), and ``sample_weight`` where weights differ; lower is
        better.
    score_on : {"train", "held_out"}, default="train"
        On which rows candidates are compared: those they are trained on, as in the paper, or rows
        held out.
    held_out : float, int, splitter or None, default=None
        Rows to hold out. A share: the others choose and train. Folds: all rows choose and train,
        and the score on rows held out is that of paths which were chosen without each fold. With
        ``score_on="held_out"`` all folds choose one path together, and since its features were
        chosen by that score, it is better than what new cases will have.
    patience : int, optional
        Number of steps without improvement of the held-out score after which to stop. The features
        of the best step are kept.
    smoothing : float, default=1.0
        Pseudocount of each category of a feature in each class.
    n_bins : int, default=10
        Bins of a real-valued column, at most.
    kinds : mapping or sequence, optional
        Kinds of columns ("binary", "categorical", "real") that should not be inferred.
    n_jobs : int, optional
        Number of threads; processes with ``estimator``. It does not change the result.
    random_state : int, RandomState or None, default=None
        Draws the share of rows to hold out.

    Attributes
    ----------
    path_ : SelectionPath
        Feature and scores of each step.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    Notes
    -----
    The score on training rows falls for many steps, also where it means nothing: of thousands of
    features the best is chosen. Choose the number of features on rows held out.

    References
    ----------
    Gidofalvi, G. and Zadrozny, B. Feature selection for class probability estimation, table 1.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import ForwardProbabilitySelector
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = rng.integers(0, 2, (200, 30))
    >>> X[:, 7] = np.where(rng.random(200) < 0.8, y, 1 - y)
    >>> selector = ForwardProbabilitySelector(held_out=5, patience=2).fit(X, y)
    >>> int(selector.path_.feature[0])
    7
    """

    _kind: ClassVar[str] = "ForwardProbabilitySelector"
    _takes_again: ClassVar[bool] = False
    _parameter_fields: ClassVar[Mapping[str, Field]] = {
        **ProbabilitySelector._parameter_fields,
        "estimator": NoObject(),
        "n_features_to_select": NumberOfFeatures(),
        "scoring": LossByName("squared_error", "log_loss"),
        "score_on": Choice("train", "held_out"),
        "patience": WholeParameter(may_be_none=True),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_features_to_select: int | Literal["all"] | None = None,
        scoring: Scoring = "squared_error",
        score_on: Literal["train", "held_out"] = "train",
        held_out: Any = None,
        patience: int | None = None,
        smoothing: float = 1.0,
        n_bins: int = 10,
        kinds: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.scoring = scoring
        self.score_on = score_on
        self.held_out = held_out
        self.patience = patience
        self.smoothing = smoothing
        self.n_bins = n_bins
        self.kinds = kinds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Select features.

        Parameters
        ----------
        X : table of shape (n, p)
            Array, sparse matrix, pandas or polars frame; NaN and None are missing.
        y : array-like of shape (n,)
            Class labels of two or more kinds.
        sample_weight : array-like of shape (n,), optional
            What each row counts, in training and in the score.
        groups : array-like of shape (n,), optional
            Rows of one group are held out together, in folds.
        """
        self._check_choices()
        X, labels, weight = self._training(X, y, sample_weight)
        n_steps = self._number_of_steps()
        held_out = self._hold_out(labels, weight, groups)
        scorers: ScorerFactory
        if self.estimator is None:
            cases = self._cases(X, labels, weight, held_out)
            scorers = NaiveBayesScorers(cases, float(self.smoothing), self.scoring, self.n_jobs)
        else:
            given = None if sample_weight is None else weight
            scorers = EstimatorScorers(
                estimator=self.estimator,
                X=X,
                labels=labels,
                classes=self.classes_,
                weight=given,
                scoring=self.scoring,
                n_jobs=self.n_jobs,
            )
        self.path_ = self._walk(scorers, held_out, weight, n_steps)
        return self

    def _check_choices(self) -> None:
        """Validate parameters, and combinations of them."""
        if not callable(self.scoring) and self.scoring not in ("squared_error", "log_loss"):
            msg = (
                f"scoring={self.scoring!r} is not 'squared_error', 'log_loss' or a function of "
                "labels and probabilities."
            )
            raise ValueError(msg)
        if self.score_on not in ("train", "held_out"):
            msg = f"score_on={self.score_on!r} is not one of 'train', 'held_out'."
            raise ValueError(msg)
        if self.held_out is None and (self.score_on == "held_out" or self.patience is not None):
            msg = "score_on='held_out' and patience need held-out rows; give held_out."
            raise ValueError(msg)
        if self.patience is not None:
            whole_number(self.get_params(deep=False), "patience", 1)

    def _number_of_steps(self) -> int:
        """Return how many steps to make, at most."""
        p = int(self.n_features_in_)
        given: Any = self.n_features_to_select
        if given is None and self.patience is not None:
            return p
        return number_of_features(given, p)

    def _walk(
        self, scorers: ScorerFactory, held_out: HeldOut, weight: FloatArray, n_steps: int
    ) -> SelectionPath:
        """Take features one by one."""
        walks = self._walks(scorers, held_out, weight)
        path = [walks.scores()]
        best = 0
        while len(walks.main.taken) < n_steps:
            walks.step()
            path.append(walks.scores())
            # What rounding makes of equal scores is no improvement.
            if path[-1][1] < path[best][1] * (1.0 - _ROUNDING):
                best = len(walks.main.taken)
            if self.patience is not None and len(walks.main.taken) - best >= self.patience:
                break
        columns = np.array(walks.main.taken, dtype=np.int64)
        by_step = np.array(path)
        n_kept = columns.size if self.patience is None else best
        return SelectionPath(
            feature=columns,
            name=self._names(columns),
            train_score=by_step[:, 0],
            held_out_score=by_step[:, 1],
            n_kept=n_kept,
        )

    def _walks(self, factory: ScorerFactory, held_out: HeldOut, weight: FloatArray) -> Walks:
        """Return the walk of all training rows, and those that have not seen a fold."""
        p = int(self.n_features_in_)
        scorers = [factory.on_training(held_out.training)]
        folds: list[tuple[float, Walk]] = []
        if held_out.is_part:
            scorers.append(factory.on_others(held_out.training, ~held_out.training))
        elif held_out.is_any and self.score_on == "held_out":
            scorers.append(factory.by_fold(held_out.fold))
        elif held_out.is_any:
            for training, judged in held_out.splits(weight):
                pair = factory.on_training(training), factory.on_others(training, judged)
                folds.append((float(weight[judged].sum()), Walk(pair[0], pair, p)))
        chooser = scorers[-1] if self.score_on == "held_out" else scorers[0]
        return Walks(Walk(chooser, scorers, p), folds)


# --------------------------------------------------------------------------------------------------
# Greedy walks: one of all training rows, and those that have not seen a fold
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Walks:
    """Walks that go in step.

    Attributes
    ----------
    main : Walk
        Of all training rows.
    folds : list of (float, Walk)
        Weight of the rows of each fold, and a walk that has not seen them.
    """

    main: Walk
    folds: list[tuple[float, Walk]]

    def step(self) -> None:
        """Take one feature each."""
        for walk in (self.main, *(walk for _, walk in self.folds)):
            walk.step()

    def scores(self) -> tuple[float, float]:
        """Return the score on training rows, and that on rows held out: NaN without any."""
        train, *held_out = self.main.scores
        if self.folds:
            shares, scores = zip(*((share, w.scores[1]) for share, w in self.folds), strict=True)
            return train, float(np.average(scores, weights=shares))
        return train, held_out[0] if held_out else np.nan


class Walk:
    """A greedy walk: one scorer chooses, all of them score.

    Parameters
    ----------
    chooser : Scorer
        Compares candidates; one of the scorers.
    scorers : sequence of Scorer
        Score the features so far.
    n_features : int
        Candidates at the start.
    """

    def __init__(self, chooser: Scorer, scorers: Sequence[Scorer], n_features: int) -> None:
        self._chooser, self._scorers = chooser, scorers
        self._left = np.arange(n_features)
        self.taken: list[int] = []
        self.scores = [scorer.loss() for scorer in scorers]

    def step(self) -> None:
        """Take the best candidate; the first of those that are equally good."""
        losses = self._chooser.losses(self._left)
        index = int(np.argmin(losses))
        column = int(self._left[index])
        self._left = np.delete(self._left, index)
        self.taken.append(column)
        for scorer in self._scorers:
            scorer.add(column)
        known = float(losses[index])
        self.scores = [known if j is self._chooser else j.loss() for j in self._scorers]
