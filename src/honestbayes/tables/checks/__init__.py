"""What in a table would lead to a wrong conclusion: looked for before anything is fitted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from honestbayes.tables.checks.cells import (
    numbers_with_units,
    other_marks,
    sentinels,
    stray_cells,
)
from honestbayes.tables.checks.classes import (
    Strength,
    copy_in,
    may_be_sorted,
    missing_by_class,
    sorted_identifiers,
    standing_out,
)
from honestbayes.tables.checks.codes import codes_among, may_be_code
from honestbayes.tables.checks.finding import Finding, Way
from honestbayes.tables.checks.flags import ordinary_flags
from honestbayes.tables.checks.groups import groups_in, joint_groups, repeated_rows
from honestbayes.tables.checks.levels import Levels, levels_of
from honestbayes.tables.checks.sequence import alike_in_sequence
from honestbayes.tables.columns import FEW_LEVELS, MAX_LEVELS, Column, is_identifier_name
from honestbayes.tables.errors import listed
from honestbayes.tables.places import Places
from honestbayes.types import AnyArray, BoolArray, IntArray

__all__ = [
    "MOST_OF_A_RULE",
    "OF_CELLS",
    "Finding",
    "Way",
    "gathered",
    "look_at_columns",
    "look_at_rows",
    "ordinary_flags",
]

MOST_JOINED = 50
"""Columns that are looked at two by two."""

OF_CELLS = ("stray cells", "decimal marks", "numbers with units")
"""Rules of columns that are not read as numbers because of their cells."""

MOST_OF_A_RULE = 5
"""Findings of one rule that are told; more are counted."""


def look_at_columns(
    table: pa.Table,
    columns: tuple[Column, ...],
    y: IntArray,
    labels: tuple[str, ...],
    *,
    keep: Collection[str] = (),
    decided: Collection[str] = (),
    groups: AnyArray | None = None,
    ordinary: Sequence[str] = (),
    decimal_of: Callable[[str], str] = lambda _: ".",
    places: Places,
) -> tuple[Finding, ...]:
    """Look at every column that could be a feature, and return what is doubtful.

    Parameters
    ----------
    table : pyarrow.Table
        The rows that have a class.
    columns : tuple of Column
        What each column is used as.
    y : ndarray of shape (n,)
        Classes.
    labels : tuple of str
        Their names.
    keep : collection of str
        Columns that the user has confirmed: nothing is doubtful in them.
    decided : collection of str
        Columns whose kind the user has named: their cells are as they are meant.
    groups : ndarray of shape (n,), or None
        Groups that the user has named.
    ordinary : sequence of str
        Columns that :func:`ordinary_flags` found: no rule has anything to say of them.
    decimal_of : callable
        Returns the decimal mark of a column.
    places : Places
        Where the rows stand.

    Returns
    -------
    tuple of Finding
        Those that stop the report first.
    """
    wanted = tuple(column for column in columns if column.name not in keep)
    found: list[Finding] = []
    strengths: dict[str, Strength] = {}
    in_order: list[Levels] = []
    coded: list[tuple[str, int]] = []
    repeating: list[Levels] = []
    named = any(is_identifier_name(column.name) for column in wanted)
    weight = 1.0 if groups is None else np.unique(groups).size / y.size
    skip = set(ordinary[MOST_JOINED:] if named and groups is None else ordinary)
    for levels in levels_of(table, wanted, y, len(labels), weight, skip):
        decimal = decimal_of(levels.name)
        of_cells = [] if levels.name in decided else list(_cells(levels, decimal, places))
        of_class = list(_classes(levels, groups is not None, labels))
        found += of_cells + of_class
        if may_be_sorted(levels):
            in_order.append(levels)
        elif levels.column.kind != "left out" and not any(f.stops for f in of_class):
            strengths[levels.name] = Strength(*levels.explained(), levels.n_values <= FEW_LEVELS)
        if named and groups is None and 1 < levels.n_values <= MAX_LEVELS:
            repeating = [*repeating, levels][:MOST_JOINED]
        if levels.name not in decided and may_be_code(levels):
            coded.append((levels.name, levels.n_values))
    found += [*joint_groups(repeating), *sorted_identifiers(in_order)]
    found += [*standing_out(strengths), *codes_among(coded)]
    return tuple(sorted(found, key=_weight))


def look_at_rows(
    of_columns: tuple[Finding, ...],
    values: AnyArray,
    y: IntArray,
    measured: BoolArray,
    real: Collection[str],
    *,
    keep_duplicates: bool,
    places: Places,
) -> tuple[Finding, ...]:
    """Look for rows that belong together where no column says so.

    Parameters
    ----------
    of_columns : tuple of Finding
        From :func:`look_at_columns`.
    values : ndarray of shape (n, p)
        Features.
    y : ndarray of shape (n,)
        Classes.
    measured : ndarray of shape (p,)
        Which features are measurements.
    real : collection of str
        Columns of measurements.
    keep_duplicates : bool
        Whether rows that repeat another one are meant.
    places : Places
        Where the rows stand.
    """
    repeats = tuple(repeated_rows(values, y, measured, places))
    found = of_columns
    if repeats:  # every measurement then names the rows that it is in
        found = tuple(f for f in found if f.rule != "groups" or f.column not in real)
    if keep_duplicates:
        return found
    alike: Iterable[Finding] = ()
    if not any(finding.rule == "groups" for finding in found):
        alike = alike_in_sequence(values, measured)
    return (*repeats, *alike, *found)


def _cells(levels: Levels, decimal: str, places: Places) -> Iterator[Finding]:
    of_numbers = [*stray_cells(levels, decimal, places), *other_marks(levels, decimal, places)]
    yield from of_numbers or numbers_with_units(levels, decimal, places)
    if levels.column.kind != "left out":
        yield from sentinels(levels)


def _classes(levels: Levels, grouped: bool, labels: tuple[str, ...]) -> Iterator[Finding]:
    if not grouped:
        yield from groups_in(levels)
    yield from copy_in(levels)
    if levels.column.kind != "left out":
        yield from missing_by_class(levels, labels)


_ORDER = ("nearly a copy", "missing by class", "sentinels", "codes")


def _weight(finding: Finding) -> int:
    return 0 if finding.stops else 1 + _ORDER.index(finding.rule)


def gathered(found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings that stop first, of every rule a few; the others are named together."""
    return tuple(sorted(_few_of_each(found), key=lambda finding: not finding.stops))


def _few_of_each(found: Sequence[Finding]) -> Iterator[Finding]:
    by_rule: dict[str, list[Finding]] = {}
    for finding in found:
        same = by_rule.setdefault(finding.rule, [])
        same.append(finding)
        if len(same) <= MOST_OF_A_RULE:
            yield finding
    for rule, same in by_rule.items():
        more = same[MOST_OF_A_RULE:]
        if more:
            names = listed(finding.column for finding in more)
            what = "doubtful" if more[0].stops else "remarkable"
            yield Finding(
                "",
                rule,
                f"{len(more):,} more columns are {what} in the same way ({rule}): {names}",
                (
                    Way("ignore", "NAME", "for each that is not meant"),
                    Way("keep", "NAME", "for each that is"),
                ),
                stops=more[0].stops,
            )
