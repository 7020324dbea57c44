"""Sweeps in which the coefficients of a linear predictor are drawn all at once.

What is needed is a normal likelihood of the predictor f and normal coefficients s.

* Of a response the likelihood is normal: row i has a mean of precision size_i / noise.
* Of classes it is, given Polya-Gamma variables w: with u = f_k - rest the log odds of class k
  against the others, given all of these, the log likelihood is that of z = rest + (cases of
  class k - size / 2) / w with precision w (`honestbayes.sampling.polya_gamma`).
* Cauchy coefficients are normal given scales: s = width x / sqrt(scale), x standard normal and
  scale gamma with shape and rate 1/2. Given s the scale is exponential.

Then the widths, and the noise of a response, are updated with s integrated out, and after that s is
drawn given them: together a draw from their joint conditional distribution. Why the posterior stays
as it was:

1. w and the scales are drawn from their conditional distributions given all else, and are forgotten
   after the step. Given them, the state (widths, noise, s_k) of one class has as its density
   p(widths, noise | z) p(s_k | widths, noise, z), where the first factor has s_k integrated out;
   widths are those of the other classes too, so the densities of their coefficients are in it.
2. Slices leave the first factor as it is, one width at a time, and s_k is drawn from the second.
3. Which class has its turn for the widths is drawn without a look at the state. For the other
   classes only w and s_k are drawn.
4. No coefficient may be beyond LARGEST. Slices are reversible, and the order of widths is drawn
   anew, any order as likely as the one backwards; so a step from (widths, noise, s_k) to others is
   as frequent as the step back. Such steps leave a distribution that is conditioned on a set as it
   is, if those that would leave the set are not made.

With more than two classes widths are also updated given all coefficients (`update_widths`), and the
means of coefficients over classes are drawn anew (`_shift_classes`). Widths of classes are updated
given coefficients in units of their widths too (`rescale`), which no Polya-Gamma variable holds
back where classes can be told apart without error.
"""

from __future__ import annotations

import math

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.models.interactions.joint import (
    GROUPS,
    draw_jointly,
    group_gram,
    log_evidence,
)
from honestbayes.models.interactions.kernels import log_rest
from honestbayes.models.interactions.likelihood import (
    HIGHEST,
    LARGEST,
    LOWEST,
    predictors,
    widths_of,
)
from honestbayes.models.interactions.widths import log_inverse_gamma, rescale, update_widths
from honestbayes.sampling.polya_gamma import polya_gammas
from honestbayes.sampling.slicing import DONE, LOG_F, PHASE, POINT, X, slice_start, slice_tell

LOG_NOISE = 600.0
"""Bound of the logarithm of the variance of noise, either way: the prior's probability of less is 0
to any precision, and of more exp(-600)."""

WIDTH_STEP, NOISE_STEP = 5.0, 1.5
"""Widths of slices, which are not stepped out: each evaluation costs as much as a draw of all
coefficients."""


@kernel()
def sweep_together(rng, s, log_sigma, noise, problem):  # type: ignore[no-untyped-def]
    """Update all coefficients and widths, and the variance of noise where there is a response.

    ``s`` and ``log_sigma`` are changed; the variance of noise is returned.
    """
    n, n_classes = problem.size.size, s.shape[0]
    has_noise = problem.noise[0] > 0
    f = predictors(s, problem.start, problem.cases, n)
    turn = 0 if n_classes == 1 else int(n_classes * rng.random())
    for k in range(n_classes):
        if has_noise:  # in units of the noise
            h, weight = problem.target[0].copy(), problem.size.copy()
        else:
            rest = log_rest(f, k, n)
            weight = polya_gammas(rng, f[k] - rest, problem.size)
            h = problem.target[k] - 0.5 * problem.size + weight * rest
        noise = _update_class(rng, s, k, h, weight, log_sigma, noise, k == turn, problem)
        f[k] = predictors(s[k : k + 1], problem.start, problem.cases, n)[0]
    if not has_noise:
        if n_classes > 1:
            if not problem.is_cauchy:
                _shift_classes(rng, s, f, log_sigma, problem)
            update_widths(rng, s, log_sigma, problem)
        rescale(rng, s, f, log_sigma, noise, problem)
    return noise


