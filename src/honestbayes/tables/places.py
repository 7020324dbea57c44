"""Where rows stand, as messages name them: by the line of a text file, or by their number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from honestbayes.types import IntArray


@dataclass(frozen=True, slots=True)
class Places:
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

    def named(self, *positions: int) -> str:
        """Return how a message names rows, given by their positions in the table.

        >>> Places(first=11).named(0), Places().named(0, 2)
        ('row 11', 'rows 1, 3')
        >>> Places(line_of=lambda row: row + 1).named(16)
        'line 18 of the file'
        """
        numbers = [
            self.first + place if self.numbers is None else int(self.numbers[place])
            for place in positions
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
