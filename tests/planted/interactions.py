"""The kernels of interactions as plain Python, and checks that a mistake in them fails."""

import types
from pathlib import Path

import numpy as np
from interaction_problem import draw_data, draw_from_prior, model, uniforms_of
from scipy import stats

from honestbayes.models.interactions import kernels, likelihood, widths
from honestbayes.models.interactions.chains import InteractionKernel, make_problem
from honestbayes.models.interactions.likelihood import predictors

TABLE = np.array([[0, 0], [0, 1], [1, 1]])
OWN = "from honestbayes.models.interactions."


def plain_python(changes=()):
    """The kernels of all three modules without compilation, with some of their text changed."""
    parts = []
    for module in (likelihood, widths, kernels):
        text = Path(module.__file__).read_text(encoding="utf-8")
        text = text.split("from __future__ import annotations\n")[1].replace("@kernel()\n", "")
        while OWN in text:  # names of the others are in the same module here
            first = text.index(OWN)
            line = text[first : text.index("\n", first)]
            last = text.index(")\n", first) + 2 if line.endswith("(") else first + len(line) + 1
            text = text[:first] + text[last:]
        parts.append(text)
    text = "\n".join(parts)
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    module = types.ModuleType("honestbayes.models.interactions.kernels")
    exec(compile(text, "interaction_kernels.py", "exec"), module.__dict__)
    return module


def invariance(prior, n_classes, n_draws=1200, n_sweeps=2):
    """Least P value of parameters after sweeps from exact draws of parameters and data."""
    settings, groups, k = model(prior, n_classes, TABLE)
    n = len(TABLE)
    rng = np.random.default_rng([5, n_classes])
    states, change = [], []
    for _ in range(n_draws):
        first = draw_from_prior(rng, groups, settings, k)
        target, spread = draw_data(rng, first, groups, n, n_classes)
        own = settings if n_classes else settings.of_response(spread)
        problem = make_problem(groups, target, np.full(n, 2.0), own)
        state, _ = InteractionKernel(problem, n_sweeps).step(rng, first)
        states.append(state)
        before, after = (
            np.mean(np.arctan(predictors(at["s"], groups.start, groups.cases, n) * (target - 1)))
            for at in (first, state)
        )
        change.append(after - before)
    found = [
        stats.kstest(values, "uniform").pvalue
        for values in uniforms_of(states, groups, settings).values()
    ]
    return min(*found, stats.ttest_1samp(change, 0.0).pvalue)


CHECKS = {
    "cauchy": lambda: invariance("cauchy", 2),
    "cauchy, more sweeps": lambda: invariance("cauchy", 2, n_draws=2000, n_sweeps=8),
    "gaussian": lambda: invariance("gaussian", 2),
    "three classes": lambda: invariance("cauchy", 3),
    "response": lambda: invariance("cauchy", 0),
    "normal response": lambda: invariance("gaussian", 0),
}
