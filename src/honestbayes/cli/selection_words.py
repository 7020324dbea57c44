"""What ``honestbayes select`` prints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from honestbayes.cli.messages import say, word
from honestbayes.cli.report_words import cases_in_words
from honestbayes.cli.selection_folder import PATH, REDUCED, files_of
from honestbayes.cli.selection_inclusion import (
    column_names,
    table_of_inclusion,
    words_of_inclusion,
)
from honestbayes.search.sampled import SubsetSampler
from honestbayes.search.selector import (
    ProbabilitySelector,
    SelectionPath,
    TableSelector,
    loss_in_words,
)
from honestbayes.tables import TrainingTable

MOST_LINES = 40
"""Steps that are printed; the file holds all."""

MOST_NAMES = 30


def print_selection(selector: TableSelector, data: TrainingTable, name: str, folder: Path) -> None:
    """Print what was found, what was kept, how far that can be believed, and where files are."""
    counts = tuple(np.bincount(data.y, minlength=len(data.labels)).tolist())
    candidates, kept = selector.n_features_in_, kept_names(selector)
    say(
        f"{word(name)}: {cases_in_words(data.labels, counts)}; {candidates:,} "
        f"column{'' if candidates == 1 else 's'}, {len(kept):,} kept"
    )
    for note in data.notes:
        say(f"Note: {note}")
    say_what_was_chosen(selector, kept)
    say(f"Rows of this table chose the columns: judge a model of {REDUCED} on rows from elsewhere.")
    say()
    say(f"Written to {folder}: {', '.join(files_of(selector))}", wrap=False)


def say_what_was_chosen(selector: TableSelector, kept: list[Any]) -> None:
    """Print the steps or the inclusion probabilities, what is kept, and how far to believe it."""
    say()
    if isinstance(selector, SubsetSampler):
        say(table_of_inclusion(selector), wrap=False)
        told = words_of_inclusion(selector)
    else:
        assert isinstance(selector, ProbabilitySelector)
        say(table_of(selector.path_), wrap=False)
        told = honest_words(selector)
    say()
    say(f"Kept: {kept_in_words(kept)}.")
    say()
    say(told)


def table_of(path: SelectionPath) -> str:
    """Return the first steps as text, with names that stay on their lines."""
    lines = str(replace(path, name=tuple(word(name) for name in path.name))).splitlines()
    more = len(lines) - MOST_LINES
    if more > 1:
        lines = [*lines[:MOST_LINES], f"({more:,} more steps in {PATH})"]
    return "\n".join(lines)


def kept_names(selector: TableSelector) -> list[Any]:
    """Return the columns that are kept: in the order of a path, or of the table."""
    if isinstance(selector, ProbabilitySelector):
        names = column_names(selector)
        return [names[column] for column in selector.path_.kept.tolist()]
    return list(selector.get_feature_names_out())


def kept_in_words(kept: list[Any]) -> str:
    """List the columns that are kept, not all where they are many."""
    if not kept:
        return "none"
    words = [word(name) for name in kept[:MOST_NAMES]]
    more = len(kept) - MOST_NAMES
    return ", ".join(words) + (f" and {more:,} more" if more > 0 else "")


def honest_words(selector: ProbabilitySelector) -> str:
    """Say what the scores are worth."""
    path = selector.path_
    if np.isnan(path.held_out_score[0]):
        return (
            "No rows were held out: scores on the rows that chose and trained flatter, also for "
            "columns that mean nothing."
        )
    loss = loss_in_words(getattr(selector, "scoring", "squared_error"))
    before, after = path.held_out_score[0], path.held_out_score[path.n_kept]
    steps = "1 step" if path.n_kept == 1 else f"{path.n_kept:,} steps"
    scores = f"The held-out {loss} is {after:.4f} after {steps}, {before:.4f} before the first."
    if after > before:
        scores += " That is worse than no column at all."
    by_number = getattr(selector, "patience", None) is not None
    if path.n_kept == 0:
        return (
            f"No column made the held-out {loss} better than the {before:.4f} that the class "
            "shares alone have."
        )
    if getattr(selector, "score_on", "train") == "held_out":
        return f"{scores} The columns were chosen by this very score, so it flatters."
    if isinstance(selector.held_out, float):
        who = "The rows held out neither chose columns nor trained"
    else:
        who = "It is of paths that were chosen anew without the rows that they are judged on"
    if by_number:
        return f"{scores} {who}; only the number of steps was chosen by it, which flatters."
    return f"{scores} {who}."
