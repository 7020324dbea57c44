"""Compiled kernels for products of polynomials with positive coefficients.

Import this module only where a kernel is about to run: it imports numba.

The polynomials are products of linear factors x + i, i >= 0, and sequences made of them whose
logarithms are concave (docs, "Categorical features"). So each sum over products of coefficients
has one peak; it is found by walking, and terms far below it are left out. Coefficients are kept as
logarithms, because they span thousands of orders of magnitude.
"""

from __future__ import annotations

import math

import numpy as np

from honestbayes.compiled import kernel

_FAR_BELOW = -40.0
"""Terms with this logarithm, relative to the largest, are left out: exp(-40) = 4e-18."""


_WIDEST = 280.0
"""Range of logarithms within a block; products of two blocks are in the range of plain numbers."""

_LONGEST = 128
"""Length of a block."""

_SHORT = 400
"""Sequences up to this length are one block each, if their range allows it."""


@kernel()
def _blocks(a):
    """Cut a sequence into blocks of a narrow range; return where they begin, and its length."""
    starts = np.zeros(a.size + 1, dtype=np.int64)
    number = 0
    low = high = a[0]
    for t in range(1, a.size):
        low, high = min(low, a[t]), max(high, a[t])
        if high - low > _WIDEST or t - starts[number] == _LONGEST:
            number += 1
            starts[number] = t
            low = high = a[t]
    starts[number + 1] = a.size
    return starts[: number + 2]


@kernel()
def _largest_terms(a, b):
    """Return the largest a[t] + b[s - t] for each s; both concave, so its t never falls."""
    n, m = a.size, b.size
    out = np.empty(n + m - 1)
    peak = 0
    for s in range(n + m - 1):
        low, high = max(0, s - m + 1), min(n - 1, s)
        peak = max(peak, low)
        while peak < high and a[peak + 1] + b[s - peak - 1] >= a[peak] + b[s - peak]:
            peak += 1
        out[s] = a[peak] + b[s - peak]
    return out


@kernel()
def log_convolve(a, b):
    """Return log(sum over t of exp(a[t] + b[s - t])) for each s; both concave and finite.

    In plain numbers, block by block, each relative to the largest term of its sum. Pairs of blocks
    all of whose terms are negligible are left out.
    """
    if a.size <= _SHORT and b.size <= _SHORT:
        top_a, top_b = a.max(), b.max()
        if top_a - a.min() + top_b - b.min() < 2 * _WIDEST:  # one pair, of one scale
            plain = np.exp(b - top_b)
            total = np.zeros(a.size + b.size - 1)
            for t in range(a.size):
                factor = math.exp(a[t] - top_a)
                for u in range(b.size):
                    total[t + u] += factor * plain[u]
            return np.log(total) + (top_a + top_b)
    top = _largest_terms(a, b)
    total = np.zeros(top.size)
    blocks_a, blocks_b = _blocks(a), _blocks(b)
    product = np.empty(2 * _LONGEST)
    plain_b = np.empty(b.size)
    tops_b = np.empty(len(blocks_b) - 1)
    for j in range(len(blocks_b) - 1):
        part = b[blocks_b[j] : blocks_b[j + 1]]
        tops_b[j] = part.max()
        plain_b[blocks_b[j] : blocks_b[j + 1]] = np.exp(part - tops_b[j])
    for i in range(len(blocks_a) - 1):
        first, last = blocks_a[i], blocks_a[i + 1]
        top_a = a[first:last].max()
        plain_a = np.exp(a[first:last] - top_a)
        for j in range(len(blocks_b) - 1):
            start = first + blocks_b[j]
            size = last - first + blocks_b[j + 1] - blocks_b[j] - 1
            scale = top_a + tops_b[j]
            # The largest terms are concave in s (a sup-convolution of concave sequences), so over
            # the block they are smallest at an end: the test there holds for all of it.
            if scale - min(top[start], top[start + size - 1]) < _FAR_BELOW:
                continue
            product[:size] = 0.0
            for t in range(last - first):
                factor = plain_a[t]
                for u in range(blocks_b[j], blocks_b[j + 1]):
                    product[t + u - blocks_b[j]] += factor * plain_b[u]
            # Each factor is within exp(560), twice the range of a block: neither overflows. All
            # terms are positive, so nothing cancels, whatever the order of blocks.
            for s in range(size):
                total[start + s] += product[s] * math.exp(scale - top[start + s])
    for s in range(top.size):
        total[s] = top[s] + math.log(total[s])
    return total


@kernel()
def log_rising(start, stop):
    """Return the log coefficients of (x + start)(x + start + 1) ... (x + stop - 1), start >= 1."""
    if stop - start <= 32:
        out = np.zeros(1)
        for i in range(start, stop):
            longer = np.empty(out.size + 1)
            log_i = math.log(i)
            longer[0] = out[0] + log_i
            for t in range(1, out.size):
                first, second = out[t] + log_i, out[t - 1]
                top = max(first, second)
                longer[t] = top + math.log1p(math.exp(min(first, second) - top))
            longer[out.size] = out[-1]
            out = longer
        return out
    # By halves: products of n linear factors one by one would take n^2 logarithms. A polynomial
    # with real roots has log-concave coefficients (Newton's inequalities), as `log_convolve` needs.
    middle = (start + stop) // 2
    return log_convolve(log_rising(start, middle), log_rising(middle, stop))


