"""Theorem 1 and figures 3 and 4 of Egmont-Petersen: sizes of sampled subsets by proposal and prior.

Ten features, five of which raise the score J = 1 - error by 0.08 each from 0.5; the target is
J P(subset). What a chain draws is compared with all subsets written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb, exp, lgamma, log
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import t as student

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
from honestbayes.models.subsets.model import SubsetScore, log_prior_of_subsets, run_subsets
from honestbayes.models.subsets.problem import SHARE, TWO_STEP, UNIFORM
from honestbayes.plots.drawing import look, subplots, tidy
from honestbayes.sampling.chains import Schedule
from honestbayes.sampling.runs import Sampling
from honestbayes.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_FEATURES, N_USEFUL = 10, 5
GAIN, BASE = 0.08, 0.5
MEAN = 4.0
"""Of the Poisson prior."""

CASES: dict[str, dict[str, Any]] = {
    "scheme 1": {"scheme": "uniform", "prior": "subsets", "n_features": 10, "gain": GAIN},
    "scheme 2": {"scheme": "two_step", "prior": "sizes", "n_features": 10, "gain": GAIN},
    "scheme 2, Poisson(4) prior": {
        "scheme": "two_step",
        "prior": "poisson",
        "n_features": 10,
        "gain": GAIN,
    },
    **{
        f"proposals of scheme 1 alone, {p} features": {
            "scheme": "uniform",
            "prior": "subsets",
            "n_features": p,
            "gain": 0.0,
        }
        for p in (9, 10, 11)
    },
}
"""The paper's three runs, and the theorem: with a constant score every proposal is accepted."""

SHOWN = tuple(CASES)[:3]


def runs(size: Size) -> list[Settings]:
    """Return a run for each case and seed."""
    n_draws, seeds = {"toy": (2000, 3), "quick": (100_000, 5), "full": (100_000, 50)}[size]
    return [
        {**case, "seed": seed, "n_draws": n_draws}
        for case in CASES.values()
        for seed in range(seeds)
    ]


def run(
    scheme: str, prior: str, n_features: int, gain: float, seed: int, n_draws: int
) -> dict[str, Any]:
    """Run one chain; return the share of draws of each size, and of each score."""
    drawn = run_subsets(
        SubsetScore("accuracy", SHARE, values=gains(n_features, gain), base=BASE),
        n_features,
        log_prior_of_subsets(
            ("poisson", MEAN) if prior == "poisson" else prior, n_features, n_features
        ),
        scheme=UNIFORM if scheme == "uniform" else TWO_STEP,
        swap=0.0,
        temperature=1.0,
        thin=1,
        sampling=Sampling(Schedule(0, n_draws), 1, np.random.SeedSequence(seed)),
    ).draws
    sizes = np.bincount(drawn.pooled("size"), minlength=n_features + 1) / n_draws
    levels = np.rint((drawn.pooled("score") - BASE) / GAIN).astype(int)
    return {"sizes": sizes, "scores": np.bincount(levels, minlength=N_USEFUL + 1) / n_draws}


def gains(n_features: int, gain: float) -> FloatArray:
    """Return by how much each feature raises the score."""
    return np.array([gain] * N_USEFUL + [0.0] * (n_features - N_USEFUL))


def by_enumeration(prior: str, n_features: int, gain: float) -> tuple[FloatArray, FloatArray]:
    """Return the probability of each size and of each score under the target, all written out."""
    values = gains(n_features, gain)
    sizes, scores = np.zeros(n_features + 1), np.zeros(N_USEFUL + 1)
    for k in range(n_features + 1):
        weight = {
            "subsets": 1.0,
            "sizes": 1.0 / comb(n_features, k),
            "poisson": exp(k * log(MEAN) - lgamma(k + 1)) / comb(n_features, k),
        }[prior]
        for subset in combinations(range(n_features), k):
            raised = values[list(subset)].sum()
            sizes[k] += weight * (BASE + raised)
            scores[round(raised / GAIN)] += weight * (BASE + raised)
    return sizes / sizes.sum(), scores / scores.sum()


