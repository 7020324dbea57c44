"""Rows that belong together: columns that name groups, and rows that are there twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from honestbayes.tables.checks.finding import Finding, Way
from honestbayes.tables.checks.levels import Levels
from honestbayes.tables.columns import FEW_LEVELS, IDENTIFIER_FILL, is_identifier_name
from honestbayes.tables.errors import shown
from honestbayes.tables.places import Places
from honestbayes.types import AnyArray, BoolArray, IntArray

ROWS_PER_GROUP = 2
"""Rows of a value, on average, from which on a column may name groups."""

MIXED = 0.05
"""Share of the rows whose value occurs in more than one class, up to which the class hardly
varies within a value: a few rows may be mistakes."""

REPEATED = 0.05
"""Share of rows that repeat another one from which on a table is doubtful: a pair of equal cases
happens, and one case in twenty that stands in two folds changes what is concluded."""

_ORDERLY = 0.2
"""Share of the changes of class that chance would give, from one number to the next, below which
the order of the numbers explains the classes: a measurement does that."""

_COINCIDENCES = 0.1
"""Pairs of equal rows expected by chance up to which equal rows are no coincidence."""


def groups_in(levels: Levels) -> Iterator[Finding]:
    """Find a column that names groups: many values that repeat, each of one class."""
    if not _are_groups(levels) or (_is_orderly(levels) and not _is_enumeration(levels)):
        return
    name = levels.name
    mixed = levels.n_mixed
    varies = "never varies" if mixed == 0 else f"varies in {mixed:,} rows only"
    yield Finding(
        name,
        "groups",
        f"{shown(name)} has {levels.n_values:,} values, and the class {varies} within one",
        (
            Way("groups", name, "if its rows belong together"),
            Way("ignore", name),
            Way("keep", name, "if it is a measurement"),
        ),
        stops=True,
    )


def _are_groups(levels: Levels) -> bool:
    """Whether there are many values, with rows that repeat them, and hardly any in two classes."""
    repeats = levels.n_observed >= ROWS_PER_GROUP * levels.n_values
    if levels.n_values <= FEW_LEVELS or not repeats or not levels.is_even:
        return False
    return levels.n_mixed <= MIXED * levels.n_observed and not levels.is_lucky()


def joint_groups(columns: Sequence[Levels]) -> Iterator[Finding]:
    """Find two columns that name groups together, such as a hospital and a number in it.

    Parameters
    ----------
    columns : sequence of Levels
        Columns with values that repeat. One of the two must be named like an identifier: many
        pairs of other columns may tell the class.
    """
    named = [levels for levels in columns if is_identifier_name(levels.name)]
    for levels in named:
        for other in columns:
            if other is levels or not _are_groups(levels.joined(other)):
                continue
            yield Finding(
                levels.name,
                "groups",
                f"{shown(other.name)} and {shown(levels.name)} together have "
                f"{levels.joined(other).n_values:,} values, and the class hardly varies within "
                "one; if they name groups, join them in one column and give",
                (
                    Way("groups", "NAME"),
                    Way("ignore", levels.name, "if they do not"),
                    Way("keep", levels.name, "if it is a measurement"),
                ),
                stops=True,
            )
            break


def _is_orderly(levels: Levels) -> bool:
    """Whether small numbers are of one class and large ones of another."""
    if levels.values is None:
        return False
    shares = levels.class_counts / levels.class_counts.sum()
    by_chance = levels.n_values * (1 - float(shares @ shares))
    return levels.n_changes <= max(levels.class_counts.size - 1, _ORDERLY * by_chance)


def _is_enumeration(levels: Levels) -> bool:
    """Whether whole numbers count something, or are named like that."""
    if levels.values is None or not levels.is_whole:
        return False
    width = float(levels.values[-1] - levels.values[0]) + 1
    fills = levels.n_values >= IDENTIFIER_FILL * width
    return is_identifier_name(levels.name) or (fills and bool(np.ptp(levels.rows) <= 2))


def repeated_rows(
    values: AnyArray, y: IntArray, measured: BoolArray, places: Places
) -> Iterator[Finding]:
    """Find rows that are there more than once, where that is no coincidence.

    Parameters
    ----------
    values : ndarray of shape (n, p)
        Features.
    y : ndarray of shape (n,)
        Classes.
    measured : ndarray of shape (p,)
        Which features are measurements: the others repeat by nature.
    places : Places
        Where the rows stand.
    """
    n = y.size
    if not measured.any():
        return
    seen: dict[bytes, int] = {}
    pairs = [
        (seen[digest], row)
        for row, digest in enumerate(row_digests(values, y))
        if seen.setdefault(digest, row) != row
    ]
    if len(pairs) < max(2, REPEATED * n) or _coincidences(values[:, measured]) > _COINCIDENCES:
        return
    yield Finding(
        "",
        "repeated rows",
        f"{len(pairs):,} of {n:,} rows repeat another row exactly, class included (for "
        f"example {places.named(*pairs[0])})",
        (
            Way("groups", "NAME", "where a column says which rows belong together"),
            Way("keep_duplicates", "", "if they are different cases"),
        ),
        stops=True,
    )


def row_digests(values: AnyArray, y: IntArray) -> Iterator[bytes]:
    """Yield what tells rows apart; missing values are equal, and so are 0 and -0."""
    n, p = values.shape
    step = max(1, (1 << 20) // max(1, p))
    for start in range(0, n, step):
        with np.errstate(invalid="ignore"):  # a damaged file may hold NaN of any bits
            part = np.ascontiguousarray(values[start : start + step], dtype=np.float64) + 0.0
        part[np.isnan(part)] = np.nan
        for row, label in zip(part, y[start : start + step].tolist(), strict=True):
            yield hashlib.blake2b(row.tobytes() + b"%d" % label, digest_size=16).digest()


def _coincidences(values: AnyArray) -> float:
    """Return how many pairs of rows would agree by chance in the measurements.

    Measurements depend on each other, so that only half of them, in the sense of logarithms, are
    counted; and no more than it takes to be sure.
    """
    n = values.shape[0]
    together = np.log(n * (n - 1) / 2)
    for column in values.T:
        _, counts = np.unique(column, return_counts=True)
        together += 0.5 * np.log(np.sum((counts / n) ** 2))
        if together < np.log(_COINCIDENCES):
            break
    return float(np.exp(together))
