"""Whether a user's criterion depends only on what it may depend on, tried on a few columns."""

from __future__ import annotations

import numpy as np

from honestbayes.correction.exact_selection import columns_of
from honestbayes.correction.feature_models import FeatureModel, RealFeatures
from honestbayes.selection import DiscardedGroup
from honestbayes.selection.criteria import Criterion
from honestbayes.types import AnyArray, IntArray

_TRIED = 5
_CLOSE = 1e-6


def check_invariance(model: FeatureModel, criterion: Criterion, group: DiscardedGroup) -> None:
    """Refuse a function that depends on the order of cases, or on the origin or unit of values.

    The probability that a column is discarded is free of a real-valued feature's origin and unit
    only if the criterion is.
    """
    if criterion.one_column is None:
        return
    generator = np.random.default_rng(0)
    sizes = np.array(group.observed, dtype=np.int64)
    if isinstance(model, RealFeatures):
        present = np.flatnonzero(sizes)
        columns: AnyArray = model.draw_columns(1.0, sizes[present], _TRIED, generator)
        codes: IntArray = np.repeat(present, sizes[present])
    else:
        atom = float(model.atoms(np.ones(1))[0])
        drawn = model.draw(atom, sizes, group.n_levels, _TRIED, generator)
        columns, codes = columns_of(drawn[:, 1:].astype(np.int64))
    strength = criterion.strengths(columns, codes)

    def same(changed: AnyArray, classes: IntArray) -> bool:
        return np.allclose(criterion.strengths(changed, classes), strength, rtol=_CLOSE, atol=1e-12)

    order = generator.permutation(codes.size)
    if not same(columns[:, order], codes[order]):
        msg = f"criterion={criterion.name!r} depends on the order of the cases."
        raise ValueError(msg)
    if isinstance(model, RealFeatures):
        for name, changed in (("origin", columns + 3.0), ("unit", 7.0 * columns)):
            if not same(changed, codes):
                msg = (
                    f"criterion={criterion.name!r} depends on the {name} of a feature's values, "
                    f"and features have no common {name}: make it a function of "
                    "(column - column.mean()) / column.std()."
                )
                raise ValueError(msg)
