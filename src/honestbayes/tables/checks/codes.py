"""Whole numbers that may be codes, though they are read as measurements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from honestbayes.tables.checks.finding import Finding, Way
from honestbayes.tables.checks.levels import Levels
from honestbayes.tables.columns import FEW_LEVELS
from honestbayes.tables.errors import listed

_NAMES = re.compile(
    r"(?i:(.*[\W_])?(zip|zipcode|plz|postcode|postal|code|codes|centre|center|site|hospital|ward|"
    r"region|district|country|state|type|category|batch|plate|chip|department|icd|icd10)"
    r"([\W_]?(code|no|nr|num|id))?)|.*[a-z](Code|Type|Site|Centre|Center|Zip)"
)
"""Names under which tables keep codes."""


def may_be_code(levels: Levels) -> bool:
    """Whether whole numbers that are read as a measurement are few, or are named like codes."""
    if levels.column.kind != "real" or not levels.is_whole or levels.n_values < 3:
        return False
    return levels.n_values <= FEW_LEVELS or _NAMES.fullmatch(levels.name.strip()) is not None


def codes_among(columns: Sequence[tuple[str, int]]) -> Iterator[Finding]:
    """Gather the columns that may be codes, with their numbers of values, in one remark."""
    if not columns:
        return
    names = [name for name, _ in columns]
    if len(columns) == 1:
        what = f"column {listed(names)} ({columns[0][1]:,} different whole numbers) is read as a"
        what += " measurement; if its numbers are codes, give"
    else:
        what = f"{len(columns):,} columns of whole numbers ({listed(names)}) are read as"
        what += " measurements; where the numbers are codes, give"
    yield Finding(
        names[0],
        "codes",
        what,
        (Way("categorical", names[0] if len(names) == 1 else "NAME"),),
        stops=False,
    )
