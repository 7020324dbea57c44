"""What ``honestbayes inspect`` prints of a selector."""

from __future__ import annotations

import json

import typer

from honestbayes.cli.messages import say, word
from honestbayes.cli.selection_folder import REDUCED
from honestbayes.cli.selection_steps import selector_contents
from honestbayes.cli.selection_words import kept_names, say_what_was_chosen
from honestbayes.report.record import plain_data
from honestbayes.search import TableSelector


def show_selector(selector: TableSelector, name: str, *, as_json: bool) -> None:
    """Print what a selector chose, what it is for, and what to do next."""
    if as_json:
        found = {"selector": type(selector).__name__, "gives_probabilities": False}
        content = plain_data(found | selector_contents(selector))
        typer.echo(json.dumps(content, allow_nan=False, indent=1))
        return
    kept, candidates = kept_names(selector), selector.n_features_in_
    say(f"{word(name)} holds a selector: it chooses columns, and gives no probabilities.")
    columns = "column" if candidates == 1 else "columns"
    say(f"{type(selector).__name__}: {len(kept):,} of {candidates:,} {columns} kept")
    say_what_was_chosen(selector, kept)
    say()
    say(
        f"For probabilities, fit a model on the columns that are kept: honestbayes fit {REDUCED} "
        f"--target CLASS, where {REDUCED} is the table that honestbayes select wrote beside it."
    )
    say("In Python, honestbayes.load(FILE).transform(frame) leaves the kept columns of a table.")
