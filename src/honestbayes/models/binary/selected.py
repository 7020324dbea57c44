"""Whether a selection that was made elsewhere can have come from the data at hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from honestbayes.selection import Selection, squared_correlation
from honestbayes.types import IntArray


def check_fits(
    selection: Selection, counts: tuple[int, int], ones: IntArray, observed: IntArray
) -> None:
    """Refuse a selection that cannot have come from these data."""
    if selection.class_counts != counts:
        msg = (
            f"the selection was made on {selection.class_counts} cases per class, but y has "
            f"{counts}."
        )
        raise ValueError(msg)
    for position in range(len(selection.kept)):
        i0, i1 = (int(count) for count in ones[:, position])
        n0, n1 = (int(count) for count in observed[:, position])
        value = squared_correlation(i0, i1, n0, n1)
        strict = selection.rule == "threshold"
        if value < selection.gamma_squared or (strict and value == selection.gamma_squared):
            msg = (
                f"column {position} of X has absolute correlation {float(value) ** 0.5:.4f} with "
                f"y, below the selection's bound {selection.gamma:.4f}; it cannot have been kept."
            )
            raise ValueError(msg)


def check_is_selection(selection: Any) -> None:
    """Refuse anything else than a record of a selection."""
    if not isinstance(selection, Selection):
        msg = f"selection is a {type(selection).__name__}; give a Selection (see from_dict)."
        raise TypeError(msg)


def check_names(selection: Selection, names: tuple[str, ...] | None) -> None:
    """Refuse columns whose names are not those of the kept features, in their order."""
    if names is None or selection.kept_names is None:
        return
    expected = selection.kept_names + (selection.always_kept_names or ())
    for position, (name, wanted) in enumerate(zip(names, expected, strict=True)):
        if name != wanted:
            msg = (
                f"column {position} of X is {name!r}, but the selection has {wanted!r} there; give "
                "the kept columns in the order of the selection."
            )
            raise ValueError(msg)


def renumbered(selection: Selection) -> Selection:
    """Return the record with the kept columns at the front, where `fit_selected` has them."""
    k, a = len(selection.kept), len(selection.always_kept)
    return replace(selection, kept=tuple(range(k)), always_kept=tuple(range(k, k + a)))
