"""What a model with interactions says: each column alone, and the largest interactions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from honestbayes.models.categorical import CategoricalFeatureTable, level_word
from honestbayes.models.interactions.fit import InteractionFit
from honestbayes.models.interactions.part import InteractionPart
from honestbayes.models.shared.codes import Codes
from honestbayes.models.shared.explanation import by_design
from honestbayes.selection.association import equivalent_r_squared
from honestbayes.tabular import Tabular
from honestbayes.types import FloatArray

_MISSING = "(missing)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interactions(Tabular):
    """The largest coefficients, the largest median first.

    Attributes
    ----------
    pattern : tuple of str
        What a case must have, such as "outlook=sunny & humidity=high"; of several patterns that the
        same training cases have, the shortest.
    cells : tuple of tuple of (str, str)
        The same in parts: the name of each column, and its level.
    n_alike : ndarray of shape (m,)
        How many patterns the same training cases have: it is the sum of their coefficients that is
        known.
    n_cases : ndarray of int of shape (m,)
        Different training rows that have it.
    towards : tuple of str
        The class whose log odds it raises (or lowers, where the median is negative).
    median, low, high : ndarray of shape (m,)
        Of the coefficient: the posterior median, and the interval that holds 90%.
    n_groups, n_patterns : int, float
        Parameters of each class with and without compression.
    sigma : ndarray of shape (order + 1,)
        Posterior medians of the widths of each order.
    """

    pattern: tuple[str, ...]
    cells: tuple[tuple[tuple[str, str], ...], ...]
    n_alike: FloatArray
    n_cases: FloatArray
    towards: tuple[str, ...]
    median: FloatArray
    low: FloatArray
    high: FloatArray
    n_groups: int
    n_patterns: float
    sigma: FloatArray

    @property
    def order(self) -> int:
        """The most cells that a pattern fixes."""
        return self.sigma.size - 1

    def in_words(self) -> str:
        """Return the numbers of patterns and parameters, as part of a sentence."""
        cells = "one cell" if self.order == 1 else f"up to {self.order} cells"
        return (
            f"{self.n_patterns:,.0f} patterns of {cells} (the empty one included), "
            f"{self.n_groups:,} of them told apart by the training cases"
        )

    def with_cells(self, words: Callable[[str, str], tuple[str, str]]) -> Interactions:
        """Return the record with other names of columns and levels, of a table's patterns."""
        cells = tuple(tuple(words(*cell) for cell in pattern) for pattern in self.cells)
        return replace(self, cells=cells, pattern=tuple(map(_joined, cells)))

    def renamed(self, word: Callable[[str], str], classes: dict[str, str]) -> Interactions:
        """Return the record with other names of patterns and classes."""
        return replace(
            self,
            pattern=tuple(map(word, self.pattern)),
            towards=tuple(classes.get(name, name) for name in self.towards),
        )

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON; one entry of each is a coefficient."""
        numbers = ("n_alike", "n_cases", "median", "low", "high")
        return {
            "pattern": list(self.pattern),
            "class": list(self.towards),
            **{name: getattr(self, name).tolist() for name in numbers},
        }

    def __str__(self) -> str:
        """Return an aligned table."""
        width = max([len("pattern"), *(len(text) for text in self.pattern)])
        across = max([len("class"), *(len(text) for text in self.towards)])
        lines = [
            f"{self.n_groups:,} parameters instead of {self.n_patterns:,.0f}",
            f"{'pattern':<{width}}  {'class':<{across}}  median          90%  rows  patterns",
        ]
        for j, text in enumerate(self.pattern):
            lines.append(
                f"{text:<{width}}  {self.towards[j]:<{across}}  {self.median[j]:6.2f}  "
                f"{self.low[j]:5.1f} {self.high[j]:5.1f}  {self.n_cases[j]:4.0f}  "
                f"{self.n_alike[j]:8,.0f}"
            )
        return "\n".join(lines)


def interactions_of(
    part: InteractionPart, names: tuple[str, ...], classes: tuple[str, ...], most: int
) -> Interactions:
    """Find the largest coefficients of a fitted part; of two classes, those of the second."""
    towards = classes[1:] if len(classes) == 2 else classes
    places = part.selection.columns
    return coefficients(part.fit, part.codes, names, places, towards, most)


def coefficients(
    fit: InteractionFit,
    codes: Codes,
    names: tuple[str, ...],
    places: tuple[int, ...],
    towards: tuple[str, ...],
    most: int,
    *,
    unit: float = 1.0,
) -> Interactions:
    """Find the largest coefficients, by posterior median; the intercept is not one of them.

    Parameters
    ----------
    fit : InteractionFit
        The model.
    codes : Codes
        Of its columns.
    names, places : tuple
        What each column is called, and where it stands in the table.
    towards : tuple of str
        What each linear predictor is of.
    most : int
        How many.
    unit : float, default=1.0
        Of coefficients.
    """
    groups = fit.groups
    s = unit * fit.draws.spread(2000).pooled("s")
    median = np.median(s, axis=0)
    # The group of all cases is the intercept, with all that every case has.
    size = np.where(groups.counts[:, 0] > 0, -1.0, np.abs(median))
    best = np.argsort(-size, axis=None, kind="stable")[:most]
    of, found = np.unravel_index(best, median.shape)
    there = size[of, found] >= 0
    of, found = of[there], found[there]
    low, high = np.quantile(s[:, of, found], [0.05, 0.95], axis=0)
    words = _words(fit, codes, names, places)
    cells = [_cells(next(groups.patterns(int(g))), words) for g in found]
    text = _states if fit.suffixes else _joined
    return Interactions(
        pattern=tuple(map(text, cells)),
        cells=tuple(cells),
        n_alike=groups.counts[found].sum(axis=1),
        n_cases=np.diff(groups.start)[found].astype(float),
        towards=tuple(towards[int(k)] for k in of),
        median=median[of, found],
        low=low,
        high=high,
        n_groups=fit.n_groups,
        n_patterns=fit.n_patterns,
        sigma=unit * np.exp(np.median(fit.draws.pooled("log_sigma"), axis=0)),
    )


_Words = list[tuple[str, list[str], int]]
"""The name of each column of patterns, the texts of its levels, and its place in the table."""

_Cells = tuple[tuple[str, str], ...]


def _words(
    fit: InteractionFit, codes: Codes, names: tuple[str, ...], places: tuple[int, ...]
) -> _Words:
    """Return the names of columns and levels, and where columns stand."""
    first = len(names) - fit.order if fit.suffixes else 0
    return [
        (name, [*(level_word(value) for value in values.tolist()), _MISSING], place)
        for name, values, place in zip(names, codes.levels.values, places, strict=True)
    ][first:]


def _cells(pattern: Any, words: _Words) -> _Cells:
    """Return the names of columns and levels of one pattern, in the order of the table."""
    named = sorted((words[column][2], column, code) for column, code in pattern)
    return tuple((words[column][0], words[column][1][code]) for _, column, code in named)


def _joined(cells: _Cells) -> str:
    """Return "outlook=sunny & humidity=high"."""
    return " & ".join(f"{name}={level}" for name, level in cells)


def _states(cells: _Cells) -> str:
    """Return the last states, "ab" or "up down"."""
    states = [state for _, state in cells]
    return ("" if all(len(state) == 1 for state in states) else " ").join(states)


def feature_table(
    part: InteractionPart, names: tuple[str, ...], classes: tuple[str, ...], slope: float
) -> CategoricalFeatureTable:
    """Summarise what each column says by itself: how often each level occurs in each class."""
    most = part.codes.n_levels
    ends = np.cumsum(most)
    tables = [part.counts[:, end - size : end] for size, end in zip(most, ends, strict=True)]
    if part.codes.missing_is_level:  # it is shown where it occurs
        tables = [table if table[:, -1].any() else table[:, :-1] for table in tables]
    levels = [
        (*(level_word(value) for value in values.tolist()), _MISSING)[: table.shape[1]]
        for values, table in zip(part.codes.levels.values, tables, strict=True)
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
