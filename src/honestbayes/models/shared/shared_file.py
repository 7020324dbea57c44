"""What model files of every kind hold: the selection, the class labels, the choice of a number.

Reading distrusts: every number is checked for what it means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

import numpy as np

from honestbayes.files import ModelFileError, write_archive
from honestbayes.files.entries import Entries, Plain, texts_as_arrays
from honestbayes.models.shared.number import NumberChoice
from honestbayes.selection import Selection
from honestbayes.types import AnyArray

MOST_CASES = 10**10
MOST_FEATURES = 10**12
"""Sizes beyond any data, so that no work after loading is without bound."""

MOST_CLASSES = 10**4

SLOPES = (1e-6, 1e6)
"""Far beyond any slope that can be learnt (exp(-8) to exp(4))."""


def write_readable(
    path: str | PathLike[str],
    kind: str,
    plain: Plain,
    read: Callable[[Mapping[str, Any], Mapping[str, AnyArray]], Any],
) -> None:
    """Write a model of some kind to a file, unless ``read`` could not read it again."""
    try:
        read(*plain)
    except ModelFileError as error:
        msg = f"the model cannot be saved: {error}."
        raise ValueError(msg) from None
    write_archive(path, kind, *plain)


# ------------------------------------------------------------------------------- selection

_NAMES = ("kept_names", "always_kept_names")


def selection_to_plain(selection: Selection) -> Plain:
    """Return `Selection.to_dict`, with what grows with the number of features in arrays."""
    content = selection.to_dict()
    for name in ("n_features_in", "n_tied_kept"):
        content[name] = int(content[name])
    for name in ("gamma_squared", "class_counts"):
        content[name] = [int(value) for value in content[name]]
    arrays: dict[str, AnyArray] = {
        "kept": np.array(content.pop("kept"), dtype=np.int64),
        "always_kept": np.array(content.pop("always_kept"), dtype=np.int64),
        "groups": np.array(content.pop("groups"), dtype=np.int64).reshape(
            -1, len(selection.class_counts) + 3
        ),
    }
    for name in _NAMES:
        names = content.pop(name)
        content[f"has_{name}"] = names is not None
        if names is not None:
            arrays |= texts_as_arrays(name, names)
    return content, arrays


def selection_from_plain(entries: Entries) -> Selection:
    """Return the record that `selection_to_plain` described."""
    counts = entries.value("class_counts")
    n_classes = len(counts) if isinstance(counts, list) else 0
    groups = entries.counts("groups", (None, None))
    if groups.shape[1] == n_classes + 2:  # written before there were features of other kinds
        groups = np.insert(groups, n_classes + 2, 2, axis=1)
    data: dict[str, Any] = {
        "kept": entries.counts("kept", (None,)).tolist(),
        "always_kept": entries.counts("always_kept", (None,)).tolist(),
        "groups": groups.tolist(),
    }
    for name in _NAMES:
        data[name] = list(entries.texts(name)) if entries.flag(f"has_{name}") else None
    data["class_counts"] = counts
    for name in ("rule", "gamma_squared", "n_features_in", "n_tied_kept"):
        data[name] = entries.value(name)
    data["ties_known"] = entries.flag("ties_known")
    if entries.has("criterion"):
        for name in ("criterion", "strength_bound"):
            data[name] = entries.value(name)
    entries.finish()
    try:
        selection = Selection.from_dict(data)
    except (TypeError, ValueError) as error:
        raise ModelFileError(str(error)[:200].rstrip(".")) from None
    entries.check(sum(selection.class_counts) <= MOST_CASES, "class_counts", "is too large")
    entries.check(selection.n_features_in <= MOST_FEATURES, "n_features_in", "is too large")
    all_named = selection.kept_names is None or selection.always_kept_names is not None
    entries.check(
        all_named or not selection.always_kept, "always_kept_names", "is missing beside kept_names"
    )
    return selection


_LABELS: dict[str, type] = {"U": str, "O": str, "i": int, "u": int, "f": float, "b": bool}


def classes_to_plain(classes: AnyArray) -> dict[str, Any]:
    """Return class labels with their type; they stand in JSON."""
    kind = classes.dtype.kind
    labels = classes.tolist()
    if kind not in _LABELS or not all(isinstance(label, _LABELS[kind]) for label in labels):
        msg = f"class labels of type {classes.dtype} cannot be saved; use texts or numbers."
        raise ValueError(msg)
    return {"kind": kind, "bytes": None if kind in "UO" else classes.itemsize, "labels": labels}


def classes_from_plain(entries: Entries, n_classes: int) -> AnyArray:
    """Return the labels that `classes_to_plain` described."""
    kind = entries.one_of("kind", _LABELS)
    size, labels = entries.value("bytes"), entries.value("labels")
    entries.finish()
    good = isinstance(labels, list) and len(labels) == n_classes
    if not good or not all(type(label) is _LABELS[kind] for label in labels):
        entries.refuse("labels", f"is not a list of {n_classes} labels")
    if kind == "O":
        classes: AnyArray = np.array(labels, dtype=object)
    elif kind == "U":
        classes = np.array(labels, dtype=np.str_)
    else:
        sizes = {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "b": (1,)}[kind]
        if type(size) is not int or size not in sizes:
            entries.refuse("bytes", "is not the size of a number")
        try:
            with np.errstate(over="ignore"):
                classes = np.array(labels, dtype=np.dtype(f"{kind}{size}"))
        except (OverflowError, ValueError):
            entries.refuse("labels", "does not fit its type")
    if classes.tolist() != labels or len(set(labels)) < n_classes:
        entries.refuse("labels", f"is not a list of {n_classes} different labels")
    return classes


# --------------------------------------------------------------------- number of features


def number_choice_to_plain(choice: NumberChoice) -> Plain:
    """Return the numbers that were tried, and their log scores."""
    arrays = {"n_features": choice.n_features, "log_score": choice.log_score}
    return {"chosen": int(choice.chosen)}, arrays


def number_choice_from_plain(entries: Entries) -> NumberChoice:
    """Return the choice that `number_choice_to_plain` described."""
    tried = entries.counts("n_features", (None,))
    log_score = entries.floats("log_score", tried.shape)
    entries.check(not np.isinf(log_score).any(), "log_score", "is infinite")
    chosen = entries.value("chosen")
    if type(chosen) is not int or chosen not in tried.tolist():
        entries.refuse("chosen", "is not one of the numbers that were tried")
    entries.finish()
    return NumberChoice(tried, log_score, chosen)
