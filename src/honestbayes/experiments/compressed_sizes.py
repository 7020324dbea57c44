"""Figure 3.17 of the thesis: how many parameters are left by levels, features and order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from honestbayes.experiments.compressed import LEVEL_WITHIN, level_from
from honestbayes.experiments.experiment import (
    Experiment,
    ExperimentRun,
    Findings,
    PublishedFigure,
    ResultFigure,
    ResultTable,
    Settings,
    Size,
)
from honestbayes.models.interactions.model import find_groups
from honestbayes.plots.drawing import look, subplots, tidy
from honestbayes.types import AnyArray, FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_CASES = 200
N_FEATURES, ORDER = 7, 4
LEVELS = (3, 4, 5)
"""Levels with which the order is varied: those of the thesis stand in the title of its figure,
which the text does not have; so do the features and the orders of the other panels."""

PUBLISHED_LEVEL = 4
"""Order from which on the number of compressed parameters is level, of seven (3.5.2)."""

Point = list[int]
"""Cases, features, levels of each, and order."""

STUDIES: dict[str, list[Point]] = {
    "levels": [[N_CASES, N_FEATURES, k, ORDER] for k in (2, 3, 4, 5, 7, 10)],
    "features": [[N_CASES, p, 4, 3] for p in (3, 5, 7, 10, 15, 20)],
    **{
        f"order, {k} levels": [[N_CASES, N_FEATURES, k, o] for o in range(1, N_FEATURES + 1)]
        for k in LEVELS
    },
    "order, 3 levels, 500 cases": [[500, N_FEATURES, 3, o] for o in range(1, N_FEATURES + 1)],
}
VARIED = {"levels": 2, "features": 1, "order": 3}
"""Index in a point of the varied quantity."""


def runs(size: Size) -> list[Settings]:
    """Return a run for each study and data set."""
    seeds = {"toy": 2, "quick": 5, "full": 20}[size]
    return [
        {"study": study, "points": points[:4] if size == "toy" else points, "seed": seed}
        for study, points in STUDIES.items()
        for seed in range(seeds)
    ]


def run(study: str, points: list[Point], seed: int) -> dict[str, Any]:
    """Count parameters at each point; where the order varies, once more by listing patterns."""
    results: dict[str, Any] = {"groups": [], "patterns": []}
    for n, p, k, order in points:
        cells = np.random.default_rng(seed).integers(0, k, (n, p))
        counts = find_groups(cells, order, suffixes=False)[1].counts
        results["groups"].append(int(counts.shape[0]))
        results["patterns"].append(int(counts.sum()))
    if study.startswith("order"):
        results["listed"] = by_listing(cells, order)
    return results


def by_listing(cells: AnyArray, order: int) -> int:
    """Return the number of different sets of cases that have a pattern, all patterns listed."""
    seen: set[tuple[int, ...]] = set()
    for size in range(order + 1):
        for columns in combinations(range(cells.shape[1]), size):
            having: dict[tuple[int, ...], list[int]] = {}
            for case, row in enumerate(cells[:, columns].tolist()):
                having.setdefault(tuple(row), []).append(case)
            seen.update(tuple(cases) for cases in having.values())
    return len(seen)


def summarize(done: Sequence[ExperimentRun]) -> Findings:
    """Compare the growth of the numbers with the thesis."""
    studies = {study: [run for run in done if run.settings["study"] == study] for study in STUDIES}
    fitting = np.mean(level_orders(studies["order, 5 levels"]))
    return Findings(
        conclusion=_conclusion(studies),
        checks=tuple(
            PublishedFigure(
                what=f"order from which on the number is level, {k} levels",
                published=PUBLISHED_LEVEL,
                ours=level_orders(studies[f"order, {k} levels"]),
                digits=1,
                why=(
                    "how many levels the figure has is not in the text; with 5 levels it is "
                    f"{fitting:.1f}"
                ),
            )
            for k in LEVELS
            if len(studies["order, 3 levels"][0].settings["points"]) == N_FEATURES
        ),
        tables=(_table(studies),),
        figures=(
            ResultFigure(
                "sizes",
                "Figure 3.17: parameters of each class with and without compression, and their "
                "ratio (below), by levels, features and order; averages over data sets of 200 "
                "cases.",
                lambda: draw(studies),
            ),
        ),
    )


def level_orders(done: Sequence[ExperimentRun]) -> list[int]:
    """Return the order from which on the number of groups is level, for each data set."""
    return [
        level_from([point[3] for point in run.settings["points"]], run.results["groups"])
        for run in done
    ]


def _averages(done: Sequence[ExperimentRun], name: str) -> FloatArray:
    return np.asarray(np.mean([run.results[name] for run in done], axis=0))


def _points(done: Sequence[ExperimentRun], study: str) -> list[int]:
    """Return the values of the varied quantity."""
    index = VARIED[study.split(",")[0]]
    return [point[index] for point in done[0].settings["points"]]


def _conclusion(studies: dict[str, list[ExperimentRun]]) -> str:
    parts = []
    for study in ("levels", "features"):
        groups, patterns = (_averages(studies[study], name) for name in ("groups", "patterns"))
        points = _points(studies[study], study)
        peak = int(np.argmax(groups))
        ratio = groups / patterns
        parts.append(
            f"{study.capitalize()} from {points[0]} to {points[-1]}: compressed parameters go from "
            f"{groups[0]:,.0f} to {groups[-1]:,.0f}"
            + (f", with a peak of {groups[peak]:,.0f} at {points[peak]}"
               if 0 < peak < len(points) - 1 else "")
            + f", original ones from {patterns[0]:,.0f} to {patterns[-1]:,.0f}, and their ratio "
            f"from {ratio[0]:.3f} to {ratio[-1]:.3f}."
        )  # fmt: skip
    for study in [name for name in studies if name.startswith("order")]:
        groups, patterns = (_averages(studies[study], name) for name in ("groups", "patterns"))
        orders = sorted(set(level_orders(studies[study])))
        parts.append(
            f"{study.capitalize()}: the number of compressed parameters is level at "
            f"{groups[-1]:,.0f} from order {' or '.join(map(str, orders))} on; at order 4 it is "
            f"{groups[3]:,.0f}. "
            f"Original ones go on from {patterns[3]:,.0f} to {patterns[-1]:,.0f}."
        )
    ordered = [run for name, done in studies.items() if name.startswith("order") for run in done]
    equal = sum(run.results["listed"] == run.results["groups"][-1] for run in ordered)
    return (
        f"{' '.join(parts)}\n\n"
        "The thesis describes the result: with more levels fewer compressed parameters but no "
        "fewer "
        "original ones; with more features more of both, and a smaller ratio; by order, compressed "
        f"ones stay the same from {PUBLISHED_LEVEL} on and original ones grow. That is read off a "
        f"figure, so numbers that differ by less than {LEVEL_WITHIN:.0%}, which is less than the "
        "width of a line there, are level here. In "
        f"{equal} of {len(ordered)} data sets our number at the highest order is that of all "
        "patterns listed one by one, with the cases that have them compared."
    )


def _table(studies: dict[str, list[ExperimentRun]]) -> ResultTable:
    rows = [
        {
            "study": study,
            "cases": point[0],
            "features": point[1],
            "levels": point[2],
            "order": point[3],
            "compressed": float(_averages(done, "groups")[index]),
            "not compressed": float(_averages(done, "patterns")[index]),
            "ratio": float(_averages(done, "groups")[index] / _averages(done, "patterns")[index]),
        }
        for study, done in studies.items()
        for index, point in enumerate(done[0].settings["points"])
    ]
    return ResultTable("sizes", "Parameters of each class, averages over data sets", rows)


def draw(studies: dict[str, list[ExperimentRun]]) -> Figure:
    """Draw numbers and ratios by levels, features and order."""
    figure, axes = subplots(2, 3, figsize=(10.5, 5.8), height_ratios=(3, 2))
    shown = {
        "levels": f"{N_FEATURES} features, order {ORDER}",
        "features": "4 levels, order 3",
        "order, 3 levels": f"{N_FEATURES} features, 3 levels",
    }
    for column, (study, title) in enumerate(shown.items()):
        done = studies[study]
        above, below = axes[:, column]
        groups, patterns = (_averages(done, name) for name in ("groups", "patterns"))
        x = _points(done, study)
        above.plot(x, patterns, ":x", color=look(1).color, label="not compressed")
        above.plot(x, groups, "-o", color=look(0).color, label="compressed")
        above.set(title=title, yscale="log")
        below.plot(x, groups / patterns, "-^", color=look(2).color)
        below.set(xlabel=study.split(",")[0], ylim=(0, 1.05))
        for axis in (above, below):
            axis.set_xticks(x)
            tidy(axis)
    axes[0, 0].set(ylabel="parameters of each class")
    axes[1, 0].set(ylabel="ratio")
    axes[0, 2].legend(frameon=False, fontsize=8, loc="lower right")
    return figure


EXPERIMENT = Experiment(
    name="compressed-sizes",
    title="Compressed parameters: how many are left",
    source="Li (2007), section 3.5.2: figure 3.17",
    question=(
        "200 cases whose features are drawn uniformly. How many parameters does a model with "
        "interactions need for each class with and without compression, by the number of levels, "
        "of features, and by order?"
    ),
    runs=runs,
    run=run,
    summarize=summarize,
)
