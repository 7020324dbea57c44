"""Compiled kernels for beta-binomial counts, used by the binary model.

Import this module only where a kernel is about to run: it imports numba.

Notation: a class with ``n`` observed cases of a feature holds ``i`` ones. Their probability phi is
Beta(a, b) with ``a = alpha theta`` and ``b = alpha (1 - theta)`` (Li, Zhang and Neal 2008, equation
11); with phi integrated out a column has the probability of equation 18, and the number of ones is
beta-binomial (equations 42 and 43).
"""

from __future__ import annotations

import math

import numpy as np

from honestbayes.compiled import kernel

_NEGLIGIBLE = 1e-60
"""Terms this small relative to the mode are dropped; P(kept) stays accurate above 1e-40."""

_SHIFT = 16
"""From here on Stirling's series with four terms is accurate to the last bit."""


@kernel()
def pmf(n, a, b, out):
    """Fill ``out[lo:hi + 1]`` with P(i ones among n) and return ``(lo, hi)``.

    The recurrence runs outwards from a mode and is normalised by its own sum, so there is
    neither underflow nor a gamma function. Outside ``lo..hi`` the mass is negligible and
    ``out`` is left as it was.
    """
    if a > 1.0 and b > 1.0:
        start = int((n + 1) * ((a - 1.0) / (a + b - 2.0)))
        start = min(max(start, 0), n)
    elif b >= a:
        start = 0
    else:
        start = n
    cut = 0.0 if (a <= 1.0 and b <= 1.0) else _NEGLIGIBLE
    out[start] = 1.0
    total = 1.0
    hi = start
    value = 1.0
    for i in range(start, n):
        value *= (n - i) * (a + i) / ((i + 1.0) * (b + (n - i - 1)))
        if value <= cut:
            break
        hi = i + 1
        out[hi] = value
        total += value
    lo = start
    value = 1.0
    for i in range(start, 0, -1):
        value *= i * (b + (n - i)) / ((n - i + 1.0) * (a + (i - 1)))
        if value <= cut:
            break
        lo = i - 1
        out[lo] = value
        total += value
    for i in range(lo, hi + 1):
        out[i] /= total
    return lo, hi


@kernel()
def region_probabilities(alpha, theta, weight, n0, n1, n_beyond, tied0, tied1):
    """Return P(|COR| > gamma) and P(|COR| = gamma) of one feature given alpha.

    ``n_beyond[i1]`` is the number of values i0 = 0, 1, ... whose correlation with ``i1`` ones
    in class 1 exceeds gamma (equation 41, with r + 1); the negative side follows by swapping
    zeros and ones. ``tied0, tied1`` list the pairs whose correlation is exactly +gamma.
    Every term is positive, so small probabilities keep their relative accuracy.
    """
    pmf0 = np.zeros(n0 + 1)
    pmf1 = np.zeros(n1 + 1)
    lower = np.zeros(n0 + 2)
    upper = np.zeros(n0 + 2)
    beyond = 0.0
    tied = 0.0
    for m in range(theta.size):
        a = alpha * theta[m]
        b = alpha * (1.0 - theta[m])
        lo0, hi0 = pmf(n0, a, b, pmf0)
        lo1, hi1 = pmf(n1, a, b, pmf1)
        # lower[c]: mass of i0 < c; upper[c]: mass of i0 > n0 - c, for c inside the window.
        lower[lo0] = 0.0
        for i in range(lo0, hi0 + 1):
            lower[i + 1] = lower[i] + pmf0[i]
        upper[n0 - hi0] = 0.0
        for i in range(hi0, lo0 - 1, -1):
            upper[n0 - i + 1] = upper[n0 - i] + pmf0[i]
        node_beyond = 0.0
        for i1 in range(lo1, hi1 + 1):
            c = min(n_beyond[i1], hi0 + 1)
            mass = lower[c] if c > lo0 else 0.0
            c = min(n_beyond[n1 - i1], n0 - lo0 + 1)
            if c > n0 - hi0:
                mass += upper[c]
            node_beyond += pmf1[i1] * mass
        node_tied = 0.0
        for t in range(tied0.size):
            i0, i1 = tied0[t], tied1[t]
            if lo0 <= i0 <= hi0 and lo1 <= i1 <= hi1:
                node_tied += pmf0[i0] * pmf1[i1]
            i0, i1 = n0 - i0, n1 - i1
            if lo0 <= i0 <= hi0 and lo1 <= i1 <= hi1:
                node_tied += pmf0[i0] * pmf1[i1]
        beyond += weight[m] * node_beyond
        tied += weight[m] * node_tied
    return beyond, tied


