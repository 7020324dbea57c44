"""Validation of the constructor's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import _check_sample_weight

from honestbayes.selection.criteria import Criterion, FeatureKind, as_criterion
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_MOST = 2**53
"""Bound of counts: larger integers are not exact as floats."""

LARGEST_RESPONSE = 1e150
"""Largest response whose square is finite."""

Correction = Literal["counts", "selection"] | None
"""What a model is conditioned on: counts of discarded features, their discarding, or neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionSettings:
    """Which features are kept; base of the settings of all models.

    Attributes
    ----------
    n_features, threshold : int or None, float or None
        Number of features to keep, or the bound of their absolute correlation; both None: all.
    always_keep : ndarray of bool of shape (p,)
        Features kept by design, which are not ranked.
    """

    n_features: int | None
    threshold: float | None
    always_keep: BoolArray


def criterion_of(
    params: Mapping[str, Any],
    kind: FeatureKind,
    usual: tuple[str, ...],
    classes: AnyArray | None,
) -> Criterion | None:
    """Return the user's criterion; None for those that give the usual ranking."""
    given = params.get("criterion", "correlation")
    criterion = as_criterion(given, features=(kind,), classes=classes)
    if classes is not None:
        criterion.check(kind, classes.size)
    elif kind not in criterion.features:
        criterion.check(kind, 2)
    if isinstance(given, str) and given in usual:
        return None
    if params["threshold"] is not None:
        msg = (
            "threshold is a bound on the correlation; leave it out with "
            f"criterion={criterion.name!r}."
        )
        raise ValueError(msg)
    return criterion


def prior_and_correction(
    params: Mapping[str, Any],
    fixed: str,
    *,
    auto: Correction = "counts",
    published: bool = False,
    may_learn_with_event: bool = False,
) -> tuple[Any, Any]:
    """Resolve "auto", and refuse invalid combinations.

    Parameters
    ----------
    params : mapping
        The constructor's parameters.
    fixed : str
        The prior that does not learn from all screened features.
    auto : {"counts", "selection"}
        The default of the correction.
    published : bool
        Whether the published model is asked for, whose prior is the fixed one.
    may_learn_with_event : bool
        Whether a learned prior can be combined with the event of the selection.
    """
    correction, prior = params["correction"], params["feature_prior"]
    if correction not in ("auto", "counts", "selection", None):
        msg = f"correction={correction!r} is not one of 'auto', 'counts', 'selection', None."
        raise ValueError(msg)
    if prior not in ("auto", "learned", fixed):
        msg = f"feature_prior={prior!r} is not one of 'auto', 'learned', {fixed!r}."
        raise ValueError(msg)
    if correction == "auto":
        correction = "counts" if published and prior == "learned" else auto
    if prior == "auto":
        prior = fixed if published or correction == "selection" else "learned"
    if prior == "learned" and correction == "selection" and not may_learn_with_event:
        msg = (
            "feature_prior='learned' learns from all screened features, so correction must be "
            f"'counts' or None; for correction='selection' use feature_prior={fixed!r}."
        )
        raise ValueError(msg)
    return prior, correction


def tolerance_of(params: Mapping[str, Any]) -> float:
    """Return the bound on the error of quadrature."""
    if not (is_number(params["tol"]) and params["tol"] > 0):
        msg = f"tol={params['tol']!r} is not positive."
        raise ValueError(msg)
    return float(params["tol"])


