"""Categorical features, two classes or more."""

from __future__ import annotations

from honestbayes.models.categorical.estimator import SelectiveCategoricalNB

__all__ = ["SelectiveCategoricalNB"]
