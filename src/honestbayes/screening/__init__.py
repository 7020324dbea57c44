"""From a table to exact counts per class: one pass, additive, any kind of source."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from honestbayes.screening.binarization import (
    Binarization,
    BinarizeOption,
    learn_binarization,
)
from honestbayes.screening.counting import count_block
from honestbayes.screening.levels import is_missing
from honestbayes.screening.record import Screening
from honestbayes.screening.sources import Source, as_source
from honestbayes.types import AnyArray, BoolArray, IntArray

__all__ = [
    "Binarization",
    "Screening",
    "Source",
    "as_source",
    "check_as_many",
    "encode_classes",
    "encode_labels",
    "screen",
]


def encode_classes(y: Any, classes: Any = None) -> tuple[AnyArray, BoolArray]:
    """Return the two class labels, sorted, and which rows are of the second one."""
    if classes is None:
        found, codes = encode_labels(y)
        if found.size > 2:
            msg = (
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(codes)} with {found.size} classes."
            )
            raise ValueError(msg)
        return found, codes == 1
    labels, classes = _checked_labels(y), np.asarray(classes)
    strange = np.setdiff1d(labels, classes)
    if classes.shape != (2,) or strange.size:
        msg = f"y holds {np.unique(labels).tolist()}, but the classes are {classes.tolist()}."
        raise ValueError(msg)
    return classes, labels == classes[1]


def encode_labels(y: Any) -> tuple[AnyArray, IntArray]:
    """Return the class labels, sorted, of two kinds or more, and the class of each row."""
    classes, codes = np.unique(_checked_labels(y), return_inverse=True)
    if classes.size == 1:
        msg = (
            f"y holds only one class, {classes.tolist()[0]!r}; two classes are needed to learn "
            "what tells them apart."
        )
        raise ValueError(msg)
    return classes, codes


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


def screen(
    X: Any,
    y: Any,
    *,
    binarize: BinarizeOption | Binarization = "auto",
    classes: Any = None,
) -> Screening:
    """Count, for every feature and class, the ones and the observed cases.

    Parameters
    ----------
    X : array, SciPy sparse, pandas or polars frame, or Source, of shape (n, p)
        Integers, booleans or floats; NaN is missing.
    y : array-like of shape (n,)
        Class labels of two kinds.
    binarize : {"auto", "median"}, float, None or Binarization, default="auto"
        How values become 0/1: two-valued columns as they are and others at their median; all at
        the median; all at a number; not at all (the data must be 0/1); as another screening did.
    classes : array-like of shape (2,), optional
        The labels, for a part of the rows that may lack one of them.

    Returns
    -------
    Screening

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import screen
    >>> X = np.array([[0, 1], [0, 1], [1, 0], [1, 1]])
    >>> screen(X, ["a", "a", "b", "b"]).ones
    array([[0, 2],
           [2, 1]])
    """
    source = as_source(X)
    labels, is_class_1 = encode_classes(y, classes)
    n, p = source.shape
    check_as_many(n, is_class_1.size)

    def describe(column: int) -> str:
        names = source.feature_names
        return f"column {column}" if names is None else f"column {names[column]!r}"

    if isinstance(binarize, Binarization):
        rule = binarize
        if rule.cut.size != p:
            msg = f"binarize holds {rule.cut.size} columns, but X has {p}."
            raise ValueError(msg)
    else:
        rule = learn_binarization(source, binarize, describe)
    ones = np.zeros((2, p), dtype=np.int64)
    counts = np.array([np.sum(~is_class_1), np.sum(is_class_1)], dtype=np.int64)
    observed: AnyArray | None = None
    for block in source.blocks():
        start = block.columns.start
        block_ones, block_observed = count_block(
            block.values,
            is_class_1[block.rows],
            rule.cut[block.columns],
            lambda column, start=start: describe(start + column),
        )
        ones[:, block.columns] += block_ones
        if block_observed is not None:
            if observed is None:
                observed = np.repeat(counts[:, None], p, axis=1)
            observed[:, block.columns] = block_observed
    return Screening(
        classes=labels,
        class_counts=(int(counts[0]), int(counts[1])),
        ones=ones,
        observed=counts[:, None] if observed is None else observed,
        binarization=rule,
        feature_names=source.feature_names,
    )
