"""Cost and error of P(S | labels, alpha) of the mixture: exact values, tables, look-ups.

    OMP_NUM_THREADS=1 python benchmarks/mixture_factor.py [n ...]

Processor times, so that other programs matter less. N = 9990 discarded features, and the bound is
0.2447 at n = 200, otherwise such that as many features without signal would be kept.
"""

import sys
import time
from fractions import Fraction

import numpy as np
from numba import njit

from honestbayes.correction import mixture_kernels
from honestbayes.correction.event import Event
from honestbayes.correction.mixture_table import MATTERS, MixtureFactor, build_table
from honestbayes.selection import DiscardedGroup

N_DISCARDED = 9990


def setting(n0, n1):
    """Return the factor and the event."""
    gamma = Fraction(round(2447 * np.sqrt(200 / (n0 + n1))), 10_000)
    groups = (DiscardedGroup((n0, n1), N_DISCARDED),)
    return MixtureFactor((n0, n1), gamma**2), Event(float(gamma), groups)


def timed(run, *arguments):
    """Return the result and the processor time."""
    start = time.process_time()
    result = run(*arguments)
    return result, time.process_time() - start


def exact_states(n0, n1):
    """Time one exact state: its part free of alpha, and all of it at one alpha."""
    factor, _ = setting(n0, n1)
    alpha = np.array([17.0])
    for name, state in (("middle", (n0 // 2, n1 // 2)), ("classes", (0, n1)), ("one", (0, 0))):
        factor.probabilities(np.array([state]), alpha)
        _, of_ones = timed(factor._given_ones, *state)
        _, whole = timed(factor.probabilities, np.array([state]), alpha)
        print(f"    state {name:8} {1e3 * of_ones:8.2f} ms, with one alpha {1e3 * whole:8.2f} ms")


@njit(nogil=True)
def prepare_often(table, work, times):
    """Prepare so many alphas."""
    for t in range(times):
        mixture_kernels.prepare(table, work, 1.0 + 5.0 * t / times)


@njit(nogil=True)
def sweeps(table, work, states, per_alpha):
    """Ask for states, so many at each alpha."""
    total = 0.0
    for t in range(states.shape[0]):
        if t % per_alpha == 0:
            mixture_kernels.prepare(table, work, 1.0 + 5.0 * t / states.shape[0])
        total += mixture_kernels.log_selection(table, work, states[t, 0], states[t, 1])
    return total


@njit(nogil=True)
def states_often(table, work, n0, n1, times):
    """Prepare so many states."""
    for t in range(times):
        mixture_kernels.prepare_state(table, work, (t * 37) % n0, (t * 53 + 1) % n1)


@njit(nogil=True)
def alphas_often(table, work, times):
    """Ask for so many alphas at one state."""
    total = 0.0
    for t in range(times):
        total += mixture_kernels.log_selection_of_alpha(table, work, 1.0 + 5.0 * t / times)
    return total


def look_ups(table):
    """Print the time of each look-up in nanoseconds."""
    n0, n1 = table.factor.class_counts
    rng, times = np.random.default_rng(6), 200_000
    near = np.array([n0 // 2, n1 // 2]) + rng.integers(-2, 3, (times, 2))
    anywhere = rng.integers(0, [n0 + 1, n1 + 1], (times, 2))
    arrays = table.arrays
    work = mixture_kernels.chain_work(arrays)
    for name, run, rest in (
        ("prepare an alpha", prepare_often, (times,)),
        ("a state again", sweeps, (near, times)),
        ("n states per alpha", sweeps, (near, n0 + n1)),
        ("a new state", sweeps, (anywhere, 50)),
        ("prepare a state", states_often, (n0, n1, times)),
        ("another alpha", alphas_often, (times,)),
    ):
        run(arrays, work, *rest)
        _, seconds = timed(run, arrays, work, *rest)
        print(f"    {name:18} {1e9 * seconds / times:8.0f} ns")


def errors(table, n_states=120):
    """Print the largest error of log P(S) by alpha: where it matters, and anywhere, per unit."""
    rng = np.random.default_rng(5)
    n0, n1 = table.factor.class_counts
    share = rng.uniform(size=n_states)
    states = np.stack([rng.binomial(n0, share), rng.binomial(n1, share)], axis=1)
    states[n_states // 2 :] = rng.integers(0, [n0 + 1, n1 + 1], (n_states - n_states // 2, 2))
    alphas = np.array(
        [1e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 2.6, 5.0, 10.0, 17.0, 30.0, 100.0, 1e3, 1e5]
    )
    exact = table.factor.log_prob(table.event, states, alphas)
    error = np.abs(table.log_prob(states, alphas) - exact)
    matters = exact > exact.max(axis=0) - MATTERS
    for t, alpha in enumerate(alphas):
        largest = error[matters[:, t], t].max()
        relative = (error[:, t] / np.maximum(1.0, -exact[:, t])).max()
        print(f"    alpha {alpha:8g}: {largest:8.1e} where it matters, relative {relative:8.1e}")


def main(sizes):
    """Print all of it for each sample size, in classes of the same size."""
    build_table(*setting(5, 5))  # compiles
    for n in sizes:
        n0, n1 = n // 2, n - n // 2
        table, seconds = timed(build_table, *setting(n0, n1))
        print(f"n = {n}: {seconds:.2f} s for {table.log_cost.shape} nodes")
        print(
            f"    accurate from alpha = {table.accurate_from():.3g}; {table.max_error:.1e} at most"
        )
        exact_states(n0, n1)
        look_ups(table)
        errors(table)


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [200, 500, 1000])
