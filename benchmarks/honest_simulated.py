"""HonestClassifier on simulated data whose truth is known, beside baselines.

    python benchmarks/honest_simulated.py [--data weak,noise] [--sets 20] [--cache FOLDER]

Each truth is drawn so many times, with the same shares of the classes in training and afterwards;
methods train on the same cases and predict the same 1,000 fresh ones. Expected and observed errors
are averaged over the sets. The best baseline is the one with the lowest mean log score on this
truth; the difference from it is paired by set. Baselines: L1 and L2 logistic regression, calibrated
naive Bayes after selection, a random forest, an SVM with a Gaussian kernel (sigmoid), GaussianNB,
and histogram boosting on 50 columns or fewer. Writes honest_simulated.json and honest_simulated.md
into benchmarks/results; truths that a run leaves out stay as they were.
"""

import argparse
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from ordinary import baselines

from honestbayes import HonestClassifier
from honestbayes.evaluation.baselines import Task, baselines_for

HERE = Path(__file__).parent / "results"
FRESH = 1000
OURS = "HonestClassifier"
LINEAR = ("L1 logistic regression", "L2 logistic regression", "scikit-learn NB, calibrated")
OTHERS = ("random forest", "SVM, sigmoid", "GaussianNB", "histogram boosting")
_FEW_COLUMNS = 50
"""Columns up to which histogram boosting is tried."""


