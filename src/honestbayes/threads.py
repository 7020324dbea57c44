"""One thread of linear algebra while many small matrices are multiplied.

BLAS divides each product between all cores, and its threads wait for each other by spinning. Where
products are small, or cores are busy, that takes many times as long as one thread does.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

_LOCK = threading.Lock()
_AT_WORK: list[threadpool_limits] = []
"""The limit that is in force, once for each block that is inside."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread inside the block, and as many as before after it.

    The number is one of the process, not of a Python thread: the first block that is entered sets
    it, and the last one that is left restores it, whatever their order.
    """
    with _LOCK:
        _AT_WORK.append(_AT_WORK[0] if _AT_WORK else threadpool_limits(1, user_api="blas"))
    try:
        yield
    finally:
        with _LOCK:
            limit = _AT_WORK.pop()
            if not _AT_WORK:
                limit.restore_original_limits()
