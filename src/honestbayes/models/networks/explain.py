"""What networks say: arcs with their probabilities, and each column alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.models.categorical import CategoricalFeatureTable, level_word
from honestbayes.models.networks.graphs import members
from honestbayes.models.networks.part import NetworkPart
from honestbayes.models.shared.explanation import by_design
from honestbayes.selection.association import equivalent_r_squared
from honestbayes.tabular import Tabular
from honestbayes.types import FloatArray

_MISSING = "(missing)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges(Tabular):
    """Arcs between the class and features, the most probable first.

    Attributes
    ----------
    source, target : tuple of str
        From where, and to where.
    probability : ndarray of shape (m,)
        Share of the graphs that have the arc.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    probability: FloatArray

    def renamed(self, name: Callable[[str], str]) -> Edges:
        """Return the same arcs with other names."""
        return Edges(
            source=tuple(map(name, self.source)),
            target=tuple(map(name, self.target)),
            probability=self.probability,
        )

    def matrix(self, last: str) -> tuple[tuple[str, ...], FloatArray]:
        """Return the names of all nodes, one of them last, and the probabilities between them."""
        nodes = [name for name in dict.fromkeys((*self.source, *self.target)) if name != last]
        place = {name: j for j, name in enumerate((*nodes, last))}
        result = np.zeros((len(place), len(place)))
        for a, b, p in zip(self.source, self.target, self.probability, strict=True):
            result[place[a], place[b]] = p
        return tuple(place), result

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        return {
            "from": list(self.source),
            "to": list(self.target),
            "probability": self.probability.tolist(),
        }

    def __str__(self) -> str:
        """Return an aligned table."""
        wide = max([len("from"), *map(len, self.source)])
        wider = max([len("to"), *map(len, self.target)])
        lines = [f"{'from':<{wide}}  {'to':<{wider}}  probability"]
        for a, b, p in zip(self.source, self.target, self.probability, strict=True):
            lines.append(f"{a:<{wide}}  {b:<{wider}}  {p:11.3f}")
        return "\n".join(lines)


def edges_of(part: NetworkPart, names: tuple[str, ...], of_class: str, least: float) -> Edges:
    """Return all arcs with at least some probability."""
    found = part.fit.edges
    source, target = np.nonzero(found >= max(least, 1e-300))
    order = np.lexsort((target, source, -found[source, target]))
    called = (*names, of_class)
    return Edges(
        source=tuple(called[i] for i in source[order]),
        target=tuple(called[i] for i in target[order]),
        probability=found[source[order], target[order]],
    )


def blankets_of(
    part: NetworkPart, names: tuple[str, ...], most: int
) -> list[tuple[tuple[str, ...], float]]:
    """Return the Markov blankets of the class that are most frequent, and their shares."""
    inside = members(part.fit.graphs)
    found, which = np.unique(inside, axis=0, return_inverse=True)
    share = np.bincount(which.ravel(), part.fit.weight, minlength=len(found))
    order = np.lexsort((np.arange(share.size), -share))[:most]
    return [
        (tuple(names[j] for j in np.flatnonzero(found[row])), float(share[row])) for row in order
    ]


def feature_table(
    part: NetworkPart, names: tuple[str, ...], classes: tuple[str, ...], slope: float
) -> CategoricalFeatureTable:
    """Summarise what each column says by itself: how often each level occurs in each class."""
    cells, codes = part.fit.cells[:-1], part.fit.cells[-1]
    tables = []
    for column, size in zip(cells, part.codes.n_levels.tolist(), strict=True):
        table = np.zeros((len(classes), size))
        np.add.at(table, (codes, column), 1.0)
        # Missing as a level is shown where it occurs.
        shown = part.codes.missing_is_level and not table[:, -1].any()
        tables.append(table[:, :-1] if shown else table)
    levels = [
        (*_words_of(part, place), _MISSING)[: table.shape[1]] for place, table in enumerate(tables)
    ]
    return CategoricalFeatureTable(
        name=names,
        classes=classes,
        r=np.array(
            [np.sqrt(equivalent_r_squared(table[None].astype(np.int64))[0]) for table in tables]
        ),
        levels=tuple(levels),
        probability=tuple(
            (table + 1.0 / table.shape[1]) / (table.sum(axis=1, keepdims=True) + 1.0)
            for table in tables
        ),
        by_design=by_design(part.selection),
        _slope=slope,
    )


def _words_of(part: NetworkPart, place: int) -> tuple[str, ...]:
    """Return what the levels or bins of a column are called."""
    levels = tuple(level_word(value) for value in part.codes.levels.values[place].tolist())
    bins = part.cuts.words(place) or ()
    return (*bins, *levels[len(bins) :])
