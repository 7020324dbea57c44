"""Counts of levels of parts merge into those of the whole."""

import numpy as np
import pytest
from oracles_screening import level_counts

from honestbayes.data.categories import category_table
from honestbayes.selection.categories import count_categories

CLASSES = np.array([0, 1, 2])


def categories(n=40):
    generator = np.random.default_rng(1)
    values = generator.integers(0, [2, 3, 5, 3, 2], (n, 5)).astype(float)
    values[generator.random((n, 5)) < 0.2] = np.nan
    return category_table(values), generator.integers(0, 3, n)


def as_lists(counts):
    """Tables of counts, [column][class][level]."""
    found = [None] * counts.n_features
    for group in counts.groups:
        for place, column in enumerate(group.columns.tolist()):
            found[column] = group.tables[place].tolist()
    return found


@pytest.mark.parametrize("n_first", [1, 13, 39])
def test_level_counts_of_disjoint_rows_merge_into_the_whole_and_come_off_again(n_first):
    coded, labels = categories()
    whole = count_categories(coded, labels, CLASSES)
    n_levels = coded.levels.n_levels.tolist()
    assert as_lists(whole) == level_counts(coded.codes.tolist(), labels.tolist(), 3, n_levels)
    rows = np.random.default_rng(n_first).permutation(40)
    parts = [count_categories(coded, labels, CLASSES, r) for r in np.split(rows, [n_first])]
    merged = parts[0].merge_rows(parts[1])
    assert as_lists(merged) == as_lists(whole)
    assert merged.class_counts == whole.class_counts
    assert merged.observed().tolist() == whole.observed().tolist()
    assert as_lists(whole.without(parts[0])) == as_lists(parts[1])
    assert whole.without(parts[0]).class_counts == parts[1].class_counts


def test_level_counts_of_disjoint_columns_merge_into_the_whole():
    coded, labels = categories()
    whole = count_categories(coded, labels, CLASSES)
    parts = []
    for columns in ([0, 1], [2], [3, 4]):
        part = type(coded)(coded.codes[:, columns], coded.levels.take(np.array(columns)), None)
        parts.append(count_categories(part, labels, CLASSES))
    merged = parts[0].merge_columns(*parts[1:])
    assert as_lists(merged) == as_lists(whole)
    assert [group.columns.tolist() for group in merged.groups] == [[0, 4], [1, 3], [2]]


def test_level_counts_of_other_levels_or_classes_are_refused():
    coded, labels = categories()
    whole = count_categories(coded, labels, CLASSES)
    other = category_table(np.zeros((40, 5)))
    with pytest.raises(ValueError, match="same categories"):
        whole.merge_rows(count_categories(other, labels, CLASSES))
    with pytest.raises(ValueError, match="same classes"):
        whole.merge_rows(count_categories(coded, labels, CLASSES + 1))
