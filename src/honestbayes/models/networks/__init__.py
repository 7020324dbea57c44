"""Bayesian network classifiers, drawn from their posterior distribution."""

from __future__ import annotations

from honestbayes.models.networks.estimator import AveragedNetworkClassifier
from honestbayes.models.networks.explain import Edges

__all__ = ["AveragedNetworkClassifier", "Edges"]
