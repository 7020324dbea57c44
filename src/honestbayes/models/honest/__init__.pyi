from .estimator import HonestClassifier
from .explain import MadeOf

__all__ = ["HonestClassifier", "MadeOf"]
