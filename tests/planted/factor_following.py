"""Checks of the factor model's moves in which scores follow, and of the stretch.

They pass on the source as it is, and not where a mistake is planted in it.
"""

from __future__ import annotations

import numpy as np
import oracles_factor as oracle
from factor_problem import LIMIT, Problem, ranked

CLASSES = Problem((4, 2, 3), 3, 3, 2, 0.0, event=False, shifts=True, every=5)
RESPONSE = Problem((10,), 2, 2, 2, 0.0, event=False, response=True)
CLASSES_KEPT = Problem((5, 5), 12, 2, 1, 0.35, nodes=1, shifts=True, every=5)
RESPONSE_KEPT = Problem((10,), 12, 2, 1, 0.35, response=True)


def prepared(modules, problem, rng):
    """Draw everything; return it with the kernel's records and the columns' parameters."""
    state, parameters, values = ranked(problem, rng)
    kernel = problem.kernel(values, np.zeros(values.shape, dtype=bool))
    log_noise = float(state["log_noise"])
    current = modules.sampler.with_noise(kernel.design, log_noise)
    own = modules.sampler.ColumnParameters(
        current.ratio[parameters.position],
        parameters.variance.copy(),
        np.ascontiguousarray(parameters.loadings.T),
    )
    return state, current, kernel.event, own, values


def parts_of(modules, design, event, values):
    """Return the columns' left-overs beside the contrasts, and the contrasts."""
    columns = modules.sampler.column_moments(values, design.codes, design.counts)
    return columns, event.basis.T @ values


# ------------------------------------------------------------------------------ densities


def log_normal(values, codes, shift, columns):
    """Log density of all columns' contrasts of cases, by their covariance in full."""
    n, k = values.shape
    E = np.eye(codes.max() + 1)[codes]
    basis = np.linalg.svd(np.eye(n) - 1 / n)[0][:, : n - 1]
    ones = basis.T @ E @ E.T @ basis
    covariance = np.kron(columns.loadings @ columns.loadings.T, np.eye(n - 1) + shift * ones)
    for j in range(k):
        own = columns.variance[j] * (np.eye(n - 1) + columns.ratio[j] * ones)
        covariance[j * (n - 1) : (j + 1) * (n - 1), j * (n - 1) : (j + 1) * (n - 1)] += own
    x = (basis.T @ values).T.ravel()
    return -0.5 * (np.linalg.slogdet(covariance)[1] + x @ np.linalg.solve(covariance, x))


def density_check(modules):
    """Columns given their parameters are normal; scores come back from what is held of them."""
    rng = np.random.default_rng(1)
    apart = []
    for problem in (CLASSES, RESPONSE):
        state, design, event, own, values = prepared(modules, problem, rng)
        shift = np.exp(float(state["log_shift"])) if problem.shifts else 0.0
        columns, contrasts = parts_of(modules, design, event, values)
        rest = columns.left - event.basis @ (event.basis.T @ columns.left)
        held = modules.sampler.hold(event, shift, own, rest, contrasts, state["scores"])
        along, products = np.zeros((event.signal.size, 2)), np.zeros((2, 2))
        for factor in (1.0, 3.0):
            other = own._replace(variance=own.variance * factor)
            found = modules.sampler.log_density(event, shift, held, other, along, products)
            apart.append(found - log_normal(values, problem.codes, shift, other))
        modules.sampler.log_density(event, shift, held, own, along, products)
        expected = modules.event.project(state["scores"], event.basis)
        apart += [np.abs(along - expected[0]).max(), np.abs(products - expected[1]).max()]
        # The scores that come back are those that were there.
        scores = state["scores"].copy()
        first, weighted = np.zeros((2, 2)), np.zeros((2, values.shape[1]))
        modules.sampler.factorise(own.loadings, own.variance, 1.0, first, weighted)
        modules.sampler.move_scores(event, own, rest, first, weighted, along, scores)
        apart.append(np.abs(scores - state["scores"]).max())
    return np.max(np.abs(apart)) < 1e-8


