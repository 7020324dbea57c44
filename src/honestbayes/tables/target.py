"""The column that holds the class: its two labels, and which of them is the positive one."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from honestbayes.tables.conversion import (
    floats,
    is_number,
    is_text,
    levels_and_codes,
    number_text,
)
from honestbayes.tables.errors import InputError, listed, shown
from honestbayes.types import BoolArray, IntArray

MIN_CASES = 2
"""Cases of each class: of one alone, nothing can be learnt."""

_MANY_CLASSES = 10  # a target with more different numbers than this was not meant as a class


@dataclass(frozen=True, slots=True)
class Target:
    """Classes of the rows.

    Attributes
    ----------
    labels : tuple of str
        The negative and the positive class.
    has_class : ndarray of shape (number of rows,)
        Whether the row's class is known.
    positive : ndarray of shape (number of rows with a class,)
        1 where the class is the positive one, else 0.
    """

    labels: tuple[str, str]
    has_class: BoolArray
    positive: IntArray


def read_target(column: pa.ChunkedArray, name: str, positive: str | None) -> Target:
    """Find the two classes of a column.

    Labels are sorted, numbers as numbers; the positive class is the second one unless given.
    """
    labels, codes = _labels_and_codes(column, name)
    _check_two(labels, name, column)
    if positive is not None:
        chosen = _chosen(positive, labels, name, column)
        if chosen == 0:
            labels, codes = labels[::-1], np.where(codes >= 0, 1 - codes, -1)
    has_class = codes >= 0
    ones = codes[has_class].astype(np.int64)
    for code, label in enumerate(labels):
        cases = int(np.sum(ones == code))
        if cases < MIN_CASES:
            msg = (
                f"class {shown(label)} of column {shown(name)} has {cases} case; at least "
                f"{MIN_CASES} cases of each class are needed."
            )
            raise InputError(msg)
    return Target((labels[0], labels[1]), has_class, ones)


def known_classes(
    column: pa.ChunkedArray, name: str, labels: tuple[str, str]
) -> tuple[BoolArray, IntArray]:
    """Find the classes of a column whose labels are known from a model.

    Returns
    -------
    has_class : ndarray of shape (number of rows,)
        Whether the row's class is known.
    positive : ndarray of shape (number of rows with a class,)
        1 where it is the second label.
    """
    found, codes = _labels_and_codes(column, name)
    strange = [label for label in found if label not in labels]
    if strange:
        msg = (
            f"the target column {shown(name)} holds {listed(strange)}, but the model knows the "
            f"classes {listed(labels)}; write the classes as the model knows them."
        )
        raise InputError(msg)
    places = np.array([labels.index(label) for label in found] + [-1], dtype=np.int64)
    known = places[codes]
    return known >= 0, known[known >= 0]


def _labels_and_codes(column: pa.ChunkedArray, name: str) -> tuple[list[str], IntArray]:
    """Return the sorted labels, and the position of each row's label (-1: missing)."""
    if pa.types.is_null(column.type):
        return [], np.full(len(column), -1, dtype=np.int64)
    if is_number(column.type):
        values = floats(column)
        observed = ~np.isnan(values)
        levels, places = np.unique(values[observed], return_inverse=True)
        codes = np.full(values.size, -1, dtype=np.int64)
        codes[observed] = places
        if pa.types.is_boolean(column.type):
            return [("false", "true")[int(level)] for level in levels], codes
        return [number_text(level) for level in levels.tolist()], codes
    if not is_text(column.type):
        msg = (
            f"the target column {shown(name)} holds values of type {shown(str(column.type))}; "
            "give a column with two classes."
        )
        raise InputError(msg)
    words, unsorted = levels_and_codes(column, name)
    texts = words.to_pylist()
    order = sorted(range(len(texts)), key=lambda place: texts[place])
    rank = np.full(len(texts) + 1, -1, dtype=np.int64)
    rank[order] = np.arange(len(texts))
    return [texts[place] for place in order], rank[unsorted]


def _check_two(labels: list[str], name: str, column: pa.ChunkedArray) -> None:
    target = f"the target column {shown(name)}"
    if len(column) == 0:
        msg = f"{target} has no rows; give a table with rows below its header."
        raise InputError(msg)
    if not labels:
        msg = f"{target} has no values; give a column with two classes."
        raise InputError(msg)
    if len(labels) == 1:
        msg = f"{target} holds one class only, {shown(labels[0])}; two classes are needed."
        raise InputError(msg)
    if len(labels) == 2:
        return
    if is_number(column.type) and len(labels) > _MANY_CLASSES:
        msg = (
            f"{target} has {len(labels):,} different numbers; give a column with two classes, for "
            "example whether the number is above a cut that you choose."
        )
        raise InputError(msg)
    msg = (
        f"{target} has {len(labels):,} classes ({listed(labels)}); two classes are needed: leave "
        "out or merge the others."
    )
    raise InputError(msg)


def _chosen(positive: str, labels: list[str], name: str, column: pa.ChunkedArray) -> int:
    """Return which label the user means; "1.0" means 1, and "True" means true."""
    word = positive.strip()
    if pa.types.is_boolean(column.type):
        word = word.lower()
    elif is_number(column.type):
        with contextlib.suppress(ValueError):
            word = number_text(float(word))
    if word not in labels:
        msg = (
            f"column {shown(name)} has no class {shown(positive)}; its classes are "
            f"{listed(labels)}."
        )
        raise InputError(msg)
    return labels.index(word)
