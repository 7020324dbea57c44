"""How much of an independent case a held-out case is worth, where a layer is learned from it.

    python benchmarks/held_out_worth.py [--sets 100]

For each truth, model and number of training cases: the slope that 20,000 fresh cases ask for is the
true one of that very model; how often does the 80% posterior interval of its layer hold it, if
held-out cases count for 0.2 to 1 of an independent case? Too large a worth makes intervals too
short. The interval is that of slopes other than 1: half of the prior is at 1 itself, and a point is
no interval. Writes held_out_worth.md into benchmarks/results.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from honest_simulated import blocks, shifted
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from honestbayes import SelectiveDiscriminant, SelectiveGaussianNB
from honestbayes.base.part import TrainingLabels, held_out_evidence
from honestbayes.base.recalibration import (
    held_out_folds,
    recalibration_and_evidence,
    repeats_of_folds,
)

HERE = Path(__file__).parent / "results"
WORTHS = (0.2, 0.3, 0.4, 0.6, 1.0)
FRESH = 20_000
TRUTHS = {
    "weak": lambda rng, n: shifted(rng, n, 300, [0.6] * 10),
    "blocks": lambda rng, n: blocks(rng, n, 300),
}
MODELS = {
    "Gaussian naive Bayes": SelectiveGaussianNB(recalibrate=None),
    "discriminant": SelectiveDiscriminant(recalibrate=None, n_features_to_select=50),
}


def true_slope(evidence, codes, log_prior):
    """Return the slope that fresh cases ask for."""

    def loss(log_slope):
        log_proba = log_softmax(log_prior + np.exp(log_slope) * evidence, axis=1)
        return -log_proba[np.arange(codes.size), codes].mean()

    return float(np.exp(minimize_scalar(loss, bounds=(-5, 3), method="bounded").x))


def holds(recalibration, slope, level=0.8):
    """Whether the central posterior interval of slopes other than 1 holds a value."""
    nodes, weight = recalibration.slope[1:], recalibration.weight[1:].sum(axis=1)
    below = np.interp(np.log(slope), np.log(nodes), np.cumsum(weight) / weight.sum())
    return (1 - level) / 2 <= below <= (1 + level) / 2


def coverage(truth, model, n, n_sets):
    """Return how often intervals hold the true slope, for each worth."""
    found = np.zeros((n_sets, len(WORTHS)), dtype=bool)
    for seed in range(n_sets):
        rng = np.random.default_rng([n, seed])
        X, y = TRUTHS[truth](rng, n + FRESH)  # classes are even in both
        train = slice(0, n)
        labels = TrainingLabels(np.arange(2), y[train], None, np.ones(2), 0)
        repeats = repeats_of_folds(n)
        folds = held_out_folds(y[train], None, repeats, 0)
        parts = MODELS[model]._training_parts(X[train], labels)
        whole = [part.fit() for part in parts]
        evidence = held_out_evidence(parts, folds, whole)[0]
        columns = np.array(whole[0].selection.columns)
        new = whole[0].log_likelihood(whole[0].read(X[n:][:, columns], str))
        slope = true_slope(new, y[n:], labels.log_prior())
        codes = y[train][np.concatenate(folds)]
        for place, worth in enumerate(WORTHS):
            recalibration, _ = recalibration_and_evidence(
                evidence, codes, labels.log_prior(), worth / repeats
            )
            found[seed, place] = holds(recalibration, slope)
    return found.mean(axis=0)


def main():
    """Run, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--cases", default="20,60,200,2000")
    parser.add_argument("--out", type=Path, default=HERE)
    arguments = parser.parse_args()
    lines = ["# What held-out cases are worth", "", *(__doc__ or "").splitlines()[4:9], ""]
    lines += [f"| truth | model | cases | {' | '.join(map(str, WORTHS))} |"]
    lines += ["|---" * (3 + len(WORTHS)) + "|"]
    warnings.simplefilter("ignore")
    for truth in TRUTHS:
        for model in MODELS:
            for n in map(int, arguments.cases.split(",")):
                sets = arguments.sets if n <= 200 else max(20, arguments.sets // 4)
                cells = " | ".join(f"{x:.2f}" for x in coverage(truth, model, n, sets))
                lines.append(f"| {truth} | {model} | {n:,} | {cells} |")
                print(lines[-1], flush=True)
                (arguments.out / "held_out_worth.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
