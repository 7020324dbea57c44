from .estimator import SelectiveCategoricalNB
from .explain import CategoricalFeatureTable, level_word

__all__ = ["CategoricalFeatureTable", "SelectiveCategoricalNB", "level_word"]
