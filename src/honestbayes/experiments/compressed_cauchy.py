"""Figures 3.18 to 3.21 of the thesis: cases of a model with Cauchy coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from honestbayes.datasets.simulation import simulate_cauchy_model
from honestbayes.experiments import compressed as ours
from honestbayes.experiments.compressed import draw_medians, shared_figures, sizes_table, table
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
from honestbayes.models.interactions.estimator import InteractionClassifier

N_TRAIN, N_TEST, N_FEATURES = 500, 5000, 7
TRUTH = 4
"""Order of the model that the cases are drawn from."""

SIZES = range(1, N_FEATURES + 1)
UNCOMPRESSED = {"quick": (4, 7), "full": SIZES}
"""Orders of models without compression; the full ones are those of the thesis."""

SWEEPS = 4000
"""Twice as many as in the thesis: with 1,000 the log scores of two chains over the same model, one
compressed and one not, were up to 0.1 apart."""

WATCHED = (5, 6, 7)
LEVEL = 4
"""Order from which on the number of compressed parameters does not grow (section 3.5.3)."""


def runs(size: Size) -> list[Settings]:
    """Return runs that count parameters, and runs of models."""
    seeds = {"toy": 2, "quick": 10, "full": 20}[size]
    settings: list[Settings] = [{"part": "sizes", "seed": seed} for seed in range(seeds)]
    if size == "toy":
        return [
            *settings,
            *ours.model_settings(0, (1, 2), 60, compress=True, medians=True),
            *ours.model_settings(0, (2,), 60, compress=False),
        ]
    sweeps = {"quick": 600, "full": SWEEPS}[size]
    settings += ours.model_settings(0, (TRUTH,), sweeps, compress=True, medians=True)
    settings += ours.model_settings(0, UNCOMPRESSED[size], sweeps, compress=False)
    settings += ours.model_settings(0, (1, 2, 3, 5, 6, 7), sweeps, compress=True)
    return [*settings, *ours.model_settings(1, (3, 4, 5), sweeps, compress=True)]


def run(part: str, seed: int, **settings: Any) -> dict[str, Any]:
    """Count parameters by order, or fit one model."""
    X, y = simulate_cauchy_model(N_TRAIN + N_TEST, N_FEATURES, order=TRUTH, random_state=seed)
    if part == "sizes":
        return ours.sizes(X[:N_TRAIN] - 1, SIZES, suffixes=False)
    return fit((X, y), seed, **settings)


def fit(
    data: tuple[Any, Any],
    seed: int,
    order: int,
    prior: ours.Prior,
    compress: bool,
    sweeps: int,
    medians: bool = False,
) -> dict[str, Any]:
    """Fit one model to the first cases and measure it on the others."""
    X, y = data
    model = InteractionClassifier(
        order=order, coefficient_prior=prior, compress=compress, **ours.chain(sweeps, seed)
    )
    watched = [o for o in WATCHED if o <= order] or [order]
    results = ours.measure(model, (X[:N_TRAIN], y[:N_TRAIN]), (X[N_TRAIN:], y[N_TRAIN:]), watched)
    if medians:
        results["medians"] = np.round(np.median(model.draws_.pooled("s"), axis=0), 2).ravel()
    return results


def summarize(done: Sequence[ExperimentRun]) -> Findings:
    """Compare models with and without compression, and of both priors."""
    models = ours.of_part(done, "model")
    sizes = [run.results for run in ours.of_part(done, "sizes")]
    order = max(m.settings["order"] for m in models if "medians" in m.results)
    return Findings(
        conclusion="\n\n".join(
            [
                _sizes(sizes),
                _predictions(models),
                f"{ours.of_sampling(models)} {_faster(models)}",
                f"At order {order} {ours.of_medians(models)}",
            ]
        ),
        checks=(
            PublishedFigure(
                what="order from which on the number of compressed parameters is level",
                published=LEVEL,
                ours=levels_from(sizes),
                digits=1,
                why=(
                    "not known; of such cases, all patterns listed one by one give our numbers "
                    "(see compressed-sizes)"
                ),
            ),
        ),
        tables=(table(ours.complete(models)), _scores(models), sizes_table(sizes[0])),
        figures=(
            *shared_figures(ours.complete(models), sizes[0], ("3.18", "3.19", "3.20")),
            ResultFigure(
                "medians",
                f"Figure 3.21: posterior medians of all compressed parameters at order {order} "
                "with Cauchy and with normal priors; right: those near 0.",
                lambda: draw_medians(models, near=1.0),
            ),
        ),
    )


def levels_from(sizes: Sequence[dict[str, Any]]) -> list[int]:
    """Return the order from which on the number of groups is level, for each data set."""
    return [ours.level_from(results["orders"], results["groups"]) for results in sizes]


def _sizes(sizes: Sequence[dict[str, Any]]) -> str:
    level = sorted(set(levels_from(sizes)))
    first = sizes[0]
    at = first["orders"].index(TRUTH)
    return (
        f"In the first of {len(sizes)} data sets there are {first['groups'][at]:,} compressed "
        f"parameters at order {TRUTH}, instead of {first['patterns'][at]:,}, and "
        f"{first['groups'][-1]:,} at order {N_FEATURES}, instead of {first['patterns'][-1]:,}. "
        f"The number is level (within {ours.LEVEL_WITHIN:.0%}) from order "
        f"{' or '.join(map(str, level))} on, in all data sets; the thesis says {LEVEL}. Of 500 "
        "cases about two share five given cells of three levels, so that many patterns of order 5 "
        "still divide the cases as no shorter one does."
    )


def _predictions(models: Sequence[ExperimentRun]) -> str:
    orders = {m.settings["order"] for m in models if m.settings["compress"]}
    n_sets = len({m.settings["seed"] for m in models})
    parts = []
    for prior in ours.PRIORS:
        settings = {"prior": prior, "compress": True}
        scores = ", ".join(
            f"{ours.mean(models, 'log_score', order=order, seed=0, **settings):.3f}"
            for order in sorted(orders)
        )
        order, score = ours.best(models, prior)
        parts.append(
            f"With {ours.named(prior)} coefficients the log scores of the first data set are "
            f"{scores}; on average over {n_sets} data set{'s' * (n_sets > 1)} the best is "
            f"{score:.3f}, at order {order}."
        )
    return (
        f"Orders {', '.join(map(str, sorted(orders)))}. {' '.join(parts)} The thesis found the "
        f"Cauchy model of order {TRUTH}, which is the truth, best. {ours.of_both_ways(models)} As "
        "both are the same model, that is how far chains of this length can be trusted."
    )


def _scores(models: Sequence[ExperimentRun]) -> ResultTable:
    """Return log scores of each data set by prior and order, compressed."""
    rows: list[dict[str, Cell]] = []
    for seed in sorted({m.settings["seed"] for m in models}):
        own = [m for m in models if m.settings["seed"] == seed and m.settings["compress"]]
        for prior in ours.PRIORS:
            row: dict[str, Cell] = {"data set": seed + 1, "prior": ours.named(prior)}
            for order in sorted({m.settings["order"] for m in models}):
                results = ours.of(own, "log_score", prior=prior, order=order)
                row[f"order {order}"] = float(results[0]) if results.size else None
            rows.append(row)
    return ResultTable("scores", "Log scores of compressed models by data set and order", rows)


def _faster(models: Sequence[ExperimentRun]) -> str:
    """Return for how many widths autocorrelations fall faster with compression."""
    settings = ours.both_ways(models)
    faster = 0
    for prior in ours.PRIORS:
        ways = [
            ours.of(models, "autocorrelation", prior=prior, compress=compress, **settings)[0]
            for compress in ours.WAYS
        ]
        faster += int(np.sum(ways[0].sum(axis=1) < ways[1].sum(axis=1)))
        number = 2 * ways[0].shape[0]
    return (
        f"Summed over lags, autocorrelations are smaller with compression for {faster} of {number} "
        "widths; in the thesis for 5 of 6."
    )


EXPERIMENT = Experiment(
    name="compressed-cauchy",
    title="Compressed parameters: cases of a model with Cauchy coefficients",
    source="Li (2007), section 3.5.3: figures 3.18 to 3.21",
    question=(
        "500 cases of seven features with three levels, whose class depends on interactions up to "
        "order 4 with Cauchy coefficients. Is the model with the order and the prior of the truth "
        "the best, and what does compression save?"
    ),
    runs=runs,
    run=run,
    summarize=summarize,
)
