"""Theta drawn, or integrated out: independent draws of alpha per second.

Run: python benchmarks/mixture_theta.py

The package draws each theta by slice sampling. Here labels and alphas are drawn with theta
integrated out over Gauss-Legendre nodes, by an update that keeps each column's weights of the
nodes and multiplies in and out one case at a time. Same data, same factor, same starts; one thread.
"""

import math
import time

import numpy as np
from mixture import prepared
from numba import njit

from honestbayes.correction.mixture_kernels import (
    chain_work,
    log_selection,
    log_selection_of_alpha,
    prepare,
    prepare_state,
)
from honestbayes.models.mixture import kernels
from honestbayes.sampling.draws import diagnose
from honestbayes.sampling.slicing import DONE, PHASE, POINT, X, slice_start, slice_tell


@njit(cache=True, nogil=True)
def node_weights(alpha, theta, weight, ones, seen, out):
    """Fill out with the weights of nodes given a column's counts; return the log of their sum."""
    top = -np.inf
    for m in range(theta.size):
        mass, rest = alpha * theta[m], alpha * (1 - theta[m])
        value = math.log(weight[m])
        for c in range(2):
            value += kernels.log_rising(mass, ones[c])
            value += kernels.log_rising(rest, seen[c] - ones[c])
        out[m] = value
        top = max(top, value)
    total = 0.0
    for m in range(theta.size):
        out[m] = math.exp(out[m] - top)
        total += out[m]
    for m in range(theta.size):
        out[m] /= total
    return top + math.log(total)


@njit(cache=True, nogil=True)
def log_alpha_density(log_alpha, block, theta, weight, ones, seen, problem, work, out):
    """Return the log density of the log(alpha) of a block, theta integrated out."""
    alpha = math.exp(log_alpha)
    total = kernels.log_prior_alpha(log_alpha, problem.priors[block, 0], problem.priors[block, 1])
    for j in range(ones.shape[1]):
        if problem.blocks[j] == block:
            total += node_weights(alpha, theta, weight, ones[:, j], seen[:, j], out[j])
            for c in range(2):
                total -= kernels.log_rising(alpha, seen[c, j])
    if block == kernels.RANKED:
        total += log_selection_of_alpha(problem.table, work, log_alpha)
    return total


@njit(cache=True, nogil=True)
def collapsed_sweep(rng, labels, log_alpha, theta, weight, problem, work, nodes):
    """Make one sweep over labels and alphas in place."""
    cells = problem.cells
    n, width = cells.shape
    ones = np.zeros((2, width), dtype=np.int64)
    seen = np.zeros((2, width), dtype=np.int64)
    kernels.count(cells, labels, ones, seen)
    alpha = np.exp(log_alpha)[problem.blocks]
    for j in range(width):
        node_weights(alpha[j], theta, weight, ones[:, j], seen[:, j], nodes[j])
    prepare(problem.table, work, log_alpha[kernels.RANKED])
    a, b = kernels.in_component_1(cells, labels)
    size_1 = a + b
    for i in range(n):
        old, y = labels[i], cells[i, 0]
        size_1 -= old
        a -= old * (1 - y)
        b -= old * y
        log_odds = math.log(
            (problem.pseudocounts[1] + size_1) / (problem.pseudocounts[0] + n - 1 - size_1)
        )
        for j in range(width):
            x = cells[i, j]
            seen[old, j] -= 1
            ones[old, j] -= x
            mean, total = 0.0, 0.0
            count_old = ones[old, j] if x == 1 else seen[old, j] - ones[old, j]
            for m in range(theta.size):  # take the case out
                share = theta[m] if x == 1 else 1 - theta[m]
                nodes[j, m] /= alpha[j] * share + count_old
                total += nodes[j, m]
                mean += nodes[j, m] * share
            mean /= total
            for m in range(theta.size):
                nodes[j, m] /= total
            above = alpha[j] * mean + (ones[1, j] if x == 1 else seen[1, j] - ones[1, j])
            below = alpha[j] * mean + (ones[0, j] if x == 1 else seen[0, j] - ones[0, j])
            log_odds += math.log(above * (alpha[j] + seen[0, j]) / below / (alpha[j] + seen[1, j]))
        log_odds += log_selection(problem.table, work, a + 1 - y, b + y)
        log_odds -= log_selection(problem.table, work, a, b)
        new = 1 if rng.random() * (1.0 + math.exp(-log_odds)) < 1.0 else 0
        labels[i] = new
        size_1 += new
        a += new * (1 - y)
        b += new * y
        for j in range(width):
            x = cells[i, j]
            count_new = ones[new, j] if x == 1 else seen[new, j] - ones[new, j]
            for m in range(theta.size):  # put it back
                share = theta[m] if x == 1 else 1 - theta[m]
                nodes[j, m] *= alpha[j] * share + count_new
            seen[new, j] += 1
            ones[new, j] += x
    prepare_state(problem.table, work, a, b)
    for block in range(log_alpha.size):
        log_f = log_alpha_density(
            log_alpha[block], block, theta, weight, ones, seen, problem, work, nodes
        )
        update = slice_start(rng, log_alpha[block], log_f, 1.0, -7.0, 20.0)
        while update[PHASE] != DONE:
            log_f = log_alpha_density(
                update[POINT], block, theta, weight, ones, seen, problem, work, nodes
            )
            slice_tell(rng, update, log_f)
        log_alpha[block] = update[X]


def run(step, labels, n_sweeps, n_chains=3):
    """Return draws of both alphas and seconds per sweep, of chains from three kinds of starts."""
    starts = (labels, np.random.default_rng(0).integers(0, 2, labels.size), np.zeros_like(labels))
    draws, seconds = [], 0.0
    for c in range(n_chains):
        rng, z, log_alpha = np.random.default_rng(c), starts[c].copy(), np.array([2.0, 4.0])
        step(rng, z, log_alpha)  # compiled here
        begin, record = time.process_time(), []
        for _ in range(n_sweeps):
            step(rng, z, log_alpha)
            record.append(log_alpha.copy())
        seconds += time.process_time() - begin
        draws.append(record[n_sweeps // 5 :])
    return np.array(draws), seconds


def steps(k):
    """Yield a name, a number of nodes, a step and a number of sweeps for each way."""
    problem, labels = prepared(k)
    work, theta = chain_work(problem.table), np.full(k + 1, 0.5)

    def drawn(rng, z, log_alpha):
        kernels.sweep(rng, z, log_alpha, theta, problem, work)

    yield "drawn", "", drawn, labels, 6000
    for size in (30, 101):
        points, masses = np.polynomial.legendre.leggauss(size)
        rule, nodes = ((points + 1) / 2, masses / 2), np.empty((k + 1, size))

        def integrated(rng, z, log_alpha, rule=rule, nodes=nodes):
            collapsed_sweep(rng, z, log_alpha, *rule, problem, work, nodes)

        yield "integrated out", size, integrated, labels, 1500 if k == 10 else 300


def main():
    """Compare both on the thesis's simulation."""
    print("| k | theta | nodes | mean log(alpha) | microseconds per sweep | ESS per second |")
    print("|---|---|---|---|---|---|")
    for k in (10, 100):
        for name, size, step, labels, n_sweeps in steps(k):
            draws, seconds = run(step, labels, n_sweeps)
            found = diagnose({"log_alpha": draws[..., 1]})
            per_sweep = 1e6 * seconds / (3 * n_sweeps)
            print(
                f"| {k} | {name} | {size} | {found.mean[0]:.2f} +- {found.mcse[0]:.2f} "
                f"| {per_sweep:.0f} | {found.ess_bulk[0] / (0.8 * seconds):.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
