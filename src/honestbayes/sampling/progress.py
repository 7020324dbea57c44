"""How far chains are, and how long they will take."""

from __future__ import annotations

import time

from honestbayes.sampling.chains import Schedule
from honestbayes.sampling.stages import at_stage
from honestbayes.status_line import StatusLine


class Remaining:
    """Says how far chains are and what time they need.

    Parameters
    ----------
    n_chains : int
        Chains.
    schedule : Schedule
        The first stage's.
    n_doublings : int
        How often chains may go on to twice their length.
    """

    def __init__(self, n_chains: int, schedule: Schedule, n_doublings: int) -> None:
        self._most = n_chains * at_stage(schedule, n_doublings).n_sweeps
        self._first: tuple[int, float] | None = None
        self._line = StatusLine()

    def show(self, done: int, total: int) -> None:
        """Write so many of so many steps, and the time to go."""
        now = time.monotonic()
        if self._first is None:
            # The first steps may have compiled the kernel: they say nothing of those to come.
            self._first = (done, now)
        steps, seconds = done - self._first[0], now - self._first[1]
        left = ""
        if steps > 0 and done < total:
            each = seconds / steps
            left = f", about {each * (total - done):.0f} s to go"
            if self._most > total:
                left += f", or up to {each * (self._most - done):.0f} s if chains must go on"
        text = f"sampling: {done:,} of {total:,} steps ({done / total:.0%}){left}"
        self._line.show(text, last=done == total)
