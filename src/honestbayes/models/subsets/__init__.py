"""Subsets of features, drawn from their posterior distribution."""

from __future__ import annotations

from honestbayes.models.subsets.chains import SubsetDraws, run_subsets, warn_of_problems
from honestbayes.models.subsets.estimator import AveragedNB
from honestbayes.models.subsets.fields import NoFunction
from honestbayes.models.subsets.priors import log_prior_of_subsets
from honestbayes.models.subsets.problem import SHARE, TWO_STEP, UNIFORM
from honestbayes.models.subsets.scores import Score, SubsetScore
from honestbayes.models.subsets.settings import subset_settings

__all__ = [
    "SHARE",
    "TWO_STEP",
    "UNIFORM",
    "AveragedNB",
    "NoFunction",
    "Score",
    "SubsetDraws",
    "SubsetScore",
    "log_prior_of_subsets",
    "run_subsets",
    "subset_settings",
    "warn_of_problems",
]