@kernel()
def margin_probabilities(alpha, theta, weight, n0, n1, ones, out):
    """Write P(number of ones in both classes together | alpha) of each margin to ``out``.

    ``n0, n1, ones``, of shape (G,), are the observed cases of the classes and the number of ones.
    """
    pmf0 = np.zeros(n0.max() + 1)
    pmf1 = np.zeros(n1.max() + 1)
    for g in range(ones.size):
        total = 0.0
        for m in range(theta.size):
            a = alpha * theta[m]
            b = alpha * (1.0 - theta[m])
            lo0, hi0 = pmf(n0[g], a, b, pmf0)
            lo1, hi1 = pmf(n1[g], a, b, pmf1)
            node = 0.0
            for i in range(max(lo0, ones[g] - hi1), min(hi0, ones[g] - lo1) + 1):
                node += pmf0[i] * pmf1[ones[g] - i]
            total += weight[m] * node
        out[g] = total


@kernel(error_model="numpy", fastmath={"contract"})
def pmf_table(n, alpha, theta, total):
    """Return P(i | theta_m, alpha) up to a factor, shape (n + 1, M); its sums go to ``total``.

    The recurrence runs through all increasing nodes at once, from i = 0 where theta <= 1/2 and
    from i = n elsewhere, so that for n up to 500 it can neither overflow nor lose the mode.
    """
    table = np.empty((n + 1, theta.size))
    split = np.searchsorted(theta, 0.5, side="right")
    a = alpha * theta
    b = alpha * (1.0 - theta)
    total[:] = 1.0
    table[0, :split] = 1.0
    for i in range(n):
        ways = (n - i) / (i + 1.0)
        for m in range(split):
            value = table[i, m] * (ways * (a[m] + i) / (b[m] + (n - i - 1)))
            table[i + 1, m] = value
            total[m] += value
    table[n, split:] = 1.0
    for i in range(n, 0, -1):
        ways = i / (n - i + 1.0)
        for m in range(split, theta.size):
            value = table[i, m] * (ways * (b[m] + (n - i)) / (a[m] + (i - 1)))
            table[i - 1, m] = value
            total[m] += value
    return table


@kernel(fastmath={"contract"})
def region_from_tables(table0, table1, weight, n_beyond, tied0, tied1):
    """Do :func:`region_probabilities` from tables; ``weight`` includes their normalisation.

    ``n_beyond`` does not decrease with i1, so the inner sum of equation 41 is only extended.
    """
    n0 = table0.shape[0] - 1
    n1 = table1.shape[0] - 1
    n_nodes = weight.size
    beyond = np.zeros(n_nodes)
    tied = np.zeros(n_nodes)
    inner = np.zeros(n_nodes)
    c = 0
    for i1 in range(n1 + 1):
        while c < n_beyond[i1]:
            for m in range(n_nodes):
                inner[m] += table0[c, m]
            c += 1
        if c > 0:
            for m in range(n_nodes):
                beyond[m] += table1[i1, m] * inner[m]
    inner[:] = 0.0
    c = 0
    for i1 in range(n1, -1, -1):
        while c < n_beyond[n1 - i1]:
            for m in range(n_nodes):
                inner[m] += table0[n0 - c, m]
            c += 1
        if c > 0:
            for m in range(n_nodes):
                beyond[m] += table1[i1, m] * inner[m]
    for t in range(tied0.size):
        for m in range(n_nodes):
            tied[m] += table0[tied0[t], m] * table1[tied1[t], m]
            tied[m] += table0[n0 - tied0[t], m] * table1[n1 - tied1[t], m]
    return np.sum(beyond * weight), np.sum(tied * weight)


