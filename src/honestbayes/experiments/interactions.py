"""Sections 3.4.3, 3.4.5, 3.5.2 and 3.5.3 of the thesis: what compression saves, and predictions.

    python -m honestbayes.experiments.interactions FOLDER [--only text] [--quick]

Writes a JSON file and a picture of each experiment into FOLDER. The text is the beginning of the
Book of Genesis; the thesis used another one, of the same length.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from honestbayes.datasets.interactions import (
    load_genesis,
    simulate_cauchy_model,
    simulate_hidden_markov,
    vowels_and_consonants,
)
from honestbayes.metrics import log_score
from honestbayes.models.interactions import (
    InteractionClassifier,
    SequenceClassifier,
    find_groups,
    windows,
)
from honestbayes.plots.drawing import import_pyplot, look
from honestbayes.types import AnyArray, FloatArray

ORDERS = {"hmm": (1, 2, 3, 5, 7, 10, 15, 20), "text": (1, 2, 3, 5, 7, 10, 15, 20)}
CAUCHY_ORDERS = (1, 2, 3, 4, 5, 7)
LAGS = 41


@dataclass(frozen=True, slots=True)
class Result:
    """One model: its size, its times, its chains and its predictions.

    Attributes
    ----------
    prior : str
        "cauchy" or "gaussian".
    order, compressed : int, bool
        The model.
    n_groups, n_patterns : int, float
        Parameters of each class with and without compression.
    fit_seconds, predict_seconds : float
        Processor time.
    ess_per_second : float
        Median over the widths sigma of independent draws per second of sampling.
    autocorrelation : list of float
        Mean over the widths of the autocorrelation at each lag, in sweeps.
    error, log_score : float
        On test cases.
    """

    prior: str
    order: int
    compressed: bool
    n_groups: int
    n_patterns: float
    fit_seconds: float
    predict_seconds: float
    ess_per_second: float
    autocorrelation: list[float]
    error: float
    log_score: float


def run(
    model: Any, X: AnyArray, y: AnyArray, X_test: AnyArray, y_test: AnyArray
) -> tuple[Any, Result]:
    """Fit a model, predict test cases, and measure both."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    fitted = time.process_time()
    proba = model.predict_proba(X_test)
    predicted = time.process_time()
    log_sigma = model.draws_["log_sigma"][..., 1:]
    found = np.searchsorted(model.classes_, y_test)
    return model, Result(
        prior=model.prior,
        order=model.order_,
        compressed=model.compress,
        n_groups=model.n_groups_,
        n_patterns=model.n_patterns_,
        fit_seconds=fitted - begin,
        predict_seconds=predicted - fitted,
        ess_per_second=float(np.median(_ess(log_sigma))) / (fitted - begin),
        autocorrelation=_autocorrelation(log_sigma).tolist(),
        error=float(np.mean(proba.argmax(axis=1) != found)),
        log_score=_score(y_test, proba, model.classes_),
    )


def _score(y: AnyArray, proba: FloatArray, classes: AnyArray) -> float:
    if classes.size == 2:
        return float(log_score(y == classes[1], proba[:, 1]))
    return float(log_score(y, proba, classes=classes))


def _ess(values: FloatArray) -> FloatArray:
    from arviz_stats.base import array_stats

    return np.array([float(array_stats.ess(values[..., j])) for j in range(values.shape[2])])


def _autocorrelation(values: FloatArray) -> FloatArray:
    """Return the mean autocorrelation of several quantities at each lag."""
    away = values - values.mean(axis=1, keepdims=True)
    variance = (away**2).mean(axis=1)
    lags = min(LAGS, values.shape[1] - 1)
    found = [
        ((away[:, lag:] * away[:, : away.shape[1] - lag]).mean(axis=1) / variance).mean()
        for lag in range(lags)
    ]
    return np.array(found)


def _settings(quick: bool) -> dict[str, Any]:
    """Return one chain as in section 3.4.4; a tenth of it where it is to be quick."""
    sweeps = {"n_warmup": 75, "n_samples": 125} if quick else {"n_warmup": 750, "n_samples": 1250}
    return {"n_chains": 1, "thin": 1, "n_doublings": 0, "random_state": 0, **sweeps}


def of_sequences(name: str, *, quick: bool) -> Iterator[Result]:
    """Yield models of the next state by order: hidden Markov data, or text (3.4.3, 3.4.5)."""
    if name == "hmm":
        data = simulate_hidden_markov(5500, random_state=0)
        X, y, n_train = data[:, :20], data[:, 20], 500
    else:
        X, y = windows(vowels_and_consonants(load_genesis())[:3930], 20)
        n_train = 1000
    for order in ORDERS[name][:4] if quick else ORDERS[name]:
        for prior in ("cauchy", "gaussian"):
            for compress in (True, False):
                model = SequenceClassifier(
                    order=order, prior=prior, compress=compress, **_settings(quick)
                )
                yield run(model, X[:n_train], y[:n_train], X[n_train:], y[n_train:])[1]


