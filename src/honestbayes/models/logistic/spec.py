"""The spec of the logistic regression."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, InputSpec, ModelSpec

_FEW_COLUMNS = 50
"""Columns up to which the raw scale is tried: where many are selected, it never had weight."""


def _load() -> type[Any]:
    from honestbayes.models.logistic.estimator import SelectiveLogistic

    return SelectiveLogistic


SPECS = (
    ModelSpec(
        kind="SelectiveLogistic",
        load=_load,
        candidates=(
            CandidateSpec(
                name="logistic",
                title="Bayesian logistic regression",
                suits=lambda _: True,
                params=lambda info: {"recalibrate": None, "normal_scores": info.has_measurements},
                quick=(50,),
                normal=(50, 200),
                as_numbers=True,
                shared_ranking=True,
            ),
            CandidateSpec(
                name="raw logistic",
                family="logistic",
                title="Bayesian logistic regression on columns as they are",
                suits=lambda info: (
                    info.has_measurements and info.n_numeric_candidates <= _FEW_COLUMNS
                ),
                params=lambda _: {"recalibrate": None, "normal_scores": "ranking"},
                quick=(),
                normal=(-1,),
                as_numbers=True,
                shared_ranking=True,
            ),
        ),
        name="logistic",
        title="logistic regression",
        order=6,
        summary="Bayesian logistic regression on continuous and binary features, which may "
        "be correlated",
        description="Bayesian logistic regression on continuous and binary features",
        input=InputSpec(kinds=("binary", "real")),
        dependence="joint coefficients",
        generative=False,
        # It cannot condition on what was discarded: recalibration sees to the luck of selection.
        uncorrected_params=None,
    ),
)
