"""Chains over graphs, in blocks of draws, and what they say of features and arcs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from honestbayes.files.fields import Counts, Floats, Known, Packed
from honestbayes.files.records import Check
from honestbayes.models.networks.graphs import (
    BYTES,
    arcs_of,
    are_valid,
    as_bytes,
    from_bytes,
    members,
    naive_graph,
    tree_graph,
)
from honestbayes.models.networks.problem import Memory, Problem, make_memory
from honestbayes.sampling.chains import Info, Schedule, State
from honestbayes.sampling.draws import Diagnostics, Draws, diagnose
from honestbayes.sampling.form import Form
from honestbayes.sampling.runs import Sampling, sample
from honestbayes.types import AnyArray, FloatArray, IntArray

BLOCK = 100
"""Draws of one step of a chain: so many are made without a look at anything else."""

N_BATCHES = 20
"""Of each chain, from whose means the errors of inclusion probabilities are found."""

MOST_JUDGED = 20
"""Features whose inclusion is among the diagnostics: those that are known least well."""

NUMBERS = ("arcs", "size", "score")
"""What chains are judged by: arcs, features in the blanket, and the log marginal likelihood."""


class NetworkKernel:
    """A block of draws.

    Parameters
    ----------
    problem : Problem
        What is sampled.
    block : int
        Draws of each step.
    thin : int
        Proposals for each draw.
    """

    def __init__(self, problem: Problem, block: int, thin: int) -> None:
        self.problem, self.block, self.thin = problem, block, thin
        self._memories: list[Memory] = []

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is remembered: other processes compute it again."""
        return {**self.__dict__, "_memories": []}

    def step(self, rng: np.random.Generator, state: State) -> tuple[State, Info]:
        """Return the state after a block of draws, and the draws."""
        from honestbayes.models.networks import kernels

        # Chains in different threads must not write into the same memory.
        memory = self._memories.pop() if self._memories else make_memory(self.problem)
        parents, block = from_bytes(state["graph"]), self.block
        graphs = np.zeros((block, parents.shape[1]), dtype=np.int64)
        arcs, scores = np.zeros(block, dtype=np.int64), np.zeros(block)
        kernels.walk(rng, parents, self.problem, memory, self.thin, graphs, arcs, scores)
        self._memories.append(memory)
        sizes = members(graphs).sum(axis=1)
        info = {"graph": as_bytes(graphs), "arcs": arcs, "size": sizes, "score": scores}
        return {"graph": as_bytes(parents)}, info

    def form(self) -> Form:
        """Return what states and draws can be."""
        nodes, most = self.problem.n_levels.size, self.problem.log_prior.size - 1
        shape = ("n_chains", "n_draws", self.block)

        def check(state: Known, drawn: Known, check: Check) -> None:
            for values in (state, drawn):
                if "graph" in values:
                    graphs = from_bytes(values["graph"]).reshape(-1, nodes)
                    good = are_valid(graphs, self.problem.max_parents, general=self.problem.general)
                    check(good, "graph", "holds a graph that is not of the space")

        return Form(
            state={"graph": Packed("n_chains", self.problem.heat.size, BYTES * nodes)},
            drawn={
                "graph": Packed(*shape, BYTES * nodes),
                "arcs": Counts(*shape, high=most),
                "size": Counts(*shape, high=nodes - 1),
                "score": Floats(*shape, high=1e-6),
            },
            check=check,
        )


def starting_states(problem: Problem, n_chains: int, seed: np.random.SeedSequence) -> list[State]:
    """Return graphs far from each other.

    The first is empty, the second naive Bayes, the third a tree-augmented naive Bayes; others are
    where chains come to that know nothing of the cases.
    """
    from honestbayes.models.networks import kernels

    rng = np.random.default_rng(seed)
    k, (n_levels, n_classes) = problem.n_levels.size - 1, np.split(problem.n_levels, [-1])
    cells, codes = problem.cells[:-1].T, problem.cells[-1].astype(np.int64)
    most = problem.max_parents
    graphs = [
        np.zeros(k + 1, dtype=np.int64),
        naive_graph(k),
        tree_graph(cells, codes, n_levels, int(n_classes[0]), most),
    ]
    blind = problem._replace(
        cells=problem.cells[:, :0].copy(),
        log_prior=np.zeros_like(problem.log_prior),
        heat=np.ones(1),
    )
    while len(graphs) < n_chains:
        graph, steps = np.zeros((1, k + 1), dtype=np.int64), int(rng.integers(1, 4 * k + 2))
        arcs, memory = np.zeros(1, dtype=np.int64), make_memory(blind, 64)
        kernels.walk(rng, graph, blind, memory, steps, graph.copy(), arcs, np.zeros(1))
        graphs.append(graph[0])
    steps = problem.heat.size
    return [{"graph": as_bytes(np.tile(graph, (steps, 1)))} for graph in graphs[:n_chains]]


