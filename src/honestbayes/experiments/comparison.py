"""What the comparisons share: methods, one run of one method, and scores.

All methods have the same folds. Whatever is selected, tuned or calibrated is so inside the training
cases of each fold.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from honestbayes.average.estimator import HonestClassifier
from honestbayes.data.kinds import Kind
from honestbayes.evaluation.peers import FURTHER_PEERS, PEERS, Task, peers_for
from honestbayes.experiments.real_tables import Table
from honestbayes.metrics import actual_error, brier_score, expected_error, log_score
from honestbayes.models.binary.estimator import SelectiveBernoulliNB
from honestbayes.models.categorical.estimator import SelectiveCategoricalNB
from honestbayes.models.gaussian.estimator import SelectiveGaussianNB
from honestbayes.types import AnyArray, FloatArray, IntArray

HONEST = "HonestClassifier"
UNCORRECTED, CORRECTED, CALIBRATED = (
    "naive Bayes, uncorrected",
    "naive Bayes, corrected",
    "naive Bayes, corrected and calibrated",
)
OURS = (HONEST, CALIBRATED, CORRECTED, UNCORRECTED)
METHODS = (*OURS, *(peer.name for peer in (*PEERS, *FURTHER_PEERS)))
FOLDS, SEED, KEPT = 5, 0, 10
LEAST = 1e-9
"""Probabilities of others' methods are at least this: a zero would be an infinite loss."""

_NAIVE: dict[Kind, Any] = {
    "binary": SelectiveBernoulliNB,
    "categorical": SelectiveCategoricalNB,
    "real": SelectiveGaussianNB,
}


def methods_for(kind: Kind, *, sparse: bool = False) -> tuple[str, ...]:
    """Return the names of the methods that suit a table."""
    task = Task(n_racing=2, kinds=None if sparse else (kind, kind), sparse=sparse)
    return (*OURS, *peers_for(task, further=True))


def make_method(name: str, table: Table) -> Any:
    """Return an unfitted method; those that select keep ten features."""
    kept = min(KEPT, table.n_features)
    if name == HONEST:
        return HonestClassifier(random_state=SEED)
    if name in OURS:
        words: dict[str, Any] = {"n_features_to_select": kept, "random_state": SEED}
        if name == UNCORRECTED:
            words |= {"correction": None, "recalibrate": None}
        elif name == CORRECTED:
            words |= {"recalibrate": None}
        model = _NAIVE[table.kind]()
        return model.set_params(**{k: v for k, v in words.items() if k in model.get_params()})
    sparse = issparse(table.X)
    task = Task(
        n_features=kept,
        n_racing=table.n_features,
        seed=SEED,
        kinds=None if sparse else (table.kind,) * table.n_features,
        sparse=sparse,
    )
    return peers_for(task, further=True)[name]


def evaluate(table: Table, name: str, repeat: int, n_folds: int = FOLDS) -> dict[str, Any]:
    """Cross-validate one method on one division into folds."""
    classes, codes = np.unique(table.y, return_inverse=True)
    X = table.X if name in OURS or table.codes is None else table.codes
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=repeat)
    logs = np.empty((codes.size, classes.size))
    seconds, places = 0.0, np.zeros(codes.size, dtype=np.int64)
    for place, (train, test) in enumerate(folds.split(codes, codes)):
        model = clone(make_method(name, table))
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rare levels, and of peers that do not converge
            model.fit(_rows(X, train), codes[train])
            logs[test] = _log_proba(model, _rows(X, test))
        seconds += time.process_time() - began
        places[test] = place
    words = {"n_cases": codes.size, "n_features": table.n_features, "n_classes": classes.size}
    split = int(np.sum((places + 1) * np.arange(1, codes.size + 1)))
    return words | scores(codes, logs, table.truth) | {"seconds": seconds / n_folds, "split": split}


def _rows(X: Any, rows: IntArray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _log_proba(model: Any, X: Any) -> FloatArray:
    if hasattr(model, "predict_log_proba"):
        return np.asarray(model.predict_log_proba(X))
    return np.asarray(np.log(np.maximum(model.predict_proba(X), LEAST)))


def scores(codes: IntArray, log_proba: FloatArray, truth: FloatArray | None) -> dict[str, Any]:
    """Return the scores of held-out predictions, and their distance from the truth."""
    proba = np.exp(log_proba)
    classes = np.arange(proba.shape[1])
    found = {
        "log_score": float(log_score(codes, log_proba=log_proba, classes=classes)),
        "brier": float(brier_score(codes, proba, classes=classes)),
        "expected_error": float(expected_error(proba)),
        "actual_error": float(actual_error(codes, proba, classes=classes)),
    }
    sure, right = proba.max(axis=1), proba.argmax(axis=1) == codes
    found["calibration_error"] = calibration_error(sure, right)
    # What a method that knows how sure it may be would have had, by the luck of so few cases.
    rng = np.random.default_rng(0)
    lucky = [calibration_error(sure, rng.random(sure.size) < sure) for _ in range(100)]
    found["calibration_error_by_luck"] = float(np.mean(lucky))
    if truth is not None:
        found["distance"] = float(np.abs(proba[:, 1] - truth[:, 1]).mean())
        found["log_score_of_truth"] = float(-np.log(truth[np.arange(codes.size), codes]).mean())
    return found


def calibration_error(sure: FloatArray, right: AnyArray, n_bins: int = 10) -> float:
    """Return the expected calibration error: ten bins of as many cases, sorted by claims."""
    order = np.argsort(sure, kind="stable")
    bins = np.array_split(order, min(n_bins, order.size))
    gaps = [abs(sure[rows].mean() - right[rows].mean()) * rows.size for rows in bins]
    return float(np.sum(gaps) / sure.size)
