"""Markov chains over graphs: Metropolis and Hastings with the actual proposal probabilities.

A chain is a ladder of graphs. The likelihood of the graph on step t counts by its power h_t, with
h_0 = 1, so that those on higher steps cross where those on lower ones do not. Now and then graphs
on neighbouring steps change places, with probability

    min(1, exp((h_t - h_u) (score of graph u - score of graph t))),

which keeps the product of all their distributions. Only the graph on the first step is drawn.
"""

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
from honestbayes.models.networks.problem import BACK, REVERSE
from honestbayes.models.networks.scores import remembered_score

EACH_ROUND = 50
"""Proposals before neighbours on the ladder may change places."""


@kernel()
def propose(rng, parents, family, problem, memory, heat, n_arcs, number):  # type: ignore[no-untyped-def]
    """Make some proposals, and moves where they are accepted.

    Parameters
    ----------
    rng : Generator
        Randomness.
    parents : ndarray of int of shape (k + 1,)
        The graph, overwritten.
    family : ndarray of shape (k + 1,)
        Score of each node, overwritten.
    problem : Problem
        What is sampled.
    memory : Memory
        Where scores are remembered.
    heat : float
        Power of the likelihood.
    n_arcs : int
        Arcs of the graph.
    number : int
        Proposals.

    Returns
    -------
    int
        Arcs of the graph afterwards.
    """
    most, general = problem.max_parents, problem.general
    children, below, sets = np.zeros_like(parents), np.zeros_like(parents), np.zeros(4, np.int64)
    other = parents.copy()
    children2, below2, sets2 = children.copy(), below.copy(), sets.copy()
    relate(parents, children, below, sets, general)
    for _ in range(number):
        kind = draw_kind(rng, problem.reversal, problem.exchange, general)
        here, _, _, _ = options(parents, children, below, sets, most, general, kind, -1)
        if here == 0:
            continue
        chosen = int(rng.integers(0, here))
        _, source, target, instead = options(
            parents, children, below, sets, most, general, kind, chosen
        )
        other[:] = parents
        more = change(other, kind, source, target, instead)
        relate(other, children2, below2, sets2, general)
        there, _, _, _ = options(other, children2, below2, sets2, most, general, BACK[kind], -1)
        of_target = remembered_score(problem, memory, target, other[target])
        of_source = family[source]
        if kind == REVERSE:
            of_source = remembered_score(problem, memory, source, other[source])
        gain = heat * (of_target - family[target] + of_source - family[source])
        gain += problem.log_prior[n_arcs + more] - problem.log_prior[n_arcs]
        gain += log_of_ratio(here, there)
        if math.log(1.0 - rng.random()) < gain:
            n_arcs += more
            family[target], family[source] = of_target, of_source
            parents[:] = other
            children, children2 = children2, children
            below, below2 = below2, below
            sets, sets2 = sets2, sets
    return n_arcs


@kernel()
def change_places(rng, parents, family, arcs, heat):  # type: ignore[no-untyped-def]
    """Let graphs on neighbouring steps of the ladder change places, from the last step on."""
    for t in range(heat.size - 1, 0, -1):
        gain = (heat[t - 1] - heat[t]) * (family[t].sum() - family[t - 1].sum())
        if math.log(1.0 - rng.random()) < gain:
            arcs[t], arcs[t - 1] = arcs[t - 1], arcs[t]
            for i in range(parents.shape[1]):
                parents[t, i], parents[t - 1, i] = parents[t - 1, i], parents[t, i]
                family[t, i], family[t - 1, i] = family[t - 1, i], family[t, i]


@kernel()
def walk(rng, parents, problem, memory, thin, graphs, arcs, scores):  # type: ignore[no-untyped-def]
    """Walk from a ladder of graphs, which is overwritten; fill in the draws of its first step.

    Parameters
    ----------
    rng : Generator
        Randomness.
    parents : ndarray of int of shape (T, k + 1)
        The graphs.
    problem : Problem
        What is sampled.
    memory : Memory
        Where scores are remembered.
    thin : int
        Proposals for each draw, on each step of the ladder.
    graphs : ndarray of int of shape (S, k + 1)
        Parents of each node, written.
    arcs : ndarray of int of shape (S,)
        Arcs, written.
    scores : ndarray of shape (S,)
        Log marginal likelihood, written.
    """
    steps, nodes = parents.shape
    family, n_arcs = np.empty((steps, nodes)), np.zeros(steps, np.int64)
    for t in range(steps):
        for i in range(nodes):
            family[t, i] = remembered_score(problem, memory, i, parents[t, i])
            n_arcs[t] += bit_count(parents[t, i])
    for draw in range(scores.size):
        left = thin
        while left > 0:
            number = min(left, EACH_ROUND) if steps > 1 else left
            left -= number
            for t in range(steps):
                n_arcs[t] = propose(
                    rng, parents[t], family[t], problem, memory, problem.heat[t], n_arcs[t], number
                )
            change_places(rng, parents, family, n_arcs, problem.heat)
        graphs[draw] = parents[0]
        arcs[draw] = n_arcs[0]
        scores[draw] = family[0].sum()
