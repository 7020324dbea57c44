"""What the user of the binary model chose, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from honestbayes.likelihood.quadrature import AlphaPrior
from honestbayes.models.shared.parameters import (
    Correction,
    SelectionSettings,
    positive_pair,
    prior_and_correction,
    selection_rule,
    theta_interval,
    tolerance_of,
)
from honestbayes.types import BoolArray

Quadrature = Literal["adaptive", "paper"]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What the user chose for the common-alpha model."""

    alpha_prior: AlphaPrior
    theta_interval: tuple[float, float]
    quadrature: Quadrature
    tolerance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BernoulliSettings(SelectionSettings):
    """Validated choices of the user."""

    feature_prior: Literal["learned", "uniform"]
    correction: Correction
    model: ModelSettings
    class_pseudocounts: tuple[float, float]


def bernoulli_settings(
    params: Mapping[str, Any], always_keep: BoolArray, *, only_event: bool = False
) -> BernoulliSettings:
    """Turn the constructor's parameters into settings, or say what is wrong with them.

    ``only_event`` is for features that were selected elsewhere: nothing else is known of the
    others.
    """
    quadrature = params["quadrature"]
    if quadrature not in get_args(Quadrature):
        msg = f"quadrature={quadrature!r} is not one of 'adaptive', 'paper'."
        raise ValueError(msg)
    published = only_event or quadrature == "paper"
    auto: Correction = "selection" if published else "counts"
    prior, correction = prior_and_correction(params, "uniform", auto=auto, published=published)
    if prior == "learned" and quadrature == "paper":
        msg = "quadrature='paper' goes with feature_prior='uniform'."
        raise ValueError(msg)
    if only_event and (correction == "counts" or prior == "learned"):
        msg = (
            "fit_selected knows only that the other features were discarded: use "
            "feature_prior='uniform' and correction='selection' or None."
        )
        raise ValueError(msg)
    n_features, threshold = selection_rule(params, int(np.sum(~always_keep)))
    return BernoulliSettings(
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        feature_prior=prior,
        correction=correction,
        model=ModelSettings(
            AlphaPrior(*positive_pair(params, "alpha_prior")),
            theta_interval(params),
            quadrature,
            tolerance_of(params),
        ),
        class_pseudocounts=positive_pair(params, "class_pseudocounts"),
    )
