"""Univariate slice sampling, with stepping out and shrinkage.

The kernel computes its own density: it is asked where, and hands the value over. So a kernel,
slices and all, is compiled once and cached on disk::

    update = slice_start(rng, x, log_density(x), width, low, high)
    while update[PHASE] != DONE:
        slice_tell(rng, update, log_density(update[POINT]))
    x, log_f = update[X], update[LOG_F]

What is at most ``update[LEVEL]`` is off the slice: a density that is known to be below it need not
be computed in full.

References
----------
Neal, R. M. (2003). Slice sampling. Annals of Statistics 31, 705-767; figures 3 and 5.
"""

from __future__ import annotations

import numpy as np

from honestbayes.compiled import kernel

MOST_STEPS = 50
"""Widths by which an interval may be stepped out, both sides together."""

X, LOG_F, POINT, PHASE, LEVEL = 0, 1, 2, 3, 4
_LEFT, _RIGHT, _WIDTH, _LOW, _HIGH, _STEPS_LEFT, _STEPS_RIGHT = 5, 6, 7, 8, 9, 10, 11
_SIZE = 12

_STEP_LEFT, _STEP_RIGHT, _SHRINK = 0.0, 1.0, 2.0
DONE = 3.0


@kernel()
def slice_start(rng, x, log_f, width, low, high, most_steps=MOST_STEPS):  # type: ignore[no-untyped-def]
    """Begin the update of a value, so that its density stays what it was.

    Parameters
    ----------
    rng : numpy.random.Generator
        Drawn from.
    x, log_f : float
        The current value, and its log density up to a constant.
    width : float
        By which the interval is stepped out.
    low, high : float
        Bounds of the values.
    most_steps : int, default=50
        Widths that the interval may have in the end; with 1 it is not stepped out.

    Returns
    -------
    ndarray of shape (12,)
        The update. ``update[POINT]`` is where the density is needed next.
    """
    update = np.empty(_SIZE)
    update[X], update[LOG_F] = x, log_f
    # The logarithm of a uniform height under the density: log(f u), and -log(u) is exponential.
    update[LEVEL] = log_f - rng.standard_exponential()
    update[_LEFT] = x - width * rng.random()
    update[_RIGHT] = update[_LEFT] + width
    update[_WIDTH], update[_LOW], update[_HIGH] = width, low, high
    # The limit on steps is shared between both sides at random (figure 3): the same interval is
    # then as probable from any other point of it, which makes the update reversible.
    update[_STEPS_LEFT] = np.floor(most_steps * rng.random())
    update[_STEPS_RIGHT] = most_steps - 1 - update[_STEPS_LEFT]
    update[PHASE] = _STEP_LEFT
    _ask(rng, update)
    return update


@kernel()
def slice_tell(rng, update, log_f):  # type: ignore[no-untyped-def]
    """Hand over the log density at ``update[POINT]``."""
    on_slice = log_f > update[LEVEL]
    if update[PHASE] == _STEP_LEFT:
        if on_slice:
            update[_LEFT] -= update[_WIDTH]
            update[_STEPS_LEFT] -= 1
        else:
            update[PHASE] = _STEP_RIGHT
    elif update[PHASE] == _STEP_RIGHT:
        if on_slice:
            update[_RIGHT] += update[_WIDTH]
            update[_STEPS_RIGHT] -= 1
        else:
            update[PHASE] = _SHRINK
    # Rounding may shrink the interval to the current value, which is always on the slice.
    elif on_slice or update[POINT] == update[X]:
        update[X], update[LOG_F], update[PHASE] = update[POINT], log_f, DONE
        return
    elif update[POINT] < update[X]:
        update[_LEFT] = update[POINT]
    else:
        update[_RIGHT] = update[POINT]
    _ask(rng, update)


@kernel()
def _ask(rng, update):  # type: ignore[no-untyped-def]
    """Set the next point at which the density is needed; bounds need no stepping beyond them."""
    if update[PHASE] == _STEP_LEFT:
        if update[_STEPS_LEFT] > 0 and update[_LEFT] > update[_LOW]:
            update[POINT] = update[_LEFT]
            return
        update[PHASE] = _STEP_RIGHT
    if update[PHASE] == _STEP_RIGHT:
        if update[_STEPS_RIGHT] > 0 and update[_RIGHT] < update[_HIGH]:
            update[POINT] = update[_RIGHT]
            return
        update[PHASE] = _SHRINK
    # Beyond the bounds the density is 0, so that no point there is on the slice: the interval may
    # as well end at them.
    low, high = max(update[_LEFT], update[_LOW]), min(update[_RIGHT], update[_HIGH])
    update[POINT] = low + (high - low) * rng.random()