def deviation_check(modules):
    """What is held of scores is standard normal, and independent of the columns."""
    rng = np.random.default_rng(2)
    found = []
    for _ in range(1500):
        state, design, event, own, values = prepared(modules, CLASSES, rng)
        columns, contrasts = parts_of(modules, design, event, values)
        given = (event, np.exp(float(state["log_shift"])), own, columns.left, contrasts)
        held = modules.sampler.hold(*given, state["scores"])
        size = np.sqrt(np.diag(held.products))[:, None]
        # Bounded: a few deviations that are far too large must not hide themselves in the spread.
        normal = np.concatenate([held.deviation.ravel(), (held.cross / size).ravel()])
        found.append([*(np.exp(-(normal**2)) - 3**-0.5), *np.tanh(normal), held.square[0, 1]])
    z = oracle.paired_z(np.zeros_like(found), found)
    return np.max(np.abs(z)) < LIMIT


# ----------------------------------------------------------------------- moves keep the posterior


def numbers(event, own, scores, log_loading, log_shift):
    """Numbers of a state, none with a long tail; turned factors do not change them."""
    centred = scores - scores.mean(axis=0)
    along = np.log(np.sum((event.basis.T @ scores) ** 2))
    size = np.log(np.sum(centred**2))
    of_factors = np.sum(own.loadings**2, axis=1)
    share = of_factors / (of_factors + own.variance)
    both = np.log(own.variance) * np.tanh(log_loading[0] / 4)
    # In units of their prior: a response, which has a ratio of its own, is the first column.
    ratio = np.full(own.variance.size, np.exp(log_loading[0]))
    ratio[: log_loading.size - 1] = np.exp(log_loading[1:])
    loadings = own.loadings**2 / (own.variance * ratio)[:, None]
    contrasts = (event.basis.T @ scores) ** 2 / (1 + np.exp(log_shift) * event.signal)[:, None]
    return np.array(
        [
            *np.tanh(log_loading / 4),
            np.tanh(log_shift / 4),
            along,
            size,
            along * np.tanh(log_loading[0] / 4),
            *share,
            *share**2,
            *np.log(own.variance),
            *both,
            *np.tanh(np.log(of_factors) / 4),
            *np.exp(-0.3 * loadings).mean(axis=1),
            *np.exp(-3 * loadings).mean(axis=1),
            np.exp(-contrasts).mean(),
        ]
    )


def move_check(problem, move, n_replicates, n_moves=2, seed=3):
    """Return a check that moves keep the posterior."""

    def check(modules):
        rng = np.random.default_rng(seed)
        before, after = [], []
        for _ in range(n_replicates):
            state, design, event, own, values = prepared(modules, problem, rng)
            scores, log_loading = state["scores"].copy(), state["log_loading"].copy()
            log_shift = float(state["log_shift"])
            before.append(numbers(event, own, scores, log_loading, log_shift))
            for _ in range(n_moves):
                log_shift = move(
                    modules,
                    rng,
                    problem,
                    design,
                    event,
                    own,
                    values,
                    scores,
                    log_loading,
                    log_shift,
                )
            after.append(numbers(event, own, scores, log_loading, log_shift))
        return np.max(np.abs(oracle.paired_z(before, after))) < LIMIT

    return check


def follow(modules, rng, problem, design, event, own, values, scores, log_loading, log_shift):
    columns, contrasts = parts_of(modules, design, event, values)
    shift = np.exp(log_shift) if problem.shifts else 0.0
    modules.sampler.follow(
        rng, design, event, shift, 0, columns.left, contrasts, own, scores, log_loading
    )
    return log_shift


def stretch(modules, rng, _problem, design, event, own, values, scores, log_loading, log_shift):
    sampler = modules.sampler
    columns, _ = parts_of(modules, design, event, values)
    log_shift = sampler._stretch(rng, design, event, columns, scores, 0, log_loading, log_shift)
    # The move integrates the columns' parameters out, so those before it go with it no longer.
    moments = sampler.score_moments(scores, columns, design.codes, design.counts)
    loading = np.exp(log_loading)
    position, variance, loadings, *_ = sampler.draw_columns(
        rng, design, columns, moments, loading, design.weights[0]
    )
    own.ratio[:], own.variance[:], own.loadings[:] = design.ratio[position], variance, loadings
    return log_shift


