"""How near to 0 or 1 a probability is shown: no nearer than the training cases can tell.

Of n cases none may have contradicted a claim, and the next one still may: by Laplace's rule of
succession with probability 1 / (n + 2). What people read stops there. ``predict_proba`` and
``report.json`` are as computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from honestbayes.report.record import Report
from honestbayes.tables.target import prevalences
from honestbayes.types import FloatArray, IntArray


def bounds_of_report(report: Report) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of held-out and of fitted probabilities.

    Those of held-out cases are at the prevalence of the table, those of the fitted model where it
    is used.
    """
    data = report.data
    prior = prevalences(report.settings["prevalence"], data.labels)
    return shown_bounds(data.class_counts), shown_bounds(data.class_counts, prior)


def as_shown(proba: FloatArray, bounds: FloatArray) -> FloatArray:
    """Move probabilities to their bounds, where they are beyond them.

    Parameters
    ----------
    proba : ndarray of shape (n,) or (n, C)
        Probabilities of the positive class of two, or of each class.
    bounds : ndarray of shape (C, 2)
        From :func:`shown_bounds`.
    """
    low, high = (bounds[1] if proba.ndim == 1 else bounds).T
    return np.clip(proba, low, high)


def shown_bounds(
    class_counts: Sequence[int] | IntArray, prior: Sequence[float] | None = None
) -> FloatArray:
    """Return the least and the largest probability of each class that is shown, shape (C, 2).

    Parameters
    ----------
    class_counts : array-like of int
        Training cases of each class, n in all.
    prior : sequence of float, optional
        Prevalences where the model is used, if not those of the training cases. Odds then change
        by the same factor for all that is said, and so do the bounds: a rare class may be rarer
        than 1 / (n + 2).

    Examples
    --------
    >>> shown_bounds([50, 48])
    array([[0.01, 0.99],
           [0.01, 0.99]])
    >>> low, high = shown_bounds([50, 48], [0.99, 0.01])[1]
    >>> round(float(low), 5), round(float(high), 2)
    (0.00011, 0.51)
    """
    counts = np.asarray(class_counts, dtype=float)
    n = counts.sum()
    odds = np.array([1 / (n + 1), n + 1])
    if prior is None:
        return np.tile(odds / (1 + odds), (counts.size, 1))
    shares = np.asarray(prior, dtype=float)
    factor = shares / (1 - shares) * (n - counts) / counts
    moved = odds * factor[:, None]
    return np.asarray(moved / (1 + moved))


def in_words(bounds: FloatArray, digits: int) -> tuple[str, str]:
    """Say what is beyond the bounds of one class, rounded to their outer sides.

    >>> in_words(np.array([0.0123, 0.9877]), 3)
    ('< 0.013', '> 0.987')
    """
    low, high = (float(bound) for bound in bounds)
    while low < 10.0**-digits and digits < 12:  # a rare class, as rare as it may be
        digits += 1
    unit = 10**digits
    return (
        f"< {math.ceil(low * unit) / unit:.{digits}f}",
        f"> {math.floor(high * unit) / unit:.{digits}f}",
    )
