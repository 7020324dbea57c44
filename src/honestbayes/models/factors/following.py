"""Moves of loadings, variances and loading ratios in which the scores follow.

Given the scores, a loading and a variance can move by a tenth only (n = 100), and given these the
scores can hardly move where one column almost fixes them. So the split of a column's variance into
a factor's and its own would be walked through in small steps. Here the scores are not held, but
their deviations from what the columns say of them (`factors.whitened`).

1. The log loading ratio of each group: loadings in units of its root are held.
2. All loadings, by elliptical slice sampling: their prior is normal.
3. The angle between a column's loadings and the root of its own variance, which holds the sum of
   their squares: slice sampling on the half circle. For a response also with features' loading
   ratio giving way: factors that go along with it must load on few features, or many of the
   discarded ones would have been kept.

References
----------
Yu, Y. and Meng, X.-L. (2011). To center or not to center: that is not the question. Journal of
Computational and Graphical Statistics 20, 531-570, for holding in turn the scores and the noise.
Liu, J. S. and Sabatti, C. (2000). Generalised Gibbs sampler and multigrid Monte Carlo for Bayesian
computation. Biometrika 87, 353-369, for moves along curves.
"""

from __future__ import annotations

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.models.factors.discarded import log_selection_of
from honestbayes.models.factors.kernels import FIRST_GROUP, copy_into
from honestbayes.models.factors.parameters import HIGHEST, LOWEST, log_prior_of_ratio
from honestbayes.models.factors.whitened import factorise, hold, log_density, move_scores
from honestbayes.sampling.slicing import (
    DONE,
    LEVEL,
    LOG_F,
    PHASE,
    POINT,
    X,
    slice_start,
    slice_tell,
)

_WIDTH = 2.0
_MOST_SHRINKAGE = 60
_TURNED = 1
"""Columns that are turned in a sweep, at most; which, is drawn."""


@kernel(inline="always")
def _log_target(design, event, shift, node, held, columns, log_loading, log_prior, level):  # type: ignore[no-untyped-def]
    """Return the log prior and density of columns times P(S) of the scores that follow.

    Where it is below the level without P(S), which is at most 1, P(S) is not computed.
    """
    d = columns.loadings.shape[1]
    along, rest = np.zeros((event.signal.size, d)), np.zeros((d, d))
    value = log_prior + log_density(event, shift, held, columns, along, rest)
    if value <= level:
        return -np.inf
    return value + log_selection_of(event, design, node, along, rest, np.exp(log_loading[0]))


@kernel()
def _rescale_group(g, design, columns, before, change):  # type: ignore[no-untyped-def]
    """Overwrite the loadings of a group by their former ones at a log loading ratio larger so."""
    for j in range(design.group.size):
        if design.group[j] == g:
            columns.loadings[j] = before[j] * np.exp(0.5 * change)


@kernel(inline="always")
def _draw_scale(rng, g, value, design, event, shift, node, held, columns, log_loading):  # type: ignore[no-untyped-def]
    """Draw a log loading ratio, loadings in units of it held; overwrites it and the loadings.

    Takes and returns, as all moves here, the log density of columns times P(S).
    """
    before, start = columns.loadings.copy(), log_loading[g]
    log_f = value + log_prior_of_ratio(start)
    update = slice_start(rng, start, log_f, _WIDTH, LOWEST, HIGHEST)
    while update[PHASE] != DONE:
        x = update[POINT]
        # Loadings over the root of their ratio are standard normal whatever the ratio: only the
        # prior of the ratio itself is left.
        _rescale_group(g, design, columns, before, x - start)
        log_loading[g] = x
        log_f = _log_target(
            design,
            event,
            shift,
            node,
            held,
            columns,
            log_loading,
            log_prior_of_ratio(x),
            update[LEVEL],
        )
        slice_tell(rng, update, log_f)
    log_loading[g] = update[X]
    _rescale_group(g, design, columns, before, update[X] - start)
    return update[LOG_F] - log_prior_of_ratio(update[X])


@kernel(inline="always")
def _draw_loadings(rng, value, design, event, shift, node, held, columns, log_loading):  # type: ignore[no-untyped-def]
    """Draw all loadings by elliptical slice sampling; overwrites them."""
    before = columns.loadings.copy()
    other = rng.standard_normal(before.shape)
    for j in range(design.group.size):
        other[j] *= np.sqrt(np.exp(log_loading[design.group[j]]) * columns.variance[j])
    level = value - rng.standard_exponential()
    angle = 2.0 * np.pi * rng.random()
    low, high = angle - 2.0 * np.pi, angle
    for _ in range(_MOST_SHRINKAGE):
        copy_into(columns.loadings, np.cos(angle) * before + np.sin(angle) * other)
        proposed = _log_target(design, event, shift, node, held, columns, log_loading, 0.0, level)
        if proposed > level:
            return proposed
        if angle < 0:
            low = angle
        else:
            high = angle
        angle = low + (high - low) * rng.random()
    copy_into(columns.loadings, before)
    return value


@kernel()
def log_prior_of_angle(angle, length, d, shape, scale, loading):  # type: ignore[no-untyped-def]
    """Return the log density of the angle whose sine is a column's own share of ``length``.

    The loadings have the length r cos(angle) and s is r sin(angle). In these coordinates a volume
    of loadings and s is r^d |cos(angle)|^(d - 1), and s2 has the density of s over 2 s.
    """
    s2 = (length * np.sin(angle)) ** 2
    ratio = 1.0 / np.tan(angle) ** 2
    volume = (d - 1.0) * np.log(max(abs(np.cos(angle)), 1e-300))
    return volume - (shape + 0.5 * (d + 1.0)) * np.log(s2) - scale / s2 - 0.5 * ratio / loading


