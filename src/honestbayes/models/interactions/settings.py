"""What the user of interactions chose, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from honestbayes.models.shared.parameters import (
    SelectionSettings,
    positive_pair,
    selection_rule,
    whole_number,
)
from honestbayes.sampling.chains import Schedule
from honestbayes.types import BoolArray, FloatArray

INTERCEPT_WIDTHS = {"cauchy": 5.0, "gaussian": 10.0}
"""Widths of the prior of the intercept, which are fixed (thesis, section 3.4.4)."""

WHY_COMPLETE = "This model conditions on the features, so training rows must be complete"

NOISE_PRIOR = (1.0, 0.25)
"""Shape and rate of the inverse gamma prior of the variance of noise, in units of the response's
own variance. With a coefficient for every case a response could be met exactly, so the prior must
keep noise away from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Priors and patterns (thesis, equations 3.3 and 3.38).

    Attributes
    ----------
    order : int
        The most cells that a pattern fixes.
    prior : {"cauchy", "gaussian"}
        Of coefficients.
    width_prior : tuple of float
        Shape alpha and mode w of the prior of sigma_1; the mode of sigma_o is w / o (3.38).
    compress : bool
        Whether patterns that the same cases have share a parameter.
    thin : int
        Sweeps for each draw.
    n_width_updates : int
        Updates of each sigma in a sweep.
    noise_prior : tuple of float
        Of a response; (0, 0) for classes.
    spread : float
        Of a response, the sum of squares within different rows.
    """

    order: int
    prior: str
    width_prior: tuple[float, float] = (0.25, 0.1)
    compress: bool = True
    thin: int = 1
    n_width_updates: int = 5
    noise_prior: tuple[float, float] = (0.0, 0.0)
    spread: float = 0.0

    @property
    def is_cauchy(self) -> bool:
        """Whether coefficients are Cauchy, else normal."""
        return self.prior == "cauchy"

    def width_priors(self, order: int) -> FloatArray:
        """Return shape and rate of each sigma; of the intercept's, which is fixed, 0 and itself."""
        shape, mode = self.width_prior
        rows = [(shape, (shape + 1) * mode / o) for o in range(1, order + 1)]
        return np.array([(0.0, INTERCEPT_WIDTHS[self.prior]), *rows])

    def of_response(self, spread: float) -> ModelSettings:
        """Return the settings of a response with noise."""
        return replace(self, noise_prior=NOISE_PRIOR, spread=spread)


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionSettings(SelectionSettings):
    """Validated choices of the user: selection, model, chains."""

    model: ModelSettings
    schedule: Schedule
    n_chains: int
    n_doublings: int
    missing: str


def interaction_settings(params: Mapping[str, Any], always_keep: BoolArray) -> InteractionSettings:
    """Turn the constructor's parameters into settings, or say what is wrong with them."""
    given = {"n_features_to_select": "all", "threshold": None, **params}
    n_features, threshold = selection_rule(given, int(np.sum(~always_keep)))
    if params["prior"] not in INTERCEPT_WIDTHS:
        msg = f"prior={params['prior']!r} is not one of 'cauchy', 'gaussian'."
        raise ValueError(msg)
    missing = params.get("missing", "refuse")
    if missing not in ("refuse", "level"):
        msg = f"missing={missing!r} is not one of 'refuse', 'level'."
        raise ValueError(msg)
    if not isinstance(params["compress"], bool | np.bool_):
        msg = f"compress={params['compress']!r} is not True or False."
        raise ValueError(msg)
    order = params["order"]
    model = ModelSettings(
        order=1 if order == "cv" else whole_number(params, "order", 0),
        prior=params["prior"],
        width_prior=positive_pair(params, "width_prior"),
        compress=bool(params["compress"]),
        thin=whole_number(params, "thin", 1),
    )
    return InteractionSettings(
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        model=model,
        schedule=Schedule(
            whole_number(params, "n_warmup", 0), whole_number(params, "n_samples", 1)
        ),
        n_chains=whole_number(params, "n_chains", 1),
        n_doublings=whole_number(params, "n_doublings", 0),
        missing=missing,
    )
