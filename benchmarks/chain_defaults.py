"""Chains as they are by default: how well they agree, and what they cost.

Run: HONESTBAYES_DATA=... python benchmarks/chain_defaults.py [--seeds 4] [--only NAME ...]
Writes benchmarks/results/chain_defaults.md. Processor time of one process; chains run one after the
other. R-hat is the largest of all quantities that the model judges its chains by.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import honestbayes as hb
from honestbayes.datasets import load_leukemia, simulate_mixture

RESULTS = Path(__file__).parent / "results" / "chain_defaults.md"


def discrete(name, target="class", ignore=(), most=600):
    """Return a table of categories from the folder of real data, as texts."""
    table = pd.read_csv(Path(os.environ["HONESTBAYES_DATA"]) / "discrete" / f"{name}.csv.gz")
    table = table.drop(columns=list(ignore)).astype(str)
    if len(table) > most:
        table = table.sample(most, random_state=0)
    return table.drop(columns=target), table[target].to_numpy()


def mixture():
    """Return 100 simulated cases of two hidden groups, with 1,000 binary features."""
    data = simulate_mixture(100, 0, 1000, random_state=0)
    return data.X_train, data.y_train


def leukemia():
    """Return the bundled expression data."""
    data = load_leukemia()
    return data.X, data.y


CASES = {
    "interactions, monks3": (hb.InteractionClassifier, lambda: discrete("monks3_train")),
    "interactions, tic-tac-toe": (hb.InteractionClassifier, lambda: discrete("tic_tac_toe")),
    "interactions, spect": (
        hb.InteractionClassifier,
        lambda: discrete("spect", ignore=["split"]),
    ),
    "networks, spect": (
        hb.AveragedNetworkClassifier,
        lambda: discrete("spect", ignore=["split"]),
    ),
    "subsets, spect": (hb.AveragedNB, lambda: discrete("spect", ignore=["split"])),
    "mixture, simulated": (hb.SelectiveMixture, mixture),
    "factors, leukaemia": (
        lambda **params: hb.SelectiveFactorClassifier(n_factors=1, recalibrate=None, **params),
        leukemia,
    ),
}


def main():
    """Fit each case with each seed, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--only", nargs="*", default=list(CASES))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        "| model, table | largest R-hat, by seed | processor seconds of a fit |",
        "|---|---|---|",
    ]
    for name in given.only:
        make, table = CASES[name]
        X, y = table()
        make(random_state=0, n_draws=4, n_warmup=2, n_doublings=0).fit(X, y)  # compile
        rhats, seconds = [], []
        for seed in range(given.seeds):
            start = time.process_time()
            model = make(random_state=seed).fit(X, y)
            seconds.append(time.process_time() - start)
            rhats.append(float(np.max(model.diagnostics_.rhat)))
        shown = ", ".join(f"{rhat:.3f}" for rhat in rhats)
        lines.append(f"| {name} | {shown} | {min(seconds):.1f} to {max(seconds):.1f} |")
        print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
