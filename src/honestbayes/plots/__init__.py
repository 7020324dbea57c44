"""Display classes in scikit-learn's manner; they need matplotlib (``honestbayes[plots]``)."""

from honestbayes.plots.alpha_posterior import AlphaPosteriorDisplay
from honestbayes.plots.feature_path import FeaturePathDisplay, SelectionPathDisplay
from honestbayes.plots.inclusion import InclusionDisplay
from honestbayes.plots.network import NetworkDisplay
from honestbayes.plots.probability_scatter import ProbabilityScatterDisplay
from honestbayes.plots.profit import ProfitDisplay
from honestbayes.plots.reliability import ReliabilityDisplay
from honestbayes.plots.signal import SignalDisplay
from honestbayes.plots.trace import TraceDisplay

__all__ = [
    "AlphaPosteriorDisplay",
    "FeaturePathDisplay",
    "InclusionDisplay",
    "NetworkDisplay",
    "ProbabilityScatterDisplay",
    "ProfitDisplay",
    "ReliabilityDisplay",
    "SelectionPathDisplay",
    "SignalDisplay",
    "TraceDisplay",
]
