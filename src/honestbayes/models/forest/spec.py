"""The spec of the forest."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, InputSpec, ModelSpec, TableInfo

_MOST_CELLS = 1 << 25
"""Number of cells above which no forest is tried: all of them are held, a quarter of a gigabyte."""

_MOST_COLUMNS = 1000
"""Largest number of columns that candidates keep on tables with very many cells."""

_TREES = ((100_000, 200), (2_500_000, 100))
"""Numbers of trees on tables of so many cells at most, chosen for time. On one table (glass) the
log score with 100 trees was higher by 0.004 than with 200."""

_FEWEST_TREES = 50
"""Number of trees on larger tables, so that quick fits of 200,000 cases stay within a minute."""


def _load() -> type[Any]:
    from honestbayes.models.forest.estimator import ForestClassifier

    return ForestClassifier


def _suits(info: TableInfo) -> bool:
    cells = info.n_cases * min(info.n_numeric_candidates, _MOST_COLUMNS)
    return info.in_memory and cells <= _MOST_CELLS


def _params(info: TableInfo) -> dict[str, Any]:
    cells = info.n_cases * info.n_numeric_candidates
    fitting = (n_trees for most, n_trees in _TREES if cells <= most)
    return {"recalibrate": None, "n_trees": next(fitting, _FEWEST_TREES)}


SPECS = (
    ModelSpec(
        kind="ForestClassifier",
        load=_load,
        candidates=(
            CandidateSpec(
                name="forest",
                title="trees, which see what is not linear",
                suits=_suits,
                params=_params,
                quick=(200,),
                normal=(-1,),
                as_numbers=True,
                by_name=True,
                held_out_once=True,
            ),
        ),
        title="forest",
        input=InputSpec(kinds=("binary", "real")),
        dependence="trees, which compare several columns",
        generative=False,
        # It cannot condition on what was discarded: recalibration sees to the luck of selection.
        uncorrected_params=None,
        citation="Geurts, Ernst and Wehenkel (Machine Learning 63, 2006, 3–42)",
    ),
)
