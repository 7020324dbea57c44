"""Slice sampling, Polya-Gamma augmentation and Hamiltonian Monte Carlo for compressed interactions.

    HONESTBAYES_DATA=... python benchmarks/interactions_samplers.py [--sweeps 1000] [--together]

The same posterior (Cauchy coefficients, two classes) by three samplers, on sequences of a hidden
Markov model (order 20), a table drawn from a Cauchy model (order 4) and tic-tac-toe (order 2).
What counts is the number of independent draws per second of processor time, of the widths and of
the probabilities of training cases. The other two samplers live here only:

* Polya-Gamma (Polson, Scott and Windle, 2013): given its variables, and the scales of which Cauchy
  coefficients are mixtures, all coefficients are drawn at once through a system of n equations.
* Hamiltonian Monte Carlo on coefficients in units of their widths, each a function of a standard
  normal variable, with a step size that is adapted in warm-up and a random number of steps.

With ``--together`` it is slices against the package's joint draws, of normal coefficients and of
responses, with chains as they are by default: four of 250 draws, four sweeps for each, after 100.
"""

import argparse
import math
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.linalg
from arviz_stats.base import array_stats
from numba import njit
from scipy.special import expit

from honestbayes.datasets import simulate_cauchy_model, simulate_hidden_markov
from honestbayes.models.interactions.model import (
    InteractionKernel,
    ModelSettings,
    find_groups,
    make_problem,
    starting_states,
)
from honestbayes.models.interactions.sampler import (
    GROUPS,
    ROWS,
    SLICES,
    TREE,
    log_likelihood,
    predictors,
    rescale,
    sweep,
    update_widths,
    widths_of,
)
from honestbayes.sampling.polya_gamma import polya_gammas

SEEDS = (0, 1)


def problems():
    """Return the three problems by name."""
    data = simulate_hidden_markov(500, random_state=0)
    X, y = simulate_cauchy_model(500, random_state=0)
    folder = Path(os.environ["HONESTBAYES_DATA"]) / "discrete"
    table = pd.read_csv(folder / "tic_tac_toe.csv.gz", dtype=str)
    codes = np.stack([pd.factorize(table[column])[0] for column in table], axis=1)
    found = {
        "hidden Markov, order 20": (data[:, :20] - 1, data[:, 20] - 1, 20, True),
        "Cauchy model, order 4": (X - 1, y, 4, False),
        "tic-tac-toe, order 2": (codes[:, :-1], codes[:, -1], 2, False),
    }
    for name, (cells, classes, order, suffixes) in found.items():
        rows, groups, which = find_groups(cells, order, suffixes=suffixes)
        ones = np.bincount(which, classes, minlength=len(rows))
        settings = ModelSettings(order=order, coefficient_prior="cauchy")
        yield name, make_problem(groups, ones[None], np.bincount(which), settings)


# ----------------------------------------------------------------------------- Polya-Gamma


@njit(cache=True)
def _gram(start, cases, variance, n):
    result = np.zeros((n, n))
    for g in range(start.size - 1):
        for a in range(start[g], start[g + 1]):
            for b in range(start[g], a + 1):
                result[cases[a], cases[b]] += variance[g]
    return result


@njit(cache=True)
def sums(start, cases, values):
    """Return the sum over the cases of each group."""
    result = np.zeros(start.size - 1)
    for g in range(start.size - 1):
        for a in range(start[g], start[g + 1]):
            result[g] += values[cases[a]]
    return result