def classes(rng, n, prevalence):
    """Return classes of which every 20 in a row have the same shares."""
    some = np.arange(20) < round(20 * prevalence)
    return np.concatenate([rng.permutation(some) for _ in range(-(-n // 20))])[:n].astype(int)


def shifted(rng, n, p, shifts, prevalence=0.5, noise=None):
    """Return measurements whose first columns are shifted by some sd in the second class."""
    y = classes(rng, n, prevalence)
    X = rng.normal(size=(n, p)) if noise is None else noise(rng, (n, p))
    X[:, : len(shifts)] += y[:, None] * np.asarray(shifts)
    return X, y


def copies(rng, n, p):
    """Return ten columns that are copies of one up to a little noise, among others."""
    X, y = shifted(rng, n, p, [1.0])
    X[:, 1:10] = X[:, [0]] + 0.05 * rng.normal(size=(n, 9))
    return X, y


def blocks(rng, n, p):
    """Return blocks of ten columns with correlation 0.7, two of which are shifted."""
    y = classes(rng, n, 0.5)
    shared = np.repeat(rng.normal(size=(n, p // 10)), 10, axis=1)
    X = np.sqrt(0.7) * shared + np.sqrt(0.3) * rng.normal(size=(n, p))
    X[:, :20] += 0.7 * y[:, None]
    return X, y


def atypical(rng, n, p):
    """Return strong signals, and 4% of cases that carry the other class's label."""
    X, y = shifted(rng, n, p, [1.5] * 5)
    return X, np.where(rng.random(n) < 0.04, 1 - y, y)


def spread_only(rng, n, p):
    """Return columns of which two are 2.5 times as wide in the second class."""
    y = classes(rng, n, 0.5)
    X = rng.normal(size=(n, p))
    X[:, :2] *= np.where(y, 2.5, 1.0)[:, None]
    return X, y


def product(rng, n, p):
    """Return columns of which the sign of the product of two decides, with 5% of labels wrong."""
    X = rng.normal(size=(n, p))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return X, np.where(rng.random(n) < 0.05, 1 - y, y)


def suppressed(rng, n, p):
    """Return two columns with correlation 0.95 whose difference decides, among others."""
    X = rng.normal(size=(n, p))
    X[:, 1] = 0.95 * X[:, 0] + np.sqrt(1 - 0.95**2) * X[:, 1]
    log_odds = 4 * (X[:, 0] - X[:, 1])
    return X, (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(int)


def four_classes(rng, n, p):
    """Return four classes, each with two columns of its own that are shifted by 1.5 sd."""
    y = np.concatenate([rng.permutation(np.arange(20) % 4) for _ in range(-(-n // 20))])[:n]
    X = rng.normal(size=(n, p))
    for c in range(4):
        X[:, 2 * c : 2 * c + 2] += 1.5 * (y == c)[:, None]
    return X, y


TRUTHS = {
    "weak": lambda rng, n: shifted(rng, n, 3000, [0.5] * 10),
    "one strong": lambda rng, n: shifted(rng, n, 10_000, [2.0]),
    "noise": lambda rng, n: shifted(rng, n, 2000, []),
    "all signal": lambda rng, n: shifted(rng, n, 200, [0.15] * 200),
    "rare class": lambda rng, n: shifted(rng, n, 1000, [1.0] * 5, prevalence=0.05),
    "20 cases": lambda rng, n: shifted(rng, n, 1000, [1.5] * 5),
    "2,000 cases": lambda rng, n: shifted(rng, n, 500, [0.3] * 10),
    "copies": lambda rng, n: copies(rng, n, 1000),
    "blocks": lambda rng, n: blocks(rng, n, 1000),
    "atypical cases": lambda rng, n: atypical(rng, n, 1000),
    "t3 noise": lambda rng, n: shifted(
        rng, n, 1000, [1.2] * 5, noise=lambda rng, shape: rng.standard_t(3, shape)
    ),
    "spread only": lambda rng, n: spread_only(rng, n, 5),
    "product of two": lambda rng, n: product(rng, n, 5),
    "suppressed pair": lambda rng, n: suppressed(rng, n, 10),
    "four classes": lambda rng, n: four_classes(rng, n, 200),
    "rare class, few columns": lambda rng, n: shifted(rng, n, 20, [1.0] * 5, prevalence=0.05),
}
CASES = {
    "20 cases": 20,
    "2,000 cases": 2000,
    "rare class": 200,
    "spread only": 200,
    "product of two": 200,
    "suppressed pair": 200,
    "four classes": 200,
    "rare class, few columns": 400,
}
"""Training cases; 100 for the others."""


def truth_sets(name, n_sets):
    """Yield training and fresh cases of each set."""
    for seed in range(n_sets):
        rng = np.random.default_rng([sorted(TRUTHS).index(name), seed])
        n = CASES.get(name, 100)
        X, y = TRUTHS[name](rng, n + FRESH)
        yield X[:n], y[:n], X[n:], y[n:]


def scores(model, X, y, X_new, y_new):
    """Return log score, expected and observed error, and largest loss on fresh cases."""
    if hasattr(model, "transformers_") or hasattr(model, "steps"):
        X, X_new = pd.DataFrame(X), pd.DataFrame(X_new)  # columns are chosen by name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        proba = np.clip(model.predict_proba(X_new), 1e-9, 1.0)
    loss = -np.log(proba[np.arange(y_new.size), y_new])
    wrong = proba.argmax(axis=1) != y_new
    return [loss.mean(), (1 - proba.max(axis=1)).mean(), wrong.mean(), loss.max()]


def run(name, arguments):
    """Return the scores of each method on each set of a truth, shape (sets, 4)."""
    stem = re.sub(r"\W+", "_", name)
    path = None if arguments.cache is None else arguments.cache / f"{stem}-{arguments.sets}.json"
    if path is not None and path.exists():
        return json.loads(path.read_text())
    found = {}
    for X, y, X_new, y_new in truth_sets(name, arguments.sets):
        kinds = ("real",) * X.shape[1]
        task = Task(n_features=10, n_candidates=X.shape[1], seed=0, kinds=kinds)
        known = baselines_for(task)
        models = {OURS: HonestClassifier(random_state=0)}
        models |= {method: known[method] for method in LINEAR if method in known}
        known = baselines(pd.DataFrame(X), y)
        few = X.shape[1] <= _FEW_COLUMNS
        models |= {each: known[each] for each in OTHERS if few or each != OTHERS[-1]}
        for method, model in models.items():
            found.setdefault(method, []).append(scores(model, X, y, X_new, y_new))
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found))
    return found


def figures(found):
    """Return the figures of a truth."""
    means = {method: np.mean(rows, axis=0) for method, rows in found.items()}
    best = min((each for each in means if each != OURS), key=lambda each: means[each][0])
    apart = np.array(found[OURS])[:, 0] - np.array(found[best])[:, 0]
    return {
        "methods": {
            method: dict(zip(("log_score", "expected", "observed"), row[:3].tolist(), strict=True))
            for method, row in means.items()
        },
        "best_baseline": best,
        "difference": float(apart.mean()),
        "difference_error": float(apart.std(ddof=1) / np.sqrt(apart.size)),
        "worst": float(np.max(np.array(found[OURS])[:, 3])),
        "sets": int(apart.size),
    }


def as_text(results):
    """Return a table of all truths."""
    lines = ["# HonestClassifier on simulated data", "", *(__doc__ or "").splitlines()[4:10], ""]
    columns = ("truth", "sets", "log score", "best baseline", "its log score")
    columns += ("difference (error)", "expected, observed error", "of the baseline")
    lines += [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, row in results.items():
        ours, baseline = row["methods"][OURS], row["methods"][row["best_baseline"]]
        lines.append(
            f"| {name} | {row['sets']} | {ours['log_score']:.3f} | "
            f"{row['best_baseline']} | {baseline['log_score']:.3f} | "
            f"{row['difference']:+.3f} ({row['difference_error']:.3f}) | "
            f"{ours['expected']:.3f}, {ours['observed']:.3f} | "
            f"{baseline['expected']:.3f}, {baseline['observed']:.3f} |"
        )
    return "\n".join(lines) + "\n"


def main():
    """Run, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=",".join(TRUTHS), help="names, with commas")
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--out", type=Path, default=HERE)
    arguments = parser.parse_args()
    path = arguments.out / "honest_simulated.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    given = [name for name in TRUTHS if name in arguments.data]
    for name in given:
        results[name] = figures(run(name, arguments))
        print(
            f"{name}: {results[name]['best_baseline']}, {results[name]['difference']:+.3f}",
            flush=True,
        )
        path.write_text(json.dumps(results, indent=1) + "\n")
        path.with_suffix(".md").write_text(as_text(results))


if __name__ == "__main__":
    main()
