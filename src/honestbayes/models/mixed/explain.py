"""What the kept features of a mixed model say, kind by kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from honestbayes.models.binary.explain import feature_table as binary_table
from honestbayes.models.binary.part import BernoulliPart
from honestbayes.models.categorical.explain import feature_table as categorical_table
from honestbayes.models.categorical.part import CategoricalPart
from honestbayes.models.real.explain import feature_table as real_table
from honestbayes.models.real.part import GaussianPart
from honestbayes.models.shared.explanation import KeptTable
from honestbayes.sources.kinds import Kind

_OF_PART: dict[type, Callable[..., KeptTable]] = {
    BernoulliPart: binary_table,
    CategoricalPart: categorical_table,
    GaussianPart: real_table,
}


def part_table(
    part: Any, names: tuple[str, ...], classes: tuple[str, ...], slope: float
) -> KeptTable:
    """Return the table of the features of one kind, as the estimator of that kind has it."""
    return _OF_PART[type(part)](part, names, classes, slope)


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

    parts: dict[Kind, Any]

    def to_dict(self) -> dict[Kind, dict[str, list[Any]]]:
        """Return plain columns of each kind."""
        return {kind: table.to_dict() for kind, table in self.parts.items()}

    def to_pandas(self) -> Any:
        """Return one pandas frame of all kinds; what a kind does not have is missing."""
        import pandas as pd

        frames = {kind: table.to_pandas() for kind, table in self.parts.items()}
        return pd.concat(frames, names=["kind"]).reset_index("kind").reset_index(drop=True)

    def _repr_html_(self) -> str:
        """Return a table for each kind, as a notebook shows it."""
        return "".join(
            f"<p>{kind} features</p>{table._repr_html_()}" for kind, table in self.parts.items()
        )

    def __str__(self) -> str:
        """Return an aligned table for each kind."""
        return "\n\n".join(f"{kind} features\n{table}" for kind, table in self.parts.items())

    def changed(self, change: Callable[[Any], Any]) -> Self:
        """Return the tables of all kinds, each changed."""
        return type(self)({kind: change(table) for kind, table in self.parts.items()})
