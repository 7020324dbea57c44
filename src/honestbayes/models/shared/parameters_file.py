"""The constructor's parameters as plain data, and back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, quoted, texts_as_arrays
from honestbayes.models.factors.estimator import classifier_settings, regressor_settings
from honestbayes.models.shared.parameters import (
    categorical_settings,
    check_prevalences,
    check_recalibrate,
    check_settings,
    gaussian_settings,
    mixture_settings,
    pseudocounts,
)
from honestbayes.models.shared.shared_file import MOST_FEATURES
from honestbayes.sources.kinds import KINDS
from honestbayes.types import AnyArray, BoolArray

_SHARED = {"n_features_to_select", "threshold", "correction", "always_keep"}
_OF_CLASSES = {"class_pseudocounts", "class_prior", "recalibrate"}
_OF_CHAINS = {
    "n_chains",
    "n_samples",
    "n_warmup",
    "n_jobs",
    "checkpoint",
    "verbose",
    "random_state",
}
_OWN = {
    "SelectiveBernoulliNB": {
        "feature_prior",
        "alpha_prior",
        "theta_prior",
        "binarize",
        "quadrature",
        "tol",
        "random_state",
    },
    "SelectiveCategoricalNB": {
        "feature_prior",
        "alpha_prior",
        "tol",
        "criterion",
        "random_state",
    },
    "SelectiveGaussianNB": {"feature_prior", "criterion"},
    "SelectiveMixedNB": {"kinds", "random_state"},
    "SelectiveMixture": {
        "alpha_prior",
        "response_prior",
        "theta_prior",
        "n_alpha",
        "binarize",
        "thin",
    }
    | _OF_CHAINS,
    "SelectiveFactorClassifier": {"n_factors", "feature_prior", "factor_shifts"} | _OF_CHAINS,
    "SelectiveFactorRegressor": {"n_factors"} | _OF_CHAINS,
}
_SETTINGS: dict[str, Callable[[Mapping[str, Any], BoolArray], Any]] = {
    "SelectiveBernoulliNB": check_settings,
    "SelectiveCategoricalNB": categorical_settings,
    "SelectiveGaussianNB": gaussian_settings,
    "SelectiveMixedNB": gaussian_settings,
    "SelectiveMixture": mixture_settings,
    "SelectiveFactorClassifier": classifier_settings,
    "SelectiveFactorRegressor": regressor_settings,
}
_NUMBERS = ("class_pseudocounts", "class_prior", "alpha_prior", "response_prior", "theta_prior")


def parameters_to_plain(parameters: Mapping[str, Any]) -> Plain:
    """Return parameters as plain data; a random generator, which has no plain form, as None."""
    content: dict[str, Any] = {}
    arrays: dict[str, AnyArray] = {}
    for name, value in parameters.items():
        if name == "always_keep":
            content[name], arrays = always_keep_to_plain(value)
        elif name == "criterion" and not isinstance(value, str):
            msg = "criterion is a function, which a file of plain data cannot hold."
            raise ValueError(msg)
        elif name == "checkpoint":
            content[name] = None  # a place on the machine that fitted it
        elif name == "random_state":
            content[name] = int(value) if isinstance(value, int | np.integer) else None
        elif name in _NUMBERS and value is not None and np.ndim(value):
            content[name] = [plain_scalar(entry) for entry in value]
        elif isinstance(value, Mapping):
            content[name] = [
                [plain_scalar(key), plain_scalar(entry)] for key, entry in value.items()
            ]
        elif name == "kinds" and value is not None:
            content[name] = [str(kind) for kind in value]
        else:
            content[name] = plain_scalar(value)
    return content, arrays


def parameters_from_plain(
    kind: str, entries: Entries, n_classes: int | None, n_features: int
) -> dict[str, Any]:
    """Return parameters that the estimator accepts for a table of ``n_features`` columns.

    ``n_classes`` is None for a regressor.
    """
    names = _SHARED | _OWN[kind] | (set() if n_classes is None else _OF_CLASSES)
    result: dict[str, Any] = {
        name: entries.value(name) for name in sorted(names - {"always_keep", "random_state"})
    }
    result["always_keep"] = always_keep_from_plain(entries)
    if "random_state" in names:
        result["random_state"] = seed_from_plain(entries)
    entries.finish()
    for name in _NUMBERS:
        value = result.get(name)
        good = all(type(v) in (int, float) for v in (value if isinstance(value, list) else [value]))
        entries.check(value is None or good, name, "holds something that is not a number")
    for name in ("n_features_to_select", "kinds"):
        value = result.get(name)
        if isinstance(value, list) and value and all(_is_pair(entry) for entry in value):
            result[name] = dict(value)
    try:
        _check(kind, result, n_classes, n_features)
    except (ArithmeticError, TypeError, ValueError, AttributeError, KeyError) as error:
        entries.refuse("values", f"are not accepted: {str(error)[:200].rstrip('.')}")
    pairs = {"alpha_prior", "response_prior", "theta_prior"}
    if kind in ("SelectiveBernoulliNB", "SelectiveMixture"):
        pairs.add("class_pseudocounts")
    return result | {name: tuple(result[name]) for name in sorted(pairs & names)}


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str | int)


def _check(kind: str, given: Mapping[str, Any], n_classes: int | None, n_features: int) -> None:
    """Apply the constructor's own checks; those of sizes without a mask of all features."""
    number = given["n_features_to_select"]
    numbers = list(number.values()) if isinstance(number, dict) else [number]
    # The mixed model keeps all features of a kind that has fewer.
    most = MOST_FEATURES if kind == "SelectiveMixedNB" else n_features
    words = {"feature_prior": "auto", **given}
    for value in numbers:
        plain = value
        if type(value) in (int, float):
            if not (0 <= value <= most and value == int(value)) or given["threshold"] is not None:
                msg = f"n_features_to_select is {quoted(value)}, which is not a number of features"
                raise ValueError(msg)
            plain = None
        _SETTINGS[kind]({**words, "n_features_to_select": plain}, np.zeros(0, dtype=bool))
    if n_classes is not None:
        check_recalibrate(given["recalibrate"])
        check_prevalences(given["class_prior"], n_classes)
        pseudocounts(given["class_pseudocounts"], n_classes)
    if given.get("checkpoint") is not None:
        msg = "checkpoint is a place on another machine"
        raise ValueError(msg)
    _check_words(given.get("kinds"), given.get("binarize"))


