"""The simulation of Li's talk of 2006: 2,000 of 10,000 features kept, 100 training cases.

The slides fit naive Bayes by Markov chains, with an inverse gamma prior of alpha of shape 5 and
rate 500. Every repetition is fitted by quadrature; the first by Markov chains as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from honestbayes import sample_naive_bayes
from honestbayes.datasets import SimulatedData, simulate_naive_bayes
from honestbayes.experiments.experiment import (
    Decimals,
    Experiment,
    ExperimentRun,
    Findings,
    PublishedFigure,
    ResultFigure,
    ResultTable,
    Settings,
    Size,
    decimal_rows,
    errors_of,
    judged,
    of,
)
from honestbayes.models.binary.estimator import SelectiveBernoulliNB
from honestbayes.plots.drawing import GREY, look, subplots, tidy, unit_square
from honestbayes.sampling.draws import Draws
from honestbayes.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHA = 400.0
PRIOR = (5.0, 500.0)
N_ITERATIONS = 300
BURN_IN = 50
"""Draws of a chain that are not used: it starts far away."""

SHOWN = 2000
COMPLETE = 10_000
METHODS = ("uncorrected", "corrected")

TABLE: dict[tuple[int, str], Decimals] = {
    (SHOWN, "uncorrected"): [
        *[(276, 0.005, 0.16), (14, 0.14, 0.36), (2, 0.26, 0.00), (10, 0.35, 0.80)],
        *[(3, 0.45, 1.00), (5, 0.52, 0.60), (7, 0.65, 0.43), (5, 0.75, 0.60)],
        *[(11, 0.85, 0.64), (267, 0.99, 0.84)],
    ],
    (SHOWN, "corrected"): [
        *[(125, 0.04, 0.09), (61, 0.15, 0.10), (44, 0.24, 0.27), (39, 0.35, 0.28)],
        *[(31, 0.46, 0.52), (35, 0.55, 0.63), (37, 0.65, 0.59), (42, 0.74, 0.86)],
        *[(68, 0.86, 0.79), (118, 0.96, 0.93)],
    ],
    (COMPLETE, "uncorrected"): [
        *[(187, 0.03, 0.03), (46, 0.15, 0.26), (39, 0.24, 0.23), (17, 0.34, 0.35)],
        *[(15, 0.44, 0.20), (27, 0.56, 0.63), (21, 0.66, 0.81), (26, 0.76, 0.85)],
        *[(55, 0.85, 0.91), (167, 0.97, 0.95)],
    ],
}
"""Table of 600 test cases: cases, mean probability and share of class 1 by the first decimal."""

SECONDS: dict[int, tuple[int | None, int]] = {
    1: (4597, 5),
    10: (5246, 48),
    100: (6515, 479),
    1000: (12134, 4780),
    2000: (17473, 9544),
    10_000: (None, 48368),
}
"""Table of times, in R: corrected and uncorrected."""


def runs(size: Size) -> list[Settings]:
    """Return a run for each simulated data set."""
    toy = size == "toy"
    numbers = [1, 10, 400] if toy else list(SECONDS)
    return [
        {"seed": seed, "n_test": 200 if toy else 600, "numbers": numbers, "shown": numbers[-2]}
        for seed in range({"toy": 2, "quick": 20, "full": 50}[size])
    ]


def run(seed: int, n_test: int, numbers: list[int], shown: int) -> dict[str, Any]:
    """Simulate one data set, and fit it with each number of features."""
    p = numbers[-1]
    data = simulate_naive_bayes(100, n_test, p, alpha=ALPHA, random_state=seed)
    pairs = [(k, method) for k in numbers for method in METHODS if k < p or method == METHODS[0]]
    results: dict[str, Any] = {"fits": [by_quadrature(data, k, method) for k, method in pairs]}
    if seed == 0:
        by_chain(data, 1, "corrected", shown)  # compiles what the others use
        results["chains"] = [by_chain(data, k, method, shown) for k, method in pairs]
    return results


def by_quadrature(data: SimulatedData, k: int, method: str) -> dict[str, Any]:
    """Fit and judge one model."""
    began = time.process_time()
    model = SelectiveBernoulliNB(
        n_features_to_select=k,
        correction="selection" if method == "corrected" else None,
        feature_prior="uniform",
        alpha_prior=PRIOR,
        recalibrate=None,
        random_state=0,
    ).fit(data.X_train, data.y_train)
    proba = model.predict_proba(data.X_test)[:, 1]
    seconds = time.process_time() - began
    return {"k": k, "method": method, "seconds": seconds} | judged(data.y_test, proba)


def by_chain(data: SimulatedData, k: int, method: str, shown: int) -> dict[str, Any]:
    """Run one chain as the slides did, from a random start."""
    began = time.process_time()
    part = sample_naive_bayes(
        data.X_train,
        data.y_train,
        n_features_to_select=k,
        correct=method == "corrected",
        alpha_prior=PRIOR,
        n_chains=1,
        n_draws=N_ITERATIONS,
        n_warmup=0,
        thin=1,
        n_jobs=1,
    )
    kept = data.X_test[:, list(part.selection.columns)]
    later = {name: value[:, BURN_IN:] for name, value in part.draws.values.items()}
    settled = replace(part, draws=Draws(later, 1))
    joint = settled.log_prior + settled.log_likelihood((kept, None))
    proba = expit(joint[:, 1] - joint[:, 0])
    seconds = time.process_time() - began
    results = {"k": k, "method": method, "seconds": seconds} | judged(data.y_test, proba)
    if k == shown:
        results["trace"] = np.round(part.draws["log_alpha"][0], 3)
    return results


def summarize(done: Sequence[ExperimentRun]) -> Findings:
    """Compare the repetitions with the slides, and draw their figure."""
    fits = [one for run in done for one in run.results["fits"]]
    chains = done[0].results["chains"]
    shown, p = done[0].settings["shown"], done[0].settings["numbers"][-1]
    columns = ((shown, "uncorrected"), (shown, "corrected"), (p, "uncorrected"))
    first = [f for f in done[0].results["fits"] if (f["k"], f["method"]) in columns]
    traces = {chain["method"]: chain["trace"] for chain in chains if chain["k"] == shown}
    return Findings(
        conclusion=conclusion(fits, chains, shown, p),
        checks=tuple(_checks(fits)) if p == COMPLETE else (),
        tables=(_decimals(first, p), _errors(fits), _times(fits, chains), _both(fits, chains)),
        figures=(
            ResultFigure(
                "traces",
                f"Traces of log(alpha), {shown:,} of {p:,} features kept, first data set. "
                "Horizontal line: the truth.",
                lambda: draw_traces(traces),
            ),
            ResultFigure(
                "calibration",
                "Mean probability and share of class 1 by the first decimal of the probability, "
                f"test cases of all {len(done)} data sets together.",
                lambda: draw_calibration(fits, columns),
            ),
        ),
    )


def _named(k: int, method: str, p: int) -> str:
    return "complete data" if k == p else method


def _checks(fits: Sequence[dict[str, Any]]) -> Iterator[PublishedFigure]:
    for (k, method), decimals in TABLE.items():
        for name, error in errors_of(decimals).items():
            yield PublishedFigure(
                what=f"{name} error, {_named(k, method, COMPLETE)}",
                published=error,
                ours=of(fits, f"{name}_error", k=k, method=method),
                digits=2,
            )


def _decimals(first: Sequence[dict[str, Any]], p: int) -> ResultTable:
    rows = [
        row for fit in first for row in decimal_rows(fit, method=_named(fit["k"], fit["method"], p))
    ]
    return ResultTable(
        "decimals", "As the table of the slides: test cases of the first data set", rows
    )


def _errors(fits: Sequence[dict[str, Any]]) -> ResultTable:
    names = ("expected_error", "actual_error", "log_score", "squared_error")
    rows = [
        {"features kept": k, "method": method}
        | {n.replace("_", " "): float(of(fits, n, k=k, method=method).mean()) for n in names}
        for k, method in dict.fromkeys((f["k"], f["method"]) for f in fits)
    ]
    return ResultTable("errors", "Averages over data sets", rows)


def _times(fits: Sequence[dict[str, Any]], chains: Sequence[dict[str, Any]]) -> ResultTable:
    rows = []
    for k in dict.fromkeys(f["k"] for f in fits):
        published = dict(zip(METHODS[::-1], SECONDS.get(k, (None, None)), strict=True))
        rows.append(
            {"features kept": k}
            | {
                f"{what}, {method}": _median(of(some, "seconds", k=k, method=method))
                for what, some in (("quadrature", fits), ("chain", chains))
                for method in METHODS
            }
            | {f"published, {method}": published[method] for method in METHODS}
        )
    return ResultTable(
        "times",
        f"Processor seconds to fit and to predict: quadrature, a chain of {N_ITERATIONS} "
        "iterations, and the published ones, of an implementation in R",
        rows,
        digits=2,
    )


def _median(values: FloatArray) -> float | None:
    return float(np.median(values)) if values.size else None


def _both(fits: Sequence[dict[str, Any]], chains: Sequence[dict[str, Any]]) -> ResultTable:
    rows = [
        {"features kept": chain["k"], "method": chain["method"]}
        | {
            f"{name} error, {what}": float(one[f"{name}_error"])
            for name in ("expected", "actual")
            for what, one in (("chain", chain), ("quadrature", fit))
        }
        for chain, fit in zip(chains, fits, strict=False)
    ]
    return ResultTable(
        "chains", f"The first data set by a chain, without its first {BURN_IN} draws", rows
    )


def conclusion(
    fits: Sequence[dict[str, Any]], chains: Sequence[dict[str, Any]], shown: int, p: int
) -> str:
    """Return the conclusion."""

    def percent(name: str, k: int, method: str) -> str:
        return f"{of(fits, f'{name}_error', k=k, method=method).mean():.1%}"

    medians = {
        chain["method"]: float(np.exp(np.median(chain["trace"][BURN_IN:])))
        for chain in chains
        if chain["k"] == shown
    }
    apart = max(
        abs(chain["expected_error"] - fit["expected_error"])
        for chain, fit in zip(chains, fits, strict=False)
    )
    numbers = [k for k in dict.fromkeys(f["k"] for f in fits) if k < p]
    seconds = {
        m: np.array([of(chains, "seconds", k=k, method=m)[0] for k in numbers]) for m in METHODS
    }
    added = seconds["corrected"] - seconds["uncorrected"]
    in_r = [both[0] - both[1] for both in SECONDS.values() if both[0] is not None]
    return (
        f"With {shown:,} of {p:,} features kept, the uncorrected model expects "
        f"{percent('expected', shown, 'uncorrected')} errors and makes "
        f"{percent('actual', shown, 'uncorrected')}; the corrected one expects "
        f"{percent('expected', shown, 'corrected')} and makes "
        f"{percent('actual', shown, 'corrected')}. With all features "
        f"{percent('expected', p, 'uncorrected')} are expected and "
        f"{percent('actual', p, 'uncorrected')} made: the features that were left out still knew "
        "something, and the correction restores calibration, not accuracy.\n\n"
        f"The chain of the corrected model is around alpha = {medians['corrected']:.0f}, that of "
        f"the uncorrected one around {medians['uncorrected']:.0f}; the truth is {ALPHA:.0f}. "
        f"Expected errors by chains of {N_ITERATIONS} iterations differ from those by quadrature "
        f"by {apart:.3f} at most.\n\n"
        f"On the slides the correction adds {min(in_r):,} to {max(in_r):,} seconds to those of a "
        "chain. Here the probability that a feature is discarded is put into a table once, and the "
        f"correction adds {added.max():.1f} seconds at most."
    )


def draw_traces(traces: dict[str, list[float]]) -> Figure:
    """Draw the traces."""
    figure, axis = subplots(figsize=(7, 3.6))
    for style, (method, trace) in zip((look(1), look(0)), traces.items(), strict=True):
        axis.plot(trace, color=style.color, linestyle=style.linestyle, label=method, linewidth=1)
    axis.axhline(np.log(ALPHA), color=GREY, linewidth=0.8)
    axis.set(xlabel="iteration", ylabel="log(alpha)")
    tidy(axis)
    axis.legend(frameon=False, fontsize=9, loc="center right")
    return figure


def draw_calibration(fits: Sequence[dict[str, Any]], columns: Sequence[tuple[int, str]]) -> Figure:
    """Draw predicted and observed frequencies."""
    figure, axis = subplots(figsize=(4.6, 4.6))
    axis.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    for index, (k, method) in zip((1, 0, 2), columns, strict=True):
        count, predicted, actual = (
            of(fits, name, k=k, method=method) for name in ("count", "predicted", "actual")
        )
        there = count.sum(axis=0) > 0
        total = count.sum(axis=0)[there]
        axis.plot(
            (count * predicted).sum(axis=0)[there] / total,
            (count * actual).sum(axis=0)[there] / total,
            **look(index)._asdict(),
            markersize=5,
            label=_named(k, method, columns[-1][0]),
        )
    axis.set(xlabel="mean probability of class 1", ylabel="share of class 1")
    unit_square(axis)
    axis.legend(frameon=False, fontsize=9, loc="upper left")
    return figure


EXPERIMENT = Experiment(
    name="slides",
    title="A fifth of the features, and another prior",
    source="Li (2006), slides: the simulation study",
    question=(
        "100 training and 600 test cases with 10,000 binary features, alpha = 400; the prior of "
        "alpha is inverse gamma of shape 5 and rate 500. Are probabilities calibrated with the "
        "2,000 features that correlate best with the class, and what does the correction cost?"
    ),
    runs=runs,
    run=run,
    summarize=summarize,
)