def selection_rule(params: Mapping[str, Any], n_candidates: int) -> tuple[int | None, float | None]:
    """Return the number of features to keep, or the threshold; both None: all."""
    k, threshold = params["n_features_to_select"], params["threshold"]
    if threshold is not None:
        if k is not None:
            msg = "give n_features_to_select or threshold, not both."
            raise ValueError(msg)
        if not (is_number(threshold) and 0 <= threshold <= 1):
            msg = f"threshold={threshold!r} is not a correlation between 0 and 1."
            raise ValueError(msg)
        return None, float(threshold)
    if k is None:
        return min(10, n_candidates), None
    if isinstance(k, str):
        if k not in ("all", "cv"):
            msg = f"n_features_to_select={k!r} is not a number, 'all', 'cv' or None."
            raise ValueError(msg)
        return None, None
    if not _is_whole(k, 0):
        msg = f"n_features_to_select={k!r} is not a whole number of features."
        raise ValueError(msg)
    if k > n_candidates:
        msg = (
            f"n_features_to_select={k} is more than the {n_candidates} features to choose from; "
            "give a smaller number or 'all'."
        )
        raise ValueError(msg)
    return int(k), None


def _is_whole(value: Any, least: int) -> bool:
    """Return whether a value is an integer from ``least`` on, and a possible count."""
    return is_number(value) and least <= value < _MOST and int(value) == value


def true_or_false(params: Mapping[str, Any], name: str) -> bool:
    """Return a boolean parameter; False where the model has no such parameter."""
    value = params.get(name, False)
    if not isinstance(value, bool | np.bool_):
        msg = f"{name}={value!r} is not True or False."
        raise ValueError(msg)
    return bool(value)


