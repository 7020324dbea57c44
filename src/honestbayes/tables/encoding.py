"""Features of a model from columns of a file: numbers, indicators of categories, or codes.

Cells of files are texts, and a model may be asked about any file: so this encoder, unlike that of
`honestbayes.data.categories`, works on dictionaries of pyarrow, and makes a feature of a category.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from honestbayes.tables.columns import Column
from honestbayes.tables.conversion import levels_and_codes, number_text, to_numbers
from honestbayes.tables.errors import InputError, RowLocations, listed, shown
from honestbayes.types import AnyArray

MAX_UNKNOWN = 100
"""Unknown categories that are reported for a column; a wrong column could hold millions."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature of a model, and the column it comes from.

    Attributes
    ----------
    name : str
        Name of the feature.
    column : str
        Name of its column.
    level : str or None
        None: the number in the column. A text: 1 where the column holds it, 0 where it holds
        another category that is known, missing elsewhere.
    coded : bool
        Instead of both, the index of the column's category among its known categories in sorted
        order, from 0; missing elsewhere.
    """

    name: str
    column: str
    level: str | None = None
    coded: bool = False


@dataclass(frozen=True, slots=True)
class Encoding:
    """How rows of a table become rows of features.

    Attributes
    ----------
    features : tuple of Feature
        The features, in the order of the columns of the result.
    levels : dict of str to tuple of str
        All categories that a text column had when the encoding was made, whether they have a
        feature or not: another one is unknown.
    """

    features: tuple[Feature, ...]
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(feature.name for feature in self.features)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are needed, in order, each once."""
        return tuple(dict.fromkeys(feature.column for feature in self.features))

    @property
    def text_columns(self) -> frozenset[str]:
        """Columns that must be read as text."""
        return frozenset(self.levels)

    def take(self, positions: Iterable[int]) -> Encoding:
        """Return the encoding of some of the features, such as those that a model kept."""
        features = tuple(self.features[position] for position in positions)
        needed = {feature.column for feature in features}
        return Encoding(features, {c: known for c, known in self.levels.items() if c in needed})

    def apply(
        self,
        table: pa.Table,
        *,
        locations: RowLocations = RowLocations(),  # noqa: B008  # frozen
        decimal: str = ".",
    ) -> tuple[AnyArray, dict[str, tuple[str, ...]]]:
        """Encode rows.

        Parameters
        ----------
        table : pyarrow.Table
            Holds the columns that are needed; others are not looked at.
        locations : RowLocations
            Where the rows stand, for messages.
        decimal : {".", ","}
            Decimal mark of numbers that are text.

        Returns
        -------
        values : ndarray of shape (n, number of features)
            int8 where every value is 0 or 1, else float64 with NaN where missing. Flags are
            stored case after case where there are more of them than cases: folds then take
            whole lines of memory.
        unknown : dict of str to tuple of str
            Categories that a column did not have before; they are missing in the values.
        """
        there = set(table.column_names)
        missing = [name for name in self.columns if name not in there]
        if missing:
            msg = f"the table has no column {listed(missing)}, which the model needs; add it."
            raise InputError(msg)
        values = np.empty((table.num_rows, len(self.features)), order="F")
        unknown: dict[str, tuple[str, ...]] = {}
        positions: dict[str, list[int]] = {}
        for j, feature in enumerate(self.features):
            positions.setdefault(feature.column, []).append(j)
        for name, features in positions.items():
            if name in self.levels:
                strange = self._fill_levels(table[name], name, features, values)
                if strange:
                    unknown[name] = strange
            else:
                numbers = to_numbers(table[name], name, decimal=decimal, locations=locations)
                for j in features:
                    values[:, j] = numbers
        if np.all((values == 0) | (values == 1)):
            wide = values.shape[1] > values.shape[0]
            return values.astype(np.int8, order="C" if wide else "F"), unknown
        return values, unknown

    def _fill_levels(
        self, column: pa.ChunkedArray, name: str, indices: list[int], values: AnyArray
    ) -> tuple[str, ...]:
        parts, codes = levels_and_codes(column, name)
        known = set(self.levels[name])
        texts = [text if text in known else _as_number(text) for text in parts.to_pylist()]
        is_known = np.array([text in known for text in texts] + [False])  # the last: missing
        observed = is_known[codes]
        for j in indices:
            if self.features[j].coded:
                rank = {level: index for index, level in enumerate(self.levels[name])}
                values[:, j] = np.array([rank.get(text, np.nan) for text in texts] + [np.nan])[
                    codes
                ]
                continue
            level = self.features[j].level
            ones = np.array([text == level for text in texts] + [False])[codes]
            values[:, j] = np.where(observed, ones, np.nan)
        strange = [text for text in parts.to_pylist() if _as_number(text) not in known]
        return tuple(text for text in strange if text not in known)[:MAX_UNKNOWN]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for a file; which features are codes, only where some are."""
        coded = [feature.coded for feature in self.features]
        return {
            "names": [feature.name for feature in self.features],
            "columns": [feature.column for feature in self.features],
            "of_level": [feature.level for feature in self.features],
            "levels": {column: list(known) for column, known in self.levels.items()},
            **({"coded": coded} if any(coded) else {}),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Encoding:
        """Return the encoding that plain data describe; ValueError where they are odd."""
        keys = {"names", "columns", "of_level", "levels"}
        if not isinstance(data, dict) or set(data) - {"coded"} != keys:
            msg = f"an encoding must hold {sorted(keys)} and nothing else but 'coded'."
            raise ValueError(msg)
        names, columns, of_level = (data[key] for key in ("names", "columns", "of_level"))
        _check_texts(names, "names")
        _check_texts(columns, "columns")
        if not isinstance(of_level, list) or not len(names) == len(columns) == len(of_level):
            msg = "an encoding must hold as many names as columns and categories."
            raise ValueError(msg)
        if len(set(names)) < len(names):
            msg = "an encoding must not hold a name twice."
            raise ValueError(msg)
        coded = data.get("coded", [False] * len(names))
        if (
            not isinstance(coded, list)
            or len(coded) != len(names)
            or not all(isinstance(text, bool) for text in coded)
        ):
            msg = "an encoding must state for each feature whether it is a code, or for none."
            raise ValueError(msg)
        levels = _checked_levels(data["levels"])
        if set(levels) - set(columns):
            msg = "an encoding must not hold categories of columns without features."
            raise ValueError(msg)
        for column, level, code in zip(columns, of_level, coded, strict=True):
            has_levels = column in levels
            if has_levels != (code or level is not None) or (
                level is not None and (code or level not in levels[column])
            ):
                msg = f"an encoding holds a category of column {shown(column)} that it cannot have."
                raise ValueError(msg)
        parts = zip(names, columns, of_level, coded, strict=True)
        return cls(tuple(Feature(*part) for part in parts), levels)


def _as_number(text: str) -> str:
    """Return a number as a category that comes from numbers is written: "1.0" as "1"."""
    try:
        return number_text(float(text)) if "." in text else text
    except ValueError:
        return text


def _check_texts(values: Any, what: str) -> None:
    # A lone surrogate, which JSON can spell, is no text: it could not be written to a file.
    if not isinstance(values, list) or not all(
        isinstance(v, str) and v and _is_unicode(v) for v in values
    ):
        msg = f"the {what} of an encoding must be a list of texts."
        raise ValueError(msg)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _checked_levels(data: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(data, dict) or not all(isinstance(column, str) for column in data):
        msg = "the categories of an encoding must be given by column."
        raise ValueError(msg)
    for column, known in data.items():
        _check_texts(known, f"categories of column {shown(column)}")
        if len(known) < 2 or known != sorted(set(known)):
            msg = f"column {shown(column)} must have two or more different, sorted categories."
            raise ValueError(msg)
    return {column: tuple(known) for column, known in data.items()}


def encoding_of(columns: Sequence[Column], *, coded: bool = False) -> Encoding:
    """Return the encoding of all columns that are not left out.

    Numbers keep the name of their column. A text column with two categories becomes the feature
    "column=second category in sorted order", one with more a feature "column=category" for each.

    Parameters
    ----------
    columns : sequence of Column
        The columns.
    coded : bool, default=False
        Whether a text column with more than two categories is one feature instead, the code of its
        category, under the name of the column.
    """
    features: list[Feature] = []
    levels: dict[str, tuple[str, ...]] = {}
    for column in columns:
        if column.kind == "left out":
            continue
        if not column.levels:
            features.append(Feature(column.name, column.name))
            continue
        levels[column.name] = column.levels
        if coded and len(column.levels) > 2:
            features.append(Feature(column.name, column.name, coded=True))
            continue
        used = column.levels[1:] if len(column.levels) == 2 else column.levels
        features.extend(Feature(f"{column.name}={level}", column.name, level) for level in used)
    seen: dict[str, Feature] = {}
    for feature in features:
        other = seen.setdefault(feature.name, feature)
        if other is not feature:
            msg = (
                f"columns {shown(other.column)} and {shown(feature.column)} both give a feature "
                f"{shown(feature.name)}; rename one of them."
            )
            raise InputError(msg)
    return Encoding(tuple(features), levels)
