"""Categorical features, two classes or more."""

from __future__ import annotations

from honestbayes.models.categorical.estimator import SelectiveCategoricalNB
from honestbayes.models.categorical.explain import CategoricalFeatureTable, level_word

__all__ = ["CategoricalFeatureTable", "SelectiveCategoricalNB", "level_word"]
