"""What was tried: every candidate on the same held-out cases, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from honestbayes.files.fields import Array, Floats, Texts
from honestbayes.files.records import Check
from honestbayes.tabular import Tabular
from honestbayes.types import FloatArray

FREQUENCIES = "class frequencies"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ModelTable(Tabular):
    """The candidates of an average, in the order in which they were tried.

    Attributes
    ----------
    name : tuple of str
        Candidates; the last is the class frequencies alone.
    n_features : ndarray of shape (M,)
        Number of features; NaN where the candidate sees to that itself.
    weight : ndarray of shape (M,)
        In the pool. They need not sum to 1: what the class frequencies have is what is left.
    slope, lapse : ndarray of shape (M,)
        Posterior means of each candidate's layer.
    log_score, error : ndarray of shape (M,)
        Average minus log probability of the actual class of held-out cases, after the layer, and
        its standard error over cases.
    """

    name: Annotated[tuple[str, ...], Texts()]
    n_features: Annotated[FloatArray, Array("tried")]
    weight: Annotated[FloatArray, Floats("tried", low=0.0, high=100.0)]
    slope: Annotated[FloatArray, Floats("tried", low=0.0, high=1e6)]
    lapse: Annotated[FloatArray, Floats("tried", low=0.0, high=1.0)]
    log_score: Annotated[FloatArray, Array("tried")]
    error: Annotated[FloatArray, Array("tried")]

    def check(self, check: Check) -> None:
        """Refuse columns that are not of one length."""
        check(len(self.name) == self.weight.size, "name", "has another length")

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        numbers = [None if np.isnan(k) else int(k) for k in self.n_features]
        rest = ("weight", "slope", "lapse", "log_score", "error")
        return {
            "model": list(self.name),
            "n_features": numbers,
            **{name: getattr(self, name).tolist() for name in rest},
        }

    def __str__(self) -> str:
        """Return an aligned table."""
        rows = [("model", "features", "weight", "slope", "lapses", "log score", "error")]
        for i, name in enumerate(self.name):
            k = self.n_features[i]
            rows.append(
                (
                    name,
                    "" if np.isnan(k) else f"{k:.0f}",
                    f"{self.weight[i]:.3f}",
                    f"{self.slope[i]:.2f}",
                    f"{self.lapse[i]:.3f}",
                    f"{self.log_score[i]:.3f}",
                    f"{self.error[i]:.3f}",
                )
            )
        first, *sizes = (max(map(len, column)) for column in zip(*rows, strict=True))
        return "\n".join(
            "  ".join(
                (f"{name:<{first}}", *(f"{c:>{s}}" for c, s in zip(cells, sizes, strict=True)))
            )
            for name, *cells in rows
        )
