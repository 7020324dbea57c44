"""Compilation of kernels, cached on disk where a folder can be written.

Numba keeps what it compiled beside the source, or in the user's cache folder, or in the one that
``NUMBA_CACHE_DIR`` names. In containers and services there may be none of these; kernels are then
compiled in each process that needs them. What another version of the package has left there, or a
process that was killed, or a full disk, is never an error: the kernel is compiled again.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numba
from numba import njit


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function on its first call, without Python's lock.

    With a kernel numba compiles once more all that it calls, so that a tower of kernels takes long.
    ``inline="always"`` puts a kernel into those that call it, and it is not compiled by itself; it
    cannot be called with ``*arguments`` there.

    Parameters
    ----------
    **options
        Further options of ``numba.njit``.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            dispatcher = njit(cache=True, nogil=True, **options)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            return njit(nogil=True, **options)(function)
        _distrust(dispatcher)
        return dispatcher

    return compiled


def _distrust(dispatcher: Any) -> None:
    """Restrict a kernel's cache to this version of the package, and ignore unreadable entries.

    Numba looks at the time stamp of a kernel's own file, and only after it has unpickled the types
    of arguments: a class that was renamed in another file would be an AttributeError.
    """
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if not all(hasattr(file, name) for name in ("_version", "_load_index", "load", "save")):
        return  # a numba that keeps its cache in another way
    assert file is not None
    file._version = f"{numba.__version__}, honestbayes {_package_version()}"
    file._load_index = _or_else(dict, file._load_index)
    file.load = _or_else(lambda: None, file.load)
    file.save = _or_else(lambda: None, file.save)


def _or_else(instead: Callable[[], Any], method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method whose every error becomes a value: unpickling may raise anything."""

    def attempt(*given: Any) -> Any:
        try:
            return method(*given)
        except Exception:
            return instead()

    return attempt


def _package_version() -> str:
    try:
        return version("honestbayes")
    except PackageNotFoundError:  # a source tree that was not installed
        return "0+unknown"
