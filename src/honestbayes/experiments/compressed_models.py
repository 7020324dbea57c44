"""Models with compressed parameters, measured: sizes, times, chains and predictions by order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from honestbayes.experiments.experiment import Run, Settings
from honestbayes.metrics import log_score
from honestbayes.models.interactions.model import find_groups
from honestbayes.types import AnyArray, FloatArray

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
        "n_samples": sweeps - n_warmup,
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
    found = {
        "groups": model.n_groups_,
        "patterns": int(model.n_patterns_),
        "fit_seconds": fitted - begin,
        "predict_seconds": predicted - fitted,
        "ess_per_second": float(np.median(_ess(log_sigma[..., 1:]))) / (fitted - begin),
        "error": float(np.mean(proba.argmax(axis=1) != actual)),
        "log_score": _score(test[1], proba, model.classes_),
    }
    if watched:
        found["autocorrelation"] = np.round(_autocorrelation(log_sigma[0][:, list(watched)]), 3)
    return found


def _compile(model: Any, X: AnyArray, y: AnyArray) -> None:
    """Run a short chain, so that compiling is not timed."""
    small = clone(model).set_params(order=1, n_warmup=0, n_samples=4)
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
    found = [(away[lag:] * away[: away.shape[0] - lag]).mean(axis=0) for lag in lags]
    return np.asarray(np.array(found).T / (away**2).mean(axis=0)[:, None])


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


def level_from(found: dict[str, Any]) -> int:
    """Return the first order from which on the number of groups stays what it is at the end."""
    last = found["groups"][-1]
    return int(found["orders"][found["groups"].index(last)])


def medians(models: Sequence[Run], prior: Prior) -> list[float]:
    """Return the medians that were kept with one prior; of several orders, of the highest."""
    kept = [m for m in models if m.settings["prior"] == prior and "medians" in m.found]
    found: list[float] = max(kept, key=lambda m: int(m.settings["order"])).found["medians"]
    return found


def of_part(done: Sequence[Run], part: str) -> list[Run]:
    """Return the runs of one part of an experiment."""
    return [run for run in done if run.settings["part"] == part]


def of(models: Sequence[Run], name: str, **words: Any) -> FloatArray:
    """Return one figure of each model with these settings."""
    chosen = (m for m in models if all(m.settings[key] == word for key, word in words.items()))
    return np.array([model.found[name] for model in chosen])


def mean(models: Sequence[Run], name: str, **words: Any) -> float:
    """Return the average of one figure over the models with these settings."""
    return float(np.mean(of(models, name, **words)))


def complete(models: Sequence[Run]) -> list[Run]:
    """Return the models of the seeds that ran with and without compression.

    Averages over them are of the same data for each kind of model.
    """
    seeds = {m.settings["seed"] for m in models if not m.settings["compress"]}
    return [m for m in models if m.settings["seed"] in seeds]


def both_ways(models: Sequence[Run]) -> dict[str, Any]:
    """Return the settings of the models of the highest order that ran with and without compression.

    Seeds are those that ran both ways, so that the same data are compared.
    """
    single = [m.settings for m in models if not m.settings["compress"]]
    order = max(settings["order"] for settings in single)
    seed = next(settings["seed"] for settings in single if settings["order"] == order)
    return {"order": order, "seed": seed}


def mean_autocorrelation(models: Sequence[Run], prior: Prior, *, compress: bool) -> FloatArray:
    """Return the average autocorrelation of the watched widths at the highest order, by lag."""
    words = {"prior": prior, "compress": compress, **both_ways(models)}
    return np.asarray(of(models, "autocorrelation", **words)[0].mean(axis=0))


def best(models: Sequence[Run], prior: Prior) -> tuple[int, float]:
    """Return the order with the best log score of compressed models, over all data, and its score.

    Orders that ran on fewer data sets than others are left out.
    """
    words = {"prior": prior, "compress": True}
    orders = dict.fromkeys(m.settings["order"] for m in models if m.settings["compress"])
    found = {order: of(models, "log_score", order=order, **words) for order in orders}
    most = max(values.size for values in found.values())
    scores = {order: float(v.mean()) for order, v in found.items() if v.size == most}
    order = min(scores, key=scores.__getitem__)
    return order, scores[order]


def named(prior: str) -> str:
    """Return what a prior is called."""
    return {"cauchy": "Cauchy", "gaussian": "normal"}[prior]
