"""The kernels of networks with some of their text changed, and exact checks that notice it."""

import types
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numba
import numpy as np
import oracles_networks as oracle

from honestbayes import AveragedNetworkClassifier
from honestbayes.models.networks import kernels, problem
from honestbayes.models.networks.model import log_prior_of_arcs, network_settings
from honestbayes.models.networks.problem import K2, make_memory, make_problem, make_variant

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


# --------------------------------------------------------------------------------------------------
# Single steps, of every score, prior and proposal: exactly those of the oracle's matrices
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """What is sampled, in the words of the estimator; the table has three classes."""

    general: bool
    proposal: str
    prior: object
    objective: str = "marginal_likelihood"
    temperature: float = 1.0
    fold: object = None
    score: str = "k2"
    most: int = 9


LEAVE_ONE_OUT = np.arange(12)
SOME_FOLDS = np.array([0, 1, 2, 0, 1, 2, 0, 1, -1, 0, -1, 1])  # two rows train in all

CASES = {
    "uniform proposal": Case(False, "uniform", "arcs", most=2),
    "uniform proposal, any graph": Case(True, "uniform", ("arcs", 0.7), score="bdeu"),
    "number of features": Case(False, "typed", ("features", "uniform"), most=2),
    "Poisson number of features, at a temperature": Case(
        False, "uniform", ("features", ("poisson", 1.5)), temperature=3.0
    ),
    "few features": Case(
        False, "typed", ("features", lambda n: (3.0, 1.0, 2.0)[n] if n < 3 else 0)
    ),
    "number of arcs": Case(True, "typed", ("arcs", ("poisson", 2.0))),
    "few arcs": Case(True, "uniform", ("arcs", lambda n: float(n < 3))),
    "accuracy": Case(True, "typed", "uniform", "accuracy"),
    "accuracy, leave-one-out": Case(
        False, "typed", ("features", "uniform"), "accuracy", 0.3, LEAVE_ONE_OUT
    ),
    "Brier, folds": Case(False, "uniform", ("arcs", 0.8), "brier", 0.1, SOME_FOLDS, "bdeu"),
    "conditional likelihood": Case(True, "typed", "arcs", "conditional_likelihood"),
    "printed": Case(True, "printed", "uniform", "accuracy"),
    "printed, by likelihood": Case(True, "printed", ("arcs", 0.7), most=2),
}

LEVELS_OF_THREE = {0: 2, 1: 3, 2: 2, oracle.CLASS: 3}


def table_of_three():
    """Twelve cases of three classes, of which the third has two."""
    rng = np.random.default_rng(5)
    y = np.array([0, 1, 2, 0, 1, 0, 1, 0, 1, 2, 0, 1])
    a = np.where(rng.random(12) < 0.8, y % 2, 1 - y % 2)
    b = np.where(rng.random(12) < 0.6, y, rng.integers(0, 3, 12))
    return np.column_stack([a, b, rng.integers(0, 2, 12)]), y


def problem_of(case):
    """The package's problem, by the path that the estimator takes."""
    params = AveragedNetworkClassifier(
        space="networks" if case.general else "classifiers",
        proposal=case.proposal,
        graph_prior=case.prior,
        objective=case.objective,
        temperature=case.temperature,
        table_prior=case.score,
        equivalent_sample_size=2.0,
        max_parents=case.most,
        held_out=None if case.fold is None else 2,
    ).get_params(deep=False)
    rows, y = table_of_three()
    settings = network_settings(params, np.zeros(3, dtype=bool))
    what = settings.problem(rows, y, np.array([2, 3, 2]), 3, 5, None)
    if what.variant is not None:
        fold = np.full(12, -1) if case.fold is None else case.fold
        changed = make_variant(
            proposal=what.variant.proposal,
            log_prior_of_features=what.variant.log_prior_of_features,
            objective=what.variant.objective,
            kind=what.variant.kind,
            temperature=case.temperature,
            fold=fold,
        )
        what = what._replace(variant=changed)
    # Kinds of moves alone, so that a graph is reached in one way.
    return what._replace(reversal=0.0, exchange=0.0, heat=np.ones(1))


