"""Groups of patterns, and what new cases have of them, against going through all patterns."""

import numpy as np
import pytest
from grids import few, slow
from oracles_interactions import expressed_counts, group_counts, groups, patterns_of, suffixes_of

from honestbayes.models.interactions.patterns import (
    SinglePatterns,
    SuffixGroups,
    TableGroups,
    different_rows,
    sorted_suffixes,
)


def table(rng, n, levels, *, constant=()):
    cells = np.stack([rng.integers(0, k, n) for k in levels], axis=1)
    cells[:, list(constant)] = 0
    return cells


def found_groups(found):
    """Return the counts by order of each group, by its cases."""
    result = {}
    for g, counts in enumerate(found.counts):
        cases = frozenset(found.cases[found.start[g] : found.start[g + 1]].tolist())
        assert cases not in result
        result[cases] = tuple(counts.astype(int).tolist())
    return result


TABLES = {
    "binary": (12, (2, 2, 2, 2, 2), ()),
    "mixed": (30, (2, 3, 4, 2, 5, 1), ()),
    "constant": (25, (3, 2, 2, 3), (1, 2)),
    "wide": (9, (2,) * 7, ()),
    "wider": (9, (2,) * 9, ()),
    "one case": (1, (3, 3, 2), ()),
    "one column": (6, (4,), ()),
}


@few("name", TABLES, set(TABLES) - {"wider"})
def test_groups_of_tables(name):
    n, levels, constant = TABLES[name]
    rng = np.random.default_rng(len(name))
    rows, _ = different_rows(table(rng, n, levels, constant=constant))
    new = table(rng, 40, [k + 4 for k in levels]) - 1  # with levels that training lacks
    for order in range(len(levels) + 1):
        found = TableGroups.of(rows, order)
        assert found_groups(found) == group_counts(rows, order, patterns_of)
        check_expressed(found, rows, new, order, patterns_of)
        check_expressed(found, rows, rows[:5], order, patterns_of)


@pytest.mark.parametrize(
    ("n", "length", "k"), [(1, 4, 2), (2, 3, 2), (40, 6, 2), (60, 5, 3), (30, 8, 4)]
)
def test_groups_of_sequences(n, length, k):
    rng = np.random.default_rng(n)
    cells = rng.integers(0, k, (n, length))
    cells[:, -1] = 0 if n == 2 else cells[:, -1]
    rows, which = sorted_suffixes(cells)
    assert np.array_equal(rows[which], cells)
    found = SuffixGroups.of(rows, length)
    assert found_groups(found) == group_counts(rows, length, suffixes_of)
    new = rng.integers(-1, k + 2, (60, length))
    check_expressed(found, rows, new, length, suffixes_of)
    check_expressed(found, rows, rows[:5], length, suffixes_of)


def check_expressed(found, rows, new, order, of):
    got = found.expressed(new)
    for case in range(len(new)):
        part = slice(got.start[case], got.start[case + 1])
        seen = {}
        for g, counts in zip(got.group[part], got.counts[part], strict=True):
            cases = frozenset(found.cases[found.start[g] : found.start[g + 1]].tolist())
            if counts.any():
                seen[cases] = tuple(counts.astype(int).tolist())
        expected, unseen = expressed_counts(rows, new[case], order, of)
        assert seen == expected
        assert tuple(got.unseen[case].astype(int).tolist()) == unseen


@pytest.mark.parametrize(
    ("order", "n_groups", "n_patterns"),
    [
        (1, 22, 22),
        (2, 211, 211),
        (3, 1156, 1156),
        (4, 3971, 3982),
        (5, 6669, 8419),
        (6, 6819, 10945),
        (7, 6819, 11394),
    ],
)
def test_published_sizes(order, n_groups, n_patterns):
    cells = np.random.default_rng(0).integers(1, 4, (500, 7)) - 1
    rows, _ = different_rows(cells)
    found = TableGroups.of(rows, order)
    assert (found.counts.shape[0], int(found.counts.sum())) == (n_groups, n_patterns)


@pytest.mark.parametrize("n_new", [150, slow(1000)])
def test_many_new_cases(n_new):
    rng = np.random.default_rng(5)
    rows, _ = different_rows(table(rng, 60, (3, 2, 4, 3, 2)))
    check_expressed(
        TableGroups.of(rows, 4), rows, table(rng, n_new, (4, 3, 5, 4, 3)) - 1, 4, patterns_of
    )


@pytest.mark.parametrize("of", [patterns_of, suffixes_of])
def test_patterns_of_a_group(of):
    rng = np.random.default_rng(2)
    cells = rng.integers(0, 2, (12, 5))
    if of is patterns_of:
        rows, _ = different_rows(cells)
        found, order = TableGroups.of(rows, 4), 4
    else:
        rows, _ = sorted_suffixes(cells)
        found, order = SuffixGroups.of(rows, 5), 5
    expected = groups(rows, order, of)
    for g in range(found.counts.shape[0]):
        cases = frozenset(found.cases[found.start[g] : found.start[g + 1]].tolist())
        listed = list(found.patterns(g))
        assert sorted(listed) == sorted(expected[cases])
        assert [len(pattern) for pattern in listed] == sorted(map(len, listed))
    single = SinglePatterns.of(found)
    new = rng.integers(-1, 2, (10, 5))
    together, apart = found.expressed(new), single.expressed(new)
    assert np.array_equal(together.unseen, apart.unseen)
    for case in range(10):
        a = slice(together.start[case], together.start[case + 1])
        b = slice(apart.start[case], apart.start[case + 1])
        assert np.array_equal(together.counts[a].sum(axis=0), apart.counts[b].sum(axis=0))


def test_many_columns_are_counted_and_not_listed():
    rng = np.random.default_rng(3)
    rows, _ = different_rows(rng.integers(0, 2, (6, 40)))
    found = TableGroups.of(rows, 40)
    # Each case has 2^40 patterns; those of several cases are counted once.
    sizes = np.diff(found.start)
    assert (sizes * found.counts.sum(axis=1)).sum() == 6 * 2.0**40


def test_too_many_patterns(monkeypatch):
    from honestbayes.models.interactions import patterns

    monkeypatch.setattr(patterns, "MOST_NODES", 100)
    rows, _ = different_rows(np.random.default_rng(0).integers(0, 3, (50, 6)))
    with pytest.raises(
        patterns.TooManyPatternsError, match=r"order 4 of 6 columns.*lower the order"
    ):
        TableGroups.of(rows, 4)
