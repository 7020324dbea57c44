"""honestbayes: probabilities that stay honest after feature selection."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from honestbayes.decisions import (
    decide,
    expected_benefit,
    mailing_benefits,
    profit,
    profit_curve,
)
from honestbayes.loading import load
from honestbayes.models.bernoulli_nb import SelectiveBernoulliNB
from honestbayes.models.categorical_nb import SelectiveCategoricalNB
from honestbayes.models.discrete_nb import DiscreteNB
from honestbayes.models.factor_classifier import SelectiveFactorClassifier
from honestbayes.models.factor_regressor import SelectiveFactorRegressor
from honestbayes.models.gaussian_nb import SelectiveGaussianNB
from honestbayes.models.mixed_nb import SelectiveMixedNB
from honestbayes.models.mixture import SelectiveMixture
from honestbayes.screening import Screening, screen
from honestbayes.search.boosted import BoostedProbabilitySelector
from honestbayes.search.forward import ForwardProbabilitySelector
from honestbayes.selection import Selection
from honestbayes.storage import ModelFileError

try:
    __version__ = version("honestbayes")
except PackageNotFoundError:  # imported from a source tree that was not installed
    __version__ = "0+unknown"

__all__ = [
    "BoostedProbabilitySelector",
    "DiscreteNB",
    "ForwardProbabilitySelector",
    "ModelFileError",
    "Screening",
    "Selection",
    "SelectiveBernoulliNB",
    "SelectiveCategoricalNB",
    "SelectiveFactorClassifier",
    "SelectiveFactorRegressor",
    "SelectiveGaussianNB",
    "SelectiveMixedNB",
    "SelectiveMixture",
    "__version__",
    "decide",
    "expected_benefit",
    "load",
    "mailing_benefits",
    "profit",
    "profit_curve",
    "screen",
]