def _check_words(kinds: Any, cut: Any) -> None:
    """Refuse kinds and a cut that mean nothing."""
    named = list(kinds.values()) if isinstance(kinds, dict) else list(kinds or ())
    if not all(name in KINDS for name in named):
        msg = "kinds hold an unknown one"
        raise ValueError(msg)
    if type(cut) in (int, float):
        good = abs(cut) <= sys.float_info.max
    else:
        good = cut is None or (isinstance(cut, str) and cut in ("auto", "median"))
    if not good:
        msg = f"binarize is {quoted(cut)}"
        raise ValueError(msg)


def always_keep_to_plain(always_keep: Any) -> tuple[str | None, dict[str, AnyArray]]:
    """Return what kind of list it is, and the list in arrays: a mask is as long as the table."""
    if always_keep is None:
        return None, {}
    given = np.asarray(always_keep)
    if given.ndim == 1 and given.size == 0:
        return "columns", {"always_keep": np.zeros(0, dtype=np.int64)}
    if given.ndim == 1 and given.dtype.kind == "b":
        return "mask", {"always_keep": given}
    if given.ndim == 1 and given.dtype.kind in "iu":
        return "columns", {"always_keep": given.astype(np.int64)}
    names = list(always_keep) if given.ndim == 1 else []  # NumPy drops zeros at a text's end
    if not names or not all(isinstance(name, str) for name in names):
        msg = "always_keep cannot be saved; give a list of names or indices, or a mask."
        raise ValueError(msg)
    return "names", texts_as_arrays("always_keep", names)


def always_keep_from_plain(entries: Entries) -> list[Any] | None:
    """Return the list that `always_keep_to_plain` described."""
    kind = entries.one_of("always_keep", (None, "columns", "mask", "names"))
    if kind is None:
        return None
    if kind == "names":
        return list(entries.texts("always_keep"))
    read = entries.mask if kind == "mask" else entries.integers
    result: list[Any] = read("always_keep", (None,)).tolist()
    return result


def seed_from_plain(entries: Entries) -> int | None:
    """Return the seed of a generator, or None."""
    seed = entries.value("random_state")
    good = seed is None or (type(seed) is int and 0 <= seed < 2**32)
    entries.check(good, "random_state", f"is {quoted(seed)}, not a seed")
    result: int | None = seed
    return result


def plain_scalar(value: Any) -> Any:
    """Return a NumPy scalar as Python's own."""
    return value.item() if isinstance(value, np.generic) else value
