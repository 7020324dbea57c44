"""What the user of the model of real-valued features chose, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from honestbayes.models.shared.parameters import (
    Correction,
    SelectionSettings,
    criterion_of,
    prior_and_correction,
    selection_rule,
    true_or_false,
)
from honestbayes.selection.criteria import Criterion
from honestbayes.types import AnyArray, BoolArray

RatioPriorName = Literal["learned", "heavy-tailed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianSettings(SelectionSettings):
    """Validated choices of the user; without a criterion features are ranked by r squared."""

    feature_prior: RatioPriorName
    correction: Correction
    criterion: Criterion | None = None
    normal_scores: bool = False


def gaussian_settings(
    params: Mapping[str, Any], always_keep: BoolArray, classes: AnyArray | None = None
) -> GaussianSettings:
    """Turn the constructor's parameters into settings, or say what is wrong with them."""
    n_features, threshold = selection_rule(params, int(np.sum(~always_keep)))
    prior, correction = prior_and_correction(params, "heavy-tailed")
    return GaussianSettings(
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        feature_prior=prior,
        correction=correction,
        criterion=criterion_of(params, "real", ("correlation", "f", "t"), classes),
        normal_scores=true_or_false(params, "normal_scores"),
    )
