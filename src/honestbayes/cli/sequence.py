"""``honestbayes sequence``: predict the next symbol of a sequence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from honestbayes.cli import options as given
from honestbayes.cli.fit import check_replaceable
from honestbayes.cli.output import bad_input, one_line_errors, progress, say, word
from honestbayes.tables.errors import InputError

if TYPE_CHECKING:
    from honestbayes.report.sequences import Check, SequenceReport


# --------------------------------------------------------------------------------------------------
# What ``honestbayes sequence`` prints
# --------------------------------------------------------------------------------------------------


MOST_NEXT = 20
"""Symbols that may be next that are printed; JSON holds all."""

_SIGNS = {" ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍"}
"""Symbols that would not be seen."""


def print_sequence(report: SequenceReport, name: str, saved: Path | None) -> None:
    """Print the predictions, the strongest contexts and the check."""
    used = ""
    if report.n_windows + report.order < report.n_symbols:
        used = (
            f"; the model is fitted to the last {report.n_windows:,} windows (--train changes that)"
        )
    say(
        f"{word(name)}: {report.n_symbols:,} symbols, {len(report.symbols):,} of them "
        f"different{used}"
    )
    for warning in report.warnings:
        say(f"Note: {warning.replace('raise n_warmup or n_draws', 'raise --draws')}")
    if report.unknown:
        names = ", ".join(_sign(symbol) for symbol in report.unknown)
        say(
            f"Note: {names} in --history does not occur in these windows, so contexts with it "
            "are new."
        )
    if len(report.history) < report.order:
        say(
            f"Note: --history is shorter than the {report.order} symbols that the model uses; "
            "longer "
            "contexts count as new."
        )
    say()
    say(f"After {_joined(report.history)} the next symbol is, with 90% intervals:")
    say(_next_table(report), wrap=False)
    say()
    contexts = report.contexts
    say(
        f"Of {contexts.n_patterns:,.0f} contexts of up to {report.order} symbols (the empty one "
        f"included) {contexts.n_groups:,} can be distinguished by these windows. Those with the "
        "largest coefficients, by their medians, and what they add to the log-odds of the symbol:"
    )
    say(_context_table(report), wrap=False)
    say()
    say(_describe_check(report.check))
    if saved is not None:
        say(f"Model: {saved}", wrap=False)


def _sign(symbol: str) -> str:
    return _SIGNS.get(symbol, word(symbol))


def _joined(symbols: Iterable[str]) -> str:
    signs = [_sign(symbol) for symbol in symbols]
    return ("" if all(len(sign) == 1 for sign in signs) else " ").join(signs)


def _next_table(report: SequenceReport) -> str:
    import numpy as np

    order = np.argsort(-report.probability, kind="stable")
    signs = [_sign(symbol) for symbol in report.symbols]
    width = max(len(sign) for sign in signs)
    lines = [
        f"  {signs[c]:<{width}}  {report.probability[c]:6.1%}  "
        f"({report.low[c]:.1%} to {report.high[c]:.1%})"
        for c in order[:MOST_NEXT].tolist()
    ]
    more = len(signs) - MOST_NEXT
    if more > 0:
        rest = float(report.probability[order[MOST_NEXT:]].sum())
        lines.append(f"  {more:,} more, {rest:.1%} together")
    return "\n".join(lines)


def _context_table(report: SequenceReport) -> str:
    """Return the contexts as text; of two symbols, with the one that it makes more probable."""
    contexts = report.contexts
    rows = []
    for i, cells in enumerate(contexts.cells):
        towards, sign = contexts.towards[i], 1.0
        if len(report.symbols) == 2 and contexts.median[i] < 0:
            towards, sign = next(s for s in report.symbols if s != towards), -1.0
        ends = sorted((sign * float(contexts.low[i]), sign * float(contexts.high[i])))
        text = f"{_joined(state for _, state in cells)} -> {_sign(towards)}"
        rows.append(
            (text, f"{sign * float(contexts.median[i]):+.2f}", f"{ends[0]:.1f} to {ends[1]:.1f}")
        )
    heads = ("context", "median", "90% interval")
    widths = [max(len(row[c]) for row in [heads, *rows]) for c in range(3)]
    return "\n".join(
        f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]}" for row in [heads, *rows]
    )


def _describe_check(check: Check | None) -> str:
    from honestbayes.report.wording import number, percent

    if check is None:
        return "The model was not checked on held-out symbols."
    new = ""
    if check.n_new:
        what = "1 more was" if check.n_new == 1 else f"{check.n_new:,} more were"
        new = f" ({what} left out because training did not contain them)"
    asked = (
        f"Check: a model of the first {check.n_trained:,} windows predicts the next "
        f"{check.n_checked:,} symbols{new}; a lower log score is better."
    )
    width = max(len(one.name) for one in check.methods)
    lines = [
        f"  {one.name:<{width}}  log score {number(one.log_score, 3)}, wrong {percent(one.error)}"
        for one in check.methods
    ]
    return "\n".join([asked, *lines, _describe_gain(check)])


def _describe_gain(check: Check) -> str:
    from honestbayes.report.wording import interval, number

    low, high = check.gain.interval
    other = check.methods[1].name
    by = f"{number(abs(check.gain.value), 3)} a symbol"
    ends = f"the interval of the difference is {interval((low, high), 3)}"
    if low > 0:
        return f"The model is better than {other} by {by}; {ends}."
    if high < 0:
        return f"The model is worse than {other} by {by}; {ends}: lower --order, or raise --train."
    return f"There is no clear difference from {other}: {ends}."


class Collapse(StrEnum):
    """Ways to reduce characters to a few symbols."""

    vowels = "vowels"


@one_line_errors
@given.reads_tables("decimal", "transpose", "phenotype", "sample_id", "layer")
def sequence(
    source: Annotated[
        Path,
        typer.Argument(
            help="Text file, whose characters are the symbols; or a table, with --column.",
            readable=False,
        ),
    ],
    column: Annotated[
        str | None, typer.Option(help="Column of a table that holds the symbols, in order.")
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
        int, typer.Option(min=1, max=100, help="Largest number of preceding symbols to use.")
    ] = 10,
    history: Annotated[
        str | None,
        typer.Option(
            help="Predict the symbol after these; with --lines or --column, separate them by "
            "commas. "
            "By default the end of the sequence."
        ),
    ] = None,
    train: Annotated[
        int, typer.Option(min=10, metavar="N", help="Fit to the last N windows at most.")
    ] = 1000,
    contexts: Annotated[int, typer.Option(min=1, help="Largest number of contexts to show.")] = 15,
    check: Annotated[
        bool, typer.Option(help="Check the model: fit the first 80% and predict the last 20%.")
    ] = True,
    chains: Annotated[int, typer.Option(min=1, help="Number of Markov chains.")] = 2,
    draws: Annotated[int, typer.Option(min=1, help="Draws to keep from each chain.")] = 200,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seeds the chains.")] = 0,
    jobs: Annotated[
        int, typer.Option(help="Chains to run in parallel; -1 for one per processor.")
    ] = -1,
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
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
    *,
    reading: given.Reading,
) -> None:
    """Predict the next symbol of a sequence from the symbols before it."""
    given.check_jobs(jobs, "chains")
    _check_roles(column, lines, collapse)
    if out is not None:
        check_replaceable(out)
    from honestbayes.report.record import plain_data
    from honestbayes.report.sequences import SequenceOptions, fit_sequence
    from honestbayes.tables.sequences import read_characters, read_column, vowels_and_consonants

    with progress(quiet=quiet or as_json) as bars:
        bars("Reading", 0)
        symbols: Sequence[str]
        if column is not None:
            file = reading.open(source)
            symbols = read_column(file, column)
        else:
            limit = reading.max_bytes
            symbols = read_characters(
                source, max_bytes=limit, encoding=reading.encoding, lines=lines
            )
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
                "n_draws": draws,
                "n_warmup": max(1, draws // 4),
                "n_doublings": 0,
                "thin": 4,
                "n_jobs": jobs,
                "random_state": seed,
            },
        )
        step = bars("Fitting", 2)
        with bad_input():
            report, model = fit_sequence(symbols, chosen, history=before, step=step)
            if out is not None:
                model.save(out)
    if as_json:
        typer.echo(json.dumps(plain_data(report), allow_nan=False, indent=1))
    elif not quiet:
        print_sequence(report, source.name, out)


def _check_roles(column: str | None, lines: bool, collapse: Collapse | None) -> None:
    """Refuse options that contradict each other."""
    if column is not None and lines:
        msg = "--lines is for a text and --column for a table; give only one of them."
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
        msg = (
            "--history holds no symbols; give some, or leave it out to predict the end of the "
            "sequence."
        )
        raise InputError(msg)
    return [symbol for symbol in symbols if symbol]
