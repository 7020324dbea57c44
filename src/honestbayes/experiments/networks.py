"""The third experiment of Egmont-Petersen's paper: a network from 100 cases, 1,000 iterations.

The graph of figure 2: A -> B, A and B -> C, C and E -> D, where C is the class. The paper does not
print its probabilities; here those of each node are drawn from 0.1, 0.3, 0.7 and 0.9, anew for each
table. It says that the most frequent set had all five features; figure 2 has four and the class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from honestbayes.experiments.experiment import (
    Cell,
    Experiment,
    ExperimentRun,
    Findings,
    PublishedFigure,
    ResultFigure,
    ResultTable,
    Settings,
    Size,
)
from honestbayes.models.networks.estimator import AveragedNetworkClassifier
from honestbayes.plots.drawing import GREY, look, subplots, tidy
from honestbayes.types import AnyArray, FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("A", "B", "D", "E")
ALL = "".join(NAMES)
N_ITERATIONS = 1000

PUBLISHED = {"nonempty": 757, "all": 166, "next": 63}
"""Of 1,000 iterations: nonempty sets of features, all features, and the next most frequent."""

CHAINS = {
    "printed": "moves of equation 9 as printed, every one accepted",
    "by J": "the same moves, accepted by J = 1 - error",
    "reversible": "reversible moves with the right ratio, by J",
}
"""Chains of the paper's graphs, as it may have run them, and as it should have."""

PARAMETERS: dict[str, dict[str, Any]] = {
    # So hot that the score counts for nothing: J to the power of 1e-12.
    "printed": {"proposal": "printed", "temperature": 1e12},
    "by J": {"proposal": "printed"},
    "reversible": {"proposal": "typed", "space": "classifiers"},
}


def runs(size: Size) -> list[Settings]:
    """Return a run for each table."""
    return [{"seed": seed} for seed in range({"toy": 3, "quick": 20, "full": 100}[size])]


def simulate(n: int, rng: np.random.Generator) -> tuple[AnyArray, AnyArray]:
    """Return features A, B, D, E and the class of cases of the network of figure 2."""

    def node(*parents: AnyArray) -> AnyArray:
        size = 2 ** len(parents)
        chance = rng.choice([0.1, 0.3, 0.7, 0.9], size)
        index = sum((value << j for j, value in enumerate(parents)), np.zeros(n, dtype=np.int64))
        return np.asarray(rng.random(n) < chance[index], dtype=np.int64)

    a, e = node(), node()
    b = node(a)
    c = node(a, b)
    d = node(c, e)
    return np.stack([a, b, d, e], axis=1), c


def run(seed: int) -> dict[str, Any]:
    """Run the chains on one table; return how often each set of features was there."""
    rng = np.random.default_rng(seed)
    X, y = simulate(100, rng)
    while min(np.bincount(y, minlength=2)) < 5:
        X, y = simulate(100, rng)
    results: dict[str, Any] = {}
    for chain, params in PARAMETERS.items():
        model = AveragedNetworkClassifier(
            objective="accuracy",
            graph_prior="uniform",
            n_chains=1,
            n_draws=N_ITERATIONS,
            n_warmup=0,
            n_doublings=0,
            thin=1,
            random_state=seed,
            **params,
        ).fit(X, y)
        results[chain] = {
            "".join(sorted(NAMES[int(name[1:])] for name in names)): round(share * N_ITERATIONS)
            for names, share in model.blankets(16)
        }
    return results


def figures(sets: dict[str, int]) -> dict[str, int]:
    """Return the paper's three figures of one chain."""
    others = [count for name, count in sets.items() if name not in ("", ALL)]
    return {
        "nonempty": N_ITERATIONS - sets.get("", 0),
        "all": sets.get(ALL, 0),
        "next": max(others, default=0),
    }


def summarize(done: Sequence[ExperimentRun]) -> Findings:
    """Compare the chains with the paper."""
    results = {
        chain: {
            name: np.array([figures(run.results[chain])[name] for run in done])
            for name in PUBLISHED
        }
        for chain in CHAINS
    }
    first = {chain: sum(_first(run.results[chain]) == ALL for run in done) for chain in CHAINS}
    return Findings(
        conclusion=_conclusion(results, first, len(done)),
        checks=tuple(_checks(results)),
        tables=(_sets(done), _figures(results, first, len(done))),
        figures=(
            ResultFigure(
                "counts",
                f"How often of {N_ITERATIONS:,} iterations the set of features was not empty, held "
                "all features, and was the next most frequent one; a point for each table. Lines: "
                "published.",
                lambda: draw(results),
            ),
        ),
    )


def _first(sets: dict[str, int]) -> str:
    """Return the most frequent set that is not empty."""
    return max((name for name in sets if name), key=lambda name: sets[name], default="")


def _checks(results: dict[str, dict[str, FloatArray]]) -> Iterator[PublishedFigure]:
    names = {
        "nonempty": "nonempty sets",
        "all": "all features",
        "next": "next most frequent set",
    }
    why = (
        "a chain with the right ratio draws graphs by the number of them and by J, and most graphs "
        "have all features; the published chain had another target, see above"
    )
    for chain in CHAINS:
        for name, what in names.items():
            yield PublishedFigure(
                what=f"{what}, chain {chain}",
                published=PUBLISHED[name],
                ours=results[chain][name],
                digits=0,
                why=why if chain == "reversible" else "",
            )


