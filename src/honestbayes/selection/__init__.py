"""Univariate feature selection and its record."""

from __future__ import annotations

from honestbayes.selection.correlation import parse_always_keep, select, squared_correlation
from honestbayes.selection.counts import Screening, screen
from honestbayes.selection.record import DiscardedGroup, Selection

__all__ = [
    "DiscardedGroup",
    "Screening",
    "Selection",
    "parse_always_keep",
    "screen",
    "select",
    "squared_correlation",
]
