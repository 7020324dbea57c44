"""How fast patterns are grouped, coefficients swept and new cases predicted.

    python benchmarks/interactions_speed.py

Times of sweeps are ratios in one run: against a plain compiled loop that evaluates the same log
likelihoods, of cases and of coefficients given widths, one for each evaluation of a slice, without
any of the kernel's shortcuts.
"""

import math
import time

import numpy as np
from arviz_stats.base import array_stats
from numba import njit

from honestbayes.datasets import simulate_cauchy_model, simulate_hidden_markov
from honestbayes.models.interactions import sampler
from honestbayes.models.interactions.model import (
    ModelSettings,
    find_groups,
    make_problem,
    run_chains,
    starting_states,
)
from honestbayes.models.interactions.sampler import predictors
from honestbayes.sampling.chains import Schedule
from honestbayes.sampling.runs import Sampling


def best(function, times=5):
    """Return the least processor time of some calls, in seconds."""
    found = []
    for _ in range(times):
        begin = time.process_time()
        function()
        found.append(time.process_time() - begin)
    return min(found)


def compression():
    """Print how grouping grows with cases, features and order."""
    rng = np.random.default_rng(0)
    find_groups(rng.integers(0, 3, (20, 3)), 2, suffixes=False)
    find_groups(rng.integers(0, 3, (20, 3)), 2, suffixes=True)
    print("grouping: cases, columns, levels, order: groups of patterns, milliseconds")
    for n, p, k, order in [
        (500, 7, 3, 7),
        (1000, 7, 3, 7),
        (2000, 7, 3, 7),
        (2000, 10, 3, 2),
        (2000, 10, 3, 3),
        (2000, 10, 3, 4),
        (2000, 10, 3, 5),
        (500, 10, 3, 10),
        (500, 15, 3, 4),
        (500, 20, 3, 4),
        (200, 12, 3, 12),
    ]:
        cells = rng.integers(0, k, (n, p))
        _, groups, _ = find_groups(cells, order, suffixes=False)
        seconds = best(lambda: find_groups(cells, order, suffixes=False))  # noqa: B023
        counts = groups.counts
        print(
            f"  {n:5} {p:3} {k} {order:3}: {counts.shape[0]:9,} of {counts.sum():12,.0f}, "
            f"{1e3 * seconds:7.1f}"
        )
    print("sequences: cases, length: groups of patterns, milliseconds")
    for n, length in [(500, 20), (5000, 20), (50_000, 20), (500, 100), (500, 1000)]:
        cells = rng.integers(0, 2, (n, length))
        _, groups, _ = find_groups(cells, length, suffixes=True)
        seconds = best(lambda: find_groups(cells, length, suffixes=True), 3)  # noqa: B023
        counts = groups.counts
        print(
            f"  {n:6} {length:5}: {counts.shape[0]:8,} of {counts.sum():10,.0f}, "
            f"{1e3 * seconds:7.1f}"
        )


@njit(cache=True)
def plain_loop(u, start, cases, size, target, evaluations, shift):
    """Evaluate the log likelihood of each group's cases so many times, and nothing else."""
    total = 0.0
    for g in range(start.size - 1):
        for number in range(evaluations[g]):
            d = shift * (number + 1)
            for a in range(start[g], start[g + 1]):
                i = cases[a]
                v = u[i] + d
                total += target[i] * v - size[i] * (v if v > 35.0 else math.log1p(math.exp(v)))
    return total


@njit(cache=True)
def plain_widths(s, log_sigma, counts, order_start, order_groups, evaluations):
    """Evaluate the log density of each order's coefficients so many times, and nothing else."""
    total = 0.0
    for o in range(1, log_sigma.size):
        for number in range(evaluations[o - 1]):
            for a in range(order_start[o], order_start[o + 1]):
                g = order_groups[a]
                width = counts[g, o] * math.exp(log_sigma[o] + 0.01 * number)
                total += math.log(width) - math.log(width * width + s[0, g] * s[0, g])
    return total


def evaluations_of(module, update):
    """Count the evaluations of each slice in one update, as plain Python."""
    counted = []
    told, started = module.slice_tell, module.slice_start

    def start(*words):
        counted.append(0)
        return started(*words)

    def tell(*words):
        counted[-1] += 1
        return told(*words)

    module.slice_start, module.slice_tell = start, tell
    try:
        update()
    finally:
        module.slice_start, module.slice_tell = started, told
    return np.array(counted) + 1  # and one at the current value


def sweeps():
    """Print times of sweeps against the plain loop, and of predictions."""
    data = simulate_hidden_markov(5500, random_state=0)
    X, y = simulate_cauchy_model(5500, random_state=0)
    found = {
        "500 sequences, order 20": (data[:, :20] - 1, data[:, 20] - 1, 20, True),
        "500 cases, order 4": (X - 1, y, 4, False),
    }
    for name, (cells, classes, order, suffixes) in found.items():
        settings = ModelSettings(order=order, coefficient_prior="cauchy")
        rows, groups, which = find_groups(cells[:500], order, suffixes=suffixes)
        ones = np.bincount(which, classes[:500], minlength=len(rows))
        problem = make_problem(groups, ones[None], np.bincount(which), settings)
        rng = np.random.default_rng(0)
        (state,) = starting_states(problem, 1, rng)
        s, log_sigma = state["s"], state["log_sigma"]
        for _ in range(300):
            sampler.sweep(rng, s, log_sigma, 1.0, problem)
        draws = []

        def some(draws=draws, s=s, log_sigma=log_sigma, problem=problem, rng=rng):
            for _ in range(200):
                sampler.sweep(rng, s, log_sigma, 1.0, problem)
                draws.append(log_sigma[1:].copy())

        one = best(some, 5) / 200
        f = predictors(s, problem.start, problem.cases, problem.size.size)
        again = (rng, s.copy(), f.copy(), log_sigma.copy(), problem)
        count = evaluations_of(sampler, lambda: sampler.update_coefficients.py_func(*again))  # noqa: B023
        again = (rng, s.copy(), log_sigma.copy(), problem)
        of_widths = evaluations_of(sampler, lambda: sampler.update_widths.py_func(*again))  # noqa: B023
        of_widths = of_widths.reshape(-1, order).sum(axis=0)
        words = (f[0], problem.start, problem.cases, problem.size, problem.target[0], count, 0.01)
        more = (s, log_sigma, problem.counts, problem.order_start, problem.order_groups, of_widths)
        plain_loop(*words)
        plain_widths(*more)
        plain = best(lambda words=words: plain_loop(*words))
        plain += best(lambda more=more: plain_widths(*more))
        values = np.array(draws)[None]
        ess = [float(array_stats.ess(values[..., j])) for j in range(values.shape[2])]
        print(
            f"{name}: {problem.start.size - 1:,} groups, {count.mean():.1f} evaluations each; a "
            f"sweep {1e3 * one:.1f} ms, the plain loop {1e3 * plain:.1f} ms, ratio "
            f"{one / plain:.2f}; widths: {np.median(ess) / (one * len(draws)):.1f} independent "
            "draws a second"
        )
        sampling = Sampling(Schedule(50, 50), 1, np.random.SeedSequence(0))
        fit = run_chains(cells[:500], classes[:500], 2, settings, sampling, suffixes=suffixes)
        half = np.array([0.5, 0.5])
        fit.log_proba(cells[500:600], half)
        seconds = best(
            lambda fit=fit, cells=cells: fit.log_proba(cells[500:], half),  # noqa: B023
            3,
        )
        print(f"  prediction of 5,000 cases with 50 draws: {seconds:.2f} s")


if __name__ == "__main__":
    compression()
    sweeps()
