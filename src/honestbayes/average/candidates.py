"""Candidates of the average: the models that suit a table, and their numbers of features.

Models differ in the columns that they take, so the average reads a table twice: as it is (binary
columns as 0/1), and as numbers (a 0/1 column for each category).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sklearn.base import is_classifier

from honestbayes import models
from honestbayes.base.parameters import whole_number
from honestbayes.base.spec import CandidateSpec, ModelSpec, TableInfo

Effort = Literal["quick", "normal", "thorough"]
EFFORTS: tuple[Effort, ...] = ("quick", "normal", "thorough")

_LARGE = 2000
"""Number of cases above which no candidate keeps more than `_MOST_OF_MANY` features."""

_MOST_OF_MANY = 1000
"""Largest number of features that is tried on large tables."""

_MOST_CELLS = 5_000_000
"""Number of cells of the kept columns above which at most `_MOST_OF_MANY` features are kept."""

_MOST_KEPT_CELLS = 1 << 25
"""Cells that are read from a table beyond memory: a quarter of a gigabyte."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model that is tried with one or more numbers of features.

    Attributes
    ----------
    name : str
        Its name in `HonestClassifier.model_table` and in the parameter ``candidates``.
    estimator : estimator
        Unfitted.
    numbers : tuple of int, or None
        Numbers of features; None where the estimator chooses.
    as_numbers : bool
        Whether it takes the table as numbers, with a 0/1 column for each category.
    held_out_once : bool
        Whether a fit takes long, so that every case is held out only once.
    family : str
        Candidates of one family share one prior weight; by default it is the name.
    """

    name: str
    estimator: Any
    numbers: tuple[int, ...] | None = None
    as_numbers: bool = False
    held_out_once: bool = False
    family: str = ""


def candidate_specs() -> list[tuple[ModelSpec, CandidateSpec]]:
    """Return the candidates that each model defines, in the order of `models.SPECS`."""
    return [(spec, candidate) for spec in models.SPECS for candidate in spec.candidates]


def candidates_for(
    table_info: TableInfo, effort: Effort, most: int | None = None, *, named: bool = False
) -> list[Candidate]:
    """Return the candidates that suit a table.

    Parameters
    ----------
    table_info : TableInfo
        Facts about the table.
    effort : {"quick", "normal", "thorough"}
        How many are tried.
    most : int, optional
        Keep one set of so many columns: only candidates that rank columns by the same statistic,
        and no larger numbers.
    named : bool
        Whether those that are tried only by name are among them.
    """
    candidates = []
    for spec, candidate in candidate_specs():
        if candidate.by_name and not named:
            continue
        if not candidate.suits(table_info) or (candidate.sampled and effort != "thorough"):
            continue
        if most is not None and not candidate.shared_ranking:
            continue
        tried = candidate.quick if effort == "quick" else candidate.normal
        if tried == ():
            continue
        width = table_info.n_numeric_candidates if candidate.as_numbers else table_info.n_candidates
        width = table_info.max_candidates if candidate.by_kind else width
        numbers = None if tried is None else _numbers(tried, width, table_info.n_cases, most)
        if not table_info.in_memory and numbers is not None and most is None:
            numbers = _numbers_beyond_memory(numbers, width, table_info.n_cases)
        candidates.append(
            Candidate(
                candidate.name,
                spec.estimator(**candidate.params(table_info)),
                numbers,
                candidate.as_numbers,
                candidate.held_out_once,
                candidate.family,
            )
        )
    return candidates


def _numbers(tried: Sequence[int], width: int, n_cases: int, most: int | None) -> tuple[int, ...]:
    """Return distinct numbers of features, none larger than a table of some width has."""
    bound = width if most is None else min(most, width)
    if n_cases > _LARGE or n_cases * bound > _MOST_CELLS:
        bound = min(bound, _MOST_OF_MANY)
    wanted = [bound if number < 0 else min(number, bound) for number in tried]
    return tuple(sorted({*wanted} if most is None else {*wanted, bound}))


def _numbers_beyond_memory(numbers: tuple[int, ...], width: int, n_cases: int) -> tuple[int, ...]:
    """Leave out numbers that need all columns, or too many cells; the smallest one stays."""
    return tuple(
        number
        for number in numbers
        if number == numbers[0] or (number < width and n_cases * number <= _MOST_KEPT_CELLS)
    )


def left_out_beyond_memory(
    table_info: TableInfo, effort: Effort, wanted: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Return descriptions of the candidates that are not tried on a table beyond memory.

    Parameters
    ----------
    table_info : TableInfo
        Facts about the table.
    effort : {"quick", "normal", "thorough"}
        How many are tried.
    wanted : sequence of str, optional
        Names of candidates that the user asked for.
    """
    named = wanted is not None
    candidates = candidates_for(table_info, effort, named=named)
    tried = {candidate.name: candidate.numbers for candidate in candidates}
    left_out = []
    for candidate in candidates_for(replace(table_info, in_memory=True), effort, named=named):
        if wanted is not None and candidate.name not in wanted:
            continue
        if candidate.name not in tried:
            left_out.append(candidate.name)
            continue
        fewer = set(candidate.numbers or ()) - set(tried[candidate.name] or ())
        if fewer:
            numbers = " and ".join(f"{number:,}" for number in sorted(fewer))
            left_out.append(f"{candidate.name} with {numbers} features")
    return tuple(left_out)


