"""The package beside its oracles: each function returns how far apart the two are.

Tests assert that the distance is small; the planted bugs assert that it is not.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import oracles
from scipy.special import logit

from honestbayes import SelectiveBernoulliNB
from honestbayes.base.intervals import draw_probabilities
from honestbayes.base.recalibration import Recalibration
from honestbayes.correction import discard
from honestbayes.likelihood.quadrature import theta_rule
from honestbayes.selection import DiscardedGroup, squared_correlation


def discard_distance(alpha, interval, sizes, gamma_squared):
    """Return the error of P(S) per feature, and the relative errors of P(kept) and P(tied)."""
    low, high = (Fraction(bound) for bound in interval)
    below, tied, beyond = oracles.exact_discard_probabilities(
        Fraction(alpha), low, high, *sizes, gamma_squared
    )
    rule = theta_rule(sum(sizes), alpha, interval)
    got_beyond, got_tied = discard.probabilities(alpha, sizes, gamma_squared, rule)
    absolute = max(
        abs(1 - got_beyond - float(below + tied)),
        abs(got_tied - float(tied)),
        abs(1 - got_beyond - got_tied - float(below)),
    )
    return absolute, _relative(got_beyond, float(beyond)), _relative(got_tied, float(tied))


def _relative(got, expected):
    if expected == 0:
        return abs(got)
    return abs(got / expected - 1)


def event_distance(alpha, interval, groups, gamma_squared, ties, m=1):
    """Return the difference of P(S) and of log P(S) with its exact value."""
    low, high = (Fraction(bound) for bound in interval)
    parts, exact = [], []
    for group in groups:
        rule = theta_rule(sum(group.observed), alpha, interval)
        parts.append(discard.probabilities(alpha, group.observed, gamma_squared, rule))
        exact.append(
            oracles.exact_discard_probabilities(
                Fraction(alpha), low, high, *group.observed, gamma_squared
            )
        )
    beyond, tied = np.array(parts).T
    got = discard.log_prob_selection(beyond, tied, groups, ties=ties, n_tied_kept=m)
    if ties == "unknown":
        expected = oracles.exact_unknown_ties(
            [(lt, eq, group.n_discarded) for (lt, eq, _), group in zip(exact, groups, strict=True)],
            m,
        )
    else:
        expected = Fraction(1)
        for (lt, eq, _), group in zip(exact, groups, strict=True):
            if ties == "at_most":
                expected *= (lt + eq) ** group.n_discarded
            else:
                expected *= eq**group.n_tied * lt ** (group.n_discarded - group.n_tied)
    if expected == 0:
        return (0.0, 0.0) if got == -np.inf else (float(np.exp(got)), np.inf)
    return abs(float(np.exp(got)) - float(expected)), abs(got - oracles.exact_log(expected))


# Columns of two features of n = 4 are kept at the same correlation, so ties are everywhere.
ENUMERATED = [
    # class sizes of each feature, kept features with counts, k
    ([(2, 2)] * 3, {0: (0, 1)}, 1),
    ([(2, 2)] * 4, {0: (0, 2)}, 1),
    ([(2, 2)] * 3, {0: (0, 2), 1: (0, 1)}, 2),
    ([(2, 2)] * 4, {0: (0, 1), 2: (2, 1)}, 2),
    ([(2, 2)] * 4, {1: (1, 1)}, 1),
    ([(1, 3)] * 4, {0: (0, 2), 1: (1, 2)}, 2),
    ([(2, 2), (2, 1), (2, 2), (1, 1)], {0: (0, 1), 1: (0, 1)}, 2),
]


def enumerated_posterior_distance(sizes, values, k, ties):
    """Compare posterior weights of alpha with those from all assignments of counts to features.

    Returns the largest spread of log(enumerated / package's factor) over alpha, for each number T
    of discarded features at the bound where it is known.
    """
    alphas = [Fraction(1, 5), Fraction(1), Fraction(7), Fraction(300)]
    kept = set(values)
    bound = min(squared_correlation(*values[j], *sizes[j]) for j in kept)
    m = sum(squared_correlation(*values[j], *sizes[j]) == bound for j in kept)
    lost = [sizes[j] for j in range(len(sizes)) if j not in kept]
    logs = {}
    for alpha in alphas:
        probability = [
            {
                (i0, i1): oracles.math.comb(n0, i0)
                * oracles.math.comb(n1, i1)
                * oracles.exact_column_probability(alpha, Fraction(0), Fraction(1), i0, i1, n0, n1)
                for i0 in range(n0 + 1)
                for i1 in range(n1 + 1)
            }
            for n0, n1 in sizes
        ]
        by_ties = oracles.selection_by_enumeration(probability, sizes, values, kept, k)
        likelihood = oracles.math.prod(probability[j][values[j]] for j in kept)
        if ties == "unknown":
            by_ties = {0: sum(by_ties.values())}
        parts = [
            discard.probabilities(float(alpha), s, bound, theta_rule(sum(s), float(alpha), (0, 1)))
            for s in lost
        ]
        beyond, tied = np.array(parts).T
        for n_tied, enumerated in by_ties.items():
            if n_tied and len(set(lost)) > 1:
                continue  # which group the tied ones are in is known too; T alone is not enough
            groups = [DiscardedGroup(s, 1, int(j < n_tied)) for j, s in enumerate(lost)]
            got = discard.log_prob_selection(beyond, tied, groups, ties=ties, n_tied_kept=m)
            logs.setdefault(n_tied, []).append(oracles.exact_log(enumerated / likelihood) - got)
    return max(np.ptp(values) for values in logs.values())


# ------------------------------------------------------------------------------- whole predictions


def small_table(seed, n, p, *, missing=0.0, n1=None):
    """A small 0/1 table with some signal, and optionally missing cells."""
    rng = np.random.default_rng(seed)
    n1 = n // 2 if n1 is None else n1
    y = rng.permutation(np.repeat([0, 1], [n - n1, n1]))
    theta = rng.uniform(0.2, 0.8, p)
    phi = rng.beta(3 * theta, 3 * (1 - theta), (2, p))
    X = (rng.random((n, p)) < phi[y]).astype(float)
    if missing:
        hidden = rng.random(X.shape) < missing
        hidden[0] = hidden[-1] = False
        X[hidden] = np.nan
    return X, y


PROBLEMS = {
    "k=1": ({"seed": 1, "n": 8, "p": 6}, {"n_features_to_select": 1}),
    "k=3, ties": ({"seed": 9, "n": 9, "p": 12}, {"n_features_to_select": 3}),
    "k=2": ({"seed": 3, "n": 12, "p": 10}, {"n_features_to_select": 2}),
    "missing cells": ({"seed": 136, "n": 10, "p": 8, "missing": 0.15}, {"n_features_to_select": 2}),
    "always_keep": (
        {"seed": 5, "n": 10, "p": 9},
        {"n_features_to_select": 2, "always_keep": [0, 4], "class_prior": (0.3, 0.7)},
    ),
    "threshold, theta in (0.1, 0.9)": (
        {"seed": 6, "n": 11, "p": 8, "n1": 3},
        {"threshold": 0.3, "theta_prior": (0.1, 0.9), "alpha_prior": (2.0, 30.0)},
    ),
    "threshold that is attained, theta in (0.2, 1), missing": (
        {"seed": 31, "n": 10, "p": 12, "missing": 0.1},
        {"threshold": 0.5, "theta_prior": (0.2, 1.0), "class_pseudocounts": (2.0, 0.5)},
    ),
}


def fitted(name, correction, *, ties_known=True, **changes):
    """Fit one of the problems and return the model, the training data and its oracle.

    Where ties are not known, the kept columns go to ``fit_selected``.
    """
    table, parameters = PROBLEMS[name]
    X, y = small_table(**table)
    parameters = {"feature_prior": "uniform", "recalibrate": None, **parameters, **changes}
    model = SelectiveBernoulliNB(correction=correction, random_state=0, **parameters).fit(X, y)
    if not ties_known:
        groups = tuple(replace(group, n_tied=0) for group in model.selection_.groups)
        record = replace(model.selection_, ties_known=False, groups=groups)
        model.fit_selected(X[:, record.columns], y, record)
    oracle = oracles.TwoDimensionalIntegral(
        X,
        y,
        model.selection_.kept,
        always=parameters.get("always_keep", ()),
        correction=correction,
        threshold=parameters.get("threshold"),
        ties_known=ties_known,
        alpha_prior=parameters.get("alpha_prior", (0.5, 5.0)),
        theta_prior=parameters.get("theta_prior", (0.0, 1.0)),
        pseudocounts=parameters.get("class_pseudocounts", (1.0, 1.0)),
        class_prior=parameters.get("class_prior"),
    )
    return model, X, y, oracle


def kept_patterns(model, p, *, missing=False):
    """All 0/1 patterns of the kept columns (at most 32), and some with a missing cell."""
    columns = model.selection_.columns[:5]
    values = (0.0, 1.0, np.nan) if missing else (0.0, 1.0)
    patterns = list(itertools.product(values, repeat=len(columns)))[:32]
    rows = np.zeros((len(patterns), p))
    rows[:, columns] = patterns
    return rows


def prediction_distance(name, correction, **changes):
    """Largest difference between predict_proba and two-dimensional integration."""
    model, X, _, oracle = fitted(name, correction, **changes)
    rows = kept_patterns(model, X.shape[1], missing="missing" in name)
    expected = [oracle.probability(row) for row in rows]
    return float(np.max(np.abs(model.predict_proba(rows)[:, 1] - expected)))


def log_odds_distance(name, correction, **changes):
    """Return the largest error of log-odds beside the error that the posterior claims."""
    model, X, _, oracle = fitted(name, correction, **changes)
    rows = kept_patterns(model, X.shape[1])
    expected = logit([oracle.probability(row) for row in rows])
    got = np.diff(model.predict_log_proba(rows), axis=1)[:, 0]
    return float(np.max(np.abs(got - expected))), model.posterior_.error


def published_distance(n0, n1, p, k, *, correction="selection", seed=0, alpha=20.0, n_rows=6):
    """Largest difference between quadrature="paper" and the plain transcription."""
    rng = np.random.default_rng(seed)
    theta = rng.random(p)
    phi = rng.beta(alpha * theta, alpha * (1 - theta), (2, p))
    y = np.repeat([0, 1], [n0, n1])
    X = (rng.random((n0 + n1, p)) < phi[y]).astype(np.int8)
    model = SelectiveBernoulliNB(
        n_features_to_select=k,
        feature_prior="uniform",
        correction=correction,
        recalibrate=None,
        quadrature="paper",
        binarize=None,
        random_state=0,
    ).fit(X, y)
    kept = list(model.selection_.kept)
    counts = [(int(X[y == 0, j].sum()), int(X[y == 1, j].sum())) for j in kept]
    gamma_squared = min(
        (oracles.squared_correlation_of_counts(*pair, n0, n1) for pair in counts),
    )
    rows = rng.integers(0, 2, (n_rows, p)).astype(np.int8)
    expected = [
        oracles.published_probability(
            counts, (n0, n1), (p - k) if correction else 0, gamma_squared, row[kept]
        )
        for row in rows
    ]
    return float(np.max(np.abs(model.predict_proba(rows)[:, 1] - expected)))


def interval_mean_distance(model, rows, n_draws=4000, log_prior=None):
    """Return (mean of the draws - predict_proba) in standard errors, per row, and its size."""
    draws = probability_draws(model, rows, n_draws, log_prior)
    mean, value = draws.mean()[:, 0], draws.value[:, 0]
    difference = mean - model.predict_proba(rows)[:, 1]
    spread = (value - mean[:, None]) * draws.weight
    error = np.sqrt(np.sum(spread**2, axis=1)) + 1e-12
    return difference / error, np.abs(difference)


def probability_draws(model, rows, n_draws, log_prior=None):
    """Draws of P(class 1 | x, parameters) without a slope."""
    n_rows, values = model._read(rows)
    weights = model.class_count_ + model.class_pseudocounts
    return draw_probabilities(
        values, n_rows, weights, log_prior, Recalibration.plugged_in(1.0), n_draws
    )
