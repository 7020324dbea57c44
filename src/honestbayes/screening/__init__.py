"""Additive statistics of every feature and class, in one pass over a table of any kind."""

from __future__ import annotations

from honestbayes.screening.counting import screen
from honestbayes.screening.counts import Screening

__all__ = ["Screening", "screen"]
