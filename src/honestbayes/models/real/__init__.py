"""Real-valued features, two classes or more."""

from __future__ import annotations

from honestbayes.models.real.estimator import SelectiveGaussianNB
from honestbayes.models.real.explain import correlation_with

__all__ = ["SelectiveGaussianNB", "correlation_with"]
