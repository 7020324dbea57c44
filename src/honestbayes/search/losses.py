"""Losses of naive Bayes with one more feature, for all candidates in one pass.

The log-odds of naive Bayes are sums over features. For row i, whose class is y, let a_ic be the
odds of class c against y that the features so far give, and g_jc(x) by how much category x of
candidate j multiplies them. With t_c = a_ic g_jc(x_ij) and t their sum over the other classes,

    P(y) = 1 / (1 + t),    P(c) = t_c / (1 + t).

So a candidate costs a product for each row and class, and neither a logarithm nor an exponential.

References
----------
Gidofalvi, G. and Zadrozny, B. Feature selection for class probability estimation, table 1.
"""

from __future__ import annotations

import numpy as np

from honestbayes.compiled import kernel

ROWS = 256
"""Rows that are evaluated at once for all candidates: their data stay in the cache."""

FARTHEST = 150.0
"""Log-odds, or contributions to them, beyond this are computed by logarithms after all."""

SQUARED, LOG = 0, 1


@kernel()
def add_losses(  # type: ignore[no-untyped-def]
    cells, first, columns, log_table, table, fold, labels, margin, weight, loss, out
):
    """Add to ``out`` the loss of each candidate, weighted and summed over rows.

    The "other" classes of a row are all but its own, in order.

    Parameters
    ----------
    cells : ndarray of int of shape (n, p)
        Codes.
    first : ndarray of int of shape (p,)
        Slot of each column's missing cells.
    columns : ndarray of int of shape (m,)
        The candidates.
    log_table : ndarray of shape (F, C, C - 1, L)
        By fold, actual class, other class and slot: what a category adds to the log-odds.
    table : ndarray of shape (F, C, C - 1, L), or (0, 0, 0, 0)
        Its exponential g; empty where that would be too large.
    fold : ndarray of int of shape (n,)
        Which table holds for each row.
    labels : ndarray of int of shape (n,)
        Actual classes.
    margin : ndarray of shape (n, C - 1)
        Log-odds of each other class against the actual one, without the candidate.
    weight : ndarray of shape (n,)
        Of the rows; those of weight 0 are skipped.
    loss : int
        ``SQUARED`` or ``LOG``.
    out : ndarray of shape (m,)
        Sums.
    """
    n, n_others = margin.shape
    near, far = np.empty(ROWS, dtype=np.int64), np.empty(ROWS, dtype=np.int64)
    n_near, n_far = 0, 0
    for i in range(n):
        if weight[i] > 0:
            if table.size > 0 and _is_near(margin, i):
                near[n_near] = i
                n_near += 1
            else:
                far[n_far] = i
                n_far += 1
        if n_near == ROWS or (i == n - 1 and n_near > 0):
            rows = near[:n_near]
            if n_others == 1 and loss == SQUARED:
                _two_classes(cells, first, columns, table, fold, labels, margin, weight, rows, out)
            else:
                _classes(
                    cells, first, columns, table, fold, labels, margin, weight, rows, loss, out
                )
            n_near = 0
        if n_far == ROWS or (i == n - 1 and n_far > 0):
            rows = far[:n_far]
            _by_logs(
                cells, first, columns, log_table, fold, labels, margin, weight, rows, loss, out
            )
            n_far = 0


@kernel()
def _is_near(margin, i):  # type: ignore[no-untyped-def]
    """Whether the odds of a row may be multiplied."""
    largest = 0.0
    for c in range(margin.shape[1]):
        largest = max(largest, abs(margin[i, c]))
    return largest <= FARTHEST


@kernel()
def _two_classes(cells, first, columns, table, fold, labels, margin, weight, rows, out):  # type: ignore[no-untyped-def]
    """Add the squared errors of some rows, of two classes."""
    m = rows.size
    odds, own_weight, factor = np.empty(m), np.empty(m), np.empty(m)
    base = np.empty(m, dtype=np.int64)
    n_slots = table.shape[3]
    flat = table.reshape(-1)
    for r in range(m):
        i = rows[r]
        odds[r] = np.exp(margin[i, 0])
        own_weight[r] = 2.0 * weight[i]
        base[r] = (2 * fold[i] + labels[i]) * n_slots
    for a in range(columns.size):
        j = columns[a]
        slot = first[j] + 1
        for r in range(m):
            factor[r] = flat[base[r] + slot + cells[rows[r], j]]
        out[a] += _squared(odds, factor, own_weight)


# Sums in any order and divisions without a check, so that it vectorises.
@kernel(error_model="numpy", fastmath={"reassoc", "contract"})
def _squared(odds, factor, weight):  # type: ignore[no-untyped-def]
    """Return the weighted sum of (1 - P(actual class))^2."""
    total = 0.0
    for r in range(odds.size):
        error = 1.0 / (1.0 + odds[r] * factor[r]) - 1.0
        total += weight[r] * error * error
    return total


@kernel()
def _classes(cells, first, columns, table, fold, labels, margin, weight, rows, loss, out):  # type: ignore[no-untyped-def]
    """Add the losses of some rows, of any number of classes."""
    n_others = margin.shape[1]
    odds = np.empty((rows.size, n_others))
    for r in range(rows.size):
        odds[r] = np.exp(margin[rows[r]])
    for a in range(columns.size):
        j = columns[a]
        for r in range(rows.size):
            i = rows[r]
            slot = first[j] + 1 + cells[i, j]
            total, squares = 0.0, 0.0
            for c in range(n_others):
                one = odds[r, c] * table[fold[i], labels[i], c, slot]
                total += one
                squares += one * one
            if loss == LOG:
                value = np.log1p(total)
            else:
                value = (total * total + squares) / (1.0 + total) ** 2
            out[a] += weight[i] * value


@kernel()
def _by_logs(cells, first, columns, log_table, fold, labels, margin, weight, rows, loss, out):  # type: ignore[no-untyped-def]
    """Add the losses of rows whose odds would overflow products."""
    n_others = margin.shape[1]
    log_odds = np.empty(n_others)
    for a in range(columns.size):
        j = columns[a]
        for i in rows:
            slot = first[j] + 1 + cells[i, j]
            top = 0.0
            for c in range(n_others):
                log_odds[c] = margin[i, c] + log_table[fold[i], labels[i], c, slot]
                top = max(top, log_odds[c])
            others, squares = 0.0, 0.0
            for c in range(n_others):
                one = np.exp(log_odds[c] - top)
                others += one
                squares += one * one
            whole = np.exp(-top) + others
            if loss == LOG:
                value = top + np.log(whole)
            else:
                value = (others * others + squares) / (whole * whole)
            out[a] += weight[i] * value
