"""What states and draws of a kernel can be, by which those of a file are checked.

Compiled code does not look at lengths, and a slice sampler never leaves a value that is not a
number: whatever is handed to a kernel has to be of the kernel's own form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from honestbayes.files.entries import Entries
from honestbayes.files.fields import Field, Known
from honestbayes.files.records import Check, values_from_plain
from honestbayes.types import AnyArray


def _nothing(_state: Known, _drawn: Known, _check: Check) -> None:
    """Check nothing more than each field does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Shapes and ranges of all that chains remember and draw.

    Attributes
    ----------
    state : mapping of str to Field
        Arrays of a state, of shape ("n_chains", ...).
    drawn : mapping of str to Field
        Arrays of draws, of shape ("n_chains", "n_draws", ...).
    sizes : dict
        Lengths that the kernel knows; others are those of the states that chains start from.
    check : callable
        Given states, draws (none before the first) and what refuses, looks at what single fields
        cannot know.
    """

    state: Mapping[str, Field]
    drawn: Mapping[str, Field]
    sizes: Known = field(default_factory=dict)
    check: Callable[[Known, Known, Check], None] = _nothing

    def like(self, starts: Sequence[Mapping[str, AnyArray]]) -> Form:
        """Return the form with all lengths that states have, from those that chains start from."""
        known = {**self.sizes, "n_chains": len(starts)}
        first = {name: np.stack([state[name] for state in starts]) for name in starts[0]}
        entries = Entries({}, first, "start of ")
        values_from_plain(self.state, entries, known)
        entries.finish()
        lengths = {name: value for name, value in known.items() if name not in self.state}
        return Form(state=self.state, drawn=self.drawn, sizes=lengths, check=self.check)

    def read(self, entries: Entries, n_draws: int) -> tuple[Known, Known]:
        """Return states and draws of a file, each array of shape (n_chains, ...).

        Parameters
        ----------
        entries : Entries
            With the sections ``state`` and ``drawn``.
        n_draws : int
            Draws that chains must have kept by now; of none there are no arrays.
        """
        remembered, kept = entries.section("state"), entries.section("drawn")
        state = values_from_plain(self.state, remembered, dict(self.sizes))
        drawn: Known = {}
        if n_draws:
            drawn = values_from_plain(self.drawn, kept, {**self.sizes, "n_draws": n_draws})
        remembered.finish()
        kept.finish()
        self.check(state, drawn, entries.check)
        return state, drawn
