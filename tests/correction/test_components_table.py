"""P(S) of K components and C classes: exact against all columns, approximate against exact."""

from fractions import Fraction

import numpy as np
import pytest
from grids import slow
from oracles_components import beyond_and_tied, strength

from honestbayes.correction import components_table
from honestbayes.correction.components_table import ComponentsFactor, build_surface, can_be_built
from honestbayes.correction.event import Event
from honestbayes.correction.mixture_table import MixtureFactor
from honestbayes.selection import DiscardedGroup

CASES = [
    ((4, 4), [[2, 1], [1, 2], [1, 1]], Fraction(1, 4)),
    ((5, 4), [[3, 0], [1, 2], [1, 2]], Fraction(3, 10)),
    ((5, 4), [[5, 0], [0, 4], [0, 0]], Fraction(9, 80)),
    ((3, 3, 3), [[2, 1, 0], [1, 1, 1], [0, 1, 2]], Fraction(35, 100)),
    ((2, 3, 4), [[1, 0, 3], [1, 2, 0], [0, 1, 1]], Fraction(1, 5)),
    ((2, 2, 2, 2), [[1, 1, 0, 2], [1, 0, 1, 0], [0, 1, 1, 0]], Fraction(2, 5)),
    ((4, 4), [[1, 1], [1, 1], [1, 2], [1, 0]], Fraction(1, 4)),
]


def strength_that_occurs(counts):
    """The strength of some column, so that there are ties."""
    ones = [0, *(n // 2 for n in counts[1:-1]), counts[-1]]
    cells = [np.arange(n) < i for n, i in zip(counts, ones, strict=True)]
    y = np.repeat(np.arange(len(counts)), counts)
    return Fraction(strength(np.concatenate(cells).astype(int).tolist(), y, len(counts)))


@pytest.mark.parametrize(("counts", "table", "bound"), CASES)
@pytest.mark.parametrize("tied", [False, True])
def test_probabilities_are_sums_over_all_columns(counts, table, bound, tied):
    table = np.array(table)
    bound = strength_that_occurs(counts) if tied else bound
    factor = ComponentsFactor(counts, bound)
    alphas = np.array([0.05, 0.7, 5.0, 60.0, 1e6])
    found = np.array(factor.probabilities(table, alphas))
    exact = beyond_and_tied(table, counts, alphas, bound)
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-12)
    assert not tied or found[1].max() > 1e-4


def test_components_and_alike_classes_may_swap_names():
    factor = ComponentsFactor((4, 4, 5), Fraction(1, 4))
    table, alphas = np.array([[3, 1, 0], [1, 2, 4], [0, 1, 1]]), np.array([0.5, 20.0])
    first = factor.probabilities(table, alphas)
    np.testing.assert_allclose(first, factor.probabilities(table[[2, 0, 1]], alphas), rtol=1e-12)
    swapped = np.ascontiguousarray(table[:, [1, 0, 2]])
    np.testing.assert_allclose(first, factor.probabilities(swapped, alphas), rtol=1e-12)


def test_two_components_agree_with_their_own_sums_at_two_hundred_cases():
    counts, bound = (120, 80), Fraction(6, 100)
    states = np.array([[60, 40], [90, 20], [3, 2]])
    alphas = np.array([2.0, 20.0, 300.0])
    known, _ = MixtureFactor(counts, bound).probabilities(states, alphas)
    factor = ComponentsFactor(counts, bound)
    for state, exact in zip(states, known, strict=True):
        table = np.stack([np.array(counts) - state, state])
        np.testing.assert_allclose(factor.probabilities(table, alphas)[0], exact, rtol=2e-3)
    finer = ComponentsFactor(counts, bound, nodes=5.0)
    table = np.stack([np.array(counts) - states[1], states[1]])
    np.testing.assert_allclose(finer.probabilities(table, alphas)[0], known[1], rtol=1e-7)


def event_of(counts, bound, n_discarded=1000, ties="unknown"):
    return Event(float(bound) ** 0.5, (DiscardedGroup(counts, n_discarded),), ties, 1)


@pytest.mark.parametrize("ties", ["unknown", "at_most", "known"])
def test_few_tables_are_all_held_and_exact(ties):
    counts, bound = (4, 3), Fraction(1, 4)
    event = event_of(counts, bound, 100, ties)
    factor = ComponentsFactor(counts, bound)
    surface = build_surface(factor, event, 3, np.ones(3))
    assert surface.arrays.exact.shape[0] == 5**2 * 4**2
    rng = np.random.default_rng(0)
    tables = np.stack([rng.multinomial(n, np.full(3, 1 / 3), 20) for n in counts], axis=2)
    alphas = np.exp(rng.uniform(0.0, 7.0, 20))
    exact = [
        factor.log_prob(event, t, np.array([a]))[0] for t, a in zip(tables, alphas, strict=True)
    ]
    np.testing.assert_allclose(surface.log_prob(tables, alphas), exact, atol=1e-3, rtol=1e-5)


def draws_like(counts, centre, alpha, rng, number=40):
    """Tables and alphas like those of a chain: around a centre, at alphas around one."""
    tables = np.stack(
        [rng.multinomial(n, p, number) for n, p in zip(counts, centre, strict=True)], axis=2
    )
    return tables, np.exp(rng.normal(np.log(alpha), 0.3, number))


PILOTS = [
    ((30, 30), [[0.6, 0.3, 0.1], [0.2, 0.4, 0.4]], 15.0, 0.05),
    slow((12, 14, 16), [[0.6, 0.2, 0.2], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]], 40.0, 0.05),
    slow((60, 40), [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]], 20.0, 0.05),
    # At so low an alpha labels hardly vary in chains: these tables are harder than theirs.
    slow((12, 14, 16), [[0.6, 0.2, 0.2], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]], 8.0, 0.15),
    slow((60, 40), [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]], 5.0, 0.15),
]


