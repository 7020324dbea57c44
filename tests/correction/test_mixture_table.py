"""Interpolated log P(S) against exact values between the nodes, and kernels against the table."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from numba import njit

from honestbayes.correction import mixture_kernels, mixture_table
from honestbayes.correction.event import Event
from honestbayes.correction.mixture_table import MixtureFactor
from honestbayes.selection import DiscardedGroup, Selection, squared_correlation

MATTERS = 50.0


def table_of(sizes, gamma_squared, n_discarded, n_tied=0, ties="known", interval=(0.0, 1.0), m=1):
    factor = MixtureFactor(sizes, gamma_squared, interval)
    groups = (DiscardedGroup(sizes, n_discarded, n_tied),)
    return mixture_table.build_table(factor, Event(float(gamma_squared) ** 0.5, groups, ties, m))


def held_out(sizes, number, seed=1):
    """Half of the states with labels at random, half anywhere."""
    rng = np.random.default_rng(seed)
    share = rng.uniform(size=number // 2)
    near = np.stack([rng.binomial(n, share) for n in sizes], axis=1)
    anywhere = np.stack([rng.integers(0, n + 1, number - number // 2) for n in sizes], axis=1)
    return np.concatenate([near, anywhere])


def largest_error(table, states, alphas):
    """Largest error of log P(S) at states that are at most 50 below the best at their alpha."""
    exact = table.factor.log_prob(table.event, states, alphas)
    matters = exact > exact.max(axis=0) - MATTERS
    assert matters.mean() > 0.1
    return np.abs(table.log_prob(states, alphas) - exact)[matters].max()


def some_alphas(low, number, seed=2):
    return np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(1e7), number))


CASES = {
    "small": ((6, 9), Fraction(3, 10), 200, 0, "at_most", (0.0, 1.0)),
    "small, ties": ((8, 8), squared_correlation(2, 6, 8, 8), 200, 5, "known", (0.0, 1.0)),
    "small, unknown ties": ((8, 8), squared_correlation(2, 6, 8, 8), 200, 0, "unknown", (0.0, 1.0)),
    "one case of a class": ((1, 30), Fraction(1, 20), 500, 0, "known", (0.0, 1.0)),
    "balanced": ((60, 60), Fraction(3, 40), 9990, 0, "known", (0.0, 1.0)),
    "a million": ((40, 55), Fraction(1, 6), 10**6, 0, "known", (0.0, 1.0)),
    "unbalanced, asymmetrical": ((20, 180), Fraction(0.2447) ** 2, 9990, 0, "known", (0.1, 0.6)),
}


@pytest.mark.slow_cases("unbalanced, asymmetrical")
@pytest.mark.parametrize("name", CASES)
def test_the_table_is_accurate_at_states_and_alphas_between_its_nodes(name):
    sizes, *rest = CASES[name]
    table = table_of(sizes, *rest[:4], interval=rest[4])
    error = largest_error(table, held_out(sizes, 150), some_alphas(0.05, 30))
    assert error < 2e-4
    assert table.max_error < 1e-3
    assert table.accurate_from() == pytest.approx(0.05, rel=0.01)


@pytest.mark.parametrize("name", ["small", "small, ties", "small, unknown ties", "a million"])
def test_where_all_states_are_nodes_the_table_is_exact_at_nodes_of_alpha(name):
    sizes, *rest = CASES[name]
    table = table_of(sizes, *rest[:4], interval=rest[4])
    states = held_out(sizes, 40)
    exact = table.factor.log_prob(table.event, states, table.alphas)
    np.testing.assert_allclose(table.log_prob(states, table.alphas), exact, rtol=1e-10)


@pytest.fixture
def few_nodes(monkeypatch):
    """Interpolate over labels in small samples too."""
    monkeypatch.setattr(mixture_table, "_CHEAP", 0.0)
    monkeypatch.setattr(mixture_table, "_ACCURATE_FROM", 20.0)


@pytest.mark.usefixtures("few_nodes")
def test_a_table_on_part_of_the_states_is_accurate_from_the_alpha_that_it_states():
    table = table_of((70, 90), Fraction(1, 15), 9990)
    assert table.nodes0.size < 40
    assert table.nodes1.size < 40
    bound = table.accurate_from()
    assert 1.0 < bound <= 20.0
    assert largest_error(table, held_out((70, 90), 300), some_alphas(bound, 30)) < 1e-3
    below = np.array([bound / 30])
    assert largest_error(table, held_out((70, 90), 300), below) > 1e-3


@pytest.mark.slow
def test_nodes_are_added_until_the_table_is_accurate(monkeypatch):
    monkeypatch.setattr(mixture_table, "_CHEAP", 0.0)
    monkeypatch.setattr(mixture_table, "_NODES_NEEDED", 3.0)
    table = table_of((50, 60), Fraction(1, 12), 9990)
    assert table.nodes0.size > 3.0 * (110 / 5) ** 0.5
    assert table.accurate_from() <= 5.0


def test_too_many_nodes_are_not_added_and_chains_that_go_there_are_warned_of(monkeypatch):
    monkeypatch.setattr(mixture_table, "_CHEAP", 0.0)
    monkeypatch.setattr(mixture_table, "_AFFORDABLE", 0.0)
    table = table_of((50, 60), Fraction(1, 12), 9990)
    assert table.nodes0.size == 20
    assert table.accurate_from() > 5.0
    assert table.max_error > 1e-3
    with pytest.warns(UserWarning, match="1 of 2 draws of alpha are below"):
        table.warn_if_visited(np.array([1.0, 1e4]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table.warn_if_visited(np.array([1e3, 1e4]))


@pytest.mark.parametrize(("n", "size"), [(5, 20), (30, 20), (100, 36), (101, 36), (500, 60)])
def test_nodes_are_distinct_integers_that_look_the_same_from_both_ends(n, size):
    nodes = mixture_table._nodes(n, size)
    assert nodes[0] == 0
    assert nodes[-1] == n
    assert np.all(np.diff(nodes) > 0)
    np.testing.assert_array_equal(n - nodes[::-1], nodes)


def test_values_between_nodes_reproduce_polynomials():
    nodes = mixture_table._nodes(200, 30)
    x = np.arange(201) / 100 - 1
    values = [
        row[1:] @ x[nodes[int(row[0]) : int(row[0]) + row.size - 1]] ** 7
        for row in mixture_table._stencils(200, nodes)
    ]
    np.testing.assert_allclose(values, x**7, atol=1e-12)


def test_an_infinite_alpha_is_a_node():
    table = table_of((10, 12), Fraction(1, 5), 300)
    states = held_out((10, 12), 20)
    huge = table.factor.log_prob(table.event, states, np.array([1e15]))
    np.testing.assert_allclose(table.log_prob(states, np.array([np.inf])), huge, rtol=1e-10)


def test_below_its_smallest_alpha_the_table_goes_on_as_p_kept_does():
    table = table_of((50, 60), Fraction(1, 12), 300)
    states, alphas = held_out((50, 60), 60), np.array([0.04, 0.01, 1e-3])
    exact = table.factor.log_prob(table.event, states, alphas)
    got = table.log_prob(states, alphas)
    assert np.all(np.abs(np.log(got / exact))[:, 0] < 0.02)
    assert np.all(np.abs(np.log(got / exact)) < 1.0)
    assert np.all(np.isfinite(table.log_prob(states, np.array([1e-300]))))


@pytest.mark.usefixtures("few_nodes")
def test_swapping_the_names_of_the_components_changes_nothing():
    table = table_of((50, 60), Fraction(1, 12), 9990)
    assert table.nodes0.size < 51
    states, alphas = held_out((50, 60), 100), some_alphas(0.05, 10)
    swapped = table.log_prob(np.array([50, 60]) - states, alphas)
    np.testing.assert_allclose(table.log_prob(states, alphas), swapped, rtol=1e-9)


# --------------------------------------------------------------------------------------- kernels


@njit(nogil=True)
def walk(table, work, states, log_alphas, out):
    """Do what a sampler does: at each alpha look up states, going back and forth."""
    for t in range(log_alphas.size):
        mixture_kernels.prepare(table, work, log_alphas[t])
        for _ in range(2):
            for s in range(states.shape[0]):
                out[s, t] = mixture_kernels.log_selection(table, work, states[s, 0], states[s, 1])


@pytest.mark.slow_cases("all_nodes")
@pytest.mark.parametrize("nodes", ["all_nodes", "few_nodes"])
def test_look_ups_equal_the_table(nodes, request):
    if nodes == "few_nodes":
        request.getfixturevalue("few_nodes")
    table = table_of((70, 90), Fraction(1, 12), 9990)
    assert (table.nodes0.size == 71) == (nodes == "all_nodes")
    # States 64 apart share a slot.
    states = np.concatenate([held_out((70, 90), 60), [[1, 2], [65, 2], [1, 66], [65, 66], [1, 2]]])
    alphas = some_alphas(0.02, 20)
    work = mixture_kernels.chain_work(table.arrays)
    out = np.empty((states.shape[0], alphas.size))
    walk(table.arrays, work, states, np.log(alphas), out)
    np.testing.assert_allclose(out, table.log_prob(states, alphas), rtol=1e-11)


def test_an_alpha_that_comes_back_has_the_same_values():
    table = table_of((8, 8), Fraction(1, 5), 100).arrays
    work = mixture_kernels.chain_work(table)
    values = []
    for log_alpha in (1.0, 3.0, 1.0):
        mixture_kernels.prepare(table, work, log_alpha)
        values.append(mixture_kernels.log_selection(table, work, 3, 5))
    assert values[0] == values[2]
    assert values[0] != values[1]


# ---------------------------------------------------------------------------- selections as a whole


def selection(sizes, rule="top", gamma_squared=Fraction(1, 5), groups=None, **changes):
    groups = (DiscardedGroup(sizes, 50, 2),) if groups is None else groups
    n_features = 3 + sum(group.n_discarded for group in groups)
    return Selection(rule, gamma_squared, (0, 1, 2), (), n_features, sizes, groups, 1, **changes)


def test_a_selection_becomes_the_event_that_its_rule_says():
    gamma_squared = squared_correlation(2, 6, 8, 8)
    states, alphas = held_out((8, 8), 30), np.array([0.7, 20.0])
    for changes, ties in (
        ({}, "known"),
        ({"ties_known": False}, "unknown"),
        ({"rule": "threshold"}, "at_most"),
    ):
        got = mixture_table.mixture_table(selection((8, 8), gamma_squared=gamma_squared, **changes))
        expected = table_of((8, 8), gamma_squared, 50, 2, ties)
        np.testing.assert_array_equal(
            got.log_prob(states, alphas), expected.log_prob(states, alphas)
        )


@pytest.mark.parametrize(
    "chosen",
    [
        selection((8, 8), "all", groups=()),
        selection((8, 8), "threshold", Fraction(1), (DiscardedGroup((8, 8), 50),)),
    ],
    ids=["nothing discarded", "nothing could be kept"],
)
def test_an_event_that_is_certain_says_nothing(chosen):
    table = mixture_table.mixture_table(chosen)
    states = held_out((8, 8), 10)
    np.testing.assert_array_equal(table.log_prob(states, np.array([0.1, 1e3])), 0.0)
    assert table.max_error == 0.0
    work = mixture_kernels.chain_work(table.arrays)
    mixture_kernels.prepare(table.arrays, work, 1.0)
    assert mixture_kernels.log_selection(table.arrays, work, 8, 0) == 0.0


def test_an_impossible_event_is_refused():
    with pytest.raises(ValueError, match="probability 0"):
        table_of((8, 8), Fraction(0), 10, 9)


@pytest.mark.parametrize(
    "chosen",
    [
        selection((8, 8), groups=(DiscardedGroup((8, 7), 50),)),
        selection((5, 5, 6), groups=(DiscardedGroup((5, 5, 6), 50),)),
    ],
    ids=["missing cells", "three classes"],
)
def test_missing_cells_and_several_classes_are_refused(chosen):
    with pytest.raises(ValueError, match="two classes"):
        mixture_table.mixture_table(chosen)


def test_strong_features_do_not_make_the_event_certain():
    """At a large alpha nothing is beyond the bound, to rounding; at a small one much is."""
    factor = MixtureFactor((100, 100), Fraction(7, 10))
    event = Event(float(np.sqrt(0.7)), (DiscardedGroup((100, 100), 5000),))
    table = mixture_table.build_table(factor, event)
    states = np.array([[0, 100], [5, 95], [50, 50], [0, 0]])
    alphas = np.array([0.5, 1.0, 5.0, 20.0, 1e4])
    exact = factor.log_prob(event, states, alphas)
    assert exact.min() < -100
    assert exact.max() > -1e-6
    np.testing.assert_allclose(table.log_prob(states, alphas), exact, atol=1e-3)
