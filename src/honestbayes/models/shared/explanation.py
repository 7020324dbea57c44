"""What a fitted model hands to those who explain it: selections, and tables of kept features."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from honestbayes.models.shared.kept_columns import KeptColumns
from honestbayes.models.shared.parts import FittedPart
from honestbayes.selection import Selection
from honestbayes.sources.kinds import Kind
from honestbayes.tabular import Tabular
from honestbayes.types import BoolArray


@dataclass(frozen=True, slots=True)
class KeptTable(Tabular):
    """What tables of kept features have in common: strongest first, then those kept by design.

    Attributes
    ----------
    name : tuple of str
        Names.
    classes : tuple of str
        Class labels.
    """

    name: tuple[str, ...]
    classes: tuple[str, ...]

    kind: ClassVar[Kind]
    """What kind of features the model takes them for."""

    def _columns(self) -> dict[str, Iterable[Any]]:
        """Return what is known of the features as plain data, by name, an entry for each."""
        raise NotImplementedError

    def rows(self) -> list[dict[str, Any]]:
        """Return what is known of each feature as plain data, by name."""
        columns = self._columns()
        rows = zip(*columns.values(), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def changed(self, change: Callable[[Any], Any]) -> Any:
        """Return the table as a function changes it; tables of several kinds change each."""
        return change(self)

    def renamed(self, word: Callable[[str], str], classes: tuple[str, ...]) -> Self:
        """Return the table with other names of features and classes."""
        return replace(self, name=tuple(map(word, self.name)), classes=classes)

    def with_levels(self, texts: Callable[[str, tuple[str, ...]], tuple[str, ...]]) -> Self:
        """Return the table with other names of levels, given the feature's name and its levels."""
        del texts
        return self

    def shortened(self, most: int) -> Self:
        """Return the table with so many levels of each feature at most."""
        del most
        return self


def by_design(selection: Selection) -> BoolArray:
    """Return which of the kept features were kept by design: they come last."""
    return np.asarray(np.arange(len(selection.columns)) >= len(selection.kept))


class Explained(KeptColumns):
    """Base of estimators that can say what they kept, and what that tells.

    A subclass says of which kind its features are (`_kind_of_features`, or `_kinds_of_parts`), and
    how the table of a part is made (`_explain_part`). Reports and ``inspect`` ask all models alike,
    by `_selections`, `_feature_tables` and `_sections`.
    """

    _kind_of_features: ClassVar[Kind]
    _parts: tuple[FittedPart, ...]
    classes_: Any
    slope_: float

    @staticmethod
    def _explain_part(
        part: Any, names: tuple[str, ...], classes: tuple[str, ...], slope: float, /
    ) -> KeptTable:
        """Return the table of the kept features of a part."""
        raise NotImplementedError

    def _kinds_of_parts(self) -> tuple[Kind, ...]:
        """Return the kind of the features of each part; by default there is one."""
        return (self._kind_of_features,)

    def _selections(self) -> dict[Kind, Selection]:
        """Return what was kept and thrown away, for each kind of feature."""
        check_is_fitted(self)
        parts = zip(self._kinds_of_parts(), self._parts, strict=True)
        return {kind: part.selection for kind, part in parts}

    def _feature_tables(self) -> dict[Kind, Any]:
        """Return what each kept feature says, for each kind of which any was kept."""
        names, classes = self._names_and_classes()
        tables, first = {}, 0
        for kind, part in zip(self._kinds_of_parts(), self._parts, strict=True):
            last = first + len(part.selection.columns)
            if last > first:
                tables[kind] = self._explain_part(part, names[first:last], classes, self.slope_)
            first = last
        return tables

    def _sections(self) -> dict[str, Any]:
        """Return records of what else the model is made of, by name; by default of nothing."""
        return {}

    def feature_table(self) -> Any:
        """Return what each kept feature says."""
        names, classes = self._names_and_classes()
        (part,) = self._parts
        return self._explain_part(part, names, classes, self.slope_)

    def _names_and_classes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        names = tuple(str(name) for name in self.get_feature_names_out())
        return names, tuple(str(label) for label in self.classes_)
