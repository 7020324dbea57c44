"""Counts of categorical features by class and category."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from honestbayes.data.categories import CategoryTable
from honestbayes.data.level_blocks import LevelCounts, LevelTable, count_levels
from honestbayes.data.source import Source
from honestbayes.selection.counts import add_class_counts, check_columns, check_rows, join_names
from honestbayes.selection.leave_out import without_shared_rows
from honestbayes.types import AnyArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class LevelGroup:
    """Columns with the same number of categories, and their tables of counts.

    Attributes
    ----------
    columns : ndarray of int of shape (m,)
        Which.
    tables : ndarray of int of shape (m, C, V)
        Cases of each class and category.
    """

    columns: IntArray
    tables: IntArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CategoryCounts:
    """Counts of every feature, by class and category.

    Attributes
    ----------
    classes : ndarray of shape (C,)
        Class labels, sorted.
    class_counts : tuple of int
        Rows in each class.
    groups : tuple of LevelGroup
        All columns, by number of categories.
    n_features : int
        How many columns.
    feature_names : tuple of str or None
        Names, where the table had them.
    """

    classes: AnyArray
    class_counts: tuple[int, ...]
    groups: tuple[LevelGroup, ...]
    n_features: int
    feature_names: tuple[str, ...] | None = None

    def observed(self) -> IntArray:
        """Return the observed cases of each class and feature, shape (C, p)."""
        result = np.empty((self.classes.size, self.n_features), dtype=np.int64)
        for group in self.groups:
            result[:, group.columns] = group.tables.sum(axis=2).T
        return result

    def n_levels(self) -> IntArray:
        """Return the number of categories of each feature, shape (p,)."""
        result = np.empty(self.n_features, dtype=np.int64)
        for group in self.groups:
            result[group.columns] = group.tables.shape[2]
        return result

    def tables_of(self, columns: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield, by number of categories, positions among some columns and their tables."""
        wanted = np.asarray(columns, dtype=np.int64)
        index = np.full(self.n_features, -1, dtype=np.int64)
        for group in self.groups:
            index[:] = -1
            index[group.columns] = np.arange(group.columns.size)
            positions = np.flatnonzero(index[wanted] >= 0)
            if positions.size:
                yield positions, group.tables[index[wanted[positions]]]

    def merge_rows(self, other: CategoryCounts) -> CategoryCounts:
        """Return the counts of both sets of rows, which must not share any."""
        return self._add(other, 1)

    def without(self, part: CategoryCounts) -> CategoryCounts:
        """Return the counts without some of the rows, whose counts are given."""
        return self._add(part, -1)

    def _add(self, other: CategoryCounts, sign: int) -> CategoryCounts:
        check_rows(self, other)
        if not np.array_equal(self.n_levels(), other.n_levels()):
            msg = "counts of disjoint rows must be of columns with the same categories."
            raise ValueError(msg)
        groups = tuple(
            LevelGroup(mine.columns, mine.tables + sign * theirs.tables)
            for mine, theirs in zip(self.groups, other.groups, strict=True)
        )
        counts = add_class_counts(self, other, sign)
        return replace(self, class_counts=counts, groups=groups)

    def merge_columns(self, *others: CategoryCounts) -> CategoryCounts:
        """Return the counts of all sets of columns, in this order."""
        parts = (self, *others)
        check_columns(parts)
        first = np.cumsum([0, *(part.n_features for part in parts)]).tolist()
        by_number: dict[int, list[LevelGroup]] = {}
        for start, part in zip(first, parts, strict=False):
            for group in part.groups:
                moved = LevelGroup(group.columns + start, group.tables)
                by_number.setdefault(group.tables.shape[2], []).append(moved)
        groups = tuple(
            LevelGroup(
                np.concatenate([group.columns for group in alike]),
                np.concatenate([group.tables for group in alike]),
            )
            for _, alike in sorted(by_number.items())
        )
        return CategoryCounts(
            classes=self.classes,
            class_counts=self.class_counts,
            groups=groups,
            n_features=first[-1],
            feature_names=join_names(parts),
        )


