"""What the user of the mixture chose, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.likelihood.quadrature import AlphaPrior
from honestbayes.models.shared.parameters import (
    SelectionSettings,
    positive_pair,
    selection_rule,
    theta_interval,
    whole_number,
)
from honestbayes.sampling.chains import Schedule
from honestbayes.types import BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureSettings:
    """Priors, and what is conditioned on.

    Attributes
    ----------
    correct : bool
        Whether the event that features were discarded is conditioned on.
    pseudocounts : tuple of float
        Beta prior of the components' frequencies.
    alpha_prior, response_prior : AlphaPrior
        Of the features' alpha, and of the response's.
    theta_range : tuple of float
        Bounds of theta.
    n_alpha : int or None
        How many prior quantiles alphas may take; None: any value.
    """

    correct: bool
    pseudocounts: tuple[float, float]
    alpha_prior: AlphaPrior
    response_prior: AlphaPrior
    theta_range: tuple[float, float]
    n_alpha: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureChoices(SelectionSettings):
    """Validated choices of the user: selection, priors, chains."""

    model: MixtureSettings
    schedule: Schedule
    n_chains: int
    thin: int


def mixture_settings(params: Mapping[str, Any], always_keep: BoolArray) -> MixtureChoices:
    """Turn the constructor's parameters into settings, or say what is wrong with them."""
    n_features, threshold = selection_rule(params, int(np.sum(~always_keep)))
    if params["correction"] not in ("auto", "selection", None):
        msg = f"correction={params['correction']!r} is not one of 'auto', 'selection', None."
        raise ValueError(msg)
    model = MixtureSettings(
        correct=params["correction"] is not None,
        pseudocounts=positive_pair(params, "class_pseudocounts"),
        alpha_prior=AlphaPrior(*positive_pair(params, "alpha_prior")),
        response_prior=AlphaPrior(*positive_pair(params, "response_prior")),
        theta_range=theta_interval(params),
        n_alpha=None if params["n_alpha"] is None else whole_number(params, "n_alpha", 1),
    )
    return MixtureChoices(
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        model=model,
        schedule=Schedule(
            whole_number(params, "n_warmup", 0), whole_number(params, "n_samples", 1)
        ),
        n_chains=whole_number(params, "n_chains", 1),
        thin=whole_number(params, "thin", 1),
    )
