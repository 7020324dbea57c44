"""Real-valued features that move together: latent factors, for classes or a response."""

from __future__ import annotations

from honestbayes.models.factors.classifier import SelectiveFactorClassifier
from honestbayes.models.factors.explain import Factors
from honestbayes.models.factors.regressor import SelectiveFactorRegressor

__all__ = ["Factors", "SelectiveFactorClassifier", "SelectiveFactorRegressor"]
