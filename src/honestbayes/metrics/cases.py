"""Validation of predictions, and scores of each case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from honestbayes.types import FloatArray

# --------------------------------------------------------------------------------------------------
# Contributions of single cases to the scores, as arrays over cases and repeats
# --------------------------------------------------------------------------------------------------


ClassArray = NDArray[np.int64]

# What a double can still tell from 1: -log(2**-54).
_SATURATED_LOG_ODDS = 54 * np.log(2.0)
_LOG_TINY = float(np.log(np.finfo(np.float64).tiny))


def top_class(proba: FloatArray) -> NDArray[np.intp]:
    """Return the most probable class, shape (..., n_cases).

    The first of several that are equally probable; of two classes the second, as p = 1/2 predicts
    class 1.
    """
    if proba.shape[-1] == 2:
        return np.asarray(proba[..., 1] >= proba[..., 0], dtype=np.intp)
    return np.asarray(proba.argmax(axis=-1))


def expected_error_per_case(proba: FloatArray) -> FloatArray:
    """Return the predicted probability of being wrong.

    1 minus the largest probability, as the sum of the others, which keeps its digits.
    """
    others = proba.copy()
    np.put_along_axis(others, top_class(proba)[..., None], 0.0, axis=-1)
    return np.asarray(others.sum(axis=-1))


def error_per_case(y: ClassArray, proba: FloatArray) -> FloatArray:
    """Return 1.0 where the most probable class is not the actual one, shape (..., n_cases)."""
    return np.asarray(top_class(proba) != y, dtype=np.float64)


def squared_error_per_case(y: ClassArray, proba: FloatArray) -> FloatArray:
    """Return the squared error of each case, shape (..., n_cases).

    Summed over the classes; of two classes, whose terms are equal, one counts.
    """
    n_classes = proba.shape[-1]
    counted = slice(1 if n_classes == 2 else 0, None)
    return np.asarray(((np.eye(n_classes)[y] - proba)[..., counted] ** 2).sum(axis=-1))


def log_loss_per_case(y: ClassArray, log_proba: FloatArray) -> FloatArray:
    """Return minus the log probability of the actual class, shape (..., n_cases).

    A probability of 0 counts as the smallest normal double, so that the loss is at most 708.4.
    """
    chosen = np.take_along_axis(log_proba, np.broadcast_to(y, log_proba.shape[:-1])[..., None], -1)
    return np.asarray(-np.maximum(chosen[..., 0], _LOG_TINY))


def exact_logs(proba: FloatArray) -> FloatArray:
    """Return log(proba), by log1p of the other classes where a probability is near 1."""
    with np.errstate(divide="ignore"):
        logs = np.log(proba)
    rest, top = expected_error_per_case(proba), top_class(proba)[..., None]
    of_top = np.take_along_axis(logs, top, axis=-1)[..., 0]
    exact = np.where(rest < 0.5, np.log1p(-np.minimum(rest, 0.5)), of_top)
    np.put_along_axis(logs, top, exact[..., None], axis=-1)
    return np.asarray(logs)


def log_odds_against_first(log_proba: FloatArray) -> FloatArray:
    """Return finite log-odds of each class against the first, shape of `log_proba`.

    Infinite ones (probabilities of exactly 0 and 1) become the largest finite magnitude among the
    cases, or 37.4 where that is larger: what a double can tell from 1.
    """
    against_top = log_proba - log_proba.max(axis=-1, keepdims=True)
    finite = against_top[np.isfinite(against_top)]
    bound = max(_SATURATED_LOG_ODDS, float(-finite.min(initial=0.0)))
    clipped = np.maximum(against_top, -bound)
    return np.asarray(clipped - clipped[..., :1])


def log_odds_against_rest(log_proba: FloatArray) -> FloatArray:
    """Return finite log-odds of each class against all others, shape of `log_proba`.

    They rank cases as the probability of the class does, and where that rounds to 1 too.
    """
    columns = range(log_proba.shape[-1])
    rest = [logsumexp(np.delete(log_proba, c, axis=-1), axis=-1) for c in columns]
    log_odds = log_proba - np.stack(rest, axis=-1)
    finite = np.abs(log_odds[np.isfinite(log_odds)])
    bound = max(_SATURATED_LOG_ODDS, float(finite.max(initial=0.0)))
    clipped = np.clip(log_odds, -bound, bound)
    # Equal probabilities of a class must stay ties, however the sum of the others was rounded.
    return np.asarray(clipped if log_proba.shape[-1] == 2 else np.round(clipped, 10))


PerClass = Any
"""A number where there are two classes, a tuple of numbers where there are more."""

# Probabilities in single precision do not sum to 1 more exactly.
_SUM_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Validated classes and predicted probabilities.

    Attributes
    ----------
    y : ndarray of int, shape (n_cases,)
        The column of each case's class.
    proba : ndarray, shape (n_repeats, n_cases, n_classes)
        Probabilities of the classes.
    given_logs : ndarray or None, shape (n_repeats, n_cases, n_classes)
        Their logarithms, where the caller has them more exactly.
    """

    y: ClassArray
    proba: FloatArray
    given_logs: FloatArray | None = None

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.proba.shape[-1])

    def log_proba(self) -> FloatArray:
        """Return the logarithms of the probabilities: those that were given, or computed."""
        return exact_logs(self.proba) if self.given_logs is None else self.given_logs