def _conclusion(
    results: dict[str, dict[str, FloatArray]], first: dict[str, int], n_tables: int
) -> str:
    mean = {
        chain: ", ".join(f"{results[chain][name].mean():.0f}" for name in PUBLISHED)
        for chain in CHAINS
    }
    held = {
        chain: sum(check.holds for check in _checks(results) if check.what.endswith(chain))
        for chain in CHAINS
    }
    published = ", ".join(map(str, PUBLISHED.values()))
    return (
        f"Published: of {N_ITERATIONS:,} iterations the set of features was not empty, held all "
        f"features, and was the next most frequent one {published} times. A set is the Markov "
        "blanket of the class. The moves of equation 9 as printed, with every move accepted, give "
        f"{mean['printed']} on average over {n_tables} tables ({held['printed']} of 3 published "
        "figures are in the range of 95% of these); the same moves, accepted by the ratio of "
        f"J = 1 - error, {mean['by J']} ({held['by J']} of 3).\n\n"
        "So the published figures are those of a chain that hardly looks at the data: J is a share "
        "that is seldom below a half, so that the ratio of two is near 1. That all features came "
        "first is then no sign that the data were understood: without a look at them they do in "
        f"{first['printed']} of {n_tables} chains. These chains are not reversible either. An arc "
        "from the class can be deleted whatever other parents the feature has, and the arcs from "
        "these stay; but only the class can get an arc into a feature that is no child of it.\n\n"
        "With moves that can all be undone, and the ratio of numbers of moves in the acceptance, "
        f"J and a uniform prior over graphs give {mean['reversible']} ({held['reversible']} of 3): "
        "nearly all graphs have all features, and J does not tell enough to outweigh their number. "
        "The marginal likelihood, the default score, does look at the data; and a prior of the "
        "number of features corrects for the number of graphs.\n\n"
        "The paper says that the most frequent set included all 5 features. Its figure 2 has four "
        "features, A, B, D and E, beside the class C, and the figures above are of four."
    )


def _sets(done: Sequence[ExperimentRun]) -> ResultTable:
    totals: dict[str, Counter[str]] = {chain: Counter() for chain in CHAINS}
    for run in done:
        for chain in CHAINS:
            totals[chain].update(run.results[chain])
    names = sorted({name for total in totals.values() for name in total},
                   key=lambda name: -totals["printed"][name])  # fmt: skip
    rows = [
        {"features": name or "none"} | {chain: totals[chain][name] / len(done) for chain in CHAINS}
        for name in names
    ]
    return ResultTable(
        "sets",
        f"Sets of features: how often of {N_ITERATIONS:,} iterations, average over tables",
        rows,
        digits=1,
    )


def _figures(
    results: dict[str, dict[str, FloatArray]], first: dict[str, int], n_tables: int
) -> ResultTable:
    rows: list[dict[str, Cell]] = [
        {
            "chain": chain,
            "moves": title,
            "nonempty": float(results[chain]["nonempty"].mean()),
            "all features": float(results[chain]["all"].mean()),
            "all features, from": int(results[chain]["all"].min()),
            "all features, to": int(results[chain]["all"].max()),
            "next": float(results[chain]["next"].mean()),
            "tables with all features first": first[chain],
        }
        for chain, title in CHAINS.items()
    ]
    return ResultTable("chains", f"Averages over {n_tables} tables by chain", rows, digits=0)


def draw(results: dict[str, dict[str, FloatArray]]) -> Figure:
    """Draw the paper's figures of each table and chain."""
    figure, axes = subplots(1, 3, figsize=(10, 3.6))
    titles = {"nonempty": "not empty", "all": "all features", "next": "next most frequent"}
    rng = np.random.default_rng(0)
    for axis, (name, title) in zip(axes, titles.items(), strict=True):
        for index, chain in enumerate(CHAINS):
            values = results[chain][name]
            aside = index + rng.uniform(-0.25, 0.25, values.size)
            axis.plot(aside, values, look(index).marker, markersize=3, color=look(index).color,
                      alpha=0.6)  # fmt: skip
        axis.axhline(PUBLISHED[name], color=GREY, linewidth=1)
        axis.set_xticks(range(len(CHAINS)), list(CHAINS))
        axis.set(title=title, ylim=(-20, N_ITERATIONS + 20))
        tidy(axis)
    axes[0].set(ylabel=f"iterations of {N_ITERATIONS:,}")
    return figure


EXPERIMENT = Experiment(
    name="networks",
    version=2,
    title="Sampled network classifiers of 100 cases",
    source="Egmont-Petersen, section 5, the third experiment",
    question=(
        "100 cases of a network of four features and a class are given to a chain over network "
        "classifiers, 1,000 iterations. How often does it find all features? The paper does not "
        "print the probabilities of its network, so ours are drawn anew for each table."
    ),
    runs=runs,
    run=run,
    summarize=summarize,
)