def polya_gamma_sweep(rng, s, log_sigma, problem):
    """Draw all coefficients at once, then the widths as slice sampling does."""
    n = problem.size.size
    width = widths_of(problem.counts, log_sigma, True)
    f = predictors(s, problem.start, problem.cases, n)
    scale = rng.standard_exponential(width.size) / (0.5 * (1 + (s[0] / width) ** 2))
    omega = polya_gammas(rng, f[0], problem.size)
    root, variance = np.sqrt(omega), width**2 / scale
    matrix = _gram(problem.start, problem.cases, variance, n) * np.outer(root, root)
    matrix[np.diag_indices(n)] += 1.0
    factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    prior = rng.standard_normal(width.size) * np.sqrt(variance)
    v = root * predictors(prior[None], problem.start, problem.cases, n)[0] + rng.standard_normal(n)
    target = (problem.target[0] - problem.size / 2) / root
    solved = scipy.linalg.cho_solve(factor, target - v, check_finite=False)
    s[0] = prior + variance * sums(problem.start, problem.cases, root * solved)
    update_widths(rng, s, log_sigma, problem)
    f = predictors(s, problem.start, problem.cases, n)
    rescale(rng, s, f, log_sigma, 1.0, problem)


# ------------------------------------------------------------------- Hamiltonian Monte Carlo


class Hamiltonian:
    """A chain over normal variables, of which coefficients are functions, and log widths."""

    def __init__(self, problem, rng):
        self.problem, self.rng = problem, rng
        n_orders = problem.priors.shape[0] - 1
        n_groups = problem.start.size - 1
        self.x = np.concatenate([0.1 * rng.standard_normal(n_groups), -np.ones(n_orders)])
        self.step, self.log_step, self.mean_log_step, self.error, self.count = (
            0.02,
            0.0,
            0.0,
            0.0,
            0,
        )
        self.n_groups = n_groups

    def value(self, x):
        """Return the log density and its gradient."""
        problem, n_groups = self.problem, self.n_groups
        u, theta = x[:n_groups], np.clip(x[n_groups:], -15, 25)
        clipped = np.clip(u, -7.5, 7.5)
        angle = math.pi * (0.5 * (1 + _erf(clipped / math.sqrt(2))) - 0.5)
        z = np.tan(angle)
        slope = math.pi * np.exp(-0.5 * clipped**2) / math.sqrt(2 * math.pi) * (1 + z * z)
        log_sigma = np.concatenate([[math.log(problem.priors[0, 1])], theta])
        sigma = np.exp(log_sigma)
        width = problem.counts @ sigma
        s = (width * z)[None]
        f = predictors(s, problem.start, problem.cases, problem.size.size)
        total = log_likelihood(f, problem, 1.0) - 0.5 * (u @ u)
        shape, rate = problem.priors[1:].T
        total += float(np.sum(-shape * theta - rate * np.exp(-theta)))
        of_f = problem.target[0] - problem.size * expit(f[0])
        of_s = sums(problem.start, problem.cases, of_f)
        of_theta = (problem.counts[:, 1:].T @ (of_s * z)) * sigma[1:]
        of_theta += -shape + rate * np.exp(-theta)
        return total, np.concatenate([of_s * width * slope - u, of_theta]), s, log_sigma

    def draw(self, *, adapt):
        """Make one trajectory."""
        rng = self.rng
        momentum = rng.standard_normal(self.x.size)
        total, gradient, *_ = self.value(self.x)
        energy, x = total - 0.5 * momentum @ momentum, self.x.copy()
        n_steps = int(rng.integers(5, 40))
        for _ in range(n_steps):
            momentum = momentum + 0.5 * self.step * gradient
            x = x + self.step * momentum
            total, gradient, *_ = self.value(x)
            momentum = momentum + 0.5 * self.step * gradient
        change = total - 0.5 * momentum @ momentum - energy
        chance = min(1.0, math.exp(min(change, 0.0))) if np.isfinite(change) else 0.0
        if rng.random() < chance:
            self.x = x
        if adapt:  # Nesterov's dual averaging, as in Hoffman and Gelman (2014)
            self.count += 1
            self.error += 0.8 - chance
            self.log_step = math.log(0.2) - math.sqrt(self.count) / 0.05 * self.error / (
                self.count + 10
            )
            rate = self.count**-0.75
            self.mean_log_step = rate * self.log_step + (1 - rate) * self.mean_log_step
            self.step = math.exp(self.log_step)
        return self.value(self.x)[2:]


_erf = np.vectorize(math.erf)


# --------------------------------------------------------------------------------- measuring