def is_number(value: Any) -> bool:
    """Return whether a value is a number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _pair(params: Mapping[str, Any], name: str) -> tuple[float, float]:
    try:
        first, second = (float(value) for value in params[name])
    except (TypeError, ValueError):
        msg = f"{name}={params[name]!r} is not a pair of numbers."
        raise ValueError(msg) from None
    return first, second


def theta_interval(params: Mapping[str, Any]) -> tuple[float, float]:
    """Return the bounds of theta."""
    low, high = _pair(params, "theta_prior")
    if not 0 <= low < high <= 1:
        msg = f"theta_prior={params['theta_prior']} is not an interval within (0, 1)."
        raise ValueError(msg)
    return low, high


def whole_number(params: Mapping[str, Any], name: str, least: int) -> int:
    """Return an integer parameter that is at least ``least``."""
    value = params[name]
    if not _is_whole(value, least):
        msg = f"{name}={value!r} is not a whole number of {least} or more."
        raise ValueError(msg)
    return int(value)


def check_weights(sample_weight: Any, codes: IntArray, classes: AnyArray) -> FloatArray:
    """Return the weight of each row; every class needs some."""
    rows = np.empty((codes.size, 0))
    weight = _check_sample_weight(sample_weight, rows, dtype=float, ensure_non_negative=True)
    total = np.bincount(codes, weight, minlength=classes.size)
    if not np.isfinite(total.sum()):
        msg = "sample_weight is too large: it sums to infinity."
        raise ValueError(msg)
    present = total > 0
    if not present.all():
        msg = f"class {classes[~present].tolist()[0]!r} has no row with a positive sample_weight."
        raise ValueError(msg)
    return np.asarray(weight)


def positive_number(params: Mapping[str, Any], name: str) -> float:
    """Return a finite, positive parameter."""
    value = params[name]
    if not (is_number(value) and 0 < value < np.inf):
        msg = f"{name}={value!r} is not a positive number."
        raise ValueError(msg)
    return float(value)


def positive_pair(params: Mapping[str, Any], name: str) -> tuple[float, float]:
    """Return a parameter of two positive numbers."""
    first, second = _pair(params, name)
    if not (0 < first < np.inf and 0 < second < np.inf):
        msg = f"{name}={params[name]} must be two positive numbers."
        raise ValueError(msg)
    return first, second


def check_checkpoint(params: Mapping[str, Any]) -> None:
    """Raise an error if a checkpoint has no integer seed."""
    if params["checkpoint"] is not None and not isinstance(params["random_state"], Integral):
        msg = "a checkpoint needs an integer random_state, so that a later fit can resume it."
        raise ValueError(msg)


def check_quantiles(q: Any) -> FloatArray:
    """Return probabilities of quantiles as an array of one dimension."""
    levels: FloatArray = np.atleast_1d(np.asarray(q, dtype=float))
    if levels.ndim != 1 or not np.all((levels > 0) & (levels < 1)):
        msg = f"q={q} must be probabilities between 0 and 1."
        raise ValueError(msg)
    return levels


def check_recalibrate(recalibrate: Any) -> None:
    """Refuse an unknown recalibration."""
    if recalibrate not in (None, "slope", "bayes"):
        msg = f"recalibrate={recalibrate!r} is not one of None, 'slope', 'layer'."
        raise ValueError(msg)


def check_prevalences(class_prior: Any, n_classes: int) -> FloatArray | None:
    """Return the logs of given prevalences, or None where none are given."""
    if class_prior is None:
        return None
    try:
        prior = np.asarray(class_prior, dtype=float)
    except (TypeError, ValueError):
        prior = np.zeros(0)
    if prior.shape != (n_classes,) or not np.all(prior > 0) or abs(prior.sum() - 1) > 1e-6:
        number = "two" if n_classes == 2 else n_classes
        msg = f"class_prior={class_prior} must be {number} positive prevalences that sum to 1."
        raise ValueError(msg)
    return np.asarray(np.log(prior))


def pseudocounts(given: Any, n_classes: int) -> FloatArray:
    """Return the Dirichlet prior of the class frequencies: one number for all, or one each."""
    try:
        values = np.broadcast_to(np.asarray(given, dtype=float), (n_classes,))
    except (TypeError, ValueError):
        values = np.zeros(n_classes)
    if not (np.all(values > 0) and np.all(np.isfinite(values))):
        number = "two" if n_classes == 2 else n_classes
        what = "positive" if isinstance(given, Real) else f"{number} positive numbers"
        msg = f"class_pseudocounts={given} must be {what}."
        raise ValueError(msg)
    return np.array(values)


def check_response(y: Any) -> FloatArray:
    """Return the response as numbers, none of them missing."""
    if y is None:
        msg = "requires y to be passed, but the target y is None."
        raise ValueError(msg)
    values = column_or_1d(y, warn=True)
    checked: FloatArray = check_array(
        values, ensure_2d=False, dtype=np.float64, input_name="y", ensure_min_samples=1
    )
    if checked.size < 2:
        msg = f"n_samples={checked.size} is too few: a correlation needs two cases or more."
        raise ValueError(msg)
    if np.abs(checked).max() > LARGEST_RESPONSE:
        msg = "y holds numbers too large to be squared; rescale y to a larger unit."
        raise ValueError(msg)
    return checked


def group_codes(groups: Any, n_cases: int) -> IntArray | None:
    """Return the number of each case's group, from 0; None where none are given."""
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (n_cases,):
        msg = f"groups has {labels.size} entries, but X has {n_cases} rows."
        raise ValueError(msg)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        row = int(np.flatnonzero(np.isnan(labels))[0])
        msg = f"groups has no value in row {row}; give each row its group."
        raise ValueError(msg)
    codes: IntArray = np.unique(labels, return_inverse=True)[1]
    return codes


def refuse_arguments(arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that `fit` does not take."""
    for name in ("sample_weight", "class_weight"):
        if arguments.get(name) is not None:
            msg = (
                f"{name} is not supported: the probability that a feature is discarded needs whole "
                "counts of cases. For another prevalence use class_prior."
            )
            raise TypeError(msg)
    unknown = sorted(set(arguments) - {"sample_weight"})
    if unknown:
        msg = f"fit got unexpected arguments {unknown}."
        raise TypeError(msg)


def check_level_and_draws(level: float, n_draws: int) -> None:
    """Refuse an invalid level or number of draws of an interval."""
    if not 0 < level < 1:
        msg = f"level={level} is not between 0 and 1."
        raise ValueError(msg)
    if n_draws < 1:
        msg = f"n_draws={n_draws} is not a positive whole number."
        raise ValueError(msg)
