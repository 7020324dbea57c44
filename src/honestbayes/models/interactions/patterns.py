"""Patterns of a table or of sequences, grouped by the training cases that have them.

Cases are different rows of codes. A pattern that no training case has belongs to no group; its
coefficient has its prior.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from scipy.special import comb

from honestbayes.types import AnyArray, FloatArray, IntArray

MOST_NODES = 4_000_000
MOST_CELLS = 200_000_000
"""Bounds on the search for groups: some gigabytes."""

Cell = tuple[int, int]
"""A column and the code that it must have."""


class TooManyPatternsError(ValueError):
    """There are too many groups of patterns for memory."""


@dataclass(frozen=True, slots=True)
class Expressed:
    """What new cases have of each group.

    Attributes
    ----------
    start, group : ndarray of int
        The groups of case i are ``group[start[i] : start[i + 1]]``.
    counts : ndarray of shape (n_entries, order + 1)
        The patterns of each order that the case has of that group.
    unseen : ndarray of shape (n, order + 1)
        The patterns of each order that the case has and no training case.
    """

    start: IntArray
    group: IntArray
    counts: FloatArray
    unseen: FloatArray


class Groups(Protocol):
    """Groups of patterns, of which each has one parameter."""

    @property
    def order(self) -> int:
        """The most cells that a pattern fixes."""
        ...

    @property
    def start(self) -> IntArray:
        """Where the cases of each group begin, and end."""
        ...

    @property
    def cases(self) -> IntArray:
        """The cases of all groups, one group after the other."""
        ...

    @property
    def counts(self) -> FloatArray:
        """Patterns of each order in each group, shape (n_groups, order + 1)."""
        ...

    def expressed(self, cells: AnyArray) -> Expressed:
        """Count what new cases have of each group; -1 is a level that training has not seen."""
        ...

    def patterns(self, group: int) -> Iterator[tuple[Cell, ...]]:
        """Yield the patterns of a group, those of the lowest order first."""
        ...


def different_rows(cells: AnyArray) -> tuple[AnyArray, IntArray]:
    """Return the different rows of a table of codes, and which of them each row is."""
    if cells.shape[1] == 0:
        return cells[:1], np.zeros(cells.shape[0], dtype=np.int64)
    rows, which = np.unique(cells, axis=0, return_inverse=True)
    return rows, which.reshape(-1)


def binomials(p: int, order: int) -> FloatArray:
    """Return C(m, d) for m from 0 to p and d from 0 to the order."""
    return np.asarray(comb(np.arange(p + 1)[:, None], np.arange(order + 1)[None, :]))


@dataclass(frozen=True, slots=True, eq=False)
class TableGroups:
    """All patterns of a table up to an order.

    Attributes
    ----------
    rows : ndarray of int of shape (n, p)
        Codes of the cases, all different.
    order : int
        Largest number of cells that a pattern fixes, at most p.
    start, cases, counts
        As in `Groups`.
    tree : Tree
        Where each group's patterns stand.
    """

    rows: AnyArray
    order: int
    start: IntArray
    cases: IntArray
    counts: FloatArray
    tree: Any

    @classmethod
    def of(cls, rows: AnyArray, order: int) -> TableGroups:
        """Find the groups.

        Parameters
        ----------
        rows : ndarray of int of shape (n, p)
            Codes from 0 on, all rows different.
        order : int
            The most cells that a pattern fixes.
        """
        from honestbayes.models.interactions.grouping import TOO_MANY_NODES, search

        n, p = rows.shape
        order = min(order, p)
        n_levels = rows.max(axis=0, initial=0).astype(np.int64) + 1
        # The most varied columns first: their steps leave few cases, where the search soon ends.
        varied = np.argsort([-_entropy(column) for column in rows.T], kind="stable")
        keys = np.random.default_rng(0).integers(0, 2**64, n, dtype=np.uint64)
        result = search(
            np.ascontiguousarray(rows.T.astype(np.int32)),
            varied.astype(np.int64),
            n_levels,
            order,
            keys,
            binomials(p, order),
            MOST_NODES,
            MOST_CELLS,
        )
        if result.problem:
            what = "patterns" if result.problem == TOO_MANY_NODES else "cases of patterns"
            most = MOST_NODES if result.problem == TOO_MANY_NODES else MOST_CELLS
            msg = (
                f"interactions up to order {order} of {p:,} columns in {n:,} different cases are "
                f"more than {most:,} {what}; lower the order, give fewer columns or merge levels."
            )
            raise TooManyPatternsError(msg)
        return cls(rows, order, result.start, result.cases, result.counts, result.tree)

    def expressed(self, cells: AnyArray) -> Expressed:
        """Count what new cases have of each group."""
        from honestbayes.models.interactions.grouping import express

        n, p = cells.shape
        order, n_groups = self.order, self.counts.shape[0]
        choose = binomials(p, order)
        # A level of other rows of the table: the tree knows none above those of its own.
        cells = np.where(cells > self.rows.max(axis=0, initial=0), -1, cells)
        table = np.ascontiguousarray(self.rows.T.astype(np.int32))
        group_at = np.full(n_groups, -1, dtype=np.int64)
        counts, met_groups = np.zeros((n_groups, order + 1)), np.empty(n_groups, dtype=np.int64)
        stack = np.empty(self.tree.group.size, dtype=np.int64)
        met, rows = [np.zeros(0, dtype=np.int64)], [np.zeros((0, order + 1))]
        for case in cells:
            size = express(
                self.tree,
                table,
                case.astype(np.int64),
                order,
                choose,
                group_at,
                counts,
                met_groups,
                stack,
            )
            met.append(met_groups[:size].copy())
            rows.append(counts[:size].copy())
            group_at[met_groups[:size]] = -1
            counts[:size] = 0.0
        start = np.cumsum([0, *(part.size for part in met[1:])])
        seen = np.array([part.sum(axis=0) for part in rows[1:]]).reshape(n, order + 1)
        unseen = np.maximum(choose[p] - seen, 0.0)
        return Expressed(start, np.concatenate(met), np.concatenate(rows), unseen)

    def patterns(self, group: int) -> Iterator[tuple[Cell, ...]]:
        """Yield the patterns of a group, those of the lowest order first.

        Each is looked for among the cells that all cases of the group share.
        """
        own = self.cases[self.start[group] : self.start[group + 1]]
        shared = np.flatnonzero(np.all(self.rows[own] == self.rows[own[0]], axis=0)).tolist()
        for size in range(min(self.order, len(shared)) + 1):
            if self.counts[group, size] == 0:
                continue
            for columns in combinations(shared, size):
                chosen = list(columns)
                having = np.all(self.rows[:, chosen] == self.rows[own[0], chosen], axis=1)
                if having.sum() == own.size:
                    yield tuple((column, int(self.rows[own[0], column])) for column in columns)


def _entropy(column: AnyArray) -> float:
    """Return how varied a column is."""
    share = np.bincount(column) / column.size
    share = share[share > 0]
    return float(-(share * np.log(share)).sum())


@dataclass(frozen=True, slots=True, eq=False)
class SuffixGroups:
    """The patterns of sequences that fix the last states: a tree of suffixes (section 3.4.1).

    Sequences are sorted by their last state, then the one before, and so on. Those that share a
    suffix are neighbours then, so the cases of each group stand in a row, and the groups are the
    nodes of the tree in which suffixes part.

    Attributes
    ----------
    rows : ndarray of int of shape (n, order)
        Codes of the sequences, all different, in this order.
    start, cases, counts
        As in `Groups`.
    shallow, deep : ndarray of int of shape (n_groups,)
        A group holds the suffixes longer than ``shallow``, up to ``deep``.
    parent : ndarray of int of shape (n_groups,)
        The group of the shorter suffixes, -1 for the first.
    leaf : ndarray of int of shape (n,)
        The group of each case alone.
    """

    rows: AnyArray
    start: IntArray
    cases: IntArray
    counts: FloatArray
    shallow: IntArray
    deep: IntArray
    parent: IntArray
    leaf: IntArray

    @classmethod
    def of(cls, rows: AnyArray, order: int) -> SuffixGroups:
        """Find the groups of different sequences in the order of `sorted_suffixes`."""
        del order  # the length of the sequences
        from honestbayes.models.interactions.grouping import suffix_tree

        length = rows.shape[1]
        shallow, deep, first, last, parent, leaf = suffix_tree(_common(rows[:-1], rows[1:]), length)
        start = np.concatenate([[0], np.cumsum(last - first)])
        cases = np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)])
        orders = np.arange(length + 1)
        counts = (orders > shallow[:, None]) & (orders <= deep[:, None])
        return cls(
            rows, start, cases.astype(np.int32), counts.astype(float), shallow, deep, parent, leaf
        )

    @property
    def order(self) -> int:
        """The length of the sequences."""
        return int(self.rows.shape[1])

    def expressed(self, cells: AnyArray) -> Expressed:
        """Count what new cases have of each group: whole groups, and a part of the last one."""
        from honestbayes.models.interactions.grouping import longest_suffix

        n = cells.shape[0]
        near, length = longest_suffix(self.rows.astype(np.int64), cells.astype(np.int64))
        orders = np.arange(self.order + 1)
        unseen = (orders > length[:, None]).astype(float)
        met: list[list[int]] = []
        for case in range(n):
            path, group = [], int(self.leaf[near[case]])
            while group >= 0:
                if self.shallow[group] < length[case] or group == 0:
                    path.append(group)
                group = int(self.parent[group])
            met.append(path[::-1])
        start = np.cumsum([0, *(len(path) for path in met)])
        group_of = np.array([group for path in met for group in path], dtype=np.int64)
        upto = np.repeat(length, np.diff(start))
        counts = self.counts[group_of] * (orders <= upto[:, None])
        return Expressed(start, group_of, counts, unseen)

    def patterns(self, group: int) -> Iterator[tuple[Cell, ...]]:
        """Yield the suffixes of a group, the shortest first."""
        row, end = self.rows[self.cases[self.start[group]]], self.order
        for size in range(int(self.shallow[group]) + 1, int(self.deep[group]) + 1):
            yield tuple((column, int(row[column])) for column in range(end - size, end))


def sorted_suffixes(cells: AnyArray) -> tuple[AnyArray, IntArray]:
    """Return the different sequences, sorted by their ends, and which of them each row is."""
    rows, which = different_rows(cells[:, ::-1])
    return np.ascontiguousarray(rows[:, ::-1]), which


def _common(A: AnyArray, B: AnyArray) -> IntArray:
    """Return the length of the common suffix of each pair of rows."""
    if A.shape[1] == 0:
        return np.zeros(A.shape[0], dtype=np.int64)
    same = (A == B)[:, ::-1]
    length = np.where(same.all(axis=1), A.shape[1], np.argmin(same, axis=1))
    return np.asarray(length, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class SinglePatterns:
    """Every pattern for itself, as without compression: for comparison only.

    Attributes
    ----------
    order, start, cases, counts
        As in `Groups`.
    number_of : dict
        The number of each pattern.
    suffixes : bool
        Whether patterns are suffixes.
    """

    order: int
    start: IntArray
    cases: IntArray
    counts: FloatArray
    number_of: dict[tuple[Cell, ...], int]
    suffixes: bool

    @classmethod
    def of(cls, groups: TableGroups | SuffixGroups) -> SinglePatterns:
        """List the patterns of groups."""
        total = float(groups.counts.sum())
        if total > 1_000_000:
            msg = f"there are {total:,.0f} patterns, but at most a million without compression."
            raise TooManyPatternsError(msg)
        number_of: dict[tuple[Cell, ...], int] = {}
        parts, sizes, orders = [], [0], []
        for group in range(groups.counts.shape[0]):
            own = groups.cases[groups.start[group] : groups.start[group + 1]]
            for pattern in groups.patterns(group):
                number_of[pattern] = len(number_of)
                parts.append(own)
                sizes.append(own.size)
                orders.append(len(pattern))
        counts = (np.array(orders)[:, None] == np.arange(groups.order + 1)).astype(float)
        return cls(
            groups.order,
            np.cumsum(sizes),
            np.concatenate(parts),
            counts,
            number_of,
            isinstance(groups, SuffixGroups),
        )

    def expressed(self, cells: AnyArray) -> Expressed:
        """Find the patterns of new cases."""
        n, p = cells.shape
        met: list[list[int]] = []
        unseen = np.zeros((n, self.order + 1))
        for case, row in enumerate(cells.tolist()):
            met_groups = []
            for size in range(self.order + 1):
                ends = (
                    [tuple(range(p - size, p))] if self.suffixes else combinations(range(p), size)
                )
                for columns in ends:
                    at = self.number_of.get(tuple((column, row[column]) for column in columns))
                    if at is None:
                        unseen[case, size] += 1
                    else:
                        met_groups.append(at)
            met.append(met_groups)
        start = np.cumsum([0, *(len(met_groups) for met_groups in met)])
        group = np.array([at for met_groups in met for at in met_groups], dtype=np.int64)
        return Expressed(start, group, self.counts[group], unseen)

    def patterns(self, group: int) -> Iterator[tuple[Cell, ...]]:
        """Yield the one pattern."""
        yield next(pattern for pattern, at in self.number_of.items() if at == group)
