"""Markov chains over graphs: Metropolis and Hastings with the actual proposal probabilities."""

from __future__ import annotations

import math

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.models.networks.moves import (
    bit_count,
    change,
    draw_kind,
    log_of_ratio,
    options,
    relate,
)
from honestbayes.models.networks.problem import BACK, BLANKET, REVERSE
from honestbayes.models.networks.scores import remembered_score


@kernel()
def walk(rng, parents, problem, memory, thin, graphs, arcs, sizes, scores):  # type: ignore[no-untyped-def]
    """Walk from a graph, which is overwritten; fill in the draws.

    Parameters
    ----------
    rng : Generator
        Randomness.
    parents : ndarray of int of shape (k + 1,)
        The graph.
    problem : Problem
        What is sampled.
    memory : Memory
        Where scores are remembered.
    thin : int
        Proposals for each draw.
    graphs : ndarray of int of shape (S, k + 1)
        Parents of each node, written.
    arcs, sizes : ndarray of int of shape (S,)
        Arcs, and features in the class's Markov blanket, written.
    scores : ndarray of shape (S,)
        Log marginal likelihood, written.

    Returns
    -------
    int
        How many proposals were accepted.
    """
    nodes, most = parents.size, problem.max_parents
    children, below, sets = np.zeros_like(parents), np.zeros_like(parents), np.zeros(4, np.int64)
    other = parents.copy()
    children2, below2, sets2 = children.copy(), below.copy(), sets.copy()
    family = np.empty(nodes)
    n_arcs, accepted = 0, 0
    for i in range(nodes):
        family[i] = remembered_score(problem, memory, i, parents[i])
        n_arcs += bit_count(parents[i])
    relate(parents, children, below, sets)
    for draw in range(scores.size):
        for _ in range(thin):
            kind = draw_kind(rng, problem.reversal, problem.exchange)
            here, _, _, _ = options(parents, children, below, sets, most, kind, -1)
            if here == 0:
                continue
            chosen = int(rng.integers(0, here))
            _, source, target, instead = options(parents, children, below, sets, most, kind, chosen)
            other[:] = parents
            more = change(other, kind, source, target, instead)
            relate(other, children2, below2, sets2)
            there, _, _, _ = options(other, children2, below2, sets2, most, BACK[kind], -1)
            of_target = remembered_score(problem, memory, target, other[target])
            of_source = family[source]
            if kind == REVERSE:
                of_source = remembered_score(problem, memory, source, other[source])
            gain = of_target - family[target] + of_source - family[source]
            gain += problem.log_prior[n_arcs + more] - problem.log_prior[n_arcs]
            gain += log_of_ratio(here, there)
            if math.log(1.0 - rng.random()) < gain:
                accepted += 1
                n_arcs += more
                family[target], family[source] = of_target, of_source
                parents[:] = other
                children, children2 = children2, children
                below, below2 = below2, below
                sets, sets2 = sets2, sets
        graphs[draw] = parents
        arcs[draw] = n_arcs
        sizes[draw] = bit_count(sets[BLANKET])
        scores[draw] = family.sum()
    return accepted
