"""Interaction patterns by going through all of them: slow, and sharing no code with the package."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

Pattern = tuple[tuple[int, int], ...]
"""Pairs of a column and the value that it must have."""


def patterns_of(row: Any, order: int) -> Iterator[Pattern]:
    """Yield all patterns of a row up to an order."""
    row = [int(value) for value in row]
    for size in range(min(order, len(row)) + 1):
        for columns in combinations(range(len(row)), size):
            yield tuple((column, row[column]) for column in columns)


def suffixes_of(row: Any, order: int) -> Iterator[Pattern]:
    """Yield all patterns of a sequence whose fixed states are the last ones."""
    row = [int(value) for value in row]
    for size in range(min(order, len(row)) + 1):
        columns = range(len(row) - size, len(row))
        yield tuple((column, row[column]) for column in columns)


def expressions(rows: Any, order: int, of: Any = patterns_of) -> dict[Pattern, frozenset[int]]:
    """Return the cases in which each pattern occurs, of those that occur at all."""
    found: dict[Pattern, set[int]] = defaultdict(set)
    for case, row in enumerate(rows):
        for pattern in of(row, order):
            found[pattern].add(case)
    return {pattern: frozenset(cases) for pattern, cases in found.items()}


def groups(rows: Any, order: int, of: Any = patterns_of) -> dict[frozenset[int], list[Pattern]]:
    """Return the patterns of each group, by the cases in which they occur."""
    result: dict[frozenset[int], list[Pattern]] = defaultdict(list)
    for pattern, cases in expressions(rows, order, of).items():
        result[cases].append(pattern)
    return dict(result)


def group_counts(
    rows: Any, order: int, of: Any = patterns_of
) -> dict[frozenset[int], tuple[int, ...]]:
    """Return the number of patterns of each order in each group."""
    return {
        cases: _by_order(patterns, order) for cases, patterns in groups(rows, order, of).items()
    }


def expressed_counts(
    rows: Any, case: Any, order: int, of: Any = patterns_of
) -> tuple[dict[frozenset[int], tuple[int, ...]], tuple[int, ...]]:
    """Return what a new case has of each group by order, and what it has of no group."""
    known = expressions(rows, order, of)
    seen: dict[frozenset[int], list[Pattern]] = defaultdict(list)
    new = []
    for pattern in of(case, order):
        if pattern in known:
            seen[known[pattern]].append(pattern)
        else:
            new.append(pattern)
    return (
        {cases: _by_order(patterns, order) for cases, patterns in seen.items()},
        _by_order(new, order),
    )


def _by_order(patterns: list[Pattern], order: int) -> tuple[int, ...]:
    number = Counter(len(pattern) for pattern in patterns)
    return tuple(number[o] for o in range(order + 1))


def agreement_kernel(A: Any, B: Any, variances: Any, of: Any = patterns_of) -> Any:
    """Return the prior covariance of linear predictors, pattern by pattern."""
    variances = np.asarray(variances)
    order = variances.size - 1
    ours = [set(of(row, order)) for row in A]
    theirs = [set(of(row, order)) for row in B]
    return np.array(
        [[sum(variances[len(common)] for common in a & b) for b in theirs] for a in ours]
    )
