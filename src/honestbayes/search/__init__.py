"""Selectors that fit models."""

from __future__ import annotations

from honestbayes.search.boosted import BoostedProbabilitySelector
from honestbayes.search.forward import ForwardProbabilitySelector
from honestbayes.search.selector import ProbabilitySelector

__all__ = [
    "SELECTORS",
    "BoostedProbabilitySelector",
    "ForwardProbabilitySelector",
    "ProbabilitySelector",
]

SELECTORS: dict[str, type[ProbabilitySelector]] = {
    selector._kind: selector
    for selector in (BoostedProbabilitySelector, ForwardProbabilitySelector)
}
"""By what files call them."""
