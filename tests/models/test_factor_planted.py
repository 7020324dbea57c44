"""Deliberate mistakes in the factor model's kernels, each of which a check notices.

The kernels are compiled, so a mistake is planted in their source, which then runs as plain Python.
Each check passes on the source as it is (first test), so what fails is the mistake.
"""

from __future__ import annotations

import importlib
import sys
import types
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import oracles_factor as oracle
import pytest
from scipy import stats

from honestbayes.correction import f_statistic, quadratic_form
from honestbayes.correction.gaussian import heavy_tailed, ratio_grid

SOURCE = Path(importlib.import_module("honestbayes").__file__).parent
FILES = (
    "correction.factor_event",
    "correction.factor_contour",
    "models.factor_kernels",
    "models.factor_parameters",
    "models.factor_shift",
    "models.factor_sweep",
)
NOT_COMPILED = "def njit(**options):\n    return lambda function: function\n"
LIMIT = 4.5


@contextmanager
def plain_modules(changes=()):
    """Yield the modules as plain Python, with some texts replaced; each must be there."""
    names = [f"honestbayes.{name}" for name in FILES]
    names.append("honestbayes.sampling.slicing")
    before = {name: sys.modules.get(name) for name in names}
    changes, found = dict(changes), set()
    try:
        loaded = []
        for name in [names[-1], *names[:-1]]:
            path = SOURCE / (name.removeprefix("honestbayes.").replace(".", "/") + ".py")
            text = path.read_text(encoding="utf-8")
            text = text.replace("from numba import njit\n", NOT_COMPILED)
            for old, new in changes.items():
                found.update([old] if old in text else [])
                text = text.replace(old, new)
            module = types.ModuleType(name)
            sys.modules[name] = module
            exec(compile(text, str(path), "exec"), module.__dict__)
            loaded.append(module)
        assert found == set(changes), "the text to change is not in the source"
        short = ("slicing", "event", "contour", "kernels", "parameters", "shift", "sweep")
        yield types.SimpleNamespace(**dict(zip(short, loaded, strict=True)))
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


# ----------------------------------------------------------------------------------------- checks


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
    known = -np.expm1(quadratic_form.log_prob_positive(values, np.array([1.0, 1.0, 16.0])))
    # And one beside them adds to the variance that is not between classes.
    left = rng.normal(size=19)
    left -= left.mean() + contrasts.basis @ (contrasts.basis.T @ (left - left.mean()))
    left /= np.linalg.norm(left)
    beside = modules.event.log_prob_discarded(contrasts, left[:, None], np.zeros(1), 5.0, 0.3)
    values = np.array([[0.7, -0.3 * 6, -0.3]])
    other = -np.expm1(quadratic_form.log_prob_positive(values, np.array([2.0, 1.0, 15.0])))
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
    got = modules.contour.prob_kept(along, rest, contrasts.signal[0], ratio, 0.8, 0.3, 12.0)
    E = np.eye(2)[codes]
    u = contrasts.basis[:, 0]
    centring = np.eye(12) - 1 / 12
    form = np.outer(u, u) - 0.3 * centring
    for a, w in enumerate(ratio):
        root = np.linalg.cholesky(np.eye(12) + w * E @ E.T + 0.8 * scores @ scores.T)
        eigenvalues = np.linalg.eigvalsh(root.T @ form @ root)
        expected = np.exp(quadratic_form.log_prob_positive(eigenvalues[None], np.ones(12)))[0]
        if abs(got[a] - expected) > 1e-8:
            return False
    return True


def small_design(modules, rng, *, shape=1.5, scale=0.7, k=3):
    codes = np.repeat([0, 1], [4, 6])
    scores = rng.normal(size=(10, 2))
    values = rng.normal(size=(10, k)) + 2 * scores @ rng.normal(size=(2, k)) + codes[:, None]
    values *= 4.0
    ratio = np.array([0.0, 0.2, 3.0])
    design = modules.kernels.Design(
        values,
        np.zeros((10, k), dtype=bool),
        codes,
        np.bincount(codes).astype(float),
        ratio,
        np.array([[0.5, 0.3, 0.2]]),
        np.zeros(k, dtype=np.int64),
        np.full(k, shape),
        np.full(k, scale),
    )
    columns = modules.kernels.column_moments(values, codes, design.counts)
    moments = modules.kernels.score_moments(scores, columns, codes, design.counts)
    return design, columns, moments, scores


