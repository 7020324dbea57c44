"""One sweep over factor scores and ratios, conditioned on what selection threw away.

The parameters of columns are integrated out wherever that is possible. What a chain remembers are
the scores Z, the log loading ratios, the log share of noise, the log ratio of the classes' shifts,
the node of the signal's scale, and missing cells.

Classes may differ in the factors themselves (`factors.parameters`). U is an orthonormal basis of
what features are correlated with. A sweep

1. rescales Z against the loading ratios, and moves its mean, neither of which the data see;
2. draws the node of the scale;
3. draws each log loading ratio, the log share of noise and the log shift ratio by slice sampling;
4. draws U' Z, the part of the scores that is correlated with the class or the response, by
   elliptical slice sampling (its prior is normal), and stretches it against ratios;
5. draws the parameters of all columns, and moves them again with scores that follow
   (`factors.following`);
6. draws the rest of Z given them, a normal distribution. The probability that N features were
   discarded depends most on U' Z, which stays as it is; the rest is proposed in steps that leave
   its normal distribution as it is, small ones too, each accepted with the ratio of P(S)^N;
7. draws missing cells.

References
----------
Murray, I., Adams, R. P. and MacKay, D. J. C. (2010). Elliptical slice sampling. AISTATS, figure 2.
Neal, R. M. (1999). Regression and classification using Gaussian process priors. Bayesian Statistics
6, 475-501, equation 15, for proposals that leave a normal distribution as it is.
"""

from __future__ import annotations

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.correction.factor_event import project
from honestbayes.models.factors.discarded import log_selection, log_selection_at
from honestbayes.models.factors.following import follow
from honestbayes.models.factors.kernels import (
    ALL_GROUPS,
    FIRST_GROUP,
    add_along,
    column_moments,
    copy_into,
    keep_along,
    log_marginals,
    mixed,
    score_moments,
    solve_upper,
    with_noise,
)
from honestbayes.models.factors.parameters import (
    HIGHEST,
    LOWEST,
    draw_centres,
    draw_class_shifts,
    draw_columns,
    draw_missing,
    draw_shift,
    log_density_of_shift,
    log_prior_of_ratio,
    score_conditional,
)
from honestbayes.models.factors.whitened import Columns
from honestbayes.sampling.slicing import DONE, LEVEL, PHASE, POINT, X, slice_start, slice_tell

LOWEST_NOISE, HIGHEST_NOISE = -8.0, 3.0
"""Bounds of the log share of noise."""

_WIDTH, _NOISE_WIDTH = 2.0, 0.5
_MOST_SHRINKAGE = 60
_ALONG_UPDATES = 2
"""Updates of U' Z in each sweep, which is what moves slowest."""


@kernel(inline="always")
def _rescale(rng, event, shift, scores, log_loading):  # type: ignore[no-untyped-def]
    """Move Z to g Z and v to v / g^2, which leaves the likelihood and P(S) as they are.

    g^(nd - 1) exp(-g^2 |Z|^2 / 2) is drawn from as it stands, with |Z|^2 in units of the prior's
    variances; the prior of v decides. The mean of Z over cases is what nu takes up, so it is drawn
    from its prior.
    """
    n, d = scores.shape
    along, _ = project(scores, event.basis)
    square = np.sum(scores**2)
    for b in range(along.shape[0]):
        more = shift * event.signal[b]
        square -= more / (1.0 + more) * np.sum(along[b] ** 2)
    if square > 0:
        # g^2 |Z|^2 is chi-square with n d degrees of freedom under the prior of Z; the Jacobian of
        # Z -> g Z is in its density, that of log(v) -> log(v) - 2 log(g) is 1.
        factor = 2.0 * rng.standard_gamma(0.5 * n * d) / square
        moved = log_loading - np.log(factor)
        change = 0.0
        for g in range(moved.size):
            change += log_prior_of_ratio(moved[g]) - log_prior_of_ratio(log_loading[g])
        inside = moved.min() > LOWEST and moved.max() < HIGHEST
        if inside and np.log(rng.random()) < change:
            scores *= np.sqrt(factor)
            log_loading[:] = moved
    for f in range(d):
        scores[:, f] += rng.standard_normal() / np.sqrt(n) - scores[:, f].mean()