@kernel()
def log_peak_sum(terms, log_x):
    """Return log(sum over t of exp(terms[t] + t log_x)) of a concave sequence."""
    peak = 0
    low, high = 0, terms.size - 1
    while low < high:  # the slope falls, so halving finds where it changes sign
        peak = (low + high) // 2
        if terms[peak + 1] - terms[peak] + log_x > 0:
            low = peak + 1
        else:
            high = peak
    peak = low
    top = terms[peak]
    # From the peak outwards. Steps only get steeper: the first negligible term ends the sum.
    total = 1.0
    for t in range(peak + 1, terms.size):
        term = terms[t] - top + (t - peak) * log_x
        if term < _FAR_BELOW:
            break
        total += math.exp(term)
    for t in range(peak - 1, -1, -1):
        term = terms[t] - top + (t - peak) * log_x
        if term < _FAR_BELOW:
            break
        total += math.exp(term)
    return top + peak * log_x + math.log(total)


@kernel()
def level_terms(counts, rising, start, log_gamma):
    """Return log coefficients of one level's polynomial, times Gamma(base + t), and its offset.

    ``counts`` holds the level's count in each class. Its polynomial is x to the power of the
    offset times one of positive coefficients.
    """
    terms = np.zeros(1)
    offset = 0
    for count in counts:
        if count > 0:
            offset += 1
            factor = rising[start[count] : start[count] + count]
            terms = (
                factor.copy() if terms.size == 1 and offset == 1 else log_convolve(terms, factor)
            )
    for t in range(terms.size):
        terms[t] += log_gamma[offset + t]
    return terms, offset


@kernel()
def table_terms(tables, rising, start, log_gamma, log_total, offsets, ends, out):
    """Write the terms of each table's polynomial in alpha into ``out``.

    Parameters
    ----------
    tables : ndarray of int of shape (D, C, V)
        Counts.
    rising, start : ndarray
        Log coefficients of x(x + 1)...(x + n - 1) without x, from ``start[n]`` on.
    log_gamma : ndarray
        log of Gamma(base + t) / Gamma(base).
    log_total : ndarray
        log of Gamma(V base) / Gamma(V base + t).
    offsets, ends : ndarray of int of shape (D,)
        Lowest power of each polynomial; where its terms end in ``out``.
    """
    position = 0
    for d in range(tables.shape[0]):
        product = np.zeros(1)
        lowest = 0
        for v in range(tables.shape[2]):
            terms, offset = level_terms(tables[d, :, v], rising, start, log_gamma)
            lowest += offset
            product = log_convolve(product, terms)
        offsets[d] = lowest
        for t in range(product.size):
            out[position + t] = product[t] + log_total[lowest + t]
        position += product.size
        ends[d] = position


@kernel()
def evaluate_terms(terms, offsets, ends, log_alpha, out):
    """Fill ``out[a, d]`` with the log of polynomial d at alpha a."""
    begin = 0
    for d in range(ends.size):
        part = terms[begin : ends[d]]
        for a in range(log_alpha.size):
            out[a, d] = log_peak_sum(part, log_alpha[a]) + offsets[d] * log_alpha[a]
        begin = ends[d]


@kernel()
def level_means(tables, rising, start, log_gamma, log_total, base, log_alpha, out):
    """Fill ``out[a, d, v]`` with E[theta_v | table d, alpha a].

    Multiplying by theta_v replaces Gamma(base + t) by Gamma(base + t + 1) in the terms of level v.
    The means are normalised by their sum, which is 1 but for rounding.
    """
    levels = tables.shape[2]
    for d in range(tables.shape[0]):
        own = [level_terms(tables[d, :, v], rising, start, log_gamma) for v in range(levels)]
        # Products of all levels but one, from the left and from the right: dividing one factor out
        # of a product of polynomials would lose digits.
        before = [np.zeros(1)]
        for v in range(levels - 1):
            before.append(log_convolve(before[v], own[v][0]))
        after = np.zeros(1)
        lowest = 0
        for v in range(levels):
            lowest += own[v][1]
        for v in range(levels - 1, -1, -1):
            terms, offset = own[v]
            shifted = np.empty(terms.size)
            for t in range(terms.size):
                shifted[t] = terms[t] + math.log(base + offset + t)
            product = log_convolve(log_convolve(before[v], after), shifted)
            for t in range(product.size):
                product[t] += log_total[lowest + t + 1]
            for a in range(log_alpha.size):
                out[a, d, v] = log_peak_sum(product, log_alpha[a])
            after = log_convolve(after, terms)
        for a in range(log_alpha.size):
            top = out[a, d].max()
            total = 0.0
            for v in range(levels):
                out[a, d, v] = math.exp(out[a, d, v] - top)
                total += out[a, d, v]
            for v in range(levels):
                out[a, d, v] /= total
