from .average.estimator import HonestClassifier
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
)
from .models.logistic.estimator import SelectiveLogistic
from .models.mixed.estimator import SelectiveMixedNB
from .models.mixture.estimator import SelectiveMixture
from .models.mixture.naive_bayes import sample_naive_bayes
from .models.networks.estimator import AveragedNetworkClassifier
from .models.subsets.estimator import AveragedNB
from .report.notebook import make_report
from .search import BoostedProbabilitySelector, ForwardProbabilitySelector
from .search.sampled import SubsetSampler

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
    "load",
    "make_report",
    "sample_naive_bayes",
]
