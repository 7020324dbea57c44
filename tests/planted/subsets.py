"""The kernels of subsets as plain Python, and the check that a mistake in them fails."""

import types
from pathlib import Path

import numpy as np
from oracles_subsets import target, transition_matrix

from honestbayes.models.subsets import kernels
from honestbayes.models.subsets.model import log_prior_of_subsets
from honestbayes.models.subsets.problem import LOG, TWO_STEP, UNIFORM, Moves

VALUES = np.array([0.8, -0.5, 0.3, -1.0])
N_DRAWS = 60_000
MOST = 6.0
"""Standard errors. Eleven subsets of each check; a right chain is beyond it once in 10^7."""


def plain_python(changes=()):
    """The kernels without compilation, with some of their text changed."""
    text = Path(kernels.__file__).read_text(encoding="utf-8").replace("@kernel()\n", "")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    module = types.ModuleType("honestbayes.models.subsets.kernels")
    exec(compile(text, "subset_kernels.py", "exec"), module.__dict__)
    return module


def farthest(module, proposal, swap, most):
    """Largest difference between visits and the target, in standard errors of the exact chain."""
    p = VALUES.size
    subsets, pi = target(p, most, "sizes", lambda s: np.exp(VALUES[list(s)].sum()))
    matrix = transition_matrix(p, most, pi, subsets, proposal, swap)
    moves = Moves(
        log_prior_of_subsets("sizes", p, most),
        {"uniform": UNIFORM, "two_step": TWO_STEP}[proposal],
        swap,
        LOG,
        1.0,
    )
    bits = np.zeros((N_DRAWS, 1), dtype=np.uint8)
    sizes, scores = np.zeros(N_DRAWS, dtype=np.int64), np.zeros(N_DRAWS)
    rng = np.random.default_rng(3)
    module.walk_sums(rng, np.arange(p), 0, moves, VALUES, 1, bits, sizes, scores)
    masks = np.unpackbits(bits, axis=1, count=p)
    place = {s: i for i, s in enumerate(subsets)}
    visits = np.zeros(len(subsets))
    for mask, count in zip(*np.unique(masks, axis=0, return_counts=True), strict=True):
        visits[place[tuple(np.flatnonzero(mask).tolist())]] = count
    fundamental = np.linalg.inv(np.eye(pi.size) - matrix + pi[None])
    error = np.sqrt(pi * (2 * np.diag(fundamental) - 1 - pi) / N_DRAWS)
    return np.max(np.abs(visits / N_DRAWS - pi) / error)
