from .average.estimator import HonestClassifier
from .data.packed_store import open_store
from .data.packing import pack_store
from .decisions import decide, expected_benefit, mailing_benefits, profit, profit_curve
from .files import ModelFileError
from .loading import load
from .models.binary.estimator import SelectiveBernoulliNB
from .models.categorical.estimator import SelectiveCategoricalNB
from .models.discrete.estimator import DiscreteNB
from .models.discriminant.estimator import SelectiveDiscriminant
from .models.factors.estimator import SelectiveFactorClassifier, SelectiveFactorRegressor
from .models.gaussian.estimator import SelectiveGaussianNB
from .models.interactions.estimator import (
    InteractionClassifier,
    InteractionRegressor,
    SequenceClassifier,
    windows,
)
from .models.logistic.estimator import SelectiveLogistic
from .models.mixed.estimator import SelectiveMixedNB
from .models.mixture.estimator import SelectiveMixture
from .models.networks.estimator import AveragedNetworkClassifier
from .models.subsets.estimator import AveragedNB
from .report.notebook import make_report
from .search import BoostedProbabilitySelector, ForwardProbabilitySelector
from .search.sampled import SubsetSampler
from .selection import Selection
from .selection.counts import Screening, screen

__version__: str

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
    "make_report",
    "open_store",
    "pack_store",
    "profit",
    "profit_curve",
    "screen",
    "windows",
]
