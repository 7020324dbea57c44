"""What ``honestbayes select`` takes from a table, and tells of a selection."""

from __future__ import annotations

from typing import Any

import numpy as np

from honestbayes.cli.selection_inclusion import inclusion_contents
from honestbayes.cli.selection_words import kept_names
from honestbayes.search.sampled import SubsetSampler
from honestbayes.search.selector import ProbabilitySelector, TableSelector
from honestbayes.tables import InputError, TableFile, TrainingTable
from honestbayes.tables.conversion import to_numbers
from honestbayes.tables.errors import shown
from honestbayes.types import FloatArray, IntArray


def not_candidates(
    file: TableFile, weights: str | None, ignore: list[str], roles: dict[str | None, str]
) -> list[str]:
    """Return the columns to ignore, and that of the weights, which has no other role."""
    if weights is None:
        return ignore
    file.require((weights,))
    taken = roles | dict.fromkeys(ignore, "a column to ignore")
    if weights in taken:
        msg = (
            f"column {shown(weights)} is given as the weights and as {taken[weights]}; choose one."
        )
        raise InputError(msg)
    return [*ignore, weights]


def row_weights(file: TableFile, name: str, row_numbers: IntArray) -> FloatArray:
    """Return what each row that has a class counts; refuse what is no weight."""
    column = file.read([name])[name]
    values = to_numbers(column, name, decimal=file.decimal_of(name), places=file.places())
    values = values[row_numbers - 1]
    wrong = np.flatnonzero(~(values >= 0))
    if wrong.size:
        value = float(values[wrong[0]])
        what = "has no value" if np.isnan(value) else f"holds {value:g}"
        place = file.places(row_numbers).named(int(wrong[0]))
        msg = (
            f"the column of weights {shown(name)} {what} in {place}; give each row a number from "
            "0 on."
        )
        raise InputError(msg)
    return values


def contents(
    selector: TableSelector, data: TrainingTable, name: str, command: str
) -> dict[str, Any]:
    """Return all that is known of a selection as data."""
    found = {
        "table": name,
        "command": command,
        "n_cases": data.y.size,
        "class_counts": dict(zip(data.labels, data.class_counts(), strict=True)),
    }
    return found | selector_contents(selector) | {"notes": data.notes}


def selector_contents(selector: TableSelector) -> dict[str, Any]:
    """Return what a selector knows without its table as data."""
    found = {
        "n_columns": selector.n_features_in_,
        "kept": [str(name) for name in kept_names(selector)],
    }
    if isinstance(selector, SubsetSampler):
        return found | inclusion_contents(selector)
    assert isinstance(selector, ProbabilitySelector)
    path = selector.path_
    return found | {
        "without_columns": {
            "train_score": path.train_score[0],
            "held_out_score": path.held_out_score[0],
        },
        "path": path.table(),
    }
