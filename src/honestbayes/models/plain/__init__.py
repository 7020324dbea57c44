"""Plain naive Bayes for discrete features, and bins of real-valued ones."""

from __future__ import annotations

from honestbayes.models.plain.counts import LevelCounts, count_levels
from honestbayes.models.plain.estimator import DiscreteNB
from honestbayes.models.plain.fields import (
    KindsInTable,
    KnowsTable,
    Shares,
    Smoothing,
    WholeParameter,
)

__all__ = [
    "DiscreteNB",
    "KindsInTable",
    "KnowsTable",
    "LevelCounts",
    "Shares",
    "Smoothing",
    "WholeParameter",
    "count_levels",
]
