"""Which settings are honest on real tables: the evidence for the defaults.

Repeated cross-validation, selection inside the folds, on the real data in HONESTBAYES_DATA and on
simulated data. Prints, for each table and number of kept features, the log score, the expected and
the actual error and the calibration slope of each setting.

    HONESTBAYES_DATA=... python benchmarks/default_settings.py
"""

import gzip
import os
import re
from pathlib import Path

import numpy as np
from scipy import sparse

from honestbayes import SelectiveBernoulliNB
from honestbayes.datasets import load_colon, load_leukemia, simulate_naive_bayes
from honestbayes.evaluation import cross_validate
from honestbayes.evaluation.baselines import FREQUENCIES, Task, baselines_for

FOLDS, REPEATS = 5, 2
NUMBERS = (10, 50)


def settings(k):
    """Return the settings to compare."""
    common = {"n_features_to_select": k, "random_state": 0}
    models = {
        "uniform, none": {"feature_prior": "uniform", "correction": None},
        "uniform, selection": {"feature_prior": "uniform", "correction": "selection"},
        "uniform, counts": {"feature_prior": "uniform", "correction": "counts"},
        "learned": {"feature_prior": "learned", "correction": "counts"},
    }
    return {
        name + suffix: SelectiveBernoulliNB(**common, **options, recalibrate=recalibrate)
        for suffix, recalibrate in (("", None), (" + slope", "slope"))
        for name, options in models.items()
    }


def baselines(k, n_features):
    """Return what a user would try instead, from the list that reports share."""
    found = baselines_for(Task(n_features=k, n_candidates=n_features))
    return {name: baseline for name, baseline in found.items() if name != FREQUENCIES}


def tables():
    """Yield name, X and y."""
    simulated = simulate_naive_bayes(200, 2, n_features=5000, alpha=300.0, random_state=0)
    yield "simulated", simulated.X_train, simulated.y_train
    leukemia = load_leukemia()
    yield "leukaemia", np.asarray(leukemia.X, dtype=float), leukemia.y
    colon = load_colon()
    yield "colon", colon.X, colon.y
    folder = Path(os.environ["HONESTBAYES_DATA"])
    with np.load(folder / "singh_prostate.npz") as file:
        yield "prostate", file["X"].astype(float), file["y"]
    with np.load(folder / "lymphoma.npz") as file:
        yield "lymphoma", file["X"].astype(float), (file["y"] > 0).astype(int)
    for seed in (0, 1):
        yield f"sms {seed}", *sms(folder, 200, seed)
    for seed in (0, 1):
        yield f"dorothea {seed}", *dorothea(folder, 200, seed)


def sms(folder, n, seed):
    """Return a sample of messages as words present or absent, those in two messages or more."""
    with gzip.open(folder / "sms_spam.tsv.gz", "rt", encoding="utf-8", errors="replace") as file:
        lines = [line.rstrip("\n").split("\t", 1) for line in file]
    lines = [line for line in lines if line[0] in ("ham", "spam")]
    chosen = np.random.default_rng(seed).choice(len(lines), n, replace=False)
    words = [set(re.findall(r"\w\w+", lines[i][1].lower())) for i in chosen]
    vocabulary = {word: j for j, word in enumerate(sorted(set().union(*words)))}
    X = np.zeros((n, len(vocabulary)), dtype=np.int8)
    for row, message in enumerate(words):
        X[row, [vocabulary[word] for word in message]] = 1
    return X[:, X.sum(axis=0) >= 2], np.array([lines[i][0] == "spam" for i in chosen]).astype(int)


def dorothea(folder, n, seed):
    """Return a sample of molecules, features present in two of them or more."""
    with np.load(folder / "dorothea.npz") as file:
        ones = np.ones(file["indices"].size, dtype=np.int8)
        matrix = sparse.csr_array(
            (ones, file["indices"], file["indptr"]), shape=tuple(file["shape"])
        )
        labelled = np.flatnonzero(file["split"] < 2)
        y = file["y"][labelled]
    chosen = np.random.default_rng(seed).choice(labelled.size, n, replace=False)
    X = matrix[labelled[chosen]].toarray()
    return X[:, X.sum(axis=0) >= 2], (y[chosen] == y.max()).astype(int)


def main():
    """Print the table."""
    print(f"{FOLDS} folds, {REPEATS} repeats; selection, prior and slope learnt inside the folds")
    for name, X, y in tables():
        for k in NUMBERS:
            print(f"\n{name}: {X.shape[0]} cases, {X.shape[1]} features, {k} kept")
            print(f"  {'':28}{'log score':>10}{'expected':>10}{'actual':>8}{'slope':>7}")
            for label, model in {**settings(k), **baselines(k, X.shape[1])}.items():
                result = cross_validate(
                    model, X, y, cv=FOLDS, n_repeats=REPEATS, random_state=0
                ).summary()
                print(
                    f"  {label:28}{result.log_score.value:10.3f}"
                    f"{result.expected_error:10.3f}{result.actual_error.value:8.3f}"
                    f"{result.calibration.slope:7.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
