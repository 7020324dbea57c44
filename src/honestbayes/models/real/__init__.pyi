from .estimator import SelectiveGaussianNB
from .explain import correlation_with

__all__ = ["SelectiveGaussianNB", "correlation_with"]
