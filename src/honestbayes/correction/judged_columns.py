"""Columns drawn from a feature model, and where their strength lies relative to a bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from honestbayes.correction.exact_selection import table_strengths
from honestbayes.correction.feature_models import FeatureModel, Likelihood, RealFeatures
from honestbayes.selection import DiscardedGroup
from honestbayes.selection.criteria import Criterion, class_moments, compare
from honestbayes.types import FloatArray, IntArray

_BLOCK_CELLS = 1 << 22


@dataclass(frozen=True, slots=True)
class JudgedColumns:
    """Features of one group as a source of columns.

    Attributes
    ----------
    model : FeatureModel
        How columns arise.
    criterion : Criterion
        How they are judged.
    bound : float
        Strength of the weakest kept feature.
    group : DiscardedGroup
        Numbers of observed cases and of levels.
    """

    model: FeatureModel
    criterion: Criterion
    bound: float
    group: DiscardedGroup

    def _sizes(self) -> IntArray:
        """Class sizes; classes without cases do not exist for a real-valued column."""
        sizes = np.array(self.group.observed, dtype=np.int64)
        return sizes[sizes > 0] if self.model.kind == "real" else sizes

    def draw(
        self, atom: float, number: int, generator: np.random.Generator
    ) -> Iterator[tuple[FloatArray, IntArray]]:
        """Draw columns block by block; beside them the sign of strength - bound."""
        sizes = self._sizes()
        step = max(1, _BLOCK_CELLS // int(sizes.sum()))
        for begin in range(0, number, step):
            drawn, strength = self._judged(atom, sizes, min(step, number - begin), generator)
            yield drawn, compare(strength, self.bound)

    def likelihood(self, drawn: FloatArray) -> Likelihood:
        """Return the log likelihood of atoms for columns that were drawn."""
        return self.model.likelihood(drawn, self._sizes())

    def _judged(
        self, atom: float, sizes: IntArray, number: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        criterion, model = self.criterion, self.model
        if isinstance(model, RealFeatures) and criterion.from_moments is None:
            whole = model.draw_columns(atom, sizes, number, generator)
            present = np.flatnonzero(self.group.observed)
            strength = criterion.strengths(whole, np.repeat(present, sizes))
            codes = np.repeat(np.arange(sizes.size), sizes)
            _, mean, within = class_moments(whole, codes, sizes.size)
            return np.concatenate([mean.T, within[:, None]], axis=1), strength
        drawn = model.draw(atom, sizes, self.group.n_levels, number, generator)
        if model.kind == "real":
            assert criterion.from_moments is not None
            return drawn, criterion.from_moments(sizes[:, None], drawn[:, :-1].T, drawn[:, -1])
        tables = drawn[:, 1:].astype(np.int64)
        if criterion.from_tables is not None:
            return drawn, criterion.from_tables(tables)
        # A user's function is slow: once for columns that are alike.
        distinct, inverse = np.unique(tables, axis=0, return_inverse=True)
        return drawn, table_strengths(criterion, distinct)[inverse.ravel()]