def as_printed() -> FloatArray:
    """Return the probability of each size in scheme 2 with the acceptance that equation 8 prints.

    Subsets with as many useful and as many other features are alike, so that there are 36 states.
    """
    states = [(i, j) for i in range(6) for j in range(6)]
    step = np.zeros((36, 36))
    for index, (i, j) in enumerate(states):
        size, score = i + j, BASE + GAIN * i
        at_end = size in (0, N_FEATURES)
        for change in (1, -1):
            there = N_FEATURES - size if change == 1 else size
            if there == 0:
                continue
            for to, number in (
                ((i + change, j), N_USEFUL - i if change == 1 else i),
                ((i, j + change), N_USEFUL - j if change == 1 else j),
            ):
                if number:
                    ratio = (BASE + GAIN * to[0]) / score * (0.5 if at_end else 1.0)
                    proposed = (1.0 if at_end else 0.5) * number / there
                    step[index, states.index(to)] = proposed * min(1.0, ratio)
        step[index, index] = 1.0 - step[index].sum()
    values, vectors = np.linalg.eig(step.T)
    stationary = np.abs(np.real(vectors[:, np.argmax(np.real(values))]))
    shares = np.bincount([i + j for i, j in states], stationary / stationary.sum())
    return np.asarray(shares, dtype=float)


def summarize(done: Sequence[ExperimentRun]) -> Findings:
    """Compare the draws with enumeration and with the paper."""
    cases = {
        name: [run.results for run in done if all(run.settings[key] == case[key] for key in case)]
        for name, case in CASES.items()
    }
    exact = {
        name: by_enumeration(case["prior"], case["n_features"], case["gain"])
        for name, case in CASES.items()
    }
    peaks = [int(np.argmax(results["sizes"])) for results in cases["scheme 1"]]
    return Findings(
        conclusion="\n\n".join([_theorem(cases, exact), _figures(cases, exact), _printed(exact)]),
        checks=(
            PublishedFigure(
                what="most frequent size under scheme 1, half of ten features",
                published=N_FEATURES / 2,
                ours=peaks,
                digits=0,
            ),
        ),
        tables=(_sizes(cases, exact), _agreement(cases, exact)),
        figures=(
            ResultFigure(
                "subsets",
                "Figures 3 and 4: shares of draws by score (above) and by size (below); averages "
                "over chains. Points: all subsets written out.",
                lambda: draw(cases, exact),
            ),
        ),
    )


_Cases = dict[str, list[dict[str, Any]]]
_Exact = dict[str, tuple[FloatArray, FloatArray]]


def _shares(results: Sequence[dict[str, Any]], name: str = "sizes") -> FloatArray:
    """Return the average share over chains."""
    return np.asarray(np.mean([one[name] for one in results], axis=0))


def _within(results: Sequence[dict[str, Any]], exact: FloatArray) -> int:
    """Return for how many sizes the exact share is in the 95% interval of the chains' mean."""
    shares = np.array([one["sizes"] for one in results])
    m = len(results)
    width = student.ppf(0.975, m - 1) * shares.std(axis=0, ddof=1) / np.sqrt(m)
    return int(np.sum(np.abs(shares.mean(axis=0) - exact) <= width + 1e-12))


def _theorem(cases: _Cases, exact: _Exact) -> str:
    parts, near = [], True
    for name in list(CASES)[3:]:
        p = CASES[name]["n_features"]
        top = np.flatnonzero(np.isclose(exact[name][0], exact[name][0].max()))
        gap = 0.5 * np.abs(_shares(cases[name]) - exact[name][0]).sum()
        near &= abs(int(np.argmax(_shares(cases[name]))) - p / 2) <= 1
        parts.append(
            f"{p} features: exactly binomial, largest at {' and '.join(map(str, top.tolist()))} "
            f"({exact[name][0].max():.3f}), total variation of the draws from it {gap:.4f}"
        )
    return (
        "Theorem 1. Where each subset with one feature more or less is as likely to be proposed, "
        f"and all are accepted, sizes are not uniform. {'; '.join(parts)}. The most "
        f"frequent size of the draws is {'' if near else 'not always '}half of the features or "
        "next to it, as the theorem says."
    )


