"""The average of all models that suit a table, weighed and calibrated on held-out cases."""

from __future__ import annotations

from honestbayes.models.honest.estimator import HonestClassifier
from honestbayes.models.honest.explain import MadeOf

__all__ = ["HonestClassifier", "MadeOf"]
