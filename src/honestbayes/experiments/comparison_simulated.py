"""Tables drawn from models whose true probabilities are known, case by case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp

from honestbayes.data.kinds import Kind
from honestbayes.datasets import simulate_naive_bayes
from honestbayes.experiments.comparison import FOLDS, evaluate, findings, methods_for
from honestbayes.experiments.experiment import Experiment, Findings, Run, Settings, Size
from honestbayes.experiments.real_tables import ComparisonTable
from honestbayes.types import AnyArray, FloatArray, IntArray

Drawn = tuple[AnyArray, IntArray, FloatArray]
"""Columns, classes 0 and 1, and the true log-odds of class 1."""


def flags(rng: np.random.Generator, n: int, p: int) -> Drawn:
    """Draw independent flags, as the papers simulate them, with alpha = 300."""
    data = simulate_naive_bayes(n, 1, p, alpha=300.0, random_state=int(rng.integers(2**31)))
    share = data.true_proba(data.X_train)
    return data.X_train, data.y_train, np.log(share) - np.log1p(-share)


def copied_flags(rng: np.random.Generator, n: int, p: int) -> Drawn:
    """Draw flags in blocks of ten that copy one hidden flag, each wrong in 5% of the cases.

    Eight blocks tell the classes apart (30% and 60%), the others do not.
    """
    y = _classes(rng, n)
    n_blocks, size, wrong = p // 10, 10, 0.05
    share = np.full((2, n_blocks), 0.45)
    share[:, :8] = [[0.3], [0.6]]
    hidden = rng.random((n, n_blocks)) < share[y]
    X = np.repeat(hidden, size, axis=1) ^ (rng.random((n, n_blocks * size)) < wrong)
    ones = X.reshape(n, n_blocks, size).sum(axis=2)[:, :8]
    of_one = ones * np.log1p(-wrong) + (size - ones) * np.log(wrong)
    of_zero = ones * np.log(wrong) + (size - ones) * np.log1p(-wrong)
    by_class = [
        logsumexp([of_one + np.log(q[:8]), of_zero + np.log1p(-q[:8])], axis=0).sum(axis=1)
        for q in share
    ]
    return X.astype(np.int8), y, by_class[1] - by_class[0]


def genes(rng: np.random.Generator, n: int, p: int) -> Drawn:
    """Draw independent measurements, ten of them shifted by 0.8 standard deviations."""
    y = _classes(rng, n)
    X = rng.normal(size=(n, p))
    X[:, :10] += 0.8 * y[:, None]
    return X, y, 0.8 * (X[:, :10] - 0.4).sum(axis=1)


def genes_in_blocks(rng: np.random.Generator, n: int, p: int) -> Drawn:
    """Draw blocks of ten measurements with correlation 0.7, two of them shifted by 0.8."""
    y = _classes(rng, n)
    shared = np.repeat(rng.normal(size=(n, p // 10)), 10, axis=1)
    X = np.sqrt(0.7) * shared + np.sqrt(0.3) * rng.normal(size=(n, p // 10 * 10))
    X[:, :20] += 0.8 * y[:, None]
    # Of a block with equal correlations, the mean of its columns tells all there is to tell.
    weight = 0.8 * 10 / (1 + 9 * 0.7)
    means = X[:, :20].reshape(n, 2, 10).mean(axis=2)
    return X, y, weight * (means - 0.4).sum(axis=1)


def noise(rng: np.random.Generator, n: int, p: int) -> Drawn:
    """Draw measurements that know nothing of the class."""
    return rng.normal(size=(n, p)), _classes(rng, n), np.zeros(n)


def two_together(rng: np.random.Generator, n: int, p: int) -> Drawn:
    """Draw flags of which two tell the class together, and neither alone; twenty columns."""
    X = rng.random((n, min(p, 20))) < 0.5
    log_odds = np.where(X[:, 0] ^ X[:, 1], 2.0, -2.0)
    y = (rng.random(n) < expit(log_odds)).astype(np.int64)
    return X.astype(np.int8), y, log_odds


def _classes(rng: np.random.Generator, n: int) -> IntArray:
    return rng.permutation(np.arange(n) % 2)


TRUTHS: dict[str, tuple[Kind, Callable[[np.random.Generator, int, int], Drawn]]] = {
    "flags": ("binary", flags),
    "copied flags": ("binary", copied_flags),
    "genes": ("real", genes),
    "genes in blocks": ("real", genes_in_blocks),
    "noise": ("real", noise),
    "two together": ("binary", two_together),
}
"""Kind of the columns, and what draws them."""


def simulated_table(name: str, seed: int, n: int, p: int) -> ComparisonTable:
    """Draw a table by name."""
    kind, draw = TRUTHS[name]
    X, y, log_odds = draw(np.random.default_rng([seed, *name.encode()]), n, p)
    truth = np.stack([expit(-log_odds), expit(log_odds)], axis=1)
    return ComparisonTable(name, kind, X, y, (draw.__doc__ or "").split("\n")[0], truth=truth)


# --------------------------------------------------------------------------------------------------
# Against what people use, on simulated tables whose true probabilities are known
# --------------------------------------------------------------------------------------------------


def runs(size: Size) -> list[Settings]:
    """Return a run for each truth, method and seed."""
    n, p = {"toy": (40, 40), "quick": (120, 1000), "full": (120, 2000)}[size]
    truths = tuple(TRUTHS)[:1] if size == "toy" else tuple(TRUTHS)
    repeats = {"toy": 1, "quick": 1, "full": 6}[size]
    return [
        {"table": truth, "method": method, "repeat": repeat, "n": n, "p": p}
        | ({"n_folds": 2} if size == "toy" else {})
        for truth in truths
        for method in methods_for(TRUTHS[truth][0])
        for repeat in range(repeats)
    ]


def run(
    table: str, method: str, repeat: int, n: int, p: int, n_folds: int = FOLDS
) -> dict[str, Any]:
    """Draw a table and cross-validate one method on it."""
    return evaluate(simulated_table(table, repeat, n, p), method, repeat, n_folds)


def tell(done: Sequence[Run]) -> Findings:
    """Compare the methods."""
    return findings(done, new_tables=True)


EXPERIMENT = Experiment(
    name="simulated-tables",
    title="Against what people use, where the truth is known",
    source="Our own comparison, on tables drawn from six models",
    question=(
        "Tables of 120 cases and up to 2,000 columns, drawn anew for each repeat: independent "
        "flags and measurements, blocks of columns that depend on each other, pure noise, and two "
        "flags that tell the class only together. Five-fold cross-validation with the same folds "
        "for all methods. How far is each from the true probabilities?"
    ),
    runs=runs,
    run=run,
    tell=tell,
)
