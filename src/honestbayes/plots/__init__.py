"""Display classes in the style of scikit-learn; they need matplotlib (``honestbayes[plots]``)."""

from honestbayes.plots.calibration import ProbabilityScatterDisplay, ReliabilityDisplay
from honestbayes.plots.feature_path import FeaturePathDisplay, SelectionPathDisplay
from honestbayes.plots.importance import ContributionDisplay, ImportanceDisplay
from honestbayes.plots.posterior import (
    AlphaPosteriorDisplay,
    InclusionDisplay,
    NetworkDisplay,
    SignalDisplay,
    TraceDisplay,
)
from honestbayes.plots.profit import ProfitDisplay

__all__ = [
    "AlphaPosteriorDisplay",
    "ContributionDisplay",
    "FeaturePathDisplay",
    "ImportanceDisplay",
    "InclusionDisplay",
    "NetworkDisplay",
    "ProbabilityScatterDisplay",
    "ProfitDisplay",
    "ReliabilityDisplay",
    "SelectionPathDisplay",
    "SignalDisplay",
    "TraceDisplay",
]
