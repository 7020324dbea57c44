"""Models with interactions on real discrete tables, against what people would use otherwise.

    HONESTBAYES_DATA=... python benchmarks/interactions.py [--data tic_tac_toe,car] [--cache FOLDER]

Stratified 5-fold cross-validation; of each training part 500 cases at most are used, drawn with the
shares of the classes, because small training sets are what these models are for. All methods have
the same folds, and tune inside the training part. Classes of fewer than three cases are left out.
Writes interactions.json and interactions.md into benchmarks/results; tables that a run leaves out
stay as they were.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures

from honestbayes import InteractionClassifier
from honestbayes.datasets.real import data_folder
from honestbayes.experiments.comparison_tables import discrete
from honestbayes.metrics import summarise

MOST = 500
TABLES = (
    "tic_tac_toe",
    "monks1",
    "monks2",
    "monks3",
    "vote",
    "spect",
    "zoo",
    "car",
    "promoters",
    "mushroom",
    "nursery",
    "dna_statlog",
)
TOO_MANY = {"promoters": 3, "vote": 4, "dna_statlog": 3, "mushroom": 3, "spect": 3, "zoo": 3}
"""Orders from which on there would be too many groups of patterns to sample in minutes."""

HERE = Path(__file__).parent / "results"


def load(name):
    """Return columns of texts, and classes."""
    return discrete(data_folder(None, name), name)


def methods(name):
    """Return unfitted methods by name."""
    chains = {"n_chains": 2, "n_draws": 150, "n_warmup": 100, "thin": 2, "n_doublings": 0}
    flags = {"handle_unknown": "ignore", "sparse_output": False}
    cv = {"Cs": 8, "scoring": "neg_log_loss", "max_iter": 3000, "cv": 5}

    def logistic(penalty, *steps):
        words = {"penalty": "l1", "solver": "saga", "tol": 1e-3} if penalty == "L1" else {}
        return make_pipeline(OneHotEncoder(**flags), *steps, LogisticRegressionCV(**cv, **words))

    orders = [order for order in (1, 2, 3) if order < TOO_MANY.get(name, 4)]
    found = {
        f"interactions, order {order}": InteractionClassifier(
            order=order, missing="level", random_state=0, **chains
        )
        for order in orders
    }
    if name.startswith("monks") or name == "tic_tac_toe":
        short = {**chains, "n_chains": 1}
        found["interactions, order by held-out cases"] = InteractionClassifier(
            order="cv", missing="level", random_state=0, **short
        )
    found["random forest"] = make_pipeline(
        OneHotEncoder(**flags), RandomForestClassifier(1000, random_state=0)
    )
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": np.nan}
    found["gradient boosting"] = GridSearchCV(
        make_pipeline(
            OrdinalEncoder(**unknown),
            HistGradientBoostingClassifier(random_state=0, categorical_features=None),
        ),
        {
            "histgradientboostingclassifier__learning_rate": [0.03, 0.1],
            "histgradientboostingclassifier__max_iter": [50, 200],
        },
        scoring="neg_log_loss",
        cv=3,
    )
    pairs = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    found["L1 logistic"] = logistic("L1")
    found["L2 logistic"] = logistic("L2")
    if name not in ("promoters", "dna_statlog"):
        found["L2 logistic, pairs"] = logistic("L2", pairs)
    found["CategoricalNB"] = make_pipeline(KnownLevels(), CategoricalNB(min_categories=12))
    return found


class KnownLevels(TransformerMixin, BaseEstimator):
    """Codes of levels; one that training has not seen becomes the first."""

    def fit(self, X, y=None):
        """Learn the levels."""
        del y
        words = {"handle_unknown": "use_encoded_value", "unknown_value": -1, "dtype": int}
        self.codes_ = OrdinalEncoder(**words).fit(X)
        return self

    def transform(self, X):
        """Return codes."""
        return np.maximum(self.codes_.transform(X), 0)


def predictions(model, X, y):
    """Return class probabilities of all cases, each predicted from other folds."""
    classes = np.unique(y)
    proba = np.zeros((len(y), classes.size))
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    for train, test in folds:
        if train.size > MOST:
            train, _ = train_test_split(train, train_size=MOST, stratify=y[train], random_state=0)
        model.fit(X.iloc[train], y[train])
        proba[np.ix_(test, np.searchsorted(classes, model.classes_))] = model.predict_proba(
            X.iloc[test]
        )
    return np.clip(proba, 1e-12, None) / np.clip(proba, 1e-12, None).sum(axis=1, keepdims=True)


def evaluate(name, cache):
    """Return scores of each method on one table."""
    X, y = load(name)
    classes = np.unique(y)
    rows = {}
    for method, model in methods(name).items():
        place = None if cache is None else cache / f"{name}-{method.replace(' ', '_')}.npy"
        begin = time.process_time()
        if place is not None and place.exists():
            proba = np.load(place)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("ignore", ConvergenceWarning)
                proba = predictions(model, X, y)
            if place is not None:
                np.save(place, proba)
        if classes.size == 2:
            summary = summarise(y == classes[1], proba[:, 1], out_of_fold=True)
        else:
            summary = summarise(y, proba, classes=classes, out_of_fold=True)
        rows[method] = {
            "log_score": summary.log_score.value,
            "error_rate": summary.actual_error.value,
            "slope": summary.calibration.slope,
            "slope_interval": list(summary.calibration.slope_interval),
            "seconds": time.process_time() - begin,
        }
        sys.stdout.write(f"{name}: {method}: {rows[method]}\n")
        sys.stdout.flush()
    return {"n": len(y), "p": X.shape[1], "classes": int(classes.size), "methods": rows}


def as_text(found):
    """Return all tables as Markdown."""
    lines = ["# Discrete tables: models with interactions and others", ""]
    lines += (__doc__ or "").strip().splitlines()[4:10]
    for name, table in found.items():
        shape = f"{table['n']:,} cases, {table['p']} columns, {table['classes']} classes"
        lines += ["", f"## {name}: {shape}", ""]
        lines += [
            "| method | log score | error | slope (95%) | CPU seconds |",
            "|---|---|---|---|---|",
        ]
        for method, row in table["methods"].items():
            low, high = row["slope_interval"]
            lines.append(
                f"| {method} | {row['log_score']:.4f} | {row['error_rate']:.3f} | "
                f"{row['slope']:.2f} ({low:.2f} to {high:.2f}) | {row['seconds']:.0f} |"
            )
    return "\n".join(lines) + "\n"


def main():
    """Run, and write the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=",".join(TABLES), help="names, with commas")
    parser.add_argument("--cache", type=Path, help="folder for what has been computed")
    given = parser.parse_args()
    if given.cache is not None:
        given.cache.mkdir(parents=True, exist_ok=True)
    path = HERE / "interactions.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for name in given.data.split(","):
        found[name] = evaluate(name, given.cache)
        path.write_text(json.dumps(found, indent=1) + "\n")
        (HERE / "interactions.md").write_text(as_text(found))


if __name__ == "__main__":
    main()
