"""What the kept features of a factor model say, and how many factors it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from honestbayes.models.factors.estimator import FactorChoice
from honestbayes.models.factors.part import FactorPart
from honestbayes.models.real.explain import MeasurementTable, correlation_with, in_users_units
from honestbayes.models.shared.explanation import by_design
from honestbayes.types import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorFeatureTable(MeasurementTable):
    """The kept features, strongest first, then those kept by design.

    What is said of each is said of it alone. The evidence of features that move together does not
    add up: what they share is counted once. Centres include the factors' shifts, and spreads what
    is due to factors.

    Attributes
    ----------
    shared : ndarray of shape (k,)
        Posterior mean of the share of the variance within a class that is due to factors: how far
        the feature moves together with the others.
    """

    shared: FloatArray
    _share: ClassVar[str] = "shared"


def feature_table(
    part: FactorPart, names: tuple[str, ...], classes: tuple[str, ...], _slope: float
) -> FactorFeatureTable:
    """Summarise each kept feature over all draws."""
    nothing = np.zeros(0)
    centre, spread, shared = np.zeros((len(classes), 0)), nothing, nothing
    if part.drawn is not None:
        unit = part.drawn.standard.unit
        location, loadings, noise = part.drawn.pooled("location", "loadings", "variance")
        by_factors = np.sum(loadings**2, axis=2)
        centre = part.drawn.standard.centre + unit * location.mean(axis=0)
        spread = unit * np.sqrt((by_factors + noise).mean(axis=0))
        centre, spread = in_users_units(centre, spread, part.scores)
        shared = (by_factors / (by_factors + noise)).mean(axis=0)
    moments = part.fit.moments
    return FactorFeatureTable(
        name=names,
        classes=classes,
        r=np.sqrt(moments.r_squared()),
        centre=centre,
        spread=spread,
        by_design=by_design(part.selection),
        _correlation=correlation_with(moments),
        shared=shared,
    )


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
