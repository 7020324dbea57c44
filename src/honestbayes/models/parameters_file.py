"""The constructor's parameters as plain data, and back."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from honestbayes.models.parameters import check_settings
from honestbayes.storage.entries import Entries, Plain, quoted, texts_as_arrays
from honestbayes.types import AnyArray

_PAIRS = ("class_pseudocounts", "alpha_prior", "theta_prior")
_AS_THEY_ARE = (
    "n_features_to_select",
    "threshold",
    "feature_prior",
    "correction",
    "recalibrate",
    "binarize",
    "quadrature",
    "tol",
)


def parameters_to_plain(parameters: Mapping[str, Any]) -> Plain:
    """Return parameters as plain data; a random generator, which has no plain form, as None."""
    content: dict[str, Any] = {name: plain_scalar(parameters[name]) for name in _AS_THEY_ARE}
    for name in _PAIRS:
        content[name] = [plain_scalar(value) for value in parameters[name]]
    prior = parameters["class_prior"]
    content["class_prior"] = None if prior is None else [plain_scalar(value) for value in prior]
    seed = parameters["random_state"]
    content["random_state"] = int(seed) if isinstance(seed, int | np.integer) else None
    kind, arrays = always_keep_to_plain(parameters["always_keep"])
    content["always_keep"] = kind
    return content, arrays


def parameters_from_plain(entries: Entries, n_features: int) -> dict[str, Any]:
    """Return parameters that the estimator accepts for a table of ``n_features`` columns."""
    parameters = {name: entries.value(name) for name in _AS_THEY_ARE}
    for name in _PAIRS:
        pair = entries.value(name)
        entries.check(isinstance(pair, list), name, "is not a pair of numbers")
        parameters[name] = tuple(pair)
    prior = entries.value("class_prior")
    entries.check(prior is None or isinstance(prior, list), "class_prior", "is not a list")
    parameters["class_prior"] = prior
    for name in (*_PAIRS, "class_prior"):
        good = all(type(value) in (int, float) for value in parameters[name] or ())
        entries.check(good, name, "holds something that is not a number")
    parameters["always_keep"] = always_keep_from_plain(entries)
    parameters["random_state"] = seed_from_plain(entries)
    entries.finish()
    _check(parameters, n_features, entries)
    return parameters


def _check(parameters: dict[str, Any], n_features: int, entries: Entries) -> None:
    """Apply the constructor's own checks; those of sizes without a mask of all features."""
    k = parameters["n_features_to_select"]
    if type(k) in (int, float):
        entries.check(
            0 <= k <= n_features and k == int(k) and parameters["threshold"] is None,
            "n_features_to_select",
            f"is {quoted(k)}, which is not a number of features",
        )
        k = None
    try:
        check_settings(parameters | {"n_features_to_select": k}, np.zeros(0, dtype=bool))
    except (ArithmeticError, TypeError, ValueError) as error:
        entries.refuse("values", f"are not accepted: {str(error)[:200].rstrip('.')}")
    cut = parameters["binarize"]
    if type(cut) in (int, float):
        good = abs(cut) <= sys.float_info.max
    else:
        good = cut is None or (isinstance(cut, str) and cut in ("auto", "median"))
    entries.check(good, "binarize", f"is {quoted(cut)}")


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
