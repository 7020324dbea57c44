"""Bayesian networks as a part of an estimator: graphs and their priors, settings, chains, files.

The kernels are compiled, so they are imported where they run and not with the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from honestbayes.base.explanation import by_design
from honestbayes.base.parameters import (
    SelectionSettings,
    is_number,
    positive_number,
    selection_rule,
    whole_number,
)
from honestbayes.base.part import (
    Describe,
    FoldMemo,
    TrainingLabels,
    tie_breaker,
)
from honestbayes.base.persistence import Parameter
from honestbayes.base.recalibration import folds_of
from honestbayes.base.sampled import SampledTraining, check_chain_parameters
from honestbayes.data.categories import (
    MISSING,
    TAKEN_FOR_MISSING,
    CategoryTable,
    Codes,
    Cuts,
    category_table,
    learn_cuts,
    measured_columns,
)
from honestbayes.data.kinds import TableColumns, as_columns, numeric_cells
from honestbayes.files.fields import (
    LARGEST_SEED,
    Array,
    Check,
    Counts,
    Entries,
    Flag,
    Floats,
    Known,
    Number,
    Packed,
    Plain,
    Section,
    Texts,
    Weights,
    Whole,
    joined,
    plain_scalar,
    values_from_plain,
)
from honestbayes.models.categorical.model import CategoricalFeatureTable, level_word
from honestbayes.models.networks.problem import (
    BDEU,
    K2,
    MARGINAL,
    MOST_FEATURES,
    PRINTED,
    TYPED,
    UNIFORM,
    Memory,
    NetworkProblem,
    make_memory,
    make_problem,
    make_variant,
)
from honestbayes.models.subsets.model import KINDS, OF_ROWS, log_prior_of_subsets
from honestbayes.models.subsets.problem import LOG
from honestbayes.sampling.chains import Form, Info, State
from honestbayes.sampling.draws import Diagnostics, Draws, diagnose, draws_from_plain
from honestbayes.sampling.runs import Sampling, sample_in_blocks
from honestbayes.selection import Selection
from honestbayes.selection.categories import CategoryCounts, count_categories
from honestbayes.selection.correlation import (
    RankingOutcome,
    equivalent_r_squared,
    rank_by_criterion,
    rank_features,
    strength_of,
)
from honestbayes.selection.criteria import mutual_information
from honestbayes.tabular import Tabular
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Graphs, as the parents of each node
# --------------------------------------------------------------------------------------------------


BYTES = 8
"""Of the parents of one node."""


def as_bytes(graphs: IntArray) -> AnyArray:
    """Return graphs of shape (..., k + 1) as bytes of shape (..., 8 (k + 1))."""
    return np.ascontiguousarray(graphs, dtype="<i8").view(np.uint8)


def from_bytes(data: AnyArray) -> IntArray:
    """Return the graphs that `as_bytes` wrote."""
    return np.ascontiguousarray(data, dtype=np.uint8).view("<i8").astype(np.int64)


def are_valid(graphs: IntArray, max_parents: int, *, general: bool = False) -> bool:
    """Whether all graphs, of shape (S, k + 1), are of the space.

    That is: there is no cycle, no node has more parents than it may, and, but in the general space,
    no arc enters a node other than the class and its children.
    """
    nodes = graphs.shape[1]
    own = np.int64(1) << np.arange(nodes, dtype=np.int64)
    of_class = own[-1]
    if np.any(graphs < 0) or np.any((graphs >> (nodes - 1)) > 1):
        return False
    if np.any(np.bitwise_count(graphs) > max_parents):
        return False
    if not general and np.any((graphs[:, :-1] != 0) & ((graphs[:, :-1] & of_class) == 0)):
        return False
    # Nodes without a parent that is left are taken away, until none can be.
    left = np.ones(graphs.shape, dtype=bool)
    for _ in range(nodes):
        remaining = np.where(left, own, 0).sum(axis=1)
        left &= (graphs & remaining[:, None]) != 0
    return not left.any()


def arcs_of(graphs: IntArray) -> BoolArray:
    """Return whether each arc is there, shape (S, from, to)."""
    nodes = graphs.shape[1]
    bits = (graphs[:, None, :] >> np.arange(nodes)[None, :, None]) & 1
    return np.asarray(bits.astype(bool))


def members(graphs: IntArray) -> BoolArray:
    """Return which features are in the class's Markov blanket, shape (S, k)."""
    k = graphs.shape[1] - 1
    is_child = ((graphs[:, :k] >> k) & 1).astype(bool)
    beside = np.bitwise_or.reduce(np.where(is_child, graphs[:, :k], 0), axis=1, initial=0)
    inside = (((graphs[:, k] | beside)[:, None] >> np.arange(k)) & 1).astype(bool)
    return np.asarray(inside | is_child)


def naive_graph(k: int) -> IntArray:
    """Return naive Bayes: the class is the only parent of every feature."""
    graph = np.full(k + 1, np.int64(1) << k, dtype=np.int64)
    graph[k] = 0
    return graph


def tree_graph(
    cells: AnyArray, codes: IntArray, n_levels: IntArray, n_classes: int, max_parents: int
) -> IntArray:
    """Return tree-augmented naive Bayes: each feature but the first has one more parent.

    These arcs are a tree of the largest sum of mutual information given the class (Friedman,
    Geiger and Goldszmidt 1997), all leading away from the first feature.
    """
    k = cells.shape[1]
    graph = naive_graph(k)
    if max_parents < 2 or k < 2:
        return graph
    information = _conditional_information(cells, codes, n_levels, n_classes)
    inside, best, strength = {0}, np.zeros(k, dtype=np.int64), information[0].copy()
    while len(inside) < k:
        outside = [j for j in range(k) if j not in inside]
        new = outside[int(np.argmax(strength[outside]))]
        graph[new] |= np.int64(1) << best[new]
        inside.add(new)
        closer = information[new] > strength
        best[closer], strength[closer] = new, information[new][closer]
    return graph


