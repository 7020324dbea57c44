"""The specs of models of trees."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, InputSpec, ModelSpec, TableInfo

_MOST_CELLS = 1 << 25
"""Number of kept cells above which no forest is tried: all of them are held, a quarter of a
gigabyte."""

_COLUMNS = 200
"""Columns that trees see at most. With all 2,000 of `colon` the log score of the average was lower
by 0.008, with all 4,026 of `lymphoma` higher by 0.001; both take longer."""

_TREES = ((100_000, 200), (2_500_000, 100))
"""Numbers of trees on tables of so many cells at most, chosen for time. On one table (glass) the
log score with 100 trees was higher by 0.004 than with 200."""

_FEWEST_TREES = 50
"""Number of trees on larger tables, and for a first answer."""


_BOOSTED_CELLS = 1_000_000
"""Number of cells times classes above which boosting is not tried: it fits trees for each class."""

_FEWEST_BOOSTED = 100
"""Number of cases below which boosting is not tried: its leaves hold twenty cases."""


def _load() -> type[Any]:
    from honestbayes.models.forest.estimator import ForestClassifier

    return ForestClassifier


def _load_boosted() -> type[Any]:
    from honestbayes.models.forest.estimator import BoostedTreesClassifier

    return BoostedTreesClassifier


def _suits_boosting(info: TableInfo) -> bool:
    sizes = info.n_cases * info.n_numeric_candidates * info.n_classes
    return (
        # For a first answer only where there is nothing but categories, on which it matters most.
        not (info.quick and info.has_measurements)
        and info.has_few_columns
        and info.n_cases >= _FEWEST_BOOSTED
        and sizes <= _BOOSTED_CELLS
    )


def _suits(info: TableInfo) -> bool:
    return info.n_cases * min(info.n_numeric_candidates, _COLUMNS) <= _MOST_CELLS


def _params(info: TableInfo) -> dict[str, Any]:
    cells = info.n_cases * min(info.n_numeric_candidates, _COLUMNS)
    fitting = (n_trees for most, n_trees in _TREES if cells <= most)
    return {
        "recalibrate": None,
        "n_trees": _FEWEST_TREES if info.quick else next(fitting, _FEWEST_TREES),
        # The same columns as those of the models of normal scores, and the same screening.
        "normal_scores": "ranking" if info.has_measurements else False,
    }


SPECS = (
    ModelSpec(
        kind="ForestClassifier",
        load=_load,
        candidates=(
            CandidateSpec(
                name="forest",
                title="trees, which capture nonlinear effects",
                suits=_suits,
                params=_params,
                quick=(_COLUMNS,),
                normal=(_COLUMNS,),
                as_numbers=True,
                shared_ranking=True,
                held_out_once=True,
            ),
        ),
        title="forest",
        input=InputSpec(kinds=("binary", "real")),
        dependence="trees, which split on several columns",
        generative=False,
        # It cannot condition on what was discarded: recalibration sees to the luck of selection.
        uncorrected_params=None,
        citation="Geurts, Ernst and Wehenkel (Machine Learning 63, 2006, 3–42)",
    ),
    ModelSpec(
        kind="BoostedTreesClassifier",
        load=_load_boosted,
        candidates=(
            CandidateSpec(
                name="boosting",
                title="boosted trees, which capture interactions and thresholds",
                suits=_suits_boosting,
                params=lambda info: {
                    "recalibrate": None,
                    "normal_scores": "ranking" if info.has_measurements else False,
                },
                quick=(-1,),
                normal=(-1,),
                as_numbers=True,
                shared_ranking=True,
                held_out_once=True,
            ),
        ),
        title="boosted trees",
        input=InputSpec(kinds=("binary", "real")),
        dependence="trees, which split on several columns",
        generative=False,
        uncorrected_params=None,
        citation="Friedman (Annals of Statistics 29, 2001, 1189–1232)",
    ),
)
