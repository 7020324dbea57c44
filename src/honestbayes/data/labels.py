"""Class labels: sorted, coded, and checked for missing values."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from honestbayes.data.kinds import is_missing
from honestbayes.types import AnyArray, BoolArray, IntArray

_MANY, _FEW = 10_000, 10

VERY_MANY = 1_000_000
"""From so many rows on, the number of a class is a byte."""

FEW_ROWS = 0.05
"""Share of the rows up to which a label such as "none" is taken for a missing class: more rows are
a class of their own."""

_BETWEEN_WORDS = re.compile(r"(?<=\w)[\s_-]+(?=\w)")
_MEANS_MISSING = re.compile(
    r"(is |was )?(unknown|unk|uncertain|undetermined|unclear|undefined|unspecified|missing|pending|"
    r"not (done|known|available|applicable|determined|assessed|evaluated|evaluable|recorded|"
    r"reported|tested|performed|measured|given|stated)|no (data|information|info|value|answer)|"
    r"n[./ ]?a\.?|n[./ ]?[dk]\.?|tbd|tbc|to be (determined|done|confirmed)|refused|declined|\?+|"
    r"null|nan|blank|empty)"
)
_MAY_MEAN_MISSING = re.compile(r"none|nil|other|-+|\.+|x+|void|invalid|error")


def encode_classes(y: Any, classes: Any = None) -> tuple[AnyArray, BoolArray]:
    """Return the two class labels, sorted, and which rows are of the second one."""
    if classes is None:
        present, codes = encode_labels(y)
        if present.size > 2:
            msg = (
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(codes)} with {present.size} classes."
            )
            raise ValueError(msg)
        return present, codes == 1
    labels, classes = _checked_labels(y), np.asarray(classes)
    strange = np.setdiff1d(labels, classes)
    if classes.shape != (2,) or strange.size:
        msg = f"y holds {np.unique(labels).tolist()}, but the classes are {classes.tolist()}."
        raise ValueError(msg)
    return classes, labels == classes[1]


def encode_labels(y: Any) -> tuple[AnyArray, IntArray]:
    """Return the class labels, sorted, of two kinds or more, and the class of each row.

    Warns
    -----
    UserWarning
        Where one label is spelled in several ways, or a label means that the class is missing.
    """
    classes, codes = _coded(_checked_labels(y))
    _warn_of_doubtful(classes, codes)
    if classes.size == 1:
        msg = (
            f"y holds only one class, {classes.tolist()[0]!r}; give the labels of two classes or "
            "more."
        )
        raise ValueError(msg)
    return classes, codes


def label_key(label: str) -> str:
    """Return a key that all spellings of a label share: without case, blanks, hyphens, underscores.

    >>> label_key("Yes ") == label_key("YES"), label_key("non-event") == label_key("Non_event")
    (True, True)
    >>> label_key("HER2-") == label_key("HER2"), label_key("-1") == label_key("1")
    (False, False)
    """
    text = unicodedata.normalize("NFKC", label).strip()
    return _BETWEEN_WORDS.sub(" ", text).casefold()


def spellings(labels: Sequence[str]) -> list[list[str]]:
    """Return the labels that differ in their spelling only, those of one class together."""
    by_key: dict[str, list[str]] = {}
    for label in labels:
        by_key.setdefault(label_key(label), []).append(label)
    return [same for same in by_key.values() if len(same) > 1]


def missing_labels(labels: Sequence[str], counts: Sequence[int]) -> list[str]:
    """Return the labels that mean that the class is missing, beside two other classes or more.

    Parameters
    ----------
    labels : sequence of str
        All labels.
    counts : sequence of int
        Their rows: a label such as "none" is taken for a missing class where they are few.

    Examples
    --------
    >>> missing_labels(["no", "unknown", "yes"], [50, 3, 47])
    ['unknown']
    >>> missing_labels(["mild", "none", "severe"], [50, 30, 47])
    []
    """
    few = max(3.0, FEW_ROWS * sum(counts))
    meaning_missing = [
        label
        for label, count in zip(labels, counts, strict=True)
        if _MEANS_MISSING.fullmatch(label_key(label))
        or (count <= few and _MAY_MEAN_MISSING.fullmatch(label_key(label)))
    ]
    return (
        meaning_missing
        if len({label_key(label) for label in labels} - set(map(label_key, meaning_missing))) > 1
        else []
    )


def _warn_of_doubtful(classes: AnyArray, codes: IntArray) -> None:
    """Warn of labels that are hardly classes of their own."""
    texts = [label for label in classes.tolist() if isinstance(label, str)]
    if len(texts) < classes.size or classes.size < 2:
        return
    for same in spellings(texts):
        warnings.warn(
            f"y holds {', '.join(map(repr, same))} as {len(same)} classes; if they are one class, "
            "spell them in one way.",
            UserWarning,
            stacklevel=4,
        )
    for label in missing_labels(texts, np.bincount(codes, minlength=classes.size).tolist()):
        warnings.warn(
            f"y holds {label!r} as a class; if it marks a missing class, leave out these rows.",
            UserWarning,
            stacklevel=4,
        )


def _coded(labels: AnyArray) -> tuple[AnyArray, IntArray]:
    """Return the different labels, sorted, and the index of each row's among them.

    Few classes of many rows are compared one by one, which is faster than sorting all rows.
    """
    if labels.dtype.kind in "biuf" and labels.size > _MANY:
        classes = np.unique(labels)
        if classes.size <= _FEW:
            small = np.int8 if labels.size > VERY_MANY else np.int64
            codes: IntArray = cast(IntArray, np.zeros(labels.size, dtype=small))
            for code, label in enumerate(classes.tolist()[1:], start=1):
                codes[labels == label] = code
            return classes, codes
    return np.unique(labels, return_inverse=True)


def _checked_labels(y: Any) -> AnyArray:
    """Return labels of rows, none of them missing."""
    if y is None:
        msg = "requires y to be passed, but the target y is None."
        raise ValueError(msg)
    labels: AnyArray = column_or_1d(y, warn=True)
    missing = _missing_labels(labels)
    if missing.size:
        msg = f"Input y contains NaN: it is missing in row {missing[0]}; leave such rows out."
        raise ValueError(msg)
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        msg = f"Input y contains infinity in row {int(np.flatnonzero(np.isinf(labels))[0])}."
        raise ValueError(msg)
    check_classification_targets(labels)
    return labels


def check_as_many(n_rows: int, n_labels: int) -> None:
    """Refuse labels that are not one for each row."""
    if n_labels != n_rows:
        msg = (
            "Found input variables with inconsistent numbers of samples: "
            f"X has {n_rows} rows, y has {n_labels}."
        )
        raise ValueError(msg)


def _missing_labels(labels: AnyArray) -> IntArray:
    """Rows whose label is NaN, None or NA."""
    if labels.dtype.kind == "f":
        return np.flatnonzero(np.isnan(labels))
    if labels.dtype.kind != "O":
        return np.zeros(0, dtype=np.int64)
    missing = [row for row, label in enumerate(labels) if is_missing(label)]
    return np.array(missing, dtype=np.int64)
