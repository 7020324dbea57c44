"""Figures 3.7 to 3.9 of the thesis: sequences of a hidden Markov model, compressed and not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from honestbayes.datasets.simulation import simulate_hidden_markov
from honestbayes.experiments import compressed as ours
from honestbayes.experiments.compressed import shared_figures, sizes_table, table
from honestbayes.experiments.experiment import (
    Experiment,
    ExperimentRun,
    Findings,
    PublishedFigure,
    Settings,
    Size,
)
from honestbayes.models.interactions.estimator import SequenceClassifier
from honestbayes.types import AnyArray

N_TRAIN, N_TEST = 500, 5000
LONGEST = 100
"""States of a history: models see the last 20; how sizes level off is seen further back."""

ORDERS = {"quick": (1, 2, 3, 5, 7, 10, 15, 20), "full": (1, 2, 3, 4, 5, 7, 10, 12, 15, 17, 20)}
"""Orders of models with compression; the full ones are those of the thesis."""

UNCOMPRESSED = {"quick": (5, 10, 15, 20), "full": ORDERS["full"]}
"""Orders of models without compression."""

SIZES = (*range(1, 21), *range(25, LONGEST + 1, 5))
WATCHED = (10, 12, 15, 17, 20)
"""Orders whose widths have their autocorrelation drawn."""

RATIO = 0.207
"""Of compressed to original parameters at order 20 (section 3.4.3)."""


def runs(size: Size) -> list[Settings]:
    """Return runs that count parameters, and runs of models."""
    seeds = {"toy": 2, "quick": 20, "full": 100}[size]
    settings: list[Settings] = [{"part": "sizes", "seed": seed} for seed in range(seeds)]
    if size == "toy":
        return [
            *settings,
            *ours.model_settings(0, (1, 3), 60, compress=True),
            *ours.model_settings(0, (3,), 60, compress=False),
        ]
    sweeps = 200 if size == "quick" else 2000
    for seed in range(3):
        settings += ours.model_settings(seed, ORDERS[size], sweeps, compress=True)
        settings += ours.model_settings(seed, UNCOMPRESSED[size], sweeps, compress=False)
    return settings


def run(part: str, seed: int, **settings: Any) -> dict[str, Any]:
    """Count parameters by order, or fit one model."""
    data = simulate_hidden_markov(N_TRAIN + N_TEST, LONGEST + 1, random_state=seed)
    X, y = data[:, :-1], data[:, -1]
    if part == "sizes":
        return ours.sizes(X[:N_TRAIN], SIZES, suffixes=True)
    return fit(X[:, -20:], y, seed, **settings)


def fit(
    X: AnyArray, y: AnyArray, seed: int, order: int, prior: ours.Prior, compress: bool, sweeps: int
) -> dict[str, Any]:
    """Fit one model to the first sequences and measure it on the others."""
    model = SequenceClassifier(
        order=order, coefficient_prior=prior, compress=compress, **ours.chain(sweeps, seed)
    )
    watched = [o for o in WATCHED if o <= order] or [order]
    return ours.measure(model, (X[:N_TRAIN], y[:N_TRAIN]), (X[N_TRAIN:], y[N_TRAIN:]), watched)


def summarize(done: Sequence[ExperimentRun]) -> Findings:
    """Compare models with and without compression."""
    models = ours.of_part(done, "model")
    sizes = [run.results for run in ours.of_part(done, "sizes")]
    first = sizes[0]
    at = first["orders"].index(20)
    ratios = [results["groups"][at] / results["patterns"][at] for results in sizes]
    return Findings(
        conclusion="\n\n".join([_on_sizes(sizes), _predictions(models),
                                ours.of_sampling(models)]),
        checks=(PublishedFigure(what="compressed to original parameters, order 20", published=RATIO,
                      ours=ratios),),
        tables=(table(models), sizes_table(first)),
        figures=shared_figures(models, first, ("3.7", "3.8", "3.9")),
    )  # fmt: skip


def _on_sizes(sizes: Sequence[dict[str, Any]]) -> str:
    level = [ours.level_from(results["orders"], results["groups"]) for results in sizes]
    ends = [results["groups"][-1] for results in sizes]
    sentences = f"In the first of {len(sizes)} data sets {ours.of_growth(sizes[0])}"
    if max(level) < LONGEST:
        sentences += (
            f" Over all data sets the number is level from order {min(level)} on at the "
            f"earliest and {max(level)} at the latest, at {min(ends):,} to {max(ends):,}."
        )
    return sentences


def _predictions(models: Sequence[ExperimentRun]) -> str:
    return (
        f"{ours.of_predictions(models)} {ours.of_both_ways(models)} The thesis describes the "
        "result: "
        "better up to order 5, hardly worse beyond, and no difference between compressed and not "
        "or between the priors."
    )


EXPERIMENT = Experiment(
    name="compressed-hmm",
    title="Compressed parameters: sequences of a hidden Markov model",
    source="Li (2007), sections 3.4.3 and 3.4.4: figures 3.7 to 3.9",
    question=(
        "The next state of a binary sequence is predicted from up to 20 states before it, from 500 "
        "training sequences. How many parameters are left when those that occur in the same "
        "training sequences are summed, and how do time, chains and predictions change? The "
        "steps of "
        "the hidden states stand in a figure whose arrows are not in the text: two are known, the "
        "others are chosen to fit the description."
    ),
    runs=runs,
    run=run,
    summarize=summarize,
)