def density_check(modules):
    """Columns given the scores: a multivariate Student t."""
    design, columns, moments, scores = small_design(modules, np.random.default_rng(2))
    loading = np.array([0.6])
    table = modules.kernels.log_marginals(design, columns, moments, loading)
    oracles = [
        oracle.log_density_of_columns(design.values, scores, design.codes, w, np.log(0.6), 1.5, 0.7)
        for w in design.ratio
    ]
    return np.ptp(table - np.array(oracles)) < 1e-10


def parameters_check(modules):
    """Draws of a column's parameters: residuals and effects in units of s2 are standard normal."""
    rng = np.random.default_rng(3)
    design, columns, moments, scores = small_design(modules, rng, k=1)
    loading, weights = np.array([0.6]), np.array([0.0, 1.0, 0.0])
    w, n, n_draws = 0.2, 10, 1500
    precision = np.linalg.inv(
        np.eye(n)
        + w * np.eye(2)[design.codes] @ np.eye(2)[design.codes].T
        + 0.6 * scores @ scores.T
    )
    ones = np.ones(n)
    x = design.values[:, 0]
    nu = ones @ precision @ x / (ones @ precision @ ones)
    square = (x - nu) @ precision @ (x - nu)
    inverse, lengths, scaled = [], [], []
    mean = 0.6 * scores.T @ (precision @ (x - nu))  # of the loadings, whatever s2
    spread = (
        0.6 * np.eye(2)
        - 0.36
        * scores.T
        @ (precision - np.outer(precision @ ones, precision @ ones) / (ones @ precision @ ones))
        @ scores
    )
    for _ in range(n_draws):
        _, variance, loadings, centre, expected, _ = modules.parameters.draw_columns(
            rng, design, columns, moments, loading, weights
        )
        inverse.append(1 / variance[0])
        left = (loadings[0] - mean) / np.sqrt(variance[0])
        lengths.append(left @ np.linalg.solve(spread, left))
        scaled.append((centre[0, 0] - expected[0, 0]) ** 2 / variance[0])
    degrees = 1.5 + (n - 1) / 2
    p_variance = stats.kstest(
        inverse, stats.gamma(degrees, scale=1 / (0.7 + square / 2)).cdf
    ).pvalue
    p_loadings = stats.kstest(lengths, stats.chi2(2).cdf).pvalue
    q = design.counts / (1 + w * design.counts)
    own = 1 / (1 + w * 4)
    theory = w * own + own**2 / q.sum()
    p_centre = stats.kstest(np.array(scaled) / theory, stats.chi2(1).cdf).pvalue
    return min(p_variance, p_loadings, p_centre) > 1e-5


def of_prior(scores, log_loading):
    means = np.sum(scores.mean(axis=0) ** 2)
    return [*log_loading, *np.abs(log_loading), np.sum(scores**2), means]


def rescale_check(modules):
    """Scores and loading ratios keep their prior."""
    rng = np.random.default_rng(4)
    codes = np.array([0, 0, 0, 1, 1])
    _, event, *_ = joint(modules, rng, codes)
    before, after = [], []
    for _ in range(2500):
        log_loading, log_shift = oracle.draw_log_loading(rng, 2), rng.normal()
        scores = oracle.draw_scores(rng, codes, 2, log_shift)
        before.append(of_prior(scores, log_loading))
        for _ in range(3):
            modules.sweep._rescale(rng, event, np.exp(log_shift), scores, log_loading)
        after.append(of_prior(scores, log_loading))
    return np.max(np.abs(oracle.paired_z(before, after))) < LIMIT


def joint(modules, rng, codes=None):
    """Draw everything in which exactly two of 16 columns win, and the records of the kernel."""
    codes = np.repeat([0, 1], [5, 5]) if codes is None else codes
    n = codes.size
    ratio = ratio_grid(10)[::4]
    weights = heavy_tailed(ratio, 0.3)[None]
    contrasts = modules.event.class_contrasts(codes)
    while True:
        log_loading = oracle.draw_log_loading(rng, 1)
        log_noise = oracle.draw_log_noise(rng)
        log_shift = oracle.draw_log_loading(rng)
        scores = oracle.draw_scores(rng, codes, 1, log_shift)
        values, _, _ = oracle.draw_columns(
            rng, scores, codes, log_loading[0], log_noise, weights[0], ratio, 3.0, 2.0, 16
        )
        won = oracle.r_squared_of_classes(values, codes) > 0.35
        if won.sum() == 2:
            break
    design = modules.kernels.Design(
        values[:, won],
        np.zeros((n, 2), dtype=bool),
        codes,
        np.bincount(codes).astype(float),
        ratio,
        weights,
        np.zeros(2, dtype=np.int64),
        np.full(2, 3.0),
        np.full(2, 2.0),
    )
    event = modules.sweep.Event(
        contrasts.basis,
        contrasts.signal,
        0.35,
        np.array([float(n)]),
        np.array([14.0]),
        np.ones(weights.shape, dtype=bool),
        np.array([0.0, 0.6]),
        True,
    )
    return design, event, scores, log_loading, log_noise, log_shift