def as_predictions(
    y_true: ArrayLike,
    p: ArrayLike | None,
    *,
    log_proba: ArrayLike | None = None,
    pos_label: Any = None,
    classes: ArrayLike | None = None,
    repeats: bool = False,
) -> Predictions:
    """Check classes and probabilities, and bring them into one form.

    Parameters
    ----------
    y_true : array-like, shape (n_cases,)
        Labels.
    p : array-like or None
        P(class 1), shape (n_cases,) or (n_repeats, n_cases); or a column for each class, shape
        (n_cases, n_classes) or (n_repeats, n_cases, n_classes). A square table is P(class 1) by
        repeats, unless there are more than two labels or `classes` says otherwise.
    log_proba : array-like, optional
        Logarithms, instead of `p` or beside it, with a column for each class.
    pos_label : label, optional
        With two classes, the label of class 1.
    classes : array-like, shape (n_classes,), optional
        The labels in the order of the columns.
    repeats : bool
        Whether more than one prediction of each case is allowed.
    """
    labels = np.asarray(y_true)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"y_true has shape {labels.shape}; give one label per case, at least one.")
    known = None if classes is None else np.asarray(classes)
    proba = None if p is None else _by_class(p, labels, known, repeats=repeats)
    logs = None if log_proba is None else _logs_by_class(log_proba, labels.size, repeats=repeats)
    if logs is not None:
        if proba is not None:
            _check_same_shape(logs, proba)
        _check_sums(np.exp(logs), "log_proba")
        proba = np.exp(logs) if proba is None else proba
    if proba is None:
        raise ValueError("p and log_proba are both missing; give one of them.")
    y = _as_columns(labels, proba.shape[-1], pos_label, known)
    return Predictions(y, proba, logs)


def _as_two_classes(labels: NDArray[Any], pos_label: Any) -> ClassArray:
    """Return two classes as 0 and 1.

    Parameters
    ----------
    labels : ndarray, shape (n_cases,)
        Two labels.
    pos_label : label or None
        The label of class 1. None: 1 where the labels are 0 and 1, else the second label in
        sorted order, which is column 1 of scikit-learn's ``predict_proba``.
    """
    present = np.unique(labels)
    if present.size > 2:
        raise ValueError(
            f"y_true holds {present.size} different labels; give two classes, or a column of p for "
            "each class."
        )
    if pos_label is not None:
        if present.size == 2 and pos_label not in present.tolist():
            raise ValueError(f"pos_label {pos_label!r} is not a label of y_true; give one of them.")
        return np.asarray(labels == pos_label, dtype=np.int64)
    if set(present.tolist()) <= {0, 1}:
        return np.asarray(labels, dtype=np.int64)
    if present.size == 1:
        raise ValueError(
            f"y_true holds only the label {present[0]!r}; name the label of class 1 with pos_label."
        )
    return np.asarray(labels == present[1], dtype=np.int64)


