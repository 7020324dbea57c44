"""Univariate selection and its record."""

from __future__ import annotations

from honestbayes.selection.correlation import parse_always_keep, select, squared_correlation
from honestbayes.selection.record import DiscardedGroup, Selection

__all__ = ["DiscardedGroup", "Selection", "parse_always_keep", "select", "squared_correlation"]