def turn_with(which):
    """Return a move: columns turned one after the other, and scores that follow."""

    def turn(modules, rng, problem, design, event, own, values, scores, log_loading, log_shift):
        whitened, following = modules.sampler, modules.sampler
        columns, contrasts = parts_of(modules, design, event, values)
        shift = np.exp(log_shift) if problem.shifts else 0.0
        rest = columns.left - event.basis @ (event.basis.T @ columns.left)
        held = whitened.hold(event, shift, own, rest, contrasts, scores)
        k, d = own.loadings.shape
        first, weighted = np.zeros((d, d)), np.zeros((d, k))
        whitened.factorise(own.loadings, own.variance, 1.0, first, weighted)
        given = (design, event, shift, 0, held, own, log_loading)
        for j, does_offset in which:
            value = following._log_target(*given, 0.0, -np.inf)
            following._turn(rng, j, does_offset, value, *given)
        along, products = np.zeros((event.signal.size, d)), np.zeros((d, d))
        whitened.log_density(event, shift, held, own, along, products)
        whitened.move_scores(event, own, rest, first, weighted, along, scores)
        return log_shift

    return turn


ONE_NODE = Problem((2, 3), 1, 1, 2, 0.0, event=False, nodes=1, shifts=True, every=5)
MORE_CASES = Problem((20,), 2, 2, 1, 0.0, event=False, response=True)
FEW_CASES = Problem((4,), 2, 2, 3, 0.0, event=False, response=True)
MANY_DISCARDED = Problem((8,), 25, 3, 1, 0.3, response=True)

CHECKS = {
    "columns without scores": density_check,
    "deviations": deviation_check,
    "turning": move_check(FEW_CASES, turn_with([(0, False), (1, False), (2, False)]), 2000),
    "giving way": move_check(MORE_CASES, turn_with([(0, True)] * 2), 6000),
    "following": move_check(ONE_NODE, follow, 1000),
    "following a response": move_check(RESPONSE, follow, 600),
    "following, kept": move_check(CLASSES_KEPT, follow, 250),
    "following a response, kept": move_check(MANY_DISCARDED, follow, 800, 3),
    "stretching": move_check(ONE_NODE, stretch, 2000, 3),
    "stretching, kept": move_check(CLASSES_KEPT, stretch, 250),
}

LONG = (
    "turning",
    "giving way",
    "following",
    "following a response",
    "following, kept",
    "following a response, kept",
    "stretching",
    "stretching, kept",
)
"""Checks of moves that need many replicates, or P(S)."""

# Name, the check that notices it, the right text, and the wrong one.
MISTAKES = [
    (
        "contrasts without the class effects' variance",
        "columns without scores",
        "return columns.variance * (1.0 + columns.ratio * signal)",
        "return columns.variance * (1.0 + 0.0 * signal)",
    ),
    (
        "determinant of the rest counted once",
        "columns without scores",
        "result = -held.n_rest * factorise(",
        "result = -factorise(",
    ),
    (
        "scores of contrasts without the shifts' variance",
        "deviations",
        "factorise(columns.loadings, noise, 1.0 + shift * event.signal[b], root, weighted)",
        "factorise(columns.loadings, noise, 1.0, root, weighted)",
    ),
    (
        "angles without the volume of loadings",
        "turning",
        "volume = (d - 1.0) * np.log(max(abs(np.cos(angle)), 1e-300))",
        "volume = 0.0",
    ),
    (
        "angles with the density of s2 for that of s",
        "turning",
        "(shape + 0.5 * (d + 1.0)) * np.log(s2)",
        "(shape + 0.5 * (d + 2.0)) * np.log(s2)",
    ),
    (
        "a loading ratio without its prior",
        "following",
        "            log_prior_of_ratio(x),\n",
        "            log_prior_of_ratio(start),\n",
    ),
    (
        "loadings that stay where their ratio gives way",
        "giving way",
        "        if does_offset:\n            _rescale_group(",
        "        if False:\n            _rescale_group(",
    ),
    (
        "the response's ratio without the number of its loadings",
        "following a response",
        "return log_prior_of_ratio(x) - 0.5 * number * x - 0.5 * squares * np.exp(-x)",
        "return log_prior_of_ratio(x) - 0.5 * squares * np.exp(-x)",
    ),
    (
        "scores that follow without P(S)",
        "following a response, kept",
        "return value + log_selection_of(",
        "return value + 0.0 * log_selection_of(",
    ),
    (
        "a stretch without its Jacobian",
        "stretching",
        "result += along.size * x",
        "result += 0.0",
    ),
    (
        "a stretch without the shifts' prior",
        "stretching",
        "log_density_of_shift(log_shift + 2.0 * x, event, np.exp(x) * along)",
        "log_density_of_shift(log_shift, event, np.exp(x) * along)",
    ),
]
