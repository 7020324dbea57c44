from .estimator import SelectiveLogistic

__all__ = ["SelectiveLogistic"]
