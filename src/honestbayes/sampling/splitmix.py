"""Random numbers as functions of a key, for draws that are recomputed instead of stored.

SplitMix64: Steele, G. L., Lea, D. and Flood, C. H. (2014). Fast splittable pseudorandom number
generators. OOPSLA, 453-472.
"""

from __future__ import annotations

import numpy as np

from honestbayes.compiled import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The step between states: 2^64 over the golden ratio."""


@kernel()
def mixed(state):  # type: ignore[no-untyped-def]
    """Return the number that follows a state of 64 bits; it can be the next state or key."""
    z = state + GOLDEN
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel()
def uniform_of(bits):  # type: ignore[no-untyped-def]
    """Return a number strictly between 0 and 1, of the upper 53 bits."""
    return (np.float64(bits >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)