@cache
def expected_of(name):
    """Graphs, their weights, proposals and the exact transition matrix of a case."""
    case = CASES[name]
    rows, y = (values.tolist() for values in table_of_three())
    graphs = oracle.all_graphs(3, case.most, case.general)
    if isinstance(case.prior, tuple) and not isinstance(case.prior[1], float):
        prior = oracle.prior_of_size(graphs, case.prior, 5)
    else:
        prior = np.array([oracle.prior_weight(g, case.prior, 5) for g in graphs])
    counted = oracle.without_folds([-1] * 12 if case.fold is None else case.fold.tolist())
    by_blanket = {}  # J depends on the class, its children and their parents only
    logs = np.zeros(len(graphs))
    for i, graph in enumerate(graphs):
        if case.objective == "marginal_likelihood":
            logs[i] = oracle.log_score(graph, rows, y, LEVELS_OF_THREE, case.score, 2.0)
            continue
        inner = oracle.children(graph, oracle.CLASS) | {oracle.CLASS}
        key = frozenset(arc for arc in graph if arc[1] in inner)
        if key not in by_blanket:
            by_blanket[key] = oracle.row_score(
                key, rows, y, counted, LEVELS_OF_THREE, case.score, 2.0, case.objective
            )
        value = by_blanket[key]
        with np.errstate(divide="ignore"):
            logs[i] = value if case.objective == "conditional_likelihood" else np.log(value)
    logs /= case.temperature
    weight = prior * np.exp(logs - logs.max())
    weight /= weight.sum()
    if case.proposal == "typed":
        q = oracle.proposals(graphs, 3, case.most, 0.0, 0.0, case.general)
    elif case.proposal == "uniform":
        q = oracle.uniform_proposals(graphs, 3, case.most, case.general)
    else:
        q = oracle.printed_proposals(graphs, 3, case.most)
    return graphs, weight, q, oracle.metropolis(q, weight, hastings=case.proposal != "printed")


class Scripted:
    """Randomness that is given: the kind of move, which of them, and whether it is accepted."""

    def __init__(self, kind, chosen, accept):
        self.numbers, self.chosen, self.here = [kind, accept], chosen, 0

    def random(self):
        return self.numbers.pop(0)

    def integers(self, _low, high):
        self.here = high
        return self.chosen


def wrong_steps(module, name, every=11):
    """How many proposals and acceptances differ from those of the oracle, on some graphs."""
    case, what = CASES[name], problem_of(CASES[name])
    graphs, weight, q, matrix = expected_of(name)
    place = {g: i for i, g in enumerate(graphs)}
    kinds = {"typed": 2 if case.general else 4, "uniform": 1, "printed": 4}[case.proposal]
    wrong = 0

    def step(graph, kind, chosen, accept):
        rng = Scripted((kind + 0.5) / kinds, chosen, accept)
        parents = np.array(oracle.masks(graph, 3), dtype=np.int64)
        memory, family = make_memory(what, 1), np.zeros(4)  # so that places are taken again
        module.score_graph(what, what.variant, memory, parents, family)
        module.propose(rng, parents, family, what, what.variant, memory, 1.0, len(graph), 1)
        return oracle.from_masks(parents, 3), rng.here

    for graph in graphs[::every]:
        i = place[graph]
        if weight[i] == 0:
            continue
        found = np.zeros(len(graphs))
        for kind in range(kinds):
            _, here = step(graph, kind, 0, 0.0)
            for chosen in range(here):
                # Accepted for certain: log(1 - u) is minus infinity, nearly.
                new, _ = step(graph, kind, chosen, 1.0 - 1e-15)
                if new not in place:
                    wrong += 1
                    continue
                if new == graph:  # the prior forbids the other graph
                    continue
                j = place[new]
                found[j] += 1 / (kinds * here)
                ratio = min(1.0, matrix[i, j] / q[i, j]) if q[i, j] > 0 else 0.0
                below, _ = step(graph, kind, chosen, 1.0 - ratio * (1 - 1e-8))
                wrong += below != new
                if ratio < 1 - 1e-8:
                    above, _ = step(graph, kind, chosen, 1.0 - ratio * (1 + 1e-8))
                    wrong += above == new
        possible = weight > 1e-14
        wrong += int(np.sum(np.abs(found - q[i])[possible & (matrix[i] > 1e-13)] > 1e-12))
    return wrong


def plain_python(changes=()):
    """The kernels without compilation, with some of their text changed."""
    text = Path(kernels.__file__).read_text(encoding="utf-8").replace("@kernel()\n", "")
    # Whole numbers of Python do not wrap around; where scores are remembered decides on nothing.
    text = text.replace("0x1E3779B97F4A7C15", "3").replace("0x3C6EF372FE94F82B", "5")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    module = types.ModuleType("honestbayes.models.networks.kernels")
    exec(compile(text, "network_kernels.py", "exec"), module.__dict__)
    return module


def ladder_is_wrong(module, temperature=3.0):
    """Whether graphs change places with another probability than that of their scores."""
    what = problem_of(CASES["Poisson number of features, at a temperature"])
    chance = np.exp((1.0 - 0.2) * (-12.0 - -10.0) / temperature)
    swapped = []
    for accept in (1.0 - chance * (1 - 1e-8), 1.0 - chance * (1 + 1e-8)):
        family, arcs = np.array([[-4.0, -6.0], [-5.0, -7.0]]), np.array([1, 2])
        graphs = np.array([[0, 1], [2, 0]])
        rng = Scripted(accept, 0, accept)
        module.change_places(rng, graphs, family, what.variant, arcs, np.array([1.0, 0.2]))
        swapped.append(arcs[0] == 2 and graphs[0, 0] == 2 and family[0].sum() == -12.0)
    return swapped != [True, False]
