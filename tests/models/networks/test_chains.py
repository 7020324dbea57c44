"""Chains over graphs have the target that was asked for: exact checks on three features."""

from functools import cache

import numpy as np
import oracles_networks as oracle
import pytest

from honestbayes.models.networks.kernels import (
    change,
    family_score,
    options,
    relate,
    remembered_score,
    walk,
)
from honestbayes.models.networks.model import log_prior_of_arcs, members
from honestbayes.models.networks.problem import (
    ADD_ARC,
    ADD_FEATURE,
    BACK,
    BDEU,
    DELETE_ARC,
    DELETE_FEATURE,
    EXCHANGE,
    K2,
    REVERSE,
    make_memory,
    make_problem,
)

KINDS = {
    ADD_FEATURE: "add feature",
    DELETE_FEATURE: "delete feature",
    ADD_ARC: "add arc",
    DELETE_ARC: "delete arc",
    REVERSE: "turn",
    EXCHANGE: "exchange",
}
SCORES = {"k2": K2, "bdeu": BDEU}
LEVELS = {0: 2, 1: 3, 2: 2, oracle.CLASS: 2}


@cache
def cases():
    """Twelve cases in which features depend on the class and on each other."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 12)
    a = np.where(rng.random(12) < 0.8, y, 1 - y)
    b = np.where(rng.random(12) < 0.6, a, rng.integers(0, 3, 12))
    c = rng.integers(0, 2, 12)
    return np.column_stack([a, b, c]), y


def small_problem(score, prior, most, reversal, exchange=0.2, size=2.0, *, general=False):
    rows, y = cases()
    return make_problem(
        rows,
        y,
        np.array([2, 3, 2]),
        2,
        log_prior_of_arcs(prior, 3, 3),
        max_parents=most,
        score=SCORES[score],
        size=size,
        reversal=reversal,
        exchange=exchange,
        general=general,
    )


@cache
def space(most, general=False):
    return oracle.all_graphs(3, most, general)


def related(graph, k, general=False):
    parents = np.array(oracle.masks(graph, k), dtype=np.int64)
    children, below, sets = np.zeros_like(parents), np.zeros_like(parents), np.zeros(4, np.int64)
    relate(parents, children, below, sets, general)
    return parents, children, below, sets


def moves_of(graph, k, most, kind, general=False):
    """All graphs that the package proposes, and their number as it counts them."""
    state = related(graph, k, general)
    number, _, _, _ = options(*state, most, general, kind, -1)
    found = []
    for chosen in range(number):
        _, *move = options(*state, most, general, kind, chosen)
        parents = state[0].copy()
        change(parents, kind, *move)
        found.append(oracle.from_masks(parents, k))
    return found


def test_the_spaces_of_three_features_have_153_and_543_graphs():
    assert len(space(99)) == 153
    assert len(space(99, general=True)) == 543


@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("most", [99, 3, 2, 1])
def test_moves_are_those_of_the_words_and_can_be_undone(most, general):
    reached = set()
    for graph in space(most, general):
        expected = oracle.neighbours(graph, 3, most, general)
        for kind, word in KINDS.items():
            if general and kind in (ADD_FEATURE, DELETE_FEATURE):
                continue  # never drawn there
            found = moves_of(graph, 3, most, kind, general)
            assert len(found) == len(set(found))
            assert set(found) == set(expected[word])
            for new in found:
                assert graph in moves_of(new, 3, most, BACK[kind], general)
            reached |= set(found)
    assert reached | {frozenset()} == set(space(most, general))


def test_moves_of_four_features_are_those_of_the_words():
    rng = np.random.default_rng(0)
    graph = frozenset()
    for _ in range(300):
        expected = oracle.neighbours(graph, 4, 3)
        for kind, word in KINDS.items():
            assert sorted(map(sorted_arcs, moves_of(graph, 4, 3, kind))) == sorted(
                map(sorted_arcs, expected[word])
            )
        steps = [new for found in expected.values() for new in found]
        graph = steps[rng.integers(len(steps))]


def sorted_arcs(graph):
    return sorted(map(str, graph))


@pytest.mark.parametrize("score", SCORES)
def test_scores_are_products_of_predictions(score):
    rows, y = cases()
    problem = small_problem(score, "uniform", 99, 0.2)
    memory = make_memory(problem)
    for graph in space(99)[::7]:
        values = oracle.masks(graph, 3)
        total = sum(family_score(problem, memory, j, values[j]) for j in range(4))
        expected = oracle.log_score(graph, rows.tolist(), y.tolist(), LEVELS, score, 2.0)
        assert total == pytest.approx(expected, abs=1e-9)


def test_scores_of_many_combinations_are_the_same():
    """So many levels that combinations are numbered anew."""
    rng = np.random.default_rng(0)
    rows, y = rng.integers(0, 9, (60, 4)), rng.integers(0, 2, 60)
    words = {"max_parents": 9, "size": 3.0, "reversal": 0.1, "exchange": 0.1}
    prior = log_prior_of_arcs("uniform", 4, 4)
    levels = {0: 9, 1: 9, 2: 9, 3: 9, oracle.CLASS: 2}
    for name, score in SCORES.items():
        problem = make_problem(rows, y, np.full(4, 9), 2, prior, score=score, **words)
        graph = frozenset({(j, 3) for j in range(3)} | {(oracle.CLASS, 3)})
        total = sum(
            family_score(problem, make_memory(problem), j, m)
            for j, m in enumerate(oracle.masks(graph, 4))
        )
        expected = oracle.log_score(graph, rows.tolist(), y.tolist(), levels, name, 3.0)
        assert total == pytest.approx(expected, abs=1e-9)


def test_what_is_remembered_is_what_is_computed():
    problem = small_problem("bdeu", "uniform", 99, 0.2)
    memory = make_memory(problem, 4)  # so small that places are taken again and again
    rng = np.random.default_rng(0)
    for _ in range(500):
        node = int(rng.integers(0, 4))
        given = int(rng.integers(0, 16)) & ~(1 << node)
        fresh = family_score(problem, make_memory(problem, 4), node, given)
        assert remembered_score(problem, memory, node, given) == fresh


def run(problem, n_draws, thin, seed, cache_size=256):
    parents = np.zeros((problem.heat.size, 4), dtype=np.int64)
    graphs = np.zeros((n_draws, 4), dtype=np.int64)
    arcs, scores = np.zeros(n_draws, dtype=np.int64), np.zeros(n_draws)
    rng = np.random.default_rng(seed)
    walk(rng, parents, problem, make_memory(problem, cache_size), thin, graphs, arcs, scores)
    return graphs, arcs, scores


def shares_and_gaps(problem, graphs, pi, most, n_draws=150_000, thin=3, seed=0):
    """Shares of graphs in a long run, in standard errors from the target."""
    found, *_ = run(problem, n_draws, thin, seed)
    masks, count = np.unique(found, axis=0, return_counts=True)
    place = {g: i for i, g in enumerate(graphs)}
    share = np.zeros(len(graphs))
    share[[place[oracle.from_masks(m, 3)] for m in masks]] = count / n_draws
    shares = problem.reversal, problem.exchange
    one = oracle.transition_matrix(graphs, pi, 3, most, *shares, problem.general)
    matrix = np.linalg.matrix_power(one, thin)
    fundamental = np.linalg.inv(np.eye(pi.size) - matrix + pi[None])
    error = np.sqrt(pi * (2 * np.diag(fundamental) - 1 - pi) / n_draws)
    return share, (share - pi) / error


@pytest.mark.parametrize(
    ("score", "prior", "most", "shares", "general"),
    [
        ("k2", "uniform", 99, (0.2, 0.2), False),
        ("bdeu", "uniform", 99, (0.0, 0.0), False),
        ("k2", "arcs", 2, (0.3, 0.0), False),
        ("bdeu", ("arcs", 0.7), 3, (0.1, 0.5), False),
        ("k2", "arcs", 99, (0.2, 0.1), False),
        ("k2", "arcs", 99, (0.2, 0.2), True),
        ("bdeu", "uniform", 2, (0.1, 0.0), True),
    ],
)
def test_long_runs_visit_all_graphs_as_often_as_the_target_says(
    score, prior, most, shares, general
):
    rows, y = cases()
    graphs = space(most, general)
    pi = oracle.target(graphs, rows.tolist(), y.tolist(), LEVELS, score, 2.0, prior, 3)
    problem = small_problem(score, prior, most, *shares, general=general)
    share, gap = shares_and_gaps(problem, graphs, pi, most)
    often = pi * 150_000 > 50
    assert share[~often].sum() < 0.05
    # One false alarm in ten thousand, with Bonferroni.
    assert np.max(np.abs(gap[often])) < 5.0
    assert np.mean(gap[often] ** 2) < 2.0


def test_draws_say_what_they_are_and_do_not_depend_on_what_is_remembered():
    problem = small_problem("k2", "arcs", 99, 0.2)
    rows, y = cases()
    graphs, arcs, scores = run(problem, 200, 2, 5)
    small = run(problem, 200, 2, 5, cache_size=1)
    for one, two in zip((graphs, arcs, scores), small, strict=True):
        assert np.array_equal(one, two)
    for masks, a, value in list(zip(graphs, arcs, scores, strict=True))[::20]:
        graph = oracle.from_masks(masks, 3)
        assert len(graph) == a
        assert members(masks[None])[0].nonzero()[0].tolist() == sorted(oracle.blanket(graph))
        expected = oracle.log_score(graph, rows.tolist(), y.tolist(), LEVELS, "k2")
        assert value == pytest.approx(expected, abs=1e-9)


def test_a_ladder_of_graphs_has_the_same_target():
    rows, y = cases()
    graphs = space(99)
    pi = oracle.target(graphs, rows.tolist(), y.tolist(), LEVELS, "k2", 2.0, "arcs", 3)
    problem = small_problem("k2", "arcs", 99, 0.2)._replace(heat=np.array([1.0, 0.5, 0.1]))
    n_draws, n_batches = 50_000, 100
    found, *_ = run(problem, n_draws, 50, 1)
    place = {tuple(oracle.masks(g, 3)): i for i, g in enumerate(graphs)}
    drawn = np.array([place[tuple(m)] for m in found.tolist()])
    batches = drawn.reshape(n_batches, -1)
    often = np.flatnonzero(pi * n_draws > 250)
    shares = np.stack([(batches == i).mean(axis=1) for i in often], axis=1)
    error = shares.std(axis=0, ddof=1) / np.sqrt(n_batches)
    gap = (shares.mean(axis=0) - pi[often]) / error
    assert often.size >= 20
    assert np.max(np.abs(gap)) < 5.0
    assert np.mean(gap**2) < 2.0