@kernel(inline="always")
def _draw_node(rng, design, event, columns, moments, scores, loading):  # type: ignore[no-untyped-def]
    """Draw the node of the signal's scale, ratios summed over; all nodes are alike a priori."""
    n_nodes = design.weights.shape[0]
    if n_nodes == 1:
        return 0
    table = log_marginals(design, columns, moments, loading, ALL_GROUPS)
    any_used = np.zeros(design.ratio.size, dtype=np.bool_)
    for t in range(n_nodes):
        any_used |= event.used[t]
    race = design.weights[:, 0]
    along, rest = project(scores, event.basis)
    value = log_selection(event, design.ratio, race, any_used, along, rest, loading[0])
    for t in range(n_nodes):
        value[t] += mixed(table, design.weights[t], design.drawn_from)
    chance = np.exp(value - value.max())
    u = rng.random() * chance.sum()
    total = 0.0
    for t in range(n_nodes):
        total += chance[t]
        if u < total:
            return t
    return int(np.argmax(chance))


@kernel(inline="always")
def _log_density_of_loading(  # type: ignore[no-untyped-def]
    x, level, g, design, event, columns, moments, scores, node, log_loading
):
    """Return the log density of one log loading ratio, columns' parameters integrated out.

    Where it is below the level without P(S), which is at most 1, P(S) is left out.
    """
    loading = np.exp(log_loading)
    loading[g] = np.exp(x)
    table = log_marginals(design, columns, moments, loading, g)
    result = log_prior_of_ratio(x) + mixed(table, design.weights[node], design.drawn_from)
    if g == 0 and result > level:
        result += log_selection_at(event, design, node, scores, loading[0])
    return result


@kernel(inline="always")
def _draw_loading(rng, g, design, event, columns, moments, scores, node, log_loading):  # type: ignore[no-untyped-def]
    """Draw one log loading ratio by slice sampling; overwrites it."""
    log_f = _log_density_of_loading(
        log_loading[g], -np.inf, g, design, event, columns, moments, scores, node, log_loading
    )
    update = slice_start(rng, log_loading[g], log_f, _WIDTH, LOWEST, HIGHEST)
    while update[PHASE] != DONE:
        x, level = update[POINT], update[LEVEL]
        log_f = _log_density_of_loading(
            x, level, g, design, event, columns, moments, scores, node, log_loading
        )
        slice_tell(rng, update, log_f)
    log_loading[g] = update[X]


@kernel()
def log_prior_of_noise(log_noise):  # type: ignore[no-untyped-def]
    """Return the log density of log(t) where t is exponential with mean 1."""
    return log_noise - np.exp(log_noise)


@kernel(inline="always")
def _log_density_of_noise(x, level, design, event, columns, moments, scores, node, loading):  # type: ignore[no-untyped-def]
    """Return the log density of the log share of noise, columns' parameters integrated out."""
    current = with_noise(design, x)
    table = log_marginals(current, columns, moments, loading, FIRST_GROUP)
    result = log_prior_of_noise(x) + mixed(table, design.weights[node], design.drawn_from)
    for j in range(design.group.size):
        if design.group[j] == 0:
            result += design.shape[j] * x
    if result > level:
        result += log_selection_at(event, current, node, scores, loading[0])
    return result


@kernel(inline="always")
def _draw_noise(rng, log_noise, design, event, columns, moments, scores, node, loading):  # type: ignore[no-untyped-def]
    """Draw the log share of noise by slice sampling."""
    log_f = _log_density_of_noise(
        log_noise, -np.inf, design, event, columns, moments, scores, node, loading
    )
    update = slice_start(rng, log_noise, log_f, _NOISE_WIDTH, LOWEST_NOISE, HIGHEST_NOISE)
    while update[PHASE] != DONE:
        x, level = update[POINT], update[LEVEL]
        log_f = _log_density_of_noise(
            x, level, design, event, columns, moments, scores, node, loading
        )
        slice_tell(rng, update, log_f)
    return update[X]


@kernel(inline="always")
def _collapsed(design, event, columns, scores, node, loading, level):  # type: ignore[no-untyped-def]
    """Return the log likelihood of all columns given Z, times P(S).

    Where the likelihood alone is below the level, P(S) is not computed: it is at most 1.
    """
    moments = score_moments(scores, columns, design.codes, design.counts)
    table = log_marginals(design, columns, moments, loading, ALL_GROUPS)
    likelihood = mixed(table, design.weights[node], design.drawn_from)
    if likelihood <= level:
        return -np.inf
    return likelihood + log_selection_at(event, design, node, scores, loading[0])