def move_check(move, statistics, n_replicates):
    """Return a check that one move keeps the posterior."""

    def check(modules):
        rng = np.random.default_rng(5)
        before, after = [], []
        for _ in range(n_replicates):
            design, event, scores, log_loading, log_noise, log_shift = joint(modules, rng)
            columns = modules.kernels.column_moments(design.values, design.codes, design.counts)
            state = (scores, log_loading, log_noise, log_shift)
            before.append(statistics(event, *state))
            state = (scores.copy(), log_loading.copy(), log_noise, log_shift)
            after.append(statistics(event, *move(modules, rng, design, event, columns, *state)))
        return np.max(np.abs(oracle.paired_z(before, after))) < LIMIT

    return check


def of_scores(event, scores, log_loading, log_noise, log_shift):
    centred = scores - scores.mean(axis=0)
    along = np.log(np.sum((event.basis.T @ scores) ** 2))
    size = np.log(np.sum(centred**2))
    mixed = (size * log_loading[0], along * log_shift, along * log_loading[0])
    return [along, size, log_loading[0], log_noise, log_shift, *mixed]


def move_scores(modules, rng, design, event, columns, scores, log_loading, log_noise, log_shift):
    kernels, parameters, sweep = modules.kernels, modules.parameters, modules.sweep
    current = kernels.with_noise(design, log_noise)
    for _ in range(3):
        moments = kernels.score_moments(scores, columns, design.codes, design.counts)
        drawn = parameters.draw_columns(
            rng, current, columns, moments, np.exp(log_loading), design.weights[0]
        )
        mean, root = parameters.score_conditional(current, design.values, *drawn[1:4])
        sweep._draw_scores(rng, current, event, 0, mean, root, scores, np.exp(log_loading[0]))
    return scores, log_loading, log_noise, log_shift


def move_along(modules, rng, design, event, columns, scores, log_loading, log_noise, log_shift):
    current = modules.kernels.with_noise(design, log_noise)
    for _ in range(2):
        along = event.basis.T @ scores
        log_shift = modules.shift.draw_shift(rng, log_shift, event, along)
        given = (columns, scores, 0, np.exp(log_loading))
        modules.sweep._draw_along(rng, current, event, np.exp(log_shift), *given)
    return scores, log_loading, log_noise, log_shift


def move_ratios(modules, rng, design, event, columns, scores, log_loading, log_noise, log_shift):
    kernels, sweep = modules.kernels, modules.sweep
    moments = kernels.score_moments(scores, columns, design.codes, design.counts)
    current = kernels.with_noise(design, log_noise)
    sweep._draw_loading(rng, 0, current, event, columns, moments, scores, 0, log_loading)
    log_noise = sweep._draw_noise(
        rng, log_noise, design, event, columns, moments, scores, 0, np.exp(log_loading)
    )
    return scores, log_loading, log_noise, log_shift


def shifts_check(modules):
    """Shifts drawn given the scores are as those that the scores were drawn with."""
    rng = np.random.default_rng(6)
    codes = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])
    contrasts = modules.event.class_contrasts(codes)
    event = joint(modules, rng)[1]._replace(basis=contrasts.basis, signal=contrasts.signal)
    before, after = [], []
    for _ in range(2000):
        shifts = 0.7 * rng.normal(size=(3, 1))
        shifts -= shifts[codes].mean(axis=0)
        scores = shifts[codes] + rng.normal(size=(9, 1))
        drawn = modules.shift.draw_class_shifts(rng, event, 0.49, scores, codes, 3)
        for found, values in ((before, shifts), (after, drawn)):
            by_case = values[codes, 0]
            found.append(
                [*values[:, 0] ** 2, *(values[:, 0] * scores[:3, 0]), by_case @ scores[:, 0]]
            )
    return np.max(np.abs(oracle.paired_z(before, after))) < LIMIT


