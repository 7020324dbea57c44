"""Section 5 of Egmont-Petersen's paper: sizes of sampled subsets, under two proposals and a prior.

    python -m honestbayes.experiments.subsets FOLDER [--draws 100000]

Ten features, five of which raise the score J = 1 - error by 0.08 each from 0.5; the target is
J P(subset). Writes subsets.json and subsets.png (figures 3 and 4) into FOLDER, and prints what was
found beside what the paper says.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import comb, exp, lgamma, log
from pathlib import Path

import numpy as np

from honestbayes.models.subsets import (
    SHARE,
    TWO_STEP,
    UNIFORM,
    SubsetScore,
    log_prior_of_subsets,
    run_subsets,
)
from honestbayes.plots.drawing import import_pyplot, look
from honestbayes.sampling.chains import Schedule
from honestbayes.sampling.runs import Sampling

GAINS = np.array([0.08] * 5 + [0.0] * 5)
BASE = 0.5
MEAN = 4.0


@dataclass(frozen=True, slots=True)
class Scheme:
    """One of the paper's runs.

    Attributes
    ----------
    name : str
        What it is.
    published : str
        What the paper says of it.
    sizes : list of float
        Share of the draws of each size, 0 to 10.
    expected : list of float
        The same by enumeration of all 1,024 subsets.
    scores : list of float
        Share of the draws with J = 0.5, 0.58, ..., 0.9.
    seconds : float
        Processor time of the draws, kernels being compiled.
    """

    name: str
    published: str
    sizes: list[float]
    expected: list[float]
    scores: list[float]
    seconds: float


def by_enumeration(prior: str) -> list[float]:
    """Return the probability of each size under the target, all subsets written out."""
    p = GAINS.size
    total = np.zeros(p + 1)
    for k in range(p + 1):
        weight = {
            "subsets": 1.0,
            "sizes": 1.0 / comb(p, k),
            "poisson": exp(k * log(MEAN) - lgamma(k + 1)) / comb(p, k),
        }[prior]
        for subset in combinations(range(p), k):
            total[k] += weight * (BASE + GAINS[list(subset)].sum())
    return [float(share) for share in total / total.sum()]


def run(n_draws: int) -> list[Scheme]:
    """Run the three chains."""
    p = GAINS.size
    cases = (
        ("scheme 1, uniform over neighbours", UNIFORM, "subsets", "peak at half of the features"),
        ("scheme 2, two steps", TWO_STEP, "sizes", "each size as likely, larger ones by their J"),
        ("scheme 2, Poisson(4) prior", TWO_STEP, "poisson", "small subsets; few reach J = 0.9"),
    )
    found = []
    for name, scheme, prior, published in cases:
        seconds = 0.0
        for n in (10, n_draws):  # the first run compiles
            begin = time.process_time()
            drawn = run_subsets(
                SubsetScore("accuracy", SHARE, values=GAINS, base=BASE),
                p,
                log_prior_of_subsets(("poisson", MEAN) if prior == "poisson" else prior, p, p),
                scheme=scheme,
                swap=0.0,
                temperature=1.0,
                thin=1,
                sampling=Sampling(Schedule(0, n), 1, np.random.SeedSequence(0)),
            ).draws
            seconds = time.process_time() - begin
        sizes = np.bincount(drawn.pooled("size"), minlength=p + 1) / n_draws
        levels = np.rint((drawn.pooled("score") - BASE) / 0.08).astype(int)
        found.append(
            Scheme(
                name,
                published,
                sizes.tolist(),
                by_enumeration(prior),
                (np.bincount(levels, minlength=6) / n_draws).tolist(),
                seconds,
            )
        )
    return found


def draw(found: Sequence[Scheme], path: Path) -> None:
    """Draw the distributions of J and of the size, as figures 3 and 4 do."""
    figure, axes = import_pyplot().subplots(2, 3, figsize=(10.5, 5.6), layout="constrained")
    for column, scheme in enumerate(found):
        above, below = axes[0, column], axes[1, column]
        above.bar(BASE + 0.08 * np.arange(6), scheme.scores, width=0.06, color=look(0).color)
        above.set(title=scheme.name, xlabel="J = 1 - error", ylim=(0, None))
        below.bar(np.arange(11), scheme.sizes, color=look(0).color, label="draws")
        below.plot(np.arange(11), scheme.expected, "o", color=look(1).color, label="enumeration")
        below.set(xlabel="features in the subset", ylim=(0, None))
    axes[0, 0].set_ylabel("share of draws")
    axes[1, 0].set_ylabel("share of draws")
    axes[1, 0].legend(frameon=False)
    figure.savefig(path, dpi=110)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiments."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="where to write")
    parser.add_argument("--draws", type=int, default=100_000, help="of each chain")
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    found = run(given.draws)
    for scheme in found:
        gap = 0.5 * np.abs(np.array(scheme.sizes) - scheme.expected).sum()
        sys.stdout.write(
            f"{scheme.name}: {given.draws:,} draws in {scheme.seconds:.2f} s; most frequent size "
            f"{int(np.argmax(scheme.sizes))}, share with J = 0.9 {scheme.scores[5]:.3f}; total "
            f"variation from enumeration {gap:.4f}. Paper: {scheme.published}.\n"
        )
    draw(found, given.folder / "subsets.png")
    (given.folder / "subsets.json").write_text(
        json.dumps([asdict(scheme) for scheme in found], indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
