from .estimator import SelectiveDiscriminant

__all__ = ["SelectiveDiscriminant"]
