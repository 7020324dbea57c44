"""Which models suit a table, and with how many features each is tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from honestbayes import models
from honestbayes.base.spec import CandidateSpec, ModelSpec, TableInfo
from honestbayes.data import as_source
from honestbayes.data.categories import Categories, category_table, encode_columns
from honestbayes.data.kinds import ALL_KINDS, Kind, TwoValues, columns_of
from honestbayes.data.source import ColumnsOf, dense_values
from honestbayes.files.fields import Entries, Known, Plain, Section, joined, record_to_plain
from honestbayes.types import FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# How the average reads a table: what varies, binary columns as 0/1, categories as numbers
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """How the columns of a table are read.

    Constant columns are dropped before anything else: a table without them has the same bits.

    Attributes
    ----------
    kinds : tuple of {"binary", "categorical", "real", "constant"}
        The kind of each column.
    two_values : TwoValues
        Of the binary columns.
    levels : Categories
        Of the categorical columns, in their order.
    """

    kinds: tuple[Kind, ...]
    two_values: TwoValues
    levels: Categories

    @classmethod
    def learn(cls, X: Any, kinds: tuple[Kind, ...]) -> Numbers:
        """Learn the values of a training table's columns; classes do not matter."""
        two_values = TwoValues.learn(X, kinds)
        columns = np.flatnonzero(np.array(kinds) == "categorical")
        if not columns.size:
            return cls(kinds, two_values, Categories(()))
        return cls(kinds, two_values, category_table(columns_of(X, columns)).levels)

    def varying(self) -> IntArray:
        """Return the columns that are not constant."""
        return np.flatnonzero(np.array(self.kinds) != "constant")

    def varying_kinds(self) -> tuple[Kind, ...]:
        """Return the kinds of these columns."""
        return tuple(kind for kind in self.kinds if kind != "constant")

    def sources(self) -> IntArray:
        """Return from which of the varying columns each column of numbers comes."""
        kinds = np.array(self.varying_kinds())
        widths = np.ones(kinds.size, dtype=np.int64)
        widths[kinds == "categorical"] = self.levels.n_levels
        return np.repeat(np.arange(kinds.size), widths)

    def take(self, columns: IntArray) -> tuple[Numbers, IntArray]:
        """Return the same for some varying columns, in any order.

        Also returns where each old column of numbers stands, or -1.
        """
        varying = self.varying()
        kinds = np.array(self.kinds)
        categorical = np.flatnonzero(kinds == "categorical")
        levels = np.searchsorted(categorical, columns[np.isin(columns, categorical)])
        kept = Numbers(
            tuple(self.kinds[column] for column in columns),
            self.two_values.take(columns),
            self.levels.take(levels),
        )
        sources = varying[self.sources()] if varying.size else np.zeros(0, dtype=np.int64)
        place = np.full(sources.size, -1)
        old = [np.flatnonzero(sources == column) for column in columns]
        if old:
            place[np.concatenate(old)] = np.arange(sum(map(len, old)))
        return kept, place

    def plain(self, X: Any, describe: Callable[[int], str]) -> Any:
        """Return the varying columns of a table, the binary ones as 0 and 1."""
        varying = self.varying()
        X = self.two_values.apply(X, describe)
        if varying.size == len(self.kinds):
            return X
        return ColumnsOf(X, varying) if hasattr(X, "blocks") else columns_of(X, varying)

    def numbers(self, plain: Any, describe: Callable[[int], str]) -> Any:
        """Return the varying columns as numbers, with a 0/1 column for each category.

        What is missing or unknown is NaN in all of these.

        Parameters
        ----------
        plain : table
            What `plain` returned.
        describe : callable
            Given a column of the whole table, how messages call it.
        """
        if not self.levels.values:
            return plain
        kinds, varying = np.array(self.varying_kinds()), self.varying()
        categorical = np.flatnonzero(kinds == "categorical")
        codes, _ = encode_columns(
            columns_of(plain, categorical),
            self.levels,
            lambda place: describe(int(varying[categorical[place]])),
        )
        parts: dict[int, FloatArray] = {}
        others = np.flatnonzero(kinds != "categorical")
        if others.size:
            values = np.asarray(dense_values(as_source(columns_of(plain, others))), dtype=float)
            parts = {int(column): values[:, [j]] for j, column in enumerate(others)}
        for j, column in enumerate(categorical.tolist()):
            flags = (codes[:, [j]] == np.arange(self.levels.n_levels[j])).astype(float)
            flags[codes[:, j] < 0] = np.nan
            parts[column] = flags
        return np.concatenate([parts[column] for column in range(kinds.size)], axis=1)

    def to_plain(self) -> Plain:
        """Return kinds, values and levels as plain data."""
        codes = np.array([ALL_KINDS.index(kind) for kind in self.kinds], dtype=np.int64)
        return joined(
            ({}, {"kinds": codes}),
            two_values=record_to_plain(self.two_values),
            levels=self.levels.to_plain(),
        )

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> Numbers:
        """Return what `to_plain` described."""
        codes = entries.counts("kinds", (known["n_features_in"],), len(ALL_KINDS) - 1)
        kinds = tuple(ALL_KINDS[code] for code in codes.tolist())
        two_values = Section(kind=TwoValues).read(entries, "two_values", dict(known))
        coded = np.flatnonzero(~np.isnan(two_values.low))
        good = all(kinds[column] == "binary" for column in coded.tolist())
        entries.check(good, "two_values", "are not those of binary columns")
        sizes = {"n_columns": kinds.count("categorical")}
        return cls(kinds, two_values, Section(kind=Categories).read(entries, "levels", sizes))


