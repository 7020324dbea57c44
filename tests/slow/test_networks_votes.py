"""Votes in Congress, which depend on each other: networks against naive Bayes."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from honestbayes import AveragedNetworkClassifier

FOLDER = Path(os.environ.get("HONESTBAYES_DATA", "")) / "discrete"


@pytest.mark.skipif(not (FOLDER / "vote.csv.gz").exists(), reason="needs the table of votes")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_votes_that_depend_on_each_other_are_not_counted_twice():
    table = pd.read_csv(FOLDER / "vote.csv.gz", dtype=str, keep_default_na=False)
    X, y = table.drop(columns="class"), table["class"].to_numpy(dtype=object).astype(str)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)

    def loss(model):
        proba = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
        own = np.searchsorted(np.unique(y), y)
        return -np.mean(np.log(proba[np.arange(len(y)), own]))

    chains = {"n_chains": 2, "n_doublings": 0, "missing": "level", "random_state": 0}
    averaged = loss(AveragedNetworkClassifier(**chains))
    # With one parent at most, a graph of classifiers is naive Bayes on some of the features. Among
    # all graphs one parent is enough to say that a vote depends on another, and no control.
    only_naive = loss(AveragedNetworkClassifier(space="classifiers", max_parents=1, **chains))
    assert averaged < 0.16
    assert only_naive > averaged + 0.05
