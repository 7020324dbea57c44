"""What a user may ask of an average, and what is refused before any work starts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from sklearn.base import is_classifier

from honestbayes.models.honest.candidates import (
    EFFORTS,
    OFFERS,
    Candidate,
    Effort,
    Facts,
    candidates_for,
    left_out_beyond_memory,
    name_of,
)
from honestbayes.models.shared.parameters import whole_number


def check_choices(given: Any, effort: Any, n_features_to_select: Any) -> None:
    """Refuse words that mean nothing; ``given`` are the candidates."""
    if effort not in EFFORTS:
        msg = f"effort={effort!r} is not one of {EFFORTS}."
        raise ValueError(msg)
    if n_features_to_select is not None:
        whole_number({"n_features_to_select": n_features_to_select}, "n_features_to_select", 1)
    if isinstance(given, str) and given == "auto":
        return
    several = isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 0
    if several and all(isinstance(each, str) for each in given):
        known = [offer.name for offer in OFFERS]
        wrong = [name for name in given if name not in known]
        if wrong:
            msg = f"candidates names {wrong[0]!r}, which is not one of {known}."
            raise ValueError(msg)
    elif not several or not all(map(is_classifier, given)):
        msg = "candidates must be 'auto', a list of names, or a list of classifiers."
        raise ValueError(msg)
    elif n_features_to_select is not None:
        msg = "n_features_to_select is for our own candidates: classifiers see all columns."
        raise ValueError(msg)


def are_ours(given: Any) -> bool:
    """Whether candidates are named, and not classifiers of the user's."""
    return isinstance(given, str) or isinstance(given[0], str)


def chosen_candidates(
    given: Any, effort: Effort, facts: Facts, most: int | None
) -> list[Candidate]:
    """Return the candidates that the user wants and that suit the table.

    Parameters
    ----------
    given : "auto", or list of str or of classifiers
        What the user wants.
    effort : {"quick", "normal", "thorough"}
        How many are tried where that is "auto".
    facts : Facts
        What is known of the table.
    most : int or None
        As in `candidates_for`.
    """
    if not are_ours(given):
        return [Candidate(name_of(each, place), each) for place, each in enumerate(given)]
    found = candidates_for(facts, effort if given == "auto" else "thorough", most)
    if given != "auto":
        found = [candidate for candidate in found if candidate.name in given]
    if not found:
        suits = ", ".join(repr(c.name) for c in candidates_for(facts, "thorough", most))
        table = "table" if facts.in_memory else "table, which is beyond memory"
        msg = f"none of candidates={given!r} suits this {table}; those that do: {suits}."
        raise ValueError(msg)
    return found


def leave_out_beyond_memory(given: Any, effort: Effort, facts: Facts) -> tuple[str, ...]:
    """Return the candidates that a table beyond memory does without, and say so.

    Parameters are those of `chosen_candidates`.
    """
    if facts.in_memory:
        return ()
    if not are_ours(given):
        msg = (
            "candidates holds classifiers, which see all columns, but X is beyond memory: name "
            "candidates of ours, or give a table in memory."
        )
        raise ValueError(msg)
    chosen_candidates(given, effort, facts, None)  # refuses where none is left
    wanted = None if given == "auto" else given
    found = left_out_beyond_memory(facts, effort if wanted is None else "thorough", wanted)
    if found:
        warnings.warn(
            "X is beyond memory, and candidates that hold all of its columns, or very many cells "
            f"of them, are left out: {', '.join(found)}. A table in memory is tried with these "
            "too.",
            UserWarning,
            stacklevel=5,
        )
    return found


def refuse_levels_beyond_memory(kinds: Sequence[str]) -> None:
    """Refuse columns that the user calls categorical, of a table beyond memory."""
    if "categorical" in kinds:
        msg = (
            f"kinds says that column {list(kinds).index('categorical')} is categorical, but X is "
            "beyond memory, where columns are flags or measurements: make a flag of each level, "
            "or give a table in memory."
        )
        raise ValueError(msg)
