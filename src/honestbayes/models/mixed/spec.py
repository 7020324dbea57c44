"""The spec of the mixed model."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, InputSpec, ModelSpec


def _load() -> type[Any]:
    from honestbayes.models.mixed.estimator import SelectiveMixedNB

    return SelectiveMixedNB


SPECS = (
    ModelSpec(
        kind="SelectiveMixedNB",
        load=_load,
        report_params=("covariates",),
        candidates=(
            CandidateSpec(
                name="mixed",
                title="naive Bayes on columns of each kind",
                suits=lambda info: (
                    len(set(info.kinds)) > 1
                    and not info.only("binary", "categorical")
                    and not info.sparse
                ),
                params=lambda info: {"recalibrate": None, "kinds": info.kinds},
                quick=(50,),
                normal=(10, 50, 200),
                by_kind=True,
            ),
        ),
        name="mixed",
        order=0,
        summary="continuous, categorical and binary columns, each in its own naive Bayes model",
        description="continuous, categorical and binary columns, each in its own naive Bayes model",
        input=InputSpec(by_kind=True),
    ),
)
