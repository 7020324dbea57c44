"""How long the candidates of an average will take, and how far they are."""

from __future__ import annotations

import time

from honestbayes.status_line import StatusLine


class FoldProgress:
    """Says how many folds are done and what time the others need.

    Parameters
    ----------
    n_folds : int
        Folds.
    n_first : int
        Those in which models run chains, where any does; others take little beside these.
    n_candidates : int
        Models, each number of features counted.
    """

    def __init__(self, n_folds: int, n_first: int, n_candidates: int) -> None:
        self._n_folds, self._n_first = n_folds, n_first
        self._what = f"trying {n_candidates} candidate{'' if n_candidates == 1 else 's'}"
        self._begin = time.monotonic()
        self._line = StatusLine()

    def __call__(self, done: int) -> None:
        """Write so many folds, and the time to go."""
        each = (time.monotonic() - self._begin) / done
        left = max(self._n_first - done, 0) * each
        if self._n_first == self._n_folds or done > self._n_first:
            left = (self._n_folds - done) * each
        text = f"{self._what}: fold {done} of {self._n_folds}"
        text += f", about {left:.0f} s to go" if done < self._n_folds else ""
        self._line.show(text, last=done == self._n_folds)
