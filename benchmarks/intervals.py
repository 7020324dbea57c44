"""How often 90% intervals of probabilities hold the truth, and how wide they are.

Truths of real-valued features, each known in closed form given the kept columns: 40 data sets of 80
cases and 1,000 features each, 10 kept, 60 new cases. For each way to recalibrate: the share of new
cases whose P(class | kept columns) lies in the interval (standard errors over data sets), the mean
width, and the mean interval score (width + 2 / 0.1 times how far the truth lies outside).

    python benchmarks/intervals.py [--sets 40] [--out benchmarks/results/intervals.md]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy import stats
from scipy.special import expit

from honestbayes import SelectiveGaussianNB

N, P, K, NEW = 80, 1000, 10, 60
LEVEL = 0.9

Truth = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray, Callable]]


def independent(shift: Callable[[np.random.Generator], np.ndarray], degrees: float = 1e9) -> Truth:
    """Features that are independent given the class: Student's t, all but normal by default."""

    def draw(rng: np.random.Generator):
        d, y = shift(rng), _classes(rng)
        x = stats.t(degrees).rvs((y.size, P), random_state=rng) + np.outer(y - 0.5, d)

        def probability(x: np.ndarray, kept: np.ndarray) -> np.ndarray:
            density, half = stats.t(degrees), d[kept] / 2
            odds = density.logpdf(x[:, kept] - half) - density.logpdf(x[:, kept] + half)
            return expit(odds.sum(axis=1))

        return x, y, probability

    return draw


def dependent(
    shift: Callable[[np.random.Generator], np.ndarray],
    loadings: Callable[[np.random.Generator], np.ndarray],
) -> Truth:
    """Features that share normal factors."""

    def draw(rng: np.random.Generator):
        d, load, y = shift(rng), loadings(rng), _classes(rng)
        x = rng.standard_normal((y.size, P)) + np.outer(y - 0.5, d)
        x += rng.standard_normal((y.size, load.shape[1])) @ load.T

        def probability(x: np.ndarray, kept: np.ndarray) -> np.ndarray:
            covariance = load[kept] @ load[kept].T + np.eye(kept.size)
            return expit(x[:, kept] @ np.linalg.solve(covariance, d[kept]))

        return x, y, probability

    return draw


def _classes(rng: np.random.Generator) -> np.ndarray:
    """Classes with even odds, drawn: their frequency is a part of what is not known."""
    return rng.integers(0, 2, N + NEW)


def _first(count: int, size: float) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda _: np.where(np.arange(P) < count, size, 0.0)


TRUTHS: dict[str, Truth] = {
    "strong": independent(_first(10, 1.2)),
    "weak": independent(_first(50, 0.4)),
    "blocks": dependent(_first(20, 1.2), lambda _: np.repeat(np.eye(P // 10), 10, axis=0)),
    "one factor": dependent(_first(20, 1.0), lambda rng: rng.standard_normal((P, 1))),
    "noise": independent(_first(0, 0.0)),
    "heavy tails": independent(lambda rng: 0.04 * rng.standard_t(2, P)),
    "outliers": independent(_first(10, 1.2), degrees=3.0),
}
"""Heavy tails are of the shifts; outliers are cells of Student's t with 3 degrees of freedom, which
the model does not know."""


def measure(truth: Truth, ways: Sequence[str | None], seed: int) -> np.ndarray:
    """Return coverage, width, interval score and log loss against the truth of each way."""
    rng = np.random.default_rng([2008, seed])
    x, y, probability = truth(rng)
    train = rng.permutation(N)
    result = []
    for way in ways:
        model = SelectiveGaussianNB(n_features_to_select=K, recalibrate=way)
        model.fit(x[train], y[train])
        low, high = model.predict_proba_interval(x[N:], level=LEVEL).T
        log_0, log_1 = model.predict_log_proba(x[N:]).T
        p = probability(x[N:], np.flatnonzero(model.get_support()))
        outside = np.maximum(low - p, 0) + np.maximum(p - high, 0)
        loss = -(p * log_1 + (1 - p) * log_0).mean()
        result.append(
            [
                np.mean((low <= p) & (p <= high)),
                np.mean(high - low),
                np.mean(high - low + 2 / (1 - LEVEL) * outside),
                loss,
            ]
        )
    return np.array(result)


def main() -> None:
    """Print the table, and write it where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--ways", nargs="+", default=["slope", "bayes"])
    parser.add_argument("--truths", nargs="+", default=list(TRUTHS))
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    lines = [
        "| truth | recalibrate | coverage (se) | width | interval score (se) | log loss |",
        "|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    means = []
    for name in options.truths:
        found = np.stack([measure(TRUTHS[name], options.ways, s) for s in range(options.sets)])
        mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(options.sets)
        means.append(mean)
        for way, m, e in zip(options.ways, mean, error, strict=True):
            lines.append(
                f"| {name} | {way} | {m[0]:.2f} ({e[0]:.2f}) | {m[1]:.2f} "
                f"| {m[2]:.3f} ({e[2]:.3f}) | {m[3]:.3f} |"
            )
            print(lines[-1], flush=True)
    for way, m in zip(options.ways, np.mean(means, axis=0), strict=True):
        lines.append(f"| mean | {way} | {m[0]:.2f} | {m[1]:.2f} | {m[2]:.3f} | {m[3]:.3f} |")
        print(lines[-1])
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
