"""Covariates beside features: what they gain, and the damage where features depend on them.

Log scores on 1,000 new cases, averaged over data sets with standard errors, of `HonestClassifier`
with the covariates as such, as ordinary columns, as columns kept by design, and left out.

    clinical   age and sex shift the log-odds; 2,000 columns that tell nothing
    genes      the same, and five columns that tell something
    batch      two batches with prevalences of 0.3 and 0.7; five columns that tell something
    shifted    the same, and the batch shifts 20 of the columns too, by one standard deviation
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from honestbayes import HonestClassifier

N_NEW = 1000


def simulate(name, rng, n_train=150):
    """Return a table, its classes, and the names of its covariates."""
    n = n_train + N_NEW
    table = {}
    if name in ("clinical", "genes"):
        table = {"age": rng.normal(60, 10, n), "sex": rng.choice(["f", "m"], n)}
        odds = (table["age"] - 60) / 10 + 0.8 * (table["sex"] == "m") - 0.4
    else:
        table = {"batch": rng.choice(["a", "b"], n)}
        odds = np.where(table["batch"] == "b", logit(0.7), logit(0.3))
    y = (rng.random(n) < expit(odds)).astype(int)
    width = 2000 if name == "clinical" else 200
    genes = rng.normal(size=(n, width))
    if name != "clinical":
        genes[:, :5] += 0.6 * y[:, None]
    if name == "shifted":
        genes[:, :20] += (table["batch"] == "b")[:, None]
    frame = pd.concat([pd.DataFrame(table), pd.DataFrame(genes).add_prefix("g")], axis=1)
    return frame, y, list(table)


def log_score(model, frame, y):
    """Return the average minus log probability of the observed class."""
    proba = model.predict_proba(frame)
    return -np.log(proba[np.arange(y.size), y]).mean()


def main():
    """Print a table of log scores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-sets", type=int, default=10)
    given = parser.parse_args()
    print("| data | as covariates | as columns | kept by design | left out | warned |")
    print("|---|---|---|---|---|---|")
    for name in ("clinical", "genes", "batch", "shifted"):
        scores, warned = [], 0
        for seed in range(given.data_sets):
            frame, y, z = simulate(name, np.random.default_rng(seed))
            train, new = slice(0, len(y) - N_NEW), slice(len(y) - N_NEW, None)
            row = []
            for params in ({"covariates": z}, {}, {"always_keep": z}, None):
                columns = frame if params is not None else frame.drop(columns=z)
                model = HonestClassifier(effort="quick", random_state=0, **(params or {}))
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    model.fit(columns[train], y[train])
                warned += any("depend" in str(each.message) for each in caught)
                row.append(log_score(model, columns[new], y[new]))
            scores.append(row)
        mean, error = np.mean(scores, axis=0), np.std(scores, axis=0, ddof=1)
        cells = [
            f"{m:.3f} ({e:.3f})" for m, e in zip(mean, error / len(scores) ** 0.5, strict=True)
        ]
        print(f"| {name} | {' | '.join(cells)} | {warned} of {given.data_sets} |", flush=True)


if __name__ == "__main__":
    main()
