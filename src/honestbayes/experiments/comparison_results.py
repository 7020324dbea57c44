"""Scores of a comparison, sorted by table and method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.experiments.comparison import METHODS
from honestbayes.experiments.experiment import Run
from honestbayes.types import FloatArray


@dataclass(frozen=True, slots=True)
class Results:
    """Scores of all runs, by table and method.

    Attributes
    ----------
    runs : mapping of (table, method) to list of dict
        What each repeat found.
    """

    runs: Mapping[tuple[str, str], list[dict[str, Any]]]

    @classmethod
    def of(cls, done: Sequence[Run]) -> Results:
        """Sort runs by table and method."""
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for run in done:
            found.setdefault((run.settings["table"], run.settings["method"]), []).append(run.found)
        return cls(found)

    @property
    def tables(self) -> list[str]:
        """Names of the tables."""
        return list(dict.fromkeys(table for table, _ in self.runs))

    def methods(self, table: str | None = None) -> list[str]:
        """Names of the methods, ours first; of one table, or of all."""
        there = {m for t, m in self.runs if table in (None, t)}
        return [name for name in METHODS if name in there]

    def of_all(self, name: str, table: str, method: str) -> FloatArray:
        """Return one score of each repeat."""
        return np.array([found[name] for found in self.runs[table, method]])

    def mean(self, name: str, table: str, method: str) -> float:
        """Return the average of a score over repeats."""
        return float(self.of_all(name, table, method).mean())

    def difference(self, table: str, one: str, other: str) -> tuple[float, float]:
        """Return how much worse the log score of one is than of another, and its error.

        Repeats are paired: both had the same folds.
        """
        gaps = self.of_all("log_score", table, one) - self.of_all("log_score", table, other)
        error = float(gaps.std(ddof=1) / np.sqrt(gaps.size)) if gaps.size > 1 else float("nan")
        return float(gaps.mean()), error
