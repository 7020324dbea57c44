"""HonestClassifier on real tables, beside our other models and what people would use otherwise.

    HONESTBAYES_DATA=... python benchmarks/honest.py [--data colon,prostate] [--cache FOLDER]

Stratified 5-fold cross-validation, four times, the same folds for all; selection and tuning are
repeated inside the training cases. Of tables with more than 2,000 cases 1,000 are drawn first.
"Settled" tables had a say in what is default, "confirmed" ones had none. Slopes have 99.5%
intervals. Writes honest.json and honest.md into benchmarks/results; tables that a run leaves out
stay as they were. With --cache, what has been computed is kept and a stopped run goes on; remove
that folder when the code changes.
"""

import argparse
import json
import re
import time
import warnings
from pathlib import Path

import numpy as np
from real_data_methods import baselines, naive_bayes
from scipy.special import log_softmax
from scipy.stats import norm
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

import honestbayes as hb
from honestbayes.experiments.comparison_tables import real_table

HERE = Path(__file__).parent / "results"
SETTLED = ("colon", "lymphoma", "words_1", "dorothea_1", "vote", "tic_tac_toe")
"""Tables on which pooling and its prior were settled; all others confirm."""

WIDE = (
    "leukaemia",
    "colon",
    "prostate",
    "lymphoma",
    "srbct",
    "words_1",
    "words_2",
    "words_3",
    "dorothea_1",
    "dorothea_2",
)
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
REPEATS = 4
OURS = "HonestClassifier"


def methods(table):
    """Return unfitted methods by name, and whether each takes the table as it is."""
    effort = "thorough" if table.kind == "categorical" else "normal"
    found = {OURS: (hb.HonestClassifier(effort=effort), True)}
    if effort == "thorough":
        found[f"{OURS}, normal effort"] = (hb.HonestClassifier(), True)
    k = min(10, table.n_features)
    own = {
        "real": [hb.SelectiveGaussianNB, hb.SelectiveDiscriminant, hb.SelectiveLogistic],
        "binary": [hb.SelectiveBernoulliNB, hb.SelectiveDiscriminant, hb.SelectiveLogistic],
        "categorical": [hb.SelectiveCategoricalNB],
    }[table.kind]
    for model in own:
        for number in (10, 50) if table.kind != "categorical" else (None,):
            found[f"ours: {model.__name__}, {number or 10}"] = (
                model(n_features_to_select=min(number, table.n_features) if number else None),
                True,
            )
    plain, name = naive_bayes(table, k)
    found[f"{name}, 10"] = (plain, False)
    if table.kind != "categorical":
        isotonic = CalibratedClassifierCV(naive_bayes(table, k)[0], method="isotonic", cv=5)
        found["NB, isotonic, 10"] = (isotonic, False)
    for name, baseline in baselines(table, k).items():
        found[name] = (baseline, False)
    scale = MaxAbsScaler() if table.kind == "binary" else StandardScaler()
    first = OneHotEncoder(handle_unknown="ignore") if table.kind == "categorical" else scale
    found["elastic net"] = (
        make_pipeline(
            first,
            LogisticRegressionCV(
                Cs=np.geomspace(1e-3, 1, 4),
                l1_ratios=(0.5,),
                solver="saga",
                cv=3,
                scoring="neg_log_loss",
                max_iter=50,
                tol=1e-2,
            ),
        ),
        False,
    )
    trees = RandomForestClassifier(500, random_state=0)
    found["random forest"] = (trees, False)
    if table.n_features <= 20_000:
        found["gradient boosting"] = (Dense(HistGradientBoostingClassifier(random_state=0)), False)
    return found


