"""What the user of the categorical model chose, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from honestbayes.likelihood.quadrature import AlphaPrior
from honestbayes.models.shared.parameters import (
    Correction,
    SelectionSettings,
    criterion_of,
    positive_pair,
    prior_and_correction,
    selection_rule,
    tolerance_of,
)
from honestbayes.selection.criteria import Criterion
from honestbayes.types import AnyArray, BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoricalSettings(SelectionSettings):
    """Validated choices of the user; without a criterion features are ranked by association."""

    feature_prior: Literal["learned", "uniform"]
    correction: Correction
    alpha_prior: AlphaPrior
    tolerance: float
    criterion: Criterion | None = None


def categorical_settings(
    params: Mapping[str, Any], always_keep: BoolArray, classes: AnyArray | None = None
) -> CategoricalSettings:
    """Turn the constructor's parameters into settings, or say what is wrong with them."""
    n_features, threshold = selection_rule(params, int(np.sum(~always_keep)))
    prior, correction = prior_and_correction(params, "uniform")
    return CategoricalSettings(
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        feature_prior=prior,
        correction=correction,
        alpha_prior=AlphaPrior(*positive_pair(params, "alpha_prior")),
        tolerance=tolerance_of(params),
        criterion=criterion_of(params, "categorical", ("correlation",), classes),
    )