def _conditional_information(
    cells: AnyArray, codes: IntArray, n_levels: IntArray, n_classes: int
) -> FloatArray:
    """Return the mutual information of each pair of columns given the class, shape (k, k)."""
    k, n = cells.shape[1], cells.shape[0]
    result = np.zeros((k, k))
    wide = cells.astype(np.int64)
    for i in range(k):
        for j in range(i):
            shape = (n_classes, int(n_levels[i]), int(n_levels[j]))
            cell = (codes * shape[1] + wide[:, i]) * shape[2] + wide[:, j]
            table = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)
            share = table.sum(axis=(1, 2)) / max(n, 1)
            result[i, j] = result[j, i] = share @ mutual_information(table)
    return result


# --------------------------------------------------------------------------------------------------
# Prior distributions of graphs, by their number of arcs or of features in the Markov blanket
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PriorField(Parameter):
    """A prior in files: a name, or a list of a name and what follows it; never a function."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the name or the list; refuse a function."""
        if not isinstance(value, tuple | list):
            return {name: value}, {}
        if callable(value[1]):
            msg = f"{name} holds a function, which cannot be saved in a file of plain data."
            raise ValueError(msg)
        of_what, law = value
        is_pair = isinstance(law, tuple | list)
        return {name: [of_what, [*map(plain_scalar, law)] if is_pair else plain_scalar(law)]}, {}

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the prior; refuse what is none."""
        del known
        value = entries.value(name)
        if isinstance(value, list):
            value = tuple(tuple(part) if isinstance(part, list) else part for part in value)
        try:
            check_prior(value)
        except ValueError:
            entries.refuse(name, "is not a prior of graphs")
        return value


def most_arcs(k: int) -> int:
    """Return how many arcs a graph of k features and the class can have: one for each pair."""
    return k * (k + 1) // 2


def check_prior(prior: Any) -> None:
    """Refuse what is no prior."""
    if isinstance(prior, str) and prior in ("arcs", "uniform"):
        return
    if isinstance(prior, tuple | list) and len(prior) == 2 and prior[0] in ("arcs", "features"):
        law = prior[1]
        if (isinstance(law, str) and law == "uniform") or callable(law):
            return
        if isinstance(law, tuple | list):
            if len(law) == 2 and law[0] == "poisson" and _is_positive(law[1]):
                return
        elif prior[0] == "arcs" and _is_positive(law):
            return
    msg = (
        f"graph_prior={prior!r} is not 'arcs', 'uniform', ('arcs', factor) with a factor above 0, "
        "or a pair of 'arcs' or 'features' and one of 'uniform', ('poisson', mean) with a mean "
        "above 0 and a function of the number."
    )
    raise ValueError(msg)


def _is_positive(value: Any) -> bool:
    return is_number(value) and 0 < float(value) < math.inf


def counts_features(prior: Any) -> bool:
    """Whether a prior is one of the number of features in the Markov blanket."""
    return not isinstance(prior, str) and prior[0] == "features"


def log_prior_of_arcs(prior: Any, k: int, n_columns: int) -> FloatArray:
    """Return the log prior of a graph with 0, 1, ... arcs, up to a constant.

    Parameters
    ----------
    prior : str or tuple
        "arcs": the number of arcs m has probability proportional to 2^-m, and is shared by all
        ways to choose as many of the p (p + 1) arcs that p columns and the class could have;
        columns that were screened out count. So the more columns are looked at, the stronger the
        first arcs have to be, and where there are many already, more are expected.
        ("arcs", factor): each arc multiplies the probability by a factor. ("arcs", "uniform"),
        ("arcs", ("poisson", mean)), ("arcs", function): instead of 2^-m. "uniform": every graph
        is as likely as any other. ("features", ...): see `log_prior_of_features`; of arcs, then,
        every number is alike.
    k : int
        Features.
    n_columns : int
        Columns of the table before screening.
    """
    check_prior(prior)
    arcs = np.arange(most_arcs(k) + 1)
    whole = n_columns * (n_columns + 1)
    if isinstance(prior, str):
        if prior == "uniform":
            return np.zeros(arcs.size)
        # Without 2^-m, with few cases, tables of many parents whose every combination has one case
        # would be taken for many weak arcs.
        ways = gammaln(whole + 1) - gammaln(arcs + 1) - gammaln(whole - arcs + 1)
        return np.asarray(-ways - arcs * math.log(2))
    if counts_features(prior):
        return np.zeros(arcs.size)
    if _is_positive(prior[1]):
        return np.asarray(arcs * math.log(prior[1]))
    return _log_prior_of_numbers(prior[1], whole, arcs.size - 1)


def log_prior_of_features(prior: Any, k: int, n_columns: int, max_parents: int) -> FloatArray:
    """Return the log prior of a graph with 0, 1, ... features in the class's Markov blanket.

    The number has a uniform or Poisson distribution, or that of a function. All sets of as many
    of the columns share its probability, and all graphs of the space "classifiers" with the same
    set share that of the set: so numbers have the distribution that was asked for, though many
    more graphs have many features. Empty where the prior is not one of the number of features.
    """
    if not counts_features(prior):
        return np.zeros(0)
    log_number = [math.log(number) for number in n_graphs_of_blanket(k, max_parents)]
    return np.asarray(_log_prior_of_numbers(prior[1], n_columns, k) - np.array(log_number))


def _log_prior_of_numbers(law: Any, whole: int, most: int) -> FloatArray:
    """Return the log prior of one choice of 0, 1, ..., most of so many things."""
    result: FloatArray = log_prior_of_subsets("sizes" if isinstance(law, str) else law, whole, most)
    if result[0] == -np.inf:
        msg = (
            "graph_prior is 0 for the empty graph, through which a chain may have to pass; give a "
            "function that is above 0 from 0 up to a largest number."
        )
        raise ValueError(msg)
    return result


@cache
def n_graphs_of_blanket(k: int, max_parents: int) -> tuple[int, ...]:
    """Return how many graphs of "classifiers" have a given set of 0, 1, ..., k features.

    A set is parents of the class, children, and spouses, which are only parents of children. There
    are no arcs into parents and spouses, so that no cycle goes through them: each child chooses
    some of e of them, and the children are a graph without cycles. Those are counted by their
    childless nodes, with inclusion and exclusion (Robinson 1977), and so are spouses without child.

    >>> n_graphs_of_blanket(3, 9)  # 1 + 3 * 2 + 3 * 10 + 116 = 153
    (1, 2, 10, 116)
    """
    most = max_parents - 1  # one parent of a child is the class
    children = [
        _n_acyclic([sum(math.comb(t + e, d) for d in range(most + 1)) for t in range(k)], k)
        for e in range(k + 1)
    ]
    return tuple(
        sum(
            math.comb(n, c) * math.comb(n - c, s) * (-1) ** j * math.comb(s, j)
            * children[n - c - j][c]
            for c in range(n + 1)
            for s in range(max(0, n - c - max_parents), n - c + 1)
            for j in range(s + 1)
        )
        for n in range(k + 1)
    )  # fmt: skip


def _n_acyclic(n_choices: list[int], most: int) -> list[int]:
    """Return how many graphs without cycles there are of 0, 1, ..., most nodes.

    ``n_choices[t]`` is the number of sets of parents among t other nodes, and from outside.
    """
    result = [1]
    for n in range(1, most + 1):
        result.append(
            sum(
                (-1) ** (j + 1) * math.comb(n, j) * n_choices[n - j] ** j * result[n - j]
                for j in range(1, n + 1)
            )
        )
    return result


# --------------------------------------------------------------------------------------------------
# Settings
# --------------------------------------------------------------------------------------------------


REVERSAL, EXCHANGE = 0.2, 0.2
"""Shares of proposals that reverse an arc, and that exchange a parent for another."""

LADDER = (1.0, 0.6, 0.36, 0.2)
"""Powers of the likelihood, by which chains cross from one good graph to another."""

SCORES = {"k2": K2, "bdeu": BDEU}

OBJECTIVES = {"marginal_likelihood": MARGINAL, **OF_ROWS}
"""Scores of graphs: the first is a sum over nodes, the others look at rows."""

PROPOSALS = {"typed": TYPED, "uniform": UNIFORM, "printed": PRINTED}

PROPOSALS_PER_FEATURE = 10
"""For each draw, where the user does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings(SelectionSettings):
    """Validated choices of the user: selection, graphs, scores, proposals."""

    max_features: int
    max_parents: int
    general: bool
    table_prior: str
    equivalent_sample_size: float
    graph_prior: Any
    thin: int | None
    missing: str
    kinds: Any
    n_bins: int
    objective: str
    held_out: Any
    temperature: float
    proposal: str

    @property
    def size(self) -> float | None:
        """Equivalent sample size of BDeu; None for K2."""
        return self.equivalent_sample_size if self.table_prior == "bdeu" else None

    def proposals(self, k: int) -> int:
        """Return the proposals for each draw, with k features."""
        return max(50, PROPOSALS_PER_FEATURE * k) if self.thin is None else self.thin

    def problem(
        self,
        cells: AnyArray,
        codes: IntArray,
        n_levels: IntArray,
        n_classes: int,
        n_columns: int,
        groups: IntArray | None,
    ) -> NetworkProblem:
        """Return what chains sample, given complete rows of k of the columns and their classes."""
        k = cells.shape[1]
        typed, kind = self.proposal == "typed", KINDS[self.objective]
        # Steps of a ladder change places by their targets, which the printed moves do not keep; and
        # shares are nearly as flat as their powers.
        has_ladder = self.proposal != "printed" and kind == LOG
        max_parents = min(self.max_parents, k + 1)
        fold = np.full(codes.size, -1)
        if self.held_out is not None:
            fold = folds_of(self.held_out, codes, groups)
        return make_problem(
            cells,
            codes,
            n_levels,
            n_classes,
            log_prior_of_arcs(self.graph_prior, k, n_columns),
            max_parents=max_parents,
            score=SCORES[self.table_prior],
            size=self.equivalent_sample_size,
            reversal=REVERSAL if typed else 0.0,
            exchange=EXCHANGE if typed else 0.0,
            heat=LADDER if has_ladder else LADDER[:1],
            general=self.general,
            variant=make_variant(
                proposal=PROPOSALS[self.proposal],
                log_prior_of_features=log_prior_of_features(
                    self.graph_prior, k, n_columns, max_parents
                ),
                objective=OBJECTIVES[self.objective],
                kind=kind,
                temperature=self.temperature,
                fold=fold,
            ),
        )