@dataclass(frozen=True, slots=True, eq=False)
class NetworkDraws:
    """Graphs that were drawn.

    Attributes
    ----------
    draws : Draws
        ``graph`` of shape (chains, draws, 8 (k + 1)), ``arcs``, ``size`` and ``score``.
    interrupted : bool
        Whether the user stopped the chains before their end.
    """

    draws: Draws
    interrupted: bool = False

    def graphs(self) -> IntArray:
        """Return the graphs of all chains one after the other, shape (S, k + 1)."""
        return from_bytes(self.draws.pooled("graph"))

    def numbers(self) -> Draws:
        """Return the draws of single numbers."""
        return Draws({name: self.draws[name] for name in NUMBERS}, self.draws.n_chains)

    def inclusion(self) -> tuple[FloatArray, FloatArray]:
        """Return the share of draws with each feature in the blanket, and its standard error.

        The error is that of means of batches, of all chains together, and not less than the
        difference between chains tells.
        """
        n_chains, n_draws = self.draws["arcs"].shape
        inside = members(self.graphs()).reshape(n_chains, n_draws, -1)
        n_batches = min(N_BATCHES, n_draws)
        parts = np.array_split(inside, n_batches, axis=1)
        means = np.stack([part.mean(axis=1) for part in parts], axis=1)
        k, total = inside.shape[2], n_chains * n_batches
        error = np.full(k, np.nan)
        if total > 1:
            error = np.sqrt(means.reshape(total, k).var(axis=0, ddof=1) / total)
        if n_chains > 1:
            between = inside.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(n_chains)
            error = np.maximum(error, between)
        return inside.mean(axis=(0, 1)), error

    def edges(self) -> FloatArray:
        """Return the share of draws with each arc, shape (from, to), the class last."""
        graphs = self.graphs()
        total = np.zeros((graphs.shape[1],) * 2)
        for first in range(0, len(graphs), 1000):
            total += arcs_of(graphs[first : first + 1000]).sum(axis=0)
        return np.asarray(total / len(graphs))

    def diagnostics(self, names: tuple[str, ...]) -> Diagnostics:
        """Judge arcs, sizes, scores, and the features whose membership is known least well."""
        values = {name: np.asarray(self.draws[name], dtype=float) for name in NUMBERS}
        _, error = self.inclusion()
        shape = self.draws["arcs"].shape
        inside = members(self.graphs()).reshape(*shape, -1)
        for j in np.argsort(-np.nan_to_num(error), kind="stable")[:MOST_JUDGED]:
            if error[j] > 0:
                values[f"inclusion of {names[j]}"] = inside[:, :, j].astype(float)
        return diagnose(values)


def run_networks(problem: Problem, thin: int, sampling: Sampling, *depends_on: Any) -> NetworkDraws:
    """Run chains over graphs.

    Parameters
    ----------
    problem : Problem
        What is sampled.
    thin : int
        Proposals for each draw.
    sampling : Sampling
        How chains are run; its schedule counts draws.
    *depends_on
        What else the draws depend on, for checkpoints.
    """
    wanted = sampling.schedule
    block = min(BLOCK, wanted.n_samples)
    in_blocks = Sampling(
        Schedule(-(-wanted.n_warmup // block), -(-wanted.n_samples // block)),
        sampling.n_chains,
        sampling.seed,
        sampling.n_jobs,
        sampling.checkpoint,
        sampling.verbose,
        sampling.n_doublings,
    )

    def flat(drawn: Draws) -> Draws:
        values = {
            name: value.reshape(value.shape[0], -1, *value.shape[3:])[:, : wanted.n_samples]
            for name, value in drawn.values.items()
        }
        return Draws(values, drawn.n_chains)

    drawn, interrupted = sample(
        NetworkKernel(problem, block, thin),
        lambda seed: starting_states(problem, sampling.n_chains, seed),
        in_blocks,
        *depends_on,
        *(getattr(problem, word) for word in problem._fields),
        thin,
        block,
        agree=lambda drawn: flat(drawn).diagnostics(NUMBERS).agree(),
    )
    return NetworkDraws(flat(drawn), interrupted)


def warn_of_problems(diagnostics: Diagnostics, stacklevel: int) -> None:
    """Warn where chains are not to be trusted."""
    problems = diagnostics.problems()
    if problems:
        more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
        warnings.warn(
            f"{'; '.join(problems[:3])}{more}. Probabilities may be off: raise n_samples or thin.",
            ConvergenceWarning,
            stacklevel=stacklevel + 1,
        )


def distinct_graphs(draws: NetworkDraws, most: int) -> tuple[AnyArray, FloatArray]:
    """Return the different graphs of draws that are evenly spread over all, and their shares."""
    some = from_bytes(draws.draws.spread(most).pooled("graph"))
    graphs, count = np.unique(some, axis=0, return_counts=True)
    return graphs, count / count.sum()
