"""What the kept columns of a discriminant say."""

from __future__ import annotations

import numpy as np

from honestbayes.models.discriminant.part import DiscriminantPart
from honestbayes.models.real.explain import GaussianFeatureTable, in_users_units
from honestbayes.models.shared.explanation import by_design


def feature_table(
    part: DiscriminantPart, names: tuple[str, ...], classes: tuple[str, ...], _slope: float
) -> GaussianFeatureTable:
    """Summarise each kept column, in the units of the data."""
    fit = part.fit
    centre, spread = in_users_units(fit.centre + fit.unit * fit.mean, fit.unit, fit.scores)
    return GaussianFeatureTable(
        name=names,
        classes=classes,
        r=np.abs(fit.r),
        centre=centre,
        spread=spread,
        by_design=by_design(fit.selection),
        _correlation=fit.r,
        idle=fit.idle,
    )
