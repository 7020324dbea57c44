from .estimator import SelectiveMixture
from .explain import Components

__all__ = ["Components", "SelectiveMixture"]
