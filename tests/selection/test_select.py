"""Selection by correlation, against a plain version in fractions."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from honestbayes.data import Binarization
from honestbayes.selection import Screening, parse_always_keep, screen, select


def plain_strength(i0, i1, n0, n1):
    """Squared sample correlation of a 0/1 column with the class, from its definition."""
    n = n0 + n1
    if n == 0:
        return Fraction(0)
    mean_x, mean_y = Fraction(i0 + i1, n), Fraction(n1, n)
    covariance = Fraction(i1, n) - mean_x * mean_y
    variance = (mean_x - mean_x**2) * (mean_y - mean_y**2)
    return covariance**2 / variance if variance else Fraction(0)


def make_screening(ones, observed=None, counts=None, names=None):
    ones = np.array(ones, dtype=np.int64)
    p = ones.shape[1]
    if observed is None:
        observed = np.array(counts)[:, None]
    observed = np.array(observed, dtype=np.int64)
    counts = tuple(int(c) for c in (observed.max(axis=1) if counts is None else counts))
    rule = Binarization(np.zeros(p), np.ones(p))
    return Screening(np.array([0, 1]), counts, ones, observed, rule, names)


@st.composite
def screenings(draw, missing):
    n0, n1 = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    p = draw(st.integers(1, 14))
    observed, ones = [], []
    for _ in range(p):
        cases = (n0, n1)
        if missing:
            cases = draw(st.integers(0, n0)), draw(st.integers(0, n1))
        observed.append(cases)
        ones.append([draw(st.integers(0, cases[0])), draw(st.integers(0, cases[1]))])
    full = np.array(observed).T
    return make_screening(np.array(ones).T, full if missing else None, (n0, n1))


def strengths(screening):
    observed = screening.observed_full()
    return [
        plain_strength(*(int(v) for v in (*screening.ones[:, j], *observed[:, j])))
        for j in range(screening.n_features)
    ]


def plain_groups(screening, lost, tied):
    observed = screening.observed_full()
    sizes, ties = Counter(), Counter()
    for j in lost:
        cases = tuple(int(v) for v in observed[:, j])
        sizes[cases] += 1
        ties[cases] += j in tied
    return {cases: (sizes[cases], ties[cases]) for cases in sizes}


def groups_of(selection):
    return {group.observed: (group.n_discarded, group.n_tied) for group in selection.groups}


@settings(deadline=None, derandomize=True)
@given(st.data(), st.booleans(), st.integers(0, 2**32 - 1))
def test_the_strongest_are_kept_and_the_record_counts_the_rest(data, missing, seed):
    screening = data.draw(screenings(missing))
    p = screening.n_features
    always = np.array(data.draw(st.lists(st.booleans(), min_size=p, max_size=p)))
    candidates = np.flatnonzero(~always).tolist()
    k = data.draw(st.integers(0, len(candidates)))
    selection = select(
        screening, n_features=k, always_keep=always, random_state=np.random.RandomState(seed)
    )
    strength = strengths(screening)
    assert selection.always_kept == tuple(np.flatnonzero(always))
    assert set(selection.kept) <= set(candidates)
    assert len(selection.kept) == k
    lost = sorted(set(candidates) - set(selection.kept))
    assert selection.n_features_in == p
    if k == len(candidates):
        assert selection.rule == "all"
        assert selection.gamma_squared == 0
        assert selection.groups == ()
        return
    assert selection.rule == "top"
    bound = sorted((strength[j] for j in candidates), reverse=True)[max(k - 1, 0)]
    assert selection.gamma_squared == bound
    assert selection.gamma == pytest.approx(float(bound) ** 0.5, rel=1e-15)
    assert all(strength[j] >= bound for j in selection.kept)
    assert all(strength[j] <= bound for j in lost)
    tied = {j for j in candidates if strength[j] == bound}
    assert selection.n_tied_kept == len(tied & set(selection.kept))
    assert selection.n_tied_discarded == len(tied & set(lost))
    assert groups_of(selection) == plain_groups(screening, lost, tied)
    assert selection.support().tolist() == [j not in lost for j in range(p)]
    ordered = [float(strength[j]) for j in selection.kept]
    assert ordered == pytest.approx(sorted(ordered, reverse=True), rel=1e-12)


@settings(deadline=None, derandomize=True)
@given(st.data(), st.booleans(), st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 1.0]))
def test_the_threshold_rule_keeps_what_is_above_the_decimal_number(data, missing, threshold):
    screening = data.draw(screenings(missing))
    selection = select(screening, threshold=threshold)
    bound = Fraction(str(threshold)) ** 2
    strength = strengths(screening)
    assert selection.rule == "threshold"
    assert selection.gamma_squared == bound
    assert set(selection.kept) == {j for j, value in enumerate(strength) if value > bound}
    lost = [j for j, value in enumerate(strength) if value <= bound]
    tied = {j for j, value in enumerate(strength) if value == bound}
    assert groups_of(selection) == plain_groups(screening, lost, tied)
    assert selection.n_tied_kept == 0


@pytest.mark.parametrize("threshold", [0.1, 0.2, 0.3, 0.6, 0.7])
def test_a_correlation_of_exactly_the_threshold_is_not_above_it(threshold):
    # Ten cases per class: i1 - i0 = 2, 4, ... with i0 + i1 = 10 give correlations 0.2, 0.4, ...;
    # twenty give the odd tenths.
    tenths = round(10 * threshold)
    ones = [[10 - tenths], [10 + tenths]]
    assert plain_strength(10 - tenths, 10 + tenths, 20, 20) == Fraction(tenths, 10) ** 2
    selection = select(make_screening(ones, counts=(20, 20)), threshold=threshold)
    assert selection.kept == ()
    assert selection.n_tied_discarded == 1


def test_ties_at_the_bound_are_broken_uniformly_at_random():
    # One clear winner and five that tie for two places: ten pairs, equally likely.
    screening = make_screening([[0, 1, 1, 3, 1, 3, 2], [4, 3, 3, 1, 3, 1, 2]], counts=(4, 4))
    draws = 3000
    seen = Counter(
        tuple(
            sorted(select(screening, n_features=3, random_state=np.random.RandomState(seed)).kept)
        )
        for seed in range(draws)
    )
    assert len(seen) == 10
    assert all(0 in kept and 6 not in kept for kept in seen)
    assert stats.chisquare(list(seen.values())).pvalue > 1e-4


def test_the_same_seed_breaks_ties_in_the_same_way():
    screening = make_screening([[1] * 50, [3] * 50], counts=(4, 4))
    first, second, other = (
        select(screening, n_features=20, random_state=np.random.RandomState(seed)).kept
        for seed in (7, 7, 8)
    )
    assert first == second
    assert first != other


def test_correlations_closer_than_floating_point_can_tell_are_told_apart():
    # At n = 1e6 the squared correlations of these columns differ by a few parts in 1e17.
    n0 = n1 = 500_000
    base = plain_strength(100_000, 300_000, n0, n1)
    twin = None
    for i0 in range(99_000, 101_000):
        # The correlation rises with i1: find where it passes that of the base.
        low, high = 200_000, 400_000
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (
                (low, middle) if plain_strength(i0, middle, n0, n1) > base else (middle, high)
            )
        for i1 in (low, high):
            gap = abs(plain_strength(i0, i1, n0, n1) / base - 1)
            if gap and (twin is None or gap < twin[0]):
                twin = gap, i0, i1
    gap, i0, i1 = twin
    assert 0 < gap < 1e-9
    ones = [[100_000, i0], [300_000, i1]]
    stronger = int(plain_strength(i0, i1, n0, n1) > base)
    for order in ([0, 1], [1, 0]):
        screening = make_screening(np.array(ones)[:, order], counts=(n0, n1))
        for seed in range(5):
            selection = select(screening, n_features=1, random_state=np.random.RandomState(seed))
            assert order[selection.kept[0]] == stronger
            assert selection.n_tied_discarded == 0
            assert selection.n_tied_kept == 1


def test_equal_fractions_that_floating_point_rounds_differently_are_a_tie():
    # A column, its mirror image and the same column with its classes' roles exchanged.
    n0 = n1 = 333_331
    pairs = [(1234, 99_999), (n0 - 1234, n1 - 99_999), (99_999, 1234)]
    screening = make_screening(np.array(pairs).T, counts=(n0, n1))
    selection = select(screening, n_features=1, random_state=np.random.RandomState(0))
    assert selection.n_tied_discarded == 2


def test_different_fractions_that_are_the_same_double_are_no_tie():
    # (n0 i1 - n1 i0)^2 / (n0 n1 s (n - s)) with denominators of 1e24 leaves room below 1e-16.
    n0, n1 = 10**8 + 7, 10**8 + 39
    first = (3 * 10**7, 5 * 10**7)
    strength = plain_strength(*first, n0, n1)
    second = (3 * 10**7 - 1, 5 * 10**7 - 1)
    other = plain_strength(*second, n0, n1)
    assert other != strength
    stronger = int(other > strength)
    screening = make_screening(np.array([first, second]).T, counts=(n0, n1))
    selection = select(screening, n_features=1)
    assert selection.kept == (stronger,)
    assert selection.gamma_squared == max(strength, other)


@pytest.mark.parametrize(
    "given_as",
    [
        [1, 4],
        [-5, -2],
        ["b", "e"],
        [False, True, False, False, True, False],
        np.array([4, 1]),
        (4, 1, 1),
    ],
)
def test_features_kept_by_design_are_named_in_any_way(given_as):
    mask = parse_always_keep(given_as, tuple("abcdef"), 6)
    assert mask.tolist() == [False, True, False, False, True, False]


@pytest.mark.parametrize("nothing", [None, [], ()])
def test_nothing_may_be_kept_by_design(nothing):
    assert not parse_always_keep(nothing, None, 3).any()


@pytest.mark.parametrize(
    ("given_as", "message"),
    [
        ([6], "column 6, but X has 6 columns"),
        ([-7, 2], "column -7, but X has 6 columns"),
        (["z"], "'z', which is not a column"),
        ([True, False], "mask of 2 features, but X has 6"),
        ("a", "list of names or indices, or a mask"),
        ([[1, 2]], "list of names or indices, or a mask"),
    ],
)
def test_features_that_do_not_exist_cannot_be_kept_by_design(given_as, message):
    with pytest.raises(ValueError, match=message):
        parse_always_keep(given_as, tuple("abcdef"), 6)


def test_features_kept_by_design_neither_win_nor_lose_the_race():
    table = np.array([[0, 0, 1], [0, 0, 1], [1, 0, 0], [1, 1, 1]])
    selection = select(
        screen(table, [0, 0, 1, 1]), n_features=1, always_keep=np.array([True, False, False])
    )
    assert selection.always_kept == (0,)
    assert selection.columns[-1] == 0
    assert selection.n_discarded == 1
