"""The figures of comparisons, one for each question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from honestbayes.evaluation.peers import FREQUENCIES
from honestbayes.experiments.comparison import CALIBRATED, CORRECTED, OURS, UNCORRECTED
from honestbayes.experiments.comparison_results import Results
from honestbayes.plots.drawing import GREY, look, subplots, tidy
from honestbayes.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _spread(values: FloatArray, new_tables: bool) -> float:
    if values.size < 2:
        return 0.0
    return 2 * float(values.std(ddof=1)) / (np.sqrt(values.size) if new_tables else 1.0)


def draw_scores(results: Results, new_tables: bool, name: str = "log_score") -> Figure:
    """Draw a panel for each table, a row for each method."""
    tables, methods = results.tables, results.methods()
    columns = min(3, len(tables))
    lines = -(-len(tables) // columns)
    figure, axes = subplots(
        lines,
        columns,
        figsize=(11, 0.8 + lines * (0.7 + 0.21 * len(methods))),
        sharey=True,
        squeeze=False,
    )
    for axis in axes.flat[len(tables) :]:
        axis.set_visible(False)
    for axis, table in zip(axes.flat, tables, strict=False):
        for place, method in enumerate(methods):
            if (table, method) not in results.runs:
                continue
            values = results.of_all(name, table, method)
            style = look(0 if method in OURS else 1)
            axis.errorbar(
                values.mean(),
                place,
                xerr=_spread(values, new_tables),
                color=style.color,
                marker=style.marker,
                markerfacecolor=style.color if method in OURS else "white",
                markersize=5,
            )
        if new_tables and name == "log_score":
            truth = results.mean("log_score_of_truth", table, methods[0])
            axis.axvline(truth, color=GREY, linewidth=0.8, label="truth")
        if (table, FREQUENCIES) in results.runs and name == "log_score":
            _cut(axis, results, table, methods)
        axis.set_title(table, fontsize=10)
        axis.set_yticks(range(len(methods)), methods, fontsize=8)
        axis.grid(axis="y", color="0.9", linewidth=0.6)
        axis.tick_params(axis="x", labelsize=8)
        tidy(axis)
    axes[0, 0].invert_yaxis()
    words = "log score" if name == "log_score" else "distance from the true probability"
    figure.supxlabel(words, fontsize=10)
    return figure


def _cut(axis: Any, results: Results, table: str, methods: Sequence[str]) -> None:
    """End the axis beyond chance; what is further is told by its number at the edge."""
    end = 1.5 * results.mean("log_score", table, FREQUENCIES)
    if axis.get_xlim()[1] <= end:
        return
    axis.set_xlim(right=end)
    for place, method in enumerate(methods):
        if (table, method) in results.runs:
            value = results.mean("log_score", table, method)
            if value > end:
                axis.text(end, place, f"{value:.2f} >", ha="right", va="center", fontsize=8)


def draw_honesty(results: Results) -> Figure:
    """Draw expected and actual error rates, a panel for each method."""
    methods = [m for m in results.methods() if m != FREQUENCIES]
    figure, axes = subplots(
        -(-len(methods) // 5),
        5,
        figsize=(11, 2.5 * (-(-len(methods) // 5))),
        sharex=True,
        sharey=True,
    )
    for axis in axes.flat[len(methods) :]:
        axis.set_visible(False)
    for axis, method in zip(axes.flat, methods, strict=False):
        there = [t for t in results.tables if (t, method) in results.runs]
        pairs = [
            [results.mean(name, t, method) for t in there]
            for name in ("expected_error", "actual_error")
        ]
        axis.axline((0, 0), slope=1, color=GREY, linewidth=0.8)
        axis.plot(*pairs, "o", color=look(0 if method in OURS else 1).color, markersize=4)
        axis.set_title(method.replace(", ", ",\n"), fontsize=8)
        axis.set(xlim=(0, 0.6), ylim=(0, 0.6), aspect="equal")
        tidy(axis)
    figure.supxlabel("expected error rate", fontsize=10)
    figure.supylabel("actual error rate", fontsize=10)
    return figure


def draw_correction(results: Results, new_tables: bool) -> Figure:
    """Draw what the correction gains, by table."""
    tables = results.tables
    figure, axis = subplots(figsize=(7, 1 + 0.3 * len(tables)))
    pairs = {
        "corrected": (UNCORRECTED, CORRECTED),
        "corrected and calibrated": (UNCORRECTED, CALIBRATED),
    }
    for number, (label, (one, other)) in enumerate(pairs.items()):
        gaps = [
            results.of_all("log_score", t, one) - results.of_all("log_score", t, other)
            for t in tables
        ]
        style = look(number)
        axis.errorbar(
            [gap.mean() for gap in gaps],
            np.arange(len(tables)) + 0.2 * number - 0.1,
            xerr=[_spread(gap, new_tables) for gap in gaps],
            color=style.color,
            marker=style.marker,
            linestyle="none",
            markersize=5,
            label=label,
        )
    axis.axvline(0, color=GREY, linewidth=0.8)
    axis.set_xscale("symlog", linthresh=0.1)
    axis.set(xlabel="log score gained over the uncorrected model (logarithmic beyond 0.1)")
    axis.set_yticks(range(len(tables)), tables)
    axis.invert_yaxis()
    axis.legend(frameon=False, fontsize=8)
    tidy(axis)
    return figure


def draw_seconds(results: Results) -> Figure:
    """Draw processor seconds, a point for each table, a row for each method."""
    methods = results.methods()
    figure, axis = subplots(figsize=(7, 1 + 0.28 * len(methods)))
    for place, method in enumerate(methods):
        values = [
            results.mean("seconds", t, method)
            for t in results.tables
            if (t, method) in results.runs
        ]
        style = look(0 if method in OURS else 1)
        axis.plot(values, [place] * len(values), style.marker, color=style.color, markersize=4)
    axis.set(xlabel="processor seconds of a fold", xscale="log")
    axis.set_yticks(range(len(methods)), methods)
    axis.invert_yaxis()
    tidy(axis)
    return figure
