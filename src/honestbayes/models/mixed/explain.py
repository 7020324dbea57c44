"""What the kept features of a mixed model say, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from honestbayes.models.binary import explain
from honestbayes.models.binary.part import BernoulliPart
from honestbayes.models.categorical import explain as categorical_explain
from honestbayes.models.categorical.part import CategoricalPart
from honestbayes.models.real import explain as gaussian_explain
from honestbayes.models.real.part import GaussianPart
from honestbayes.models.shared.parts import FittedPart

PartTable = (
    explain.FeatureTable
    | categorical_explain.CategoricalFeatureTable
    | gaussian_explain.GaussianFeatureTable
)


@dataclass(frozen=True, slots=True)
class MixedFeatureTable:
    """The kept features of each kind that kept any.

    Attributes
    ----------
    parts : dict of str to table
        "binary": `FeatureTable`; "categorical": `CategoricalFeatureTable`; "real":
        `GaussianFeatureTable`. With more than two classes binary features are categorical ones of
        two levels.
    """

    parts: dict[str, PartTable]

    def to_dict(self) -> dict[str, dict[str, list[Any]]]:
        """Return plain columns of each kind."""
        return {kind: table.to_dict() for kind, table in self.parts.items()}

    def __str__(self) -> str:
        """Return an aligned table for each kind."""
        return "\n\n".join(f"{kind} features\n{table}" for kind, table in self.parts.items())


def feature_table(
    parts: Mapping[str, FittedPart], names: tuple[str, ...], classes: tuple[str, ...], slope: float
) -> MixedFeatureTable:
    """Summarise each kept feature.

    Parameters
    ----------
    parts : mapping of str to FittedPart
        The fitted part of each kind, in the model's order.
    names : tuple of str
        Names of all kept features, part by part.
    classes : tuple of str
        Class labels.
    slope : float
        The factor on the evidence.
    """
    tables: dict[str, PartTable] = {}
    first = 0
    for kind, part in parts.items():
        width = len(part.selection.columns)
        if width:
            tables[kind] = _part_table(part, names[first : first + width], classes, slope)
        first += width
    return MixedFeatureTable(tables)


def _part_table(
    part: FittedPart, names: tuple[str, ...], classes: tuple[str, ...], slope: float
) -> PartTable:
    if isinstance(part, BernoulliPart):
        return explain.feature_table(part.fit, names, (classes[0], classes[1]), slope)
    if isinstance(part, CategoricalPart):
        return categorical_explain.feature_table(part.fit, part.levels, names, classes)
    assert isinstance(part, GaussianPart)
    return gaussian_explain.feature_table(part.fit, names, classes)
