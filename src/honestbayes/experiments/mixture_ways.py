"""Ways to fit the mixture of Li's thesis: as it should be, and as it went there."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from honestbayes.datasets.simulation import MixtureData
from honestbayes.experiments.claims import judged
from honestbayes.likelihood.quadrature import AlphaPrior
from honestbayes.models.binary.estimator import SelectiveBernoulliNB
from honestbayes.models.mixture.estimator import SelectiveMixture
from honestbayes.models.mixture.naive_bayes import sample_naive_bayes
from honestbayes.sampling.draws import Draws

PRIOR = AlphaPrior(0.5, 5.0)
N_VALUES = 10
"""Values that alphas may take in the thesis: quantiles of the prior."""

AGREED = 1.1
"""R-hat of log(alpha) below which chains from different starts count as agreeing."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to fit the model.

    Attributes
    ----------
    correct : bool
        Whether the selection is conditioned on.
    stuck : bool
        Whether labels stay equal to the classes.
    n_alpha : int or None
        How many values alphas may take; None: any.
    """

    correct: bool
    stuck: bool = False
    n_alpha: int | None = None


WAYS = {
    "uncorrected": Way(correct=False),
    "corrected": Way(correct=True),
    "corrected, ten alphas": Way(correct=True, n_alpha=N_VALUES),
    "corrected, stuck labels": Way(correct=True, stuck=True),
    "corrected, both": Way(correct=True, stuck=True, n_alpha=N_VALUES),
}
TITLES = {
    "uncorrected": "uncorrected",
    "corrected": "corrected",
    "corrected, ten alphas": "ten alphas",
    "corrected, stuck labels": "stuck labels",
    "corrected, both": "stuck labels and ten alphas",
}
AS_THESIS = "corrected, both"
"""Alphas as in the thesis, and labels as it presumes that they were."""


def fit(
    data: MixtureData, k: int, name: str, seed: int, n_chains: int, n_warmup: int, n_samples: int
) -> dict[str, Any]:
    """Fit in one way, with five sweeps for each draw as in the thesis.

    Chains start from the classes, from random labels and from equal ones. With labels that stay
    equal to the classes the model is naive Bayes, which for any alpha needs no chains: with 1,000
    features theirs stay near alpha = 0.2 when they come there.
    """
    way = WAYS[name]
    chains: dict[str, Any] = {
        "n_chains": n_chains,
        "n_warmup": n_warmup,
        "n_samples": n_samples,
        "thin": 5,
    }
    fitted = _mixture if not way.stuck else _naive_bayes if way.n_alpha is None else _stuck
    return {"k": k, "way": name} | fitted(data, k, way, seed, chains)


def _mixture(
    data: MixtureData, k: int, way: Way, seed: int, chains: dict[str, Any]
) -> dict[str, Any]:
    began = time.process_time()
    model = SelectiveMixture(
        n_features_to_select=k,
        correction="selection" if way.correct else None,
        n_alpha=way.n_alpha,
        random_state=seed,
        n_jobs=1,
        **chains,
    ).fit(data.X_train, data.y_train)
    seconds = time.process_time() - began
    proba = model.predict_proba(data.X_test)[:, 1]
    same = np.mean(model.draws_.pooled("z") == data.y_train, axis=1)
    return {
        "seconds": seconds,
        "gamma": float(model.selection_.gamma),
        "labels_as_classes": float(np.maximum(same, 1 - same).mean()),
        **_of_chains(model.draws_),
    } | judged(data.y_test, proba)


def _stuck(
    data: MixtureData, k: int, way: Way, seed: int, chains: dict[str, Any]
) -> dict[str, Any]:
    began = time.process_time()
    part = sample_naive_bayes(
        data.X_train,
        data.y_train,
        n_features_to_select=k,
        n_alpha=way.n_alpha,
        n_jobs=1,
        seed=seed,
        **chains,
    )
    seconds = time.process_time() - began
    kept = data.X_test[:, list(part.selection.columns)]
    joint = part.log_prior + part.log_likelihood((kept, None))
    return {
        "seconds": seconds,
        "gamma": float(part.selection.gamma),
        "labels_as_classes": 1.0,
        **_of_chains(part.draws),
    } | judged(data.y_test, expit(joint[:, 1] - joint[:, 0]))


def _of_chains(draws: Draws) -> dict[str, Any]:
    return {
        "alpha": float(np.exp(np.median(draws["log_alpha"]))),
        "agree": bool(draws.diagnostics(["log_alpha"]).rhat[0] < AGREED),
    }


def _naive_bayes(
    data: MixtureData, k: int, way: Way, seed: int, chains: dict[str, Any]
) -> dict[str, Any]:
    del way, chains
    began = time.process_time()
    model = SelectiveBernoulliNB(
        n_features_to_select=k,
        correction="selection",
        feature_prior="uniform",
        recalibrate=None,
        random_state=seed,
    ).fit(data.X_train, data.y_train)
    seconds = time.process_time() - began
    return {
        "seconds": seconds,
        "gamma": float(model.selection_.gamma),
        "labels_as_classes": 1.0,
        "alpha": float(np.exp(model.posterior_.quantile(np.array([0.5]))[0])),
        "agree": None,
    } | judged(data.y_test, model.predict_proba(data.X_test)[:, 1])
