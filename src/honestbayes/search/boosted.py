"""Selection of features by boosting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import entr, softmax

from honestbayes.base.parameters import whole_number
from honestbayes.files.fields import Field, Known
from honestbayes.models.discrete.estimator import LevelCounts, WholeParameter
from honestbayes.search.scorers import CodedCases, NaiveBayesScorers
from honestbayes.search.selector import (
    NumberOfFeatures,
    ProbabilitySelector,
    SelectionPath,
    number_of_features,
)
from honestbayes.types import BoolArray, FloatArray

# --------------------------------------------------------------------------------------------------
# Boosted selection by confidence: table 2 of the paper, one pass over all columns a round
#
# References
# ----------
# Gidofalvi, G. and Zadrozny, B. Feature selection for class probability estimation, table 2.
# Schapire, R. E. and Singer, Y. (1998). Improved boosting algorithms using confidence-rated
# predictions. Computational Learning Theory, 80-91.
# Viola, P. and Jones, M. (2001). Robust real-time object detection. International Workshop on
# Statistical and Computational Theories of Vision.
# --------------------------------------------------------------------------------------------------


LARGEST_R = 1.0 - 1e-12
"""Bound on r: a feature that separates the classes would have an infinite alpha."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round.

    Attributes
    ----------
    feature : int
        The column with the largest r.
    r : float
        Weighted average of the confidence in the actual class, 2 P(actual class | x) - 1; in the
        paper's words sum_i w_i y_i h(x_i). Of C classes (C P - 1) / (C - 1), which is ours.
    alpha : float
        log((1 + r) / (1 - r)) / 2.
    entropy : float
        Of the weights after the round, as a share of its largest value.
    """

    feature: int
    r: float
    alpha: float
    entropy: float


def boost(
    cases: CodedCases,
    smoothing: float,
    n_rounds: int,
    n_jobs: int | None = None,
    *,
    distinct: bool = False,
    by_votes: bool = False,
) -> list[Round]:
    """Run the rounds; the weights start as those of the cases.

    Smoothing is of counts, so it is as if weights always summed to what they do at the start. Where
    features are to be distinct, those of earlier rounds are no candidates. Votes are the 0-1 loss.
    """
    confidence = naive_bayes_vote if by_votes else naive_bayes_confidence
    n, total = np.count_nonzero(cases.weight), cases.weight.sum()
    weight = cases.weight / total
    current = cases.with_weight(weight)
    taken = np.zeros(cases.coded.cells.shape[1], dtype=bool)
    rounds = []
    for _ in range(n_rounds):
        counts = current.counts(n_jobs)
        h = confidence(counts, smoothing / total)
        r = np.add.reduceat((counts.slots * h).sum(axis=1), counts.first)
        best = int(np.argmax(np.where(taken, -np.inf, r) if distinct else r))
        taken[best] = True
        # r of what is left may be negative; alpha is then negative too, and the vote is reversed.
        alpha = float(np.arctanh(np.clip(r[best], -LARGEST_R, LARGEST_R)))
        slot = counts.first[best] + 1 + cases.coded.cells[:, best].astype(np.int32)
        weight *= np.exp(-alpha * h)[slot, cases.labels]
        weight /= weight.sum()
        rounds.append(Round(best, float(r[best]), alpha, float(entr(weight).sum() / np.log(n))))
    return rounds


def naive_bayes_proba(counts: LevelCounts, smoothing: float) -> FloatArray:
    """Return P(class | category) of each slot, by naive Bayes on its column alone."""
    return np.asarray(softmax(counts.log_prior() + counts.log_likelihood(smoothing), axis=1))


def naive_bayes_confidence(counts: LevelCounts, smoothing: float) -> FloatArray:
    """Return the confidence in each class at each slot, shape (L, C), from -1 to 1.

    It is (C P - 1) / (C - 1), with two classes the paper's 2 P - 1 (section 3.2).
    """
    n_classes = counts.classes.size
    proba = naive_bayes_proba(counts, smoothing)
    return np.asarray((n_classes * proba - 1.0) / (n_classes - 1.0))


def naive_bayes_vote(counts: LevelCounts, smoothing: float) -> FloatArray:
    """Return the same of probabilities 0 and 1: 1 for the predicted class, -1 for one of two.

    r is then 1 minus twice the weighted error rate, alpha is log((1 - error) / error) / 2, and the
    rounds are those of AdaBoost, as in Viola and Jones: the 0-1 loss chooses and reweights.
    """
    n_classes = counts.classes.size
    # Classes that differ by rounding only are tied, and the first is predicted.
    predicted = naive_bayes_proba(counts, smoothing).round(12).argmax(axis=1)
    is_predicted = np.arange(n_classes) == predicted[:, None]
    return np.asarray((n_classes * is_predicted - 1.0) / (n_classes - 1.0))


class BoostedProbabilitySelector(ProbabilitySelector):
    """Selects the features that boosting chooses, one in each round.

    Each round fits naive Bayes to each feature alone, with the weights of the round, and takes the
    feature with the largest weighted confidence r in the actual class; then cases that it got wrong
    weigh more. A feature may be taken again, so that there may be fewer features than rounds;
    ``n_features_to_select`` takes another one in each round instead.

    With C classes the confidence in a class is (C P - 1) / (C - 1), which is 2 P - 1 with two.

    The paper found it worse than `ForwardProbabilitySelector`: confidence is not calibration.

    Parameters
    ----------
    n_rounds : int, default=10
        Rounds, where ``n_features_to_select`` is None.
    n_features_to_select : int, "all" or None, default=None
        How many different features to take, one in each round. Features of earlier rounds are not
        taken again. ``n_rounds`` is then not used.
    held_out : float, int, splitter or None, default=None
        Rows to hold out. A share: the others choose and train. Folds: all rows choose and train,
        and the score on rows held out is that of paths which were chosen without each fold.
    smoothing : float, default=1.0
        Pseudocount of each category of a feature in each class. Weights always have the sum that
        they have at the start: the number of rows, without ``sample_weight``.
    n_bins : int, default=10
        Bins of a real-valued column, at most.
    kinds : mapping or sequence, optional
        Kinds of columns ("binary", "categorical", "real") that should not be inferred.
    n_jobs : int, optional
        Number of threads. It does not change the result.
    random_state : int, RandomState or None, default=None
        Draws the share of rows to hold out.

    Attributes
    ----------
    path_ : SelectionPath
        Feature, r, alpha and the entropy of the weights of each round, and the squared error of
        naive Bayes with the features so far.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    References
    ----------
    Gidofalvi, G. and Zadrozny, B. Feature selection for class probability estimation, table 2.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import BoostedProbabilitySelector
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = rng.integers(0, 2, (200, 30))
    >>> X[:, 7] = np.where(rng.random(200) < 0.8, y, 1 - y)
    >>> BoostedProbabilitySelector(n_rounds=3).fit(X, y).path_.feature[0]
    np.int64(7)
    """

    _kind: ClassVar[str] = "BoostedProbabilitySelector"
    _takes_again: ClassVar[bool] = True
    _parameter_fields: ClassVar[Mapping[str, Field]] = {
        **ProbabilitySelector._parameter_fields,
        "n_rounds": WholeParameter(),
        "n_features_to_select": NumberOfFeatures(absent=None),
    }
    _by_votes: ClassVar[bool] = False

    def __init__(
        self,
        *,
        n_rounds: int = 10,
        n_features_to_select: int | Literal["all"] | None = None,
        held_out: Any = None,
        smoothing: float = 1.0,
        n_bins: int = 10,
        kinds: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.n_features_to_select = n_features_to_select
        self.held_out = held_out
        self.smoothing = smoothing
        self.n_bins = n_bins
        self.kinds = kinds
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        if parameters["n_features_to_select"] is not None and fitted["path"].takes_again:
            msg = "n_features_to_select is given, but the path takes a column twice."
            raise ValueError(msg)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Select features.

        Parameters
        ----------
        X : table of shape (n, p)
            Array, sparse matrix, pandas or polars frame; NaN and None are missing.
        y : array-like of shape (n,)
            Class labels of two or more kinds.
        sample_weight : array-like of shape (n,), optional
            What each row counts at the start.
        groups : array-like of shape (n,), optional
            Rows of one group are held out together, in folds.
        """
        X, labels, weight = self._training(X, y, sample_weight)
        n_rounds = self._number_of_rounds()
        held_out = self._hold_out(labels, weight, groups)
        cases = self._cases(X, labels, weight, held_out)
        judged = ~held_out.training if held_out.is_part else None
        main = self._run(cases, held_out.training, judged, n_rounds)
        held_out_score = np.full(n_rounds + 1, np.nan)
        if held_out.is_part:
            held_out_score = main.scores[:, 1]
        elif held_out.is_any:
            splits = held_out.splits(weight)
            runs = [self._run(cases, *split, n_rounds) for split in splits]
            shares = [float(weight[judged].sum()) for _, judged in splits]
            held_out_score = np.average([run.scores[:, 1] for run in runs], axis=0, weights=shares)
        self.path_ = self._path(main.rounds, main.scores[:, 0], held_out_score)
        return self

    def _number_of_rounds(self) -> int:
        """Return how many rounds to make, one for each feature where these are to be distinct."""
        given: Any = self.n_features_to_select
        if given is None:
            return whole_number(self.get_params(deep=False), "n_rounds", 1)
        return number_of_features(given, int(self.n_features_in_))

    def _run(
        self, cases: CodedCases, training: BoolArray, judged: BoolArray | None, n_rounds: int
    ) -> _BoostedRounds:
        """Boost by some rows, and score naive Bayes with the features so far."""
        smoothing = float(self.smoothing)
        rounds = boost(
            cases.only(training),
            smoothing,
            n_rounds,
            self.n_jobs,
            distinct=self.n_features_to_select is not None,
            by_votes=self._by_votes,
        )
        factory = NaiveBayesScorers(cases, smoothing, "squared_error", self.n_jobs)
        scorers = [factory.on_training(training)]
        if judged is not None:
            scorers.append(factory.on_others(training, judged))
        scores = [[scorer.loss() for scorer in scorers]]
        taken: set[int] = set()
        for one in rounds:
            for scorer in scorers if one.feature not in taken else ():
                scorer.add(one.feature)
            taken.add(one.feature)
            scores.append([scorer.loss() for scorer in scorers])
        return _BoostedRounds(rounds, np.array(scores))

    def _path(
        self, rounds: Sequence[Round], train_score: FloatArray, held_out_score: FloatArray
    ) -> SelectionPath:
        columns = np.array([one.feature for one in rounds], dtype=np.int64)
        return SelectionPath(
            feature=columns,
            name=self._names(columns),
            train_score=train_score,
            held_out_score=held_out_score,
            n_kept=columns.size,
            r=np.array([one.r for one in rounds]),
            alpha=np.array([one.alpha for one in rounds]),
            entropy=np.array([one.entropy for one in rounds]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _BoostedRounds:
    """The rounds by some rows, and losses after each, shape (1 + T, scorers)."""

    rounds: Sequence[Round]
    scores: FloatArray
