"""Limit linear algebra to one thread while many small matrices are multiplied.

BLAS divides each product between all cores, and its threads wait for each other by spinning. Where
products are small, or cores are busy, that takes many times as long as one thread does.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

_LOCK = threading.Lock()
_AT_WORK: list[Any] = []
"""The limit that is in force, once for each block that is inside."""


_ONE = {"limits": 1, "user_api": "blas"}


@lru_cache(maxsize=1)
def _libraries(_n_modules: int) -> ThreadpoolController:
    """Return the libraries that are loaded: looking for them takes milliseconds.

    They are looked for again after modules were imported, which may have loaded more.
    """
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread inside the block, and as many as before after it.

    The number is one of the process, not of a Python thread: the first block that is entered sets
    it, and the last one that is left restores it, whatever their order.
    """
    with _LOCK:
        limit = _AT_WORK[0] if _AT_WORK else _libraries(len(sys.modules)).limit(**_ONE)
        _AT_WORK.append(limit)
    try:
        yield
    finally:
        with _LOCK:
            limit = _AT_WORK.pop()
            if not _AT_WORK:
                limit.restore_original_limits()
