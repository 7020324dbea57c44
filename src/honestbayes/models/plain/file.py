"""A fitted `DiscreteNB` as plain data, and back; what cannot be one is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined, texts_as_arrays
from honestbayes.models.plain.counts import LevelCounts, slots_of
from honestbayes.models.shared.parameters import check_prevalences, whole_number
from honestbayes.models.shared.parameters_file import plain_scalar
from honestbayes.models.shared.shared_file import (
    MOST_CLASSES,
    MOST_FEATURES,
    classes_from_plain,
    classes_to_plain,
    write_readable,
)
from honestbayes.sources.coding import Coding
from honestbayes.sources.kinds import KINDS
from honestbayes.types import AnyArray

_KIND = "DiscreteNB"
_LARGEST = 1e100
"""Weights and smoothing beyond any data, so that sums stay finite."""

_SMALLEST = 1e-300
"""Smoothing whose logarithm is still finite after it is divided by a number of levels."""

_MOST_LEVELS = 10**9
_CLOSE = 1e-6


@dataclass(frozen=True, slots=True)
class FittedDiscreteNB:
    """All that a fitted model is.

    Attributes
    ----------
    parameters : mapping
        The constructor's.
    columns : KnownColumns
        Classes, and the columns of the table.
    coding : Coding
        Bins and levels of each column.
    counts : LevelCounts
        Weights by level and class.
    """

    parameters: Mapping[str, Any]
    columns: KnownColumns
    coding: Coding
    counts: LevelCounts


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """What `fit` knows of a table.

    Attributes
    ----------
    classes : ndarray of shape (C,)
        Class labels.
    n_features_in : int
        Number of columns.
    names : tuple of str or None
        What they are called.
    """

    classes: AnyArray
    n_features_in: int
    names: tuple[str, ...] | None

    @classmethod
    def of(cls, estimator: Any) -> KnownColumns:
        """Return what a fitted estimator knows."""
        names = getattr(estimator, "feature_names_in_", None)
        words = None if names is None else tuple(map(str, names))
        return cls(estimator.classes_, int(estimator.n_features_in_), words)

    def give_to(self, estimator: Any) -> None:
        """Set the attributes of an estimator that knows the same."""
        estimator.classes_ = self.classes
        estimator.n_features_in_ = self.n_features_in
        if self.names is not None:
            estimator.feature_names_in_ = np.array(self.names, dtype=object)


def save_discrete(model: FittedDiscreteNB, path: str | PathLike[str]) -> None:
    """Write the model to a file, unless it could not be read again."""
    write_readable(path, _KIND, discrete_to_plain(model), discrete_from_plain)


def discrete_to_plain(model: FittedDiscreteNB) -> Plain:
    """Return the model as content for JSON and named arrays."""
    given = model.parameters
    prior = given["class_prior"]
    parameters: dict[str, Any] = {
        "smoothing": plain_scalar(given["smoothing"]),
        "n_bins": plain_scalar(given["n_bins"]),
        "kinds": kinds_to_plain(given["kinds"]),
        "class_prior": None if prior is None else np.asarray(prior, dtype=float).tolist(),
    }
    arrays = {"slots": model.counts.slots, "class_count": model.counts.classes}
    return joined(
        columns_to_plain(model.columns),
        ({}, arrays),
        parameters=(parameters, {}),
        coding=_coding_to_plain(model.coding),
    )


def discrete_from_plain(
    content: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> FittedDiscreteNB:
    """Return the model that `discrete_to_plain` described; refuse anything else.

    Raises
    ------
    ModelFileError
        Without the name of the file.
    """
    entries = Entries(content, arrays)
    columns = columns_from_plain(entries)
    parameters = _parameters_from_plain(entries.section("parameters"), columns)
    coding = _coding_from_plain(entries.section("coding"), columns.n_features_in)
    counts = _counts_from_plain(entries, coding, columns.classes.size)
    entries.finish()
    return FittedDiscreteNB(parameters, columns, coding, counts)


# ------------------------------------------------------------------- shared with the selectors


def columns_to_plain(columns: KnownColumns) -> Plain:
    """Return classes, number and names of columns."""
    names = columns.names
    content = {
        "n_classes": int(columns.classes.size),
        "classes": classes_to_plain(columns.classes),
        "n_features_in": columns.n_features_in,
        "has_feature_names": names is not None,
    }
    return content, {} if names is None else texts_as_arrays("feature_names", names)


def columns_from_plain(entries: Entries) -> KnownColumns:
    """Return what `columns_to_plain` described."""
    n_classes = whole(entries, "n_classes", 2, MOST_CLASSES)
    classes = classes_from_plain(entries.section("classes"), n_classes)
    n_features_in = whole(entries, "n_features_in", 1, MOST_FEATURES)
    names = entries.texts("feature_names") if entries.flag("has_feature_names") else None
    if names is not None:
        entries.check(len(names) == n_features_in, "feature_names", "does not name every column")
    return KnownColumns(classes, n_features_in, names)


def whole(entries: Entries, name: str, low: int, high: int) -> int:
    """Return a whole number within bounds."""
    value = entries.value(name)
    entries.check(
        type(value) is int and low <= value <= high, name, f"is not a number from {low} to {high}"
    )
    return int(value)


def kinds_to_plain(kinds: Any) -> list[Any] | None:
    """Return kinds that a user named: pairs of a column and its kind, or one for each column."""
    if isinstance(kinds, Mapping):
        return [[plain_scalar(key), str(kind)] for key, kind in kinds.items()] or None
    return None if kinds is None else [str(kind) for kind in kinds]


def kinds_from_plain(entries: Entries, columns: KnownColumns) -> Any:
    """Return the mapping or the list that `kinds_to_plain` described."""
    given = entries.value("kinds")
    if given is None:
        return None
    entries.check(isinstance(given, list) and given, "kinds", "are not a list")
    if all(isinstance(kind, str) for kind in given):
        good = len(given) == columns.n_features_in and all(kind in KINDS for kind in given)
        entries.check(good, "kinds", "are not those of the columns")
        return given
    names = set(columns.names or ())
    for pair in given:
        good = isinstance(pair, list) and len(pair) == 2 and pair[1] in KINDS
        entries.check(good, "kinds", "are not pairs of a column and its kind")
        key = pair[0]
        known = type(key) is int and 0 <= key < columns.n_features_in
        known = known or (isinstance(key, str) and key in names)
        entries.check(known, "kinds", "name a column that is not there")
    return dict(given)


def smoothing_from_plain(entries: Entries) -> float | int:
    """Return what levels are given more; a whole number stays one."""
    value: float | int = entries.value("smoothing")
    good = type(value) in (int, float) and _SMALLEST <= value <= _LARGEST
    entries.check(good, "smoothing", f"is not a number from {_SMALLEST:g} to {_LARGEST:g}")
    return value


def checked_whole(entries: Entries, name: str, least: int, *, may_be_none: bool = False) -> Any:
    """Return a whole number as the constructor takes it, from ``least`` on."""
    value = entries.value(name)
    try:
        if not (value is None and may_be_none):
            whole_number({name: value}, name, least)
    except (ValueError, OverflowError):
        entries.refuse(name, f"is not a whole number from {least} on")
    return value


# ----------------------------------------------------------------------------------- pieces


def _parameters_from_plain(entries: Entries, columns: KnownColumns) -> dict[str, Any]:
    parameters = {
        "smoothing": smoothing_from_plain(entries),
        "n_bins": checked_whole(entries, "n_bins", 2),
        "kinds": kinds_from_plain(entries, columns),
        "class_prior": entries.value("class_prior"),
    }
    prior = parameters["class_prior"]
    if prior is not None:
        good = isinstance(prior, list) and all(type(share) in (int, float) for share in prior)
        entries.check(good, "class_prior", "is not a list of shares")
        try:
            check_prevalences(prior, columns.classes.size)
        except (ValueError, OverflowError):
            entries.refuse("class_prior", "is not a list of shares that sum to 1")
    entries.finish()
    return parameters


def _coding_to_plain(coding: Coding) -> Plain:
    """Write rules column after column: those of numbers in one array, texts in another."""
    is_text = np.array([rule.dtype.kind == "O" for rule in coding.rules], dtype=bool)
    numbers = [rule for rule in coding.rules if rule.dtype.kind != "O"]
    words = [word for rule in coding.rules if rule.dtype.kind == "O" for word in rule.tolist()]
    arrays: dict[str, AnyArray] = {
        "kinds": np.array([KINDS.index(kind) for kind in coding.kinds], dtype=np.int64),
        "size": np.array([rule.size for rule in coding.rules], dtype=np.int64),
        "is_text": is_text,
        "number": np.concatenate([np.zeros(0), *numbers]),
    }
    return {}, arrays | texts_as_arrays("word", words)


def _coding_from_plain(entries: Entries, n_columns: int) -> Coding:
    codes = entries.counts("kinds", (n_columns,), len(KINDS) - 1)
    kinds = tuple(KINDS[code] for code in codes.tolist())
    size = entries.counts("size", (n_columns,), _MOST_LEVELS)
    is_text = entries.mask("is_text", (n_columns,))
    good = not np.any(is_text & (codes != KINDS.index("categorical")))
    entries.check(good, "is_text", "is said of columns of numbers")
    numbers = entries.finite("number", (int(size[~is_text].sum()),))
    words = entries.texts("word")
    entries.check(len(words) == int(size[is_text].sum()), "word", "does not name every level")
    entries.finish()
    rules: list[AnyArray] = []
    used = {False: 0, True: 0}
    for text, length in zip(is_text.tolist(), size.tolist(), strict=True):
        start, stop = used[text], used[text] + length
        used[text] = stop
        if text:
            part = words[start:stop]
            ordered = all(a < b for a, b in pairwise(part))
            rules.append(np.array(part, dtype=object))
        else:
            rules.append(numbers[start:stop].copy())
            ordered = bool(np.all(np.diff(rules[-1]) > 0))
        entries.check(ordered, "word" if text else "number", "is not in ascending order")
    return Coding(tuple(rules), kinds)


def _counts_from_plain(entries: Entries, coding: Coding, n_classes: int) -> LevelCounts:
    n_levels = coding.n_levels
    first = slots_of(n_levels)
    n_slots = int(np.sum(n_levels + 1))
    slots = entries.finite("slots", (n_slots, n_classes), 0.0, _LARGEST)
    classes = entries.finite("class_count", (n_classes,), 0.0, _LARGEST)
    entries.check(np.all(classes > 0), "class_count", "is 0 for a class")
    shares = np.log(classes / classes.sum())
    entries.check(np.all(np.isfinite(shares)), "class_count", "is next to nothing for a class")
    by_column = np.add.reduceat(slots, first)
    off = np.abs(by_column - classes) > _CLOSE * classes
    entries.check(not np.any(off), "slots", "do not sum to the weight of each class")
    return LevelCounts(first, n_levels, coding.is_open, slots, classes)
