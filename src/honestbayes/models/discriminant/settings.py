"""What the user of the discriminant chose, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from honestbayes.models.real.settings import GaussianSettings
from honestbayes.models.shared.numeric import NumericSettings, numeric_choices
from honestbayes.models.shared.parameters import is_number
from honestbayes.types import BoolArray

MeansPrior = Literal["learned", "flat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscriminantSettings(NumericSettings):
    """Validated choices of the user; without a shrinkage it is Ledoit and Wolf's."""

    feature_prior: MeansPrior
    shrinkage: float | None

    def gaussian(self) -> GaussianSettings:
        """Return the settings of the naive Bayes model whose class means are taken over."""
        return GaussianSettings(
            n_features=self.n_features,
            threshold=self.threshold,
            always_keep=self.always_keep,
            feature_prior="learned",
            correction="counts",
        )


def discriminant_settings(
    params: Mapping[str, Any], always_keep: BoolArray
) -> DiscriminantSettings:
    """Turn the constructor's parameters into settings, or say what is wrong with them."""
    prior, shrinkage = params["feature_prior"], params["shrinkage"]
    if prior not in ("learned", "flat"):
        msg = f"feature_prior={prior!r} is not one of 'learned', 'flat'."
        raise ValueError(msg)
    automatic = isinstance(shrinkage, str) and shrinkage == "auto"
    if not automatic and not (is_number(shrinkage) and 0 <= shrinkage <= 1):
        msg = f"shrinkage={shrinkage!r} is neither 'auto' nor a number between 0 and 1."
        raise ValueError(msg)
    return DiscriminantSettings(
        **numeric_choices(params, always_keep),
        feature_prior=prior,
        shrinkage=None if automatic else float(shrinkage),
    )
