"""Section 4 of Li, Zhang and Neal: simulated data, few features kept, with and without correction.

Every repetition draws 200 training and 2,000 test cases of 10,000 features (alpha = 300), and fits
the model with 1, 10, 100, 1,000 and all features, corrected and not, with the quadrature of the
paper (30 quantiles of the prior of alpha) and with the adaptive one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from honestbayes.base.alpha_posterior import AlphaPosterior
from honestbayes.datasets import SimulatedData, simulate_naive_bayes
from honestbayes.experiments.experiment import (
    NOBODY,
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
    of,
)
from honestbayes.metrics import calibration_table, summarise
from honestbayes.models.binary.estimator import SelectiveBernoulliNB
from honestbayes.plots.drawing import GREY, look, subplots, tidy
from honestbayes.types import AnyArray, FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHA = 300.0
GRID = np.linspace(1.0, 8.0, 141)
"""Values of log(alpha) at which posterior densities are kept, for figure 6."""

Rule = Literal["paper", "adaptive"]
METHODS = ("corrected", "uncorrected")
RULES: tuple[Rule, ...] = ("paper", "adaptive")

GAMMA = {1: 0.36, 10: 0.27, 100: 0.21, 1000: 0.13}
"""Smallest correlation of a kept feature, by number of features (section 4)."""

SECONDS = {1: (12, 11), 10: (19, 19), 100: (107, 107), 1000: (1057, 1057), 10000: (10639, 10639)}
"""Table 2: corrected and uncorrected."""

TABLE_1: dict[tuple[int, str], Decimals] = {
    (1, "corrected"): [NOBODY] * 4
    + [(1346, 0.446, 0.461), NOBODY, (654, 0.611, 0.581)]
    + [NOBODY] * 3,
    (1, "uncorrected"): [NOBODY] * 3
    + [(1346, 0.384, 0.461)]
    + [NOBODY] * 3
    + [(654, 0.736, 0.581)]
    + [NOBODY] * 2,
    (10, "corrected"): [
        *[NOBODY, (3, 0.174, 0.0), (126, 0.270, 0.294), (467, 0.360, 0.420)],
        *[(566, 0.462, 0.461), (461, 0.554, 0.566), (276, 0.643, 0.616)],
        *[(97, 0.733, 0.742), (4, 0.825, 0.750), NOBODY],
    ],
    (10, "uncorrected"): [
        *[(237, 0.046, 0.312), (349, 0.149, 0.444), (68, 0.249, 0.500), (300, 0.360, 0.443)],
        *[(189, 0.443, 0.487), (48, 0.546, 0.417), (238, 0.650, 0.588)],
        *[(180, 0.737, 0.567), (192, 0.864, 0.609), (199, 0.943, 0.668)],
    ],
    (100, "corrected"): [
        *[(155, 0.067, 0.077), (247, 0.151, 0.162), (220, 0.247, 0.286), (225, 0.352, 0.356)],
        *[(237, 0.450, 0.494), (227, 0.545, 0.586), (202, 0.650, 0.728)],
        *[(214, 0.749, 0.785), (182, 0.847, 0.857), (91, 0.935, 0.923)],
    ],
    (100, "uncorrected"): [
        *[(717, 0.017, 0.199), (133, 0.150, 0.391), (70, 0.251, 0.429), (68, 0.351, 0.515)],
        *[(58, 0.451, 0.500), (78, 0.552, 0.603), (77, 0.654, 0.532)],
        *[(80, 0.746, 0.662), (98, 0.852, 0.633), (621, 0.979, 0.818)],
    ],
    (1000, "corrected"): [
        *[(774, 0.018, 0.027), (97, 0.143, 0.165), (63, 0.243, 0.302), (48, 0.346, 0.438)],
        *[(45, 0.446, 0.600), (44, 0.547, 0.614), (53, 0.647, 0.698)],
        *[(81, 0.755, 0.815), (124, 0.854, 0.863), (671, 0.977, 0.982)],
    ],
    (1000, "uncorrected"): [
        *[(954, 0.004, 0.066), (28, 0.149, 0.500), (13, 0.248, 0.846), (17, 0.349, 0.412)],
        *[(14, 0.449, 0.786), (16, 0.546, 0.375), (16, 0.667, 0.812)],
        *[(22, 0.751, 0.636), (25, 0.865, 0.560), (895, 0.995, 0.946)],
    ],
    (10000, "uncorrected"): [
        *[(964, 0.004, 0.006), (21, 0.145, 0.238), (8, 0.246, 0.375), (10, 0.342, 0.300)],
        *[(12, 0.436, 0.500), (7, 0.544, 1.0), (20, 0.656, 1.0)],
        *[(13, 0.743, 0.846), (22, 0.851, 0.818), (923, 0.994, 0.998)],
    ],
}
"""Table 1: cases, mean probability and share of class 1 by the first decimal."""


def runs(size: Size) -> list[Settings]:
    """Return a run for each simulated data set."""
    p, n_test = (400, 300) if size == "toy" else (10_000, 2000)
    numbers = [k for k in (1, 10, 100, 1000, 10_000) if k <= p / 2 or k == p]
    numbers = numbers if p in numbers else [*numbers, p]
    repetitions = {"toy": 2, "quick": 10, "full": 50}[size]
    return [
        {"seed": seed, "n_features": p, "n_test": n_test, "numbers": numbers}
        for seed in range(repetitions)
    ]


def run(seed: int, n_features: int, n_test: int, numbers: list[int]) -> dict[str, Any]:
    """Simulate one data set and fit all models to it."""
    data = simulate_naive_bayes(200, n_test, n_features, alpha=ALPHA, random_state=seed)
    fits = [
        fit(data, k, method, rule, shown=seed == 0)
        for k in numbers
        for method in (METHODS if k < n_features else METHODS[1:])
        for rule in RULES
    ]
    results: dict[str, Any] = {"fits": fits}
    if seed == 0:
        results["correlations"] = correlations(data)
    return results


def fit(data: SimulatedData, k: int, method: str, rule: Rule, *, shown: bool) -> dict[str, Any]:
    """Fit one model, and measure its expected and actual errors on the test cases."""
    model = SelectiveBernoulliNB(
        n_features_to_select=k,
        correction="selection" if method == "corrected" else None,
        quadrature=rule,
        feature_prior="uniform",
        recalibrate=None,
        random_state=0,
    )
    began = time.perf_counter()
    model.fit(data.X_train, data.y_train)
    proba = model.predict_proba(data.X_test)
    seconds = time.perf_counter() - began
    scores = summarise(data.y_test, proba, log_proba=model.predict_log_proba(data.X_test))
    results = {
        "k": k,
        "method": method,
        "rule": rule,
        "gamma": float(model.selection_.gamma),
        "expected_error": float(scores.expected_error),
        "actual_error": float(scores.actual_error),
        "log_score": float(scores.log_score),
        "squared_error": float(scores.squared_error),
        "seconds": seconds,
    }
    if not shown:
        return results
    table = calibration_table(data.y_test, proba[:, 1])
    return results | {
        "count": table.n,
        "predicted": np.nan_to_num(table.predicted),
        "actual": np.nan_to_num(table.actual),
        **_posterior(model.posterior_, rule),
    }


def _posterior(posterior: AlphaPosterior, rule: Rule) -> dict[str, AnyArray]:
    """Return the density of log(alpha): a curve, or where the paper's rule computes it."""
    if rule == "adaptive":
        return {"density": np.round(posterior.density(GRID), 4)}
    # 30 quantiles of the prior: likelihoods that sum to 30, times the prior density of log(alpha).
    log_alpha, density = np.log(posterior.alpha), np.exp(posterior.log_density)
    return {"log_alpha": np.round(log_alpha, 4), "density": np.round(density, 4)}