@kernel(fastmath={"reassoc", "contract"})
def pair_integrals(table0, table1, theta, i0, i1, likelihood, mean_theta):
    """Integrate over theta for each pair: fill P(i0, i1 | alpha) and E[theta | i0, i1, alpha].

    ``table0`` includes the weights of the nodes.
    """
    for d in range(i0.size):
        total = 0.0
        first = 0.0
        row0 = table0[i0[d]]
        row1 = table1[i1[d]]
        for m in range(theta.size):
            term = row0[m] * row1[m]
            total += term
            first += theta[m] * term
        likelihood[d] = total
        mean_theta[d] = first / total if total > 0.0 else np.nan


@kernel(fastmath={"reassoc", "contract"})
def cell_integrals(table0, table1, weight, i0, i1, likelihood):
    """Fill P(i0, i1 | alpha, theta in cell), shape (D, C), where each cell has M / C nodes."""
    n_cells = likelihood.shape[1]
    per_cell = weight.size // n_cells
    for d in range(i0.size):
        row0 = table0[i0[d]]
        row1 = table1[i1[d]]
        for cell in range(n_cells):
            total = 0.0
            for m in range(cell * per_cell, (cell + 1) * per_cell):
                total += weight[m] * row0[m] * row1[m]
            likelihood[d, cell] = total


@kernel()
def log_rising(a, i):
    """Return the sum of log1p(l / a) for l < i, that is log of (a)_i / a^i.

    Direct for few terms; otherwise a difference of Stirling series in which the large parts
    cancel on paper, so nothing is lost at a = 1e9.
    """
    if i <= _SHIFT:
        product = 1.0
        for l in range(1, i):
            product *= 1.0 + l / a
        return math.log(product)
    if a >= _SHIFT:
        return _log_rising_stirling(a, float(i))
    product = 1.0
    for l in range(_SHIFT):
        product *= a + l
    above = a + _SHIFT
    rest = float(i - _SHIFT)
    return (
        math.log(product)
        - i * math.log(a)
        + rest * math.log(above)
        + _log_rising_stirling(above, rest)
    )


@kernel()
def _log_rising_stirling(a, i):
    return (a + i - 0.5) * math.log1p(i / a) - i + _stirling_rest(a + i) - _stirling_rest(a)


@kernel()
def _stirling_rest(a):
    r = 1.0 / (a * a)
    return (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r / 1680.0))) / a


@kernel()
def _theta_terms(alpha, theta, weight, n0, n1, i0, i1, terms):
    """Fill log of weight_m P(column | theta_m, alpha) and return its constant, a function of n."""
    for m in range(theta.size):
        a = alpha * theta[m]
        b = alpha * (1.0 - theta[m])
        if (a == 0.0 and i0 + i1 > 0) or (b == 0.0 and n0 + n1 > i0 + i1):
            terms[m] = -np.inf  # at the ends of the interval only constant columns are possible
            continue
        term = log_rising(a, i0) + log_rising(a, i1)
        term += log_rising(b, n0 - i0) + log_rising(b, n1 - i1)
        if i0 + i1 > 0:
            term += (i0 + i1) * math.log(theta[m])
        if n0 + n1 > i0 + i1:
            term += (n0 + n1 - i0 - i1) * math.log1p(-theta[m])
        terms[m] = term + math.log(weight[m])
    return -log_rising(alpha, n0) - log_rising(alpha, n1)


@kernel()
def theta_log_weights(alpha, theta, weight, n0, n1, i0, i1, out):
    """Fill log P(theta_m, column | alpha) for each feature, shape (k, M)."""
    for d in range(i0.size):
        constant = _theta_terms(alpha, theta, weight, n0[d], n1[d], i0[d], i1[d], out[d])
        for m in range(theta.size):
            out[d, m] += constant


@kernel()
def log_pair_integrals(alpha, theta, weight, n0, n1, i0, i1, log_likelihood, mean_theta):
    """Do :func:`pair_integrals` in logarithms, for any class sizes and without tables.

    The result is the probability of one particular column with these counts, without the
    binomial coefficients, which do not depend on alpha.
    """
    terms = np.empty(theta.size)
    for d in range(i0.size):
        constant = _theta_terms(alpha, theta, weight, n0[d], n1[d], i0[d], i1[d], terms)
        top = np.max(terms)
        total = 0.0
        first = 0.0
        for m in range(theta.size):
            term = math.exp(terms[m] - top)
            total += term
            first += theta[m] * term
        log_likelihood[d] = top + math.log(total) + constant
        mean_theta[d] = first / total


