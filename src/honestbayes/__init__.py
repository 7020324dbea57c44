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
from honestbayes.files import ModelFileError
from honestbayes.loading import load
from honestbayes.models.binary import SelectiveBernoulliNB
from honestbayes.models.categorical import SelectiveCategoricalNB
from honestbayes.models.discriminant import SelectiveDiscriminant
from honestbayes.models.factors import SelectiveFactorClassifier, SelectiveFactorRegressor
from honestbayes.models.honest import HonestClassifier
from honestbayes.models.interactions import (
    InteractionClassifier,
    InteractionRegressor,
    SequenceClassifier,
    windows,
)
from honestbayes.models.logistic import SelectiveLogistic
from honestbayes.models.mixed import SelectiveMixedNB
from honestbayes.models.mixture import SelectiveMixture
from honestbayes.models.networks import AveragedNetworkClassifier
from honestbayes.models.plain import DiscreteNB
from honestbayes.models.real import SelectiveGaussianNB
from honestbayes.models.subsets import AveragedNB
from honestbayes.screening import Screening, screen
from honestbayes.search import (
    BoostedProbabilitySelector,
    ForwardProbabilitySelector,
    SubsetSampler,
)
from honestbayes.selection import Selection

try:
    __version__ = version("honestbayes")
except PackageNotFoundError:  # imported from a source tree that was not installed
    __version__ = "0+unknown"

__all__ = [
    "AveragedNB",
    "AveragedNetworkClassifier",
    "BoostedProbabilitySelector",
    "DiscreteNB",
    "ForwardProbabilitySelector",
    "HonestClassifier",
    "InteractionClassifier",
    "InteractionRegressor",
    "ModelFileError",
    "Screening",
    "Selection",
    "SelectiveBernoulliNB",
    "SelectiveCategoricalNB",
    "SelectiveDiscriminant",
    "SelectiveFactorClassifier",
    "SelectiveFactorRegressor",
    "SelectiveGaussianNB",
    "SelectiveLogistic",
    "SelectiveMixedNB",
    "SelectiveMixture",
    "SequenceClassifier",
    "SubsetSampler",
    "__version__",
    "decide",
    "expected_benefit",
    "load",
    "mailing_benefits",
    "profit",
    "profit_curve",
    "screen",
    "windows",
]
