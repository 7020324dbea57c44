"""Compiled counting of genotypes. It imports numba: import it late."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from honestbayes.compiled import kernel


def _popcount(typingctx, word):  # noqa: ARG001 - numba's signature
    def codegen(context, builder, signature, args):  # noqa: ARG001 - numba's signature
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


popcount: Any = intrinsic(_popcount)
"""Return the number of ones of a word, by the processor's own instruction."""


@kernel()
def count_genotypes(packed, masks, counts):
    """Count the genotypes of each variant in each mask.

    ``packed`` (c, b) holds the bytes of PLINK files, ``masks`` (G, w) words with bit 2 i for case
    i of the group; ``counts`` (c, G, 4) is written: first alleles 0, 1 and 2, and missing.
    """
    n_words = masks.shape[1]
    # Variants begin at any byte. Their bytes are copied to a buffer of whole words, which stays in
    # the fastest cache: the table itself is read once, however many groups there are.
    buffer = np.zeros(8 * n_words, dtype=np.uint8)
    words = buffer.view(np.uint64)
    one = np.uint64(1)
    cases = np.zeros(masks.shape[0], dtype=np.uint64)
    for g in range(masks.shape[0]):
        for t in range(n_words):
            cases[g] += popcount(masks[g, t])
    for j in range(packed.shape[0]):
        for i in range(packed.shape[1]):
            buffer[i] = packed[j, i]
        for g in range(masks.shape[0]):
            low = np.uint64(0)
            high = np.uint64(0)
            both = np.uint64(0)
            for t in range(n_words):
                mask, word = masks[g, t], words[t]
                first = word & mask
                second = (word >> one) & mask
                low += popcount(first)
                high += popcount(second)
                both += popcount(first & second)
            counts[j, g, 0] = both  # 11: both alleles are the second
            counts[j, g, 1] = high - both  # 10
            counts[j, g, 2] = cases[g] - low - high + both  # 00
            counts[j, g, 3] = low - both  # 01: missing