@pytest.mark.parametrize(("counts", "centre", "alpha", "limit"), PILOTS)
def test_differences_of_log_p_are_accurate_where_chains_go(counts, centre, alpha, limit):
    bound, rng = Fraction(16, 100), np.random.default_rng(1)
    event, factor = event_of(counts, bound), ComponentsFactor(counts, bound)
    surface = build_surface(
        factor, event, 3, np.ones(3), lambda _: draws_like(counts, centre, alpha, rng)
    )
    tables, alphas = draws_like(counts, centre, alpha, rng, 60)
    exact = np.array(
        [factor.log_prob(event, t, np.array([a]))[0] for t, a in zip(tables, alphas, strict=True)]
    )
    error = surface.log_prob(tables, alphas) - exact
    assert np.std(exact) > 0.25
    assert np.sqrt(2) * np.std(error) < limit
    assert surface.error(tables, alphas) == pytest.approx(np.sqrt(2) * np.std(error), rel=1e-6)
    swapped = surface.log_prob(tables[:, [1, 2, 0]], alphas)
    np.testing.assert_allclose(swapped, surface.log_prob(tables, alphas), rtol=1e-9)


def test_a_poor_approximation_is_warned_of(monkeypatch):
    counts, bound, rng = (30, 30), Fraction(16, 100), np.random.default_rng(2)
    monkeypatch.setattr(components_table, "_FEWEST", 5)
    monkeypatch.setattr(components_table, "_DESIGN", 0.1)
    surface = build_surface(ComponentsFactor(counts, bound), event_of(counts, bound), 3, np.ones(3))
    draws = draws_like(counts, [[0.6, 0.3, 0.1], [0.2, 0.4, 0.4]], 15.0, rng)
    with pytest.warns(UserWarning, match="approximated with a root mean square error of"):
        surface.warn_if_wrong(*draws)


def test_an_event_that_is_certain_costs_nothing():
    factor = ComponentsFactor((5, 5), Fraction(1, 4))
    nothing = build_surface(factor, Event(0.5, ()), 3, np.ones(3))
    assert nothing.certain
    table = np.array([[[2, 2], [2, 2], [1, 1]]])
    assert nothing.log_prob(table, np.array([3.0])) == 0
    assert nothing.error(table, np.array([3.0])) == 0


def test_an_impossible_event_is_refused():
    factor = ComponentsFactor((5, 4), Fraction(1, 999))
    event = Event(0.03, (DiscardedGroup((5, 4), 10, 3),), "known", 1)
    with pytest.raises(ValueError, match="the selection has probability 0"):
        build_surface(factor, event, 3, np.ones(3))


def test_what_takes_too_long_is_known_beforehand():
    bound = Fraction(1, 10)
    assert can_be_built(ComponentsFactor((100, 100), bound), 3)
    assert can_be_built(ComponentsFactor((60, 60, 60), bound), 3)
    assert not can_be_built(ComponentsFactor((200, 200, 200), bound), 3)
    assert not can_be_built(ComponentsFactor((100, 100), bound), 6)
    with pytest.raises(ValueError, match="would take too long"):
        build_surface(
            ComponentsFactor((100, 100), bound), event_of((100, 100), bound), 6, np.ones(6)
        )
