"""How many proposals a second chains over subsets and over networks make, kernels being compiled.

    python benchmarks/sampled_speed.py

Processor time of one chain on one core, the median of three. Networks: 1,000 cases of 20 features
in two classes, of three levels each, that depend on each other in a tree; a chain from the empty
graph with nothing remembered, so that scores of families are computed as they are met. Proposals
are counted on all four steps of the ladder, and on its first one alone, whose graphs are drawn.
Subsets: 1,000 cases of 1,000 flags; a swap looks at two columns.
"""

import time
from functools import partial

import numpy as np

from honestbayes.data.categories import learn_coding
from honestbayes.models.discrete.estimator import count_levels
from honestbayes.models.networks.model import (
    EXCHANGE,
    LADDER,
    REVERSAL,
    SCORES,
    NetworkKernel,
    as_bytes,
    log_prior_of_arcs,
)
from honestbayes.models.networks.problem import make_problem
from honestbayes.models.subsets.model import (
    SubsetKernel,
    SubsetScore,
    log_bayes_factors,
    log_prior_of_subsets,
    rows_of,
)
from honestbayes.models.subsets.problem import LIKELIHOOD, LOG, TWO_STEP, Moves


def seconds(make, state, times=3):
    """Return the median processor time of the first step of some chains, each of a new kernel."""
    found = []
    for seed in range(times):
        kernel = make()
        begin = time.process_time()
        kernel.step(np.random.default_rng(seed), state)
        found.append(time.process_time() - begin)
    return float(np.median(found))


def dependent_table(n, k, levels, rng):
    """Return features each of which depends on the class or on another one."""
    y = rng.integers(0, 2, n)
    columns = []
    for j in range(k):
        parent = y if j < 4 else columns[int(rng.integers(0, j))]
        columns.append(np.where(rng.random(n) < 0.6, parent, rng.integers(0, levels, n)))
    return np.column_stack(columns), y


def networks():
    """Print the proposals of networks, by space and score."""
    n, k, levels, block, thin = 1000, 20, 3, 100, 200
    X, y = dependent_table(n, k, levels, np.random.default_rng(0))
    print("networks: space, score: proposals a second on all steps of the ladder, on the first")
    for general in (False, True):
        for name, score in SCORES.items():
            problem = make_problem(
                X,
                y,
                np.full(k, levels),
                2,
                log_prior_of_arcs("arcs", k, k),
                max_parents=4,
                score=score,
                size=1.0,
                reversal=REVERSAL,
                exchange=EXCHANGE,
                heat=LADDER,
                general=general,
            )
            state = {"graph": as_bytes(np.zeros((len(LADDER), k + 1), dtype=np.int64))}
            seconds(partial(NetworkKernel, problem, 1, 1), state)
            first = block * thin / seconds(partial(NetworkKernel, problem, block, thin), state)
            space = "networks" if general else "classifiers"
            print(f"  {space:12} {name:5} {len(LADDER) * first:10,.0f} {first:10,.0f}", flush=True)


def subsets():
    """Print the proposals of subsets, by score."""
    n, p = 1000, 1000
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = rng.integers(0, 2, (n, p))
    X[:, :20] = np.where(rng.random((n, 20)) < 0.6, y[:, None], X[:, :20])
    coded = learn_coding(X, np.ones(n)).encode(X)
    counts = count_levels(coded, y, np.ones(n), 2)
    rows = rows_of(coded, y, np.zeros(n, dtype=np.int64), [counts], 1.0, LIKELIHOOD)
    scores = {
        "marginal likelihood": SubsetScore("sum", LOG, values=log_bayes_factors(counts, 1.0)),
        "conditional likelihood": SubsetScore("rows", LOG, rows=rows),
    }
    prior = log_prior_of_subsets("sizes", p, p)
    state = {"order": rng.permutation(p).astype(np.int64), "size": np.array(0)}
    print("subsets: score, share of swaps: proposals a second")
    for name, score in scores.items():
        for swap in (0.0, 0.5):
            moves = Moves(prior, TWO_STEP, swap, LOG, 1.0)
            seconds(partial(SubsetKernel, score, moves, p, 1, 1), state)
            rate = 100_000 / seconds(partial(SubsetKernel, score, moves, p, 1000, 100), state)
            print(f"  {name:24} {swap:.1f} {rate:12,.0f}", flush=True)


if __name__ == "__main__":
    networks()
    subsets()
