"""What ``honestbayes sequence`` prints."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from honestbayes.cli.messages import say, word
from honestbayes.report.sequences import Check, SequenceReport
from honestbayes.report.wording import interval, number, percent

MOST_NEXT = 20
"""Symbols that may be next that are printed; JSON holds all."""

_SIGNS = {" ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍"}
"""Symbols that would not be seen."""


def print_sequence(found: SequenceReport, name: str, saved: Path | None) -> None:
    """Print what is next, the strongest contexts, and how far that can be believed."""
    used = ""
    if found.n_windows + found.order < found.n_symbols:
        used = f"; the last {found.n_windows:,} windows are used (--train for more)"
    say(
        f"{word(name)}: {found.n_symbols:,} symbols, {len(found.symbols):,} of them different{used}"
    )
    for warning in found.warnings:
        say(f"Note: {warning.replace('raise n_warmup or n_samples', 'raise --draws')}")
    if found.unknown:
        names = ", ".join(_sign(symbol) for symbol in found.unknown)
        say(
            f"Note: {names} of --history does not occur in these windows; contexts with it are new."
        )
    if len(found.history) < found.order:
        say(
            f"Note: --history is shorter than the {found.order} symbols that the model looks back "
            "at; contexts that need what came before it count as new."
        )
    say()
    say(f"After {_joined(found.history)} the next symbol is, with 90% intervals:")
    say(_next_table(found), wrap=False)
    say()
    contexts = found.contexts
    say(
        f"Of {contexts.n_patterns:,.0f} contexts of up to {found.order} symbols (the empty one "
        f"included) {contexts.n_groups:,} can be told apart by these windows. Those with the "
        "largest coefficients, by their medians, and what they add to the log-odds of the symbol:"
    )
    say(_context_table(found), wrap=False)
    say()
    say(_check_in_words(found.check))
    if saved is not None:
        say(f"Model: {saved}", wrap=False)


def _sign(symbol: str) -> str:
    return _SIGNS.get(symbol, word(symbol))


def _joined(symbols: Iterable[str]) -> str:
    signs = [_sign(symbol) for symbol in symbols]
    return ("" if all(len(sign) == 1 for sign in signs) else " ").join(signs)


def _next_table(found: SequenceReport) -> str:
    order = np.argsort(-found.probability, kind="stable")
    signs = [_sign(symbol) for symbol in found.symbols]
    width = max(len(sign) for sign in signs)
    lines = [
        f"  {signs[c]:<{width}}  {found.probability[c]:6.1%}  "
        f"({found.low[c]:.1%} to {found.high[c]:.1%})"
        for c in order[:MOST_NEXT].tolist()
    ]
    more = len(signs) - MOST_NEXT
    if more > 0:
        rest = float(found.probability[order[MOST_NEXT:]].sum())
        lines.append(f"  {more:,} more, {rest:.1%} together")
    return "\n".join(lines)


def _context_table(found: SequenceReport) -> str:
    """Return the contexts as text; of two symbols that it speaks for, the more probable one."""
    contexts = found.contexts
    rows = []
    for i, cells in enumerate(contexts.cells):
        towards, sign = contexts.towards[i], 1.0
        if len(found.symbols) == 2 and contexts.median[i] < 0:
            towards, sign = next(s for s in found.symbols if s != towards), -1.0
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


def _check_in_words(check: Check | None) -> str:
    if check is None:
        return "There is no check on symbols that the fit had not seen."
    new = ""
    if check.n_new:
        what = "1 more was" if check.n_new == 1 else f"{check.n_new:,} more were"
        new = f" ({what} left out: they had not occurred before)"
    asked = (
        f"Check: fitted to the first {check.n_trained:,} windows, asked for the next "
        f"{check.n_checked:,} symbols{new}; a lower log score is better."
    )
    width = max(len(one.name) for one in check.methods)
    lines = [
        f"  {one.name:<{width}}  log score {number(one.log_score, 3)}, wrong {percent(one.error)}"
        for one in check.methods
    ]
    return "\n".join([asked, *lines, _gain_in_words(check)])


def _gain_in_words(check: Check) -> str:
    low, high = check.gain.interval
    other = check.methods[1].name
    by = f"{number(abs(check.gain.value), 3)} a symbol"
    ends = f"the interval of the difference is {interval((low, high), 3)}"
    if low > 0:
        return f"The model is better than {other} by {by}; {ends}."
    if high < 0:
        return f"The model is worse than {other} by {by}; {ends}: lower --order, or raise --train."
    return f"These symbols cannot tell the model from {other}: {ends}."
