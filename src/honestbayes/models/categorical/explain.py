"""What the kept features of a categorical model say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from honestbayes.models.categorical.blocks import CategoricalFit
from honestbayes.selection.association import equivalent_r_squared
from honestbayes.sources.columns import number_text
from honestbayes.sources.levels import Levels
from honestbayes.types import BoolArray, FloatArray

UNSEEN = "(never seen)"
"""The second level of a column that had one only."""


@dataclass(frozen=True, slots=True)
class CategoricalFeatureTable:
    """The kept features, strongest first, then those kept by design.

    Attributes
    ----------
    name : tuple of str
        Names.
    classes : tuple of str
        Class labels.
    r : ndarray of shape (k,)
        The correlation of a two-level feature that would be as surprising.
    levels : tuple of tuple of str
        The levels of each feature.
    probability : tuple of ndarray of shape (C, V)
        P(level) in each class, as prediction has it.
    by_design : ndarray of bool of shape (k,)
        Whether the feature was kept by design.
    """

    name: tuple[str, ...]
    classes: tuple[str, ...]
    r: FloatArray
    levels: tuple[tuple[str, ...], ...]
    probability: tuple[FloatArray, ...]
    by_design: BoolArray

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON; one entry of each is a feature."""
        return {
            "name": list(self.name),
            "r": self.r.tolist(),
            "levels": [list(levels) for levels in self.levels],
            **{
                f"p_{label}": [probability[c].tolist() for probability in self.probability]
                for c, label in enumerate(self.classes)
            },
            "by_design": self.by_design.tolist(),
        }

    def __str__(self) -> str:
        """Return an aligned table, a line for each level."""
        rows = [
            (name, level, j, v)
            for j, name in enumerate(self.name)
            for v, level in enumerate(self.levels[j])
        ]
        width = max([len("feature"), *(len(name) for name in self.name)])
        across = max([len("level"), *(len(level) for _, level, _, _ in rows)])
        heads = [f"P({label})" for label in self.classes]
        sizes = [max(8, len(head)) for head in heads]
        titles = "  ".join(f"{head:>{size}}" for head, size in zip(heads, sizes, strict=True))
        lines = [f"{'feature':<{width}}  {'level':<{across}}  {'r':>5}  {titles}"]
        for name, level, j, v in rows:
            cells = "  ".join(
                f"{p:>{size}.3f}" for p, size in zip(self.probability[j][:, v], sizes, strict=True)
            )
            start = f"{name if v == 0 else '':<{width}}  {level:<{across}}"
            strength = f"{self.r[j]:5.3f}" if v == 0 else " " * 5
            end = "  by design" if v == 0 and self.by_design[j] else ""
            lines.append(f"{start}  {strength}  {cells}{end}")
        return "\n".join(lines)


def feature_table(
    fit: CategoricalFit, levels: Levels, names: tuple[str, ...], classes: tuple[str, ...]
) -> CategoricalFeatureTable:
    """Summarise each kept feature."""
    tables = [table for block in fit.blocks for table in block.tables]
    by_design = np.zeros(len(names), dtype=bool)
    by_design[len(fit.selection.kept) :] = True
    return CategoricalFeatureTable(
        names,
        classes,
        np.array([np.sqrt(equivalent_r_squared(table[None])[0]) for table in tables]),
        tuple(tuple(_word(value) for value in values.tolist()) for values in levels.values),
        tuple(
            np.exp(logsumexp(block.log_weight[:, None, None] + log_prob, axis=0))
            for block in fit.blocks
            for log_prob in block.log_prob
        ),
        by_design,
    )


def _word(value: Any) -> str:
    """Return a level as text: a text, a number, or one that was never seen."""
    if isinstance(value, str):
        return value
    return UNSEEN if value is None or value != value else number_text(value)
