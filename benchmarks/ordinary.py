"""HonestClassifier on ordinary and discrete tables, beside what people would use otherwise.

    HONESTBAYES_DATA=... python benchmarks/ordinary.py [--data glass,pima] [--cache FOLDER]

Stratified 5-fold cross-validation, once, the same folds for all; selection and tuning are repeated
inside the training cases. Of tables with more than 2,000 cases 1,000 are drawn first. The tables of
`SETTLED` had a say in constants, kinds of candidates and numbers of trees; those of `CONFIRMED` had
none (a `benchmarks/forest.py` held these lists before the first forest was tried; iris was used for
a constant of the kernel, and the three other tables of scikit-learn for nothing). Baselines see
missing cells filled in by the median, or as a category of their own. Writes ordinary.json and
ordinary.md into benchmarks/results. With --cache, what has been computed is kept and a stopped run
goes on; remove that folder when the code changes.
"""

import argparse
import json
import os
import re
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from honest import slope_of
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC

from honestbayes import HonestClassifier
from honestbayes.experiments.comparison_tables import real_table

HERE = Path(__file__).parent / "results"
OURS = "HonestClassifier"
SCIKIT = {
    "iris": load_iris,
    "wine": load_wine,
    "breast-cancer-30": load_breast_cancer,
    "digits": load_digits,
}
FILES = ("glass", "pima", "breast-cancer", "sonar", "german", "haberman")
ORDINARY = (*FILES, *SCIKIT)
DISCRETE = (
    "vote",
    "spect",
    "tic_tac_toe",
    "promoters",
    "zoo",
    "monks1",
    "monks2",
    "monks3",
    "car",
    "mushroom",
    "dna_statlog",
    "nursery",
)
SETTLED = ("glass", "pima", "breast-cancer", "iris", "vote", "tic_tac_toe", "monks1", "spect")
CONFIRMED = tuple(name for name in (*ORDINARY, *DISCRETE) if name not in SETTLED)


def table_of(name):
    """Return columns as a frame, and classes."""
    if name in SCIKIT:
        data = SCIKIT[name](as_frame=True)
        return data.data, data.target.to_numpy()
    if name in FILES:
        file = Path(os.environ["HONESTBAYES_DATA"]) / "ordinary" / f"{name}.csv.gz"
        table = pd.read_csv(file, keep_default_na=False, na_values=["?", ""])
        y = table.pop(table.columns[-1]).astype(str).to_numpy()
        return table, y
    table = real_table(name)
    return table.X, np.asarray(table.y)


def baselines(X, y):
    """Return unfitted baselines by name; a class with few cases allows few inner folds."""
    folds = max(2, min(5, np.unique(y, return_counts=True)[1].min() * 4 // 5))
    texts = [c for c in X if not pd.api.types.is_numeric_dtype(X[c])]
    numbers = [c for c in X if c not in texts]
    numeric = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())

    def coded(model, levels):
        return make_pipeline(
            make_column_transformer((numeric, numbers), (levels, texts), sparse_threshold=0), model
        )

    def one_hot(model):
        return coded(model, OneHotEncoder(handle_unknown="ignore"))

    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    grid = np.geomspace(1e-3, 1e3, 7)
    logistic = {"Cs": grid, "cv": folds, "scoring": "neg_log_loss"}
    svm = GridSearchCV(SVC(), {"C": (1, 10)}, cv=folds)
    found = {
        "L1 logistic regression": one_hot(
            LogisticRegressionCV(
                **logistic, penalty="l1", solver="saga", tol=1e-3, max_iter=500, random_state=0
            )
        ),
        "L2 logistic regression": one_hot(LogisticRegressionCV(**logistic, max_iter=1000)),
        "random forest": one_hot(RandomForestClassifier(500, random_state=0)),
        "SVM, sigmoid": one_hot(CalibratedClassifierCV(svm, method="sigmoid", cv=folds)),
        "histogram boosting": coded(
            HistGradientBoostingClassifier(
                random_state=0,
                categorical_features=[*range(len(numbers), len(numbers) + len(texts))],
            ),
            codes,
        ),
    }
    if not texts:
        found["GaussianNB"] = one_hot(GaussianNB())
    elif not numbers:
        levels = [X[column].nunique(dropna=False) for column in X]
        plain = OrdinalEncoder(
            categories=[sorted(X[column].astype(str).unique()) for column in X], dtype=np.int64
        )
        found["CategoricalNB"] = make_pipeline(plain, CategoricalNB(min_categories=levels))
    return found


def predictions(model, X, y, *, ours):
    """Return log probabilities of held-out cases, (n, C), and CPU seconds of a fit."""
    if not ours:
        X = X.copy()
        for column in X:
            if not pd.api.types.is_numeric_dtype(X[column]):
                X[column] = X[column].astype(str)
    classes, codes = np.unique(y, return_inverse=True)
    result, seconds = np.empty((codes.size, classes.size)), 0.0
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(codes, codes):
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X.iloc[train], codes[train])
            seconds += (time.process_time() - begin) / 5
            result[test] = np.log(np.maximum(model.predict_proba(X.iloc[test]), 1e-9))
    return result, seconds


def cached(folder, table, method, make):
    """Return what `make` computes, from the cache where it is."""
    name = f"{table}-{re.sub(r'[^A-Za-z0-9]+', '_', method)}.npz"
    path = None if folder is None else folder / name
    if path is not None and path.exists():
        with np.load(path) as found:
            return found["log_proba"], float(found["seconds"])
    log_proba, seconds = make()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, log_proba=log_proba, seconds=seconds)
    return log_proba, seconds


