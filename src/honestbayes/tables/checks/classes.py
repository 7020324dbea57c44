"""Columns that predict the class too well: copies of it, and identifiers sorted by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln
from scipy.stats import chi2

from honestbayes.tables.checks.finding import Finding, Way
from honestbayes.tables.checks.levels import LUCK, Levels
from honestbayes.tables.columns import FEW_LEVELS, IDENTIFIER_ROWS
from honestbayes.tables.errors import shown
from honestbayes.types import IntArray

COPY = 0.85
"""Share of the class's entropy from which on a column with as many values as classes is a copy of
the class with mistakes: of two classes of the same size, some 2 errors in 100. Legitimate columns
of real tables stay below: the best vote of the US Congress table explains 0.79."""

APART = 3.0
"""Numbers form clusters where each gap is more than so many times as wide as the widest cluster.
A gene that separates the classes leaves a gap no wider than a class."""

NEARLY = 0.8
"""Share of the class's entropy from which on a column with few values is nearly a copy: of two
classes of the same size, some 3 errors in 100."""

NEARLY_BY_NUMBERS = 0.95
"""The same for a measurement, which may tell the class well: some 1 error in 200."""

OTHERS = 0.6
"""Share that the next best column may explain at most for a measurement to stand out."""

NEARLY_A_COPY = "nearly a copy"
"""Name of the rule of columns that stand out: results that hang on one are in doubt."""

MOST_STANDING_OUT = 3
"""Columns that can stand out: where more do, the table tells its classes apart, as some do."""


@dataclass(frozen=True, slots=True)
class Strength:
    """How well a column tells the class.

    Attributes
    ----------
    share : float
        Share of the class's entropy that it explains.
    lucky : bool
        Whether that could be luck.
    few : bool
        Whether it has few values.
    """

    share: float
    lucky: bool
    few: bool

    @property
    def nearly(self) -> bool:
        """Whether the column nearly determines the class."""
        return not self.lucky and self.share >= (NEARLY if self.few else NEARLY_BY_NUMBERS)


MISSING_MORE = 0.2
"""Difference between the shares of missing cells, from class to class, that is worth a remark."""

MISSING_ONLY = 0.05
"""Share of missing cells in one class that is worth a remark where no other class has any."""


def copy_in(levels: Levels) -> Iterator[Finding]:
    """Find a column that is the class under another name, with or without mistakes.

    Each of a few values occurs in one class only; or there are as many values, or clusters of
    numbers, as classes, and they determine the class in nearly all rows.
    """
    if levels.column.kind == "left out" or not levels.is_even:
        return
    present = int(np.count_nonzero(levels.table.sum(axis=0)))
    if _is_discrete(levels) and levels.pure.all():
        what = "is a copy of the class" if levels.n_values == present else "determines the class"
        what += f" (each of its {levels.n_values:,} values occurs in one class only)"
        lucky = levels.is_lucky()
    else:
        table = _by_cluster(levels, present)
        if table is None:
            return
        share, lucky = levels.explained_by(table)
        if share < COPY:
            return
        n_wrong = int(levels.n_observed - table.max(axis=1).sum())
        but = f"all but {n_wrong:,} of {levels.n_observed:,} rows" if n_wrong else "every row"
        what = f"is a copy of the class in {but}"
        if levels.n_values > present:
            what += f" (its numbers fall into {present} clusters far apart, one for each class)"
    if lucky:
        return
    name = levels.name
    yield Finding(
        name,
        "copy of the class",
        f"{shown(name)} {what}",
        (Way("ignore", name), Way("keep", name, "if it is known before the class is")),
        stops=True,
    )


def _by_cluster(levels: Levels, n_clusters: int) -> IntArray | None:
    """Return the rows of each cluster of values by class; None where the clusters are not plain.

    With as many values as clusters each value is one. Other numbers are cut at their widest gaps.
    """
    if levels.n_values == n_clusters:
        return levels.table
    if levels.values is None or levels.n_values < n_clusters:
        return None
    gaps = np.diff(levels.values)
    last = np.sort(np.argsort(gaps)[gaps.size - n_clusters + 1 :])  # where a cluster ends
    first = np.append(0, last + 1)
    widths = levels.values[np.append(last, -1)] - levels.values[first]
    if gaps[last].min() <= APART * widths.max():
        return None
    return np.asarray(np.add.reduceat(levels.table, first, axis=0))


def _is_discrete(levels: Levels) -> bool:
    if levels.column.kind == "left out" or levels.n_values > FEW_LEVELS:
        return False
    return levels.values is None or levels.is_whole or levels.n_values == 2


def sorted_identifiers(columns: Sequence[Levels]) -> Iterator[Finding]:
    """Find whole numbers, all different, that go through the classes one after the other.

    Parameters
    ----------
    columns : sequence of Levels
        Those of which :func:`may_be_sorted` is true.
    """
    if len(columns) > MOST_STANDING_OUT:
        return
    for levels in columns:
        name = levels.name
        yield Finding(
            name,
            "sorted identifiers",
            f"{shown(name)} holds {levels.n_values:,} different whole numbers whose order "
            "separates the classes, as identifiers do in a file that was sorted by class",
            (Way("ignore", name), Way("keep", name, "if it is a measurement")),
            stops=True,
        )


def may_be_sorted(levels: Levels) -> bool:
    """Whether whole numbers, all different, separate the classes by more than luck."""
    if levels.column.kind == "left out" or levels.values is None:
        return False
    n = levels.n_values
    if n < IDENTIFIER_ROWS or n < levels.n_observed or not levels.is_whole or not levels.separates:
        return False
    counts = levels.table.sum(axis=0)
    orders = gammaln(n + 1) - gammaln(counts + 1).sum() - gammaln(counts.size + 1)
    return bool(np.log(levels.n_columns) - orders < np.log(LUCK))


def standing_out(strengths: Mapping[str, Strength]) -> Iterator[Finding]:
    """Find columns that nearly determine the class, where hardly any other does.

    Parameters
    ----------
    strengths : mapping
        How well each column tells the class; those that stop the report are not among them.
    """
    strong = [name for name, strength in strengths.items() if strength.nearly]
    rest = max((s.share for name, s in strengths.items() if not s.nearly), default=0.0)
    alone = len(strong) <= MOST_STANDING_OUT and rest <= OTHERS
    strong.sort(key=lambda name: -strengths[name].share)
    for name in strong[:MOST_STANDING_OUT]:
        share = strengths[name].share
        if not (strengths[name].few or alone):
            continue
        how = "all" if share > 1 - 1e-9 else f"{int(100 * share)}%"
        others = f", the other columns {int(100 * rest)}% at most" if alone and rest else ""
        yield Finding(
            name,
            NEARLY_A_COPY,
            f"column {shown(name)} alone explains {how} of the class{others}; if it is only "
            "known once the class is, the results mean nothing",
            (Way("ignore", name), Way("keep", name, "if it is known before")),
            stops=False,
        )


def missing_by_class(levels: Levels, labels: tuple[str, ...]) -> Iterator[Finding]:
    """Find a column whose cells are missing in one class only, or much more often."""
    missing = levels.class_counts - levels.table.sum(axis=0)
    shares = missing / levels.class_counts
    only = np.count_nonzero(missing) == 1 and shares.max() >= MISSING_ONLY
    if not (only or np.ptp(shares) >= MISSING_MORE) or _missing_by_luck(levels):
        return
    most, least = int(shares.argmax()), int(shares.argmin())
    name = levels.name
    yield Finding(
        name,
        "missing by class",
        f"column {shown(name)} is missing in {100 * shares[most]:.0f}% of the cases of class "
        f"{shown(labels[most])} and in {100 * shares[least]:.0f}% of {shown(labels[least])}; "
        "if it is measured because of the class, it tells the class",
        (Way("ignore", name), Way("keep", name, "if it is meant")),
        stops=False,
    )


def _missing_by_luck(levels: Levels) -> bool:
    there = levels.table.sum(axis=0)
    table = np.array([there, levels.class_counts - there], dtype=float)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    seen = table > 0
    statistic = 2 * np.sum(table[seen] * np.log(table[seen] / expected[seen]))
    luck = chi2.sf(statistic, table.shape[1] - 1)
    return bool(luck * levels.n_columns > LUCK)