def correlations(data: SimulatedData) -> dict[str, FloatArray]:
    """Return absolute correlations with the class in both sets; every tenth beyond the 1,000th."""
    both = [
        np.abs(_correlation(X, y))
        for X, y in ((data.X_train, data.y_train), (data.X_test, data.y_test))
    ]
    order = np.argsort(-both[0])
    shown = np.concatenate([order[:1000], order[1000::10]])
    return {"train": np.round(both[0][shown], 3), "test": np.round(both[1][shown], 3)}


def _correlation(X: AnyArray, y: AnyArray) -> FloatArray:
    away, mean = y - y.mean(), X.mean(axis=0)
    scale = np.sqrt(mean * (1 - mean) * np.mean(away**2))
    results: FloatArray = (away @ X / y.size) / np.where(scale > 0, scale, 1)
    return results


def summarize(done: Sequence[ExperimentRun]) -> Findings:
    """Compare the repetitions with the paper, and draw its figures."""
    fits = [one for run in done for one in run.results["fits"]]
    p = done[0].settings["n_features"]
    shown = done[0].results["fits"]
    return Findings(
        conclusion=conclusion(fits, p),
        checks=tuple(_checks(fits)) if p == 10_000 else (),
        tables=(_errors(fits), _calibration(done[0].results["fits"]), _times(fits)),
        figures=(
            ResultFigure(
                "correlations",
                "Figure 3: absolute correlation of features with the class in the training and in "
                "the test set (the 1,000 strongest, and every tenth of the others). Lines: the "
                "1st, 10th, 100th and 1,000th in the training set.",
                lambda: draw_correlations(done[0].results["correlations"]),
            ),
            ResultFigure(
                "errors",
                "Figures 4 and 5: actual and expected error rates, log score and squared error by "
                "number of features kept; average over data sets, and bars of two standard "
                "deviations of single data sets.",
                lambda: draw_errors(fits),
            ),
            ResultFigure(
                "alpha",
                "Figure 6: posterior densities of log(alpha), first data set. Lines: computed by "
                "the adaptive rule. Dots: the paper's approximation at the 0.5/30, 1.5/30, ..., "
                "29.5/30 quantiles of the prior, those between 1 and 8. Vertical line: the truth.",
                lambda: draw_alpha(shown, p),
            ),
        ),
    )