def name_of(classifier: Any, index: int) -> str:
    """Return the name of a classifier of the user in the table of models."""
    last = classifier
    while hasattr(last, "steps"):
        last = last.steps[-1][1]
    return f"{index + 1}: {type(last).__name__}"


def check_choices(given: Any, effort: Any, n_features_to_select: Any) -> None:
    """Validate the parameters; ``given`` are the candidates."""
    if effort not in EFFORTS:
        msg = f"effort={effort!r} is not one of {EFFORTS}."
        raise ValueError(msg)
    if n_features_to_select is not None:
        whole_number({"n_features_to_select": n_features_to_select}, "n_features_to_select", 1)
    if isinstance(given, str) and given == "auto":
        return
    several = isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 0
    if several and all(isinstance(each, str) for each in given):
        known = [candidate.name for _, candidate in candidate_specs()]
        wrong = [name for name in given if name not in known]
        if wrong:
            msg = f"candidates names {wrong[0]!r}, which is not one of {known}."
            raise ValueError(msg)
    elif not several or not all(map(is_classifier, given)):
        msg = "candidates must be 'auto', a list of names, or a list of classifiers."
        raise ValueError(msg)
    elif n_features_to_select is not None:
        msg = (
            "n_features_to_select needs candidates given by name, because your own classifiers "
            "use all columns."
        )
        raise ValueError(msg)


def are_ours(given: Any) -> bool:
    """Return whether candidates are given by name, not as the user's classifiers."""
    return isinstance(given, str) or isinstance(given[0], str)


def chosen_candidates(
    given: Any, effort: Effort, table_info: TableInfo, most: int | None
) -> list[Candidate]:
    """Return the user's candidates that suit the table.

    Parameters
    ----------
    given : "auto", or list of str or of classifiers
        What the user wants.
    effort : {"quick", "normal", "thorough"}
        How many are tried where that is "auto".
    table_info : TableInfo
        What is known of the table.
    most : int or None
        As in `candidates_for`.
    """
    if not are_ours(given):
        return [Candidate(name_of(each, index), each) for index, each in enumerate(given)]
    named = given != "auto"
    chosen = candidates_for(table_info, "thorough" if named else effort, most, named=named)
    if named:
        chosen = [candidate for candidate in chosen if candidate.name in given]
    if not chosen:
        suitable = candidates_for(table_info, "thorough", most, named=True)
        suits = ", ".join(repr(candidate.name) for candidate in suitable)
        table = "table" if table_info.in_memory else "table, which is beyond memory"
        msg = f"none of candidates={given!r} suits this {table}; those that do: {suits}."
        raise ValueError(msg)
    return chosen


def leave_out_beyond_memory(given: Any, effort: Effort, table_info: TableInfo) -> tuple[str, ...]:
    """Return the candidates that are not tried on a table beyond memory, and warn of them.

    Parameters are those of `chosen_candidates`.
    """
    if table_info.in_memory:
        return ()
    if not are_ours(given):
        msg = (
            "candidates holds classifiers, which see all columns, but X is beyond memory: give "
            "candidates by name, or a table in memory."
        )
        raise ValueError(msg)
    chosen_candidates(given, effort, table_info, None)  # refuses where none is left
    wanted = None if given == "auto" else given
    left_out = left_out_beyond_memory(table_info, effort if wanted is None else "thorough", wanted)
    if left_out:
        warnings.warn(
            "X is beyond memory, so candidates that need all of its columns, or very many cells, "
            f"are not tried: {', '.join(left_out)}. They are tried on a table in memory.",
            UserWarning,
            stacklevel=5,
        )
    return left_out
