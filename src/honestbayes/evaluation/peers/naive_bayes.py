"""scikit-learn's naive Bayes on the selected features, calibrated on held-out training cases."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline

from honestbayes.base.recalibration import number_grid
from honestbayes.evaluation.peers.inner_folds import InnerFolds
from honestbayes.evaluation.peers.per_kind import (
    CutAtMedian,
    PerKindNB,
    SelectAbove,
    f_values,
)
from honestbayes.evaluation.peers.task import Task
from honestbayes.evaluation.peers.temperature import Tempered


def sigmoid_naive_bayes(task: Task) -> InnerFolds:
    """Return scikit-learn's naive Bayes, calibrated by Platt's sigmoid.

    One calibrator is fitted to the held-out predictions of all folds (``ensemble=False``): one for
    each fold would have a handful of cases in tables as small as expression data.
    """
    naive = selected_naive_bayes(task)
    model = CalibratedClassifierCV(naive, method="sigmoid", ensemble=False)
    return InnerFolds(model, seed=task.seed)


def temperature_naive_bayes(task: Task) -> InnerFolds:
    """Return scikit-learn's naive Bayes, its log probabilities divided by a temperature."""
    return InnerFolds(Tempered(selected_naive_bayes(task)), seed=task.seed)


def selected_naive_bayes(task: Task) -> Any:
    """Return scikit-learn's naive Bayes after SelectKBest.

    The same cut at the median, and F values, which rank 0/1 features as correlations do; with
    kinds, the same selection of each kind. It knows no features kept by design: they race with the
    others.
    """
    k = min(10, task.n_racing) if task.n_features is None else task.n_features
    naive: Any
    if task.kinds is not None:
        naive = PerKindNB(task.kinds, k=k, threshold=task.threshold)
        return _searched(naive, "k", task.n_racing) if task.n_features == "cv" else naive
    # It cannot do without any, where others have those that are kept by design.
    select = SelectKBest(f_values, k=k if isinstance(k, str) else max(1, k))
    if task.threshold is not None:
        select = SelectAbove(task.threshold)
    naive = make_pipeline(select, BernoulliNB())
    if task.n_features == "cv":
        naive = _searched(naive, "selectkbest__k", task.n_racing)
    return make_pipeline(CutAtMedian(), naive)


def _searched(naive: Any, parameter: str, n_racing: int) -> GridSearchCV:
    grid = np.maximum(1, number_grid(n_racing)).tolist()
    return GridSearchCV(naive, {parameter: grid}, scoring="neg_log_loss", cv=5)
