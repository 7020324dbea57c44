"""How the time of HonestClassifier().fit grows with cases, columns and candidates.

    python benchmarks/honest_growth.py

Standard normal columns of which ten are shifted by half a standard deviation. Each time stands
beside that of an L2 logistic regression whose penalty is chosen in five folds, on the same table in
the same run: machines differ, ratios less. Writes honest_growth.md into benchmarks/results.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from honestbayes import HonestClassifier
from honestbayes.evaluation.baselines import Task, baselines_for

HERE = Path(__file__).parent / "results"
CASES = (30, 100, 300, 1000, 3000)
COLUMNS = (30, 300, 3000, 30_000)
BASELINE = "L2 logistic regression"
FAMILIES = ("gaussian", "cut", "discriminant", "logistic")


def table(n, p):
    """Return a table."""
    rng = np.random.default_rng([n, p])
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    X[:, :10] += 0.5 * y[:, None]
    return X, y


def seconds(model, X, y):
    """Return the processor time of a fit, the better of two."""
    found = []
    for _ in range(2):
        begin = time.process_time()
        model.fit(X, y)
        found.append(time.process_time() - begin)
    return min(found)


def baseline(p):
    """Return what the time is compared with."""
    return baselines_for(Task(n_candidates=p, seed=0, kinds=("real",) * p))[BASELINE]


def main():
    """Run, and write the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=HERE)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    HonestClassifier().fit(*table(40, 40))  # compiles
    lines = ["# Growth of time", "", *(__doc__ or "").splitlines()[4:7], ""]
    lines += ["| cases | columns | CPU s | L2 logistic regression | ratio |", "|---" * 5 + "|"]
    for n, p in [(n, 2000) for n in CASES] + [(100, p) for p in COLUMNS]:
        X, y = table(n, p)
        ours, theirs = seconds(HonestClassifier(), X, y), seconds(baseline(p), X, y)
        lines.append(f"| {n:,} | {p:,} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.1f} |")
        print(lines[-1], flush=True)
    lines += ["", "Each family alone, 100 cases and 3,000 columns:", ""]
    lines += ["| candidates | CPU s |", "|---|---|"]
    X, y = table(100, 3000)
    for names in (*((name,) for name in FAMILIES), FAMILIES):
        taken = seconds(HonestClassifier(candidates=list(names)), X, y)
        lines.append(f"| {', '.join(names)} | {taken:.2f} |")
        print(lines[-1], flush=True)
    (arguments.out / "honest_growth.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
