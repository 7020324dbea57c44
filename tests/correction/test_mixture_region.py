"""P(S | labels, alpha) of the mixture by other criteria, against all 2^n columns."""

import dataclasses
import re
import types
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import oracles
import oracles_mixture
import pytest

import honestbayes.correction
from honestbayes.correction import discard, mixture_kernels
from honestbayes.correction.event import Event
from honestbayes.correction.mixture_table import MixtureFactor, MixtureRegion, build_table
from honestbayes.likelihood.quadrature import theta_rule
from honestbayes.selection import DiscardedGroup
from honestbayes.selection.criteria import CRITERIA, as_criterion

ALPHAS = [1e-3, 0.5, 10.0, 300.0, 1e9]
INTERVALS = [(0.0, 1.0), (0.2, 0.8), (0.1, 0.5)]
EQUAL = (0, 0, 0, 0, 0, 1, 1, 1, 1, 1)
UNEQUAL = (0, 0, 0, 1, 1, 1, 1, 1, 1)
LABELS = {
    EQUAL: [
        (0,) * 10,
        EQUAL,
        (0, 0, 0, 1, 0, 0, 1, 1, 0, 0),
        (1, 1, 1, 1, 0, 0, 0, 1, 0, 0),
        (1, 0, 1, 0, 1, 0, 1, 0, 1, 0),
        (1, 1, 1, 0, 0, 1, 0, 0, 0, 0),
    ],
    UNEQUAL: [UNEQUAL, (1, 0, 0, 0, 0, 0, 0, 0, 0), (1, 0, 1, 0, 1, 0, 1, 0, 1)],
}


def difference(column, y):
    return column[y == 1].mean() - column[y == 0].mean()


def chi2_of_ones(column, y):
    """Return what `sklearn.feature_selection.chi2` does: a statistic of the ones alone."""
    expected = column.sum() * np.bincount(y) / y.size
    ones = np.bincount(y, weights=column)
    return float(((ones - expected) ** 2 / expected).sum()) if column.any() else 0.0


def remainder(column, y):
    return (3 * column[y == 0].sum() + 5 * column[y == 1].sum()) % 7


PACKAGE = {
    "mutual_information": "mutual_information",
    "difference": difference,
    "chi2_of_ones": chi2_of_ones,
    "remainder": remainder,
}
ORACLE = {
    "mutual_information": oracles_mixture.information_of_column,
    "difference": oracles_mixture.difference_of_column,
    "chi2_of_ones": oracles_mixture.chi_square_of_ones,
    "remainder": oracles_mixture.remainder_of_column,
}


def bound_of(name, exact, n):
    """A bound of the oracle in the unit of the criterion."""
    return float(np.log(float(exact)) / n) if name == "mutual_information" else float(exact)


def region_of(name, sizes, bound):
    criterion = as_criterion(PACKAGE.get(name, name))
    return MixtureRegion.of_counts(discard.region_by_criterion(*sizes, criterion, bound))


def state(z, y):
    """Return (a, b)."""
    pairs = list(zip(z, y, strict=True))
    return np.array([[pairs.count((1, 0)), pairs.count((1, 1))]])


def bounds(name, y):
    """A small, a middle and a large strength that columns attain, and one that none does."""
    attained = sorted({ORACLE[name](x, y) for x in np.ndindex((2,) * len(y))})
    three = [attained[int(share * (len(attained) - 1))] for share in (0.3, 0.6, 0.9)]
    return [*three, (three[1] + attained[attained.index(three[1]) + 1]) / 2]


