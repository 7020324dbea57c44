"""Ways to fit the mixture of Li's thesis: as it should be, and as it went there."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from honestbayes.datasets.mixture import MixtureData
from honestbayes.experiments.claims import judged
from honestbayes.likelihood.quadrature import AlphaPrior
from honestbayes.models.binary import SelectiveBernoulliNB
from honestbayes.models.binary.rows import TrainingRows
from honestbayes.models.mixture.fit import log_joint
from honestbayes.models.mixture.part import MixturePart, MixtureTraining
from honestbayes.models.mixture.settings import MixtureChoices, MixtureSettings
from honestbayes.sampling.chains import Schedule
from honestbayes.sampling.runs import Sampling
from honestbayes.sources import as_source, encode_classes

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
    data: MixtureData, k: int, name: str, seed: int, schedule: Schedule, n_chains: int
) -> dict[str, Any]:
    """Fit in one way; chains start from the classes, from random labels and from equal ones.

    With labels that stay equal to the classes and any alpha the model is naive Bayes, which needs
    no chains: with 1,000 features theirs stay near alpha = 0.2 when they come there.
    """
    way = WAYS[name]
    if way.stuck and way.n_alpha is None:
        return {"k": k, "way": name} | _naive_bayes(data, k)
    began = time.process_time()
    part = sampled(data, k, way, seed, schedule, n_chains)
    seconds = time.process_time() - began
    joint = log_joint(part.draws, data.X_test[:, list(part.selection.columns)], None)
    same = np.mean(part.draws.pooled("z") == data.y_train, axis=1)
    return {
        "k": k,
        "way": name,
        "seconds": seconds,
        "gamma": float(part.selection.gamma),
        "agree": bool(part.draws.diagnostics(["log_alpha"]).rhat[0] < AGREED),
        "alpha": float(np.exp(np.median(part.draws["log_alpha"]))),
        "labels_as_classes": float(np.maximum(same, 1 - same).mean()),
    } | judged(data.y_test, expit(joint[:, 1] - joint[:, 0]))


def _naive_bayes(data: MixtureData, k: int) -> dict[str, Any]:
    began = time.process_time()
    model = SelectiveBernoulliNB(
        n_features_to_select=k,
        correction="selection",
        feature_prior="uniform",
        recalibrate=None,
        random_state=0,
    ).fit(data.X_train, data.y_train)
    seconds = time.process_time() - began
    posterior = model.posterior_
    median = np.interp(0.5, np.cumsum(posterior.weights), np.log(posterior.alpha))
    return {
        "seconds": seconds,
        "gamma": float(model.selection_.gamma),
        "agree": None,
        "alpha": float(np.exp(median)),
        "labels_as_classes": 1.0,
    } | judged(data.y_test, model.predict_proba(data.X_test)[:, 1])


def sampled(
    data: MixtureData, k: int, way: Way, seed: int, schedule: Schedule, n_chains: int
) -> MixturePart:
    """Run the chains of the mixture, five sweeps for each draw as in the thesis."""
    X, y = as_source(data.X_train), encode_classes(data.y_train)
    choices = MixtureChoices(
        n_features=k,
        threshold=None,
        always_keep=np.zeros(data.X_train.shape[1], dtype=bool),
        model=MixtureSettings(
            correct=way.correct,
            pseudocounts=(1.0, 1.0),
            alpha_prior=PRIOR,
            response_prior=PRIOR,
            theta_range=(0.0, 1.0),
            n_alpha=way.n_alpha,
        ),
        schedule=schedule,
        n_chains=n_chains,
        thin=5,
    )
    sampling = Sampling(schedule, n_chains, np.random.SeedSequence(seed), 1)
    rows = TrainingRows.screened(X, y, "auto", None)
    return MixtureTraining(choices, rows, sampling, labels_are_fixed=way.stuck).fit()