def _checks(fits: Sequence[dict[str, Any]]) -> Iterator[PublishedFigure]:
    for k, gamma in GAMMA.items():
        ours = of(fits, "gamma", k=k, method="corrected", rule="paper")
        yield PublishedFigure(what=f"gamma, {k:,} kept", published=gamma, ours=ours, digits=2)
    for (k, method), rows in TABLE_1.items():
        settings = {"k": k, "method": method, "rule": "paper"}
        for name, error in errors_of(rows).items():
            yield PublishedFigure(
                what=f"{name} error, {k:,} kept, {method}",
                published=error,
                ours=of(fits, f"{name}_error", **settings),
            )


def _errors(fits: Sequence[dict[str, Any]]) -> ResultTable:
    keys = dict.fromkeys((f["k"], f["method"], f["rule"]) for f in fits)
    names = ("expected_error", "actual_error", "log_score", "squared_error")
    rows = []
    for k, method, rule in keys:
        settings = {"k": k, "method": method, "rule": rule}
        averages = {
            name.replace("_", " "): float(of(fits, name, **settings).mean()) for name in names
        }
        rows.append({"features kept": k, "method": method, "quadrature": rule} | averages)
    return ResultTable("errors", "Averages over data sets, by quadrature over alpha", rows)


def _calibration(fits: Sequence[dict[str, Any]]) -> ResultTable:
    rows = [
        row
        for f in fits
        for row in decimal_rows(
            f, **{"features kept": f["k"], "method": f["method"], "quadrature": f["rule"]}
        )
    ]
    return ResultTable(
        "calibration", "As table 1: the first data set, by quadrature over alpha", rows
    )


def _times(fits: Sequence[dict[str, Any]]) -> ResultTable:
    rows = []
    for k in dict.fromkeys(f["k"] for f in fits):
        ours = [np.median(of(fits, "seconds", k=k, method=m, rule="paper")) for m in METHODS[1:]]
        corrected = of(fits, "seconds", k=k, method="corrected", rule="paper")
        published = SECONDS.get(k)
        rows.append(
            {
                "features kept": k,
                "corrected": float(np.median(corrected)) if corrected.size else None,
                "uncorrected": float(ours[0]),
                "published, corrected": published[0] if published else None,
                "published, uncorrected": published[1] if published else None,
            }
        )
    return ResultTable(
        "times", "As table 2: seconds to fit and to predict, the paper's quadrature", rows
    )


def conclusion(fits: Sequence[dict[str, Any]], p: int) -> str:
    """Return the conclusion."""
    k = 100 if p == 10_000 else 10
    settings: dict[str, Any] = {"k": k, "rule": "adaptive"}
    predicted, true = (
        [float(of(fits, f"{name}_error", method=m, **settings).mean()) for m in METHODS]
        for name in ("expected", "actual")
    )
    gaps = {
        (k, m): float(np.mean(of(fits, "actual_error", k=k, method=m, rule="adaptive")))
        - float(np.mean(of(fits, "expected_error", k=k, method=m, rule="adaptive")))
        for k in dict.fromkeys(f["k"] for f in fits)
        if k < p
        for m in METHODS
    }
    least = min(gap for (_, m), gap in gaps.items() if m == "uncorrected")
    most = max(abs(gap) for (_, m), gap in gaps.items() if m == "corrected")
    every = {"k": p, "method": "uncorrected"}
    rules = [float(of(fits, "expected_error", rule=rule, **every).mean()) for rule in RULES]
    real = float(of(fits, "actual_error", rule="adaptive", **every).mean())
    return (
        f"With {k:,} of {p:,} features kept, the uncorrected model expects to be wrong in "
        f"{predicted[1]:.1%} of the cases and is wrong in {true[1]:.1%}; the corrected one expects "
        f"{predicted[0]:.1%} and is wrong in {true[0]:.1%}. Over all numbers of features the "
        f"uncorrected model expects {100 * least:.1f} points too little at least, and the "
        f"corrected one is off by {100 * most:.1f} points at most.\n\n"
        "What the paper's quadrature costs: 30 quantiles of the prior are too few where the "
        f"posterior of alpha is narrow. With all {p:,} features it expects {rules[0]:.1%} errors, "
        f"the adaptive rule {rules[1]:.1%}, and {real:.1%} are observed."
    )