def distance(name, z, y, exact_bound, interval=(0.0, 1.0), where=None, alphas=ALPHAS):
    """Largest error of the log probabilities of being below, tied and beyond."""
    sizes = (y.count(0), y.count(1))
    if where is None:
        where = region_of(name, sizes, bound_of(name, exact_bound, len(y)))
    factor = MixtureFactor(sizes, Fraction(0), interval, where)
    beyond, tied = factor.probabilities(state(z, y), np.array(alphas))
    worst = 0.0
    for t, alpha in enumerate(alphas):
        exact = oracles_mixture.exact_probabilities(
            z, y, Fraction(alpha), *map(Fraction, interval), exact_bound, ORACLE[name]
        )
        found = (1.0 - beyond[0, t] - tied[0, t], tied[0, t], beyond[0, t])
        for got, wanted in zip(found, exact, strict=True):
            if wanted == 0:
                worst = max(worst, abs(got))
            else:
                worst = max(worst, abs(np.log(max(got, 1e-300)) - oracles.exact_log(wanted)))
    return worst


@pytest.mark.parametrize("y", LABELS, ids=["classes of 5 and 5", "classes of 3 and 6"])
@pytest.mark.parametrize("name", ORACLE)
def test_probabilities_agree_with_all_columns(name, y):
    for z in LABELS[y]:
        for bound in bounds(name, y):
            assert distance(name, z, y, bound) < 1e-9, (z, bound)


@pytest.mark.parametrize("interval", INTERVALS[1:])
@pytest.mark.parametrize("name", ORACLE)
def test_they_agree_for_other_bounds_of_theta(name, interval):
    for y, labels in LABELS.items():
        bound = bounds(name, y)[1]
        assert distance(name, labels[-1], y, bound, interval) < 1e-9


@pytest.mark.parametrize(("ties", "m"), [("known", 1), ("at_most", 1), ("unknown", 2)])
@pytest.mark.parametrize("name", ORACLE)
def test_the_event_agrees_in_every_treatment_of_ties(name, ties, m):
    y, bound = UNEQUAL, bounds(name, UNEQUAL)[1]
    where = region_of(name, (3, 6), bound_of(name, bound, 9))
    event = Event(0.0, (DiscardedGroup((3, 6), 12, 3),), ties, m)
    factor = MixtureFactor((3, 6), Fraction(0), (0.0, 1.0), where)
    for z in LABELS[y]:
        got = factor.log_prob(event, state(z, y), np.array(ALPHAS))
        for t, alpha in enumerate(ALPHAS):
            below, equal, _ = oracles_mixture.exact_probabilities(
                z, y, Fraction(alpha), Fraction(0), Fraction(1), bound, ORACLE[name]
            )
            exact = oracles_mixture.exact_log_prob(below, equal, 12, 3, ties, m)
            assert got[0, t] == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_a_bound_that_nothing_is_below_leaves_ties_alone():
    where = region_of("mutual_information", (3, 6), 0.0)
    beyond, tied = MixtureFactor((3, 6), Fraction(0), where=where).probabilities(
        np.array([[1, 2]]), np.array([2.0])
    )
    assert where.never_below
    assert beyond + tied == pytest.approx(1, abs=1e-14)


def hypergeometric(m, i, zeros, ones):
    """P(i of m ones are in class 1), as a fraction; the component has these cases of both."""
    possible = 0 <= i <= min(m, ones) and m - i <= zeros
    return Fraction(comb(ones, i) * comb(zeros, m - i), comb(zeros + ones, m)) if possible else 0


@pytest.mark.parametrize("cells", [[(20, 79)], [(79, 20), (78, 21)], [(49, 51), (50, 50)]], ids=str)
def test_a_few_counts_in_the_tails_keep_their_digits(cells):
    n0, n1, a, b = 100, 100, 45, 50
    mask = np.zeros((n0 + 1, n1 + 1), dtype=bool)
    mask[tuple(zip(*cells, strict=True))] = True
    where = MixtureRegion.of_counts(discard.CountRegion(mask, np.zeros_like(mask)))
    found, _ = where.given_ones(a, b)
    s = sum(cells[0])
    for m0 in range(max(0, s - a - b), min(s, n0 + n1 - a - b) + 1, 3):
        exact = sum(
            hypergeometric(m0, i, n0 - a, n1 - b) * hypergeometric(s - m0, i1 - i, a, b)
            for _, i1 in cells
            for i in range(m0 + 1)
        )
        if exact > 1e-30:
            assert found[m0, s - m0] == pytest.approx(float(exact), rel=1e-10, abs=0)


