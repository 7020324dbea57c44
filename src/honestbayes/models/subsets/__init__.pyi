from .chains import SubsetDraws, run_subsets, warn_of_problems
from .estimator import AveragedNB
from .fields import NoFunction
from .priors import log_prior_of_subsets
from .problem import SHARE, TWO_STEP, UNIFORM
from .scores import Score, SubsetScore
from .settings import subset_settings

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
