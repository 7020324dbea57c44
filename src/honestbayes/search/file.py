"""A fitted selector as plain data, and back; what cannot be one is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.models.plain.file import (
    KnownColumns,
    checked_whole,
    columns_from_plain,
    columns_to_plain,
    kinds_from_plain,
    kinds_to_plain,
    smoothing_from_plain,
    whole,
)
from honestbayes.models.shared.parameters import selection_rule
from honestbayes.models.shared.parameters_file import plain_scalar, seed_from_plain
from honestbayes.models.shared.shared_file import write_readable
from honestbayes.search.path import SelectionPath
from honestbayes.types import AnyArray, FloatArray

FORWARD = "ForwardProbabilitySelector"
BOOSTED = "BoostedProbabilitySelector"

_OF_BOOSTING = ("r", "alpha", "entropy")
_MOST_STEPS = 10**9


@dataclass(frozen=True, slots=True)
class FittedSelector:
    """All that a fitted selector is.

    Attributes
    ----------
    kind : str
        Name of its class.
    parameters : mapping
        The constructor's.
    columns : KnownColumns
        Classes, and the columns of the table.
    path : SelectionPath
        The steps.
    """

    kind: str
    parameters: Mapping[str, Any]
    columns: KnownColumns
    path: SelectionPath


def save_selector(model: FittedSelector, path: str | PathLike[str]) -> None:
    """Write a selector to a file, unless it could not be read again."""
    write_readable(path, model.kind, selector_to_plain(model), partial(from_plain, model.kind))


def selector_to_plain(model: FittedSelector) -> Plain:
    """Return the selector as content for JSON and named arrays."""
    return joined(
        columns_to_plain(model.columns),
        parameters=(_parameters_to_plain(model.parameters), {}),
        path=_path_to_plain(model.path),
    )


def from_plain(
    kind: str, content: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> FittedSelector:
    """Return the selector that `selector_to_plain` described; refuse anything else.

    Raises
    ------
    ModelFileError
        Without the name of the file.
    """
    entries = Entries(content, arrays)
    columns = columns_from_plain(entries)
    parameters = _parameters_from_plain(kind, entries.section("parameters"), columns)
    path = _path_from_plain(kind, entries.section("path"), columns)
    entries.finish()
    return FittedSelector(kind, parameters, columns, path)


# -------------------------------------------------------------------------------- parameters


def _parameters_to_plain(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file can hold.

    Without the ``estimator`` or the function of ``scoring`` a new fit would take other features, so
    that these are refused. Folds and generators draw rows of the training table: they become None.
    """
    if given.get("estimator") is not None:
        raise ValueError(_refusal("estimator is an object"))
    if callable(given.get("scoring")):
        raise ValueError(_refusal("scoring is a function"))
    content = {name: plain_scalar(value) for name, value in given.items() if name != "estimator"}
    content["kinds"] = kinds_to_plain(given["kinds"])
    held_out, seed = content["held_out"], content["random_state"]
    content["held_out"] = held_out if type(held_out) in (int, float) else None
    content["random_state"] = seed if type(seed) is int else None
    return content


def _refusal(what: str) -> str:
    return f"{what}, which a file of plain data cannot hold; keep path_, or use pickle."


def _parameters_from_plain(kind: str, entries: Entries, columns: KnownColumns) -> dict[str, Any]:
    result: dict[str, Any] = {
        "held_out": _held_out(entries),
        "smoothing": smoothing_from_plain(entries),
        "n_bins": checked_whole(entries, "n_bins", 2),
        "kinds": kinds_from_plain(entries, columns),
        "n_jobs": _n_jobs(entries),
        "random_state": seed_from_plain(entries),
    }
    if kind == BOOSTED:
        result["n_rounds"] = checked_whole(entries, "n_rounds", 1)
    else:
        result["n_features_to_select"] = _number(entries, columns.n_features_in)
        result["scoring"] = entries.one_of("scoring", ("squared_error", "log_loss"))
        result["score_on"] = entries.one_of("score_on", ("train", "held_out"))
        result["patience"] = checked_whole(entries, "patience", 1, may_be_none=True)
    entries.finish()
    return result


def _number(entries: Entries, n_features_in: int) -> Any:
    value = entries.value("n_features_to_select")
    try:
        selection_rule({"n_features_to_select": value, "threshold": None}, n_features_in)
    except (TypeError, ValueError, OverflowError):
        entries.refuse("n_features_to_select", "is not a number of features")
    entries.check(value != "cv", "n_features_to_select", "is not a number of features")
    return value


def _held_out(entries: Entries) -> Any:
    value = entries.value("held_out")
    good = value is None or (type(value) is int and 2 <= value <= _MOST_STEPS)
    good = good or (type(value) is float and 0 < value < 1)
    entries.check(good, "held_out", "is neither a share nor a number of folds")
    return value


def _n_jobs(entries: Entries) -> Any:
    value = entries.value("n_jobs")
    entries.check(value is None or (type(value) is int and value != 0), "n_jobs", "is no number")
    return value


# -------------------------------------------------------------------------------------- path


def _path_to_plain(path: SelectionPath) -> Plain:
    """Return the steps; names of features are those of the columns."""
    arrays: dict[str, AnyArray] = {
        "feature": np.asarray(path.feature, dtype=np.int64),
        "train_score": np.asarray(path.train_score, dtype=float),
        "held_out_score": np.asarray(path.held_out_score, dtype=float),
    }
    for name in _OF_BOOSTING:
        if getattr(path, name) is not None:
            arrays[name] = np.asarray(getattr(path, name), dtype=float)
    return {"n_kept": int(path.n_kept)}, arrays


def _path_from_plain(kind: str, entries: Entries, columns: KnownColumns) -> SelectionPath:
    feature = entries.counts("feature", (None,), columns.n_features_in - 1)
    once = kind == BOOSTED or np.unique(feature).size == feature.size
    entries.check(once, "feature", "takes a column twice")
    steps = feature.size
    train_score = entries.finite("train_score", (steps + 1,))
    held_out_score = entries.floats("held_out_score", (steps + 1,))
    known = np.isfinite(held_out_score)
    good = known.all() or np.isnan(held_out_score).all()
    entries.check(good, "held_out_score", "is known for some steps only")
    n_kept = whole(entries, "n_kept", 0, steps)
    boosting: list[FloatArray | None] = [None, None, None]
    if kind == BOOSTED:
        bounds = ((-1.0, 1.0), (-100.0, 100.0), (0.0, 1.0))
        boosting = [
            entries.finite(name, (steps,), low - 1e-9, high + 1e-9)
            for name, (low, high) in zip(_OF_BOOSTING, bounds, strict=True)
        ]
    entries.finish()
    names = feature_names(columns.names, feature.tolist())
    return SelectionPath(feature, names, train_score, held_out_score, n_kept, *boosting)


def feature_names(names: Any, columns: list[int]) -> tuple[str, ...]:
    """Return how some columns are called: by name, or x0, x1, ... where there are no names."""
    return tuple(f"x{j}" if names is None else str(names[j]) for j in columns)
