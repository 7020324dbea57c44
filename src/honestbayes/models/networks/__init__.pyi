from .estimator import AveragedNetworkClassifier
from .explain import Edges

__all__ = ["AveragedNetworkClassifier", "Edges"]
