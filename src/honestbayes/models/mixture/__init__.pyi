from .estimator import SelectiveMixture
from .explain import Components
from .naive_bayes import sample_naive_bayes

__all__ = ["Components", "SelectiveMixture", "sample_naive_bayes"]
