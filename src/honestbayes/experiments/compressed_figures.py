"""Tables and figures of models with compressed parameters by order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from honestbayes.experiments.compressed_models import (
    PRIORS,
    both_ways,
    mean,
    mean_autocorrelation,
    medians,
    named,
    of,
)
from honestbayes.experiments.experiment import Picture, Run, Table
from honestbayes.plots.drawing import GREY, look, subplots, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = {
    (prior, compress): look(2 * place + (not compress))
    for place, prior in enumerate(PRIORS)
    for compress in (True, False)
}
"""How the lines of the four kinds of models are drawn."""


def table(models: Sequence[Run]) -> Table:
    """Return averages over data sets by order, prior and compression."""
    rows = []
    for prior, compress in KINDS:
        orders = _orders(models, prior, compress=compress)
        for order in dict.fromkeys(orders):
            words = {"prior": prior, "compress": compress, "order": order}
            rows.append(
                {
                    "prior": named(prior),
                    "compressed": "yes" if compress else "no",
                    "order": order,
                    "repetitions": orders.count(order),
                    "parameters": mean(models, "groups", **words),
                    "seconds to fit": mean(models, "fit_seconds", **words),
                    "seconds to predict": mean(models, "predict_seconds", **words),
                    "draws of widths per second": mean(models, "ess_per_second", **words),
                    "error rate": mean(models, "error", **words),
                    "log score": mean(models, "log_score", **words),
                }
            )
    return Table("models", "Averages of models by prior, compression and order", rows)


def _orders(models: Sequence[Run], prior: str, *, compress: bool) -> list[int]:
    """Return the orders of models of one kind, as often as there are models."""
    kind = (prior, compress)
    return sorted(
        m.settings["order"] for m in models if (m.settings["prior"], m.settings["compress"]) == kind
    )


def sizes_table(found: dict[str, Any]) -> Table:
    """Return numbers of parameters by order."""
    rows = [
        {"order": order, "compressed": groups, "not compressed": patterns,
         "ratio": groups / patterns}
        for order, groups, patterns in zip(*found.values(), strict=True)
    ]  # fmt: skip
    return Table("sizes", "Parameters of each class by order", rows)


def pictures(
    models: Sequence[Run], found: dict[str, Any], figures: tuple[str, str, str]
) -> tuple[Picture, ...]:
    """Return the pictures that hidden Markov data, text and Cauchy data have in common.

    Parameters
    ----------
    models : sequence of Run
        The models.
    found : dict
        Numbers of parameters by order, from `sizes`.
    figures : tuple of str
        Numbers of the thesis's figures of sizes and times, of autocorrelations and of predictions.
    """
    order = both_ways(models)["order"]
    n_seeds = len({m.settings["seed"] for m in models})
    return (
        Picture(
            "sizes",
            f"Figure {figures[0]}: parameters of each class with and without compression by order, "
            "their ratio, and processor time to fit and to predict.",
            lambda: draw_sizes(models, found),
        ),
        Picture(
            "autocorrelation",
            f"Figure {figures[1]}: autocorrelation of log widths of the highest orders in "
            f"models of order {order}: thin lines of each, and their average.",
            lambda: draw_autocorrelation(models),
        ),
        Picture(
            "predictions",
            f"Figure {figures[2]}: error rate and log score of test cases by order"
            + (f"; averages over {n_seeds} data sets." if n_seeds > 1 else "."),
            lambda: draw_predictions(models),
        ),
    )


def draw_sizes(models: Sequence[Run], found: dict[str, Any]) -> Figure:
    """Draw parameters, their ratio and times by order."""
    figure, axes = subplots(2, 2, figsize=(10, 6.6))
    orders = np.array(found["orders"])
    groups, patterns = np.array(found["groups"]), np.array(found["patterns"])
    axes[0, 0].plot(orders, groups, "-o", color=look(0).color, markersize=4, label="compressed")
    axes[0, 0].plot(
        orders, patterns, ":x", color=look(1).color, markersize=4, label="not compressed"
    )
    axes[0, 0].axhline(groups[-1], color=GREY, linewidth=0.8, zorder=0)
    axes[0, 0].set(ylabel="parameters of each class", yscale="log")
    axes[0, 1].plot(orders, groups / patterns, "-^", color=look(0).color, markersize=4)
    axes[0, 1].set(ylabel="ratio, compressed to not", ylim=(0, None))
    _lines(axes[1, 0], models, "fit_seconds")
    axes[1, 0].set(ylabel="seconds to fit", yscale="log")
    _lines(axes[1, 1], [m for m in models if m.settings["compress"]], "predict_seconds")
    axes[1, 1].set(ylabel="seconds to predict", ylim=(0, None))
    for axis in axes.flat:
        axis.set(xlabel="order")
        axis.locator_params(axis="x", integer=True)
        tidy(axis)
    for axis in (axes[0, 0], axes[1, 0], axes[1, 1]):
        axis.legend(frameon=False, fontsize=8)
    return figure


def draw_autocorrelation(models: Sequence[Run]) -> Figure:
    """Draw autocorrelations of widths with and without compression, a panel for each prior."""
    figure, axes = subplots(1, 2, figsize=(9, 3.6), sharey=True)
    words = both_ways(models)
    for axis, prior in zip(axes, PRIORS, strict=True):
        for compress in (True, False):
            style = KINDS[prior, compress]
            label = "compressed" if compress else "not compressed"
            single = of(models, "autocorrelation", prior=prior, compress=compress, **words)[0]
            average = mean_autocorrelation(models, prior, compress=compress)
            axis.plot(single.T, color=style.color, linewidth=0.6, alpha=0.5)
            axis.plot(average, color=style.color, linestyle=style.linestyle, label=label)
        axis.axhline(0, color=GREY, linewidth=0.8, zorder=0)
        axis.set(xlabel="lag (sweeps)", title=f"{named(prior)} coefficients")
        axis.legend(frameon=False, fontsize=8)
        tidy(axis)
    axes[0].set(ylabel="autocorrelation of log widths")
    return figure


def draw_predictions(models: Sequence[Run]) -> Figure:
    """Draw error rates and log scores by order."""
    figure, axes = subplots(1, 2, figsize=(10, 3.8))
    for axis, (name, label) in zip(
        axes, {"error": "error rate", "log_score": "log score"}.items(), strict=True
    ):
        _lines(axis, models, name)
        axis.set(xlabel="order", ylabel=label)
        axis.locator_params(axis="x", integer=True)
        axis.legend(frameon=False, fontsize=8)
        tidy(axis)
    return figure


def draw_medians(models: Sequence[Run], near: float) -> Figure:
    """Draw posterior medians of the same parameters under both priors, far and near 0."""
    cauchy, normal = (medians(models, prior) for prior in PRIORS)
    figure, axes = subplots(1, 2, figsize=(9, 4.4))
    for axis in axes:
        axis.axhline(0, color=GREY, linewidth=0.6, zorder=0)
        axis.axvline(0, color=GREY, linewidth=0.6, zorder=0)
        axis.plot(cauchy, normal, ".", markersize=3, color=look(0).color)
        axis.set(xlabel="median with Cauchy priors", ylabel="median with normal priors")
        tidy(axis)
    axes[1].set(xlim=(-near, near), ylim=(-near, near), title=f"from {-near:g} to {near:g}")
    axes[0].set(title="all parameters")
    if max(np.abs([*cauchy, *normal])) > 100:
        axes[0].set_xscale("symlog", linthresh=10)
        axes[0].set_yscale("symlog", linthresh=10)
        axes[0].set(title="all parameters (logarithmic beyond 10)")
    return figure


def _lines(axis: Any, models: Sequence[Run], name: str) -> None:
    """Draw one figure by order, a line for each kind of model."""
    for (prior, compress), style in KINDS.items():
        words = {"prior": prior, "compress": compress}
        orders = sorted(set(_orders(models, prior, compress=compress)))
        if orders:
            values = [mean(models, name, order=order, **words) for order in orders]
            label = f"{named(prior)}, {'compressed' if compress else 'not compressed'}"
            axis.plot(orders, values, **style._asdict(), markersize=4, label=label)