class Dense:
    """A classifier that takes arrays only."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        """Fit."""
        self.fitted = clone(self.model).fit(np.asarray(getattr(X, "todense", lambda: X)()), y)
        self.classes_ = self.fitted.classes_
        return self

    def predict_proba(self, X):
        """Predict."""
        return self.fitted.predict_proba(np.asarray(getattr(X, "todense", lambda: X)()))


def predictions(method, plain, table, repeats):
    """Return log probabilities of held-out cases, shape (repeats, n, C), and seconds of a fit."""
    classes, codes = np.unique(table.y, return_inverse=True)
    X = table.X if plain or table.codes is None else table.codes
    result = np.full((repeats, codes.size, classes.size), np.nan)
    splitter = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0)
    begin = time.process_time()
    for place, (train, test) in enumerate(splitter.split(codes, codes)):
        rows = (X.iloc[train], X.iloc[test]) if hasattr(X, "iloc") else (X[train], X[test])
        model = Dense(method.model) if isinstance(method, Dense) else clone(method)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(rows[0], table.y[train])
            if hasattr(model, "predict_log_proba"):
                log_proba = np.asarray(model.predict_log_proba(rows[1]))
            else:
                with np.errstate(divide="ignore"):
                    log_proba = np.log(model.predict_proba(rows[1]))
        result[place // 5, test] = log_proba
    seconds = (time.process_time() - begin) / (5 * repeats)
    # A probability of 0 would be an infinite loss: as much as one of a billion is.
    return np.maximum(result, np.log(1e-9)), seconds


def cached(folder, table, name, make):
    """Return what `make` computes, from the cache where it is."""
    path = None if folder is None else folder / f"{table}-{re.sub(r'[^A-Za-z0-9]+', '_', name)}.npz"
    if path is not None and path.exists():
        with np.load(path) as found:
            return found["log_proba"], float(found["seconds"])
    log_proba, seconds = make()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, log_proba=log_proba, seconds=seconds)
    print(f"{table}: {name}: {seconds:.1f} s a fit", flush=True)
    return log_proba, seconds


def row_of(log_proba, seconds, codes, reference):
    """Return the figures of a method; its difference from ours is paired by case."""
    loss = -log_proba[:, np.arange(codes.size), codes]
    by_case = loss.mean(axis=0)
    proba = np.exp(log_proba)
    row = {
        "log_score": float(by_case.mean()),
        "expected_error": float((1 - proba.max(axis=2)).mean()),
        "error": float((proba.argmax(axis=2) != codes).mean()),
        "worst": float(loss.max()),
        "seconds": seconds,
        **slope_of(log_proba, codes),
    }
    if reference is not None:
        apart = by_case - reference
        row["difference"] = float(apart.mean())
        row["difference_error"] = float(apart.std(ddof=1) / np.sqrt(codes.size))
    return row


def slope_of(log_proba, codes):
    """Return the factor on the log-odds that the cases ask for, with a 99.5% interval.

    Its variance is that of the mean over repeats, as if the repeats of a case were one.
    """
    n_classes = log_proba.shape[2]
    prior = np.log(np.bincount(codes, minlength=n_classes) / codes.size)
    evidence = log_proba - prior
    slope, cases = 1.0, np.arange(codes.size)
    for _ in range(60):
        proba = np.exp(log_softmax(prior + slope * evidence, axis=2))
        mean = (proba * evidence).sum(axis=2)
        gradient = (evidence[:, cases, codes] - mean).mean(axis=0)
        curvature = ((proba * evidence**2).sum(axis=2) - mean**2).mean(axis=0).sum()
        step = gradient.sum() / max(curvature, 1e-9)
        slope = min(max(slope + np.clip(step, -slope / 2, slope), 1e-3), 50.0)
    spread = np.sqrt(np.sum(gradient**2)) / max(curvature, 1e-9)
    half = norm.ppf(0.9975) * spread
    return {"slope": float(slope), "slope_interval": [float(slope - half), float(slope + half)]}


def evaluate(name, arguments):
    """Return the figures of all methods on one table."""
    table = real_table(name)
    classes, codes = np.unique(table.y, return_inverse=True)
    wanted = None if arguments.methods is None else arguments.methods.split(";")
    found = {}
    for method, (model, plain) in methods(table).items():
        if wanted is None or method in wanted or method == OURS:

            def make(model=model, plain=plain):
                return predictions(model, plain, table, arguments.repeats)

            found[method] = cached(arguments.cache, name, method, make)
    reference = -found[OURS][0][:, np.arange(codes.size), codes].mean(axis=0)
    return {
        "n": int(codes.size),
        "p": int(table.n_features),
        "classes": int(classes.size),
        "kind": table.kind,
        "part": "settled" if name in SETTLED else "confirmed",
        "rows": {
            method: row_of(*predicted, codes, None if method == OURS else reference)
            for method, predicted in found.items()
        },
    }


def as_text(found):
    """Return all tables as Markdown, the summary first."""
    lines = ["# HonestClassifier beside other methods", "", *summary(found)]
    for name, table in found.items():
        shape = f"{table['n']:,} cases, {table['p']:,} columns, {table['classes']} classes"
        lines += ["", f"## {name}: {shape}, {table['part']}", ""]
        columns = ("method", "log score", "worse by (error)", "slope (99.5%)")
        columns += ("expected, observed error", "worst case", "CPU s")
        lines += [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
        for method, row in sorted(table["rows"].items(), key=lambda pair: pair[1]["log_score"]):
            apart = ""
            if "difference" in row:
                apart = f"{row['difference']:+.3f} ({row['difference_error']:.3f})"
            low, high = row["slope_interval"]
            lines.append(
                f"| {method} | {row['log_score']:.3f} | {apart} | "
                f"{row['slope']:.2f} ({low:.2f} to {high:.2f}) | "
                f"{row['expected_error']:.3f}, {row['error']:.3f} | {row['worst']:.1f} | "
                f"{row['seconds']:.1f} |"
            )
    return "\n".join(lines) + "\n"


def summary(found):
    """Return the mean log score of every method that has a row in each table of a sort."""
    lines = []
    sorts = {
        "wide tables": [n for n in found if n in WIDE],
        "wide tables, settled": [n for n in found if n in WIDE and n in SETTLED],
        "wide tables, confirmed": [n for n in found if n in WIDE and n not in SETTLED],
        "discrete tables": [n for n in found if n in DISCRETE],
    }
    for sort, names in sorts.items():
        if not names:
            continue
        common = set.intersection(*(set(found[name]["rows"]) for name in names))
        means = {m: np.mean([found[n]["rows"][m]["log_score"] for n in names]) for m in common}
        lines += [f"## Mean log score, {len(names)} {sort}", "", "| method | mean |", "|---|---|"]
        lines += [f"| {m} | {v:.3f} |" for m, v in sorted(means.items(), key=lambda pair: pair[1])]
        lines.append("")
    return lines


def main():
    """Run, and write the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=",".join(WIDE), help="names, with commas")
    parser.add_argument("--methods", help="names, with semicolons; ours is always run")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--out", type=Path, default=HERE)
    arguments = parser.parse_args()
    path = arguments.out / "honest.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for name in arguments.data.split(","):
        found[name] = evaluate(name, arguments)
        path.write_text(json.dumps(found, indent=1) + "\n")
        path.with_suffix(".md").write_text(as_text(found))


if __name__ == "__main__":
    main()
