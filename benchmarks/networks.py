"""Averages over networks on real discrete tables, against what people would use otherwise.

    HONESTBAYES_DATA=... python benchmarks/networks.py [--data vote,spect] [--pyagrum PYTHON]
        [--methods "forward selection, DiscreteNB;CategoricalNB"]

Stratified 5-fold cross-validation; of each training part 500 cases at most are used, drawn with the
shares of the classes. All methods have the same folds; missing cells are a level. One network is
found by pyAgrum's hill climbing (K2, four parents at most) where ``--pyagrum`` names an interpreter
that has it. Tables of more than 30 columns are screened by networks inside each training part.
Forward selection minimises the log loss, and stops where five inner folds say so.

Writes networks.json and networks.md into benchmarks/results; tables and methods that a run leaves
out stay as they were.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from interactions import HERE, KnownLevels, load, predictions
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegressionCV
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from honestbayes import (
    AveragedNB,
    AveragedNetworkClassifier,
    DiscreteNB,
    ForwardProbabilitySelector,
)
from honestbayes.metrics import summarise

TABLES = ("vote", "spect", "tic_tac_toe", "promoters", "mushroom", "dna_statlog")


class OneNetwork(ClassifierMixin, BaseEstimator):
    """A network found by another program; a level that training has not seen is the first."""

    def __init__(self, python=None):
        self.python = python

    def fit(self, X, y):
        """Learn the codes."""
        self.levels_ = KnownLevels().fit(X)
        self.classes_, self.y_ = np.unique(y, return_inverse=True)
        self.X_ = self.levels_.transform(X)
        return self

    def predict_proba(self, X):
        """Let the other interpreter learn and predict."""
        sizes = np.maximum([*(self.X_.max(axis=0) + 1), self.classes_.size], 2)
        with tempfile.TemporaryDirectory() as folder:
            places = [f"{folder}/in.npz", f"{folder}/out.npy"]
            new = self.levels_.transform(X)
            np.savez(places[0], X=self.X_, y=self.y_, new=new, sizes=sizes)
            script = Path(__file__).parent / "one_network.py"
            subprocess.run([self.python, str(script), *places], check=True, capture_output=True)
            return np.load(places[1])


def methods(python):
    """Return unfitted methods by name."""
    flags = {"handle_unknown": "ignore", "sparse_output": False}
    words = {"missing": "level", "random_state": 0, "n_doublings": 1}
    found = {
        "average over classifiers": AveragedNetworkClassifier(space="classifiers", **words),
        "average over networks": AveragedNetworkClassifier(space="networks", **words),
        "average over networks, BDeu": AveragedNetworkClassifier(
            space="networks", table_prior="bdeu", **words
        ),
        "average over subsets (naive Bayes)": AveragedNB(random_state=0),
        "forward selection, DiscreteNB": make_pipeline(
            ForwardProbabilitySelector(scoring="log_loss", held_out=5, patience=3), DiscreteNB()
        ),
        "CategoricalNB": make_pipeline(KnownLevels(), CategoricalNB(min_categories=12)),
        "L2 logistic": make_pipeline(
            OneHotEncoder(**flags),
            LogisticRegressionCV(Cs=8, scoring="neg_log_loss", max_iter=3000, cv=5),
        ),
    }
    if python is not None:
        found["one network (pyAgrum)"] = OneNetwork(python)
    return found


def evaluate(name, chosen):
    """Return the table's size, and scores of the chosen methods on it."""
    X, y = load(name)
    classes = np.unique(y)
    rows = {}
    for method, model in chosen.items():
        rows[method] = scores(model, X, y, classes)
        sys.stdout.write(f"{name}: {method}: {rows[method]}\n")
        sys.stdout.flush()
    return {"n": len(y), "p": X.shape[1], "classes": int(classes.size), "methods": rows}


def scores(model, X, y, classes):
    """Return the scores of one method."""
    begin = time.time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proba = predictions(model, X, y)
    given = (y == classes[1], proba[:, 1]) if classes.size == 2 else (y, proba)
    more = {} if classes.size == 2 else {"classes": classes}
    summary = summarise(*given, out_of_fold=True, **more)
    return {
        "log_score": summary.log_score.value,
        "error_rate": summary.actual_error.value,
        "slope": summary.calibration.slope,
        "slope_interval": list(summary.calibration.slope_interval),
        "seconds": time.time() - begin,
    }


def with_kept_rows(new, old, order):
    """Return a table's results with the rows of methods that were not run again."""
    rows = {**(old or {"methods": {}})["methods"], **new["methods"]}
    known = [method for method in order if method in rows]
    others = [method for method in rows if method not in order]
    return {**new, "methods": {method: rows[method] for method in known + others}}


def as_text(found):
    """Return all tables as Markdown."""
    lines = ["# Discrete tables: averages over networks and others", ""]
    lines += (__doc__ or "").strip().split("\n\n")[2].splitlines()
    for name, table in found.items():
        shape = f"{table['n']:,} cases, {table['p']} columns, {table['classes']} classes"
        lines += ["", f"## {name}: {shape}", ""]
        lines += ["| method | log score | error | slope (95%) | seconds |", "|---|---|---|---|---|"]
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
    parser.add_argument("--pyagrum", help="an interpreter that has pyAgrum")
    parser.add_argument("--methods", help="names, with semicolons; others keep their rows")
    given = parser.parse_args()
    path = HERE / "networks.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    every = methods(given.pyagrum)
    chosen = given.methods.split(";") if given.methods else list(every)
    for name in given.data.split(","):
        new = evaluate(name, {method: every[method] for method in chosen})
        found[name] = with_kept_rows(new, found.get(name), list(every))
        path.write_text(json.dumps(found, indent=1) + "\n")
        (HERE / "networks.md").write_text(as_text(found))


if __name__ == "__main__":
    main()
