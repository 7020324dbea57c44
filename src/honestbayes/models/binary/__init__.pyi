from .estimator import SelectiveBernoulliNB

__all__ = ["SelectiveBernoulliNB"]
