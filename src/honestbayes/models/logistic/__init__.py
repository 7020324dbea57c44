"""Bayesian logistic regression on the kept features."""

from __future__ import annotations

from honestbayes.models.logistic.estimator import SelectiveLogistic

__all__ = ["SelectiveLogistic"]