CHECKS = {
    "shifts": shifts_check,
    "event": event_check,
    "contour": contour_check,
    "density": density_check,
    "parameters": parameters_check,
    "rescaling": rescale_check,
    "scores": move_check(move_scores, of_scores, 1200),
    "along": move_check(move_along, of_scores, 500),
    "ratios": move_check(move_ratios, of_scores, 400),
}


SLOW = ("scores", "ratios")


def with_marks(check, *values):
    """Return a parameter; checks of moves that need many replicates run with the slow tests."""
    return pytest.param(*values, marks=[pytest.mark.slow] if check in SLOW else [])


@pytest.mark.parametrize("name", [with_marks(name, name) for name in CHECKS])
def test_the_check_passes_on_the_source_as_it_is(name):
    with plain_modules() as modules:
        assert CHECKS[name](modules)


# --------------------------------------------------------------------------------------- mistakes

# Name, the check that notices it, the right text, and the wrong one.
MISTAKES = [
    (
        "shifts of the factors without their noise",
        "shifts",
        "along[b, f] = more / (1.0 + more) * along[b, f] + noise",
        "along[b, f] *= more / (1.0 + more)",
    ),
    (
        "shifts of the factors not shrunk",
        "shifts",
        "along[b, f] = more / (1.0 + more) * along[b, f] + noise",
        "along[b, f] += 0.0 * noise",
    ),
    (
        "shifts forgotten where scores are rescaled",
        "rescaling",
        "square -= more / (1.0 + more) * np.sum(along[b] ** 2)",
        "square -= 0.0",
    ),
    (
        "the class's part of the scores without the shifts' variance",
        "along",
        "        other[b] *= np.sqrt(1.0 + shift * event.signal[b])\n",
        "        other[b] *= 1.0\n",
    ),
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
    (
        "degrees of freedom of s2: n for n - 1",
        "density",
        "half = 0.5 * (design.codes.size - 1)",
        "half = 0.5 * design.codes.size",
    ),
    (
        "the same, seen in draws",
        "parameters",
        "half = 0.5 * (design.codes.size - 1)",
        "half = 0.5 * design.codes.size",
    ),
    (
        "loadings not scaled by s2",
        "parameters",
        "fitted[f] += np.sqrt(s2) * rng.standard_normal()",
        "fitted[f] += rng.standard_normal()",
    ),
    (
        "flat nu not integrated out",
        "density",
        "        constant -= 0.5 * np.log(total[a])\n",
        "",
    ),
    (
        "determinant of the scores forgotten",
        "density",
        "constant - cholesky(matrix, root[a, g])",
        "constant + 0.0 * cholesky(matrix, root[a, g])",
    ),
    (
        "class effects without their noise",
        "parameters",
        "centre[c] = nu + own * (mean[c] - nu) + noise",
        "centre[c] = nu + own * (mean[c] - nu)",
    ),
    (
        "rescaling always accepted",
        "rescaling",
        "if inside and np.log(rng.random()) < change:",
        "if inside:",
    ),
    (
        "rescaling by a wrong power",
        "rescaling",
        "rng.standard_gamma(0.5 * n * d)",
        "rng.standard_gamma(0.5 * (n * d + 2))",
    ),
    (
        "scores accepted whatever P(S)",
        "scores",
        "if np.log(rng.random()) < value - now:",
        "if True:",
    ),
    (
        "proposals of scores with too much noise",
        "scores",
        "fresh = np.sqrt(1.0 - kept_share**2)",
        "fresh = 1.0",
    ),
    (
        "the class's part of the scores without P(S)",
        "along",
        "return likelihood + _log_selection_at(event, design, node, scores, loading[0])",
        "return likelihood",
    ),
    (
        "the share of noise without its Jacobian",
        "ratios",
        "return log_noise - np.exp(log_noise)",
        "return -np.exp(log_noise)",
    ),
    (
        "the shape of the variances' prior forgotten",
        "ratios",
        "            result += design.shape[j] * x\n",
        "            result += 0.0\n",
    ),
    (
        "loading ratio without P(S)",
        "ratios",
        "    if g == 0:\n        result += _log_sel",
        "    if g == 9:\n        result += _log_sel",
    ),
]


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [with_marks(mistake[1], *mistake[1:]) for mistake in MISTAKES],
    ids=[mistake[0] for mistake in MISTAKES],
)
def test_the_mistake_is_noticed(check, right, wrong):
    with plain_modules([(right, wrong)]) as modules:
        assert not CHECKS[check](modules)
