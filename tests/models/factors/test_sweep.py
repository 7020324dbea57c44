"""The sweep over factor scores and ratios leaves the posterior as it is.

Parameters and columns are drawn from their joint distribution, columns that lose the race are
thrown away, and only draws in which exactly k columns win are kept. Started there, a kernel that is
right changes nothing but the single values: differences over independent replicates average to 0.
"""

from __future__ import annotations

import numpy as np
import oracles_factor as oracle
import pytest
from factor_problem import LIMIT, Problem, ranked

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


def z_scores(problem, n_replicates, n_sweeps, seed=0):
    """Mean change of each statistic over replicates, in standard errors."""
    rng = np.random.default_rng(seed)
    ratio, _ = problem.grid()
    before, after = [], []
    for _ in range(n_replicates):
        state, parameters, values = ranked(problem, rng)
        hidden = rng.random(values.shape) < problem.missing
        kernel = problem.kernel(values, hidden)

        def of(state, values, variance, ratio, basis=kernel.event.basis):
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

        before.append(of(state, values, parameters.variance, ratio[parameters.position]))
        state = state | {"hidden": values[hidden]}
        for _ in range(n_sweeps):
            state, info = kernel.step(rng, state)
        filled = values.copy()
        filled[hidden] = state["hidden"]
        after.append(of(state, filled, info["variance"], info["signal_ratio"]))
    return oracle.paired_z(before, after)


@pytest.mark.slow_cases(
    "response-300", "shifted factors-300", "three classes-300", "two classes-300", "two factors-300"
)
@pytest.mark.parametrize("n_replicates", [300, pytest.param(4000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_sweep_keeps_the_posterior(name, n_replicates):
    z = z_scores(PROBLEMS[name], n_replicates, 4)
    assert np.max(np.abs(z)) < LIMIT, z
