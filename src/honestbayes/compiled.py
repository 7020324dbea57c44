"""How kernels are compiled: once per machine where a folder can be written, else once per process.

Numba keeps what it compiled beside the source, or in the user's cache folder, or in the one that
``NUMBA_CACHE_DIR`` names. In containers and services there may be none of these; kernels are then
compiled in each process that needs them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function on its first call, without Python's lock.

    Parameters
    ----------
    **options
        Further options of ``numba.njit``.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return njit(cache=True, nogil=True, **options)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            return njit(nogil=True, **options)(function)

    return compiled