@kernel(inline="always")
def _turn(rng, j, does_offset, value, design, event, shift, node, held, columns, log_loading):  # type: ignore[no-untyped-def]
    """Draw the angle between a column's loadings and the root of its variance.

    With ``does_offset`` the first group's loading ratio v gives way: v times (1 + what of the
    column's square along the contrasts the factors take) is held, and so are that group's loadings
    in units of the root of v. The column itself must be of another group.
    """
    before, s2, start = columns.loadings.copy(), columns.variance[j], log_loading[0]
    size = np.sqrt(np.sum(before[j] ** 2))
    length = np.sqrt(size**2 + s2)
    if not size > 1e-150:
        return value
    own = np.exp(log_loading[design.group[j]])
    given = (length, before.shape[1], design.shape[j], design.scale[j], own)
    reach = np.sum(held.contrasts[:, j] ** 2) / length**2 if does_offset else 0.0
    now = np.arctan2(np.sqrt(s2), size)
    level = value + log_prior_of_angle(now, *given) + log_prior_of_ratio(start)
    level -= rng.standard_exponential()
    # Beyond a right angle the loadings point the other way. The interval has all angles at first.
    low, high = 0.0, np.pi
    for _ in range(_MOST_SHRINKAGE):
        angle = low + (high - low) * rng.random()
        # A shear: at each angle the log ratio is moved by a constant. Its Jacobian is 1.
        change = np.log1p(reach * np.cos(now) ** 2) - np.log1p(reach * np.cos(angle) ** 2)
        log_loading[0] = start + change
        if does_offset:
            _rescale_group(FIRST_GROUP, design, columns, before, change)
        columns.loadings[j] = before[j] * (length * np.cos(angle) / size)
        columns.variance[j] = max((length * np.sin(angle)) ** 2, 1e-300)
        log_prior = log_prior_of_angle(angle, *given) + log_prior_of_ratio(log_loading[0])
        if LOWEST < log_loading[0] < HIGHEST:
            proposed = _log_target(
                design, event, shift, node, held, columns, log_loading, log_prior, level
            )
            if proposed > level:
                return proposed - log_prior
        if angle < now:
            low = angle
        else:
            high = angle
    copy_into(columns.loadings, before)
    columns.variance[j], log_loading[0] = s2, start
    return value


@kernel()
def _log_density_of_ratio(x, squares, number):  # type: ignore[no-untyped-def]
    """Return the log density of a log loading ratio given loadings in units of the noise."""
    return log_prior_of_ratio(x) - 0.5 * number * x - 0.5 * squares * np.exp(-x)


@kernel()
def _draw_ratio(rng, g, design, columns, log_loading):  # type: ignore[no-untyped-def]
    """Draw a log loading ratio, which P(S) does not know of, given the loadings."""
    squares, number = 0.0, 0
    for j in range(design.group.size):
        if design.group[j] == g:
            squares += np.sum(columns.loadings[j] ** 2) / columns.variance[j]
            number += columns.loadings.shape[1]
    log_f = _log_density_of_ratio(log_loading[g], squares, number)
    update = slice_start(rng, log_loading[g], log_f, _WIDTH, LOWEST, HIGHEST)
    while update[PHASE] != DONE:
        slice_tell(rng, update, _log_density_of_ratio(update[POINT], squares, number))
    log_loading[g] = update[X]


@kernel(inline="always")
def follow(rng, design, event, shift, node, left, contrasts, columns, scores, log_loading):  # type: ignore[no-untyped-def]
    """Move loadings, variances and loading ratios; overwrites them and the scores.

    Parameters
    ----------
    rng : Generator
        Drawn from.
    design : Design
        In terms of s2 (`kernels.with_noise`).
    event, shift, node : FactorEvent, float, int
        What selection threw away, the shift ratio, the node of the signal's scale.
    left : ndarray of shape (n, k)
        Columns without the means of their classes.
    contrasts : ndarray of shape (B, k)
        U' X.
    columns : Columns
        Parameters.
    scores : ndarray of shape (n, d)
        Z.
    log_loading : ndarray of shape (G,)
        Log loading ratios.
    """
    k, d = columns.loadings.shape
    rest_of_columns = left - event.basis @ (event.basis.T @ left)
    held = hold(event, shift, columns, rest_of_columns, contrasts, scores)
    first, first_weighted = np.zeros((d, d)), np.empty((d, k))
    factorise(columns.loadings, columns.variance, 1.0, first, first_weighted)
    value = _log_target(design, event, shift, node, held, columns, log_loading, 0.0, -np.inf)
    for g in range(log_loading.size):
        value = _draw_scale(rng, g, value, design, event, shift, node, held, columns, log_loading)
    value = _draw_loadings(rng, value, design, event, shift, node, held, columns, log_loading)
    first_turned, n_turned = rng.integers(0, k), min(k, _TURNED)
    # Some columns of the first group, then each of the others, without an offset and with one.
    for step in range(n_turned + 2 * k):
        is_first, later = step < n_turned, step - n_turned
        j = (first_turned + step) % k if is_first else later // 2
        does_offset = not is_first and later % 2 == 1
        if is_first != (design.group[j] == 0):
            continue
        value = _turn(
            rng, j, does_offset, value, design, event, shift, node, held, columns, log_loading
        )
        if not is_first:
            _draw_ratio(rng, design.group[j], design, columns, log_loading)
    along, rest = np.zeros((event.signal.size, d)), np.zeros((d, d))
    log_density(event, shift, held, columns, along, rest)
    move_scores(event, columns, rest_of_columns, first, first_weighted, along, scores)