def of_cauchy_model(*, quick: bool) -> Iterator[Result]:
    """Yield models of cases drawn from a model with Cauchy coefficients, by order (3.5.3)."""
    X, y = simulate_cauchy_model(5500, random_state=0)
    for order in CAUCHY_ORDERS[:2] if quick else CAUCHY_ORDERS:
        for prior in ("cauchy", "gaussian"):
            for compress in (True, False):
                model = InteractionClassifier(
                    order=order, prior=prior, compress=compress, **_settings(quick)
                )
                # Without compression there is nothing to gain where groups have one pattern each.
                if compress or order in (1, 4, 5):
                    yield run(model, X[:500], y[:500], X[500:], y[500:])[1]


def sizes(*, quick: bool) -> list[dict[str, Any]]:
    """Return numbers of parameters with and without compression, 200 cases (3.5.2)."""
    studies = {
        "levels": [(7, k, 4) for k in (2, 3, 4, 5, 7, 10)],
        "features": [(p, 4, 3) for p in (3, 5, 7, 10, 15, 20)],
        "order": [(7, 3, o) for o in range(1, 8)],
    }
    found = []
    for study, points in studies.items():
        for p, k, order in points[:3] if quick else points:
            cells = np.random.default_rng(0).integers(0, k, (200, p))
            begin = time.process_time()
            _, groups, _ = find_groups(cells, order, suffixes=False)
            found.append(
                {
                    "study": study,
                    "n_features": p,
                    "n_levels": k,
                    "order": order,
                    "n_groups": int(groups.counts.shape[0]),
                    "n_patterns": float(groups.counts.sum()),
                    "seconds": time.process_time() - begin,
                }
            )
    return found


def draw_results(title: str, results: Sequence[Result], path: Path) -> None:
    """Draw numbers of parameters, times, autocorrelations, errors and log scores by order."""
    figure, axes = import_pyplot().subplots(2, 3, figsize=(11, 6.5), layout="constrained")
    kinds = [
        (prior, compressed) for prior in ("cauchy", "gaussian") for compressed in (True, False)
    ]
    styles = {
        (prior, compressed): {
            **look(place)._asdict(),
            "label": f"{prior}, {'compressed' if compressed else 'not compressed'}",
        }
        for place, (prior, compressed) in enumerate(kinds)
    }
    lines = {
        key: [result for result in results if (result.prior, result.compressed) == key]
        for key in styles
    }
    panels = {
        "parameters of each class": "n_groups",
        "seconds to fit": "fit_seconds",
        "draws of widths per second": "ess_per_second",
        "error rate": "error",
        "log score": "log_score",
    }
    for axis, (label, name) in zip(axes.flat, panels.items(), strict=False):
        for key, found in lines.items():
            orders = [result.order for result in found]
            axis.plot(orders, [getattr(result, name) for result in found], **styles[key])
        axis.set(xlabel="order", ylabel=label)
        if name in ("n_groups", "fit_seconds", "ess_per_second"):
            axis.set_yscale("log")
    last = axes.flat[-1]
    for key, found in lines.items():
        if found:
            style = {**styles[key], "marker": None}
            last.plot(found[-1].autocorrelation, **style)
    last.set(xlabel="lag (sweeps)", ylabel="autocorrelation of widths, highest order")
    axes.flat[0].legend(fontsize=8)
    figure.suptitle(title)
    figure.savefig(path, dpi=110)


def draw_sizes(found: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw numbers of parameters by levels, features and order."""
    figure, axes = import_pyplot().subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    names = {"levels": "n_levels", "features": "n_features", "order": "order"}
    for axis, (study, name) in zip(axes.flat, names.items(), strict=True):
        points = [point for point in found if point["study"] == study]
        x = [point[name] for point in points]
        axis.plot(x, [point["n_patterns"] for point in points], "x:", label="not compressed")
        axis.plot(x, [point["n_groups"] for point in points], "o-", label="compressed")
        axis.set(xlabel=study, ylabel="parameters", yscale="log")
    axes.flat[0].legend(fontsize=8)
    figure.savefig(path, dpi=110)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiments."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="where to write")
    parser.add_argument("--only", choices=["hmm", "text", "sizes", "cauchy"], help="one of them")
    parser.add_argument("--quick", action="store_true", help="short chains and few orders")
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    titles = {
        "hmm": "Next state of a hidden Markov model, 500 sequences",
        "text": "Vowels, consonants and others in a text, 1,000 windows",
        "cauchy": "Cases of a model with Cauchy coefficients, 500 cases",
    }
    for name in ("sizes", "hmm", "text", "cauchy"):
        if given.only not in (None, name):
            continue
        if name == "sizes":
            found = sizes(quick=given.quick)
            draw_sizes(found, given.folder / "sizes.png")
        else:
            source = (
                of_cauchy_model(quick=given.quick)
                if name == "cauchy"
                else of_sequences(name, quick=given.quick)
            )
            results = []
            for result in source:
                results.append(result)
                sys.stdout.write(
                    f"{name} {result.prior} order {result.order} "
                    f"{'' if result.compressed else 'not '}compressed: {result.n_groups:,} of "
                    f"{result.n_patterns:,.0f}; {result.fit_seconds:.1f} s, "
                    f"{result.ess_per_second:.1f} draws/s; error {result.error:.3f}, log score "
                    f"{result.log_score:.4f}\n"
                )
                sys.stdout.flush()
            draw_results(titles[name], results, given.folder / f"{name}.png")
            found = [asdict(result) for result in results]
        (given.folder / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
