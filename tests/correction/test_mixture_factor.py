"""P(S | labels, alpha) of the mixture against all 2^n columns in rational arithmetic."""

from fractions import Fraction

import numpy as np
import oracles
import oracles_mixture
import pytest

from honestbayes.correction import discard
from honestbayes.correction.event import Event
from honestbayes.correction.mixture_table import MixtureFactor
from honestbayes.likelihood.quadrature import theta_rule
from honestbayes.selection import DiscardedGroup

ALPHAS = [1e-3, 0.5, 10.0, 300.0, 1e5, 1e9]
INTERVALS = [(0.0, 1.0), (0.2, 0.8), (0.1, 0.5)]
Y = (0, 0, 0, 0, 1, 1, 1, 1, 1)
LABELS = {
    "one component": (0,) * 9,
    "the classes": Y,
    "the classes, swapped": tuple(1 - y for y in Y),
    "one case alone": (0, 0, 0, 0, 0, 0, 0, 1, 0),
    "across the classes": (1, 0, 1, 0, 1, 0, 1, 0, 1),
    "uneven": (1, 1, 1, 0, 1, 0, 0, 0, 0),
}
GAMMAS = [Fraction(0), Fraction(1, 10), Fraction(0.3) ** 2, Fraction(3, 10), Fraction(1)]


def state(z, y):
    """Return (a, b)."""
    pairs = list(zip(z, y, strict=True))
    return np.array([[pairs.count((1, 0)), pairs.count((1, 1))]])


def distances(z, y, gamma_squared, interval, alphas=ALPHAS):
    """Largest absolute error, and largest relative error of P(kept) and P(tied)."""
    factor = MixtureFactor((y.count(0), y.count(1)), gamma_squared, interval)
    beyond, tied = factor.probabilities(state(z, y), np.array(alphas))
    absolute, relative = 0.0, 0.0
    for t, alpha in enumerate(alphas):
        below, equal, above = oracles_mixture.exact_probabilities(
            z, y, Fraction(alpha), *map(Fraction, interval), gamma_squared
        )
        absolute = max(absolute, abs(1.0 - beyond[0, t] - tied[0, t] - float(below)))
        for got, exact in ((beyond[0, t], above), (tied[0, t], equal)):
            absolute = max(absolute, abs(got - float(exact)))
            relative = max(relative, abs(got / float(exact) - 1.0) if exact else abs(got))
    return absolute, relative


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("name", LABELS)
def test_probabilities_agree_with_all_columns(name, interval):
    for gamma_squared in GAMMAS:
        absolute, relative = distances(LABELS[name], Y, gamma_squared, interval)
        assert absolute < 1e-12, gamma_squared
        assert relative < 1e-9, gamma_squared


@pytest.mark.parametrize(
    ("z", "y"),
    [
        ((0, 1), (0, 1)),
        ((1, 1), (0, 1)),
        ((1, 0, 1), (0, 1, 1)),
        ((0, 0, 1, 1), (0, 1, 1, 1)),
        ((1, 1, 0, 1, 0, 0), (0, 0, 0, 1, 1, 1)),
        ((1, 1, 0, 1, 1, 1), (0, 0, 0, 1, 1, 1)),
    ],
)
def test_the_smallest_samples_agree_with_all_columns(z, y):
    attained = {value for _, _, value in oracles_mixture.enumerated_columns(z, y)}
    for gamma_squared in attained | {Fraction(1, 7)}:
        absolute, relative = distances(z, y, gamma_squared, (0.0, 1.0))
        assert absolute < 1e-12
        assert relative < 1e-9


def test_each_attained_bound_is_told_apart_from_those_beside_it():
    z = LABELS["across the classes"]
    attained = sorted({value for _, _, value in oracles_mixture.enumerated_columns(z, Y)})
    for gamma_squared in attained:
        _, relative = distances(z, Y, gamma_squared, (0.0, 1.0), [3.0])
        assert relative < 1e-9


@pytest.mark.parametrize(("ties", "m"), [("known", 1), ("at_most", 1), ("unknown", 2)])
def test_the_event_agrees_with_exact_arithmetic_in_every_treatment_of_ties(ties, m):
    gamma_squared, n_tied = Fraction(1, 10), 3
    event = Event(0.1**0.5, (DiscardedGroup((4, 5), 12, n_tied),), ties, m)
    factor = MixtureFactor((4, 5), gamma_squared)
    for z in LABELS.values():
        got = factor.log_prob(event, state(z, Y), np.array(ALPHAS))
        for t, alpha in enumerate(ALPHAS):
            below, equal, _ = oracles_mixture.exact_probabilities(
                z, Y, Fraction(alpha), Fraction(0), Fraction(1), gamma_squared
            )
            exact = oracles_mixture.exact_log_prob(below, equal, 12, n_tied, ties, m)
            assert got[0, t] == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_only_the_numbers_of_labels_in_each_class_matter():
    rng = np.random.default_rng(0)
    z = np.array(LABELS["uneven"])
    values = set()
    for _ in range(4):
        shuffled = np.concatenate([rng.permutation(z[:4]), rng.permutation(z[4:])])
        values.add(
            oracles_mixture.exact_probabilities(
                tuple(shuffled.tolist()), Y, Fraction(7), Fraction(0), Fraction(1), Fraction(1, 10)
            )
        )
    assert len(values) == 1


