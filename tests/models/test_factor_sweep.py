"""The sweep over factor scores and ratios leaves the posterior as it is.

Parameters and columns are drawn from their joint distribution, columns that lose the race are
thrown away, and only draws in which exactly k columns win are kept. Started there, a kernel that is
right changes nothing but the single values: differences over independent replicates average to 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import oracles_factor as oracle
import pytest

from honestbayes.correction.factor_event import class_contrasts, response_contrast
from honestbayes.correction.gaussian import heavy_tailed, ratio_grid
from honestbayes.models.factor_chains import FactorKernel
from honestbayes.models.factor_kernels import Design
from honestbayes.models.factor_sweep import Event

LIMIT = 4.5
SHAPE, SCALE = 3.0, 2.0


@dataclass(frozen=True)
class Problem:
    """How many cases of each class, columns, winners and factors; the bound on r squared."""

    classes: tuple[int, ...]
    p: int
    k: int
    d: int
    gamma_squared: float
    event: bool = True
    nodes: int = 3
    missing: float = 0.0
    response: bool = False
    shifts: bool = False


PROBLEMS = {
    "two classes": Problem((6, 6), 12, 3, 1, 0.35),
    "two factors": Problem((5, 8), 12, 3, 2, 0.35, nodes=1),
    "three classes": Problem((4, 3, 6), 10, 3, 1, 0.45, shifts=True),
    "shifted factors": Problem((4, 8), 12, 3, 2, 0.35, shifts=True),
    "shifted factors, no event": Problem((5, 3, 4), 3, 3, 1, 0.0, event=False, shifts=True),
    "no event": Problem((5, 7), 4, 4, 2, 0.0, event=False),
    "missing cells": Problem((6, 6), 4, 4, 1, 0.0, event=False, missing=0.25),
    "response": Problem((12,), 10, 3, 2, 0.3, nodes=1, response=True),
    "response, no event": Problem((12,), 3, 3, 1, 0.0, event=False, nodes=1, response=True),
}


def grid(problem):
    ratio = np.zeros(1) if problem.response else ratio_grid(sum(problem.classes))[::2]
    if problem.response:
        return ratio, np.ones((1, 1))
    scales = np.array([0.3]) if problem.nodes == 1 else np.geomspace(0.02, 5.0, problem.nodes)
    return ratio, np.stack([heavy_tailed(ratio, scale) for scale in scales])


def draw(problem, rng):
    """One draw of everything in which exactly k columns win, and its kernel."""
    codes = np.repeat(np.arange(len(problem.classes)), problem.classes)
    ratio, weights = grid(problem)
    n, n_groups = codes.size, 2 if problem.response else 1
    while True:
        node = rng.integers(weights.shape[0])
        log_loading = oracle.draw_log_loading(rng, n_groups)
        log_noise = oracle.draw_log_noise(rng) if problem.d else 0.0
        log_shift = oracle.draw_log_loading(rng)
        scores = oracle.draw_scores(rng, codes, problem.d, log_shift if problem.shifts else None)
        rest = (ratio, SHAPE, SCALE)
        drawn = oracle.draw_columns(
            rng, scores, codes, log_loading[0], log_noise, weights[node], *rest, problem.p
        )
        y = None
        if problem.response:
            y, _, own = oracle.draw_columns(
                rng, scores, codes, log_loading[1], 0.0, np.ones(1), *rest, 1
            )
            strength = oracle.r_squared_of_response(drawn[0], y[:, 0])
        else:
            strength = oracle.r_squared_of_classes(drawn[0], codes)
        won = strength > problem.gamma_squared
        if won.sum() == problem.k or not problem.event:
            break
    won = won if problem.event else np.ones(problem.p, dtype=bool)
    values, position, variance = (part[..., won] for part in drawn)
    group = np.zeros(problem.k, dtype=np.int64)
    if y is not None:
        values, position = np.hstack([y, values]), np.append(0, position)
        variance, group = np.append(own, variance), np.append(1, group)
    hidden = rng.random(values.shape) < problem.missing
    contrasts = class_contrasts(codes) if y is None else response_contrast(y[:, 0])
    design = Design(
        np.where(hidden, 0.0, values),
        hidden,
        codes,
        np.bincount(codes).astype(float),
        ratio,
        weights,
        group,
        np.full(group.size, SHAPE),
        np.full(group.size, SCALE),
    )
    n_groups_discarded = int(problem.event)
    event = Event(
        contrasts.basis,
        contrasts.signal,
        problem.gamma_squared,
        np.full(n_groups_discarded, float(n)),
        np.full(n_groups_discarded, float(problem.p - problem.k)),
        np.ones(weights.shape, dtype=bool),
        np.array([0.0, 0.7]),
        problem.shifts,
    )
    state = {
        "scores": scores,
        "log_loading": log_loading,
        "log_noise": np.array(log_noise),
        "log_shift": np.array(log_shift),
        "node": np.array(node),
        "hidden": values[hidden],
    }
    kernel = FactorKernel(design, event, np.zeros(weights.shape[0]))
    return kernel, state, values, variance, ratio[position]


def z_scores(problem, n_replicates, n_sweeps, seed=0):
    """Mean change of each statistic over replicates, in standard errors."""
    rng = np.random.default_rng(seed)
    before, after = [], []
    for _ in range(n_replicates):
        kernel, state, values, variance, ratio = draw(problem, rng)
        basis = kernel.event.basis

        def of(state, values, variance, ratio, basis=basis):
            return oracle.statistics(
                state["scores"],
                state["log_loading"],
                float(state["log_noise"]),
                float(state["log_shift"]),
                state["node"],
                values,
                variance,
                ratio,
                basis,
            )

        before.append(of(state, values, variance, ratio))
        for _ in range(n_sweeps):
            state, info = kernel.step(rng, state)
        filled = values.copy()
        filled[kernel.design.hidden] = state["hidden"]
        after.append(of(state, filled, info["variance"], info["signal_ratio"]))
    return oracle.paired_z(before, after)


@pytest.mark.parametrize("n_replicates", [300, pytest.param(4000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_sweep_keeps_the_posterior(name, n_replicates):
    z = z_scores(PROBLEMS[name], n_replicates, 4)
    assert np.max(np.abs(z)) < LIMIT, z
