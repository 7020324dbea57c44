"""Forward and boosted selection: time by rows, columns and steps, beside scikit-learn; memory.

    python benchmarks/search.py [--jobs 2] [--quick]

A candidate of forward selection is timed beside one fit of scikit-learn's `BernoulliNB` to ten
columns of the same table, and its `predict_proba` on the same rows, which is what a wrapper would
pay for it. All figures are of one run; a ratio is of times taken in turn.
"""

import argparse
import os
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
from sklearn.naive_bayes import BernoulliNB

from honestbayes import BoostedProbabilitySelector, ForwardProbabilitySelector
from honestbayes.data.categories import learn_coding
from honestbayes.datasets import load_kdd98_categorical

ROWS, COLUMNS, STEPS = 95_412, 478, 20


def simulated(n, p, seed=0):
    """Return a 0/1 table whose first 20 columns say something, and classes of which 5% are 1."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.05).astype(np.int64)
    X = (rng.random((n, p), dtype=np.float32) < rng.uniform(0.1, 0.9, p)).astype(np.int8)
    for j in range(min(20, p)):
        told = rng.random(n) < 0.1
        X[told, j] = y[told]
    return X, y


def seconds(run):
    """Return the wall time of a call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def baseline(X, y):
    """Return the time of scikit-learn's fit and prediction with ten columns, the best of three."""
    some = np.ascontiguousarray(X[:, :10])
    return min(seconds(lambda: BernoulliNB().fit(some, y).predict_proba(some)) for _ in range(3))


def forward(X, y, steps, jobs):
    """Return the time of forward selection, and candidates evaluated."""
    selector = ForwardProbabilitySelector(n_features_to_select=steps, n_jobs=jobs)
    p = X.shape[1]
    return seconds(lambda: selector.fit(X, y)), sum(p - step for step in range(steps))


def line(name, X, y, steps, jobs):
    """Time forward selection beside scikit-learn."""
    before = baseline(X, y)
    taken, candidates = forward(X, y, steps, jobs)
    return row(name, taken, taken / candidates, min(before, baseline(X, y)))


def row(name, taken, each, theirs):
    """Return a line of figures."""
    figures = f"{taken:8.2f} s {1e3 * each:9.3f} ms {1e3 * theirs:8.1f} ms"
    return f"{name:44s} {figures} {theirs / each:7.0f}x"


def categorical(jobs):
    """Time the 95,412-row table; scikit-learn gets its columns as 0/1, one for each level."""
    people = load_kdd98_categorical()
    weight = np.ones(people.y.size)
    forward(people.X[:1000], people.y[:1000], 2, jobs)  # compiles
    coding = seconds(lambda: learn_coding(people.X, weight).encode(people.X))
    taken, candidates = forward(people.X, people.y, 20, jobs)
    codes = np.column_stack([people.X[name].factorize()[0] for name in people.X])
    levels = [np.arange(codes[:, j].max() + 1) for j in range(10)]
    flags = np.hstack([codes[:, [j]] == levels[j] for j in range(10)]).astype(np.int8)
    theirs = min(
        seconds(lambda: BernoulliNB().fit(flags, people.y).predict_proba(flags)) for _ in range(3)
    )
    note = f"coding the frame {coding:.2f} s, left out; BernoulliNB on {flags.shape[1]} 0/1 columns"
    figures = row(
        "KDD-98, 20 categorical columns, 20 steps", taken, (taken - coding) / candidates, theirs
    )
    return [figures, f"    ({note})"]


def memory(X, y):
    """Return peak memory beyond the table, in shares of it."""
    shares = {}
    for selector in (
        ForwardProbabilitySelector(n_features_to_select=5),
        BoostedProbabilitySelector(n_rounds=5),
    ):
        tracemalloc.start()
        selector.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        shares[type(selector).__name__] = peak / X.nbytes
    return shares


def main():
    """Print and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--jobs", type=int, default=2, help="threads")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    arguments = parser.parse_args()
    n, jobs = (ROWS // 10 if arguments.quick else ROWS), arguments.jobs
    X, y = simulated(n, COLUMNS)
    for selector in (
        ForwardProbabilitySelector(n_features_to_select=2),
        BoostedProbabilitySelector(n_rounds=2),
    ):
        selector.fit(X[:1000], y[:1000])  # compiles
    lines = [
        f"Forward selection, {jobs} threads, beside fit and prediction of BernoulliNB, 10 features",
        f"{'':44s} {'all':>10s} {'a candidate':>12s} {'BernoulliNB':>11s} {'ratio':>8s}",
        line(f"{n:,} x {COLUMNS}, {STEPS} steps", X, y, STEPS, jobs),
        line(f"{n:,} x {COLUMNS}, {STEPS} steps, one thread", X, y, STEPS, 1),
    ]
    lines += [
        line(f"{rows:,} x {COLUMNS}, 5 steps", X[:rows], y[:rows], 5, jobs)
        for rows in (n // 16, n // 4, n)
    ]
    lines += [
        line(f"{n:,} x {p}, 5 steps", np.ascontiguousarray(X[:, :p]), y, 5, jobs)
        for p in (30, 120, 478)
    ]
    lines += [line(f"{n:,} x {COLUMNS}, {t} steps", X, y, t, jobs) for t in (1, 5, 10)]
    if "HONESTBAYES_DATA" in os.environ:
        lines += categorical(jobs)
    boosted = BoostedProbabilitySelector(n_rounds=STEPS)
    lines.append(f"Boosted, {STEPS} rounds: {seconds(lambda: boosted.fit(X, y)):.2f} s")
    lines += [
        f"{name}: peak memory beyond the table {share:.1%} of it"
        for name, share in memory(X, y).items()
    ]
    text = "\n".join(lines)
    sys.stdout.write(text + "\n")
    if not arguments.quick:
        place = Path(__file__).resolve().parent / "results" / "search.txt"
        place.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