def test_swapping_the_names_of_the_components_changes_no_digit():
    factor = MixtureFactor(
        (13, 20), oracles.squared_correlation_of_counts(3, 14, 13, 20), (0.1, 0.7)
    )
    states = np.array([(a, b) for a in range(14) for b in range(21)])
    alphas = np.array([0.3, 40.0])
    first = factor.probabilities(states, alphas)
    second = factor.probabilities(np.array([13, 20]) - states, alphas)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("sizes", [(3, 9), (40, 25), (100, 100), (260, 200), (700, 560)], ids=str)
def test_labels_equal_to_the_classes_give_the_factor_of_naive_bayes(sizes):
    n0, n1 = sizes
    gamma_squared = oracles.squared_correlation_of_counts(n0 // 3, 2 * n1 // 3, n0, n1)
    alphas = np.array([0.01, 1.0, 30.0, 1e3, 1e8])
    states = np.array([(0, n1), (n0, 0)])
    beyond, tied = MixtureFactor(sizes, gamma_squared, (0.1, 0.8)).probabilities(states, alphas)
    for t, alpha in enumerate(alphas):
        rule = theta_rule(n0 + n1, alpha, (0.1, 0.8))
        expected = discard.probabilities(alpha, sizes, gamma_squared, rule)
        for s in range(2):
            assert (beyond[s, t], tied[s, t]) == pytest.approx(expected, rel=1e-10)


def test_what_ties_at_a_bound_is_beyond_any_smaller_one():
    sizes = (30, 45)
    gamma_squared = oracles.squared_correlation_of_counts(8, 20, *sizes)
    states = np.array([(a, b) for a in (0, 4, 17, 30) for b in (0, 11, 45)])
    alphas = np.array([0.2, 5.0, 200.0])
    beyond, tied = MixtureFactor(sizes, gamma_squared).probabilities(states, alphas)
    just_below = gamma_squared - Fraction(1, 10**9)
    more, none = MixtureFactor(sizes, just_below).probabilities(states, alphas)
    assert np.all(tied > 0)
    np.testing.assert_array_equal(none, 0.0)
    np.testing.assert_allclose(more, beyond + tied, rtol=1e-12)


def test_an_infinite_alpha_forgets_the_labels():
    n0, n1, gamma = 130, 97, 0.2003
    factor = MixtureFactor((n0, n1), Fraction(gamma) ** 2)
    states = np.array([(0, 0), (0, n1), (60, 50), (130, 20), (1, 0)])
    beyond, _ = factor.probabilities(states, np.array([1e15]))
    expected = oracles_mixture.beyond_without_components(n0, n1, gamma)
    np.testing.assert_allclose(beyond, expected, rtol=1e-9)


def test_alpha_near_0_leaves_columns_that_are_constant_in_each_component():
    factor = MixtureFactor((40, 40), Fraction(1, 25))
    apart, alike = np.array([(5, 30)]), np.array([(20, 20)])
    tiny = np.array([1e-9])
    assert factor.probabilities(apart, tiny)[0][0, 0] == pytest.approx(1 / 3, rel=1e-6)
    assert 0 < factor.probabilities(alike, tiny)[0][0, 0] < 1e-8


def test_two_thousand_cases_are_stable_from_tiny_to_huge_alpha():
    n0, n1, gamma = 900, 1100, 0.0771
    factor = MixtureFactor((n0, n1), Fraction(gamma) ** 2)
    states = np.array([(0, 0), (450, 550), (200, 800), (0, n1)])
    alphas = np.array([1e-3, 1.0, 50.0, 2e3, 1e5, 1e9])
    beyond, _ = factor.probabilities(states, alphas)
    assert np.all((beyond > 0) & (beyond < 1))
    # Labels that go with the class make features go with it the more, the smaller alpha.
    assert np.all(np.diff(beyond[2:, 2:], axis=1) < 0)
    # Labels that are independent of the class never do better than no labels.
    assert np.all(beyond[:2] <= beyond[0, -1] * (1 + 1e-9))
    limit = oracles_mixture.beyond_without_components(n0, n1, gamma)
    np.testing.assert_allclose(beyond[:, -1], limit, rtol=1e-5)
    few = np.array([1.0, 2e3])
    finer, _ = factor.probabilities(states, few, refine=2.0)
    np.testing.assert_allclose(beyond[:, [1, 3]], finer, rtol=1e-10)


def test_many_states_at_once_are_those_one_by_one(monkeypatch):
    factor = MixtureFactor((12, 9), Fraction(1, 16))
    states = np.array([(a, b) for a in range(13) for b in range(10)])
    alphas = np.array([0.4, 3.0, 60.0])
    together = factor.probabilities(states, alphas)[0]
    monkeypatch.setattr("honestbayes.correction.mixture_table._STACKED", 1)
    np.testing.assert_allclose(factor.probabilities(states, alphas)[0], together, rtol=1e-13)


@pytest.mark.parametrize("wrong", [(-1, 0), (0, 6), (5, 0)])
def test_impossible_states_are_refused(wrong):
    with pytest.raises(ValueError, match="number of cases"):
        MixtureFactor((4, 5), Fraction(1, 4)).probabilities(np.array([wrong]), np.ones(1))
