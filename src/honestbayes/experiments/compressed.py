"""Tables and figures of models with compressed parameters by order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import clone

from honestbayes.experiments.experiment import ExperimentRun, ResultFigure, ResultTable, Settings
from honestbayes.metrics import log_score
from honestbayes.models.interactions.model import find_groups
from honestbayes.plots.drawing import GREY, look, subplots, tidy
from honestbayes.types import AnyArray, FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# --------------------------------------------------------------------------------------------------
# One run: sizes, times, chains and predictions by order
# --------------------------------------------------------------------------------------------------


Prior = Literal["cauchy", "gaussian"]
PRIORS: tuple[Prior, ...] = ("cauchy", "gaussian")
LAGS = 41
WAYS = (True, False)
"""Compressed, and not."""


def chain(sweeps: int, seed: int) -> dict[str, Any]:
    """Return one chain of so many sweeps, of which three in eight are left out as in the thesis."""
    n_warmup = sweeps * 3 // 8
    return {
        "n_chains": 1,
        "thin": 1,
        "n_doublings": 0,
        "n_warmup": n_warmup,
        "n_draws": sweeps - n_warmup,
        "random_state": seed,
    }


def model_settings(
    seed: int, orders: Sequence[int], sweeps: int, *, compress: bool, **more: Any
) -> list[Settings]:
    """Return the settings of models of each order, with both priors."""
    return [
        {"part": "model", "seed": seed, "order": order, "prior": prior, "compress": compress,
         "sweeps": sweeps, **more}
        for order in orders
        for prior in PRIORS
    ]  # fmt: skip


def measure(
    model: Any,
    training: tuple[AnyArray, AnyArray],
    test: tuple[AnyArray, AnyArray],
    watched: Sequence[int] = (),
) -> dict[str, Any]:
    """Fit a model, predict test cases, and measure both.

    Parameters
    ----------
    model : InteractionClassifier or SequenceClassifier
        Not fitted; it is fitted in place.
    training, test : tuple of ndarray
        Features and classes.
    watched : sequence of int
        Orders whose widths have their autocorrelation kept.

    Returns
    -------
    dict
        ``groups`` and ``patterns``: parameters of each class with and without compression;
        processor time; ``ess_per_second``: the median over the widths of independent draws per
        second of `fit`; ``autocorrelation``: of each watched log width by lag, in sweeps.
    """
    X, y = training
    _compile(model, X, y)
    begin = time.process_time()
    model.fit(X, y)
    fitted = time.process_time()
    proba = model.predict_proba(test[0])
    predicted = time.process_time()
    log_sigma = model.draws_["log_sigma"]
    actual = np.searchsorted(model.classes_, test[1])
    results = {
        "groups": model.n_groups_,
        "patterns": int(model.n_patterns_),
        "fit_seconds": fitted - begin,
        "predict_seconds": predicted - fitted,
        "ess_per_second": float(np.median(_ess(log_sigma[..., 1:]))) / (fitted - begin),
        "error": float(np.mean(proba.argmax(axis=1) != actual)),
        "log_score": _score(test[1], proba, model.classes_),
    }
    if watched:
        results["autocorrelation"] = np.round(_autocorrelation(log_sigma[0][:, list(watched)]), 3)
    return results


def _compile(model: Any, X: AnyArray, y: AnyArray) -> None:
    """Run a short chain, so that compiling is not timed."""
    small = clone(model).set_params(order=1, n_warmup=0, n_draws=4)
    few = np.concatenate([np.flatnonzero(y == label)[:4] for label in np.unique(y)])
    small.fit(X[few], y[few]).predict_proba(X[:4])


def _score(y: AnyArray, proba: FloatArray, classes: AnyArray) -> float:
    if classes.size == 2:
        return float(log_score(y == classes[1], proba[:, 1]))
    return float(log_score(y, proba, classes=classes))


def _ess(values: FloatArray) -> FloatArray:
    from arviz_stats.base import array_stats

    return np.array([float(array_stats.ess(values[..., j])) for j in range(values.shape[2])])


def _autocorrelation(values: FloatArray) -> FloatArray:
    """Return the autocorrelation of each column at each lag, shape (columns, lags)."""
    away = values - values.mean(axis=0)
    lags = range(min(LAGS, values.shape[0] - 1))
    products = [(away[lag:] * away[: away.shape[0] - lag]).mean(axis=0) for lag in lags]
    return np.asarray(np.array(products).T / (away**2).mean(axis=0)[:, None])


def sizes(codes: AnyArray, orders: Sequence[int], *, suffixes: bool) -> dict[str, Any]:
    """Return numbers of parameters of each class by order, compressed (groups) and not (patterns).

    Parameters
    ----------
    codes : ndarray of int of shape (n, p)
        Cases, or sequences.
    orders : sequence of int
        Which.
    suffixes : bool
        Whether patterns are the last states of sequences.
    """
    counts = []
    for order in orders:
        cells = codes[:, codes.shape[1] - order :] if suffixes else codes
        counts.append(find_groups(cells, order, suffixes=suffixes)[1].counts)
    return {
        "orders": list(orders),
        "groups": [int(count.shape[0]) for count in counts],
        "patterns": [int(count.sum()) for count in counts],
    }


LEVEL_WITHIN = 0.01
"""Numbers that differ by less are level: on the logarithmic axes of the figures, which span two
decades or more, 1% is less than a four-hundredth of the height, and less than the line is wide."""


def level_from(orders: Sequence[int], groups: Sequence[int]) -> int:
    """Return the first order from which on the numbers of groups are level with the last one."""
    last = groups[-1]
    differ = [abs(number - last) > LEVEL_WITHIN * last for number in groups]
    return int(orders[len(differ) - differ[::-1].index(True) if any(differ) else 0])


def medians(models: Sequence[ExperimentRun], prior: Prior) -> list[float]:
    """Return the medians that were kept with one prior; of several orders, of the highest."""
    kept = [m for m in models if m.settings["prior"] == prior and "medians" in m.results]
    values: list[float] = max(kept, key=lambda m: int(m.settings["order"])).results["medians"]
    return values


def of_part(done: Sequence[ExperimentRun], part: str) -> list[ExperimentRun]:
    """Return the runs of one part of an experiment."""
    return [run for run in done if run.settings["part"] == part]


def of(models: Sequence[ExperimentRun], name: str, **settings: Any) -> FloatArray:
    """Return one figure of each model with these settings."""
    chosen = (m for m in models if all(m.settings[key] == word for key, word in settings.items()))
    return np.array([model.results[name] for model in chosen])


def mean(models: Sequence[ExperimentRun], name: str, **settings: Any) -> float:
    """Return the average of one figure over the models with these settings."""
    return float(np.mean(of(models, name, **settings)))


def complete(models: Sequence[ExperimentRun]) -> list[ExperimentRun]:
    """Return the models of the seeds that ran with and without compression.

    Averages over them are of the same data for each kind of model.
    """
    seeds = {m.settings["seed"] for m in models if not m.settings["compress"]}
    return [m for m in models if m.settings["seed"] in seeds]


def both_ways(models: Sequence[ExperimentRun]) -> dict[str, Any]:
    """Return the settings of the models of the highest order that ran with and without compression.

    Seeds are those that ran both ways, so that the same data are compared.
    """
    single = [m.settings for m in models if not m.settings["compress"]]
    order = max(settings["order"] for settings in single)
    seed = next(settings["seed"] for settings in single if settings["order"] == order)
    return {"order": order, "seed": seed}


def mean_autocorrelation(
    models: Sequence[ExperimentRun], prior: Prior, *, compress: bool
) -> FloatArray:
    """Return the average autocorrelation of the watched widths at the highest order, by lag."""
    settings = {"prior": prior, "compress": compress, **both_ways(models)}
    return np.asarray(of(models, "autocorrelation", **settings)[0].mean(axis=0))


def best(models: Sequence[ExperimentRun], prior: Prior) -> tuple[int, float]:
    """Return the order with the best log score of compressed models, over all data, and its score.

    Orders that ran on fewer data sets than others are left out.
    """
    settings = {"prior": prior, "compress": True}
    orders = dict.fromkeys(m.settings["order"] for m in models if m.settings["compress"])
    results = {order: of(models, "log_score", order=order, **settings) for order in orders}
    most = max(values.size for values in results.values())
    scores = {order: float(v.mean()) for order, v in results.items() if v.size == most}
    order = min(scores, key=scores.__getitem__)
    return order, scores[order]


def named(prior: str) -> str:
    """Return the name of a prior."""
    return {"cauchy": "Cauchy", "gaussian": "normal"}[prior]


KINDS = {
    (prior, compress): look(2 * index + (not compress))
    for index, prior in enumerate(PRIORS)
    for compress in (True, False)
}
"""How the lines of the four kinds of models are drawn."""


def table(models: Sequence[ExperimentRun]) -> ResultTable:
    """Return averages over data sets by order, prior and compression."""
    rows = []
    for prior, compress in KINDS:
        orders = _orders(models, prior, compress=compress)
        for order in dict.fromkeys(orders):
            settings = {"prior": prior, "compress": compress, "order": order}
            rows.append(
                {
                    "prior": named(prior),
                    "compressed": "yes" if compress else "no",
                    "order": order,
                    "repetitions": orders.count(order),
                    "parameters": mean(models, "groups", **settings),
                    "seconds to fit": mean(models, "fit_seconds", **settings),
                    "seconds to predict": mean(models, "predict_seconds", **settings),
                    "draws of widths per second": mean(models, "ess_per_second", **settings),
                    "error rate": mean(models, "error", **settings),
                    "log score": mean(models, "log_score", **settings),
                }
            )
    return ResultTable("models", "Averages of models by prior, compression and order", rows)


def _orders(models: Sequence[ExperimentRun], prior: str, *, compress: bool) -> list[int]:
    """Return the orders of models of one kind, as often as there are models."""
    kind = (prior, compress)
    return sorted(
        m.settings["order"] for m in models if (m.settings["prior"], m.settings["compress"]) == kind
    )


def sizes_table(results: dict[str, Any]) -> ResultTable:
    """Return numbers of parameters by order."""
    rows = [
        {"order": order, "compressed": groups, "not compressed": patterns,
         "ratio": groups / patterns}
        for order, groups, patterns in zip(*results.values(), strict=True)
    ]  # fmt: skip
    return ResultTable("sizes", "Parameters of each class by order", rows)


def shared_figures(
    models: Sequence[ExperimentRun], results: dict[str, Any], figures: tuple[str, str, str]
) -> tuple[ResultFigure, ...]:
    """Return the figures that hidden Markov data, text and Cauchy data have in common.

    Parameters
    ----------
    models : sequence of ExperimentRun
        The models.
    results : dict
        Numbers of parameters by order, from `sizes`.
    figures : tuple of str
        Numbers of the thesis's figures of sizes and times, of autocorrelations and of predictions.
    """
    order = both_ways(models)["order"]
    n_seeds = len({m.settings["seed"] for m in models})
    return (
        ResultFigure(
            "sizes",
            f"Figure {figures[0]}: parameters of each class with and without compression by order, "
            "their ratio, and processor time to fit and to predict.",
            lambda: draw_sizes(models, results),
        ),
        ResultFigure(
            "autocorrelation",
            f"Figure {figures[1]}: autocorrelation of log widths of the highest orders in "
            f"models of order {order}: thin lines of each, and their average.",
            lambda: draw_autocorrelation(models),
        ),
        ResultFigure(
            "predictions",
            f"Figure {figures[2]}: error rate and log score of test cases by order"
            + (f"; averages over {n_seeds} data sets." if n_seeds > 1 else "."),
            lambda: draw_predictions(models),
        ),
    )


def draw_sizes(models: Sequence[ExperimentRun], results: dict[str, Any]) -> Figure:
    """Draw parameters, their ratio and times by order."""
    figure, axes = subplots(2, 2, figsize=(10, 6.6))
    orders = np.array(results["orders"])
    groups, patterns = np.array(results["groups"]), np.array(results["patterns"])
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


def draw_autocorrelation(models: Sequence[ExperimentRun]) -> Figure:
    """Draw autocorrelations of widths with and without compression, a panel for each prior."""
    figure, axes = subplots(1, 2, figsize=(9, 3.6), sharey=True)
    settings = both_ways(models)
    for axis, prior in zip(axes, PRIORS, strict=True):
        for compress in (True, False):
            style = KINDS[prior, compress]
            label = "compressed" if compress else "not compressed"
            single = of(models, "autocorrelation", prior=prior, compress=compress, **settings)[0]
            average = mean_autocorrelation(models, prior, compress=compress)
            axis.plot(single.T, color=style.color, linewidth=0.6, alpha=0.5)
            axis.plot(average, color=style.color, linestyle=style.linestyle, label=label)
        axis.axhline(0, color=GREY, linewidth=0.8, zorder=0)
        axis.set(xlabel="lag (sweeps)", title=f"{named(prior)} coefficients")
        axis.legend(frameon=False, fontsize=8)
        tidy(axis)
    axes[0].set(ylabel="autocorrelation of log widths")
    return figure


def draw_predictions(models: Sequence[ExperimentRun]) -> Figure:
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


def draw_medians(models: Sequence[ExperimentRun], near: float) -> Figure:
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


def _lines(axis: Any, models: Sequence[ExperimentRun], name: str) -> None:
    """Draw one figure by order, a line for each kind of model."""
    for (prior, compress), style in KINDS.items():
        settings = {"prior": prior, "compress": compress}
        orders = sorted(set(_orders(models, prior, compress=compress)))
        if orders:
            values = [mean(models, name, order=order, **settings) for order in orders]
            label = f"{named(prior)}, {'compressed' if compress else 'not compressed'}"
            axis.plot(orders, values, **style._asdict(), markersize=4, label=label)


# --------------------------------------------------------------------------------------------------
# Conclusions: growth, predictions, chains and medians
# --------------------------------------------------------------------------------------------------


KIND = ("order", "prior", "seed")
"""By which models with and without compression are paired."""


def of_growth(results: dict[str, Any], at: int = 20) -> str:
    """Return sentences on the numbers of parameters: compressed ones level off, others do not."""
    index, last = results["orders"].index(at), results["orders"][-1]
    groups, patterns = results["groups"], results["patterns"]
    more = (patterns[-1] - patterns[-2]) / (last - results["orders"][-2])
    level = level_from(results["orders"], groups)
    ratios = [groups[j] / patterns[j] for j in (index, -1)]
    parts = (
        f"there are {groups[index]:,} compressed parameters at order {at} and {groups[-1]:,} at "
        f"order {last}; without compression {patterns[index]:,} and {patterns[-1]:,}, and "
        f"{more:,.0f} more with each further order. The ratio is {ratios[0]:.3f} and "
        f"{ratios[1]:.3f}."
    )
    if level == last:
        return parts
    return (
        f"{parts} From order {level} on the number of compressed parameters is level (within "
        f"{LEVEL_WITHIN:.0%}), as the thesis says that it must be, while that of the original ones "
        "grows for ever."
    )


def of_predictions(models: Sequence[ExperimentRun]) -> str:
    """Return sentences on predictions: the best order with each prior, the lowest and highest."""
    parts = []
    for prior in PRIORS:
        settings = {"prior": prior, "compress": True}
        order, score = best(models, prior)
        orders = [m.settings["order"] for m in models if m.settings["compress"]]
        some = dict.fromkeys((min(orders), order, max(orders)))
        errors = ", ".join(
            f"{mean(models, 'error', order=o, **settings):.3f} at order {o}" for o in some
        )
        last = mean(models, "log_score", order=max(orders), **settings)
        highest = f", and {last:.3f} at order {max(orders)}" if order < max(orders) else ""
        parts.append(
            f"With {named(prior)} coefficients the best log score is {score:.3f} at order {order}"
            f"{highest}; error rates are {errors}."
        )
    return " ".join(parts)


def of_both_ways(models: Sequence[ExperimentRun]) -> str:
    """Return how far predictions with and without compression are apart."""
    gaps = [
        abs(m.results["log_score"]
            - mean(models, "log_score", **{name: m.settings[name] for name in KIND}, compress=True))
        for m in models
        if not m.settings["compress"]
    ]  # fmt: skip
    return (
        f"Log scores with and without compression are {np.mean(gaps):.4f} apart on average, "
        f"{max(gaps):.4f} at most."
    )


def of_sampling(models: Sequence[ExperimentRun]) -> str:
    """Return sentences on time and chains with and without compression, at the highest order."""
    settings = both_ways(models)
    sweeps = models[0].settings["sweeps"]
    parts = []
    for prior in PRIORS:
        seconds, draws = (
            [mean(models, name, prior=prior, compress=compress, **settings) for compress in WAYS]
            for name in ("fit_seconds", "ess_per_second")
        )
        lags = [mean_autocorrelation(models, prior, compress=compress) for compress in WAYS]
        lag = min(10, lags[0].size - 1)
        parts.append(
            f"with {named(prior)} coefficients fitting takes {seconds[0]:.1f} seconds instead of "
            f"{seconds[1]:.1f}, the widths have {draws[0] / draws[1]:.1f} times as many "
            f"independent draws per second, and the autocorrelation of those watched is "
            f"{lags[0][lag]:.2f} instead of {lags[1][lag]:.2f} at {lag} sweeps"
        )
    return (
        f"Chains have {sweeps:,} sweeps (in the thesis 2,000). At order {settings['order']}, "
        f"{'; '.join(parts)}. Ours draw coefficients together where they can, which those of the "
        "thesis did not, so that its times and autocorrelations are comparable in direction only."
    )


def of_medians(models: Sequence[ExperimentRun]) -> str:
    """Return how medians of the same parameters differ under both priors."""
    cauchy, normal = (np.array(medians(models, prior)) for prior in PRIORS)
    largest = [float(np.abs(values).max()) for values in (cauchy, normal)]
    small = [float(np.mean(np.abs(values) < 0.1)) for values in (cauchy, normal)]
    large = int(np.sum(np.abs(cauchy) > 2 * largest[1]))
    parts = (
        f"the largest of {cauchy.size:,} posterior medians is {largest[0]:,.1f} with Cauchy and "
        f"{largest[1]:,.1f} with normal coefficients, in absolute value; {large} of the Cauchy "
        f"ones are more than twice the largest normal one. {small[0]:.0%} of the Cauchy medians "
        f"and {small[1]:.0%} of the normal ones are within 0.1 of 0."
    )
    if max(largest) > 100:
        parts += (
            " If the training cases can be separated without error, only the prior bounds the "
            "coefficients, and that of the widths has a long tail."
        )
    return parts
