"""honestbayes: probabilities that stay honest after feature selection."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from honestbayes.loading import load
from honestbayes.models.bernoulli_nb import SelectiveBernoulliNB
from honestbayes.models.categorical_nb import SelectiveCategoricalNB
from honestbayes.models.factor_classifier import SelectiveFactorClassifier
from honestbayes.models.factor_regressor import SelectiveFactorRegressor
from honestbayes.models.gaussian_nb import SelectiveGaussianNB
from honestbayes.models.mixed_nb import SelectiveMixedNB
from honestbayes.models.mixture import SelectiveMixture
from honestbayes.screening import Screening, screen
from honestbayes.selection import Selection
from honestbayes.storage import ModelFileError

try:
    __version__ = version("honestbayes")
except PackageNotFoundError:  # imported from a source tree that was not installed
    __version__ = "0+unknown"

__all__ = [
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
    "load",
    "screen",
]
