from .counts import LevelCounts, count_levels
from .estimator import DiscreteNB
from .fields import (
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
