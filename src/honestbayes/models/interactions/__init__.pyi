from .estimator import InteractionClassifier
from .explain import Interactions
from .fit import find_groups
from .regressor import InteractionRegressor
from .sequence import SequenceClassifier, windows

__all__ = [
    "InteractionClassifier",
    "InteractionRegressor",
    "Interactions",
    "SequenceClassifier",
    "find_groups",
    "windows",
]