def network_settings(params: Mapping[str, Any], always_keep: BoolArray) -> NetworkSettings:
    """Validate the constructor's parameters, and return them as settings."""
    n_features, threshold = selection_rule(params, int(np.sum(~always_keep)))
    max_features = whole_number(params, "max_features", 1)
    if max_features > MOST_FEATURES:
        msg = (
            f"max_features={max_features} is more than {MOST_FEATURES}, the largest number that "
            "graphs can hold."
        )
        raise ValueError(msg)
    if params["table_prior"] not in SCORES:
        msg = f"table_prior={params['table_prior']!r} is not one of 'k2', 'bdeu'."
        raise ValueError(msg)
    if params["space"] not in ("classifiers", "networks"):
        msg = f"space={params['space']!r} is not one of 'classifiers', 'networks'."
        raise ValueError(msg)
    size = params["equivalent_sample_size"]
    if not (is_number(size) and 1e-6 <= size <= 1e9):
        msg = f"equivalent_sample_size={size!r} is not a positive number."
        raise ValueError(msg)
    check_prior(params["graph_prior"])
    _check_target(params)
    check_chain_parameters(params)
    if params["missing"] not in ("refuse", "level"):
        msg = f"missing={params['missing']!r} is not one of 'refuse', 'level'."
        raise ValueError(msg)
    return NetworkSettings(
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        max_features=max_features,
        max_parents=whole_number(params, "max_parents", 1),
        general=params["space"] == "networks",
        table_prior=params["table_prior"],
        equivalent_sample_size=float(size),
        graph_prior=params["graph_prior"],
        thin=None if params["thin"] is None else whole_number(params, "thin", 1),
        missing=params["missing"],
        kinds=params["kinds"],
        n_bins=whole_number(params, "n_bins", 2),
        objective=params["objective"],
        held_out=params["held_out"],
        temperature=positive_number(params, "temperature"),
        proposal=params["proposal"],
    )


