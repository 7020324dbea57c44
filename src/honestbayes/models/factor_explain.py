"""What the kept features of a factor model say, and how many factors it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.models.factor_estimator import FactorChoice
from honestbayes.models.factor_part import FactorPart
from honestbayes.types import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class FactorFeatureTable:
    """The kept features, strongest first, then those kept by design.

    What is said of each is said of it alone. The evidence of features that move together does not
    add up: what they share is counted once.

    Attributes
    ----------
    name : tuple of str
        Names.
    classes : tuple of str
        Class labels.
    r : ndarray of shape (k,)
        Root of the share of the sum of squares between classes; for two classes the absolute
        correlation.
    centre : ndarray of shape (C, k)
        Posterior mean of the feature in each class, the factors' shifts included, in the units of
        the data.
    spread : ndarray of shape (k,)
        Typical deviation within a class, by factors and by noise, in the same units.
    shared : ndarray of shape (k,)
        Posterior mean of the share of the variance within a class that is due to factors: how far
        the feature moves together with the others.
    by_design : ndarray of bool of shape (k,)
        Whether the feature was kept by design.
    """

    name: tuple[str, ...]
    classes: tuple[str, ...]
    r: FloatArray
    centre: FloatArray
    spread: FloatArray
    shared: FloatArray
    by_design: BoolArray

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        centres = {
            f"centre_{label}": self.centre[c].tolist() for c, label in enumerate(self.classes)
        }
        return {
            "name": list(self.name),
            "r": self.r.tolist(),
            **centres,
            "spread": self.spread.tolist(),
            "shared": self.shared.tolist(),
            "by_design": self.by_design.tolist(),
        }

    def __str__(self) -> str:
        """Return an aligned table."""
        rows = [["feature", "r", *self.classes, "spread", "shared"]]
        for j, name in enumerate(self.name):
            centres = (f"{centre:.4g}" for centre in self.centre[:, j])
            ends = (f"{self.spread[j]:.4g}", f"{self.shared[j]:.0%}")
            rows.append([name, f"{self.r[j]:.3f}", *centres, *ends])
        first, *sizes = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = []
        for (name, *cells), by_design in zip(rows, (False, *self.by_design), strict=True):
            padded = (f"{cell:>{max(9, size)}}" for cell, size in zip(cells, sizes, strict=True))
            remark = "  by design" if by_design else ""
            lines.append("  ".join((f"{name:<{first}}", *padded)) + remark)
        return "\n".join(lines)


def feature_table(
    part: FactorPart, names: tuple[str, ...], classes: tuple[str, ...]
) -> FactorFeatureTable:
    """Summarise each kept feature over all draws."""
    by_design = np.zeros(len(names), dtype=bool)
    by_design[len(part.selection.kept) :] = True
    nothing = np.zeros(0)
    centre, spread, shared = np.zeros((len(classes), 0)), nothing, nothing
    if part.drawn is not None:
        unit = part.drawn.standard.unit
        location, loadings, noise = part.drawn.pooled("location", "loadings", "variance")
        by_factors = np.sum(loadings**2, axis=2)
        centre = part.drawn.standard.centre + unit * location.mean(axis=0)
        spread = unit * np.sqrt((by_factors + noise).mean(axis=0))
        shared = (by_factors / (by_factors + noise)).mean(axis=0)
    r = np.sqrt(part.fit.moments.r_squared())
    return FactorFeatureTable(names, classes, r, centre, spread, shared, by_design)


@dataclass(frozen=True, slots=True)
class Factors:
    """How many factors a model has, and which numbers were tried.

    Attributes
    ----------
    n_factors : int
        Number of factors.
    tried : tuple of int
        Numbers that were tried on held-out cases; empty where the number was not chosen so.
    log_score : tuple of float
        Of each, without a slope: average minus log probability of the actual class.
    """

    n_factors: int
    tried: tuple[int, ...]
    log_score: tuple[float, ...]

    def __str__(self) -> str:
        """Return the number of factors in words.

        >>> str(Factors(1, (), ())), str(Factors(0, (), ()))
        ('1 factor', 'no factors')
        """
        if self.n_factors == 0:
            return "no factors"
        return f"{self.n_factors} factor{'' if self.n_factors == 1 else 's'}"


def factors(n_factors: int, choice: FactorChoice | None) -> Factors:
    """Say how many factors there are, and among which numbers theirs was chosen."""
    if choice is None:
        return Factors(n_factors, (), ())
    tried = tuple(choice.n_factors.tolist())
    return Factors(n_factors, tried, tuple(choice.log_score.tolist()))