@kernel(inline="always")
def _draw_along(rng, design, event, shift, columns, scores, node, loading):  # type: ignore[no-untyped-def]
    """Draw U' Z by elliptical slice sampling; overwrites the scores, returns evaluations."""
    along, _ = project(scores, event.basis)
    other = rng.standard_normal(along.shape)
    for b in range(along.shape[0]):
        other[b] *= np.sqrt(1.0 + shift * event.signal[b])
    now = _collapsed(design, event, columns, scores, node, loading, -np.inf)
    # A uniform height under the density, in logarithms. The ellipse through U' Z and an independent
    # draw of its prior leaves the prior as it is, so that the height needs the likelihood alone.
    level = now - rng.standard_exponential()
    angle = 2.0 * np.pi * rng.random()
    low, high = angle - 2.0 * np.pi, angle
    for evaluation in range(_MOST_SHRINKAGE):
        new = np.cos(angle) * along + np.sin(angle) * other
        proposed = scores.copy()
        add_along(proposed, event.basis, new - along)
        if _collapsed(design, event, columns, proposed, node, loading, level) > level:
            copy_into(scores, proposed)
            return evaluation + 1
        if angle < 0:
            low = angle
        else:
            high = angle
        angle = low + (high - low) * rng.random()
    return _MOST_SHRINKAGE


@kernel(inline="always")
def _log_density_of_stretch(  # type: ignore[no-untyped-def]
    x, level, design, event, columns, scores, along, node, log_loading, log_shift
):
    """Return the log density of the state with U' Z times exp(x), against the ratios."""
    result = log_prior_of_ratio(log_loading[0] - 2.0 * x)
    result += log_density_of_shift(log_shift + 2.0 * x, event, np.exp(x) * along)
    # The Jacobian of U' Z -> exp(x) U' Z; those of the logarithms of ratios are 1.
    result += along.size * x
    loading = np.exp(log_loading)
    loading[0] *= np.exp(-2.0 * x)
    stretched = scores.copy()
    add_along(stretched, event.basis, np.expm1(x) * along)
    return result + _collapsed(design, event, columns, stretched, node, loading, level - result)


@kernel(inline="always")
def _stretch(rng, design, event, columns, scores, node, log_loading, log_shift):  # type: ignore[no-untyped-def]
    """Move U' Z to g U' Z, v to v / g^2 and the shift ratio to its g^2-fold.

    What factors add to the classes' differences stays, and with it most of P(S). Returns the log
    shift ratio; overwrites the scores and the log loading ratio.
    """
    along, _ = project(scores, event.basis)
    low = max(0.5 * (log_loading[0] - HIGHEST), 0.5 * (LOWEST - log_shift))
    high = min(0.5 * (log_loading[0] - LOWEST), 0.5 * (HIGHEST - log_shift))
    log_f = _log_density_of_stretch(
        0.0, -np.inf, design, event, columns, scores, along, node, log_loading, log_shift
    )
    update = slice_start(rng, 0.0, log_f, _WIDTH, low, high)
    while update[PHASE] != DONE:
        x, level = update[POINT], update[LEVEL]
        log_f = _log_density_of_stretch(
            x, level, design, event, columns, scores, along, node, log_loading, log_shift
        )
        slice_tell(rng, update, log_f)
    x = update[X]
    add_along(scores, event.basis, np.expm1(x) * along)
    log_loading[0] -= 2.0 * x
    return log_shift + 2.0 * x


@kernel()
def _propose(rng, mean, root, deviation, kept_share):  # type: ignore[no-untyped-def]
    """Return scores whose normal distribution given the parameters is left as it is, (n, d)."""
    n, d = mean.shape
    fresh = np.sqrt(1.0 - kept_share**2)
    proposed = np.empty((n, d))
    noise = np.empty(d)
    for i in range(n):
        for f in range(d):
            noise[f] = rng.standard_normal()
        solve_upper(root, noise)
        for f in range(d):
            proposed[i, f] = mean[i, f] + kept_share * deviation[i, f] + fresh * noise[f]
    return proposed


