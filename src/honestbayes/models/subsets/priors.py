"""Prior distributions of subsets of features, by their size.

All subsets of one size are equally likely. What differs is how likely the sizes are; the log
probability of one subset of k features is that of the size less log C(p, k).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import gammaln

from honestbayes.types import FloatArray

SizePrior = str | tuple[str, float] | Callable[[int], float]
"""How likely sizes are, as the user says it."""


def log_prior_of_subsets(prior: Any, p: int, most: int) -> FloatArray:
    """Return the log prior of one subset of each size from 0 to ``most``, up to a constant.

    Parameters
    ----------
    prior : {"sizes", "subsets"}, ("poisson", mean) or callable
        "sizes": every size is as likely as any other. "subsets": every subset is. A Poisson
        distribution of the size, or any function of it that is not negative.
    p : int
        Features.
    most : int
        The largest subset.
    """
    sizes = np.arange(most + 1)
    log_number = gammaln(p + 1) - gammaln(sizes + 1) - gammaln(p - sizes + 1)
    if isinstance(prior, str):
        if prior == "subsets":
            return np.zeros(most + 1)
        if prior == "sizes":
            return np.asarray(-log_number)
    elif isinstance(prior, tuple | list) and len(prior) == 2 and prior[0] == "poisson":
        mean = prior[1]
        if isinstance(mean, float | int | np.number) and 0 < mean < math.inf:
            return np.asarray(sizes * np.log(mean) - gammaln(sizes + 1) - log_number)
    elif callable(prior):
        return _by_function(prior, sizes) - log_number
    msg = (
        f"prior={prior!r} is not 'sizes', 'subsets', ('poisson', mean) with a mean above 0, or a "
        "function of the size."
    )
    raise ValueError(msg)


def _by_function(prior: Callable[[int], float], sizes: Any) -> FloatArray:
    values = np.array([float(prior(int(k))) for k in sizes])
    if not (np.all(np.isfinite(values)) and np.all(values >= 0) and np.any(values > 0)):
        msg = (
            "prior, as a function of the size, must give finite numbers from 0 on, and not only 0."
        )
        raise ValueError(msg)
    possible = np.flatnonzero(values)
    if np.any(np.diff(possible) > 1):
        msg = (
            "prior is 0 for sizes between possible ones, which a chain that adds and deletes one "
            "feature at a time cannot cross."
        )
        raise ValueError(msg)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))