# ------------------------------------------------------------------------------------- symmetries


def test_symmetries_are_those_of_the_criterion():
    information = region_of("mutual_information", (8, 8), 0.1)
    assert information.first_beyond is not None
    assert information.swaps_zeros_and_ones
    assert information.swaps_classes
    assert not region_of("mutual_information", (8, 9), 0.1).swaps_classes
    for name, bound in (("difference", 0.3), ("chi2_of_ones", 2.0), ("remainder", 4.0)):
        where = region_of(name, (8, 8), bound)
        assert where.first_beyond is None
        assert not where.swaps_zeros_and_ones
    assert region_of("chi2_of_ones", (8, 8), 2.0).swaps_classes
    assert not region_of("difference", (8, 8), 0.3).swaps_classes


@pytest.mark.parametrize("name", ["correlation", "f", "t", "chi2"])
@pytest.mark.parametrize("sizes", [(13, 20), (16, 16)], ids=str)
def test_the_region_of_the_correlation_gives_the_factor_of_the_correlation(name, sizes):
    n0, n1 = sizes
    gamma_squared = oracles.squared_correlation_of_counts(n0 // 3, 2 * n1 // 3, *sizes)
    table = np.array([[[n0 - n0 // 3, n0 // 3], [n1 - 2 * n1 // 3, 2 * n1 // 3]]])
    bound = CRITERIA[name].from_tables(table)[0]
    where = region_of(name, sizes, float(bound))
    assert where.first_beyond is not None
    states = np.array([(a, b) for a in range(0, n0 + 1, 3) for b in range(0, n1 + 1, 4)])
    alphas = np.array([0.2, 3.0, 80.0, 1e7])
    expected = MixtureFactor(sizes, gamma_squared, (0.0, 1.0)).probabilities(states, alphas)
    any_form = dataclasses.replace(where, first_beyond=None)
    for region in (where, any_form):
        found = MixtureFactor(sizes, Fraction(0), (0.0, 1.0), region).probabilities(states, alphas)
        np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("name", ORACLE)
@pytest.mark.parametrize("sizes", [(30, 55), (120, 90)], ids=str)
def test_labels_equal_to_the_classes_give_the_factor_of_naive_bayes(name, sizes):
    n0, n1 = sizes
    criterion = as_criterion(PACKAGE[name])
    column = np.repeat([1, 0, 1, 0], [n0 // 3, n0 - n0 // 3, n1 // 2, n1 - n1 // 2])
    y = np.repeat([0, 1], sizes)
    bound = float(criterion.strengths(column[None], y)[0])
    counts = discard.region_by_criterion(n0, n1, criterion, bound)
    factor = MixtureFactor(sizes, Fraction(0), (0.1, 0.8), MixtureRegion.of_counts(counts))
    alphas = np.array([0.01, 1.0, 30.0, 1e3, 1e8])
    beyond, tied = factor.probabilities(np.array([(0, n1), (n0, 0)]), alphas)
    for t, alpha in enumerate(alphas):
        rule = theta_rule(n0 + n1, alpha, (0.1, 0.8))
        expected = discard.region_probabilities(alpha, counts, rule)
        for s in range(2):
            assert (beyond[s, t], tied[s, t]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["mutual_information", "difference", "chi2_of_ones"])
def test_the_table_is_accurate_between_its_nodes(name):
    sizes = (25, 40)
    bound = {"mutual_information": 0.08, "difference": 0.35, "chi2_of_ones": 5.0}[name]
    factor = MixtureFactor(sizes, Fraction(0), (0.0, 1.0), region_of(name, sizes, bound))
    event = Event(bound, (DiscardedGroup(sizes, 500),))
    table = build_table(factor, event)
    rng = np.random.default_rng(1)
    states = np.stack([rng.integers(0, n + 1, 60) for n in sizes], axis=1)
    alphas = np.exp(rng.uniform(np.log(0.05), np.log(1e7), 25))
    exact = factor.log_prob(event, states, alphas)
    matters = exact > exact.max(axis=0) - 50
    assert np.abs(table.log_prob(states, alphas) - exact)[matters].max() < 5e-4


# ------------------------------------------------------------------------------- planted mistakes


def worst_of(name, change):
    """Largest distance from all columns, over labels, once a region is changed."""
    worst = 0.0
    for y, labels in LABELS.items():
        sizes, bound = (y.count(0), y.count(1)), bounds(name, y)[1]
        where = change(region_of(name, sizes, bound_of(name, bound, len(y))))
        for z in labels:
            worst = max(worst, distance(name, z, y, bound, where=where, alphas=[2.0]))
    return worst


def without_ties(where):
    """`>=` for `>`: what attains the bound counts as beyond it."""
    none = (np.zeros_like(where.tied[0]), where.tied[1][:0], where.tied[2][:0])
    return dataclasses.replace(where, tied=none)


def one_too_few(where):
    run, first, stop = where.beyond
    return dataclasses.replace(where, beyond=(run, first, stop - 1), first_beyond=None)


MISTAKES = {
    "ties count as below": (without_ties, ORACLE),
    "runs end one early": (one_too_few, ORACLE),
    "zeros and ones are taken for alike": (
        lambda where: dataclasses.replace(where, swaps_zeros_and_ones=True),
        ["difference", "chi2_of_ones", "remainder"],
    ),
    "classes are taken for alike": (
        lambda where: dataclasses.replace(where, swaps_classes=len(set(where.class_counts)) == 1),
        ["remainder"],  # a difference changes its sign with either swap, so both leave it alone
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_mistake_is_noticed(mistake):
    change, names = MISTAKES[mistake]
    for name in names:
        assert worst_of(name, lambda where: where) < 1e-9
        assert worst_of(name, change) > 1e-3, name


SOURCE = Path(mixture_kernels.__file__).read_text(encoding="utf-8")
IN_THE_KERNEL = {
    "a run begins one late": ("max(first[r] - i, low)", "max(first[r] - i + 1, low)"),
    "a run ends one late": ("min(stop[r] - i, high + 1)", "min(stop[r] - i + 1, high + 1)"),
    "the ones of component 0 alone choose the runs": (
        "range(run[m0 + m1], run[m0 + m1 + 1])",
        "range(run[m0], run[m0 + 1])",
    ),
    "the lower tail is not summed": ("fewer[m, k] + rows[m, k]", "rows[m, k]"),
    "the upper tail includes one more": (
        "more[m, k + 1] + rows[m, k]",
        "more[m, k + 1] + rows[m, k - 1]",
    ),
    "only the last run counts": ("total += rows0[m0, i] * inside", "total = rows0[m0, i] * inside"),
}


def plain_kernels(old, new):
    """The kernels without compilation, with one line changed."""
    text = re.sub(r"(?m)^@kernel.*\n", "", SOURCE)
    assert text.count(old) == 1
    module = types.ModuleType("honestbayes.correction.mixture_kernels")
    exec(compile(text.replace(old, new), "mixture_kernels.py", "exec"), module.__dict__)
    return module


def worst_of_plain(monkeypatch, old, new):
    kernels = plain_kernels(old, new)
    monkeypatch.setattr(honestbayes.correction, "mixture_kernels", kernels)
    found = 0.0
    for name in ("difference", "chi2_of_ones", "remainder"):
        z, bound = LABELS[UNEQUAL][2], bounds(name, UNEQUAL)[1]
        found = max(found, distance(name, z, UNEQUAL, bound, alphas=[2.0]))
    return found


@pytest.mark.parametrize("name", IN_THE_KERNEL)
def test_a_mistake_in_the_kernel_is_noticed(name, monkeypatch):
    assert worst_of_plain(monkeypatch, "run: IntArray,", "run: IntArray,") < 1e-9
    assert worst_of_plain(monkeypatch, *IN_THE_KERNEL[name]) > 1e-3