@kernel(inline="always")
def _draw_scores(rng, design, event, node, mean, root, scores, loading):  # type: ignore[no-untyped-def]
    """Draw the scores given the parameters; overwrites them, returns the share of acceptances.

    Cases are alike, so that U' Z and the rest are independent given the parameters.
    """
    if event.n_discarded.size == 0:
        proposed = _propose(rng, mean, root, scores - mean, 0.0)
        if event.has_shifts:
            keep_along(proposed, scores, event.basis)
        copy_into(scores, proposed)
        return 1.0
    now = log_selection_at(event, design, node, scores, loading)
    accepted = 0
    for r in range(event.kept_share.size):
        proposed = _propose(rng, mean, root, scores - mean, event.kept_share[r])
        # U' Z stays: given the parameters it is independent of the rest.
        keep_along(proposed, scores, event.basis)
        value = log_selection_at(event, design, node, proposed, loading)
        # The proposal keeps the normal distribution given the parameters, so only P(S) is left of
        # the Metropolis-Hastings ratio.
        if np.log(rng.random()) < value - now:
            copy_into(scores, proposed)
            now = value
            accepted += 1
    return accepted / event.kept_share.size


@kernel()
def sweep(rng, design, event, scores, log_loading, log_noise, log_shift, node, values):  # type: ignore[no-untyped-def]
    """Make one sweep; overwrites scores, loading ratios and the missing cells of ``values``.

    Without factors there is neither a share of noise to draw nor a shift.

    Returns
    -------
    node : int
        Node of the signal's scale.
    log_noise, log_shift : float
        Log share of noise, and log shift ratio.
    shifts : ndarray of shape (C, d)
        Shifts of the classes' factors.
    drawn : tuple
        What `draw_columns` returns.
    log_density : float
        Log likelihood given Z, columns' parameters integrated out, and log P(S).
    accepted : float
        Share of the proposals of scores that were accepted.
    """
    has_factors = scores.shape[1] > 0
    shift = np.exp(log_shift) if event.has_shifts else 0.0
    # A partially collapsed Gibbs sampler: steps 1 to 4 integrate the columns' parameters out, so
    # they come before step 5, which draws these, and steps 6 and 7, which condition on them, after
    # it. In another order the chain would not have the posterior as its distribution. The second
    # half of step 5 integrates nu and class effects out, so these are drawn again after it.
    columns = column_moments(values, design.codes, design.counts)
    if has_factors:
        _rescale(rng, event, shift, scores, log_loading)
    moments = score_moments(scores, columns, design.codes, design.counts)
    current = with_noise(design, log_noise)
    node = _draw_node(rng, current, event, columns, moments, scores, np.exp(log_loading))
    if has_factors:
        for g in range(log_loading.size):
            _draw_loading(rng, g, current, event, columns, moments, scores, node, log_loading)
        loading = np.exp(log_loading)
        log_noise = _draw_noise(
            rng, log_noise, design, event, columns, moments, scores, node, loading
        )
        current = with_noise(design, log_noise)
        for _ in range(_ALONG_UPDATES):
            if event.has_shifts:
                log_shift = draw_shift(rng, log_shift, event, project(scores, event.basis)[0])
                shift = np.exp(log_shift)
            _draw_along(rng, current, event, shift, columns, scores, node, loading)
        if event.has_shifts:
            log_shift = _stretch(rng, current, event, columns, scores, node, log_loading, log_shift)
            shift = np.exp(log_shift)
        moments = score_moments(scores, columns, design.codes, design.counts)
    loading = np.exp(log_loading)
    drawn = draw_columns(rng, current, columns, moments, loading, design.weights[node])
    if has_factors:
        position, variance, loadings, _, _, _ = drawn
        parameters = Columns(current.ratio[position], variance, loadings)
        contrasts = event.basis.T @ values
        left = columns.left
        follow(rng, current, event, shift, node, left, contrasts, parameters, scores, log_loading)
        moments = score_moments(scores, columns, design.codes, design.counts)
        loading = np.exp(log_loading)
        centre, expected, spread = draw_centres(
            rng, current, columns, moments, position, variance, loadings
        )
        drawn = (position, variance, loadings, centre, expected, spread)
    shifts = draw_class_shifts(rng, event, shift, scores, design.codes, design.counts.size)
    _, variance, loadings, centre, _, _ = drawn
    accepted = 1.0
    if has_factors:
        mean, root = score_conditional(design, values, variance, loadings, centre)
        accepted = _draw_scores(rng, current, event, node, mean, root, scores, loading[0])
    if design.missing.any():
        draw_missing(rng, design, scores, variance, loadings, centre, values)
        columns = column_moments(values, design.codes, design.counts)
    log_density = _collapsed(current, event, columns, scores, node, loading, -np.inf)
    return node, log_noise, log_shift, shifts, drawn, log_density, accepted
