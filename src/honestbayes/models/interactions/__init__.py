"""Categorical features or states of sequences with interactions of any order."""

from __future__ import annotations

from honestbayes.models.interactions.estimator import InteractionClassifier
from honestbayes.models.interactions.explain import Interactions
from honestbayes.models.interactions.fit import find_groups
from honestbayes.models.interactions.regressor import InteractionRegressor
from honestbayes.models.interactions.sequence import SequenceClassifier, windows

__all__ = [
    "InteractionClassifier",
    "InteractionRegressor",
    "Interactions",
    "SequenceClassifier",
    "find_groups",
    "windows",
]