Effort = Literal["quick", "normal", "thorough"]
EFFORTS: tuple[Effort, ...] = ("quick", "normal", "thorough")

_LARGE = 2000
"""With more cases than this no candidate keeps more features than `_MOST_OF_MANY`, and columns
are not cut at their medians."""

_MOST_OF_MANY = 1000

_MOST_CELLS = 5_000_000
"""Cells of the kept columns beyond which no candidate keeps more than `_MOST_OF_MANY` features."""

_MOST_KEPT_CELLS = 1 << 25
"""Cells of the kept columns, of a table beyond memory: a quarter of a gigabyte."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model that is tried with one number of features or with several.

    Attributes
    ----------
    name : str
        What `HonestClassifier.model_table` calls it, and the word of ``candidates``.
    estimator : estimator
        Unfitted.
    numbers : tuple of int, or None
        Numbers of features; None: the estimator sees to that itself.
    as_numbers : bool
        Whether it takes the table as numbers, with a flag for each level.
    """

    name: str
    estimator: Any
    numbers: tuple[int, ...] | None = None
    as_numbers: bool = False


def candidate_specs() -> list[tuple[ModelSpec, CandidateSpec]]:
    """Return how each model may be tried, in the order of `honestbayes.models.SPECS`."""
    return [(spec, candidate) for spec in models.SPECS for candidate in spec.candidates]


def candidates_for(
    table_info: TableInfo, effort: Effort, most: int | None = None
) -> list[Candidate]:
    """Return the candidates that suit a table.

    Parameters
    ----------
    table_info : TableInfo
        What is known of it.
    effort : {"quick", "normal", "thorough"}
        How many are tried.
    most : int, optional
        Where one set of so many columns is to be kept: only candidates that rank columns alike,
        and no larger numbers.
    """
    found = []
    for spec, candidate in candidate_specs():
        if not candidate.suits(table_info) or (candidate.sampled and effort != "thorough"):
            continue
        if most is not None and not candidate.shared_ranking:
            continue
        tried = candidate.quick if effort == "quick" else candidate.normal
        width = table_info.n_numeric_candidates if candidate.as_numbers else table_info.n_candidates
        width = table_info.max_candidates if candidate.by_kind else width
        numbers = None if tried is None else _numbers(tried, width, table_info.n_cases, most)
        if not table_info.in_memory and numbers is not None and most is None:
            numbers = _numbers_beyond_memory(numbers, width, table_info.n_cases)
        found.append(
            Candidate(
                candidate.name,
                spec.estimator(**candidate.params(table_info)),
                numbers,
                candidate.as_numbers,
            )
        )
    return found


def _numbers(tried: Sequence[int], width: int, n_cases: int, most: int | None) -> tuple[int, ...]:
    """Return different numbers of features that a table of some width has."""
    bound = width if most is None else min(most, width)
    if n_cases > _LARGE or n_cases * bound > _MOST_CELLS:
        bound = min(bound, _MOST_OF_MANY)
    wanted = [bound if number < 0 else min(number, bound) for number in tried]
    return tuple(sorted({*wanted} if most is None else {*wanted, bound}))


def _numbers_beyond_memory(numbers: tuple[int, ...], width: int, n_cases: int) -> tuple[int, ...]:
    """Leave out all columns, and more than memory is to hold; the smallest number stays."""
    return tuple(
        number
        for number in numbers
        if number == numbers[0] or (number < width and n_cases * number <= _MOST_KEPT_CELLS)
    )


def left_out_beyond_memory(
    table_info: TableInfo, effort: Effort, wanted: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Return the candidates that are left out because a table is beyond memory, in words.

    Parameters
    ----------
    table_info : TableInfo
        What is known of it.
    effort : {"quick", "normal", "thorough"}
        How many are tried.
    wanted : sequence of str, optional
        Names of candidates that the user asked for.
    """
    tried = {candidate.name: candidate.numbers for candidate in candidates_for(table_info, effort)}
    words = []
    for candidate in candidates_for(replace(table_info, in_memory=True), effort):
        if wanted is not None and candidate.name not in wanted:
            continue
        if candidate.name not in tried:
            words.append(candidate.name)
            continue
        fewer = set(candidate.numbers or ()) - set(tried[candidate.name] or ())
        if fewer:
            numbers = " and ".join(f"{number:,}" for number in sorted(fewer))
            words.append(f"{candidate.name} with {numbers} features")
    return tuple(words)


def name_of(classifier: Any, place: int) -> str:
    """Return what the table calls a classifier of the user's."""
    last = classifier
    while hasattr(last, "steps"):
        last = last.steps[-1][1]
    return f"{place + 1}: {type(last).__name__}"