def count_categories(
    table: CategoryTable, codes: IntArray, classes: AnyArray, rows: IntArray | None = None
) -> CategoryCounts:
    """Count the cells of all columns by class and category.

    Parameters
    ----------
    table : CategoryTable
        Coded cells.
    codes : ndarray of int of shape (n,)
        Class of each row.
    classes : ndarray of shape (C,)
        Class labels.
    rows : ndarray of int, optional
        Count only these rows; the categories stay those of all.
    """
    cells = table.codes if rows is None else table.codes[rows]
    labels = codes if rows is None else codes[rows]
    n_classes = classes.size
    n_levels = table.levels.n_levels
    groups = []
    for number in np.unique(n_levels).tolist():
        columns = np.flatnonzero(n_levels == number)
        tables = np.zeros((columns.size, n_classes, number), dtype=np.int64)
        for label in range(n_classes):
            part = cells[labels == label][:, columns]
            for level in range(number):
                tables[:, label, level] = (part == level).sum(axis=0)
        groups.append(LevelGroup(columns, tables))
    return CategoryCounts(
        classes=classes,
        class_counts=tuple(np.bincount(labels, minlength=n_classes).tolist()),
        groups=tuple(groups),
        n_features=table.codes.shape[1],
        feature_names=table.feature_names,
    )


# --------------------------------------------------------------------------------------------------
# Tables beyond memory: counts of all rows, and without each fold, each in one pass
# --------------------------------------------------------------------------------------------------


def count_source_categories(
    source: Source, levels: LevelTable, codes: IntArray, classes: AnyArray
) -> CategoryCounts:
    """Count the cells of all columns of a source by class and category, in one pass."""
    counts = count_levels(source, levels, codes, classes.size)
    return counts_of_cells(counts.cases, counts.cells, levels, classes, source.feature_names)


def counts_of_cells(
    cases: IntArray,
    cells: IntArray,
    levels: LevelTable,
    classes: AnyArray,
    names: tuple[str, ...] | None,
) -> CategoryCounts:
    """Arrange counts of shape (C, T) by number of categories."""
    n_levels, groups = levels.n_levels, []
    for number in np.unique(n_levels).tolist():
        columns = np.flatnonzero(n_levels == number)
        index = levels.first[columns][:, None] + np.arange(number)
        tables = np.ascontiguousarray(cells[:, index].transpose(1, 0, 2), dtype=np.int64)
        groups.append(LevelGroup(columns, tables))
    return CategoryCounts(
        classes=classes,
        class_counts=tuple(cases.tolist()),
        groups=tuple(groups),
        n_features=n_levels.size,
        feature_names=names,
    )


@dataclass(frozen=True, slots=True, eq=False)
class LevelsByFold:
    """Cells of each category in the classes within folds, and in the rows of no fold.

    Attributes
    ----------
    runs : tuple of LevelCounts
        Folds that share no row are counted together. The groups are the classes of the first fold,
        those of the second, ..., and those of the rows in none of them.
    n_classes : int
        Number of classes.
    """

    runs: tuple[LevelCounts, ...]
    n_classes: int

    @classmethod
    def count(
        cls,
        source: Source,
        levels: LevelTable,
        codes: IntArray,
        n_classes: int,
        folds: Sequence[IntArray],
    ) -> LevelsByFold:
        """Count the categories of all columns of a source, in one pass for each run of folds."""
        runs = []
        # Counts are of four bytes here, where those that bound the folds of a pass are of eight.
        width = -(-levels.value.size * n_classes // 4)
        for together in without_shared_rows(list(folds), width):
            fold_of = np.full(codes.size, len(together), dtype=np.int64)
            for number, rows in enumerate(together):
                fold_of[rows] = number
            groups = fold_of * n_classes + codes
            runs.append(count_levels(source, levels, groups, (len(together) + 1) * n_classes))
        return cls(tuple(runs), n_classes)

    def without(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield cases (C,) and cells (C, T) of all rows but those of each fold."""
        for run in self.runs:
            cases = run.cases.reshape(-1, self.n_classes)
            cells = run.cells.reshape(len(cases), self.n_classes, -1)
            all_cases, all_cells = cases.sum(axis=0), cells.sum(axis=0, dtype=np.int32)
            for fold in range(len(cases) - 1):
                yield all_cases - cases[fold], all_cells - cells[fold]
