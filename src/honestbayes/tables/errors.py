"""The error that bad input of a user raises, and how text from data appears in it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

MAX_SHOWN = 60
"""Characters of a text from data that a message shows; more would bury the sentence."""

_MAX_LISTED = 5
_MAX_COMPARED = 5_000  # difflib is slow: names of the first columns are enough for a suggestion


class InputError(ValueError):
    """Bad input of a user: one printable line that names the place and the fix.

    Text from data belongs in a message only through :func:`shown`. What slips through all the
    same is made harmless here: a message never holds a line break or a control character.
    """

    def __init__(self, message: str) -> None:
        super().__init__("".join(c if c.isprintable() else "?" for c in message))


class DoubtfulTable(InputError):  # noqa: N818  # it is named for what is refused
    """A table that would give a wrong conclusion: what is doubtful, one line each.

    Parameters
    ----------
    name : str
        The table.
    doubts : sequence of str
        What was found, with the options that decide.
    """

    def __init__(self, name: str, doubts: Sequence[str]) -> None:
        what = "one thing first" if len(doubts) == 1 else f"{len(doubts)} things first"
        self.lines = (
            f"{name} may lead to a wrong conclusion; decide {what}, then run again.",
            *(f"{doubt}." for doubt in doubts),
        )
        super().__init__(" ".join(self.lines))


def shown(text: str, limit: int = MAX_SHOWN) -> str:
    r"""Quote a text from data: control characters escaped, long text shortened.

    Examples
    --------
    >>> print(shown("a\tb"))
    'a\tb'
    >>> shown("x" * 100, limit=5)
    "'xxxxx...'"
    """
    quoted = repr(text[: limit + 1])
    if len(text) <= limit and len(quoted) <= limit + 2:
        return quoted
    return f"{quoted[: limit + 1]}...{quoted[0]}"


def listed(texts: Iterable[str], limit: int = _MAX_LISTED) -> str:
    """Quote several texts, and say how many more there are."""
    every = list(texts)
    words = ", ".join(shown(text) for text in every[:limit])
    more = len(every) - limit
    return f"{words} and {more:,} more" if more > 0 else words


def suggestion(name: str, names: Sequence[str], these: str = "its columns") -> str:
    """Return "; did you mean ...?" where a name is close to one that exists, else the names."""
    if not names:
        return ""
    candidates = list(names[:_MAX_COMPARED])
    lower = {candidate.casefold(): candidate for candidate in candidates}
    close = difflib.get_close_matches(name.casefold()[:200], list(lower), n=3, cutoff=0.6)
    if close:
        return f"; did you mean {listed(lower[match] for match in close)}?"
    return f"; {these} are {listed(names)}."
