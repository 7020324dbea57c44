"""Checks of the probability of being discarded.

They pass on the source as it is, and not where a mistake is planted in it.
"""

from __future__ import annotations

import numpy as np

from honestbayes.correction import f_statistic, factor_event
from honestbayes.likelihood.normal import ratio_grid


def event_check(modules):
    """Without factors the F statistic; with them the same whatever basis, and a known case."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [4, 6, 9])
    ratio = np.array([0.0, 0.3, 2.0])
    contrasts = modules.event.class_contrasts(codes)
    none = np.zeros((19, 1))
    got = modules.event.log_prob_discarded(contrasts, none, ratio, 1.0, 0.3)
    expected = f_statistic.log_prob_discarded(ratio, np.array([4, 6, 9]), 0.3)
    # A factor that is one of the contrasts adds to the variance along it.
    scores = contrasts.basis[:, :1].copy()
    along = modules.event.log_prob_discarded(contrasts, scores, np.zeros(1), 5.0, 0.3)
    values = np.array([[6 * 0.7, 0.7, -0.3]])
    known = -np.expm1(factor_event.log_prob_positive(values, np.array([1.0, 1.0, 16.0])))
    # And one beside them adds to the variance that is not between classes.
    left = rng.normal(size=19)
    left -= left.mean() + contrasts.basis @ (contrasts.basis.T @ (left - left.mean()))
    left /= np.linalg.norm(left)
    beside = modules.event.log_prob_discarded(contrasts, left[:, None], np.zeros(1), 5.0, 0.3)
    values = np.array([[0.7, -0.3 * 6, -0.3]])
    other = -np.expm1(factor_event.log_prob_positive(values, np.array([2.0, 1.0, 15.0])))
    return (
        np.allclose(got, expected, atol=1e-9)
        and np.allclose(np.exp(along), known, atol=1e-9)
        and np.allclose(np.exp(beside), other, atol=1e-9)
    )


def contour_check(modules):
    """All ratios on one line against the form of each."""
    rng = np.random.default_rng(1)
    codes = np.repeat([0, 1], [5, 7])
    contrasts = modules.event.class_contrasts(codes)
    scores = rng.normal(size=(12, 2)) + codes[:, None]
    ratio = ratio_grid(12)
    along, rest = modules.event.project(scores, contrasts.basis)
    got = modules.event.prob_kept(along, rest, contrasts.signal[0], ratio, 0.8, 0.3, 12.0)
    E = np.eye(2)[codes]
    u = contrasts.basis[:, 0]
    centring = np.eye(12) - 1 / 12
    form = np.outer(u, u) - 0.3 * centring
    for a, w in enumerate(ratio):
        root = np.linalg.cholesky(np.eye(12) + w * E @ E.T + 0.8 * scores @ scores.T)
        eigenvalues = np.linalg.eigvalsh(root.T @ form @ root)
        expected = np.exp(factor_event.log_prob_positive(eigenvalues[None], np.ones(12)))[0]
        if abs(got[a] - expected) > 1e-8:
            return False
    return True


CHECKS = {
    "event": event_check,
    "contour": contour_check,
}

# Name, the check that notices it, the right text, and the wrong one.
MISTAKES = [
    (
        "multiplicity of -gamma^2 forgotten",
        "event",
        "degrees[dimensions] = n_cases - 1.0 - dimensions",
        "degrees[dimensions] = 1.0",
    ),
    (
        "mean not counted among the dimensions",
        "event",
        "degrees[dimensions] = n_cases - 1.0 - dimensions",
        "degrees[dimensions] = n_cases - dimensions",
    ),
    (
        "scores along the contrasts counted twice",
        "event",
        "left[f] -= basis[i, b] * along[b, f]",
        "left[f] -= 0.0",
    ),
    (
        "signal added to every dimension",
        "event",
        "            if b < n_contrasts:\n",
        "            if b < 1:\n",
    ),
    (
        "one dimension too many on the line",
        "contour",
        "others = 0.5 * (n_cases - 2.0 - d)",
        "others = 0.5 * (n_cases - 1.0 - d)",
    ),
    (
        "arrow of the covariance forgotten",
        "contour",
        "start += bend * square[f] * s * s / one",
        "start += 0.0",
    ),
]
