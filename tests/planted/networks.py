"""The kernels of networks with some of their text changed, and exact checks that notice it."""

import types
from pathlib import Path

import numba
import numpy as np
import oracles_networks as oracle

from honestbayes.models.networks import kernels, problem
from honestbayes.models.networks.model import log_prior_of_arcs
from honestbayes.models.networks.problem import K2, make_memory, make_problem

OWN = "from honestbayes.models.networks."
LEVELS = {0: 2, 1: 3, 2: 2, oracle.CLASS: 2}
N_DRAWS, THIN, REVERSAL, EXCHANGE = 200_000, 3, 0.25, 0.15


def compiled(changes=()):
    """The kernels, compiled anew with some of their text changed."""
    text = Path(kernels.__file__).read_text(encoding="utf-8")
    text = text.split("from __future__ import annotations\n")[1]
    text = text.replace("from honestbayes.compiled import kernel\n", "")
    first = text.index(OWN)  # numbers of moves and scores are put into the module instead
    text = text[:first] + text[text.index(")\n", first) + 2 :]
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    module = types.ModuleType("changed_networks")
    names = {name: getattr(problem, name) for name in dir(problem) if name.isupper()}
    module.__dict__.update(names, kernel=lambda: numba.njit(nogil=True))
    exec(compile(text, "network_kernels.py", "exec"), module.__dict__)
    return module


def cases():
    """Sixteen cases in which features depend on the class and on each other."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 16)
    a = np.where(rng.random(16) < 0.8, y, 1 - y)
    b = np.where(rng.random(16) < 0.6, a, rng.integers(0, 3, 16))
    return np.column_stack([a, b, rng.integers(0, 2, 16)]), y


def gaps(module, heat=(1.0,), cache_size=1):
    """Shares of graphs in a long run less the target's, in standard errors.

    A graph outside the space is infinitely far, and so is a move without a way back.
    """
    rows, y = cases()
    graphs = oracle.all_graphs(3)
    pi = oracle.target(graphs, rows.tolist(), y.tolist(), LEVELS, "k2", 1.0, ("arcs", 0.7), 3)
    what = make_problem(
        rows,
        y,
        np.array([2, 3, 2]),
        2,
        log_prior_of_arcs(("arcs", 0.7), 3, 3),
        max_parents=9,
        score=K2,
        size=1.0,
        reversal=REVERSAL,
        exchange=EXCHANGE,
        heat=heat,
    )
    drawn = np.zeros((N_DRAWS, 4), dtype=np.int64)
    try:
        module.walk(
            np.random.default_rng(0),
            np.zeros((len(heat), 4), dtype=np.int64),
            what,
            make_memory(what, cache_size),
            THIN,
            drawn,
            np.zeros(N_DRAWS, dtype=np.int64),
            np.zeros(N_DRAWS),
        )
    except ZeroDivisionError:
        return np.array([np.inf])
    place = {tuple(oracle.masks(g, 3)): i for i, g in enumerate(graphs)}
    found, count = np.unique(drawn, axis=0, return_counts=True)
    if not all(tuple(m) in place for m in found.tolist()):
        return np.array([np.inf])
    share = np.zeros(len(graphs))
    share[[place[tuple(m)] for m in found.tolist()]] = count / N_DRAWS
    one = oracle.transition_matrix(graphs, pi, 3, 9, REVERSAL, EXCHANGE)
    fundamental = np.linalg.inv(np.eye(pi.size) - np.linalg.matrix_power(one, THIN) + pi[None])
    error = np.sqrt(pi * (2 * np.diag(fundamental) - 1 - pi) / N_DRAWS)
    return ((share - pi) / error)[pi * N_DRAWS > 50]
