"""Baselines of reports, benchmarks and docs.

All are tuned by log score inside the training cases that they are given, on folds that keep groups
together, and are the same bit for bit from the same seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.dummy import DummyClassifier

from honestbayes.evaluation.baselines.centroids import shrunken_centroids
from honestbayes.evaluation.baselines.logistic import l1_logistic, l2_logistic
from honestbayes.evaluation.baselines.naive_bayes import (
    sigmoid_naive_bayes,
    temperature_naive_bayes,
    venn_abers_naive_bayes,
)
from honestbayes.evaluation.baselines.task import InnerFolds, Task

__all__ = [
    "BASELINES",
    "FREQUENCIES",
    "FURTHER_BASELINES",
    "Baseline",
    "InnerFolds",
    "Task",
    "baselines_for",
]


FREQUENCIES = "class frequencies alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A method to compare with.

    Attributes
    ----------
    name : str
        Name in tables.
    phrase : str
        Description for the docs.
    make : callable
        Takes a `Task`, returns an estimator whose ``fit`` takes ``groups`` where it tunes itself.
    suits : callable
        Takes a `Task`, returns whether the baseline suits such a table.
    is_logistic : bool
        Whether it is a logistic regression, which needs no selection.
    selects : bool
        Whether it keeps a given number of features.
    """

    name: str
    phrase: str
    make: Callable[[Task], Any]
    suits: Callable[[Task], bool] = lambda _: True
    is_logistic: bool = False
    selects: bool = False


def _has_continuous(task: Task) -> bool:
    return not task.sparse and (task.kinds is None or "real" in task.kinds)


BASELINES = (
    Baseline(
        name="L1 logistic regression",
        phrase=(
            "on all columns, standardised, not cut, a column for each category; its penalty "
            "chosen by log score in five folds, over ten values up to 1,000 times weaker than the "
            "one that leaves no feature. More than two classes have one multinomial model, with "
            "penalties up to 10,000 times weaker as long as they get better"
        ),
        make=l1_logistic,
        is_logistic=True,
    ),
    Baseline(
        name="L2 logistic regression",
        phrase=(
            "on the same columns, multinomial too; eight penalties, chosen by log score in five "
            "folds"
        ),
        make=l2_logistic,
        is_logistic=True,
    ),
    Baseline(
        name="scikit-learn NB, calibrated",
        phrase=(
            "as many features of each kind, by the same measure of correlation (``SelectKBest``), "
            "then ``GaussianNB`` on standardised continuous features, ``BernoulliNB`` and "
            "``CategoricalNB``, whose log likelihoods are added, inside ``CalibratedClassifierCV`` "
            "(sigmoid, five folds, one calibrator for all of them). With ``--model binary``: the "
            "same cut at the median and ``BernoulliNB``. With ``--features cv`` its search for "
            "the number of features ignores groups. Missing cells are filled with the "
            "median, or the most frequent value; features kept by design are ranked with the others"
        ),
        make=sigmoid_naive_bayes,
        selects=True,
    ),
    Baseline(
        name="scikit-learn NB, temperature",
        phrase=(
            "the same naive Bayes, its log probabilities divided by one temperature instead, as "
            'scikit-learn\'s ``method="temperature"`` does; one case that was right counts once '
            "more as wrong, because where all are right scikit-learn 1.9 may end at equal "
            "probabilities for all classes"
        ),
        make=temperature_naive_bayes,
        selects=True,
    ),
    Baseline(
        name="nearest shrunken centroids",
        phrase=(
            "scikit-learn's ``NearestCentroid`` on all columns, standardised, where there are "
            "continuous features; the shrinkage, of eight, and a temperature are chosen together "
            "by log score in five folds, because the scores of many correlated columns are far too "
            "large to be log probabilities"
        ),
        make=shrunken_centroids,
        suits=_has_continuous,
    ),
    Baseline(
        name=FREQUENCIES,
        phrase="the class frequencies of the training cases",
        make=lambda _: DummyClassifier(strategy="prior"),
    ),
)
"""The baselines of reports, in their order."""

FURTHER_BASELINES = (
    Baseline(
        name="scikit-learn NB, Venn-Abers",
        phrase=(
            "the same naive Bayes, its held-out scores in five folds made probabilities by cross "
            "Venn-Abers prediction (Vovk, Petej and Fedorova, 2015)"
        ),
        make=venn_abers_naive_bayes,
        selects=True,
    ),
)
"""Baselines of the stored comparisons that reports leave out, for their time."""


def baselines_for(task: Task, *, further: bool = False) -> dict[str, Any]:
    """Return the estimators of the baselines that suit a table, by name."""
    wanted = (*BASELINES, *FURTHER_BASELINES) if further else BASELINES
    return {baseline.name: baseline.make(task) for baseline in wanted if baseline.suits(task)}
