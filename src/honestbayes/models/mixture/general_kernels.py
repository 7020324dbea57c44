"""One sweep over the labels, thetas and alphas of a mixture of K components and C classes.

Equation 2.54 of the thesis with K components in place of two, and a class that has C categories:
y | z is categorical with probabilities from Dirichlet(alpha_0 theta_0), theta_0 uniform on the
simplex. All else is as in `models.mixture.kernels`: phi is integrated out, a cell is 0, 1, or 2
where it is missing, and columns belong to blocks that share an alpha, RANKED or BY_DESIGN.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.correction.components_kernels import (
    add_component,
    coefficients_at,
    log_of_sums,
    log_of_table,
    n_coordinates,
    space_for,
    sums_over_components,
)
from honestbayes.models.mixture.kernels import (
    LOG_ALPHAS,
    MISSING,
    RANKED,
    RESPONSE,
    log_prior_alpha,
    log_rising,
)
from honestbayes.sampling.slicing import DONE, LOG_F, PHASE, POINT, X, slice_start, slice_tell
from honestbayes.types import AnyArray, FloatArray, IntArray

_FLUSH = 8
"""Columns whose factors are multiplied before a logarithm is taken, as in the other kernels."""

_ALPHA_WIDTH = 1.0
_CLASS_WIDTH = 0.3
_LOWEST, _HIGHEST = LOG_ALPHAS
_ALMOST_NOTHING = 1e-15  # rounding must not make a probability 0 or 1


class GeneralProblem(NamedTuple):
    """Data, priors and what is known of the discarded features, as kernels take them.

    Attributes
    ----------
    classes : ndarray of int of shape (n,)
        Class of each case.
    cells : ndarray of int8 of shape (n, k)
        Kept features.
    blocks : ndarray of int of shape (k,)
        Block of each column: RANKED or BY_DESIGN.
    pseudocounts : ndarray of shape (K,)
        Dirichlet prior of the components' frequencies.
    priors : ndarray of shape (B, 2)
        Shape and rate of the inverse gamma prior of each block's alpha, RESPONSE first.
    theta_range : ndarray of shape (2,)
        Bounds of the features' theta.
    surface : SurfaceArrays
        Of `correction.components_table`; with no discarded features, where none are conditioned on.
    """

    classes: IntArray
    cells: AnyArray
    blocks: IntArray
    pseudocounts: FloatArray
    priors: FloatArray
    theta_range: FloatArray
    surface: Any


@kernel()
def count_all(labels, problem, table, ones, seen):  # type: ignore[no-untyped-def]
    """Count cases by component and class, and the ones and cells of each column by component."""
    table[:] = 0
    ones[:] = 0
    seen[:] = 0
    for i in range(labels.size):
        k = labels[i]
        table[k, problem.classes[i]] += 1
        for j in range(problem.cells.shape[1]):
            if problem.cells[i, j] != MISSING:
                seen[k, j] += 1
                ones[k, j] += problem.cells[i, j]


@kernel()
def _log_row(prior, row, alpha, mass, ones, seen):  # type: ignore[no-untyped-def]
    """Return log(prior P(row | the cases of a component)), the factor of equation 2.70."""
    total, above, below = 0.0, prior, 1.0
    used = 0
    for j in range(row.size):
        x = row[j]
        if x == MISSING:
            continue
        one, every = mass[j] + ones[j], alpha[j] + seen[j]
        above *= one if x == 1 else every - one
        below *= every
        used += 1
        if used == _FLUSH:
            total += math.log(above / below)
            above, below = 1.0, 1.0
            used = 0
    return total + math.log(above / below)


@kernel()
def _draw(rng, logs):  # type: ignore[no-untyped-def]
    """Draw a component with probabilities proportional to exp(logs), which are overwritten."""
    highest = logs.max()
    total = 0.0
    for k in range(logs.size):
        logs[k] = math.exp(logs[k] - highest)
        total += logs[k]
    left = rng.random() * total
    for k in range(logs.size - 1):
        left -= logs[k]
        if left < 0.0:
            return k
    return logs.size - 1


@kernel()
def update_labels(rng, labels, log_alpha, theta, theta_class, problem, table, ones, seen):  # type: ignore[no-untyped-def]
    """Draw the label of each case given all others: equation 2.74, times P(S) for each label."""
    cells, classes, surface = problem.cells, problem.classes, problem.surface
    pseudocounts = problem.pseudocounts
    n_components, n_classes = table.shape
    alpha = np.exp(log_alpha)[problem.blocks]
    mass = alpha * theta
    alpha_0 = math.exp(log_alpha[RESPONSE])
    size = table.sum(axis=1)
    corrected = surface.n_discarded > 0
    exact = surface.exact.shape[0] > 0
    coefficients, space = space_for(surface)
    two, three = n_coordinates(n_classes)
    held, sums = np.empty((n_components, two + three)), np.empty(two + three)
    moved, tried = np.empty((n_components, two + three)), np.empty(two + three)
    x, start, here = np.empty(n_classes), 0, 0.0
    if corrected:
        start = coefficients_at(surface, log_alpha[RANKED], coefficients)
        if exact:
            here = log_of_table(surface, table, start, coefficients)
        else:
            sums_over_components(surface, table, held, sums)
            here = log_of_sums(surface, sums, coefficients, space)
    logs, log_selection = np.empty(n_components), np.zeros(n_components)
    for i in range(labels.size):
        row, old, y = cells[i], labels[i], classes[i]
        # The case itself is taken out of all counts: what is left is the Polya urn of the others.
        size[old] -= 1
        table[old, y] -= 1
        for j in range(row.size):
            if row[j] != MISSING:
                seen[old, j] -= 1
                ones[old, j] -= row[j]
        if corrected:
            # P(S) is that of the whole table, with the case in each component in turn. In its own
            # component that is the table as it was.
            log_selection[old] = here
            if not exact:
                moved[old] = held[old]
                add_component(surface, table[old], x, held[old])
            for k in range(n_components):
                if k == old:
                    continue
                table[k, y] += 1
                if exact:
                    log_selection[k] = log_of_table(surface, table, start, coefficients)
                else:
                    add_component(surface, table[k], x, moved[k])
                    for t in range(sums.size):
                        tried[t] = sums[t] - moved[old, t] + held[old, t] - held[k, t] + moved[k, t]
                    log_selection[k] = log_of_sums(surface, tried, coefficients, space)
                table[k, y] -= 1
        for k in range(n_components):
            prior = (pseudocounts[k] + size[k]) * (alpha_0 * theta_class[y] + table[k, y])
            prior /= alpha_0 + size[k]
            logs[k] = log_selection[k] + _log_row(prior, row, alpha, mass, ones[k], seen[k])
        new = _draw(rng, logs)
        labels[i] = new
        size[new] += 1
        table[new, y] += 1
        for j in range(row.size):
            if row[j] != MISSING:
                seen[new, j] += 1
                ones[new, j] += row[j]
        if corrected:
            here = log_selection[new]
            if not exact:
                for t in range(sums.size):
                    sums[t] += held[old, t] - moved[old, t] - held[new, t] + moved[new, t]
                    held[new, t] = moved[new, t]


@kernel()
def _log_theta(theta, alpha, ones, seen):  # type: ignore[no-untyped-def]
    """Return the log density of one theta given the counts of all components, equation 2.75."""
    mass, rest = alpha * theta, alpha * (1.0 - theta)
    if mass <= 0.0 or rest <= 0.0:
        return -np.inf
    total = 0.0
    for k in range(ones.size):
        total += log_rising(mass, ones[k]) + log_rising(rest, seen[k] - ones[k])
    return total


@kernel()
def update_thetas(rng, log_alpha, theta, problem, ones, seen):  # type: ignore[no-untyped-def]
    """Draw the theta of each feature by slice sampling; its own column alone matters."""
    bounds = problem.theta_range
    for j in range(theta.size):
        alpha = math.exp(log_alpha[problem.blocks[j]])
        n = seen[:, j].sum()
        # From counts that do not change with theta: a width that depended on the present theta
        # would make the slice sampler irreversible.
        share = (ones[:, j].sum() + 1.0) / (n + 2.0)
        width = min(1.0, 4.0 * math.sqrt(share * (1.0 - share) / (n + 1.0)))
        log_f = _log_theta(theta[j], alpha, ones[:, j], seen[:, j])
        update = slice_start(rng, theta[j], log_f, width, bounds[0], bounds[1])
        while update[PHASE] != DONE:
            log_f = _log_theta(update[POINT], alpha, ones[:, j], seen[:, j])
            slice_tell(rng, update, log_f)
        theta[j] = update[X]


@kernel()
def _log_pair(part, whole, alpha_0, table, c, d):  # type: ignore[no-untyped-def]
    """Return the log density of theta_0 of class c, where classes c and d share ``whole``."""
    one, other = alpha_0 * part, alpha_0 * (whole - part)
    if one <= 0.0 or other <= 0.0:
        return -np.inf
    total = 0.0
    for k in range(table.shape[0]):
        total += log_rising(one, table[k, c]) + log_rising(other, table[k, d])
    return total


@kernel()
def update_class_thetas(rng, log_alpha, theta_class, table):  # type: ignore[no-untyped-def]
    """Draw theta_0, uniform on the simplex: neighbouring classes share what they have anew."""
    alpha_0 = math.exp(log_alpha[RESPONSE])
    n_classes = theta_class.size
    for c in range(n_classes - 1 if n_classes == 2 else n_classes):
        d = (c + 1) % n_classes
        whole = theta_class[c] + theta_class[d]
        log_f = _log_pair(theta_class[c], whole, alpha_0, table, c, d)
        update = slice_start(rng, theta_class[c], log_f, _CLASS_WIDTH, 0.0, whole)
        while update[PHASE] != DONE:
            slice_tell(rng, update, _log_pair(update[POINT], whole, alpha_0, table, c, d))
        theta_class[c] = update[X]
        theta_class[d] = whole - update[X]


@kernel()
def _log_block(alpha, block, theta, theta_class, problem, table, ones, seen):  # type: ignore[no-untyped-def]
    """Return the log probability of the columns of a block, or of the class; equation 2.71."""
    total = 0.0
    n_components, n_classes = table.shape
    if block == RESPONSE:
        for k in range(n_components):
            total -= log_rising(alpha, table[k].sum())
            for c in range(n_classes):
                mass = alpha * theta_class[c]
                if mass <= 0.0:
                    return -np.inf
                total += log_rising(mass, table[k, c])
        return total
    for j in range(theta.size):
        if problem.blocks[j] != block:
            continue
        mass, rest = alpha * theta[j], alpha * (1.0 - theta[j])
        if mass <= 0.0 or rest <= 0.0:
            return -np.inf
        for k in range(n_components):
            total += log_rising(mass, ones[k, j])
            total += log_rising(rest, seen[k, j] - ones[k, j])
            total -= log_rising(alpha, seen[k, j])
    return total


@kernel()
def update_log_alpha(rng, log_alpha, block, theta, theta_class, problem, table, ones, seen):  # type: ignore[no-untyped-def]
    """Draw the log(alpha) of a block by slice sampling; return it and its log density.

    Discarded features have the alpha of those that were ranked.
    """
    surface = problem.surface
    corrected = block == RANKED and surface.n_discarded > 0
    exact = surface.exact.shape[0] > 0
    coefficients, space = space_for(surface)
    two, three = n_coordinates(table.shape[1])
    held, sums = np.empty((table.shape[0], two + three)), np.empty(two + three)
    if corrected and not exact:
        sums_over_components(surface, table, held, sums)
    shape, rate = problem.priors[block]
    update = np.empty(0)
    point, begun = log_alpha[block], False
    while True:
        log_f = log_prior_alpha(point, shape, rate)
        log_f += _log_block(math.exp(point), block, theta, theta_class, problem, table, ones, seen)
        if corrected:
            start = coefficients_at(surface, point, coefficients)
            if exact:
                log_f += log_of_table(surface, table, start, coefficients)
            else:
                log_f += log_of_sums(surface, sums, coefficients, space)
        if begun:
            slice_tell(rng, update, log_f)
        else:
            update = slice_start(rng, point, log_f, _ALPHA_WIDTH, _LOWEST, _HIGHEST)
            begun = True
        if update[PHASE] == DONE:
            return update[X], update[LOG_F]
        point = update[POINT]


@kernel()
def sweep(rng, labels, log_alpha, theta, theta_class, problem):  # type: ignore[no-untyped-def]
    """Make one sweep in place, over labels, thetas and alphas.

    Returns the log posterior density of what is sampled, up to a constant.
    """
    n_components, n_classes = problem.pseudocounts.size, theta_class.size
    table = np.zeros((n_components, n_classes), dtype=np.int64)
    ones = np.zeros((n_components, theta.size), dtype=np.int64)
    seen = np.zeros((n_components, theta.size), dtype=np.int64)
    count_all(labels, problem, table, ones, seen)
    update_labels(rng, labels, log_alpha, theta, theta_class, problem, table, ones, seen)
    update_thetas(rng, log_alpha, theta, problem, ones, seen)
    update_class_thetas(rng, log_alpha, theta_class, table)
    total = 0.0
    for k in range(n_components):
        total += log_rising(problem.pseudocounts[k], table[k].sum())
    for block in range(log_alpha.size):
        log_alpha[block], log_density = update_log_alpha(
            rng, log_alpha, block, theta, theta_class, problem, table, ones, seen
        )
        total += log_density
    return total


@kernel()
def sweeps(rng, labels, log_alpha, theta, theta_class, problem, number):  # type: ignore[no-untyped-def]
    """Make several sweeps in place; return the log posterior density after the last one."""
    log_posterior = 0.0
    for _ in range(number):
        log_posterior = sweep(rng, labels, log_alpha, theta, theta_class, problem)
    return log_posterior


@kernel()
def predictive(labels, log_alpha, theta, theta_class, problem, psi, class_share, phi):  # type: ignore[no-untyped-def]
    """Fill psi (K,), class_share (K, C) and phi (K, k) of a new case; equation 2.69."""
    n_components, n_classes = problem.pseudocounts.size, theta_class.size
    table = np.zeros((n_components, n_classes), dtype=np.int64)
    ones = np.zeros((n_components, theta.size), dtype=np.int64)
    seen = np.zeros((n_components, theta.size), dtype=np.int64)
    count_all(labels, problem, table, ones, seen)
    alpha_0 = math.exp(log_alpha[RESPONSE])
    for k in range(n_components):
        size = table[k].sum()
        psi[k] = (problem.pseudocounts[k] + size) / (problem.pseudocounts.sum() + labels.size)
        for c in range(n_classes):
            share = (alpha_0 * theta_class[c] + table[k, c]) / (alpha_0 + size)
            class_share[k, c] = max(share, _ALMOST_NOTHING)
        class_share[k] /= class_share[k].sum()
        for j in range(theta.size):
            alpha = math.exp(log_alpha[problem.blocks[j]])
            share = (alpha * theta[j] + ones[k, j]) / (alpha + seen[k, j])
            phi[k, j] = min(max(share, _ALMOST_NOTHING), 1.0 - _ALMOST_NOTHING)
