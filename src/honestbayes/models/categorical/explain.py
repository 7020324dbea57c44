"""What the kept features of a categorical model say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import logsumexp

from honestbayes.models.categorical.part import CategoricalPart
from honestbayes.models.shared.explanation import KeptTable, by_design
from honestbayes.selection.association import equivalent_r_squared
from honestbayes.sources.columns import number_text
from honestbayes.sources.kinds import Kind
from honestbayes.types import BoolArray, FloatArray

UNSEEN = "(never seen)"
"""The second level of a column that had one only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoricalFeatureTable(KeptTable):
    """The kept features, strongest first, then those kept by design.

    Attributes
    ----------
    r : ndarray of shape (k,)
        The correlation of a two-level feature that would be as surprising.
    levels : tuple of tuple of str
        The levels of each feature.
    probability : tuple of ndarray of shape (C, V)
        P(level) in each class, as prediction has it.
    by_design : ndarray of bool of shape (k,)
        Whether the feature was kept by design.
    """

    r: FloatArray
    levels: tuple[tuple[str, ...], ...]
    probability: tuple[FloatArray, ...]
    by_design: BoolArray
    _slope: float = field(repr=False)
    """The factor on the evidence."""

    kind: ClassVar[Kind] = "categorical"

    def _columns(self) -> dict[str, Iterable[Any]]:
        """Return what is known of the features; of two classes, evidence is for the second."""
        return {
            "by_design": self.by_design.tolist(),
            "correlation": self.r.tolist(),
            "levels": self.levels,
            "probability": [tuple(map(tuple, p.tolist())) for p in self.probability],
            "evidence": [tuple((self._slope * _evidence(p)).tolist()) for p in self.probability],
        }

    def with_levels(self, texts: Callable[[str, tuple[str, ...]], tuple[str, ...]]) -> Self:
        """Return the table with other names of levels, given the feature's name and its levels."""
        return replace(self, levels=tuple(map(texts, self.name, self.levels)))

    def shortened(self, most: int) -> Self:
        """Return the table with the levels that say most, in their order, and the others as one."""
        pairs = [
            _strongest(*pair, most) for pair in zip(self.levels, self.probability, strict=True)
        ]
        return replace(
            self,
            levels=tuple(levels for levels, _ in pairs),
            probability=tuple(probability for _, probability in pairs),
        )

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


def _evidence(probability: FloatArray) -> FloatArray:
    """Return what each level says: of two classes for the second, else between the extremes."""
    logs = np.log(probability)
    return np.asarray(logs[1] - logs[0] if len(logs) == 2 else np.ptp(logs, axis=0))


def _strongest(
    levels: tuple[str, ...], probability: FloatArray, most: int
) -> tuple[tuple[str, ...], FloatArray]:
    """Return the levels that say most, and what is left of the probabilities as one level."""
    if len(levels) <= most:
        return levels, probability
    says = np.ptp(np.log(probability), axis=0)
    shown = np.sort(np.argsort(-says, kind="stable")[:most])
    rest = np.delete(probability, shown, axis=1).sum(axis=1, keepdims=True)
    others = f"({len(levels) - most:,} more)"
    return (*(levels[v] for v in shown), others), np.hstack([probability[:, shown], rest])


def feature_table(
    part: CategoricalPart, names: tuple[str, ...], classes: tuple[str, ...], slope: float
) -> CategoricalFeatureTable:
    """Summarise each kept feature."""
    blocks = part.fit.blocks
    tables = [table for block in blocks for table in block.tables]
    return CategoricalFeatureTable(
        name=names,
        classes=classes,
        r=np.array([np.sqrt(equivalent_r_squared(table[None])[0]) for table in tables]),
        levels=tuple(
            tuple(level_word(value) for value in values.tolist()) for values in part.levels.values
        ),
        probability=tuple(
            np.exp(logsumexp(block.log_weight[:, None, None] + log_prob, axis=0))
            for block in blocks
            for log_prob in block.log_prob
        ),
        by_design=by_design(part.selection),
        _slope=slope,
    )


def level_word(value: Any) -> str:
    """Return a level as text: a text, a number, or one that was never seen."""
    if isinstance(value, str):
        return value
    return UNSEEN if value is None or value != value else number_text(value)