def _check_target(params: Mapping[str, Any]) -> None:
    """Refuse scores, folds and proposals that are none, or that do not go together."""
    for name, known in {"objective": OBJECTIVES, "proposal": PROPOSALS}.items():
        value = params[name]
        if not isinstance(value, str) or value not in known:
            msg = f"{name}={value!r} is not one of {', '.join(map(repr, known))}."
            raise ValueError(msg)
    held_out = params["held_out"]
    if held_out is not None:
        if params["objective"] == "marginal_likelihood":
            msg = (
                "held_out is for scores that look at rows; objective='marginal_likelihood' "
                "integrates the parameters out."
            )
            raise ValueError(msg)
        if isinstance(held_out, float | np.floating):
            msg = "held_out is a share; give a number of folds, so that every row is scored."
            raise ValueError(msg)
    if params["proposal"] == "printed" and params["space"] != "networks":
        msg = (
            "proposal='printed' needs space='networks': it leaves arcs behind that enter no child "
            "of the class."
        )
        raise ValueError(msg)
    if counts_features(params["graph_prior"]) and params["space"] != "classifiers":
        msg = (
            "a prior of the number of features needs space='classifiers', where the graphs of each "
            "set of features are counted."
        )
        raise ValueError(msg)


# --------------------------------------------------------------------------------------------------
# Chains over graphs, in blocks of draws
# --------------------------------------------------------------------------------------------------


BLOCK = 100
"""Draws of one step of a chain: so many are made without a look at anything else."""

N_BATCHES = 20
"""Of each chain, from whose means the errors of inclusion probabilities are found."""

MOST_JUDGED = 20
"""Features whose inclusion is among the diagnostics: those that are known least well."""

NUMBERS = ("arcs", "size", "score")
"""What chains are judged by: arcs, features in the blanket, and the score."""

_HIGHEST = 1.0 + 1e-6
"""Of a score: the log of a probability, or a share."""


class NetworkKernel:
    """A block of draws.

    Parameters
    ----------
    problem : NetworkProblem
        What is sampled.
    block : int
        Draws of each step.
    thin : int
        Proposals for each draw.
    """

    def __init__(self, problem: NetworkProblem, block: int, thin: int) -> None:
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
                "score": Floats(*shape, high=_HIGHEST),
            },
            check=check,
        )