def _figures(cases: _Cases, exact: _Exact) -> str:
    parts = []
    for name in SHOWN:
        shares, scores = _shares(cases[name]), _shares(cases[name], "scores")
        parts.append(
            f"{name[0].upper()}{name[1:]}: most frequent size {int(np.argmax(shares))} "
            f"({shares.max():.3f}; exactly {exact[name][0].max():.3f}), share of draws with "
            f"J = 0.9 {scores[-1]:.3f} (exactly {exact[name][1][-1]:.3f})"
        )
    ratio = exact["scheme 2"][0][-1] / exact["scheme 2"][0][0]
    return (
        f"{'. '.join(parts)}. In scheme 2 sizes differ by their score alone: all features together "
        f"are {ratio:.2f} times as likely as none, as 0.9 / 0.5 is. The paper prints no numbers of "
        "its figures, but scheme 1 has its peak in the middle, scheme 2 prefers larger "
        "subsets by their score, and the Poisson prior moves the mass to small ones."
    )


def _printed(exact: _Exact) -> str:
    printed = as_printed()
    gap = 0.5 * np.abs(printed - exact["scheme 2"][0]).sum()
    return (
        "Equation 8 as it is printed lacks the factor 2 of moves into an end. With it the empty "
        f"subset would have {printed[0]:.4f} instead of {exact['scheme 2'][0][0]:.4f}, a total "
        f"variation over sizes of {gap:.4f} from the target; our chains use the whole factor."
    )


def _sizes(cases: _Cases, exact: _Exact) -> ResultTable:
    rows = []
    for k in range(N_FEATURES + 1):
        row: dict[str, Any] = {"features in the subset": k}
        for name in SHOWN:
            row[name] = float(_shares(cases[name])[k])
            row[f"{name}, exact"] = float(exact[name][0][k])
        rows.append(row)
    return ResultTable("sizes", "Shares of draws by size, averages over chains", rows, digits=4)


def _agreement(cases: _Cases, exact: _Exact) -> ResultTable:
    rows: list[dict[str, Cell]] = [
        {
            "chain": name,
            "chains": len(results),
            "total variation from enumeration": float(
                0.5 * np.abs(_shares(results) - exact[name][0]).sum()
            ),
            "sizes": exact[name][0].size,
            "exact share in the 95% interval": _within(results, exact[name][0]),
        }
        for name, results in cases.items()
    ]
    return ResultTable("agreement", "Sampled and exact distributions of the size", rows, digits=4)


def draw(cases: _Cases, exact: _Exact) -> Figure:
    """Draw the distributions of J and of the size, as figures 3 and 4 do."""
    figure, axes = subplots(2, 3, figsize=(10.5, 5.6))
    for column, name in enumerate(SHOWN):
        above, below = axes[0, column], axes[1, column]
        levels = BASE + GAIN * np.arange(N_USEFUL + 1)
        bars = {"color": look(0).color, "alpha": 0.75}
        above.bar(levels, _shares(cases[name], "scores"), width=0.06, **bars)
        above.plot(levels, exact[name][1], "o", color=look(1).color)
        above.set(title=name, xlabel="J = 1 - error", ylim=(0, None), xticks=levels)
        sizes = np.arange(N_FEATURES + 1)
        below.bar(sizes, _shares(cases[name]), label="draws", **bars)
        below.plot(sizes, exact[name][0], "o", color=look(1).color, label="written out")
        below.set(xlabel="features in the subset", ylim=(0, None), xticks=sizes)
        tidy(above)
        tidy(below)
    for axis in axes[:, 0]:
        axis.set_ylabel("share of draws")
    axes[1, 2].legend(frameon=False)
    return figure


EXPERIMENT = Experiment(
    name="subsets",
    title="Sizes of sampled subsets by proposal and prior",
    source="Egmont-Petersen, theorem 1, section 5: figures 3 and 4",
    question=(
        "A chain goes from one subset of features to another by adding or deleting one. Which "
        "sizes does it prefer when all neighbours are as likely to be proposed (scheme 1), when it "
        "is first decided whether to add or to delete (scheme 2), and with a Poisson prior?"
    ),
    runs=runs,
    run=run,
    summarize=summarize,
)
