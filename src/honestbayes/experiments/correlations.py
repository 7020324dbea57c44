"""Figure 2 of Li, Zhang and Neal: the correlation of every pair of counts, and which are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from honestbayes.experiments.experiment import (
    Experiment,
    ExperimentRun,
    Findings,
    ResultFigure,
    ResultTable,
    Settings,
    Size,
)
from honestbayes.plots.drawing import subplots
from honestbayes.selection.counts import correlation
from honestbayes.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_0, N_1, GAMMA = 8, 14, 0.2

PUBLISHED = """
+1.00 +0.90 +0.81 +0.72 +0.62 +0.53 +0.42 +0.29  0.00
+0.91 +0.80 +0.70 +0.60 +0.49 +0.38 +0.25 +0.09 -0.16
+0.83 +0.72 +0.61 +0.50 +0.39 +0.27 +0.13 -0.03 -0.24
+0.76 +0.64 +0.52 +0.41 +0.30 +0.17 +0.04 -0.11 -0.30
+0.69 +0.57 +0.45 +0.33 +0.21 +0.09 -0.04 -0.18 -0.36
+0.63 +0.50 +0.38 +0.26 +0.14 +0.02 -0.11 -0.25 -0.41
+0.57 +0.44 +0.31 +0.19 +0.07 -0.05 -0.18 -0.31 -0.46
+0.52 +0.38 +0.24 +0.12  0.00 -0.12 -0.24 -0.37 -0.52
+0.46 +0.31 +0.18 +0.05 -0.07 -0.19 -0.31 -0.44 -0.57
+0.41 +0.25 +0.11 -0.02 -0.14 -0.26 -0.38 -0.50 -0.63
+0.36 +0.18 +0.04 -0.09 -0.21 -0.33 -0.45 -0.57 -0.69
+0.30 +0.11 -0.04 -0.17 -0.30 -0.41 -0.52 -0.64 -0.76
+0.24 +0.03 -0.13 -0.27 -0.39 -0.50 -0.61 -0.72 -0.83
+0.16 -0.09 -0.25 -0.38 -0.49 -0.60 -0.70 -0.80 -0.91
 0.00 -0.29 -0.42 -0.53 -0.62 -0.72 -0.81 -0.90 -1.00
"""
"""The figure, from 14 ones in class 1 down to none, with the signs of `RESTORED`."""

RESTORED = ((10, 6), (9, 6))
"""Ones in class 1 and in class 0 of the two values whose minus signs the paper's text lacks."""


def runs(size: Size) -> list[Settings]:
    """Return the one run."""
    del size
    return [{"n_0": N_0, "n_1": N_1}]


def run(n_0: int, n_1: int) -> dict[str, Any]:
    """Return the correlation of each pair of counts; rows by the ones of class 1, ascending."""
    one, zero = np.mgrid[0 : n_1 + 1, 0 : n_0 + 1]
    ones = np.stack([zero.ravel(), one.ravel()])
    observed = np.broadcast_to(np.array([[n_0], [n_1]]), ones.shape)
    return {"correlation": correlation(ones, observed).reshape(one.shape)}


def summarize(done: Sequence[ExperimentRun]) -> Findings:
    """Compare the values one by one."""
    ours = np.array(done[0].results["correlation"])[::-1]
    published = np.array(PUBLISHED.split(), dtype=float).reshape(ours.shape)
    equal = int(np.sum(np.abs(ours - published) <= 0.005 + 1e-9))
    kept = np.abs(ours) > GAMMA
    names = [str(zero) for zero in range(N_0 + 1)]
    rows = [
        {"ones in class 1": str(N_1 - index)} | dict(zip(names, row.tolist(), strict=True))
        for index, row in enumerate(ours)
    ]
    minus = " and ".join(
        f"{published[N_1 - one, zero]:.2f} ({one} ones in class 1, {zero} in class 0)"
        for one, zero in RESTORED
    )
    differ = "" if equal == ours.size else " " + _differences(ours, published)
    return Findings(
        conclusion=(
            f"{equal} of the {ours.size} printed values agree with ours to the last digit.{differ} "
            f"Two of them had lost their minus signs in the text of the paper at hand, and we put "
            f"them back: {minus}. They stand between 0.04 (11 ones in class 1) and -0.18 (8) in a "
            "column that falls steadily. "
            f"With gamma = {GAMMA}, {int(kept.sum())} pairs of counts are kept and "
            f"{int((~kept).sum())} discarded."
        ),
        tables=(
            ResultTable(
                "correlations",
                f"Correlation with the class by ones in class 0 (columns) and in class 1 (rows); "
                f"{N_0} and {N_1} cases",
                rows,
                digits=2,
            ),
        ),
        figures=(
            ResultFigure(
                "correlations",
                "Figure 2: correlations of all pairs of counts. Dark: exactly 0; grey: at most "
                "0.2, discarded; light: kept.",
                lambda: draw(ours),
            ),
        ),
    )


def _differences(ours: FloatArray, published: FloatArray) -> str:
    indices = np.argwhere(np.abs(ours - published) > 0.005 + 1e-9)
    parts = [
        f"{N_1 - i} ones in class 1 and {j} in class 0 (printed {published[i, j]:+.2f}, ours "
        f"{ours[i, j]:+.4f})"
        for i, j in indices.tolist()
    ]
    return f"The others: {'; '.join(parts)}."


def draw(values: FloatArray) -> Figure:
    """Draw the figure."""
    figure, axis = subplots(figsize=(6, 5))
    shade = np.where(values == 0, 0.45, np.where(np.abs(values) <= GAMMA, 0.72, 0.95))
    axis.imshow(shade, cmap="gray", vmin=0, vmax=1, aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        axis.text(j, i, f"{value:+.2f}" if value else "0.00", ha="center", va="center", fontsize=8)
    axis.set(xlabel="ones in class 0", ylabel="ones in class 1", xticks=range(N_0 + 1))
    axis.set_yticks(range(N_1 + 1), [str(N_1 - i) for i in range(N_1 + 1)])
    return figure


EXPERIMENT = Experiment(
    name="correlations",
    title="Which pairs of counts are kept",
    source="Li, Zhang and Neal (2008), figure 2",
    question=(
        f"With {N_0} cases of class 0 and {N_1} of class 1, a binary feature has one of "
        f"{(N_0 + 1) * (N_1 + 1)} pairs of counts. How strongly does each correlate with the class?"
    ),
    runs=runs,
    run=run,
    summarize=summarize,
)
