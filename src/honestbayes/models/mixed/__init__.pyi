from .estimator import SelectiveMixedNB

__all__ = ["SelectiveMixedNB"]
