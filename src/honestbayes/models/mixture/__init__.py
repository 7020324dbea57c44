"""Two-component mixture of binary features."""

from __future__ import annotations

from honestbayes.models.mixture.estimator import SelectiveMixture
from honestbayes.models.mixture.explain import Components

__all__ = ["Components", "SelectiveMixture"]
