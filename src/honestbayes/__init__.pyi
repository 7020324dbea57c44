from .decisions import (
    decide,
    expected_benefit,
    mailing_benefits,
    profit,
    profit_curve,
)
from .files import ModelFileError
from .loading import load
from .models.binary import SelectiveBernoulliNB
from .models.categorical import SelectiveCategoricalNB
from .models.discriminant import SelectiveDiscriminant
from .models.factors import SelectiveFactorClassifier, SelectiveFactorRegressor
from .models.honest import HonestClassifier
from .models.interactions import (
    InteractionClassifier,
    InteractionRegressor,
    SequenceClassifier,
    windows,
)
from .models.logistic import SelectiveLogistic
from .models.mixed import SelectiveMixedNB
from .models.mixture import SelectiveMixture
from .models.networks import AveragedNetworkClassifier
from .models.plain import DiscreteNB
from .models.real import SelectiveGaussianNB
from .models.subsets import AveragedNB
from .report.notebook import make_report
from .screening import Screening, screen
from .search import (
    BoostedProbabilitySelector,
    ForwardProbabilitySelector,
    SubsetSampler,
)
from .selection import Selection
from .sources.packed_store import open_store
from .sources.packing import pack_store

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
