"""Compiled counting of bits. Import where it runs: it imports numba."""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import intrinsic

from honestbayes.compiled import kernel


@intrinsic
def popcount(typingctx, word):  # noqa: ARG001 - numba's signature
    """Return the number of ones of a word, by the processor's own instruction."""

    def codegen(context, builder, signature, args):  # noqa: ARG001 - numba's signature
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@kernel()
def count_bits(bits, masks, ones):
    """Count the ones of each column that are in each mask.

    ``bits`` (c, w) and ``masks`` (G, w) are words, ``ones`` (G, c) is written.
    """
    n_columns, n_words = bits.shape
    for j in range(n_columns):
        for g in range(masks.shape[0]):
            total = np.uint64(0)
            for t in range(n_words):
                total += popcount(bits[j, t] & masks[g, t])  # type: ignore[call-arg]
            ones[g, j] = total
