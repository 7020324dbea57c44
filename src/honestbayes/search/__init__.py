"""Selectors of features by the probabilities of a model."""

from __future__ import annotations

from honestbayes.search.boosted import BoostedProbabilitySelector
from honestbayes.search.forward import ForwardProbabilitySelector
from honestbayes.search.sampled import SubsetSampler
from honestbayes.search.selector import ProbabilitySelector, TableSelector

__all__ = [
    "SELECTORS",
    "BoostedProbabilitySelector",
    "ForwardProbabilitySelector",
    "ProbabilitySelector",
    "SubsetSampler",
    "TableSelector",
]

SELECTORS: dict[str, type[TableSelector]] = {
    selector._kind: selector
    for selector in (BoostedProbabilitySelector, ForwardProbabilitySelector, SubsetSampler)
}
"""By their names in files."""