@kernel()
def _shift_classes(rng, s, f, log_sigma, problem):  # type: ignore[no-untyped-def]
    """Draw the mean over classes of each coefficient, of which the data know nothing.

    The likelihood is that of differences between classes, and the mean of K normal variables is
    independent of their differences, with the variance of one divided by K.
    """
    n_classes, n_groups = s.shape
    width = widths_of(problem.counts, log_sigma, False)
    for g in range(n_groups):
        shift = rng.standard_normal() * width[g] / math.sqrt(n_classes)
        largest = 0.0
        for k in range(n_classes):
            shift -= s[k, g] / n_classes
        for k in range(n_classes):
            largest = max(largest, abs(s[k, g] + shift))
        if largest <= LARGEST:
            for k in range(n_classes):
                s[k, g] += shift
    f[:] = predictors(s, problem.start, problem.cases, problem.size.size)


@kernel()
def _variances(log_sigma, scale, problem):  # type: ignore[no-untyped-def]
    """Return the variance of each coefficient, given the scales."""
    width = widths_of(problem.counts, log_sigma, problem.is_cauchy)
    return width * width / scale


@kernel()
def _log_marginal(theta, s, k, h, weight, gram, scale, problem):  # type: ignore[no-untyped-def]
    """Return the log density of widths and noise with the coefficients of class k integrated out.

    ``theta`` holds the logarithms of the widths and of the variance of noise.
    """
    log_sigma = theta[:-1]
    variance = _variances(log_sigma, scale, problem)
    total = 0.0
    for o in range(log_sigma.size):
        shape, rate = problem.priors[o]
        if shape > 0.0:
            total += log_inverse_gamma(log_sigma[o], shape, rate)
    for j in range(s.shape[0]):
        if j != k:
            for g in range(variance.size):
                if problem.is_cauchy:  # the scales are those of class k only
                    square = variance[g] * scale[g]
                    total += 0.5 * math.log(square) - math.log(square + s[j, g] * s[j, g])
                else:
                    total -= 0.5 * (math.log(variance[g]) + s[j, g] * s[j, g] / variance[g])
    if problem.noise[0] == 0:
        return total + log_evidence(h, weight, log_sigma, variance, gram, problem)
    # The prior of noise, and all cases if every coefficient were 0.
    shape, rate = problem.noise
    shape += 0.5 * np.sum(problem.size)
    rate += 0.5 * (problem.spread + np.sum(h * h / weight))
    unit = math.exp(-theta[-1])
    total += log_inverse_gamma(theta[-1], shape, rate)
    return total + log_evidence(h * unit, weight * unit, log_sigma, variance, gram * unit, problem)


@kernel()
def _update_class(rng, s, k, h, weight, log_sigma, noise, has_turn, problem):  # type: ignore[no-untyped-def]
    """Update widths and noise, if it is the turn of class k, then draw its coefficients."""
    n_groups, n_places = s.shape[1], log_sigma.size + 1
    theta = np.empty(n_places)
    theta[:-1] = log_sigma
    theta[-1] = math.log(noise)
    gram = group_gram(weight, problem) if problem.way == GROUPS else np.zeros((0, 0))
    scale = np.ones(n_groups)
    if problem.is_cauchy:
        width = widths_of(problem.counts, log_sigma, True)
        for g in range(n_groups):
            ratio = s[k, g] / width[g]
            scale[g] = rng.standard_exponential() / (0.5 * (1.0 + ratio * ratio))
    if has_turn:
        log_f = _log_marginal(theta, s, k, h, weight, gram, scale, problem)
        places = np.arange(n_places)
        for last in range(n_places - 1, -1, -1):
            chosen = int((last + 1) * rng.random())
            place = places[chosen]
            places[chosen] = places[last]
            is_noise = place == n_places - 1
            if (problem.noise if is_noise else problem.priors[place])[0] == 0.0:
                continue
            low, high, step = LOWEST, HIGHEST, WIDTH_STEP
            if is_noise:
                low, high, step = -LOG_NOISE, LOG_NOISE, NOISE_STEP
            update = slice_start(rng, theta[place], log_f, step, low, high, 1)
            while update[PHASE] != DONE:
                theta[place] = update[POINT]
                log_f = _log_marginal(theta, s, k, h, weight, gram, scale, problem)
                slice_tell(rng, update, log_f)
            theta[place], log_f = update[X], update[LOG_F]
    unit = math.exp(-theta[-1]) if problem.noise[0] > 0 else 1.0
    variance = _variances(theta[:-1], scale, problem)
    drawn = draw_jointly(rng, h * unit, weight * unit, theta[:-1], variance, gram * unit, problem)
    if drawn.size == 0 or np.max(np.abs(drawn)) > LARGEST:
        return noise
    s[k] = drawn
    log_sigma[:] = theta[:-1]
    return math.exp(theta[-1]) if problem.noise[0] > 0 else noise
