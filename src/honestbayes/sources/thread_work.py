"""Functions applied to blocks by a few threads of this process, when results are asked for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from joblib import cpu_count

from honestbayes.sources.source import Work

_MOST_THREADS = 4
"""Counting bits takes as long as reading them from memory, which few threads keep busy."""


@dataclass(frozen=True, slots=True, eq=False)
class Deferred:
    """A function that will be applied to values, some of which may be deferred themselves."""

    function: Callable[..., Any]
    values: tuple[Any, ...] = ()

    def result(self) -> Any:
        """Apply the function, in the thread that asks."""
        values = (value.result() if isinstance(value, Deferred) else value for value in self.values)
        return self.function(*values)


class ThreadWork:
    """Functions are applied by threads; what they are applied to is let go when they are done.

    Results do not depend on the number of threads.
    """

    def call(self, function: Callable[..., Any], *values: Any) -> Deferred:
        """Return what stands for the result."""
        return Deferred(function, values)

    def results(self, calls: list[Any]) -> list[Any]:
        """Apply the functions, and wait for them."""
        n_threads = min(len(calls), cpu_count(), _MOST_THREADS)
        if n_threads <= 1:
            return [call.result() for call in calls]
        with ThreadPoolExecutor(n_threads, thread_name_prefix="honestbayes") as pool:
            return list(pool.map(Deferred.result, calls))


THREADS: Work = ThreadWork()
