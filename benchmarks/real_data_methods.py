"""The methods of `real_data.py`: ours, and the peers that reports compare with too."""

import warnings

import numpy as np
from scipy.sparse import issparse
from scipy.stats import chi2
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline

import honestbayes
from honestbayes.evaluation.baselines import BASELINES, FREQUENCIES, Task, baselines_for

SEED = 0
REFERENCE = "ours: corrected, recalibrated"
SEE_ALL = tuple(baseline.name for baseline in BASELINES if not baseline.selects)
"""Peers that see all features, whatever the number that is kept."""

ESTIMATORS = {
    "real": "SelectiveGaussianNB",
    "binary": "SelectiveBernoulliNB",
    "categorical": "SelectiveCategoricalNB",
}


def methods(table, k):
    """Return the methods by name: ours, then what a user would try instead."""
    ours = getattr(honestbayes, ESTIMATORS[table.kind])
    common = {"n_features_to_select": k}
    if "random_state" in ours().get_params():
        common["random_state"] = SEED
    plain, name = naive_bayes(table, k)
    return {
        "ours: uncorrected": ours(correction=None, recalibrate=None, **common),
        "ours: corrected": ours(recalibrate=None, **common),
        REFERENCE: ours(**common),
        name: plain,
    } | baselines(table, k)


def baselines(table, k):
    """Return the peers of reports that suit a table, without the class frequencies."""
    sparse = issparse(table.X)
    task = Task(
        n_features=k,
        n_candidates=table.n_features,
        seed=SEED,
        kinds=None if sparse else (table.kind,) * table.n_features,
        sparse=sparse,
    )
    return {name: baseline for name, baseline in baselines_for(task).items() if name != FREQUENCIES}


def naive_bayes(table, k):
    """Return scikit-learn's naive Bayes after the same selection, and its name."""
    if table.kind == "real":
        return make_pipeline(SelectKBest(f_values, k=k), GaussianNB()), "GaussianNB"
    if table.kind == "binary":
        return make_pipeline(SelectKBest(f_values, k=k), BernoulliNB()), "BernoulliNB"
    levels = tuple((table.codes.max(axis=0) + 1).tolist())
    return SelectedCategoricalNB(k=k, levels=levels), "CategoricalNB"


def f_values(X, y):
    """F values, which rank as correlations do for two classes; 0 where a column is constant."""
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Features ")
        values = f_classif(X, y)[0]
    return np.nan_to_num(values, nan=0.0, posinf=np.finfo(float).max), np.ones(X.shape[1])


def chi_square_surprise(X, y):
    """Minus the log p-value of chi-square, which compares columns with few and many levels."""
    codes = np.unique(y, return_inverse=True)[1]
    surprise = np.zeros(X.shape[1])
    for j, column in enumerate(X.T):
        counts = np.zeros((codes.max() + 1, column.max() + 1))
        np.add.at(counts, (codes, column), 1)
        counts = counts[:, counts.sum(axis=0) > 0]
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
        degrees = (counts.shape[0] - 1) * (counts.shape[1] - 1)
        if degrees:
            surprise[j] = -chi2.logsf(np.sum((counts - expected) ** 2 / expected), degrees)
    return surprise, np.ones(X.shape[1])


class SelectedCategoricalNB(ClassifierMixin, BaseEstimator):
    """CategoricalNB on the k most surprising columns; not a pipeline, since it needs the levels."""

    def __init__(self, k=10, levels=()):
        self.k = k
        self.levels = levels

    def fit(self, X, y):
        """Select and fit."""
        self.select_ = SelectKBest(chi_square_surprise, k=self.k).fit(X, y)
        levels = np.array(self.levels)[self.select_.get_support()]
        self.model_ = CategoricalNB(min_categories=levels).fit(self.select_.transform(X), y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        """Return the most probable class."""
        return self.model_.predict(self.select_.transform(X))

    def predict_proba(self, X):
        """Return probabilities."""
        return self.model_.predict_proba(self.select_.transform(X))

    def predict_log_proba(self, X):
        """Return logarithms of probabilities, without underflow."""
        return self.model_.predict_log_proba(self.select_.transform(X))