def _as_columns(
    labels: NDArray[Any], n_classes: int, pos_label: Any, classes: NDArray[Any] | None
) -> ClassArray:
    """Return the column of each label."""
    if classes is None:
        if n_classes == 2:
            return _as_two_classes(labels, pos_label)
        classes = np.unique(labels)
        if classes.size != n_classes:
            raise ValueError(
                f"y_true holds {classes.size} different labels for {n_classes} columns of p; give "
                "classes, the labels in the order of the columns."
            )
    if pos_label is not None:
        raise ValueError(
            "pos_label is for two classes without classes=; give classes, the labels in the order "
            "of the columns."
        )
    order = {label: column for column, label in enumerate(classes.tolist())}
    if classes.ndim != 1 or len(order) != n_classes:
        raise ValueError(
            f"classes holds {len(order)} different labels for {n_classes} columns of p; give one "
            "for each."
        )
    unknown = [label for label in np.unique(labels).tolist() if label not in order]
    if unknown:
        raise ValueError(f"y_true holds the label {unknown[0]!r}, which is not among the classes.")
    return np.array([order[label] for label in labels.tolist()], dtype=np.int64)


def as_probabilities(p: ArrayLike) -> FloatArray:
    """Return the probabilities of all classes, shape (n_cases, n_classes), without their labels."""
    values = np.asarray(p, dtype=np.float64)
    if values.ndim not in (1, 2) or values.size == 0 or values.shape[-1] < values.ndim:
        raise _wrong_shape(values, None)
    return _checked(values, one_column=values.ndim == 1)


def _by_class(
    p: ArrayLike, labels: NDArray[Any], classes: NDArray[Any] | None, *, repeats: bool
) -> FloatArray:
    """Return the probabilities of all classes, shape (n_repeats, n_cases, n_classes)."""
    values, n_cases = np.asarray(p, dtype=np.float64), labels.size
    one_column = values.ndim in (1, 2) and values.shape[-1] == n_cases
    columns = values.ndim in (2, 3) and values.shape[-2] == n_cases and values.shape[-1] >= 2
    if one_column and columns:  # a square table
        is_given = classes is not None and classes.size == n_cases
        one_column = not is_given and np.unique(labels).size <= 2
    n_repeated = values.ndim - (1 if one_column else 2)
    if not (one_column or columns) or n_repeated > int(repeats) or values.size == 0:
        raise _wrong_shape(values, n_cases)
    checked = _checked(values, one_column=one_column)
    return checked if n_repeated else checked[None]


def _checked(values: FloatArray, *, one_column: bool) -> FloatArray:
    """Validate probabilities, and add the column of class 0 where it is missing."""
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError("p holds a value outside 0 to 1 or NaN; give probabilities.")
    if one_column:
        return np.stack([1 - values, values], axis=-1)
    _check_sums(values, "p")
    return values


def _wrong_shape(values: FloatArray, n_cases: int | None) -> ValueError:
    cases = "" if n_cases is None else f" for {n_cases} cases"
    return ValueError(
        f"p has shape {values.shape}{cases}; give P(class 1) of each case, for instance "
        "predict_proba(X)[:, 1], or a column for each class."
    )


def _check_sums(proba: FloatArray, name: str) -> None:
    if np.any(np.abs(proba.sum(axis=-1) - 1) > _SUM_TOLERANCE):
        raise ValueError(
            f"{name} holds a row whose probabilities do not sum to 1; give those of all classes."
        )


def _check_same_shape(logs: FloatArray, proba: FloatArray) -> None:
    if logs.shape[0] != proba.shape[0]:
        raise ValueError("log_proba and p hold different numbers of repeats; give the same.")
    if logs.shape[-1] != proba.shape[-1]:
        raise ValueError(
            f"log_proba has {logs.shape[-1]} columns for {proba.shape[-1]} classes of p; give one "
            "for each."
        )


def _logs_by_class(log_proba: ArrayLike, n_cases: int, *, repeats: bool) -> FloatArray:
    """Return the logarithms of probabilities, shape (n_repeats, n_cases, n_classes)."""
    values = np.asarray(log_proba, dtype=np.float64)
    ndims = (2, 3) if repeats else (2,)
    if values.ndim not in ndims or values.shape[-2] != n_cases or values.shape[-1] < 2:
        raise ValueError(
            f"log_proba has shape {values.shape} for {n_cases} cases; give a column for each "
            "class, for instance predict_log_proba(X)."
        )
    # A little above 0 is the rounding of a normalisation, not a mistake of the caller.
    if not np.all(values <= 1e-6) or np.any(np.all(np.isneginf(values), axis=-1)):
        raise ValueError(
            "log_proba holds NaN, a value above 0, or a case with all classes impossible; give "
            "natural logarithms of probabilities."
        )
    return np.minimum(values if values.ndim == 3 else values[None], 0.0)
