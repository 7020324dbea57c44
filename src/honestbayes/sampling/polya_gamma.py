"""Draws from Polya-Gamma distributions, for logistic likelihoods.

    (e^f)^a / (1 + e^f)^b = 2^-b e^((a - b / 2) f) E exp(-w f^2 / 2),    w of PG(b, 0),

so that given w the log likelihood is quadratic in f, and given f the density of w is that of
PG(b, f), of which the mean is b tanh(f / 2) / (2 f).

References
----------
Polson, N. G., Scott, J. G. and Windle, J. (2013). Bayesian inference for logistic models using
Polya-Gamma latent variables. Journal of the American Statistical Association 108, 1339-1349.
"""

from __future__ import annotations

import math

import numpy as np

from honestbayes.compiled import kernel

_CUT = 0.64
"""Where the two series of Jacobi's density meet."""

_HIGH = 700.0
"""exp of more would overflow; a share of exp(-700) is never drawn."""


@kernel()
def _series_term(n, x):  # type: ignore[no-untyped-def]
    """Return a term of the alternating series of the density of 4 PG(1, 0)."""
    k = (n + 0.5) * math.pi
    if x > _CUT:
        return k * math.exp(-0.5 * k * k * x)
    return k * math.exp(-1.5 * math.log(0.5 * math.pi * x) - 2.0 * (n + 0.5) ** 2 / x)


@kernel()
def _right_share(z, rate):  # type: ignore[no-untyped-def]
    """Return the share of the proposal beyond the cut."""
    base, root = math.log(rate) + rate * _CUT, math.sqrt(1.0 / _CUT)
    left = 0.0
    for sign in (-1.0, 1.0):
        below = 0.5 * math.erfc((1.0 + sign * _CUT * z) * root / math.sqrt(2.0))
        if below > 0.0:
            left += math.exp(min(base + sign * z + math.log(below), _HIGH))
    return 1.0 / (1.0 + 4.0 / math.pi * left)


@kernel()
def polya_gamma(rng, f):  # type: ignore[no-untyped-def]
    """Draw from PG(1, f), by Devroye's method of alternating series."""
    z = 0.5 * abs(f)
    rate = 0.125 * math.pi**2 + 0.5 * z * z
    share = _right_share(z, rate)
    while True:
        # Beyond the cut the proposal is exponential, below it inverse Gaussian with mean 1 / z: by
        # rejection where that mean is beyond the cut, else drawn until it is below.
        if rng.random() < share:
            x = _CUT + rng.standard_exponential() / rate
        elif z * _CUT < 1.0:
            while True:
                a, b = rng.standard_exponential(), rng.standard_exponential()
                while a * a > 2.0 * b / _CUT:
                    a, b = rng.standard_exponential(), rng.standard_exponential()
                x = _CUT / (1.0 + _CUT * a) ** 2
                if rng.random() <= math.exp(-0.5 * z * z * x):
                    break
        else:
            mean, x = 1.0 / z, _CUT + 1.0
            while x > _CUT:
                square = mean * rng.standard_normal() ** 2
                x = mean + 0.5 * mean * (square - math.sqrt(4.0 * square + square * square))
                if rng.random() > mean / (mean + x):
                    x = mean * mean / x
        # The density is an alternating series of falling terms: partial sums are in turn above and
        # below it, so that finitely many of them decide exactly.
        total = _series_term(0, x)
        level, n = rng.random() * total, 0
        while True:
            n += 1
            if n % 2 == 1:
                total -= _series_term(n, x)
                if level <= total:
                    return 0.25 * x
            else:
                total += _series_term(n, x)
                if level > total:
                    break


@kernel()
def polya_gammas(rng, f, size):  # type: ignore[no-untyped-def]
    """Draw from PG(size, f), whole sizes: sums of draws from PG(1, f)."""
    result = np.zeros(f.size)
    for i in range(f.size):
        for _ in range(int(size[i])):
            result[i] += polya_gamma(rng, f[i])
    return result
