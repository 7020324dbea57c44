"""Time of HonestClassifier().fit, beside a logistic regression, and how it grows.

    OMP_NUM_THREADS=1 python benchmarks/honest_growth.py

Standard normal columns of which ten are shifted by half a standard deviation, and the digits of
scikit-learn. CPU seconds of one fit, the better of two, after kernels were compiled. Baseline:
scikit-learn's L2 LogisticRegressionCV, ten penalties in five folds, on the same table in the same
run: machines differ, ratios less. Writes honest_growth.md and honest_growth.png into
benchmarks/results.
"""

import argparse
import time
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from honestbayes import HonestClassifier

HERE = Path(__file__).parent / "results"
BOUNDS = {
    (200, 2000): 3,
    (1000, 20): 3,
    (1000, 2000): 15,
    (5000, 2000): 40,
    (100, 20_000): 8,
    "digits": 60,
}
"""CPU seconds that a fit may take; a quick one a third of that."""

CASES = (30, 100, 300, 1000, 3000, 10_000)
COLUMNS = (10, 100, 1000, 10_000, 100_000)
KINDS = ("gaussian", "discriminant", "logistic", "kernel", "forest", "boosting")


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


def times(X, y):
    """Return the times of a normal fit, a quick one, and the baseline."""
    regression = LogisticRegressionCV(cv=5, scoring="neg_log_loss", max_iter=1000)
    models = (
        HonestClassifier(random_state=0),
        HonestClassifier(effort="quick", random_state=0),
        make_pipeline(StandardScaler(), regression),
    )
    return [seconds(model, X, y) for model in models]


def row(name, found):
    """Return a line of a table, and print it."""
    normal, quick, baseline = found
    line = f"| {name} | {normal:.2f} | {quick:.2f} | {baseline:.2f} | {normal / baseline:.0f} |"
    print(line, flush=True)
    return line


def draw(by_cases, by_columns, path):
    """Draw the time against cases and against columns."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True, layout="constrained")
    for ax, found, label in (
        (axes[0], by_cases, "cases (2,000 columns)"),
        (axes[1], by_columns, "columns (100 cases)"),
    ):
        for index, name in enumerate(("normal", "quick", "L2 logistic regression")):
            ax.loglog(list(found), [each[index] for each in found.values()], "o-", label=name)
        ax.set_xlabel(label)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("CPU seconds of a fit")
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=110)


def main():
    """Run, and write the tables and the picture."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=HERE)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for n, p in ((40, 40), (120, 20), (120, 300)):  # compiles
        HonestClassifier().fit(*table(n, p))
    head = "| cases x columns | CPU s | quick | L2 logistic regression | ratio |"
    lines = ["# Time of a fit", "", *(__doc__ or "").splitlines()[4:9], "", head, "|---" * 5 + "|"]
    for size, bound in BOUNDS.items():
        X, y = load_digits(return_X_y=True) if size == "digits" else table(*size)
        found = times(X, y)
        within = "" if found[0] <= bound and found[1] <= bound / 3 else " too slow"
        lines.append(row(f"{X.shape[0]:,} x {X.shape[1]:,}{within}", found))
    by_cases = {n: times(*table(n, 2000)) for n in CASES}
    by_columns = {p: times(*table(100, p)) for p in COLUMNS}
    for what, several in (("cases, 2,000 columns", by_cases), ("columns, 100 cases", by_columns)):
        lines += ["", head.replace("cases x columns", what), "|---" * 5 + "|"]
        lines += [row(f"{size:,}", found) for size, found in several.items()]
    draw(by_cases, by_columns, arguments.out / "honest_growth.png")
    lines += ["", "Each kind of candidate alone, 200 cases and 100 columns:", ""]
    lines += ["| candidate | CPU s |", "|---|---|"]
    X, y = table(200, 100)
    for name in KINDS:
        taken = seconds(HonestClassifier(candidates=[name], random_state=0), X, y)
        lines.append(f"| {name} | {taken:.2f} |")
        print(lines[-1], flush=True)
    (arguments.out / "honest_growth.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
