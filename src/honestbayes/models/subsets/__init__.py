"""Subsets of features, drawn from their posterior distribution."""

from __future__ import annotations

from honestbayes.models.subsets.chains import SubsetDraws, warn_of_problems
from honestbayes.models.subsets.estimator import AveragedNB
from honestbayes.models.subsets.fields import NoFunction
from honestbayes.models.subsets.scores import Score
from honestbayes.models.subsets.settings import subset_settings

__all__ = [
    "AveragedNB",
    "NoFunction",
    "Score",
    "SubsetDraws",
    "subset_settings",
    "warn_of_problems",
]
