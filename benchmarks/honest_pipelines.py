"""Ten scikit-learn pipelines averaged by HonestClassifier, beside the best of them calibrated.

    HONESTBAYES_DATA=... python benchmarks/honest_pipelines.py [--data colon] [--repeats 2]

HonestClassifier gets the ten as candidates. What people would do otherwise: choose the pipeline
with the best log score in five folds of the training cases, calibrated, and calibrate it on all of
them by CalibratedClassifierCV. "In hindsight" is the calibrated pipeline that turned out best on
the table, which nobody could have known. Stratified 5-fold cross-validation, repeated, the same
folds for all. Writes honest_pipelines.md into benchmarks/results.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from honestbayes import HonestClassifier
from honestbayes.experiments.comparison_tables import real_table

HERE = Path(__file__).parent / "results"
TABLES = ("colon", "leukaemia", "lymphoma", "srbct", "words_1", "words_2", "words_3")
LEAST = 1e-9


def pipelines():
    """Return the ten."""
    shrunken = {"solver": "lsqr", "shrinkage": "auto"}
    after = [
        (10, GaussianNB()),
        (50, GaussianNB()),
        (10, LinearDiscriminantAnalysis(**shrunken)),
        (100, LinearDiscriminantAnalysis(**shrunken)),
        (20, LogisticRegression(C=1.0, max_iter=500)),
        (150, LogisticRegression(C=0.01, max_iter=500)),
        (50, KNeighborsClassifier(7)),
        (100, RandomForestClassifier(100, random_state=0)),
        (50, LinearSVC(C=0.01)),
    ]
    found = [
        make_pipeline(StandardScaler(), SelectKBest(f_classif, k=k), model) for k, model in after
    ]
    lasso = LogisticRegression(C=0.3, l1_ratio=1.0, solver="saga", max_iter=200, tol=1e-2)
    return [*found, make_pipeline(StandardScaler(), lasso)]


def calibrated(pipeline):
    """Return a pipeline as people calibrate it."""
    return CalibratedClassifierCV(clone(pipeline), method="sigmoid", cv=5)


def loss(model, X, y, X_new, y_new):
    """Return minus the log probability of each new case's class."""
    proba = model.fit(X, y).predict_proba(X_new)
    return -np.log(np.maximum(proba[np.arange(y_new.size), y_new], LEAST))


def best_of(found, X, y):
    """Return the pipeline with the best log score in five folds, calibrated in each."""
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    scores = [
        np.concatenate([loss(calibrated(each), X[i], y[i], X[j], y[j]) for i, j in folds]).mean()
        for each in found
    ]
    return found[int(np.argmin(scores))]


def evaluate(name, repeats):
    """Return the losses of each method by case, averaged over repeats."""
    table = real_table(name)
    X = np.asarray(table.X.toarray() if hasattr(table.X, "toarray") else table.X, dtype=float)
    y = np.unique(table.y, return_inverse=True)[1]
    found = pipelines()
    titles = [f"{i + 1}: {each.steps[-1][1].__class__.__name__}" for i, each in enumerate(found)]
    total = {}
    splitter = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0)
    for train, test in splitter.split(X, y):
        rows = (X[train], y[train], X[test], y[test])
        fits = {"HonestClassifier": HonestClassifier(candidates=found, random_state=0)}
        fits["best, calibrated"] = calibrated(best_of(found, *rows[:2]))
        fits |= {t: calibrated(each) for t, each in zip(titles, found, strict=True)}
        for method, model in fits.items():
            total.setdefault(method, np.zeros(y.size))[test] += loss(model, *rows) / repeats
    return total, titles


def main():
    """Run, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=",".join(TABLES))
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, default=HERE)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = ["# Ten pipelines", "", *(__doc__ or "").splitlines()[4:10], ""]
    columns = ("table", "averaged", "best, calibrated", "difference (error)", "in hindsight")
    lines += [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    means = []
    for name in arguments.data.split(","):
        total, titles = evaluate(name, arguments.repeats)
        apart = total["HonestClassifier"] - total["best, calibrated"]
        error = apart.std(ddof=1) / np.sqrt(apart.size)
        hindsight = min(titles, key=lambda title: total[title].mean())
        values = [total[m].mean() for m in ("HonestClassifier", "best, calibrated", hindsight)]
        means.append(values)
        lines.append(
            f"| {name} | {values[0]:.3f} | {values[1]:.3f} | {apart.mean():+.3f} ({error:.3f}) | "
            f"{values[2]:.3f} ({hindsight}) |"
        )
        print(lines[-1], flush=True)
        mean = np.mean(means, axis=0)
        last = (
            f"| mean | {mean[0]:.3f} | {mean[1]:.3f} | {mean[0] - mean[1]:+.3f} | {mean[2]:.3f} |"
        )
        (arguments.out / "honest_pipelines.md").write_text("\n".join([*lines, last]) + "\n")


if __name__ == "__main__":
    main()
