"""A progress line for terminals, notebooks and logs."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import Any

SHORTEST = 0.2
"""Seconds for which a text stays on a terminal or in a notebook."""

_SOON = 1.0  # seconds after which a log gets its third line


class StatusLine:
    """A text that is replaced by the next one.

    On a terminal it is one line of the standard error. In a notebook it is one output, so that a
    saved notebook holds the last text alone. In a log nothing can be replaced: it gets the first
    texts, then one whenever twice the time has passed, and the last.
    """

    def __init__(self) -> None:
        self._output: Any = None
        self._began: float | None = None
        self._shown = -1.0
        self._count = 0
        self._width = 0

    def show(self, text: str, *, last: bool = False) -> None:
        """Replace the text; the last one is always written."""
        now = time.monotonic()
        self._began = now if self._began is None else self._began
        passed = now - self._began
        in_place = is_watched()
        if not last and not self._is_due(passed, in_place):
            return
        self._shown = passed
        self._count += 1
        if in_notebook():
            self._display(text)
        elif in_place:
            sys.stderr.write(f"\r{text:<{self._width}}" + "\n" * last)
            self._width = 0 if last else len(text)
        else:
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def _is_due(self, passed: float, in_place: bool) -> bool:
        if self._count == 0:
            return True
        if in_place:
            return passed >= self._shown + SHORTEST
        return self._count == 1 or passed >= max(2 * self._shown, _SOON)

    def _display(self, text: str) -> None:
        data = {"text/plain": text}
        if self._output is None:
            self._output = import_module("IPython.display").display(data, raw=True, display_id=True)
        else:
            self._output.update(data, raw=True)


def in_notebook() -> bool:
    """Whether this runs in a notebook."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return getattr(shell, "kernel", None) is not None


def is_watched() -> bool:
    """Whether the output is shown in a notebook or on a terminal."""
    return in_notebook() or sys.stderr.isatty()
