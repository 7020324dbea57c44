"""Errors for bad input, and quotation of data in their messages."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from honestbayes.types import IntArray


# --------------------------------------------------------------------------------------------------
# Locations of rows in messages: the line of a text file, or the row number
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RowLocations:
    """Where the rows of a table, or of a part of it, stand.

    Attributes
    ----------
    numbers : ndarray of shape (n,), or None
        Their numbers in the whole table, counted from 1; None: they follow each other.
    first : int
        The number of the first one, where they do.
    line_of : callable or None
        Returns the line of the file on which the row of a number begins, and None where that cannot
        be told; None for tables that are no text.
    """

    numbers: IntArray | None = None
    first: int = 1
    line_of: Callable[[int], int | None] | None = None

    def describe(self, *positions: int) -> str:
        """Return how a message names rows, given by their positions in the table.

        >>> RowLocations(first=11).describe(0), RowLocations().describe(0, 2)
        ('row 11', 'rows 1, 3')
        >>> RowLocations(line_of=lambda row: row + 1).describe(16)
        'line 18 of the file'
        """
        numbers = [
            self.first + index if self.numbers is None else int(self.numbers[index])
            for index in positions
        ]
        s = "s" * (len(numbers) > 1)
        if self.line_of is None:
            return f"row{s} {_listed(numbers)}"
        lines = [line for line in map(self.line_of, numbers) if line is not None]
        if len(lines) == len(numbers):
            return f"line{s} {_listed(lines)} of the file"
        return f"data row{s} {_listed(numbers)} (the header not counted)"


def _listed(numbers: list[int]) -> str:
    return ", ".join(f"{number:,}" for number in numbers)


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
    """A table that may lead to wrong conclusions, with one line for each doubt.

    Parameters
    ----------
    name : str
        The table.
    doubts : sequence of str
        What was found, with the options that resolve it.
    """

    def __init__(self, name: str, doubts: Sequence[str]) -> None:
        what = "this doubt" if len(doubts) == 1 else f"these {len(doubts)} doubts"
        self.lines = (
            f"{name} may lead to wrong conclusions; resolve {what}, then run again.",
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
    """Quote several texts, and count the rest."""
    every = list(texts)
    parts = ", ".join(shown(text) for text in every[:limit])
    more = len(every) - limit
    return f"{parts} and {more:,} more" if more > 0 else parts


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