def figures(log_proba, seconds, codes, reference):
    """Return the row of a method; differences are paired by case, positive: worse than ours."""
    loss, proba = -log_proba[np.arange(codes.size), codes], np.exp(log_proba)
    wrong, expected = proba.argmax(axis=1) != codes, 1 - proba.max(axis=1)
    apart = loss - reference
    root = np.sqrt(codes.size)
    slope = slope_of(log_proba[None], codes)
    centre, half = slope["slope"], np.diff(slope["slope_interval"])[0] / 2
    half *= 1.6449 / 2.8070  # 90% instead of 99.5%
    return {
        "log_score": float(loss.mean()),
        "difference": float(apart.mean()),
        "difference_error": float(apart.std(ddof=1) / root),
        "expected_error": float(expected.mean()),
        "observed_error": float(wrong.mean()),
        "error_error": float((wrong - expected).std(ddof=1) / root),
        "slope": centre,
        "slope_interval": [float(centre - half), float(centre + half)],
        "seconds": seconds,
    }


def evaluate(name, arguments):
    """Return the figures of all methods on one table."""
    X, y = table_of(name)
    classes, codes = np.unique(y, return_inverse=True)
    methods = {
        OURS: HonestClassifier(random_state=0),
        f"{OURS}, quick": HonestClassifier(effort="quick", random_state=0),
    }
    if arguments.thorough:
        methods[f"{OURS}, thorough"] = HonestClassifier(effort="thorough", random_state=0)
    ours = set(methods)
    found = {}
    for method, model in {**methods, **baselines(X, y)}.items():

        def make(model=model, own=method in ours):
            return predictions(model, X, y, ours=own)

        found[method] = cached(arguments.cache, name, method, make)
    reference = -found[OURS][0][np.arange(codes.size), codes]
    rows = {method: figures(*result, codes, reference) for method, result in found.items()}
    for method, row in rows.items():
        low, high = row["slope_interval"]
        print(
            f"{name:<17} {method:<24} {row['log_score']:.4f} {row['difference']:+.4f} "
            f"({row['difference_error']:.4f}) slope {low:.2f} to {high:.2f} error "
            f"{row['expected_error']:.3f} {row['observed_error']:.3f} ({row['error_error']:.3f}) "
            f"{row['seconds']:.1f} s",
            flush=True,
        )
    return {
        "n": int(codes.size),
        "p": int(X.shape[1]),
        "classes": int(classes.size),
        "part": "settled" if name in SETTLED else "confirmed",
        "rows": rows,
    }


def as_text(found):
    """Return the results as Markdown: means, criteria, then every table."""
    lines = ["# HonestClassifier on ordinary and discrete tables", ""]
    sorts = {
        "ordinary tables": [n for n in found if n in ORDINARY],
        "discrete tables": [n for n in found if n in DISCRETE],
        "tables, settled": [n for n in found if n in SETTLED],
        "tables, confirmed": [n for n in found if n not in SETTLED],
    }
    for sort, names in sorts.items():
        if not names:
            continue
        common = set.intersection(*(set(found[name]["rows"]) for name in names))
        means = {m: np.mean([found[n]["rows"][m]["log_score"] for n in names]) for m in common}
        lines += [f"## Mean log score, {len(names)} {sort}", "", "| method | mean |", "|---|---|"]
        lines += [f"| {m} | {v:.4f} |" for m, v in sorted(means.items(), key=lambda pair: pair[1])]
        lines.append("")
    columns = ("table", "n, p, classes", "log score", "best baseline", "behind by (error)")
    columns += ("slope (90%)", "expected, observed error (error)", "CPU s, quick, boosting")
    lines += ["## By table", "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, table in found.items():
        rows = table["rows"]
        own = rows[OURS]
        quick, boosting = rows[f"{OURS}, quick"]["seconds"], rows["histogram boosting"]["seconds"]
        best = min((m for m in rows if not m.startswith(OURS)), key=lambda m: rows[m]["log_score"])
        behind, (low, high) = rows[best], own["slope_interval"]
        lines.append(
            f"| {name}, {table['part']} | {table['n']:,}, {table['p']}, {table['classes']} | "
            f"{own['log_score']:.4f} | {best}, {behind['log_score']:.4f} | "
            f"{-behind['difference']:+.4f} ({behind['difference_error']:.4f}) | "
            f"{own['slope']:.2f} ({low:.2f} to {high:.2f}) | {own['expected_error']:.3f}, "
            f"{own['observed_error']:.3f} ({own['error_error']:.3f}) | {own['seconds']:.1f}, "
            f"{quick:.1f}, {boosting:.1f} |"
        )
    for name, table in found.items():
        lines += ["", f"## {name}", "", "| method | log score | worse by (error) | slope | CPU s |"]
        lines.append("|---" * 5 + "|")
        ordered = sorted(table["rows"].items(), key=lambda pair: pair[1]["log_score"])
        lines += [
            f"| {method} | {row['log_score']:.4f} | {row['difference']:+.4f} "
            f"({row['difference_error']:.4f}) | {row['slope']:.2f} | {row['seconds']:.1f} |"
            for method, row in ordered
        ]
    return "\n".join(lines) + "\n"


def main():
    """Run, and write the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=",".join((*ORDINARY, *DISCRETE)), help="with commas")
    parser.add_argument("--thorough", action="store_true", help="models of Markov chains too")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--out", type=Path, default=HERE)
    arguments = parser.parse_args()
    path = arguments.out / "ordinary.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for name in arguments.data.split(","):
        found[name] = evaluate(name, arguments)
        path.write_text(json.dumps(found, indent=1) + "\n")
        path.with_suffix(".md").write_text(as_text(found))


if __name__ == "__main__":
    main()