def chains(kind, problem, n_sweeps):
    """Return draws of widths and probabilities of two chains, and the processor time."""
    n = problem.size.size
    some = slice(None, None, max(1, n // 50))
    log_sigmas, probabilities, seconds = [], [], 0.0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        (state,) = starting_states(problem, 1, rng)
        s, log_sigma = state["s"], state["log_sigma"]
        chain = Hamiltonian(problem, rng) if kind == "Hamiltonian" else None
        kept = ([], [])
        for draw in range(n_sweeps // 2 + n_sweeps):
            if draw == n_sweeps // 2:
                begin = time.process_time()
                if chain is not None:
                    chain.step = math.exp(chain.mean_log_step)
            if kind == "slice":
                sweep(rng, s, log_sigma, 1.0, problem)
            elif kind == "Polya-Gamma":
                polya_gamma_sweep(rng, s, log_sigma, problem)
            else:
                s, log_sigma = chain.draw(adapt=draw < n_sweeps // 2)
            if draw >= n_sweeps // 2:
                kept[0].append(log_sigma[1:].copy())
                kept[1].append(expit(predictors(s, problem.start, problem.cases, n)[0][some]))
        seconds += time.process_time() - begin
        log_sigmas.append(kept[0])
        probabilities.append(kept[1])
    return np.array(log_sigmas), np.array(probabilities), seconds


def judge(values):
    """Return the median and the least number of independent draws, and the largest R-hat."""
    moving = [j for j in range(values.shape[2]) if np.all(np.ptp(values[..., j], axis=1) > 0)]
    ess = [float(array_stats.ess(values[..., j])) for j in moving]
    rhat = [float(array_stats.rhat(values[..., j])) for j in moving]
    return np.median(ess), np.min(ess), np.nanmax(rhat)


# ------------------------------------------------------------------------- joint draws


def response(n, p, noise):
    """Return levels and a standardised response of one column and of whether two agree."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 3, (n, p))
    y = 1.0 * (cells[:, 0] == 0) + (cells[:, 1] == cells[:, 2]) + noise * rng.standard_normal(n)
    return cells, (y - y.mean()) / y.std()


def noisy_classes(n, p, n_classes):
    """Return levels and classes that nothing tells apart without error."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 3, (n, p))
    about = (cells[:, 0] == 0) + 1.0 * (cells[:, 1] == cells[:, 2]) - 1.0
    f = about[:, None] * np.arange(n_classes)
    gumbel = rng.gumbel(size=f.shape)
    return cells, np.argmax(f + gumbel, axis=1)


def problems_together():
    """Yield name, cells, classes or response, number of classes, order, suffixes and prior."""
    data = simulate_hidden_markov(500, random_state=0) - 1
    folder = Path(os.environ["HONESTBAYES_DATA"]) / "discrete"
    table = pd.read_csv(folder / "tic_tac_toe.csv.gz", dtype=str)
    codes = np.stack([pd.factorize(table[column])[0] for column in table], axis=1)
    normal = "gaussian"
    yield "hidden Markov, order 10", data[:, 10:20], data[:, 20], 2, 10, True, normal
    yield "hidden Markov, order 20", data[:, :20], data[:, 20], 2, 20, True, normal
    yield "tic-tac-toe, order 2", codes[:, :-1], codes[:, -1], 2, 2, False, normal
    yield "2 noisy classes, order 3", *noisy_classes(200, 7, 2), 2, 3, False, normal
    yield "3 noisy classes, order 2", *noisy_classes(200, 5, 3), 3, 2, False, normal
    for prior in (normal, "cauchy"):
        for p, order, noise in ((5, 2, 0.5), (8, 3, 0.5), (5, 2, 0.05), (8, 2, 0.05)):
            name = f"response, {p} columns, noise {noise}, order {order}"
            yield name, *response(200, p, noise), 0, order, False, prior
    yield "500 cases, response, order 2", *response(500, 8, 0.5), 0, 2, False, normal
    yield "500 cases, response, order 3", *response(500, 8, 0.5), 0, 3, False, normal


def problem_of(cells, y, n_classes, order, suffixes, prior, way):
    """Return a problem that is sampled in one of the ways; by default as the package does."""
    rows, groups, which = find_groups(cells, order, suffixes=suffixes)
    size = np.bincount(which).astype(float)
    settings = ModelSettings(order=order, coefficient_prior=prior)
    if n_classes:
        target = np.zeros((n_classes, len(rows)))
        np.add.at(target, (y, which), 1.0)
        target = target[1:] if n_classes == 2 else target
    else:
        target = np.bincount(which, y, minlength=len(rows))[None]
        spread = float(((y - (target[0] / size)[which]) ** 2).sum())
        settings = settings.of_response(spread)
    return make_problem(groups, target, size, settings, way)


def default_chains(problem, n_draws=250, n_warmup=100):
    """Return draws of widths and noise, and of predictors, and the processor time."""
    kernel, n = InteractionKernel(problem, 4), problem.size.size
    some = slice(None, None, max(1, n // 50))
    every, seconds = ([], []), 0.0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        (state,) = starting_states(problem, 1, rng)
        state, _ = kernel.step(rng, state)  # compiles
        kept = ([], [])
        begin = time.process_time()
        for draw in range(n_warmup + n_draws):
            state, _ = kernel.step(rng, state)
            if draw >= n_warmup:
                f = predictors(state["s"], problem.start, problem.cases, n)[:, some]
                f = f - f.mean(axis=0) if f.shape[0] > 1 else f
                kept[0].append([*state["log_sigma"][1:], np.log(state["noise"])])
                kept[1].append(np.arctan(f.ravel()))
        seconds += (time.process_time() - begin) * n_draws / (n_warmup + n_draws)
        for all_kept, own in zip(every, kept, strict=True):
            all_kept.append(own)
    return np.array(every[0]), np.array(every[1]), seconds


def weigh_together():
    """Print slices and joint draws of all problems."""
    names = {SLICES: "slices", TREE: "tree", GROUPS: "groups", ROWS: "rows"}
    for name, cells, y, n_classes, order, suffixes, prior in problems_together():
        problem = problem_of(cells, y, n_classes, order, suffixes, prior, None)
        n, n_groups = problem.size.size, problem.start.size - 1
        print(f"{name}, {prior}: {n_groups:,} coefficients, {n} rows")
        smaller = ROWS if n <= n_groups else GROUPS
        for way in (SLICES, problem.way if problem.way != SLICES else smaller):
            problem = problem_of(cells, y, n_classes, order, suffixes, prior, way)
            log_sigma, f, seconds = default_chains(problem)
            words = [f"  {names[way]:<6} {seconds:6.2f} ms a draw"]  # a thousand draws
            for what, values in (("widths", log_sigma), ("predictors", f)):
                median, least, rhat = judge(values)
                words.append(
                    f"{what}: {median / seconds:7.2f} draws/s (least {least / seconds:.2f}), "
                    f"R-hat {rhat:.3f}"
                )
            print("; ".join(words), flush=True)


def main():
    """Run all samplers on all problems."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sweeps", type=int, default=1000)
    parser.add_argument("--together", action="store_true")
    given = parser.parse_args()
    if given.together:
        weigh_together()
        return
    for name, problem in problems():
        print(f"{name}: {problem.start.size - 1:,} coefficients, {problem.size.size} rows")
        for kind in ("slice", "Polya-Gamma", "Hamiltonian"):
            log_sigma, probability, seconds = chains(kind, problem, given.sweeps)
            each = 1e3 * seconds / given.sweeps / len(SEEDS)
            words = [f"  {kind:<12} {each:6.1f} ms a draw"]
            for what, values in (("widths", log_sigma), ("probabilities", probability)):
                median, least, rhat = judge(values)
                words.append(
                    f"{what}: {median / seconds:6.2f} draws/s (least {least / seconds:.2f}), "
                    f"R-hat {rhat:.2f}"
                )
            print("; ".join(words), flush=True)


if __name__ == "__main__":
    main()
