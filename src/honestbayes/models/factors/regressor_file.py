"""A fitted factor regressor as plain data, and back; what cannot be one is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined, texts_as_arrays
from honestbayes.models.factors.file import draws_from_plain, draws_to_plain
from honestbayes.models.factors.response import ResponseSelection
from honestbayes.models.factors.response_fit import ResponseFit
from honestbayes.models.real.file import variance_prior_from_plain, variance_prior_to_plain
from honestbayes.models.shared.parameters_file import parameters_from_plain, parameters_to_plain
from honestbayes.models.shared.shared_file import MOST_CASES, MOST_FEATURES, write_readable
from honestbayes.types import AnyArray

_KIND = "SelectiveFactorRegressor"


@dataclass(frozen=True, slots=True)
class FittedRegressor:
    """All that a fitted regressor is.

    Attributes
    ----------
    parameters : mapping
        The constructor's.
    fit : ResponseFit
        What was fitted.
    feature_names : tuple of str or None
        Names of the table's columns.
    """

    parameters: Mapping[str, Any]
    fit: ResponseFit
    feature_names: tuple[str, ...] | None


def save_regressor(model: FittedRegressor, path: str | PathLike[str]) -> None:
    """Write the model to a file, unless it could not be read again."""
    write_readable(path, _KIND, regressor_to_plain(model), regressor_from_plain)


def regressor_to_plain(model: FittedRegressor) -> Plain:
    """Return the model as content for JSON and named arrays."""
    fit, names = model.fit, model.feature_names
    content = {"correction": fit.correction, "has_feature_names": names is not None}
    return joined(
        (content, {} if names is None else texts_as_arrays("feature_names", names)),
        variance_prior_to_plain(fit.variance_prior),
        draws_to_plain(fit.n_factors, fit.choice, fit.drawn),
        parameters=parameters_to_plain(model.parameters),
        selection=_selection_to_plain(fit.selection),
    )


def regressor_from_plain(
    content: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> FittedRegressor:
    """Return the model that `regressor_to_plain` described; refuse anything else.

    Raises
    ------
    ModelFileError
        Without the name of the file.
    """
    entries = Entries(content, arrays)
    selection = _selection_from_plain(entries.section("selection"))
    width = selection.n_features_in
    names = entries.texts("feature_names") if entries.flag("has_feature_names") else None
    if names is not None:
        entries.check(len(names) == width, "feature_names", "does not name every column")
    n_factors, choice, drawn = draws_from_plain(
        entries, 1, 1 + len(selection.columns), of_response=True
    )
    fit = ResponseFit(
        selection,
        variance_prior_from_plain(entries),
        entries.one_of("correction", ("selection", None)),
        n_factors,
        drawn,
        choice,
    )
    parameters = parameters_from_plain(_KIND, entries.section("parameters"), None, width)
    entries.finish()
    return FittedRegressor(parameters, fit, names)


def _selection_to_plain(selection: ResponseSelection) -> Plain:
    bound = selection.gamma_squared
    content = {
        "rule": selection.rule,
        "gamma_squared": [int(bound.numerator), int(bound.denominator)],
        "n_features_in": int(selection.n_features_in),
        "n_cases": int(selection.n_cases),
    }
    arrays = {
        "kept": np.array(selection.kept, dtype=np.int64),
        "always_kept": np.array(selection.always_kept, dtype=np.int64),
        "groups": np.array(selection.groups, dtype=np.int64).reshape(-1, 2),
    }
    return content, arrays


def _selection_from_plain(entries: Entries) -> ResponseSelection:
    n_cases = _whole_number(entries, "n_cases", MOST_CASES)
    n_features = _whole_number(entries, "n_features_in", MOST_FEATURES)
    kept, always = (entries.counts(name, (None,)) for name in ("kept", "always_kept"))
    columns = np.concatenate([kept, always])
    good = np.unique(columns).size == columns.size and columns.max(initial=-1) < n_features
    entries.check(good, "kept", "are not columns of the table, each once")
    groups = entries.counts("groups", (None, 2), np.array([n_cases, n_features]))
    entries.check(np.all(np.diff(groups[:, 0]) > 0), "groups", "are not in order")
    entries.check(
        int(groups[:, 1].sum()) == n_features - columns.size,
        "groups",
        "are not those of all discarded features",
    )
    selection = ResponseSelection(
        entries.one_of("rule", ("top", "threshold", "all")),
        _bound_from_plain(entries),
        tuple(kept.tolist()),
        tuple(always.tolist()),
        n_features,
        n_cases,
        tuple((size, number) for size, number in groups.tolist()),
    )
    entries.finish()
    return selection


def _bound_from_plain(entries: Entries) -> Fraction:
    """Return the squared bound, from 0 to 1."""
    pair = entries.value("gamma_squared")
    good = isinstance(pair, list) and len(pair) == 2 and all(type(part) is int for part in pair)
    entries.check(good and 0 <= pair[0] <= pair[1] > 0, "gamma_squared", "is not a share")
    return Fraction(*pair)


def _whole_number(entries: Entries, name: str, most: int) -> int:
    value = entries.value(name)
    entries.check(type(value) is int and 0 <= value <= most, name, "is not a possible number")
    return int(value)