def starting_states(
    problem: NetworkProblem, n_chains: int, seed: np.random.SeedSequence
) -> list[State]:
    """Return graphs far from each other.

    The first is empty, the second naive Bayes, the third a tree-augmented naive Bayes; others are
    where chains come to that know nothing of the cases. The second and third are left out where
    the prior does not allow them.
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
    graphs = [graph for graph in graphs if _is_possible(problem, graph)]
    variant = problem.variant
    if variant is not None:
        by_features = np.where(variant.log_prior_of_features == -np.inf, -np.inf, 0.0)
        variant = variant._replace(
            proposal=TYPED, objective=MARGINAL, temperature=1.0, log_prior_of_features=by_features
        )
    blind = problem._replace(
        cells=problem.cells[:, :0].copy(),
        log_prior=np.where(problem.log_prior == -np.inf, -np.inf, 0.0),
        heat=np.ones(1),
        variant=variant,
    )
    while len(graphs) < n_chains:
        graph, steps = np.zeros((1, k + 1), dtype=np.int64), int(rng.integers(1, 4 * k + 2))
        arcs, memory = np.zeros(1, dtype=np.int64), make_memory(blind, 64)
        kernels.walk(rng, graph, blind, memory, steps, graph.copy(), arcs, np.zeros(1))
        graphs.append(graph[0])
    steps = problem.heat.size
    return [{"graph": as_bytes(np.tile(graph, (steps, 1)))} for graph in graphs[:n_chains]]


def _is_possible(problem: NetworkProblem, graph: IntArray) -> bool:
    """Whether the prior allows a graph."""
    prior = float(problem.log_prior[np.bitwise_count(graph).sum()])
    if problem.variant is not None and problem.variant.log_prior_of_features.size:
        prior += float(problem.variant.log_prior_of_features[members(graph[None]).sum()])
    return prior > -math.inf


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


def run_networks(
    problem: NetworkProblem, thin: int, sampling: Sampling, *depends_on: Any
) -> NetworkDraws:
    """Run chains over graphs.

    Parameters
    ----------
    problem : NetworkProblem
        What is sampled.
    thin : int
        Proposals for each draw.
    sampling : Sampling
        How chains are run; its schedule counts draws.
    *depends_on
        What else the draws depend on, for checkpoints.
    """
    block = min(BLOCK, sampling.schedule.n_draws)
    draws, interrupted = sample_in_blocks(
        NetworkKernel(problem, block, thin),
        lambda seed: starting_states(problem, sampling.n_chains, seed),
        sampling,
        block,
        *depends_on,
        *problem[:-1],
        *(problem.variant or ()),
        thin,
        block,
        agree=lambda draws: draws.diagnostics(NUMBERS).agree(),
    )
    return NetworkDraws(draws, interrupted)


def distinct_graphs(draws: NetworkDraws, most: int) -> tuple[AnyArray, FloatArray, FloatArray]:
    """Return the different graphs of draws that are evenly spread over all, shares and scores."""
    some = draws.draws.spread(most)
    graphs, first, count = np.unique(
        from_bytes(some.pooled("graph")), axis=0, return_index=True, return_counts=True
    )
    return graphs, count / count.sum(), some.pooled("score")[first]


# --------------------------------------------------------------------------------------------------
# The fitted model: drawn graphs and the cases that their tables are counted from
# --------------------------------------------------------------------------------------------------


MOST_AVERAGED = 1000
"""Draws over which predictions are averaged, evenly spread over all."""

_JUDGED = ("mean", "sd", "mcse", "rhat", "ess_bulk", "ess_tail")
_CELLS = 1 << 21
"""Probabilities that are held at a time."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkFit:
    """Graphs that were drawn, and the cases that their tables are counted from.

    Attributes
    ----------
    cells : ndarray of int32 of shape (k + 1, n)
        Training cases: codes of each feature, and in the last row the class.
    n_levels : ndarray of int of shape (k + 1,)
        Levels of each feature, and classes.
    graphs : ndarray of int of shape (S, k + 1)
        Different graphs, as parents of each node.
    weight : ndarray of shape (S,)
        Their shares of the draws.
    scores : ndarray of shape (S,) or None
        Their scores; None in files of versions that did not store them, where they are log
        marginal likelihoods.
    max_parents : int
        The most parents of a node.
    general : bool
        Whether the space of graphs is that of all without cycles.
    size : float or None
        Equivalent sample size of BDeu; None for K2.
    inclusion, inclusion_error : ndarray of shape (k,)
        Share of all draws with each feature in the class's Markov blanket, and its error.
    edges : ndarray of shape (k + 1, k + 1)
        Share of all draws with each arc, from and to.
    diagnostics : Diagnostics
        Of the chains.
    draws : Draws
        Number of arcs, features in the blanket and log score of all draws.
    seed : int
        Of what intervals draw.
    interrupted : bool
        Whether the user stopped the chains before their end.
    """

    cells: AnyArray
    n_levels: IntArray
    graphs: IntArray
    weight: FloatArray
    scores: FloatArray | None
    max_parents: int
    general: bool
    size: float | None
    inclusion: FloatArray
    inclusion_error: FloatArray
    edges: FloatArray
    diagnostics: Diagnostics
    draws: Draws
    seed: int
    interrupted: bool = False

    # --------------------------------------------------------------- prediction

    @cached_property
    def _tables(self) -> Any:
        """Graphs with their tables."""
        from honestbayes.models.networks.prediction import GraphTables, make_families

        k = self.graphs.shape[1] - 1
        nodes = np.broadcast_to(np.arange(k + 1), self.graphs.shape)
        pairs = np.stack([nodes.ravel(), self.graphs.ravel()], axis=1)
        single = np.stack([np.arange(k), np.zeros(k, dtype=np.int64)], axis=1)
        distinct, which = np.unique(np.concatenate([single, pairs]), axis=0, return_inverse=True)
        which = which.ravel().astype(np.int64)
        families = make_families(
            self.cells, self.n_levels, distinct[:, 0], distinct[:, 1], self.size
        )
        table_of = which[k:].reshape(self.graphs.shape)
        return GraphTables(self.graphs, table_of, which[:k].copy(), self.n_levels, families)

    def log_proba(self, cells: AnyArray) -> FloatArray:
        """Return log P(class | x), averaged over graphs, shape (n, C).

        Parameters
        ----------
        cells : ndarray of int of shape (n, k)
            Codes; -1 for missing cells.
        """
        from honestbayes.models.networks.prediction import add_averages

        result = np.zeros((cells.shape[0], int(self.n_levels[-1])))
        rows = np.ascontiguousarray(cells, dtype=np.int64)
        add_averages(self._tables, self.weight, rows, result)
        return np.asarray(np.log(result / result.sum(axis=1, keepdims=True)))

    def probabilities(self, cells: AnyArray, n_draws: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield drawn class probabilities of some rows at a time, shape (rows, draws, C).

        Draws are of graphs, evenly spread by their shares, and of the parameters of their tables.
        """
        from honestbayes.models.networks.prediction import draw_probabilities

        shares = (np.arange(n_draws) + 0.5) / n_draws
        chosen = np.minimum(np.searchsorted(np.cumsum(self.weight), shares), len(self.graphs) - 1)
        n_classes = int(self.n_levels[-1])
        rows = np.ascontiguousarray(cells, dtype=np.int64)
        step = max(1, _CELLS // (n_draws * n_classes))
        for first in range(0, rows.shape[0], step):
            some = slice(first, first + step)
            out = np.zeros((len(rows[some]), n_draws, n_classes))
            draw_probabilities(self._tables, chosen, rows[some], self.seed, out)
            yield some, out

    def graph_scores(self) -> FloatArray:
        """Return the score of each graph, shape (S,)."""
        if self.scores is not None:
            return self.scores
        from honestbayes.models.networks.kernels import remembered_score

        problem = make_problem(
            self.cells[:-1].T,
            self.cells[-1],
            self.n_levels[:-1],
            int(self.n_levels[-1]),
            np.zeros(1),
            max_parents=int(np.bitwise_count(self.graphs).max()),
            score=K2 if self.size is None else BDEU,
            size=1.0 if self.size is None else self.size,
            reversal=0.0,
            exchange=0.0,
        )
        memory = make_memory(problem)
        return np.array(
            [
                sum(remembered_score(problem, memory, j, mask) for j, mask in enumerate(graph))
                for graph in self.graphs
            ]
        )

    # --------------------------------------------------------------------- files

    def to_plain(self) -> Plain:
        """Return cases, graphs and what is known of the chains as plain data."""
        content = {
            "max_parents": int(min(self.max_parents, MOST_FEATURES + 1)),
            "general": self.general,
            "is_bdeu": self.size is not None,
            "size": 1.0 if self.size is None else float(self.size),
            "seed": int(self.seed),
        }
        arrays = {
            "cells": self.cells.astype(np.int64),
            "graphs": as_bytes(self.graphs),
            "weight": self.weight,
            "scores": self.graph_scores(),
            "inclusion": self.inclusion,
            "inclusion_error": self.inclusion_error,
            "edges": self.edges,
            **{name: getattr(self.diagnostics, name) for name in _JUDGED},
            **{f"drawn_{name}": self.draws[name] for name in NUMBERS},
        }
        names, texts = Texts().write("judged", self.diagnostics.name)
        return content | names, arrays | texts

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> NetworkFit:
        """Return the fit that `to_plain` described, given ``n_levels`` of features and classes.

        Everything that reaches compiled code is checked: levels, and that graphs are of the space.
        """
        n_levels: IntArray = known["n_levels"]
        k = n_levels.size - 1
        entries.check(k <= MOST_FEATURES, "cells", "has too many columns")
        most = Whole(1, MOST_FEATURES + 1).read(entries, "max_parents", {})
        general = Flag().read(entries, "general", {})
        is_bdeu = Flag().read(entries, "is_bdeu", {})
        size = Number(1e-6, 1e9).read(entries, "size", {})
        seed = Whole(0, LARGEST_SEED).read(entries, "seed", {})
        cells = Counts(k + 1, "n_cases", high=2**31 - 1).read(entries, "cells", {})
        good = cells.shape[1] >= 1 and bool(np.all(cells < n_levels[:, None]))
        entries.check(good, "cells", "holds a level that is not there")
        counts = np.bincount(cells[k], minlength=int(n_levels[k]))
        good = tuple(counts.tolist()) == known["class_counts"]
        entries.check(good, "cells", "are of other numbers of classes")
        graphs = from_bytes(Packed("n_graphs", BYTES * (k + 1)).read(entries, "graphs", {}))
        entries.check(0 < len(graphs) <= MOST_AVERAGED, "graphs", "are none, or too many")
        good = are_valid(graphs, most, general=general)
        entries.check(good, "graphs", "holds a graph that is not of the space")
        largest = (n_levels * 1.0 + 1.0) * np.prod(_sizes_of_parents(graphs, n_levels), axis=-1)
        entries.check(np.all(largest < 2.0**62), "graphs", "holds too large a table")
        weight = Weights(len(graphs)).read(entries, "weight", {})
        of_graphs = {"scores": Floats(len(graphs), low=-1e100, high=_HIGHEST, absent=None)}
        scores = values_from_plain(of_graphs, entries, {})["scores"]
        inclusion = Floats(k, low=0.0, high=1.0).read(entries, "inclusion", {})
        error = Array(k).read(entries, "inclusion_error", {})
        edges = Floats(k + 1, k + 1, low=0.0, high=1.0).read(entries, "edges", {})
        names = Texts().read(entries, "judged", {}) or ()
        judged = {name: Array(len(names)).read(entries, name, {}) for name in _JUDGED}
        shape = ("n_chains", "n_draws")
        fields = {
            "drawn_arcs": Counts(*shape, high=most_arcs(k)),
            "drawn_size": Counts(*shape, high=k),
            "drawn_score": Floats(*shape, low=-1e100, high=_HIGHEST),
        }
        draws = draws_from_plain(fields, entries, {})
        return cls(
            cells=cells.astype(np.int32),
            n_levels=n_levels,
            graphs=graphs,
            weight=weight,
            scores=scores,
            max_parents=most,
            general=general,
            size=size if is_bdeu else None,
            inclusion=inclusion,
            inclusion_error=error,
            edges=edges,
            diagnostics=Diagnostics(name=names, **judged),
            draws=Draws({name: draws[f"drawn_{name}"] for name in NUMBERS}, draws.n_chains),
            seed=seed,
        )


def _sizes_of_parents(graphs: IntArray, n_levels: IntArray) -> FloatArray:
    """Return levels of each possible parent, 1 where it is none, shape (S, k + 1, k + 1)."""
    bits = (graphs[:, :, None] >> np.arange(n_levels.size)) & 1
    return np.asarray(np.where(bits == 1, n_levels.astype(float), 1.0))


class _Given(NamedTuple):
    """Rows, their counts, and the codes of all rows with bins that were learned from these."""

    rows: IntArray
    counts: CategoryCounts
    table: CategoryTable
    cuts: Cuts


@dataclass(frozen=True, slots=True, eq=False)
class NetworkPart:
    """Fitted categorical features.

    Attributes
    ----------
    selection : Selection
        Columns that graphs are over.
    codes : Codes
        How they become codes, measurements being cut.
    cuts : Cuts
        How measurements are cut.
    fit : NetworkFit
        Graphs and cases.
    log_prior : ndarray of shape (C,)
        Log class probabilities before features are seen.
    """

    selection: Selection
    codes: Codes
    cuts: Cuts
    fit: NetworkFit
    log_prior: FloatArray

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the chains."""
        return self.fit.interrupted

    def to_plain(self) -> Plain:
        """Return codes and graphs as plain data."""
        arrays = {"prior": self.log_prior}
        return joined(
            ({}, arrays),
            codes=self.codes.to_plain(),
            cuts=self.cuts.to_plain(),
            fit=self.fit.to_plain(),
        )

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> NetworkPart:
        """Return the part that `to_plain` described; refuse what cannot be one."""
        codes = Section(kind=Codes).read(entries, "codes", known)
        cuts = Section(kind=Cuts).read(entries, "cuts", known)
        selection, n_classes = known["selection"], known["n_classes"]
        of_fit = {
            "n_levels": np.concatenate([codes.n_levels, [n_classes]]).astype(np.int64),
            "class_counts": selection.class_counts,
        }
        fit = Section(kind=NetworkFit).read(entries, "fit", of_fit)
        prior = Floats(n_classes, low=-1e6, high=1e-9).read(entries, "prior", known)
        return cls(selection, codes, cuts, fit, prior)

    def read(self, X: Any, describe: Describe) -> IntArray:
        """Return codes of the kept columns; unknown levels are missing, with a warning."""
        return self.codes.read(self.cuts.of(X), describe, TAKEN_FOR_MISSING)

    def log_likelihood(self, values: IntArray) -> FloatArray:
        """Return log P(class | x) - log P(class), which is log P(x | class) up to a constant."""
        return self.fit.log_proba(values) - self.log_prior

    def rows(self, values: IntArray, rows: slice) -> IntArray:
        """Return some rows of values that were read."""
        return values[rows]


@dataclass(frozen=True, slots=True)
class NetworkTraining(SampledTraining):
    """Features of a training table, for networks.

    Attributes
    ----------
    settings : NetworkSettings
        Selection, graphs and chains.
    columns : TableColumns
        The table as it was given.
    measured : ndarray of int
        Which of its columns are measurements.
    cuts : Cuts
        Their bins, learned from all rows.
    table : CategoryTable
        Codes of the cells with these bins; missing ones are levels of their own, where that is
        asked for.
    labels : TrainingLabels
        Classes of the rows.
    random_state : object
        Breaks ties.
    """

    settings: NetworkSettings
    columns: TableColumns
    measured: IntArray
    cuts: Cuts
    table: CategoryTable
    labels: TrainingLabels
    random_state: Any

    @classmethod
    def of(
        cls,
        settings: NetworkSettings,
        X: Any,
        labels: TrainingLabels,
        random_state: Any,
        sampling: Sampling,
    ) -> NetworkTraining:
        """Cut the measurements of a table, and code all its cells."""
        columns = as_columns(X)
        measured = measured_columns(columns, settings.kinds)
        cuts = learn_cuts(columns, measured, np.arange(columns.n_rows), settings.n_bins)
        table = category_table(cuts.of(X))
        return cls(
            settings, columns, measured, cuts, table, labels, random_state, sampling=sampling
        )

    def _whole(self, _memo: FoldMemo | None) -> _Given:
        everyone = np.arange(self.labels.codes.size)
        counts = count_categories(self.table, self.labels.codes, self.labels.classes)
        return _Given(everyone, counts, self.table, self.cuts)

    def _without(
        self, folds: Sequence[IntArray], _memo: FoldMemo | None
    ) -> Iterator[tuple[IntArray, _Given]]:
        for rows, others in self.labels.without(folds):
            table, cuts = self.table, self.cuts
            if self.measured.size:
                cuts = learn_cuts(self.columns, self.measured, others, self.settings.n_bins)
                table = category_table(cuts.of(self.columns))
            counts = count_categories(table, self.labels.codes, self.labels.classes, others)
            yield rows, _Given(others, counts, table, cuts)

    def _values(self, part: NetworkPart, rows: IntArray) -> IntArray:
        columns = np.array(part.selection.columns, dtype=np.int64)
        codes = self.table.codes[np.ix_(rows, columns)]
        for index, bounds in enumerate(part.cuts.bounds):
            if bounds is not None:
                values = numeric_cells(self.columns, int(columns[index]), "real")[rows]
                bins = np.searchsorted(bounds, values, side="left")
                codes[:, index] = np.where(np.isnan(values), MISSING, bins)
        return np.asarray(part.codes.of_training(codes))

    def _run(self, statistic: _Given, sampling: Sampling) -> NetworkPart:
        """Screen, and run chains, given some rows."""
        settings, labels = self.settings, self.labels
        rows, counts, table, cuts = statistic
        outcome = _screened(counts, settings, tie_breaker(self.random_state))
        selection = outcome.selection(
            counts.class_counts, counts.observed(), counts.feature_names, counts.n_levels()
        )
        columns = np.array(selection.columns, dtype=np.int64)
        kept = Codes(table.levels.take(columns), settings.missing == "level")
        cells = kept.of_training(table.codes[np.ix_(rows, columns)])
        groups = None if labels.groups is None else labels.groups[rows]
        problem = settings.problem(
            cells,
            labels.codes[rows],
            kept.n_levels,
            labels.classes.size,
            counts.n_features,
            groups,
        )
        drawn = run_networks(problem, settings.proposals(columns.size), sampling)
        graphs, weight, scores = distinct_graphs(drawn, MOST_AVERAGED)
        inclusion, error = drawn.inclusion()
        seed = np.random.SeedSequence(sampling.seed.entropy, spawn_key=(7,)).generate_state(1)[0]
        names = counts.feature_names or tuple(f"x{j}" for j in range(counts.n_features))
        fit = NetworkFit(
            cells=problem.cells,
            n_levels=problem.n_levels,
            graphs=graphs,
            weight=weight,
            scores=scores,
            max_parents=problem.max_parents,
            general=settings.general,
            size=settings.size,
            inclusion=inclusion,
            inclusion_error=error,
            edges=drawn.edges(),
            diagnostics=drawn.diagnostics(tuple(names[j] for j in columns)),
            draws=drawn.numbers(),
            seed=int(seed),
            interrupted=drawn.interrupted,
        )
        return NetworkPart(selection, kept, cuts.take(columns), fit, labels.log_prior(rows))


def _screened(
    counts: CategoryCounts, settings: NetworkSettings, random_state: np.random.RandomState | None
) -> RankingOutcome:
    """Keep all columns, or those with the most mutual information with the class."""
    always = settings.always_keep
    room = settings.max_features - int(always.sum())
    if room < 0:
        msg = (
            f"always_keep names {int(always.sum())} columns, and max_features is "
            f"{settings.max_features}."
        )
        raise ValueError(msg)
    if settings.threshold is not None:
        strength, exact = strength_of(counts)
        above = rank_features(
            strength,
            exact,
            threshold=settings.threshold,
            always_keep=always,
            random_state=random_state,
        )
        if above.kept.size <= room:
            return above
        return rank_features(
            strength, exact, n_features=room, always_keep=always, random_state=random_state
        )
    n_candidates = int(np.sum(~always))
    number = n_candidates if settings.n_features is None else settings.n_features
    number = min(number, room)
    if number >= n_candidates:
        return rank_features(*strength_of(counts), always_keep=always, random_state=random_state)
    strength = np.zeros(counts.n_features)
    for group in counts.groups:
        strength[group.columns] = mutual_information(group.tables)
    return rank_by_criterion(
        strength,
        "mutual_information",
        n_features=number,
        always_keep=always,
        random_state=random_state,
    )


# --------------------------------------------------------------------------------------------------
# Explanation: arcs with their probabilities, and each column alone
# --------------------------------------------------------------------------------------------------


_MISSING = "(missing)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges(Tabular):
    """Arcs between the class and features, the most probable first.

    Attributes
    ----------
    source, target : tuple of str
        From where, and to where.
    probability : ndarray of shape (m,)
        Share of the graphs that have the arc.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    probability: FloatArray

    def renamed(self, name: Callable[[str], str]) -> Edges:
        """Return the same arcs with other names."""
        return Edges(
            source=tuple(map(name, self.source)),
            target=tuple(map(name, self.target)),
            probability=self.probability,
        )

    def matrix(self, last: str) -> tuple[tuple[str, ...], FloatArray]:
        """Return the names of all nodes, one of them last, and the probabilities between them."""
        nodes = [name for name in dict.fromkeys((*self.source, *self.target)) if name != last]
        place = {name: j for j, name in enumerate((*nodes, last))}
        result = np.zeros((len(place), len(place)))
        for a, b, p in zip(self.source, self.target, self.probability, strict=True):
            result[place[a], place[b]] = p
        return tuple(place), result

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        return {
            "from": list(self.source),
            "to": list(self.target),
            "probability": self.probability.tolist(),
        }

    def __str__(self) -> str:
        """Return an aligned table."""
        wide = max([len("from"), *map(len, self.source)])
        wider = max([len("to"), *map(len, self.target)])
        lines = [f"{'from':<{wide}}  {'to':<{wider}}  probability"]
        for a, b, p in zip(self.source, self.target, self.probability, strict=True):
            lines.append(f"{a:<{wide}}  {b:<{wider}}  {p:11.3f}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Graphs(Tabular):
    """Distinct graphs that were drawn: the joint distribution of equation 1, p(J, Y, M).

    Attributes
    ----------
    share : ndarray of shape (S,)
        Share of the draws with each graph, largest first.
    score : ndarray of shape (S,)
        J, by the estimator's ``objective``: a log likelihood, or a share of 1.
    features : tuple of tuple of str
        Y: the features in the Markov blanket of the class.
    parents : tuple of dict
        M: the parents of each node, by name, the class last.
    """

    share: FloatArray
    score: FloatArray
    features: tuple[tuple[str, ...], ...]
    parents: tuple[dict[str, tuple[str, ...]], ...]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        return {
            "share": self.share.tolist(),
            "score": self.score.tolist(),
            "features": [list(names) for names in self.features],
            "parents": [{node: list(names) for node, names in one.items()} for one in self.parents],
        }

    def __str__(self) -> str:
        """Return a line for each graph: its share, its score, and the nodes that have parents."""
        lines = [" share       score  parents"]
        for share, score, parents in zip(self.share, self.score, self.parents, strict=True):
            arcs = (f"{', '.join(names)} -> {node}" for node, names in parents.items() if names)
            lines.append(f"{share:6.3f}  {score:10.4g}  {'; '.join(arcs) or 'no arcs'}")
        return "\n".join(lines)


def graphs_of(part: NetworkPart, names: tuple[str, ...], of_class: str, most: int | None) -> Graphs:
    """Return the distinct graphs, the most frequent first."""
    fit, nodes = part.fit, (*names, of_class)
    order = np.lexsort((np.arange(fit.weight.size), -fit.weight))[:most]
    arcs = arcs_of(fit.graphs[order])
    return Graphs(
        share=fit.weight[order],
        score=fit.graph_scores()[order],
        features=tuple(
            tuple(names[j] for j in np.flatnonzero(inside)) for inside in members(fit.graphs[order])
        ),
        parents=tuple(
            {
                node: tuple(nodes[i] for i in np.flatnonzero(one[:, j]))
                for j, node in enumerate(nodes)
            }
            for one in arcs
        ),
    )


def edges_of(part: NetworkPart, names: tuple[str, ...], of_class: str, least: float) -> Edges:
    """Return all arcs with at least some probability."""
    share = part.fit.edges
    source, target = np.nonzero(share >= max(least, 1e-300))
    order = np.lexsort((target, source, -share[source, target]))
    called = (*names, of_class)
    return Edges(
        source=tuple(called[i] for i in source[order]),
        target=tuple(called[i] for i in target[order]),
        probability=share[source[order], target[order]],
    )


def blankets_of(
    part: NetworkPart, names: tuple[str, ...], most: int
) -> list[tuple[tuple[str, ...], float]]:
    """Return the Markov blankets of the class that are most frequent, and their shares."""
    inside = members(part.fit.graphs)
    distinct, which = np.unique(inside, axis=0, return_inverse=True)
    share = np.bincount(which.ravel(), part.fit.weight, minlength=len(distinct))
    order = np.lexsort((np.arange(share.size), -share))[:most]
    return [
        (tuple(names[j] for j in np.flatnonzero(distinct[row])), float(share[row])) for row in order
    ]


def feature_table(
    part: NetworkPart, names: tuple[str, ...], classes: tuple[str, ...], slope: float
) -> CategoricalFeatureTable:
    """Summarise each column alone: the frequency of each category in each class."""
    cells, codes = part.fit.cells[:-1], part.fit.cells[-1]
    tables = []
    for column, size in zip(cells, part.codes.n_levels.tolist(), strict=True):
        table = np.zeros((len(classes), size))
        np.add.at(table, (codes, column), 1.0)
        # Missing as a level is shown where it occurs.
        shown = part.codes.missing_is_level and not table[:, -1].any()
        tables.append(table[:, :-1] if shown else table)
    levels = [
        (*_level_names(part, place), _MISSING)[: table.shape[1]]
        for place, table in enumerate(tables)
    ]
    return CategoricalFeatureTable(
        name=names,
        classes=classes,
        r=np.array(
            [np.sqrt(equivalent_r_squared(table[None].astype(np.int64))[0]) for table in tables]
        ),
        levels=tuple(levels),
        probability=tuple(
            (table + 1.0 / table.shape[1]) / (table.sum(axis=1, keepdims=True) + 1.0)
            for table in tables
        ),
        by_design=by_design(part.selection),
        _slope=slope,
        _effects="that depends on the columns beside it, by the graphs below",
    )


def _level_names(part: NetworkPart, column: int) -> tuple[str, ...]:
    """Return what the levels or bins of a column are called."""
    levels = tuple(level_word(value) for value in part.codes.levels.values[column].tolist())
    bins = part.cuts.labels(column) or ()
    return (*bins, *levels[len(bins) :])
