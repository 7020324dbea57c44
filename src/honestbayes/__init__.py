"""honestbayes: probabilities that stay honest after feature selection."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from honestbayes.models.bernoulli_nb import SelectiveBernoulliNB
from honestbayes.screening import Screening, screen
from honestbayes.selection import Selection

try:
    __version__ = version("honestbayes")
except PackageNotFoundError:  # imported from a source tree that was not installed
    __version__ = "0+unknown"

__all__ = ["Screening", "Selection", "SelectiveBernoulliNB", "__version__", "screen"]
