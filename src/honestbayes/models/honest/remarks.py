"""Warnings of many models in many folds, each said once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

Remark = tuple[str, type[Warning]]
"""What a warning says, and of what kind it is."""

_KNOWN = "X does not have valid feature names"
"""How a warning begins that is about what the average does itself."""


def with_remarks(work: Callable[..., Any], *given: Any) -> tuple[Any, list[Remark]]:
    """Do some work, perhaps in another process; return its result, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = work(*given)
    return result, [(str(each.message), each.category) for each in caught]


def say_once(remarks: Iterable[Remark], stacklevel: int) -> None:
    """Warn of each different thing once."""
    for text, kind in dict.fromkeys(remarks):
        if not text.startswith(_KNOWN):
            warnings.warn(text, kind, stacklevel=stacklevel + 1)


@contextmanager
def said_once() -> Iterator[None]:
    """Let each warning of many models be said once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    say_once([(str(each.message), each.category) for each in caught], stacklevel=4)
