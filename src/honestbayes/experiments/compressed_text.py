"""Figures 3.10 to 3.14 of the thesis: vowels, consonants and others in a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from honestbayes.datasets.real import load_genesis, vowels_and_consonants
from honestbayes.experiments import compressed as ours
from honestbayes.experiments.compressed import draw_medians, shared_figures, sizes_table, table
from honestbayes.experiments.experiment import (
    Cell,
    Experiment,
    ExperimentRun,
    Findings,
    ResultFigure,
    ResultTable,
    Settings,
    Size,
)
from honestbayes.models.interactions.estimator import SequenceClassifier, windows
from honestbayes.models.interactions.model import find_groups
from honestbayes.plots.drawing import GREY, look, subplots, tidy
from honestbayes.types import AnyArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LENGTH, N_TRAIN = 3930, 1000
LONGEST = 100
ALL_ORDERS = (1, 2, 3, 4, 5, 7, 10, 12, 15, 17, 20)
"""Those of the thesis."""

ORDERS = {"toy": (1, 3), "quick": (1, 2, 3, 5, 7, 10, 15, 20), "full": ALL_ORDERS}
"""Orders of models with compression."""

UNCOMPRESSED = {"toy": (3,), "quick": (5, 10, 20), "full": ALL_ORDERS}
"""Orders of models without compression."""

SIZES = (*range(1, 21), *range(25, LONGEST + 1, 5))
WATCHED = (10, 12, 15, 17, 20)
TRACED = ("CC:V", "_CC:V", "VC_CCV_CC:C")
"""Parameters whose traces are drawn, states before and after a colon: the thesis's first two, and
the one with the largest median in a Cauchy model of this text, as its third was of its own."""

POINTS = 125
"""Of each trace that are kept."""


def runs(size: Size) -> list[Settings]:
    """Return a run that counts parameters, and runs of models; three chains where traces are."""
    sweeps = {"toy": 60, "quick": 200, "full": 2000}[size]
    traced = 3 if size == "toy" else 10
    others = [order for order in ORDERS[size] if order != traced]
    settings: list[Settings] = [{"part": "sizes"}]
    settings += ours.model_settings(0, others, sweeps, compress=True)
    settings += ours.model_settings(0, UNCOMPRESSED[size], sweeps, compress=False)
    for seed in range(3):
        settings += ours.model_settings(seed, (traced,), sweeps, compress=True, traced=True)
    return settings


def run(part: str, **settings: Any) -> dict[str, Any]:
    """Count parameters by order, or fit one model."""
    if part == "sizes":
        return ours.sizes(_codes(data(LONGEST)[0][:N_TRAIN]), SIZES, suffixes=True)
    return fit(**settings)


def data(order: int) -> tuple[AnyArray, AnyArray]:
    """Return windows of the text and the state after each."""
    return windows(vowels_and_consonants(load_genesis())[:LENGTH], order)


def _codes(X: AnyArray) -> AnyArray:
    return np.unique(X, return_inverse=True)[1].reshape(X.shape)


def fit(
    seed: int, order: int, prior: ours.Prior, compress: bool, sweeps: int, traced: bool = False
) -> dict[str, Any]:
    """Fit one model to the first windows and measure it on the others."""
    X, y = data(20)
    model = SequenceClassifier(
        order=order, coefficient_prior=prior, compress=compress, **ours.chain(sweeps, seed)
    )
    watched = [o for o in WATCHED if o <= order] or [order]
    results = ours.measure(model, (X[:N_TRAIN], y[:N_TRAIN]), (X[N_TRAIN:], y[N_TRAIN:]), watched)
    if traced:
        drawn = model.draws_.pooled("s")
        classes, groups = model.classes_.tolist(), groups_by_suffix(X[:N_TRAIN, -order:])
        step = max(1, drawn.shape[0] // POINTS)
        results["traces"] = {
            text: np.round(drawn[::step, classes.index(after), groups[before]], 2)
            for text, (before, after) in ((text, text.split(":")) for text in TRACED)
            if before in groups
        }
        if seed == 0:
            results["medians"] = np.round(np.median(drawn, axis=0), 2).ravel()
    return results


def groups_by_suffix(X: AnyArray) -> dict[str, int]:
    """Return the group of each suffix of the windows."""
    levels = np.unique(X).tolist()
    groups = find_groups(_codes(X), X.shape[1], suffixes=True)[1]
    return {
        "".join(levels[code] for _, code in pattern): group
        for group in range(groups.counts.shape[0])
        for pattern in groups.patterns(group)
    }


def summarize(done: Sequence[ExperimentRun]) -> Findings:
    """Compare models with and without compression, and of both priors."""
    models = ours.of_part(done, "model")
    first = ours.complete(models)
    sizes = ours.of_part(done, "sizes")[0].results
    traces = {
        prior: [m.results["traces"] for m in models
                if m.settings["prior"] == prior and "traces" in m.results]
        for prior in ours.PRIORS
    }  # fmt: skip
    order = next(m.settings["order"] for m in models if "medians" in m.results)
    return Findings(
        conclusion="\n\n".join(
            [
                f"In the 1,000 windows {ours.of_growth(sizes)}",
                f"{ours.of_predictions(first)} {_priors(first)} {ours.of_both_ways(first)}",
                ours.of_sampling(first),
                f"At order {order} {ours.of_medians(first)} {_traces(traces)}",
            ]
        ),
        tables=(table(first), sizes_table(sizes), _trace_table(traces)),
        figures=(
            *shared_figures(first, sizes, ("3.10", "3.11", "3.12")),
            ResultFigure(
                "medians",
                f"Figure 3.13: posterior medians of all compressed parameters at order {order} "
                "with Cauchy and with normal priors; right: those near 0.",
                lambda: draw_medians(models, near=2.0),
            ),
            ResultFigure(
                "traces",
                f"Figure 3.14: draws of three compressed parameters at order {order}, three chains "
                "each. V: vowel, C: consonant, _: other; the state after the colon is predicted. "
                "Where draws go far, the scale is logarithmic beyond 10.",
                lambda: draw_traces(traces),
            ),
        ),
    )


_Traces = dict[ours.Prior, list[dict[str, list[float]]]]


def _priors(models: Sequence[ExperimentRun]) -> str:
    """Return at how many orders Cauchy priors predict better."""
    orders = sorted({m.settings["order"] for m in models if m.settings["compress"]})
    scores = [
        [ours.mean(models, "log_score", prior=prior, order=order, compress=True)
         for prior in ours.PRIORS]
        for order in orders
    ]  # fmt: skip
    better = sum(cauchy < normal for cauchy, normal in scores)
    return (
        f"Cauchy priors have the better log score at {better} of {len(orders)} orders; the thesis "
        "found them better on its text, and orders up to 10 of use."
    )


def _spread(chains: Sequence[dict[str, list[float]]], name: str) -> tuple[float, float]:
    """Return the interval that holds 90% of the draws of all chains."""
    low, high = np.quantile(np.concatenate([chain[name] for chain in chains]), [0.05, 0.95])
    return float(low), float(high)


def _traces(traces: _Traces) -> str:
    parts = []
    for name in traces["cauchy"][0]:
        (a, b), (c, d) = (_spread(traces[prior], name) for prior in ours.PRIORS)
        parts.append(f"{name} from {a:.1f} to {b:.1f}, and from {c:.1f} to {d:.1f}")
    return (
        "Nine in ten draws of the traced parameters are, with Cauchy and with normal priors: "
        f"{'; '.join(parts)}."
    )


def _trace_table(traces: _Traces) -> ResultTable:
    rows: list[dict[str, Cell]] = []
    for name in traces["cauchy"][0]:
        for prior, chains in traces.items():
            low, high = _spread(chains, name)
            middle = float(np.median(np.concatenate([chain[name] for chain in chains])))
            rows.append({"parameter": name, "prior": ours.named(prior), "chains": len(chains),
                         "median": middle, "5%": low, "95%": high})  # fmt: skip
    return ResultTable("traces", "Draws of the traced parameters, all chains", rows, digits=2)


def draw_traces(traces: _Traces) -> Figure:
    """Draw the traces, a row for each parameter and a column for each prior."""
    names = list(traces["cauchy"][0])
    far = {
        name: max(np.abs(chain[name]).max() for chains in traces.values() for chain in chains)
        for name in names
    }
    figure, axes = subplots(
        len(names), 2, figsize=(10, 2.1 * len(names)), sharey="row",
        sharex=True, squeeze=False,
    )  # fmt: skip
    for row, name in zip(axes, names, strict=True):
        for axis, (prior, chains) in zip(row, traces.items(), strict=True):
            for index, chain in enumerate(chains):
                axis.plot(chain[name], linewidth=0.8, color=look(index).color)
            axis.axhline(0, color=GREY, linewidth=0.6, zorder=0)
            if far[name] > 20:
                axis.set_yscale("symlog", linthresh=10)
            axis.yaxis.set_major_formatter("{x:g}")
            axis.set(title=f"{name}, {ours.named(prior)} priors")
            axis.title.set_size(9)
            tidy(axis)
    for axis in axes[-1]:
        axis.set(xlabel="draws, evenly spaced")
    return figure


EXPERIMENT = Experiment(
    name="compressed-text",
    title="Compressed parameters: vowels, consonants and others in a text",
    source="Li (2007), section 3.4.5: figures 3.10 to 3.14",
    question=(
        "The next character of a text (vowel, consonant, other) is predicted from up to 20 before "
        "it; 1,000 windows train, 2,910 test. The text is the beginning of the Book of Genesis, "
        "3,930 characters: the thesis used a web page of this length, which is not at hand, so "
        "that its figures can be repeated in kind only."
    ),
    runs=runs,
    run=run,
    summarize=summarize,
)
