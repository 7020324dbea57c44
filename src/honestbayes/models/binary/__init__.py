"""Binary features, two classes: the model of Li, Zhang and Neal, and its learned prior."""

from __future__ import annotations

from honestbayes.models.binary.estimator import SelectiveBernoulliNB

__all__ = ["SelectiveBernoulliNB"]