def draw_correlations(results: dict[str, list[float]]) -> Figure:
    """Draw figure 3."""
    figure, axis = subplots(figsize=(5.6, 4.4))
    train, test = np.array(results["train"]), np.array(results["test"])
    axis.plot(train, test, ".", markersize=2.5, color=look(0).color)
    for k in (1, 10, 100, 1000):
        if k <= train.size:
            axis.axvline(train[k - 1], color=GREY, linewidth=0.8)
    axis.set(xlabel="correlation in the training set", ylabel="correlation in the test set")
    tidy(axis)
    return figure


def draw_errors(fits: Sequence[dict[str, Any]]) -> Figure:
    """Draw figures 4 and 5."""
    figure, axes = subplots(1, 3, figsize=(11, 3.6))
    panels = {
        "error rate": ("actual_error", "expected_error"),
        "log score": ("log_score",),
        "squared error": ("squared_error",),
    }
    numbers = list(dict.fromkeys(f["k"] for f in fits))
    for axis, (label, names) in zip(axes, panels.items(), strict=True):
        for index, (method, name) in enumerate((m, n) for m in METHODS for n in names):
            style = look(index if len(names) == 2 else 2 * index)
            values = [of(fits, name, k=k, method=method, rule="adaptive") for k in numbers]
            values = [v if v.size else of(fits, name, k=k, method=METHODS[1], rule="adaptive")
                      for k, v in zip(numbers, values, strict=True)]  # fmt: skip
            what = {"actual_error": ", actual", "expected_error": ", expected"}.get(name, "")
            axis.errorbar(
                np.array(numbers) * 1.04 ** (index - 1.5),
                [v.mean() for v in values],
                [2 * v.std(ddof=1) for v in values],
                **style._asdict(),
                label=method + what,
                markersize=4,
                elinewidth=0.8,
            )
        axis.set(xlabel="features kept", ylabel=label, xscale="log", ylim=(0, None))
        axis.legend(frameon=False, fontsize=8)
        tidy(axis)
    return figure


def draw_alpha(fits: Sequence[dict[str, Any]], p: int) -> Figure:
    """Draw figure 6."""
    numbers = [k for k in dict.fromkeys(f["k"] for f in fits) if k < p]
    figure, axes = subplots(1, len(numbers), figsize=(11, 3), sharey=True, squeeze=False)
    curves = {(f["k"], f["method"], f["rule"]): f for f in fits}
    for axis, k in zip(axes[0], numbers, strict=True):
        lines = {
            "all features": (p, "uncorrected"),
            "corrected": (k, "corrected"),
            "uncorrected": (k, "uncorrected"),
        }
        for index, (label, which) in enumerate(lines.items()):
            style, points = look(index), curves[*which, "paper"]
            density = curves[*which, "adaptive"]["density"]
            axis.plot(GRID, density, color=style.color, linestyle=style.linestyle, label=label)
            axis.plot(points["log_alpha"], points["density"], ".", color=style.color, markersize=4)
        axis.set_xlim(GRID[0], GRID[-1])
        axis.axvline(np.log(ALPHA), color=GREY, linewidth=0.8)
        axis.set(xlabel="log(alpha)", title=f"{k:,} kept")
        tidy(axis)
    axes[0, 0].set(ylabel="posterior density")
    axes[0, 0].legend(frameon=False, fontsize=8)
    return figure


EXPERIMENT = Experiment(
    name="naive-bayes",
    title="Calibrated probabilities after selection, on simulated data",
    source="Li, Zhang and Neal (2008), section 4: figures 3 to 6, tables 1 and 2",
    question=(
        "200 training cases with 10,000 binary features, of which the 1, 10, 100 or 1,000 that "
        "correlate best with the class are kept. Does the model know how often it is wrong?"
    ),
    runs=runs,
    run=run,
    summarize=summarize,
    version=2,
)
