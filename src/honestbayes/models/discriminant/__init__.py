"""Real-valued features that move together: Gaussian classes with one shrunken covariance."""

from __future__ import annotations

from honestbayes.models.discriminant.estimator import SelectiveDiscriminant

__all__ = ["SelectiveDiscriminant"]