# --------------------------------------------------------------------------------------------------
# Large classes: the same integrals from the nodes near the mode of each pair
#
# Logarithms and divisions are all the cost. Nodes are taken in blocks of a fixed size, one
# operation at a time over a block, so that the compiler uses vector instructions; for them the
# logarithm is written out. The last block is filled up with copies of the last node, whose weight
# is 0.
# --------------------------------------------------------------------------------------------------


_BLOCK = 16
"""Nodes that are evaluated together."""

_LN_2 = math.log(2.0)

_BITS_OF_ROOT_HALF = 0x3FE6A09E667F3BCD
"""The bytes of the double sqrt(1/2) as an integer."""


@kernel()
def _in_blocks(values, last):
    """Return an array of shape (blocks, _BLOCK), filled up with ``last``."""
    padded = np.full((values.size + _BLOCK - 1) // _BLOCK * _BLOCK, last)
    padded[: values.size] = values
    return padded.reshape(-1, _BLOCK)


@kernel()
def _node_constants(alpha, theta):
    """Tabulate what :func:`_log_terms` needs of nodes (blocks, B), shape (blocks, 7, B).

    Rows: a = alpha theta; log(theta); where Stirling's series starts, its reciprocal, and how far
    that is from a; the constant and the slope in i of the result. Below ``_SHIFT`` the series
    starts at a + ``_SHIFT`` and the first factors are multiplied out, as in :func:`log_rising`.
    """
    table = np.empty((theta.shape[0], 7, _BLOCK))
    for block in range(theta.shape[0]):
        for m in range(_BLOCK):
            a = alpha * theta[block, m]
            log_theta = math.log(theta[block, m])
            above = a
            constant = 0.0
            slope = log_theta
            if a < _SHIFT:
                above = a + _SHIFT
                product = 1.0
                for l in range(_SHIFT):
                    product *= a + l
                slope += math.log(above) - math.log(a)
                constant = math.log(product) - _SHIFT * math.log(above)
            table[block, 0, m] = a
            table[block, 1, m] = log_theta
            table[block, 2, m] = above
            table[block, 3, m] = 1.0 / above
            table[block, 4, m] = 0.0 if a >= _SHIFT else _SHIFT
            table[block, 5, m] = constant - _stirling_rest(above)
            table[block, 6, m] = slope
    return table


@kernel(error_model="numpy", fastmath={"contract"}, inline="always")
def _logs(value, bits, power):
    """Write the logarithms of a block over it; ``bits`` are the same bytes as integers.

    A number is 2^k m with m between sqrt(1/2) and sqrt(2); log(m) is 2 artanh(f), where
    f = (m - 1) / (m + 1) is 0.172 at most: the first term left out is 3e-17 of the first.
    """
    for m in range(_BLOCK):
        k = (bits[m] - _BITS_OF_ROOT_HALF) >> 52
        bits[m] -= k << 52
        power[m] = k
    for m in range(_BLOCK):
        f = (value[m] - 1.0) / (value[m] + 1.0)
        r = f * f
        series = 1.0 / 13.0 + r * (1.0 / 15.0 + r * (1.0 / 17.0 + r * (1.0 / 19.0)))
        series = 1.0 / 7.0 + r * (1.0 / 9.0 + r * (1.0 / 11.0 + r * series))
        series = r * (1.0 / 3.0 + r * (1.0 / 5.0 + r * series))
        value[m] = power[m] * _LN_2 + 2.0 * (f + f * series)


@kernel(error_model="numpy", fastmath={"contract"})
def _log_terms(nodes_one, nodes_zero, n0, n1, i0, i1, buffers, terms):
    """Fill a block of log P(column | theta), without the constant of alpha.

    The sum of :func:`log_rising` (a, i) + i log(theta) over the ones of both classes, and of the
    same for their zeros.
    """
    value, bits, power = buffers
    for m in range(_BLOCK):
        terms[m] = 0.0
    for part in range(4):
        i = (i0, i1, n0 - i0, n1 - i1)[part]
        nodes = nodes_one if part < 2 else nodes_zero
        a, log_theta, above, reciprocal = nodes[0], nodes[1], nodes[2], nodes[3]
        shift, constant, slope = nodes[4], nodes[5], nodes[6]
        number = float(i)
        if i > _SHIFT:
            for m in range(_BLOCK):
                end = a[m] + number
                rest = number - shift[m]
                x = rest * reciprocal[m]
                y = 1.0 + x
                inverse = 1.0 / end
                r = inverse * inverse
                series = 1.0 / 360.0 - r * (1.0 / 1260.0 - r * (1.0 / 1680.0))
                stirling = (1.0 / 12.0 - r * series) * inverse
                # log(1 + x) loses what 1 + x is rounded by, which counts where a is a billion.
                rounded = (x - (y - 1.0)) * above[m] * inverse
                ends = constant[m] + number * slope[m] - rest + stirling
                terms[m] += ends + (end - 0.5) * rounded
                value[m] = y
            _logs(value, bits, power)
            for m in range(_BLOCK):
                terms[m] += (a[m] + number - 0.5) * value[m]
        elif i > 0:
            for m in range(_BLOCK):
                value[m] = 1.0
            for l in range(1, i):
                for m in range(_BLOCK):
                    value[m] *= 1.0 + l / a[m]
            _logs(value, bits, power)
            for m in range(_BLOCK):
                terms[m] += value[m] + number * log_theta[m]


@kernel()
def _near_index(theta, alpha, n0, n1, i0, i1):
    """Return a node near the mode: the frequency in both classes, weighted by its precision."""
    weight0 = 1.0 / (n0 + alpha)
    weight1 = 1.0 / (n1 + alpha)
    frequency = (weight0 * i0 + weight1 * i1) / (weight0 * n0 + weight1 * n1)
    return min(np.searchsorted(theta, frequency), theta.size - 1)


@kernel()
def _near_mode(nodes_one, nodes_zero, start, weight, n0, n1, i0, i1, share, buffers, terms):
    """Fill blocks ``terms[lo:hi]`` with P(column | theta) relative to the largest, near the mode.

    Returns lo, hi and the logarithm of the largest. log P is a sum of logarithms of functions that
    are linear in theta, so it is concave: beyond the mode it only falls. Once it has fallen to
    ``share`` of the weighted sum so far, all nodes beyond, whose weights sum to 1 at most, add no
    more than that share. This holds whatever the weights are: with a mode in a cell of hardly any
    weight the sum so far is small, and more nodes are used.
    """
    lo, hi = start, start
    top, total = -np.inf, 0.0
    lower_done, upper_done = False, False
    while not (lower_done and upper_done):
        if upper_done:
            lo -= 1
            block = lo
        else:
            block = hi
            hi += 1
        new = terms[block]
        _log_terms(nodes_one[block], nodes_zero[block], n0, n1, i0, i1, buffers, new)
        largest = np.max(new)
        if largest > top:
            scale = math.exp(top - largest)
            top = largest
            total *= scale
            for other in range(lo, hi):
                if other != block:
                    for m in range(_BLOCK):
                        terms[other, m] *= scale
        for m in range(_BLOCK):
            new[m] = math.exp(new[m] - top)
            total += weight[block, m] * new[m]
        # The largest term is 1: an end with less is beyond the mode.
        last, first = terms[hi - 1, _BLOCK - 1], terms[lo, 0]
        upper_done = hi == len(terms) or (last < 1.0 and last <= share * total)
        lower_done = lo == 0 or (first < 1.0 and first <= share * total)
    return lo, hi, top


_REACH = 1.07
"""Standard deviations of theta given a column that tables cover on both sides of a block, relative
to those beyond which a normal density is less than the share of it that may be left out. For a
small alpha, where theta is far from normal, the standard deviation is taken 2.4 times too large."""

_APART = 3.0
"""Standard deviations of a class's frequency that they cover beyond that."""

_ROWS_PER_PAIR = 60
"""Tables are made where they have at most so many rows for each pair of counts."""

_TOO_SMALL = 1e-200
"""Sums of products from tables may have lost digits below this; such pairs go by logarithms."""


@kernel(error_model="numpy", fastmath={"contract"})
def _class_table(alpha, blocks, nodes_one, nodes_zero, n, n_all, n_pairs, share, buffers):
    """Tabulate P(i ones among n | theta) of one class, for i near the frequency of each block.

    With many pairs the same numbers of ones recur, and from one number to the next the probability
    changes by a rational factor, so that only the first one of a block takes logarithms.

    Returns the first number of ones of each block, its first row, shape (blocks + 1,), and the
    rows, shape (R, _BLOCK). There are no rows where the pairs are too few.
    """
    reach = _REACH * math.sqrt(-2.0 * math.log(share))
    n_blocks = blocks.shape[0]
    low, offset = np.zeros(n_blocks, np.int64), np.zeros(n_blocks + 1, np.int64)
    for block in range(n_blocks):
        first, last = blocks[block, 0], blocks[block, _BLOCK - 1]
        steepest = min(max(first, 0.5), last)  # where the variance is largest
        spread = math.sqrt(steepest * (1.0 - steepest))
        width = spread * (reach * math.sqrt(1.0 / n_all + 3.0 / alpha) + _APART / math.sqrt(n))
        low[block] = max(0, int(n * (first - width)) - 1)
        high = min(n, int(n * (last + width)) + 1)
        offset[block + 1] = offset[block] + high - low[block] + 1
    if offset[n_blocks] > _ROWS_PER_PAIR * n_pairs:
        offset[:] = 0
    table = np.empty((offset[n_blocks], _BLOCK))
    for block in range(n_blocks):
        row, i = offset[block], low[block]
        if row == offset[block + 1]:
            continue
        one, zero = nodes_one[block, 0], nodes_zero[block, 0]
        _log_terms(nodes_one[block], nodes_zero[block], n, 0, i, 0, buffers, table[row])
        constant = math.lgamma(n + 1.0) - math.lgamma(i + 1.0) - math.lgamma(n - i + 1.0)
        constant -= log_rising(alpha, n)
        for m in range(_BLOCK):
            table[row, m] = math.exp(table[row, m] + constant)
        while row + 1 < offset[block + 1]:
            ways = (n - i) / (i + 1.0)
            rest = n - i - 1.0
            for m in range(_BLOCK):
                table[row + 1, m] = table[row, m] * ways * (one[m] + i) / (zero[m] + rest)
            row += 1
            i += 1
    return low, offset, table


@kernel()
def _class_tables(alpha, blocks, nodes_one, nodes_zero, n0, n1, share, buffers):
    """Return :func:`_class_table` of both classes; without rows where cells are missing."""
    n_pairs = n0.size
    for d in range(n0.size):
        if n0[d] != n0[0] or n1[d] != n1[0]:
            n_pairs = 0
            break
    size0, size1 = (n0[0], n1[0]) if n_pairs > 0 else (1, 1)
    both = size0 + size1
    of_class_0 = _class_table(
        alpha, blocks, nodes_one, nodes_zero, size0, both, n_pairs, share, buffers
    )
    if size0 == size1:
        return of_class_0, of_class_0
    of_class_1 = _class_table(
        alpha, blocks, nodes_one, nodes_zero, size1, both, n_pairs, share, buffers
    )
    return of_class_0, of_class_1


@kernel(error_model="numpy", fastmath={"contract"})
def _near_mode_by_tables(tables, start, weight, i0, i1, share, terms):
    """Fill blocks ``terms[lo:hi]`` with P(i0, i1 | theta) from tables, and return lo and hi.

    They end as in :func:`_near_mode`. Where a row is not in the tables, or all is too small, hi is
    0.
    """
    (low0, offset0, table0), (low1, offset1, table1) = tables
    lo, hi = start, start
    total, largest = 0.0, 0.0
    lower_done, upper_done = False, False
    while not (lower_done and upper_done):
        if upper_done:
            lo -= 1
            block = lo
        else:
            block = hi
            hi += 1
        row0 = offset0[block] + i0 - low0[block]
        row1 = offset1[block] + i1 - low1[block]
        if not (offset0[block] <= row0 < offset0[block + 1]):
            return 0, 0
        if not (offset1[block] <= row1 < offset1[block + 1]):
            return 0, 0
        for m in range(_BLOCK):
            terms[block, m] = table0[row0, m] * table1[row1, m]
        for m in range(_BLOCK):
            total += weight[block, m] * terms[block, m]
            largest = max(largest, terms[block, m])
        last, first = terms[hi - 1, _BLOCK - 1], terms[lo, 0]
        upper_done = hi == len(terms) or (last < largest and last <= share * total)
        lower_done = lo == 0 or (first < largest and first <= share * total)
    return (lo, hi) if total > _TOO_SMALL else (0, 0)


@kernel()
def log_pair_integrals_near_modes(
    alpha, theta, weight, n0, n1, i0, i1, log_ways, share, log_likelihood, mean_theta
):
    """Do :func:`log_pair_integrals` without the nodes that together add less than ``share``.

    No theta may be 0 or 1. ``log_ways`` are the logarithms of how many columns have these counts.
    """
    blocks, weights = _in_blocks(theta, theta[-1]), _in_blocks(weight, 0.0)
    nodes_one, nodes_zero = _node_constants(alpha, blocks), _node_constants(alpha, 1.0 - blocks)
    terms = np.empty(blocks.shape)
    value = np.empty(_BLOCK)
    buffers = value, value.view(np.int64), np.empty(_BLOCK)
    tables = _class_tables(alpha, blocks, nodes_one, nodes_zero, n0, n1, share, buffers)
    for d in range(i0.size):
        start = _near_index(theta, alpha, n0[d], n1[d], i0[d], i1[d]) // _BLOCK
        lo, hi = _near_mode_by_tables(tables, start, weights, i0[d], i1[d], share, terms)
        constant = -log_ways[d]
        if hi == 0:
            pair = n0[d], n1[d], i0[d], i1[d]
            lo, hi, top = _near_mode(
                nodes_one, nodes_zero, start, weights, *pair, share, buffers, terms
            )
            constant = top - log_rising(alpha, n0[d]) - log_rising(alpha, n1[d])
        total = 0.0
        first = 0.0
        for block in range(lo, hi):
            for m in range(_BLOCK):
                term = weights[block, m] * terms[block, m]
                total += term
                first += blocks[block, m] * term
        log_likelihood[d] = math.log(total) + constant
        mean_theta[d] = first / total


@kernel()
def log_cell_integrals_near_modes(
    alpha, theta, weight, n0, n1, i0, i1, log_ways, share, log_likelihood
):
    """Fill log P(column | alpha, theta in cell), shape (D, C), where each cell has M / C nodes.

    Cells in which a column is less probable than ``share`` of the sum over cells may get -inf.
    """
    blocks, weights = _in_blocks(theta, theta[-1]), _in_blocks(weight, 0.0)
    nodes_one, nodes_zero = _node_constants(alpha, blocks), _node_constants(alpha, 1.0 - blocks)
    terms = np.empty(blocks.shape)
    value = np.empty(_BLOCK)
    buffers = value, value.view(np.int64), np.empty(_BLOCK)
    per_cell = theta.size // log_likelihood.shape[1]
    tables = _class_tables(alpha, blocks, nodes_one, nodes_zero, n0, n1, share, buffers)
    in_order, relative = weights.ravel(), terms.ravel()
    for d in range(i0.size):
        start = _near_index(theta, alpha, n0[d], n1[d], i0[d], i1[d]) // _BLOCK
        lo, hi = _near_mode_by_tables(tables, start, weights, i0[d], i1[d], share, terms)
        constant = -log_ways[d]
        if hi == 0:
            pair = n0[d], n1[d], i0[d], i1[d]
            lo, hi, top = _near_mode(
                nodes_one, nodes_zero, start, weights, *pair, share, buffers, terms
            )
            constant = top - log_rising(alpha, n0[d]) - log_rising(alpha, n1[d])
        log_likelihood[d] = 0.0
        for m in range(lo * _BLOCK, min(hi * _BLOCK, theta.size)):
            log_likelihood[d, m // per_cell] += in_order[m] * relative[m]
        for cell in range(log_likelihood.shape[1]):
            inside = log_likelihood[d, cell]
            log_likelihood[d, cell] = math.log(inside) + constant if inside > 0.0 else -np.inf
