"""``honestbayes sequence``: what is next in a sequence of symbols."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from honestbayes.cli import options as given
from honestbayes.cli import reading
from honestbayes.cli.messages import bad_input, one_line_errors, progress
from honestbayes.cli.models import check_replaceable
from honestbayes.tables.errors import InputError


class Collapse(StrEnum):
    """Ways of making few symbols of many characters."""

    vowels = "vowels"


@one_line_errors
def sequence(
    source: Annotated[
        Path,
        typer.Argument(
            help="Text file, each character of which is a symbol; or a table, with --column.",
            readable=False,
        ),
    ],
    column: Annotated[
        str | None, typer.Option(help="Column of a table whose cells are the symbols, in order.")
    ] = None,
    lines: Annotated[
        bool, typer.Option("--lines", help="Each line of the text is a symbol.")
    ] = False,
    collapse: Annotated[
        Collapse | None,
        typer.Option(
            help="vowels: V for a vowel, C for another letter, and one _ for any run of other "
            "characters."
        ),
    ] = None,
    order: Annotated[
        int, typer.Option(min=1, max=100, help="How many symbols back to look, at most.")
    ] = 10,
    history: Annotated[
        str | None,
        typer.Option(
            help="Symbols after which the next one is wanted; with --lines or --column, commas "
            "between them. By default the end of the sequence."
        ),
    ] = None,
    train: Annotated[
        int, typer.Option(min=10, metavar="N", help="Fit the last N windows, at most.")
    ] = 1000,
    contexts: Annotated[int, typer.Option(min=1, help="How many contexts to show, at most.")] = 15,
    check: Annotated[
        bool, typer.Option(help="Fit the first 80% too, and predict the last 20%.")
    ] = True,
    chains: Annotated[int, typer.Option(min=1, help="Markov chains.")] = 2,
    draws: Annotated[int, typer.Option(min=1, help="Draws of each chain that are kept.")] = 200,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seeds the chains.")] = 0,
    jobs: Annotated[int, typer.Option(help="Chains at work; -1 for one on each processor.")] = -1,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            "--save",  # its name before 0.1
            metavar="MODEL",
            help="Model file to write, for honestbayes.load; none by default.",
            readable=False,
        ),
    ] = None,
    missing: reading.Missing = None,
    delimiter: reading.Delimiter = None,
    encoding: reading.FileEncoding = None,
    max_size: given.MaxSize = given.DEFAULT_MAX_SIZE,
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
) -> None:
    """Learn what follows what in a sequence, and show what is next."""
    given.check_jobs(jobs, "chains")
    _check_roles(column, lines, collapse)
    if out is not None:
        check_replaceable(out)
    from honestbayes.cli.sequence_words import print_sequence
    from honestbayes.report.record import plain_data
    from honestbayes.report.sequences import SequenceOptions, fit_sequence
    from honestbayes.tables.sequences import read_characters, read_column, vowels_and_consonants

    with progress(quiet=quiet or as_json) as bars:
        bars("Reading", 0)
        symbols: Sequence[str]
        if column is not None:
            file = reading.opened(source, delimiter, max_size, None, encoding, missing)
            symbols = read_column(file, column)
        else:
            limit = reading.size_limit(max_size)
            symbols = read_characters(source, max_bytes=limit, encoding=encoding, lines=lines)
        before = _symbols_of(history, column is not None or lines)
        if collapse is not None:
            symbols = vowels_and_consonants("".join(symbols))
            before = None if history is None else list(vowels_and_consonants(history))
        chosen = SequenceOptions(
            order=order,
            n_windows=train,
            contexts=contexts,
            check=check,
            chains={
                "n_chains": chains,
                "n_samples": draws,
                "n_warmup": max(1, draws // 4),
                "n_doublings": 0,
                "n_jobs": jobs,
                "random_state": seed,
            },
        )
        step = bars("Fitting", 2)
        with bad_input():
            found, model = fit_sequence(symbols, chosen, history=before, step=step)
            if out is not None:
                model.save(out)
    if as_json:
        typer.echo(json.dumps(plain_data(found), allow_nan=False, indent=1))
    elif not quiet:
        print_sequence(found, source.name, out)


def _check_roles(column: str | None, lines: bool, collapse: Collapse | None) -> None:
    """Refuse options that contradict each other."""
    if column is not None and lines:
        msg = "--lines is for a text, and --column for a table; give one of them."
        raise InputError(msg)
    if collapse is not None and (lines or column is not None):
        msg = "--collapse is for the characters of a text; leave out --lines and --column."
        raise InputError(msg)


def _symbols_of(history: str | None, are_words: bool) -> list[str] | None:
    """Return the symbols that --history names."""
    if history is None:
        return None
    symbols = [word.strip() for word in history.split(",")] if are_words else list(history)
    if not any(symbols):
        msg = "--history holds no symbol; give some, or leave it out for the end of the sequence."
        raise InputError(msg)
    return [symbol for symbol in symbols if symbol]
