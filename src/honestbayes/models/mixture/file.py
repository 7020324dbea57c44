"""A fitted mixture as plain data, and back; what cannot be one is refused."""

from __future__ import annotations

import numpy as np

from honestbayes.files.entries import Entries, Plain
from honestbayes.models.binary.file import binarization_from_plain
from honestbayes.models.mixture.fit import BY_DESIGN, NUMBERS
from honestbayes.models.mixture.part import MixturePart
from honestbayes.sampling.draws import Draws
from honestbayes.selection import Selection

_LARGEST = 1e12
_CLOSE = 1e-9


def fit_to_plain(part: MixturePart) -> Plain:
    """Return the fitted mixture without its selection."""
    names = (*_numbers(part.selection), "psi", "phi", "z")
    arrays = {name: np.asarray(part.draws[name]) for name in names}
    arrays |= {"cut": part.binarization.cut, "high": part.binarization.high}
    arrays["correlation"] = part.correlation
    return {}, arrays


def fit_from_plain(entries: Entries, selection: Selection) -> MixturePart:
    """Return the fitted mixture that `fit_to_plain` described."""
    width = len(selection.columns)
    binarization = binarization_from_plain(entries, width)
    psi = entries.finite("psi", (None, None, 2), 0.0, 1.0)
    shape = psi.shape[:2]
    entries.check(min(shape) >= 1, "psi", "holds no draws")
    entries.check(np.all(np.abs(psi.sum(axis=2) - 1) <= _CLOSE), "psi", "does not sum to 1")
    phi = entries.finite("phi", (*shape, 2, 1 + width), 0.0, 1.0)
    entries.check(np.all((phi > 0) & (phi < 1)), "phi", "is not strictly between 0 and 1")
    labels = entries.bits("z", (*shape, sum(selection.class_counts)))
    numbers = _numbers(selection)
    values = {name: entries.finite(name, shape, -_LARGEST, _LARGEST) for name in numbers}
    draws = Draws({**values, "psi": psi, "phi": phi, "z": labels}, shape[0])
    correlation = entries.finite("correlation", (width,), -1 - _CLOSE, 1 + _CLOSE)
    return MixturePart(selection, binarization, correlation, draws)


def _numbers(selection: Selection) -> tuple[str, ...]:
    """Return the names of what is a single number in each draw."""
    return (*NUMBERS, BY_DESIGN) if selection.always_kept else NUMBERS
