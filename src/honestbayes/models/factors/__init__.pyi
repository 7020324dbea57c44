from .classifier import SelectiveFactorClassifier
from .explain import Factors
from .regressor import SelectiveFactorRegressor

__all__ = ["Factors", "SelectiveFactorClassifier", "SelectiveFactorRegressor"]
